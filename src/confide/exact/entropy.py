"""Sources of fair random words."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.unsignedinteger[Any]]

KINDS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
"""The type of words of so many bits."""


class Entropy(ABC):
    """A source of fair words."""

    @abstractmethod
    def words(self, n: int, bits: int) -> Words:
        """``n`` independent words, uniform on 0 .. 2**bits - 1; ``bits`` is 8, 16, 32 or 64.

        Each is an unsigned integer with this number of bits.
        """


class SystemEntropy(Entropy):
    """The operating system's entropy: no state, no seed, nothing that a fork could copy."""

    def words(self, n: int, bits: int) -> Words:
        """Fresh words from the operating system."""
        raw = np.frombuffer(os.urandom(n * bits // 8), dtype=f"<u{bits // 8}")
        return raw.astype(KINDS[bits], copy=False)


class SeededEntropy(Entropy):
    """A repeatable stream for simulation. Never private: the seed reveals the noise."""

    def __init__(self, seed: int) -> None:
        # A stream of its own: values made with default_rng(1) must not share noise of seed 1.
        own = np.random.SeedSequence(seed, spawn_key=(STREAM,))
        self._generator = np.random.Generator(np.random.PCG64(own))
        self._stock, self._at = b"", 0

    def words(self, n: int, bits: int) -> Words:
        """The next words of the stream."""
        # The generator makes four bytes at a time, and a call takes whole fours.
        taken = -(-n * bits // 32) * 4
        if self._at + taken > len(self._stock):
            left = self._stock[self._at :]
            self._stock = left + self._generator.bytes(max(taken - len(left), STOCK))
            self._at = 0
        start, self._at = self._at, self._at + taken
        return np.frombuffer(self._stock, dtype=f"<u{bits // 8}", count=n, offset=start)


STREAM = 0x636F6E66696465
STOCK = 2**12
"""Bytes that a seeded stream makes at once: making few at a time takes many times as long."""

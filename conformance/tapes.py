"""Draws of confide's own mechanisms from known bytes, with words of any size."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from confide.exact.entropy import Entropy, Words
from confide.mechanisms import Mechanism, PairResponse


class Tape(Entropy):
    """Bytes that are read from the first to the last, and not beyond."""

    def __init__(self, tape: bytes) -> None:
        self._tape = tape
        self.read = 0
        """Bytes read so far."""

    def words(self, n: int, bits: int) -> Words:
        start, self.read = self.read, self.read + n * bits // 8
        if self.read > len(self._tape):
            raise EOFError("the tape is too short for this draw")
        return np.frombuffer(self._tape[start : self.read], dtype=f"<u{bits // 8}")


def with_bits(mechanism: Mechanism, bits: int) -> Mechanism:
    """The same mechanism, drawing from words of so many bits."""
    made = copy(mechanism)
    if isinstance(mechanism, PairResponse):
        made.__dict__["response"] = with_bits(mechanism.response, bits)
    else:
        made.__dict__["sampler"] = replace(sampler(mechanism), bits=bits)
    return made


def sampler(mechanism: Mechanism) -> Any:
    """What a report is drawn from; the mechanisms of devices have one."""
    (part,) = mechanism.parts()
    return part.sampler


def inputs(mechanism: Mechanism) -> int:
    """How many indices there are; of a pair of questions they count both, row by row."""
    return math.prod(mechanism.law.inputs)


def drawn_all(mechanism: Mechanism, indices: Sequence[int] | Any, entropy: Entropy) -> Any:
    """Reports of indices as a device numbers them."""
    given = np.asarray(indices)
    if not mechanism.single:
        rows = np.unravel_index(given, mechanism.law.inputs)
        return mechanism.draw(np.stack(rows, axis=1).astype(np.int32), entropy)
    return mechanism.draw(given.astype(np.int32), entropy)


def drawn(mechanism: Mechanism, index: int, tape: bytes) -> tuple[int, int]:
    """The report of an index, and how many bytes of the tape were read for it."""
    entropy = Tape(tape)
    (report,) = drawn_all(mechanism, [index], entropy).tolist()
    return report, entropy.read


def written(numbers: Iterable[int], bits: int) -> bytes:
    """Words as bytes, the lowest first."""
    return b"".join(int(number).to_bytes(bits // 8, "little") for number in numbers)


def split(number: int, bits: int, words: int) -> list[int]:
    """A number of many bits as words, the highest first."""
    return [number >> bits * at & (1 << bits) - 1 for at in reversed(range(words))]


def public_bytes(seed: str, n: int) -> bytes:
    """Bytes that anybody can make again, in any language."""
    return hashlib.shake_256(seed.encode()).digest(n)

"""Fresh random tapes with confide's own reports, packed for a device in another language.

A packed file is a sequence of blocks of little-endian numbers: the length of a header (4 bytes), a
JSON header with spec, bits, n and stride, padded with blanks to 4 bytes; then n indices, n reports
and n numbers of words read (4 bytes each), and n tapes of ``stride`` bytes.
"""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt

from confide.mechanisms import Mechanism
from conformance.tapes import Tape, drawn, drawn_all, inputs, sampler, split, with_bits, written

STRIDE = 24
"""Bytes of a tape: six words of 32 bits, of which a draw reads more than four once in 2**64."""

Tapes = npt.NDArray[np.uint8]


def packed(mechanism: Mechanism, n: int, *, generator: np.random.Generator) -> bytes:
    """``n`` draws: most from random words, one in ten at thresholds, some from short words."""
    size, hard = inputs(mechanism), n // 10
    blocks = [(32, random(generator, n - hard - 2 * (n // 50)), False)]
    blocks += [(32, at_thresholds(mechanism, generator, hard), True)]
    blocks += [(bits, random(generator, n // 50), True) for bits in (16, 8)]
    made = b""
    for bits, tapes, single in blocks:
        indices = generator.integers(0, size, len(tapes), dtype=np.int32)
        indices[:2] = 0, size - 1
        draw = one_by_one if single else at_once
        reports, words = draw(with_bits(mechanism, bits), bits, indices, tapes)
        header = {"spec": mechanism.to_dict(), "bits": bits, "n": len(tapes), "stride": STRIDE}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 4)
        numbers = np.array([indices, reports, words], dtype="<i4")
        made += len(text).to_bytes(4, "little") + text + numbers.tobytes() + tapes.tobytes()
    return made


def random(generator: np.random.Generator, n: int) -> Tapes:
    return generator.integers(0, 256, (n, STRIDE), dtype=np.uint8)


def at_thresholds(mechanism: Mechanism, generator: np.random.Generator, n: int) -> Tapes:
    """Tapes whose first word, or first two words, do not decide."""
    tapes = random(generator, n)
    enclosure = sampler(mechanism).enclosure
    for words, part in ((1, tapes[: 2 * n // 3]), (2, tapes[2 * n // 3 :])):
        lower, upper = enclosure(32 * words)
        unsure = [k for k in range(len(lower)) if lower[k] < upper[k]]
        for row, k in zip(part, generator.choice(unsure, len(part)).tolist(), strict=True):
            start = written(split(lower[k], 32, words), 32)
            row[: len(start)] = np.frombuffer(start, dtype=np.uint8)
    return tapes


Drawn = tuple[list[int], list[int]]


def one_by_one(
    mechanism: Mechanism, bits: int, indices: npt.NDArray[np.int32], tapes: Tapes
) -> Drawn:
    """Reports and words read, each draw from its own tape."""
    rows = zip(indices.tolist(), tapes, strict=True)
    found = [drawn(mechanism, index, tape.tobytes()) for index, tape in rows]
    return [report for report, _ in found], [read * 8 // bits for _, read in found]


def at_once(mechanism: Mechanism, bits: int, indices: npt.NDArray[np.int32], tapes: Tapes) -> Drawn:
    """The same in one batch of first words, but for those that a first word does not decide."""
    first = tapes[:, : bits // 8].copy().view(f"<u{bits // 8}").ravel()
    lower, upper = (
        np.array(bounds, dtype=np.uint64) for bounds in sampler(mechanism).enclosure(bits)
    )
    top = np.uint64(2**bits - 1)
    sure = (first < top) & (
        np.searchsorted(lower, first, "right") == np.searchsorted(upper, first, "right")
    )
    reports = np.empty(len(indices), dtype=np.int32)
    # A tape of first words only: a draw that asked for more would fail.
    reports[sure] = drawn_all(mechanism, indices[sure], Tape(first[sure].tobytes()))
    words = np.ones(len(indices), dtype=np.int32)
    reports[~sure], words[~sure] = one_by_one(mechanism, bits, indices[~sure], tapes[~sure])
    return reports.tolist(), words.tolist()

"""Events that tell two inputs apart, learned from outputs of each.

An event is "the score of an output is at least t". Scores are learned on one part of the outputs
and t on another; what is claimed about the event in the end rests on a third part alone, so that
nothing that is learned here can raise a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

Floats = npt.NDArray[np.float64]
Outputs = npt.NDArray[Any]
Score = Callable[[Outputs], Floats]
Shares = tuple[npt.ArrayLike, int]

MOST_ATOMS = 4096
"""With more different outputs than this they are put into bins."""
BINS = 128
THRESHOLDS = 256
MOST_COLUMNS = 64
MOST_PAIRED = 5
"""Up to so many columns are also looked at in pairs."""
LOWEST = -1100
"""Below the exponent of the lowest bit of any float."""


@dataclass(frozen=True)
class Event:
    """Outputs whose score is at least ``threshold``."""

    name: str
    score: Score
    threshold: float

    def count(self, outputs: Outputs) -> int:
        """How many of the outputs are in the event."""
        return int((self.score(outputs) >= self.threshold).sum())


def learned(
    fitting: tuple[Outputs, Outputs], choosing: tuple[Outputs, Outputs], alpha: float, weight: int
) -> Event:
    """The event with the best lower bound on the second part, of scores learned on the first.

    Parameters
    ----------
    fitting, choosing
        Outputs of the likelier and the other input.
    alpha
        Of the bound that will be taken.
    weight
        How many times larger the part is that the bound will be taken on.
    """
    best, most = Event("everything", lambda outputs: np.ones(len(outputs)), 0.0), 0.0
    for name, score in _scores(*fitting):
        one, other = (np.sort(score(part)) for part in choosing)
        pooled = np.unique(np.concatenate([one, other]))
        if pooled.size > THRESHOLDS:
            pooled = pooled[np.linspace(0, pooled.size - 1, THRESHOLDS).astype(np.int64)]
        hits, misses = (
            (weight * (part.size - np.searchsorted(part, pooled)), weight * part.size)
            for part in (one, other)
        )
        bounds = lower_bound(hits, misses, alpha)
        at = int(np.argmax(bounds))
        if bounds[at] > most:
            best, most = Event(name, score, float(pooled[at])), float(bounds[at])
    return best


def lower_bound(hits: Shares, misses: Shares, alpha: float, *, delta: float = 0.0) -> Floats:
    """A bound on log((P - delta)/Q), right but for a probability alpha (Clopper and Pearson 1934).

    Parameters
    ----------
    hits
        How often the event happened with the likelier input, and out of how many runs.
    misses
        The same with the other input.
    """
    (k, n), (j, m) = hits, misses
    k, j = np.asarray(k, dtype=np.float64), np.asarray(j, dtype=np.float64)
    part = alpha / 2
    with np.errstate(divide="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, part), 0.0)
        high = np.where(j < m, betainccinv(j + 1, np.maximum(m - j, 1), part), 1.0)
        bound: Floats = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
    return np.maximum(bound, 0.0)


def _scores(one: Outputs, other: Outputs) -> Iterator[tuple[str, Score]]:
    """Ways to order outputs, each with a name."""
    if one.dtype.kind in "US":
        yield "words that are likelier", _atoms(lambda outputs: outputs, one, other)
        return
    width = 1 if one.ndim == 1 else one.shape[1]
    columns = [_column(at) for at in range(min(width, MOST_COLUMNS))]
    for at, column in enumerate(columns):
        where = "" if width == 1 else f" in column {at}"
        yield f"large numbers{where}", column
        yield f"small numbers{where}", _negative(column)
        yield f"numbers that are likelier{where}", _atoms(column, one, other)
        if one.dtype.kind == "f":
            bits = _lowest_bits(column)
            yield f"lowest bits{where}", _atoms(bits, one, other)
    if width > 1:
        parts = [_atoms(column, one, other) for column in columns]
        yield "rows that are likelier", lambda outputs: sum_of(parts, outputs)
        yield "large means", lambda outputs: outputs[:, : len(columns)].mean(axis=1)
        yield "small means", lambda outputs: -outputs[:, : len(columns)].mean(axis=1)
    if 1 < width <= MOST_PAIRED:
        for a, b in combinations(range(width), 2):
            apart = _difference(a, b)
            yield f"differences of columns {a} and {b}", _atoms(apart, one, other)


def sum_of(parts: list[Score], outputs: Outputs) -> Floats:
    """The log likelihood ratio of a row of independent columns."""
    total = np.zeros(len(outputs))
    for part in parts:
        total += part(outputs)
    return total


def _column(at: int) -> Score:
    def column(outputs: Outputs) -> Floats:
        return np.asarray(outputs if outputs.ndim == 1 else outputs[:, at], dtype=np.float64)

    return column


def _negative(score: Score) -> Score:
    return lambda outputs: -score(outputs)


def _difference(a: int, b: int) -> Score:
    return lambda outputs: np.asarray(outputs[:, a] - outputs[:, b], dtype=np.float64)


def _lowest_bits(score: Score) -> Score:
    """The exponent of the lowest bit of a float that is set.

    Noise added to a float rounds to that float's own spacing: from 1 no number below 1/2 but
    multiples of 2**-53 can be reached, from 0 all can (Haney et al. 2022).
    """

    def lowest(outputs: Outputs) -> Floats:
        fraction, exponent = np.frexp(score(outputs))
        known = np.isfinite(fraction) & (fraction != 0)
        digits = np.where(known, np.abs(fraction) * 2.0**53, 1.0).astype(np.int64)
        # digits & -digits is the lowest bit that is set, a power of two.
        place = np.log2((digits & -digits).astype(np.float64)) + exponent - 53
        return np.where(known, place, float(LOWEST))

    return lowest


def _atoms(code: Callable[[Outputs], Any], one: Outputs, other: Outputs) -> Score:
    """The learned log ratio of each different code, of bins where there are many."""
    seen = [code(one), code(other)]
    keys = np.unique(np.concatenate(seen))
    binned = keys.size > MOST_ATOMS and keys.dtype.kind == "f"
    if binned:
        keys = np.unique(np.quantile(np.concatenate(seen), np.linspace(0, 1, BINS + 1)[1:-1]))
        size = keys.size + 1
    else:
        size = keys.size

    def place(codes: Any) -> npt.NDArray[np.int64]:
        if binned:
            return np.asarray(np.searchsorted(keys, codes, side="right"))
        at = np.minimum(np.searchsorted(keys, codes), keys.size - 1)
        # What was never seen has a place of its own, at the end.
        found: npt.NDArray[np.int64] = np.where(keys[at] == codes, at, size)
        return found

    counts = [np.bincount(place(codes), minlength=size + 1) for codes in seen]
    ratios = np.log((counts[0] + 0.5) / len(one)) - np.log((counts[1] + 0.5) / len(other))
    ratios[size] = 0.0
    return lambda outputs: ratios[place(code(outputs))]

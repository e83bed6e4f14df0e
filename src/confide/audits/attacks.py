"""Attacks that tell two inputs apart by their outputs, and the epsilon they prove."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from confide import _checks
from confide._types import Floats
from confide.audits.findings import Finding, checked_alpha
from confide.audits.subjects import Pairs, Runs, checked_pairs, pairs_of
from confide.errors import InvalidInput
from confide.mechanisms.protocol import Private
from confide.releases.release import Recipe

Outputs = npt.NDArray[Any]
Score = Callable[[Outputs], Floats]
Code = Callable[[Outputs], Outputs]
Shares = tuple[npt.ArrayLike, int]

MOST_ATOMS = 4096
"""With more different outputs than this they are put into bins too."""
BINS = 128
THRESHOLDS = 256
MOST_COLUMNS = 64
"""Of more columns than this those are taken that differ most."""
MOST_PAIRED = 5
"""Largest number of columns that are also tested in pairs."""
HUGE = 1e300
"""Numbers beyond it count as this large in a mean."""
LOWEST = -1100
"""Below the exponent of the lowest bit of any float."""


@dataclass(frozen=True)
class Event:
    """Outputs whose score is at least ``threshold``."""

    name: str
    score: Score
    threshold: float

    def count(self, outputs: Outputs) -> int:
        """Count the outputs that are in the event."""
        return int((self.score(outputs) >= self.threshold).sum())


def learned(
    fitting: tuple[Outputs, Outputs],
    choosing: tuple[Outputs, Outputs],
    alpha: float,
    weight: int,
    *,
    delta: float = 0.0,
) -> Event:
    """The event with the best lower bound on the second part, of scores learned on the first.

    Parameters
    ----------
    fitting, choosing
        Outputs of the likelier and the other input.
    alpha, delta
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
        bounds = lower_bound(hits, misses, alpha, delta=delta)
        at = int(np.argmax(bounds))
        if bounds[at] > most:
            best, most = Event(name, score, float(pooled[at])), float(bounds[at])
    return best


def lower_bound(hits: Shares, misses: Shares, alpha: float, *, delta: float = 0.0) -> Floats:
    """A bound on log((P - delta)/Q), right but for a probability alpha (Clopper and Pearson 1934).

    Parameters
    ----------
    hits
        Number of events with the likelier input, and number of runs.
    misses
        Both numbers with the other input.
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
    places = range(width) if width <= MOST_COLUMNS else _telling(one, other)
    parts = []
    for at in places:
        column = _column(at)
        where = "" if width == 1 else f" in column {at}"
        yield f"large numbers{where}", _size(column)
        yield f"small numbers{where}", _negative(_size(column))
        likelier = _atoms(_pattern(column), one, other)
        yield f"numbers that are likelier{where}", likelier
        if _many(column, one, other):
            likelier = _bins(_size(column), one, other)
            yield f"stretches that are likelier{where}", likelier
        parts.append(likelier)
        if one.dtype.kind == "f":
            bits = _lowest_bits(column)
            yield f"lowest bits{where}", _atoms(bits, one, other)
    if width > 1:
        yield "rows that are likelier", lambda outputs: sum_of(parts, outputs)
        yield "whole rows that are likelier", _atoms(_row, one, other)
        mean = _mean(places)
        yield "large means", mean
        yield "small means", _negative(mean)
    if 1 < width <= MOST_PAIRED:
        for a, b in combinations(range(width), 2):
            apart = _difference(a, b)
            yield f"differences of columns {a} and {b}", _atoms(_pattern(apart), one, other)


def _many(column: Code, one: Outputs, other: Outputs) -> bool:
    """Whether there are too many different numbers to learn anything of each."""
    return np.unique(column(np.concatenate([one, other]))).size > MOST_ATOMS


def _telling(one: Outputs, other: Outputs) -> list[int]:
    """Columns that tell the two apart best: learned on one half, compared on the other."""
    half = len(one) // 2
    learning, trying = (one[:half], other[:half]), (one[half:], other[half:])
    gains = []
    for at in range(one.shape[1]):
        column = _column(at)
        many = _many(column, *learning)
        score = (_bins(_size(column), *learning) if many
                 else _atoms(_pattern(column), *learning))  # fmt: skip
        gains.append(float(score(trying[0]).mean() - score(trying[1]).mean()))
    best = np.argsort(gains, kind="stable")[-MOST_COLUMNS:]
    return [int(at) for at in best[::-1]]


def sum_of(parts: list[Score], outputs: Outputs) -> Floats:
    """The log likelihood ratio of a row of independent columns."""
    total = np.zeros(len(outputs))
    for part in parts:
        total += part(outputs)
    return total


def _column(at: int) -> Code:
    return lambda outputs: outputs if outputs.ndim == 1 else outputs[:, at]


def _size(code: Code) -> Score:
    """As floats that have an order: what is not a number comes first."""

    def size(outputs: Outputs) -> Floats:
        numbers = code(outputs).astype(np.float64)
        return np.where(np.isnan(numbers), -np.inf, numbers)

    return size


def _pattern(code: Code) -> Code:
    """As whole numbers that differ wherever outputs do: minus zero is not zero, and NaN is one."""

    def pattern(outputs: Outputs) -> Outputs:
        numbers = np.ascontiguousarray(code(outputs))
        return numbers.view(np.int64) if numbers.dtype.kind == "f" else numbers

    return pattern


def _negative(score: Score) -> Score:
    return lambda outputs: -score(outputs)


def _row(outputs: Outputs) -> Outputs:
    """One whole number for each different row: a random sum, so that rows hardly ever share one."""
    factors = np.random.default_rng(0).integers(2**63, size=outputs.shape[1]) | 1
    exact = np.float64 if outputs.dtype.kind == "f" else np.int64
    rows = np.ascontiguousarray(outputs, dtype=exact).view(np.int64)
    row: Outputs = (rows * factors).sum(axis=1)
    return row


def _mean(places: Sequence[int]) -> Score:
    def mean(outputs: Outputs) -> Floats:
        numbers = [_size(_column(at))(outputs) for at in places]
        means: Floats = np.clip(np.stack(numbers), -HUGE, HUGE).mean(axis=0)
        return means

    return mean


def _difference(a: int, b: int) -> Code:
    def difference(outputs: Outputs) -> Outputs:
        with np.errstate(invalid="ignore", over="ignore"):
            apart: Outputs = outputs[:, a] - outputs[:, b]
        return apart

    return difference


def _lowest_bits(code: Code) -> Score:
    """The exponent of the lowest bit of a float that is set.

    Noise added to a float rounds to that float's own spacing: from 1 no number below 1/2 but
    multiples of 2**-53 can be reached, from 0 all can (Haney et al. 2022).
    """

    def lowest(outputs: Outputs) -> Floats:
        fraction, exponent = np.frexp(code(outputs))
        known = np.isfinite(fraction) & (fraction != 0)
        digits = np.where(known, np.abs(fraction) * 2.0**53, 1.0).astype(np.int64)
        # digits & -digits is the lowest bit that is set, a power of two.
        place = np.log2((digits & -digits).astype(np.float64)) + exponent - 53
        return np.where(known, place, float(LOWEST))

    return lowest


def _atoms(code: Code, one: Outputs, other: Outputs) -> Score:
    """The learned log ratio of each different code; nothing for those that were never seen."""
    seen = [code(one), code(other)]
    keys = np.unique(np.concatenate(seen))
    ratios = np.append(_ratios([np.searchsorted(keys, codes) for codes in seen], keys.size), 0.0)

    def score(outputs: Outputs) -> Floats:
        codes = code(outputs)
        place = np.minimum(np.searchsorted(keys, codes), keys.size - 1)
        return ratios[np.where(keys[place] == codes, place, keys.size)]

    return score


def _bins(size: Score, one: Outputs, other: Outputs) -> Score:
    """The learned log ratio of stretches of numbers, each as common as the others."""
    seen = [size(one), size(other)]
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    edges = np.unique(np.quantile(np.concatenate(seen), shares, method="lower"))
    places = [np.searchsorted(edges, numbers, side="right") for numbers in seen]
    ratios = _ratios(places, edges.size + 1)
    return lambda outputs: ratios[np.searchsorted(edges, size(outputs), side="right")]


def _ratios(places: list[Outputs], size: int) -> Floats:
    one, other = (np.log((np.bincount(at, minlength=size) + 0.5) / at.size) for at in places)
    ratios: Floats = one - other
    return ratios


ALPHA = 1e-6
REPORTS, RELEASES = 100_000, 4_000
"""Runs for each value, unless told otherwise."""
UNSEEN = (
    "To pass proves nothing: it tries a few pairs of inputs and one learned event for each, and "
    "does not see excesses below a few per cent of epsilon, rare outputs, or inputs not tried."
)

SHORT = (
    "With so few runs an attack can prove an epsilon of {:.3g} at most: a claim of that much or "
    "more is not put to the test by it."
)


def sampled(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    delta: float | None = None,
    n: int | None = None,
    alpha: float = ALPHA,
    seed: int | None = None,
    layer: str = "sampled",
) -> Finding:
    """A lower bound on epsilon, from the outputs of pairs of inputs.

    For each pair an event that tells the two apart is learned on one half of the outputs and its
    probabilities are bounded on the other half (Clopper and Pearson 1934).

    Parameters
    ----------
    subject
        A mechanism, partition, sampler or recipe of a release, or any function of a value: foreign
        code. Outputs may be numbers, words, or rows of numbers. Every call must be independent: if
        a device remembers its report, make a new device.
    pairs
        Pairs of values, for a release of data sets that differ in one record; by default those
        that are hardest to hide, which are known for mechanisms and releases. For noise in floats
        0 and the sensitivity are a good pair: near 0 floats are finest.
    claimed, delta
        The claim to check; confide's own mechanisms and releases state theirs.
    n
        Runs for each value: by default 100,000, and 4,000 of a release, which takes milliseconds.
    alpha
        Probability of a false alarm, of the whole check.
    seed
        For a repeatable check of confide's own mechanisms and releases.
    layer
        Name of the check in the finding.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> plain = lambda value: value + generator.laplace(scale=1.0)
    >>> found = sampled(plain, [(0.0, 1.0)], claimed=1.0, n=20_000)
    >>> found.holds, found.lower_bound > 2, found.evidence["event"]
    (False, True, 'lowest bits')
    """
    alpha = checked_alpha(alpha)
    if n is None:
        n = RELEASES if isinstance(subject, Recipe) else REPORTS
    return attacked(
        subject, pairs, claimed=claimed, delta=delta, n=n, alpha=alpha, seed=seed, layer=layer
    )


def attacked(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    delta: float | None = None,
    n: int,
    alpha: float,
    seed: int | None = None,
    layer: str = "sampled",
) -> Finding:
    """Like the public function here, without validating alpha: callers pass a share of it."""
    runs = subject if isinstance(subject, Runs) else Runs(subject, seed)
    n = _checks.integer(100, n=n)
    spend = runs.subject.spend if isinstance(runs.subject, Private) else None
    if claimed is None:
        if spend is None:
            raise InvalidInput("the epsilon that the code claims, as claimed=...", "none")
        claimed = spend.epsilon
    claimed = _checks.within(0, math.inf, claimed=claimed)
    given = delta if delta is not None else (0.0 if spend is None else spend.delta)
    delta = _checks.within(0, 1, delta=given)
    pairs = pairs_of(runs.subject) if pairs is None else checked_pairs(pairs)
    # One event for each order of each pair.
    own = alpha / (2 * len(pairs))
    best: dict[str, Any] = {"event": "none"}
    most = 0.0
    for number, (first, second) in enumerate(pairs):
        outputs = runs.pair(first, second, n)
        for one, other in (outputs, outputs[::-1]):
            fitting, choosing, judging = (
                (one[part], other[part])
                for part in (slice(n // 4), slice(n // 4, n // 2), slice(n // 2, n))
            )
            event = learned(fitting, choosing, own, 2, delta=delta)
            hits, misses = ((event.count(part), len(part)) for part in judging)
            found = float(lower_bound(hits, misses, own, delta=delta))
            if found > most:
                most = found
                best = {
                    "event": event.name,
                    "pair": number,
                    "share": hits[0] / hits[1],
                    "share_of_the_other": misses[0] / misses[1],
                }
    # Had one input always given the event and the other never.
    half = n - n // 2
    reach = float(lower_bound((half, half), (0, half), own, delta=delta))
    return Finding(
        layer, repr(runs.subject), claimed,
        holds=not most > claimed, looked=reach > claimed, lower_bound=most,
        unseen=UNSEEN if reach > claimed else SHORT.format(reach),
        evidence={**best, "pairs": len(pairs), "n": n, "alpha": alpha, "reach": reach},
    )  # fmt: skip

"""Tests whether draws follow the stated law."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc, chdtrc, chdtri, ndtr

from confide import _checks
from confide._types import Floats
from confide.audits.findings import Finding, checked_alpha
from confide.audits.grids import inputs_of, places_of, pmf_of
from confide.audits.subjects import Runs, value_at
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.integer_noise import ONE, DiscreteGaussian, DiscreteLaplace
from confide.mechanisms import Mechanism, PairResponse, Partition
from confide.mechanisms.partition import BITS as LEVEL
from confide.releases.release import Recipe
from confide.sampling.mollification import TOTAL
from confide.sampling.mollifier import Banded
from confide.sampling.sampler import Sampler

POOL = 10
"""Outcomes that are expected fewer times are counted together."""
COARSE = 10_000
DRAWS = 60_000
UNSEEN = (
    "It compares with the law that is stated, right or wrong, and is blind to errors below a few "
    "per cent of the noise."
)


def goodness(
    subject: Any, *, n: int = DRAWS, alpha: float = 1e-6, seed: int | None = None
) -> Finding:
    """Chi-square fit of draws against the law, at several inputs.

    Parameters
    ----------
    subject
        A mechanism, a partition, a sampler, or the recipe of a release.
    n
        Draws for each input.
    alpha
        Probability of a false alarm, of the whole check.
    seed
        Seed for a repeatable check. By default draws use the operating system's entropy, by the
        same path as for respondents.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> goodness(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0), seed=1).holds
    True
    """
    return fitted(subject, n=n, alpha=checked_alpha(alpha), seed=seed)


def fitted(subject: Any, *, n: int = DRAWS, alpha: float, seed: int | None) -> Finding:
    """Like the public function here, without validating alpha: callers pass a share of it."""
    n = _checks.integer(100, n=n)
    found = [chi_square(counts, expected) for counts, expected in _tables(subject, n, seed)]
    least = min(found, default=1.0)
    return Finding(
        "goodness", repr(subject), subject.spend.epsilon,
        holds=not found or least * len(found) > alpha, looked=bool(found),
        unseen=UNSEEN if found else f"This subject states no table of probabilities. {UNSEEN}",
        evidence={"n": n, "tables": len(found), "smallest_p": least, "alpha": alpha},
    )  # fmt: skip


def chi_square(counts: npt.NDArray[Any], expected: Floats) -> float:
    """P-value of a chi-square fit, rare outcomes pooled: never too small, however small it is.

    Given the pools before it, the count of a pool is binomial. Each has an exact p-value, and the
    squares of the normal deviates with those p-values add up to no more than a chi-square law has:
    the usual statistic alarms far too often at one in a million where few are expected.
    """
    possible = expected > 0
    # What cannot be expected at all but was seen is in no pool of chance.
    if counts[~possible].any():
        return 0.0
    counts, expected = counts[possible], expected[possible]
    order = np.argsort(expected, kind="stable")
    pools = np.cumsum(expected[order]) // POOL
    edges = np.flatnonzero(np.diff(pools, prepend=-1))
    seen, wanted = (np.add.reduceat(each[order], edges) for each in (counts, expected))
    if wanted.size < 2:
        return 1.0
    left, rest = (np.cumsum(each[::-1])[::-1] for each in (seen, wanted))
    seen, left, share = seen[:-1], left[:-1], wanted[:-1] / rest[:-1]
    below, above = bdtr(seen, left, share), bdtrc(seen - 1, left, share)
    above = np.where(seen == 0, 1.0, above)
    each = np.minimum(1.0, 2 * np.minimum(below, above))
    return float(chdtrc(each.size, chdtri(1, each).sum()))


def _tables(subject: Any, n: int, seed: int | None) -> Iterator[tuple[npt.NDArray[Any], Floats]]:
    entropy: Entropy = SystemEntropy() if seed is None else SeededEntropy(seed)
    if isinstance(subject, Partition):
        yield from _partition(subject, n, entropy)
    elif isinstance(subject, Mechanism):
        yield from _mechanism(subject, n, Runs(subject, seed))
    elif isinstance(subject, Recipe):
        several = [each for each in subject.inner.values() if isinstance(each, Recipe)]
        for recipe in several or [subject]:
            for noise in recipe.noises(1000):
                yield _noise(noise, n, entropy)
    elif isinstance(subject, Banded):
        scores = np.linspace(-3.0, 3.0, subject.band.reference.size)
        weights = subject.band.weights(scores)
        yield _counted(subject.draw(weights, entropy, n), weights.astype(np.float64) / TOTAL)
    elif isinstance(subject, Sampler):
        for inner in subject.inner.values():
            yield from _tables(inner, n, seed)
    else:
        raise InvalidInput(
            "a mechanism, a sampler or the recipe of a release", _checks.shown(subject)
        )


def _mechanism(subject: Mechanism, n: int, runs: Runs) -> Iterator[tuple[npt.NDArray[Any], Floats]]:
    law = subject.law
    places: list[tuple[int, ...]]
    if isinstance(subject, PairResponse):
        for at in places_of(subject):
            place = tuple(int(each) for each in np.unravel_index(at, law.inputs))
            yield _counted(runs(value_at(subject, place), n), pmf_of(subject, (at,)))
        return
    if len(law.inputs) > 1:
        places = [tuple(size // 2 for size in law.inputs), tuple(0 for _ in law.inputs)]
    else:
        some = inputs_of(law.inputs[0])
        # The last input is that of those who declined, where people may.
        places = [(at,) for at in (*some[:5], *some[5:][-1:])]
    for place in places:
        reports = runs(value_at(subject, place), n)
        if reports.ndim > 1:
            inside = ((reports >= 0) & (reports < law.outputs)).all(axis=1)
            flat = np.full(len(reports), -1)
            flat[inside] = np.ravel_multi_index(tuple(reports[inside].T), law.outputs)
            reports = flat
        yield _counted(reports, pmf_of(subject, place))


def _counted(outcomes: npt.NDArray[Any], pmf: Floats) -> tuple[npt.NDArray[Any], Floats]:
    """Counts, with a last one for what the law does not know."""
    n = outcomes.size
    known = (outcomes >= 0) & (outcomes < pmf.size) & (outcomes == np.floor(outcomes))
    counts = np.bincount(outcomes[known].astype(np.int64), minlength=pmf.size)
    return np.append(counts, n - known.sum()), np.append(n * pmf / pmf.sum(), 0.0)


def _partition(
    subject: Partition, n: int, entropy: Entropy
) -> Iterator[tuple[npt.NDArray[Any], Floats]]:
    size, levels = subject.cells.size, subject.levels
    few = max(100, n // size)
    top = np.full(few, 2 * levels << LEVEL)
    reports = subject.draw(np.stack([np.zeros(few, np.int64), top], axis=1), entropy)
    law = subject.law
    for at in (0, size - 1):
        truth = 2 * levels if at == 0 else levels
        if law.value_parameter:
            column = reports[:, -1, at].astype(np.int64) + levels
            yield _counted(column, pmf_of(law.values, (truth,)))
        if law.count_parameter:
            yield _counted(reports[:, 0, at].astype(np.int64), pmf_of(law.counts, (int(at == 0),)))


def _noise(
    noise: DiscreteLaplace | DiscreteGaussian, n: int, entropy: Entropy
) -> tuple[npt.NDArray[Any], Floats]:
    """Draws in steps of about a tenth of their scale, against the law of the noise."""
    if isinstance(noise, DiscreteLaplace):
        edges = _edges(noise.scale)
        upto = _laplace(noise, edges)
    else:
        edges = _edges(noise.sd)
        upto = _gaussian(noise, edges)
    pmf = np.diff(np.concatenate([[0.0], upto, [1.0]]))
    place = np.searchsorted(edges, noise.draw(entropy, n), side="left")
    return np.bincount(place, minlength=pmf.size), n * np.maximum(pmf, 0)


def _edges(scale: float) -> npt.NDArray[np.int64]:
    return np.arange(-60, 61) * max(1, int(scale / 10))


def _laplace(noise: DiscreteLaplace, edges: npt.NDArray[np.int64]) -> Floats:
    """F(k) = 1 - p**(k+1) / (1+p) for k >= 0, and by symmetry below."""
    size = np.where(edges >= 0, edges + 1, -edges)
    tail = np.exp(-size / noise.scale) / (1 + noise.parameter / ONE)
    return np.where(edges >= 0, 1 - tail, tail)


def _gaussian(noise: DiscreteGaussian, edges: npt.NDArray[np.int64]) -> Floats:
    """F(k) by the sum itself, or where that has very many terms by the normal law."""
    if noise.sd > COARSE:
        return np.asarray(ndtr((edges + 0.5) / noise.sd))
    cells = np.arange(-int(20 * noise.sd) - 1, int(20 * noise.sd) + 2)
    mass = np.exp(-(cells.astype(np.float64) ** 2) / (2 * noise.variance))
    upto = np.cumsum(mass) / mass.sum()
    return np.asarray(upto[np.clip(edges - cells[0], 0, cells.size - 1)])

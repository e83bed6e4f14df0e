"""Bounds on what a reader of one final summary learns about a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from confide import _checks
from confide.accounting.spend import Spend
from confide.errors import InvalidInput, Unsupported

LEAST_DELTA = 1e-10
"""Below this the slack for rounding would matter."""
SLACK = 1e-12
"""Added to a delta for the rounding of floats: terms are below 1 and there are some thousand."""
BINS = 512
"""Numbers of clones that are told apart, at most."""
ENTRIES = 2**22
"""Weights of a law that are looked at one by one, at most."""
STEPS = 36
"""Halvings of the interval in which epsilon is searched."""


class _Law(Protocol):
    @property
    def inputs(self) -> tuple[int, ...]: ...
    @property
    def outputs(self) -> tuple[int, ...]: ...
    def weights(self, index: int) -> Sequence[int]: ...
    def ratio(self) -> Fraction: ...


class _Mechanism(Protocol):
    @property
    def law(self) -> Any: ...
    @property
    def spend(self) -> Spend: ...


def shuffled(mechanism: _Mechanism, *, n: int, delta: float) -> Spend:
    """The cost to one person if an adversary sees only the final counts of n reports.

    Parameters
    ----------
    mechanism
        The mechanism of the reports.
    n
        Honest respondents in the summary: those who were asked this question in this published
        group, the person included.
    delta
        The probability with which the bound may fail.

    Returns
    -------
    Spend
        Epsilon and delta; never more than the mechanism itself states.

    Notes
    -----
    Formal guarantee: (epsilon, delta)-differential privacy of the histogram of n independent
    reports, for any two answers of one person and any answers of the others.

    It does **not** hold for the collector, who sees reports arrive; for readers of a dashboard or
    of several summaries that differ by few people; for several questions of one person taken
    together (take the joint law and the sum of their epsilons); nor for weighted summaries.

    The bound is that of Feldman, McMillan and Talwar (2021) with the law's own constants. Let p be
    the largest ratio of two probabilities of one report, and r the least, over reports, of the
    smallest probability divided by the sum of the two largest. The laws R and R' of two answers
    are R = (p Q + Q')/(p + 1) and R' = (Q + p Q')/(p + 1), where Q = (p R - R')/(p - 1) and Q'
    likewise are distributions since ratios are at most p. The law of any other answer is at least
    r (R + R') = r (Q + Q'), so each other person is a fair coin over Q and Q' with probability 2 r
    and something else otherwise. Of C ~ Bin(n - 1, 2 r) coins A ~ Bin(C, 1/2) fall on Q; the person
    adds one to Q with probability p/(p + 1), or with 1/(p + 1) for the other answer. The histogram
    is made from these counts by the same rule in both cases, so the divergence of the counts bounds
    that of histograms. It falls with C (one more coin is one more step of the same rule), so that
    values of C are taken together at their least. Floats are rounded upwards by a slack of 1e-12.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> mechanism = SquareWave(Lattice(low=0, high=1), epsilon=1.0)
    >>> shuffled(mechanism, n=10_000, delta=1e-6)  # doctest: +ELLIPSIS
    Spend(epsilon=0.053..., delta=1e-06)
    """
    n = _checks.integer(1, n=n)
    delta = _checks.within(LEAST_DELTA, 1, delta=delta)
    own = mechanism.spend
    if own.delta or not math.isfinite(own.epsilon):
        raise Unsupported("The bound for shuffled reports takes a mechanism of pure epsilon.")
    p, r = parameters(mechanism.law)
    most = _log_up(p)
    if p == 1 or n == 1:
        return Spend(min(most, own.epsilon))
    low, high = 0.0, most
    if divergence(p, r, n, high) > delta - SLACK:
        return own
    for _ in range(STEPS):
        middle = (low + high) / 2
        if divergence(p, r, n, middle) <= delta - SLACK:
            high = middle
        else:
            low = middle
    return Spend(high, delta) if high < own.epsilon else own


def parameters(law: _Law) -> tuple[Fraction, Fraction]:
    """The largest ratio of two probabilities of one report, and the share of a clone.

    Where a law has very many weights, the share is bounded by half the inverse of the ratio.
    """
    inputs, outputs = math.prod(law.inputs), math.prod(law.outputs)
    ratio = law.ratio()
    if inputs * outputs > ENTRIES:
        return ratio, 1 / (2 * ratio)
    columns = [law.weights(index) for index in range(inputs)]
    # Integers that do not fit a word stay Python's own.
    kind = np.int64 if max(map(max, columns)) < 2**62 else object
    table = np.sort(np.array(columns, dtype=kind), axis=0)
    rows = {(int(row[0]), int(row[1]), int(row[2])) for row in table[[0, -2, -1]].T}
    return ratio, min(Fraction(least, one + other) for least, one, other in rows)


def divergence(p: Fraction, r: Fraction, n: int, epsilon: float) -> float:
    """The delta of the bound at an epsilon, never too small by more than the slack."""
    from scipy.special import betainc, betaincc

    factor, ratio, chance = math.exp(epsilon), float(p), 2 * float(r)
    if factor >= ratio:
        return 0.0
    center, spread = (n - 1) * chance, math.sqrt((n - 1) * chance) + 1
    first = max(0, math.floor(center - 12 * spread))
    last = min(n - 1, math.ceil(center + 12 * spread) + 40)
    # Starts of bins of clones; all clones of a bin count as the fewest of it.
    starts = np.unique(np.linspace(first, last + 1, min(BINS, last - first + 2)).astype(np.int64))
    # The regularized beta function is the tail of a binomial.
    some = np.maximum(starts, 1).astype(np.float64)
    below = np.where(starts > 0, betaincc(some, np.maximum(n - some, 1e-300), chance), 0.0)
    masses = np.maximum(np.diff(np.append(below, 1.0)), 0.0)
    worst = _at(starts.astype(np.float64), ratio, factor, betainc)
    missed = float(below[0])
    return float(masses @ worst) + missed


def _at(clones: Any, ratio: float, factor: float, beta: Any) -> Any:
    """The divergence given how many clones there are."""
    total = clones + 1
    # The counts k at which the first answer is more than the factor as likely as the second.
    k = np.floor((factor * ratio - 1) * total / ((ratio - 1) * (1 + factor))) + 1
    k = np.clip(k, 0, total + 1)
    up, stay = (_at_least(j, clones, beta) for j in (k - 1, k))
    return np.maximum(((ratio - factor) * up + (1 - factor * ratio) * stay) / (ratio + 1), 0.0)


def _at_least(j: Any, clones: Any, beta: Any) -> Any:
    """P(Bin(clones, 1/2) >= j)."""
    inside = np.clip(j, 1, np.maximum(clones, 1))
    tail = beta(inside, np.maximum(clones - inside + 1, 1), 0.5)
    return np.where(j <= 0, 1.0, np.where(j > clones, 0.0, tail))


def _log_up(ratio: Fraction) -> float:
    if ratio < 1:
        raise InvalidInput("a ratio of at least one", "less")
    return math.nextafter(math.log(ratio.numerator) - math.log(ratio.denominator), math.inf)

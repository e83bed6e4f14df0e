"""Relations between questions, from reports about pairs and about single questions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from confide import _checks
from confide._types import Floats
from confide.curves.copula import Copula, Relation
from confide.curves.density import CellDensity
from confide.curves.proportions import Proportions
from confide.errors import ConfideWarning, InvalidInput, Mismatch
from confide.estimators.adaptive import density
from confide.estimators.enough import needed
from confide.estimators.shares import CategoryShares
from confide.lattice import INTEGER, Categories, Lattice
from confide.mechanisms import Mechanism, PairResponse
from confide.mechanisms.pair_response import Side
from confide.summaries import Counts, Summaries
from confide.summaries.plausibility import checked

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
EDGE = 0.9999
"""Correlations are looked for up to here; a relation that is stronger is one."""
FAR = 8.0
"""A normal score beyond which nobody is."""
STEPS = 4
"""Times that the weights of outcomes are found anew."""
TINY = 1e-4


def both_below(x: Floats, y: Floats, correlation: float) -> Floats:
    """P(X < x, Y < y) of two standard normal numbers with this correlation.

    Its derivative by the correlation is their density (Plackett 1954), which is integrated by the
    angle whose sine is the correlation.

    Examples
    --------
    >>> both_below(np.zeros(1), np.zeros(1), 0.5).round(6)
    array([0.333333])
    """
    angle = np.arcsin(correlation)
    sines = np.sin(angle * (NODES + 1) / 2)
    x, y = np.asarray(x)[..., None], np.asarray(y)[..., None]
    exponents = (x * x + y * y - 2 * x * y * sines) / (2 * (1 - sines * sines))
    area = np.exp(-exponents) @ WEIGHTS * angle / (4 * np.pi)
    found: Floats = ndtr(x[..., 0]) * ndtr(y[..., 0]) + area
    return found


@dataclass(frozen=True, eq=False)
class Cut:
    """The share of the population below each cut of a question, with its uncertainty."""

    below: Floats
    errors: Floats

    @property
    def scores(self) -> Floats:
        """Normal scores of the cuts, from minus to plus infinity as far as that matters."""
        inner = np.clip(ndtri(np.clip(self.below, 0, 1)), -FAR, FAR)
        return np.concatenate([[-FAR], inner, [FAR]])

    def moved(self, at: int, by: float) -> Cut:
        """A copy with one share changed."""
        below = self.below.copy()
        below[at] = np.clip(below[at] + by, 0, 1)
        return Cut(below, self.errors)


def table_of(first: Cut, second: Cut, correlation: float) -> Floats:
    """Shares of the cells of a table of two questions under a normal copula."""
    corners = both_below(first.scores[:, None], second.scores[None, :], correlation)
    cells: Floats = np.diff(np.diff(corners, axis=0), axis=1)
    return np.maximum(cells, 0.0)


@dataclass(frozen=True, eq=False)
class Pair:
    """The reports about a pair, and the two questions by themselves."""

    counts: Counts
    cuts: tuple[Cut, Cut]

    @property
    def mechanism(self) -> PairResponse:
        """The mechanism of the reports."""
        assert isinstance(self.counts.mechanism, PairResponse)
        return self.counts.mechanism

    @cached_property
    def reported(self) -> Floats:
        """Share of each report."""
        total = self.counts.total.astype(np.float64)
        return np.asarray(total / total.sum())

    @property
    def gain(self) -> float:
        """What the share of a report changes when that of its outcome does, inverted."""
        law = self.mechanism.law.response
        return law.total / (law.near - law.far)

    @cached_property
    def outcomes(self) -> Floats:
        """Unbiased estimates of the share of each outcome."""
        law = self.mechanism.law.response
        found: Floats = self.gain * self.reported - law.far / (law.near - law.far)
        return found

    @property
    def declined(self) -> float | None:
        """Share of the people who declined either question."""
        return float(np.clip(self.outcomes[-1], 0, 0.99)) if self.mechanism.declines else None

    @property
    def _answering(self) -> int:
        return self.outcomes.size - self.mechanism.declines

    @property
    def shares(self) -> Floats:
        """Unbiased shares of the outcomes among people who answered both questions."""
        found: Floats = self.outcomes[: self._answering] / (1 - (self.declined or 0.0))
        return found

    def expected(self, correlation: float, cuts: tuple[Cut, Cut] | None = None) -> Floats:
        """Shares of the outcomes under a normal copula."""
        cells = table_of(*(self.cuts if cuts is None else cuts), correlation)
        outcomes = self.mechanism.outcomes[: cells.shape[0], : cells.shape[1]]
        found = np.bincount(outcomes.ravel(), cells.ravel(), minlength=self._answering)
        return found.astype(np.float64, copy=False)

    def weights(self, correlation: float) -> Floats:
        """Weights of the outcomes in the equation that the correlation solves.

        They are those of the likelihood of the reports: the change of an outcome's share with the
        correlation, over the variance of its estimate.
        """
        here = min(max(correlation, -EDGE + TINY), EDGE - TINY)
        slope = (self.expected(here + TINY) - self.expected(here - TINY)) / (2 * TINY)
        answering = 1 - (self.declined or 0.0)
        law = self.mechanism.law.response
        reports = (law.far + (law.near - law.far) * answering * self.expected(here)) / law.total
        found: Floats = slope / reports
        return np.asarray(found - (found * reports).sum() / reports.sum())

    def error(self, weights: Floats, correlation: float) -> float:
        """Standard error of the weighted sum of outcomes, with that of the questions' shares."""
        own, cuts = self._variances(weights, correlation)
        return float(np.sqrt(own + cuts))

    def _variances(self, weights: Floats, correlation: float) -> tuple[float, float]:
        """Variance of the weighted sum from the reports about the pair, and from the cuts."""
        cuts = 0.0
        for side, cut in enumerate(self.cuts):
            for at, own in enumerate(cut.errors):
                moved = [cut.moved(at, by) for by in (TINY, -TINY)]
                ends = [
                    weights @ self.expected(correlation, (one, self.cuts[1]) if side == 0
                                            else (self.cuts[0], one))
                    for one in moved
                ]  # fmt: skip
                step = moved[0].below[at] - moved[1].below[at]
                cuts += ((ends[0] - ends[1]) / step * own) ** 2
        return max(self._seen(weights), self._stated(weights, correlation)), cuts

    def _slopes(self, weights: Floats) -> Floats:
        """How the weighted sum moves with the share of each outcome."""
        slopes = weights / (1 - (self.declined or 0.0))
        if self.mechanism.declines:
            slopes = np.append(slopes, slopes @ self.shares)
        return slopes

    def _seen(self, weights: Floats) -> float:
        """Variance of the weighted sum as the reports show it."""
        slopes = self._slopes(weights)
        return self.gain**2 * float(self.counts.residuals.covariance(slopes, slopes))

    def _stated(self, weights: Floats, correlation: float) -> float:
        """Variance of the weighted sum as the law of the reports states it.

        Few reports show too little of it, and one report shows none.
        """
        slopes, answering = self._slopes(weights), 1 - (self.declined or 0.0)
        shares = self.expected(correlation) * answering
        shares = np.append(shares, 1 - answering) if self.mechanism.declines else shares
        law = self.mechanism.law.response
        reports = (law.far + (law.near - law.far) * shares) / law.total
        reports = reports / reports.sum()
        own = float(slopes**2 @ reports - (slopes @ reports) ** 2)
        return self.gain**2 * own / self.counts.effective_n

    def solved(self, weights: Floats) -> float:
        """The correlation under which the weighted sum of outcomes is as estimated."""
        goal = weights @ self.shares
        return _root(lambda correlation: float(weights @ self.expected(correlation) - goal))

    def _ends(self, weights: Floats, correlation: float, z: float) -> tuple[float, float]:
        """The correlations between which the weighted sum is no surprise.

        Each is tested with the variance that reports have under it. The sum moves in steps of
        whole reports and its law counts as normal, so that half a step is allowed for.
        """
        goal = weights @ self.shares
        seen, (_, cuts) = self._seen(weights), self._variances(weights, correlation)
        half_step = self.gain * float(np.ptp(self._slopes(weights))) / (2 * self.counts.effective_n)

        def beyond(sign: int, at: float) -> float:
            own = max(seen, self._stated(weights, at)) if np.isfinite(seen) else seen
            allowed = z * np.sqrt(own + cuts) + half_step
            return float(weights @ self.expected(at) - goal - sign * allowed)

        low, high = (_root(partial(beyond, sign)) for sign in (-1, 1))
        # Where no correlation explains the reports beside the shares of both questions, none is
        # told from any other.
        return (-1.0, 1.0) if low == 1 or high == -1 else (low, high)

    def relation(self, level: float) -> Relation:
        """The correlation and the cross table of two questions, with intervals."""
        z = float(ndtri((1 + level) / 2))
        rho, low, high, error = self._solution(z)
        shares, errors = self._cells()
        first, second = self.mechanism.sides.items()
        return Relation(
            (first[0], second[0]),
            self.counts.n,
            correlation=rho,
            low=low,
            high=high,
            error=error,
            labels=(tuple(first[1].labels()), tuple(second[1].labels())),
            shares=np.clip(shares, 0, 1),
            ends=(np.clip(shares - z * errors, 0, 1), np.clip(shares + z * errors, 0, 1)),
            bit=self.mechanism.bit,
            declined=self.declined,
        )

    def _solution(self, z: float) -> tuple[float, float, float, float]:
        """The correlation, the ends of its interval of so many standard errors, and its error."""
        rho = 0.0
        for _ in range(1 if self.mechanism.bit else STEPS):
            weights = self.weights(rho)
            if np.abs(weights).max() < TINY:
                # One side of a threshold is empty: every correlation gives these reports.
                return 0.0, -1.0, 1.0, 1.0
            rho = self.solved(weights)
        spread = self.error(weights, rho)
        low, high = self._ends(weights, rho, z)
        here = min(max(rho, -EDGE + TINY), EDGE - TINY)
        slope = weights @ (self.expected(here + TINY) - self.expected(here - TINY)) / (2 * TINY)
        error = spread / abs(float(slope)) if slope else 1.0
        return rho, min(low, rho), max(high, rho), min(error, 1.0)

    def _cells(self) -> tuple[Floats, Floats]:
        """Shares of the cells of the table and their standard errors.

        A bit and the shares of both questions decide a table of four cells; otherwise the reports
        are cells.
        """
        count = self._answering
        if not self.mechanism.bit:
            errors = np.array([self.error(np.eye(count)[at], 0.0) for at in range(count)])
            shape = tuple(len(side.starts) for side in self.mechanism.sides.values())
            return self.shares.reshape(shape), errors.reshape(shape)
        differ = float(np.clip(self.shares[1], 0, 1))
        above = [1 - float(cut.below[0]) for cut in self.cuts]
        both = (sum(above) - differ) / 2
        both = min(max(both, 0.0, sum(above) - 1), *above)
        table = np.array([[1 - sum(above) + both, above[1] - both], [above[0] - both, both]])
        noise = Pair(self.counts, (_sure(self.cuts[0]), _sure(self.cuts[1])))
        spread = noise.error(np.array([0.0, 1.0]), 0.0)
        whole = np.sqrt(spread**2 + sum(float(cut.errors[0]) ** 2 for cut in self.cuts)) / 2
        return table, np.full((2, 2), whole)


def _root(rising: Callable[[float], float]) -> float:
    """Where a function that rises with the correlation is zero, or the end beyond which it is."""
    if rising(-EDGE) >= 0:
        return -1.0
    if rising(EDGE) <= 0:
        return 1.0
    return float(brentq(rising, -EDGE, EDGE, xtol=1e-10))


def _sure(cut: Cut) -> Cut:
    return Cut(cut.below, np.zeros_like(cut.errors))


def cut_of(side: Side, margin: CellDensity | Proportions) -> Cut:
    """Shares of a question's answers below each of its cuts, and their standard errors."""
    starts = np.array(side.starts[1:])
    level, z = 0.95, float(ndtri(0.975))
    if isinstance(margin, Proportions):
        assert margin.intervals is not None
        below = np.cumsum(margin.shares)[starts - 1]
        low, high = (end[starts - 1] for end in margin.intervals.cumulative(level))  # type: ignore[attr-defined]
    else:
        assert isinstance(side.axis, Lattice)
        places = side.axis.edges[starts]
        below = np.asarray(margin.cdf(places))
        quick = getattr(margin.intervals, "quick", None)
        sure = margin if quick is None else replace(margin, intervals=quick())
        low, high = sure.interval("cdf", places, level=level)
    return Cut(below, np.maximum(np.asarray(high) - np.asarray(low), 0.0) / (2 * z))


def margin_of(counts: Counts) -> CellDensity | Proportions:
    """The default estimate of one question by itself."""
    if isinstance(counts.mechanism.axes[""], Categories):
        return CategoryShares().fit(counts)
    return density(counts).cells


def relate(
    summaries: Summaries,
    *,
    margins: Mapping[str, CellDensity | Proportions] | None = None,
    level: float = 0.95,
) -> Copula:
    """Estimate how the answers to the questions of a survey go together.

    For each pair, this finds the correlation of the normal copula that best explains the reports
    about the pair. The shares below the thresholds come from people who answered single questions.
    The intervals include the errors of both. With one threshold per question, a report measures
    one kind of relation only. It cannot show a symmetric relation (both high and low pay go with
    illness), nor one that is only in the tails.

    Parameters
    ----------
    summaries
        Counts of the survey's questions and of its pairs.
    margins
        Estimates of single questions, if they are already known; by default all are estimated.
    level
        Confidence level of the intervals.

    Returns
    -------
    Copula
        The relation of each pair, and a model of all questions, which can be sampled.

    Examples
    --------
    >>> from confide import Survey, tables
    >>> free = {"low": 0, "high": 1, "size": 64}
    >>> survey = Survey.from_dict({"epsilon": 4.0, "ask": 1, "questions": {"x": free, "y": free},
    ...     "relations": {"pairs": "all", "at": {"x": 0.5, "y": 0.5}}})
    >>> x = np.random.default_rng(1).random(20_000)
    >>> made = survey.simulate({"x": x, "y": x}, seed=1)
    >>> parts = {name: tables.counts(made, each, column=name, simulated=True)
    ...          for name, each in survey.mechanisms.items()}
    >>> relate(Summaries(parts))["x", "y"].correlation > 0.9
    True
    """
    if not isinstance(summaries, Summaries):
        raise InvalidInput("Summaries", _checks.shown(type(summaries)))
    level = _checks.level(level)
    single = [name for name in summaries if summaries.mechanism(name).single]
    pairs = [name for name in summaries if isinstance(summaries.mechanism(name), PairResponse)]
    found = {name: _enough(summaries[name], name) for name in single}
    known = dict(margins or {})
    curves = {name: known.get(name) or margin_of(counts) for name, counts in found.items()}
    known_cuts: dict[tuple[str, Side], Cut] = {}
    relations = []
    for name in pairs:
        counts = checked(_enough(summaries[name], name), question=name, pairs=True)
        mechanism: Any = counts.mechanism
        for question, side in mechanism.sides.items():
            if question not in curves:
                raise Mismatch(
                    f"reports to the single question {question!r} beside those about {name!r}",
                    "none",
                    "A relation is read against the distributions of both questions.",
                )
            if found[question].mechanism.axes[""] != side.axis:
                raise Mismatch(
                    f"reports to {question!r} on the lattice of the pair {name!r}", "another one"
                )
            if (question, side) not in known_cuts:
                known_cuts[question, side] = cut_of(side, curves[question])
        one, other = (known_cuts[each] for each in mechanism.sides.items())
        relations.append(Pair(counts, (one, other)).relation(level))
    facts = {"method": "relations", "n": sum(summaries[name].n for name in summaries)}
    return Copula(curves, relations, level=level, facts=facts)


def _enough(counts: Counts, name: str) -> Counts:
    if not counts.n:
        raise InvalidInput(f"reports of {name!r}", "none", "There is nothing to relate.")
    return counts


def thresholds(
    summaries: Summaries, names: list[str], *, classes: int = 2
) -> dict[str, tuple[float, ...]]:
    """Thresholds that divide each question into classes of about equal size.

    They are quantiles of private estimates, so they cost no further epsilon. Ask other people for
    pairs than those behind the summaries.

    Parameters
    ----------
    summaries
        Counts of earlier reports.
    names
        The questions; questions with categories have no thresholds.
    classes
        Number of classes for each question.

    Examples
    --------
    >>> from confide import SquareWave
    >>> mechanism = SquareWave(Lattice(low=0, high=10, size=10), epsilon=8.0)
    >>> pay = Counts.of(mechanism.simulate(np.linspace(0, 8, 4000), seed=1))
    >>> thresholds(Summaries({"pay": pay}), ["pay"])
    {'pay': (4.0,)}
    """
    if not isinstance(summaries, Summaries):
        raise InvalidInput("Summaries", _checks.shown(type(summaries)))
    found = {}
    for name in names:
        if name not in summaries:
            raise InvalidInput(
                f"earlier reports of {name!r} to take a threshold from",
                "none",
                _checks.nearest(name, summaries),
            )
        axis = summaries.mechanism(name).axes.get("")
        if not isinstance(axis, Lattice):
            continue
        counts = _enough(summaries[name], name)
        _warn_of_few(counts, name)
        curve = density(counts).cells
        wanted = np.arange(1, classes) / classes
        found[name] = _between(axis, curve, wanted)
    return found


def _warn_of_few(counts: Counts, name: str) -> None:
    """Warn of a threshold from so few reports that it could lie anywhere."""
    mechanism = counts.mechanism
    if isinstance(mechanism, Mechanism) and counts.n < (least := needed(mechanism)):
        warnings.warn(
            f"Few earlier reports of {name!r}: {counts.n:,}, where an estimate needs {least:,}. "
            "The threshold may lie far from the median, and the correlation is then known less.",
            ConfideWarning,
            stacklevel=4,
        )


def _between(axis: Lattice, curve: CellDensity, wanted: Floats) -> tuple[float, ...]:
    """Edges of cells nearest to shares of the population, each once, in the data's units."""
    edges = axis.edges[1:-1]
    below = np.asarray(curve.cdf(edges))
    at = sorted({int(np.abs(below - share).argmin()) for share in wanted})
    if axis.kind == INTEGER:
        return tuple(float(np.ceil(edges[each])) for each in at)
    return tuple(float(edges[each]) for each in at)

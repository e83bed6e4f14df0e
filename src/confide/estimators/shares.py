"""Shares of categories from randomized responses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.curves import Proportions, forms
from confide.errors import InvalidInput, Unsupported
from confide.estimators.declining import LEAST, Answerers, chance_ends, effective_numbers
from confide.estimators.profile import maximize
from confide.lattice import Categories
from confide.mechanisms.laws import Band, Law
from confide.summaries import Counts
from confide.summaries.counts import expected
from confide.summaries.plausibility import checked

GAP = 1e-6
ALIKE = 1e-9
"""Largest relative difference between categories that are treated alike."""


@dataclass(frozen=True, kw_only=True)
class CategoryShares:
    """Shares of categories by maximum likelihood, for randomized and forced response.

    Notes
    -----
    The unbiased shares (the law's inverse applied to the shares of reports) are the most likely
    ones when none is negative; otherwise the likelihood is maximized over shares >= 0. An interval
    is exact: a share is a linear function of the chance of one report, whose Clopper-Pearson
    interval is carried over and cut to [0, 1]. With survey weights each report has its own
    effective number of respondents, from the variance of its weighted share (Korn and Graubard
    1998), and the interval is approximate. Where people may decline, shares are those among the
    others, whose intervals are approximate too: see `confide.estimators.declining.Answerers`.

    Examples
    --------
    >>> from confide.mechanisms import RandomizedResponse
    >>> answers = ["no"] * 7000 + ["yes"] * 3000
    >>> reports = RandomizedResponse(["no", "yes"], epsilon=1.0).simulate(answers, seed=1)
    >>> shares = CategoryShares().fit(Counts.of(reports))
    >>> print(f"{shares.share('yes'):.1f}")
    0.3
    >>> low, high = shares.interval("yes")
    >>> low < 0.3 < high
    True
    """

    def fit(self, counts: Counts) -> Proportions:
        """Estimate the shares behind the reports.

        Parameters
        ----------
        counts
            Summary of the reports of one question with categories.
        """
        axes = list(expected(counts).mechanism.axes.values())
        if len(axes) != 1 or not isinstance(axes[0], Categories):
            raise InvalidInput(
                "counts of one question with categories",
                f"{len(axes)} questions" if len(axes) > 1 else "counts of a number",
                "Take marginal(question) of joint counts, Likelihood for numbers.",
            )
        if not counts.n:
            raise InvalidInput("at least one report", "none", "There is nothing to estimate from.")
        total = checked(counts).total
        reports = total / total.sum()
        law = counts.mechanism.law
        shares = _most_likely(law, reports, GAP / counts.effective_n)
        facts = {"method": "category shares", **counts.facts}
        labels = axes[0].labels
        if counts.mechanism.prefer_not_to_say:
            told = np.maximum(shares[:-1], LEAST)
            return Proportions(
                labels,
                told / told.sum(),
                facts=facts,
                intervals=AnswererIntervals(counts),
                declined=float(np.clip(shares[-1], 0, 1)),
            )
        numbers = effective_numbers(counts), effective_numbers(counts, cumulative=True)
        intervals = ReportIntervals(*scores_of(law), reports, *numbers)
        return Proportions(labels, shares / shares.sum(), facts=facts, intervals=intervals)


@dataclass(frozen=True, eq=False)
class ReportIntervals:
    """Exact intervals for shares that each hang on the chance of one report.

    Parameters
    ----------
    own, others
        What a report of a category adds to the estimate of its share, and what each report of
        another one does: the two values in each row of the law's inverse.
    reports
        Shares of the reports.
    n
        Respondents, or their effective number for each report.
    together
        The two values for each report and all before it.
    """

    own: Floats
    others: Floats
    reports: Floats
    n: float | Floats
    together: float | Floats

    def shares(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends, one a category."""
        # Row by row a report either scores high (the category itself) or low (all others).
        ends = [
            self.others + (self.own - self.others) * chance
            for chance in chance_ends(self.reports, self.n, level)
        ]
        return np.clip(ends[0], 0, 1), np.clip(ends[1], 0, 1)

    def cumulative(self, level: float) -> tuple[Floats, Floats]:
        """Ends for the share of each category and all before it, for categories in order.

        Where all categories are treated alike, the share of several hangs on the chance of their
        reports together, and the interval is as exact as that of one.
        """
        gap = self.own - self.others
        if np.ptp(gap) > ALIKE * gap.max():
            raise Unsupported("Cumulative shares are for randomized response alone.")
        many = np.arange(1, self.reports.size + 1)
        reports = np.minimum(self.reports.cumsum(), 1.0)
        ends = [
            many * self.others + gap * chance
            for chance in chance_ends(reports, self.together, level)
        ]
        return whole(np.clip(ends[0], 0, 1), np.clip(ends[1], 0, 1))

    def declined(self, level: float) -> tuple[float, float]:
        """Nobody could."""
        raise forms.not_offered()


@dataclass(frozen=True, eq=False)
class AnswererIntervals:
    """Intervals for shares among those who did not decline, and for the share that did.

    Parameters
    ----------
    counts
        Summary of the reports; see `Answerers` for how intervals are made of them.
    """

    counts: Counts

    def shares(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends, one a category."""
        own, others = scores_of(self.counts.mechanism.law)
        scores = others[:-1, None] + np.diag(own - others)[:-1]
        return Answerers(self.counts).ratios(scores, _checks.level(level), (0.0, 1.0))

    def cumulative(self, level: float) -> tuple[Floats, Floats]:
        """Ends for the share of each category and all before it, for categories in order."""
        own, others = scores_of(self.counts.mechanism.law)
        scores = others[:-1, None] + np.diag(own - others)[:-1]
        most = (0.0, 1.0)
        ends = Answerers(self.counts).ratios(scores.cumsum(0), _checks.level(level), most)
        return whole(*ends)

    def declined(self, level: float) -> tuple[float, float]:
        """Lower and upper end of the share that declined."""
        return Answerers(self.counts).interval(_checks.level(level))


def whole(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends of cumulative shares, of which the last one is all."""
    low[-1] = high[-1] = 1.0
    return low, high


def scores_of(law: Law) -> tuple[Floats, Floats]:
    """What a report of a category adds to the estimate of its share, and one of another does."""
    if isinstance(law, Band) and not law.reach:
        low, gap = _chances(law)
        return np.full(law.size, (1 - low) / gap), np.full(law.size, -low / gap)
    inverse = np.linalg.inv(law.matrix())
    own = np.diagonal(inverse)
    return own, (inverse.sum(1) - own) / (len(own) - 1)


def _chances(law: Band) -> tuple[float, float]:
    """A report of a category has the chance ``low + gap * share`` under randomized response."""
    return law.far / law.total, (law.near - law.far) / law.total


def _most_likely(law: Law, reports: Floats, gap: float) -> Floats:
    """The shares that make the reports most likely."""
    if isinstance(law, Band) and not law.reach:
        return _randomized(law, reports)
    matrix = law.matrix()
    shares: Floats = np.linalg.solve(matrix, reports).astype(np.float64, copy=False)
    return shares if shares.min() >= 0 else maximize(matrix, reports[None], gap=gap)[0][0]


def _randomized(law: Band, reports: Floats) -> Floats:
    """The most likely shares for randomized response, in closed form for any number of categories.

    The likelihood is greatest at max(0, reports/level - low)/gap, with the level at which these
    sum to one.
    """
    low, gap = _chances(law)
    shares: Floats = (reports - low) / gap
    if shares.min() >= 0:
        return shares
    ordered = np.sort(reports)[::-1]
    # The level if the k most frequent categories are the ones with a share.
    levels = np.cumsum(ordered) / (gap + low * np.arange(1, ordered.size + 1))
    kept = int(np.flatnonzero(ordered > low * levels)[-1])
    most_likely: Floats = np.maximum(reports / levels[kept] - low, 0.0) / gap
    return most_likely

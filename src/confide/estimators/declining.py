"""Estimates where people may decline: their share, and the distribution among the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, stdtrit

from confide import _checks
from confide._types import Floats
from confide.estimators.em import Project, Rows
from confide.summaries import Counts

USUAL = 0.975
"""The point of Student's law by which effective numbers are made smaller, at every level."""
LEAST = 1e-9
"""Share of those who declined, and of those who did not, that a fit works with at least."""


def effective_numbers(counts: Counts, *, cumulative: bool = False) -> Floats:
    """Respondents behind the share of each report: n, or others where they have weights.

    With survey weights each report has its own effective number, from the variance of its weighted
    share (Korn and Graubard 1998), which raked margins make smaller.

    Parameters
    ----------
    counts
        Summary of the reports of one question.
    cumulative
        Of the share of each report and all before it.
    """
    total = counts.total
    reports = total / total.sum()
    n = np.full(reports.shape, counts.effective_n)
    if counts.weights is None:
        return n
    spread = counts.weights[1] / total.sum() ** 2
    whole = spread.sum()
    if cumulative:
        reports, spread = reports.cumsum(), spread.cumsum()
    variance = (1 - 2 * reports) * spread + reports**2 * whole
    if counts.raked is not None:
        known = counts.raked
        # A binomial share is taken to have a known variance, and this one is estimated.
        wide = stdtrit(max(known.freedom, 1e-3), USUAL) / ndtri(USUAL)
        variance = known.variances(cumulative=cumulative) * wide**2
    some = (reports > 0) & (reports < 1 - LEAST)
    n[some] = (reports * (1 - reports))[some] / variance[some]
    return n


def chance_ends(shares: Floats, n: float | Floats, level: float) -> tuple[Floats, Floats]:
    """Clopper-Pearson intervals of the chances of reports that have given shares among n."""
    tail = (1 - _checks.level(level)) / 2
    hits = n * shares
    misses = np.maximum(n - hits, 0.0)
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, betaincinv(hits, misses + 1, tail), 0.0)
        most = np.where(misses > 0, betaincinv(hits + 1, misses, 1 - tail), 1.0)
    return least, most


@dataclass(frozen=True, eq=False)
class Answerers:
    """Separates people who declined from people who answered, in counts of such a question.

    Parameters
    ----------
    counts
        Summary of the reports of one question with ``prefer_not_to_say``.

    Notes
    -----
    Whatever the answers are, the last report, the symbol, has the same chance under all of them and
    another one if somebody declined. So how many declined hangs on the number of symbols alone,
    which is binomial: its Clopper-Pearson interval is carried over and `cut` to [0, 1].

    What is true of answerers is a ratio of two means of scores: of one that is unbiased for the
    quantity and expects 0 of those who declined, and of one that is unbiased for having answered.
    Its interval is that of Fieller (1954): all ratios t for which the mean of the difference
    "quantity - t answered" does not differ from 0 by Student's test. Unlike the delta method it
    stays honest where few answered; where that nobody answered cannot be told from the reports, it
    is all that is possible.
    """

    counts: Counts

    @cached_property
    def _chances(self) -> tuple[float, float]:
        """Chance of the symbol given an answer, and given that somebody declined."""
        law = self.counts.mechanism.law
        symbol = np.zeros(law.outputs)
        symbol[-1] = 1.0
        chances = law.adjoint(symbol)
        return float(chances[0]), float(chances[-1])

    @property
    def declined(self) -> float:
        """Share of people who declined: the unbiased estimate, clipped to [0, 1]."""
        total = self.counts.total
        answer, none = self._chances
        return float(np.clip((total[-1] / total.sum() - answer) / (none - answer), 0, 1))

    def interval(self, level: float) -> tuple[float, float]:
        """Interval of the share of people who declined."""
        if not self.counts.n:
            return 0.0, 1.0
        total = self.counts.total
        n = effective_numbers(self.counts)
        least, most = chance_ends(total[-1:] / total.sum(), n[-1:], level)
        answer, none = self._chances
        ends = (least - answer) / (none - answer), (most - answer) / (none - answer)
        low, high = cut(*ends, (0.0, 1.0))
        return float(low[0]), float(high[0])

    @cached_property
    def answered(self) -> Floats:
        """A score for each report that is unbiased for having answered: 1, or 0 if declined."""
        answer, none = self._chances
        scores = np.full(self.counts.mechanism.law.outputs, none / (none - answer))
        scores[-1] = (none - 1) / (none - answer)
        return scores

    def ratios(
        self, scores: Floats, level: float, bounds: tuple[float, float]
    ) -> tuple[Floats, Floats]:
        """Intervals of quantities among those who answered.

        Parameters
        ----------
        scores : array (..., reports)
            Unbiased for each quantity, 0 being expected of those who declined.
        level
            Confidence level.
        bounds
            What the quantities may not leave.
        """
        counts, law = self.counts, self.counts.mechanism.law
        shape = scores.shape[:-1]
        n = counts.effective_n
        if not n > 1 + 1e-9:
            return np.full(shape, bounds[0]), np.full(shape, bounds[1])
        weights = counts.total
        # Counted from the middle of what is possible, so that no digits cancel.
        center = (bounds[0] + bounds[1]) / 2
        both = np.stack(np.broadcast_arrays(self.answered, scores - center * self.answered))
        means = both @ weights / weights.sum()
        residuals = counts.residuals
        variances = residuals.covariance(both, both)
        # Reports that happen to be all alike must not pass for certainty.
        noise = law.adjoint(both**2) - law.adjoint(both) ** 2
        variances = np.maximum(variances, noise.min(-1) / n)
        covariance = residuals.covariance(both[0], both[1])
        square = float(stdtrit(max(residuals.freedom, 1e-3), (1 + level) / 2)) ** 2
        first = means[0] ** 2 - square * variances[0]
        middle = means[0] * means[1] - square * covariance
        last = means[1] ** 2 - square * variances[1]
        known = (first > 0) & (means[0] > 0)
        root = np.sqrt(np.maximum(middle**2 - first * last, 0.0))
        scale = np.where(known, first, 1.0)
        low = np.where(known, (middle - root) / scale + center, bounds[0])
        high = np.where(known, (middle + root) / scale + center, bounds[1])
        return cut(low, high, bounds)


def cut(low: Floats, high: Floats, bounds: tuple[float, float]) -> tuple[Floats, Floats]:
    """Intervals cut to what is possible; one beyond a bound is moved so that it starts there.

    Its middle is then the bound, as that of an estimate which is cut to it: nothing at all is left
    of the interval otherwise, and chance would pass for certainty.
    """
    half = (high - low) / 2
    least, most = bounds
    middle = np.clip((low + high) / 2, least, most)
    beyond = (high <= least) | (low >= most)
    low = np.where(beyond, middle - half, low)
    high = np.where(beyond, middle + half, high)
    return np.clip(low, least, most), np.clip(high, least, most)


def held(declined: npt.ArrayLike) -> Project:
    """A constraint for `em`: the last mass, of those who declined, is given; one, or one a row."""
    shares = np.atleast_1d(_inside(declined))

    def project(masses: Floats, rows: Rows) -> Floats:
        own = shares[rows % shares.size, None]
        cells = masses[:, :-1]
        return np.append(cells * ((1 - own) / cells.sum(1, keepdims=True)), own, axis=1)

    return project


def even(declined: npt.ArrayLike, cells: int) -> Floats:
    """Masses that `held` allows: equal ones, and that of those who declined; a row for each."""
    share = _inside(declined)[..., None]
    rest = np.broadcast_to((1 - share) / cells, (*share.shape[:-1], cells))
    return np.append(rest, share, axis=-1)


def _inside(declined: npt.ArrayLike) -> Floats:
    return np.asarray(np.clip(declined, LEAST, 1 - LEAST), dtype=np.float64)

"""How large a likelihood-ratio statistic gets where its hypothesis is true: simulated surveys.

The deviance of a share is not a chi-square where masses press against zero. Its mean runs from .2
(Laplace noise, epsilon 1) to 2 (square wave, epsilon 4, 100 respondents), because noise alone
decides there what the likelihood can tell apart, or because the positive parts of many small masses
add up (Batlle et al. 2023 refute the conjecture that one degree of freedom is safe). So surveys are
drawn from a pilot, an estimate from the same reports, with a fixed seed, and tested where the pilot
says the truth is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import chdtri, gammaincinv

from confide._types import Floats
from confide.estimators.profile import GAP, Profile
from confide.summaries.residuals import Residuals

SEED = 19_720_101
DRAWS, FEWEST, BINS = 100, 12, 64
"""Simulated surveys with up to 64 bins of reports, and at least: with more bins there are fewer, so
that the time does not grow as fast as that of each."""
SHARES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Shares of the pilot at whose places the statistic is simulated; between them cuts are linear."""
BODY = (0.1, 0.9)
"""Shares of the pilot beyond which a place lies in a tail."""
ALLOWANCE = 1.1
"""On the cut: the pilot is not the population, and some surveys are not all of them."""
LEAST = 0.5
"""A cut at least: below, what the solver leaves open would count."""
SMALL = 100
"""Respondents below which the cut is not less than that of a chi-square, and 10 / n more."""
WIDE = 1 / 8
"""Part of the lattice above which a gap between two places gets one more, in its middle."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Cuts of the deviance, by place and level, for one survey.

    Parameters
    ----------
    profile
        The tests.
    pilot : array (cells,)
        Masses of the profile's cells, and of those who declined.
    n
        Effective number of respondents.
    weighed
        Weights by group and bin of reports, where there are any: those that go with the answers
        make some bins more uncertain, and others less, than a multinomial draw of the effective
        number, and raked margins make all of them less uncertain.
    most
        Surveys to simulate at most; by default `DRAWS`.
    """

    profile: Profile
    pilot: Floats
    n: float
    weighed: Residuals | None = None
    most: int | None = None
    _found: dict[int, tuple[float, float]] = field(init=False, repr=False, default_factory=dict)

    @cached_property
    def _drawn(self) -> tuple[Floats, Floats, Floats]:
        """Counts of simulated surveys, masses and log-likelihoods of their fits."""
        n = max(1, round(self.n))
        chances = self.profile.law @ self.pilot
        most = DRAWS if self.most is None else min(self.most, DRAWS)
        many = int(np.clip(DRAWS * (BINS / chances.size) ** 2, FEWEST, most))
        draw = np.random.default_rng(SEED)
        if self.weighed is None:
            drawn = draw.multinomial(n, chances / chances.sum(), size=many).astype(np.float64)
        else:
            drawn = n * self._raked(self.weighed, chances / chances.sum(), draw, many)
        masses, top = self.profile.fit(drawn, gap=10 * GAP)
        return drawn, masses, top

    def _raked(
        self, weighed: Residuals, chances: Floats, draw: np.random.Generator, many: int
    ) -> Floats:
        """Weighted shares of bins in simulated surveys, to first order: chances and residuals.

        Each group has the pilot after one step of expectation maximization with its own reports:
        that goes as far from the pilot of all as the noise lets be known. Respondents are drawn by
        group and bin, each with the mean weight there, and the margins' part is taken out.
        """
        sums, squares = weighed.sums, weighed.squares
        groups, total = sums.sum(1, keepdims=True), sums.sum()
        law, safe = self.profile.law, np.maximum(chances, np.finfo(float).tiny)
        laws = ((sums / groups / safe) @ law * self.pilot) @ law.T
        laws /= laws.sum(1, keepdims=True)
        if len(laws) == 1:
            laws = chances[None]
        usual = squares.sum(1, keepdims=True) / groups
        weight = np.where(sums > 0, squares / np.where(sums > 0, sums, 1.0), usual)
        expected = groups * laws
        units = expected / weight
        size = max(1, round(float(units.sum())))
        drawn = draw.multinomial(size, (units / units.sum()).ravel(), size=many)
        drawn = weight * drawn.reshape(many, *units.shape)
        means = weighed.fitted(expected)
        apart = drawn.sum(1) - np.einsum("sg,gb->sb", drawn.sum(2), means)
        shares = np.maximum(chances + apart / total, 0.0)
        return np.asarray(shares / shares.sum(1, keepdims=True))

    def deviances(self, parts: Floats) -> Floats:
        """Deviances of the pilot's own share of parts of the cells, one a simulated survey."""
        drawn, masses, top = self._drawn
        many = np.broadcast_to(parts, (len(drawn), parts.size))
        share = float(parts @ self.told)
        shares = np.full(len(drawn), share)
        found = self.profile.deviance(drawn, many, shares, top, masses, gap=10 * GAP)
        # Shares of 0 and 1 cannot be rejected.
        return np.asarray(np.where(np.isfinite(found), found, 0.0))

    @cached_property
    def told(self) -> Floats:
        """The pilot's masses among those who did not decline."""
        shares: Floats = self.profile.among(self.pilot[None])[0]
        return shares

    @cached_property
    def _body(self) -> Floats:
        """Places between which most people are."""
        line = np.append(0.0, self.told.cumsum())
        ends = np.interp(BODY, line / line[-1], np.arange(self.profile.size + 1.0))
        return np.asarray(ends)

    @cached_property
    def places(self) -> Floats:
        """Places of the profile at which the statistic is simulated, if any is asked for nearby.

        Besides those of `SHARES` there is one in the middle of every wide gap between them: where
        next to nobody is, the statistic has another law.
        """
        size = float(self.profile.size)
        line = np.append(0.0, self.told.cumsum())
        found = np.interp(SHARES, line / line[-1], np.arange(self.profile.size + 1.0))
        marks = np.concatenate([[0.0], found, [size]])
        wide = np.diff(marks) > WIDE * size
        return np.unique(np.append(found, (marks[:-1] + marks[1:])[wide] / 2))

    def _moments(self, at: int) -> tuple[float, float]:
        if at not in self._found:
            parts = self.profile.below(self.places[at : at + 1])[0]
            found = self.deviances(parts)
            self._found[at] = float(found.mean()), float(found.var(ddof=1))
        return self._found[at]

    def _cut_at(self, at: int, level: float) -> float:
        """The cut at one of the places; in the tails not less than at the place before them.

        There a pilot may have a tail that the population has not, or the other way around.
        """
        first, last = np.searchsorted(self.places, self._body)
        inner = int(np.clip(at, first, last))
        own = self.cut(*self._moments(at), level)
        return own if inner == at else max(own, self.cut(*self._moments(inner), level))

    def cuts(self, places: Floats, level: float) -> Floats:
        """What the deviance of the share below each place may be, with this level."""
        anchors = self.places
        above = np.clip(np.searchsorted(anchors, places), 0, anchors.size - 1)
        below = np.where(anchors[above] > places, np.maximum(above - 1, 0), above)
        each = {int(at): self._cut_at(int(at), level) for at in np.append(below, above)}
        low, high = (np.array([each[int(at)] for at in side]) for side in (below, above))
        gap = anchors[above] - anchors[below]
        part = np.clip((places - anchors[below]) / np.where(gap > 0, gap, 1.0), 0, 1)
        return np.asarray(low + part * (high - low))

    def cuts_of(self, deviances: Floats, level: float) -> Floats:
        """The cut for each row of simulated deviances."""
        pairs = ((row.mean(), row.var(ddof=1)) for row in deviances)
        return np.array([self.cut(float(m), float(v), level) for m, v in pairs])

    def together(self, deviances: Floats, level: float) -> Floats:
        """Cuts that hold at all rows together, by Bonferroni's inequality.

        None is below that of a chi-square: few simulated surveys say little about such far tails,
        and less where their pilot has smoothed a narrow hump away.
        """
        share = (1 - level) / len(deviances)
        return np.maximum(self.cuts_of(deviances, 1 - share), float(chdtri(1, share)))

    def cut(self, mean: float, variance: float, level: float) -> float:
        """The point of a gamma law with these moments, or of a scaled chi-square, and more.

        A chi-square needs the mean alone, which few surveys tell better than the variance; but
        where the statistic is often zero its tail is longer than a chi-square's.
        """
        plain = float(chdtri(1, 1 - level))
        floor = LEAST if self.n >= SMALL else plain * (1 + 10 / max(self.n, 1.0))
        if not mean > 0:
            return floor
        scale = max(variance, 1e-6 * mean) / mean
        point = max(scale * float(gammaincinv(mean / scale, level)), plain * mean)
        return max(ALLOWANCE * point, floor)

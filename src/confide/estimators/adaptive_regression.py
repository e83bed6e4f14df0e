"""The default regression: an average of curves by their evidence, as rough as reports ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from confide._types import Floats
from confide.curves.regression import Band, CellRegression, Regression
from confide.estimators.adaptive import Adaptive
from confide.estimators.em import Reduced, coarsen, one_thread
from confide.estimators.mean_priors import Behind, Candidate, candidates, moments, rougher, weights
from confide.estimators.ratio import RatioRegression, between
from confide.estimators.responses import checked_name, is_binary, tabled
from confide.lattice import Lattice
from confide.summaries import Counts

FEWEST = 8
"""Cells of a lattice below which there is nothing to smooth over."""
SAME = 1e-6
"""Deviation of responses that are all the same but for rounding, as a share of their range."""
MOST_DOUBT = 3.0
DOUBT = 0.1
"""Relative error of the values' variance at which half of a well-seen curve is the ratio's."""
LITTLE = 0.01
"""Share of the ratio below which it is left out."""
UNDER = 1
"""Scales by which a band's curve is rougher than the curve, so that bias is small beside noise."""
JUMPS = 0.5
"""Evidence for order 1 from which on a curve may jump."""
RISE = 0.1
"""Part of a jump that counts as nothing."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveRegression:
    """Mean response given a private number, as smooth or as rough as the reports suggest.

    This is the default. Given the density of the values (`Adaptive`), the mean response of those
    who sent a report is a known average of the curve. The curve is an average of a constant, a
    line, a parabola, curves with Gaussian-process priors of three orders at many scales and, for a
    response of 0 and 1, a logistic curve, each weighted by its evidence: the chance of the
    responses under it. So it is flat if the reports show no relation, and follows steps if they
    show some.

    Parameters
    ----------
    response
        Name of the private question that is the response; by default the public response of the
        summary. A private response is a number, or one of two categories that count as 0 and 1.

    Notes
    -----
    Nothing is drawn at random: the curve depends on the summary alone. ``facts["weights"]`` has
    the weight of each kind of curve.

    How steep a curve is depends on how far the values are spread, which very noisy reports hardly
    tell. With d the relative standard error of the values' variance (``facts["doubt"]``), the
    curve is an average with that of `RatioRegression`, which has weight d**4/(d**4 + .1**4) times
    the reliability of the curve: ``weights["ratio"]``. The reliability is v/(v + e), with v the
    variance of the curve over the respondents and e its mean posterior variance: where there is
    little to see, a wrong spread does little harm and the ratio's noise much. Private responses,
    two covariates, categories and lattices below 8 cells go to `RatioRegression` altogether.

    ``curve.interval`` is a `PosteriorBand`, averaged with the ratio's. ``facts["jumps"]`` says
    whether the reports ask for a curve that may jump; only then the band holds both sides of a
    jump. ``facts["resolution"]`` is the distance within which a jump would be blurred. Where the
    ratio has most of the weight, bands cover less than they say: see `RatioBand`.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> x = np.random.default_rng(1).beta(2, 2, 50_000)
    >>> y = np.sin(6 * x) + np.random.default_rng(2).normal(0, 0.3, x.size)
    >>> reports = SquareWave(Lattice(low=0, high=1), epsilon=3.0).simulate(x, seed=3)
    >>> curve = AdaptiveRegression().fit(Counts.of(reports, response=y))
    >>> print(f"{curve.predict(0.75):.1f}, truly {np.sin(4.5):.1f}")
    -1.0, truly -1.0
    """

    response: str | None = None

    def __post_init__(self) -> None:
        checked_name(self.response)

    @one_thread
    def fit(self, counts: Counts) -> Regression:
        """Estimate the mean response behind a summary.

        Parameters
        ----------
        counts
            Summary of the reports: of the covariates with a public response, or of a joint
            mechanism of which one question is the response.

        Returns
        -------
        CellRegression
            `CategoryMeans` for a categorical covariate.
        """
        ratio = RatioRegression(response=self.response).fit(counts)
        (axis, *others) = counts.mechanism.axes.values()
        response = counts.response
        if others or not isinstance(axis, Lattice) or axis.size < FEWEST or response is None:
            return ratio
        bounds = response.low, response.high
        if not bounds[0] < bounds[1]:
            return ratio
        behind, edges = _behind(counts)
        if behind.deviation <= SAME * (bounds[1] - bounds[0]):
            return ratio
        found = candidates(behind, logistic=is_binary(counts))
        chances = weights(found)
        values = np.clip(chances @ np.stack([one.values for one in found]), *bounds)
        doubt = _doubt(counts)
        share = _reliability(behind, found, chances) * doubt**4 / (doubt**4 + DOUBT**4)
        share = share if share > LITTLE else 0.0
        posterior = PosteriorBand(behind, tuple(found), edges, bounds, doubt)
        band: Band = posterior
        if share:
            centers = (edges[:-1] + edges[1:]) / 2
            values = (1 - share) * values + share * ratio.predict(centers)
            assert ratio.band is not None
            band = MixedBand(CellRegression((edges,), values), posterior, ratio.band, share)
        own = {"method": "adaptive", "size": edges.size - 1}
        left_out = ("smoothing", "filled")
        facts = {key: value for key, value in ratio.facts.items() if key not in left_out} | own
        facts["weights"] = _named(found, (1 - share) * chances, share)
        facts |= {"doubt": doubt, "jumps": posterior.jumps, "resolution": posterior.resolution}
        return CellRegression(
            (edges,), values, names=ratio.names, facts=facts, band=band, baseline=ratio.baseline
        )


def _behind(counts: Counts) -> tuple[Behind, Floats]:
    """The mixtures of values behind the reports, on the cells of the density, and their edges."""
    density = Adaptive().fit(counts)
    law, binned = coarsen(counts.mechanism.law, tabled(counts), [density.masses.size])
    matrix = law.matrices[0] if isinstance(law, Reduced) else law.matrix()
    return Behind.of(matrix, density.masses, np.moveaxis(binned, -1, 0)), density.edges[0]


def _doubt(counts: Counts) -> float:
    """Relative standard error of the unbiased variance of the values, at most 3."""
    first, second = (counts.mechanism.unbiased(power) for power in (1, 2))
    shares = counts.total / counts.total.sum()
    mean = float(shares @ first)
    scores = second - 2 * mean * first
    error = math.sqrt(float(shares @ (scores - shares @ scores) ** 2) / counts.effective_n)
    variance = float(shares @ second) - mean**2
    return error / max(variance, error / MOST_DOUBT) if error else 0.0


def _reliability(behind: Behind, found: list[Candidate], chances: Floats) -> float:
    """Variance of the curve over the respondents, as a share of that and its posterior variance."""
    middle, variance = moments(found, chances)
    seen = float(behind.masses @ (middle - behind.masses @ middle) ** 2)
    return seen / (seen + float(behind.masses @ variance))


def _named(found: list[Candidate], chances: Floats, share: float) -> dict[str, float]:
    """Weights by the kind of curve."""
    names = dict.fromkeys(one.name for one in found)
    result = {
        name: float(sum(w for w, one in zip(chances, found, strict=True) if one.name == name))
        for name in names
    }
    return result | ({"ratio": share} if share else {})


@dataclass(frozen=True, eq=False)
class PosteriorBand:
    """Normal intervals from the posterior of the curve, wider where it may jump.

    Parameters
    ----------
    behind, found
        What was fitted, and the candidates.
    edges
        Of the cells.
    bounds
        Of the response.
    doubt
        Relative error of the values' variance.

    Notes
    -----
    The middle is a curve whose priors are one scale rougher than the estimate's, so that its bias
    is small beside its noise. The variance is that of the posterior, within and between priors.
    Values that are spread by more or less than the density says make a curve too flat or too steep:
    that adds the square of the doubt times the distance from the mean response. An interval holds
    the estimate.

    No smooth curve follows a jump. Where order 1, the only one that can, has more than half of the
    evidence, the interval at x holds all intervals within the distance at which 90 % of a jump is
    seen, so that it holds both sides of a jump that may be there. Otherwise a jump that reports
    cannot tell from a slope is not in the band, within that distance of it.
    """

    behind: Behind
    found: tuple[Candidate, ...]
    edges: Floats
    bounds: tuple[float, float]
    doubt: float

    @cached_property
    def jumps(self) -> bool:
        """Whether the curve may jump."""
        chances = weights(list(self.found))
        rough = np.array([one.name == "order 1" for one in self.found])
        return bool(chances[rough].sum() > JUMPS)

    @property
    def resolution(self) -> float:
        """Distance in units of the values, on average, within which a jump is blurred."""
        return self.reach * float(self.edges[-1] - self.edges[0]) / (self.edges.size - 1)

    @cached_property
    def reach(self) -> int:
        """Cells on each side within which a jump is blurred, on average over places."""
        chances = weights(list(self.found))
        covariance = sum(
            w * (one.half @ one.half.T)
            for w, one in zip(chances, self.found, strict=True)
            if w > 1e-3
        )
        size = self.edges.size - 1
        # What becomes of a jump at each inner edge: priors pull towards the mean, hence the sum.
        blur = np.asarray(covariance) @ self.behind.information
        jumps = np.tri(size, k=-1)[:, 1:]
        seen = np.abs(blur @ jumps - jumps * blur.sum(axis=1)[:, None])
        return int(np.ceil((seen > RISE).sum(axis=0).mean() / 2))

    @cached_property
    def _middle(self) -> tuple[Floats, Floats, Floats]:
        """The estimate, the rougher curve, and standard errors."""
        found = list(self.found)
        chances = weights(found)
        middle, variance = moments(found, rougher(found, chances, 0 if self.jumps else UNDER))
        variance = variance + (self.doubt * (middle - self.behind.mean)) ** 2
        estimate = chances @ np.stack([one.values for one in found])
        return estimate, middle, np.sqrt(variance)

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        estimate, middle, errors = self._middle
        half = float(special.ndtri((1 + level) / 2)) * errors
        lower, upper = np.minimum(middle - half, estimate), np.maximum(middle + half, estimate)
        if self.jumps:
            around = (2 * self.reach + 1,)
            wide = [np.pad(end, self.reach, mode="edge") for end in (lower, upper)]
            windows = [np.lib.stride_tricks.sliding_window_view(end, around) for end in wide]
            lower, upper = windows[0].min(axis=-1), windows[1].max(axis=-1)
        return between((self.edges,), (lower, upper), self.bounds, x)


@dataclass(frozen=True, eq=False)
class MixedBand:
    """Intervals of an average of two curves as if their errors went together; they hold it."""

    curve: CellRegression
    band: Band
    other: Band
    share: float

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        own, others = self.band.interval(x, level), self.other.interval(x, level)
        low, high = (
            (1 - self.share) * np.asarray(a) + self.share * np.asarray(b)
            for a, b in zip(own, others, strict=True)
        )
        estimate = self.curve.predict(x)
        return np.minimum(low, estimate), np.maximum(high, estimate)

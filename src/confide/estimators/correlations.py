"""Covariances and correlations of private numbers that were reported together."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import special

from confide import _checks
from confide._types import Floats
from confide.curves import CellDensity
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators.likelihood import Likelihood
from confide.lattice import Lattice
from confide.mechanisms import Joint
from confide.summaries import Counts
from confide.summaries.plausibility import checked

REFITS = 8
SEED = 20_261_118
LEFT = 0.5
"""Part of a correction that may still be missing: refits of a density that is too smooth lose less
than the density has lost."""
NEAR_ONE = 1 - 1e-6
CERTAIN = 2.0
"""Standard errors that a variance must be above zero for a correlation to have ends."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Unbiased means and covariances of private numbers, with standard errors.

    Parameters
    ----------
    names
        Of the questions.
    means
        Unbiased mean of each.
    matrix
        Unbiased covariances of the values; chance may make it indefinite.
    errors
        Standard error of each covariance.
    facts
        How it came about.
    scores
        Scores of the respondents of each report for every covariance, flattened, with the shares
        of the reports; `correlation` needs them.

    Examples
    --------
    >>> from confide import SquareWave
    >>> part = SquareWave(Lattice(low=0, high=1, size=16), epsilon=3.0)
    >>> x = np.random.default_rng(1).random(50_000)
    >>> reports = Joint({"x": part, "y": part}).simulate({"x": x, "y": x**2}, seed=1)
    >>> found = covariance(Counts.of(reports))
    >>> bool(abs(found.matrix[0, 1] - 1 / 12) < 3 * found.errors[0, 1])
    True
    """

    names: tuple[str, ...]
    means: Floats
    matrix: Floats
    errors: Floats
    _: KW_ONLY
    facts: Mapping[str, Any] = field(default_factory=dict)
    scores: tuple[Floats, Floats] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "names": list(self.names),
            "means": self.means.tolist(),
            "covariance": self.matrix.tolist(),
            "errors": self.errors.tolist(),
            "facts": dict(self.facts),
        }


def covariance(counts: Counts) -> Covariance:
    """Unbiased covariances of numbers that were asked together.

    Reports have independent noise, so that the product of two scores with the values as their
    means has the product of the values as its mean; a mechanism's second score is unbiased for a
    square. Nothing is smoothed and nothing is assumed of the values.

    Parameters
    ----------
    counts
        Of a `Joint` mechanism for two or three numbers.

    Examples
    --------
    >>> from confide import SquareWave
    >>> part = SquareWave(Lattice(low=0, high=1, size=16), epsilon=3.0)
    >>> x = np.random.default_rng(1).random(50_000)
    >>> reports = Joint({"x": part, "y": part}).simulate({"x": x, "y": 1 - x}, seed=1)
    >>> bool(covariance(Counts.of(reports)).matrix[0, 1] < -0.07)
    True
    """
    names, firsts, seconds = _scores(counts)
    shares = (counts.total / counts.total.sum()).ravel()
    shape = counts.total.shape
    flat = [_along(first, axis, shape) for axis, first in enumerate(firsts)]
    means = np.array([shares @ one for one in flat])
    d = len(names)
    scores = np.empty((d, d, shares.size))
    for i in range(d):
        square = _along(seconds[i], i, shape)
        scores[i, i] = square - 2 * means[i] * flat[i] + means[i] ** 2
        for j in range(i):
            scores[i, j] = scores[j, i] = (flat[i] - means[i]) * (flat[j] - means[j])
    matrix = scores @ shares
    spread = ((scores - matrix[..., None]) ** 2) @ shares
    facts = {"method": "unbiased moments", **counts.facts}
    return Covariance(
        names,
        means,
        matrix,
        np.sqrt(spread / counts.effective_n),
        facts=facts,
        scores=(scores, shares),
    )


def _scores(counts: Counts) -> tuple[tuple[str, ...], list[Floats], list[Floats]]:
    """Names, and scores of the reports that are unbiased for the values and their squares."""
    if not isinstance(counts, Counts):
        raise InvalidInput("counts", _checks.shown(counts))
    mechanism = counts.mechanism
    if not isinstance(mechanism, Joint):
        raise InvalidInput(
            "counts of two or three numbers that were asked together (Joint)",
            f"counts of {mechanism.name}",
        )
    if not all(isinstance(axis, Lattice) for axis in mechanism.axes.values()):
        raise Unsupported("A covariance takes numbers, not categories.")
    if mechanism.prefer_not_to_say:
        raise Unsupported(
            "A covariance does not take a question that can be declined (prefer_not_to_say)."
        )
    if counts.n < 2:
        raise InvalidInput("two or more respondents", str(counts.n))
    checked(counts)
    parts = mechanism.mechanisms
    firsts = [part.unbiased(1) for part in parts.values()]
    return tuple(parts), firsts, [part.unbiased(2) for part in parts.values()]


def _along(score: Floats, axis: int, shape: tuple[int, ...]) -> Floats:
    places = [1] * len(shape)
    places[axis] = -1
    return np.broadcast_to(score.reshape(places), shape).ravel()


@dataclass(frozen=True, repr=False)
class Correlation:
    """The correlation of two private numbers.

    Attributes
    ----------
    names
        The two questions.
    estimate
        Of the joint likelihood, corrected for its smoothing, and of unbiased moments, by their
        precision.
    moment, moment_error
        From unbiased moments, and its standard error; None where the reports do not show that both
        numbers vary.
    n
        Effective number of respondents.
    facts
        How it came about: the correlation of the joint density (``likelihood``), that ``corrected``
        for its smoothing, and the ``weights``.

    Examples
    --------
    >>> found = Correlation(("pay", "age"), 0.4, moment=0.41, moment_error=0.02, n=5000.0)
    >>> found
    <Correlation of pay & age: 0.4, 95% from 0.3708 to 0.4492>
    >>> [round(end, 2) for end in found.interval()]
    [0.37, 0.45]
    """

    names: tuple[str, str]
    estimate: float
    _: KW_ONLY
    moment: float | None
    moment_error: float | None
    n: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        low, high = self.interval()
        pair = " & ".join(self.names)
        return f"<Correlation of {pair}: {self.estimate:.4g}, 95% from {low:.4g} to {high:.4g}>"

    def interval(self, *, level: float = 0.95) -> tuple[float, float]:
        """Normal interval of the moment correlation; -1 to 1 where it has no standard error.

        It assumes nothing of the values and does not depend on the likelihood, so that the estimate
        need not lie in its middle; it is widened to hold the estimate.
        """
        level = _checks.level(level)
        if self.moment is None or self.moment_error is None:
            return -1.0, 1.0
        half = float(special.ndtri((1 + level) / 2)) * self.moment_error
        low, high = self.moment - half, self.moment + half
        return max(min(low, self.estimate), -1.0), min(max(high, self.estimate), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the interval of 95 %."""
        return {
            "names": list(self.names),
            "estimate": self.estimate,
            "interval": list(self.interval()),
            "moment": self.moment,
            "moment_error": self.moment_error,
            "n": self.n,
            "facts": dict(self.facts),
        }


def correlations(counts: Counts) -> list[Correlation]:
    """The correlation of each pair of numbers that were asked together.

    The smoothing of a joint likelihood density draws its correlation towards zero. Eight surveys
    are drawn from the density, with a fixed seed, and estimated alike; what they lose, on Fisher's
    scale, is added. The estimate is an average of that and of the correlation of unbiased moments,
    weighted by the inverse of their variances; half of what was added counts as an error of the
    first. Intervals are those of the moments.

    Parameters
    ----------
    counts
        Of a `Joint` mechanism for two or three numbers.

    Examples
    --------
    >>> from confide import SquareWave
    >>> part = SquareWave(Lattice(low=0, high=1, size=32), epsilon=2.0)
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(0.5, 0.2, 50_000).clip(0, 1)
    >>> y = (x + rng.normal(0, 0.2, x.size)).clip(0, 1)
    >>> reports = Joint({"x": part, "y": part}).simulate({"x": x, "y": y}, seed=1)
    >>> (found,) = correlations(Counts.of(reports))
    >>> bool(abs(found.estimate - 0.67) < 0.06)
    True
    """
    moments = covariance(counts)
    pairs = list(combinations(range(len(moments.names)), 2))
    density = Likelihood().fit(counts)
    smoothing = float(density.facts["smoothing"])
    again = _refits(counts, density, smoothing)
    found = []
    for i, j in pairs:
        plain = _correlation(density.masses, i, j, density.edges)
        refits = np.arctanh([_correlation(one.masses, i, j, one.edges) for one in again])
        corrected = math.tanh(2 * math.atanh(plain) - float(refits.mean()))
        moment, error = _moment(moments, i, j, counts.effective_n)
        if moment is None:
            warnings.warn(
                f"The correlation of {moments.names[i]} and {moments.names[j]} has no interval: "
                "the noise hides the variance of one of them. The estimate is that of a smooth "
                "density, and may be far too near 0. Ask more people, or use a larger epsilon, "
                "narrower bounds or a pair of questions (PairResponse).",
                ConfideWarning,
                stacklevel=2,
            )
        share = 1.0
        if moment is not None and error is not None:
            noise = float(refits.var(ddof=1)) * (1 - corrected**2) ** 2
            own = noise + (LEFT * (corrected - plain)) ** 2
            share = error**2 / (error**2 + own)
        estimate = corrected if moment is None else share * corrected + (1 - share) * moment
        found.append(
            Correlation(
                (moments.names[i], moments.names[j]),
                estimate,
                moment=moment,
                moment_error=error,
                n=counts.effective_n,
                facts={
                    "method": "joint likelihood and moments",
                    **counts.facts,
                    "smoothing": smoothing,
                    "likelihood": plain,
                    "corrected": corrected,
                    "weights": {"corrected": share, "moments": 1 - share},
                },
            )
        )
    return found


def _refits(counts: Counts, density: CellDensity, smoothing: float) -> list[CellDensity]:
    """Estimates of surveys drawn from a density, with a fixed seed."""
    law, n = counts.mechanism.law, max(round(counts.effective_n), 2)
    chances = np.maximum(law.forward(_fine(density.masses, law.inputs)), 0)
    rng = np.random.default_rng(SEED)
    drawn = rng.multinomial(n, (chances / chances.sum()).ravel(), size=REFITS)
    several = [
        Counts(counts.mechanism, one.reshape(chances.shape), simulated=True) for one in drawn
    ]
    return Likelihood(smoothing=smoothing).fit_several(several)


def _fine(masses: Floats, inputs: tuple[int, ...]) -> Floats:
    """Masses of coarse cells shared out over the cells of the lattices."""
    for axis, size in enumerate(inputs):
        coarse = masses.shape[axis]
        edges = np.arange(size + 1) * (coarse / size)
        sums = np.insert(np.cumsum(masses, axis=axis), 0, 0.0, axis=axis)
        below = np.minimum(edges.astype(np.int64), coarse - 1)
        places = [1] * masses.ndim
        places[axis] = -1
        part = (edges - below).reshape(places)
        upper = np.take(sums, below + 1, axis=axis)
        lower = np.take(sums, below, axis=axis)
        masses = np.diff(lower + part * (upper - lower), axis=axis)
    return masses


def _correlation(masses: Floats, i: int, j: int, edges: tuple[Floats, ...]) -> float:
    """Of a joint density on cells, with values even inside each."""
    others = tuple(axis for axis in range(masses.ndim) if axis not in (i, j))
    table = masses.sum(axis=others)
    table = table / table.sum()
    x, y = ((edges[at][:-1] + edges[at][1:]) / 2 for at in (i, j))
    widths = [np.diff(edges[at]) ** 2 / 12 for at in (i, j)]
    a, b = table.sum(axis=1), table.sum(axis=0)
    u, v = x - a @ x, y - b @ y
    variances = (a @ (u**2 + widths[0])) * (b @ (v**2 + widths[1]))
    return float(np.clip(u @ table @ v / math.sqrt(variances), -NEAR_ONE, NEAR_ONE))


def _moment(
    moments: Covariance, i: int, j: int, n: float
) -> tuple[float, float] | tuple[None, None]:
    """The correlation of unbiased moments and its standard error by the delta method."""
    variances = moments.matrix[[i, j], [i, j]]
    if (variances <= CERTAIN * moments.errors[[i, j], [i, j]]).any():
        return None, None
    assert moments.scores is not None
    scores, shares = moments.scores
    scale = math.sqrt(float(variances[0] * variances[1]))
    estimate = float(moments.matrix[i, j]) / scale
    own = scores[i, i] / variances[0] + scores[j, j] / variances[1]
    influence = scores[i, j] / scale - estimate / 2 * own
    spread = float(shares @ (influence - shares @ influence) ** 2)
    return min(max(estimate, -1.0), 1.0), math.sqrt(spread / n)

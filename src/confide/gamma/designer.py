"""The designer of two-sided gamma noise: shapes, scales, and which of them is best."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import gammainc

from confide import _checks
from confide._cards import card, curve, table
from confide._figures import number
from confide._types import Floats
from confide.accounting.spend import odds, rounded_up
from confide.curves.forms import frame
from confide.displays import ESTIMATE, NAIVE, TRUTH, Display, commas, new_axes, next_color, once
from confide.errors import ConfideWarning, InvalidInput
from confide.estimators import Deconvolution
from confide.foreign.noise_laws import Noise, TwoSidedGamma
from confide.foreign.spectrum import Spectrum
from confide.gamma.exact import Reference, exact_error
from confide.gamma.price import ExpectedError, expected_error, gamma_delta, gamma_epsilon
from confide.gamma.protection import Feasible, expected_matches, widest
from confide.gamma.surface import FEWEST, Surface

COLORS = (TRUTH, ESTIMATE, NAIVE, "#7f4f91")


@dataclass(repr=False)
class PairsDisplay(Display):
    """Pairs of shape and scale that protect, and the one that was taken.

    Parameters
    ----------
    shapes, scales
        The smallest scale of each shape.
    chosen
        The pair that was taken.
    smallest
        The smallest shape that any scale goes with.
    floor
        The smallest shape allowed; 0 for none.

    Examples
    --------
    >>> shapes, scales = np.array([0.5, 1.0]), np.array([2.0, 1.0])
    >>> PairsDisplay(shapes, scales, chosen=(1.0, 1.0), smallest=0.4).plot()
    <PairsDisplay ...>
    """

    shapes: Floats
    scales: Floats
    chosen: tuple[float, float]
    smallest: float
    floor: float = 0.0
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str = "smallest scale", color: str | None = None
    ) -> PairsDisplay:
        """Draw into the given axes, or new ones; `color` is by default the next of their cycle."""
        self.ax_ = ax = new_axes(6.0, 4.0) if ax is None else ax
        color = next_color(ax) if color is None else color
        top = 1.6 * max(float(np.median(self.scales)), self.chosen[1])
        above = np.maximum(self.scales, top)
        ax.fill_between(self.shapes, self.scales, above, color=color, alpha=0.15, lw=0)
        ax.plot(self.shapes, self.scales, color=color, lw=1.8, label=label)
        ax.plot(*self.chosen, "o", color=TRUTH, label=once(ax, "taken"))
        words = once(ax, "no scale protects left of")
        ax.axvline(self.smallest, color=NAIVE, lw=1.2, ls="--", label=words)
        if self.floor:
            ax.axvline(self.floor, color="grey", lw=0.8, ls=":", label=once(ax, "floor"))
        # Axes that hold another design already stay as high as that one needs.
        held = ax.get_ylim()[1] if ax.get_xlabel() else 0.0
        ax.set(xlim=(0, 1.02), ylim=(0, max(top, held)), xlabel="shape", ylabel="scale")
        commas(ax.yaxis)
        ax.legend(frameon=False, fontsize=8)
        return self

    def __repr__(self) -> str:
        return f"<PairsDisplay of {self.shapes.size:,} pairs>"


@dataclass(repr=False)
class CurvesDisplay(Display):
    """Distribution functions by name, the true one first.

    Parameters
    ----------
    x
        Where they are known.
    curves
        Shares of values up to x.

    Examples
    --------
    >>> x = np.linspace(0, 1, 5)
    >>> CurvesDisplay(x, {"true": x, "estimate": x**2}).plot()
    <CurvesDisplay ...>
    """

    x: Floats
    curves: Mapping[str, Floats]
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> CurvesDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes(6.0, 4.0) if ax is None else ax
        for color, (name, heights) in zip(COLORS, self.curves.items(), strict=False):
            ax.plot(self.x, heights, color=color, lw=1.4, label=name)
        ax.set(xlabel="value", ylabel="share of values up to here")
        commas(ax.xaxis)
        ax.legend(frameon=False, fontsize=8)
        return self

    def __repr__(self) -> str:
        return f"<CurvesDisplay of {', '.join(self.curves)}>"


CRITERIA = {
    "aimse": "by its limit for many normal values",
    "mise": "exact for as many values distributed like these, smoothed",
}
NEAR = 0.01
"""Noise below so many standard deviations of the values hardly changes one."""


@dataclass(frozen=True)
class Pair:
    """A shape, the smallest scale that protects with it, and its error.

    Parameters
    ----------
    shape, scale
        Of the noise; the scale in the units of the values.
    error
        AIMSE or MISE at its best bandwidth.
    variance
        The part of the error that is variance.

    Examples
    --------
    >>> pair = Pair(shape=1.0, scale=0.5, error=0.01, variance=0.004)
    >>> pair.error - pair.variance  # the part that is bias
    0.006
    """

    shape: float
    scale: float
    error: float
    variance: float


@dataclass(frozen=True, kw_only=True, repr=False)
class GammaDesign:
    """Two-sided gamma noise that protects values, with what it does and does not give.

    Parameters
    ----------
    shape, scale
        Of the noise; the scale in the units of the values.
    mu, certainty
        Protection in standard deviations, and the probability that is not reached.
    n, sd
        Number of values and their standard deviation.
    smallest_feasible_shape
        Below this shape no scale gives the protection.
    interval
        95 % bootstrap interval of the scale, or None.
    resolution
        Width to which a noised value is taken to be known, in the units of the values.
    extent, observed
        Length of the interval that values are clipped to, and whether it is the observed range.
    epsilon
        Of one release in the continuum, None where there is none.
    delta_at
        Pairs of an epsilon and its delta, in the continuum.
    bandwidth, error
        Best bandwidth of a deconvoluted density, and its error by the criterion.
    laplace
        The pair of shape 1.
    near
        Probability of noise below a hundredth of a standard deviation.
    reidentification, laplace_reidentification
        Expected share of noised values nearest to their own true one, here and with shape 1.
    floor, bounded_by
        The floor on the shape, and what stopped the search: ``""`` for nothing, ``"floor"``,
        ``"cap"``, ``"feasibility"`` or ``"given"``.
    eligible
        Pairs for the picture.
    criterion
        What the errors are: ``"aimse"`` or ``"mise"``.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=200)
    >>> design = optimal_gamma(values, replicates=0, criterion="aimse")
    >>> design.noise.scale == design.scale, design.gain >= 1
    (True, True)
    """

    shape: float
    scale: float
    mu: float
    certainty: float
    n: int
    sd: float
    smallest_feasible_shape: float
    interval: tuple[float, float] | None
    resolution: float
    extent: float
    observed: bool
    epsilon: float | None
    delta_at: tuple[tuple[float, float], ...]
    bandwidth: float
    error: float
    laplace: Pair
    near: float
    reidentification: float
    laplace_reidentification: float
    floor: float
    bounded_by: str
    eligible: tuple[Pair, ...]
    criterion: str = "aimse"

    @property
    def noise(self) -> TwoSidedGamma:
        """The law of the noise."""
        return TwoSidedGamma(shape=self.shape, scale=self.scale)

    @property
    def gain(self) -> float:
        """Expected error with Laplace noise of the same protection, in units of this one's."""
        return self.laplace.error / self.error

    def __repr__(self) -> str:
        privacy = "no epsilon" if self.epsilon is None else f"epsilon={self.epsilon:.4g}"
        return (
            f"<GammaDesign shape={self.shape:.3g}, scale={self.scale:.4g}: mu={self.mu:g} at "
            f"certainty {self.certainty:g}, not differential privacy ({privacy})>"
        )

    def _repr_html_(self) -> str:
        """The error by shape, the noise and what it does not give, for notebooks."""
        ordered = sorted(self.eligible, key=lambda pair: pair.shape)
        shapes, errors = (
            np.array([getattr(pair, name) for pair in ordered]) for name in ("shape", "error")
        )
        picture = curve(shapes, errors, told="error by shape") if len(ordered) > 1 else ""
        rows = [
            ("shape", number(self.shape)),
            ("scale", number(self.scale)),
            ("bandwidth", number(self.bandwidth)),
            (f"error ({self.criterion})", number(self.error)),
            ("times better than Laplace noise", number(self.gain)),
        ]
        privacy = "No epsilon" if self.epsilon is None else f"epsilon = {self.epsilon:.4g}"
        return card(
            "Two-sided gamma noise",
            picture,
            table(("", ""), rows),
            cost=f"Not differential privacy. {privacy} for one release in the continuum.",
            facts=self.small_noise(),
        )

    def to_frame(self) -> Any:
        """The eligible pairs of shape and scale with their errors, as a table of pandas."""
        return frame([vars(pair).copy() for pair in self.eligible])

    def small_noise(self) -> str:
        """Protection that mu does not measure."""
        against = ""
        if self.shape != 1:
            against = (
                f", against {percent(self.laplace_reidentification)} at shape 1 and the same mu"
            )
        return (
            f"mu does not see small noise: with shape {self.shape:.3g}, {percent(self.near)} of "
            f"the noise is below a hundredth of a standard deviation, and of {self.n:,} noised "
            f"values {percent(self.reidentification)} are expected to be nearest to their own true "
            f"value{against}."
        )

    def words(self) -> tuple[str, ...]:
        """The protection that this gives and its limits, in a few sentences."""
        distance = self.mu * self.sd
        interval = ""
        if self.interval is not None:
            low, high = self.interval
            end = f"{high:.4g}" if math.isfinite(high) else "without bound"
            interval = f" The scale is itself an estimate: 95 % interval from {low:.4g} to {end}."
        spread = math.sqrt(self.noise.variance) / self.sd
        says = [
            f"Two-sided gamma noise of shape {self.shape:.3g}{' (Laplace)' * (self.shape == 1)} "
            f"and scale {self.scale:.4g}, {spread:.3g} times as spread out as the values."
            + interval,
            f"It gives: given a noised value, to the width {self.resolution:.3g}, and how values "
            f"are distributed, the true one lies within {distance:.4g} ({self.mu:g} standard "
            f"deviations) of the noised one with a probability of at most {self.certainty:g}. A "
            "guess other than the noised value can do better.",
            "It does not give differential privacy: mu bounds one kind of guess, by somebody who "
            "knows nothing else about the person, and standard deviations grow with outliers.",
            self._epsilon(),
            self.small_noise(),
            "The shape and the scale were fitted to the values, so that publishing them tells "
            "something about the values, which no figure here counts. Noise drawn in floating "
            "point leaks more: draw it with TwoSidedGamma on a lattice, which states its own exact "
            "epsilon and delta.",
            self._error(),
        ]
        return tuple(says)

    def _epsilon(self) -> str:
        range_ = "the observed range" if self.observed else "the bounds"
        clipped = f"For values clipped to {range_} ({self.extent:.4g} long), one release"
        if self.epsilon is not None:
            return (
                f"{clipped} has epsilon = {rounded_up(self.epsilon, 4)}: it changes the odds by a "
                f"factor of at most {odds(self.epsilon)}."
            )
        shown = [f"{e:g} with delta {d:.2g}" for e, d in self.delta_at if 1e-12 < d < 0.5]
        curve = f" {clipped} has epsilon {', '.join(shown)}." if shown else ""
        return f"No pure epsilon holds, whatever the bounds, because the shape is not 1.{curve}"

    def _error(self) -> str:
        why = {
            "": "The shape is the best one.",
            "floor": f"The shape is at its floor {self.floor:g}; smaller ones would cost "
            "less, but leave many values almost as they are.",
            "cap": "The shape is the smallest that keeps within the cap.",
            "feasibility": "The shape is the smallest that any scale goes with.",
            "given": "The shape was given.",
        }[self.bounded_by]
        against = ""
        if self.shape != 1:
            against = (
                f"; Laplace noise of scale {self.laplace.scale:.4g} and the same mu has "
                f"{self.gain:.3g} times that"
            )
        return (
            f"The expected squared error of a density, {CRITERIA[self.criterion]}, is "
            f"{self.error:.3g} (bandwidth {self.bandwidth:.3g}){against}. {why} Below shape "
            f"{self.smallest_feasible_shape:.3g} no scale protects these values."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        ends = self.interval
        return {
            "shape": self.shape,
            "scale": self.scale,
            "mu": self.mu,
            "certainty": self.certainty,
            "smallest_feasible_shape": self.smallest_feasible_shape,
            "epsilon": self.epsilon,
            "delta_at": [list(pair) for pair in self.delta_at],
            "n": self.n,
            "sd": self.sd,
            "resolution": self.resolution,
            "interval": None
            if ends is None
            else [end if math.isfinite(end) else None for end in ends],
            "extent": self.extent,
            "observed": self.observed,
            "bandwidth": self.bandwidth,
            "error": self.error,
            "gain": self.gain,
            "laplace_scale": self.laplace.scale,
            "laplace_error": self.laplace.error,
            "laplace_variance": self.laplace.variance,
            "near": self.near,
            "reidentification": self.reidentification,
            "laplace_reidentification": self.laplace_reidentification,
            "floor": self.floor,
            "bounded_by": self.bounded_by,
            "criterion": self.criterion,
            "eligible": [[pair.shape, pair.scale, pair.error] for pair in self.eligible],
            "eligible_variances": [pair.variance for pair in self.eligible],
            "words": list(self.words()),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        try:
            given = dict(fields)
            laplace = [given.pop(f"laplace_{name}") for name in ("scale", "error", "variance")]
            pairs = zip(given["eligible"], given.pop("eligible_variances"), strict=True)
            ends = given["interval"]
            given |= {
                "laplace": Pair(1.0, *map(float, laplace)),
                "eligible": tuple(Pair(*map(float, (*row, v))) for row, v in pairs),
                "delta_at": tuple((float(e), float(d)) for e, d in given["delta_at"]),
                "interval": None if ends is None else (_end(ends[0]), _end(ends[1])),
            }
            for name in ("gain", "words"):
                del given[name]
            # Documents from before there was a choice have no criterion.
            _checks.one_of(tuple(CRITERIA), criterion=given.get("criterion", "aimse"))
            return cls(**given)
        except (TypeError, KeyError, ValueError, IndexError):
            raise InvalidInput("a design that to_dict wrote", "another document") from None

    def plot(
        self, ax: Any = None, *, label: str = "smallest scale", color: str | None = None
    ) -> PairsDisplay:
        """Draw the eligible pairs and the one taken (figure 2 of the paper).

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold another design already; by default new ones.
        label
            Name of the pairs in the legend.
        color
            Of the pairs; by default the next one of the axes' cycle.
        """
        return PairsDisplay(
            np.array([pair.shape for pair in self.eligible]),
            np.array([pair.scale for pair in self.eligible]),
            (self.shape, self.scale),
            self.smallest_feasible_shape,
            self.floor,
        ).plot(ax, label=label, color=color)

    def plot_distribution(
        self, values: npt.ArrayLike, *, seed: int, ax: Any = None
    ) -> CurvesDisplay:
        """The values' distribution as it would be recovered, from one simulated draw of noise
        (figure 3 of the paper). It shows the values' own distribution too, so it is not private.

        Parameters
        ----------
        values
            The values.
        seed
            Of the simulated noise.
        ax
            Axes to draw into.
        """
        x = np.sort(_checks.vector(values=values))
        generator = np.random.default_rng(_checks.integer(0, seed=seed))
        noise = generator.gamma(self.shape, self.scale, x.size)
        z = x + generator.choice([-1.0, 1.0], x.size) * noise
        linear = Deconvolution(kernel="fan", bandwidth=self.bandwidth, positive=False)
        curve = linear.fit(Spectrum.of(z, noise=self.noise))
        at = np.linspace(x[0], x[-1], 257)
        true = np.searchsorted(x, at, side="right") / x.size
        return CurvesDisplay(at, {"values": true, "recovered": curve.cdf(at)}).plot(ax)


def _end(value: float | None) -> float:
    return math.inf if value is None else float(value)


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:.2g} %"


STEP = 0.05


@dataclass(frozen=True, eq=False)
class Search:
    """The scale and the error of every shape, each computed once."""

    feasible: Feasible
    smallest: float
    error: Callable[[Noise], ExpectedError]

    @cached_property
    def _known(self) -> dict[float, Pair]:
        return {}

    def pair(self, shape: float) -> Pair:
        """The shape with its scale and error."""
        # A search passes floats of numpy, which are no floats to those who read the design.
        shape = float(shape)
        if shape not in self._known:
            nearest = min(self._known, key=lambda other: abs(other - shape), default=None)
            start = None if nearest is None else self._known[nearest].scale
            scale = self.feasible.scale(shape, start=start)
            if math.isinf(scale):
                raise InvalidInput(
                    f"a shape well above {self.smallest:.4g}, the smallest that these values allow",
                    f"shape={shape:g}",
                    "Ask for less protection or a higher certainty.",
                )
            noise = TwoSidedGamma(shape=shape, scale=scale)
            found = self.error(noise)
            self._known[shape] = Pair(shape, scale, found.error, found.variance)
        return self._known[shape]

    def grid(self) -> list[Pair]:
        """Eligible pairs for a picture, from shape 1 down to the smallest."""
        steps = (round(STEP * k, 10) for k in range(round(1 / STEP) - 1, 0, -1))
        shapes = [1.0, *(shape for shape in steps if shape > self.smallest + 1e-3)]
        return [self.pair(shape) for shape in shapes]

    def best(self, lowest: float) -> float:
        """The shape of least error from the lowest one to 1."""
        shapes = [pair.shape for pair in reversed(self.grid()) if pair.shape >= lowest]
        if shapes[0] > lowest:
            shapes = [lowest, *shapes]
        costs = [self.pair(shape).error for shape in shapes]
        at = int(np.argmin(costs))
        ends = shapes[max(at - 1, 0)], shapes[min(at + 1, len(shapes) - 1)]
        if ends[0] == ends[1]:
            return shapes[at]
        found = scipy.optimize.minimize_scalar(
            lambda shape: self.pair(shape).error,
            bounds=ends,
            method="bounded",
            options={"xatol": 2e-3},
        )
        return float(found.x) if found.fun < costs[at] else shapes[at]


@dataclass(frozen=True)
class Caps:
    """The second constraint, beside the floor."""

    near: float | None
    delta: tuple[float, float] | None
    sd: float
    extent: float

    def __post_init__(self) -> None:
        if self.near is not None:
            _checks.within(0, 1, near_cap=self.near)
        if self.delta is not None:
            epsilon, delta = self.delta
            _checks.positive(epsilon=epsilon)
            _checks.within(0, 1, delta=delta)

    def excess(self, pair: Pair) -> float:
        """By how much the worse cap is exceeded; none where it is not above zero."""
        noise = TwoSidedGamma(shape=pair.shape, scale=pair.scale)
        over = [-1.0]
        if self.near is not None:
            over.append(float(gammainc(noise.shape, NEAR * self.sd / noise.scale)) - self.near)
        if self.delta is not None:
            over.append(
                gamma_delta(noise, epsilon=self.delta[0], extent=self.extent) - self.delta[1]
            )
        return max(over)

    def lowest(self, search: Search, start: float) -> float:
        """The smallest shape from the given one on that keeps within the caps."""
        if self.excess(search.pair(start)) <= 0:
            return start
        if self.excess(search.pair(1.0)) > 0:
            laplace = search.pair(1.0)
            noise = TwoSidedGamma(shape=1.0, scale=laplace.scale)
            parts = []
            if self.near is not None:
                near = -math.expm1(-NEAR * self.sd / laplace.scale)
                parts.append(f"near_cap >= {near:.3g}")
            if self.delta is not None:
                delta = gamma_delta(noise, epsilon=self.delta[0], extent=self.extent)
                parts.append(f"delta >= {delta:.3g} at epsilon {self.delta[0]:g}")
            raise InvalidInput(
                f"caps that shape 1 keeps within at this protection: {' and '.join(parts)}",
                "a tighter one",
                "Ask for more protection, which takes more noise, or raise the cap.",
            )
        low, high = start, 1.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            if self.excess(search.pair(middle)) > 0:
                low = middle
            else:
                high = middle
        return high


FLOOR = 0.8
COARSEST = 4
"""Cells in a protected distance, at least."""
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def optimal_gamma(
    values: npt.ArrayLike,
    *,
    protection: float = 0.75,
    certainty: float = 0.9,
    shape: float | None = None,
    floor: float = FLOOR,
    near_cap: float | None = None,
    delta_cap: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
    criterion: str = "mise",
    resolution: int = 64,
    replicates: int = 40,
    seed: int = 0,
) -> GammaDesign:
    """The two-sided gamma noise that protects values and costs least (Ghatak, Sengupta and Roy).

    For each shape, the designer finds the smallest scale at which a noised value does not reveal,
    with the given certainty, that the true one lies within ``protection`` standard deviations.
    Among these pairs it takes the one from which a density is recovered best. That alone runs to
    ever smaller shapes, which add next to nothing to many values, so that a second constraint is
    needed: a floor on the shape and, where they are given, two caps.

    Parameters
    ----------
    values
        The values, at least 10. The result depends on them, so it is not private.
    protection
        mu, in standard deviations of the values: Q in the paper.
    certainty
        The probability to stay below: delta in the paper.
    shape
        A fixed shape, 1 for Laplace noise; None to search.
    floor
        The smallest shape allowed.
    near_cap
        Largest allowed probability of noise below a hundredth of a standard deviation.
    delta_cap
        ``(epsilon, delta)``: the noise must be (epsilon, delta)-private for values within the
        bounds, in the continuum.
    bounds
        What values are clipped to, for epsilon and delta; the observed range without.
    criterion
        The error that is least: ``"mise"``, exact for as many values distributed like these
        (`Reference.of`), or ``"aimse"``, its limit for many normal values, as in the paper.
    resolution
        Cells in a protected distance: the noised value is taken to be known to one cell.
    replicates
        Bootstrap samples for the interval of the scale; none of fewer than 10.
    seed
        Of the bootstrap.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=1000)
    >>> design = optimal_gamma(values, protection=0.75, certainty=0.9)
    >>> design.shape, round(design.scale, 2)
    (0.8, 0.54)
    >>> print(design.epsilon)
    None
    >>> humps = np.concatenate([values[:500] - 4, values[500:] + 4])
    >>> limit = optimal_gamma(humps, criterion="aimse")
    >>> optimal_gamma(humps).bandwidth < 0.6 * limit.bandwidth
    True
    """
    x = _checks.vector(values=values)
    protection = _checks.positive(protection=protection)
    certainty = _checks.within(0.01, 0.9999, certainty=certainty)
    resolution = _checks.integer(4, 1024, resolution=resolution)
    replicates = _checks.integer(0, 10_000, replicates=replicates)
    floor = _checks.within(0, 1, floor=floor)
    criterion = _checks.one_of(tuple(CRITERIA), criterion=criterion)
    surface = Surface.of(x, width=protection / resolution)
    extent = surface.extent
    if bounds is not None:
        low, high = (_checks.finite(bounds=end) for end in bounds)
        if not low < high:
            raise InvalidInput("bounds=(low, high) with low < high", f"({low:g}, {high:g})")
        extent = high - low
    if protection * surface.sd < COARSEST * surface.step:
        raise InvalidInput(
            f"protection >= {COARSEST * surface.step / surface.sd:.3g} for so wide a range",
            f"protection={protection:g}",
            "Outliers make the standard deviation: leave them out or clip them.",
        )
    feasible = Feasible(surface, protection * surface.sd, certainty)
    smallest = feasible.smallest_shape()
    if math.isnan(smallest):
        _infeasible(x, feasible, protection, certainty)
    error = _error_of(criterion, surface)
    search = Search(feasible, smallest, error)
    gaps = np.diff(np.sort(x))
    if shape is None:
        caps = Caps(near_cap, delta_cap, surface.sd, extent)
        first = max(floor, min(1.0, smallest + 1e-3))
        lowest = caps.lowest(search, first)
        chosen = search.best(lowest)
        why = "cap" if lowest > first else "feasibility" if first > floor else "floor"
        bounded = why if chosen == lowest else ""
    else:
        chosen = _given(shape, floor, smallest, search, gaps)
        bounded = "given"
    pair = search.pair(chosen)
    noise = TwoSidedGamma(shape=pair.shape, scale=pair.scale)
    laplace = search.pair(1.0)
    found = error(noise)
    design = GammaDesign(
        shape=pair.shape,
        scale=pair.scale,
        mu=protection,
        certainty=certainty,
        n=surface.n,
        sd=surface.sd,
        smallest_feasible_shape=smallest,
        interval=_interval(feasible, pair, replicates, seed),
        resolution=surface.step,
        extent=extent,
        observed=bounds is None,
        epsilon=gamma_epsilon(noise, extent=extent),
        delta_at=tuple((e, gamma_delta(noise, epsilon=e, extent=extent)) for e in EPSILONS),
        bandwidth=found.bandwidth,
        error=found.error,
        laplace=laplace,
        near=float(gammainc(noise.shape, NEAR * surface.sd / noise.scale)),
        reidentification=expected_matches(gaps, noise),
        laplace_reidentification=expected_matches(
            gaps, TwoSidedGamma(shape=1.0, scale=laplace.scale)
        ),
        floor=floor,
        bounded_by=bounded,
        eligible=tuple(search.grid()),
        criterion=criterion,
    )
    if design.shape < FLOOR:
        warnings.warn(design.small_noise(), ConfideWarning, stacklevel=2)
    return design


def _error_of(criterion: str, surface: Surface) -> Callable[[Noise], ExpectedError]:
    """What a noise costs, by the criterion."""
    if criterion == "mise":
        return partial(exact_error, n=surface.n, reference=Reference.on(surface))
    return partial(expected_error, n=surface.n, sd=surface.sd)


def _given(shape: float, floor: float, smallest: float, search: Search, gaps: Floats) -> float:
    """A shape that was asked for, if it may be taken."""
    shape = _checks.positive(shape=shape)
    if shape > 1:
        raise InvalidInput(
            "shape <= 1",
            f"shape={shape:g}",
            "Above 1 the characteristic function has zeros, and a density cannot be recovered by "
            "division.",
        )
    if shape <= smallest:
        raise InvalidInput(
            f"a shape from {smallest:.3g} to 1, which these values allow",
            f"shape={shape:g}",
            "Below, no scale gives the protection asked for.",
        )
    if shape < floor:
        rates = [
            expected_matches(gaps, TwoSidedGamma(shape=pair.shape, scale=pair.scale))
            for pair in (search.pair(shape), search.pair(1.0))
        ]
        raise InvalidInput(
            f"shape >= {floor:g}",
            f"shape={shape:g}",
            f"At the same protection {percent(rates[0])} of the noised values would be nearest to "
            f"their own true value, against {percent(rates[1])} at shape 1; lower floor if that is "
            "acceptable.",
        )
    return shape


def _infeasible(x: Floats, feasible: Feasible, protection: float, certainty: float) -> None:
    share, most = feasible.limit(1.0), widest(x, certainty)
    other = f", or protection below {most:.3g} with certainty {certainty:g}" if most > 0 else ""
    raise InvalidInput(
        f"certainty above {share:.4g} with protection {protection:g}{other}",
        f"protection={protection:g} and certainty={certainty:g}",
        "So large a share of the values lies close together, in standard deviations, that no "
        "noise of a shape up to 1 can hide where they are.",
    )


def _interval(
    feasible: Feasible, pair: Pair, replicates: int, seed: int
) -> tuple[float, float] | None:
    """A 95 % interval of the scale at its shape: normal in the logarithm, by the bootstrap."""
    if replicates < FEWEST:
        return None
    generator = np.random.default_rng(_checks.integer(0, seed=seed))
    protection = feasible.within / feasible.surface.sd
    logs = []
    for _ in range(replicates):
        again = feasible.surface.resampled(generator)
        other = Feasible(again, protection * again.sd, feasible.certainty)
        logs.append(math.log(other.scale(pair.shape, start=pair.scale, tolerance=1e-3)))
    finite = [log for log in logs if math.isfinite(log)]
    if len(finite) < 0.975 * replicates:
        # No scale is enough for some samples: the upper end is open.
        low = float(np.quantile(logs, 0.025))
        return math.exp(low), math.inf
    half = 1.96 * float(np.std(finite, ddof=1))
    return pair.scale * math.exp(-half), pair.scale * math.exp(half)

"""What the designer found, in numbers, words and pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.accounting import odds, rounded_up
from confide.design.displays import CurvesDisplay, PairsDisplay
from confide.estimators import Deconvolution
from confide.noise import TwoSidedGamma
from confide.summaries import Spectrum

NEAR = 0.01
"""Noise below so many standard deviations of the values hardly changes one."""


@dataclass(frozen=True)
class Pair:
    """A shape, the smallest scale that protects with it, and what it costs.

    Parameters
    ----------
    shape, scale
        Of the noise; the scale in the units of the values.
    error
        AIMSE at its best bandwidth.
    variance
        The part of the error that is noise.
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
        Best bandwidth of a deconvoluted density, and its AIMSE.
    laplace
        The pair of shape 1.
    near
        Probability of noise below a hundredth of a standard deviation.
    reidentification, laplace_reidentification
        Expected share of noised values nearest to their own true one, here and with shape 1.
    floor, bounded_by
        The floor on the shape, and what stopped the search: ``""`` for nothing, ``"floor"``,
        ``"cap"``, ``"feasibility"`` or ``"given"``.
    follow, constant
        Which text was followed.
    eligible
        Pairs for the picture.
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
    follow: str
    constant: float
    eligible: tuple[Pair, ...]

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

    def small_noise(self) -> str:
        """What mu does not see."""
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
        """What protection this gives and what it does not, one sentence or two each."""
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
            f"The expected squared error of a density is {self.error:.3g} (bandwidth "
            f"{self.bandwidth:.3g}){against}. {why} Below shape "
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
            "near": self.near,
            "reidentification": self.reidentification,
            "laplace_reidentification": self.laplace_reidentification,
            "floor": self.floor,
            "bounded_by": self.bounded_by,
            "follow": self.follow,
            "constant": self.constant,
            "eligible": [[pair.shape, pair.scale, pair.error] for pair in self.eligible],
            "words": list(self.words()),
        }

    def plot(self, ax: Any = None) -> PairsDisplay:
        """The eligible pairs and the one taken (figure 2 of the paper)."""
        return PairsDisplay(
            np.array([pair.shape for pair in self.eligible]),
            np.array([pair.scale for pair in self.eligible]),
            (self.shape, self.scale),
            self.smallest_feasible_shape,
            self.floor,
        ).plot(ax)

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
        x = np.sort(_validate.vector(values=values))
        generator = np.random.default_rng(_validate.integer(0, seed=seed))
        noise = generator.gamma(self.shape, self.scale, x.size)
        z = x + generator.choice([-1.0, 1.0], x.size) * noise
        linear = Deconvolution(kernel="fan", bandwidth=self.bandwidth, positive=False)
        curve = linear.fit(Spectrum.of(z, noise=self.noise))
        at = np.linspace(x[0], x[-1], 257)
        true = np.searchsorted(x, at, side="right") / x.size
        return CurvesDisplay(at, {"values": true, "recovered": curve.cdf(at)}).plot(ax)


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:.2g} %"

"""Unbiased estimates of index masses: the inverse of a mechanism's law, one axis at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import fft, linalg

from confide.errors import Unsupported
from confide.estimators.bandwidth import Axis, spread
from confide.estimators.kernels import Kernel
from confide.lattice import Lattice
from confide.mechanisms import Channel, Joint, Laplace, Noised, TwoSidedGamma

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inverse:
    """The inverse of one mechanism's law, and the scale on which its cells are equally wide.

    On a log lattice that is the logarithm of the values: lengths below are natural logs there.

    Parameters
    ----------
    lattice
        Cells of the values.
    masses
        Report masses to unbiased index masses, along the last axis.
    scores
        Its transpose: a function of the index to the function of the report whose expectation
        given the index it is, along the last axis.
    ratio
        Ratio of the noise's probabilities at neighbouring distances, where the noise is Laplace.
    """

    lattice: Lattice
    masses: Callable[[Floats], Floats]
    scores: Callable[[Floats], Floats]
    ratio: float | None = None

    @cached_property
    def length(self) -> float:
        """Length of the support."""
        low, high = self.lattice.low, self.lattice.high
        return math.log(high / low) if self.lattice.scale == "log" else high - low

    @property
    def step(self) -> float:
        """Width of a cell."""
        return self.length / self.lattice.size

    @cached_property
    def places(self) -> Floats:
        """Centres of the cells, counted from the middle of the support."""
        size = self.lattice.size
        return (np.arange(size, dtype=np.float64) - (size - 1) / 2) * self.step

    def axis(self, shares: Floats, n: float, kernel: Kernel) -> Axis:
        """What a bandwidth needs to know, from the shares of the reports of this axis."""
        estimate = self.masses(shares)
        first, second = self.scores(np.stack([self.places, self.places**2]))
        mean = float(first @ shares)
        influence = second - 2 * mean * first
        centred = influence - influence @ shares
        variance = float(second @ shares) - mean**2
        error = math.sqrt(float(centred**2 @ shares) / n)
        sd = spread(variance, error, largest=self.length / math.sqrt(12))

        def signal(t: Floats) -> Floats:
            waves = np.exp(1j * np.multiply.outer(t, self.places)) @ estimate
            return np.abs(waves) ** 2

        # At this bandwidth the kernel has lost its weight at the lattice's highest frequency.
        finest = (3 / kernel.coefficient) ** (1 / kernel.order) * self.step / math.pi
        return Axis(n, sd, self.length, signal, self._gain(shares), finest)

    def _gain(self, shares: Floats) -> Callable[[Floats], Floats]:
        """Variance, times n, of the estimated characteristic function.

        A report r contributes the squared modulus of the score whose expectation is e**(i t x).
        For clamped Laplace noise with characteristic function phi that is 1/phi**2 inside and
        1/phi at the two ends: a clamped report carries less noise.
        """
        if self.ratio is not None:
            p, ends = self.ratio, float(shares[0] + shares[-1])

            def laplace(t: Floats) -> Floats:
                inverse = ((1 - p) ** 2 + 4 * p * np.sin(t * self.step / 2) ** 2) / (1 - p) ** 2
                return inverse * (inverse * (1 - ends) + ends)

            return laplace
        # Smooth in t, so that a few hundred frequencies serve all.
        grid = np.linspace(0, math.pi / self.step, 257)
        phase = np.multiply.outer(grid, self.places)
        squares = self.scores(np.cos(phase)) ** 2 + self.scores(np.sin(phase)) ** 2
        table = np.log(squares @ shares)

        def tabulated(t: Floats) -> Floats:
            folded = np.abs((t * self.step + math.pi) % (2 * math.pi) - math.pi) / self.step
            return np.exp(np.interp(folded, grid, table))

        return tabulated

    def smooth(self, kernel: Kernel, bandwidth: float, masses: Floats) -> Floats:
        """Convolve masses (last axis) with the kernel, folded back at both ends of the support.

        The estimate of every cell is unbiased, the end cells included, so that folding is valid
        here although it would not be for noisy values. In the cosine basis it is a product.
        """
        size = self.lattice.size
        kept = kernel.transform(
            bandwidth * math.pi * np.arange(size, dtype=np.float64) / self.length
        )
        result: Floats = fft.idct(fft.dct(masses, axis=-1) * kept, axis=-1)
        return result

    def operator(self, kernel: Kernel, bandwidth: float) -> Floats:
        """The whole estimate as a matrix, cells by reports."""
        # The smoother is symmetric: its rows are its columns.
        return self.scores(self.smooth(kernel, bandwidth, np.eye(self.lattice.size)))


def inverses(mechanism: Channel) -> tuple[Inverse, ...]:
    """The inverse for each question of a mechanism, or a sentence why there is none."""
    parts = mechanism.parts.values() if isinstance(mechanism, Joint) else (mechanism,)
    return tuple(_inverse(part) for part in parts)


def _inverse(mechanism: Channel) -> Inverse:
    if isinstance(mechanism, Laplace):
        return Inverse(
            mechanism.lattice, mechanism.invert, mechanism.invert_adjoint, ratio=mechanism.p
        )
    if isinstance(mechanism, Noised):
        raise Unsupported(
            "Deconvolution works on the noised numbers themselves, not on their bins: take "
            "Spectrum.of, or estimators.Likelihood for these counts."
        )
    if not isinstance(mechanism, TwoSidedGamma):
        raise Unsupported(
            f"Deconvolution cannot undo {mechanism.name} reports, because their noise wipes out "
            "some frequencies for good: take estimators.Likelihood."
        )
    if mechanism.shape > 1:
        raise Unsupported(
            f"Deconvolution cannot undo two-sided gamma noise of shape {mechanism.shape:g} > 1, "
            "whose characteristic function has zeros: take estimators.Likelihood."
        )
    factors = linalg.lu_factor(mechanism.law.matrix())

    def masses(values: Floats) -> Floats:
        flat = values.reshape(-1, values.shape[-1])
        return linalg.lu_solve(factors, flat.T).T.reshape(values.shape)

    def scores(values: Floats) -> Floats:
        flat = values.reshape(-1, values.shape[-1])
        return linalg.lu_solve(factors, flat.T, trans=1).T.reshape(values.shape)

    return Inverse(mechanism.lattice, masses, scores)


def along(axis: int, function: Callable[[Floats], Floats], values: Floats) -> Floats:
    """Apply a function of the last axis along another one."""
    return np.moveaxis(function(np.moveaxis(values, axis, -1)), -1, axis)

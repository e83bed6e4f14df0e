"""Unbiased estimates of index masses: the inverse of a mechanism's law, one axis at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from confide._types import Floats, Waves
from confide.errors import Unsupported
from confide.estimators.bandwidths import Axis, Kernel, spread
from confide.foreign.noised import Noised
from confide.lattice import NUMBER, Lattice
from confide.mechanisms import Channel, Laplace, TwoSidedGamma
from confide.mechanisms.laws import Band

FEW = 32
"""Cells below which less smoothing than a cell, or none, may serve best."""
MAX_DENSE = 8192
"""Cells up to which a dense linear system is solved."""
CHUNK = 2**18
"""Waves that are held at a time."""


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
        Ratio of the noise's probabilities at neighboring distances, where the noise is Laplace.
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
        """The facts that choosing a bandwidth needs, from the shares of this axis's reports."""
        first, second = self.scores(np.stack([self.places, self.places**2]))
        mean = float(first @ shares)
        influence = second - 2 * mean * first
        centered = influence - influence @ shares
        variance = float(second @ shares) - mean**2
        error = math.sqrt(float(centered**2 @ shares) / n)
        sd = spread(variance, error, largest=self.length / math.sqrt(12))

        # At this bandwidth the kernel has lost its weight at the lattice's highest frequency.
        finest = (3 / kernel.coefficient) ** (1 / kernel.order) * self.step / math.pi
        few = self.lattice.size < FEW
        return Axis(
            n,
            sd,
            self.length,
            self._signal(shares),
            self._gain(shares),
            finest,
            # Here a smooth kernel has a standard deviation of one cell.
            finest * math.pi / math.sqrt(6) if few else 0.0,
            self._risk(shares, n, kernel) if few else None,
        )

    def _risk(self, shares: Floats, n: float, kernel: Kernel) -> Callable[[Floats], Floats]:
        """Unbiased estimate of the squared error of the smoothed cells, up to a constant.

        In the cosine basis, where smoothing is a product, with the exact variance of each wave.
        """
        size = self.lattice.size
        scores = self.scores(scipy.fft.idct(np.eye(size), axis=-1, norm="ortho"))
        waves = scores @ shares
        variance = (scores - waves[:, None]) ** 2 @ shares / n
        steps = math.pi * np.arange(size) / self.length

        def risk(h: Floats) -> Floats:
            kept = kernel.transform(np.multiply.outer(h, steps))
            return (1 - kept) ** 2 @ (waves**2 - variance) + kept**2 @ variance

        return risk

    def _signal(self, shares: Floats) -> Callable[[Floats], Floats]:
        """Squared modulus of the estimated characteristic function.

        For Laplace noise from the shares of the reports themselves, whose scores are known (see
        `_gain`): the cells' estimates are huge on fine lattices, and cancel.
        """
        if self.ratio is None:
            estimate = self.masses(shares)
            return lambda t: np.abs(_waves(self.places, t, estimate)) ** 2
        p, edge = self.ratio, self.places[-1]
        inner = np.concatenate([[0.0], shares[1:-1], [0.0]])

        def laplace(t: Floats) -> Floats:
            total = _waves(self.places, t, inner) * self._undone(t)
            end = np.exp(1j * t * edge) * (1 - p * np.exp(-1j * t * self.step)) / (1 - p)
            total += shares[0] * end.conj() + shares[-1] * end
            return np.abs(total) ** 2

        return laplace

    def _undone(self, t: Floats) -> Floats:
        """One over the characteristic function of unclamped Laplace noise."""
        assert self.ratio is not None
        p = self.ratio
        result: Floats = 1 + 4 * p * (np.sin(t * self.step / 2) / (1 - p)) ** 2
        return result

    def _gain(self, shares: Floats) -> Callable[[Floats], Floats]:
        """Variance, times n, of the estimated characteristic function.

        A report r contributes the squared modulus of the score whose expectation is e**(i t x).
        For clamped Laplace noise with characteristic function phi that is 1/phi**2 inside and
        1/phi at the two ends: a clamped report carries less noise.
        """
        if self.ratio is not None:
            ends = float(shares[0] + shares[-1])

            def laplace(t: Floats) -> Floats:
                inverse = self._undone(t)
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
        result: Floats = scipy.fft.idct(scipy.fft.dct(masses, axis=-1) * kept, axis=-1)
        return result

    def rows(self, kernel: Kernel, bandwidth: float, sums: Floats) -> Floats:
        """The estimate of sums over cells: what a report adds, for rows of weights of cells."""
        # The smoother is symmetric: its rows are its columns.
        return self.scores(self.smooth(kernel, bandwidth, sums))

    def operator(self, kernel: Kernel, bandwidth: float) -> Floats:
        """The whole estimate as a matrix, cells by reports."""
        return self.rows(kernel, bandwidth, np.eye(self.lattice.size))


def inverses(mechanism: Channel) -> tuple[Inverse, ...]:
    """The inverse for each question of a mechanism, or a sentence why there is none."""
    for name, axis in mechanism.axes.items():
        if isinstance(axis, Lattice) and axis.kind != NUMBER:
            raise Unsupported(
                "Deconvolution and kernel regression smooth, and between whole numbers or points "
                "there is nothing: take estimators.Likelihood or estimators.RatioRegression."
            )
        if isinstance(axis, Lattice):
            continue
        if len(mechanism.axes) > 1:
            raise Unsupported(
                f"is for numbers, and {name!r} has categories (marginal(question) of the counts "
                "has one question alone)",
                method="Deconvolution",
                instead="estimators.CategoryShares",
            )
        raise Unsupported(
            f"is for numbers, and {mechanism.name} reports are of categories",
            method="Deconvolution",
            instead="estimators.CategoryShares",
        )
    return tuple(_inverse(part) for part in mechanism.marginals.values())


def _inverse(mechanism: Channel) -> Inverse:
    if isinstance(mechanism, Laplace):
        return Inverse(
            mechanism.lattice, mechanism.invert, mechanism.invert_adjoint, ratio=mechanism.p
        )
    if isinstance(mechanism, Noised):
        raise Unsupported(
            "works on the noised numbers themselves (Spectrum.of), not on their bins",
            method="Deconvolution",
            instead="estimators.Likelihood",
        )
    if not isinstance(mechanism, TwoSidedGamma) and not isinstance(mechanism.law, Band):
        raise Unsupported(
            f"Deconvolution knows no inverse of {mechanism.name} reports: take "
            "estimators.Likelihood."
        )
    if not isinstance(mechanism, TwoSidedGamma):
        raise Unsupported(
            f"cannot undo {mechanism.name} reports, because their noise wipes out some "
            "frequencies for good",
            method="Deconvolution",
            instead="estimators.Likelihood",
        )
    if mechanism.shape > 1:
        raise Unsupported(
            f"cannot undo two-sided gamma noise of shape {mechanism.shape:g} > 1, whose "
            "characteristic function has zeros",
            method="Deconvolution",
            instead="estimators.Likelihood",
        )
    if mechanism.lattice.size > MAX_DENSE:
        raise Unsupported(
            f"cannot undo two-sided gamma noise on {mechanism.lattice.size} cells, more than the "
            f"{MAX_DENSE} whose linear system fits in memory",
            method="Deconvolution",
            instead="estimators.Likelihood",
        )
    factors = scipy.linalg.lu_factor(mechanism.law.matrix())

    def masses(values: Floats) -> Floats:
        flat = values.reshape(-1, values.shape[-1])
        return scipy.linalg.lu_solve(factors, flat.T).T.reshape(values.shape)

    def scores(values: Floats) -> Floats:
        flat = values.reshape(-1, values.shape[-1])
        return scipy.linalg.lu_solve(factors, flat.T, trans=1).T.reshape(values.shape)

    return Inverse(mechanism.lattice, masses, scores)


def _waves(places: Floats, t: Floats, weights: Floats) -> Waves:
    """Sum of weight e**(i t place) over evenly spaced places, at each t.

    The place number a * width + b is that of a and that of b added up, so that its wave is a
    product of two, and 2 width of them make up all width**2: a sixteenth of 1,024.
    """
    flat = np.ravel(t)
    total = np.empty(flat.size, dtype=np.complex128)
    step = (places[-1] - places[0]) / (places.size - 1)
    width = math.isqrt(places.size - 1) + 1
    table = np.zeros(width**2)
    table[: weights.size] = weights
    numbers = np.arange(width)
    some = max(1, CHUNK // width)
    for start in range(0, flat.size, some):
        part = flat[start : start + some]
        near = np.exp(1j * np.multiply.outer(numbers, part * step))
        far = np.exp(1j * np.multiply.outer(numbers, part * (step * width)))
        sums = ((table.reshape(width, width) @ near) * far).sum(axis=0)
        total[start : start + some] = sums * np.exp(1j * part * places[0])
    return total.reshape(np.shape(t))


def along(axis: int, function: Callable[[Floats], Floats], values: Floats) -> Floats:
    """Apply a function of the last axis along another one."""
    return np.moveaxis(function(np.moveaxis(values, axis, -1)), -1, axis)

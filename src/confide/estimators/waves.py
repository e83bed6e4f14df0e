"""Division of characteristic functions, for numbers that somebody else noised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from confide.errors import InvalidInput, Unsupported
from confide.estimators import quadrature
from confide.estimators.bandwidth import Axis, spread
from confide.estimators.kernels import Kernel
from confide.noise import Gaussian, Noise, TwoSidedGamma
from confide.summaries.spectrum import Spectrum, wave_sums

Floats = npt.NDArray[np.float64]
Waves = npt.NDArray[np.complex128]

NEGLIGIBLE = 1e-16
MAX_WAVES = 2**24
LARGEST = 1e12
"""A frequency that noise has damped more than this is lost in rounding."""


def axes_of(spectrum: Spectrum, kernel: Kernel) -> tuple[Axis, ...]:
    """What a bandwidth needs to know of each axis."""
    result = []
    for axis, noise in enumerate(spectrum.noise):
        refuse(noise, kernel)
        own = Spectrum(spectrum.values[:, [axis]], (noise,))
        z = own.values[:, 0]
        variance = float(z.var(ddof=1))
        fourth = float(np.mean((z - z.mean()) ** 4))
        error = math.sqrt(max(fourth - variance**2, 0) / z.size)
        largest = math.inf
        if spectrum.low is not None and spectrum.high is not None:
            largest = (spectrum.high[axis] - spectrum.low[axis]) / math.sqrt(12)
        sd = spread(variance - noise.variance, error, largest=largest)

        def signal(t: Floats, own: Spectrum = own) -> Floats:
            with np.errstate(over="ignore"):
                return np.abs(own.deconvolved(t)) ** 2

        finest = _finest(noise, kernel)
        extent = float(np.ptp(z))
        result.append(Axis(spectrum.n, sd, extent, signal, _gain(noise), finest))
    return tuple(result)


def _gain(noise: Noise) -> Callable[[Floats], Floats]:
    if isinstance(noise, Gaussian) and noise.varies:
        # A few hundred sds stand for all of them: a bandwidth needs no more.
        noise = Gaussian(scale=np.quantile(noise.scale, (np.arange(256) + 0.5) / 256))
        smallest = float(np.min(noise.scale))
        grid = np.linspace(0, 26 / smallest, 4096)
        with np.errstate(divide="ignore"):
            table = -np.log(noise.mean_square(grid))

        def tabulated(t: Floats) -> Floats:
            with np.errstate(over="ignore"):
                result: Floats = np.exp(np.interp(t, grid, table, right=math.inf))
            return result

        return tabulated

    def gain(t: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return 1 / noise.mean_square(t)

    return gain


def refuse(noise: Noise, kernel: Kernel) -> None:
    """Refuse noise that wipes out a frequency, or that no bandwidth of the kernel outweighs."""
    if isinstance(noise, Gaussian) and kernel.order < 2:
        raise Unsupported(
            f"The {kernel.name} kernel cannot undo Gaussian noise, which falls faster than its "
            "transform at any bandwidth: take kernel='fan'."
        )
    if isinstance(noise, TwoSidedGamma) and noise.shape > 1:
        raise Unsupported(
            f"Deconvolution cannot undo two-sided gamma noise of shape {noise.shape:g} > 1, whose "
            "characteristic function has zeros: take estimators.Likelihood."
        )


@dataclass(frozen=True, eq=False)
class WaveSum:
    """The linear estimate: the real part of the sum of amplitude e**(-i t.x).

    Parameters
    ----------
    nodes
        Frequencies of each axis; the first axis has positive ones only.
    weights
        Real factors of each axis: quadrature weight and kernel, over the noise where it is equal.
    amplitudes
        One for each combination of nodes.
    """

    nodes: tuple[Floats, ...]
    weights: tuple[Floats, ...]
    amplitudes: Waves

    @property
    def frequencies(self) -> Floats:
        """All combinations of nodes, one row each."""
        grid = np.meshgrid(*self.nodes, indexing="ij")
        return np.stack([part.ravel() for part in grid], axis=1)

    def masses(self, edges: Sequence[Floats]) -> Floats:
        """Exact integrals over cells of equal width."""
        centers = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
        damping = [
            (edge[1] - edge[0]) * np.sinc(t * (edge[1] - edge[0]) / (2 * math.pi))
            for t, edge in zip(self.nodes, edges, strict=True)
        ]
        if len(edges) == 1:
            damped = self.amplitudes * damping[0]
            return wave_sums(self.nodes[0][:, None], -centers[0][:, None], damped).real
        total = self.amplitudes
        for axis, (t, x) in enumerate(zip(self.nodes, centers, strict=True)):
            over = damping[axis] * np.exp(-1j * np.multiply.outer(x, t))
            total = np.moveaxis(np.tensordot(over, total, axes=(1, axis)), 0, axis)
        return total.real


def divide(
    spectrum: Spectrum, kernel: Kernel, bandwidth: Sequence[float], window: Sequence[float]
) -> WaveSum:
    """Divide by the noise, damp by the kernel, and prepare the inverse transform.

    The inverse transform is exact to many digits where x is within the window of every number.
    """
    frequencies, weights = [], []
    for axis, (noise, h) in enumerate(zip(spectrum.noise, bandwidth, strict=True)):
        refuse(noise, kernel)
        top = _top(noise, kernel, h)
        t, w = quadrature.nodes(top, window[axis])
        w = w * kernel.transform(h * t) / math.pi
        if axis > 0:
            # The density is real, so that one axis may keep to positive frequencies.
            t, w = np.concatenate([-t[::-1], t]), np.concatenate([w[::-1], w]) / 2
        frequencies.append(t)
        weights.append(w)
    if math.prod(t.size for t in frequencies) > MAX_WAVES:
        raise InvalidInput(
            "a bandwidth within reach of the numbers' range",
            f"bandwidth={tuple(round(h, 9) for h in bandwidth)}",
            "Take a larger one, or look at outliers first.",
        )
    grid = np.stack(np.meshgrid(*frequencies, indexing="ij"), axis=-1)
    amplitudes = spectrum.deconvolved(grid[..., 0] if spectrum.axes == 1 else grid)
    for axis, weight in enumerate(weights):
        shape = [1] * spectrum.axes
        shape[axis] = -1
        amplitudes = amplitudes * weight.reshape(shape)
    per_number = tuple(
        weight / (noise.mean_square(t) if _varies(noise) else noise.characteristic(t))
        for weight, noise, t in zip(weights, spectrum.noise, frequencies, strict=True)
    )
    return WaveSum(tuple(frequencies), per_number, amplitudes)


def _varies(noise: Noise) -> bool:
    return isinstance(noise, Gaussian) and noise.varies


def _top(noise: Noise, kernel: Kernel, h: float) -> float:
    """The frequency beyond which the kernel leaves nothing, after a look for lost frequencies."""
    top = _band(noise, kernel, h)
    if top is None:
        raise InvalidInput(
            f"a bandwidth at which the {kernel.name} kernel outweighs the noise",
            f"bandwidth={h:g}",
            "Take a larger bandwidth, or the fan kernel.",
        )
    t = np.linspace(0, top, 513)
    if not _varies(noise) and noise.characteristic(t).min() < 0:
        raise Unsupported(
            "Deconvolution cannot undo noise whose characteristic function has zeros within the "
            "kernel's band: take estimators.Likelihood."
        )
    return top


def _band(noise: Noise, kernel: Kernel, h: float) -> float | None:
    """Where the kernel's transform over the noise's becomes negligible, if it does."""
    for stretch in (1, 1.5, 2, 3, 4, 6, 8, 12):
        t = np.linspace(0, stretch * kernel.reach / h, 513)
        kept = kernel.transform(h * t)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratio = np.where(kept > 0, kept / np.sqrt(noise.mean_square(t)), 0.0)
        if not np.all(ratio < LARGEST):
            return None
        if ratio[-1] <= NEGLIGIBLE * ratio.max():
            return float(t[-1])
    return None


def _finest(noise: Noise, kernel: Kernel) -> float:
    """The smallest bandwidth, within reason, at which the noise can be divided out."""
    scale = math.sqrt(noise.variance)
    low, high = 1e-3 * scale, 1e3 * scale
    if _band(noise, kernel, low) is not None:
        return low
    if _band(noise, kernel, high) is None:
        raise Unsupported(
            f"The {kernel.name} kernel cannot outweigh this noise at any bandwidth: take "
            "kernel='fan'."
        )
    for _ in range(24):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _band(noise, kernel, middle) else (middle, high)
    return 1.001 * high

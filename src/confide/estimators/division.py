"""Division of characteristic functions, for numbers noised elsewhere."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from confide._types import Floats, Waves
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators.bandwidths import Axis, Kernel, spread
from confide.foreign import quadrature
from confide.foreign.noise_laws import Gaussian, Noise, NoNoise, TwoSidedGamma
from confide.foreign.spectrum import Spectrum, varies, wave_sums

NEGLIGIBLE = 1e-16
MAX_WAVES = 2**21
MAX_LINE = 2**15
"""Waves at most with several axes, and with one."""
LARGEST = 1e12
"""A frequency that noise has damped more than this is lost in rounding."""
FAR = 40.0
"""Standard deviations of noise that no number is away from the value behind it."""
TINY = 1e-9
"""Noise that is smaller than so much of the numbers is hardly there in doubles."""
FINE = 1e-3
"""Least bandwidth of numbers without noise, as a share of their range."""
TIED = 0.2
"""Share of different numbers below which they sit at a few points."""
SCALES = 1024
TABLE = 2048


def plausible(spectrum: Spectrum) -> Spectrum:
    """The numbers that noise can have carried to where they are, from within known bounds.

    One that lies dozens of standard deviations outside is no noised value, but it would rule the
    range of the estimate and with it the cost.
    """
    kept = np.ones(spectrum.n, dtype=bool)
    for axis, noise in enumerate(spectrum.noise):
        told_apart(spectrum.values[:, axis], noise)
        far = FAR * (np.asarray(noise.scale) if varies(noise) else math.sqrt(noise.variance))
        if spectrum.low is not None:
            kept &= spectrum.values[:, axis] >= spectrum.low[axis] - far
        if spectrum.high is not None:
            kept &= spectrum.values[:, axis] <= spectrum.high[axis] + far
    if kept.all():
        return spectrum
    warnings.warn(
        f"{np.count_nonzero(~kept)} of {spectrum.n} numbers lie farther from low and high than the "
        "noise can have carried them, and were left out.",
        ConfideWarning,
        stacklevel=2,
    )
    laws = tuple(
        Gaussian(scale=np.asarray(law.scale)[kept]) if varies(law) else law
        for law in spectrum.noise
    )
    response = None if spectrum.response is None else spectrum.response[kept]
    return replace(spectrum, values=spectrum.values[kept], noise=laws, response=response)


def told_apart(numbers: Floats, noise: Noise) -> None:
    """Refuse numbers that are all alike, with noise so small that doubles hardly show it."""
    if isinstance(noise, NoNoise) and numbers.size and np.ptp(numbers) == 0:
        raise InvalidInput(
            "numbers without noise that differ",
            "numbers that are all the same",
            "Leave that column out.",
        )
    size = float(np.abs(numbers).max(initial=0.0))
    if numbers.size and np.ptp(numbers) == 0 and math.sqrt(noise.variance) < TINY * size:
        raise InvalidInput(
            "numbers that differ by the noise on them",
            f"numbers that are all the same, and noise of less than {TINY:g} of them",
        )


def axes_of(spectrum: Spectrum, kernel: Kernel) -> tuple[Axis, ...]:
    """The facts about each axis that choosing a bandwidth needs."""
    result = []
    for axis, noise in enumerate(spectrum.noise):
        refuse(noise, kernel)
        own = Spectrum(spectrum.values[:, [axis]], (noise,))
        z = own.values[:, 0]
        fourth = float(np.mean((z - z.mean()) ** 4))
        error = math.sqrt(max(fourth - float(z.var()) ** 2, 0) / z.size)
        # Few or tied numbers may show no error: that of normal noise is always there.
        error = max(error, noise.variance * math.sqrt(2 / z.size))
        largest = math.inf
        if spectrum.low is not None and spectrum.high is not None:
            largest = (spectrum.high[axis] - spectrum.low[axis]) / math.sqrt(12)
        sd = spread(float(z.var(ddof=1)) - noise.variance, error, largest=largest)

        def signal(t: Floats, own: Spectrum = own) -> Floats:
            with np.errstate(over="ignore"):
                return np.abs(own.deconvolved(t)) ** 2

        gain = _gain(noise)
        if isinstance(noise, NoNoise):
            finest = max(FINE * float(np.ptp(z)), _gap(z) / 4)
        else:
            finest = _finest(gain, math.sqrt(noise.variance), kernel)
        result.append(Axis(spectrum.n, sd, float(np.ptp(z)), signal, gain, finest))
    return tuple(result)


def _gap(values: Floats) -> float:
    """The usual distance between neighbors where values are tied, such as whole years; else 0."""
    places = np.unique(values)
    return float(np.median(np.diff(places))) if places.size < TIED * values.size else 0.0


def _gain(noise: Noise) -> Callable[[Floats], Floats]:
    """Variance, times n, of the estimated characteristic function: 1/phi**2."""
    if isinstance(noise, Gaussian) and noise.varies:
        return _tabulated(np.asarray(noise.scale))

    def gain(t: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return 1 / noise.mean_square(t)

    return gain


def _tabulated(scales: Floats) -> Callable[[Floats], Floats]:
    """One over the mean of e**(-scale**2 t**2), quickly where scales are many.

    Scales of nearly the same size stand together. The logarithm divided by t**2 is a constant for
    equal scales and changes slowly with log t otherwise, so that it can be read off a table.
    """
    squares = np.sort(scales) ** 2
    place = np.log(squares / squares[0]) / max(math.log(squares[-1] / squares[0]), NEGLIGIBLE)
    starts = np.unique(np.floor(place * (SCALES - 1)), return_index=True)[1]
    counts = np.diff(np.append(starts, squares.size))
    means = np.add.reduceat(squares, starts) / counts
    grid = np.geomspace(1e-3 / math.sqrt(means[-1]), 26 / math.sqrt(means[0]), TABLE)
    damped = np.exp(-np.multiply.outer(grid**2, means)) @ (counts / squares.size)
    table = -np.log(damped) / grid**2
    places = np.log(grid)

    def gain(t: Floats) -> Floats:
        t = np.abs(t)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            height = np.interp(np.log(t), places, table, right=math.inf)
            result: Floats = np.exp(height * t * t)
        return result

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
            f"cannot undo two-sided gamma noise of shape {noise.shape:g} > 1, whose "
            "characteristic function has zeros",
            method="Deconvolution",
            instead="estimators.Likelihood",
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
    frequencies, weights, each = [], [], []
    for noise in spectrum.noise:
        refuse(noise, kernel)
    if count(spectrum, kernel, bandwidth, window) > _most(spectrum.axes):
        raise InvalidInput(
            "a bandwidth within reach of the numbers' range",
            f"bandwidth={', '.join(f'{h:.3g}' for h in bandwidth)}",
            "Take a larger one, or remove outliers; Spectrum.of with low= and high= does that.",
        )
    for axis, (noise, h) in enumerate(zip(spectrum.noise, bandwidth, strict=True)):
        t, w, per_number = line(noise, kernel, h, window[axis])
        if axis > 0:
            # The density is real, so that one axis may keep to positive frequencies.
            t, w = np.concatenate([-t[::-1], t]), np.concatenate([w[::-1], w]) / 2
            per_number = np.concatenate([per_number[::-1], per_number]) / 2
        frequencies.append(t)
        weights.append(w)
        each.append(per_number)
    grid = np.stack(np.meshgrid(*frequencies, indexing="ij"), axis=-1)
    amplitudes = spectrum.deconvolved(grid[..., 0] if spectrum.axes == 1 else grid)
    for axis, weight in enumerate(weights):
        shape = [1] * spectrum.axes
        shape[axis] = -1
        amplitudes = amplitudes * weight.reshape(shape)
    return WaveSum(tuple(frequencies), tuple(each), amplitudes)


def line(
    noise: Noise, kernel: Kernel, h: float, window: float, *, most: float = math.inf
) -> tuple[Floats, Floats, Floats]:
    """Frequencies of one axis, their weights, and the weights over the noise.

    The sum of the last times cos(t u) is the kernel that undoes the noise, at |u| <= window; where
    the noise varies, each number damps it by its own.
    """
    refuse(noise, kernel)
    if line_count(noise, kernel, h, window) > most:
        raise InvalidInput(
            "a bandwidth within reach of the numbers' range",
            f"bandwidth={h:.3g}",
            "Take a larger one, or remove outliers; Spectrum.of with low= and high= does that.",
        )
    t, w = quadrature.nodes(_top(noise, kernel, h), window)
    w = w * kernel.transform(h * t) / math.pi
    return t, w, w / (noise.mean_square(t) if varies(noise) else noise.characteristic(t))


def line_count(noise: Noise, kernel: Kernel, h: float, window: float) -> float:
    """Number of frequencies that `line` will need."""
    return quadrature.count(_top(noise, kernel, h), window)


def _most(axes: int) -> int:
    return MAX_LINE if axes == 1 else MAX_WAVES


def count(
    spectrum: Spectrum, kernel: Kernel, bandwidth: Sequence[float], window: Sequence[float]
) -> float:
    """Number of waves that `divide` will need; memory and time grow with it."""
    total = 1.0
    for axis, (noise, h) in enumerate(zip(spectrum.noise, bandwidth, strict=True)):
        total *= (1 + (axis > 0)) * line_count(noise, kernel, h, window[axis])
    return total


def affordable(
    spectrum: Spectrum, kernel: Kernel, bandwidth: Sequence[float], window: Sequence[float]
) -> tuple[float, ...]:
    """Bandwidths, raised where the range of the numbers is too wide for them."""
    h = tuple(bandwidth)
    while count(spectrum, kernel, h, window) > _most(spectrum.axes):
        h = tuple(1.1 * one for one in h)
    return h


def warn_raised(before: Sequence[float], after: Sequence[float]) -> None:
    """Warn that chosen bandwidths were raised to be within reach, if they were."""
    if tuple(before) == tuple(after):
        return
    fewer = ", or take fewer columns" if len(after) > 1 else ""
    warnings.warn(
        "The numbers spread so far that the bandwidth cannot be below "
        f"{', '.join(f'{one:.3g}' for one in after)}, where "
        f"{', '.join(f'{one:.3g}' for one in before)} was wanted: remove outliers, or give low= "
        f"and high= (--range){fewer}.",
        ConfideWarning,
        stacklevel=3,
    )


def _top(noise: Noise, kernel: Kernel, h: float) -> float:
    """The frequency beyond which the kernel leaves nothing, after a look for lost frequencies."""
    top = _band(_gain(noise), kernel, h)
    if top is None:
        raise InvalidInput(
            f"a bandwidth at which the {kernel.name} kernel outweighs the noise",
            f"bandwidth={h:g}",
            "Take a larger bandwidth, or the fan kernel.",
        )
    t = np.linspace(0, top, 513)
    if not varies(noise) and noise.characteristic(t).min() < 0:
        raise Unsupported(
            "cannot undo noise whose characteristic function has zeros within the kernel's band",
            method="Deconvolution",
            instead="estimators.Likelihood",
        )
    return top


def _band(gain: Callable[[Floats], Floats], kernel: Kernel, h: float) -> float | None:
    """Where the kernel's transform over the noise's becomes negligible, if it does."""
    for stretch in (1, 1.5, 2, 3, 4, 6, 8, 12):
        t = np.linspace(0, stretch * kernel.reach / h, 513)
        kept = kernel.transform(h * t)
        with np.errstate(invalid="ignore"):
            ratio = np.where(kept > 0, kept * np.sqrt(gain(t)), 0.0)
        if not np.all(ratio < LARGEST):
            return None
        if ratio[-1] <= NEGLIGIBLE * ratio.max():
            return float(t[-1])
    return None


def _finest(gain: Callable[[Floats], Floats], scale: float, kernel: Kernel) -> float:
    """The smallest bandwidth, within reason, at which the noise can be divided out."""
    low, high = 1e-3 * scale, 1e3 * scale
    if _band(gain, kernel, low) is not None:
        return low
    if _band(gain, kernel, high) is None:
        raise Unsupported(
            f"The {kernel.name} kernel cannot outweigh this noise at any bandwidth: take "
            "kernel='fan'."
        )
    for _ in range(24):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _band(gain, kernel, middle) else (middle, high)
    return 1.001 * high

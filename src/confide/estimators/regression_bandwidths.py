"""How much to smooth a deconvolved regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from confide._types import Floats, Waves
from confide.errors import InvalidInput, Unsupported
from confide.estimators import division, inverting
from confide.estimators.bandwidths import Kernel
from confide.estimators.responses import is_binary
from confide.foreign.spectrum import Spectrum
from confide.summaries import Counts

FOLDS = 5
SEED = 20_200_812
FACTORS = np.geomspace(1 / 4, 4, 25)
"""Candidates, in units of the density's bandwidth."""
PILOT = 0.6
"""Bandwidth at which held-out sums are smoothed, in the same units."""
POINTS = 512
MAX_WAVES = 2**13
TAIL = 0.025
HOLES = 0.01
RAISES = np.geomspace(1, 2, 7)


def raised(
    plug_in: Sequence[float],
    density: Callable[[Sequence[float]], Floats],
    least: float | Floats,
) -> tuple[float, ...]:
    """The density's plug-in bandwidths, raised until the density has no holes to divide by.

    What is a small error of a density is a pole of a ratio. Between the 2.5 % and 97.5 % points of
    each covariate the density may be below its floor on 1 % of the cells, or the bandwidths grow,
    up to twofold. The tails are left out, because there it is small in truth as well.

    Parameters
    ----------
    plug_in
        Bandwidths to start from.
    density
        Bandwidths to the estimated density on a grid.
    least
        The floor, in the same units.
    """
    wide = np.maximum(density([2 * h for h in plug_in]), 0)
    inside = np.ones(wide.shape, dtype=bool)
    for axis in range(wide.ndim):
        others = tuple(other for other in range(wide.ndim) if other != axis)
        masses = wide.sum(axis=others)
        below = np.cumsum(masses) / max(masses.sum(), np.finfo(np.float64).tiny)
        kept = (below >= TAIL) & (below - masses / masses.sum() <= 1 - TAIL)
        inside &= kept.reshape([-1 if at == axis else 1 for at in range(wide.ndim)])
    for factor in RAISES:
        h = tuple(factor * each for each in plug_in)
        if (density(h) < least)[inside].mean() <= HOLES:
            break
    return h


@dataclass(frozen=True, eq=False)
class Folds:
    """Linear estimates from each fold, as parts of the whole.

    Parameters
    ----------
    shares
        Share of the sample in each fold.
    sums
        Bandwidths to densities and products of density and response on a grid, one pair a fold;
        folds add up to the estimate from the whole sample.
    """

    shares: Floats
    sums: Callable[[Sequence[float]], Floats]


def corrected_cv(
    folds: Folds,
    pilot: Sequence[float],
    finest: Sequence[float],
    least: float | Floats,
    bounds: tuple[float, float],
) -> tuple[float, ...]:
    """The multiple of the pilot bandwidths of least corrected squared error on held-out folds.

    The expected loss of a curve m at the true values is, but for a constant, the integral of
    m**2 f - 2 m r, f the density and r its product with the mean response. Both have unbiased
    linear estimates from held-out reports, up to a little smoothing, so that the noise need never
    be undone at a single point. Of several local minima the one at the largest bandwidth is taken:
    those at small ones are spurious (measured).
    """
    candidates = [
        tuple(max(factor * h, smallest) for h, smallest in zip(pilot, finest, strict=True))
        for factor in FACTORS
    ]
    near = [max(PILOT * h, smallest) for h, smallest in zip(pilot, finest, strict=True)]
    held = folds.sums(near)
    scale = 1 / (1 - folds.shares).reshape(-1, *(1,) * (held.ndim - 1))
    losses = np.empty(len(candidates))
    for at, h in enumerate(candidates):
        each = folds.sums(h)
        train = (each.sum(axis=0) - each) * scale
        curve = np.clip(train[:, 1] / np.maximum(train[:, 0], least), *bounds)
        losses[at] = (curve * (curve * held[:, 0] - 2 * held[:, 1])).sum()
    inner = losses[1:-1]
    minima = 1 + np.flatnonzero((inner < losses[:-2]) & (inner <= losses[2:]))
    return candidates[int(minima[-1]) if minima.size else int(np.argmin(losses))]


def cell_folds(
    counts: Counts, inverses: Sequence[inverting.Inverse], kernel: Kernel, center: float
) -> Folds:
    """Folds of counts, each respondent in one of them at random.

    Counts of a 0/1 response split exactly as its respondents would. For another response the sums
    of the folds are drawn with the mean and spread that such a split has. The seed is fixed, so
    that the result is a function of the counts.
    """
    response = counts.response
    assert response is not None
    rng = np.random.default_rng(SEED)
    split = [1 / FOLDS] * FOLDS
    n, total = counts.counts, counts.total
    weight = np.divide(total, n, out=np.zeros(n.shape), where=n > 0)
    if is_binary(counts) and counts.weights is None:
        ones = np.rint(response.sums).astype(np.int64)
        above = rng.multinomial(ones, split).astype(np.float64)
        number = above + rng.multinomial(n - ones, split)
        sums = above
    else:
        number = rng.multinomial(n, split).astype(np.float64)
        mean = np.divide(response.sums, total, out=np.zeros(n.shape), where=total > 0)
        square = np.divide(response.squares, total, out=np.zeros(n.shape), where=total > 0)
        variance = np.maximum(square - mean**2, 0) * n / np.maximum(n - 1, 1)
        draws = np.sqrt(number) * rng.standard_normal(number.shape)
        whole = draws.sum(axis=-1, keepdims=True)
        draws -= number * (whole / np.maximum(n, 1)[..., None])
        sums = weight[..., None] * (number * mean[..., None] + np.sqrt(variance)[..., None] * draws)
        number = weight[..., None] * number
    parts = np.moveaxis(np.stack([number, sums - center * number]), -1, 0) / total.sum()
    for axis, inverse in enumerate(inverses):
        parts = inverting.along(axis + 2, inverse.masses, parts)

    def smoothed(h: Sequence[float]) -> Floats:
        result: Floats = parts
        for axis, (inverse, b) in enumerate(zip(inverses, h, strict=True)):
            result = inverting.along(axis + 2, partial(inverse.smooth, kernel, b), result)
        return result

    return Folds(parts[:, 0].sum(axis=tuple(range(1, parts.ndim - 1))), smoothed)


def wave_folds(
    spectrum: Spectrum,
    kernel: Kernel,
    *,
    pilot: Sequence[float],
    finest: Sequence[float],
    limits: tuple[Floats, Floats],
    center: float,
) -> Folds:
    """Folds of numbers by position: every fifth one."""
    if spectrum.axes > 1:
        raise Unsupported(
            "Corrected cross-validation of noised numbers takes one covariate: take "
            "bandwidth='plug-in'."
        )
    if spectrum.n < 2 * FOLDS:
        raise InvalidInput(f"{2 * FOLDS} or more numbers to cross-validate", str(spectrum.n))
    x = np.linspace(limits[0][0], limits[1][0], POINTS)
    places = spectrum.values[:, 0]
    window = max(places.max(), x[-1]) - min(places.min(), x[0])
    smallest = max(min(FACTORS[0], PILOT) * pilot[0], finest[0])
    smallest = _affordable(spectrum, kernel, smallest, window, most=MAX_WAVES)
    fold = np.arange(spectrum.n) % FOLDS
    assert spectrum.response is not None
    y = spectrum.response - center
    pairs = []
    for number in range(FOLDS):
        inside = (fold == number).astype(np.float64)
        sums, pair = wave_pair(spectrum, y * inside, kernel, (smallest,), [window], inside=inside)
        pairs.append(pair)
    t = sums.nodes[0]
    amplitudes = np.stack(pairs)
    phase = np.multiply.outer(t, x)
    table = np.concatenate([np.cos(phase), np.sin(phase)])
    base = kernel.transform(smallest * t)

    def smoothed(h: Sequence[float]) -> Floats:
        damped = amplitudes * (kernel.transform(max(h[0], smallest) * t) / base)
        result: Floats = np.concatenate([damped.real, damped.imag], axis=-1) @ table
        return result

    return Folds(np.bincount(fold) / spectrum.n, smoothed)


def _affordable(spectrum: Spectrum, kernel: Kernel, h: float, window: float, *, most: int) -> float:
    """The smallest candidate, raised where the range of the numbers is too wide for it."""
    while division.count(spectrum, kernel, (h,), [window]) > most:
        h *= 1.1
    return h


def wave_pair(
    spectrum: Spectrum,
    y: Floats,
    kernel: Kernel,
    h: Sequence[float],
    window: Sequence[float],
    *,
    inside: Floats | None = None,
) -> tuple[division.WaveSum, Waves]:
    """Amplitudes of the density, of those inside if given, and of its product with y."""
    sums = division.divide(spectrum, kernel, h, window)
    grid = np.stack(np.meshgrid(*sums.nodes, indexing="ij"), axis=-1)
    t = grid[..., 0] if spectrum.axes == 1 else grid
    weight = sums.weights[0]
    for other in sums.weights[1:]:
        weight = np.multiply.outer(weight, other)
    weight = weight / spectrum.n
    density = sums.amplitudes
    if inside is not None:
        density = spectrum.waves(t, weights=inside, damped=True) * weight
    return sums, np.stack([density, spectrum.waves(t, weights=y, damped=True) * weight])

"""How much to smooth a deconvolved regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats, Waves
from confide.curves.regression import NodeRegression
from confide.errors import InvalidInput, Unsupported
from confide.estimators import division, inverting, product
from confide.estimators.bandwidths import Kernel
from confide.estimators.responses import is_binary
from confide.foreign.spectrum import Spectrum, varies, wave_sums
from confide.summaries import Counts

FOLDS = 5
SEED = 20_200_812
FACTORS = np.geomspace(1 / 4, 4, 25)
"""Candidates, in units of the density's bandwidth."""
PILOT = 0.6
"""Bandwidth at which held-out sums are smoothed, in the same units."""
POINTS = 512
GRID = {2: 32, 3: 14}
"""Places on each axis, for one covariate and for several."""
CANDIDATES = {1: 25, 2: 13, 3: 9}
"""Bandwidths that are tried at places of each number's own."""
LEVELS = 32
"""Levels of a response that stand for all its values, where a loss is not the squared one."""
LEAST_CHANCE = 1e-3
"""Least probability of a response, for the log loss."""
MAX_WAVES = 2**13
MAX_PLACED = 2**16
"""Nodes at most from which a sum is read off at a place for each number."""
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


Loss = Callable[[Floats, Floats], Floats]
"""What a response and a prediction of it cost, elementwise."""


def _log(y: Floats, m: Floats) -> Floats:
    m = np.clip(m, LEAST_CHANCE, 1 - LEAST_CHANCE)
    return -(y * np.log(m) + (1 - y) * np.log(1 - m))


LOSSES: dict[str, Loss] = {
    "squared": lambda y, m: (y - m) ** 2,
    "absolute": lambda y, m: np.abs(y - m),
    "log": _log,
}


def loss_of(loss: str | Loss | None, summary: Counts | Spectrum) -> Loss:
    """The loss of that name or as given, if it fits the response."""
    if callable(loss):
        return loss
    name = _checks.one_of(tuple(LOSSES), loss="squared" if loss is None else loss)
    if name == "log" and not is_binary(summary):
        raise InvalidInput("a response of 0 and 1 for loss='log'", "other values")
    return LOSSES[name]


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
    levels
        Bandwidths to densities on the grid by level of the response, for each fold; for losses
        that the two sums do not tell.
    responses
        The levels, less what was taken off the response.
    """

    shares: Floats
    sums: Callable[[Sequence[float]], Floats]
    levels: Callable[[Sequence[float]], Floats]
    responses: Floats


def corrected_cv(
    folds: Folds,
    pilot: Sequence[float],
    finest: Sequence[float],
    least: float | Floats,
    bounds: tuple[float, float],
    *,
    loss: Loss | None = None,
    center: float = 0.0,
) -> tuple[float, ...]:
    """The multiple of the pilot bandwidths of least corrected loss on held-out folds.

    The expected squared error of a curve m at the true values is, but for a constant, the integral
    of m**2 f - 2 m r, f the density and r its product with the mean response. Both have unbiased
    linear estimates from held-out reports, up to a little smoothing, so that the noise need never
    be undone at a single point. Any other loss is the integral of its values at each level of the
    response times the density of those at that level. Of several local minima the one at the
    largest bandwidth is taken: those at small ones are spurious (measured).
    """
    candidates = [
        tuple(max(factor * h, smallest) for h, smallest in zip(pilot, finest, strict=True))
        for factor in FACTORS
    ]
    near = [max(PILOT * h, smallest) for h, smallest in zip(pilot, finest, strict=True)]
    held = folds.sums(near) if loss is None else folds.levels(near)
    scale = 1 / (1 - folds.shares).reshape(-1, *(1,) * (held.ndim - 1))
    losses = np.empty(len(candidates))
    for at, h in enumerate(candidates):
        each = folds.sums(h)
        train = (each.sum(axis=0) - each) * scale
        curve = np.clip(train[:, 1] / np.maximum(train[:, 0], least), *bounds)
        if loss is None:
            losses[at] = (curve * (curve * held[:, 0] - 2 * held[:, 1])).sum()
        else:
            losses[at] = sum(
                float(
                    (loss(np.full_like(curve, center + y), center + curve) * held[:, level]).sum()
                )
                for level, y in enumerate(folds.responses)
            )
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

    def levels(h: Sequence[float]) -> Floats:
        """Those without and those with a response of 1: counts know no more of a response."""
        if not is_binary(counts):
            raise Unsupported(
                "Counts keep sums of a response, so that a loss other than 'squared' needs a "
                "response of 0 and 1."
            )
        both = smoothed(h)
        ones = both[:, 1] + center * both[:, 0]
        return np.stack([both[:, 0] - ones, ones], axis=1)

    shares = parts[:, 0].sum(axis=tuple(range(1, parts.ndim - 1)))
    return Folds(shares, smoothed, levels, np.array([0.0, 1.0]) - center)


def number_folds(
    spectrum: Spectrum,
    kernel: Kernel,
    *,
    pilot: Sequence[float],
    finest: Sequence[float],
    limits: tuple[Floats, Floats],
    center: float,
) -> Folds:
    """Folds of numbers by position: every fifth one."""
    if spectrum.n < 2 * FOLDS:
        raise InvalidInput(f"{2 * FOLDS} or more numbers to cross-validate", str(spectrum.n))
    assert spectrum.response is not None
    y = spectrum.response - center
    level, responses = _levelled(y)
    folds = [np.arange(start, spectrum.n, FOLDS) for start in range(FOLDS)]
    smallest = [
        max(min(FACTORS[0], PILOT) * h, least) for h, least in zip(pilot, finest, strict=True)
    ]
    smoother = (_line_sums if spectrum.axes == 1 else _grid_sums)(
        spectrum, kernel, smallest, limits
    )

    def levels(h: Sequence[float]) -> Floats:
        parts = [rows[level[rows] == at] for rows in folds for at in range(responses.size)]
        found = smoother([(rows, np.ones((1, rows.size))) for rows in parts])(h)
        return found.reshape(FOLDS, responses.size, *found.shape[2:])

    pairs = [(rows, np.stack([np.ones(rows.size), y[rows]])) for rows in folds]
    shares = np.array([rows.size / spectrum.n for rows in folds])
    return Folds(shares, smoother(pairs), levels, responses)


Parts = Sequence[tuple[npt.NDArray[np.int64], Floats]]
"""Rows of some numbers, and what to weigh them by, in one way or several."""
Smoother = Callable[[Parts], Callable[[Sequence[float]], Floats]]
"""Parts to bandwidths to sums on a grid: one a part and a weight, as means over all numbers."""


def _levelled(y: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """The level of each response, and the mean response at each: all values where they are few."""
    values, level = np.unique(y, return_inverse=True)
    if values.size > LEVELS:
        edges = np.quantile(y, np.arange(1, LEVELS) / LEVELS)
        _, level = np.unique(np.searchsorted(edges, y), return_inverse=True)
        values = np.bincount(level, y) / np.bincount(level)
    return level, values


def _line_sums(
    spectrum: Spectrum, kernel: Kernel, smallest: Sequence[float], limits: tuple[Floats, Floats]
) -> Smoother:
    """On a line, where the waves of each part are summed once for all bandwidths."""
    x = np.linspace(limits[0][0], limits[1][0], POINTS)
    (window,) = span(spectrum, limits)
    least = affordable_line(spectrum, kernel, smallest[0], window, most=MAX_WAVES)
    t, w, _ = division.line(spectrum.noise[0], kernel, least, window)
    phase = np.multiply.outer(t, x)
    table = np.concatenate([np.cos(phase), np.sin(phase)])
    base = kernel.transform(least * t)

    def of(parts: Parts) -> Callable[[Sequence[float]], Floats]:
        waves = []
        for rows, powers in parts:
            weights = np.zeros((len(powers), spectrum.n))
            weights[:, rows] = powers
            waves.append(np.stack([spectrum.deconvolved(t, weights=row) for row in weights]))
        amplitudes = np.stack(waves) * w

        def smoothed(h: Sequence[float]) -> Floats:
            damped = amplitudes * (kernel.transform(max(h[0], least) * t) / base)
            result: Floats = np.concatenate([damped.real, damped.imag], axis=-1) @ table
            return result

        return smoothed

    return of


def _grid_sums(
    spectrum: Spectrum, kernel: Kernel, smallest: Sequence[float], limits: tuple[Floats, Floats]
) -> Smoother:
    """On a grid of several axes."""
    size = GRID[spectrum.axes]
    axes = [np.linspace(a, b, size) for a, b in zip(*limits, strict=True)]
    window = span(spectrum, limits)
    least = product.affordable(spectrum, kernel, smallest, window, limits)

    def of(parts: Parts) -> Callable[[Sequence[float]], Floats]:
        def smoothed(h: Sequence[float]) -> Floats:
            wide = [max(one, small) for one, small in zip(h, least, strict=True)]
            kernels = product.ProductKernel.of(spectrum, kernel, wide, window)
            return np.stack([kernels.on_grid(axes, powers, rows) for rows, powers in parts])

        return smoothed

    return of


def span(spectrum: Spectrum, limits: tuple[Floats, Floats]) -> list[float]:
    """How far a place between the limits can be from a number, on each axis."""
    top = np.maximum(spectrum.values.max(axis=0), limits[1])
    bottom = np.minimum(spectrum.values.min(axis=0), limits[0])
    return [float(length) for length in top - bottom]


def cv_at(
    places: Floats,
    spectrum: Spectrum,
    kernel: Kernel,
    *,
    plug_in: Sequence[float],
    finest: Sequence[float],
    least: float,
    center: float,
    bounds: tuple[float, float],
    loss: Loss,
) -> tuple[float, ...]:
    """The bandwidths of least loss at given places, each number left out at its own (Farokhi, 8).

    At the true values this is equation (8) of Farokhi (2020), which nobody but the respondents can
    use. At the noised numbers it is what the bandwidths printed there agree with.

    Parameters
    ----------
    places
        One row a number.
    spectrum, kernel, plug_in, finest, least, center, bounds, loss
        As for the choice of a bandwidth in `KernelRegression`.
    """
    assert spectrum.response is not None
    if places.shape != spectrum.values.shape:
        raise InvalidInput(f"{spectrum.n} places, one a number", str(len(places)))
    y = spectrum.response

    def scaled(factor: float) -> tuple[float, ...]:
        return tuple(max(factor * h / 5, fine) for h, fine in zip(plug_in, finest, strict=True))

    factors = np.geomspace(1, 25, CANDIDATES[spectrum.axes]).tolist()
    candidates: list[tuple[float, ...]]
    if spectrum.axes == 1:
        first, sums = _line_left_out(places, spectrum, kernel, scaled(1)[0], y - center)
        candidates = [(factor * first,) for factor in factors]
    else:
        start, sums = _grid_left_out(places, spectrum, kernel, scaled, y - center)
        candidates = [scaled(start * factor) for factor in factors]
    scale = spectrum.n / (spectrum.n - 1)
    losses = []
    for h in candidates:
        density, weighed = sums(h)
        fitted = center + scale * weighed / np.maximum(scale * density, least)
        losses.append(float(loss(y, np.clip(fitted, *bounds)).sum()))
    best = int(np.argmin(losses))
    if best == 0:
        # A still smaller one might be better, but is beyond reach.
        division.warn_raised(scaled(1), candidates[0])
    return candidates[best]


LeftOut = tuple[float, Callable[[Sequence[float]], tuple[Floats, Floats]]]
"""The least bandwidth or factor that can be had, and bandwidths to the two sums at each place."""


def _line_left_out(
    places: Floats, spectrum: Spectrum, kernel: Kernel, smallest: float, y: Floats
) -> LeftOut:
    x, z = places[:, 0], spectrum.values[:, 0]
    window = float(max(z.max(), x.max()) - min(z.min(), x.min()))
    least = affordable_line(spectrum, kernel, smallest, window, most=division.MAX_LINE)
    t, w, per_number = division.line(spectrum.noise[0], kernel, least, window)
    pair = [spectrum.deconvolved(t) * w, spectrum.deconvolved(t, weights=y) * w]
    base = kernel.transform(least * t)
    different, back = np.unique(x, return_inverse=True)
    law = spectrum.noise[0]
    scales = np.asarray(law.scale) if varies(law) else None

    def sums(h: Sequence[float]) -> tuple[Floats, Floats]:
        factor = kernel.transform(h[0] * t) / base
        density, weighed = (
            wave_sums(t[:, None], -different[:, None], part * factor).real[back] for part in pair
        )
        if scales is None:
            weights: Waves = (per_number * factor).astype(np.complex128)
            own = wave_sums(t[:, None], (z - x)[:, None], weights).real
        else:
            own = product.AxisKernel(t, per_number * factor, window, scales).own(z - x)
        own = own / spectrum.n
        return density - own, weighed - own * y

    return least, sums


def _grid_left_out(
    places: Floats,
    spectrum: Spectrum,
    kernel: Kernel,
    scaled: Callable[[float], tuple[float, ...]],
    y: Floats,
) -> LeftOut:
    limits = places.min(axis=0), places.max(axis=0)
    window = span(spectrum, limits)
    start = 1.0
    while not product.within_reach(
        spectrum, kernel, scaled(start), window, limits, most=MAX_PLACED
    ):
        start *= 1.1
    powers = np.stack([np.ones(y.size), y])
    low, high = (tuple(side.tolist()) for side in limits)

    def sums(h: Sequence[float]) -> tuple[Floats, Floats]:
        kernels = product.ProductKernel.of(spectrum, kernel, h, window)
        nodes = kernels.at_nodes(*limits, powers)
        both = NodeRegression(*nodes, low=low, high=high, floor=0.0, bounds=None)
        found = both.sums(places)
        own = kernels.own(places) / spectrum.n
        return found[0] - own, found[1] - own * y

    return start, sums


def affordable_line(
    spectrum: Spectrum, kernel: Kernel, h: float, window: float, *, most: int
) -> float:
    """The smallest candidate, raised where the range of the numbers is too wide for it."""
    while division.line_count(spectrum.noise[0], kernel, h, window) > most:
        h *= 1.1
    return h

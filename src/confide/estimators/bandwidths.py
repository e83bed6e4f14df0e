"""Smoothing kernels by their Fourier transforms, and their bandwidths."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.foreign.quadrature import nodes


@dataclass(frozen=True)
class Kernel:
    """A symmetric kernel K with integral one.

    Near zero the transform is 1 - coefficient |t|**order + ..., which fixes the bias of an
    estimate; `reach` is where it has fallen to zero, or below what a double can add to one.

    Parameters
    ----------
    name
        What users call it.
    transform
        Fourier transform of K, for t >= 0.
    second_moment
        Integral of x**2 K(x); infinite for the Cauchy kernel.
    roughness
        Integral of K**2.
    order, coefficient
        Leading term of 1 - transform.
    reach
        The transform is negligible beyond this t.
    """

    name: str
    transform: Callable[[Floats], Floats]
    second_moment: float
    roughness: float
    order: int
    coefficient: float
    reach: float


def _fan(t: Floats) -> Floats:
    inside: Floats = np.maximum(1.0 - t * t, 0.0)
    return inside * inside * inside


def _gaussian(t: Floats) -> Floats:
    result: Floats = np.exp(-0.5 * t * t)
    return result


def _cauchy(t: Floats) -> Floats:
    result: Floats = np.exp(-np.abs(t))
    return result


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("fan", _fan, 6.0, 1024 / (3003 * math.pi), 2, 3.0, 1.0),
        Kernel("gaussian", _gaussian, 1.0, 0.5 / math.sqrt(math.pi), 2, 0.5, 9.0),
        Kernel("cauchy", _cauchy, math.inf, 0.5 / math.pi, 1, 1.0, 40.0),
    )
}


def named(kernel: str) -> Kernel:
    """The kernel of that name.

    ``"fan"`` has the transform (1 - t**2)**3 on [-1, 1] and nothing beyond, so no frequency above
    1/h is ever divided by the noise; its standard deviation is sqrt(6), so its bandwidths are
    about 2.45 times smaller than the Gaussian's. ``"cauchy"`` has no second moment: its bias is of
    order h instead of h**2, and it is here for comparison.

    Examples
    --------
    >>> named("fan").transform(np.array([0.0, 0.5, 1.0, 2.0]))
    array([1.      , 0.421875, 0.      , 0.      ])
    """
    return KERNELS[_checks.one_of(tuple(KERNELS), kernel=kernel)]


METHODS = ("plug-in", "normal-reference", "cv")
NOISE = 160.0
"""The noise's characteristic function varies about as much as a wave of this phase."""
SMALLEST, LARGEST = 1e-30, 1e30
"""Standard deviations of the values: their ninth powers are numbers still."""
MAX_GRID = 2**20
CHUNK = 2**22


@dataclass(frozen=True, eq=False)
class Axis:
    """The facts about one axis that choosing a bandwidth needs.

    Parameters
    ----------
    n
        Number of values (the effective one under weights).
    sd
        Standard deviation of the values, free of the noise; see `spread`.
    extent
        Length of the interval that holds the values the signal was computed from.
    signal
        Squared modulus of the values' estimated characteristic function.
    gain
        n times the variance of that estimate: 1/phi**2 for noise with characteristic function phi.
    finest
        The smallest bandwidth that makes a difference, above zero on a lattice.
    least, risk
        Below a bandwidth of about one cell the formulas for a continuum are wrong; where the cells
        are few that matters, and `chosen` minimizes this estimate of the squared error instead.
    """

    n: float
    sd: float
    extent: float
    signal: Callable[[Floats], Floats]
    gain: Callable[[Floats], Floats]
    finest: float = 0.0
    least: float = 0.0
    risk: Callable[[Floats], Floats] | None = None


def spread(variance: float, error: float, *, largest: float = math.inf) -> float:
    """Standard deviation of the values from an estimate of their variance that may be useless.

    The variance of noisy values minus the noise's can be tiny or negative by chance, and a pilot
    that believes it picks a bandwidth far too small. Below two of its own standard errors it is
    replaced by that bound.

    Parameters
    ----------
    variance, error
        Estimate and its standard error.
    largest
        What it may not exceed: that of even spread, where the support is known.
    """
    floored = math.sqrt(max(variance, 2 * error))
    result = min(floored, largest) if floored > 0 else largest
    if not SMALLEST <= result <= LARGEST:
        raise InvalidInput(
            f"numbers whose standard deviation without noise is from {SMALLEST:g} to {LARGEST:g}",
            "numbers outside of that",
            "Change their unit, remove outliers, or give a bandwidth.",
        )
    if variance <= 0:
        warnings.warn(
            "The noisy values vary no more than the noise alone, so the bandwidth is a guess: "
            "there are too few values for this much noise.",
            ConfideWarning,
            stacklevel=2,
        )
    return result


def plug_in(axes: Sequence[Axis], kernel: Kernel) -> tuple[float, ...]:
    """The two-stage plug-in of Delaigle and Gijbels (2004), one bandwidth for each axis.

    Roughness functionals theta_r = integral of (r-th derivative)**2 are estimated one after
    another, each with the bandwidth at which its smoothing bias cancels its noise bias, starting
    from a normal density; the last one enters the asymptotic mean integrated squared error, whose
    minimum is found on the continuum instead of on a grid. A kernel of order q (2, or 1 for the
    Cauchy kernel) needs theta_q. With several axes the functionals of the joint density are taken
    as those of the product of the marginals.
    """
    half = kernel.order / 2
    rungs = (3, 2) if len(axes) == 1 else (3, 2, 1, 0)
    functionals = []
    starts = [_normal_bandwidth(axis, kernel) for axis in axes]
    for axis, start in zip(axes, starts, strict=True):
        theta = {4: _normal_theta(4 * half, axis.sd)}
        for rung in rungs:
            pilot = _pilot(axis, kernel, rung * half, theta[rung + 1], start)
            theta[rung] = _theta(axis, kernel, rung * half, pilot)
        functionals.append(theta)
    return _minimize(axes, kernel, functionals, starts)


def normal_reference(axes: Sequence[Axis], kernel: Kernel) -> tuple[float, ...]:
    """The bandwidth that would be best, asymptotically, were the values normal."""
    half = kernel.order / 2
    functionals = [{r: _normal_theta(r * half, axis.sd) for r in (0, 1, 2)} for axis in axes]
    starts = [_normal_bandwidth(axis, kernel) for axis in axes]
    return _minimize(axes, kernel, functionals, starts)


def cross_validation(axes: Sequence[Axis], kernel: Kernel) -> tuple[float, ...]:
    """Unbiased cross-validation: the largest local minimum of the estimated squared error.

    It is unstable: integrated squared errors up to thirty times the best have been seen, and the
    global minimum is often a spurious one at a small bandwidth. One axis only.
    """
    if len(axes) > 1:
        raise Unsupported(
            "Cross-validation chooses a bandwidth in one dimension only: take bandwidth='plug-in'."
        )
    (axis,) = axes
    if axis.n < 1 + 1e-9:
        raise InvalidInput(
            "more than one effective report for cross-validation",
            f"{axis.n:g}",
            "Take bandwidth='plug-in', or weights that are less unequal.",
        )
    start = _normal_bandwidth(axis, kernel)
    lowest = max(start / 8, axis.finest)
    grid: Floats = np.geomspace(lowest, max(8 * start, 2 * lowest), 161, dtype=np.float64)
    # The integrand vanishes smoothly at its end, so equal steps fine enough for the data's range
    # integrate it to many digits.
    step = math.pi / (2 * axis.extent + 2 * start)
    if kernel.reach / lowest / step > MAX_GRID:
        raise InvalidInput(
            "a range of numbers that cross-validation can search",
            f"one of {axis.extent / start:.2g} bandwidths",
            "Give low= and high=, remove outliers, or take bandwidth='plug-in'.",
        )
    t: Floats = step * np.arange(math.ceil(kernel.reach / lowest / step) + 1, dtype=np.float64)
    weight = np.full(t.size, step / math.pi)
    weight[0] /= 2
    signal, own = axis.signal(t), axis.gain(t) / axis.n
    with np.errstate(invalid="ignore"):
        cross = (signal - own) * axis.n / (axis.n - 1)

    def criterion(h: Floats) -> Floats:
        total = np.empty(h.size)
        rows = max(1, CHUNK // t.size)
        for start in range(0, h.size, rows):
            kept = kernel.transform(h[start : start + rows, None] * t)
            with np.errstate(over="ignore", invalid="ignore"):
                terms = np.where(kept > 0, weight * kept * (signal * kept - 2 * cross), 0.0)
                total[start : start + rows] = terms.sum(axis=1)
        return np.where(np.isfinite(total), total, math.inf)

    values = criterion(grid)
    inner = values[1:-1]
    minima = 1 + np.flatnonzero((inner < values[:-2]) & (inner <= values[2:]))
    best = int(minima[-1]) if minima.size else int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    return (_lowest(criterion, low, high),)


def chosen(method: str, axes: Sequence[Axis], kernel: Kernel) -> tuple[float, ...]:
    """The bandwidth of each axis by the method of that name, zero for no smoothing at all."""
    choose = {
        "plug-in": plug_in,
        "normal-reference": normal_reference,
        "cv": cross_validation,
    }
    found = choose[_checks.one_of(METHODS, bandwidth=method)](axes, kernel)
    return tuple(_few(axis, h) for axis, h in zip(axes, found, strict=True))


def _few(axis: Axis, h: float) -> float:
    if axis.risk is None or h >= axis.least:
        return h
    grid = np.append(0.0, np.geomspace(axis.finest / 32, axis.least, 64))
    return float(grid[np.argmin(axis.risk(grid))])


def _normal_theta(r: float, sd: float) -> float:
    return float(math.gamma(r + 0.5) / (2 * math.pi * sd ** (2 * r + 1)))


def _noise_term(axis: Axis, kernel: Kernel, r: float, h: Floats) -> Floats:
    """V_r(h) n: the integral of t**2r phi_K(ht)**2 gain(t) over the line, divided by 2 pi."""
    u, w = nodes(kernel.reach, NOISE / kernel.reach)
    weight = w / math.pi * u ** (2 * r) * kernel.transform(u) ** 2
    with np.errstate(over="ignore"):
        total: Floats = axis.gain(u / h[:, None]) @ weight / h ** (2 * r + 1)
    return np.where(np.isfinite(total), total, math.inf)


def _theta(axis: Axis, kernel: Kernel, r: float, h: float) -> float:
    """Estimate of theta_r with pilot bandwidth h."""
    u, w = nodes(kernel.reach, axis.extent / h + NOISE / kernel.reach)
    weight = w / math.pi * u ** (2 * r) * kernel.transform(u) ** 2
    return float(weight @ axis.signal(u / h) / h ** (2 * r + 1))


def _pilot(axis: Axis, kernel: Kernel, r: float, theta: float, start: float) -> float:
    """Where the smoothing bias of the estimate of theta_r cancels its noise bias.

    The noise bias falls and the smoothing bias grows with h, so that the minimum of the squared
    bias of Delaigle and Gijbels is the one root of a decreasing function.
    """
    low, high = max(start / 8, axis.finest), max(start * 8, axis.finest * 8)
    for _ in range(5):
        grid = np.geomspace(low, high, 25)
        noise = _noise_term(axis, kernel, r, grid) / axis.n
        smoothing = 2 * kernel.coefficient * grid**kernel.order * theta
        above = int(np.count_nonzero(noise > smoothing))
        low, high = grid[max(above - 1, 0)], grid[min(above, grid.size - 1)]
    return float(math.sqrt(low * high))


def _normal_bandwidth(axis: Axis, kernel: Kernel) -> float:
    bias = np.array([kernel.coefficient**2 * _normal_theta(kernel.order, axis.sd), 0.0])
    without_noise = axis.sd * axis.n ** (-1 / (2 * kernel.order + 1))
    low = max(without_noise / 20, axis.finest)
    error = partial(_error, axis, kernel, bias, 1 / axis.n)
    return _lowest(error, low, 1e4 * max(low, axis.sd))


def _minimize(
    axes: Sequence[Axis],
    kernel: Kernel,
    functionals: Sequence[dict[int, float]],
    starts: Sequence[float],
) -> tuple[float, ...]:
    """Bandwidths of least asymptotic error, one axis at a time until they settle."""
    q, d = kernel.order, len(axes)
    bounds = []
    for axis, start in zip(axes, starts, strict=True):
        bounds.append((max(start / 20, axis.finest), max(start * 20, 2 * axis.finest)))
    matrix = np.empty((d, d))
    for j in range(d):
        for k in range(d):
            orders = [(2 if i == j == k else 1 if i in (j, k) else 0) for i in range(d)]
            matrix[j, k] = math.prod(functionals[i][order] for i, order in enumerate(orders))
    current = [math.sqrt(low * high) for low, high in bounds]
    noise = [
        float(_noise_term(axis, kernel, 0, np.array([h]))[0])
        for axis, h in zip(axes, current, strict=True)
    ]
    for _ in range(1 if d == 1 else 30):
        before = list(current)
        for j, axis in enumerate(axes):
            others = math.prod(noise[:j] + noise[j + 1 :]) / axis.n
            cross = sum(matrix[j, k] * current[k] ** q for k in range(d) if k != j)
            bias = kernel.coefficient**2 * np.array([matrix[j, j], 2 * cross])
            current[j] = _lowest(partial(_error, axis, kernel, bias, others), *bounds[j])
            noise[j] = float(_noise_term(axis, kernel, 0, np.array([current[j]]))[0])
        if np.allclose(current, before, rtol=1e-6, atol=0):
            break
    return tuple(current)


def _error(axis: Axis, kernel: Kernel, bias: Floats, others: float, h: Floats) -> Floats:
    """What depends on one axis's h in the asymptotic error, the other bandwidths being given."""
    power = h**kernel.order
    result: Floats = (bias[0] * power + bias[1]) * power
    return result + others * _noise_term(axis, kernel, 0, h)


def _lowest(function: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Minimizer of a function of one valley, by a logarithmic grid and closer looks at it."""
    for _ in range(7):
        grid = np.geomspace(low, high, 33)
        best = int(np.argmin(function(grid)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 32)]
    return float(grid[best])

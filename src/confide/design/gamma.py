"""Which two-sided gamma noise to add to values, so that they are protected and still of use."""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc

from confide import _validate
from confide.design.confidentiality import expected_matches
from confide.design.divergence import gamma_delta, gamma_epsilon
from confide.design.error import CONSTANT, ExpectedError, expected_error
from confide.design.results import NEAR, GammaDesign, Pair, percent
from confide.design.scales import Feasible, widest
from confide.design.search import Caps, Search
from confide.design.surface import FEWEST, Surface
from confide.errors import ConfideWarning, InvalidInput
from confide.noise import TwoSidedGamma

Floats = npt.NDArray[np.float64]

FLOOR = 0.8
COARSEST = 4
"""Cells in a protected distance, at least."""
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FOLLOW = ("corrected", "paper")


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
    follow: str = "corrected",
    constant: float = CONSTANT,
    resolution: int = 64,
    replicates: int = 40,
    seed: int = 0,
) -> GammaDesign:
    """The two-sided gamma noise that protects values and costs least (Ghatak, Sengupta and Roy).

    For each shape the smallest scale is found at which nobody who sees a noised value can tell
    with the given certainty that the true one lies within ``protection`` standard deviations. Among
    these pairs the one is taken from which a density is recovered best. That alone runs to ever
    smaller shapes, which add next to nothing to many values, so that a second constraint is needed:
    a floor on the shape and, where they are given, two caps.

    Parameters
    ----------
    values
        The values, at least 10. The result depends on them: it is not private itself.
    protection
        mu, in standard deviations of the values: Q in the paper.
    certainty
        The probability that may not be reached: delta in the paper.
    shape
        A shape that is already decided upon, 1 for Laplace noise; None to search.
    floor
        The smallest shape allowed.
    near_cap
        Largest allowed probability of noise below a hundredth of a standard deviation.
    delta_cap
        ``(epsilon, delta)``: the noise must be (epsilon, delta)-private for values within the
        bounds, in the continuum.
    bounds
        What values are clipped to, for epsilon and delta; the observed range without.
    follow
        ``"paper"`` minimises the variance integral alone, over shapes in steps of .05 and without
        a second constraint, as the paper's text has it; for comparison.
    constant
        Squared second moment of the kernel; the paper prints 11520.
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
    """
    x = _validate.vector(values=values)
    protection = _validate.positive(protection=protection)
    certainty = _validate.within(0.01, 0.9999, certainty=certainty)
    resolution = _validate.integer(4, 1024, resolution=resolution)
    replicates = _validate.integer(0, 10_000, replicates=replicates)
    constant = _validate.positive(constant=constant)
    paper = _validate.one_of(FOLLOW, follow=follow) == "paper"
    floor = 0.0 if paper else _validate.within(0, 1, floor=floor)
    surface = Surface.of(x, width=protection / resolution)
    extent = surface.extent
    if bounds is not None:
        low, high = (_validate.finite(bounds=end) for end in bounds)
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
    search = Search(feasible, smallest, surface.n, surface.sd, constant, paper)
    gaps = np.diff(np.sort(x))
    if shape is None:
        caps = Caps(near_cap, delta_cap, surface.sd, extent)
        first = max(floor, min(1.0, smallest + 1e-3))
        lowest = caps.lowest(search, first)
        chosen = search.best(lowest, refine=not paper)
        why = "cap" if lowest > first else "feasibility" if first > floor else "floor"
        bounded = why if chosen == lowest else ""
    else:
        chosen = _given(shape, floor, smallest, search, gaps)
        bounded = "given"
    pair = search.pair(chosen)
    noise = TwoSidedGamma(shape=pair.shape, scale=pair.scale)
    laplace = search.pair(1.0)
    found: ExpectedError = expected_error(noise, n=surface.n, sd=surface.sd, constant=constant)
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
        delta_at=tuple((e, gamma_delta(e, noise, extent=extent)) for e in EPSILONS),
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
        follow=follow,
        constant=constant,
        eligible=tuple(search.grid()),
    )
    if design.shape < FLOOR and not paper:
        warnings.warn(design.small_noise(), ConfideWarning, stacklevel=2)
    return design


def _given(shape: float, floor: float, smallest: float, search: Search, gaps: Floats) -> float:
    """A shape that was asked for, if it may be taken."""
    shape = _validate.positive(shape=shape)
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
    generator = np.random.default_rng(_validate.integer(0, seed=seed))
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

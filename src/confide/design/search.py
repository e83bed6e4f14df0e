"""The search over shapes, and what limits it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from scipy.special import gammainc

from confide import _validate
from confide.design.divergence import gamma_delta
from confide.design.error import expected_error
from confide.design.results import NEAR, Pair
from confide.design.scales import Feasible
from confide.errors import InvalidInput
from confide.noise import TwoSidedGamma

STEP = 0.05


@dataclass(frozen=True, eq=False)
class Search:
    """The scale and the error of every shape, each computed once."""

    feasible: Feasible
    smallest: float
    n: int
    sd: float
    constant: float
    variance_alone: bool

    @cached_property
    def _known(self) -> dict[float, Pair]:
        return {}

    def pair(self, shape: float) -> Pair:
        """The shape with its scale and error."""
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
            found = expected_error(noise, n=self.n, sd=self.sd, constant=self.constant)
            self._known[shape] = Pair(shape, scale, found.error, found.variance)
        return self._known[shape]

    def criterion(self, shape: float) -> float:
        """What is minimised."""
        pair = self.pair(shape)
        return pair.variance if self.variance_alone else pair.error

    def grid(self) -> list[Pair]:
        """Eligible pairs for a picture, from shape 1 down to the smallest."""
        steps = (round(STEP * k, 10) for k in range(round(1 / STEP) - 1, 0, -1))
        shapes = [1.0, *(shape for shape in steps if shape > self.smallest + 1e-3)]
        return [self.pair(shape) for shape in shapes]

    def best(self, lowest: float, *, refine: bool) -> float:
        """The shape of least error from the lowest one to 1."""
        shapes = [pair.shape for pair in reversed(self.grid()) if pair.shape >= lowest]
        if refine and shapes[0] > lowest:
            shapes = [lowest, *shapes]
        costs = [self.criterion(shape) for shape in shapes]
        at = int(np.argmin(costs))
        ends = shapes[max(at - 1, 0)], shapes[min(at + 1, len(shapes) - 1)]
        if not refine or ends[0] == ends[1]:
            return shapes[at]
        found = scipy.optimize.minimize_scalar(
            self.criterion, bounds=ends, method="bounded", options={"xatol": 2e-3}
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
            _validate.within(0, 1, near_cap=self.near)
        if self.delta is not None:
            epsilon, delta = self.delta
            _validate.positive(epsilon=epsilon)
            _validate.within(0, 1, delta=delta)

    def excess(self, pair: Pair) -> float:
        """By how much the worse cap is exceeded; none where it is not above zero."""
        noise = TwoSidedGamma(shape=pair.shape, scale=pair.scale)
        over = [-1.0]
        if self.near is not None:
            over.append(float(gammainc(noise.shape, NEAR * self.sd / noise.scale)) - self.near)
        if self.delta is not None:
            over.append(gamma_delta(self.delta[0], noise, extent=self.extent) - self.delta[1])
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
                delta = gamma_delta(self.delta[0], noise, extent=self.extent)
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

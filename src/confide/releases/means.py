"""Means of several columns in one release: a vector of sums with one noise for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from confide import _checks
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, gaussian, gaussian_delta, laplace
from confide.lattice import MAX_SIZE, Lattice
from confide.mechanisms.protocol import NONE, Kinds
from confide.releases import noise_intervals
from confide.releases.bounded import described, indexed, read_columns, split
from confide.releases.release import (
    BOUNDS,
    Additive,
    Indices,
    Noise,
    Totals,
    bounded,
    checked,
)

MOST_COLUMNS = 1000


@dataclass(frozen=True)
class Means(Additive):
    """The mean of each of several columns, with an interval for sampling and privacy noise.

    All means carry the same noise, relative to the width of their bounds. With Laplace noise it
    grows with the number of columns, and as many `Query` releases would cost the same; with
    Gaussian noise (a ``delta``) it grows with the root of that number.

    Parameters
    ----------
    columns
        Public bounds of each column, by name: a mapping of names to lattices.
    epsilon
        What the release costs.
    delta
        0 for Laplace noise and pure epsilon; else the delta of Gaussian noise, far below 1 / n.
    level
        Confidence level of each interval. Intervals take the largest variance that the bounds
        allow; `Query` can pay for shorter ones.

    Notes
    -----
    **Formal guarantee.** A value lies in one of m cells between its bounds, and sums are of cell
    numbers. One record changes each of the d sums by at most m - 1, so all of them by d (m - 1) in
    sum, and by d (m - 1)**2 in squares, and a record that goes from end to end in every column
    does. The noise is exact and made for these integers: epsilon-differential privacy, or
    (epsilon, delta) where there is a delta.

    Examples
    --------
    >>> from confide import Lattice
    >>> both = {"pay": Lattice(low=0, high=300_000), "age": Lattice(low=17, high=90)}
    >>> release = Means(both, epsilon=1.0).release([[30_000, 25], [42_000, 47]] * 500)
    >>> list(release.answers), release.spend
    (['pay', 'age'], Spend(epsilon=1))
    """

    name: ClassVar[str] = "means"

    columns: Mapping[str, Lattice]
    _: KW_ONLY
    epsilon: float
    delta: float = 0.0
    level: float = 0.95

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", checked_columns(self.columns))
        checked(self)
        object.__setattr__(self, "delta", checked_delta(self.delta))
        object.__setattr__(self, "level", _checks.level(self.level))

    def made_of(self) -> dict[str, Any]:
        """The fields, with names and bounds of the columns as a list."""
        return {
            "columns": described(self.columns),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "level": self.level,
        }

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        make: Callable[..., Self] = cls
        return make(**{**made, "columns": read_columns(made["columns"])})

    @cached_property
    def grids(self) -> tuple[Lattice, ...]:
        """Fine cells between the bounds of each column."""
        return tuple(
            Lattice(low=each.low, high=each.high, size=MAX_SIZE) for each in self.columns.values()
        )

    @property
    def squared_sensitivity(self) -> int:
        """The sum of squared changes of the sums that one record can cause."""
        return len(self.columns) * (MAX_SIZE - 1) ** 2

    @property
    def noise(self) -> Noise:
        """The noise on each sum."""
        most = MAX_SIZE - 1
        if self.delta:
            return gaussian(self.epsilon, self.delta, self.squared_sensitivity, len(self.columns))
        return laplace(exact(self.epsilon), len(self.columns) * most)

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all sums."""
        return (self.noise,)

    def loss(self, n: int) -> float:
        """The certified loss; of Gaussian noise epsilon itself, at which `slack` is certified."""
        return self.epsilon if self.delta else super().loss(n)

    def slack(self, n: int) -> float:
        """The certified delta of Gaussian noise."""
        if isinstance(self.noise, DiscreteLaplace):
            return 0.0
        change = (self.noise, self.squared_sensitivity, len(self.columns))
        return gaussian_delta([change], exact(self.epsilon))

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The fine cells, by column."""
        return dict(zip(self.columns, self.grids, strict=True))

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values, one row a record."""
        return indexed(self.grids, split(self.columns, values))

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The sum of the cell numbers of each column."""
        return [prepared.sum(axis=0)]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answers with intervals from what was released alone."""
        unit, noise = n * MAX_SIZE, self.noise
        answers = {}
        for total, (name, lattice) in zip(noisy, self.columns.items(), strict=True):
            # A cell's center is within half a cell of the value.
            mean, half = (total / n + 0.5) / MAX_SIZE, 0.5 / MAX_SIZE
            if isinstance(noise, DiscreteLaplace):
                scales = (noise.scale / unit, 0.0)
                low, high = noise_intervals.mean_interval(mean, None, n, scales, self.level)
            else:
                low, high = _gaussian_interval(mean, n, noise.sd / unit, self.level)
            ends = (min(max(mean, 0.0), 1.0), max(0.0, low - half), min(1.0, high + half))
            width = lattice.high - lattice.low
            value, low, high = (lattice.low + width * end for end in ends)
            answers[name] = {"value": value, "low": low, "high": high, "level": self.level}
        kind = "gaussian" if self.delta else "laplace"
        return {"answers": answers, "facts": {"noise": kind, "noise_sd": noise.sd / unit}}


def _gaussian_interval(mean: float, n: int, sd: float, level: float) -> tuple[float, float]:
    """Interval of a mean of values in [0, 1] under sampling and Gaussian noise."""

    def spread(low: float, high: float) -> float:
        nearest = min(max(0.5, low), high)
        return math.hypot(math.sqrt(nearest * (1 - nearest) / n), sd)

    return noise_intervals.shrinking(mean, spread, 0.0, (1 - level) / 2, 1.0)


def checked_columns(columns: Any) -> dict[str, Lattice]:
    """A mapping of names to lattices, as a copy that nobody changes."""
    if not isinstance(columns, Mapping):
        raise InvalidInput(
            "public bounds of each column, as {name: Lattice(low=..., high=...)}",
            _checks.kind(columns),
            BOUNDS,
        )
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise InvalidInput(f"1 to {MOST_COLUMNS} columns", str(len(columns)))
    for name in columns:
        if not isinstance(name, str) or not name:
            raise InvalidInput("names of columns", _checks.shown(name))
    return {name: bounded(each) for name, each in columns.items()}


def checked_delta(delta: Any) -> float:
    """0, or a delta that Gaussian noise can be certified for."""
    if delta == 0 and type(delta) is not bool:
        return 0.0
    return _checks.within(1e-12, 0.1, delta=delta)

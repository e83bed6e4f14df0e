"""References: public distributions that private samples stay near to.

A reference is chosen from common knowledge or public data, never from the records. It matters more
than everything else: samples can be better than the reference by epsilon/2 nats at most.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from confide import _validate
from confide.errors import InvalidInput
from confide.lattice import LIMIT

Floats = npt.NDArray[np.float64]

STREAM = 0x61746F6D73
MAX_DIM = 1024


class Reference(ABC):
    """A public distribution of points, with a density.

    Attributes
    ----------
    dim
        How many numbers a point has.
    """

    name: ClassVar[str]
    dim: int

    @property
    @abstractmethod
    def scale(self) -> Floats:
        """Standard deviation of each number."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Floats, Floats]:
        """Corners of a box that holds nearly all of it."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """How many uniform numbers a point is made of."""

    @abstractmethod
    def place(self, uniforms: Floats) -> Floats:
        """Points, one row each, from rows of ``draws`` independent uniform numbers in (0, 1)."""

    @abstractmethod
    def log_density(self, points: Floats) -> Floats:
        """Log density at points, one row each; minus infinity outside the support."""

    @abstractmethod
    def cell_masses(self, edges: Sequence[Floats]) -> Floats:
        """Masses of the cells between edges along each axis."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    def sample(self, n: int, *, seed: int) -> Floats:
        """``n`` points, one row each, that anybody can draw again from the public seed.

        They are made from the raw words of a PCG64 generator, whose stream is the same on every
        machine and in every version of numpy.
        """
        n = _validate.integer(1, n=n)
        seed = _validate.integer(0, seed=seed)
        # A stream of its own: records made with default_rng(1) must not be the atoms of seed 1.
        own = np.random.SeedSequence(seed, spawn_key=(STREAM,))
        raw = np.random.PCG64(own).random_raw(n * self.draws)
        uniforms = ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        return self.place(uniforms.reshape(n, self.draws))

    def log_pdf(self, x: npt.ArrayLike) -> Floats:
        """Log density at points, one row each; on a single axis a plain list will do."""
        return self.log_density(self.table(x, "x"))

    def table(self, points: Any, what: str = "records") -> Floats:
        """Points as rows of ``dim`` finite numbers; anything else is refused."""
        given = _validate.array(**{what: points})
        if given.ndim == 1 and self.dim == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[1] != self.dim:
            raise InvalidInput(
                f"{what} of {self.dim} columns, as the reference has", f"shape {given.shape}"
            )
        flat = _validate.vector(**{what: given.ravel()})
        if np.abs(flat).max() > LIMIT:
            raise InvalidInput(f"{what} within {LIMIT:g}", "others")
        return flat.reshape(given.shape)

    def held(self, records: Any) -> Floats:
        """Records as a table, all of them inside the support; others are refused."""
        table = self.table(records)
        if np.isneginf(self.log_density(table)).any():
            raise InvalidInput(
                "records where the reference has mass",
                "some outside",
                "Clip them to the reference's bounds or take a wider reference; nothing was "
                "released or charged.",
            )
        return table


class Separable(Reference):
    """A reference whose numbers are independent."""

    @property
    def draws(self) -> int:
        """One uniform number each."""
        return self.dim

    @abstractmethod
    def cdf(self, x: Floats, axis: int) -> Floats:
        """P(number <= x) on one axis."""

    def cell_masses(self, edges: Sequence[Floats]) -> Floats:
        """Products of the masses along each axis."""
        masses = np.ones(())
        for axis, line in enumerate(edges):
            masses = np.multiply.outer(masses, np.diff(self.cdf(line, axis)))
        return masses


@dataclass(frozen=True)
class Gaussian(Separable):
    """Independent normal numbers.

    Parameters
    ----------
    dim
        How many numbers a point has.
    mean, sd
        One number each, or one for all.

    Examples
    --------
    >>> Gaussian(dim=2, sd=3.0).sample(4, seed=1).shape
    (4, 2)
    """

    name: ClassVar[str] = "gaussian"
    dim: int = 1
    mean: float | Sequence[float] = field(default=0.0, kw_only=True)
    sd: float | Sequence[float] = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", _validate.integer(1, MAX_DIM, dim=self.dim))
        mean = _each("mean", self.mean, self.dim)
        sd = _each("sd", self.sd, self.dim)
        if not min(sd) > 1 / LIMIT:
            raise InvalidInput("sd > 0", f"sd={min(sd):g}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "sd", sd)

    @property
    def scale(self) -> Floats:
        """The standard deviations."""
        return np.array(self.sd)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Four standard deviations to both sides."""
        return np.array(self.mean) - 4 * self.scale, np.array(self.mean) + 4 * self.scale

    def place(self, uniforms: Floats) -> Floats:
        """Normal quantiles."""
        points: Floats = np.array(self.mean) + self.scale * ndtri(uniforms)
        return points

    def log_density(self, points: Floats) -> Floats:
        """The sum of normal log densities."""
        z = (points - np.array(self.mean)) / self.scale
        constant = float(np.log(self.scale).sum()) + self.dim * math.log(2 * math.pi) / 2
        result: Floats = -0.5 * (z * z).sum(axis=1) - constant
        return result

    def cdf(self, x: Floats, axis: int) -> Floats:
        """The normal distribution function."""
        result: Floats = ndtr((x - np.array(self.mean)[axis]) / self.scale[axis])
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "reference": self.name,
            "dim": self.dim,
            "mean": np.array(self.mean).tolist(),
            "sd": np.array(self.sd).tolist(),
        }


@dataclass(frozen=True, kw_only=True)
class Box(Separable):
    """Independent uniform numbers between public bounds; records beyond them are refused.

    Parameters
    ----------
    low, high
        Bounds: one number an axis, or single numbers on a single axis.

    Examples
    --------
    >>> Box(low=[0, 0], high=[1, 2]).log_pdf([[0.5, 0.5]])
    array([-0.69314718])
    """

    name: ClassVar[str] = "box"
    low: float | Sequence[float]
    high: float | Sequence[float]
    dim: int = field(init=False)

    def __post_init__(self) -> None:
        sizes = {_validate.array(low=self.low).size, _validate.array(high=self.high).size}
        dim = max(sizes)
        if len(sizes) != 1 or not 1 <= dim <= MAX_DIM:
            raise InvalidInput("low and high of one length", f"lengths {sorted(sizes)}")
        low, high = _each("low", self.low, dim), _each("high", self.high, dim)
        for a, b in zip(low, high, strict=True):
            if not a < b:
                raise InvalidInput("low < high", f"low={a:g}, high={b:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "dim", dim)

    @property
    def _width(self) -> Floats:
        width: Floats = np.array(self.high) - np.array(self.low)
        return width

    @property
    def scale(self) -> Floats:
        """The standard deviations."""
        scale: Floats = self._width / math.sqrt(12)
        return scale

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The bounds."""
        return np.array(self.low), np.array(self.high)

    def place(self, uniforms: Floats) -> Floats:
        """Shares of the way from low to high."""
        points: Floats = np.array(self.low) + self._width * uniforms
        return points

    def log_density(self, points: Floats) -> Floats:
        """Constant inside the box."""
        inside = ((points >= np.array(self.low)) & (points <= np.array(self.high))).all(axis=1)
        return np.where(inside, -float(np.log(self._width).sum()), -np.inf)

    def cdf(self, x: Floats, axis: int) -> Floats:
        """Linear between the bounds."""
        share: Floats = np.clip((x - np.array(self.low)[axis]) / self._width[axis], 0, 1)
        return share

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "reference": self.name,
            "low": np.array(self.low).tolist(),
            "high": np.array(self.high).tolist(),
        }


def _each(name: str, given: Any, dim: int) -> tuple[float, ...]:
    """One finite number an axis, from as many or from one for all."""
    entries = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(entries, list | tuple):
        entries = [entries] * dim
    if len(entries) != dim:
        raise InvalidInput(f"{name} of {dim} numbers", f"{len(entries)}")
    # Adding 0 turns -0 into 0, so that equal references have equal JSON forms.
    numbers = tuple(_validate.finite(**{name: entry}) + 0.0 for entry in entries)
    if max(map(abs, numbers)) > LIMIT:
        raise InvalidInput(f"{name} within {LIMIT:g}", "others")
    return numbers

"""References: public distributions that private samples stay near to.

A reference is chosen from common knowledge or public data, never from the records. It matters more
than everything else: samples can be better than the reference by epsilon/2 nats at most.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Unsupported
from confide.lattice import LIMIT
from confide.sampling.kernels import Kernels

STREAM = 0x61746F6D73
MAX_DIM = 1024


class Reference(ABC):
    """A public distribution of points, with a density.

    Attributes
    ----------
    dim
        How many numbers a point has.

    Examples
    --------
    >>> reference = Gaussian(dim=2)
    >>> isinstance(reference, Reference), reference.sample(3, seed=1).shape
    (True, (3, 2))
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
        """Number of uniform numbers that make a point."""

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
        n = _checks.integer(1, n=n)
        seed = _checks.integer(0, seed=seed)
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
        given = _checks.array(**{what: points})
        if given.ndim == 1 and self.dim == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[1] != self.dim:
            raise InvalidInput(
                f"{what} of {self.dim} columns, as the reference has", f"shape {given.shape}"
            )
        flat = _checks.vector(**{what: given.ravel()})
        if np.abs(flat).max() > LIMIT:
            raise InvalidInput(f"{what} within {LIMIT:g} of zero", "a larger one")
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
        object.__setattr__(self, "dim", _checks.integer(1, MAX_DIM, dim=self.dim))
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
        sizes = {_checks.array(low=self.low).size, _checks.array(high=self.high).size}
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
    numbers = tuple(_checks.finite(**{name: entry}) + 0.0 for entry in entries)
    if max(map(abs, numbers)) > LIMIT:
        raise InvalidInput(f"{name} within {LIMIT:g} of zero", "a larger one")
    return numbers


MAX_POINTS = 10_000


@dataclass(frozen=True)
class Product(Reference):
    """Independent parts side by side, such as one marginal for each column.

    Parameters
    ----------
    parts
        References whose numbers follow one another.

    Examples
    --------
    >>> from confide.sampling.references import Box, Gaussian
    >>> Product([Gaussian(mean=40, sd=15), Box(low=0, high=1)]).dim
    2
    """

    name: ClassVar[str] = "product"
    parts: Sequence[Reference]
    dim: int = field(init=False)

    def __post_init__(self) -> None:
        parts = tuple(self.parts) if isinstance(self.parts, Sequence) else ()
        if not parts or not all(isinstance(part, Reference) for part in parts):
            raise InvalidInput("a list of references", _checks.shown(self.parts))
        dim = _checks.integer(1, MAX_DIM, dim=sum(part.dim for part in parts))
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "dim", dim)

    @property
    def scale(self) -> Floats:
        """The standard deviations of all parts."""
        return np.concatenate([part.scale for part in self.parts])

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The parts' ends."""
        low, high = zip(*(part.ends for part in self.parts), strict=True)
        return np.concatenate(low), np.concatenate(high)

    @property
    def draws(self) -> int:
        """The total over all parts."""
        return sum(part.draws for part in self.parts)

    def place(self, uniforms: Floats) -> Floats:
        """Each part from its own uniform numbers."""
        ends = np.cumsum([part.draws for part in self.parts])
        columns = np.split(uniforms, ends[:-1], axis=1)
        parts = zip(self.parts, columns, strict=True)
        return np.concatenate([part.place(own) for part, own in parts], axis=1)

    def log_density(self, points: Floats) -> Floats:
        """The sum of the parts' log densities."""
        ends = np.cumsum([part.dim for part in self.parts])
        columns = np.split(points, ends[:-1], axis=1)
        parts = zip(self.parts, columns, strict=True)
        result: Floats = np.sum([part.log_density(own) for part, own in parts], axis=0)
        return result

    def cell_masses(self, edges: Sequence[Floats]) -> Floats:
        """Products of the parts' masses."""
        masses, rest = np.ones(()), list(edges)
        for part in self.parts:
            own, rest = rest[: part.dim], rest[part.dim :]
            masses = np.multiply.outer(masses, part.cell_masses(own))
        return masses

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"reference": self.name, "parts": [part.to_dict() for part in self.parts]}


@dataclass(frozen=True, eq=False)
class Sample(Reference):
    """A public sample, smoothed: a point of it at random, plus normal noise.

    Parameters
    ----------
    points
        Public points, one row each: never any of the private records.
    bandwidth
        Spread of the noise in units of the points' own; by default the one with the largest
        leave-one-out likelihood.

    Examples
    --------
    >>> from confide.sampling.references import Gaussian
    >>> public = Gaussian(dim=2).sample(100, seed=1)
    >>> Sample(public).sample(5, seed=2).shape
    (5, 2)
    """

    name: ClassVar[str] = "sample"
    points: npt.ArrayLike
    bandwidth: float | None = field(default=None, kw_only=True)
    dim: int = field(init=False)

    def __post_init__(self) -> None:
        table = _checks.array(points=self.points)
        if table.ndim == 1:
            table = table[:, None]
        if table.ndim != 2:
            raise InvalidInput("public points, one row each", f"shape {table.shape}")
        if table.shape[1] > MAX_DIM:
            raise InvalidInput(f"points of at most {MAX_DIM} columns", str(table.shape[1]))
        object.__setattr__(self, "dim", table.shape[1])
        table = self.table(table, "points")
        if not 2 <= len(table) <= MAX_POINTS:
            raise InvalidInput(f"from 2 to {MAX_POINTS} public points", str(len(table)))
        if not table.std(axis=0).min() > 0:
            raise InvalidInput("public points that differ in every number", "a constant column")
        if self.bandwidth is not None:
            width = _checks.positive(bandwidth=self.bandwidth)
            # An atom that is not finite could not be stored, once it is drawn.
            if width > LIMIT:
                raise InvalidInput(f"bandwidth within {LIMIT:g}", f"bandwidth={width:g}")
            object.__setattr__(self, "bandwidth", width)
        object.__setattr__(self, "points", _checks.frozen(table))

    def __repr__(self) -> str:
        return f"Sample({len(np.asarray(self.points))} points, dim={self.dim})"

    @cached_property
    def kernels(self) -> Kernels:
        """The kernels that smooth the points."""
        table = np.asarray(self.points, dtype=np.float64)
        return Kernels.of(table, 1e-6 * table.std(axis=0), self.bandwidth)

    @property
    def scale(self) -> Floats:
        """Standard deviations, of points and noise together."""
        own = np.asarray(self.points, dtype=np.float64).var(axis=0)
        scale: Floats = np.sqrt(own + np.diag(self.kernels.covariance))
        return scale

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the largest numbers of the points."""
        table = np.asarray(self.points, dtype=np.float64)
        return table.min(axis=0), table.max(axis=0)

    @property
    def draws(self) -> int:
        """One to pick a point, and the noise's."""
        return self.dim + 1

    def place(self, uniforms: Floats) -> Floats:
        """A point, picked by the first number, plus noise from the others."""
        table = np.asarray(self.points, dtype=np.float64)
        picked = table[(uniforms[:, 0] * len(table)).astype(np.int64)]
        noise: Floats = ndtri(uniforms[:, 1:]) @ np.linalg.inv(self.kernels.transform)
        return picked + noise

    def log_density(self, points: Floats) -> Floats:
        """A kernel density."""
        return self.kernels.log_pdf(points)

    def cell_masses(self, edges: Sequence[Floats]) -> Floats:
        """On a single axis the average of the kernels' masses."""
        if self.dim != 1:
            raise Unsupported("A public sample of several columns has no cells: use ratio=KDE().")
        at = np.asarray(self.points, dtype=np.float64)[:, 0]
        width = float(np.sqrt(self.kernels.covariance[0, 0]))
        cdf = ndtr((np.asarray(edges[0])[:, None] - at) / width).mean(axis=1)
        return np.diff(cdf)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        points = np.asarray(self.points, dtype=np.float64).tolist()
        return {"reference": self.name, "points": points, "bandwidth": self.bandwidth}


# What each kind is made from.
_KEYS = {
    Gaussian.name: ("dim", "mean", "sd"),
    Box.name: ("low", "high"),
    Product.name: ("parts",),
    Sample.name: ("points", "bandwidth"),
}


def reference_from_dict(fields: Mapping[str, Any]) -> Reference:
    """The reference that a `to_dict` describes, so that a public seed gives its atoms again.

    Examples
    --------
    >>> reference_from_dict(Gaussian(dim=2).to_dict()) == Gaussian(dim=2)
    True
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a reference as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(_KEYS), reference=fields.get("reference"))
    keys = _KEYS[kind]
    _checks.known_keys(fields, ("reference", *keys), f"a {kind} reference")
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} for a {kind} reference", "none")
    if kind == Gaussian.name:
        return Gaussian(fields["dim"], mean=fields["mean"], sd=fields["sd"])
    if kind == Box.name:
        return Box(low=fields["low"], high=fields["high"])
    if kind == Sample.name:
        return Sample(fields["points"], bandwidth=fields["bandwidth"])
    if not isinstance(fields["parts"], list):
        raise InvalidInput("a list of parts", _checks.shown(fields["parts"]))
    try:
        return Product([reference_from_dict(part) for part in fields["parts"]])
    except RecursionError:
        raise InvalidInput("a reference with parts in a few levels", "too many") from None

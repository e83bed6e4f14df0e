"""References made from others, and from public samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from confide import _validate
from confide.errors import InvalidInput, Unsupported
from confide.lattice import LIMIT
from confide.sampling._kernels import Kernels
from confide.sampling.references import MAX_DIM, Box, Floats, Gaussian, Reference

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
            raise InvalidInput("a list of references", _validate.shown(self.parts))
        dim = _validate.integer(1, MAX_DIM, dim=sum(part.dim for part in parts))
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
        """As many as the parts take together."""
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
        table = _validate.array(points=self.points)
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
            width = _validate.positive(bandwidth=self.bandwidth)
            # An atom that is not finite could not be stored, once it is drawn.
            if width > LIMIT:
                raise InvalidInput(f"bandwidth within {LIMIT:g}", f"bandwidth={width:g}")
            object.__setattr__(self, "bandwidth", width)
        object.__setattr__(self, "points", _validate.frozen(table))

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
    """The reference that a `to_dict` describes, so that a public seed gives its atoms again."""
    if not isinstance(fields, Mapping):
        raise InvalidInput("a reference as a JSON object", _validate.shown(fields))
    kind = _validate.one_of(tuple(_KEYS), reference=fields.get("reference"))
    keys = _KEYS[kind]
    _validate.known_keys(fields, ("reference", *keys), f"a {kind} reference")
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
        raise InvalidInput("a list of parts", _validate.shown(fields["parts"]))
    try:
        return Product([reference_from_dict(part) for part in fields["parts"]])
    except RecursionError:
        raise InvalidInput("a reference with parts in a few levels", "too many") from None

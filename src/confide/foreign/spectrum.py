"""Numbers that were noised elsewhere, summarized by their characteristic function."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeGuard

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import card, steps, table
from confide._types import Floats, Waves
from confide.curves.forms import fingerprint, named
from confide.errors import InvalidInput, Mismatch
from confide.foreign import noise_laws as laws
from confide.foreign.noise_laws import Gaussian, Noise
from confide.lattice import MAX_AXES

DIRECT = 2**17
"""Products of sizes up to which a plain sum is as quick as a non-uniform FFT, and exact."""
CHUNK = 2**20
PRECISION = 1e-14


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Noised numbers and the law of their noise.

    It holds the numbers themselves, which are in the open already. Spectra of the same noise add
    up with ``+``.

    Parameters
    ----------
    values
        Noised numbers, one row a respondent and one column an axis.
    noise
        The law of the noise of each axis.
    response
        A public number for each respondent, or None.
    low, high
        Bounds of the true values of each axis where they are known, or None.
    names
        Names of the axes, or None.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> foreign = Spectrum.of([0.1, 0.4, 0.2], noise=Laplace(scale=0.3))
    >>> (foreign + foreign).n
    6
    """

    values: Floats
    noise: tuple[Noise, ...]
    _: KW_ONLY
    response: Floats | None = None
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        z: npt.ArrayLike,
        *,
        noise: Noise | Sequence[Noise],
        response: npt.ArrayLike | None = None,
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Take noised numbers in.

        Parameters
        ----------
        z
            Noised numbers: a list, or an array or table with a column for each axis.
            `LinearRegression` takes up to 32 axes, all else up to three.
        noise
            The law of the noise, for all axes, or a list with one for each. `Gaussian` may have one
            standard deviation for each number; `NoNoise` is for a public column beside noised ones.
        response
            A public number for each respondent.
        low, high
            Bounds of the true values, if known.
        names
            Names of the axes, for tables and pictures; by default those of the columns of a table.
        """
        array = _checks.array(gap=_checks.LEAVE_OUT, z=z)
        if array.ndim == 2:
            if not 1 <= array.shape[1] <= MAX_AXES:
                raise InvalidInput(f"1 to {MAX_AXES} columns of numbers", f"shape {array.shape}")
            columns = [_checks.vector(gap=_checks.LEAVE_OUT, z=column) for column in array.T]
        else:
            columns = [_checks.vector(gap=_checks.LEAVE_OUT, z=z)]
        values = _checks.frozen(np.stack(columns, axis=1))
        n, axes = values.shape
        if isinstance(noise, Noise):
            each: tuple[Noise, ...] = (noise,) * axes
        else:
            each = tuple(noise) if isinstance(noise, Sequence) else ()
        if len(each) != axes or not all(isinstance(law, Noise) for law in each):
            raise InvalidInput(
                f"a list of {axes} noises, one for each column in its order",
                _checks.shown(noise)
                if isinstance(noise, Sequence)
                else f"a {type(noise).__name__}",
            )
        for law in each:
            if isinstance(law, Gaussian) and np.size(law.scale) not in (1, n):
                raise InvalidInput(f"one noise scale for each of {n} numbers", f"{law.scale.size}")  # type: ignore[union-attr]
        y = (
            None
            if response is None
            else _checks.frozen(_checks.vector(gap=_checks.LEAVE_OUT, response=response))
        )
        if y is not None and y.size != n:
            raise InvalidInput(f"{n} numbers in response, one for each row", str(y.size))
        bounds = [_bound(side, axes, name) for side, name in ((low, "low"), (high, "high"))]
        if bounds[0] and bounds[1]:
            for a, b in zip(bounds[0], bounds[1], strict=True):
                if not a < b:
                    raise InvalidInput("low < high", f"low={a:g}, high={b:g}")
        called = _columns(z, axes) if names is None else _names(names, axes)
        return cls(values, each, response=y, low=bounds[0], high=bounds[1], names=called)

    @property
    def n(self) -> int:
        """Number of respondents."""
        return len(self.values)

    @property
    def axes(self) -> int:
        """Number of axes."""
        return int(self.values.shape[1])

    @property
    def labels(self) -> tuple[str, ...]:
        """What curves call the axes: their names, or letters for several without."""
        if self.names is not None:
            return self.names
        if self.axes > 3:
            return tuple(f"x{at}" for at in range(1, self.axes + 1))
        return ("",) if self.axes == 1 else ("x", "y", "z")[: self.axes]

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the origin of an estimate."""
        return {"n": self.n, **named(self)}

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly this summary, by which curves say what they were made from."""
        bounds: dict[str, Any] = {"low": self.low, "high": self.high}
        if self.names is not None:
            bounds["names"] = self.names
        public = {"confide": "spectrum", "noise": [law.to_dict() for law in self.noise], **bounds}
        response = {} if self.response is None else {"response": self.response}
        return fingerprint(public, {"values": self.values, **response})

    def __add__(self, other: Spectrum) -> Spectrum:
        """Concatenate."""
        if not isinstance(other, Spectrum):
            return NotImplemented
        if self.axes != other.axes or (self.low, self.high) != (other.low, other.high):
            raise Mismatch("spectra of the same axes and bounds", "different ones")
        if self.names != other.names:
            raise Mismatch("spectra of the same names", f"{self.names} and {other.names}")
        if (self.response is None) != (other.response is None):
            raise Mismatch("spectra that all have a response or all have none", "one of each")
        noise = tuple(_joined(a, b) for a, b in zip(self.noise, other.noise, strict=True))
        response = None
        if self.response is not None and other.response is not None:
            response = _checks.frozen(np.concatenate([self.response, other.response]))
        values = _checks.frozen(np.concatenate([self.values, other.values]))
        return replace(self, values=values, noise=noise, response=response)

    def characteristic(self, t: npt.ArrayLike) -> Waves:
        """Mean of e**(i t z): the empirical characteristic function of the noised numbers.

        Parameters
        ----------
        t
            Frequencies; with several axes the last dimension runs over them.
        """
        return self.waves(t) / self.n

    def deconvolved(self, t: npt.ArrayLike, *, weights: Floats | None = None) -> Waves:
        """Estimate of the characteristic function of the true values, unbiased.

        Each number enters as phi_j(t) e**(i t z_j)/sum_k phi_k(t)**2 (Delaigle and Meister 2008),
        which for equal noise is the characteristic function divided by the noise's.

        Parameters
        ----------
        t
            Frequencies; with several axes the last dimension runs over them.
        weights
            A factor for each number, such as a response.
        """
        points = np.asarray(t, dtype=np.float64)
        columns = points[..., None] if self.axes == 1 else points
        waves = self.waves(points, weights=weights, damped=True)
        scale = np.ones(waves.shape)
        for axis, law in enumerate(self.noise):
            own = columns[..., axis]
            scale *= law.mean_square(own) if varies(law) else law.characteristic(own)
        with np.errstate(divide="ignore", invalid="ignore"):
            return waves / (self.n * scale)

    def waves(
        self, t: npt.ArrayLike, *, weights: Floats | None = None, damped: bool = False
    ) -> Waves:
        """Sum of e**(i t z), weighted, and damped by each number's own noise where it varies."""
        points = np.asarray(t, dtype=np.float64)
        shape = points.shape if self.axes == 1 else points.shape[:-1]
        flat = points.reshape(-1, self.axes)
        varying = [
            (axis, law.scale)
            for axis, law in enumerate(self.noise)
            if damped and isinstance(law, Gaussian) and isinstance(law.scale, np.ndarray)
        ]
        sums = _damped if varying else wave_sums
        return sums(self.values, flat, weights, varying).reshape(shape)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "confide": "spectrum",
            "version": 1,
            "values": self.values.tolist(),
            "noise": [law.to_dict() for law in self.noise],
            "response": None if self.response is None else self.response.tolist(),
            "low": None if self.low is None else list(self.low),
            "high": None if self.high is None else list(self.high),
            "names": None if self.names is None else list(self.names),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping) or fields.get("confide") != "spectrum":
            raise InvalidInput("a spectrum written by confide", _checks.shown(fields))
        known = ("confide", "version", "values", "noise", "response", "low", "high", "names")
        _checks.known_keys(fields, known, "a spectrum")
        if fields.get("version") != 1:
            raise InvalidInput("a spectrum of version 1", _checks.shown(fields.get("version")))
        if not isinstance(fields.get("noise"), list):
            raise InvalidInput("a list of noises", _checks.shown(fields.get("noise")))
        return cls.of(
            fields.get("values", []),
            noise=[laws.from_dict(law) for law in fields["noise"]],
            response=fields.get("response"),
            low=fields.get("low"),
            high=fields.get("high"),
            names=fields.get("names"),
        )

    def __repr__(self) -> str:
        return f"<Spectrum of {self.n} noised numbers on {self.axes} axes>"

    def _repr_html_(self) -> str:
        """The number of noised numbers and their noise, for notebooks."""
        names = self.names or [f"column {at + 1}" for at in range(self.axes)]
        rows = [(name, repr(law)) for name, law in zip(names, self.noise, strict=True)]
        heights, edges = np.histogram(np.asarray(self.values).reshape(self.n, -1)[:, 0], bins=60)
        return card(
            f"Spectrum of {self.n:,} noised numbers",
            steps(edges, heights.astype(np.float64), told="noised numbers of the first column"),
            table(("", "noise"), rows),
            cost="The noise was added elsewhere: no epsilon is claimed here.",
        )


def varies(law: Noise) -> TypeGuard[Gaussian]:
    """Whether each number has its own noise."""
    return isinstance(law, Gaussian) and law.varies


def _joined(a: Noise, b: Noise) -> Noise:
    if isinstance(a, Gaussian) and isinstance(b, Gaussian) and a.varies and b.varies:
        return Gaussian(scale=np.concatenate([np.asarray(a.scale), np.asarray(b.scale)]))
    if a != b or varies(a):
        raise Mismatch("spectra of the same noise", f"{a!r} and {b!r}")
    return a


def _bound(side: float | Sequence[float] | None, axes: int, name: str) -> tuple[float, ...] | None:
    if side is None:
        return None
    array = _checks.array(**{name: side})
    given = [side] * axes if array.ndim == 0 else array.tolist()
    if len(given) != axes:
        raise InvalidInput(f"{name} for {axes} axes", str(len(given)))
    return tuple(_checks.finite(**{name: value}) for value in given)


def _columns(z: Any, axes: int) -> tuple[str, ...] | None:
    """The names of the columns of a table, or of one column, of pandas, polars or Arrow, if any."""
    given = getattr(z, "column_names", getattr(z, "columns", None))
    if given is None:
        given = [getattr(z, "name", None)]
    elif callable(given):
        return None
    names = list(given)
    if len(names) != axes or not all(isinstance(name, str) and name for name in names):
        return None
    return tuple(map(str, names)) if len(set(names)) == axes else None


def _names(names: Sequence[str] | None, axes: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    given = (names,) if isinstance(names, str) else tuple(names)
    if len(given) != axes or not all(isinstance(name, str) and name for name in given):
        raise InvalidInput(f"{axes} names, one for each axis", _checks.shown(names))
    if len(set(given)) < axes:
        raise InvalidInput("names that differ", _checks.shown(names))
    return given


def wave_sums(
    z: Floats,
    t: Floats,
    weights: Floats | Waves | None,
    varying: Sequence[tuple[int, Floats]] = (),
) -> Waves:
    """Sum over rows of weight e**(i t.z) at each t, by non-uniform FFT where it pays."""
    if len(z) * len(t) > DIRECT and importlib.util.find_spec("finufft") is not None:
        import finufft

        strengths = np.ones(len(z), dtype=np.complex128)
        if weights is not None:
            strengths *= weights
        run = (finufft.nufft1d3, finufft.nufft2d3, finufft.nufft3d3)[z.shape[1] - 1]
        columns = [np.ascontiguousarray(column) for column in (*z.T, strengths, *t.T)]
        result: Waves = run(*columns, isign=1, eps=PRECISION, nthreads=1)
        return result
    return _damped(z, t, weights, varying)


def _damped(
    z: Floats,
    t: Floats,
    weights: Floats | Waves | None,
    varying: Sequence[tuple[int, Floats]],
) -> Waves:
    """Like `wave_sums` as a plain sum in pieces, each term damped by its own Gaussian noise."""
    total = np.zeros(len(t), dtype=np.complex128)
    rows = max(1, CHUNK // max(1, len(t)))
    for start in range(0, len(z), rows):
        part = slice(start, start + rows)
        terms = np.exp(1j * (z[part] @ t.T))
        for axis, scale in varying:
            terms *= np.exp(-0.5 * np.multiply.outer(scale[part], t[:, axis]) ** 2)
        total += terms.sum(axis=0) if weights is None else weights[part] @ terms
    return total

"""Laws of noise on the real line, for values that somebody else has noised.

Reports of our own mechanisms never see these: their noise is made of integers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Unsupported

SPREAD = 1e12
"""Largest over smallest standard deviation, where each value has its own."""
SMALLEST, LARGEST = 1e-150, 1e150
"""Scales of noise: their squares are numbers still."""
SHAPES = (1e-6, 1e6)
"""Shapes of two-sided gamma noise: far beyond, nobody can tell it from none, or from two values."""
CHUNK = 2**16


class Noise(ABC):
    """A symmetric law around zero, known without error.

    Examples
    --------
    >>> noise = Laplace(scale=2.0)
    >>> isinstance(noise, Noise), noise.variance
    (True, 8.0)
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance; the mean one where values differ in their noise."""

    @abstractmethod
    def characteristic(self, t: npt.ArrayLike) -> Floats:
        """Characteristic function, real because the law is symmetric."""

    @abstractmethod
    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(noise <= x)."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    def mean_square(self, t: npt.ArrayLike) -> Floats:
        """Squared characteristic function, averaged over values where their noise differs."""
        return self.characteristic(t) ** 2

    def mean_cdf(self, x: npt.ArrayLike) -> Floats:
        """P(noise <= x), averaged over values where their noise differs."""
        return self.cdf(x)


@dataclass(frozen=True)
class Laplace(Noise):
    """Density e**(-|x|/scale)/(2 scale).

    Parameters
    ----------
    scale
        In the units of the values. The standard deviation is sqrt(2) times the scale.

    Examples
    --------
    >>> Laplace(scale=0.5).variance
    0.5
    """

    scale: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _scale(self.scale))

    @property
    def variance(self) -> float:
        """Twice the squared scale."""
        return 2 * self.scale**2

    def characteristic(self, t: npt.ArrayLike) -> Floats:
        """1/(1 + scale**2 t**2)."""
        return 1 / (1 + (self.scale * _floats(t)) ** 2)

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density."""
        result: Floats = np.exp(-np.abs(_floats(x)) / self.scale) / (2 * self.scale)
        return result

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(noise <= x)."""
        y = _floats(x) / self.scale
        tail = np.exp(-np.abs(y)) / 2
        return np.where(y < 0, tail, 1 - tail)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"noise": "laplace", "scale": self.scale}


@dataclass(frozen=True, eq=False)
class Gaussian(Noise):
    """Normal noise, with one standard deviation for all values or one for each.

    Parameters
    ----------
    scale
        Standard deviation in the units of the values: a number, or an array with one number a
        value.

    Examples
    --------
    >>> Gaussian(scale=2.0).variance
    4.0
    >>> Gaussian(scale=[1.0, 3.0]).variance
    5.0
    """

    scale: float | Floats = field(kw_only=True)

    def __post_init__(self) -> None:
        if np.ndim(self.scale) == 0:
            object.__setattr__(self, "scale", _scale(self.scale))
            return
        scale = _checks.vector(scale=self.scale).copy()
        if not np.all(scale > 0):
            at = int(np.flatnonzero(scale <= 0)[0])
            raise InvalidInput("scale > 0 for every value", f"{scale[at]:g} at position {at}")
        _scale(scale.min())
        _scale(scale.max())
        if not scale.max() <= SPREAD * scale.min():
            raise InvalidInput(
                f"scales within a factor of {SPREAD:g} of each other",
                f"scales from {scale.min():g} to {scale.max():g}",
            )
        scale.flags.writeable = False
        object.__setattr__(self, "scale", scale)

    @property
    def varies(self) -> bool:
        """Whether each value has its own standard deviation."""
        return isinstance(self.scale, np.ndarray)

    @property
    def variance(self) -> float:
        """Squared standard deviation; the mean one where it varies."""
        return float(np.mean(np.square(self.scale)))

    def characteristic(self, t: npt.ArrayLike) -> Floats:
        """e**(-scale**2 t**2/2); the last axis runs over the values where the scale varies."""
        y = _floats(t)
        if self.varies:
            y = y[..., None]
        result: Floats = np.exp(-0.5 * (self.scale * y) ** 2)
        return result

    def mean_square(self, t: npt.ArrayLike) -> Floats:
        """Squared characteristic function, averaged over values."""
        y = _floats(t)
        scales, share = np.unique(np.atleast_1d(self.scale), return_counts=True)
        total = np.zeros(y.shape)
        # A loop over sds or over frequencies, whichever is shorter, keeps memory small.
        if scales.size <= y.size:
            for scale, count in zip(scales, share, strict=True):
                total += count * np.exp(-((scale * y) ** 2))
        else:
            for at in np.ndindex(y.shape):
                total[at] = share @ np.exp(-((scales * y[at]) ** 2))
        result: Floats = total / share.sum()
        return result

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density; the last axis runs over the values where the scale varies."""
        y = _floats(x)
        y = (y[..., None] if self.varies else y) / self.scale
        result: Floats = np.exp(-0.5 * y * y) / (np.sqrt(2 * np.pi) * self.scale)
        return result

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(noise <= x); the last axis runs over the values where the scale varies."""
        from scipy import special  # here, since most summaries do without it

        y = _floats(x)
        result: Floats = special.ndtr((y[..., None] if self.varies else y) / self.scale)
        return result

    def mean_cdf(self, x: npt.ArrayLike) -> Floats:
        """P(noise <= x), averaged over values: to 1e-12 where very many scales differ."""
        from scipy import special  # here, since most summaries do without it

        y = _floats(x)
        total = np.zeros(y.shape)
        for scale, weight in zip(*self._averaged, strict=True):
            total += weight * special.ndtr(y / scale)
        return total

    @property
    def terms(self) -> int:
        """Number of scales that `mean_cdf` averages over."""
        return len(self._averaged[0])

    @cached_property
    def _averaged(self) -> tuple[Floats, Floats]:
        """Scales and weights that average any smooth function as the given scales do.

        Where many differ, these are the nodes of a polynomial in the logarithm of the scale: the
        weights are the averages of its Lagrange polynomials. The cdf is analytic in the logarithm
        up to pi/4 off the real axis, so that 20 nodes for each factor of e leave less than 1e-12.
        """
        scales, share = np.unique(np.atleast_1d(self.scale), return_counts=True)
        low, high = np.log(scales[0]), np.log(scales[-1])
        size = 16 + math.ceil(20 * (high - low))
        if scales.size <= size:
            return scales, share / share.sum()
        chebyshev = np.polynomial.chebyshev
        moments = np.zeros(size)
        for start in range(0, scales.size, CHUNK):
            part = slice(start, start + CHUNK)
            places = np.clip((2 * np.log(scales[part]) - low - high) / (high - low), -1, 1)
            moments += share[part] @ chebyshev.chebvander(places, size - 1)
        moments[0] /= 2
        nodes = np.cos(np.pi * (np.arange(size) + 0.5) / size)
        weights = chebyshev.chebval(nodes, moments) * (2 / (size * share.sum()))
        return np.exp((low + high + nodes * (high - low)) / 2), weights

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gaussian) and np.array_equal(self.scale, other.scale)

    def __hash__(self) -> int:
        return hash(np.asarray(self.scale).tobytes())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"noise": "gaussian", "scale": np.asarray(self.scale).tolist()}


@dataclass(frozen=True)
class TwoSidedGamma(Noise):
    """Gamma noise with a random sign.

    Its density is ``|x|**(shape-1) e**(-|x|/scale) / (2 Gamma(shape) scale**shape)``.

    Not the difference of two gamma variables. Shape 1 is Laplace; above 1 the characteristic
    function has zeros, so that only the likelihood can undo it.

    Parameters
    ----------
    shape
        Shape of the gamma law of |x|.
    scale
        In the units of the values.

    Examples
    --------
    >>> TwoSidedGamma(shape=1.0, scale=0.5).variance
    0.5
    """

    shape: float = field(kw_only=True)
    scale: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _checks.positive(shape=self.shape))
        object.__setattr__(self, "scale", _scale(self.scale))
        if not SHAPES[0] <= self.shape <= SHAPES[1]:
            raise InvalidInput(
                f"a shape of noise from {SHAPES[0]:g} to {SHAPES[1]:g}", f"shape={self.shape:g}"
            )

    @property
    def variance(self) -> float:
        """The second moment: shape (shape + 1) scale**2."""
        return self.shape * (self.shape + 1) * self.scale**2

    def characteristic(self, t: npt.ArrayLike) -> Floats:
        """(1 + t**2 scale**2)**(-shape/2) cos(shape atan(t scale))."""
        y = _floats(t) * self.scale
        result: Floats = (1 + y * y) ** (-self.shape / 2) * np.cos(self.shape * np.arctan(y))
        return result

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density; infinite at zero for a shape below 1."""
        from scipy import special  # here, since most summaries do without it

        y = np.abs(_floats(x)) / self.scale
        power = special.xlogy(self.shape - 1, y) - y - special.gammaln(self.shape)
        result: Floats = np.exp(power) / (2 * self.scale)
        return result

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(noise <= x)."""
        from scipy import special  # here, since most summaries do without it

        y = _floats(x) / self.scale
        tail = special.gammaincc(self.shape, np.abs(y)) / 2
        return np.where(y < 0, tail, 1 - tail)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"noise": "two-sided-gamma", "shape": self.shape, "scale": self.scale}


@dataclass(frozen=True)
class NoNoise(Noise):
    """No noise at all: for a public covariate beside noised ones.

    Examples
    --------
    >>> NoNoise().variance
    0.0
    """

    @property
    def variance(self) -> float:
        """Zero."""
        return 0.0

    def characteristic(self, t: npt.ArrayLike) -> Floats:
        """One everywhere."""
        return np.ones_like(_floats(t))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """A step at zero."""
        return np.where(_floats(x) < 0, 0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"noise": "none"}


@dataclass(frozen=True, init=False)
class Custom(Noise):
    """Any symmetric noise whose characteristic function is known.

    Parameters
    ----------
    characteristic
        Characteristic function: arrays in, real arrays out. Deconvolution needs it without zeros.
    variance
        In squared units of the values.
    cdf
        P(noise <= x), which only the likelihood asks for.

    Examples
    --------
    >>> difference = Custom(characteristic=lambda t: (1 + t * t) ** -2.0, variance=4.0)
    >>> difference.characteristic([0.0, 1.0])  # the difference of two Gamma(2, 1) variables
    array([1.  , 0.25])
    """

    _characteristic: Callable[[Floats], Floats]
    _variance: float
    _cdf: Callable[[Floats], Floats] | None

    def __init__(
        self,
        *,
        characteristic: Callable[[Floats], Floats],
        variance: float,
        cdf: Callable[[Floats], Floats] | None = None,
    ) -> None:
        object.__setattr__(self, "_characteristic", characteristic)
        _scale(math.sqrt(_checks.positive(variance=variance)))
        object.__setattr__(self, "_variance", float(variance))
        object.__setattr__(self, "_cdf", cdf)
        at_zero = float(self.characteristic(0.0))
        if not abs(at_zero - 1) < 1e-9:
            raise InvalidInput("a characteristic function that is 1 at zero", f"{at_zero:g}")

    @property
    def variance(self) -> float:
        """As given."""
        return self._variance

    def characteristic(self, t: npt.ArrayLike) -> Floats:
        """As given."""
        result = np.asarray(self._characteristic(_floats(t)))
        if result.dtype.kind == "c":
            raise InvalidInput(
                "a real characteristic function", "complex values", "The noise must be symmetric."
            )
        return result.astype(np.float64, copy=False)

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """As given."""
        if self._cdf is None:
            raise InvalidInput(
                "a cdf for this use of custom noise", "none", "Give cdf= a function."
            )
        return _floats(self._cdf(_floats(x)))

    def to_dict(self) -> dict[str, Any]:
        """Functions have no JSON form."""
        raise Unsupported("Custom noise is made of functions and has no JSON form.")


def from_dict(fields: Mapping[str, Any]) -> Noise:
    """The inverse of `to_dict`.

    Examples
    --------
    >>> from_dict({"noise": "laplace", "scale": 0.3})
    Laplace(scale=0.3)
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("noise as a JSON object", _checks.shown(fields))
    kinds: dict[str, Callable[..., Noise]] = {
        "laplace": Laplace,
        "gaussian": Gaussian,
        "two-sided-gamma": TwoSidedGamma,
        "none": NoNoise,
    }
    kind = _checks.one_of(tuple(kinds), noise=fields.get("noise"))
    keys = {"two-sided-gamma": ("shape", "scale"), "none": ()}.get(kind, ("scale",))
    _checks.known_keys(fields, ("noise", *keys), f"{kind} noise")
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} for {kind} noise", "none")
    return kinds[kind](**{key: fields[key] for key in keys})


def _scale(given: Any) -> float:
    scale = _checks.positive(scale=given)
    if not SMALLEST <= scale <= LARGEST:
        raise InvalidInput(f"a scale of noise from {SMALLEST:g} to {LARGEST:g}", f"scale={scale:g}")
    return scale


def _floats(x: npt.ArrayLike) -> Floats:
    return np.asarray(x, dtype=np.float64)

"""Values that somebody else noised, seen on a lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Unsupported
from confide.foreign.noise_laws import Gaussian, Noise, NoNoise, from_dict
from confide.lattice import MAX_SIZE, Categories, Indices, Lattice
from confide.mechanisms.laws import Law, fast_length
from confide.mechanisms.protocol import Channel, polynomial_scores, polynomials

DEGREE = 7
IMPOSSIBLE = 1e-9
"""Chance below which noise is taken not to have the law that was stated."""
PLACES = 257
"""True values between the bounds that are looked at for the one that leaves them least."""
NODES = 8
"""Places inside a cell that stand for all."""
CHUNK = 2**16
MAX_WORK = 2**28
"""Evaluations of a distribution function that a law may take: a few seconds."""


@dataclass(frozen=True, eq=False)
class Toeplitz(Law):
    """Noise of any kind added to a value inside its cell, the sum binned on a wider lattice.

    Parameters
    ----------
    size
        Number of cells of the values.
    margin
        Cells added on each side for the sums; the outermost ones hold everything beyond.
    compute
        P(value + noise >= lower edge of cell i + k | value in cell i), k = -(size + margin) + 1 ..
        size + margin - 1; called only when they are asked for.
    """

    size: int
    margin: int
    compute: Callable[[], Floats]

    @cached_property
    def tails(self) -> Floats:
        """The result of ``compute``."""
        return self.compute()

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return (self.size,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return (self.size + 2 * self.margin,)

    @cached_property
    def _spectrum(self) -> tuple[int, npt.NDArray[np.complex128], Floats, Floats]:
        size, margin = self.size, self.margin
        zero = size + margin - 1
        mass = -np.diff(self.tails)
        period = fast_length(2 * size + 2 * margin)
        kernel = np.zeros(period)
        shifts = np.arange(-(size - 1 + margin), size + margin - 1)
        kernel[shifts % period] = mass
        index = np.arange(size)
        # Lower end: below the upper edge of the lowest report; upper end: above its lower edge.
        below = 1 - self.tails[zero - margin + 1 - index]
        above = self.tails[zero + size + margin - 1 - index]
        return period, np.fft.rfft(kernel), below, above

    def forward(self, masses: Floats) -> Floats:
        """Convolution inside, tail sums at the two ends."""
        period, spectrum, below, above = self._spectrum
        full = np.fft.irfft(np.fft.rfft(masses, period) * spectrum, period)
        reports = np.roll(full, self.margin, axis=-1)[..., : self.outputs[0]]
        reports[..., 0] = masses @ below
        reports[..., -1] = masses @ above
        return np.maximum(reports, 0.0)

    def adjoint(self, values: Floats) -> Floats:
        """Correlation of the inner values, plus the ends through their tails."""
        period, spectrum, below, above = self._spectrum
        inner = values.copy()
        inner[..., 0] = inner[..., -1] = 0.0
        padded = np.fft.rfft(inner, period) * spectrum.conj()
        shifted = np.roll(np.fft.irfft(padded, period), -self.margin, axis=-1)
        ends = values[..., :1] * below + values[..., -1:] * above
        return shifted[..., : self.size] + ends

    def weights(self, index: int) -> Sequence[int]:
        """Not ours to state: the noise was drawn elsewhere, in floats."""
        raise Unsupported(
            "Noise added elsewhere has no exact weights, so confide makes no privacy claim for it."
        )


@dataclass(frozen=True, eq=False)
class Noised(Channel):
    """Numbers in [low, high] to which somebody else added noise of a known law, then binned.

    Parameters
    ----------
    lattice
        Cells of the true values.
    noise
        The law of the noise, on the reals.
    margin
        Cells added on each side to hold the noised values.

    Notes
    -----
    Formal guarantee: none. This describes data that came with noise, and adds none. If each value
    has its own noise scale, the average law is used for all, which is right if the scale does not
    depend on the value.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> channel = Noised(Lattice(low=0, high=1, size=10), Laplace(scale=0.1), margin=5)
    >>> channel.law.outputs  # cells of what was noised
    (20,)
    """

    name: ClassVar[str] = "noised"
    lattice: Lattice
    noise: Noise
    margin: int = field(kw_only=True)

    def __post_init__(self) -> None:
        margin = _checks.integer(0, MAX_SIZE, margin=self.margin)
        object.__setattr__(self, "margin", margin)
        if isinstance(self.noise, NoNoise):
            raise InvalidInput(
                "a law of noise", "no noise", "Estimates of numbers without noise take Spectrum.of."
            )
        if self.lattice.scale != "linear":
            raise InvalidInput("a linear lattice for values noised elsewhere", "a log lattice")
        if self.lattice.kind != "number":
            raise InvalidInput(
                "a lattice of numbers for values noised elsewhere", f"kind={self.lattice.kind!r}"
            )
        terms = self.noise.terms if isinstance(self.noise, Gaussian) else 1
        most = MAX_WORK // (2 * NODES * terms)
        if self.lattice.size + margin > most:
            raise InvalidInput(
                f"at most {most:,} cells, with the margin that noise this wide needs",
                f"{self.lattice.size + margin:,}",
                "Take fewer cells, or Spectrum.of.",
            )

    def __eq__(self, other: object) -> bool:
        # Custom noise has no JSON form to compare by.
        return isinstance(other, Noised) and (self.lattice, self.noise, self.margin) == (
            other.lattice,
            other.noise,
            other.margin,
        )

    def __hash__(self) -> int:
        return hash((self.lattice, self.margin))

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The one lattice."""
        return {"": self.lattice}

    @cached_property
    def wide(self) -> Lattice:
        """The cells of the noised values."""
        lattice, margin = self.lattice, self.margin
        step = (lattice.high - lattice.low) / lattice.size
        return Lattice(
            low=lattice.low - margin * step,
            high=lattice.high + margin * step,
            size=lattice.size + 2 * margin,
        )

    def index(self, values: npt.ArrayLike) -> Indices:
        """Report numbers of noised values."""
        return self.wide.index(values)

    @cached_property
    def law(self) -> Toeplitz:
        """Distribution of a binned noised value, given the cell of the true one."""
        return Toeplitz(self.lattice.size, self.margin, self._tails)

    def _tails(self) -> Floats:
        size, margin = self.lattice.size, self.margin
        step = (self.lattice.high - self.lattice.low) / size
        # Values spread evenly inside a cell: Gauss-Legendre nodes of the cell's width.
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        edges = np.arange(-(size + margin) + 1, size + margin) - 0.5
        tails = np.empty(edges.size)
        for start in range(0, edges.size, CHUNK):
            part = slice(start, start + CHUNK)
            inside = (edges[part, None] - nodes / 2) * step
            tails[part] = 1 - self.noise.mean_cdf(inside) @ (weights / 2)
        return tails

    def unreachable(self, counts: npt.NDArray[np.int64]) -> int:
        """Number of reports further outside the bounds than this noise can reach.

        Such a report has no likelihood, whatever the true values within the bounds: a noise with
        this law takes even one of as many values so far with a chance below one in a billion.
        """
        edges, (seen,) = self.wide.edges, np.nonzero(counts)
        beyond = np.maximum(edges[seen] - self.lattice.high, self.lattice.low - edges[seen + 1])
        # One cell less, for numbers on an edge may round to either side of it.
        nearest = np.maximum(beyond - (edges[1] - edges[0]), 0.0)
        chances = self.noise.mean_cdf(-nearest)
        alone = int(counts[seen[counts.sum() * chances < IMPOSSIBLE]].sum())
        return max(alone, self._too_many(counts))

    def _too_many(self, counts: npt.NDArray[np.int64]) -> int:
        """Reports beyond a distance from the bounds, where this noise cannot take so many.

        Each value gets there with the chance of one that lies on the bound, at most, and the law of
        noise from elsewhere is nearly right only: twice that chance is allowed.
        """
        margin, n = self.margin, int(counts.sum())
        if not margin or not n:
            return 0
        step = (self.lattice.high - self.lattice.low) / self.lattice.size
        from scipy import special  # here, since most summaries do without it

        distances = np.maximum(np.arange(margin) - 1, 0) * step
        chances = np.minimum(2 * self.noise.mean_cdf(-distances), 1.0)
        found = 0
        for side in (counts[:margin][::-1], counts[-margin:]):
            beyond = side[::-1].cumsum()[::-1]
            luck = np.where(beyond > 0, special.bdtrc(np.maximum(beyond - 1, 0), n, chances), 1.0)
            found += int(beyond[luck < IMPOSSIBLE].max(initial=0))
        return found

    def moved(self, counts: npt.NDArray[np.int64]) -> bool:
        """Whether enough reports lie outside the bounds for this noise.

        Rounding may take back what lies outside by less than half a standard deviation, so that
        does not count. By Chernoff's bound noise with this law fails with a chance below one in a
        billion, whatever the true values.
        """
        n = int(counts.sum())
        if not n or not self.margin:
            return True
        lattice, slack = self.lattice, 0.5 * math.sqrt(self.noise.variance)
        places = np.linspace(0, lattice.high - lattice.low, PLACES)
        tails = self.noise.mean_cdf(-places - slack)
        least = min(float((tails + tails[::-1]).min()), 1 - IMPOSSIBLE)
        share = 1 - int(counts[self.margin : -self.margin].sum()) / n
        if share >= least:
            return True
        outside = share * math.log(share / least) if share else 0.0
        inside = (1 - share) * math.log((1 - share) / (1 - least))
        return n * (outside + inside) <= -math.log(IMPOSSIBLE)

    def unbiased(self, power: int) -> Floats:
        """Polynomials of the noised value, and the two end cells, that undo noise and binning.

        Refused where the margin gathers so much in the end cells that nothing undoes it.
        """
        wide, target = self.wide, self.lattice.centers**power
        basis = polynomials(wide.centers, DEGREE)
        ends = np.zeros((2, wide.size))
        ends[0, 0] = ends[1, -1] = 1.0
        scores = polynomial_scores(self.law, np.concatenate([basis, ends]), target)
        missed = np.abs(self.law.adjoint(scores) - target).max()
        size = max(float(np.ptp(target)), (self.lattice.high - self.lattice.low) ** power)
        if missed > 1e-6 * size:
            raise Unsupported(
                "So much noise is gathered beyond the outermost cells that no score of a noised "
                "value is unbiased: give the true values' bounds more room, or take Spectrum."
            )
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.name,
            "lattice": self.lattice.to_dict(),
            "noise": self.noise.to_dict(),
            "margin": self.margin,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Noised:
        """The inverse of `to_dict`."""
        keys = ("mechanism", "lattice", "noise", "margin")
        _checks.known_keys(fields, keys, "noised values")
        for key in keys:
            if key not in fields:
                raise InvalidInput(f"the key {key!r} for noised values", "none")
        return cls(
            Lattice.from_dict(fields["lattice"]),
            from_dict(fields["noise"]),
            margin=fields["margin"],
        )

"""Two-sided gamma noise on a lattice."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import Spend, rounded_up
from confide.errors import InvalidInput, Unsupported
from confide.exact.enclosures import log_ceiling
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import ONE
from confide.exact.inversion import Inversion, Part, weighted
from confide.lattice import Lattice
from confide.mechanisms.laws import Clamped
from confide.mechanisms.protocol import CELLS, Indices, Numeric

NOTE = (
    "This epsilon belongs to this lattice only: two-sided gamma noise has none that survives a "
    "finer one, so read it as a bound for these cells, not as a property of the noise."
)
MAX_PAIRED = 4096
NARROW, WIDE = 1e-2, 1e5
"""Scales to look among for one that costs a given epsilon: in cells, and in ranges."""
MAX_DENSE = 4096
"""Cells up to which a dense linear system is solved: it takes a third of a gigabyte."""


@dataclass(frozen=True, eq=False)
class TwoSidedGamma(Numeric):
    """Noise with density ``|x|**(shape-1) e**(-|x|/scale)``, on the index, clamped to the cells.

    Parameters
    ----------
    lattice
        Public bounds and cells, on a linear scale.
    shape
        Below 1 the noise is peaked at zero; 1 is the Laplace law.
    scale
        In the units of the values.

    Notes
    -----
    Formal guarantee: pure differential privacy with the epsilon that `spend` states, computed
    exactly from the public integer table of this lattice. Unless the shape is 1 there is no pure
    epsilon in the continuum, so the stated one grows without bound as cells get smaller. The delta
    that `delta_at` gives for a fixed epsilon does not.

    Examples
    --------
    >>> mechanism = TwoSidedGamma(Lattice(low=0, high=1, size=65), shape=0.8, scale=1.0)
    >>> round(mechanism.spend.epsilon, 2)
    2.16
    >>> round(mechanism.delta_at(1.0), 3)
    0.149
    """

    name: ClassVar[str] = "two-sided-gamma"
    needed: ClassVar[tuple[str, ...]] = ("low", "high", "shape", "noise_scale")
    computed: ClassVar[bool] = True
    extra: ClassVar[tuple[str, ...]] = ("shape",)
    lattice: Lattice
    shape: float = field(kw_only=True)
    scale: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lattice.scale != "linear":
            raise InvalidInput("a linear lattice for two-sided gamma noise", "a log lattice")
        object.__setattr__(self, "shape", _checks.within(0.01, 100, shape=self.shape))
        object.__setattr__(self, "scale", _checks.positive(scale=self.scale))
        width = self.lattice.step
        if not 1e-9 <= self.scale / width <= 1e9:
            raise InvalidInput(
                "a scale from 1e-9 to 1e9 cells",
                f"scale={self.scale:g} on cells of {width:g}",
            )

    @classmethod
    def asked(cls, keys: Mapping[str, Any]) -> TwoSidedGamma:
        """The mechanism of a survey file, whose ``scale`` is that of the lattice."""
        lattice = Lattice(**{key: keys[key] for key in CELLS if key in keys})
        scale = _checks.positive(noise_scale=keys["noise_scale"])
        return cls(lattice, shape=keys["shape"], scale=scale)

    def asking(self) -> dict[str, Any]:
        """The keys of a question in a survey file: the inverse of `asked`."""
        return {**self.lattice.to_dict(), "shape": self.shape, "noise_scale": self.scale}

    @classmethod
    def costing(cls, lattice: Lattice, *, epsilon: float, **extra: float) -> TwoSidedGamma:
        """The noise of this ``shape`` and the least scale whose loss is at most epsilon."""
        # Here, so that a device that never uses this noise does without scipy.
        from scipy.optimize import brentq

        shape = extra["shape"]
        least = cls.least_epsilon(lattice, shape=shape)
        if least > epsilon:
            raise InvalidInput(
                f"epsilon >= {least:.3g} for two-sided gamma noise of shape {shape:g} on "
                f"{lattice.size} cells",
                f"epsilon={epsilon:g}",
                "Take a shape nearer to 1, or fewer cells.",
            )

        def excess(log_scale: float) -> float:
            return _scaled(lattice, shape, log_scale).spend.epsilon - epsilon

        low, high = math.log(NARROW), math.log(WIDE * lattice.size)
        if excess(low) > 0:
            low = brentq(excess, low, high, xtol=1e-9)
        while excess(low) > 0:  # a root is right to the last digits only
            low += 1e-9
        return _scaled(lattice, shape, low)

    @classmethod
    def least_epsilon(cls, lattice: Lattice, **extra: float) -> float:
        """The loss of noise so wide that its scale no longer matters."""
        return _scaled(lattice, extra["shape"], math.log(WIDE * lattice.size)).spend.epsilon

    def __repr__(self) -> str:
        where = "" if self.shape == 1 else " on this lattice only"
        return (
            f"TwoSidedGamma({self.lattice!r}, shape={self.shape:g}, scale={self.scale:g}; "
            f"epsilon={rounded_up(self.spend.epsilon, 4)}{where})"
        )

    @cached_property
    def _weights(self) -> tuple[int, ...]:
        width = self.lattice.step
        return _table(self.shape, self.scale / width, self.lattice.size - 1)

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(",".join(map(str, self._weights)).encode()).hexdigest()[:32]

    @cached_property
    def law(self) -> Clamped:
        """Distribution of a report given an index."""
        weights = self._weights
        total = 2 * sum(weights) - weights[0]
        return Clamped(np.array([w / total for w in weights]), lambda: weights)

    @cached_property
    def spend(self) -> Spend:
        """The exact loss on this lattice, with a note on what is not protected."""
        return Spend(log_ceiling(self.law.ratio()), note="" if self.shape == 1 else NOTE)

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta with which one report is (epsilon, delta)-private, rounded up.

        Exact for the integer table of this lattice, over all pairs of indices; 0 from the epsilon
        that `spend` states. At most 4,096 cells.
        """
        epsilon = _checks.positive(epsilon=epsilon)
        if self.lattice.size > MAX_PAIRED:
            raise InvalidInput(
                f"a lattice of at most {MAX_PAIRED:,} cells to compare all pairs of",
                f"{self.lattice.size:,}",
            )
        if epsilon >= self.spend.epsilon:
            return 0.0
        exact = self.law.divergence(epsilon)
        delta = float(exact)
        return delta if Fraction(delta) >= exact else math.nextafter(delta, math.inf)

    @cached_property
    def sampler(self) -> Inversion:
        """Exact draws of the noise, shifted by m."""
        return weighted(self._weights[:0:-1] + self._weights)

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The noise, shifted by m."""
        return (Part("noise", self.sampler, self._weights[:0:-1] + self._weights),)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """Add noise to the index and clamp."""
        m = self.lattice.size - 1
        noise = self.sampler.draw(entropy, indices.size)
        noise += indices
        noise -= m
        return np.clip(noise, 0, m).astype(np.int32)

    def unbiased(self, power: int) -> Floats:
        """The solution of the law's own linear system: dense on few cells, else by iteration."""
        target = self.lattice.centers**power
        if self.lattice.size <= MAX_DENSE:
            scores = np.linalg.solve(self.law.matrix().T, target)
            return scores.astype(np.float64, copy=False)
        found = self.law.solve(target)
        if found is None:
            raise Unsupported(
                f"No unbiased score of two-sided gamma reports was found on {self.lattice.size:,} "
                f"cells: take a lattice of at most {MAX_DENSE:,}."
            )
        return found

    def stated(self) -> dict[str, Any]:
        """A digest of the public table that the noise really has."""
        # The table is made with floats: two machines agree on the noise if they agree on this.
        return {"table": self._digest}


def _scaled(lattice: Lattice, shape: float, log_scale: float) -> TwoSidedGamma:
    return TwoSidedGamma(lattice, shape=shape, scale=lattice.step * math.exp(log_scale))


def _table(shape: float, scale: float, m: int) -> tuple[int, ...]:
    """A public integer table at 0 .. m of two-sided gamma noise, ``scale`` in cells.

    Cell masses of the continuous law, in units of 2**-62 and at least 1, the last one holding the
    whole tail. The table is the law: whatever the floats it was made from, its integers are what
    is drawn from and what the loss is computed from.
    """
    # Here, so that a device that never uses this noise does without scipy.
    from scipy.special import gammainc, gammaincc

    edges = (np.arange(m + 1) - 0.5) / scale
    edges[0] = 0.0
    tail = gammaincc(shape, edges) / 2
    # From below where the tail is close to 1/2, else from above, so that no digits cancel.
    near = np.diff(gammainc(shape, edges) / 2)
    mass = np.append(np.where(tail[:-1] > 0.25, near, tail[:-1] - tail[1:]), tail[-1])
    mass[0] *= 2
    # Below 2**63 and exact: multiplying by a power of two does not round.
    return tuple(np.maximum(np.rint(ONE * mass), 1).astype(np.int64).tolist())

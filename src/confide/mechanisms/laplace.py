"""The truncated geometric mechanism: discrete Laplace noise, clamped to the lattice."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide._types import Floats
from confide.accounting.spend import Spend, checked_epsilon, exact
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import ONE, laplace_parameter, laplace_sampler, laplace_weights
from confide.exact.inversion import Inversion, Part
from confide.lattice import Lattice
from confide.mechanisms.laws import LARGE, Geometric, geometric
from confide.mechanisms.protocol import Indices, Numeric


@dataclass(frozen=True, eq=False)
class Laplace(Numeric):
    """Discrete Laplace noise on the index, the report clamped to the cells (Ghosh et al. 2012).

    Below the lowest and above the highest cell, reports say nothing more about a value. So clamping
    gives nothing away and loses nothing, and it bounds what a fake respondent can do.

    Parameters
    ----------
    lattice
        Public bounds and cells.
    epsilon
        The largest privacy loss of one report.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy, exactly. With m = size - 1 and
    p = P/2**62 >= e**(-epsilon/m), any two indices give any report with probabilities whose ratio
    is at most p**-m <= e**epsilon. Draws are integers made of the operating system's entropy, with
    exactly this law.

    Examples
    --------
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0)
    >>> len(mechanism.privatize([0.1, 0.5, 0.9]))
    3
    """

    name: ClassVar[str] = "laplace"
    lattice: Lattice
    epsilon: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "parameter", laplace_parameter(exact(self.epsilon), self._m))

    parameter: int = field(init=False, repr=False)
    """The public P: neighboring distances have probabilities of ratio p = P / 2**62."""

    @property
    def _m(self) -> int:
        return self.lattice.size - 1

    @property
    def p(self) -> float:
        """Ratio of the noise's probabilities at neighboring distances."""
        return self.parameter / ONE

    @cached_property
    def law(self) -> Geometric:
        """Distribution of a report given an index."""
        return geometric(self.parameter, self._m)

    @property
    def spend(self) -> Spend:
        """The declared epsilon, which bounds the exact loss."""
        return Spend(self.epsilon)

    @cached_property
    def sampler(self) -> Inversion:
        """Exact draws of the noise, shifted by m."""
        return laplace_sampler(self.parameter, self._m)

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The noise, shifted by m; of a large lattice enclosed, its weights being very long."""
        parameter, m = self.parameter, self._m
        if m >= LARGE:
            stated = laplace_sampler(parameter, m).enclosure
            return (Part("noise", self.sampler, enclosure=stated),)
        weights = laplace_weights(parameter, m)
        return (Part("noise", self.sampler, (*weights[:0:-1], *weights)),)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """Add noise to the index and clamp."""
        noise = self.sampler.draw(entropy, indices.size)
        noise += indices
        noise -= self._m
        return np.clip(noise, 0, self._m, out=noise)

    def unbiased(self, power: int) -> Floats:
        """The exact inverse of the law, a three-point stencil, applied to the centers' powers."""
        return self.invert_adjoint(self.lattice.centers**power)

    def invert(self, masses: Floats) -> Floats:
        """The unbiased estimate of index masses from report masses: the inverse of the law.

        The discrete form of 1 - b**2 d2/dx2; along the last axis.
        """
        p = self.p
        gap = (ONE - self.parameter) / ONE
        inner = np.array(masses, dtype=np.float64)
        inner[..., [0, -1]] *= gap
        out = (1 + p * p) * inner
        out[..., [0, -1]] = inner[..., [0, -1]]
        out[..., 1:] -= p * inner[..., :-1]
        out[..., :-1] -= p * inner[..., 1:]
        return out / gap**2

    def invert_adjoint(self, values: Floats) -> Floats:
        """Scores of reports whose expectation given the index is ``values``; last axis."""
        p = self.p
        gap = (ONE - self.parameter) / ONE
        values = np.asarray(values, dtype=np.float64)
        out = (1 + p * p) * values
        out[..., [0, -1]] = values[..., [0, -1]]
        out[..., 1:] -= p * values[..., :-1]
        out[..., :-1] -= p * values[..., 1:]
        out[..., [0, -1]] *= gap
        return out / gap**2

    def stated(self) -> dict[str, Any]:
        """The public parameter that the noise really has."""
        return {"p": f"{self.parameter}/{ONE}"}

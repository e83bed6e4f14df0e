"""The square wave mechanism on a lattice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import Spend, checked_epsilon, exact
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_floor
from confide.exact.entropy import Entropy
from confide.exact.inversion import Inversion, Part, weighted
from confide.lattice import Lattice
from confide.mechanisms.laws import Band, Declinable
from confide.mechanisms.protocol import (
    NONE,
    Indices,
    Kinds,
    Numeric,
    polynomial_scores,
    polynomials,
)

FAR = 2**40
"""Integer weight of a report far from the value; a near one weighs floor(FAR e**epsilon)."""


def near_weight(epsilon: float) -> int:
    """The largest integer weight whose ratio to FAR is at most e**epsilon."""
    near = exp_floor(exact(epsilon), FAR)
    if near <= FAR:
        raise InvalidInput(
            "epsilon large enough to leave a trace of the value", f"epsilon={epsilon:g}"
        )
    return near


def wave_reach(epsilon: float, size: int) -> int:
    """Cells that the wave reaches to each side (Li et al. 2020, on the lattice).

    Every reach is private; this one is the most informative about a distribution.
    """
    if epsilon < 1e-4:
        b = 0.5 - epsilon / 3
    else:
        b = (epsilon + math.expm1(-epsilon)) / (2 * (math.expm1(epsilon) - epsilon))
    return max(0, round(b * size - 0.5))


def mean_reach(epsilon: float, size: int) -> int:
    """Cells to each side that are best for a mean at large epsilon: e**(-epsilon/2) / 2.

    The window that the piecewise mechanism of Wang et al. (2019) has for a value in the middle.
    """
    return max(0, round(math.exp(-epsilon / 2) / 2 * size - 0.5))


@dataclass(frozen=True, eq=False)
class SquareWave(Numeric):
    """Reports near the value are likely, and all others unlikely (Li et al. 2020).

    This is the default for numbers, and the most accurate mechanism here at equal epsilon. Reports
    run over ``reach`` more cells than the lattice on each side: report r is cell r - reach.

    Parameters
    ----------
    lattice
        Public bounds and cells.
    epsilon
        The largest privacy loss of one report.
    prefer_not_to_say
        Whether None is an answer, "prefer not to say", as private as the others.
    reach
        Cells that the wave covers on each side of the value's cell. The default is the most
        informative about a distribution (`wave_reach`). From epsilon 3 on, a wider one
        (`mean_reach`) is better for means and worse for everything else.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy, exactly. Each report has weight L or
    U = floor(L e**epsilon) whatever the index, and the weights of all reports have the same total
    for every index, so probabilities have ratio at most U/L <= e**epsilon. Draws are made in
    integers from the operating system's entropy, with exactly this law.

    With ``prefer_not_to_say`` there is one more report, the last, a symbol that counts as 2 reach
    + 1 cells. Given a cell it weighs L (2 reach + 1); given "declined" it weighs U (2 reach + 1)
    and every other report L. The totals are equal again, so the same epsilon holds between any two
    answers and between any answer and none. One table of slots serves both: 2 reach + 1 of weight
    U, then size - 1 and 2 reach + 1 of weight L. Given a cell the first are the cells near to it,
    the next the far ones, and all of the last the symbol; given "declined" all of the first are the
    symbol, and the others are the cells in their order. What is read, and how, is the same for
    everybody.

    Examples
    --------
    >>> mechanism = SquareWave(Lattice(low=0, high=1, size=64), epsilon=1.0)
    >>> len(mechanism.privatize([0.1, 0.5, 0.9]))
    3
    """

    name: ClassVar[str] = "square-wave"
    optional: ClassVar[tuple[str, ...]] = (
        *Numeric.optional,
        "zoom",
        "prefer_not_to_say",
        "reach",
    )
    implied: ClassVar[tuple[str, ...]] = (*Numeric.implied, "reach")
    lattice: Lattice
    epsilon: float = field(kw_only=True)
    prefer_not_to_say: bool = field(default=False, kw_only=True)
    # None stands for the most informative one, and is replaced by it.
    reach: int = field(default=None, kw_only=True)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        _checks.flag(prefer_not_to_say=self.prefer_not_to_say)
        near_weight(self.epsilon)
        reach, size = self.reach, self.lattice.size
        most = wave_reach(self.epsilon, size) if reach is None else reach
        object.__setattr__(self, "reach", _checks.integer(0, size, reach=most))

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`; a reach that is given must be a number of cells."""
        if "reach" in made:
            _checks.integer(0, reach=made["reach"])
        return super().read(made, kinds)

    def asking(self) -> dict[str, Any]:
        """The keys of a question in a survey file, without a reach that follows from epsilon."""
        keys = super().asking()
        if self.reach == wave_reach(self.epsilon, self.lattice.size):
            del keys["reach"]
        return keys

    @cached_property
    def law(self) -> Band | Declinable:
        """Distribution of a report given an index."""
        size = self.lattice.size
        kind = Declinable if self.prefer_not_to_say else Band
        return kind(size, self.reach, near_weight(self.epsilon), FAR)

    @property
    def spend(self) -> Spend:
        """The declared epsilon, which bounds the exact loss."""
        return Spend(self.epsilon)

    @cached_property
    def sampler(self) -> Inversion:
        """Exact draws of a slot: near cells first, then the far ones."""
        return weighted(self._slots)

    @property
    def _slots(self) -> list[int]:
        law = self.law
        near = 2 * law.reach + 1
        last = near if self.prefer_not_to_say else 0
        return [law.near] * near + [law.far] * (law.size - 1 + last)

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The slot: near cells first, then the far ones, then those of the symbol, if any."""
        return (Part("slot", self.sampler, self._slots),)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """Near slots count from the index, far ones step over the near cells."""
        slots = self.sampler.draw(entropy, indices.size)
        if not self.prefer_not_to_say:
            return self._placed(slots, indices)
        # "Declined" as an index beyond every far slot: those stay where they are, near slots come
        # to lie at the symbol or beyond, and so do the last slots of everybody else.
        symbol = np.int32(self.law.size + 2 * self.reach)
        indices = indices + np.int32(2 * self.reach) * (indices == self.law.size)
        return np.minimum(self._placed(slots, indices), symbol)

    def _placed(self, slots: Indices, indices: Indices) -> Indices:
        """The cells that slots stand for, given indices."""
        near = np.int32(2 * self.reach + 1)
        far = slots - near
        # Sums in place of a choice: three times as fast, and no branch tells which slot it was.
        reports = near * (far >= indices)
        reports += far
        reports += (indices + near) * (far < 0)
        return reports

    def unbiased(self, power: int) -> Floats:
        """Powers of a report's position, which the law maps onto powers of the value."""
        if self.lattice.zoom is not None:
            return self._shortest(power)
        cells = self.lattice.size + 2 * self.reach
        positions = self.lattice.position(np.arange(cells) - self.reach)
        basis, target = polynomials(positions, power), self.lattice.centers**power
        if self.lattice.uneven:
            # Only the last cell is near to the last report: it gets what is its own from there.
            basis = np.vstack([basis, np.arange(cells) == cells - 1])
        if self.prefer_not_to_say:
            # The symbol has a score of its own, and of those who declined 0 is expected.
            basis, target = np.pad(basis, ((0, 1), (0, 1))), np.append(target, 0.0)
            basis[-1, -1] = 1.0
        return polynomial_scores(self.law, basis, target)

    def _shortest(self, power: int) -> Floats:
        """The scores of least sum of squares among those that are unbiased, on a zoomed lattice.

        They vary least where all reports are equally likely. The equations law' g = target have as
        many rows as the lattice has cells, and 2 reach more unknowns.
        """
        matrix = self.law.matrix().T
        target = self.lattice.centers**power
        if self.prefer_not_to_say:
            target = np.append(target, 0.0)
        return np.asarray(np.linalg.lstsq(matrix, target, rcond=1e-12)[0], dtype=np.float64)

    def stated(self) -> dict[str, Any]:
        """The public weights that the noise really has."""
        return {"weights": [str(self.law.near), str(self.law.far)]}

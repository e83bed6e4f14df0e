"""The stacked law: reports of all phases of one question together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Mismatch, Unsupported
from confide.lattice import Categories, Lattice
from confide.mechanisms.laws import Law
from confide.mechanisms.protocol import Channel
from confide.mechanisms.square_wave import SquareWave

PHASES = 4
"""Phases of a question, at most."""


@dataclass(frozen=True, eq=False)
class Onto:
    """Even masses of the cells of one lattice, on those of another between the same bounds."""

    source: Lattice
    target: Lattice

    @cached_property
    def _places(self) -> tuple[npt.NDArray[np.int64], Floats]:
        """For each edge of the target the cell of the source that it is in, and how far inside."""
        edges = self.source.edges
        cell = np.clip(np.searchsorted(edges, self.target.edges, "right") - 1, 0, edges.size - 2)
        return cell, (self.target.edges - edges[cell]) / np.diff(edges)[cell]

    def forward(self, masses: Floats) -> Floats:
        """Masses of the target's cells."""
        cell, part = self._places
        below = np.zeros((*masses.shape[:-1], masses.shape[-1] + 1))
        np.cumsum(masses, axis=-1, out=below[..., 1:])
        spread: Floats = np.diff(below[..., cell] + part * masses[..., cell], axis=-1)
        return spread

    def adjoint(self, values: Floats) -> Floats:
        """Means over the source's cells of values of the target's cells."""
        cell, part = self._places
        # A target cell from edge e to e' takes from each source cell the part between them: the
        # transpose of `forward`, whose differences of sums become sums of differences.
        steps = np.zeros((*values.shape[:-1], self.target.size + 1))
        steps[..., 0], steps[..., -1] = -values[..., 0], values[..., -1]
        steps[..., 1:-1] = values[..., :-1] - values[..., 1:]
        flat = steps.reshape(-1, cell.size)
        rows, cells = len(flat), self.source.size
        at = (np.arange(rows)[:, None] * (cells + 1) + cell).ravel()
        sums = np.bincount(at, flat.ravel(), minlength=rows * (cells + 1)).reshape(rows, -1)
        inside = np.bincount(at, (part * flat).ravel(), minlength=rows * (cells + 1))
        # An edge counts the part of its own cell that lies below, and all cells before that.
        before = sums[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        means: Floats = inside.reshape(rows, -1)[:, :-1] + before
        return means.reshape(*values.shape[:-1], cells)


@dataclass(frozen=True, eq=False)
class StackedLaw(Law):
    """Laws of several phases, each times its share, given a cell of the last lattice.

    Where people may decline, their report is one and the same in all phases, the last: it is as
    likely in each of them, since all have the same size and epsilon.
    """

    laws: tuple[Law, ...]
    onto: tuple[Onto, ...]
    shares: tuple[float, ...]
    declinable: bool

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return (self.onto[-1].source.size + self.declinable,)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Number of possible reports of each phase, without declining."""
        return tuple(law.outputs[0] - self.declinable for law in self.laws)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports: those of the first phase, the second, ..."""
        return (sum(self.blocks) + self.declinable,)

    def forward(self, masses: Floats) -> Floats:
        """Each phase on its own lattice."""
        found, symbol = [], np.zeros((*masses.shape[:-1], 1))
        cells = masses[..., :-1] if self.declinable else masses
        for law, onto, share in zip(self.laws, self.onto, self.shares, strict=True):
            own = onto.forward(cells)
            if self.declinable:
                own = np.concatenate([own, masses[..., -1:]], axis=-1)
            reports = share * law.forward(own)
            if self.declinable:
                symbol = symbol + reports[..., -1:]
                reports = reports[..., :-1]
            found.append(reports)
        return np.concatenate([*found, symbol] if self.declinable else found, axis=-1)

    def adjoint(self, values: Floats) -> Floats:
        """Each phase on its own lattice."""
        result = np.zeros((*values.shape[:-1], *self.inputs))
        start = 0
        for law, onto, share, many in zip(
            self.laws, self.onto, self.shares, self.blocks, strict=True
        ):
            own = values[..., start : start + many]
            start += many
            if self.declinable:
                own = np.concatenate([own, values[..., -1:]], axis=-1)
            means = share * law.adjoint(own)
            if self.declinable:
                result[..., -1] += means[..., -1]
                result[..., :-1] += onto.adjoint(means[..., :-1])
            else:
                result += onto.adjoint(means)
        return result

    def weights(self, index: int) -> Sequence[int]:
        """Shares of phases are those of the respondents, no integers."""
        raise Unsupported("The law of several phases together has no exact weights: each one has.")


@dataclass(frozen=True, eq=False)
class Stacked(Channel):
    """The reports of several phases of one question, for estimators.

    Each respondent answered in one phase, whose lattice was public by then. Nobody draws from this:
    the mechanisms of the phases do, and a report costs what its own mechanism says.

    Parameters
    ----------
    mechanisms
        Square waves of the same size and epsilon on lattices between the same bounds, in the order
        of the phases.
    shares
        Part of the respondents in each phase; `Counts` have their own.
    """

    name: ClassVar[str] = "phases"
    mechanisms: tuple[SquareWave, ...]
    shares: tuple[float, ...] = field(default=())

    def __post_init__(self) -> None:
        parts = tuple(self.mechanisms)
        if not 2 <= len(parts) <= PHASES or not all(isinstance(one, SquareWave) for one in parts):
            raise InvalidInput(
                f"square waves of 2 to {PHASES} phases", _checks.shown([type(x) for x in parts])
            )
        first = parts[0]
        for one in parts:
            a, b = one.lattice, first.lattice
            alike = (a.low, a.high, a.size, a.kind) == (b.low, b.high, b.size, b.kind)
            if not alike or one.law != first.law:
                raise Mismatch(
                    "phases of one question: the same bounds, size and epsilon",
                    f"{one!r} and {first!r}",
                )
        object.__setattr__(self, "mechanisms", parts)
        shares = self.shares or (1 / len(parts),) * len(parts)
        object.__setattr__(self, "shares", shares)

    @property
    def prefer_not_to_say(self) -> bool:  # type: ignore[override]
        """Whether "prefer not to say" was an answer."""
        return self.mechanisms[0].prefer_not_to_say

    @property
    def lattice(self) -> Lattice:
        """The lattice of the last phase, on which all phases are fitted."""
        return self.mechanisms[-1].lattice

    @cached_property
    def law(self) -> StackedLaw:
        """Distribution of a report, and of its phase, given a cell of the last lattice."""
        onto = tuple(Onto(self.lattice, one.lattice) for one in self.mechanisms)
        laws = tuple(one.law for one in self.mechanisms)
        return StackedLaw(laws, onto, self.shares, self.prefer_not_to_say)

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The last lattice."""
        return {"": self.lattice}

    def given(self, total: npt.NDArray[Any]) -> Stacked:
        """A copy with the shares of given counts."""
        edges = np.append(0, np.cumsum(self.law.blocks))
        sums = np.array([total[a:b].sum() for a, b in pairwise(edges)])
        if not sums.sum() > 0:
            return self
        return replace(self, shares=tuple((sums / sums.sum()).tolist()))

    def together(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Arrays over the reports of each phase as one over those of all."""
        if not self.prefer_not_to_say:
            return np.concatenate(parts)
        symbol = sum(part[-1:] for part in parts)
        return np.concatenate([*(part[:-1] for part in parts), symbol])

    def unbiased(self, power: int) -> Floats:
        """Not offered: such scores exist, but the likelihood is more precise."""
        raise Unsupported("Several phases together have no scores: take the likelihood's mean.")

    @property
    def epsilon(self) -> float:
        """The epsilon of a report, the same in every phase."""
        return self.mechanisms[0].epsilon

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; shares belong to counts."""
        return {"mechanism": self.name, "phases": [one.to_dict() for one in self.mechanisms]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Stacked:
        """The inverse of `to_dict`."""
        _checks.known_keys(fields, ("mechanism", "phases"), "phases")
        parts = fields.get("phases")
        if not isinstance(parts, list) or len(parts) > PHASES:
            raise InvalidInput(f"a list of at most {PHASES} phases", _checks.shown(parts))
        return cls(tuple(SquareWave.from_dict(part) for part in parts))


def phases_of(channel: Channel) -> tuple[Channel, ...]:
    """The mechanisms of the phases of a channel, or the only one."""
    return channel.mechanisms if isinstance(channel, Stacked) else (channel,)

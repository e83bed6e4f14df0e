"""Mechanisms: from a value to a report that may leave the device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confide import _checks
from confide.errors import InvalidInput
from confide.lattice import MAX_SIZE, Lattice
from confide.mechanisms.categories import ForcedResponse, RandomizedResponse
from confide.mechanisms.joint import Joint
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.partition import CellReports, Partition
from confide.mechanisms.protocol import Channel, Mechanism, Numeric, Reports
from confide.mechanisms.square_wave import SquareWave
from confide.mechanisms.two_sided_gamma import TwoSidedGamma

__all__ = [
    "CellReports",
    "Channel",
    "ForcedResponse",
    "Joint",
    "Laplace",
    "Mechanism",
    "Numeric",
    "Partition",
    "RandomizedResponse",
    "Reports",
    "SquareWave",
    "TwoSidedGamma",
    "from_dict",
]

MAX_CELLS = 2**22
"""Cells of all questions in one file, at most: counts of them take 32 megabytes."""
MAX_TABLES = 2**20
"""Cells of gamma noise among them: the noise of each is computed when the file is read."""

# What each kind is made from; every other key that `to_dict` writes follows from these.
_KEYS = {
    Laplace.name: ("lattice", "epsilon"),
    SquareWave.name: ("lattice", "epsilon"),
    TwoSidedGamma.name: ("lattice", "shape", "scale"),
    RandomizedResponse.name: ("categories", "epsilon"),
    ForcedResponse.name: ("categories", "truth"),
    Joint.name: ("parts",),
}


def affordable(several: Iterable[Any], where: str) -> None:
    """Refuse descriptions of mechanisms that declare too many cells, before any is built.

    Parameters
    ----------
    several
        What `to_dict` of mechanisms or questions wrote, or whatever else is in its place.
    where
        What they are in, for a message.
    """
    declared = [_declared(fields) for fields in several]
    for found, most, what in (
        (sum(cells for cells, _ in declared), MAX_CELLS, "cells"),
        (sum(cells for _, cells in declared), MAX_TABLES, "cells of two-sided gamma noise"),
    ):
        if found > most:
            raise InvalidInput(
                f"at most {most:,} {what} in {where}", f"{found:,}", "Take fewer cells a question."
            )


def _declared(fields: Any) -> tuple[int, int]:
    """How many cells a description declares, and how many of gamma noise; 0 if it is damaged."""
    if not isinstance(fields, Mapping):
        return 0, 0
    kind, parts = fields.get("mechanism"), fields.get("parts")
    if kind == Joint.name and isinstance(parts, list):
        single = [part for part in parts if isinstance(part, Mapping) and "parts" not in part]
        each = [_declared(part) for part in single]
        return sum(cells for cells, _ in each), sum(cells for _, cells in each)
    # A question has the keys of its lattice beside its own.
    lattice = fields.get("lattice", fields)
    size = lattice.get("size") if isinstance(lattice, Mapping) else None
    # What is no number of cells is refused by the lattice itself.
    cells = size if isinstance(size, int) and 0 < size <= MAX_SIZE else 0
    return cells, cells if kind == TwoSidedGamma.name else 0


def from_dict(fields: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a `to_dict` describes.

    Public parameters that follow from the others (the noise's exact rational, its weights) are
    computed anew and must agree with those given: noise that differs from what is declared is
    refused.
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a mechanism as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(_KEYS), mechanism=fields.get("mechanism"))
    needed = _KEYS[kind]
    for key in needed:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} for a {kind} mechanism", "none")
    mechanism = _build(kind, {key: fields[key] for key in needed})
    stated = mechanism.to_dict()
    _checks.known_keys(fields, tuple(stated), f"a {kind} mechanism")
    for key, value in fields.items():
        # Types first: 1 == True and arrays compare to arrays.
        same = type(value) is type(stated[key]) and value == stated[key]
        if key not in needed and not same:
            raise InvalidInput(
                f"{key}={_checks.shown(stated[key])} for this {kind} mechanism",
                f"{key}={_checks.shown(value)}",
                "It was made by other rules than ours, so that its epsilon cannot be vouched for.",
            )
    return mechanism


def _build(kind: str, parts: dict[str, Any]) -> Mechanism:
    if kind == Joint.name:
        if not isinstance(parts["parts"], list):
            raise InvalidInput("a list of parts", _checks.shown(parts["parts"]))
        named: dict[str, Mechanism] = {}
        for part in parts["parts"]:
            if not isinstance(part, Mapping) or part.get("mechanism") == Joint.name:
                raise InvalidInput("single mechanisms as parts", _checks.shown(part))
            name = part.get("name")
            if not isinstance(name, str) or not name or name in named:
                raise InvalidInput("a name of its own for each part", _checks.shown(name))
            named[name] = from_dict({key: part[key] for key in part if key != "name"})
        return Joint(named)
    if kind == RandomizedResponse.name:
        return RandomizedResponse(parts["categories"], epsilon=parts["epsilon"])
    if kind == ForcedResponse.name:
        return ForcedResponse(parts["categories"], truth=parts["truth"])
    lattice = Lattice.from_dict(parts.pop("lattice"))
    if kind == TwoSidedGamma.name:
        return TwoSidedGamma(lattice, **parts)
    return {Laplace.name: Laplace, SquareWave.name: SquareWave}[kind](lattice, **parts)

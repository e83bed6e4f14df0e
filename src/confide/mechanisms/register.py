"""The register of mechanisms by name, and reading them back from JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confide import _checks
from confide.errors import InvalidInput
from confide.lattice import MAX_SIZE
from confide.mechanisms.categories import ForcedResponse, RandomizedResponse
from confide.mechanisms.joint import Joint
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.pair_response import PairResponse
from confide.mechanisms.partition import Partition
from confide.mechanisms.protocol import Mechanism, Numeric
from confide.mechanisms.square_wave import SquareWave
from confide.mechanisms.two_sided_gamma import TwoSidedGamma

KINDS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (
        SquareWave,
        Laplace,
        TwoSidedGamma,
        RandomizedResponse,
        ForcedResponse,
        Joint,
        PairResponse,
        Partition,
    )
}
"""Every mechanism that files, surveys, the planner and the audits know, by name.

A mechanism of one's own is added by setting an item, before anything is read that names it.
"""
NUMBERS, WORDS = SquareWave.name, RandomizedResponse.name
"""What a question gets that names no mechanism."""
MAX_CELLS = 2**22
"""Cells of all questions in one file, at most: counts of them take 32 megabytes."""
MAX_TABLES = 2**20
"""Cells of gamma noise among them: the noise of each is computed when the file is read."""


def numeric() -> dict[str, type[Numeric]]:
    """The kinds that take a number: those that can be planned.

    Examples
    --------
    >>> "square-wave" in numeric(), "randomized-response" in numeric()
    (True, False)
    """
    return {name: kind for name, kind in KINDS.items() if issubclass(kind, Numeric)}


def from_dict(fields: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a `to_dict` describes.

    Public parameters that follow from the others (the noise's exact rational, its weights) are
    computed anew and must agree with those given: noise that differs from what is declared is
    refused.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
    >>> from_dict(mechanism.to_dict()) == mechanism
    True
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a mechanism as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(KINDS), mechanism=fields.get("mechanism"))
    return KINDS[kind].from_dict(fields, KINDS)


def affordable(several: Iterable[Any], where: str, *, most: int = MAX_CELLS) -> None:
    """Refuse descriptions of mechanisms that declare too many cells, before any is built.

    Parameters
    ----------
    several
        What `to_dict` of mechanisms or questions wrote, or whatever else is in its place.
    where
        What they are in, for a message.
    most
        Cells of all of them, at most.
    """
    declared = [_declared(fields) for fields in several]
    for found, limit, what in (
        (sum(cells for cells, _ in declared), most, "cells"),
        (sum(cells for _, cells in declared), MAX_TABLES, "cells of two-sided gamma noise"),
    ):
        if found > limit:
            raise InvalidInput(
                f"at most {limit:,} {what} in {where}", f"{found:,}", "Take fewer cells a question."
            )


def _declared(fields: Any) -> tuple[int, int]:
    """How many cells a description declares, and for how many noise is computed; 0 if damaged."""
    if not isinstance(fields, Mapping):
        return 0, 0
    # A question has the keys of its lattice beside its own.
    lattice = fields.get("lattice", fields)
    size = lattice.get("size") if isinstance(lattice, Mapping) else None
    # What is no number of cells is refused by the lattice itself.
    cells = size if isinstance(size, int) and 0 < size <= MAX_SIZE else 0
    words = fields.get("categories")
    cells += len(words) if isinstance(words, list | tuple) else 0
    name = fields.get("mechanism")
    kind = KINDS.get(name) if isinstance(name, str) else None
    counted = [(cells, cells if kind is not None and kind.computed else 0)]
    # Parts cannot have parts themselves.
    parts = fields.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and "parts" not in part:
            counted.append(_declared(part))
    return sum(cells for cells, _ in counted), sum(cells for _, cells in counted)

"""Raking: weights that give a sample the public margins of its population (post-stratification)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.files.paths import named
from confide.files.settings import settings_of

Margins = Mapping[str, Mapping[str | int, float]]
"""For each public column how many people, or which share of them, are in each of its groups."""

TURNS = 1000
CLOSE = 1e-9
"""Relative distance from the margins at which weights are good enough."""
ROUNDED = 1e-6
"""Margins add up where their totals differ by no more than this share: published ones are rounded.
"""


def weights(
    by: Sequence[str], keys: Sequence[Sequence[str | int]], n: Floats, margins: Margins
) -> Floats:
    """A weight for each group, so that the weighted sample has the given margins.

    Iterative proportional fitting (Deming and Stephan 1940): the weights are multiplied for one
    column after another, until they no longer change. They have the mean 1 over respondents.

    Parameters
    ----------
    by
        Public columns that make the groups.
    keys
        For each group its value in each column.
    n
        Respondents of each group, or the sum of their weights.
    margins
        For each column the people, or the share of them, in each of its groups.

    Examples
    --------
    >>> keys = [("north", "f"), ("north", "m"), ("south", "f"), ("south", "m")]
    >>> half = {"region": {"north": .5, "south": .5}, "sex": {"f": .5, "m": .5}}
    >>> weights(("region", "sex"), keys, np.array([30.0, 30, 20, 20]), half).round(3).tolist()
    [0.833, 0.833, 1.25, 1.25]
    """
    targets = _checked(by, keys, n, margins)
    found = np.ones(n.size)
    for _ in range(TURNS):
        off = 0.0
        for places, shares in targets:
            now = np.bincount(places, found * n, minlength=shares.size) / n.sum()
            # A group that earlier columns left without respondents cannot come back.
            if not (now > 0).all():
                raise _unreached()
            off = max(off, float(np.abs(now / shares - 1).max()))
            found *= (shares / now)[places]
        if off < CLOSE:
            scaled: Floats = found * (n.sum() / (found * n).sum())
            return scaled
    raise _unreached()


def _unreached() -> InvalidInput:
    return InvalidInput(
        "margins that some weights of these respondents have",
        "others: some combinations of groups have no respondents",
        "Leave a column out of the margins, or join small groups before counting.",
    )


def _checked(
    by: Sequence[str], keys: Sequence[Sequence[str | int]], n: Floats, margins: Margins
) -> list[tuple[Any, Floats]]:
    """For each margin the place of every group in it, and its shares."""
    if not isinstance(margins, Mapping) or not margins:
        raise InvalidInput("margins of at least one public column", _checks.shown(margins))
    if not keys or not n.sum() > 0:
        raise InvalidInput("respondents to rake", "none")
    totals = {column: _total(column, margins[column]) for column in margins}
    first, whole = next(iter(totals.items()))
    for column, total in totals.items():
        if abs(total - whole) > ROUNDED * whole:
            raise InvalidInput(
                "margins that add up to one total",
                f"{whole:.10g} for {first!r} and {total:.10g} for {column!r}",
                "Give shares that add up to 1 for every column, or people of one population.",
            )
    targets = []
    for column, groups in margins.items():
        if column not in by:
            raise InvalidInput(
                f"margins of columns that make the groups: {', '.join(by)}",
                _checks.shown(column),
                "Summarize by that column too.",
            )
        own = [key[list(by).index(column)] for key in keys]
        # Files have words for keys; groups may be whole numbers.
        known = {str(group): at for at, group in enumerate(groups)}
        for group in own:
            if str(group) not in known:
                raise InvalidInput(
                    f"a margin for every group of {column!r}", f"none for {_checks.shown(group)}"
                )
        places = np.array([known[str(group)] for group in own])
        there = np.bincount(places, n, minlength=len(groups))
        for group, people in zip(groups, there, strict=True):
            if not people > 0:
                raise InvalidInput(
                    f"respondents in every group of the margin {column!r}",
                    f"none in {_checks.shown(group)}",
                    "Nobody can speak for them: join that group with another one.",
                )
        targets.append((places, np.array([float(x) for x in groups.values()]) / totals[column]))
    return targets


def _total(column: str, groups: Any) -> float:
    """What the groups of a margin add up to: 1 where they are shares."""
    if not isinstance(groups, Mapping) or not groups:
        raise InvalidInput(f"a number for each group of {column!r}", _checks.shown(groups))
    numbers = []
    for group, number in groups.items():
        if not isinstance(group, str | int) or isinstance(group, bool):
            raise InvalidInput(f"groups of {column!r} by name", _checks.shown(group))
        try:
            value = _checks.finite(margin=number)
        except InvalidInput:
            value = 0.0
        if not 0 < value <= 1e15:
            raise InvalidInput(
                f"a number > 0 for each group of the margin {column!r}",
                f"{_checks.shown(number)} for {_checks.shown(group)}",
                "Leave groups without people out.",
            )
        numbers.append(value)
    if len({str(group) for group in groups}) < len(groups):
        raise InvalidInput(f"each group of {column!r} once", "one twice")
    total = sum(numbers)
    if max(numbers) <= 1 and abs(total - 1) > ROUNDED:
        raise InvalidInput(
            f"shares that add up to 1 in the margin {column!r}", f"shares that add up to {total:g}"
        )
    return total


def read(path: str | Path) -> Margins:
    """Margins from a .toml or .json file: a table for each column, with a number for each group.

    Parameters
    ----------
    path
        The file, for instance with the lines ``[region]``, ``north = 0.3`` and ``south = 0.7``.
    """
    fields = settings_of(path, "a file of margins")
    if not isinstance(fields, dict) or not all(isinstance(one, dict) for one in fields.values()):
        raise InvalidInput(
            f"a table of numbers for each column in {named(Path(path))}",
            "values of another kind",
            "Write a line [region], and below it north = 0.3 and south = 0.7.",
        )
    margins: Margins = fields
    return margins

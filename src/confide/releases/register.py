"""The register of releases: made from settings by name, or read back from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from confide import _checks
from confide.errors import BadSetting, InvalidInput
from confide.lattice import Axis, Lattice, axes_of_settings
from confide.releases.bernstein import Bernstein
from confide.releases.bounded import Bounds, Columned
from confide.releases.choice import Choice
from confide.releases.cross_table import CrossTable
from confide.releases.gaussian_process import GaussianProcess
from confide.releases.histogram import Histogram
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.least_squares import LeastSquares
from confide.releases.means import Means
from confide.releases.query import COUNT, Query
from confide.releases.release import BOUNDS, Recipe
from confide.releases.selection import Selection
from confide.releases.series import Series
from confide.releases.statistic import Statistic

KINDS: dict[str, type[Recipe]] = {
    kind.name: kind
    for kind in (
        Query,
        Histogram,
        Series,
        GaussianProcess,
        Bernstein,
        KolmogorovSmirnov,
        Choice,
        Means,
        LeastSquares,
        CrossTable,
    )
}
"""Every kind of release that JSON can name; one of one's own is added by setting an item. A
`Statistic` and a `Selection` hold a function of their user's, which JSON cannot hold."""

STATED: dict[str, type[Recipe]] = {kind.name: kind for kind in (Statistic, Selection)}
"""Kinds that hold a function, which settings can hold and JSON cannot."""
ENDS = {"low": "answer_low", "high": "answer_high"}
"""Bounds of a function's answers have other names in settings than those of the columns."""

COMMON = ("column", "low", "high", "scale", "epsilon")
"""Settings of all kinds that have bounds: names, public bounds and scale of columns, and cost."""
NEEDED = {
    "what": ("{what}, the number to release", "Such as {what mean}."),
    "delta": (
        "{delta}, which is part of the cost",
        "Such as {delta 1e-6}: far below 1 in as many people as the file has.",
    ),
}
"""What is said where a setting without a default is missing."""


TABLE_CELLS = 4
"""Cells of a column of numbers in a cross table, unless told otherwise."""


def from_dict(fields: Mapping[str, Any]) -> Recipe:
    """The recipe that a `to_dict` describes.

    Examples
    --------
    >>> recipe = Query("count", epsilon=1.0)
    >>> from_dict(recipe.to_dict()) == recipe
    True
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a release as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(KINDS), release=fields.get("release"))
    return KINDS[kind].from_dict(fields, KINDS)


def of_settings() -> dict[str, tuple[str, ...]]:
    """The kinds that plain settings make, and the settings that each has besides the common ones.

    Examples
    --------
    >>> of_settings()["histogram"]
    ('cells', 'integers')
    """
    found = {}
    for name, kind in {**KINDS, **STATED}.items():
        own = tuple(each.name for each in fields(kind))  # type: ignore[arg-type]
        rest = tuple(each for each in own if each not in ("lattice", "columns", "epsilon"))
        if "columns" in own:
            found[name] = (*rest, "words", "cells")
        elif name in STATED:
            found[name] = tuple(ENDS.get(each, each) for each in rest)
        elif "lattice" in own:
            found[name] = rest
    return found


def from_settings(kind: str, settings: Mapping[str, Any]) -> Recipe:
    """A release made of plain settings, such as those of a form or of the command line.

    Parameters
    ----------
    kind
        Its name, one of those that `of_settings` gives.
    settings
        ``epsilon``, the public bounds ``low`` and ``high`` and perhaps ``scale``, and what the
        kind has besides, such as ``cells``. For several columns ``column``, ``low`` and ``high``
        are lists. Where columns may hold words, ``words`` has their categories by name, and the
        bounds are those of the others. Bounds of a function's answers are ``answer_low`` and
        ``answer_high``. What is None counts as not given.

    Examples
    --------
    >>> from_settings("histogram", {"low": 0, "high": 90, "epsilon": 1.0, "cells": 9}).cells
    9
    """
    known = of_settings()
    own = known[_checks.one_of(tuple(known), kind=kind)]
    given = {name: value for name, value in settings.items() if value is not None}
    everywhere = {*COMMON, *(each for several in known.values() for each in several)}
    for name, value in given.items():
        if name not in everywhere:
            _checks.known_keys([name], (*COMMON, *own), "the settings of a release")
        if name not in (*COMMON, *own):
            raise BadSetting(f"no {{{name}}} for {kind}", f"{{{name} {_checks.shown(value)}}}")
    if kind == Query.name and given.get("what") == "quantile" and "q" not in given:
        raise BadSetting("{q}, the share of people below the quantile, such as 0.5", "none")
    make: Callable[..., Recipe] = {**KINDS, **STATED}[kind]
    for name in _required(make):
        said = ENDS.get(name, name) if kind in STATED else name
        if said not in given and said in own:
            expected, advice = NEEDED.get(said, (f"{{{said}}} for {kind}", ""))
            raise BadSetting(expected, "none", advice)
    if "epsilon" not in given:
        raise BadSetting("{epsilon}, what the release costs", "none")
    chosen = {name: value for name, value in given.items() if name in (*own, "epsilon")}
    if "words" in own:
        for name in ("words", "cells"):
            chosen.pop(name, None)
        return make(columns=_axes(kind, given), **chosen)
    if kind in STATED:
        chosen |= {name: chosen.pop(said) for name, said in ENDS.items()}
    bounds = _bounds(kind, given)
    if bounds is not None:
        chosen["lattice"] = bounds
    return make(**chosen)


def _axes(kind: str, given: Mapping[str, Any]) -> dict[str, Axis]:
    """The bounds or categories of each of several columns."""
    if not given.get("column"):
        raise BadSetting(f"{{column}}, the names of the columns for {kind}", "none")
    size = {"size": _checks.integer(2, cells=given["cells"])} if "cells" in given else {}
    if kind == CrossTable.name and not size:
        size = {"size": TABLE_CELLS}
    return axes_of_settings(
        _several(given["column"]),
        words=given.get("words", {}),
        low=_several(given.get("low", [])),
        high=_several(given.get("high", [])),
        scale=given.get("scale", "linear"),
        **size,
    )


def _required(kind: Any) -> list[str]:
    return [
        each.name
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    ]


def _bounds(kind: str, given: Mapping[str, Any]) -> Bounds | None:
    """The lattice of the column, or of each of several columns."""
    if kind == "query" and given["what"] == "count":
        named = [f"{{{end}}}" for end in ("low", "high") if end in given]
        if named:
            raise BadSetting("no {low} or {high} for a count", " and ".join(named), COUNT)
        return None
    columns = _several(given.get("column", ""))
    low, high = (_several(given.get(end, ())) for end in ("low", "high"))
    for end, bounds in (("low", low), ("high", high)):
        if len(bounds) != len(columns):
            each = "" if len(columns) == 1 else f" for each of {len(columns)} columns"
            got = f"{len(bounds)}" if bounds else "none"
            raise BadSetting(f"{{{end}}}, a public bound{each}", got, BOUNDS)
    scale = given.get("scale", "linear")
    if len(columns) == 1:
        return Lattice(low=low[0], high=high[0], scale=scale)
    joint = [name for name, each in KINDS.items() if issubclass(each, Columned)]
    if kind not in (*joint, *STATED):
        advice = f"Several take {' or '.join(joint)}."
        raise BadSetting(f"one {{column}} for {kind}", f"{len(columns)}", advice)
    pairs = zip(columns, low, high, strict=True)
    return {name: Lattice(low=a, high=b, scale=scale) for name, a, b in pairs}


def _several(given: Any) -> Sequence[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]

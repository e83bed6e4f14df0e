"""Counts of reports in a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from confide import _validate
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import Joint, Mechanism
from confide.reports.rows import CHOICES, LeftOut
from confide.reports.stamps import Stamp, differs
from confide.summaries import Counts, Groups
from confide.tables._query import Query
from confide.tables._rows import Grouping
from confide.tables._sources import Opened, grouped, opened


@overload
def counts(
    table: Any,
    mechanism: Mechanism,
    *,
    column: str | Sequence[str] | None = ...,
    response: str | None = ...,
    bounds: tuple[float, float] | None = ...,
    weights: str | None = ...,
    by: None = ...,
    simulated: bool = ...,
    invalid: Literal["refuse", "drop"] = ...,
) -> Counts: ...


@overload
def counts(
    table: Any,
    mechanism: Mechanism,
    *,
    column: str | Sequence[str] | None = ...,
    response: str | None = ...,
    bounds: tuple[float, float] | None = ...,
    weights: str | None = ...,
    by: str | Sequence[str],
    simulated: bool = ...,
    invalid: Literal["refuse", "drop"] = ...,
) -> Groups[Counts]: ...


def counts(
    table: Any,
    mechanism: Mechanism,
    *,
    column: str | Sequence[str] | None = None,
    response: str | None = None,
    bounds: tuple[float, float] | None = None,
    weights: str | None = None,
    by: str | Sequence[str] | None = None,
    simulated: bool = False,
    invalid: Literal["refuse", "drop"] = "refuse",
) -> Counts | Groups[Counts]:
    """Count the reports of a table where it lives, with one GROUP BY.

    Parameters
    ----------
    table
        An Ibis table or expression of any engine; files by path, glob, folder or list of them
        (.parquet, .csv, .csv.gz), which DuckDB reads; or an Arrow, pandas or polars table or a dict
        of columns.
    mechanism
        What made the reports. Files that say so themselves must say the same.
    column
        The column of reports; for a joint mechanism one a part, by default the parts' names. By
        default the table's only column.
    response
        A public column of numbers to regress on the answers.
    bounds
        Public bounds of the response; by default those observed, which merging widens.
    weights
        A public column of survey weights.
    by
        Public columns of words, whole numbers or dates: one summary for each of their values.
    simulated
        Whether the reports are simulated, where the files do not say.
    invalid
        What to do about rows that cannot be used, such as a report out of range: ``"refuse"`` the
        table, or ``"drop"`` them and warn with `LeftOut`, which says how many of each kind.

    Examples
    --------
    >>> from confide import Lattice, Laplace
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> table = {"pay": [3, 3, 5], "region": ["north", "south", "north"]}
    >>> counts(table, mechanism, column="pay").n
    3
    >>> counts(table, mechanism, column="pay", by="region")
    <Groups of 3 reports: 2 by region>
    """
    made, left = counted(
        table,
        mechanism,
        column=column,
        response=response,
        bounds=bounds,
        weights=weights,
        by=by,
        simulated=simulated,
        invalid=invalid,
    )
    if left:
        warnings.warn(LeftOut(left), stacklevel=2)
    return made


def counted(
    table: Any,
    mechanism: Mechanism,
    *,
    column: str | Sequence[str] | None,
    response: str | None,
    bounds: tuple[float, float] | None,
    weights: str | None,
    by: str | Sequence[str] | None,
    simulated: bool,
    invalid: str,
) -> tuple[Counts | Groups[Counts], dict[str, int]]:
    """The same with how many rows of each kind were left out, instead of a warning."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput("a mechanism", _validate.shown(mechanism))
    _validate.one_of(CHOICES, invalid=invalid)
    grouping = Grouping.of(by)
    query = Query(
        mechanism, _columns(table, mechanism, column), response, weights, _ends(bounds, response)
    )
    source = opened(table, [*query.columns, *query.public, *grouping.by])
    stamped = checked(source, query, simulated)
    rows = grouped(query.over(source, grouping), source.where)
    if query.unsure(rows):
        rows = grouped(replace(query, careful=True).over(source, grouping), source.where)
    made, left = query.summaries(rows, grouping, stamped, invalid=invalid, where=source.where)
    return (made[()] if by is None else Groups(grouping.by, made)), left


def _columns(
    table: Any, mechanism: Mechanism, column: str | Sequence[str] | None
) -> tuple[str, ...]:
    if column is not None:
        names = (column,) if isinstance(column, str) else tuple(column)
    elif isinstance(mechanism, Joint):
        names = tuple(mechanism.parts)
    else:
        names = tuple(opened(table, ()).table.columns)
    wanted = len(mechanism.law.outputs)
    if len(names) != wanted or not all(isinstance(name, str) for name in names):
        raise InvalidInput(
            "one column of reports" if wanted == 1 else f"{wanted} columns of reports",
            ", ".join(map(str, names[:20])) or "none",
            "Say with column= which are meant.",
        )
    return names


def _ends(bounds: tuple[float, float] | None, response: str | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    if response is None:
        raise InvalidInput("a response to go with its bounds", "bounds alone")
    low, high = (_validate.finite(bounds=end) for end in bounds)
    if not low <= high:
        raise InvalidInput("bounds in order", f"{low:g} and {high:g}")
    return low, high


def checked(source: Opened, query: Query, simulated: bool) -> bool:
    """Whether the reports are simulated; every file must be by the mechanism that is asked for."""
    if not isinstance(simulated, bool):
        raise InvalidInput("simulated=True or False", _validate.shown(simulated))
    said = set()
    for metadata, where in source.stamps:
        stamp = Stamp.read(metadata, where)
        said.add(simulated if stamp is None else stamp.simulated)
        if stamp is None:
            continue
        parts = getattr(query.mechanism, "parts", None) or {"": query.mechanism}
        for name, part in zip(query.columns, parts.values(), strict=True):
            if stamp.made([name], where) != part:
                raise differs([name], where)
        for name in query.public:
            if name in stamp.mechanisms:
                raise InvalidInput("a public column", f"the reports in column {name!r}")
    if len(said) > 1:
        raise Mismatch("reports that are all private or all simulated", "some of each")
    return said.pop() if said else simulated

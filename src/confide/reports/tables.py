"""Reports as tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide import _arrow, _cells
from confide.errors import InvalidInput, extra
from confide.mechanisms import Joint, Mechanism, Reports
from confide.reports.stamps import Stamp, differs, unknown


def to_arrow(reports: Reports, *, name: str = "report") -> Any:
    """An Arrow table with the mechanism in its metadata.

    Rows are in the order of the reports, which can give answers away: see `Mechanism.privatize`.
    Joint reports have a column for each part, under the part's name.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> made = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0).privatize([0.1, 0.9])
    >>> from_table(to_arrow(made)).mechanism == made.mechanism
    True
    """
    parts = getattr(reports.mechanism, "parts", None) or {name: reports.mechanism}
    columns = reports.indices.reshape(len(reports), len(parts)).T
    table = _arrow.arrow().table(dict(zip(parts, map(np.ascontiguousarray, columns), strict=True)))
    return table.replace_schema_metadata(Stamp(parts, reports.simulated).metadata())


def to_pandas(reports: Reports, *, name: str = "report") -> Any:
    """A pandas table of the integers; it does not keep the mechanism."""
    extra("pandas", "all")
    return to_arrow(reports, name=name).to_pandas()


def to_polars(reports: Reports, *, name: str = "report") -> Any:
    """A polars table of the integers; it does not keep the mechanism."""
    return extra("polars", "all").from_arrow(to_arrow(reports, name=name))


def from_table(
    table: Any,
    *,
    column: str | Sequence[str] | None = None,
    mechanism: Mechanism | None = None,
    simulated: bool = False,
) -> Reports:
    """The reports in a table.

    Parameters
    ----------
    table
        Arrow, pandas or polars table, or a dict of columns.
    column
        A column, or two or three that make joint reports; by default all that the table says are
        reports, or its only one.
    mechanism
        What made them: needed where the table does not say (only Arrow does), checked where it
        does.
    simulated
        Whether they are simulated, where the table does not say.
    """
    bare = _arrow.table_of(table)
    where = "the table"
    stamp = Stamp.read(bare.schema.metadata, where)
    made = Made.of(bare.schema.names, stamp, column, mechanism, where, simulated=simulated)
    return made.reports(bare, plain=False, where=where)


@dataclass(frozen=True)
class Made:
    """Which columns of a table are wanted, and what made them.

    Parameters
    ----------
    names
        The columns.
    mechanism
        What made them together.
    simulated
        Whether they are simulated.
    """

    names: tuple[str, ...]
    mechanism: Mechanism
    simulated: bool

    @classmethod
    def of(
        cls,
        there: Sequence[str],
        stamp: Stamp | None,
        column: str | Sequence[str] | None,
        mechanism: Mechanism | None,
        where: str,
        *,
        simulated: bool = False,
    ) -> Made:
        """From what a table has and says, and what is asked for."""
        if stamp is None and mechanism is None:
            raise unknown(where)
        if column is not None:
            names = [column] if isinstance(column, str) else list(column)
        elif isinstance(mechanism, Joint):
            names = list(mechanism.parts)
        else:
            names = list(stamp.mechanisms if stamp else there)
        wanted = len(mechanism.law.outputs) if mechanism else min(max(len(names), 1), 3)
        if len(names) != wanted:
            raise InvalidInput(
                f"{wanted} columns of reports in {where}",
                ", ".join(names[:20]) or "none",
                "Say with column= which are meant.",
            )
        if stamp is not None:
            found = stamp.made(names, where)
            if mechanism is not None and found != mechanism:
                raise differs(names, where)
            mechanism, simulated = found, stamp.simulated
        if mechanism is None:
            raise unknown(where)
        return cls(tuple(names), mechanism, simulated)

    def reports(self, table: Any, *, plain: bool, where: str, first: int = 0) -> Reports:
        """The reports of an Arrow table or batch, its cells text where it is plain."""
        rows = _cells.rows_of(where, first)
        parts = [
            _cells.whole(_arrow.column_of(table, name, where), name=name, plain=plain, where=rows)
            for name in self.names
        ]
        indices = np.stack(parts, axis=1) if len(parts) > 1 else parts[0]
        return within(indices, self.mechanism, self.simulated, where, rows)


def within(
    indices: Any, mechanism: Mechanism, simulated: bool, where: str, rows: _cells.Where
) -> Reports:
    """Reports, or an error that says which row is the first that is none."""
    for axis, size in enumerate(mechanism.law.outputs):
        column = indices if indices.ndim == 1 else indices[:, axis]
        bad = (column < 0) | (column >= size)
        if bad.any():
            # Which number it is is not said: raw values may have been taken for reports.
            raise InvalidInput(
                f"reports from 0 to {size - 1} in {where}",
                f"another number in {rows(int(bad.argmax()))}",
                "They are not reports of this mechanism.",
            )
    return Reports(indices, mechanism, simulated=simulated)

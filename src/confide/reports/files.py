"""Reports in Parquet and CSV files, whole or in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _arrow, _cells, _limits, _validate
from confide._files import expand, named, writable
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import Mechanism, Reports
from confide.reports import rows as marks
from confide.reports.stamps import Stamp, differs, unknown
from confide.reports.tables import Made, to_arrow, within

Floats = npt.NDArray[np.float64]


def not_replaced(path: Path, replace: bool) -> None:
    """Refuse to put reports in the place of a file, unless that was asked for."""
    if path.exists() and not replace:
        raise InvalidInput(
            f"no file at {named(path)}",
            "one that is there already",
            "A second report of the same people costs epsilon again. Take another name, or replace "
            "it: --replace, or replace=True in Python.",
        )


def write(
    reports: Reports,
    path: str | Path,
    *,
    name: str = "report",
    keep_order: bool = False,
    replace: bool = False,
) -> None:
    """Write reports to a Parquet or CSV file in random order, whole or not at all.

    Simulated reports have nothing to hide and stay in their order. CSV holds the integers only; it
    cannot say that reports are simulated, so those are refused.

    Parameters
    ----------
    reports
        What to write.
    path
        The file.
    name
        The name of the column.
    keep_order
        Write them in their order, which can give answers away: see `Mechanism.privatize`.
    replace
        Replace a file that is there. If it holds other reports of the same people that anybody
        has seen, the second ones cost epsilon again.
    """
    path = Path(path)
    writable(path, _arrow.SUFFIXES)
    not_replaced(path, replace)
    if path.suffix == ".csv" and reports.simulated:
        raise InvalidInput(
            "a .parquet file for simulated reports", "a .csv file, which cannot say what they are"
        )
    table = to_arrow(reports, name=name)
    if not (keep_order or reports.simulated):
        table = _arrow.mixed(table)
    _arrow.write(table, path, replace=replace)


def read(
    path: str | Path,
    *,
    column: str | Sequence[str] | None = None,
    mechanism: Mechanism | None = None,
) -> Reports:
    """Read the reports of a Parquet or CSV file; for CSV the mechanism is needed."""
    source = _arrow.Source(expand([path], _arrow.READABLE)[0])
    if not source.metadata and mechanism is None:
        raise unknown(source.where)
    if column is not None and source.plain:
        source.require([column] if isinstance(column, str) else column)
    where, size = source.where, source.path.stat().st_size
    stamp = Stamp.read(source.metadata, where)
    made = Made.of(source.names, stamp, column, mechanism, where)
    parts: list[Any] = []
    rows = 0
    for batch in source.batches(made.names):
        part = made.reports(batch, plain=source.plain, where=where, first=rows)
        parts.append(part.indices)
        rows += len(part)
        advice = "Take tables.counts, which holds no reports in memory."
        _limits.check_held(rows * len(made.names), size, where, advice)
    if not rows:
        raise InvalidInput(f"rows in {where}", "none")
    return Reports(np.concatenate(parts), made.mechanism, simulated=made.simulated)


@dataclass(frozen=True)
class Files:
    """Files of reports by the same mechanisms, every one of them checked before any is read.

    Parameters
    ----------
    sources
        The files.
    mechanisms
        What made each column.
    simulated
        Whether the reports are simulated: all of them or none.
    public
        Columns of public numbers to read along.
    surveys
        The surveys that the files say they answer, as plain values.
    """

    sources: tuple[_arrow.Source, ...]
    mechanisms: Mapping[str, Mechanism]
    simulated: bool
    public: tuple[str, ...] = ()
    surveys: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def open(
        cls,
        paths: Iterable[str | Path],
        *,
        mechanisms: Mapping[str, Mechanism] | None = None,
        columns: Sequence[str] | None = None,
        public: Sequence[str] = (),
    ) -> Files:
        """Check files, globs and folders.

        Parameters
        ----------
        paths
            What to read.
        mechanisms
            What made each column: needed where a file does not say, checked where it does.
        columns
            The columns that are wanted, by default all that have a mechanism.
        public
            Columns of public numbers to read along.
        """
        sources = tuple(_arrow.Source(path) for path in expand(paths, _arrow.READABLE))
        stamps = [Stamp.read(source.metadata, source.where) for source in sources]
        for source, stamp in zip(sources, stamps, strict=True):
            if mechanisms is None and stamp is None:
                raise unknown(source.where)
        first = stamps[0]
        wanted = dict(mechanisms or (first.mechanisms if first else {}))
        for name in columns or ():
            _validate.one_of(tuple(wanted), question=name)
        for name in public:
            if name in wanted:
                raise InvalidInput("a public column", f"the reports in column {name!r}")
        wanted = {name: wanted[name] for name in columns or wanted}
        for source, stamp in zip(sources, stamps, strict=True):
            source.require([*wanted, *public])
            for name, mechanism in wanted.items():
                if stamp is not None and stamp.made([name], source.where) != mechanism:
                    raise differs([name], source.where)
                _whole(source, name)
        simulated = {stamp is not None and stamp.simulated for stamp in stamps}
        if len(simulated) > 1:
            raise Mismatch("reports that are all private or all simulated", "some of each")
        surveys = tuple(stamp.survey for stamp in stamps if stamp and stamp.survey)
        return cls(sources, wanted, simulated.pop(), tuple(public), surveys)

    @property
    def rows(self) -> int | None:
        """Number of rows, where every file knows its own."""
        rows = [source.rows for source in self.sources]
        return None if None in rows else sum(row or 0 for row in rows)

    def batches(self) -> Iterator[tuple[dict[str, Reports], dict[str, Floats]]]:
        """The reports of each column and the public numbers, a batch at a time, in bounded memory.

        A batch may be empty, a file may not.
        """
        columns = list(dict.fromkeys([*self.mechanisms, *self.public]))
        for source in self.sources:
            first = 0
            for batch in source.batches(columns):
                plain, where = source.plain, _cells.rows_of(source.where, first)
                reports = {}
                for name, mechanism in self.mechanisms.items():
                    column = batch.column(name)
                    indices = _cells.whole(column, name=name, plain=plain, where=where)
                    place = f"column {name!r}"
                    reports[name] = within(indices, mechanism, self.simulated, place, where)
                numbers = {}
                for name in self.public:
                    column = batch.column(name)
                    numbers[name] = _cells.present(column, name=name, plain=plain, where=where)
                yield reports, numbers
                first += batch.num_rows
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")

    def marked(
        self,
        *,
        weights: str | None = None,
        response: str | None = None,
        bounds: tuple[float, float] | None = None,
    ) -> Iterator[marks.Marked]:
        """The same with every row marked by what is wrong with it, instead of an error.

        Parameters
        ----------
        weights, response
            Which public columns are weights and responses, if any.
        bounds
            Bounds of the response, if there are any.
        """
        columns = list(dict.fromkeys([*self.mechanisms, *self.public]))
        for source in self.sources:
            first, plain = 0, source.plain
            for batch in source.batches(columns):
                where = _cells.rows_of(source.where, first)
                reports, numbers = {}, {}
                for name, mechanism in self.mechanisms.items():
                    reports[name] = marks.of_reports(
                        batch.column(name),
                        mechanism.law.outputs[0],
                        name=name,
                        plain=plain,
                        where=where,
                    )
                if weights is not None:
                    numbers["weights"] = marks.of_weights(
                        batch.column(weights), name=weights, plain=plain, where=where
                    )
                if response is not None:
                    numbers["response"] = marks.of_responses(
                        batch.column(response), bounds, name=response, plain=plain, where=where
                    )
                yield marks.Marked(where, reports, numbers)
                first += batch.num_rows
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")


def _whole(source: _arrow.Source, name: str) -> None:
    """Refuse a Parquet column that cannot hold reports before any of it is read."""
    if not source.plain and not _arrow.arrow().types.is_integer(source.kind(name)):
        raise InvalidInput(
            f"whole numbers in column {name!r}",
            f"the type {_cells.kind_of(source.kind(name))} in row 1 of {source.where}",
        )

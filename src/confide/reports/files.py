"""Reports in tables and files: written, read, and checked before any is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confide import _checks, _limits
from confide._types import Floats
from confide.errors import BadRows, BadType, InvalidInput, Mismatch, extra
from confide.files import arrow, copies, formats, parse
from confide.files.paths import counted, expand, named, writable
from confide.files.source import Source
from confide.mechanisms import Joint, Mechanism, Partition, Reports
from confide.reports import rows as marks
from confide.reports.stamps import Stamp, Unstamped, accounted, differs, unknown


def to_arrow(reports: Reports, *, name: str = "report") -> Any:
    """An Arrow table with the mechanism in its metadata.

    Rows are in the order of the reports, which can give answers away: see `Mechanism.privatize`.
    Joint reports have a column for each question, under its name; vector reports of a partition
    have columns of lists, ``w`` and ``z``.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> made = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0).privatize([0.1, 0.9])
    >>> from_table(to_arrow(made)).mechanism == made.mechanism
    True
    """
    if isinstance(reports.mechanism, Partition):
        return _vectors_to_arrow(reports, reports.mechanism)
    parts = {key or name: part for key, part in reports.mechanism.marginals.items()}
    columns = reports.indices.reshape(len(reports), len(parts)).T
    table = arrow.arrow().table(dict(zip(parts, map(np.ascontiguousarray, columns), strict=True)))
    return table.replace_schema_metadata(Stamp(parts, reports.simulated).metadata())


def to_pandas(reports: Reports, *, name: str = "report") -> Any:
    """A pandas table of the integers; it does not keep the mechanism.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> table = to_pandas(mechanism.privatize([0.2, 0.7]), name="pay")
    >>> list(table.columns), len(table)
    (['pay'], 2)
    """
    extra("pandas", "all")
    return to_arrow(reports, name=name).to_pandas()


def to_polars(reports: Reports, *, name: str = "report") -> Any:
    """A polars table of the integers; it does not keep the mechanism.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> table = to_polars(mechanism.privatize([0.2, 0.7]), name="pay")
    >>> list(table.columns), len(table)
    (['pay'], 2)
    """
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
        reports, or its only one. Vector reports of a partition have columns of their own.
    mechanism
        What made them: needed where the table does not say (only Arrow does), checked where it
        does.
    simulated
        Whether they are simulated, where the table does not say.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> from_table({"pay": [3, 5, 4]}, mechanism=mechanism)
    <3 private reports of Laplace(...)>
    """
    bare = arrow.table_of(table)
    where = "the table"
    stamp = Stamp.read(bare.schema.metadata, where)
    if (partition := _partition_of(stamp, column, mechanism, where)) is not None:
        simulated = simulated if stamp is None else stamp.simulated
        return _vectors(bare, partition, simulated=simulated, where=where)
    made = Made.of(bare.schema.names, stamp, column, mechanism, where, simulated=simulated)
    return made.reports(bare, plain=False, where=where)


@dataclass(frozen=True)
class Made:
    """The wanted columns of a table, and their mechanisms.

    Parameters
    ----------
    names
        The columns.
    mechanism
        What made them together.
    simulated
        Whether they are simulated.
    asking
        The rule of rows, where people were asked some of the questions only: rows of people who
        were not asked for all of the columns are then passed over.
    """

    names: tuple[str, ...]
    mechanism: Mechanism
    simulated: bool
    asking: marks.Asking | None = None

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
        """Choose the columns from a table, its metadata and the request."""
        if stamp is None and mechanism is None:
            raise unknown(where)
        if column is not None:
            names = [column] if isinstance(column, str) else list(column)
        elif isinstance(mechanism, Joint):
            names = list(mechanism.mechanisms)
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
        asking = None if stamp is None else stamp.asking
        if asking is not None and len(names) > asking.ask:
            raise apart(names, asking)
        return cls(tuple(names), mechanism, simulated, asking)

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return list(self.names if self.asking is None else self.asking.columns)

    def reports(self, table: Any, *, plain: bool, where: str, first: int = 0) -> Reports:
        """The reports of an Arrow table or batch, its cells text where it is plain."""
        rows = parse.rows_of(where, first)
        if self.asking is not None:
            for name in self.asking.columns:
                arrow.column_of(table, name, where)
            self.asking.refuse(table, rows)
            there = [~_nulls(table, name) for name in self.names]
            kept = np.flatnonzero(np.logical_and.reduce(there))
            table = table.take(arrow.arrow().array(kept))
            rows = parse.picked(where, kept, first)
        parts = [
            parse.whole(arrow.column_of(table, name, where), name=name, plain=plain, where=rows)
            for name in self.names
        ]
        indices = np.stack(parts, axis=1) if len(parts) > 1 else parts[0]
        return within(indices, self.mechanism, self.simulated, where, rows)


def _nulls(table: Any, name: str) -> Any:
    return table.column(name).is_null().to_numpy(zero_copy_only=False)


def apart(names: Sequence[str], asking: marks.Asking) -> InvalidInput:
    """The error for questions that no person was asked together."""
    return InvalidInput(
        f"people who were asked {' and '.join(map(repr, names))}",
        f"none: each person was asked {asking.ask} of {len(asking.questions)} questions"
        + (", or for one pair" if asking.pairs else ""),
        "How answers go together can be learned only from people who were asked all of these.",
    )


def within(
    indices: Any,
    mechanism: Mechanism,
    simulated: bool,
    where: str,
    rows: parse.Where,
    *,
    column: str = "",
) -> Reports:
    """Reports, or an error that says which row is the first that is none."""
    for axis, size in enumerate(mechanism.law.outputs):
        part = indices if indices.ndim == 1 else indices[:, axis]
        bad = (part < 0) | (part >= size)
        if bad.any():
            # Which number it is is not said: raw values may have been taken for reports.
            raise BadRows(
                f"reports from 0 to {size - 1} in {where}",
                f"another number in {rows(int(bad.argmax()))}",
                "Were raw values passed instead of reports, or reports of another mechanism?",
                column=column,
            )
    return Reports(indices, mechanism, simulated=simulated)


def not_replaced(path: Path, replace: bool) -> None:
    """Refuse to put reports in the place of a file, unless that was asked for."""
    if path.exists() and not replace:
        raise InvalidInput(
            f"no file at {named(path)}",
            "one that is there already",
            "For reports of other people, take another name. A second report of the same people "
            "costs epsilon again, under whatever name: --replace, or replace=True in Python.",
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
    cannot say that reports are simulated, so those are refused, and it has no lists for the vector
    reports of a partition.

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

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(mechanism.privatize([0.2, 0.7]), f"{folder}/reports.csv", name="pay")
    ...     Path(f"{folder}/reports.csv").read_text().splitlines()[0]
    '"pay"'
    """
    path = Path(path)
    lists = isinstance(reports.mechanism, Partition)
    writable(path, SUFFIXES if lists else formats.written())
    not_replaced(path, replace)
    if reports.simulated and not formats.format_of(path).stamped:
        raise InvalidInput(
            "a .parquet file for simulated reports",
            f"a {path.suffix} file, which cannot say what they are",
        )
    table = to_arrow(reports, name=name)
    if not (keep_order or reports.simulated):
        table = arrow.mixed(table)
    formats.write(table, path, replace=replace)


def read(
    path: str | Path,
    *,
    column: str | Sequence[str] | None = None,
    mechanism: Mechanism | None = None,
) -> Reports:
    """Read the reports of a Parquet or CSV file; for CSV the mechanism is needed.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(mechanism.privatize([0.2, 0.7]), f"{folder}/reports.parquet")
    ...     len(read(f"{folder}/reports.parquet"))
    2
    """
    source = formats.source(expand([path], formats.readable())[0])
    if not source.metadata and mechanism is None:
        raise unknown(source.where)
    if column is not None and source.text:
        source.require([column] if isinstance(column, str) else column)
    where, size = source.where, source.path.stat().st_size
    stamp = Stamp.read(source.metadata, where)
    if (partition := _partition_of(stamp, column, mechanism, where)) is not None:
        return _read_vectors(source, partition, simulated=stamp is not None and stamp.simulated)
    made = Made.of(source.names, stamp, column, mechanism, where)
    parts: list[Any] = []
    rows = 0
    for batch in source.batches(made.columns):
        part = made.reports(batch, plain=source.text, where=where, first=rows)
        parts.append(part.indices)
        rows += batch.num_rows
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
    asking
        The rule of rows, where people were asked some of the questions only.
    doubt
        A warning that the files could say what made them but do not.
    """

    sources: tuple[Source, ...]
    mechanisms: Mapping[str, Mechanism]
    simulated: bool
    public: tuple[str, ...] = ()
    surveys: tuple[Mapping[str, Any], ...] = ()
    asking: marks.Asking | None = None
    doubt: Unstamped | None = None

    @classmethod
    def open(
        cls,
        paths: Iterable[str | Path],
        *,
        mechanisms: Mapping[str, Mechanism] | None = None,
        columns: Sequence[str] | None = None,
        public: Sequence[str] = (),
        asking: marks.Asking | None = None,
        unstamped: bool = False,
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
        asking
            The rule of rows that goes with the mechanisms, where they are given.
        unstamped
            Whether files that do not say what made them are known to hold reports.
        """
        sources = tuple(formats.source(path) for path in expand(paths, formats.readable()))
        stamps = [Stamp.of_answers(source.metadata, source.where) for source in sources]
        for source, stamp in zip(sources, stamps, strict=True):
            if mechanisms is None and stamp is None:
                raise unknown(source.where)
        doubt = accounted(sources, unstamped=unstamped)
        first = stamps[0]
        if mechanisms is None and first is not None:
            asking = first.asking
        for source, stamp in zip(sources, stamps, strict=True):
            agreed(stamp, asking, source.where)
        wanted = dict(mechanisms or (first.mechanisms if first else {}))
        for name in columns or ():
            _checks.one_of(tuple(wanted), question=name)
        for name in public:
            if name in wanted:
                raise InvalidInput("a public column", f"the reports in column {name!r}")
        wanted = {name: wanted[name] for name in columns or wanted}
        for source, stamp in zip(sources, stamps, strict=True):
            source.require(list(wanted), public=public)
            for name, mechanism in wanted.items():
                if stamp is not None and stamp.made([name], source.where) != mechanism:
                    raise differs([name], source.where)
                _whole(source, name, floats=asking is not None)
            every = () if asking is None else asking.columns
            source.require(every)
            for name in every:
                _whole(source, name, floats=True)
        copies.refuse(sources, list(wanted))
        simulated = {stamp is not None and stamp.simulated for stamp in stamps}
        if len(simulated) > 1:
            raise Mismatch("reports that are all private or all simulated", "some of each")
        surveys = tuple(stamp.survey for stamp in stamps if stamp and stamp.survey)
        return cls(sources, wanted, simulated.pop(), tuple(public), surveys, asking, doubt)

    @property
    def rows(self) -> int | None:
        """Number of rows, where every file knows its own."""
        rows = [source.rows for source in self.sources]
        return None if None in rows else sum(row or 0 for row in rows)

    def batches(self) -> Iterator[tuple[dict[str, Reports], dict[str, Floats]]]:
        """The reports of each column and the public numbers, a batch at a time, in bounded memory.

        A batch may be empty, a file may not. Where people were asked some of the questions only,
        rows have to be `marked`.
        """
        assert self.asking is None
        columns = list(self.mechanisms)
        for source in self.sources:
            first = 0
            for batch in source.batches(columns, public=self.public):
                plain, where = source.text, parse.rows_of(source.where, first)
                reports = {}
                for name, mechanism in self.mechanisms.items():
                    column = batch.column(name)
                    indices = parse.whole(column, name=name, plain=plain, where=where)
                    place = f"column {name!r}"
                    reports[name] = within(
                        indices, mechanism, self.simulated, place, where, column=name
                    )
                numbers = {}
                for name in self.public:
                    column = batch.column(name)
                    numbers[name] = parse.present(column, name=name, plain=plain, where=where)
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
        by: Sequence[str] = (),
    ) -> Iterator[marks.Marked]:
        """Like `batches`, but each invalid row is marked with its fault, without an error.

        Parameters
        ----------
        weights, response
            Which public columns are weights and responses, if any.
        bounds
            Bounds of the response, if there are any.
        by
            Public columns that make groups.
        """
        columns = list(self.mechanisms if self.asking is None else self.asking.columns)
        for source in self.sources:
            first, plain = 0, source.text
            for batch in source.batches(columns, public=self.public):
                where = parse.rows_of(source.where, first)
                wrong = None if self.asking is None else self.asking.wrong(batch)
                reports, numbers = {}, {}
                for name, mechanism in self.mechanisms.items():
                    reports[name] = marks.of_reports(
                        batch.column(name),
                        mechanism.law.outputs[0],
                        name=name,
                        plain=plain,
                        where=where,
                        wrong=wrong,
                    )
                if weights is not None:
                    numbers["weights"] = marks.of_weights(
                        batch.column(weights), name=weights, plain=plain, where=where
                    )
                if response is not None:
                    numbers["response"] = marks.of_responses(
                        batch.column(response), bounds, name=response, plain=plain, where=where
                    )
                groups = tuple(batch.column(name) for name in by)
                yield marks.Marked(where, reports, numbers, groups)
                first += batch.num_rows
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")


def agreed(stamp: Stamp | None, asking: marks.Asking | None, where: str) -> None:
    """Refuse a file whose people were asked more or fewer questions than those of the survey."""
    # Without a survey a stamp does not know how many questions there were.
    if stamp is None or stamp.survey is None:
        return
    found = stamp.asking
    if (found is None) != (asking is None) or (found is not None and not found.same(asking)):
        words = [
            "all questions"
            if one is None
            else counted(one.ask, "question") + " or a pair" * bool(one.pairs)
            for one in (asking, found)
        ]
        raise Mismatch(
            f"reports in {where} of people who were each asked {words[0]}, as in the survey",
            f"reports of people who were each asked {words[1]}",
            "The reports belong to another survey, or the survey was changed since.",
        )


def _whole(source: Source, name: str, *, floats: bool) -> None:
    """Refuse a Parquet column that cannot hold reports before any of it is read."""
    types = arrow.arrow().types
    kind = source.kind(name)
    # Where some have no report, pandas makes floats of whole numbers.
    if not source.text and not (types.is_integer(kind) or (floats and types.is_floating(kind))):
        raise BadType(
            f"whole numbers in column {name!r}",
            f"the type {parse.kind_of(source.kind(name))} in row 1 of {source.where}",
            column=name,
        )


SUFFIXES = (".parquet",)
CHUNK = 2**27
"""Numbers in one chunk of a list column, whose offsets are 32 bits."""


def columns_of(partition: Partition) -> tuple[str, ...]:
    """The list columns of a table of its reports."""
    return ("z",) if partition.classify else ("w",) if partition.counting else ("w", "z")


def _partition_of(
    stamp: Stamp | None,
    column: str | Sequence[str] | None,
    mechanism: Mechanism | None,
    where: str,
) -> Partition | None:
    """The partition that made the vector reports of a table; None where it holds single answers."""
    asked = mechanism if isinstance(mechanism, Partition) else None
    found = stamp.mechanisms[""] if stamp is not None and stamp.vectors else None
    if asked is None and found is None:
        return None
    if column is not None:
        raise InvalidInput(
            f"no column for the vector reports of a partition in {where}", "one",
            "Their columns have names of their own.",
        )  # fmt: skip
    if asked is not None and stamp is not None and found != asked:
        raise differs(columns_of(asked), where)
    if mechanism is not None and found is not None and asked is None:
        raise differs([""], where)
    made = asked if found is None else found
    assert isinstance(made, Partition)
    return made


def _vectors_to_arrow(reports: Reports, partition: Partition) -> Any:
    pa = arrow.arrow()
    size = partition.cells.size
    rows = max(1, CHUNK // size)
    columns = {}
    for at, name in enumerate(columns_of(partition)):
        chunks = []
        for start in range(0, max(len(reports), 1), rows):
            part = np.ascontiguousarray(reports.indices[start : start + rows, at])
            ends = pa.array(np.arange(len(part) + 1, dtype=np.int32) * np.int32(size))
            chunks.append(pa.ListArray.from_arrays(ends, pa.array(part.ravel())))
        columns[name] = pa.chunked_array(chunks)
    stamp = Stamp({"": partition}, reports.simulated)
    return pa.table(columns).replace_schema_metadata(stamp.metadata())


def _vectors(bare: Any, partition: Partition, *, simulated: bool, where: str) -> Reports:
    """The vector reports in an Arrow table."""
    size, parts = partition.cells.size, []
    for name in columns_of(partition):
        expected = f"lists of {size} whole numbers in column {name!r} of {where}"
        lists = arrow.column_of(bare, name, where).combine_chunks()
        if not hasattr(lists, "values"):
            raise InvalidInput(expected, f"the type {lists.type}")
        lengths = arrow.arrow("pyarrow.compute").list_value_length(lists)
        numbers = lists.flatten()
        if lists.null_count or numbers.null_count or lengths.unique().to_pylist() != [size]:
            raise InvalidInput(expected, "lists with gaps" if len(lists) else "no rows")
        parts.append(numbers.to_numpy(zero_copy_only=False).reshape(len(lists), size))
    return Reports(np.stack(parts, axis=1), partition, simulated=simulated)


def _read_vectors(source: Source, partition: Partition, *, simulated: bool) -> Reports:
    """The vector reports of a Parquet file."""
    if source.text:
        raise InvalidInput("a .parquet file of vector reports", named(source.path))
    batches, held, size = [], 0, source.path.stat().st_size
    for batch in source.batches(columns_of(partition)):
        batches.append(batch)
        held += sum(_held(column) for column in batch.columns)
        advice = "Take tables.counts, which holds no reports in memory."
        _limits.check_held(held, size, source.where, advice)
    if not any(batch.num_rows for batch in batches):
        raise InvalidInput(f"rows in {source.where}", "none")
    table = arrow.arrow().Table.from_batches(batches)
    return _vectors(table, partition, simulated=simulated, where=source.where)


def _held(column: Any) -> int:
    """Numbers in a column of lists."""
    return len(column.values) if hasattr(column, "values") else len(column)

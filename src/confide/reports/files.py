"""Reports in Parquet and CSV files, whole or in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confide import _arrow, _cells, _validate
from confide._files import atomic, expand, writable
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import Mechanism, Reports
from confide.reports.stamps import Stamp, differs, unknown
from confide.reports.tables import gather, to_arrow, within


def write(reports: Reports, path: str | Path, *, name: str = "report") -> None:
    """Write reports to a Parquet or CSV file, whole or not at all.

    CSV holds the integers only; it cannot say that reports are simulated, so those are refused.
    """
    path = Path(path)
    writable(path, _arrow.SUFFIXES)
    if path.suffix == ".csv" and reports.simulated:
        raise InvalidInput(
            "a .parquet file for simulated reports", "a .csv file, which cannot say what they are"
        )
    table = to_arrow(reports, name=name)
    with atomic(path) as temporary:
        if path.suffix == ".csv":
            _arrow.arrow("pyarrow.csv").write_csv(table, temporary)
        else:
            _arrow.arrow("pyarrow.parquet").write_table(table, temporary)


def read(
    path: str | Path,
    *,
    column: str | Sequence[str] | None = None,
    mechanism: Mechanism | None = None,
) -> Reports:
    """Read the reports of a Parquet or CSV file; for CSV the mechanism is needed."""
    source = _arrow.Source(expand([path], _arrow.SUFFIXES)[0])
    if not source.metadata and mechanism is None:
        raise unknown(source.where)
    batches = list(source.batches(source.names))
    if not any(batch.num_rows for batch in batches):
        raise InvalidInput(f"rows in {source.where}", "none")
    table = _arrow.arrow().Table.from_batches(batches).replace_schema_metadata(source.metadata)
    return gather(table, column, mechanism, False, plain=source.plain, where=source.where)


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
    """

    sources: tuple[_arrow.Source, ...]
    mechanisms: Mapping[str, Mechanism]
    simulated: bool

    @classmethod
    def open(
        cls,
        paths: Iterable[str | Path],
        *,
        mechanisms: Mapping[str, Mechanism] | None = None,
        columns: Sequence[str] | None = None,
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
        """
        sources = tuple(_arrow.Source(path) for path in expand(paths, _arrow.SUFFIXES))
        stamps = [Stamp.read(source.metadata, source.where) for source in sources]
        for source, stamp in zip(sources, stamps, strict=True):
            if mechanisms is None and stamp is None:
                raise unknown(source.where)
        first = stamps[0]
        wanted = dict(mechanisms or (first.mechanisms if first else {}))
        for name in columns or ():
            _validate.one_of(tuple(wanted), question=name)
        wanted = {name: wanted[name] for name in columns or wanted}
        for source, stamp in zip(sources, stamps, strict=True):
            for name, mechanism in wanted.items():
                if name not in source.names:
                    raise _arrow.no_column(source.names, name, source.where)
                if stamp is not None and stamp.made([name], source.where) != mechanism:
                    raise differs([name], source.where)
        simulated = {stamp is not None and stamp.simulated for stamp in stamps}
        if len(simulated) > 1:
            raise Mismatch("reports that are all private or all simulated", "some of each")
        return cls(sources, wanted, simulated.pop())

    @property
    def rows(self) -> int | None:
        """Number of rows, where every file knows its own."""
        rows = [source.rows for source in self.sources]
        return None if None in rows else sum(row or 0 for row in rows)

    def batches(self) -> Iterator[dict[str, Reports]]:
        """The reports of each column, a batch at a time, in bounded memory."""
        for source in self.sources:
            first = 0
            for batch in source.batches(list(self.mechanisms)):
                yield {
                    name: within(
                        _cells.whole(
                            batch.column(at),
                            name=name,
                            plain=source.plain,
                            where=_cells.rows_of(source.where, first),
                        ),
                        mechanism,
                        self.simulated,
                        f"column {name!r} of {source.where}",
                    )
                    for at, (name, mechanism) in enumerate(self.mechanisms.items())
                }
                first += batch.num_rows
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")

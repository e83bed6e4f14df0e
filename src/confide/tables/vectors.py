"""Files of vector reports added up, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from confide.errors import InvalidInput, Mismatch
from confide.files import arrow, copies, formats
from confide.files.columns import Progress
from confide.files.paths import expand
from confide.mechanisms import Partition
from confide.reports.files import SUFFIXES, columns_of, from_table
from confide.reports.stamps import Stamp, differs, unknown
from confide.summaries import CellSums


def cell_sums(
    paths: Iterable[str | Path], partition: Partition, *, progress: Progress | None = None
) -> CellSums:
    """Add up the vector reports in Parquet files, in bounded memory.

    Parameters
    ----------
    paths
        Files, globs and folders.
    partition
        What made the reports; every file must say the same.
    progress
        Called with the rows that were read since the last call, and with how many there are.
    """
    sources = [formats.source(path) for path in expand(paths, SUFFIXES)]
    said = set()
    for source in sources:
        stamp = Stamp.of_vectors(source.metadata, source.where)
        if stamp is None:
            raise unknown(source.where)
        if stamp.mechanisms[""] != partition:
            raise differs(columns_of(partition), source.where)
        said.add(stamp.simulated)
    if len(said) > 1:
        raise Mismatch("reports that are all private or all simulated", "some of each")
    copies.refuse(sources, columns_of(partition))
    rows = [source.rows for source in sources]
    whole = None if None in rows else sum(row or 0 for row in rows)
    total: CellSums | None = None
    for source in sources:
        read = 0
        for batch in source.batches(columns_of(partition)):
            if not batch.num_rows:
                continue
            table = arrow.arrow().Table.from_batches([batch]).replace_schema_metadata()
            found = from_table(table, mechanism=partition, simulated=max(said))
            part = CellSums.of(found)
            total = part if total is None else total + part
            read += batch.num_rows
            if progress is not None:
                progress(batch.num_rows, whole)
        if not read:
            raise InvalidInput(f"rows in {source.where}", "none")
    assert total is not None
    return total

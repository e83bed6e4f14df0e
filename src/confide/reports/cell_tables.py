"""Vector reports of a partition as Arrow tables and Parquet files.

One row a respondent: a list ``w`` and a list ``z`` of small integers, one a cell; no ``w`` where
the partition classifies. The partition is in the metadata of the schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confide import _arrow, _limits
from confide._files import expand, writable
from confide.errors import InvalidInput
from confide.mechanisms import CellReports, Partition
from confide.reports.files import not_replaced
from confide.reports.stamps import CellStamp, differs, unknown

SUFFIXES = (".parquet",)
CHUNK = 2**27
"""Numbers in one chunk of a list column, whose offsets are 32 bits."""


def columns_of(partition: Partition) -> tuple[str, ...]:
    """The list columns of a table of its reports."""
    return ("z",) if partition.classify else ("w", "z")


def cells_to_arrow(reports: CellReports) -> Any:
    """An Arrow table of vector reports, with the partition in its metadata.

    Examples
    --------
    >>> from confide import Cells, Partition
    >>> partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
    >>> made = partition.privatize([0.1, 0.7], [0.5, -1.0])
    >>> table = cells_to_arrow(made)
    >>> table.column_names, bool((cells_from_table(table).values == made.values).all())
    (['w', 'z'], True)
    """
    pa = _arrow.arrow()
    size = reports.mechanism.cells.size
    rows = max(1, CHUNK // size)
    columns = {}
    for at, name in enumerate(columns_of(reports.mechanism)):
        chunks = []
        for start in range(0, max(len(reports), 1), rows):
            part = np.ascontiguousarray(reports.values[start : start + rows, at])
            ends = pa.array(np.arange(len(part) + 1, dtype=np.int32) * np.int32(size))
            chunks.append(pa.ListArray.from_arrays(ends, pa.array(part.ravel())))
        columns[name] = pa.chunked_array(chunks)
    stamp = CellStamp(reports.mechanism, reports.simulated)
    return pa.table(columns).replace_schema_metadata(stamp.metadata())


def cells_from_table(
    table: Any,
    *,
    partition: Partition | None = None,
    simulated: bool = False,
    where: str = "the table",
) -> CellReports:
    """The vector reports in a table.

    Parameters
    ----------
    table
        Arrow, pandas or polars table, or a dict of columns.
    partition
        What made them: needed where the table does not say (only Arrow does), checked where it
        does.
    simulated
        Whether they are simulated, where the table does not say.
    where
        The table, for a message.
    """
    bare = _arrow.table_of(table)
    stamp = CellStamp.read(bare.schema.metadata, where)
    if stamp is not None:
        if partition is not None and stamp.partition != partition:
            raise differs(columns_of(partition), where)
        partition, simulated = stamp.partition, stamp.simulated
    if partition is None:
        raise unknown(where)
    size, parts = partition.cells.size, []
    for name in columns_of(partition):
        expected = f"lists of {size} whole numbers in column {name!r} of {where}"
        lists = _arrow.column_of(bare, name, where).combine_chunks()
        if not hasattr(lists, "values"):
            raise InvalidInput(expected, f"the type {lists.type}")
        lengths = _arrow.arrow("pyarrow.compute").list_value_length(lists)
        numbers = lists.flatten()
        if lists.null_count or numbers.null_count or lengths.unique().to_pylist() != [size]:
            raise InvalidInput(expected, "others" if len(lists) else "no rows")
        parts.append(numbers.to_numpy(zero_copy_only=False).reshape(len(lists), size))
    return CellReports(np.stack(parts, axis=1), partition, simulated=simulated)


def write_cells(
    reports: CellReports,
    path: str | Path,
    *,
    keep_order: bool = False,
    replace: bool = False,
) -> None:
    """Write vector reports to a Parquet file in random order, whole or not at all.

    Simulated reports have nothing to hide and stay in their order.

    Parameters
    ----------
    reports
        What to write.
    path
        The file.
    keep_order
        Write them in their order, which can give answers away: see `Mechanism.privatize`.
    replace
        Replace a file that is there. If it holds other reports of the same people that anybody
        has seen, the second ones cost epsilon again.
    """
    path = Path(path)
    writable(path, SUFFIXES)
    not_replaced(path, replace)
    table = cells_to_arrow(reports)
    if not (keep_order or reports.simulated):
        table = _arrow.mixed(table)
    _arrow.write(table, path, replace=replace)


def read_cells(path: str | Path, *, partition: Partition | None = None) -> CellReports:
    """Read the vector reports of a Parquet file."""
    source = _arrow.Source(expand([path], SUFFIXES)[0])
    stamp = CellStamp.read(source.metadata, source.where)
    if stamp is None and partition is None:
        raise unknown(source.where)
    made = partition if stamp is None else stamp.partition
    assert made is not None
    batches, held, size = [], 0, source.path.stat().st_size
    for batch in source.batches(columns_of(made)):
        batches.append(batch)
        held += sum(_held(column) for column in batch.columns)
        advice = "Take tables.cell_sums, which holds no reports in memory."
        _limits.check_held(held, size, source.where, advice)
    if not any(batch.num_rows for batch in batches):
        raise InvalidInput(f"rows in {source.where}", "none")
    table = _arrow.arrow().Table.from_batches(batches).replace_schema_metadata(source.metadata)
    return cells_from_table(table, partition=partition, where=source.where)


def _held(column: Any) -> int:
    """Numbers in a column of lists."""
    return len(column.values) if hasattr(column, "values") else len(column)

"""Tables of any kind as Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from confide import _checks
from confide.errors import InvalidInput, MissingColumn, extra, unquoted
from confide.exact.entropy import SystemEntropy
from confide.exact.inversion import permutation

TABLE = "a table: a dict of columns, or a pandas, polars or Arrow table"


def arrow(module: str = "pyarrow") -> Any:
    """The pyarrow module, or what to install."""
    return extra(module, "cli")


@unquoted(TABLE)
def table_of(data: Any) -> Any:
    """An Arrow table of a mapping of columns, or of a pandas, polars or Arrow table."""
    pa = arrow()
    library = type(data).__module__.partition(".")[0]
    try:
        if isinstance(data, pa.RecordBatch):
            table = pa.Table.from_batches([data])
        elif isinstance(data, pa.Table):
            table = data
        elif isinstance(data, Mapping):
            table = pa.table({str(name): _array(column) for name, column in data.items()})
        elif library == "pandas" and hasattr(data, "columns"):
            table = pa.Table.from_pandas(data, preserve_index=False)
        elif library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
            table = data.to_arrow()
        else:
            hint = "Collect it first." if hasattr(data, "collect") else ""
            if library in ("duckdb", "_duckdb"):
                hint = "Open the database with Ibis: ibis.duckdb.connect(FILE).table(NAME)."
            raise InvalidInput(TABLE, _checks.shown(type(data)), hint)
    except InvalidInput:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _no_table(data) from None
    unique(table.schema.names, "a table")
    return table


def _no_table(data: Any) -> InvalidInput:
    """Why columns are no table: their lengths, or the first one whose values do not go together.

    Columns are told by their place: a dict that is no table may have answers for names.
    """
    pa = arrow()
    columns = list(data.values()) if isinstance(data, Mapping) else []
    lengths: list[int] = []
    for place, column in enumerate(columns, 1):
        try:
            lengths.append(len(_array(column)))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return InvalidInput(
                "a list of values of one type in each column",
                f"something else in column {place} of {len(columns)}",
            )
    other = [length for length in lengths if length != lengths[0]]
    if other:
        return InvalidInput("columns of one length", f"{lengths[0]:,} and {other[0]:,} rows")
    return InvalidInput("columns with names and with values of one type", _checks.kind(data))


def mixed(table: Any) -> Any:
    """The rows of a table in a uniformly random order, drawn from the system's entropy."""
    return table.take(arrow().array(permutation(SystemEntropy(), table.num_rows)))


def unpaired(table: Any) -> Any:
    """A table whose rows pandas numbers from n on, so that they match no rows of another table."""
    n = table.num_rows
    index = {"kind": "range", "name": None, "start": n, "stop": 2 * n, "step": 1}
    told = {"index_columns": [index], "column_indexes": [], "columns": [], "pandas_version": "2"}
    return table.replace_schema_metadata({**table.schema.metadata, "pandas": json.dumps(told)})


def _array(column: Any) -> Any:
    pa = arrow()
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    return pa.array(column)


def plain(kind: Any) -> Any:
    """The type of the same values without a dictionary or a view, which not all of Arrow takes."""
    pa = arrow()
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    return _within(kind) if pa.types.is_nested(kind) else kind


def _within(kind: Any) -> Any:
    """A type whose values hold others, which are made plain."""
    pa = arrow()
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(plain(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_type), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(kind[at].name, plain(kind[at].type)) for at in range(kind.num_fields)])
    return kind


def unique(names: Sequence[str], where: str) -> None:
    """Refuse two columns of one name, which would be ambiguous."""
    seen = set()
    for name in names:
        if name in seen:
            # The names are not said: in a file without a header they are the first values.
            first = names.index(name)
            second = names.index(name, first + 1)
            raise InvalidInput(
                f"each column once in {where}", f"columns {first + 1} and {second + 1} of one name"
            )
        seen.add(name)


def column_of(table: Any, name: str, where: str) -> Any:
    """One column of an Arrow table or batch."""
    names = table.schema.names
    if name not in names:
        raise no_column(names, name, where)
    return table.column(names.index(name))


def no_column(names: Sequence[str], name: str, where: str) -> MissingColumn:
    """The error that a column is missing.

    What is there instead is not said, but for a name much like it: in a file without a header the
    names are the first values.
    """
    advice = _checks.nearest(name, names, rest="Do the columns have their names on top?")
    return MissingColumn(f"a column {name!r} in {where}", "none", advice, column=name)

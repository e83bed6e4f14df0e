"""Sums of the vector reports of a partition in a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import Partition
from confide.reports.files import columns_of
from confide.reports.rows import BAD_VECTOR, CHOICES, GOOD, NO_REPORT, LeftOut
from confide.reports.stamps import Stamp, differs
from confide.summaries import CellSums, Groups
from confide.summaries.groups import Key
from confide.tables import faults
from confide.tables.faults import Grouping
from confide.tables.sources import Opened, grouped, ibis, opened

RESPONDENTS = 0
"""Part of the query that counts rows; the columns of numbers follow."""


def cell_sums(
    table: Any,
    partition: Partition,
    *,
    by: str | Sequence[str] | None,
    simulated: bool,
    invalid: str,
) -> CellSums | Groups[CellSums]:
    """Add up vector reports where they live: unnest the lists and GROUP BY cell and number."""
    _checks.one_of(CHOICES, invalid=invalid)
    grouping = Grouping.of(by)
    source = opened(table, [*columns_of(partition), *grouping.by], grouping.by)
    stamped = _checked(source, partition, simulated)
    rows = grouped(_query(source.table, partition, grouping), source.where)
    made, left = _summaries(rows, partition, grouping, stamped, invalid=invalid, where=source.where)
    if left:
        warnings.warn(LeftOut(left), stacklevel=3)
    if by is None:
        return made[()]
    return Groups(grouping.by, made)


def _checked(source: Opened, partition: Partition, simulated: bool) -> bool:
    """Whether the reports are simulated; every file must be by the partition that is asked for."""
    if not isinstance(simulated, bool):
        raise InvalidInput("simulated=True or False", _checks.shown(simulated))
    said = set()
    for metadata, where in source.stamps:
        stamp = Stamp.of_vectors(metadata, where)
        if stamp is not None and stamp.mechanisms[""] != partition:
            raise differs(columns_of(partition), where)
        said.add(simulated if stamp is None else stamp.simulated)
    if len(said) > 1:
        raise Mismatch("reports that are all private or all simulated", "some of each")
    return said.pop() if said else simulated


def _query(table: Any, partition: Partition, grouping: Grouping) -> Any:
    """One row for each group and kind of row, then for each group, list, cell and number."""
    engine, size, names = ibis(), partition.cells.size, columns_of(partition)
    rows = table.select(**grouping.columns(table), **{name: table[name] for name in names})
    good, missing = [], []
    for name in names:
        column, kind = rows[name], rows[name].type()
        if not (kind.is_array() and kind.value_type.is_integer()):
            raise InvalidInput(f"lists of whole numbers in column {name!r}", f"the type {kind}")
        low, high = (0, 1) if name == "w" else (-partition.levels, partition.levels)
        # Nulls and numbers out of range drop out, so that a good list keeps its length.
        kept = column.filter(lambda v, low=low, high=high: v.between(low, high))
        good.append((column.length() == size) & (kept.length() == size))
        missing.append(column.isnull())
    vector = engine.cases(
        (engine.or_(*missing), NO_REPORT), (engine.and_(*good), GOOD), else_=BAD_VECTOR
    )
    rows = rows.mutate(kind=faults.first_kind(*grouping.kind(rows), vector).cast("int64"))
    fine = rows["kind"] == GOOD
    heads = rows.mutate(**{name: fine.ifelse(rows[name], engine.null()) for name in grouping.names})
    none = engine.null().cast("int64")
    parts = [
        heads.group_by([*grouping.names, "kind"])
        .aggregate(n=heads.count())
        .mutate(part=_number(RESPONDENTS), cell=none, number=none)
    ]
    for at, name in enumerate(names, start=RESPONDENTS + 1):
        lists = rows.filter(fine).select(*grouping.names, "kind", number=rows[name])
        flat = lists.unnest("number", offset="cell")
        flat = flat.mutate(number=flat["number"].cast("int64"), cell=flat["cell"].cast("int64"))
        by = [*grouping.names, "kind", "cell", "number"]
        parts.append(flat.group_by(by).aggregate(n=flat.count()).mutate(part=_number(at)))
    order = [*grouping.names, "kind", "part", "cell", "number", "n"]
    return engine.union(*(part.select(order) for part in parts))


def _number(value: int) -> Any:
    return ibis().literal(value, type="int64")


def _summaries(
    rows: Any,
    partition: Partition,
    grouping: Grouping,
    simulated: bool,
    *,
    invalid: str,
    where: str,
) -> tuple[dict[Key, CellSums], dict[str, int]]:
    compute = ibis("pyarrow.compute")
    heads = rows.filter(compute.equal(rows.column("part"), RESPONDENTS))
    found: dict[int, int] = {}
    for kind, n in zip(*(heads.column(name).to_pylist() for name in ("kind", "n")), strict=True):
        found[kind] = found.get(kind, 0) + n
    left = faults.settle(found, invalid=invalid, where=where)
    rows = rows.filter(compute.equal(rows.column("kind"), GOOD))
    size, levels = partition.cells.size, partition.levels
    keys, group = grouping.keys(rows, size * (2 * levels + 2))
    part, n = (rows.column(name).to_numpy() for name in ("part", "n"))
    respondents = np.zeros(len(keys), dtype=np.int64)
    first = part == RESPONDENTS
    respondents[group[first]] = n[first]
    cell, number = (
        rows.column(name).fill_null(0).to_numpy().astype(np.int64) for name in ("cell", "number")
    )
    counts = np.zeros((len(keys), size), dtype=np.int64)
    tallies = np.zeros((len(keys), 2 * levels + 1, size), dtype=np.int64)
    for at, name in enumerate(columns_of(partition), start=RESPONDENTS + 1):
        here = part == at
        if name == "w":
            ones = here & (number == 1)
            counts[group[ones], cell[ones]] = n[ones]
        else:
            tallies[group[here], number[here] + levels, cell[here]] = n[here]
    made = {
        key: CellSums(partition, int(respondents[at]), counts[at], tallies[at], simulated)
        for at, key in enumerate(keys)
    }
    return made, left

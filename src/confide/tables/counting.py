"""The query that counts reports, or adds up the vectors of a partition."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.files import copies
from confide.mechanisms import Joint, Mechanism, Partition
from confide.questions import Questionnaire
from confide.reports.files import agreed, apart, columns_of
from confide.reports.rows import (
    BAD_VECTOR,
    CHOICES,
    GOOD,
    NO_REPORT,
    WRONG_NUMBER,
    Asking,
    LeftOut,
)
from confide.reports.stamps import Stamp, accounted, differs
from confide.summaries import CellSums, Counts, Groups, Response
from confide.summaries.groups import Key
from confide.tables import faults
from confide.tables.faults import Grouping, Numbers
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
    unstamped: bool = False,
) -> CellSums | Groups[CellSums]:
    """Add up vector reports where they live: unnest the lists and GROUP BY cell and number."""
    _checks.one_of(CHOICES, invalid=invalid)
    grouping = Grouping.of(by)
    source = opened(table, [*columns_of(partition), *grouping.by], grouping.by)
    doubt = accounted(source.files, unstamped=unstamped)
    copies.refuse(source.files, columns_of(partition))
    stamped = _checked(source, partition, simulated)
    rows = grouped(_query(source.table, partition, grouping), source.where)
    made, left = _summaries(rows, partition, grouping, stamped, invalid=invalid, where=source.where)
    if doubt is not None:
        warnings.warn(doubt, stacklevel=3)
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
    left = faults.settle(found, columns=columns_of(partition), invalid=invalid, where=where)
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
    if partition.counting:
        # Responses are not sent, and count as 0 in the sums.
        tallies[:, levels] = respondents[:, None]
    made = {
        key: CellSums(partition, int(respondents[at]), counts[at], tallies[at], simulated)
        for at, key in enumerate(keys)
    }
    return made, left


SUMS = ("sw", "sww", "sy", "syy")


@dataclass(frozen=True)
class Query:
    """A query: the reports to count, and how.

    Parameters
    ----------
    mechanism
        What made the reports.
    columns
        Columns of reports, one a part.
    response, weights
        Public columns, or None.
    bounds
        Of the response, or None.
    careful
        Whether to look for NaN at any price; see `confide.tables._rows.odd`.
    asking
        The rule of rows, where people were asked some of the questions only: rows of people who
        were not asked for all of the columns are passed over.
    """

    mechanism: Mechanism
    columns: tuple[str, ...]
    response: str | None
    weights: str | None
    bounds: tuple[float, float] | None
    careful: bool = False
    asking: Asking | None = None

    @property
    def public(self) -> list[str]:
        """Public columns that go along."""
        return [name for name in (self.weights, self.response) if name is not None]

    def over(self, source: Opened, grouping: Grouping) -> Any:
        """The query: one row for each group and report, and one for each kind of bad row.

        Two levels. The inner one groups by the columns with little done to them, which costs what
        any GROUP BY does; the outer one sees distinct values only, and tells what they are.
        """
        table, keys = source.table, {}
        if self.asking is not None:
            # Rows of people who were not asked are no rows of this question.
            there = [table[name].notnull() for name in self.columns]
            table = table.filter(faults.wrong_number(table, self.asking) | ibis().and_(*there))
        for at, (name, size) in enumerate(
            zip(self.columns, self.mechanism.law.outputs, strict=True)
        ):
            # A bare column is the fastest key. Files that lie about it cost memory, no more.
            column = table[name]
            keys[f"k{at}"] = column if name in source.small else faults.narrowed(column, size)
        kept = grouping.columns(table) | keys
        row_kinds = []
        if self.asking is not None:
            kept["wrong"] = faults.wrong_number(table, self.asking)
        if self.weights is not None:
            weight = Numbers.of(table[self.weights], self.weights, careful=self.careful)
            kept["w"] = weight.value
            row_kinds.append(faults.weight_kind(weight))
        if self.response is not None:
            answer = Numbers.of(table[self.response], self.response, careful=self.careful)
            kept["y"] = answer.value
            row_kinds.append(faults.response_kind(answer, self.bounds))
        by = [*grouping.names, *keys]
        if self.asking is not None:
            by.append("wrong")
        if row_kinds:
            kept["bad"] = faults.first_kind(*row_kinds)
            by.append("bad")
        rows = table.select(**kept)
        inner = rows.group_by(by).aggregate(n=rows.count(), **self._sums(rows))
        kinds = grouping.kind(inner)
        if self.asking is not None:
            kinds.append(inner["wrong"].ifelse(WRONG_NUMBER, GOOD))
        for at, size in enumerate(self.mechanism.law.outputs):
            kind, whole = faults.whole(inner[f"k{at}"], size, self.columns[at])
            kinds.append(kind)
            keys[f"k{at}"] = whole
        if row_kinds:
            kinds.append(inner["bad"])
        inner = inner.mutate(kind=faults.first_kind(*kinds).cast("int64"), **keys)
        good = inner["kind"] == GOOD
        names = [*grouping.names, *keys]
        inner = inner.mutate(**{name: good.ifelse(inner[name], ibis().null()) for name in names})
        sums = {name: inner[name].sum() for name in self._sums(rows) if name not in ("low", "high")}
        if self.response is not None:
            sums |= {"low": inner["low"].min(), "high": inner["high"].max()}
        return inner.group_by([*names, "kind"]).aggregate(n=inner["n"].sum().cast("int64"), **sums)

    def unsure(self, rows: Any) -> bool:
        """Whether a NaN was missed: tests may overlook it, but sums reveal it."""
        names = [name for name in SUMS if name in rows.column_names]
        return not all(np.isfinite(rows.column(name).to_numpy()).all() for name in names)

    def _sums(self, rows: Any) -> dict[str, Any]:
        """Sums of w, w^2, w y and w y^2, and the range of y; zeros where a row is bad."""
        sums: dict[str, Any] = {}
        if not self.public:
            return sums
        good, scale = rows["bad"] == GOOD, ibis().literal(1.0)
        if self.weights is not None:
            scale = good.ifelse(rows["w"], 0.0)
            sums |= {"sw": scale.sum(), "sww": (scale * scale).sum()}
        if self.response is not None:
            y = good.ifelse(rows["y"], 0.0)
            sums |= {"sy": (scale * y).sum(), "syy": (scale * y * y).sum()}
            sums |= {"low": y.min(), "high": y.max()}
        return sums

    def summaries(
        self, rows: Any, grouping: Grouping, simulated: bool, *, invalid: str, where: str
    ) -> tuple[dict[Key, Counts], dict[str, int]]:
        """Counts of each group from the grouped rows, and how many rows are left out."""
        compute = ibis("pyarrow.compute")
        kinds, numbers = rows.column("kind").to_numpy(), rows.column("n").to_numpy()
        found = {kind: int(numbers[kinds == kind].sum()) for kind in np.unique(kinds).tolist()}
        left = faults.settle(found, columns=self.columns, invalid=invalid, where=where)
        rows = rows.filter(compute.equal(rows.column("kind"), GOOD))
        outputs = self.mechanism.law.outputs
        size = math.prod(outputs)
        keys, group = grouping.keys(rows, size)
        places = tuple(rows.column(f"k{at}").to_numpy() for at in range(len(outputs)))
        for place, end in zip(places, outputs, strict=True):
            # An engine takes a file's word for its least and greatest value; we do not.
            if place.min() < 0 or place.max() >= end:
                raise InvalidInput(
                    f"reports from 0 to {end - 1} in {where}",
                    "numbers outside that range, although the file's statistics deny it",
                )
        at = group * size + np.ravel_multi_index(places, outputs)

        def dense(name: str, kind: Any = np.float64) -> Any:
            flat = np.zeros(len(keys) * size, dtype=kind)
            flat[at] = rows.column(name).to_numpy()
            return flat.reshape(len(keys), *outputs)

        tallies = dense("n", np.int64)
        names = [name for name in SUMS if name in rows.column_names]
        sums = {name: dense(name) for name in names}
        low, high = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        if self.bounds is not None:
            low[:], high[:] = self.bounds
        elif self.response is not None:
            np.minimum.at(low, group, rows.column("low").to_numpy())
            np.maximum.at(high, group, rows.column("high").to_numpy())
        result: dict[Key, Counts] = {}
        for number, key in enumerate(keys):
            weights = answer = None
            if self.weights is not None:
                weights = (sums["sw"][number], sums["sww"][number])
            if self.response is not None:
                ends = float(low[number]), float(high[number])
                answer = Response(
                    sums["sy"][number], sums["syy"][number], low=ends[0], high=ends[1]
                )
            result[key] = Counts(self.mechanism, tallies[number], simulated, weights, answer)
        return result, left


@overload
def counts(
    table: Any,
    mechanism: Partition,
    *,
    by: None = ...,
    simulated: bool = ...,
    invalid: Literal["refuse", "drop"] = ...,
    unstamped: bool = ...,
) -> CellSums: ...


@overload
def counts(
    table: Any,
    mechanism: Partition,
    *,
    by: str | Sequence[str],
    simulated: bool = ...,
    invalid: Literal["refuse", "drop"] = ...,
    unstamped: bool = ...,
) -> Groups[CellSums]: ...


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
    survey: Questionnaire | None = ...,
    simulated: bool = ...,
    invalid: Literal["refuse", "drop"] = ...,
    unstamped: bool = ...,
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
    survey: Questionnaire | None = ...,
    simulated: bool = ...,
    invalid: Literal["refuse", "drop"] = ...,
    unstamped: bool = ...,
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
    survey: Questionnaire | None = None,
    simulated: bool = False,
    invalid: Literal["refuse", "drop"] = "refuse",
    unstamped: bool = False,
) -> Counts | Groups[Counts] | CellSums | Groups[CellSums]:
    """Count the reports of a table inside its own engine, with one GROUP BY.

    Vector reports of a `Partition` are added up: their summary is `CellSums`.

    Parameters
    ----------
    table
        An Ibis table or expression of any engine; files by path, glob, folder or list of them
        (.parquet, .csv, .csv.gz), which DuckDB reads; or an Arrow, pandas or polars table or a dict
        of columns. Vector reports have lists ``w`` and ``z`` of whole numbers, one for each cell,
        as `confide.reports.write` writes them; no ``w`` where the partition classifies.
    mechanism
        What made the reports. Files that say so themselves must say the same.
    column
        The column of reports; for a joint mechanism one for each question, by default their
        names. By default the table's only column. Not for vector reports, and neither are the next
        three.
    response
        A public column of numbers to regress on the answers.
    bounds
        Public bounds of the response; by default those observed, which merging widens.
    weights
        A public column of survey weights.
    by
        Public columns of words, whole numbers or dates: one summary for each of their values.
    survey
        The survey that the table answers, where it asks each person some of the questions only
        (``ask``) and the table does not say so itself: null then means that a question was not
        asked, and a row must have as many reports as a person is asked questions.
    simulated
        Whether the reports are simulated, where the files do not say.
    invalid
        What to do about rows that cannot be used, such as a report out of range: ``"refuse"`` the
        table, or ``"drop"`` them and warn with `LeftOut`, which says how many of each kind.
    unstamped
        Whether Parquet files that do not say what made them are known to hold reports, because
        another program wrote them again. Otherwise they are refused among files that say so, for
        they may hold raw values, and are taken with a warning where no file says so.

    Examples
    --------
    >>> from confide import Lattice, Laplace
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> table = {"pay": [3, 3, 5], "region": ["north", "south", "north"]}
    >>> counts(table, mechanism, column="pay").n
    3
    >>> counts(table, mechanism, column="pay", by="region")
    <Groups of 3 reports: 2 by region>
    >>> from confide import Cells, Partition, reports
    >>> partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
    >>> made = partition.simulate([0.1, 0.7], [0.5, -1.0], seed=1)
    >>> counts(reports.to_arrow(made), partition).n
    2
    """
    if isinstance(mechanism, Partition):
        given = {
            "column": column, "response": response, "bounds": bounds, "weights": weights,
            "survey": survey,
        }  # fmt: skip
        for name in (name for name, value in given.items() if value is not None):
            raise InvalidInput(f"no {name} with vector reports of a partition", "one")
        return cell_sums(
            table, mechanism, by=by, simulated=simulated, invalid=invalid, unstamped=unstamped
        )
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
        asking=None if survey is None else survey.asking,
        known=survey is not None,
        unstamped=unstamped,
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
    asking: Asking | None,
    known: bool = True,
    unstamped: bool = False,
    verified: bool = False,
) -> tuple[Counts | Groups[Counts], dict[str, int]]:
    """Like `counts`, but returns the number of dropped rows of each kind without a warning.

    Whether people were asked some of the questions only is ``known``, or is what the files say.
    Files that were ``verified`` before are not searched for copies and for missing stamps again.
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput("a mechanism", _checks.shown(mechanism))
    _checks.one_of(CHOICES, invalid=invalid)
    grouping = Grouping.of(by)
    query = Query(
        mechanism, _columns(table, mechanism, column), response, weights, _ends(bounds, response)
    )
    public = [*query.public, *grouping.by]
    source = opened(table, [*query.columns, *public], public)
    doubt = None if verified else accounted(source.files, unstamped=unstamped)
    stamped = checked(source, query, simulated)
    if not verified:
        copies.refuse(source.files, query.columns)
    asking = _rule(source, asking, known=known)
    if asking is not None:
        if len(query.columns) > asking.ask:
            raise apart(query.columns, asking)
        query = replace(query, asking=asking)
        columns = dict.fromkeys([*asking.columns, *query.columns, *public])
        source = opened(table, list(columns), public)
    rows = grouped(query.over(source, grouping), source.where)
    if query.unsure(rows):
        rows = grouped(replace(query, careful=True).over(source, grouping), source.where)
    made, left = query.summaries(rows, grouping, stamped, invalid=invalid, where=source.where)
    if doubt is not None:
        warnings.warn(doubt, stacklevel=3)
    return (made[()] if by is None else Groups(grouping.by, made)), left


def _rule(source: Opened, asking: Asking | None, *, known: bool) -> Asking | None:
    """The rule of rows that all files and the survey agree on."""
    stamps = [(Stamp.of_answers(metadata, where), where) for metadata, where in source.stamps]
    if not known:
        said = [stamp for stamp, _ in stamps if stamp is not None and stamp.survey is not None]
        asking = said[0].asking if said else None
    for stamp, where in stamps:
        agreed(stamp, asking, where)
    return asking


def _columns(
    table: Any, mechanism: Mechanism, column: str | Sequence[str] | None
) -> tuple[str, ...]:
    if column is not None:
        names = (column,) if isinstance(column, str) else tuple(column)
    elif isinstance(mechanism, Joint):
        names = tuple(mechanism.mechanisms)
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
    low, high = (_checks.finite(bounds=end) for end in bounds)
    if not low <= high:
        raise InvalidInput("bounds in order", f"{low:g} and {high:g}")
    return low, high


def checked(source: Opened, query: Query, simulated: bool) -> bool:
    """Whether the reports are simulated; every file must be by the mechanism that is asked for."""
    if not isinstance(simulated, bool):
        raise InvalidInput("simulated=True or False", _checks.shown(simulated))
    said = set()
    for metadata, where in source.stamps:
        stamp = Stamp.of_answers(metadata, where)
        said.add(simulated if stamp is None else stamp.simulated)
        if stamp is None:
            continue
        parts = query.mechanism.marginals
        for name, part in zip(query.columns, parts.values(), strict=True):
            if stamp.made([name], where) != part:
                raise differs([name], where)
        for name in query.public:
            if name in stamp.mechanisms:
                raise InvalidInput("a public column", f"the reports in column {name!r}")
    if len(said) > 1:
        raise Mismatch("reports that are all private or all simulated", "some of each")
    return said.pop() if said else simulated

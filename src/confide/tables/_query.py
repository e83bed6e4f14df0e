"""The query that counts reports, and what its rows say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidInput
from confide.mechanisms import Mechanism
from confide.reports.rows import GOOD
from confide.summaries import Counts, Response
from confide.summaries.groups import Key
from confide.tables import _rows
from confide.tables._rows import Grouping, Numbers
from confide.tables._sources import Opened, ibis

SUMS = ("sw", "sww", "sy", "syy")


@dataclass(frozen=True)
class Query:
    """What to count.

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
    """

    mechanism: Mechanism
    columns: tuple[str, ...]
    response: str | None
    weights: str | None
    bounds: tuple[float, float] | None
    careful: bool = False

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
        for at, (name, size) in enumerate(
            zip(self.columns, self.mechanism.law.outputs, strict=True)
        ):
            # A bare column is the fastest key. Files that lie about it cost memory, no more.
            column = table[name]
            keys[f"k{at}"] = column if name in source.small else _rows.narrowed(column, size)
        kept = grouping.columns(table) | keys
        row_kinds = []
        if self.weights is not None:
            weight = Numbers.of(table[self.weights], self.weights, careful=self.careful)
            kept["w"] = weight.value
            row_kinds.append(_rows.weight_kind(weight))
        if self.response is not None:
            answer = Numbers.of(table[self.response], self.response, careful=self.careful)
            kept["y"] = answer.value
            row_kinds.append(_rows.response_kind(answer, self.bounds))
        by = [*grouping.names, *keys]
        if row_kinds:
            kept["bad"] = _rows.first_kind(*row_kinds)
            by.append("bad")
        rows = table.select(**kept)
        inner = rows.group_by(by).aggregate(n=rows.count(), **self._sums(rows))
        kinds = grouping.kind(inner)
        for at, size in enumerate(self.mechanism.law.outputs):
            kind, whole = _rows.whole(inner[f"k{at}"], size, self.columns[at])
            kinds.append(kind)
            keys[f"k{at}"] = whole
        if row_kinds:
            kinds.append(inner["bad"])
        inner = inner.mutate(kind=_rows.first_kind(*kinds).cast("int64"), **keys)
        good = inner["kind"] == GOOD
        names = [*grouping.names, *keys]
        inner = inner.mutate(**{name: good.ifelse(inner[name], ibis().null()) for name in names})
        sums = {name: inner[name].sum() for name in self._sums(rows) if name not in ("low", "high")}
        if self.response is not None:
            sums |= {"low": inner["low"].min(), "high": inner["high"].max()}
        return inner.group_by([*names, "kind"]).aggregate(n=inner["n"].sum().cast("int64"), **sums)

    def unsure(self, rows: Any) -> bool:
        """Whether NaN went unseen: no test may have found it, but sums that hold one show it."""
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
        left = _rows.settle(found, invalid=invalid, where=where)
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
                    "others, behind statistics that say otherwise",
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
                answer = Response(sums["sy"][number], sums["syy"][number], *ends)
            result[key] = Counts(self.mechanism, tallies[number], simulated, weights, answer)
        return result, left

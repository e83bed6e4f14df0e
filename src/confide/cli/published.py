"""A release on its way out: charged, written, shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from confide.accounting import Spend
from confide.cli import output
from confide.cli.commands import harmless
from confide.cli.results import QUANTILES, rows_of
from confide.files import arrow, formats
from confide.files.paths import counted
from confide.ledger.budget import Ledger
from confide.releases import Release, synthesize
from confide.releases.histogram import FINE, whole_between

ALONE = "Without --ledger nothing was recorded: another release costs as much again."


@dataclass(frozen=True)
class Published:
    """A release with what people ask about it.

    Parameters
    ----------
    release
        What was released.
    kind
        Of which kind.
    columns
        Names of the columns it is about.
    key
        Its name in the ledger, or None.
    stored
        Whether the ledger had it already.
    ledger
        What was charged, or None.
    whole
        Names of the columns that are known to hold whole numbers.
    stated
        Whether the options say of the columns that they do, or that they do not.
    """

    release: Release
    kind: str
    columns: tuple[str, ...]
    key: str | None
    stored: bool
    ledger: Ledger | None
    whole: tuple[str, ...] = ()
    stated: bool = True

    def write(self, sample: int | None, to: Path | None, plot: Path | None) -> None:
        """Synthetic data and a picture, whole or not at all."""
        curve = self.release.curve
        if curve is None:
            return
        if sample is not None and to is not None:
            columns = synthesize(self.release, sample, columns=self.columns, integers=self.whole)
            formats.write(arrow.arrow().table(columns), to)
        if plot is not None:
            alone = self.columns[0] if len(self.columns) == 1 else ""
            title = ", ".join([*self.columns, self.kind, self._cost()])
            output.save_plot(curve.plot(level=None), plot, title, name=alone)

    def show(self, *, as_json: bool) -> None:
        """Print it, for people or for machines."""
        if as_json:
            output.machine(self.to_dict())
            return
        n = counted(self.release.spec["n"], "value")
        if self.release.answer is not None:
            answer = self.release.answer
            number = output.format_of([answer["value"]])
            head = ("", "answer", f"{output.percent(answer['level'])} from", "to")
            shown = [number(answer[part]) for part in ("value", "low", "high")]
            about = f" of {', '.join(map(harmless, self.columns))}" if self.columns else ""
            name = f"{self.name}{about}"
            output.table(f"{n}, {self._cost()}", head, [(name, *shown)])
        else:
            self._table(f"{n}, {self.kind}, {self._cost()}")
            output.say(*self._cells())
        if self.ledger is not None:
            again = "was in the ledger already, and cost nothing" if self.stored else "was charged"
            output.say(
                f"The release {again}; epsilon = {self.ledger.left.epsilon:.6f} is left in "
                f"{self.ledger.path}."
            )
        else:
            output.say(ALONE)
        output.say(self.release.words())

    @property
    def name(self) -> str:
        """What a query asked for."""
        what, q = self.release.spec.get("what"), self.release.spec.get("q")
        return f"{100 * q:g} % quantile" if isinstance(q, float) else harmless(str(what))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        release = self.release
        result: dict[str, Any] = {
            "release": self.kind,
            "columns": list(self.columns),
            "n": release.spec["n"],
            "key": self.key,
            "stored": self.stored,
            "left": None if self.ledger is None else self.ledger.left.to_dict(),
            "spend": release.spend.to_dict(),
            "words": release.words(),
            "facts": dict(release.facts),
        }
        if release.answer is not None:
            return {**result, "answer": dict(release.answer)}
        assert release.curve is not None
        cells = release.curve.cells
        centers = [(edges[:-1] + edges[1:]) / 2 for edges in cells.edges]
        if len(centers) == 1:
            x = centers[0]
            pairs = zip(QUANTILES, cells.quantile(QUANTILES).tolist(), strict=True)
            return {
                **result,
                "edges": cells.edges[0].tolist(),
                "x": x.tolist(),
                "pdf": cells.pdf(x).tolist(),
                "cdf": cells.cdf(x).tolist(),
                "mean": float(cells.mean()),
                "quantiles": {str(q): value for q, value in pairs},
            }
        points = np.stack(np.meshgrid(*centers, indexing="ij"), axis=-1)
        return {
            **result,
            "edges": [edges.tolist() for edges in cells.edges],
            "x": [center.tolist() for center in centers],
            "pdf": cells.pdf(points).tolist(),
            "mean": cells.mean().tolist(),
        }

    def _cells(self) -> list[str]:
        """What the cells of a histogram hold of whole numbers, or could."""
        if self.kind != "histogram":
            return []
        facts, columns = self.release.facts, self.release.spec["columns"]
        widths = facts.get("integers_per_cell") or [None] * len(columns)
        names = self.columns or tuple(column["name"] or "the column" for column in columns)
        said, asked = [], []
        for name, width, cells, column in zip(
            map(harmless, names), widths, facts["cells"], columns, strict=True
        ):
            between = whole_between(column["low"], column["high"])
            if width is not None:
                each = "one whole number" if width == 1 else f"{width:,} whole numbers"
                last = f", the last one {between % width:,}" if between % width else ""
                known = self.stated or name in map(harmless, self.whole)
                other = "" if known else " (--no-integer if it has fractions)"
                said.append(f"Each of the {cells:,} cells of {name} holds {each}{last}{other}.")
            elif column["scale"] == "linear" and 2 < between < FINE * cells:
                asked.append(name)
        if asked and not self.stated:
            said.append(
                f"If {' and '.join(asked)} can only be whole numbers, add --integer: cells then "
                "hold equally many of them, where now some hold more than others."
            )
        return said

    def _cost(self) -> str:
        spend = self.release.spend
        delta = f", delta = {spend.delta:.2g}" if spend.delta else ""
        return f"epsilon = {output.costs([spend.epsilon])[0]}{delta}"

    def _table(self, title: str) -> None:
        curve = self.release.curve
        assert curve is not None
        if len(self.columns) == 1:
            found = rows_of(curve, QUANTILES, 0.95)
            number = output.format_of([value for _, value, _ in found])
            head = ("", harmless(self.columns[0]))
            output.table(title, head, [(a, number(b)) for a, b, _ in found])
            return
        rows = []
        for name in self.columns:
            own = curve.cells.marginal(name)
            number = output.format_of([own.mean()])
            middle = map(number, own.quantile([0.25, 0.5, 0.75]))
            rows.append((harmless(name), number(own.mean()), *middle))
        output.table(title, ("", "mean", "25 %", "median", "75 %"), rows)


def show_quantiles(found: Sequence[Published], spend: Spend, *, as_json: bool) -> None:
    """Print several quantiles of one column, and what they cost together."""
    first = found[0]
    whole = replace(first.release, spend=spend)
    if as_json:
        answers = [
            {
                "q": each.release.spec["q"],
                **dict(each.release.answer or {}),
                "key": each.key,
                "stored": each.stored,
                "spend": each.release.spend.to_dict(),
            }
            for each in found
        ]
        fields = replace(first, release=whole).to_dict()
        for part in ("key", "stored", "answer", "facts"):
            del fields[part]
        output.machine({**fields, "answers": answers})
        return
    number = output.format_of([(each.release.answer or {})["value"] for each in found])
    rows = []
    for each in found:
        answer = each.release.answer or {}
        rows.append((each.name, *(number(answer[part]) for part in ("value", "low", "high"))))
    level = output.percent((first.release.answer or {})["level"])
    title = (
        f"{counted(first.release.spec['n'], 'value')} of {harmless(first.columns[0])}, "
        f"{replace(first, release=whole)._cost()}"
    )
    output.table(title, ("", "answer", f"{level} from", "to"), rows)
    part = output.costs([first.release.spend.epsilon])[0]
    output.say(f"Each of the {len(found)} quantiles is a release of its own for epsilon = {part}.")
    if first.ledger is None:
        output.say(ALONE)
    else:
        had = sum(each.stored for each in found)
        again = f"were charged but for {had} that the ledger had already" if had else "were charged"
        if had == len(found):
            again = "were in the ledger already, and cost nothing"
        left = first.ledger.left.epsilon
        output.say(f"They {again}; epsilon = {left:.6f} is left in {first.ledger.path}.")
    output.say(whole.words())

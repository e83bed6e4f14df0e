"""`confide release`: release statistics about raw data under a budget."""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from confide import _checks
from confide.accounting import Spend
from confide.cli import budgets, grouped, output
from confide.cli.estimates import QUANTILES, rows_of
from confide.cli.options import JsonOption, PlotOption, WordsOption, worded
from confide.cli.parsing import harmless
from confide.displays import FORMATS
from confide.errors import BadRows, BadType, InvalidInput, extra
from confide.files import arrow, formats, parse
from confide.files.columns import Columns
from confide.files.paths import counted, expand, named, writable
from confide.lattice import Categories
from confide.ledger.budget import Ledger
from confide.releases import (
    CrossTable,
    Histogram,
    Means,
    Query,
    Recipe,
    Release,
    from_settings,
    histogram_mean,
    histogram_quantile,
    quantiles,
    release_all,
    shares,
    synthesize,
)
from confide.releases.histogram import FINE, whole_between
from confide.releases.query import COUNT
from confide.releases.query import KINDS as WHATS
from confide.releases.register import of_settings

QUARTILES = (0.25, 0.5, 0.75)
WHOLE_OR_NOT = "{} makes synthetic rows whole; --no-integer if there are fractions"
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
    meanwhile
        Whether another run charged it while this one was at work.
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
    meanwhile: bool = False

    def write(self, sample: int | None, to: Path | None, plot: Path | None) -> None:
        """Synthetic data and a picture, whole or not at all."""
        if sample is not None and to is not None:
            columns = synthesize(self.release, sample, columns=self.columns, integers=self.whole)
            formats.write(arrow.arrow().table(columns), to)
        if plot is not None and self.release.curve is not None:
            alone = self.columns[0] if len(self.columns) == 1 else ""
            title = ", ".join([*self.columns, self.kind, self._cost()])
            output.save_plot(self.release.curve.plot(level=None), plot, title, name=alone)

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
        elif self.release.answers is not None:
            self._answers(f"{n}, {self.kind}, {self._cost()}")
        elif self.release.chosen is not None:
            output.say(f"{n}, {self._cost()}: {self.name}: {harmless(self.release.chosen)}")
        elif self.release.model is not None:
            self._effects(f"{n}, {self._cost()}")
        else:
            self._table(f"{n}, {self.kind}, {self._cost()}")
            self._shares()
            output.say(*self._cells())
        if self.kind == "statistic":
            output.say(
                "The interval is for the answer on these records: it knows the noise, and not the "
                "chance by which these people are in the data."
            )
        if self.ledger is not None:
            again = "was in the ledger already, and cost nothing" if self.stored else "was charged"
            if self.meanwhile:
                again = "was charged by another run at the same time, and cost nothing more"
            output.say(
                f"The release {again}; epsilon = {self.ledger.left.epsilon:.6f} is left in "
                f"{self.ledger.path}."
            )
        else:
            output.say(ALONE)
        output.say(self.release.words())

    def _answers(self, title: str) -> None:
        """Several numbers with their intervals."""
        several = self.release.answers or {}
        together = output.format_of([each["value"] for each in several.values()])
        level = output.percent(next(iter(several.values()))["level"])
        rows = []
        for name, each in several.items():
            # Means are of columns that have units of their own.
            number = output.format_of([each["value"]]) if self.kind == Means.name else together
            ends = (number(each[part]) for part in ("value", "low", "high"))
            rows.append((harmless(name), *ends))
        output.table(title, ("", "answer", f"{level} from", "to"), rows)

    def _effects(self, title: str) -> None:
        """How far each column moves the prediction of a model, from its least to its most."""
        model = self.release.model
        assert model is not None
        moved = {name: float(np.ptp(model.effect(name), axis=0).max()) for name in model.columns}
        unit = "share" if isinstance(model.outcome, Categories) else "share of the range"
        number = output.format_of(list(moved.values()))
        about = f"{title}, {harmless(model.target)} by {counted(len(moved), 'column')}"
        rows = [(harmless(name), number(each)) for name, each in moved.items()]
        output.table(about, ("", f"moves the {unit} by"), rows)

    @property
    def name(self) -> str:
        """The quantity that a query asked for."""
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
        if release.answers is not None:
            several = {name: dict(each) for name, each in release.answers.items()}
            return {**result, "answers": several}
        if release.chosen is not None:
            return {**result, "chosen": release.chosen}
        if release.model is not None:
            return {**result, "model": release.model.to_dict()}
        assert release.curve is not None
        cells = release.curve.cells
        centers = [(edges[:-1] + edges[1:]) / 2 for edges in cells.edges]
        estimates = list(self._estimates().values())
        means, quantiles = np.atleast_1d(cells.mean()).tolist(), {}
        if len(centers) == 1:
            quantiles = dict(zip(map(str, QUANTILES), cells.quantile(QUANTILES), strict=True))
        if estimates:
            ends = [{part: list(own[1:]) for part, own in each.items()} for each in estimates]
            result["intervals"] = {"level": 0.95, "columns": ends}
            means = [each["mean"][0] for each in estimates]
            quantiles = {part: estimates[0][part][0] for part in quantiles}
        if len(centers) == 1:
            x = centers[0]
            if self.kind == Histogram.name:
                share, low, high = (part.tolist() for part in shares(release))
                result["shares"] = {"level": 0.95, "share": share, "low": low, "high": high}
            return {
                **result,
                "edges": cells.edges[0].tolist(),
                "x": x.tolist(),
                "pdf": cells.pdf(x).tolist(),
                "cdf": cells.cdf(x).tolist(),
                "mean": means[0],
                "quantiles": {part: float(value) for part, value in quantiles.items()},
            }
        points = np.stack(np.meshgrid(*centers, indexing="ij"), axis=-1)
        return {
            **result,
            "edges": [edges.tolist() for edges in cells.edges],
            "x": [center.tolist() for center in centers],
            "pdf": cells.pdf(points).tolist(),
            "mean": means,
        }

    def _cells(self) -> list[str]:
        """What the cells of a histogram hold of whole numbers, or could."""
        if self.kind != "histogram":
            return []
        facts, columns = self.release.facts, self.release.spec["columns"]
        widths = facts.get("integers_per_cell") or [None] * len(columns)
        names = [
            name or "the column" for name in self.columns or (column["name"] for column in columns)
        ]
        said, asked = [], []
        for name, width, cells, column in zip(
            map(harmless, names), widths, facts["cells"], columns, strict=True
        ):
            between = whole_between(column["low"], column["high"])
            if width is not None:
                each = "one whole number" if width == 1 else f"{width:,} whole numbers"
                last = f", the last one {between % width:,}" if between % width else ""
                known = self.stated or name in map(harmless, self.whole)
                # One option says it of all columns, the other one of this column alone.
                option = "--integer" if len(names) == 1 else f"--integer-column {name}"
                other = "" if known else f" ({WHOLE_OR_NOT.format(option)})"
                said.append(f"Each of the {cells:,} cells of {name} holds {each}{last}{other}.")
            elif column["scale"] == "linear" and 2 < between < FINE * cells:
                asked.append(name)
        if asked and not self.stated:
            said.append(
                f"If {' and '.join(asked)} can only be whole numbers, add --integer or "
                "--integer-column: cells then hold equally many of them, where now some hold more "
                "than others."
            )
        return said

    def _shares(self) -> None:
        """The share of people in each cell of a histogram of one column, where cells are few."""
        curve = self.release.curve
        if self.kind != Histogram.name or curve is None or len(curve.cells.edges) > 1:
            return
        (edges,) = curve.cells.edges
        if len(edges) - 1 > SHOWN:
            return
        # Edges of whole numbers lie between them.
        inside = 0.5 if self.release.facts.get("integers_per_cell") else 0.0
        ends = zip((edges[:-1] + inside).tolist(), (edges[1:] - inside).tolist(), strict=True)
        several = np.stack(shares(self.release), axis=1).tolist()
        number = output.format_of([share for share, _, _ in several])
        rows = [
            (f"{low:,.6g} to {high:,.6g}" if low < high else f"{low:,.6g}", *map(number, each))
            for (low, high), each in zip(ends, several, strict=True)
        ]
        name = harmless(self.columns[0]) if self.columns else ""
        output.table("Share of each cell", (name, "share", "95 % from", "to"), rows)

    def _cost(self) -> str:
        spend = self.release.spend
        delta = f", delta = {spend.delta:.2g}" if spend.delta else ""
        return f"epsilon = {output.costs([spend.epsilon])[0]}{delta}"

    def _estimates(self) -> dict[str, dict[str, tuple[float, float, float]]]:
        """Means and quantiles of the columns of a histogram, with intervals; of others nothing."""
        curve = self.release.curve
        if curve is None or self.kind != Histogram.name:
            return {}
        own = curve.cells.names
        shares = QUANTILES if len(own) == 1 else QUARTILES
        return {
            shown: {
                "mean": histogram_mean(self.release, column=name),
                **{str(q): histogram_quantile(self.release, q, column=name) for q in shares},
            }
            for shown, name in zip(self.columns or own, own, strict=True)
        }

    def _table(self, title: str) -> None:
        curve = self.release.curve
        assert curve is not None
        if estimates := self._estimates():
            rows = []
            for column, several in estimates.items():
                number = output.format_of([value for value, _, _ in several.values()])
                about = f" of {harmless(column)}" if column else ""
                rows += [(f"{_called(name)}{about}", *map(number, ends))
                         for name, ends in several.items()]  # fmt: skip
            output.table(title, ("", "estimate", "95 % from", "to"), rows)
            return
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


def _called(name: str) -> str:
    """The mean, or the quantile for a share that is spelt out."""
    if name == "mean":
        return name
    return "median" if name == "0.5" else f"{output.percent(float(name))} quantile"


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


COLUMNS, QUERIES, OWN = "Columns", "Queries and intervals", "Functions of your own"
CURVES, WHOLE, OUTPUT = "Densities, tables and models", "Whole numbers", "Output"
"""Parts of the help, so that each is as narrow as its own options."""
KINDS = tuple(of_settings())
DENSITIES = ("histogram", "series", "gaussian-process", "bernstein", "kolmogorov-smirnov")
"""Kinds whose release is a curve."""
SHOWN = 20
"""Cells of a histogram whose shares are printed; `--json` has those of any number."""


def release(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=" | ".join(KINDS))],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Raw values: CSV or Parquet, a glob or a folder.")
    ],
    *,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="The column; repeat it, with --low and --high, for a joint density.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    low: Annotated[
        list[float] | None,
        typer.Option(help="Public lower bound of the column.", rich_help_panel=COLUMNS),
    ] = None,
    high: Annotated[
        list[float] | None,
        typer.Option(help="Public upper bound of the column.", rich_help_panel=COLUMNS),
    ] = None,
    words: WordsOption = None,
    scale: Annotated[
        str, typer.Option(help="linear, or log for bounds above 0.", rich_help_panel=COLUMNS)
    ] = "linear",
    epsilon: Annotated[float, typer.Option(help="What the release costs.")],
    delta: Annotated[
        float | None,
        typer.Option(
            help="gaussian-process, means, least-squares, statistic: the delta, such as 1e-6.",
            rich_help_panel=CURVES,
        ),
    ] = None,
    what: Annotated[
        str | None,
        typer.Option(
            help="query: count, sum, mean, variance or quantile; statistic, selection: a name.",
            rich_help_panel=QUERIES,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="least-squares: the column to predict.", rich_help_panel=CURVES),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="statistic, selection: your function. It runs on the raw records, "
            "so check its code first.",
            rich_help_panel=OWN,
        ),
    ] = None,
    sensitivity: Annotated[
        float | None,
        typer.Option(
            help="statistic, selection: the most that one record can change "
            "the result, as you state it.",
            rich_help_panel=OWN,
        ),
    ] = None,
    by_n: Annotated[
        bool,
        typer.Option(
            "--divided-by-n",
            help="The sensitivity of statistic and selection is that number over n.",
            rich_help_panel=OWN,
        ),
    ] = False,
    answer_low: Annotated[
        float | None,
        typer.Option(
            help="statistic, selection: public lower bound of the answers.", rich_help_panel=OWN
        ),
    ] = None,
    answer_high: Annotated[
        float | None,
        typer.Option(
            help="statistic, selection: public upper bound of the answers.", rich_help_panel=OWN
        ),
    ] = None,
    answer_name: Annotated[
        list[str] | None,
        typer.Option(
            help="statistic: a name for each number, if the function gives several; can be "
            "repeated.",
            rich_help_panel=OWN,
        ),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(help="selection: a possible outcome; can be repeated.", rich_help_panel=OWN),
    ] = None,
    q: Annotated[
        list[float] | None,
        typer.Option(
            help="query: share below the quantile. Repeat it for several, which divide epsilon.",
            rich_help_panel=QUERIES,
        ),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="query, means, cross-table, statistic: level of the interval.",
            rich_help_panel=QUERIES,
        ),
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(help="query: part of epsilon spent on the interval.", rich_help_panel=QUERIES),
    ] = None,
    cells: Annotated[
        int | None,
        typer.Option(
            help="histogram, cross-table: cells per column of numbers.", rich_help_panel=CURVES
        ),
    ] = None,
    integer: Annotated[
        bool | None,
        typer.Option(
            "--integer/--no-integer",
            help="Histogram, cross-table: whether all columns of numbers hold only whole ones. "
            "Each cell of a histogram then holds equally many, and synthetic rows are whole.",
            show_default="by Parquet's types and by the bounds, never by the values",
            rich_help_panel=WHOLE,
        ),
    ] = None,
    integer_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A column that holds only whole numbers; can be repeated.",
            rich_help_panel=WHOLE,
        ),
    ] = None,
    terms: Annotated[
        int | None, typer.Option(help="series: number of cosines.", rich_help_panel=CURVES)
    ] = None,
    degree: Annotated[
        int | None,
        typer.Option(
            help="bernstein, least-squares: degree of the polynomial.", rich_help_panel=CURVES
        ),
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option(
            help="gaussian-process, bernstein: kernel's width, a share of the range.",
            rich_help_panel=CURVES,
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            help="kolmogorov-smirnov: number of synthetic points.", rich_help_panel=CURVES
        ),
    ] = None,
    points: Annotated[
        int | None, typer.Option(help="kolmogorov-smirnov: cells.", rich_help_panel=CURVES)
    ] = None,
    ledger: budgets.LedgerOption = None,
    budget: budgets.BudgetOption = None,
    budget_delta: Annotated[
        float | None,
        typer.Option(help="Total delta of a new ledger.", rich_help_panel=budgets.PANEL),
    ] = None,
    subject: budgets.SubjectOption = None,
    key: budgets.KeyOption = None,
    group: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="ATTRIBUTE VALUE",
            help="The file holds only this group of a public attribute; no rows are selected. "
            "Groups cost as much as the most expensive one.",
            rich_help_panel=budgets.PANEL,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=GROUP,GROUP",
            help="query: one release for each group of a public column, of which all groups are "
            "named here. Together they cost as much as one.",
            rich_help_panel=QUERIES,
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Rows of synthetic data for --output.", rich_help_panel=OUTPUT),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Synthetic data, CSV or Parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish statistics about raw values, with noise, under a budget."""
    settings: dict[str, Any] = {
        "column": column,
        "low": low,
        "high": high,
        "scale": scale,
        "epsilon": epsilon,
        "delta": delta,
        "what": what,
        "q": q[0] if q else None,
        "level": level,
        "spread": spread,
        "cells": cells,
        "integers": integer,
        "terms": terms,
        "degree": degree,
        "bandwidth": bandwidth,
        "size": size,
        "points": points,
        "words": worded(words) or None,
        "target": target,
        "function": _function(function),
        "sensitivity": sensitivity,
        "divided_by_n": by_n or None,
        "answer_low": answer_low,
        "answer_high": answer_high,
        "names": answer_name,
        "outcomes": outcome,
    }
    if function is not None and what is None:
        settings["what"] = function.rpartition(":")[2]
    if kind in WHATS:
        raise InvalidInput(
            f"a kind among {', '.join(KINDS)}",
            repr(kind),
            f"For that: confide release query FILE --what {kind}.",
        )
    _checks.one_of(KINDS, kind=kind)
    # Everything that can be refused is refused before a value is read, and long before a charge.
    _check_files(kind, file, plot=plot, to=to, sample=sample, ledger=ledger)
    whole: list[str] = []
    if integer_column and integer is not None:
        raise InvalidInput("one of --integer and --integer-column", "both")
    stated = integer is not None or bool(integer_column)
    if kind == Histogram.name or (kind == CrossTable.name and column):
        whole = _integers(file, column, scale, integer_column or integer, worded(words))
        settings["integers"] = whole if len(column or [""]) > 1 else bool(whole)
    elif integer_column:
        raise InvalidInput(f"no --integer-column for {kind}", "one")
    if kind == CrossTable.name:
        settings["integers"] = None  # of its synthetic rows alone
    made = from_settings(kind, settings)
    asked: list[Recipe] = [made]
    if isinstance(made, Query) and len(q or []) > 1:
        asked = list(quantiles(made, q or []))
    budgets.check(
        ledger, budget, budget_delta, {"--subject": subject, "--key": key, "--group": group}
    )
    _check_group(file, group)
    groups = grouped.stated(by, made, column, group, q)
    is_count = kind == "query" and what == "count"
    raw = _read(file, column, worded(words), groups, counted=is_count)
    if isinstance(made, Histogram) and not stated:
        asked = [made.aligned(len(next(iter(raw.values()))))]
    book = _opened((ledger, budget, budget_delta, subject), made, raw)
    if book is not None:
        key = key or budgets.default_key(book, file, [*raw, what or kind])
    if groups is not None and isinstance(made, Query):
        grouped.release(made, raw, groups, book, key, as_json=as_json)
        return
    name = key or kind
    keys = [name] if len(asked) == 1 else [f"{name}/{share}" for share in q or []]
    alone = len(raw) == 1 and "words" not in of_settings()[kind]
    data = next(iter(raw.values())) if alone else raw
    recipes = dict(zip(keys, asked, strict=True))
    found = _released(recipes, data, book, group, (kind, tuple(raw), key))
    if len(found) > 1:
        # The parts are rounded down, so together they cost no more than what was asked for. A sum
        # of floats could say more.
        show_quantiles(found, made.spend, as_json=as_json)
        return
    one = replace(found[0], whole=tuple(whole), stated=stated)
    one.write(sample, to, plot)
    one.show(as_json=as_json)


def _opened(
    given: tuple[Path | None, float | None, float | None, str | None],
    recipe: Recipe,
    raw: Mapping[str, Any],
) -> Ledger | None:
    """The ledger, its budget, delta and subject as given; none where a function is refused."""
    ledger, budget, delta, subject = given
    if ledger is None:
        return None
    if not ledger.exists():
        recipe.vet(len(next(iter(raw.values()))))
    return budgets.opened(ledger, budget, delta, subject, recipe.spend)


def _released(
    recipes: Mapping[str, Recipe],
    data: Any,
    book: Ledger | None,
    group: tuple[str, str] | None,
    about: tuple[str, tuple[str, ...], str | None],
) -> list[Published]:
    """Release all, charged where there is a ledger; about is the kind, the columns and the key."""
    kind, columns, key = about
    stored = {entry.key for entry in book.entries()} if book is not None else set()
    with output.shares("Preparing") as tell:
        made = release_all(recipes, data, book, group=group, progress=tell)
    found = []
    for each, drawn in made.items():
        had = book is not None and each not in book.charged
        told = Published(drawn, kind, columns, key and each, had, book)
        found.append(replace(told, meanwhile=had and each not in stored))
    return found


def _check_files(
    kind: str,
    file: Path,
    *,
    plot: Path | None,
    to: Path | None,
    sample: int | None,
    ledger: Path | None,
) -> None:
    """Refuse what cannot be written, or has no picture or rows."""
    for path, suffixes in ((plot, FORMATS), (to, formats.written())):
        if path is not None:
            sources = expand([file], formats.readable())
            writable(path, suffixes, [*sources, *([ledger] if ledger else [])])
    if plot is not None:
        extra("matplotlib", "plot")
    if (sample is None) != (to is None):
        raise InvalidInput("--sample and --output together", "one of them")
    if plot is not None and kind not in DENSITIES:
        raise InvalidInput("a density for --plot", f"a {kind}")
    if to is not None and kind not in (*DENSITIES, CrossTable.name):
        raise InvalidInput("a density or a cross-table for --output", f"a {kind}")


def _function(given: str | None) -> Any:
    """The function of a file of Python, which runs.

    Its fingerprint covers the whole file: a function may use others beside it, and a ledger must
    not take a changed one for the same release.
    """
    if given is None:
        return None
    path, _, name = given.rpartition(":")
    if not path or not Path(path).is_file():
        raise InvalidInput("--function as FILE.py:NAME of a file that is there", repr(given))
    try:
        found = runpy.run_path(path).get(name)
    except Exception as error:
        raise InvalidInput(f"a file of Python at {path}", f"{type(error).__name__}") from None
    if not callable(found):
        raise InvalidInput(f"a function {name!r} in {path}", "none")
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()

    def run(*values: Any, source: str = f"{name} {digest}") -> Any:
        return found(*values)

    return run


def _read(
    file: Path,
    column: Sequence[str] | None,
    words: Mapping[str, Any],
    groups: grouped.Stated | None,
    *,
    counted: bool,
) -> dict[str, Any]:
    """The columns; for a count of 0 and 1 only, which people forget who have yes and no."""
    if groups is not None:
        column, words = [*(column or ()), groups.attribute], groups.words
    try:
        with output.counter("Reading") as tell:
            raw = Columns.open(file, column, words=words).read(tell)
    except (BadRows, BadType) as error:
        if counted:
            raise InvalidInput(error.expected, error.got, COUNT) from None
        raise
    for name, numbers in raw.items():
        if counted and name not in words and not ((numbers == 0) | (numbers == 1)).all():
            raise InvalidInput(f"0 and 1 in column {name!r}", "other numbers", COUNT)
    return raw


def _check_group(file: Path, group: tuple[str, str] | None) -> None:
    """Refuse a file that holds other groups as well, which would be charged as one of them."""
    if group is None:
        return
    attribute, value = group
    for path in expand([file], formats.readable()):
        if attribute not in formats.source(path).names:
            continue
        found = Columns.open(path, attribute, words=[attribute]).read()[attribute]
        others = np.flatnonzero(found != value)
        if others.size:
            more = f" and {others.size - 1:,} more" if others.size > 1 else ""
            raise InvalidInput(
                f"only rows of the group {value!r} in column {attribute!r}",
                f"another in {parse.rows_of(named(path), 0)(int(others[0]))}{more}",
                "--group does not select rows. For a query of all groups of one file: --by "
                f"{attribute}=... with all groups. For other kinds: write the rows of each group "
                "to a file of its own, or use releases.release_groups in Python.",
            )


def _integers(
    file: Path,
    column: Sequence[str] | None,
    scale: str,
    stated: bool | Sequence[str] | None,
    words: Mapping[str, Any],
) -> list[str]:
    """Columns of whole numbers: those that are said to hold them, or have the type."""
    if stated is False or (stated is None and scale != "linear"):
        return []
    columns = Columns.open(file, column, words=words)
    if stated is None:
        return columns.integers
    numbers = [name for name in columns.names if name not in words]
    if stated is True:
        return numbers
    for name in stated:
        if name not in numbers:
            advice = _checks.nearest(name, numbers)
            raise InvalidInput("--integer-column among the columns of numbers", repr(name), advice)
    return [name for name in numbers if name in stated]

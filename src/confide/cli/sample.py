"""`confide sample`: a few synthetic records of a respondent's data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from confide import _checks
from confide.accounting.spend import odds
from confide.cli import budgets, output
from confide.cli.options import JsonOption, PlotOption, WordsOption, worded
from confide.cli.parsing import harmless
from confide.displays import FORMATS
from confide.errors import InvalidInput, extra
from confide.files import arrow, formats
from confide.files.columns import Columns
from confide.files.paths import counted, expand, writable
from confide.ledger.budget import Ledger
from confide.sampling import FiniteMollifier, Mollifier, from_settings, table_from_settings
from confide.sampling.diagnostics import SamplesDisplay
from confide.sampling.register import ADVICE, CELLS, RATIOS, REFERENCES
from confide.sampling.sampler import MAX_SAMPLES, Samples


def sample(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Records: CSV or Parquet, a glob or a folder.")
    ],
    *,
    column: Annotated[list[str] | None, typer.Option(help="The column; can be repeated.")] = None,
    reference: Annotated[
        str | None,
        typer.Option(help=f"{' | '.join(REFERENCES)}; none with --words.", show_default=False),
    ] = None,
    words: WordsOption = None,
    mean: Annotated[
        list[float] | None,
        typer.Option(help="gaussian: public guess of the mean of each column."),
    ] = None,
    sd: Annotated[
        list[float] | None,
        typer.Option(help="gaussian: public guess of the standard deviation of each column."),
    ] = None,
    low: Annotated[
        list[float] | None,
        typer.Option(help="box, --words: public lower bound of each column of numbers."),
    ] = None,
    high: Annotated[
        list[float] | None,
        typer.Option(help="box, --words: public upper bound of each column of numbers."),
    ] = None,
    cells: Annotated[
        int | None,
        typer.Option(help="--words: cells of each column of numbers.", show_default=str(CELLS)),
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="sample, --words: public records with the same columns."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What one sample costs.")],
    k: Annotated[int, typer.Option(help="Number of samples; they cost k times epsilon.")] = 1,
    ratio: Annotated[
        str | None,
        typer.Option(
            help=f"How the records are smoothed: {' | '.join(RATIOS)}.",
            show_default="kde up to 3 columns",
        ),
    ] = None,
    ledger: budgets.LedgerOption = None,
    budget: budgets.BudgetOption = None,
    subject: budgets.SubjectOption = None,
    key: budgets.KeyOption = None,
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The samples, CSV or Parquet."),
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a few synthetic records of a data set; each costs epsilon."""
    # Everything that can be refused is refused before a record is read, and long before a charge.
    said = worded(words)
    if not said and reference is None:
        raise InvalidInput("--reference, or --words of columns that hold words", "neither", ADVICE)
    if not said:
        _checks.one_of(tuple(REFERENCES), reference=reference)
    k = _checks.integer(1, MAX_SAMPLES, k=k)
    budgets.check(ledger, budget, None, {"--subject": subject, "--key": key})
    for path, suffixes in ((plot, FORMATS), (to, formats.written())):
        if path is not None:
            read = expand([file, *([public] if public else [])], formats.readable())
            writable(path, suffixes, [*read, *([ledger] if ledger else [])])
    settings: dict[str, Any] = {
        "reference": reference,
        "mean": mean,
        "sd": sd,
        "low": low,
        "high": high,
        "epsilon": epsilon,
        "ratio": ratio,
    }
    if public is not None:
        own = expand([file], formats.readable())
        for known in expand([public], formats.readable()):
            if any(known.samefile(private) for private in own):
                raise InvalidInput(
                    "--public records in a file of their own",
                    "a file of the private ones",
                    "The reference is published as it is.",
                )
    dim = len(column or [""])
    if plot is not None:
        extra("matplotlib", "plot")
        if dim > 2 or said:
            raise InvalidInput(
                "one or two columns of numbers for --plot",
                "columns of words" if said else f"{dim} columns",
            )
    sampler = _sampler(settings, said, column, cells, public)
    with output.counter("Reading") as tell:
        raw = Columns.open(file, column, words=said).read(tell)
    table: Any = raw
    if isinstance(sampler, Mollifier):
        table = sampler.reference.held(np.stack(list(raw.values()), axis=1))
    else:
        # Refuse values without a cell now, with the file's own words in the message.
        sampler.index(raw)
    # The ledger is opened, and maybe made, when nothing is left that the records could spoil.
    book = None
    if ledger is not None:
        book = budgets.opened(ledger, budget, None, subject, sampler.cost(k))
        key = key or budgets.default_key(book, file, [*raw, "sample"])
    stored = book is not None and key in {entry.key for entry in book.entries()}
    found = sampler.privatize(table, k, ledger=book, key=key)
    _write(found, list(raw), to, plot)
    had = book is not None and key not in book.charged
    _show(found, list(raw), book, key, stored=had, meanwhile=had and not stored, as_json=as_json)


def _sampler(
    settings: dict[str, Any],
    said: dict[str, list[str]],
    column: Sequence[str] | None,
    cells: int | None,
    public: Path | None,
) -> Mollifier | FiniteMollifier:
    """The sampler of the options: of a table where there are columns of words."""
    if said:
        known = Columns.open(public, column, words=said).read() if public else None
        more = {"column": column, "words": said, "cells": cells, "public": known}
        return table_from_settings({**settings, **more})
    if cells is not None:
        raise InvalidInput("no --cells without --words", "--cells")
    # Public records are read only for the reference that is made of them.
    used = public and settings["reference"] == "sample"
    found = _rows(public, column) if public and used else public
    return from_settings({**settings, "public": found}, dim=len(column or [""]))


def _rows(public: Path, column: Sequence[str] | None) -> Any:
    return np.stack(list(Columns.open(public, column).read().values()), axis=1)


def _write(found: Samples, columns: list[str], to: Path | None, plot: Path | None) -> None:
    """The samples and a picture of them, whole or not at all."""
    if to is not None:
        table = dict(zip(columns, zip(*_listed(found), strict=True), strict=True))
        formats.write(arrow.arrow().table(table), to)
    if plot is not None:
        display = SamplesDisplay.of(found).plot()
        title = f"{counted(len(found), 'sample')}, epsilon = {found.spend.epsilon:g} in all"
        second = columns[1] if len(columns) == 2 else ""
        output.save_plot(display, plot, title, name=columns[0], height=second)


def _listed(found: Samples) -> list[list[Any]]:
    """The samples as rows, in the order of the columns."""
    rows = found.mechanism.rows(found.numbers)
    return [list(row.values()) if isinstance(row, dict) else row for row in rows]


def _show(
    found: Samples,
    columns: list[str],
    book: Ledger | None,
    key: str | None,
    *,
    stored: bool,
    meanwhile: bool,
    as_json: bool,
) -> None:
    fields = found.to_dict()
    if as_json:
        output.machine(
            {
                "columns": columns,
                "samples": _listed(found),
                "numbers": fields["numbers"],
                "mechanism": fields["mechanism"],
                "spend": fields["spend"],
                "key": key,
                "stored": stored,
                "left": None if book is None else book.left.to_dict(),
            }
        )
        return
    cost = output.costs([found.spend.epsilon])[0]
    listed = _listed(found)
    number = output.format_of([each for row in listed for each in row if type(each) is not str])
    rows = [
        tuple(harmless(each) if isinstance(each, str) else number(each) for each in row)
        for row in listed
    ]
    title = f"{counted(len(found), 'sample')}, epsilon = {cost} in all"
    output.table(title, columns, rows, words=0)
    if book is not None:
        again = "were in the ledger already, and cost nothing" if stored else "were charged"
        if meanwhile:
            again = "were charged by another run at the same time, and cost nothing more"
        output.say(
            f"The samples {again}; epsilon = {book.left.epsilon:.6f} is left in {book.path}."
        )
    output.say(
        f"Had the records been any others, these samples would have been as likely up to a factor "
        f"of {odds(found.spend.epsilon)}: whatever somebody believes about the records, the "
        "samples move their odds by no more than that."
    )

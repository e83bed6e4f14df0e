"""The verb of a respondent with many records: sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from confide import _checks
from confide.accounting import odds
from confide.cli import budgets, output
from confide.cli.options import JsonOption, PlotOption
from confide.displays import FORMATS
from confide.errors import InvalidInput, extra
from confide.files import arrow, formats
from confide.files.columns import Columns
from confide.files.paths import counted, expand, writable
from confide.ledger.budget import Ledger
from confide.sampling import KDE, Binned, Box, Gaussian, GaussianMixture, Mollifier, Reference
from confide.sampling.diagnostics import SamplesDisplay
from confide.sampling.references import Sample
from confide.sampling.sampler import MAX_SAMPLES, Samples

# What each reference is made from, as options here.
REFERENCES: dict[str, tuple[str, ...]] = {
    "gaussian": ("mean", "sd"),
    "box": ("low", "high"),
    "sample": ("public",),
}
RATIOS: dict[str, Any] = {
    "kde": KDE,
    "gaussian-mixture": GaussianMixture,
    "binned": Binned,
}
REFERENCE = (
    "Samples lie where the reference does. Choose it from common knowledge, in the units of the "
    "records, and never from the records themselves."
)


def sample(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Records: CSV or Parquet, a glob or a folder.")
    ],
    *,
    column: Annotated[
        list[str] | None, typer.Option(help="Which column; repeat it for several.")
    ] = None,
    reference: Annotated[str, typer.Option(help=" | ".join(REFERENCES))],
    mean: Annotated[
        list[float] | None,
        typer.Option(help="gaussian: public guess of the mean of each column."),
    ] = None,
    sd: Annotated[
        list[float] | None,
        typer.Option(help="gaussian: public guess of the standard deviation of each column."),
    ] = None,
    low: Annotated[
        list[float] | None, typer.Option(help="box: public lower bound of each column.")
    ] = None,
    high: Annotated[
        list[float] | None, typer.Option(help="box: public upper bound of each column.")
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="sample: public records with the same columns."),
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
    """Release a few synthetic records of a data set, each for epsilon."""
    # Everything that can be refused is refused before a record is read, and long before a charge.
    _checks.one_of(tuple(REFERENCES), reference=reference)
    k = _checks.integer(1, MAX_SAMPLES, k=k)
    budgets.check(ledger, budget, None, {"--subject": subject, "--key": key})
    for path, suffixes in ((plot, FORMATS), (to, formats.written())):
        if path is not None:
            read = expand([file, *([public] if public else [])], formats.readable())
            writable(path, suffixes, [*read, *([ledger] if ledger else [])])
    given = {"mean": mean, "sd": sd, "low": low, "high": high, "public": public}
    for option, value in given.items():
        if value is not None and option not in REFERENCES[reference]:
            raise InvalidInput(f"no --{option} for {reference}", f"--{option}")
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
    made = _reference(reference, dim, given, column)
    if plot is not None:
        extra("matplotlib", "plot")
        if dim > 2:
            raise InvalidInput("one or two columns for --plot", str(dim))
    if ratio is not None:
        _checks.one_of(tuple(RATIOS), ratio=ratio)
    smooth = RATIOS[ratio or ("kde" if dim <= 3 else "gaussian-mixture")]()
    # On a public point: what cannot work with this reference at all is refused here.
    smooth(made.sample(1, seed=0), made)
    sampler = Mollifier(reference=made, epsilon=epsilon, ratio=smooth)
    with output.counter("Reading") as tell:
        raw = Columns.open(file, column).read(tell)
    table = made.held(np.stack(list(raw.values()), axis=1))
    # The ledger is opened, and maybe made, when nothing is left that the records could spoil.
    book = None
    if ledger is not None:
        book = budgets.opened(ledger, budget, None, subject, sampler.cost(k))
        key = key or budgets.default_key(book, file, [*raw, "sample"])
    stored = book is not None and key in {entry.key for entry in book.entries()}
    found = sampler.privatize(table, k, ledger=book, key=key)
    _write(found, list(raw), to, plot)
    _show(found, list(raw), book, key, stored=stored, as_json=as_json)


def _reference(
    kind: str, dim: int, given: dict[str, Any], column: Sequence[str] | None
) -> Reference:
    """The public reference that some options ask for."""
    if kind == "sample":
        if given["public"] is None:
            raise InvalidInput("--public, a file of public records", "none")
        known = Columns.open(given["public"], column).read()
        return Sample(np.stack(list(known.values()), axis=1))
    first, second = REFERENCES[kind]
    for option in (first, second):
        ends = given[option]
        if len(ends or []) != dim:
            each = "" if dim == 1 else f" for each of {dim} columns"
            got = str(len(ends)) if ends else "none"
            raise InvalidInput(f"--{option}{each}, for the {kind} reference", got, REFERENCE)
    if kind == "box":
        return Box(low=given["low"], high=given["high"])
    return Gaussian(dim, mean=given["mean"], sd=given["sd"])


def _write(found: Samples, columns: list[str], to: Path | None, plot: Path | None) -> None:
    """The samples and a picture of them, whole or not at all."""
    points = found.points
    if to is not None:
        table = {name: points[:, at] for at, name in enumerate(columns)}
        formats.write(arrow.arrow().table(table), to)
    if plot is not None:
        display = SamplesDisplay.of(found).plot()
        title = f"{counted(len(found), 'sample')}, epsilon = {found.spend.epsilon:g} in all"
        second = columns[1] if len(columns) == 2 else ""
        output.save_plot(display, plot, title, name=columns[0], height=second)


def _show(
    found: Samples,
    columns: list[str],
    book: Ledger | None,
    key: str | None,
    *,
    stored: bool,
    as_json: bool,
) -> None:
    fields = found.to_dict()
    if as_json:
        output.machine(
            {
                "columns": columns,
                "samples": fields["samples"],
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
    number = output.format_of([value for row in fields["samples"] for value in row])
    rows = [tuple(map(number, row)) for row in fields["samples"]]
    title = f"{counted(len(found), 'sample')}, epsilon = {cost} in all"
    output.table(title, columns, rows, words=0)
    if book is not None:
        again = "were in the ledger already, and cost nothing" if stored else "were charged"
        output.say(
            f"The samples {again}; epsilon = {book.left.epsilon:.6f} is left in {book.path}."
        )
    output.say(
        f"Had the records been any others, these samples would have been as likely up to a factor "
        f"of {odds(found.spend.epsilon)}: whatever somebody believes about the records, the "
        "samples move their odds by no more than that."
    )

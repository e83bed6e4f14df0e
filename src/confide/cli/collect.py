"""Verbs of those who collect: privatize, summarize, merge."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _arrow, _cells
from confide._files import atomic, expand, writable
from confide.cli import documents, inputs, output
from confide.errors import InvalidInput, Mismatch
from confide.reports import Stamp
from confide.summaries import Counts
from confide.surveys import Survey, already

FilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Summaries, .json or .npz.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
QuestionOption = Annotated[
    str | None, typer.Option("--question", help="Which question of the survey.", metavar="NAME")
]


def privatize(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SURVEY VALUES", help="The survey (.toml), and a CSV or Parquet file."
        ),
    ],
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Reports, Parquet or CSV.")
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="A public column to carry along; repeat it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Turn values into private reports, with fresh randomness from the operating system."""
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    if len(rest) != 1:
        raise InvalidInput("one file of values", f"{len(rest)}")
    source = _arrow.Source(expand(rest, _arrow.SUFFIXES)[0])
    writable(to, _arrow.SUFFIXES, [source.path, *([path] if path else [])])
    n = write_reports(survey, source, to, list(dict.fromkeys(keep or ())))
    if as_json:
        spend = survey.spend.to_dict()
        output.machine({"n": n, **spend, "fingerprint": survey.fingerprint, "output": str(to)})
        return
    rows = [
        (name, mechanism.name, output.number(mechanism.spend.epsilon))
        for name, mechanism in survey.mechanisms.items()
    ]
    output.table(f"{n:,} reports in {to}", ("question", "mechanism", "epsilon"), rows, words=2)
    output.say(survey.spend.words())


def write_reports(survey: Survey, source: _arrow.Source, to: Path, keep: list[str]) -> int:
    """Privatize a file into another, a batch at a time; returns the number of rows."""
    survey.check_keep(keep)
    if Stamp.read(source.metadata, source.where) is not None:
        raise already(source.where)
    columns = [*survey.questions, *keep]
    kinds = _cells.kinds(source, keep) if source.plain and keep else {}
    n = 0
    with (
        output.progress("Privatizing", source.rows) as advance,
        atomic(to) as temporary,
        _writer(temporary) as write,
    ):
        for batch in source.batches(columns):
            if not batch.num_rows:
                continue
            made = survey.reports(batch, keep=keep, plain=source.plain, where=source.where, first=n)
            for name, kind in kinds.items():
                at = columns.index(name)
                made = made.set_column(at, name, made.column(at).cast(kind))
            write(made)
            n += batch.num_rows
            advance(batch.num_rows)
        if not n:
            raise InvalidInput(f"rows in {source.where}", "none")
    return n


@contextlib.contextmanager
def _writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """Write tables one after the other; the first one says which columns there are."""
    opened: list[Any] = []

    def write(table: Any) -> None:
        if not opened:
            if path.suffix == ".csv":
                make = _arrow.arrow("pyarrow.csv").CSVWriter
            else:
                make = _arrow.arrow("pyarrow.parquet").ParquetWriter
            opened.append(make(path, table.schema))
        opened[0].write_table(table)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def summarize(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Reports: files, globs, folders; what ends in .toml is the survey.",
        ),
    ],
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Counts, .json or .npz.")
    ],
    question: QuestionOption = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Accept simulated reports, which are not private.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count reports: all that an estimate needs, in a file that no longer grows with them."""
    survey, path, rest = inputs.split(files)
    opened = inputs.open_reports(survey, rest, question)
    if opened.simulated and not simulated:
        raise Mismatch(
            "private reports",
            "simulated ones",
            "They are not private and must not mix with those that are; --simulated takes them.",
        )
    given = [source.path for source in opened.sources] + ([path] if path else [])
    writable(to, documents.SUFFIXES, given)
    if to.suffix == ".npz":
        inputs.only(tuple(opened.mechanisms), None)
    counts = inputs.tally(opened)
    documents.save(to, counts)
    _written(counts, to, as_json)


def merge(
    files: FilesArgument,
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The sum, .json or .npz.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Add up summaries of the same mechanism."""
    found = expand(files, documents.SUFFIXES)
    writable(to, documents.SUFFIXES, found)
    counts = inputs.load_summaries(found)
    documents.save(to, counts)
    _written(counts, to, as_json)


def _written(counts: Mapping[str, Counts], to: Path, as_json: bool) -> None:
    if as_json:
        n = {name: one.n for name, one in counts.items()}
        whole = n.get(documents.ALONE, max(n.values()))
        output.machine({"n": whole, "questions": sorted(set(n) - {""}), "output": str(to)})
        return
    rows = [(name or "-", one.mechanism.name, f"{one.n:,}") for name, one in counts.items()]
    output.table(f"Summary in {to}", ("question", "mechanism", "reports"), rows, words=2)

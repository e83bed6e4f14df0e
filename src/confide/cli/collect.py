"""Verbs of those who collect: privatize, summarize, merge."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _arrow, _cells
from confide._files import atomic, counted, expand, writable
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
            metavar="SURVEY VALUES",
            help="The survey (.toml), and CSV or Parquet: files, globs, folders.",
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
    sources = [_arrow.Source(found) for found in expand(rest, _arrow.SUFFIXES)]
    writable(to, _arrow.SUFFIXES, [*(source.path for source in sources), *([path] if path else [])])
    n = write_reports(survey, sources, to, list(dict.fromkeys(keep or ())))
    spend = survey.spend
    if as_json:
        output.machine(
            {
                "n": n,
                "files": len(sources),
                **spend.to_dict(),
                "fingerprint": survey.fingerprint,
                "output": str(to),
            }
        )
        return
    many = f" from {len(sources):,} files" if len(sources) > 1 else ""
    epsilons = output.costs([one.spend.epsilon for one in survey.mechanisms.values()])
    output.table(
        f"{counted(n, 'report')}{many} in {to}",
        ("question", "mechanism", "epsilon"),
        [
            (name, mechanism.name, epsilon)
            for (name, mechanism), epsilon in zip(survey.mechanisms.items(), epsilons, strict=True)
        ],
        words=2,
    )
    if to.suffix == ".csv":
        output.say("CSV cannot carry the mechanism: keep the survey with it.")
    output.say(spend.words(answers=len(survey.questions)))


def write_reports(
    survey: Survey, sources: Sequence[_arrow.Source], to: Path, keep: list[str]
) -> int:
    """Privatize files into one, a batch at a time; returns the number of rows.

    Every file is checked for its columns before anything is written.
    """
    survey.check_keep(keep)
    columns = [*survey.questions, *keep]
    for source in sources:
        if Stamp.read(source.metadata, source.where) is not None:
            raise already(source.where)
        source.require(columns)
    kinds = _cells.kinds(sources, keep)
    rows = [source.rows for source in sources]
    total = None if None in rows else sum(row or 0 for row in rows)
    n = 0
    with (
        output.progress("Privatizing", total) as advance,
        atomic(to) as temporary,
        _writer(temporary) as write,
    ):
        for source in sources:
            first = 0
            for batch in source.batches(columns):
                if not batch.num_rows:
                    continue
                made = survey.reports(
                    batch, keep=keep, plain=source.plain, where=source.where, first=first
                )
                for name, kind in kinds.items():
                    at = columns.index(name)
                    made = made.set_column(at, name, made.column(at).cast(kind))
                write(made)
                first += batch.num_rows
                advance(batch.num_rows)
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")
            n += first
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
    *,
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Counts, .json or .npz.")
    ],
    question: QuestionOption = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A public column of survey weights."),
    ] = None,
    response: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A public column to regress on the answers later."),
    ] = None,
    bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Public bounds of the response."),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Accept simulated reports, which are not private.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count reports: all that an estimate needs, in a file that no longer grows with them."""
    survey, path, rest = inputs.split(files)
    public = inputs.Public(weights, response, bounds)
    chosen = None if question is None else [question]
    opened = inputs.open_reports(survey, rest, chosen, public.columns)
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
    counts = inputs.tally(opened, public)
    documents.save(to, counts)
    _written(counts, to, as_json)


def merge(
    files: FilesArgument,
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The sum, .json or .npz.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Add up summaries of the same questions by the same mechanisms."""
    found = expand(files, documents.SUFFIXES)
    writable(to, documents.SUFFIXES, found)
    counts = inputs.load_summaries(found)
    documents.save(to, counts)
    _written(counts, to, as_json)


def _written(counts: Mapping[str, Counts], to: Path, as_json: bool) -> None:
    if as_json:
        some = next(iter(counts.values()))
        output.machine(
            {
                "n": max(one.n for one in counts.values()),
                "effective_n": some.effective_n,
                "questions": sorted(set(counts) - {documents.ALONE}),
                "weights": some.weights is not None,
                "response": some.response is not None,
                "output": str(to),
            }
        )
        return
    rows = [(name or "-", one.mechanism.name, f"{one.n:,}") for name, one in counts.items()]
    output.table(f"Summary in {to}", ("question", "mechanism", "reports"), rows, words=2)

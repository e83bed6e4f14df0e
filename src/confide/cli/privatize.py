"""`confide privatize`: turn the values of a file into private reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide import streams
from confide.cli import inputs, output, partitions
from confide.cli.options import JsonOption
from confide.cli.parsing import harmless
from confide.files import formats
from confide.files.paths import counted, expand, writable
from confide.survey import Survey


def privatize(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SURVEY VALUES",
            help="The survey (.toml), and CSV (also .csv.gz) or Parquet: files, globs, folders.",
        ),
    ],
    *,
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Reports, Parquet or CSV.")
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="A public column to copy, each value with its row; can be repeated. "
            "A column that identifies people (a name, a person or row number) "
            "undoes the shuffling.",
        ),
    ] = None,
    keep_order: Annotated[
        bool,
        typer.Option(
            "--keep-order",
            help="Do not shuffle the rows. The order can reveal answers: in a file "
            "of 20,000 people sorted by pay, at epsilon 1, it finds 80 % of "
            "their pay to within 10,000, instead of 42 %.",
        ),
    ] = False,
    processes: Annotated[
        int,
        typer.Option(metavar="N", help="Number of processes for large files; 0 is one per core."),
    ] = 0,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace an existing output. A second report of the same people "
            "costs epsilon again if anybody has seen the first.",
        ),
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Discard an interrupted run and draw again. This costs epsilon "
            "again if anybody has seen the first reports.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn values into private reports in random order, with the system's secure randomness."""
    if (partition := partitions.survey_of(files)) is not None:
        partitions.privatize(
            *partition,
            to,
            keep=list(dict.fromkeys(keep or ())),
            keep_order=keep_order,
            processes=processes,
            replace=replace,
            restart=restart,
            as_json=as_json,
        )
        return
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    values = expand(rest, formats.readable())
    writable(to, formats.written(), [*values, *([path] if path else [])])
    job = streams.Job(survey, values, list(dict.fromkeys(keep or ())), keep_order=keep_order)
    replaced = replace and to.exists()
    with (
        output.resumable(streams.folder_of(to)),
        output.progress("Privatizing", 2 * job.rows if job.rows else None) as advance,
    ):
        n, reused = streams.privatize(
            job, to, processes=processes, replace=replace, restart=restart, advance=advance
        )
    output.caution(job.identifying)
    spend = survey.spend
    if as_json:
        output.machine(
            {
                "n": n,
                "reused": reused,
                "replaced": replaced,
                "files": len(values),
                **spend.to_dict(),
                "fingerprint": survey.fingerprint,
                "output": str(to),
            }
        )
        return
    many = f" from {len(values):,} files" if len(values) > 1 else ""
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
    if reused:
        output.say(
            f"The interrupted run had drawn {counted(reused, 'report')} of these; they were kept."
        )
    if replaced:
        output.say(output.again(spend))
    if dropped := _dropped(survey, job):
        output.say(
            f"The values have {' and '.join(map(harmless, dropped))}, which the survey names in "
            "groups, and the reports do not. For results by group, draw again with "
            f"{' '.join(f'--keep {harmless(name)}' for name in dropped)} --replace before anybody "
            "sees these reports: that costs nothing."
        )
    if keep_order:
        output.say("The rows are in the order of the values, which can give answers away.")
    if not (kind := formats.format_of(to)).stamped:
        output.say(f"{kind.title} cannot carry the mechanism: keep the survey with it.")
    if survey.ask is not None:
        output.say(f"Each person is asked {survey.ask} of {len(survey.questions)} questions.")
    if survey.relations is not None:
        share = f"{100 * survey.relations.share:.4g} %"
        output.say(f"{share} of the people are asked about a pair of questions instead.")
    if survey.rounds is not None:
        output.say(survey.rounds.words())
    output.say(spend.words(answers=survey.asks * survey.times))


def _dropped(survey: Survey, job: streams.Job) -> list[str]:
    """Groups of the survey that the values have and the reports do not."""
    first = job.sources[0]
    there = {*first.names, *first.folders}
    return [name for name in survey.groups if name in there and name not in job.keep]

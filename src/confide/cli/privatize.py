"""The verb of those who hold values: privatize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide import _arrow, streams
from confide._files import counted, expand, writable
from confide.cli import inputs, output
from confide.cli.collect import JsonOption


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
        typer.Option("--keep", metavar="COLUMN", help="A public column to carry along; repeat it."),
    ] = None,
    processes: Annotated[
        int, typer.Option(metavar="N", help="How many work on large files; 0 is one a core.")
    ] = 0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away what an interrupted run left behind.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn values into private reports, with fresh randomness from the operating system."""
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    values = expand(rest, _arrow.READABLE)
    writable(to, _arrow.SUFFIXES, [*values, *([path] if path else [])])
    job = streams.Job(survey, values, list(dict.fromkeys(keep or ())))
    with output.progress("Privatizing", job.rows) as advance:
        n, reused = streams.privatize(
            job, to, processes=processes, restart=restart, advance=advance
        )
    spend = survey.spend
    if as_json:
        output.machine(
            {
                "n": n,
                "reused": reused,
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
        output.say(f"{counted(reused, 'report')} of them as the interrupted run had drawn them.")
    if to.suffix == ".csv":
        output.say("CSV cannot carry the mechanism: keep the survey with it.")
    output.say(spend.words(answers=len(survey.questions)))

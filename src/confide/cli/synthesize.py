"""`confide synthesize`: draw synthetic respondents from the estimates of a survey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import inputs, output
from confide.cli.options import InvalidOption, JsonOption
from confide.cli.relate import summaries_of
from confide.files.paths import counted, load_json, named, writable
from confide.results import Results
from confide.results import synthesize as drawn
from confide.results.synthetic import warn_of_few


def synthesize(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Reports (files, globs, folders), a summary or results (.json), and the survey.",
        ),
    ],
    *,
    n: Annotated[int, typer.Option("--n", "-n", metavar="N", help="How many rows.")],
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The rows, .csv or .parquet.")
    ],
    seed: Annotated[
        int | None, typer.Option(metavar="SEED", help="Seed, for repeatable rows.")
    ] = None,
    invalid: InvalidOption = "refuse",
    as_json: JsonOption = False,
) -> None:
    """Draw synthetic respondents with an answer to every question, at no further privacy cost."""
    n = _checks.integer(1, n=n)
    survey, path, rest = inputs.split(files)
    taken = [one for one in (path, *rest) if one is not None and one.is_file()]
    writable(to, (".csv", ".parquet"), taken)
    source: Any = _results(rest) or summaries_of(rest, survey, invalid)
    if survey is not None and not isinstance(source, Results):
        warn_of_few(source)
        source = survey.relate(source)
    made = drawn(source, n, seed=seed)
    made.save(to)
    if as_json:
        output.machine(
            {
                "n": n,
                "questions": list(made),
                "relations": [one.name for one in made.model.relations],
                "correlations": made.model.correlations.tolist(),
                "preserved": [list(row) for row in made.preserved],
                "output": str(to),
            }
        )
        return
    output.say(f"{counted(n, 'row')} in {to}. They stand for nobody and cost no more privacy.")
    output.table(
        "What they keep of the population", ("", "kept", "how far"), made.preserved, words=3
    )


def _results(files: list[Path]) -> Results | None:
    """The results in a file; None where it is something else."""
    if len(files) != 1 or files[0].suffix != ".json" or not files[0].is_file():
        return None
    fields = load_json(files[0].read_bytes(), named(files[0]))
    isresults = isinstance(fields, dict) and fields.get("confide") == "results"
    return Results.read(files[0]) if isresults else None

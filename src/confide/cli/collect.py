"""Verbs of those who collect: summarize, merge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from confide.cli import counting, documents, inputs, output
from confide.cli.public import Public
from confide.errors import Mismatch
from confide.files.paths import counted, expand, writable
from confide.summaries import Groups

FilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Summaries, .json or .npz.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
InvalidOption = Annotated[
    str,
    typer.Option(
        "--invalid",
        metavar="refuse|drop",
        help="Rows that cannot be used: refuse the first one, or drop them and say how many.",
    ),
]
QuestionOption = Annotated[
    str | None, typer.Option("--question", help="Which question of the survey.", metavar="NAME")
]


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
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="One summary a value of a public column; repeat it."),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Accept simulated reports, which are not private.")
    ] = False,
    invalid: InvalidOption = "refuse",
    as_json: JsonOption = False,
) -> None:
    """Count reports: all that an estimate needs, in a file that no longer grows with them."""
    inputs.one_choice(invalid)
    survey, path, rest = inputs.split(files)
    public = Public(weights, response, bounds)
    chosen = None if question is None else [question]
    groups = list(dict.fromkeys(by or ()))
    opened = inputs.open_reports(survey, rest, chosen, [*public.columns, *groups])
    if opened.simulated and not simulated:
        raise Mismatch(
            "private reports",
            "simulated ones",
            "They are not private and must not mix with those that are; --simulated takes them.",
        )
    given = [source.path for source in opened.sources] + ([path] if path else [])
    writable(to, documents.SUFFIXES[:1] if groups else documents.SUFFIXES, given)
    if to.suffix == ".npz":
        inputs.only(tuple(opened.mechanisms), None)
    counts: Mapping[str, documents.Summary]
    if groups:
        counts, left = counting.tally_groups(opened, public, groups, invalid)
    else:
        counts, left = counting.tally(opened, public, invalid)
    documents.save(to, counts)
    counting.tell(left)
    _written(counts, to, as_json, left)


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
    counts = documents.gather(found)
    documents.save(to, counts)
    _written(counts, to, as_json)


def _written(
    counts: Mapping[str, documents.Summary],
    to: Path,
    as_json: bool,
    left: counting.LeftOuts | None = None,
) -> None:
    first = next(iter(counts.values()))
    by = list(first.by) if isinstance(first, Groups) else []
    many = [len(one) if isinstance(one, Groups) else 1 for one in counts.values()]
    if as_json:
        some = documents.some(first)
        output.machine(
            {
                "n": max(one.n for one in counts.values()),
                "effective_n": inputs.chosen(first, None).effective_n,
                "by": by,
                "groups": max(many),
                "questions": sorted(set(counts) - {documents.ALONE}),
                "weights": some.weights is not None,
                "response": some.response is not None,
                **({} if left is None else {"left_out": left}),
                "output": str(to),
            }
        )
        return
    kinds = [documents.some(one).mechanism.name for one in counts.values()]
    rows = [
        (name or "-", kind, f"{counts[name].n:,}") for name, kind in zip(counts, kinds, strict=True)
    ]
    output.table(f"Summary in {to}", ("question", "mechanism", "reports"), rows, words=2)
    if by:
        output.say(f"{counted(max(many), 'group')} by {', '.join(by)}.")

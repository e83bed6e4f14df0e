"""`confide summarize` and `confide merge`: count reports, and add up counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide import _checks
from confide.cli import inputs, output, partitions
from confide.cli.options import (
    InvalidOption,
    JsonOption,
    QuestionOption,
    RakeOption,
    UnstampedOption,
)
from confide.errors import InvalidInput, Mismatch
from confide.files.paths import counted, expand, writable
from confide.summaries import Groups, Summaries, raking, read
from confide.summaries.forms import ALONE, SUFFIXES
from confide.summaries.plausibility import checked
from confide.tables.jobs import Job, LeftOuts, tell
from confide.tables.public import Public

FilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Summaries, .json or .npz.")
]


def summarize(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Reports: files, globs, folders; a .toml is the survey.",
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
        typer.Option(
            metavar="COLUMN", help="One summary for each value of a public column; can be repeated."
        ),
    ] = None,
    rake: RakeOption = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Accept simulated reports, which are not private.")
    ] = False,
    invalid: InvalidOption = "refuse",
    unstamped: UnstampedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Count reports into a small file that has everything an estimate needs."""
    if (partition := partitions.survey_of(files)) is not None:
        refused: dict[str, object] = {"question": question, "weights": weights, "by": by}
        refused |= {"response": response, "rake": rake}
        refused["unstamped"] = unstamped or None
        for name in (name for name, value in refused.items() if value is not None):
            raise InvalidInput(f"no --{name} with the vector reports of a partition", "one")
        partitions.summarize(*partition, to, simulated=simulated, as_json=as_json)
        return
    survey, path, rest = inputs.split(files)
    margins = None if rake is None else raking.read(rake)
    job = Job.open(
        rest,
        survey=survey,
        question=question,
        by=list(dict.fromkeys([*(by or ()), *(margins or ())])) or None,
        public=Public(weights, response, bounds),
        invalid=invalid,
        unstamped=unstamped,
    )
    if job.files.simulated and not simulated:
        raise Mismatch(
            "private reports",
            "simulated ones",
            "They are not private and must not mix with those that are; --simulated takes them.",
        )
    given = [source.path for source in job.files.sources] + ([path] if path else [])
    writable(to, SUFFIXES[:1] if job.by else SUFFIXES, given)
    if to.suffix == ".npz":
        _checks.only(tuple(job.files.mechanisms), question=None)
    with output.counter("Counting reports") as advance:
        counts, left = job.run(advance)
    if margins is not None:
        counts = counts.rake(margins)
    where = inputs.where_of([source.path for source in job.files.sources])
    for name in counts:
        checked(counts[name], question=name, where=where, pairs=True)
    counts.save(to)
    tell(left, job.files.doubt)
    _written(counts, to, as_json, left)


def merge(
    files: FilesArgument,
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The sum, .json or .npz.")
    ],
    disjoint: Annotated[
        bool, typer.Option("--disjoint", help="Refuse a group that is in two files.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add up summaries of the same questions by the same mechanisms."""
    found = expand(files, SUFFIXES)
    writable(to, SUFFIXES, found)
    if partitions.are_sums(found):
        if disjoint:
            raise InvalidInput("summaries by group to go with --disjoint", "sums of a partition")
        partitions.merge(found, to, as_json)
        return
    counts = read(found, disjoint=disjoint)
    for name in counts:
        checked(counts[name], question=name, where=inputs.where_of(found), pairs=True)
    counts.save(to)
    _written(counts, to, as_json)


def _written(counts: Summaries, to: Path, as_json: bool, left: LeftOuts | None = None) -> None:
    groups = [len(one) if isinstance(one, Groups) else 1 for one in counts.questions.values()]
    if as_json:
        first = next(iter(counts.values()))
        output.machine(
            {
                "n": counts.n,
                "effective_n": first.effective_n,
                "by": list(counts.by),
                "groups": max(groups),
                "questions": sorted(set(counts) - {ALONE}),
                "reports": [counts[name].n for name in sorted(counts)],
                "weights": first.weights is not None,
                "response": first.response is not None,
                **({} if left is None else {"left_out": left}),
                "output": str(to),
            }
        )
        return
    rows = [
        (name or "-", counts.mechanism(name).name, f"{own.n:,}") for name, own in counts.items()
    ]
    output.table(f"Summary in {to}", ("question", "mechanism", "reports"), rows, words=2)
    if counts.by:
        output.say(f"{counted(max(groups), 'group')} by {', '.join(counts.by)}.")

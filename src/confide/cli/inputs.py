"""From arguments to surveys, files and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confide import _checks
from confide.cli.output import counter
from confide.cli.results import Subject
from confide.errors import InvalidInput
from confide.files.columns import Columns
from confide.files.paths import readable
from confide.foreign import noise
from confide.foreign.spectrum import Spectrum
from confide.summaries import Counts
from confide.survey import Survey
from confide.tables.asked import Asked, are_summaries, asked


def split(files: Sequence[Path]) -> tuple[Survey | None, Path | None, list[Path]]:
    """The survey, its path, and the other files: what ends in .toml is the survey."""
    surveys = [path for path in files if path.suffix == ".toml"]
    others = [path for path in files if path.suffix != ".toml"]
    if len(surveys) > 1:
        raise InvalidInput("one survey", f"{len(surveys)} files that end in .toml")
    if not surveys:
        return None, None, others
    readable(surveys[0])
    return Survey.read(surveys[0]), surveys[0], others


def needed(survey: Survey | None) -> Survey:
    """The survey, for a command that cannot do without."""
    if survey is None:
        raise InvalidInput("a survey, a file that ends in .toml", "none")
    return survey


def question_of(
    files: Sequence[Path],
    question: str | None,
    *,
    group: str | None = None,
    by: Sequence[str] = (),
    invalid: str = "refuse",
) -> Asked:
    """One question of the files of a command: of all respondents, of one group, or of each."""
    survey, _, rest = split(files)
    if group is not None and by:
        raise InvalidInput("either --group or --by", "both")
    if group is not None and not are_summaries(rest):
        raise InvalidInput(
            "a summary by group to go with --group", "reports", "Summarize with --by COLUMN."
        )
    with counter("Counting reports") as tell:
        found = asked(rest, survey=survey, question=question, by=by, invalid=invalid, progress=tell)
    return found if group is None else found.group(group)


# The parameters of each law.
NOISES = {"laplace": ("scale",), "gaussian": ("scale",), "two-sided-gamma": ("scale", "shape")}
MEANINGS = {"scale": "the scale of the noise", "shape": "the shape of the noise"}


def read(
    path: Path,
    method: str,
    *,
    column: str | None,
    kind: str | None,
    parameters: Mapping[str, float | None],
    bounds: Mapping[str, float | None],
) -> Subject:
    """A column and a summary of its numbers, of the kind that a method needs."""
    law = _law(kind, parameters)
    if method == "likelihood":
        for option, value in bounds.items():
            if value is None:
                raise InvalidInput(f"--{option}, a bound of the true values", "none")
    columns = Columns.open(path, column)
    (name,) = columns.names
    make: Any = Counts.of_noised if method == "likelihood" else Spectrum.of
    parts = [
        make(batch[name], noise=law, **bounds) for batch in columns.batches() if batch[name].size
    ]
    return Subject(name, sum(parts[1:], start=parts[0]))


def _law(kind: str | None, parameters: Mapping[str, float | None]) -> noise.Noise:
    if kind is None:
        raise InvalidInput(f"--noise, one of {', '.join(NOISES)}", "none")
    needed = NOISES[_checks.one_of(tuple(NOISES), noise=kind)]
    for option, value in parameters.items():
        if option in needed and value is None:
            raise InvalidInput(f"--{option}, {MEANINGS[option]}", "none")
        if option not in needed and value is not None:
            raise InvalidInput(f"no --{option} for {kind} noise", f"--{option} {value:g}")
    return noise.from_dict({"noise": kind} | {key: parameters[key] for key in needed})

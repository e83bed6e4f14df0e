"""`regress --partition` and `classify --partition`: estimates of a partition survey."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from confide import _checks, streams
from confide.cli import output
from confide.cli.options import plottable
from confide.curves.classes import ClassShares
from confide.curves.regression import CellRegression, Classification
from confide.errors import InvalidInput, Mismatch
from confide.files import formats
from confide.files.paths import counted, expand, load_json, named, writable, write_bytes
from confide.files.settings import settings_of
from confide.questions.partitions import TABLE, PartitionSurvey
from confide.reports.files import SUFFIXES as LISTS
from confide.summaries import CellSums
from confide.summaries.copies import different
from confide.summaries.forms import SUFFIXES as SUMMARIES
from confide.tables.vectors import cell_sums

Files = Sequence[Path]


def survey_of(files: Files) -> tuple[PartitionSurvey, Path, list[Path]] | None:
    """The partition survey among some files, its path, and the others; None if there is none.

    What ends in .toml and has a table [partition] is one.
    """
    surveys = [path for path in files if path.suffix == ".toml"]
    if len(surveys) != 1:
        return None
    fields = settings_of(surveys[0], "a survey")
    if TABLE not in fields:
        return None
    others = [path for path in files if path not in surveys]
    return PartitionSurvey.from_dict(fields), surveys[0], others


def needed(files: Files) -> tuple[PartitionSurvey, list[Path]]:
    """The partition survey, for a command that was asked for one."""
    found = survey_of(files)
    if found is None:
        raise InvalidInput(
            f"a partition survey, a .toml file with a table [{TABLE}], to go with --partition",
            "none",
        )
    return found[0], found[2]


def privatize(
    survey: PartitionSurvey,
    path: Path,
    given: Files,
    to: Path,
    *,
    keep: Sequence[str],
    keep_order: bool,
    processes: int,
    replace: bool,
    restart: bool,
    as_json: bool,
) -> None:
    """Vector reports of the rows of files, in random order, whole or not at all."""
    values = expand(given, formats.readable())
    writable(to, LISTS, [*values, path])
    job = streams.Job(survey, values, keep, keep_order=keep_order)
    replaced = replace and to.exists()
    with (
        output.resumable(streams.folder_of(to)),
        output.progress("Privatizing", 2 * job.rows if job.rows else None) as advance,
    ):
        n, reused = streams.privatize(
            job, to, processes=processes, replace=replace, restart=restart, advance=advance
        )
    output.caution(job.identifying)
    if as_json:
        output.machine(
            {
                "n": n,
                "reused": reused,
                "replaced": replaced,
                "files": len(values),
                **survey.spend.to_dict(),
                "fingerprint": survey.fingerprint,
                "output": str(to),
            }
        )
        return
    shape = " x ".join(str(feature.size) for feature in survey.features.values())
    output.table(
        f"{counted(n, 'report')} in {to}",
        ("response", "features", "cells", "epsilon"),
        [
            (
                survey.response,
                ", ".join(survey.features),
                shape,
                output.costs([survey.spend.epsilon])[0],
            )
        ],
        words=3,
    )
    if reused:
        output.say(
            f"The interrupted run had drawn {counted(reused, 'report')} of these; they were kept."
        )
    if replaced:
        output.say(output.again(survey.spend))
    if keep_order:
        output.say("The rows are in the order of the values, which can give answers away.")
    output.say(survey.spend.words())


def summarize(
    survey: PartitionSurvey,
    path: Path,
    given: Files,
    to: Path,
    *,
    simulated: bool,
    as_json: bool,
) -> None:
    """Vector reports of files added up."""
    writable(to, SUMMARIES, [*given, path])
    sums = sums_of(survey, given)
    if sums.simulated and not simulated:
        raise Mismatch(
            "private reports",
            "simulated ones",
            "They are not private and must not mix with those that are; --simulated takes them.",
        )
    save(sums, to)
    written(sums, to, as_json)


def save(sums: CellSums, to: Path) -> None:
    """Write sums, whole or not at all."""
    packed = to.suffix == ".npz"
    data = sums.to_bytes() if packed else (json.dumps(sums.to_dict()) + "\n").encode()
    write_bytes(to, data)


def written(sums: CellSums, to: Path, as_json: bool) -> None:
    """Tell what was written."""
    size = sums.mechanism.cells.size
    if as_json:
        output.machine({"n": sums.n, "cells": size, "output": str(to)})
        return
    rows = [(sums.mechanism.name, f"{size:,}", f"{sums.n:,}")]
    output.table(f"Summary in {to}", ("mechanism", "cells", "reports"), rows)


def are_sums(files: Files) -> bool:
    """Whether the first of some summaries, all of them .json, holds sums of a partition."""
    if not files or files[0].suffix != ".json" or not files[0].is_file():
        return False
    with files[0].open("rb") as file:
        return b'"cell-sums"' in file.read(200)


def merge(files: Files, to: Path, as_json: bool) -> None:
    """Add up sums of the same partition."""
    sums = different((path, read(path)) for path in files)
    save(sums, to)
    written(sums, to, as_json)


def read(path: Path) -> CellSums:
    """The sums of a partition in a file."""
    data = path.read_bytes()
    try:
        if path.suffix == ".npz":
            return CellSums.from_bytes(data)
        return CellSums.from_dict(load_json(data, named(path)))
    except InvalidInput as error:
        raise type(error)(f"{error.expected} in {named(path)}", error.got, error.advice) from None


def sums_of(survey: PartitionSurvey, files: Files) -> CellSums:
    """The sums of reports and of summaries that are given together."""
    if not files:
        raise InvalidInput("reports (.parquet) or sums (.json, .npz) of the survey", "none")
    found = expand(files, (*LISTS, *SUMMARIES))
    summed = [path for path in found if path.suffix in SUMMARIES]
    parts = [different((path, read(path)) for path in summed)] if summed else []
    reports = [path for path in found if path.suffix not in SUMMARIES]
    if reports:
        with output.counter("Adding up reports") as tell:
            parts.append(cell_sums(reports, survey.mechanism, progress=tell))
    return sum(parts[1:], start=parts[0])


def estimate(
    files: Files, *, classes: bool, level: float, plot: Path | None, as_json: bool
) -> None:
    """Fit and tell a partition survey, cell by cell."""
    # Imported here: privatize and summarize do without scipy.
    from confide.estimators import partition_curve

    level = _checks.level(level)
    plottable(plot, list(files))
    survey, rest = needed(files)
    if classes and survey.labels is None:
        raise InvalidInput("labels in the survey to classify", "a response that is a number",
                           "Use confide regress.")  # fmt: skip
    if not classes and survey.labels is not None:
        raise InvalidInput("a response that is a number to regress", "labels in the survey",
                           "Use confide classify.")  # fmt: skip
    sums = sums_of(survey, rest)
    curve = partition_curve(survey, sums)
    rows = cells_of(survey, curve, level)
    if plot is not None:
        _draw(survey, curve, sums, level, plot)
    if as_json:
        output.machine(
            {
                **curve.facts,
                "features": {name: each.to_dict() for name, each in survey.features.items()},
                "response": survey.response,
                "labels": None if survey.labels is None else list(survey.labels),
                "bounds": None if survey.labels is not None else [survey.low, survey.high],
                "level": level,
                "table": rows,
            }
        )
        return
    _table(survey, curve, rows, sums, level)
    if plot is not None:
        output.say(f"Picture: {plot}")


def cells_of(
    survey: PartitionSurvey, curve: CellRegression | Classification | ClassShares, level: float
) -> list[dict[str, Any]]:
    """Each cell: where it is and what is known of it."""
    cells, features = survey.cells, list(survey.features.items())
    centers = cells.centers
    places: list[dict[str, Any]] = [
        {name: feature.described(at) for (name, feature), at in zip(features, place, strict=True)}
        for place in product(*(range(size) for size in cells.shape))
    ]
    if isinstance(curve, ClassShares):
        shares, best = curve.probability(centers), curve.predict(centers)
        ends = curve.interval(centers, level=level)
        return [
            {
                "at": place,
                "class": str(one),
                **{
                    key: list(map(float, row))
                    for key, row in zip(("probability", "lower", "upper"), rows, strict=True)
                },
            }
            for place, one, *rows in zip(places, best, shares, *ends, strict=True)
        ]
    if isinstance(curve, Classification):
        chance, best = curve.probability(centers), curve.predict(centers)
        low, high = curve.score.interval(centers, level=level)
        decided = (np.asarray(low) > 0) | (np.asarray(high) < 0)
        return [
            {"at": place, "class": str(one), "probability": float(p), "decided": bool(sure)}
            for place, one, p, sure in zip(places, best, chance, decided, strict=True)
        ]
    means = curve.predict(centers)
    lower, upper = curve.interval(centers, level=level)
    return [
        {"at": place, "y": float(y), "lower": float(a), "upper": float(b)}
        for place, y, a, b in zip(places, means, lower, upper, strict=True)
    ]


def _table(
    survey: PartitionSurvey,
    curve: CellRegression | Classification | ClassShares,
    rows: list[dict[str, Any]],
    sums: CellSums,
    level: float,
) -> None:
    names = list(survey.features)
    words = [[_word(row["at"][name]) for name in names] for row in rows]
    sure = output.percent(level)
    if isinstance(curve, CellRegression):
        number = output.format_of([row[key] for row in rows for key in ("y", "lower", "upper")])
        head = [*names, f"mean {survey.response}", f"{sure} from", "to"]
        found = [[number(row[key]) for key in ("y", "lower", "upper")] for row in rows]
        title = f"Mean {survey.response}"
    elif isinstance(curve, Classification):
        head = [*names, f"probability of {curve.labels[1]}", "more likely", f"sure at {sure}"]
        found = [
            [f"{row['probability']:.3f}", row["class"], "yes" if row["decided"] else "no"]
            for row in rows
        ]
        title = f"The more likely {survey.response}"
    else:
        head = [*names, *map(str, curve.labels), "most likely"]
        found = [[*(f"{p:.3f}" for p in row["probability"]), row["class"]] for row in rows]
        title = f"The most likely {survey.response}"
    title = f"{title} by {', '.join(names)}, {counted(sums.n, 'report')}, partition"
    together = [[*a, *b] for a, b in zip(words, found, strict=True)]
    output.table(title, head, together, words=len(names))
    output.say(
        "Features and response are both private. An interval is that of the mean over a cell."
        if isinstance(curve, CellRegression)
        else "Features and response are both private.",
        survey.spend.words(),
    )
    if sums.simulated:
        output.say("These reports are simulated: they are not private.")


def _word(place: dict[str, Any]) -> str:
    if "category" in place:
        return str(place["category"])
    return f"{output.number(place['from'])} to {output.number(place['to'])}"


def _draw(
    survey: PartitionSurvey,
    curve: CellRegression | Classification | ClassShares,
    sums: CellSums,
    level: float,
    plot: Path,
) -> None:
    if isinstance(curve, ClassShares) or len(survey.features) > 2:
        raise InvalidInput(
            "one or two features, and a number or two labels, for --plot",
            "more of them",
            "Take --json for all cells.",
        )
    display = curve.plot(level=level)
    names = ", ".join(survey.features)
    title = f"{survey.response} by {names}, {counted(sums.n, 'report')}, partition"
    output.save_plot(display, plot, title, name=next(iter(survey.features)))

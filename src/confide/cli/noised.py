"""Options for numbers that somebody else noised."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confide import _checks
from confide.cli.results import Subject
from confide.errors import InvalidInput
from confide.estimators.register import DENSITIES
from confide.files.columns import Columns
from confide.foreign import noise

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
    chosen = DENSITIES[method]
    if chosen.bounded:
        for option, value in bounds.items():
            if value is None:
                raise InvalidInput(f"--{option}, a bound of the true values", "none")
    columns = Columns.open(path, column)
    (name,) = columns.names
    parts = [
        chosen.noised(batch[name], noise=law, **bounds)
        for batch in columns.batches()
        if batch[name].size
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

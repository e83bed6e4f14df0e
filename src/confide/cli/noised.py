"""Numbers that somebody else noised, as options name them: COLUMN=LAW:SCALE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from confide.errors import InvalidInput
from confide.foreign import noise_laws as laws

PARAMETERS = {"laplace": ("scale",), "gaussian": ("scale",), "two-sided-gamma": ("scale", "shape")}
"""What stands behind each law, in this order."""
FORMS = " or ".join(
    ":".join(part.upper() if at else part for at, part in enumerate((law, *needed)))
    for law, needed in PARAMETERS.items()
)
RangeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="COLUMN=LOW:HIGH",
        help="With --noised: bounds of a column's true values; repeat it.",
    ),
]
HELP = f"Instead of reports: a column that somebody else noised, with {FORMS}"


def law(text: str) -> tuple[str, laws.Noise]:
    """A column and its noise, from such words as score=laplace:10."""
    column, equals, rest = text.rpartition("=")
    if not (column and equals):
        raise InvalidInput("--noised as COLUMN=LAW:SCALE", repr(text))
    kind, *given = rest.split(":")
    if kind not in PARAMETERS:
        raise InvalidInput(f"--noised with {FORMS}", f"{kind!r} for {column!r}")
    needed = PARAMETERS[kind]
    if len(given) < len(needed):
        raise InvalidInput(
            f"the {needed[len(given)]} of the {kind} noise on {column!r}",
            "none",
            f"Write --noised {column}={':'.join([kind, *(part.upper() for part in needed)])}.",
        )
    if len(given) > len(needed):
        raise InvalidInput(f"{' and '.join(needed)} for {kind} noise", f"{rest!r}")
    numbers = {
        name: _number(part, f"the {name} of the noise on {column!r}")
        for name, part in zip(needed, given, strict=True)
    }
    return column, laws.from_dict({"noise": kind, **numbers})


def ranges(given: Sequence[str] | None, known: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Bounds by column, from such words as score=300:850."""
    found: dict[str, tuple[float, float]] = {}
    for text in given or ():
        column, equals, rest = text.rpartition("=")
        ends = rest.split(":")
        if not (column and equals and len(ends) == 2):
            raise InvalidInput("--range as COLUMN=LOW:HIGH", repr(text))
        if column not in known:
            raise InvalidInput(f"--range of {' or '.join(known)}", repr(column))
        if column in found:
            raise InvalidInput("--range of each column once", f"{column!r} twice")
        low, high = (_number(end, f"the bounds of {column!r}") for end in ends)
        if not low < high:
            raise InvalidInput("--range with LOW below HIGH", repr(text))
        found[column] = (low, high)
    return found


def file(files: Sequence[Path] | None) -> Path:
    """The one file that numbers are in."""
    if len(files or ()) != 1:
        raise InvalidInput("one file of numbers to go with --noised", str(len(files or ())))
    assert files is not None
    return files[0]


def told(noise: laws.Noise) -> str:
    """A law in words, such as: laplace noise of scale 10."""
    fields = noise.to_dict()
    if fields["noise"] == "none":
        return "no noise"
    numbers = " and ".join(f"{key} {fields[key]:g}" for key in PARAMETERS[fields["noise"]])
    return f"{fields['noise']} noise of {numbers}"


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"a number for {what}", repr(text))
    return value

"""Options for numbers that were noised elsewhere: COLUMN=LAW:SCALE."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from confide import _checks
from confide._figures import number
from confide._types import Floats
from confide.errors import BadRows, BadType, InvalidInput
from confide.files.columns import Columns
from confide.foreign import noise_laws as laws
from confide.foreign.noised import IMPOSSIBLE
from confide.reports.rows import CHOICES, LeftOut

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
WORDS = "Turn a column of words into columns of 0 and 1, one for each word but one."
HELP = (
    f"Instead of reports: a column that somebody else noised, with {FORMS}. The SCALE of gaussian "
    "is the standard deviation; that of laplace is the standard deviation divided by 1.414"
)


def law(text: str) -> tuple[str, laws.Noise]:
    """A column and its noise, from such words as score=laplace:10."""
    column, equals, rest = text.rpartition("=")
    if not (column and equals):
        raise InvalidInput("--noised as COLUMN=LAW:SCALE", repr(text))
    kind, *given = rest.split(":")
    kind = kind.lower()
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


def numbers(
    path: Path, names: Sequence[str], invalid: str, *, public: Sequence[str] = ()
) -> Iterator[tuple[dict[str, npt.NDArray[Any]], int]]:
    """Columns of a file, a batch at a time, and how many rows were left out of it.

    Parameters
    ----------
    path
        The file.
    names
        The columns.
    invalid
        ``"refuse"`` rows without a number in each column, or ``"drop"`` them.
    public
        Columns without noise, which may hold words by mistake.
    """
    columns = Columns.open(path, names)
    drop = _checks.one_of(CHOICES, invalid=invalid) == "drop"
    try:
        batches = columns.usable() if drop else ((batch, 0) for batch in columns.batches())
        kept = 0
        for batch, left in batches:
            kept += len(batch[names[0]])
            yield batch, left
    except (BadRows, BadType) as error:
        text = error.got.startswith("other text") or isinstance(error, BadType)
        words = error.column in public and text and not error.advice
        advice = WORDS if words else error.advice
        if isinstance(error, BadRows) and not words:
            advice = f"{advice} To leave such rows out: --invalid drop.".strip()
        raise type(error)(error.expected, error.got, advice, column=error.column) from None
    if not kept:
        raise InvalidInput("rows with a number in each column", "none", WORDS if public else "")


def reachable(name: str, values: Floats, noise: laws.Noise, low: float, high: float) -> None:
    """Refuse numbers that this noise cannot have carried out of the bounds of the true values.

    Bins know this only up to the last of them, so that a single code among Laplace noise goes by.
    """
    beyond = np.maximum(values - high, low - values)
    outside = beyond[beyond > 0]
    lost = int((values.size * noise.mean_cdf(-outside) < IMPOSSIBLE).sum())
    if lost:
        raise InvalidInput(
            f"numbers in column {name!r} that {told(noise)} can make of true values from "
            f"{low:g} to {high:g}",
            f"{lost:,} of {values.size:,} that lie too far out",
            "Give bounds that hold the true values and the scale that the noise really had, and "
            "leave out codes such as -999 that stand for no answer.",
        )


def tell(left: int) -> dict[str, int]:
    """How many rows were left out, by kind; a warning says so, if there are any."""
    found = {"without a number": left} if left else {}
    if found:
        warnings.warn(LeftOut(found), stacklevel=2)
    return found


def told(noise: laws.Noise) -> str:
    """A law in words, such as: Laplace noise of scale 10."""
    fields = noise.to_dict()
    if fields["noise"] == "none":
        return "no noise"
    numbers = " and ".join(f"{key} {number(fields[key])}" for key in PARAMETERS[fields["noise"]])
    name = {"laplace": "Laplace", "gaussian": "Gaussian"}.get(fields["noise"], fields["noise"])
    return f"{name} noise of {numbers}"


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"a number for {what}", repr(text))
    return value

"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.displays import FORMATS
from confide.errors import InvalidInput, extra
from confide.files.paths import writable

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
InvalidOption = Annotated[
    str,
    typer.Option(
        "--invalid",
        metavar="refuse|drop",
        help="What to do with invalid rows: stop at the first one, or drop them and count them.",
    ),
]
UnstampedOption = Annotated[
    bool,
    typer.Option(
        "--unstamped",
        help="Accept reports that another program wrote again, without confide's stamp.",
    ),
]
QuestionOption = Annotated[
    str | None, typer.Option("--question", help="Which question of the survey.", metavar="NAME")
]
ReportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Reports (.parquet, .csv) or summaries (.json, .npz); a .toml is the survey.",
        show_default=False,
    ),
]
LevelOption = Annotated[float, typer.Option("--level", help="Confidence level of intervals.")]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="NAME",
        help="One group of a summary made with --by, or of the columns of --by here.",
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Estimate every group of a public column; can be repeated.",
    ),
]
RakeOption = Annotated[
    Path | None,
    typer.Option(
        "--rake",
        metavar="FILE",
        help="Weigh respondents to the public margins in a .toml or .json file.",
    ),
]
WordsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--words",
        metavar="COLUMN=WORD,WORD",
        help="A column of words and all its possible words; can be repeated.",
    ),
]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Picture: .png, .svg or .pdf.")
]


def word_or_number(name: str, text: str) -> str | float:
    """The value of an option that takes either."""
    if not any(letter.isdigit() for letter in text):
        return text
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"a word or a number for --{name}", repr(text)) from None


def worded(given: list[str] | None) -> dict[str, list[str]]:
    """Categories by column, from such options as sex=female,male."""
    found: dict[str, list[str]] = {}
    for text in given or []:
        name, equals, rest = text.partition("=")
        if not (name and equals and rest):
            raise InvalidInput("--words as COLUMN=WORD,WORD", repr(text))
        if name in found:
            raise InvalidInput("--words of each column once", f"{name!r} twice")
        found[name] = rest.split(",")
    return found


def plottable(plot: Path | None, given: list[Path]) -> None:
    """Refuse what cannot be drawn before anything is computed."""
    if plot is not None:
        writable(plot, FORMATS, [path for path in given if path.exists()])
        extra("matplotlib", "plot")

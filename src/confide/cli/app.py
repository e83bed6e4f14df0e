"""The verbs together, and how errors are told."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import pyarrow
import typer

from confide import __version__
from confide.cli.audit import audit
from confide.cli.collect import merge, summarize
from confide.cli.compare import compare
from confide.cli.demo import demo
from confide.cli.design import design
from confide.cli.estimate import density, shares
from confide.cli.ledger import ledger
from confide.cli.plan import plan
from confide.cli.privatize import privatize
from confide.cli.regress import classify, regress
from confide.cli.release import release
from confide.cli.sample import sample
from confide.errors import ConfideError, ConfideWarning

app = typer.Typer(
    name="confide",
    add_completion=False,
    pretty_exceptions_enable=False,
)
EXAMPLES = {
    "privatize": "confide privatize survey.toml values.csv -o reports.parquet",
    "summarize": "confide summarize survey.toml reports.parquet -o counts.json",
    "merge": "confide merge a.json b.json -o all.json",
    "plan": "confide plan --n 5000 --epsilon 1 --low 0 --high 300000",
    "release": "confide release histogram values.csv --column x --low 0 --high 1 --epsilon 1",
    "audit": "confide audit survey.toml",
    "sample": "confide sample records.csv --column x --reference gaussian --epsilon 1",
}
# The library names its classes; here a method is an option.
OPTIONS = {
    "estimators.Likelihood": "--method likelihood",
    "estimators.RatioRegression": "--method ratio",
    "RatioRegression": "--method ratio",
    "KernelRegression": "--method kernel",
    "LinearRegression": "--method linear",
}
for verb in (
    demo,
    privatize,
    summarize,
    merge,
    density,
    shares,
    compare,
    regress,
    classify,
    release,
    sample,
    plan,
    audit,
):
    app.command()(verb)
app.add_typer(ledger, name="ledger")
app.add_typer(design, name="design")


def _version(asked: bool) -> None:
    if asked:
        print(f"confide {__version__}")
        raise typer.Exit


# Typer brings a click of its own, and older releases import the one that is installed; the base
# class of its usage errors is theirs in either case.
UsageFault: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


@app.callback()
def main(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Collect numbers that people would rather not reveal, and learn the population."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code, 2 with one sentence on stderr for bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _warn  # type: ignore[assignment]
        warnings.simplefilter("always", ConfideWarning)
        try:
            result = typer.main.get_command(app).main(
                args=given or ["--help"],
                prog_name="confide",
                standalone_mode=False,
            )
        except UsageFault as error:
            return _refuse(_usage(error))
        except typer.Abort:
            return 130
        except BrokenPipeError:
            # Whoever read our output has gone; say nothing, also not when stdout is closed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except OSError as error:
            where = f" {str(error.filename)!r}" if error.filename else ""
            return _refuse(f"Expected to read or write{where}, got: {error.strerror or error}.")
        except (ConfideError, UnicodeDecodeError, pyarrow.ArrowException) as error:
            return _refuse(str(error))
    return result if isinstance(result, int) else 0


def _usage(error: Any) -> str:
    """What is wrong with a command, and for one that lacks something how it looks."""
    message = _sentence(error.format_message())
    verb = getattr(getattr(error, "ctx", None), "info_name", None)
    if message.startswith("Missing") and verb in EXAMPLES:
        return f"{message} For example: {EXAMPLES[verb]}."
    return message


def _sentence(message: str) -> str:
    line = _told(message)
    return line if line.endswith((".", "?")) else f"{line}."


def _told(message: str) -> str:
    """One line, in the words of the command line."""
    line = " ".join(message.split())
    for name, option in OPTIONS.items():
        line = line.replace(name, option)
    return line


def _refuse(message: str) -> int:
    print(_sentence(message), file=sys.stderr)
    return 2


def _warn(message: Warning | str, category: type[Warning], *where: Any) -> None:
    if issubclass(category, ConfideWarning):
        print(f"Warning: {_told(str(message))}", file=sys.stderr)

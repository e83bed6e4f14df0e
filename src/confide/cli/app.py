"""The verbs together, and how errors are told."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow
import typer

from confide.cli.collect import merge, privatize, summarize
from confide.cli.demo import demo
from confide.cli.estimate import density, shares
from confide.errors import ConfideError, ConfideWarning

app = typer.Typer(
    name="confide",
    help="Collect numbers that people would rather not reveal, and learn the population.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for verb in (demo, privatize, summarize, merge, density, shares):
    app.command()(verb)

# Typer brings a click of its own, and older releases import the one that is installed; the base
# class of its usage errors is theirs in either case.
UsageFault: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code, 2 with one sentence on stderr for bad input."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn  # type: ignore[assignment]
        warnings.simplefilter("always", ConfideWarning)
        try:
            result = typer.main.get_command(app).main(
                args=None if arguments is None else list(arguments),
                prog_name="confide",
                standalone_mode=False,
            )
        except UsageFault as error:
            return _refuse(error.format_message())
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


def _refuse(message: str) -> int:
    sentence = " ".join(message.split())
    print(sentence if sentence.endswith((".", "?")) else f"{sentence}.", file=sys.stderr)
    return 2


def _warn(message: Warning | str, category: type[Warning], *where: Any) -> None:
    if issubclass(category, ConfideWarning):
        print(f"Warning: {' '.join(str(message).split())}", file=sys.stderr)

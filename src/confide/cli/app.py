"""The command line application: all verbs, and how errors are printed."""

from __future__ import annotations

import importlib
import io
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from confide._extras import version
from confide.cli import parsing
from confide.cli.verbs import EXAMPLES, VERBS
from confide.errors import (
    BadSetting,
    ConfideError,
    ConfideWarning,
    Implausible,
    InvalidInput,
    Unnamed,
    Unsupported,
)

# The library names its classes; on the command line a method is an option.
METHODS = {
    "Deconvolution": "--method deconvolution",
    "KernelRegression": "--method kernel",
    "LogisticRegression": "--method logistic",
    "estimators.CategoryShares": "confide shares",
    "estimators.Likelihood": "--method likelihood",
    "estimators.LinearRegression": "--method linear",
    "estimators.RatioRegression": "--method ratio",
}

COMPLETION = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Variables in which shells hand over a command that is to be completed."""

ESTIMATING = ("scipy", "threadpoolctl")
"""What estimates need, and a machine that only makes or counts reports may do without."""

# Options that have another name than the setting of the library.
OPTIONS = {
    "integers": "integer",
    "mechanisms": "mechanism",
    "most": "at-most",
    "names": "answer-name",
}


def _version(asked: bool) -> None:
    if asked:
        print(version(["--version"]))
        raise typer.Exit


def main(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version and the extras that are installed; with --json as JSON.",
        ),
    ] = False,
) -> None:
    """Collect numbers that people would rather not reveal, and learn the population."""


def program(*verbs: str) -> typer.Typer:
    """The program with some of its verbs; the others only have a name and a line of help.

    What a verb needs takes a while to import, so that a command imports its own alone.
    """
    app = typer.Typer(name="confide", pretty_exceptions_enable=False)
    app.callback()(main)
    for name, (module, summary) in VERBS.items():
        if name not in verbs:
            app.command(name, help=summary)(_nothing)
            continue
        verb = getattr(importlib.import_module(f"confide.cli.{module}"), name)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name)(verb)
    parsing.shape(app)
    return app


def _nothing() -> None:
    """In the place of a verb that was not asked for."""


@cache
def _command(verb: str) -> Any:
    """A parser, which takes a while to build: programs and tests run several commands."""
    return typer.main.get_command(program(verb))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code, 2 with one sentence on stderr for bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if told := version(given):
        print(told)
        return 0
    try:
        return _parsed(given)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ESTIMATING:
            raise
        return _refuse(
            f"confide {given[0]} needs {package}, which is not installed: pip install {package}. "
            "Without it confide can privatize, summarize and merge."
        )


def _parsed(given: list[str]) -> int:
    """Parse and run a command."""
    # A shell that completes a command hands its words over in the environment.
    typed = " ".join(os.environ.get(name, "") for name in COMPLETION).split()
    verb = next((word for word in [*given, *typed] if word in VERBS), "")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A locale without UTF-8 spells out what it has no letters for, as on stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _warner()
        warnings.simplefilter("always", ConfideWarning)
        # On the command line, estimates from raw values are always a mistake; Python allows them.
        warnings.simplefilter("error", Implausible)
        try:
            result = _command(verb).main(
                args=given or ["--help"],
                prog_name="confide",
                standalone_mode=False,
            )
        except parsing.faults.ClickException as error:
            return _refuse(_usage(error))
        except typer.Abort:
            return 130
        except BrokenPipeError:
            # The reader of our output has gone: print nothing more, also when stdout is closed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except OSError as error:
            where = f" {str(error.filename)!r}" if error.filename else ""
            return _refuse(f"Expected to read or write{where}, got: {error.strerror or error}.")
        except _told_errors() as error:
            return _refuse(_words(error))
    return result if isinstance(result, int) else 0


def _told_errors() -> tuple[type[Exception], ...]:
    """Errors whose words are for people; Arrow's where a command has loaded it."""
    ours = (ConfideError, Implausible, UnicodeDecodeError)
    loaded = sys.modules.get("pyarrow")
    return ours if loaded is None else (*ours, loaded.ArrowException)


def _words(error: Exception) -> str:
    """An error of the library in the words of the command line: options for its arguments."""
    if isinstance(error, Unsupported):
        return error.words(METHODS)
    if isinstance(error, BadSetting):
        return error.words(_option)
    if not isinstance(error, Unnamed):
        return str(error)
    option = f"--{error.parameter}"
    example = f"For example: {option} {shlex.quote(error.names[0])}."
    return str(InvalidInput(f"{option} to name one of {error.listed}", f"no {option}", example))


def _option(name: str, value: str) -> str:
    """A setting of the library as it is given here."""
    return f"--{OPTIONS.get(name, name)} {value}".strip()


def _usage(error: Any) -> str:
    """What is wrong with a command, and for one that lacks something how it looks."""
    message = _sentence(error.format_message())
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    if isinstance(error, parsing.faults.MissingParameter) and context.info_name in EXAMPLES:
        return f"{message} For example: {EXAMPLES[context.info_name]}."
    # An error about a group of commands is about the command, unless it is about an option.
    option = isinstance(error, parsing.faults.NoSuchOption | parsing.faults.BadOptionUsage)
    if isinstance(context.command, parsing.Group) and not option:
        return f"{message} {context.command_path} --help lists them."
    return message


def _sentence(message: str) -> str:
    line = _told(message)
    return line if line.endswith((".", "?")) else f"{line}."


def _told(message: str) -> str:
    """One line that does not steer the terminal."""
    return parsing.harmless(" ".join(message.split()))


def _refuse(message: str) -> int:
    print(_sentence(message), file=sys.stderr)
    return 2


def _warner() -> Callable[..., None]:
    """What prints each of our warnings once: one command may fit twice."""
    printed: set[str] = set()

    def warn(message: Warning | str, category: type[Warning], *where: Any) -> None:
        line = _told(str(message))
        if issubclass(category, ConfideWarning) and line not in printed:
            printed.add(line)
            print(f"Warning: {line}", file=sys.stderr)

    return warn

"""Printing: tables for people, JSON for programs, and progress bars."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from confide import _figures, displays
from confide.accounting.spend import Spend, rounded_up
from confide.cli.parsing import harmless
from confide.errors import ConfideWarning
from confide.files.paths import atomic

WIDEST = 100_000
"""Characters of a line of a table that nobody looks at in a terminal."""
STEPS = 1000
"""Steps of a bar for work whose progress is a share."""


def say(*lines: str) -> None:
    """Print plain lines for people."""
    console = Console(highlight=False)
    for line in lines:
        console.print(_text(line))


def again(spend: Spend) -> str:
    """Warn that replaced reports cost epsilon again."""
    return (
        "It replaced an older file. If that held reports of the same people and anybody has seen "
        "them, the second ones cost epsilon again: "
        f"{rounded_up((spend + spend).epsilon, 4)} in all."
    )


def caution(identifying: Sequence[str]) -> None:
    """Warn of columns that go beside the reports and tell the rows apart."""
    for name in identifying:
        warnings.warn(
            f"Each of the first rows has a {name!r} of its own. A column that identifies people "
            "undoes the shuffling. If this one does, draw again without it, with --replace, before "
            "anybody sees these reports: that costs nothing.",
            ConfideWarning,
            stacklevel=2,
        )


def link(words: str, address: str) -> None:
    """Print an address that can be clicked and copied: it is never broken into lines."""
    Console(highlight=False).print(_text(f"{words}{address}"), soft_wrap=True)


def _text(words: str) -> Text:
    """Words for the terminal, whoever wrote them."""
    return Text(harmless(words))


def table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1
) -> None:
    """Print a table for people: columns of words, then columns of numbers."""
    say(title)
    result = Table(box=SIMPLE_HEAD)
    for at, name in enumerate(head):
        # What does not fit goes on below: half a name is another name.
        result.add_column(_text(name), justify="left" if at < words else "right", overflow="fold")
    for row in rows:
        result.add_row(*map(_text, row))
    console = Console(highlight=False)
    if not console.is_terminal:
        # A file has no right edge.
        console.width = WIDEST
    console.print(result)


def machine(result: dict[str, Any]) -> None:
    """Print one JSON object for machines."""
    sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")


number, percent = _figures.number, _figures.percent


def format_of(values: Sequence[float]) -> Callable[[float], str]:
    """One format for all numbers of a table, made for the given ones.

    The largest gets four digits and the smallest at least two.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    largest = max(sizes, default=1.0)
    if not 1e-4 <= largest < 1e15:
        return lambda value: f"{value:.3e}"
    needed = max(3 - _exponent(largest), 1 - _exponent(min(sizes, default=1.0)))
    decimals = min(max(needed, 0), 6)
    return lambda value: f"{float(value):,.{decimals}f}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(value))


def costs(epsilons: Sequence[float]) -> list[str]:
    """Epsilons in one format, none below what it stands for."""
    texts = [Decimal(rounded_up(epsilon, 4)) for epsilon in epsilons]
    decimals = max(-int(text.normalize().as_tuple().exponent) for text in texts)
    return [f"{text:,.{max(decimals, 0)}f}" for text in texts]


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if that is a terminal; it is erased at the end."""
    if not sys.stderr.isatty():
        # Older releases of rich end a bar that is switched off with an empty line.
        yield lambda rows: None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda rows: bar.advance(task, rows)


@contextlib.contextmanager
def resumable(waiting: Path) -> Iterator[None]:
    """Tell who stops a run with Ctrl-C that it can go on, if its folder holds finished work."""
    try:
        yield
    except KeyboardInterrupt:
        if os.path.lexists(waiting):
            print("Run the same command again: it continues this run.", file=sys.stderr)
        raise


@contextlib.contextmanager
def counter(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Like `progress`, for work that tells its total when it begins."""
    with contextlib.ExitStack() as stack:
        advance: Callable[[int], None] | None = None

        def tell(rows: int, total: int | None) -> None:
            nonlocal advance
            if advance is None:
                advance = stack.enter_context(progress(what, total))
            advance(rows)

        yield tell


@contextlib.contextmanager
def shares(what: str) -> Iterator[Callable[[float], None]]:
    """Like `progress`, for work that tells the share of it that is done."""
    done = 0
    with progress(what, STEPS) as advance:

        def tell(share: float) -> None:
            nonlocal done
            advance(int(share * STEPS) - done)
            done = int(share * STEPS)

        yield tell


def save_plot(display: Any, path: Path, title: str, *, name: str = "", height: str = "") -> None:
    """Write a figure, whole or not at all."""
    display.ax_.set_title(title, parse_math=False)
    if name:
        display.ax_.set_xlabel(name, parse_math=False)
    if height:
        display.ax_.set_ylabel(height, parse_math=False)
    save_figure(display, path)


def save_figure(display: Any, path: Path) -> None:
    """Write a figure with the titles that it has, whole or not at all."""
    with atomic(path) as temporary:
        displays.save(display, temporary)

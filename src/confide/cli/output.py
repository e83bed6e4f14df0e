"""What people and machines get to see."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from confide import displays
from confide._files import atomic


def say(*lines: str) -> None:
    """Print plain lines for people."""
    console = Console(highlight=False)
    for line in lines:
        console.print(Text(line))


def table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1
) -> None:
    """Print a table for people: columns of words, then columns of numbers."""
    say(title)
    result = Table(box=SIMPLE_HEAD)
    for at, name in enumerate(head):
        result.add_column(Text(name), justify="left" if at < words else "right")
    for row in rows:
        result.add_row(*map(Text, row))
    Console(highlight=False).print(result)


def machine(result: dict[str, Any]) -> None:
    """Print one JSON object for machines."""
    sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")


def percent(level: float) -> str:
    """A confidence level as people write it."""
    return f"{100 * level:.4g} %"


def number(value: float) -> str:
    """A number at reading precision, large ones with commas."""
    value = float(value)
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while rows go by, if somebody is looking; it leaves nothing behind."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda rows: bar.advance(task, rows)


def save_plot(display: Any, path: Path, label: str) -> None:
    """Write a figure, whole or not at all."""
    if label:
        display.ax_.set_xlabel(label)
    with atomic(path) as temporary:
        displays.save(display, temporary)

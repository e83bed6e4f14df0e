"""A run of privatize in a process of its own, which ends it at a given place."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confide import streams
from confide.cli.app import run
from confide.streams import batches, parts


def killed(where: str, small: int, folder: Path, memory: str, command: list[str]) -> None:
    """Run a command in a folder, with SIGKILL at a place that has a name."""
    os.chdir(folder)
    os.environ["XDG_RUNTIME_DIR"] = memory
    changes: dict[str, Any] = {"PART": 5_000, "BUCKET": 3_000, "SMALL": small}
    for name, size in changes.items():
        setattr(batches, name, size)
    changed: Any = parts
    if where == "half a batch":
        changed.os.replace = changed.Path.replace = _last
    elif where == "a batch":
        changed.Parts.write = _after(changed.Parts.write)
    elif where == "half an output":
        own: Any = streams
        own.gathered = lambda tables, _: (_last() if at == 4 else t for at, t in enumerate(tables))
    elif where == "an output":
        changed.give = _last
    elif where == "published":
        changed.give = _after(changed.give)
    elif where == "half gone":
        changed._clear = _last
    run(command)


def _last(*arguments: Any, **options: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _after(function: Callable[..., Any]) -> Callable[..., None]:
    def both(*arguments: Any, **options: Any) -> None:
        function(*arguments, **options)
        _last()

    return both

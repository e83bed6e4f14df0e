"""The extras of the package: what each brings, and which ones are installed here."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from importlib.util import find_spec

from confide.errors import EXTRAS, installing


def found() -> dict[str, bool]:
    """Whether each extra is installed: whether all its modules can be imported.

    Examples
    --------
    >>> list(found())[:2]
    ['cli', 'plot']
    """
    return {name: all(map(find_spec, modules)) for name, modules in EXTRAS.items()}


def version(arguments: Sequence[str]) -> str | None:
    """What ``confide --version`` prints, with ``--json`` as one JSON object.

    Parameters
    ----------
    arguments
        The words after the name of the program. If they ask for something else, the answer is None.
    """
    if set(arguments) not in ({"--version"}, {"--version", "--json"}):
        return None
    from confide import __version__

    extras = found()
    if "--json" in arguments:
        python = platform.python_version()
        return json.dumps({"version": __version__, "python": python, "extras": extras})
    there = [name for name, known in extras.items() if known]
    missing = [name for name, known in extras.items() if not known]
    lines = [f"confide {__version__}", f"extras installed: {', '.join(there) or 'none'}"]
    if missing:
        lines += [f"not installed: {', '.join(missing)}", installing(missing[0])]
    return "\n".join(lines)

"""Entry point of the command line."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit code of a command that somebody stopped with Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line, or name the extra that is missing."""
    try:
        code = _run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        print("Interrupted.", file=sys.stderr)
    sys.exit(code)


def _run() -> int:
    # Imports take a while, and the user may interrupt them.
    from importlib.util import find_spec

    from confide._extras import version
    from confide.errors import EXTRAS, missing

    if told := version(sys.argv[1:]):
        print(told)
        return 0
    for module in EXTRAS["cli"]:
        if find_spec(module) is None:
            print(missing(module, "cli"), file=sys.stderr)
            return 2
    from confide.cli.app import run

    return run()


if __name__ == "__main__":
    main()

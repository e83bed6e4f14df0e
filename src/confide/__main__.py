"""Entry point of the command line."""

from __future__ import annotations

import sys

from confide.errors import MissingExtra, extra


def main() -> None:
    """Run the command line, or say what it lacks."""
    try:
        for module in ("typer", "rich", "pyarrow"):
            extra(module, "cli")
    except MissingExtra as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    from confide.cli.app import run

    sys.exit(run())


if __name__ == "__main__":
    main()

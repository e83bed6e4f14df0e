"""Run the long statistical studies: ``python -m evidence [NAME] [options of that study]``."""

from __future__ import annotations

import importlib
import sys

STUDIES = (
    "accuracy",
    "asking",
    "sharper",
    "coverage",
    "declining",
    "relations",
    "regression",
    "farokhi",
    "partition",
    "ledger",
    "privatize_kills",
    "releases",
    "utility",
    "models",
    "tables",
    "sampling",
    "dpgan",
    "ghatak",
    "planner",
    "phases",
    "rounds",
    "raking",
    "audits",
    "poisoning",
    "bombs",
    "collector",
    "mutation",
)


def main(arguments: list[str]) -> int:
    names, rest = (arguments[:1], arguments[1:]) if arguments else (list(STUDIES), [])
    for name in names:
        if name not in STUDIES:
            print(f"Expected a study among {', '.join(STUDIES)}, got {name}.", file=sys.stderr)
            return 2
    # Imported one by one, so that one study does not wait for the others' libraries.
    return max(importlib.import_module(f"evidence.{name}.study").main(rest) for name in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the long statistical studies: ``python -m evidence [NAME] [options of that study]``."""

from __future__ import annotations

import sys

from evidence import accuracy, coverage

STUDIES = {"accuracy": accuracy.main, "coverage": coverage.main}


def main(arguments: list[str]) -> int:
    if not arguments:
        return max(study([]) for study in STUDIES.values())
    name, *rest = arguments
    if name not in STUDIES:
        print(f"Expected a study among {', '.join(STUDIES)}, got {name}.", file=sys.stderr)
        return 2
    return STUDIES[name](rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

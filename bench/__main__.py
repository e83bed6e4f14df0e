"""Print the benchmark table and write it into the docs: ``python -m bench [NAME]``."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from pathlib import Path

from bench import density, noise, regression
from bench.clock import Row

BENCHMARKS = {"noise": noise.rows, "density": density.rows, "regression": regression.rows}
PREFACE = """# Benchmarks

Written by `make bench`. Every figure is a ratio of two times measured in the same run, best of
several, one thread: below 1 is faster than the yardstick."""
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def table(rows: list[Row]) -> str:
    lines = ["| what | in units of | ratio | at most | holds |", "|---|---|---|---|---|"]
    for row in rows:
        verdict = "yes" if row.holds else "**no**"
        lines.append(
            f"| {row.what} | {row.yardstick} | {row.ratio:.3g} | {row.limit:g} | {verdict} |"
        )
    return "\n".join(lines)


def main(names: list[str]) -> int:
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(
            f"Expected benchmarks among {', '.join(BENCHMARKS)}, got {', '.join(sorted(unknown))}."
        )
        return 2
    rows: list[Row] = []
    for name in names or list(BENCHMARKS):
        rows += BENCHMARKS[name]()
    text = table(rows)
    print(text)
    if not names:
        packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
        PAGE.write_text(f"{PREFACE}\n\n{text}\n\nPython {platform.python_version()}, {packages}.\n")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run benchmarks and write their page: ``python -m bench [NAME...]``, all of them by default.

What was measured is kept in bench/results.json, so that one benchmark can be run again alone.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from bench import (
    density,
    design,
    frequencies,
    growth,
    noise,
    regression,
    scale,
    streaming,
    summaries,
)
from bench.clock import Row
from bench.picture import draw

BENCHMARKS = {
    "noise": ("Private reports", noise.rows),
    "streaming": ("Files larger than memory", streaming.rows),
    "summaries": ("Summaries of files", summaries.rows),
    "frequencies": ("Shares of categories", frequencies.rows),
    "density": ("Densities", density.rows),
    "regression": ("Regressions", regression.rows),
    "design": ("Choosing the noise", design.rows),
    "growth": ("Growth", growth.rows),
}
SCALE = "scale"
PLOTTED = ("noise", "streaming", "summaries", "frequencies", "density")
PREFACE = """# Benchmarks

Written by `make bench`; `make bench NAME=noise` measures one part again. Every figure is a ratio of
two times measured in the same run (of two errors or memories where it says so), best of several,
one thread unless said otherwise: below 1 is better than the yardstick. Each peer runs in an
environment of its own that the benchmark makes.
"""
ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "images" / "benchmarks.png"
RESULTS = ROOT / "bench" / "results.json"
PACKAGES = ("numpy", "scipy", "pyarrow", "duckdb")


def table(rows: list[Row]) -> str:
    lines = ["| what | in units of | ratio | at most | holds |", "|---|---|---|---|---|"]
    for row in rows:
        verdict = "yes" if row.holds else "**no**"
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        verdict = "not run" if row.ratio is None else verdict
        lines.append(f"| {row.what} | {row.yardstick} | {ratio} | {row.limit:g} | {verdict} |")
    return "\n".join(lines)


def standing(rows: list[Row]) -> str:
    """Where ours is behind a peer on the same work."""
    behind = [row for row in rows if row.peer and row.ratio is not None and row.ratio > 1]
    missing = sorted({row.yardstick for row in rows if row.ratio is None})
    lines = ["confide is ahead of every peer on the same work" + (", but for:" if behind else ".")]
    lines += [""] * bool(behind)
    lines += [f"- {row.what}: {row.ratio:.3g} times {row.yardstick}." for row in behind]
    if missing:
        lines += ["", "Not run: " + "; ".join(missing) + "."]
    return "\n".join(lines)


def page(results: dict[str, list[Row]]) -> str:
    parts = [PREFACE, standing([row for rows in results.values() for row in rows])]
    parts.append("![Ratios against peers and limits](images/benchmarks.png)")
    for name, (title, _) in BENCHMARKS.items():
        if name in results:
            parts.append(f"## {title}\n\n{table(results[name])}")
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts.append(f"Python {platform.python_version()}, {packages}; {cores} cores.")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main(names: list[str]) -> int:
    known = (*BENCHMARKS, SCALE)
    unknown = set(names) - set(known)
    if unknown:
        print(f"Expected benchmarks among {', '.join(known)}, got {', '.join(sorted(unknown))}.")
        return 2
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {name: [Row(**row) for row in rows] for name, rows in kept.items()}
    for name in names or known:
        if name == SCALE:
            scale.main()
            continue
        title, measure = BENCHMARKS[name]
        results[name] = measure()
        print(f"{title}\n{table(results[name])}\n", flush=True)
    kept = {name: [asdict(row) for row in rows] for name, rows in results.items()}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(page(results))
    draw([row for name in PLOTTED for row in results.get(name, ())], PICTURE)
    ran = [row for name in names or known for row in results.get(name, ())]
    return 0 if all(row.holds for row in ran) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run benchmarks and write their pages: ``python -m bench [NAME...]``, all of them by default.

What was measured is kept in bench/results.json after each part, so that one can be run again
alone; ``python -m bench pages`` measures nothing and writes the pages from there.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from bench import (
    collect,
    density,
    design,
    fits,
    frequencies,
    growth,
    noise,
    regression,
    scale,
    startup,
    streaming,
    summaries,
)
from bench.clock import Row
from bench.picture import draw

BENCHMARKS = {
    "startup": ("Starting up", startup.rows),
    "noise": ("Private reports", noise.rows),
    "streaming": ("Files larger than memory", streaming.rows),
    "summaries": ("Summaries of files", summaries.rows),
    "frequencies": ("Shares of categories", frequencies.rows),
    "density": ("Densities", density.rows),
    "fits": ("The default estimate", fits.rows),
    "regression": ("Regressions", regression.rows),
    "design": ("Choosing the noise", design.rows),
    "growth": ("Growth", growth.rows),
    "collect": ("Collecting over HTTP", collect.rows),
}
SCALE, PAGES = "scale", "pages"
PLOTTED = ("noise", "streaming", "summaries", "frequencies", "density")
PREFACE = """# Benchmarks

Written by `make bench`; `make bench NAME=noise` measures one part again, and
`NAME=pages` writes the pages from what was measured. Every figure is a ratio of two times measured
in the same run (of two errors or memories where it says so), best of several, one thread unless
said otherwise.

- Peers do the same work: below 1, confide is better. Packages run in environments of their own
  that the benchmark makes.
- Limits are what the work needs at least, a budget, or a known unit such as one stable sort of 1e6
  floats (numpy's other sorts are ten times as fast on some processors): the figure says how many of
  them confide takes, and only has to stay below what is allowed.
"""
ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "evidence" / "benchmarks.md"
PICTURE = ROOT / "docs" / "images" / "benchmarks.png"
RESULTS = ROOT / "bench" / "results.json"
PACKAGES = ("numpy", "scipy", "pyarrow", "duckdb")


@dataclass
class Record:
    """What was measured, and by what."""

    machine: str
    rows: dict[str, list[Row]] = field(default_factory=dict)
    rates: scale.Rates | None = None

    @classmethod
    def read(cls, path: Path) -> Record:
        if not path.exists():
            return cls(machine())
        kept = json.loads(path.read_text())
        rates = kept[SCALE] and scale.Rates(**kept[SCALE])
        rows = {name: [Row(**row) for row in kept["rows"][name]] for name in kept["rows"]}
        return cls(kept["machine"], rows, rates)

    def write(self, path: Path) -> None:
        rows = {name: [asdict(row) for row in part] for name, part in self.rows.items()}
        rates = self.rates and asdict(self.rates)
        kept = {"machine": self.machine, "rows": rows, SCALE: rates}
        path.write_text(json.dumps(kept, indent=1) + "\n")

    def measure(self, name: str) -> str:
        """Measure one part, and say what was found."""
        self.machine = machine()
        if name == SCALE:
            self.rates = scale.rates()
            return scale.page(self.rates)
        title, rows = BENCHMARKS[name]
        self.rows[name] = rows()
        return f"{title}\n\n{tables(self.rows[name])}\n"


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"Python {platform.python_version()}, {packages}; {cores} cores."


def tables(rows: list[Row]) -> str:
    """One table of peers and one of limits."""
    heads = {
        True: ("what", "confide / peer", "peer", "allowed", "passes"),
        False: ("what", "ratio", "measured in", "allowed", "passes"),
    }
    parts = []
    for peer, head in heads.items():
        lines = [f"| {' | '.join(head)} |", "|---|---|---|---|---|"]
        for row in rows:
            if row.peer == peer:
                ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
                verdict = "not run" if row.ratio is None else "yes" if row.holds else "**no**"
                cells = (row.what, ratio, row.yardstick, f"{row.limit:g}", verdict)
                lines.append(f"| {' | '.join(cells)} |")
        if len(lines) > 2:
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


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


def page(record: Record) -> str:
    parts = [PREFACE, standing([row for rows in record.rows.values() for row in rows])]
    parts.append(
        "![Bars: how many times as fast confide is as each peer](../images/benchmarks.png)"
    )
    for name, (title, _) in BENCHMARKS.items():
        if name in record.rows:
            parts.append(f"## {title}\n\n{tables(record.rows[name])}")
    return "\n\n".join(part.strip() for part in (*parts, record.machine)) + "\n"


def publish(record: Record) -> None:
    """Write the pages and the picture."""
    PAGE.write_text(page(record))
    draw([row for name in PLOTTED for row in record.rows.get(name, ())], PICTURE)
    if record.rates is not None:
        scale.PAGE.write_text(scale.page(record.rates))


def main(names: list[str]) -> int:
    known = (*BENCHMARKS, SCALE)
    unknown = set(names) - {*known, PAGES}
    if unknown:
        told = ", ".join((*known, PAGES))
        print(f"Expected benchmarks among {told}, got {', '.join(sorted(unknown))}.")
        return 2
    record = Record.read(RESULTS)
    measured = [name for name in names or known if name != PAGES]
    for name in measured:
        start = time.perf_counter()
        print(record.measure(name))
        print(f"{name}: {time.perf_counter() - start:.0f} s\n", flush=True)
        record.write(RESULTS)
        publish(record)
    if not measured:
        publish(record)
    ran = [row for name in measured for row in record.rows.get(name, ())]
    return 0 if all(row.holds for row in ran) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

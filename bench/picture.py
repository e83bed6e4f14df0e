"""The ratios of the benchmark page as a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from bench.clock import Row


def draw(rows: list[Row], path: Path) -> None:
    """One line a row: a dot for the ratio, filled for peers, and a bar for what is allowed."""
    rows = [row for row in rows if row.ratio]
    figure, axes = plt.subplots(figsize=(10, 0.26 * len(rows) + 1))
    for at, row in enumerate(reversed(rows)):
        colour = "tab:blue" if row.holds else "tab:red"
        axes.plot(row.ratio, at, "o", color=colour, fillstyle="full" if row.peer else "none")
        axes.plot(row.limit, at, "|", color="grey", markersize=10)
    names = [f"{row.what} / {row.yardstick}" for row in reversed(rows)]
    axes.set_yticks(range(len(rows)), names, fontsize=6)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("time of confide / time of the yardstick (filled: a peer; bar: at most)")
    axes.grid(axis="x", alpha=0.3)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)

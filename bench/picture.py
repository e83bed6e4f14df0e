"""The ratios of the benchmark page as a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from bench.clock import Row

PANELS = {
    True: "time of confide / time of a peer that does the same work: left of 1 is better",
    False: "how many of a limit or unit confide takes",
}


def draw(rows: list[Row], path: Path) -> None:
    """One line a row, peers above and limits below: a dot for the ratio, a bar for what may be."""
    parts = {peer: [row for row in rows if row.peer == peer and row.ratio] for peer in PANELS}
    figure, panels = plt.subplots(
        len(PANELS),
        figsize=(10, 0.26 * len(rows) + 2),
        height_ratios=[len(part) + 1 for part in parts.values()],
        layout="constrained",
    )
    for axes, (peer, part) in zip(panels, parts.items(), strict=True):
        for at, row in enumerate(reversed(part)):
            axes.plot(row.ratio, at, "o", color="tab:blue" if row.holds else "tab:red")
            axes.plot(row.limit, at, "|", color="grey", markersize=10)
        names = [f"{row.what} / {row.yardstick}" for row in reversed(part)]
        axes.set_yticks(range(len(part)), names, fontsize=6)
        if peer:
            axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlabel(f"{PANELS[peer]} (bar: at most)", fontsize=8)
        axes.grid(axis="x", alpha=0.3)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)

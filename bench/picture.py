"""One picture of the benchmarks against peers: how many times as fast confide is."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from bench.clock import Row

AHEAD, BEHIND = "#0072b2", "#d55e00"


def _plain(words: str) -> str:
    """Powers of ten written out: 1e6 becomes 1,000,000."""
    return re.sub(r"\b1e(\d)\b", lambda found: f"{10 ** int(found[1]):,}", words)


def draw(rows: list[Row], path: Path) -> None:
    """A bar for each peer that does the same work, with its figure, grouped by what is done."""
    peers = [row for row in rows if row.peer and row.ratio and not row.what.endswith("error")]
    groups = [(what, list(part)) for what, part in groupby(peers, key=lambda row: row.what)]
    height = len(peers) + 1.4 * len(groups)
    figure, ax = plt.subplots(figsize=(9, 0.34 * height + 0.9), layout="constrained")
    at = 0.0
    for what, part in groups:
        # The white box keeps the axis out of headings that reach across it.
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        place = {"transform": ax.get_yaxis_transform(), "weight": "bold", "va": "center"}
        ax.text(0.0, at, _plain(what), bbox=box, **place)
        for row in part:
            at += 1
            assert row.ratio
            speed = 1 / row.ratio
            ax.barh(at, speed - 1, left=1, height=0.7, color=AHEAD if speed >= 1 else BEHIND)
            told = f"{speed:,.0f} times" if speed >= 10 else f"{speed:.2g} times"
            ax.text(max(speed, 1) * 1.08, at, told, va="center")
            peer = _plain(row.yardstick.removesuffix(", 1e6"))
            ax.text(0.88, at, peer, ha="right", va="center", fontsize=9)
        at += 1.4
    ax.set(xscale="log", xlim=(0.0012, 2e3), ylim=(at - 0.6, -0.8), yticks=[])
    ax.set_xticks([1, 10, 100, 1000], ["as fast", "10 times", "100 times", "1,000 times"])
    ax.set_xlabel(
        "how many times as fast confide is as a peer that does the same work", loc="right"
    )
    ax.tick_params(which="minor", bottom=False)
    ax.axvline(1, color="#222222", lw=0.8)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)

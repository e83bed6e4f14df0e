"""Figures and tables of the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from evidence.farokhi.data import CURVES, Design, Table, draw, smoothed, straight
from evidence.oracle import OracleRegression

from confide.estimators.kernel import KernelRegression

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
KERNEL = "KernelRegression()"


def axes(rows: int, columns: int) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    size = (4.2 * columns, 3.1 * rows)
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")


def save(figure: Any, name: str) -> str:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"{name}.png", dpi=110)
    return f"![{name}](../images/{name}.png)"


def curves_figure(design: Design, name: str) -> str:
    """Figures 1 and 2: one draw, the truth, the paper's estimate and ours."""
    figure, grid = axes(2, 2)
    x = np.linspace(design.low, design.high, 301)
    for row, curve in enumerate(CURVES):
        for column, n in enumerate((1000, 10_000)):
            places, spectrum, _ = draw(design, curve, n, 0)
            paper = OracleRegression(kernel="cauchy", places=places).fit(spectrum)
            ours = KernelRegression().fit(spectrum)
            ax = grid[row, column]
            ax.fill_between(x, *ours.interval(x), color="#0b6e99", alpha=0.15, lw=0)
            ax.plot(x, CURVES[curve](x), color="black", label="truth")
            ax.plot(x, paper.predict(x), color="#b8442c", ls="--", label="Cauchy, oracle")
            ax.plot(x, ours.predict(x), color="#0b6e99", label=KERNEL)
            low, high = CURVES[curve](x).min() - 2, CURVES[curve](x).max() + 2
            ax.set(title=f"{curve}, n = {n:,}", ylim=(low, high))
    grid[0, 0].legend(frameon=False, fontsize=8)
    return save(figure, name)


def epsilon_figure(table: Table, rows: list[dict[str, Any]], name: str) -> str:
    figure, grid = axes(1, 1)
    ax = grid[0, 0]
    sign = -1 if table.binary else 1
    places = [row["epsilon"] for row in rows]
    styles = {"kernel as in the paper": "o-", "line on z": "s-", KERNEL: "o--"}
    for method in rows[0]:
        if method != "epsilon":
            values = [sign * row[method] for row in rows]
            ax.plot(places, values, styles.get(method, "s--"), ms=3, label=method)
    floor = smoothed(table.x, table.y, 0.17 if table.binary else 0.02)
    line = straight(table.x, table.y, binary=table.binary)
    ax.axhline(sign * table.risk(floor), color="grey", lw=0.8, label="kernel, no noise")
    ax.axhline(sign * table.risk(line), color="grey", lw=0.8, ls=":", label="line, no noise")
    best, worst = table.risk(floor), rows[0]["line on z"]
    margin = 0.1 * (worst - best)
    ax.set_ylim(*sorted((sign * (best - margin), sign * (worst + 3 * margin))))
    label = "mean log-likelihood" if table.binary else "mean squared error"
    ax.set(xlabel="epsilon", ylabel=label)
    ax.legend(frameon=False, fontsize=7)
    return save(figure, name)


def score_figure(values: dict[str, Any], name: str) -> str:
    figure, grid = axes(1, 1)
    ax = grid[0, 0]
    for key, style in (("noiseless", "-"), ("not adjusted", "--"), ("adjusted", "-")):
        ax.plot(values["x"], values[key], style, label=key)
    ax.set(xlabel="credit score / 100", ylabel="density")
    ax.legend(frameon=False)
    return save(figure, name)


def markdown(rows: list[dict[str, Any]], keys: tuple[str, ...], column: tuple[str, ...]) -> str:
    """One line for each combination of keys, one column for each of the columns' values."""
    heads = list(dict.fromkeys(tuple(row[key] for key in column) for row in rows))
    titles = [", ".join(str(part) for part in head) for head in heads]
    lines = [f"| {' | '.join(keys)} | {' | '.join(titles)} |", f"|{'---|' * (1 + len(heads))}"]
    for group in dict.fromkeys(tuple(row[key] for key in keys) for row in rows):
        line = list(map(str, group))
        for head in heads:
            cell = ""
            for row in rows:
                same = tuple(row[k] for k in keys) == group
                if same and tuple(row[k] for k in column) == head:
                    cell = f"{row['mean']:.4g}"
                    if "prototype" in row:
                        cell += f" ({row['prototype']:g})"
                    if row.get("verdict") == "missed":
                        cell += " **missed**"
            line.append(cell)
        lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines)

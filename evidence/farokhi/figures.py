"""Figures and tables of the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from evidence.farokhi.data import CURVES, Design, Table, draw, smoothed, straight
from evidence.oracle import OracleRegression

from confide.displays import CYCLE, ESTIMATE
from confide.estimators.kernel import KernelRegression

ALTS = {
    "farokhi_1": "Four panels: true curves on the mixture, with the estimates of the "
    "paper and of KernelRegression and its band",
    "farokhi_2": "Four panels: true curves on the chi-squared population, with the "
    "estimates of the paper and of KernelRegression and its band",
    "farokhi_3": "Densities of the credit score: without noise, with noise, and wavy "
    "after the adjustment",
    "farokhi_6": "Mean squared error of four methods falls with epsilon; the corrected "
    "line is lowest from 2 to 5",
    "farokhi_9": "Mean log-likelihood of four methods rises with epsilon; the corrected "
    "line is best throughout",
}
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
KERNEL = "KernelRegression()"


def axes(rows: int, columns: int) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    size = (4.2 * columns, 3.1 * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for ax in grid.flat:
        ax.set_prop_cycle(color=CYCLE)
    return figure, grid


def save(figure: Any, name: str) -> str:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"{name}.png", dpi=150)
    return f"![{ALTS[name]}](../images/{name}.png)"


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
            band = ours.interval(x)
            ax.fill_between(x, *band, color=ESTIMATE, alpha=0.2, lw=0, label="95 % band")
            ax.plot(x, CURVES[curve](x), color="black", label="truth")
            ax.plot(x, paper.predict(x), color=CYCLE[1], ls="--", label="Cauchy, oracle")
            ax.plot(x, ours.predict(x), color=ESTIMATE, label=KERNEL)
            low, high = CURVES[curve](x).min() - 2, CURVES[curve](x).max() + 2
            ax.set(title=f"{curve}, n = {n:,}", ylim=(low, high))
    figure.supxlabel("x", fontsize=10)
    figure.supylabel("mean of y given x", fontsize=10)
    grid[0, 0].legend(frameon=False, fontsize=9)
    return save(figure, name)


def epsilon_figure(table: Table, rows: list[dict[str, Any]], name: str) -> str:
    figure, grid = axes(1, 1)
    ax = grid[0, 0]
    sign = -1 if table.binary else 1
    places = [row["epsilon"] for row in rows]
    styles = {"kernel as in the paper": "o-", "line on z": "s-", KERNEL: "^--"}
    for method in rows[0]:
        if method != "epsilon":
            values = [sign * row[method] for row in rows]
            ax.plot(places, values, styles.get(method, "D--"), ms=4, label=method)
    floor = smoothed(table.x, table.y, 0.17 if table.binary else 0.02)
    line = straight(table.x, table.y, binary=table.binary)
    ax.axhline(sign * table.risk(floor), color="grey", lw=0.8, label="kernel, no noise")
    ax.axhline(sign * table.risk(line), color="grey", lw=0.8, ls=":", label="line, no noise")
    best, worst = table.risk(floor), rows[0]["line on z"]
    margin = 0.1 * (worst - best)
    ax.set_ylim(*sorted((sign * (best - margin), sign * (worst + 3 * margin))))
    label = "mean log-likelihood" if table.binary else "mean squared error"
    ax.set(xlabel="epsilon", ylabel=label)
    ax.legend(frameon=False, fontsize=8)
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

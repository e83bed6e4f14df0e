"""How far correlations of two private numbers are from the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from confide import Joint, Lattice, SquareWave
from confide.estimators import correlations
from confide.summaries import Counts

CELLS = 64
POPULATIONS = ((0.2, 0.6875), (0.2, 0.0), (0.16, 0.6862))
"""Standard deviation of two normal values around .5, clipped to [0, 1], and their correlation
before that."""
LIMITS = {20_000: 0.062, 100_000: 0.020}
STREAM = 61


def population(deviation: float, rho: float) -> np.ndarray:
    """Masses of pairs of cells."""
    edges = np.linspace(0, 1, CELLS + 1)
    edges[[0, -1]] = -9, 9
    z = np.clip((edges - 0.5) / deviation, -8, 8)
    law = stats.multivariate_normal(cov=[[1, rho], [rho, 1]])
    below = law.cdf(np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1))
    return np.maximum(np.diff(np.diff(below, axis=0), axis=1), 0)


def correlation(masses: np.ndarray) -> float:
    """Of the centers of cells."""
    x = (np.arange(CELLS) + 0.5) / CELLS
    masses = masses / masses.sum()
    a, b = masses.sum(axis=1), masses.sum(axis=0)
    u, v = x - a @ x, x - b @ x
    return float(u @ masses @ v / math.sqrt((a @ u**2) * (b @ v**2)))


def related(
    surveys: int,
    populations: Iterable[tuple[float, float]] = POPULATIONS,
    sizes: Iterable[int] = tuple(LIMITS),
) -> Iterator[dict[str, Any]]:
    """Root mean squared errors at epsilon 2 + 2, square wave, 64 cells each."""
    part = SquareWave(Lattice(low=0, high=1, size=CELLS), epsilon=2.0)
    joint = Joint({"x": part, "y": part})
    for deviation, rho in populations:
        masses = population(deviation, rho)
        truth = correlation(masses)
        chances = np.maximum(joint.law.forward(masses), 0)
        chances /= chances.sum()
        for n in sizes:
            found, inside = [], 0
            for survey in range(surveys):
                rng = np.random.default_rng(
                    [STREAM, round(1e4 * deviation), round(1e4 * rho), n, survey]
                )
                drawn = rng.multinomial(n, chances.ravel()).reshape(chances.shape)
                (one,) = correlations(Counts(joint, drawn, simulated=True))
                assert one.moment is not None
                found.append([one.estimate, one.moment, one.facts["likelihood"]])
                low, high = one.interval()
                inside += low <= truth <= high
            away = np.array(found) - truth
            names = ("estimate", "moments", "likelihood")
            squares = away**2
            rmse = np.sqrt(squares.mean(axis=0))
            error = squares.std(axis=0, ddof=1) / math.sqrt(surveys) / (2 * rmse)
            yield {
                "deviation": deviation,
                "truth": truth,
                "n": n,
                "surveys": surveys,
                "rmse": dict(zip(names, rmse.tolist(), strict=True)),
                "rmse_error": dict(zip(names, error.tolist(), strict=True)),
                "bias": dict(zip(names, away.mean(axis=0).tolist(), strict=True)),
                "covered": inside / surveys,
            }


def related_table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table, one line a population and n."""
    lines = [
        "| deviation | correlation | n | estimate | moments | joint likelihood | covered |",
        "|---" * 7 + "|",
    ]
    for row in rows:
        figures = [
            f"{row['rmse'][name]:.4f} ± {row['rmse_error'][name]:.4f}"
            for name in ("estimate", "moments", "likelihood")
        ]
        if abs(row["truth"] - 0.686) < 1e-3 and row["deviation"] == 0.2:
            limit = LIMITS[row["n"]]
            told = "" if row["rmse"]["estimate"] <= limit else ", **missed**"
            figures[0] += f" (limit {limit:g}{told})"
        start = f"| {row['deviation']:g} | {row['truth']:.3f} | {row['n']:,} "
        lines.append(f"{start}| {' | '.join(figures)} | {row['covered']:.3f} |")
    return "\n".join(lines)

"""Farokhi (2020) on several covariates: known surfaces, noise of one law or of several."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.estimators.kernel import KernelRegression
from confide.estimators.linear import LinearRegression
from confide.foreign import Gaussian, Laplace, Noise, NoNoise, Spectrum

JUDGED = 5000
"""True values at most at which a surface is judged."""
N = 10_000


@dataclass(frozen=True)
class Case:
    """Noise on each of some covariates between 0 and 1."""

    name: str
    noise: tuple[Noise, ...]


CASES = (
    Case("two, Laplace .1 and Gaussian .1", (Laplace(scale=0.1), Gaussian(scale=0.1))),
    Case("two, Laplace .2 each (epsilon 10)", (Laplace(scale=0.2), Laplace(scale=0.2))),
    Case(
        "three, Laplace .1, Gaussian .1, public",
        (Laplace(scale=0.1), Gaussian(scale=0.1), NoNoise()),
    ),
)


def surface(x: np.ndarray) -> np.ndarray:
    """A wave, a parabola, and a line in the third covariate if there is one."""
    third = 2 * x[:, 2] - 1 if x.shape[1] > 2 else 0.0
    found: np.ndarray = np.sin(2 * np.pi * x[:, 0]) + 2 * x[:, 1] ** 2 - 1 + third
    return found


def draw(case: Case, seed: int) -> tuple[np.ndarray, Spectrum]:
    """True values, and the noised ones with their response."""
    rng = np.random.default_rng([7, seed, N, len(case.noise)])
    x = rng.beta(2, 2, (N, len(case.noise)))
    y = surface(x) + rng.normal(0, 0.5, N)
    z = x.copy()
    for at, law in enumerate(case.noise):
        if isinstance(law, Laplace):
            z[:, at] += rng.laplace(0, law.scale, N)
        elif isinstance(law, Gaussian):
            z[:, at] += rng.normal(0, float(law.scale), N)
    return x, Spectrum.of(z, noise=case.noise, response=y, low=0, high=1)


def errors(case: Case, seed: int) -> dict[str, float]:
    """Mean squared error of each method at true values."""
    x, spectrum = draw(case, seed)
    # To ignore the noise is to take the numbers for values, wherever they lie.
    naive = Spectrum.of(
        spectrum.values, noise=[NoNoise()] * len(case.noise), response=spectrum.response
    )
    fits: dict[str, Callable[[np.ndarray], Any]] = {
        "KernelRegression()": KernelRegression().fit(spectrum).predict,
        "corrected-cv": KernelRegression(bandwidth="corrected-cv").fit(spectrum).predict,
        "kernel, noise ignored": KernelRegression().fit(naive).predict,
        "corrected line": LinearRegression().fit(spectrum).predict,
    }
    places = x[:JUDGED]
    truth = surface(places)
    return {name: float(np.mean((fit(places) - truth) ** 2)) for name, fit in fits.items()}


def measured(draws: int) -> list[dict[str, Any]]:
    """Mean squared errors over draws of everything."""
    rows = []
    for case in CASES:
        each: dict[str, list[float]] = {}
        for seed in range(draws):
            for name, error in errors(case, seed).items():
                each.setdefault(name, []).append(error)
        for name, found in each.items():
            spread = float(np.std(found, ddof=1) / math.sqrt(len(found)))
            row = {"case": case.name, "n": N, "method": name, "draws": len(found)}
            rows.append({**row, "mean": float(np.mean(found)), "standard_error": spread})
    return rows


def section(rows: list[dict[str, Any]]) -> str:
    """What the page says of several covariates."""
    (draws,) = {row["draws"] for row in rows}
    return "\n\n".join(
        [
            "## Several covariates",
            "The paper states its formulas for any number of covariates and shows one. Here are "
            "known surfaces of two and three between 0 and 1, sin(2 pi a) + 2 b^2 - 1 + (2 c - 1), "
            "responses with a standard deviation of .5, and the mean squared error at true values, "
            f"means over {draws} draws (standard errors in brackets):",
            table(rows),
        ]
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Methods down, cases and sizes across."""
    columns = list(dict.fromkeys((row["case"], row["n"]) for row in rows))
    heads = [f"{case}, {n:,}" for case, n in columns]
    lines = ["| method | " + " | ".join(heads) + " |", "|---|" + "---|" * len(columns)]
    found = {(row["method"], row["case"], row["n"]): row for row in rows}
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = []
        for case, n in columns:
            row = found.get((method, case, n))
            cells.append(f"{row['mean']:.4f} ({row['standard_error']:.4f})" if row else "")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

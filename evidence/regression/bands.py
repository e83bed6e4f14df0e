"""How often the bands of the default regression hold the truth; part of evidence/regression."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave
from confide.estimators import AdaptiveRegression, RatioRegression
from confide.summaries import Counts

GRID = np.linspace(0.02, 0.98, 49)


def wave(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.3 * np.sin(2 * np.pi * x)


JUMP, STEP = 0.37, "step at .37"
TRUTHS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float | None]] = {
    "line 2x": (lambda x: 2 * x, 0.5),
    "sin(2 pi x)": (lambda x: np.sin(2 * np.pi * x), 0.5),
    "0/1, logistic": (lambda x: 1 / (1 + np.exp(-6 * (x - 0.5))), None),
    "bump of width .15": (lambda x: np.exp(-(((x - 0.4) / 0.15) ** 2)), 0.3),
    STEP: (lambda x: np.where(x < JUMP, 0.0, 1.5), 0.5),
    "constant": (lambda x: np.zeros(x.shape), 0.5),
}
COVERED = 0.90
"""Least share of x, from .02 to .98, at which the truth is inside 95 % bands, over all surveys."""


def coverage(
    surveys: int, n: int = 10**4, epsilons: Iterable[float] = (4.0, 1.0)
) -> Iterator[dict]:
    """How often the band holds the truth, the mean over x; its width; what it says of jumps."""
    for epsilon, mechanism in itertools.product(epsilons, (SquareWave, Laplace)):
        for name, (truth, sd) in TRUTHS.items():
            inside, width, jumps, far = [], [], [], []
            for seed in range(surveys):
                # Other draws than those on which the band's constants were settled.
                rng = np.random.default_rng([14, seed])
                x = rng.beta(2, 2, n)
                m = truth(x)
                y = (rng.random(n) < m) * 1.0 if sd is None else m + rng.normal(0, sd, n)
                channel = mechanism(Lattice(low=0, high=1, size=256), epsilon=epsilon)
                counts = Counts.of(channel.simulate(x, seed=7000 + seed), response=y)
                curve = AdaptiveRegression().fit(counts)
                low, high = curve.interval(GRID)
                inside.append((low <= truth(GRID)) & (truth(GRID) <= high))
                width.append(float(np.mean(high - low)))
                jumps.append(curve.facts["jumps"])
                away = np.abs(GRID - JUMP) > curve.facts["resolution"]
                far.append(float(inside[-1][away].mean()))
            row = covered({"truth": name}, channel, inside, width)
            yield (
                row
                | {"jumps": float(np.mean(jumps))}
                | ({"far": float(np.mean(far))} if name == STEP else {})
            )


def private_coverage(surveys: int, n: int = 10**4) -> Iterator[dict]:
    """The same for a private response, from square-wave reports of x at epsilon 4."""
    x_part = SquareWave(Lattice(low=0, high=1, size=128), epsilon=4.0)
    answers = {
        "private number, epsilon 4": SquareWave(Lattice(low=0, high=1, size=128), epsilon=4.0),
        "private 0/1, epsilon 2": RandomizedResponse(["no", "yes"], epsilon=2.0),
    }
    for name, answer in answers.items():
        joint = Joint({"x": x_part, "y": answer})
        inside, width = [], []
        for seed in range(surveys):
            rng = np.random.default_rng([7, seed])
            x = rng.beta(2, 2, n)
            y = np.clip(wave(x) + rng.normal(0, 0.1, n), 0, 1)
            if isinstance(answer, RandomizedResponse):
                y = np.where(rng.random(n) < wave(x), "yes", "no")
            counts = Counts.of(joint.simulate({"x": x, "y": y}, seed=seed))
            low, high = RatioRegression(response="y").fit(counts).interval(GRID)
            inside.append((low <= wave(GRID)) & (wave(GRID) <= high))
            width.append(float(np.mean(high - low)))
        yield covered(
            {"truth": f".5 + .3 sin(2 pi x), {name}"}, joint.mechanisms["x"], inside, width
        )


def covered(
    name: dict[str, str], mechanism: Any, inside: list[np.ndarray], width: list[float]
) -> dict[str, Any]:
    """The share held, its standard error over surveys and the verdict, two of those granted."""
    held = np.mean(inside, axis=0)
    error = float(np.std(np.mean(inside, axis=1), ddof=1) / math.sqrt(len(inside)))
    share = float(held.mean())
    fine = COVERED - 2 * error <= share
    return {
        **name,
        "mechanism": mechanism.name,
        "epsilon": mechanism.epsilon,
        "surveys": len(inside),
        "covered": share,
        "standard_error": error,
        "least": float(held.min()),
        "width": float(np.mean(width)),
        "verdict": "reached" if fine else "missed",
    }


def coverage_table(rows: list[dict]) -> str:
    """A Markdown table, one line a truth, mechanism and epsilon."""
    lines = [
        "| truth | mechanism | epsilon | covered | at the worst x | mean width | may jump "
        "| covered far from the jump |",
        "|---" * 8 + "|",
    ]
    for row in rows:
        mark = " **missed**" if row["verdict"] == "missed" else ""
        jumps = f"{row['jumps']:.2f}" if "jumps" in row else ""
        far = f"{row['far']:.3f}" if "far" in row else ""
        lines.append(
            f"| {row['truth']} | {row['mechanism']} | {row['epsilon']:g} "
            f"| {row['covered']:.3f}{mark} | {row['least']:.2f} | {row['width']:.2f} "
            f"| {jumps} | {far} |"
        )
    return "\n".join(lines)

"""The default regression against what it was, on curves set apart before tuning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from evidence.regression import frozen
from evidence.regression.curves import STREAMS, WEAK, split

from confide import Lattice, SquareWave
from confide.estimators import AdaptiveRegression
from confide.summaries import Counts

SIZES, EPSILONS = (10**4, 10**5), (1.0, 2.0)
LIMITS = {False: 1.05, True: 0.35}
"""Times the mean squared error of what was, by whether there is little to see."""


def compare(
    half: str,
    surveys: int,
    *,
    kinds: Iterable[str] | None = None,
    sizes: Iterable[int] = SIZES,
    epsilons: Iterable[float] = EPSILONS,
) -> Iterator[dict[str, Any]]:
    """Mean squared errors on the same reports, square wave, 256 cells."""
    truths = split()[half]
    for kind in truths if kinds is None else kinds:
        truth, place = truths[kind], list(truths).index(kind)
        for n in sizes:
            for epsilon in epsilons:
                mechanism = SquareWave(Lattice(low=0, high=1, size=256), epsilon=epsilon)
                seeds = [STREAMS[half], place, n, round(10 * epsilon)]
                pairs = [
                    (
                        truth.error(AdaptiveRegression().fit(counts).predict),
                        truth.error(frozen.ratio(counts).predict),
                    )
                    for counts in truth.surveys(mechanism, n, seeds, surveys)
                ]
                yield row(kind, truth.name, n, epsilon, np.array(pairs))


def row(kind: str, name: str, n: int, epsilon: float, pairs: np.ndarray) -> dict[str, Any]:
    """Means, their ratio, and the ratio's standard error from paired surveys."""
    now, before = pairs.mean(axis=0)
    times = now / before
    error = float(np.std(pairs @ [1, -times], ddof=1) / math.sqrt(len(pairs)) / before)
    return {
        "kind": kind,
        "curve": name,
        "n": n,
        "epsilon": epsilon,
        "surveys": len(pairs),
        "now": float(now),
        "before": float(before),
        "times": float(times),
        "standard_error": error,
        "verdict": "reached" if times <= LIMITS[kind in WEAK] else "missed",
    }


def shown(found: dict[str, Any]) -> str:
    """A cell of the table."""
    mark = " **missed**" if found["verdict"] == "missed" else ""
    times = f"{found['times']:.2f} ± {found['standard_error']:.2f}"
    return f"{times} (from {found['before']:.5f}){mark}"


def table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table, one line a curve."""
    cells = list(dict.fromkeys((one["n"], one["epsilon"]) for one in rows))
    heads = [f"n {n:,}, epsilon {epsilon:g}" for n, epsilon in cells]
    lines = [f"| curve | {' | '.join(heads)} | limit |", "|---" * (len(heads) + 2) + "|"]
    for kind in dict.fromkeys(one["kind"] for one in rows):
        own = [one for one in rows if one["kind"] == kind]
        line = [own[0]["curve"].replace("|", "\\|")]
        for n, epsilon in cells:
            found = [one for one in own if (one["n"], one["epsilon"]) == (n, epsilon)]
            line.append(shown(found[0]) if found else "")
        lines.append(f"| {' | '.join(line)} | {LIMITS[kind in WEAK]:g} |")
    return "\n".join(lines)


def lattices(sample: Any, surveys: int, seed: int) -> Iterator[dict[str, Any]]:
    """Risk on lattices of several sizes, whose cells lie differently against the data's points."""
    for size in (64, 256, 1024):
        for shift in (0.0, 1.0, 2.5):
            low, high = sample.x.min() - 4 + shift, sample.x.max() + 4 + shift
            mechanism = SquareWave(Lattice(low=low, high=high, size=size), epsilon=5.0)
            risks = []
            for survey in range(surveys):
                reports = mechanism.simulate(sample.x, seed=seed + survey)
                counts = Counts.of(reports, response=sample.y)
                curves = AdaptiveRegression().fit(counts), frozen.ratio(counts)
                risks.append([sample.risk(curve) for curve in curves])
            now, before = np.mean(risks, axis=0).tolist()
            error = float(np.std([one for one, _ in risks], ddof=1) / math.sqrt(surveys))
            yield {
                "size": size,
                "shift": shift,
                "surveys": surveys,
                "now": now,
                "before": before,
                "standard_error": error,
            }


def lattice_table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table, one line a lattice."""
    lines = ["| cells | shifted by | now | before |", "|---|---|---|---|"]
    for one in rows:
        figures = f"{one['now']:.3f} ± {one['standard_error']:.3f} | {one['before']:.3f}"
        lines.append(f"| {one['size']:,} | {one['shift']:g} | {figures} |")
    return "\n".join(lines)

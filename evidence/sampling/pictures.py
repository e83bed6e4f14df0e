"""The pictures of the sampling study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from evidence.sampling.baselines import bernsteins, released
from evidence.sampling.targets import (
    EPSILONS,
    LABELS,
    SCATTERED,
    Mixture,
    adam_network,
    inside,
    known_to,
    mix1d,
    paper_network,
    ratios,
    ring,
)

from confide.displays import CYCLE, ESTIMATE, TRUTH, new_axes
from confide.sampling import Mollifier, SampleLaw
from confide.sampling.boosting import boost
from confide.sampling.densities import BoostedLaw
from confide.sampling.diagnostics import LearnedDisplay, MetricDisplay
from confide.sampling.mbde import MBDE

DPI = 110


def draw(result: dict[str, Any], gan: dict[str, Any], images: Path) -> None:
    """All pictures, into a folder."""
    _save(ring_maps(gan), images / "sampling_ring.png")
    _save(line_curves(gan), images / "sampling_mix1d.png")
    _save(metrics(result, gan), images / "sampling_metrics.png")
    _save(random_curves(result), images / "sampling_random.png")
    _save(fleet_curves(result), images / "sampling_fleet.png")


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, bbox_inches="tight")


def _learned(target: Mixture, epsilon: float, *, boxed: bool = False) -> dict[str, Any]:
    """Log densities of MBDE (as printed; around the box by Adam) and of the default sampler."""
    reference, _ = known_to(target, boxed=boxed)
    records = inside(target, 2000, 0) if boxed else target.sample(2000, 0)
    learner = adam_network() if boxed else paper_network()
    fitted = boost(records, reference, epsilon, 3, learner)
    mbde = MBDE(reference=reference, epsilon=epsilon)
    sampler = Mollifier(reference=reference, epsilon=epsilon)
    n = 2000 if boxed else 10_000
    where = " (box)" * boxed
    return {
        f"MBDE{where}, epsilon = {epsilon:g}": BoostedLaw(mbde, mbde.scaled(fitted)).log_pdf,
        f"default{where}, epsilon = {epsilon:g}": SampleLaw(
            sampler, ratios(target, n, 0, boxed=boxed)
        ).log_pdf,
    }


def generated(gan: dict[str, Any], target: Mixture) -> np.ndarray:
    """Density of DPGAN's draws at epsilon 10 at the points of the judge of the box."""
    counts = np.array([line.split() for line in gan["pictures"][target.name]["counts"]], float)
    counts = counts if target.dim == 2 else counts.ravel()
    for axis in range(target.dim):
        counts = np.repeat(counts, target.boxed.points // counts.shape[axis], axis=axis)
    return counts / counts.sum() / target.boxed.volume


def ring_maps(gan: dict[str, Any]) -> Any:
    """Maps of target, reference, and what was learned (figures 1 and 3 of the paper)."""
    target = ring()
    judge = target.boxed
    shape = (judge.points, judge.points)
    laws = [_learned(target, 2.0), _learned(target, 10.0), _learned(target, 10.0, boxed=True)]
    lines: list[dict[str, Any]] = [
        {"target": target.log_pdf, "reference N(0, I)": target.reference.log_density},
        *(dict(list(each.items())[at] for each in laws) for at in (0, 1)),
    ]
    shown = [{name: np.exp(law(judge.table)) for name, law in line.items()} for line in lines]
    shown[0]["DPGAN, epsilon = 10"] = generated(gan, target)
    shown.append({})
    for kind, label, epsilon in (
        ("dpb cv", "DPB, cross-validated", 1.0),
        ("dpb cv", "DPB, cross-validated", 10.0),
        ("dpb tight", "DPB, tight", 10.0),
    ):
        releases = bernsteins(target, epsilon, 10_000, 0, kind=kind)
        best = int(min(releases, key=lambda one: one["kl"])["degree"])
        logs = released(target, epsilon, 10_000, 0, kind=kind, degree=best)
        shown[-1][f"{label}, epsilon = {epsilon:g}"] = np.exp(logs)
    heights = {name: each.reshape(shape) for line in shown for name, each in line.items()}
    display = LearnedDisplay(tuple(judge.edges), heights).plot()
    return display.ax_.figure


def line_curves(gan: dict[str, Any]) -> Any:
    """Curves on one axis, DPB's and DPGAN's too."""
    target = mix1d()
    judge = target.judge
    laws = {"target": target.log_pdf, "reference": target.reference.log_density}
    for epsilon in (1.0, 5.0):
        laws |= _learned(target, epsilon)
    heights = {name: np.exp(law(judge.table)) for name, law in laws.items()}
    releases = bernsteins(target, 1.0, 10_000, 0, kind="dpb cv")
    best = int(min(releases, key=lambda one: one["kl"])["degree"])
    logs = released(target, 1.0, 10_000, 0, kind="dpb cv", degree=best)
    rivals = {
        "DPB, cross-validated, epsilon = 1": np.exp(logs),
        "DPGAN, epsilon = 10": generated(gan, target),
    }
    for name, height in rivals.items():
        heights[name] = np.interp(
            judge.table[:, 0], target.boxed.table[:, 0], height, left=0, right=0
        )
    return LearnedDisplay(tuple(judge.edges), heights).plot().ax_.figure


def _metric(rows: list[dict], names: list[str], what: str, ax: Any) -> None:
    def line(name: str, key: str) -> list[float]:
        found = {row["epsilon"]: row[key] for row in rows if row["method"] == name}
        return [found[epsilon] for epsilon in EPSILONS]

    values = {LABELS[name]: line(name, what) for name in names}
    spreads = {LABELS[name]: line(name, f"{what}_sd") for name in names}
    words = {"kl": "KL(P, Q)", "coverage": "mode coverage", "nll": "NLL"}
    MetricDisplay(EPSILONS, values, spreads, words[what]).plot(ax)


def metrics(result: dict[str, Any], gan: dict[str, Any]) -> Any:
    """KL and coverage against epsilon (figure 4)."""
    figure = new_axes(9.0, 7.0).figure
    figure.clf()
    axes = figure.subplots(2, 2)
    names = ["mbde", "mbde full", "default", "limit", "dpb cv", "dpb tight"]
    boxed = {"mbde box adam": ESTIMATE, "default box": CYCLE[2]}
    for line, target in enumerate(("ring", "mix1d")):
        parts = (*result["rows"], *result["boxed"], *result["adam"])
        rows = [row for row in parts if row["target"] == target]
        for ax, what in zip(axes[line], ("nll", "coverage"), strict=True):
            _metric(rows, names, what, ax)
            for name, color in boxed.items():
                own = [row for row in rows if row["method"] == name]
                points = ([r[key] for r in own] for key in ("epsilon", what, f"{what}_sd"))
                style = {"fmt": "o:", "color": color, "ms": 3, "capsize": 2}
                ax.errorbar(*points, **style, label=LABELS[name])
            own = [r for r in gan["rows"] if (r["target"], r["method"]) == (target, "dpgan")]
            points = ([r[key] for r in own] for key in ("epsilon", what, f"{what}_sd"))
            ax.errorbar(*points, fmt="s--", color="k", ms=3, capsize=2, label="DPGAN, best steps")
            ax.get_legend().remove()
            ax.set_title({"ring": "ring of Gaussians", "mix1d": "three Gaussians"}[target])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def random_curves(result: dict[str, Any]) -> Any:
    """KL and coverage against the number of Gaussians (figure 5)."""
    figure = new_axes(9.0, 3.6).figure
    figure.clf()
    axes = figure.subplots(1, 2)
    for ax, what, words in zip(
        axes, ("kl", "coverage"), ("KL(P, Q)", "mode coverage"), strict=True
    ):
        for name in ("mbde", "default", "limit"):
            for epsilon, style in ((1.0, ":"), (10.0, "-")):
                found = sorted(
                    (int(row["target"].split("-")[1]), row[what], row[f"{what}_sd"])
                    for row in result["random"]
                    if row["target"].startswith("random1d")
                    and (row["method"], row["epsilon"]) == (name, epsilon)
                )
                count, value, spread = zip(*found, strict=True)
                color = {"mbde": CYCLE[1], "default": ESTIMATE, "limit": TRUTH}[name]
                label = f"{(LABELS | SCATTERED)[name]}, epsilon = {epsilon:g}"
                ax.errorbar(count, value, spread, fmt=style, color=color, capsize=2, label=label)
        ax.set_xlabel("Gaussians")
        ax.set_ylabel(words)
    axes[1].legend(frameon=False, fontsize=8)
    return figure


def fleet_curves(result: dict[str, Any]) -> Any:
    """The pool of a fleet's samples beside the mixture of respondents."""
    curves = dict(result["fleet"]["curves"])
    x = np.array(curves.pop("x"))
    edges = np.append(x, 2 * x[-1] - x[-2]) - (x[1] - x[0]) / 2
    heights = {name: np.asarray(curve) for name, curve in curves.items()}
    return LearnedDisplay((edges,), heights).plot().ax_.figure

"""Private sampling: the experiments of Husain et al. (2020), and what the default sampler does.

python -m evidence sampling [--seeds 4] [--only PART ...] [--thin]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from evidence.sampling import page as sampling_page
from evidence.sampling.baselines import DPB, MOST, bernstein, bernsteins, naive, responded
from evidence.sampling.claims import chain_losses, trained_by_walks
from evidence.sampling.draws import draw_times
from evidence.sampling.targets import (
    EPSILONS,
    Mixture,
    adam_network,
    best_boosted,
    boosted,
    limit,
    mix1d,
    mollified,
    paper_network,
    ring,
    scattered,
)

from confide import Counts, Lattice, SquareWave
from confide.estimators import Likelihood
from confide.sampling import Gaussian, Mollifier
from confide.sampling.fleet import Fleet
from confide.sampling.mbde import MBDE

ROOT = Path(__file__).resolve().parents[2]
RECORDS = 10_000
FEW = 1000
"""Records for the random targets."""
RANDOM_EPSILONS = (0.1, 0.5, 1.0, 2.0, 10.0)
COUNTS = {1: (1, 3, 5, 10), 2: (1, 4, 10)}
HIGHER = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0, 800.0, 2000.0)
"""Epsilons of DPB: 400 times each of MBDE's is among them."""
PRINTED = {
    "ring": (6.1485, 5.9608, 5.7348, 5.3327, 4.525, 3.886),
    "mix1d": (0.8894, 0.7830, 0.6655, 0.4872, 0.258, 0.168),
}
"""KL of MBDE as printed in an independent prototype, epsilon as in EPSILONS."""


def row(target: Mixture, name: str, epsilon: float, several: list[dict[str, Any]]) -> dict:
    """Means and standard deviations over seeds."""
    found: dict[str, Any] = {"target": target.name, "method": name, "epsilon": epsilon}
    for what in ("kl", "nll", "coverage", "printed"):
        values = [one[what] for one in several]
        found[what] = float(np.mean(values))
        found[f"{what}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    if "facts" in several[0]:
        found["facts"] = several[0]["facts"]
    return found


def compare(
    target: Mixture,
    epsilons: tuple[float, ...],
    seeds: int,
    *,
    n: int,
    learner: Any,
    training: int,
) -> list[dict]:
    """All that takes no bounds, and the naive sampler, on one target."""
    rows = []
    for epsilon in epsilons:
        found: dict[str, list[dict]] = {name: [] for name in ("mbde", "mbde full", "default")}
        found["limit"] = [limit(target, epsilon)]
        found["best mbde"] = [best_boosted(target, epsilon)]
        found["naive"] = [naive(target, epsilon)]
        found["responded"] = [responded(target, epsilon)]
        for seed in range(seeds):
            for name, scores in boosted(target, epsilon, seed, learner, training).items():
                found[name].append(scores)
            found["default"].append(mollified(target, epsilon, n, seed))
        rows += [row(target, name, epsilon, several) for name, several in found.items()]
    return rows


def boxed_rows(
    target: Mixture,
    epsilons: tuple[float, ...],
    seeds: int,
    *,
    n: int,
    learner: Any,
    training: int,
) -> list[dict]:
    """All that knows a box: MBDE and the default sampler with it as Q0, and DPB by its degree.

    MBDE's networks take long and vary little: half as many seeds.
    """
    rows = []
    for epsilon in epsilons:
        found: dict[str, list[dict]] = {name: [] for name in ("mbde box", "default box")}
        for seed in range(seeds):
            if 2 * seed < seeds:
                boxed = boosted(target, epsilon, seed, learner, training, boxed=True)
                found["mbde box"].append(boxed["mbde"])
            found["default box"].append(mollified(target, epsilon, training, seed, boxed=True))
            for kind in DPB:
                several = list(bernsteins(target, epsilon, n, seed, kind=kind))
                found.setdefault(kind, []).append(min(several, key=lambda one: one["kl"]))
                for one in several:
                    found.setdefault(f"{kind} {one['degree']}", []).append(one)
        rows += [row(target, name, epsilon, several) for name, several in found.items()]
    return rows


def by_adam(targets: tuple[Mixture, ...], seeds: int, n: int) -> list[dict]:
    """MBDE with the paper's steps, its networks by Adam: around N(0, I), and around the box.

    All records at a time for 750 epochs are few steps, and on the box the printed optimizer has not
    come far; the paper does not say how many records it takes at a time.
    """
    rows = []
    for target in targets:
        for epsilon in EPSILONS:
            for boxed, name in ((False, "mbde adam"), (True, "mbde box adam")):
                several = [
                    boosted(target, epsilon, seed, adam_network(), n, boxed=boxed)["mbde"]
                    for seed in range(seeds)
                ]
                for one in several:
                    one.pop("facts")
                rows.append(row(target, name, epsilon, several))
    return rows


def scattered_rows(epsilons: tuple[float, ...], seeds: int, counts: dict) -> list[dict]:
    """Random Gaussians: another target for every seed."""
    rows = []
    for dim, numbers in counts.items():
        for count in numbers:
            targets = [scattered(count, dim, seed) for seed in range(seeds)]
            for epsilon in epsilons:
                found: dict[str, list[dict]] = {}
                for seed, target in enumerate(targets):
                    parts = boosted(target, epsilon, seed, adam_network(), FEW)
                    parts["default"] = mollified(target, epsilon, FEW, seed)
                    parts["limit"] = limit(target, epsilon)
                    parts["responded"] = responded(target, epsilon)
                    for kind in DPB:
                        parts[kind] = bernstein(target, epsilon, FEW, seed, kind=kind)
                    for name, scores in parts.items():
                        scores.pop("facts", None)
                        found.setdefault(name, []).append(scores)
                rows += [row(targets[0], name, epsilon, several) for name, several in found.items()]
    return rows


def factors(
    n: int, epsilons: tuple[float, ...], higher: tuple[float, ...], seeds: int
) -> list[dict]:
    """By how much DPB's epsilon must be larger than MBDE's for the same KL, on several rings."""
    rows = []
    for radius, variance in ((4.0, 0.5), (1.5, 0.5), (1.5, 0.05)):
        target = ring(radius, variance)
        curves = {
            kind: [
                float(np.mean([bernstein(target, e, n, s, kind=kind)["kl"] for s in range(seeds)]))
                for e in higher
                if kind == "dpb cv" or e <= MOST
            ]
            for kind in DPB
        }
        for epsilon in epsilons:
            several = [
                boosted(target, epsilon, seed, adam_network(), min(n, 2000))["mbde"]["kl"]
                for seed in range(seeds)
            ]
            mbde = float(np.mean(several))
            found: dict[str, Any] = {
                "radius": radius,
                "variance": variance,
                "epsilon": epsilon,
                "mbde": mbde,
            }
            for name, kls in curves.items():
                reached = [e for e, kl in zip(higher, kls, strict=False) if kl <= mbde]
                found[name] = reached[0] if reached else None
                found[f"{name} least"] = min(kls)
            rows.append(found)
    return rows


def costs(n: int, epochs: int) -> dict[str, float]:
    """Processor seconds of one fit in two dimensions."""
    records, reference = ring().sample(n, 3), Gaussian(dim=2)
    start = time.process_time()
    sampler = Mollifier(reference=reference, epsilon=1.0, atoms=2000, seed=1)
    sampler.weigh(sampler.law_of(records).log_ratio)
    ours = time.process_time() - start
    start = time.process_time()
    MBDE(reference=reference, epsilon=1.0).law_of(records)
    adam = time.process_time() - start
    start = time.process_time()
    MBDE(reference=reference, epsilon=1.0, learner=paper_network(epochs)).law_of(records)
    printed = time.process_time() - start
    return {"default": ours, "mbde adam": adam, "mbde printed": printed, "epochs": epochs}


def fleet(respondents: int, sizes: tuple[int, ...], epsilon: float = 2.0) -> dict[str, Any]:
    """What a collector learns of the mixture of respondents, each with 200 records around a mean.

    Beside the pool of samples: one record each under noise for the same epsilon, from fleets of
    several sizes, and the estimate that undoes the noise.
    """
    generator = np.random.default_rng(5)
    ends = np.array([[-1.0], [1.0]])
    judge = Mixture("fleet", ends, np.full(2, 0.35**2), -3, 3, 600, (-3, 3)).judge

    def homes(count: int, records: int) -> np.ndarray:
        means = generator.choice(ends[:, 0], count)
        return means[:, None] + generator.normal(0, 0.35, size=(count, records))

    sampler = Mollifier(reference=Gaussian(), epsilon=epsilon, atoms=500)
    each = homes(respondents, 200)
    pool = Fleet.of(sampler.simulate(home, seed=at) for at, home in enumerate(each))
    kinds = [sampler.law_of(mean + generator.normal(0, 0.35, size=2000)).pdf for mean in ends[:, 0]]
    whole = np.log((kinds[0](judge.table) + kinds[1](judge.table)) / 2)
    mechanism = SquareWave(Lattice(low=-3, high=3, size=128), epsilon=epsilon)
    undone, heights = {}, np.zeros(())
    for count in sizes:
        single = np.clip(homes(count, 1)[:, 0], -3, 3)
        density = Likelihood().fit(Counts.of(mechanism.simulate(single, seed=count)))
        heights = np.maximum(density.pdf(judge.table[:, 0]), 1e-6)
        undone[str(count)] = judge.kl(lambda _, kept=heights: np.log(kept))
    return {
        "respondents": respondents,
        "epsilon": epsilon,
        "reference": judge.kl(Gaussian().log_pdf),
        "samples": judge.kl(pool.log_pdf),
        "endless": judge.kl(lambda _: whole),
        "undone": undone,
        "curves": {
            "x": judge.table[:, 0].tolist(),
            "target": (judge.masses / judge.volume).tolist(),
            "reference": np.exp(Gaussian().log_pdf(judge.table)).tolist(),
            "pooled samples": pool.pdf(judge.table).tolist(),
            f"one noised record each of {sizes[-1]:,}": heights.tolist(),
        },
    }


def shortfalls(rows: list[dict]) -> list[str]:
    """What is not as promised: an empty list where all is well."""
    kls = {(r["target"], r["method"], r["epsilon"]): r["kl"] for r in rows}
    found = []
    for (target, method, epsilon), kl in kls.items():
        if target not in PRINTED:
            continue
        gap = kl - kls[target, "limit", epsilon]
        if method == "default" and gap > (0.05 if epsilon > 5 else 0.01):
            found.append(f"{target}: the default sampler is {gap:.3f} above the limit at {epsilon}")
        wanted = PRINTED[target][EPSILONS.index(epsilon)]
        if method == "mbde" and wanted > 0.1 and kl > 1.02 * wanted:
            found.append(f"{target}: MBDE has {kl:.4f} at {epsilon}, above {wanted} by over 2 %")
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence sampling", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--thin", action="store_true", help="little of all, nothing written")
    parser.add_argument(
        "--only", nargs="+", default=[], help="parts to run again; others stay as they are"
    )
    options = parser.parse_args(argv)
    thin, start = options.thin, time.perf_counter()
    epsilons = (1.0,) if thin else EPSILONS
    seeds = 1 if thin else options.seeds
    learner = paper_network(100 if thin else 750)
    n, training = (1000, 500) if thin else (RECORDS, 2000)
    targets = (mix1d(),) if thin else (ring(), mix1d())
    random = ((1.0,), seeds, {1: (3,)}) if thin else (RANDOM_EPSILONS, seeds, COUNTS)
    sizes = {"n": n, "learner": learner, "training": training}
    parts: dict[str, Callable[[], Any]] = {
        "rows": lambda: [r for each in targets for r in compare(each, epsilons, seeds, **sizes)],
        "boxed": lambda: [
            r for each in targets for r in boxed_rows(each, epsilons, seeds, **sizes)
        ],
        "random": lambda: scattered_rows(*random),
        "adam": lambda: by_adam(targets, seeds, training),
        "factors": lambda: factors(
            n, *((1.0,), (100.0,)) if thin else ((0.25, 1.0, 2.0, 5.0), HIGHER), seeds
        ),
        "walks": lambda: trained_by_walks(mix1d(), (1.0, 5.0), seeds, FEW),
        "chains": lambda: chain_losses(steps=(1, 2, 5, 10, 20, 50)),
        "costs": lambda: costs(n, 20 if thin else 750),
        "fleet": lambda: fleet(50, (500,)) if thin else fleet(1000, (1000, 10_000, 100_000)),
        "draws": lambda: draw_times(200 if thin else 10_000),
    }
    target = ROOT / "evidence" / "sampling" / "results.json"
    result = json.loads(target.read_text()) if options.only else {}
    result |= {"records": n, "training": training, "seeds": seeds}
    for name in options.only or parts:
        result[name] = parts[name]()
        if not thin:
            # Part by part: the whole takes hours.
            target.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{name} after {time.perf_counter() - start:.0f} s", flush=True)
    missed = [] if thin else shortfalls(result["rows"])
    if not thin and result["costs"]["default"] > result["costs"]["mbde printed"] / 20:
        missed.append("a fit of the default sampler takes over a twentieth of MBDE's")
    for line in missed:
        print(line)
    if not thin:
        sampling_page.write(result, ROOT / "docs")
    return int(bool(missed))

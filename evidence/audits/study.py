"""All audits on all that makes a claim, on the mutants, and their false alarms over many seeds.

python -m evidence audits [--seeds 200] [--thin]

Writes evidence/audits/results.json and docs/evidence/audits.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.contract import mutants
from tests.contract.mutants import LAYERS, Case

from confide import (
    Cells,
    Joint,
    Laplace,
    Lattice,
    Partition,
    RandomizedResponse,
    SquareWave,
    TwoSidedGamma,
    audits,
)
from confide.audits import Finding
from confide.lattice import Categories
from confide.mechanisms import ForcedResponse, PairResponse, Side
from confide.releases import (
    Bernstein,
    Choice,
    CrossTable,
    GaussianProcess,
    Histogram,
    Holdout,
    KolmogorovSmirnov,
    LeastSquares,
    Means,
    Query,
    Selection,
    Series,
    Statistic,
)
from confide.sampling import FiniteMollifier, Gaussian, Mollifier
from confide.sampling.mbde import MBDE
from confide.sampling.naive import NaiveSampler

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence" / "audits.md"
RESULT = ROOT / "evidence" / "audits" / "results.json"
SMALL = Lattice(low=0, high=100, size=33)
UNIT = Lattice(low=0, high=1, size=64)
MECHANISM = tuple(LAYERS)
OTHERS = ("exact", "grid", "index", "goodness", "sampled")
DATA = ([0.2] * 10 + [0.9], [0.2] * 10 + [0.1])
COUNTED = ([0] * 10 + [1], [0] * 11)
SOME = 4000


def subjects() -> list[Case]:
    """Everything here that claims an epsilon, one of each kind."""
    one = frozenset[str]()
    wave = SquareWave(SMALL, epsilon=1.0)
    mechanisms: dict[str, Any] = {
        "Laplace": Laplace(SMALL, epsilon=1.0),
        "Laplace, 1024 cells on a log scale": Laplace(
            Lattice(low=1, high=1e6, size=1024, scale="log"), epsilon=2.0
        ),
        "Laplace, 4096 cells": Laplace(Lattice(low=0, high=1, size=4096), epsilon=1.0),
        "SquareWave": wave,
        "SquareWave, 1024 cells": SquareWave(Lattice(low=0, high=1, size=1024), epsilon=0.5),
        "TwoSidedGamma": TwoSidedGamma(SMALL, shape=0.8, scale=70.0),
        "SquareWave, may be declined": SquareWave(SMALL, epsilon=1.0, prefer_not_to_say=True),
        "RandomizedResponse": RandomizedResponse(["no", "yes", "perhaps"], epsilon=1.0),
        "RandomizedResponse, may be declined": RandomizedResponse(
            ["no", "yes"], epsilon=1.0, prefer_not_to_say=True
        ),
        "ForcedResponse": ForcedResponse(["no", "yes"], truth=0.5),
        "PairResponse": PairResponse(
            {"a": Side(SMALL, (5,)), "b": Side(Categories(("no", "yes")))}, epsilon=1.0
        ),
        "Joint": Joint({"a": wave, "b": RandomizedResponse(["no", "yes"], epsilon=1.0)}),
    }
    cells = Cells(low=[0], high=[1], shape=[4])
    partitions = {
        "Partition": Partition(cells, bound=1.0, epsilon=2.0, levels=2),
        "Partition, labels": Partition(cells, epsilon=2.0, classify=True),
    }
    histograms = [Histogram(UNIT, epsilon=0.75, cells=several) for several in (3, 6)]
    releases: dict[str, Any] = {
        "Query count": Query("count", epsilon=1.0),
        "Query sum": Query("sum", UNIT, epsilon=1.0, spread=0.0),
        "Query mean": Query("mean", UNIT, epsilon=1.0),
        "Query variance": Query("variance", UNIT, epsilon=1.0),
        "Query quantile": Query("quantile", UNIT, epsilon=1.0, q=0.5),
        "Histogram": Histogram(UNIT, epsilon=1.0, cells=4),
        "Histogram, two columns": Histogram({"a": UNIT, "b": SMALL}, epsilon=1.0, cells=2),
        "Series": Series(UNIT, epsilon=1.0, terms=3),
        "Bernstein": Bernstein(UNIT, epsilon=1.0, degree=4),
        "GaussianProcess": GaussianProcess(UNIT, epsilon=1.0, delta=1e-6),
        "KolmogorovSmirnov": KolmogorovSmirnov(UNIT, epsilon=1.0),
        "Choice": Choice(histograms, epsilon=1.0),
        "Means": Means({"a": UNIT, "b": SMALL}, epsilon=1.0),
        "CrossTable": CrossTable({"a": SMALL, "said": Categories(("no", "yes"))}, epsilon=1.0),
        "LeastSquares": LeastSquares(
            {"a": SMALL, "said": Categories(("no", "yes"))}, target="said", epsilon=1.0, degree=1
        ),
        "Statistic": Statistic(
            "a mean", np.mean, UNIT, sensitivity=1, divided_by_n=True, low=0, high=1, epsilon=1.0
        ),
        "Selection": Selection(
            "records in a half", _in_half, HALVES, UNIT, sensitivity=1, low=0, high=1e9, epsilon=1.0
        ),
    }
    # A release takes milliseconds, where a report takes microseconds.
    runs = {"GaussianProcess": 100, "Query mean": 300, "Query variance": 300, "Query sum": 600}
    runs |= dict.fromkeys(("Query quantile", "Series", "Bernstein", "Choice"), 800)
    runs |= {"KolmogorovSmirnov": 1000, "Means": 300, "Statistic": 100, "Selection": 100}
    runs |= {"LeastSquares": 200, "CrossTable": 600}
    columns = tuple({"a": data, "b": [50.0] * len(data)} for data in DATA)
    sets = {"Query count": COUNTED, "Histogram, two columns": columns, "Means": columns}
    spoken = tuple({"a": data, "said": ["no"] * len(data)} for data in DATA)
    sets |= {"LeastSquares": spoken, "CrossTable": spoken}
    answers = Categories(("no", "yes", "perhaps"))
    said = [({"said": ["no"] * 9}, {"said": ["yes"] * 5})]
    points = [(np.zeros(20), np.full(20, 2.0))]
    reference = Gaussian()
    learner = _learner()
    samplers: dict[str, Any] = {
        "FiniteMollifier": (FiniteMollifier({"said": answers}, epsilon=1.0), said),
        "Mollifier": (Mollifier(reference=reference, epsilon=1.0, atoms=200, seed=1), points),
        "MBDE": (MBDE(reference=reference, epsilon=1.0, learner=learner), points),
        "NaiveSampler": (NaiveSampler(Laplace(UNIT, epsilon=1.0)), [([0.1] * 5, [0.9] * 5)]),
    }
    return [
        *(Case(name, each, one, n=40_000, layers=MECHANISM) for name, each in mechanisms.items()),
        *(Case(name, each, one, n=20_000, layers=OTHERS) for name, each in partitions.items()),
        *(
            Case(
                name,
                each,
                one,
                pairs=[sets.get(name, DATA)],
                n=runs.get(name, SOME),
                layers=OTHERS,
            )
            for name, each in releases.items()
        ),
        *(
            Case(name, each, one, pairs=pairs, n=20_000, layers=OTHERS)
            for name, (each, pairs) in samplers.items()
        ),
        Case("Holdout", holdout([0.0] * 20), one, layers=("exact",)),
        Case(
            "Holdout, one query",
            asked,
            one,
            pairs=[([0.0] * 19 + [1.0], [0.0] * 20)],
            claimed=1.0,
            n=1000,
            layers=("sampled",),
        ),
        Case(
            "a device that sends its first report again",
            mutants.remembering,
            one,
            pairs=[(0.0, 100.0)],
            claimed=1.0,
            n=4000,
            layers=("joint",),
        ),
    ]


def asked(fresh: list[float]) -> tuple[float, int]:
    """What one query shows of a holdout: an answer, and where it came from."""
    answer = holdout(fresh).ask(_itself)
    return answer.value, int(answer.source == "holdout")


def holdout(fresh: list[float]) -> Holdout:
    return Holdout(np.zeros(20), fresh, epsilon=1.0, overfits=1)


HALVES = ("lower", "upper")


def _in_half(records: Any, half: str) -> Any:
    return np.sum((records > 0.5) == (half == HALVES[1]))


def _itself(records: Any) -> Any:
    return records


def _learner() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def rows(cases: list[Case], seed: int | None = 1) -> Iterator[dict[str, Any]]:
    """What each layer says of each case, and the time that all of them took."""
    for case in cases:
        began = time.process_time()
        findings = mutants.run(case, seed)
        yield {
            "name": case.name,
            "layers": {layer: found.holds for layer, found in findings.items() if found.looked},
            "must": sorted(case.caught),
            "claimed": _first(findings, "claimed"),
            "certified": _first(findings, "certified"),
            "lower_bound": _first(findings, "lower_bound"),
            "seconds": round(time.process_time() - began, 2),
        }


def _first(findings: dict[str, Finding], key: str) -> float | None:
    found = [finding.to_dict()[key] for finding in findings.values()]
    return next((value for value in found if value is not None), None)


SAMPLED: dict[str, Callable[[Any, int, float], Finding]] = {
    "goodness": lambda each, seed, alpha: audits.goodness(each, n=10_000, alpha=alpha, seed=seed),
    "sampled": lambda each, seed, alpha: audits.sampled(each, n=20_000, alpha=alpha, seed=seed),
    "joint": lambda each, seed, alpha: audits.joint(each, n=8000, alpha=alpha, seed=seed),
}


def alarms(seeds: int, alpha: float) -> list[dict[str, Any]]:
    """Alarms of the layers that rest on chance, on mechanisms that are right."""
    one = Laplace(SMALL, epsilon=1.0)
    right: dict[str, Any] = {
        "Laplace": one,
        "SquareWave": SquareWave(SMALL, epsilon=1.0),
        "RandomizedResponse": RandomizedResponse(["no", "yes", "perhaps"], epsilon=1.0),
        "Joint": Joint({"a": one, "b": one}),
        # Few draws for each of many reports.
        "Laplace, 1024 cells": Laplace(Lattice(low=0, high=1, size=1024), epsilon=4.0),
    }
    found = []
    for name, mechanism in right.items():
        for layer, check in SAMPLED.items():
            count, largest = 0, 0.0
            for seed in range(seeds):
                finding = check(mechanism, seed, alpha)
                count += not finding.holds
                largest = max(largest, (finding.lower_bound or 0.0) / finding.claimed)
            found.append(
                {
                    "mechanism": name,
                    "layer": layer,
                    "alpha": alpha,
                    "seeds": seeds,
                    "alarms": count,
                    "largest_share_of_epsilon": round(largest, 4),
                }
            )
    return found


def table(kind: str, results: dict[str, Any]) -> str:
    """One of the tables of the page."""
    if kind == "alarms":
        head = ("mechanism", "layer", "alpha", "runs", "false alarms", "largest bound / epsilon")
        lines = [
            (
                row["mechanism"],
                row["layer"],
                f"{row['alpha']:g}",
                str(row["seeds"]),
                str(row["alarms"]),
                f"{row['largest_share_of_epsilon']:.3f}" if row["layer"] != "goodness" else "",
            )
            for row in results["alarms"]
        ]
        return _markdown(head, lines)
    caught = kind == "mutants"
    marks = {True: "", False: "caught"} if caught else {True: "holds", False: "FAILS"}
    lines = [
        (
            row["name"],
            *(marks[row["layers"][layer]] if layer in row["layers"] else "-" for layer in LAYERS),
            *(() if caught else (_number(row["claimed"]), _number(row["certified"]))),
            _number(row["lower_bound"]),
        )
        for row in results[kind]
    ]
    ends = ("found, at least",) if caught else ("claimed", "certified", "found, at least")
    return _markdown(("mutant" if caught else "subject", *LAYERS, *ends), lines)


def _number(value: float | str | None) -> str:
    """A number; what has no finite one says so in words."""
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:.3g}"


def _markdown(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    ruler = "|".join("---" for _ in head)
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"| {' | '.join(head)} |\n|{ruler}|\n{body}\n"


PAGE_TEXT = """# Audits

Written by `make evidence NAME=audits`, which also writes `evidence/audits/results.json`. The
tests run every row of the first two tables again and compare.

[How to audit a claim of privacy](../how-to/audits.md) explains the six checks ("layers") and how
to run them on your own survey or code.

## Which layer catches what

These mechanisms were broken on purpose, each in one way. All claim epsilon = 1, except that the
reused noise claims 2. "Stated" means that the mechanism's own law shows the fault and only the
claim is wrong. "Hidden" means that the law says one thing and the code does another. A dash means
that the layer has nothing to look at. The last column is the lower bound that the attack found.
No layer catches all of them, which is why there are six.

{mutants}
## Everything that makes a claim

Every layer that has something to look at, on one of each kind. A release takes milliseconds to
draw, so the attack on it has only 100 to 4,000 draws and little power: a bound of 0 means that it
found nothing, not that there is nothing to find. The claim of a release rests on `exact` and
`grid`: `exact` finds the sensitivity by trying data sets and ties the certified noise to the
released numbers, and `grid` ties that noise to its law. Releases are certified for 20 records.
With so few records the interval of a quantile ends at the public bounds and costs nothing.
`ForcedResponse` claims no epsilon and has none, so an attack has nothing to refute.

{subjects}
## False alarms

The layers that rest on chance were run on correct mechanisms, {seeds} seeds each. At the default
alpha of one in a million there was no false alarm. At 0.05, where {allowed:g} of {seeds} are
allowed on average, no layer gave more than that.

{alarms}"""


def page(results: dict[str, Any]) -> str:
    """The text of the page."""
    seeds = results["alarms"][0]["seeds"]
    tables = {kind: table(kind, results) for kind in ("mutants", "subjects", "alarms")}
    return PAGE_TEXT.format(**tables, seeds=seeds, allowed=0.05 * seeds)


def shortfalls(results: dict[str, Any]) -> list[str]:
    """Mutants that were missed, and claims that were doubted without cause."""
    missed = [
        f"{row['name']}: {layer} missed it"
        for row in results["mutants"]
        for layer in row["must"]
        if row["layers"][layer]
    ]
    doubted = [
        f"{row['name']}: {layer} failed"
        for row in results["subjects"]
        for layer, holds in row["layers"].items()
        if not holds
    ]
    false = [
        f"{row['mechanism']}: {row['alarms']} alarms of {row['layer']}"
        for row in results["alarms"]
        if row["alarms"] > _most(row["seeds"], row["alpha"])
    ]
    return missed + doubted + false


def _most(seeds: int, alpha: float) -> float:
    """Alarms that chance explains: none at a small alpha, else the mean and four deviations."""
    mean = seeds * alpha
    return 0 if mean < 0.01 else mean + 4 * mean**0.5


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence audits", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--thin", action="store_true", help="few seeds, nothing written")
    options = parser.parse_args(argv)
    seeds = 2 if options.thin else options.seeds
    results: dict[str, Any] = {
        "mutants": list(rows(mutants.cases())),
        "subjects": list(rows(subjects())),
        "alarms": alarms(seeds, 1e-6) + alarms(seeds, 0.05),
    }
    for part in results.values():
        for row in part:
            print(row)
    if not options.thin:
        RESULT.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
    found = shortfalls(results)
    for line in found:
        print(line)
    return int(bool(found))

"""Whether raking removes the bias of a sample that is not like its population, and intervals cover.

python -m evidence raking [--surveys 1000] [--thin]

In the first population three regions and two sexes make six groups that answer differently, and how
readily people respond depends on both columns. The others depend on the margins strongly, weakly or
not as a sum at all, have three margins, or groups of a few respondents who weigh much. Groups of
respondents and counts of their reports are multinomial draws from the exact laws.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import confide as cf
from confide.estimators import CategoryShares
from confide.estimators.intervals import Intervals
from confide.summaries import Counts, Groups
from evidence import record

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "evidence" / "raking-check.md"
EPSILONS = (1.0, 2.0, 4.0)
ENDS = (0.5, 4.0)
"""Epsilons of the other populations."""
OTHER = 5
"""They have one survey for so many of the first."""
SLOW = 4
"""One survey in so many of the first population has the slow tests, of the distribution function
and the median, and is estimated without raking as well."""
LIMITS = (0.93, 0.97)
PLACE = 0.4
"""Where the distribution function is tested."""
Points = np.ndarray


@dataclass(frozen=True, eq=False)
class Population:
    """Groups of people by some columns.

    Parameters
    ----------
    people
        Shares of the groups, an axis for each column.
    response
        For each column what its values do to how readily people respond. Raking is exact where
        response is a product of these.
    means
        Of the answers of each group, which have a beta law; also the share that says yes.
    spread
        The sum of the parameters of that law: more is narrower.
    n
        Respondents.
    """

    people: Points
    response: tuple[tuple[float, ...], ...]
    means: Points
    spread: float
    n: int

    @property
    def by(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(f"column {at}" for at in range(self.people.ndim))

    @property
    def margins(self) -> dict[str, dict[int, float]]:
        """Public shares of the population."""
        axes = range(self.people.ndim)
        sums = [self.people.sum(tuple(other for other in axes if other != at)) for at in axes]
        return {
            name: dict(enumerate(own.tolist())) for name, own in zip(self.by, sums, strict=True)
        }

    def cells(self, lattice: cf.Lattice) -> Points:
        """Masses of the answers of each group."""
        parts = [(self.spread * mean, self.spread * (1 - mean)) for mean in self.means.ravel()]
        return np.stack([np.diff(beta.cdf(lattice.edges, a, b)) for a, b in parts])

    def drawn(self, mechanism: Any, shares: Points, draw: np.random.Generator) -> Groups[Counts]:
        """Counts by group of one survey; ``shares`` has the masses of the answers of each group."""
        sample = (self.people * reduce(np.multiply.outer, map(np.array, self.response))).ravel()
        sizes = draw.multinomial(self.n, sample / sample.sum())
        chances = np.maximum(mechanism.law.forward(shares), 0)
        parts = {}
        for key, n, own in zip(np.ndindex(self.people.shape), sizes, chances, strict=True):
            if n:
                counts = draw.multinomial(n, own / own.sum())
                parts[key] = Counts(mechanism, counts, simulated=True)
        return Groups(self.by, parts)


def _added(*columns: tuple[float, ...]) -> Points:
    return np.asarray(reduce(np.add.outer, map(np.array, columns)))


TABLE = np.array([[0.12, 0.08], [0.15, 0.25], [0.18, 0.22]])
READY = ((0.9, 0.5, 0.2), (0.6, 1.0))
EVEN = tuple([0.95 / 6] * 6)
FIRST = Population(TABLE, READY, _added((0.2, 0.4, 0.6), (0.0, 0.1)), 10, 5000)
OTHERS = {
    "margins tell nothing": Population(TABLE, READY, np.full((3, 2), 0.4), 10, 2000),
    "margins tell nearly all": Population(
        TABLE, READY, _added((0.1, 0.45, 0.85), (0.0, 0.05)), 60, 2000
    ),
    "no sum of margins tells": Population(
        np.array([[0.1, 0.4], [0.4, 0.1]]),
        ((1.0, 0.2), (1.0, 0.2)),
        np.array([[0.8, 0.2], [0.2, 0.8]]),
        20,
        2000,
    ),
    "three margins, 60 groups": Population(
        np.multiply.outer(
            np.outer([0.1, 0.15, 0.2, 0.25, 0.3], [0.1, 0.2, 0.3, 0.4]), [0.2, 0.3, 0.5]
        ),
        ((0.9, 0.7, 0.5, 0.4, 0.3), (1.0, 0.8, 0.6, 0.4), (1.0, 0.7, 0.5)),
        _added((0.1, 0.175, 0.25, 0.325, 0.4), (0.2, 0.13, 0.07, 0.0), (0.0, 0.12, 0.25)),
        15,
        2000,
    ),
    "groups of a few who weigh much": Population(
        np.outer((0.02, 0.03, *EVEN), (0.05, 0.2, 0.25, 0.25, 0.25)),
        ((0.25, 0.3, *[1.0] * 6), (0.15, 1.0, 1.0, 1.0, 1.0)),
        0.2 + 0.6 * _added(tuple(np.linspace(0, 0.5, 8)), tuple(np.linspace(0.5, 0, 5))),
        10,
        2000,
    ),
}


def rows(
    population: Population, epsilon: float, surveys: int, *, slow: int = 0
) -> dict[str, dict[str, float]]:
    """Bias and coverage of a mean and of a share, raked and not; of F and the median, if slow."""
    lattice = cf.Lattice(low=0, high=1, size=256)
    number = cf.SquareWave(lattice, epsilon=epsilon)
    word = cf.RandomizedResponse(("no", "yes"), epsilon=epsilon)
    cells, yes = population.cells(lattice), population.means.ravel()
    both, people = np.stack([1 - yes, yes], axis=1), population.people.ravel()
    line = np.append(0.0, (people @ cells).cumsum())
    truths = {
        "mean": float(people @ yes),
        "share": float(people @ yes),
        f"F({PLACE:g})": float(np.interp(PLACE, lattice.edges, line)),
        "median": float(np.interp(0.5, line, lattice.edges)),
    }
    found: dict[str, list[tuple[float, float, float]]] = {}
    for survey in range(surveys):
        draw = np.random.default_rng([18, 5, round(10 * epsilon), survey])
        means = population.drawn(number, cells, draw)
        shares = population.drawn(word, both, draw)
        for name, raked in (("raked", True), ("not raked", False)):
            if not raked and survey >= slow:
                continue
            one = (means.rake(population.margins) if raked else means).total()
            two = (shares.rake(population.margins) if raked else shares).total()
            for what, low, high in _ends(one, two, raked and survey < slow):
                found.setdefault(f"{what}, {name}", []).append(((low + high) / 2, low, high))
    made = {}
    for name, values in found.items():
        center, low, high = np.array(values).T
        truth = truths[name.split(",")[0]]
        made[name] = {
            "surveys": len(values),
            "truth": truth,
            "bias": float(center.mean() - truth),
            "bias_error": float(center.std(ddof=1) / math.sqrt(len(values))),
            "sd": float(center.std(ddof=1)),
            "width": float((high - low).mean()),
            "covered": float(((low <= truth) & (truth <= high)).mean()),
        }
    return made


def _ends(number: Counts, word: Counts, slow: bool) -> Iterator[tuple[str, float, float]]:
    """Intervals of everything that is tested in one survey."""
    intervals = Intervals(number)
    yield "mean", *intervals.mean(0.95)
    yield "share", *CategoryShares().fit(word).interval("yes", level=0.95)
    if slow:
        quick = intervals.quick()
        yield f"F({PLACE:g})", *quick.cdf(PLACE)
        yield "median", *quick.quantile(0.5)


def measure(epsilon: float, surveys: int) -> dict[str, Any]:
    """The first population at one epsilon."""
    slow = max(2, surveys // SLOW)
    return {"epsilon": epsilon, "rows": rows(FIRST, epsilon, surveys, slow=slow)}


def sample() -> dict[str, float]:
    """Middles and widths of the intervals of two surveys."""
    found = rows(FIRST, EPSILONS[0], 2, slow=2)
    return {
        f"{name}: {what}": row[what] for name, row in found.items() for what in ("bias", "width")
    }


def elsewhere(surveys: int) -> list[dict[str, Any]]:
    """The other populations, raked."""
    return [
        {"population": name, "n": one.n, "epsilon": epsilon, "rows": rows(one, epsilon, surveys)}
        for name, one in OTHERS.items()
        for epsilon in ENDS
    ]


def slack(row: dict[str, float]) -> float:
    """Two standard errors of the coverage."""
    return 2 * math.sqrt(0.05 * 0.95 / row["surveys"])


def verdict(results: dict[str, Any]) -> str:
    """Whether raked estimates are unbiased and their intervals cover as they should."""
    for found in (*results["measured"], *results["elsewhere"]):
        for name, row in found["rows"].items():
            if not name.endswith(", raked"):
                continue
            if not LIMITS[0] - slack(row) <= row["covered"] <= LIMITS[1] + slack(row):
                return "missed"
            # The middle of an interval of F or of a quantile is no unbiased estimate.
            linear = name.startswith(("mean", "share")) and "population" not in found
            if linear and abs(row["bias"]) > 3 * row["bias_error"]:
                return "missed"
    return "reached"


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    lines = [
        "# Raking, checked",
        "",
        "Written by `make evidence NAME=raking`, which also writes `evidence/raking/results.json`.",
        f"The population has three regions and two sexes. Of it {FIRST.n:,} people answer, and "
        "some groups answer more often than others. Bias is that of the middle of the interval. "
        "Coverage is that of 95 % intervals. Both have their standard errors.",
        "",
        "| epsilon | estimate | surveys | truth | bias | standard deviation | coverage |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in results["measured"]:
        for name, row in found["rows"].items():
            lines.append(
                f"| {found['epsilon']:g} | {name} | {row['surveys']:,} | {row['truth']:.4f} "
                f"| {row['bias']:+.4f} ± {row['bias_error']:.4f} | {row['sd']:.4f} "
                f"| {_covered(row)} |"
            )
    lines += [
        "",
        "## Other populations",
        "",
        "These populations are harder. In some, the margins explain nothing or nearly all of the "
        "answers. In one, the effects of the margins do not add up. Others have many groups, or "
        "groups of few respondents.",
        "",
        "| population | respondents | epsilon | surveys | coverage: mean | share |",
        "|---|---|---|---|---|---|",
    ]
    for found in results["elsewhere"]:
        mean, share = (found["rows"][f"{what}, raked"] for what in ("mean", "share"))
        lines.append(
            f"| {found['population']} | {found['n']:,} | {found['epsilon']:g} "
            f"| {mean['surveys']:,} | {_covered(mean)} | {_covered(share)} |"
        )
    lines += [
        "",
        "The goal: raked means and shares of the first population have no bias (within three "
        "standard errors), and all raked estimates have coverage from .93 to .97 (within two "
        "standard errors): "
        f"**{results['verdict']}**. {_wide(results)}",
    ]
    return "\n".join(lines)


def _wide(results: dict[str, Any]) -> str:
    """How often the slow intervals cover, which are wider than they need be."""
    held = [
        row["covered"]
        for found in results["measured"]
        for name, row in found["rows"].items()
        if name.startswith(("F(", "median")) and name.endswith(", raked")
    ]
    return (
        f"Intervals of F({PLACE:g}) and of the median cover in {min(held):.3f} to {max(held):.3f}: "
        "most are wider than they need be."
    )


def _covered(row: dict[str, float]) -> str:
    error = math.sqrt(row["covered"] * (1 - row["covered"]) / row["surveys"])
    return f"{row['covered']:.3f} ± {error:.3f}"


def measured(surveys: int) -> dict[str, Any]:
    """The results of so many surveys at each epsilon."""
    results: dict[str, Any] = {
        "measured": [measure(epsilon, surveys) for epsilon in EPSILONS],
        "elsewhere": elsewhere(max(10, surveys // OTHER)),
    }
    return {**results, "verdict": verdict(results), "sample": sample()}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page."""
    return record.run(sys.modules[__name__], arguments, surveys=1000, thin=20)

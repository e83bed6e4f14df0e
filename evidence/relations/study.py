"""Correlations from reports about pairs of questions, and synthetic respondents.

python -m evidence relations [--surveys 40] [--synthetic 20] [--words 100] [--only rows] [--thin]

A survey of six questions, one for each of six populations on [0, 1], and 100,000 people. Of them
10,000 are asked one question each first, and their private reports give the thresholds; then
40,000 others are asked one question each and 50,000 for one of the 15 pairs each. People are
independent draws from a copula and reports from the mechanisms' laws, so counts of reports are
multinomial draws from the law applied to the population: exact. The reports to single questions do
not depend on the copula, and are shared by all copulas of a survey. Most of what is uncertain is in
the reports about pairs, which are quick to draw: each survey has them drawn four times. Standard
errors are from the surveys' own means, so that they know what the four have in common.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from evidence.asking.study import POPULATIONS
from evidence.relations import words
from scipy import stats
from scipy.special import ndtr, ndtri

import confide as cf
from confide.curves import Copula
from confide.errors import ConfideWarning
from confide.estimators.relating import Cut, Pair, both_below, cut_of, margin_of, relate
from confide.mechanisms import Mechanism, PairResponse
from confide.summaries import Counts, Summaries
from confide.survey import Survey

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PILOT, SINGLE, PAIRED = 10_000, 40_000, 50_000
RHO = 0.4
LIMITS = {1.0: 0.065, 2.0: 0.04, 4.0: 0.035}
"""Root mean square error of the correlations at .4, at most, by total epsilon."""
REPEATS = 4
"""Times that the reports about pairs of a survey are drawn."""
SKIPPED = 0.1
"""Share of the people who decline a question, where they may."""
NAMES = tuple(POPULATIONS)
ROWS = 10_000
Points = np.ndarray


def normal(u: Points, v: Points) -> Points:
    """A normal copula."""
    return both_below(ndtri(u), ndtri(v), RHO)


FREEDOM = 3
THETA = 2 * math.asin(RHO) / math.pi * 2 / (1 - 2 * math.asin(RHO) / math.pi)
"""Clayton's parameter with the same rank correlation (Kendall's tau) as the normal copula."""
MIX = stats.chi2(FREEDOM).ppf((np.arange(200) + 0.5) / 200) / FREEDOM


def student(u: Points, v: Points) -> Points:
    """A t copula with three degrees of freedom: the tails go together."""
    x, y = (stats.t(FREEDOM).ppf(each)[..., None] * np.sqrt(MIX) for each in (u, v))
    return np.asarray(both_below(np.clip(x, -30, 30), np.clip(y, -30, 30), RHO).mean(axis=-1))


def clayton(u: Points, v: Points) -> Points:
    """A copula whose low answers go together and whose high ones do not."""
    return np.asarray((u**-THETA + v**-THETA - 1) ** (-1 / THETA))


GRID = ndtri((np.arange(4000) + 0.5) / 4000)
SLOPE = 1.0


def _second(t: Points) -> Points:
    """P(Y < t) for Y = |X| + normal noise, given each X of the grid."""
    return ndtr((t[..., None] - SLOPE * np.abs(GRID)) / 0.5)


LADDER = np.linspace(-3, 7, 1001)
SHARES = np.array([float(_second(np.array(t)).mean()) for t in LADDER])


def symmetric(u: Points, v: Points) -> Points:
    """The second answer goes with how far the first is from its middle, on either side."""
    t = np.interp(v, SHARES, LADDER)
    below = ndtri(u)[..., None] > GRID
    return np.asarray((_second(t) * below).mean(axis=-1))


COPULAS: dict[str, Callable[[Points, Points], Points]] = {
    "normal": normal,
    "t, three degrees of freedom": student,
    "Clayton": clayton,
    "symmetric": symmetric,
}


def score_correlation(copula: Callable[[Points, Points], Points], m: int = 120) -> float:
    """Correlation of the normal scores of both answers, from the copula on a grid of m x m."""
    edges = np.arange(1, m) / m
    inner = np.array([copula(np.full(m - 1, u), edges) for u in edges])
    whole = np.zeros((m + 1, m + 1))
    whole[1:-1, 1:-1], whole[-1, 1:-1], whole[1:-1, -1], whole[-1, -1] = inner, edges, edges, 1
    cells = np.diff(np.diff(whole, axis=0), axis=1)
    # The mean score of a cell, by the density at its ends.
    ends = np.concatenate([[0.0], stats.norm.pdf(ndtri(edges)), [0.0]])
    scores = m * (ends[:-1] - ends[1:])
    spread = (scores**2).mean()
    return float(scores @ cells @ scores / spread)


def survey(epsilon: float, *, declining: bool) -> tuple[Survey, Survey]:
    """The survey of the people who are asked first, and that of the others."""
    offered = {"prefer_not_to_say": True} if declining else {}
    questions = {name: {"low": 0, "high": 1, **offered} for name in NAMES}
    fields = {"epsilon": epsilon, "ask": 1, "questions": questions}
    share = PAIRED / (SINGLE + PAIRED)
    related = {**fields, "relations": {"pairs": "all", "share": share}}
    return Survey.from_dict(fields), Survey.from_dict(related)


def counted(mechanism: Mechanism, cells: Points, n: int, draw: np.random.Generator) -> Counts:
    """Counts of reports of n people, drawn at once."""
    shares = np.maximum(mechanism.law.forward(cells), 0)
    return Counts(mechanism, draw.multinomial(n, shares / shares.sum()), simulated=True)


def singles(asked: Survey, n: int, draw: np.random.Generator) -> dict[str, Counts]:
    """Counts of single questions, asked of equally many people each."""
    found = {}
    for name, question in asked.questions.items():
        mechanism = question.mechanism
        cells = np.diff(POPULATIONS[name](mechanism.axes[""].edges))
        if mechanism.prefer_not_to_say:
            cells = np.append((1 - SKIPPED) * cells / cells.sum(), SKIPPED)
        found[name] = counted(mechanism, cells, n // len(NAMES), draw)
    return found


def divided(pair: PairResponse, copula: Callable[[Points, Points], Points]) -> Points:
    """Shares of the classes of both questions, by the true distributions at the cuts."""
    (one, first), (other, second) = pair.sides.items()
    ends = []
    for name, side in ((one, first), (other, second)):
        inner = POPULATIONS[name](side.axis.edges[list(side.starts[1:])])
        ends.append(np.asarray(inner))
    rows, columns = len(ends[0]), len(ends[1])
    whole = np.zeros((rows + 2, columns + 2))
    whole[1:-1, 1:-1] = [copula(np.full(columns, u), ends[1]) for u in ends[0]]
    whole[1:-1, -1], whole[-1, 1:-1], whole[-1, -1] = ends[0], ends[1], 1
    return np.diff(np.diff(whole, axis=0), axis=1)


def chances(pair: PairResponse, cells: Points) -> Points:
    """Chances of the reports about a pair, from the shares of the classes of both questions."""
    table = pair.outcomes
    masses = np.zeros(table.shape)
    masses[: cells.shape[0], : cells.shape[1]] = cells
    if pair.declines:
        masses *= (1 - SKIPPED) ** 2
        masses[-1, -1] = 1 - (1 - SKIPPED) ** 2
    outcomes = np.bincount(table.ravel(), masses.ravel(), minlength=table.max() + 1)
    shares = pair.response.law.forward(outcomes)
    return np.asarray(shares / shares.sum())


def pairs(
    asked: Survey, tables: Mapping[str, Points], draw: np.random.Generator
) -> dict[str, Counts]:
    """Counts of the reports about pairs, whose classes have the shares in these tables."""
    n = PAIRED // len(asked.pairs)
    return {
        name: Counts(pair, draw.multinomial(n, chances(pair, tables[name])), simulated=True)
        for name, pair in asked.pairs.items()
    }


def noiseless(pair: PairResponse, cells: Points) -> float:
    """The correlation of the normal copula that divides the people in the same way."""
    cuts = [
        Cut(np.cumsum(cells.sum(axis=1 - axis))[:-1], np.zeros(cells.shape[axis] - 1))
        for axis in (0, 1)
    ]
    bare = PairResponse(dict(pair.sides), epsilon=20.0)
    shares = chances(bare, cells)
    counts = Counts(bare, np.round(1e15 * shares).astype(np.int64), simulated=True)
    return Pair(counts, (cuts[0], cuts[1])).relation(0.95).correlation


def one_survey(
    epsilon: float, seed: int, *, declining: bool, classes: int | None
) -> dict[str, dict[str, list[float]]]:
    """Estimates, ends of intervals and what there is to find, by copula and pair."""
    draw = np.random.default_rng([12, seed, round(1000 * epsilon), declining])
    first, later = survey(epsilon, declining=declining)
    earlier = Summaries(singles(first, PILOT, draw))
    asked = later.with_thresholds(earlier, n=PAIRED // 15, classes=classes)
    own = singles(asked, SINGLE, draw)
    # The same for all copulas: what is known about each question by itself.
    sides = {name: side for pair in asked.pairs.values() for name, side in pair.sides.items()}
    cuts = {name: cut_of(side, margin_of(own[name])) for name, side in sides.items()}
    found = {}
    for name, copula in COPULAS.items():
        if name != "normal" and (declining or classes is not None):
            continue
        tables = {each: divided(pair, copula) for each, pair in asked.pairs.items()}
        without = [noiseless(pair, tables[each]) for each, pair in asked.pairs.items()]
        made = []
        for _ in range(REPEATS):
            counts = pairs(asked, tables, draw)
            for pair, mechanism in asked.pairs.items():
                one, other = (cuts[question] for question in mechanism.sides)
                made.append(Pair(counts[pair], (one, other)).relation(0.95))
        found[name] = {
            "estimate": [one.correlation for one in made],
            "low": [one.low for one in made],
            "high": [one.high for one in made],
            "without": REPEATS * without,
        }
    return found


def measured(
    epsilon: float, surveys: int, *, declining: bool = False, classes: int | None = None
) -> list[dict[str, Any]]:
    """Errors and coverage over many surveys, by copula."""
    made = [
        one_survey(epsilon, seed, declining=declining, classes=classes) for seed in range(surveys)
    ]
    rows = []
    for name in made[0]:
        table = {key: np.array([each[name][key] for each in made]) for key in made[0][name]}
        truth = truth_of(name)
        squares = ((table["estimate"] - truth) ** 2).mean(axis=1)
        rmse = float(np.sqrt(squares.mean()))
        held = ((table["low"] <= table["without"]) & (table["without"] <= table["high"])).mean(
            axis=1
        )
        rows.append(
            {
                "copula": name,
                "epsilon": epsilon,
                "declining": declining,
                "classes": classes,
                "surveys": surveys,
                "truth": truth,
                "seen": float(table["without"].mean()),
                "mean": float(table["estimate"].mean()),
                "rmse": rmse,
                "rmse_error": float(
                    squares.std(ddof=1) / math.sqrt(surveys) / (2 * max(rmse, 1e-12))
                ),
                "covered": float(held.mean()),
                "covered_error": float(held.std(ddof=1) / math.sqrt(surveys)),
                "width": float((table["high"] - table["low"]).mean()),
            }
        )
    return rows


@cache
def truth_of(name: str) -> float:
    """The correlation of normal scores in a population."""
    return RHO if name == "normal" else score_correlation(COPULAS[name])


INVERSES = {
    name: (np.linspace(0, 1, 20_001), cdf(np.linspace(0, 1, 20_001)))
    for name, cdf in POPULATIONS.items()
}


def population(n: int, draw: np.random.Generator) -> dict[str, Points]:
    """Rows of true people, joined by the normal copula."""
    d = len(NAMES)
    matrix = np.full((d, d), RHO) + (1 - RHO) * np.eye(d)
    u = ndtr(draw.multivariate_normal(np.zeros(d), matrix, n))
    return {
        name: np.interp(u[:, at], INVERSES[name][1], INVERSES[name][0])
        for at, name in enumerate(NAMES)
    }


def classified(train: Mapping[str, Points], test: Mapping[str, Points]) -> dict[str, float]:
    """Area under the curve of classifiers of the last answer, above its median, by the others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    *features, target = NAMES
    cut = np.median(test[target])
    x, z = (np.column_stack([each[name] for name in features]) for each in (train, test))
    y, truth = ((each[target] > cut) for each in (train, test))
    kinds: dict[str, Any] = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "boosted trees": HistGradientBoostingClassifier(random_state=0),
    }
    return {
        name: float(roc_auc_score(truth, kind.fit(x, y).predict_proba(z)[:, 1]))
        for name, kind in kinds.items()
    }


def model_of(epsilon: float, seed: int) -> tuple[Copula, np.random.Generator]:
    """The model of one survey, and the generator that drew it."""
    draw = np.random.default_rng([13, seed, round(1000 * epsilon)])
    first, later = survey(epsilon, declining=False)
    asked = later.with_thresholds(Summaries(singles(first, PILOT, draw)), n=PAIRED // 15)
    tables = {each: divided(pair, normal) for each, pair in asked.pairs.items()}
    counts = pairs(asked, tables, draw)
    return relate(Summaries({**singles(asked, SINGLE, draw), **counts})), draw


def synthetic(epsilon: float, surveys: int) -> list[dict[str, Any]]:
    """Synthetic respondents of some surveys beside the estimates and the truth."""
    inside, unlike, distances, apart, scores = [], [], [], [], []
    for seed in range(surveys):
        model, draw = model_of(epsilon, seed)
        made = cf.synthesize(model, ROWS, seed=seed)
        inside.append(inside_intervals(model, made))
        unlike += [each < 0.05 for each in likeness(model, made)]
        distances.append(from_truth(model, made))
        columns = [ndtri((made[name].argsort().argsort() + 0.5) / ROWS) for name in NAMES]
        fitted, found = model.correlations, np.corrcoef(columns)
        apart += [abs(fitted[a, b] - found[a, b]) for a, b in combinations(range(6), 2)]
        true, test = population(ROWS, draw), population(ROWS, draw)
        scores.append((classified(true, test), classified(made, test)))
    kinds = list(scores[0][0])
    found = {
        "epsilon": epsilon,
        "surveys": surveys,
        "inside": float(np.mean(inside)),
        "inside_error": float(np.std(inside, ddof=1) / math.sqrt(surveys)),
        "columns": len(unlike),
        "unlike": float(np.mean(unlike)),
        "estimate_distance": float(np.mean([one for one, _ in distances])),
        "synthetic_distance": float(np.mean([other for _, other in distances])),
        "apart": float(np.max(apart)),
        "apart_usual": float(np.quantile(apart, 0.95)),
        "classifiers": {
            kind: {
                "truth": float(np.mean([one[kind] for one, _ in scores])),
                "synthetic": float(np.mean([other[kind] for _, other in scores])),
                "error": float(
                    np.std([one[kind] - other[kind] for one, other in scores], ddof=1)
                    / math.sqrt(surveys)
                ),
            }
            for kind in kinds
        },
    }
    return [found]


def sample_of_rows() -> dict[str, float]:
    """Estimates and intervals of one survey of numbers."""
    (one,) = one_survey(1.0, 0, declining=False, classes=2).values()
    return {f"rows: {what}": float(np.mean(each)) for what, each in one.items()}


SAMPLES = {"rows": sample_of_rows, "words": words.sample}
"""What tells whether a part of the record is old. Synthetic rows have none."""


def sample() -> dict[str, float]:
    """Estimates of a few surveys, of the parts of the record that keep some."""
    return {name: value for made in SAMPLES.values() for name, value in made().items()}


def inside_intervals(model: Copula, made: Mapping[str, Points]) -> float:
    """Share of the deciles of synthetic columns that lie within the estimates' own intervals."""
    held = []
    for name, margin in model.margins.items():
        places = np.arange(1, 10) / 10
        low, high = margin.interval("quantile", places)  # type: ignore[call-arg, arg-type]
        found = np.quantile(made[name], places)
        held.append(((low <= found) & (found <= high)).mean())
    return float(np.mean(held))


def likeness(model: Copula, made: Mapping[str, Points]) -> list[float]:
    """For each column the Kolmogorov-Smirnov p-value of its rows as draws from the estimate."""
    return [
        float(stats.kstest(made[name], margin.cdf).pvalue)  # type: ignore[union-attr]
        for name, margin in model.margins.items()
    ]


def from_truth(model: Copula, made: Mapping[str, Points]) -> tuple[float, float]:
    """Mean Wasserstein-1 distances from the true populations: of estimates, of synthetic rows."""
    grid = np.linspace(0, 1, 2001)
    apart = []
    for name, margin in model.margins.items():
        rows = np.searchsorted(np.sort(made[name]), grid, side="right") / made[name].size
        both = (np.asarray(margin.cdf(grid)), rows)  # type: ignore[union-attr]
        apart.append([float(np.abs(one - POPULATIONS[name](grid)).mean()) for one in both])
    estimates, synthetic = np.mean(apart, axis=0)
    return float(estimates), float(synthetic)


PREFACE = """# Relations

Written by `make evidence NAME=relations`, which also writes `evidence/relations/results.json`. A
survey has six questions on [0, 1] and 100,000 people: {pilot:,} are asked one question each first,
and their private reports give the thresholds; then {single:,} others are asked one question each
and {paired:,} for one of the 15 pairs each ({each:,} a pair). Everybody spends the same epsilon in
all. Errors are those of the correlation of normal scores of all 15 pairs. Coverage is that of the
95 % intervals, of the correlation that reports without noise would give. Means over so many
simulated surveys, with standard errors; in each, the reports about pairs are drawn {repeats}
times."""


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    lines = [
        PREFACE.format(
            pilot=PILOT, single=SINGLE, paired=PAIRED, each=PAIRED // 15, repeats=REPEATS
        ),
        "",
    ]
    lines += [
        "## Six questions, a normal copula with correlations of .4",
        "",
        "| epsilon in all | report | surveys | root mean square error | to reach | coverage "
        "| width |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        if row["copula"] != "normal":
            continue
        limit = LIMITS[row["epsilon"]]
        first = not row["declining"] and row["classes"] is None
        verdict = "reached" if row["rmse"] <= limit else "missed"
        what = {None: "as chosen", 2: "one bit", 3: "table of 3 x 3"}[row["classes"]]
        lines.append(
            f"| {row['epsilon']:g} | {what}{', 10 % decline each question' * row['declining']} "
            f"| {row['surveys']} | {row['rmse']:.4f} ± {row['rmse_error']:.4f} "
            f"| {f'{limit:g}: {verdict}' if first else ''} "
            f"| {row['covered']:.1%} ± {row['covered_error']:.1%} | {row['width']:.3f} |"
        )
    chosen = ", ".join(f"{each['classes']} at epsilon {each['epsilon']:g}" for each in
                       results["designs"])  # fmt: skip
    lines += [
        "",
        f"Classes of each question that the exact information chose: {chosen} (two are one bit).",
        "",
        "## Copulas that are not normal",
        "",
        "The same surveys, with other relations between the same questions. `true` is the "
        "correlation of the population's normal scores; `seen` is what the reports would give "
        "without noise, at the private thresholds. The difference of the two is what a threshold "
        "does not see, and more people do not remove it.",
        "",
        "| copula | epsilon | surveys | true | seen | mean estimate | error against true "
        "| coverage of seen |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        if row["copula"] == "normal":
            continue
        lines.append(
            f"| {row['copula']} | {row['epsilon']:g} | {row['surveys']} | {row['truth']:.3f} "
            f"| {row['seen']:.3f} | {row['mean']:.3f} | {row['rmse']:.4f} ± "
            f"{row['rmse_error']:.4f} | {row['covered']:.1%} ± {row['covered_error']:.1%} |"
        )
    lines += [
        "",
        "In the symmetric population the second answer goes with how far the first lies from its "
        "middle: the first tells much about the second, and the correlation is nearly zero. The "
        "t copula has tails that go together, Clayton's low answers go together and high ones do "
        "not: neither shows in the correlation.",
        "",
        *words.lines(results["words"]),
        "",
        "## Synthetic respondents",
        "",
        f"{ROWS:,} rows from each model, against the estimates, the true population and other "
        "true rows.",
        "",
        "### Margins",
        "",
        "Deciles inside: how many deciles of the synthetic columns lie within the 95 % intervals "
        "of the estimates. Unlike: columns that a Kolmogorov-Smirnov test tells from draws of the "
        "estimate at a level of 5 %; about one in twenty is due to chance. Distances are "
        "Wasserstein-1 distances from the true population, means over columns.",
        "",
        "| epsilon | surveys | deciles inside | unlike | distance of the estimates "
        "| distance of the rows |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['epsilon']:g} | {row['surveys']} | {row['inside']:.1%} ± "
        f"{row['inside_error']:.1%} | {row['unlike']:.1%} of {row['columns']} "
        f"| {row['estimate_distance']:.4f} | {row['synthetic_distance']:.4f} |"
        for row in results["synthetic"]
    ]
    lines += [
        "",
        "### Correlations, and classifiers trained on the rows",
        "",
        "The difference of a synthetic correlation and the fitted one, below which 95 % of the "
        "pairs stay, and the largest; and classifiers that tell from five answers whether the "
        "sixth is above its median, trained on true and on synthetic rows, tested on other true "
        "rows (area under the curve, with the standard error of the difference).",
        "",
        "| epsilon | surveys | differences of correlations: 95 %, largest "
        "| logistic: true, synthetic | boosted trees: true, synthetic |",
        "|---|---|---|---|---|",
    ]
    for row in results["synthetic"]:
        both = [
            f"{each['truth']:.4f}, {each['synthetic']:.4f} ± {each['error']:.4f}"
            for each in row["classifiers"].values()
        ]
        lines.append(
            f"| {row['epsilon']:g} | {row['surveys']} | {row['apart_usual']:.3f}, "
            f"{row['apart']:.3f} | {both[0]} | {both[1]} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page."""
    from confide.planning.pair_designs import best_classes

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=40)
    parser.add_argument("--synthetic", type=int, default=20)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument(
        "--only", choices=("rows", "synthetic", "words"), help="keep the rest of the record"
    )
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConfideWarning)
    several = (options.surveys, options.synthetic, options.words)
    surveys, few, many = (2, 2, 2) if options.thin else several
    kept = {} if options.only is None else json.loads(RESULTS.read_text(encoding="utf-8"))
    results: dict[str, Any] = {
        "rows": [],
        "designs": [
            {"epsilon": epsilon, "classes": best_classes(epsilon, n=PAIRED // 15)}
            for epsilon in LIMITS
        ],
        "synthetic": [],
        "words": [],
    }
    for key in kept.keys() - {"designs", options.only}:
        results[key] = kept[key]
    # A part that is not measured again keeps the sample of the code that measured it.
    ours = {part: made() for part, made in SAMPLES.items() if options.only in (None, part)}
    results["sample"] = {**kept.get("sample", {}), **{
        name: value for own in ours.values() for name, value in own.items()}}  # fmt: skip
    steps: list[tuple[str, Callable[[], list[dict[str, Any]]]]] = [
        *(("rows", partial(measured, epsilon, surveys)) for epsilon in LIMITS),
        *(("rows", partial(measured, epsilon, surveys, declining=True)) for epsilon in LIMITS),
        *(("synthetic", partial(synthetic, epsilon, few)) for epsilon in LIMITS),
        *(
            ("words", partial(words.measured, epsilon, many, declining=declining))
            for declining in (False, True)
            for epsilon in LIMITS
        ),
    ]
    for key, step in steps:
        if options.only not in (None, key):
            continue
        results[key] += step()
        text = page(results)
        if not options.thin:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            (ROOT / "docs" / "evidence" / "relations.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    main_rows = [row for row in results["rows"] if row["copula"] == "normal"]
    reached = [row["rmse"] <= LIMITS[row["epsilon"]] for row in main_rows if not row["declining"]]
    return int(not all(reached))

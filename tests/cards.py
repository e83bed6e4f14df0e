"""One result of every kind that notebooks show, made from simulated answers with hostile names."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

import confide as cf
from confide import audits, curves, estimators, foreign, gamma, planning, releases, sampling
from confide.collect import Verification
from confide.estimators.trends import trend
from confide.results import Quantity, synthesize

HOSTILE = '<script>document.title="broken"</script>'
"""A name that must stay a name."""
AXIS = cf.Lattice(low=0, high=100_000, size=64)
N = 4000


def _pay(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).gamma(6.0, 7000.0, N)


@cache
def counts(seed: int = 1) -> cf.Counts:
    values = _pay(seed)
    reports = cf.SquareWave(AXIS, epsilon=2.0).simulate(values, seed=seed)
    return cf.Counts.of(reports, response=values / 1000, bounds=(0, 300))


@cache
def density() -> cf.Density:
    return cf.density(counts())


@cache
def words() -> cf.Counts:
    mechanism = cf.RandomizedResponse([HOSTILE, "bus", "car"], epsilon=1.5)
    answers = np.random.default_rng(2).choice([HOSTILE, "bus", "car"], size=N, p=[0.2, 0.3, 0.5])
    return cf.Counts.of(mechanism.simulate(answers, seed=2))


def joint() -> Any:
    mechanism = cf.Joint(
        {
            HOSTILE: cf.Laplace(cf.Lattice(low=0, high=1, size=16), epsilon=3.0),
            "b": cf.Laplace(cf.Lattice(low=0, high=1, size=16), epsilon=3.0),
        }
    )
    x = np.random.default_rng(3).beta(2, 5, (N, 2))
    reports = mechanism.simulate({HOSTILE: x[:, 0], "b": 1 - x[:, 1]}, seed=3)
    return estimators.Likelihood().fit(cf.Counts.of(reports))


def classes() -> Any:
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    return curves.ClassShares(
        (np.array([0.0, 1.0, 2.0]),),
        shares,
        labels=(HOSTILE, "car", "foot"),
        overall=np.array([0.4, 0.15, 0.45]),
        facts={"epsilon": 1.0, "n": 100},
    )


def category_means() -> Any:
    return curves.CategoryMeans(
        cf.Categories((HOSTILE, "yes")), np.array([-1.0, 3.0]), facts={"epsilon": 1.0}
    )


def results() -> Any:
    survey = cf.Survey.from_dict(
        {
            "groups": ["region"],
            "questions": {
                "pay": {"low": 0, "high": 100_000, "size": 64, "epsilon": 2.0},
                "way": {"categories": ["bus", HOSTILE], "epsilon": 2.0},
            },
        }
    )
    rng = np.random.default_rng(4)
    table = {
        "pay": _pay(4),
        "way": rng.choice(["bus", HOSTILE], size=N),
        "region": rng.choice(["north", HOSTILE], size=N),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        parquet.write_table(survey.privatize(table, keep=["region"]), path)
        return survey.estimate(survey.summarize(path, by="region"))


def audit() -> Any:
    questions = {HOSTILE: {"low": 0, "high": 9, "epsilon": 1.0, "size": 16}}
    return audits.survey(cf.Survey.from_dict({"questions": questions}), n=2000, seed=1)


def survey_plan() -> Any:
    questions = {
        "pay": {"low": 0, "high": 9, "size": 16},
        HOSTILE: {"categories": ["no", "yes"]},
    }
    return planning.plan_survey(
        cf.Survey.from_dict({"epsilon": 2.0, "questions": questions}), n=2000
    )


def ledger() -> Any:
    folder = tempfile.TemporaryDirectory()
    made = cf.Ledger(Path(folder.name) / "pay.ledger", epsilon=2.0, subject=HOSTILE)
    query = releases.Query("mean", AXIS, epsilon=0.5)
    query.release(_pay(6), ledger=made, key=HOSTILE)
    made.folder = folder  # type: ignore[attr-defined]
    return made


def samples() -> Any:
    sampler = cf.Mollifier(reference=sampling.Gaussian(dim=2), epsilon=1.0)
    return sampler.simulate(np.random.default_rng(7).normal(size=(50, 2)), 20, seed=1)


def spectrum() -> Any:
    noise = foreign.Laplace(scale=0.3)
    rng = np.random.default_rng(8)
    values = rng.normal(size=1000) + rng.laplace(scale=0.3, size=1000)
    return cf.Spectrum.of(values, noise=noise)


def partition() -> Any:
    cells = cf.Cells(low=[0], high=[1], shape=[4])
    mechanism = cf.Partition(cells, bound=1.0, epsilon=2.0)
    x = np.random.default_rng(9).random(N)
    return cf.CellSums.simulate(mechanism, x[:, None], x, seed=1)


def model() -> Any:
    sides = {HOSTILE: cf.Categories(("no", "yes"))}
    effects = (np.array([[-0.1], [0.2]]),)
    mean, outcome = np.array([0.5]), cf.Lattice(low=0, high=10)
    return curves.AdditiveModel(
        sides, effects, target="cough", outcome=outcome, mean=mean, facts={"epsilon": 1.0}
    )


def relation() -> Any:
    half = np.array([[0.4, 0.1], [0.2, 0.3]])
    return curves.Relation(
        (HOSTILE, "smokes"),
        500,
        correlation=0.4,
        low=0.3,
        high=0.5,
        error=0.05,
        labels=(("below 40", HOSTILE), ("no", "yes")),
        shares=half,
        ends=(half, half),
        bit=True,
    )


def copula() -> Any:
    share = curves.Proportions(("no", "yes"), np.array([0.6, 0.4]))
    margins = {HOSTILE: share, "smokes": share}
    return curves.Copula(margins, (relation(),), facts={"epsilon": 2.0})


RESULTS: dict[str, Callable[[], Any]] = {
    "audit": audit,
    "category means": category_means,
    "cell sums": partition,
    "check": lambda: releases.Check(1.0, 0.5, 4, 30, False, ((1,), (2,))),
    "class shares": classes,
    "classification": lambda: curves.Classification(
        estimators.LinearRegression().fit(counts()), labels=(HOSTILE, "many"), threshold=40.0
    ),
    "copula": copula,
    "counts": counts,
    "density": density,
    "expected error": lambda: gamma.ExpectedError(error=0.01, bandwidth=0.3, variance=0.004),
    "difference": lambda: curves.difference(density(), cf.density(counts(5)), "mean"),
    "entry": lambda: ledger().entries()[0],
    "finding": lambda: audits.exact(cf.Laplace(AXIS, epsilon=1.0)),
    "fleet": lambda: sampling.Fleet.of([made("samples")]),
    "gamma design": lambda: gamma.optimal_gamma(_pay(1)[:200], replicates=0),
    "groups": lambda: cf.Groups(("region",), {HOSTILE: counts(), "south": counts(5)}),
    "joint density": joint,
    "ledger": ledger,
    "line": lambda: estimators.LinearRegression().fit(counts()),
    "model": model,
    "plan": lambda: planning.plan(n=500, epsilon=1.0, low=0, high=9, surveys=2, size=16),
    "proportions": lambda: estimators.CategoryShares().fit(words()),
    "quantity": lambda: Quantity(HOSTILE, 3.0, low=2.0, high=4.5),
    "regression": lambda: estimators.RatioRegression().fit(counts()),
    "relation": relation,
    "release of a curve": lambda: releases.Histogram(AXIS, epsilon=1.0).simulate(_pay(1), seed=1),
    "release of a mean": lambda: releases.Query("mean", AXIS, epsilon=1.0).simulate(
        _pay(1), seed=1
    ),
    "reports": lambda: cf.SquareWave(AXIS, epsilon=2.0).simulate([1.0, 2.0], seed=1),
    "result": lambda: results()["pay"],
    "results": results,
    "samples": samples,
    "spectrum": spectrum,
    "spend": lambda: cf.Spend(0.5, 1e-6),
    "summaries": lambda: cf.Summaries({"pay": counts(), HOSTILE: counts()}),
    "survey": lambda: cf.Survey.from_dict(
        {"questions": {HOSTILE: {"categories": ["no", "yes"], "epsilon": 1.0}}}
    ),
    "survey plan": survey_plan,
    "synthetic": lambda: synthesize(copula(), 20, seed=1),
    "trend": lambda: trend(cf.Groups(("round",), {1: counts(), 2: counts(5), 3: counts(6)})),
    "verification": lambda: Verification(
        {"/": True, HOSTILE: False}, headers=True, mechanisms=True, wording=True
    ),
}
"""How to make one of each kind."""


@cache
def made(name: str) -> Any:
    """One result of a kind."""
    return RESULTS[name]()


@cache
def shown(name: str) -> str:
    """The HTML of a kind of result."""
    page: str = made(name)._repr_html_()
    return page

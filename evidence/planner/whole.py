"""Plans of whole surveys beside surveys that were held: answers drawn, reports made one by one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from evidence.planner.cases import rent
from scipy import stats

from confide import Counts, Reports, Survey
from confide.curves import difference
from confide.displays import save
from confide.estimators import Adaptive, CategoryShares, Likelihood
from confide.planning.survey_plans import POWER, SurveyPlan, plan_survey

N = 8_000
WITHIN = 0.25
DESIGNS: tuple[tuple[float, int | None], ...] = ((4.0, None), (4.0, 1), (1.5, 2))
"""What each person spends in all, and how many of the questions each is asked; None for all."""
NORTH = 0.6
"""Share of the people in the north; the others are in the south."""
PARTIES = {"a": 0.45, "b": 0.3, "c": 0.2, "d": 0.05}
SMOKERS = 0.25
DECLINED = {"days": 0.1, "party": 0.2}
Z = stats.norm.ppf(0.975)
QUESTIONS: dict[str, dict[str, Any]] = {
    "rent": {"low": 0, "high": 3000},
    "days": {"kind": "integer", "low": 0, "high": 30, "prefer_not_to_say": True},
    "party": {"categories": list(PARTIES), "prefer_not_to_say": True},
    "smokes": {"categories": ["no", "yes"]},
}
SICK = stats.nbinom(1.3, 0.17)
"""Sick days; more than 30 count as 30."""


def surveyed(epsilon: float, ask: int | None) -> Survey:
    """The survey by one design."""
    more = {} if ask is None else {"ask": ask}
    fields = {"groups": ["region"], "questions": QUESTIONS, "epsilon": epsilon, **more}
    return Survey.from_dict(fields)


def planned(survey: Survey, n: int = N, surveys: int = 140) -> SurveyPlan:
    """The plan, for a pilot of 2,000 rents, one of 20,000 sick days, and the true shares."""
    generator = np.random.default_rng(11)
    pilot = np.minimum(SICK.rvs(20_000, random_state=generator), 30).astype(float)
    told = {"rent": rent().guess, "days": pilot, "party": PARTIES, "smokes": [1 - SMOKERS, SMOKERS]}
    told |= {f"{name}.declined": share for name, share in DECLINED.items()}
    by = {"region": [NORTH, 1 - NORTH]}
    return plan_survey(survey, n=n, by=by, guesses=told, surveys=surveys, precision=0.05)


def truths() -> dict[tuple[str, str], float]:
    """What is true of the population, by question and quantity; rents from a large sample."""
    rents = rent().draw(2_000_000, 999)
    days = np.arange(31)
    chances = np.append(SICK.pmf(days[:-1]), SICK.sf(29))
    found = {("rent", "mean"): float(rents.mean()), ("rent", "median"): float(np.median(rents))}
    found["days", "mean"] = float(days @ chances)
    found["days", "median"] = float(days[np.searchsorted(chances.cumsum(), 0.5)])
    found |= {("party", name): share for name, share in PARTIES.items()}
    found |= {("smokes", "no"): 1 - SMOKERS, ("smokes", "yes"): SMOKERS}
    return found | {(name, "declined"): share for name, share in DECLINED.items()}


def answers(n: int, seed: int, apart: dict[str, float]) -> dict[str, Any]:
    """Answers of n people; ``apart`` is how far the regions differ in rents and in smokers."""
    generator = np.random.default_rng([13, seed])
    north = np.arange(n) < round(NORTH * n)
    sign = np.where(north, 0.5, -0.5)
    days = np.minimum(SICK.rvs(n, random_state=generator), 30)
    party = generator.choice(list(PARTIES), n, p=list(PARTIES.values()))
    smokers = generator.random(n) < SMOKERS + sign * apart.get("smokes", 0.0)
    quiet = {name: generator.random(n) < share for name, share in DECLINED.items()}
    return {
        "rent": rent().draw(n, seed) + sign * apart.get("rent", 0.0),
        "days": [None if no else int(x) for no, x in zip(quiet["days"], days, strict=True)],
        "party": [None if no else str(x) for no, x in zip(quiet["party"], party, strict=True)],
        "smokes": np.where(smokers, "yes", "no").tolist(),
        "region": np.where(north, "north", "south").tolist(),
    }


def counted(survey: Survey, table: Any, question: str, region: str | None = None) -> Counts:
    """The reports to a question, of one region or of all."""
    column = table.column(question).to_numpy(zero_copy_only=False).astype(float)
    asked = ~np.isnan(column)
    if region is not None:
        asked &= np.array(table.column("region").to_pylist()) == region
    reports = Reports(column[asked].astype(np.int32), survey.mechanisms[question], simulated=True)
    return Counts.of(reports)


def held(survey: Survey, n: int, seed: int) -> dict[tuple[str, str], float]:
    """One survey: estimates by question and quantity."""
    table = survey.simulate(answers(n, seed, {}), seed=seed, keep=["region"])
    found = {}
    for name, keys in QUESTIONS.items():
        counts = counted(survey, table, name)
        curve: Any
        if "categories" in keys:
            curve = CategoryShares().fit(counts)
            found |= {(name, word): curve.share(word) for word in keys["categories"]}
        else:
            curve = Adaptive().fit(counts)
            # Intervals of a mean are built around the unbiased one, which is what is planned.
            found[name, "mean"] = sum(curve.interval("mean")) / 2
            found[name, "median"] = float(curve.median())
        if "prefer_not_to_say" in keys:
            found[name, "declined"] = curve.declined
    return found


def shown(survey: Survey, n: int, seed: int, apart: dict[str, float]) -> dict[str, bool]:
    """Whether one survey shows that the regions differ as much as is called detectable."""
    table = survey.simulate(answers(n, seed, apart), seed=seed, keep=["region"])
    found = {}
    for name, what in (("rent", "mean"), ("smokes", "share")):
        both = [counted(survey, table, name, region) for region in ("north", "south")]
        estimator: Any = CategoryShares() if what == "share" else Likelihood(size=16, smoothing=0.5)
        curves = [estimator.fit(counts) for counts in both]
        at = ("yes",) if what == "share" else ()
        found[name] = difference(*curves, what, *at).certain
    return found


def whole(surveys: int, n: int = N, simulated: int = 140) -> list[dict[str, Any]]:
    """Predicted and measured, one row for each design, question and quantity.

    ``simulated`` is how many surveys the planner may simulate for a median; 0 leaves those out.
    """
    rows = []
    truth = truths()
    for epsilon, ask in DESIGNS:
        survey = surveyed(epsilon, ask)
        made = planned(survey, n, simulated)
        estimates = [held(survey, n, seed) for seed in range(surveys)]
        design = {"epsilon": epsilon, "ask": ask or len(QUESTIONS), "n": n, "surveys": surveys}
        for row in made.rows:
            key = row.question, row.quantity
            off = np.array([one[key] for one in estimates]) - truth[key]
            size = float(Z * math.sqrt(np.mean(off**2)))
            rows.append(
                design
                | {"question": row.question, "quantity": row.quantity, "predicted": row.error}
                | {"measured": size, "ratio": size / row.error}
            )
        apart = {
            one.question: one.difference
            for one in made.differences
            if (one.question, one.quantity) in {("rent", "mean"), ("smokes", "yes")}
        }
        seen = [shown(survey, n, seed, apart) for seed in range(surveys)]
        for name, gap in apart.items():
            power = float(np.mean([one[name] for one in seen]))
            rows.append(
                design
                | {"question": name, "quantity": f"difference of {gap:.3g}", "predicted": POWER}
                | {"measured": power, "ratio": power / POWER}
            )
        print(f"epsilon {epsilon:g}, ask {ask}: done", flush=True)
    return rows


def section(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of the page about whole surveys."""
    lines = [
        "",
        "## Whole surveys",
        "",
        f"A survey of four questions, {rows[0]['n']:,} people in two regions, {rows[0]['surveys']} "
        "surveys held with each design: half-widths of the ranges that hold 95 % of estimates, and "
        "the share of surveys in which a difference shows that was planned to show in 80 %.",
        "",
        "| epsilon | asked | question | quantity | predicted | measured | measured/predicted |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['epsilon']:g} | {row['ask']} of {len(QUESTIONS)} | {row['question']} "
        f"| {row['quantity']} | {row['predicted']:.3g} | {row['measured']:.3g} "
        f"| {row['ratio']:.2f} |"
        for row in rows
    ]
    inside = sum(abs(row["ratio"] - 1) <= WITHIN for row in rows)
    return [
        *lines,
        "",
        f"{inside} of {len(rows)} ratios lie within 25 %. The median of whole numbers is right or "
        "off by one or two: how often depends on how close its share lies to a half, so that the "
        "planner is least sure of it.",
    ]


def kept(row: dict[str, Any]) -> bool:
    """Whether a prediction holds; the median of whole numbers jumps."""
    return (row["question"], row["quantity"]) == ("days", "median") or (
        abs(row["ratio"] - 1) <= WITHIN
    )


def picture(path: Path) -> None:
    """The error of a mean over n and epsilon, with a target."""
    questions = {
        "pay": {"low": 0, "high": 300_000},
        "age": {"low": 18, "high": 68},
        "smokes": {"categories": ["no", "yes"]},
    }
    survey = Survey.from_dict({"epsilon": 3.0, "questions": questions})
    save(plan_survey(survey, n=5_000, target={"pay.mean": 4_000}, surveys=0).plot(), path)

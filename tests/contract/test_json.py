"""Every curve, release, plan, design, finding, audit and sample comes back from its JSON.

And has a short name, a small picture for notebooks, and a table.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide import audits, curves, gamma, planning, releases, sampling
from confide.curves import KINDS, CellDensity, Copula, Proportions, difference
from confide.errors import InvalidInput, Unsupported
from confide.estimators import (
    CategoryShares,
    Deconvolution,
    KernelRegression,
    Likelihood,
    LinearRegression,
    LogisticRegression,
    PartitionClassification,
    PartitionRegression,
    RatioRegression,
)
from confide.foreign import Laplace as LaplaceNoise
from confide.lattice import Categories, Cells, Lattice
from confide.mechanisms import (
    Joint,
    Laplace,
    PairResponse,
    Partition,
    RandomizedResponse,
    Side,
    SquareWave,
)
from confide.releases import Release
from confide.sampling import MBDE, FiniteMollifier, Gaussian, Mollifier, NaiveSampler
from confide.summaries import CellSums, Counts, Summaries

X = np.random.default_rng(1).beta(2, 5, 2000)
AXIS = Lattice(low=0, high=1, size=32)
ANSWERS = np.where(X > 0.3, "yes", "no")


def counts(**more: Any) -> Counts:
    return Counts.of(Laplace(AXIS, epsilon=4.0).simulate(X, seed=1), **more)


def joint() -> Counts:
    parts = {"pay": SquareWave(AXIS, epsilon=3.0), "age": SquareWave(AXIS, epsilon=3.0)}
    return Counts.of(Joint(parts).simulate({"pay": X, "age": X[::-1]}, seed=1))


def sums(*, classify: bool) -> CellSums:
    cells = Cells(low=[0], high=[1], shape=[8])
    if classify:
        signs = Partition(cells, epsilon=4.0, classify=True)
        return CellSums.simulate(signs, X[:, None], np.where(X > 0.3, 1, -1), seed=1)
    return CellSums.simulate(Partition(cells, bound=1.0, epsilon=4.0), X[:, None], X, seed=1)


def tallied() -> CellSums:
    cells = Cells(low=[0, 0], high=[1, 3], shape=[4, 3])
    points = np.column_stack([X, np.floor(X * 2.999) + 0.5])
    return CellSums.simulate(Partition(cells, epsilon=4.0, counting=True), points, seed=1)


def spectrum() -> cf.Spectrum:
    noise = LaplaceNoise(scale=0.05)
    return cf.Spectrum.of(X[:300], noise=noise, response=X[:300], low=0, high=1)


def two_covariates() -> cf.Spectrum:
    values = np.column_stack([X[:300], X[300:600]])
    noise = LaplaceNoise(scale=0.05)
    return cf.Spectrum.of(values, noise=noise, response=X[:300], low=0, high=1)


def shares() -> Proportions:
    mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0)
    return CategoryShares().fit(Counts.of(mechanism.simulate(ANSWERS, seed=1)))


def declined() -> Proportions:
    mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0, prefer_not_to_say=True)
    return CategoryShares().fit(Counts.of(mechanism.simulate([*ANSWERS, None, None], seed=1)))


def whole_numbers() -> Any:
    asked = SquareWave(
        cf.Lattice(low=0, high=9, kind="integer"), epsilon=2.0, prefer_not_to_say=True
    )
    return Likelihood().fit(Counts.of(asked.simulate([*np.floor(9 * X).tolist(), None], seed=1)))


def means() -> Any:
    mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0)
    return RatioRegression().fit(Counts.of(mechanism.simulate(ANSWERS, seed=1), response=X))


def copula() -> Copula:
    side, words = Side(AXIS, (AXIS.size // 2,)), Side(Categories(("no", "yes")))
    pair = PairResponse({"x": side, "smokes": words}, epsilon=2.0)
    both = pair.simulate({"x": X, "smokes": ANSWERS[: X.size]}, seed=1)
    mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0)
    smokes = Counts.of(mechanism.simulate(ANSWERS, seed=1))
    return cf.relate(Summaries({"x": counts(), "smokes": smokes, "x & smokes": Counts.of(both)}))


CURVES: dict[str, Callable[[], Any]] = {
    "likelihood": lambda: Likelihood().fit(counts()),
    "joint likelihood": lambda: Likelihood(size=8, smoothing=0.1).fit(joint()),
    "deconvolution": lambda: Deconvolution().fit(counts()),
    "linear deconvolution": lambda: Deconvolution(positive=False).fit(counts()),
    "waves": lambda: Deconvolution(positive=False).fit(spectrum()),
    "ratio": lambda: RatioRegression().fit(counts(response=X)),
    "kernel": lambda: KernelRegression().fit(counts(response=X)),
    "wave regression": lambda: KernelRegression().fit(spectrum()),
    "surface": lambda: KernelRegression(bandwidth=0.3).fit(two_covariates()),
    "line": lambda: LinearRegression().fit(counts(response=X)),
    "plane": lambda: LinearRegression(response="age").fit(joint()),
    "logistic": lambda: LogisticRegression().fit(counts(response=(X > 0.3).astype(float))),
    "means": means,
    "partition": lambda: PartitionRegression().fit(sums(classify=False)),
    "classes": lambda: PartitionClassification(labels=("a", "b")).fit(sums(classify=True)),
    "several classes": lambda: PartitionClassification(labels=("a", "b", "c")).fit(tallied()),
    "shares": shares,
    "shares of answerers": declined,
    "whole numbers": whole_numbers,
    "difference of those who declined": lambda: difference(declined(), declined(), "declined"),
    "difference of shares": lambda: difference(shares(), shares(), "share", "yes"),
    "difference": lambda: difference(CURVES["likelihood"](), CURVES["likelihood"](), "mean"),
    "copula": copula,
    "released": lambda: releases.Histogram(AXIS, epsilon=1.0).simulate(X, seed=1).curve,
}


@cache
def curve(name: str) -> Any:
    return CURVES[name]()


def through(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize("name", CURVES)
def test_every_curve_comes_back_with_equal_answers(name: str) -> None:
    first = curve(name)
    again = curves.from_dict(through(first.to_dict()))
    assert type(again) is type(first)
    assert again.to_dict() == first.to_dict()
    assert repr(again) == repr(first)
    joint_ = len(getattr(first, "names", ("",))) > 1
    x: Any = [[0.2, 0.3], [0.7, 0.8]] if joint_ else [0.2, 0.7]
    x = ["yes", "no"] if name == "means" else x
    for ask in ("predict", "pdf", "cdf", "probability"):
        if hasattr(first, ask):
            np.testing.assert_array_equal(getattr(again, ask)(x), getattr(first, ask)(x))
    for ask in ("mean", "std"):
        if hasattr(first, ask):
            np.testing.assert_array_equal(getattr(again, ask)(), getattr(first, ask)())
    if hasattr(first, "sample"):
        np.testing.assert_equal(again.sample(5, seed=1), first.sample(5, seed=1))


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
def test_the_cases_hold_every_kind_of_curve() -> None:
    assert {curve(name).to_dict()["curve"] for name in CURVES} == set(KINDS)


@pytest.mark.parametrize(
    ("name", "what", "summary"),
    [
        ("likelihood", ("mean",), counts),
        ("waves", ("mean",), spectrum),
        ("ratio", (0.5,), lambda: counts(response=X)),
        ("shares", ("yes",), None),
        ("partition", (0.5,), lambda: sums(classify=False)),
        ("means", (["yes"],), None),
    ],
)
def test_intervals_of_a_curve_from_json_name_the_summary(
    name: str, what: tuple[Any, ...], summary: Callable[[], Any] | None
) -> None:
    first = curve(name)
    first.interval(*what)
    again = curves.from_dict(through(first.to_dict()))
    source = first.facts["summary"]
    with pytest.raises(Unsupported, match=f"fit it again from the summary with .* {source}"):
        again.interval(*what)
    assert source not in repr(first)
    if summary is not None:
        made = summary()
        assert made.fingerprint == source
        assert type(made).from_dict(through(made.to_dict())).fingerprint == source
        assert (made + made).fingerprint != source
    with pytest.raises(Unsupported, match="names no summary"):
        CellDensity((np.array([0.0, 1.0]),), np.array([1.0])).interval("mean")


def test_lines_keep_their_intervals() -> None:
    for name, x in (("line", [0.2, 0.7]), ("plane", [0.2]), ("logistic", [0.2])):
        first = curve(name)
        again = curves.from_dict(through(first.to_dict()))
        np.testing.assert_array_equal(again.interval(x), first.interval(x))
        assert again.slope_error == first.slope_error
    from confide.curves import Line

    unknown = Line(1.0, (2.0,), lambda: np.full((2, 2), np.inf), low=(0.0,), high=(1.0,))
    assert curves.from_dict(through(unknown.to_dict())).interval(0.5) == (-np.inf, np.inf)


def damaged(document: dict[str, Any]) -> list[Any]:
    """The document with each of its keys gone, and with each of its values replaced."""
    found: list[Any] = [[], None, {}, {**document, "curve": "spline"}, {**document, "odd": 1}]
    for key in document:
        found.append({name: value for name, value in document.items() if name != key})
        for wrong in ([], "x", {}, [["x"]], [[[1.0]]], True):
            found.append({**document, key: wrong})
    return found


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize("name", CURVES)
def test_anything_else_is_refused_in_our_words(name: str) -> None:
    document = through(curve(name).to_dict())
    refused = 0
    for wrong in damaged(document):
        try:
            curves.from_dict(wrong)
        except InvalidInput:
            refused += 1
    assert refused >= 2 * len(document)


RELEASES: dict[str, Callable[[], Release]] = {
    "query": lambda: releases.Query("mean", AXIS, epsilon=1.0).simulate(X, seed=1),
    "histogram": lambda: releases.Histogram(AXIS, epsilon=1.0).simulate(X, seed=1),
    "series": lambda: releases.Series(AXIS, epsilon=1.0).simulate(X, seed=1),
    "bernstein": lambda: releases.Bernstein(AXIS, epsilon=1.0).simulate(X, seed=1),
    "kolmogorov": lambda: releases.KolmogorovSmirnov(AXIS, epsilon=1.0).simulate(X, seed=1),
    "process": lambda: releases.GaussianProcess(AXIS, epsilon=1.0, delta=1e-6).simulate(X, seed=1),
    "means": lambda: releases.Means({"x": AXIS}, epsilon=1.0).simulate({"x": X}, seed=1),
    "cross table": lambda: releases.CrossTable({"x": AXIS}, epsilon=1.0).simulate({"x": X}, seed=1),
    "least squares": lambda: releases.LeastSquares(
        {"x": AXIS, "y": AXIS}, target="y", epsilon=1.0
    ).simulate({"x": X, "y": X}, seed=1),
    "statistic": lambda: releases.Statistic(
        "mean", np.mean, AXIS, sensitivity=9, low=0, high=9, epsilon=1.0
    ).simulate(X, seed=1),
    "selection": lambda: releases.Selection(
        "nearest",
        lambda x, word: -abs(np.mean(x) - len(word)),
        ["a", "bb"],
        AXIS,
        sensitivity=9,
        low=-9,
        high=0,
        epsilon=1.0,
    ).simulate(X, seed=1),
    "choice": lambda: releases.Choice(
        [releases.Histogram(AXIS, epsilon=0.5, cells=cells) for cells in (4, 8)], epsilon=1.0
    ).simulate(X, seed=1),
}


@pytest.mark.parametrize("name", RELEASES)
def test_every_release_comes_back(name: str) -> None:
    first = RELEASES[name]()
    again = Release.from_dict(through(first.to_dict()))
    assert again.to_dict() == first.to_dict()
    assert again.words() == first.words()
    assert repr(again) == repr(first)


def test_a_plan_comes_back_with_what_was_simulated() -> None:
    first = planning.plan(n=500, epsilon=1.0, low=0, high=9, surveys=4, size=32, response="line")
    again = planning.Plan.from_dict(through(first.to_dict()))
    assert again.to_dict() == first.to_dict()
    assert repr(again) == repr(first)
    assert again.best("ks") == first.best("ks")
    assert again.metrics == first.metrics == tuple(first.scenario.metrics)
    with pytest.raises(Unsupported, match=r"call plan\(\) again"):
        again.n_for(0.1)
    for wrong in damaged(through(first.to_dict())):
        known = wrong and "odd" not in wrong and "curve" not in wrong
        if known and wrong.get("population") != "x":
            with pytest.raises(InvalidInput):
                planning.Plan.from_dict(wrong)


def test_a_design_comes_back() -> None:
    first = gamma.optimal_gamma(X[:200], protection=0.3, replicates=0)
    again = gamma.GammaDesign.from_dict(through(first.to_dict()))
    assert again.to_dict() == first.to_dict()
    assert again == first
    with pytest.raises(InvalidInput, match="a design"):
        gamma.GammaDesign.from_dict({})


def test_a_finding_comes_back() -> None:
    from confide.mechanisms import TwoSidedGamma

    for mechanism in (Laplace(AXIS, epsilon=1.0), TwoSidedGamma(AXIS, shape=0.5, scale=0.2)):
        for first in (audits.exact(mechanism), audits.grid(mechanism)):
            again = audits.Finding.from_dict(through(first.to_dict()))
            assert again.to_dict() == first.to_dict()
            assert again.words() == first.words()
    for wrong in ({}, [], {**first.to_dict(), "holds": 1}, {**first.to_dict(), "claimed": None}):
        with pytest.raises(InvalidInput):
            audits.Finding.from_dict(wrong)


def test_an_audit_of_a_survey_comes_back() -> None:
    pay = {"low": 0, "high": 9, "epsilon": 1.0, "size": 8}
    asked = {"pay": pay, "smokes": {"categories": ["no", "yes"], "epsilon": 0.5}}
    first = audits.survey(cf.Survey.from_dict({"questions": asked}), n=1000, seed=1)
    again = audits.SurveyAudit.from_dict(through(first.to_dict()))
    assert again.to_dict() == first.to_dict()
    assert repr(again) == repr(first)
    assert (again.holds, again.rows(), again.untested) == (True, first.rows(), first.untested)
    document = through(first.to_dict())
    for finding in document["findings"]:
        finding["holds"] = False
    # Verdicts and findings that do not go together.
    with pytest.raises(InvalidInput, match="as its findings have it"):
        audits.SurveyAudit.from_dict(document)
    document = through(first.to_dict())
    unnamed = [{**each, "question": 3} for each in document["findings"]]
    for wrong in (
        {},
        [],
        {**document, "odd": 1},
        {**document, "holds": False},
        {**document, "findings": 3},
        {**document, "findings": [3]},
        {**document, "findings": unnamed},
        {**document, "findings": document["findings"][1:]},
        {**document, "findings": document["findings"][:-1]},
        {key: value for key, value in document.items() if key != "epsilon"},
    ):
        with pytest.raises(InvalidInput):
            audits.SurveyAudit.from_dict(wrong)


def test_samples_come_back_from_every_sampler() -> None:
    table = X[:50, None]
    columns = {"smokes": Categories(("no", "yes")), "age": AXIS}
    samplers: list[tuple[sampling.Sampler, Any]] = [
        (Mollifier(reference=Gaussian(dim=1), epsilon=1.0), table),
        (
            Mollifier(
                reference=Gaussian(dim=1), epsilon=1.0, ratio=lambda x, q: lambda at: at[:, 0]
            ),
            table,
        ),
        (FiniteMollifier(columns, epsilon=1.0), {"smokes": ANSWERS[:50], "age": X[:50]}),
        (NaiveSampler(Laplace(AXIS, epsilon=1.0)), X[:50]),
    ]
    for sampler, records in samplers:
        first = sampler.simulate(records, 3, seed=1)
        again = sampling.samples(through(first.to_dict()))
        assert again.to_dict() == first.to_dict()
        assert repr(again) == repr(first)
        assert again.spend == first.spend
    read = sampling.samples(through(samplers[1][0].simulate(table, seed=1).to_dict()))
    with pytest.raises(Unsupported, match="where the records are"):
        read.mechanism.simulate(table, seed=2)
    linear = pytest.importorskip("sklearn.linear_model")
    sampler = MBDE(reference=Gaussian(), epsilon=1.0, learner=linear.LogisticRegression())
    first = sampler.simulate(table, seed=1)
    assert sampling.samples(through(first.to_dict())).to_dict() == first.to_dict()
    for wrong in (
        [],
        {**first.to_dict(), "mechanism": 3},
        {**first.to_dict(), "numbers": ["x"]},
        {**first.to_dict(), "odd": 1},
    ):
        with pytest.raises(InvalidInput):
            sampling.samples(wrong)


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize("name", CURVES)
def test_names_are_short_and_notebooks_have_pictures(name: str) -> None:
    found = curve(name)
    assert len(repr(found)) < 300
    assert repr(found).startswith("<")
    if hasattr(found, "_repr_html_"):
        page = found._repr_html_()
        assert page.count("<svg") == 1


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize("name", CURVES)
def test_every_curve_is_a_table(name: str) -> None:
    pytest.importorskip("pandas")
    found = curve(name)
    if name == "joint likelihood":
        with pytest.raises(Unsupported, match="marginal"):
            found.to_frame()
        return
    if name == "surface":
        with pytest.raises(
            InvalidInput, match="Give to_frame a list of places, each with 2 numbers"
        ):
            found.to_frame()
    table = found.to_frame(*([[[0.2, 0.3], [0.7, 0.8]]] if name == "surface" else []))
    assert {"estimate", "low", "high"} <= set(table.columns)
    assert len(table) >= 1
    known = table["low"].notna()
    assert (table["low"] <= table["high"])[known].all()
    if name != "released":
        assert known.all()
    polars = pytest.importorskip("polars")
    assert polars.from_pandas(table).shape == table.shape


def test_tables_hold_the_estimates() -> None:
    pytest.importorskip("pandas")
    density, answers = curve("likelihood"), shares()
    table = density.to_frame(level=0.9).set_index("quantity")
    assert table.loc["median", "estimate"] == density.median()
    assert tuple(table.loc["median", ["low", "high"]]) == density.interval("median", level=0.9)
    table = answers.to_frame().set_index("category")
    assert tuple(table.loc["yes", ["low", "high"]]) == answers.interval("yes")
    table = curve("ratio").to_frame([0.2, 0.7])
    assert table["estimate"].tolist() == curve("ratio").predict([0.2, 0.7]).tolist()
    both = curves.to_frame({("north", 1): answers, ("south", 2): answers}, by=("region", "year"))
    assert both.columns.tolist() == ["region", "year", "category", "estimate", "low", "high"]
    assert both["region"].tolist() == ["north"] * 2 + ["south"] * 2
    with pytest.raises(InvalidInput, match="keys of 2 parts"):
        curves.to_frame({"north": answers}, by=("region", "year"))
    with pytest.raises(InvalidInput, match="one group"):
        curves.to_frame({})


def test_releases_plans_and_findings_have_short_names_pictures_and_tables() -> None:
    pytest.importorskip("pandas")
    asked, drawn = RELEASES["query"](), RELEASES["histogram"]()
    assert repr(asked).startswith("<Release query of 2,000 records, mean, epsilon=1, simulated: 0.")
    assert repr(drawn) == "<Release histogram of 2,000 records, epsilon=1, simulated>"
    assert "<svg" in drawn._repr_html_()
    assert "Release: query, mean" in asked._repr_html_()
    assert asked.to_frame()["estimate"].tolist() == [asked.answer["value"]]
    assert drawn.to_frame()["quantity"].tolist()[0] == "mean"
    plan = planning.plan(n=500, epsilon=1.0, low=0, high=9, surveys=2, size=16)
    assert len(plan.to_frame()) == len(plan.rows)
    assert "square-wave" in plan._repr_html_()
    assert repr(audits.exact(Laplace(AXIS, epsilon=1.0))).endswith(": epsilon=1 holds>")
    design = gamma.optimal_gamma(X[:200], replicates=0)
    assert "<svg" in design._repr_html_()
    assert len(design.to_frame()) == len(design.eligible)
    many = Proportions(tuple(f"<{i}>" for i in range(20)), np.full(20, 1 / 20))
    assert repr(many).endswith("and 12 more>")
    assert "<0>" not in many._repr_html_()

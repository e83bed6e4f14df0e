"""The faces pass scikit-learn's own checks, and keep no raw value."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

from confide.errors import ConfideWarning, InvalidInput
from confide.sklearn import PrivateClassifier, PrivateKDE, PrivateRegressor

UNIT: dict[str, Any] = {"epsilon": 1.0, "low": 0.0, "high": 1.0}
WAVE: dict[str, Any] = {**UNIT, "response_low": -1.0, "response_high": 1.0}
MODELS = [
    PrivateKDE(**UNIT, size=16, random_state=1),
    PrivateRegressor(**WAVE, size=16, random_state=1),
    PrivateClassifier(**UNIT, size=16, random_state=1),
]


def kde(**changes: Any) -> PrivateKDE:
    return PrivateKDE(**{**UNIT, **changes})


def regressor(**changes: Any) -> PrivateRegressor:
    return PrivateRegressor(**{**WAVE, **changes})


def classifier(**changes: Any) -> PrivateClassifier:
    return PrivateClassifier(**{**UNIT, **changes})


@pytest.mark.parametrize(
    ("model", "check"),
    [pair for model in MODELS for pair in estimator_checks_generator(model, legacy=True)],
    ids=lambda part: getattr(getattr(part, "func", part), "__name__", type(part).__name__),
)
def test_scikit_learn_checks(model: object, check: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(model)  # type: ignore[operator]


def wave(n: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).random((n, features))
    return X, np.sin(6 * X[:, 0])


def test_one_feature_is_learned() -> None:
    X, y = wave(20_000, 1)
    model = regressor(epsilon=4.0, response="public").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.spend_.epsilon == 4.0
    assert "response is public" in model.spend_.note
    both = regressor(epsilon=8.0).fit(X, y)
    assert both.score(X, y) > 0.85
    assert both.spend_.note == ""
    low, high = model.curve_.interval([0.5])
    assert low <= high
    labels = np.where(y > 0, "up", "down")
    for response in ("private", "public"):
        classes = classifier(epsilon=4.0, response=response).fit(X, labels)
        assert classes.score(X, labels) > 0.85
    density = kde(epsilon=4.0).fit(X**2)
    assert density.score_samples([[0.04]])[0] > density.score_samples([[0.8]])[0]
    assert density.sample(5).shape == (5, 1)
    assert density.score_samples([[7.0]])[0] == -np.inf


def test_several_features_go_through_the_partition() -> None:
    X, y = wave(200_000, 2)
    model = regressor(epsilon=6.0, cells=(6, 3), random_state=1).fit(X, y)
    assert model.score(X, y) > 0.7
    shifted = regressor(
        epsilon=6.0, cells=(6, 3), response_low=4, response_high=6, random_state=1
    ).fit(X, y + 5)
    np.testing.assert_allclose(shifted.predict(X[:9]), model.predict(X[:9]) + 5, atol=1e-9)
    labels = (y > 0).astype(int)
    classes = classifier(epsilon=6.0, cells=(6, 2), random_state=1).fit(X, labels)
    assert classes.score(X, labels) > 0.8
    joint = kde(epsilon=6.0, size=24).fit(X[:5000])
    assert joint.sample(4, random_state=1).shape == (4, 2)


def test_pipelines_and_searches() -> None:
    X, y = wave(3000, 1)
    pipeline = make_pipeline(FunctionTransformer(lambda x: x / 2), regressor(high=0.5))
    assert pipeline.fit(X, y).predict(X[:3]).shape == (3,)
    search = GridSearchCV(
        regressor(random_state=1, response="public"), {"epsilon": [0.5, 8.0]}, cv=3
    )
    assert search.fit(X, y).best_params_["epsilon"] == 8.0


def test_bounds_come_from_parameters_only() -> None:
    X, y = wave(500, 1)
    near, far = (kde(random_state=1).fit(X * scale) for scale in (1, 0.5))
    assert near.curves_[0].edges[0][[0, -1]].tolist() == [0, 1]
    assert far.curves_[0].edges[0][[0, -1]].tolist() == [0, 1]
    assert regressor(response_low=0.0, random_state=1).fit(X, y).predict(X).min() >= 0


def test_no_raw_value_is_kept() -> None:
    X = np.random.default_rng(1).random((50, 1)) + 0.123456789
    model = regressor(high=2.0).fit(X, X[:, 0])
    kept = pickle.dumps(vars(model))
    assert all(np.float64(value).tobytes() not in kept for value in X[:, 0])
    assert not any(
        isinstance(value, np.ndarray) and value.shape[:1] == (50,) for value in vars(model).values()
    )


def test_a_seeded_fit_claims_no_privacy() -> None:
    X, y = wave(200, 1)
    for model in (kde, regressor, classifier):
        seeded = model(random_state=42).fit(X, y > 0)
        assert seeded.simulated_
        assert seeded.spend_.epsilon == np.inf
        private = model().fit(X, y > 0)
        assert not private.simulated_
        assert private.spend_.epsilon == 1.0
    curve = regressor(random_state=1, response="public").fit(X, y).curve_
    assert curve.facts["simulated"]


def test_shares_of_the_budget_never_add_up_to_more() -> None:
    for parts in range(1, 12):
        for epsilon in (0.1, 1.0, 2.0, 5.0):
            share = kde(epsilon=epsilon)._share(parts)
            assert Fraction(share) * parts <= Fraction(epsilon)
            assert share > 0.999999 * epsilon / parts


def test_features_do_not_share_their_noise() -> None:
    X = np.repeat(np.random.default_rng(1).random((400, 1)), 4, axis=1)
    model = kde(random_state=3, size=16).fit(X)
    assert (model.curves_[0].masses != model.curves_[1].masses).any()


def test_public_classes_tell_nothing_about_who_is_there() -> None:
    X = np.random.default_rng(1).random((300, 2))
    one = classifier(classes=["ill", "well"]).fit(X, ["well"] * 300)
    assert one.classes_.tolist() == ["ill", "well"]
    assert one.spend_.note == ""
    labels = ["well"] * 300
    labels[7] = "secret"
    with pytest.raises(InvalidInput, match="position 7") as caught:
        classifier(classes=["ill", "well"]).fit(X, labels)
    assert "secret" not in str(caught.value)
    told = classifier().fit(X, ["well", "ill"] * 150)
    assert "read off the data" in told.spend_.note


def test_messages_do_not_quote_values() -> None:
    for X in ([["0.1", "secret"]] * 3, np.ma.array(np.ones((3, 1)), mask=True)):
        with pytest.raises(InvalidInput) as caught:
            kde().fit(X)
        assert "secret" not in str(caught.value)


def test_one_column_alone_is_no_table() -> None:
    column = pytest.importorskip("pandas").Series([0.1, 0.2, 0.3], name="secret")
    with pytest.raises(InvalidInput, match=r"table of features, got one column alone.*to_frame"):
        kde().fit(column)
    assert kde(epsilon=4.0).fit(column.to_frame()).n_features_in_ == 1


@pytest.mark.parametrize("features", [1, 2])
def test_the_curve_of_a_classifier_knows_the_classes(features: int) -> None:
    X, y = wave(3000, features)
    labels = np.where(y > 0, "up", "down")
    model = classifier(epsilon=8.0, random_state=1).fit(X, labels)
    assert model.curve_.labels == ("down", "up")
    assert model.curve_.predict(X[:50]).tolist() == model.predict(X[:50]).tolist()


def test_noise_is_private_by_default() -> None:
    X, y = wave(300, 1)
    first, second = (regressor().fit(X, y).predict(X[:5]) for _ in range(2))
    assert (first != second).any()
    one, two = (regressor(random_state=3).fit(X, y).predict(X[:5]) for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize(
    "model",
    [
        kde(low=[0, 0], high=1.0),
        kde(low=2.0, high=1.0),
        kde(mechanism="lapalce"),
        kde(epsilon=0),
        kde(random_state="x"),
        regressor(response_low=1.0, response_high=0.0),
        regressor(response="secret"),
        kde(random_state=True),
    ],
)
def test_bad_parameters_get_a_sentence(model: object) -> None:
    X, y = wave(30, 1)
    with pytest.raises(InvalidInput):
        model.fit(X, y)  # type: ignore[attr-defined]


def test_budget_and_bounds_have_no_default() -> None:
    required = {"epsilon", "low", "high"}
    more = {PrivateRegressor: {"response_low", "response_high"}}
    for model in MODELS:
        kind = type(model)
        found = {
            name
            for name, parameter in inspect.signature(kind).parameters.items()
            if parameter.default is parameter.empty
        }
        assert found == required | more.get(kind, set())
        with pytest.raises(TypeError, match="'low'"):
            kind(epsilon=1.0, high=1.0)
        assert clone(model).get_params() == model.get_params()


def test_most_values_outside_their_bounds_get_a_warning() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(17, 91, (4000, 1)).astype(float)
    hours = 40 + 0.1 * (age[:, 0] - 50) + rng.normal(0, 1, 4000)
    told = {"low": 17, "high": 91, "response_low": 0, "response_high": 99, "epsilon": 8.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PrivateRegressor(**told).fit(age, hours)
        # Few beyond the bounds count as the bounds, as is said.
        PrivateRegressor(**{**told, "high": 80}).fit(age, hours)
        classifier(low=17, high=91).fit(age, age[:, 0] > 50)
    assert abs(model.predict([[50.0]])[0] - 40) < 4
    fits: list[tuple[Callable[[], object], str]] = [
        (lambda: regressor(**{**told, "low": 0, "high": 1}).fit(age, hours), "of feature 0"),
        (lambda: PrivateRegressor(**{**told, "response_high": 1}).fit(age, hours), "responses"),
        (lambda: kde().fit(age), "of feature 0"),
        (lambda: kde().fit(np.hstack([age / 100, age])), "of feature 1"),
        (lambda: classifier().fit(age, age[:, 0] > 50), "of feature 0"),
        (lambda: classifier().fit(np.hstack([age, age / 100]), age[:, 0] > 50), "of feature 0"),
        (
            lambda: regressor(response="public", low=0, high=99).fit(age, hours),
            "responses",
        ),
    ]
    for fit, what in fits:
        with pytest.warns(ConfideWarning, match=f"^Most .*{what} lie outside") as caught:
            fit()
        assert {each.filename for each in caught} == {__file__}
        # Numbers in it are parameters: the bounds, and which feature.
        text = "".join(str(each.message) for each in caught)
        assert set(re.findall(r"-?\d+", text)) <= {"0", "1", "-1"}


@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("response", ["private", "public"])
def test_probabilities_of_classes(features: int, response: str) -> None:
    if response == "public" and features > 1:
        pytest.skip("several features are privatized with their response")
    rng = np.random.default_rng(features)
    X = rng.random((60_000, features))
    truth = 0.1 + 0.8 * X[:, 0]
    y = np.where(rng.random(len(X)) < truth, "yes", "no")
    cells = None if features == 1 else (5, *(1,) * (features - 1))
    model = classifier(epsilon=8.0, response=response, cells=cells, random_state=1).fit(X, y)
    places = np.full((9, features), 0.5)
    places[:, 0] = np.linspace(0.1, 0.9, 9)
    places = np.vstack([places, np.full(features, 7.0), np.full(features, -7.0)])
    chances = model.predict_proba(places)
    assert chances.shape == (11, 2)
    assert ((chances >= 0) & (chances <= 1)).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(places), model.classes_[chances.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(places) > 0, chances[:, 1] > 0.5)
    # Cells of a partition are a fifth of the range wide.
    np.testing.assert_allclose(chances[:9, 1], 0.1 + 0.8 * places[:9, 0], atol=0.12)
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(NotFittedError):
        classifier().predict_proba(X)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("n", [2, 50, 5000])
def test_probabilities_are_on_the_side_of_the_predicted_class(epsilon: float, n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.random((n, 2))
    y = np.arange(n) % 2
    for labels in (y, X[:, 0] > np.median(X[:, 0])):
        model = classifier(epsilon=epsilon, cells=(4, 3)).fit(X, labels)
        chances = model.predict_proba(X)
        assert np.isfinite(chances).all()
        np.testing.assert_array_equal(model.predict(X), model.classes_[chances.argmax(axis=1)])


def test_tiny_values_do_what_others_do_whatever_numpy_is_told() -> None:
    X = np.array([5e-324, 1e-310, 1e-200, 0.25, 0.5, 0.75, 1.0, 1e-30])[:, None]
    y = np.array([1e-310, 5e-324, 0.5, 0.2, 0.1, -0.5, 1.0, 0.0])
    wide = {"low": 0.0, "high": 3e5, "random_state": 1}
    for at, fit in enumerate(
        [
            lambda: kde(**wide).fit(X).curves_[0].masses,
            lambda: regressor(**wide, response_high=3e5).fit(X, y).predict(X),
            lambda: regressor(**wide).fit(np.hstack([X, X]), y).curve_.values,
            lambda: classifier(**wide).fit(X, y > 0.1).decision_function(X),
        ]
    ):
        expected = fit()
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(fit(), expected, str(at))


@pytest.mark.parametrize("features", [1, 2])
def test_curves_have_the_units_of_the_response_and_the_names_of_a_table(features: int) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"age": rng.uniform(20, 60, 20_000), "tenure": rng.uniform(0, 30, 20_000)}
    ).iloc[:, :features]
    pay = 60_000 + 500 * (table.age - 40)
    model = regressor(
        epsilon=16.0, low=[20, 0][:features], high=[60, 30][:features], random_state=1,
        response_low=20_000, response_high=120_000,
    ).fit(table, pay)  # fmt: skip
    places = [[25, 7], [55, 20]]
    asked = np.array(places, dtype=float)[:, :features]
    found = model.curve_.to_frame(asked)
    assert list(found) == [*table, "estimate", "low", "high"]
    np.testing.assert_allclose(found.estimate, model.predict(pd.DataFrame(asked, columns=[*table])))
    # The truth at the middle of a cell; a cell of two is half of the range wide.
    assert ((found.low < found.estimate) & (found.estimate < found.high)).all()
    assert ((found.low > 30_000) & (found.high < 110_000)).all()
    assert model.curve_.plot().ax_.get_xlabel() == "age"
    labels = np.where(pay > 60_000, "more", "less")
    sides = {"low": [20, 0][:features], "high": [60, 30][:features], "random_state": 1}
    rule = classifier(epsilon=16.0, **sides).fit(table, labels)
    assert list(rule.curve_.to_frame(asked))[:features] == [*table]
    density = kde(epsilon=16.0, **sides).fit(table)
    assert density.curves_[0].names == tuple(table)
    with pytest.warns(ConfideWarning, match=f"^Most values of feature '{table.columns[-1]}' lie"):
        kde(low=[20, 100][2 - features :], high=[60, 200][2 - features :]).fit(table)


def test_a_regression_that_is_mostly_noise_gets_a_warning() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 2))
    y = X[:, 0] - 0.5
    told = {"epsilon": 4.0, "random_state": 1}
    with pytest.warns(ConfideWarning, match=r"^Noise makes up .* 16 cells \(4 x 4\)") as caught:
        regressor(cells=[4, 4], response_low=-9, response_high=9, **told).fit(X, y)
    assert "cells=[2, 2]" in str(caught[0].message)
    assert {each.filename for each in caught} == {__file__}
    with pytest.warns(ConfideWarning, match="^Noise makes up about 100%") as caught:
        regressor(cells=[2, 2], **told).fit(X[:500], 0 * y[:500])
    assert "fewer cells" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor(cells=[2, 2], response_low=-0.5, response_high=0.5, **told).fit(X, y)

"""The faces pass scikit-learn's own checks, and keep no raw value."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

from confide.errors import InvalidInput
from confide.sklearn import PrivateClassifier, PrivateKDE, PrivateRegressor

MODELS = [
    PrivateKDE(size=16, random_state=1),
    PrivateRegressor(size=16, random_state=1),
    PrivateClassifier(size=16, random_state=1),
]


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
    model = PrivateRegressor(epsilon=4.0, response="public").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.spend_.epsilon == 4.0
    assert "response is public" in model.spend_.note
    both = PrivateRegressor(epsilon=8.0).fit(X, y)
    assert both.score(X, y) > 0.85
    assert both.spend_.note == ""
    low, high = model.curve_.interval([0.5])
    assert low <= high
    labels = np.where(y > 0, "up", "down")
    for response in ("private", "public"):
        classes = PrivateClassifier(epsilon=4.0, response=response).fit(X, labels)
        assert classes.score(X, labels) > 0.85
    density = PrivateKDE(epsilon=4.0).fit(X**2)
    assert density.score_samples([[0.04]])[0] > density.score_samples([[0.8]])[0]
    assert density.sample(5).shape == (5, 1)
    assert density.score_samples([[7.0]])[0] == -np.inf


def test_several_features_go_through_the_partition() -> None:
    X, y = wave(200_000, 2)
    model = PrivateRegressor(epsilon=6.0, cells=(6, 3), random_state=1).fit(X, y)
    assert model.score(X, y) > 0.7
    shifted = PrivateRegressor(
        epsilon=6.0, cells=(6, 3), response_low=4, response_high=6, random_state=1
    ).fit(X, y + 5)
    np.testing.assert_allclose(shifted.predict(X[:9]), model.predict(X[:9]) + 5, atol=1e-9)
    labels = (y > 0).astype(int)
    classes = PrivateClassifier(epsilon=6.0, cells=(6, 2), random_state=1).fit(X, labels)
    assert classes.score(X, labels) > 0.8
    joint = PrivateKDE(epsilon=6.0, size=24).fit(X[:5000])
    assert joint.sample(4, random_state=1).shape == (4, 2)


def test_pipelines_and_searches() -> None:
    X, y = wave(3000, 1)
    pipeline = make_pipeline(FunctionTransformer(lambda x: x / 2), PrivateRegressor(high=0.5))
    assert pipeline.fit(X, y).predict(X[:3]).shape == (3,)
    search = GridSearchCV(
        PrivateRegressor(random_state=1, response="public"), {"epsilon": [0.5, 8.0]}, cv=3
    )
    assert search.fit(X, y).best_params_["epsilon"] == 8.0


def test_bounds_come_from_parameters_only() -> None:
    X, y = wave(500, 1)
    near, far = (PrivateKDE(random_state=1).fit(X * scale) for scale in (1, 0.5))
    assert near.curves_[0].edges[0][[0, -1]].tolist() == [0, 1]
    assert far.curves_[0].edges[0][[0, -1]].tolist() == [0, 1]
    assert PrivateRegressor(response_low=0.0, random_state=1).fit(X, y).predict(X).min() >= 0


def test_no_raw_value_is_kept() -> None:
    X = np.random.default_rng(1).random((50, 1)) + 0.123456789
    model = PrivateRegressor(high=2.0).fit(X, X[:, 0])
    kept = pickle.dumps(vars(model))
    assert all(np.float64(value).tobytes() not in kept for value in X[:, 0])
    assert not any(
        isinstance(value, np.ndarray) and value.shape[:1] == (50,) for value in vars(model).values()
    )


def test_a_seeded_fit_claims_no_privacy() -> None:
    X, y = wave(200, 1)
    for model in (PrivateKDE, PrivateRegressor, PrivateClassifier):
        seeded = model(random_state=42).fit(X, y > 0)
        assert seeded.simulated_
        assert seeded.spend_.epsilon == np.inf
        private = model().fit(X, y > 0)
        assert not private.simulated_
        assert private.spend_.epsilon == 1.0
    curve = PrivateRegressor(random_state=1, response="public").fit(X, y).curve_
    assert curve.facts["simulated"]


def test_shares_of_the_budget_never_add_up_to_more() -> None:
    for parts in range(1, 12):
        for epsilon in (0.1, 1.0, 2.0, 5.0):
            share = PrivateKDE(epsilon=epsilon)._share(parts)
            assert Fraction(share) * parts <= Fraction(epsilon)
            assert share > 0.999999 * epsilon / parts


def test_features_do_not_share_their_noise() -> None:
    X = np.repeat(np.random.default_rng(1).random((400, 1)), 4, axis=1)
    model = PrivateKDE(random_state=3, size=16).fit(X)
    assert (model.curves_[0].masses != model.curves_[1].masses).any()


def test_public_classes_tell_nothing_about_who_is_there() -> None:
    X = np.random.default_rng(1).random((300, 2))
    one = PrivateClassifier(classes=["ill", "well"]).fit(X, ["well"] * 300)
    assert one.classes_.tolist() == ["ill", "well"]
    assert one.spend_.note == ""
    labels = ["well"] * 300
    labels[7] = "secret"
    with pytest.raises(InvalidInput, match="position 7") as caught:
        PrivateClassifier(classes=["ill", "well"]).fit(X, labels)
    assert "secret" not in str(caught.value)
    told = PrivateClassifier().fit(X, ["well", "ill"] * 150)
    assert "read off the data" in told.spend_.note


def test_messages_do_not_quote_values() -> None:
    for X in ([["0.1", "secret"]] * 3, np.ma.array(np.ones((3, 1)), mask=True)):
        with pytest.raises(InvalidInput) as caught:
            PrivateKDE().fit(X)
        assert "secret" not in str(caught.value)


def test_noise_is_private_by_default() -> None:
    X, y = wave(300, 1)
    first, second = (PrivateRegressor().fit(X, y).predict(X[:5]) for _ in range(2))
    assert (first != second).any()
    one, two = (PrivateRegressor(random_state=3).fit(X, y).predict(X[:5]) for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize(
    "model",
    [
        PrivateKDE(low=[0, 0], high=1.0),
        PrivateKDE(low=2.0, high=1.0),
        PrivateKDE(mechanism="lapalce"),
        PrivateKDE(epsilon=0),
        PrivateKDE(random_state="x"),
        PrivateRegressor(response_low=1.0, response_high=0.0),
        PrivateRegressor(response="secret"),
        PrivateKDE(random_state=True),
    ],
)
def test_bad_parameters_get_a_sentence(model: object) -> None:
    X, y = wave(30, 1)
    with pytest.raises(InvalidInput):
        model.fit(X, y)  # type: ignore[attr-defined]

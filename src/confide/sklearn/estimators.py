"""Densities, regression and classification with scikit-learn's interface."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, DensityMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import checked_epsilon
from confide.curves import Classification, Regression
from confide.errors import ConfideWarning, InvalidInput
from confide.estimators import (
    Adaptive,
    AdaptiveRegression,
    PartitionClassification,
    PartitionRegression,
    suggest_cells,
)
from confide.estimators.partition_regression import noise_share, shifted
from confide.lattice import Cells, Lattice
from confide.mechanisms import Joint, Mechanism, Partition, RandomizedResponse
from confide.sklearn.common import Bound, Private, guarded, warn_outside
from confide.summaries import CellSums, Counts

NOISY = 0.25
"""Share of noise in the differences between cells above which `fit` warns."""


class PrivateKDE(DensityMixin, Private):  # type: ignore[misc]
    """Density of private features.

    One to three features are estimated jointly. More than three are taken to be independent of
    each other: the product of their own densities.

    Parameters
    ----------
    epsilon
        Privacy loss of one row, at most; shared evenly among the features.
    low, high
        Public bounds: a number, or one for each feature.
    mechanism
        ``"square-wave"`` or ``"laplace"``.
    size
        Cells of each feature's lattice.
    random_state
        None for private noise; an integer to simulate.

    Attributes
    ----------
    curves_ : list of confide.Density
        The estimate: one joint density, or one for each of more than three features.
    spend_ : confide.Spend
        What this fit cost one row. Every fit draws new reports and costs as much again.

    Examples
    --------
    >>> X = np.random.default_rng(1).beta(2, 5, (5000, 1))
    >>> model = PrivateKDE(epsilon=2.0, low=0.0, high=1.0).fit(X)
    >>> model.score_samples([[0.3]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        epsilon: float,
        low: Bound,
        high: Bound,
        mechanism: str = "square-wave",
        size: int = 64,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.low = low
        self.high = high
        self.mechanism = mechanism
        self.size = size
        self.random_state = random_state

    @_checks.steady
    def fit(self, X: Any, y: Any = None) -> Self:
        """Privatize the rows and estimate their density."""
        X = self._data(X)
        self._state()
        self._held(X)
        features = X.shape[1]
        parts = self._mechanisms(features, self._share(features))
        if 2 <= features <= 3:
            joint = Joint({f"x{at}": part for at, part in enumerate(parts)})
            reports = [self._reports(joint, X)]
        else:
            reports = [self._reports(part, X[:, at], at) for at, part in enumerate(parts)]
        names = self._names(features)
        each = [names] if len(reports) == 1 else [(name,) for name in names]
        self.curves_ = [
            replace(Adaptive().fit(Counts.of(part)), names=own)
            for part, own in zip(reports, each, strict=True)
        ]
        return self

    def score_samples(self, X: Any) -> Floats:
        """Log density at each row; minus infinity outside the bounds."""
        check_is_fitted(self)
        X = self._data(X, reset=False)
        with np.errstate(divide="ignore"):
            if 2 <= X.shape[1] <= 3:
                logs: Floats = np.log(self.curves_[0].pdf(X))
            else:
                heights = [curve.pdf(X[:, at]) for at, curve in enumerate(self.curves_)]
                logs = np.log(heights).sum(axis=0)
        return logs

    def score(self, X: Any, y: Any = None) -> float:
        """Total log density of the rows."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: int | None = None) -> Floats:
        """Synthetic rows; they cost no further privacy."""
        check_is_fitted(self)
        seeds = np.random.SeedSequence(random_state).spawn(len(self.curves_))
        columns = [
            curve.sample(n_samples, seed=int(seed.generate_state(1)[0])).reshape(n_samples, -1)
            for curve, seed in zip(self.curves_, seeds, strict=True)
        ]
        return np.concatenate(columns, axis=1)


class Supervised(Private):
    """Regression and classification: one feature by likelihood, several through the partition."""

    response: str
    cells: Sequence[int] | None

    def _public(self, features: int) -> bool:
        public = _checks.one_of(("private", "public"), response=self.response) == "public"
        if public and features > 1:
            raise InvalidInput(
                "one feature with a public response",
                f"{features} features",
                'Several features are privatized with their response: response="private".',
            )
        self._state("The response is public: only the feature is protected." if public else "")
        return public

    def _partition(self, X: Floats, y: Floats, **given: Any) -> CellSums:
        low, high = self._box(X.shape[1])
        if self.cells is None:
            cells = suggest_cells(
                len(X), epsilon=self.epsilon, low=low, high=high, classify="classify" in given
            )
        else:
            cells = Cells(low=low, high=high, shape=tuple(self.cells))
        mechanism = Partition(cells, epsilon=self.epsilon, **given)
        if self.random_state is None:
            return CellSums.of(mechanism.stream(X, y))
        return CellSums.of(mechanism.simulate(X, y, seed=int(self.random_state)))

    def _alone(self, X: Floats, y: Floats, bounds: tuple[float, float]) -> Regression:
        """One feature, a public response."""
        (mechanism,) = self._mechanisms(1, checked_epsilon(self.epsilon))
        reports = self._reports(mechanism, X[:, 0])
        return AdaptiveRegression().fit(Counts.of(reports, response=y, bounds=bounds))

    def _both(self, X: Floats, y: Any, mechanism: Callable[[float], Mechanism]) -> Regression:
        """One feature and its response, each with half of the budget."""
        share = self._share(2)
        (feature,) = self._mechanisms(1, share)
        joint = Joint({"x": feature, "y": mechanism(share)})
        reports = self._reports(joint, {"x": X[:, 0], "y": y})
        return AdaptiveRegression(response="y").fit(Counts.of(reports))

    def _named(self, curve: Regression) -> Any:
        """The curve with the names of the features, for its tables and pictures."""
        names = self._names(len(curve.low))
        line = curve.baseline
        own = {} if line is None else {"baseline": replace(cast("Any", line), names=names)}
        return replace(cast("Any", curve), names=names, **own)

    def _points(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._data(X, reset=False)
        points: Floats = X[:, 0] if X.shape[1] == 1 else X
        return points


def _warn_noisy(sums: CellSums) -> None:
    """Warn where noise has too large a part in what the cells differ by.

    Both the reports and the numbers in the warning are private already.
    """
    share, shape = noise_share(sums), sums.mechanism.cells.shape
    if share <= NOISY or max(shape) == 1:
        return
    fewer = f"fewer cells, such as cells={[2] * len(shape)}, " if max(shape) > 2 else ""
    warnings.warn(
        f"Noise makes up about {share:.0%} of the differences between the {math.prod(shape)} cells "
        f"({' x '.join(map(str, shape))}), so that predictions may be worse than one constant. "
        f"What helps: {fewer}narrower bounds of the response, more rows or a larger epsilon.",
        ConfideWarning,
        stacklevel=4,
    )


class PrivateRegressor(RegressorMixin, Supervised):  # type: ignore[misc]
    """Mean response given private features.

    Feature and response are both privatized: one feature by the joint likelihood of the two
    (`AdaptiveRegression`), several by the `Partition`. With one feature the response may be public.

    Parameters
    ----------
    epsilon
        The largest privacy loss of one row.
    low, high
        Public bounds of the features: a number, or one for each.
    response_low, response_high
        Public bounds of the response, which is cut to them.
    response
        ``"private"``, or ``"public"`` for one feature whose response needs no protection.
    mechanism, size
        For one feature: ``"square-wave"`` or ``"laplace"``, and the cells of its lattice.
    cells
        For several features: cells along each; by default from the number of rows and epsilon.
        With fewer than some hundred thousand rows, two or three along each often do better. A
        warning tells where noise makes up more than a quarter of what the cells differ by.
    random_state
        None for private noise; an integer to simulate.

    Attributes
    ----------
    curve_ : confide.Regression
        The estimate, in the units of the response: `predict`, `interval`, `plot`, `to_frame`.
    spend_ : confide.Spend
        What this fit cost one row. Every fit draws new reports and costs as much again.

    Examples
    --------
    >>> X = np.random.default_rng(1).random((5000, 1))
    >>> model = PrivateRegressor(
    ...     epsilon=4.0, low=0.0, high=1.0, response_low=-1.0, response_high=1.0
    ... ).fit(X, np.sin(6 * X[:, 0]))
    >>> model.predict([[0.25]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        epsilon: float,
        low: Bound,
        high: Bound,
        response_low: float,
        response_high: float,
        response: str = "private",
        mechanism: str = "square-wave",
        size: int = 128,
        cells: Sequence[int] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.low = low
        self.high = high
        self.response_low = response_low
        self.response_high = response_high
        self.response = response
        self.mechanism = mechanism
        self.size = size
        self.cells = cells
        self.random_state = random_state

    @_checks.steady
    def fit(self, X: Any, y: Any) -> Self:
        """Privatize the rows and estimate the mean response."""
        X, y = self._data(X, y, y_numeric=True)
        low = _checks.finite(response_low=self.response_low)
        high = _checks.finite(response_high=self.response_high)
        if not low < high:
            raise InvalidInput("response_low < response_high", f"{low:g} and {high:g}")
        given = guarded(np.asarray, y, dtype=np.float64)
        public = self._public(X.shape[1])
        self._held(X)
        names = ("response_low", "response_high")
        warn_outside(given, low, high, "responses", names)
        responses = np.clip(given, low, high)
        curve: Regression
        if public:
            curve = self._alone(X, responses, (low, high))
        elif X.shape[1] == 1:
            kind = self._kind
            lattice = Lattice(low=low, high=high, size=self.size)
            curve = self._both(X, responses, lambda share: kind.costing(lattice, epsilon=share))
        else:
            # The partition's responses lie evenly about zero.
            middle = (low + high) / 2
            sums = self._partition(X, responses - middle, bound=(high - low) / 2)
            curve = shifted(PartitionRegression().fit(sums), middle)
            _warn_noisy(sums)
        self.curve_ = self._named(curve)
        return self

    def predict(self, X: Any) -> Floats:
        """Mean response at each row."""
        points = self._points(X)
        means: Floats = self.curve_.predict(points)
        return means

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class PrivateClassifier(ClassifierMixin, Supervised):  # type: ignore[misc]
    """The more likely of two classes, given private features.

    Features and class are both privatized, as in `PrivateRegressor`.

    Parameters
    ----------
    classes
        The two classes, which are public. By default they are read from the data, which reveals
        which classes occur there. Name them if that is private.
    epsilon, low, high, response, mechanism, size, cells, random_state
        As for `PrivateRegressor`.

    Attributes
    ----------
    classes_ : array
        The two classes.
    curve_ : confide.Classification
        The estimate, with `plot` and `to_frame`.
    spend_ : confide.Spend
        What this fit cost one row. Every fit draws new reports and costs as much again.

    Examples
    --------
    >>> X = np.random.default_rng(1).random((5000, 1))
    >>> model = PrivateClassifier(epsilon=4.0, low=0.0, high=1.0).fit(X, X[:, 0] > 0.5)
    >>> model.predict([[0.1], [0.9]]).tolist()
    [False, True]
    >>> bool(model.predict_proba([[0.9]])[0, 1] > 0.5)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float,
        low: Bound,
        high: Bound,
        classes: Sequence[Any] | None = None,
        response: str = "private",
        mechanism: str = "square-wave",
        size: int = 128,
        cells: Sequence[int] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.low = low
        self.high = high
        self.classes = classes
        self.response = response
        self.mechanism = mechanism
        self.size = size
        self.cells = cells
        self.random_state = random_state

    @_checks.steady
    def fit(self, X: Any, y: Any) -> Self:
        """Privatize the rows and estimate where each class is the more likely one."""
        X, y = self._data(X, y)
        guarded(check_classification_targets, y)
        given = y if self.classes is None else np.asarray(self.classes)
        self.classes_ = guarded(np.unique, given)
        if self.classes_.size > 2:
            # scikit-learn's own words, which its checks look for.
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"expected two classes, got {self.classes_.size}."
            )
        if self.classes_.size < 2:
            raise ValueError("Classifier can't train when only one class is present: expected two.")
        numbers = guarded(np.searchsorted, self.classes_, y).clip(0, 1)
        odd = np.flatnonzero(self.classes_[numbers] != y)
        if odd.size:
            raise InvalidInput("labels among the given classes", f"another at position {odd[0]}")
        public = self._public(X.shape[1])
        self._held(X)
        if self.classes is None and not public:
            note = "Which classes occur was read off the data and is told exactly."
            self.spend_ = replace(self.spend_, note=f"{self.spend_.note} {note}".strip())
        first, second = self.classes_.tolist()
        named = first, second
        if public:
            score = self._alone(X, numbers.astype(np.float64), (0.0, 1.0))
            self.curve_ = Classification(self._named(score), labels=named)
        elif X.shape[1] == 1:
            labels = ["0", "1"]
            answers = np.asarray(labels)[numbers].tolist()
            score = self._both(X, answers, lambda share: RandomizedResponse(labels, epsilon=share))
            self.curve_ = Classification(self._named(score), labels=named)
        else:
            sums = self._partition(X, np.where(numbers == 1, 1.0, -1.0), classify=True)
            rule = PartitionClassification(labels=named).fit(sums)
            assert isinstance(rule, Classification)
            chance = None if rule.chance is None else self._named(rule.chance)
            self.curve_ = replace(rule, score=self._named(rule.score), chance=chance)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Signed distance of each row towards the second class."""
        points = self._points(X)
        scores: Floats = np.asarray(self.curve_.score.predict(points)) - self.curve_.threshold
        return scores

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, one row a row of X, in the order of ``classes_``.

        The class that `predict` names has at least one half. With several features the partition
        says more of which class is more likely than of how much more: see
        `PartitionClassification`.
        """
        points = self._points(X)
        second = self.curve_.probability(points)
        return np.stack([1 - second, second], axis=1)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more likely class of each row."""
        second = self.decision_function(X) > 0
        labels: npt.NDArray[Any] = self.classes_[second.astype(int)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

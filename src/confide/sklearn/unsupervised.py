"""A density with scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from confide import _checks
from confide._types import Floats
from confide.estimators import Likelihood
from confide.mechanisms import Joint
from confide.sklearn.common import Bound, Private
from confide.summaries import Counts


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
        What one row cost.

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
        """Privatise the rows and estimate their density."""
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
        self.curves_ = [Likelihood().fit(Counts.of(part)) for part in reports]
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

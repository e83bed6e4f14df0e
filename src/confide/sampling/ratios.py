"""Density ratios: how much likelier a point is in the records than in the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, extra
from confide.sampling.kernels import Kernels
from confide.sampling.references import Reference

LogRatio = Callable[[Floats], Floats]

MOST = 10_000
"""Records that an estimate looks at; more of them change it less than epsilon does."""
FEW = 3
"""Points at which a fitted ratio is tried."""
FLOOR = 1e-3
"""Least spread of records, in standard deviations of the reference."""


class Ratio(Protocol):
    """The interface of a density-ratio estimator.

    Examples
    --------
    >>> from confide.sampling import Gaussian
    >>> ratio: Ratio = KDE()
    >>> records = np.random.default_rng(1).normal(2.0, 0.5, size=(100, 1))
    >>> log_ratio = ratio(records, Gaussian())
    >>> bool(log_ratio(np.array([[2.0]])) > log_ratio(np.array([[0.0]])))
    True
    """

    def __call__(self, records: Floats, reference: Reference) -> LogRatio:
        """A function of points (one row each): log(P/Q) at each, up to a constant."""


@dataclass(frozen=True)
class KDE:
    """A kernel density of the records over the reference's density.

    Gaussian kernels with the shape of the records' covariance; the bandwidth has the largest
    leave-one-out likelihood. In more than three dimensions `GaussianMixture` is better.

    Parameters
    ----------
    bandwidth
        In units of the records' spread, instead.

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0, ratio=KDE())
    >>> records = np.random.default_rng(1).normal(size=50)
    >>> sampler.simulate(records, 3, seed=1).points.shape
    (3, 1)
    """

    name: ClassVar[str] = "kde"
    bandwidth: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            width = _checks.positive(bandwidth=self.bandwidth)
            object.__setattr__(self, "bandwidth", width)

    def __call__(self, records: Floats, reference: Reference) -> LogRatio:
        """Fit to records."""
        kernels = Kernels.of(some(records), FLOOR * reference.scale, self.bandwidth)
        return lambda x: kernels.log_pdf(x) - reference.log_density(x)


@dataclass(frozen=True)
class Binned:
    """Shares of the records in a few public cells over the reference's exact masses.

    For one or two dimensions. Too many cells lose: each must hold many records.

    Parameters
    ----------
    cells
        Cells an axis; 96 on one axis, 16 on each of two.

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0, ratio=Binned())
    >>> records = np.random.default_rng(1).normal(size=50)
    >>> sampler.simulate(records, 3, seed=1).points.shape
    (3, 1)
    """

    name: ClassVar[str] = "binned"
    cells: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.cells is not None:
            object.__setattr__(self, "cells", _checks.integer(2, 1024, cells=self.cells))

    def __call__(self, records: Floats, reference: Reference) -> LogRatio:
        """Count records in cells of equal width, the outer ones reaching to infinity."""
        if reference.dim > 2:
            raise InvalidInput(
                "one or two columns for binned ratios", str(reference.dim), "Take ratio=KDE()."
            )
        count = self.cells or (96 if reference.dim == 1 else 16)
        edges = []
        for low, high in zip(*reference.ends, strict=True):
            inner = np.linspace(low, high, count + 1)[1:-1]
            edges.append(np.concatenate([[-np.inf], inner, [np.inf]]))
        counts = np.zeros([count] * reference.dim)
        np.add.at(counts, _places(edges, records), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.log(counts) - np.log(reference.cell_masses(edges))
        return lambda x: table[_places(edges, x)]


@dataclass(frozen=True)
class GaussianMixture:
    """A mixture of Gaussians over the reference's density; the number by the BIC.

    Needs scikit-learn. Slower than `KDE`, and much better in more than three dimensions.

    Parameters
    ----------
    most
        Largest number of Gaussians.

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0, ratio=GaussianMixture(most=2))
    >>> records = np.random.default_rng(1).normal(size=50)
    >>> sampler.simulate(records, 3, seed=1).points.shape
    (3, 1)
    """

    name: ClassVar[str] = "gaussian-mixture"
    most: int = field(default=12, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", _checks.integer(1, 100, most=self.most))

    def __call__(self, records: Floats, reference: Reference) -> LogRatio:
        """Fit mixtures of 1, 2, ... Gaussians and keep the one of the least BIC."""
        mixture = extra("sklearn.mixture", "sklearn")
        scale = reference.scale
        table = some(records) / scale
        best, least, since = None, math.inf, 0
        for number in range(1, min(self.most, len(table)) + 1):
            if len(table) < 2 or since > 3:
                break
            model = mixture.GaussianMixture(number, random_state=0, reg_covar=FLOOR**2)
            try:
                bic = model.fit(table).bic(table)
            except ValueError:  # records too far apart, or too alike, for so many
                break
            since += 1
            if bic < least:
                best, least, since = model, bic, 0
        if best is None:
            return KDE()(records, reference)
        fitted: Any = best
        return lambda x: fitted.score_samples(x / scale) - reference.log_density(x)


@dataclass(frozen=True)
class Classifier:
    """The log odds of any scikit-learn classifier that tells records from draws of the reference.

    Parameters
    ----------
    estimator
        A classifier with ``predict_proba`` or ``decision_function`` (read as log odds); a copy of
        it is fitted to as many draws of the reference as there are records.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> ratio = Classifier(LogisticRegression())
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0, ratio=ratio)
    >>> records = np.random.default_rng(1).normal(size=50)
    >>> sampler.simulate(records, 3, seed=1).points.shape
    (3, 1)
    """

    name: ClassVar[str] = "classifier"
    estimator: Any

    def __post_init__(self) -> None:
        if not hasattr(self.estimator, "fit"):
            raise InvalidInput("a scikit-learn classifier", _checks.shown(self.estimator))

    def __call__(self, records: Floats, reference: Reference) -> LogRatio:
        """Fit to records and to as many draws of the reference."""
        base = extra("sklearn.base", "sklearn")
        table = some(records)
        draws = reference.sample(max(len(table), 100), seed=0)
        scale = reference.scale
        labels = np.repeat([1, 0], [len(table), len(draws)])
        model = base.clone(self.estimator).fit(np.concatenate([table, draws]) / scale, labels)
        if not hasattr(model, "predict_proba"):
            return lambda x: np.asarray(model.decision_function(x / scale), dtype=np.float64)

        def log_odds(x: Floats) -> Floats:
            shares = np.asarray(model.predict_proba(x / scale), dtype=np.float64)
            with np.errstate(divide="ignore"):
                return np.log(shares[:, 1]) - np.log(shares[:, 0])

        return log_odds


def tried(log_ratio: LogRatio, reference: Reference) -> LogRatio:
    """The log ratio, refused if it fails at a few fixed points."""
    few = reference.sample(FEW, seed=0)
    with np.errstate(all="ignore"):
        shape = np.asarray(log_ratio(few), dtype=np.float64).shape
    if shape != (FEW,):
        raise InvalidInput("one log ratio for each point", f"shape {shape} for {FEW} points")
    return log_ratio


def opinions(log_ratio: LogRatio, points: Floats) -> Floats:
    """Log ratios at points that were drawn; not a number where they cannot be had.

    To fail here and draw again would tell of the records by the points at which nothing failed.
    """
    try:
        with np.errstate(all="ignore"):
            # A copy: the points are public, and must stay as they were drawn.
            found = np.asarray(log_ratio(points.copy()), dtype=np.float64)
    except Exception:  # any error of another library's estimator
        found = np.empty(0)
    return found if found.shape == (len(points),) else np.full(len(points), np.nan)


def some(records: Floats) -> Floats:
    """All records, or a fixed random choice of them where there are very many."""
    if len(records) <= MOST:
        return records
    return records[np.random.default_rng(0).choice(len(records), MOST, replace=False)]


def _places(edges: list[Floats], points: Floats) -> tuple[Any, ...]:
    return tuple(
        np.searchsorted(line[1:-1], column, side="right")
        for line, column in zip(edges, points.T, strict=True)
    )

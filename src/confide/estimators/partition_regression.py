"""Regression and classification from the sums of a partition, and how to choose its cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import checked_epsilon
from confide.curves.classes import ClassShares
from confide.curves.regression import Band, CellRegression, Classification
from confide.errors import InvalidInput, Unsupported
from confide.estimators.fieller import fieller
from confide.lattice import MAX_SIZE, Cells
from confide.mechanisms.partition import MAX_CELLS
from confide.summaries.cell_sums import CellSums


def suggest_cells(
    n: int,
    *,
    epsilon: float,
    low: Sequence[float],
    high: Sequence[float],
    classify: bool = False,
) -> Cells:
    """Cells for n respondents: n_eff**(1/(2(d+1))) along each of d axes.

    n_eff = n/(1 + 32/epsilon**2) respondents without noise would be as informative; with labels,
    which carry an eighth of the noise, n/(1 + 4/epsilon**2). Berrett, Györfi and Walk take n_eff =
    n, whatever the noise.

    Parameters
    ----------
    n
        Number of respondents expected.
    epsilon
        Budget of a report.
    low, high
        Public corners of the box.
    classify
        Whether labels are asked for.

    Examples
    --------
    >>> suggest_cells(1_000_000, epsilon=1.0, low=[0, 0], high=[1, 1]).shape
    (6, 6)
    """
    n, epsilon = _checks.integer(1, n=n), checked_epsilon(epsilon)
    effective = n / (1 + (4 if classify else 32) / epsilon**2)
    d = len(low)
    count = max(1, round(effective ** (1 / (2 * (d + 1)))))
    most = int(MAX_CELLS ** (1 / max(d, 1)) + 1e-9)
    return Cells(low=tuple(low), high=tuple(high), shape=(min(count, most),) * d)


def truncation(n: int, *, scale: float) -> float:
    """A bound for responses that have none, growing with n: scale sqrt(2 ln n).

    Theorem 2 of Berrett, Györfi and Walk asks that the bound M grows without end while
    ``(ln n)**3 max(1, (M/epsilon)**2) / (n c**2 h**(2 d))`` goes to 0. With their h and c that is
    ``(ln n)**4 M**2 / n**(1/(d+1))``, and this M meets it. Noise grows in proportion to M, so a
    slow growth is wanted; a Gaussian response of this scale stays inside for all n respondents.

    Parameters
    ----------
    n
        Number of respondents.
    scale
        A public guess of the standard deviation of the response, in its units.

    Examples
    --------
    >>> round(truncation(10_000, scale=1.0), 2)
    4.29
    """
    n = _checks.integer(2, n=n)
    return _checks.positive(scale=scale) * math.sqrt(2 * math.log(n))


GRID, REACH = 64, 6.0
"""Points of a grid, and how many standard errors it goes to each side."""
ABOVE_HALF = math.nextafter(0.5, 1)
SIZE = 0.3
"""What m(x)**2 is taken to be on average, as a share of bound**2: that of responses spread over
the whole range is 1/3. `Partition` splits its budget by the same number."""


@dataclass(frozen=True, kw_only=True)
class PartitionRegression:
    """The mean response in each cell.

    Parameters
    ----------
    threshold
        c: cells with an estimated share of respondents below c / (number of cells) predict 0, the
        others nu/mu; Berrett, Györfi and Walk take c = 1/sqrt(ln n). None shrinks instead of
        cutting off: nu mu / (mu**2 + var(nu) / (0.3 bound**2)), the posterior mean of a response
        of ordinary size, which goes over into nu/mu where a cell holds far more than noise.

    Examples
    --------
    >>> from confide.mechanisms.partition import Partition
    >>> cells = suggest_cells(200_000, epsilon=2.0, low=[0], high=[1])
    >>> x = np.random.default_rng(1).random(200_000)
    >>> from confide import CellSums
    >>> sums = CellSums.simulate(Partition(cells, bound=1.0, epsilon=2.0), x, x**2, seed=2)
    >>> curve = PartitionRegression().fit(sums)
    >>> bool(abs(curve.predict(0.5) - 0.25) < 0.1)
    True
    """

    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            value = _checks.within(0, MAX_SIZE, threshold=self.threshold)
            object.__setattr__(self, "threshold", value)

    def fit(self, sums: CellSums) -> CellRegression:
        """The curve, constant in each cell and 0 outside, within the bound.

        Its intervals are those of the mean of the cut response over the cell.

        Parameters
        ----------
        sums
            Sums of reports of a `Partition` that is not for classification.
        """
        _check(sums)
        if sums.mechanism.classify:
            raise Unsupported(
                "These sums hold no cell counts to divide by: take PartitionClassification."
            )
        if sums.mechanism.counting:
            raise Unsupported(
                "These sums hold no responses: take PartitionClassification for labels on an axis."
            )
        limit, mu, nu = sums.mechanism.limit, sums.mu, sums.nu
        facts: dict[str, Any] = _facts("partitioning", sums)
        threshold = self.threshold
        if threshold is None:
            positive = np.maximum(mu, 0)
            ridge = sums.variances()[1] / (SIZE * limit**2)
            kept = positive > 0
            values = nu * positive / np.where(kept, positive**2 + ridge, 1)
            facts["threshold"] = None
        else:
            kept = (mu >= threshold / mu.size) & (mu > 0)
            values = np.where(kept, nu / np.where(kept, mu, 1), 0.0)
            facts["threshold"] = threshold
        facts["empty"] = int((~kept).sum())
        cells = sums.mechanism.cells
        return CellRegression(
            cells.edges,
            np.clip(values, -limit, limit).reshape(cells.shape),
            names=_names(cells),
            facts=facts,
            band=RatioBand(sums),
            joined=False,
            outside=0.0,
        )


@dataclass(frozen=True, kw_only=True)
class PartitionClassification:
    """The most likely label in each cell: of two the sign of nu, of several the largest share.

    Parameters
    ----------
    labels
        Names of the labels that were reported as -1 and as 1; or, for a partition that counts, of
        those along the last axis of its cells.

    Notes
    -----
    The probability of the second label in a cell is (1 + nu/mu)/2. A partition that classifies
    sends no count of its cells, but noise turns a label into 0 less often than it leaves nothing
    at 0, so the share of reports other than 0 estimates mu too, but less precisely than nu.
    `Classification.probability` is the posterior mean, given both: mu has a prior with density
    1/(1 + k mu)**2 for k cells, and nu/mu is evenly spread over -1 .. 1. What is not known is
    therefore near one half, and always on the side of the predicted label.

    With several labels mu is known for every cell and label. Shares in a cell are these numbers,
    those below 0 cut off, plus the overall shares times the standard error of a cell's sum: a cell
    that cannot be told from noise has the overall shares.

    Examples
    --------
    >>> from confide.mechanisms.partition import Partition
    >>> cells = Cells(low=[0], high=[1], shape=[4])
    >>> x = np.random.default_rng(1).random(50_000)
    >>> y = np.where(x > 0.5, 1, -1)
    >>> from confide import CellSums
    >>> sums = CellSums.simulate(Partition(cells, epsilon=1.0, classify=True), x, y, seed=2)
    >>> PartitionClassification(labels=("no", "yes")).fit(sums).predict([0.2, 0.9]).tolist()
    ['no', 'yes']
    """

    labels: tuple[Any, ...] = (-1, 1)

    def __post_init__(self) -> None:
        if not isinstance(self.labels, (tuple, list)) or len(self.labels) < 2:
            raise InvalidInput("two labels or more", _checks.shown(self.labels))
        object.__setattr__(self, "labels", tuple(self.labels))

    def fit(self, sums: CellSums) -> Classification | ClassShares:
        """The rule; where nothing speaks for the second label it is the first, as in the paper.

        Parameters
        ----------
        sums
            Sums of reports of a `Partition`, with or without ``classify``.
        """
        _check(sums)
        if sums.mechanism.counting:
            return self._several(sums)
        if len(self.labels) != 2:
            raise InvalidInput("two labels for these sums", str(len(self.labels)))
        cells = sums.mechanism.cells
        score = CellRegression(
            cells.edges,
            sums.nu.reshape(cells.shape),
            names=_names(cells),
            facts=_facts("partitioning, sign", sums),
            band=ScoreBand(sums),
            joined=False,
            outside=0.0,
        )
        chance = None
        if sums.mechanism.classify:
            values = _chances(sums).reshape(cells.shape)
            chance = replace(score, values=values, band=None, outside=0.5)
        labels = (self.labels[0], self.labels[1])
        return Classification(score, labels=labels, threshold=0.0, chance=chance)

    def _several(self, sums: CellSums) -> ClassShares:
        cells = sums.mechanism.cells
        if cells.axes < 2 or cells.shape[-1] != len(self.labels):
            raise InvalidInput(
                f"{len(self.labels)} cells on the last axis of the partition, one for each label",
                f"cells of shape {cells.shape}",
            )
        mu = sums.mu.reshape(cells.shape)
        # All cells have nearly the same noise: most reports of each come from people elsewhere.
        spread = math.sqrt(float(sums.variances()[0].mean()) * len(self.labels))
        overall = np.maximum(mu.sum(axis=tuple(range(cells.axes - 1))), 0) + spread
        overall /= overall.sum()
        known = np.maximum(mu, 0) + spread * overall
        inner = Cells(low=cells.low[:-1], high=cells.high[:-1], shape=cells.shape[:-1])
        return ClassShares(
            inner.edges,
            known / known.sum(axis=-1, keepdims=True),
            labels=self.labels,
            overall=overall,
            names=_names(inner),
            facts=_facts("partitioning, largest share", sums),
            band=ShareBand(sums, inner),
        )


@dataclass(frozen=True, eq=False)
class RatioBand:
    """Intervals of the mean response of a cell, noise and sampling together."""

    sums: CellSums

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x; outside the cells nothing is known but the bound."""
        of_mu, of_nu, both = self.sums.variances()
        limit = self.sums.mechanism.limit
        moments = np.stack([of_mu, both, of_nu])
        ends = fieller(np.stack([self.sums.mu, self.sums.nu]), moments, level, (-limit, limit))
        return _spread(self.sums.mechanism.cells, ends, (-limit, limit), x)


@dataclass(frozen=True, eq=False)
class ShiftedBand:
    """The intervals of a curve that was moved up or down."""

    band: Band
    by: float

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        low, high = self.band.interval(x, level)
        return np.asarray(low) + self.by, np.asarray(high) + self.by


def shifted(curve: CellRegression, middle: float) -> CellRegression:
    """The curve in the units of the response, whose range has this middle.

    A partition takes the middle of the range for zero.
    """
    assert curve.band is not None
    assert curve.outside is not None
    return replace(
        curve,
        values=curve.values + middle,
        band=ShiftedBand(curve.band, middle),
        outside=curve.outside + middle,
    )


def noise_share(sums: CellSums) -> float:
    """The share of the differences between the cells' sums that noise and chance explain, up to 1.

    Differences are those of nu from what it would be if the mean response were the same in every
    cell. Near 1, the cells say nothing more than the overall mean.
    """
    of_mu, of_nu, both = sums.variances()
    total = float(sums.mu.sum())
    if total <= 0:
        return 1.0
    mean = float(sums.nu.sum()) / total
    found = float(((sums.nu - mean * sums.mu) ** 2).sum())
    expected = float((of_nu - 2 * mean * both + mean**2 * of_mu).sum())
    return 1.0 if found <= expected else expected / found


@dataclass(frozen=True, eq=False)
class ScoreBand:
    """Intervals of nu: a cell whose interval holds 0 is not decided.

    Each nu between the ends has the variance that it would have itself, with the reports' second
    moment (Wilson 1927): of few reports that happen to be alike, the variance is not taken for 0.
    """

    sums: CellSums

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        nu, share = self.sums.nu, special.ndtri((1 + level) / 2) ** 2 / self.sums.n
        second = self.sums.second
        reach = np.sqrt(np.maximum(share * ((1 + share) * second - nu**2), 0))
        ends = ((nu - reach) / (1 + share), (nu + reach) / (1 + share))
        limit = self.sums.mechanism.limit
        return _spread(self.sums.mechanism.cells, ends, (-limit, limit), x)


@dataclass(frozen=True, eq=False)
class ShareBand:
    """Intervals of the share of each label in a cell, noise and sampling together."""

    sums: CellSums
    cells: Cells

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x, labels on the last axis; outside the cells 0 and 1."""
        count = self.cells.size
        own = self.sums.mu.reshape(count, -1)
        of_own = self.sums.variances()[0].reshape(count, -1)
        whole = own.sum(axis=1, keepdims=True)
        # Noise is independent; two labels of a cell exclude each other.
        shared = own * (whole - own) / self.sums.n
        of_whole = of_own.sum(axis=1, keepdims=True) - shared.sum(axis=1, keepdims=True)
        means = np.stack([np.broadcast_to(whole, own.shape), own])
        moments = np.stack([np.broadcast_to(of_whole, own.shape), of_own - shared, of_own])
        ends = fieller(means.reshape(2, -1), moments.reshape(3, -1), level, (0.0, 1.0))
        index = self.cells.index(x.reshape(-1, self.cells.axes))
        low, high = (
            np.where(index[:, None] >= 0, end.reshape(own.shape)[index], far)
            .reshape(*x.shape[:-1], own.shape[1])
            for end, far in zip(ends, (0.0, 1.0), strict=True)
        )  # fmt: skip
        return low, high


def _chances(sums: CellSums) -> Floats:
    """Probability of the label 1 in each cell of a partition that classifies."""
    law, n, k = sums.mechanism.law.values.matrix(), sums.n, sums.mechanism.cells.size
    # Reports other than 0, where there is nothing and where there is either label.
    nothing, either = law[[0, 2]].sum(axis=0)[[1, 2]]
    share = 1 - sums.tallies[1] / n
    mu = (share - nothing) / (either - nothing)
    # One report more or less, so that reports that happen to be all alike are not certain.
    spread = np.sqrt(np.maximum(share * (1 - share), 1 / n) / n) / (either - nothing)
    nu, error = sums.nu, np.sqrt(np.maximum(sums.variances()[1], 1 / n**2))
    # A grid in each cell: mu by equal steps of its prior, where it is plausible at all, and nu.
    low, high = np.clip(mu - REACH * spread, 0, 1), np.clip(mu + REACH * spread, 1 / n, 1)
    first, last = k * low / (1 + k * low), k * high / (1 + k * high)
    steps = (np.arange(GRID) + 0.5) / GRID
    prior = first[:, None] + (last - first)[:, None] * steps
    shares = (prior / (k * (1 - prior)))[:, :, None]
    away = np.linspace(-REACH, REACH, GRID + 1)
    products = (nu[:, None] + error[:, None] * away)[:, None, :]
    logs = -((shares - mu[:, None, None]) ** 2) / (2 * spread[:, None, None] ** 2) - away**2 / 2
    logs = np.where(np.abs(products) <= shares, logs - np.log(shares), -np.inf)
    top = logs.max(axis=(1, 2), keepdims=True)
    weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=(1, 2))
    mean = (weights * products / shares).sum(axis=(1, 2)) / np.where(total > 0, total, 1.0)
    # Where nothing fits, a cell holds one label only; rounding must not change the side.
    chances = (1 + np.where(total > 0, mean, np.sign(nu))) / 2
    return np.where(nu > 0, np.maximum(chances, ABOVE_HALF), np.minimum(chances, 0.5))


def _check(sums: CellSums) -> None:
    if not isinstance(sums, CellSums):
        raise InvalidInput("CellSums", _checks.kind(sums))
    if not sums.n:
        raise InvalidInput("at least one report", "none", "There is nothing to estimate from.")


def _facts(method: str, sums: CellSums) -> dict[str, Any]:
    partition = sums.mechanism
    return {
        "method": method,
        "n": sums.n,
        "epsilon": partition.spend.epsilon,
        "cells": list(partition.cells.shape),
        "simulated": sums.simulated,
        "summary": sums.fingerprint,
    }


def _names(cells: Cells) -> tuple[str, ...]:
    return ("",) if cells.axes == 1 else tuple(f"x{axis + 1}" for axis in range(cells.axes))


def _spread(
    cells: Cells, ends: tuple[Floats, Floats], outside: tuple[float, float], x: Floats
) -> tuple[Floats, Floats]:
    low, high = (
        CellRegression(cells.edges, end.reshape(cells.shape), joined=False, outside=far).predict(x)
        for end, far in zip(ends, outside, strict=True)
    )
    return low, high

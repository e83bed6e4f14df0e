"""Masses of private values at each level of a response, under the law of their reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide._types import Floats
from confide.estimators.em import LEAST, Channel, em, smooth

FOLDS = 5
SEED = 20_250_611
TYPICAL = 3 / 8
STEPS = np.arange(-3, 3)
TRUST = 2.0
"""Log-likelihood that a factor of 4 away from the typical smoothing has to gain: one standard
deviation of the prior is a factor of 2."""
EMPTY = 1e-9
"""Share of the even mass below which a cell holds nothing that could be divided."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Reports by response, with the inverse of the noise for each.

    A public response in [0, 1] is split into its share w at level 1 and 1 - w at level 0. A
    private one is split by its report; its levels are the cells of its true value.

    Parameters
    ----------
    law
        Of the values' reports.
    parts
        Reports, the parts along the first axis.
    scores
        Unbiased response of each part.
    levels
        Response at each level of the estimate.
    squares
        For a public response sums of its squares for each report, or None where parts are counts.
    joint
        Law of parts and reports given levels and values, or None where parts are levels.
    ordered
        Whether neighboring cells are alike; categories are not.
    """

    law: Channel
    parts: Floats
    scores: Floats
    levels: Floats
    squares: Floats | None = None
    joint: Channel | None = None
    ordered: bool = True

    @property
    def axes(self) -> int:
        """Number of covariates."""
        return len(self.law.inputs)

    @property
    def total(self) -> Floats:
        """Counts of reports over all responses."""
        total: Floats = self.parts.sum(axis=0)
        return total

    def sums(self, parts: Floats) -> Floats:
        """Sums of the response for each report."""
        return np.tensordot(parts, self.scores, axes=(parts.ndim - self.axes - 1, 0))

    @cached_property
    def spreads(self) -> Floats:
        """Variance of the response among those who sent the same report."""
        total, sums = self.total, self.sums(self.parts)
        squares = self.squares
        if squares is None:
            squares = np.tensordot(self.parts, self.scores**2, axes=(0, 0))
        within = np.maximum(squares - sums**2 / np.maximum(total, LEAST), 0.0)
        # Weights make fractions: below two respondents there is no variance to speak of.
        many = total >= 2
        if many.any():
            pooled = within[many].sum() / (total[many] - 1).sum()
        else:
            mean = sums.sum() / total.sum()
            pooled = squares.sum() / total.sum() - mean**2
        alone = max(float(pooled), LEAST)
        return np.where(many, within / np.where(many, total - 1, 1.0), alone)

    @property
    def spread(self) -> float:
        """Variance of the response over all reports."""
        return max(float((self.spreads * self.total).sum() / self.total.sum()), LEAST)

    def fit(
        self,
        parts: Floats,
        smoothing: float | Floats,
        *,
        start: Floats | None = None,
        tolerance: float = 1e-9,
        iterations: int = 1000,
    ) -> Floats:
        """Masses (..., levels, *inputs) of parts (..., parts, *outputs), one smoothing a batch."""
        lead = parts.ndim - self.axes - 1
        inner = tuple(range(lead + 1, parts.ndim))
        amount = np.asarray(smoothing, dtype=np.float64)
        if self.joint is None:
            total = parts.sum(axis=inner, keepdims=True)
            # A part without reports has no masses: any positive ones will do, times zero.
            filled = np.where(total > 0, parts, 1.0)
            amount = np.broadcast_to(amount[..., None], parts.shape[: lead + 1])
            law, begin = self.law, start
        else:
            total = parts.sum(axis=(lead, *inner), keepdims=True)
            law, filled = _Spaced(self.joint, self.axes), parts
            begin = None if start is None else law.spread(start)
        masses = em(
            law,
            filled,
            smoothing=amount,
            start=begin,
            tolerance=tolerance,
            iterations=iterations,
        )
        if isinstance(law, _Spaced):
            masses = law.kept(masses)
            masses /= masses.sum(axis=(lead, *inner), keepdims=True)
        scaled: Floats = total * masses
        return scaled

    def means(self, masses: Floats) -> Floats:
        """Mean response in each cell, of masses (..., levels, *inputs)."""
        sums = np.tensordot(masses, self.levels, axes=(masses.ndim - self.axes - 1, 0))
        least = np.finfo(np.float64).tiny
        means: Floats = sums / np.maximum(masses.sum(axis=-self.axes - 1), least)
        return means

    def filled(self, masses: Floats) -> tuple[Floats, float]:
        """Mean response in each cell, and the share of empty ones.

        Those take that of their neighbors, or of everybody where cells have no order.
        """
        means = self.means(masses)
        mass = masses.sum(axis=0)
        empty = mass <= EMPTY * mass.mean()
        share = float(empty.mean())
        if not self.ordered:
            everybody = masses.sum(axis=1) @ self.levels / masses.sum()
            return np.where(empty, everybody, means), share
        spread = np.where(empty, 0.0, masses)
        while empty.any():
            spread = smooth(spread[None], np.ones(1), self.axes)[0]
            reached = empty & (spread.sum(axis=0) > 0)
            means = np.where(reached, self.means(spread), means)
            empty &= ~reached
        return means, share

    def folds(self) -> tuple[Floats, Floats]:
        """Parts of each fold of respondents and of all others, drawn with a fixed seed."""
        rng = np.random.default_rng(SEED)
        if self.squares is None:
            held = _thinned(self.parts, rng)
        else:
            # Drawing without replacement: the folds' sums vary around their share of the sum with
            # the spread of the response, and add up.
            count = _thinned(self.total, rng)
            total = np.maximum(self.total, 1.0)
            noise = rng.normal(size=count.shape) * np.sqrt(self.spreads * count)
            noise -= count / total * noise.sum(axis=0)
            sums = np.clip(count * (self.parts[0] / total) + noise, 0, count)
            held = np.stack([sums, count - sums], axis=1)
        return held, np.maximum(self.parts - held, 0.0)

    def resample(self, size: int) -> Floats:
        """Parts of surveys of as many respondents drawn from these, with a fixed seed."""
        rng = np.random.default_rng(SEED + 1)
        source = self.parts if self.squares is None else self.total
        n = max(round(float(source.sum())), 1)
        drawn = rng.multinomial(n, (source / source.sum()).ravel(), size=size)
        count = drawn.reshape(size, *source.shape).astype(np.float64)
        if self.squares is None:
            return count
        noise = rng.normal(size=count.shape) * np.sqrt(self.spreads * count)
        mean = self.parts[0] / np.maximum(self.total, LEAST)
        sums = np.clip(count * mean + noise, 0, count)
        return np.stack([sums, count - sums], axis=1)


def choose_smoothing(levels: Levels, typical: float) -> float:
    """The smoothing whose mean response given a report predicts held-out responses best."""
    candidates = np.unique(np.minimum(typical * 4.0**STEPS, 1.0))
    prior = -TRUST * np.log(candidates / typical) ** 2 / np.log(4) ** 2
    held, kept = levels.folds()
    rest = tuple(range(1, kept.ndim))
    usable = (kept.sum(axis=rest) > 0) & (held.sum(axis=rest) > 0)
    if not usable.any():
        return float(candidates[np.argmax(prior)])
    held, kept = held[usable, None], kept[usable, None]
    batch = np.broadcast_to(kept, (len(kept), candidates.size, *kept.shape[2:]))
    smoothing = np.broadcast_to(candidates, batch.shape[:2])
    masses = levels.fit(batch, smoothing, tolerance=1e-4, iterations=400)
    along = masses.ndim - levels.axes - 1
    sums = levels.law.forward(np.tensordot(masses, levels.levels, axes=(along, 0)))
    predicted = sums / np.maximum(levels.law.forward(masses.sum(axis=along)), LEAST)
    gain = 2 * predicted * levels.sums(held) - predicted**2 * held.sum(axis=2)
    score = gain.sum(axis=(0, *range(2, gain.ndim))) / (2 * levels.spread)
    return float(candidates[np.argmax(score + prior)])


def _thinned(counts: Floats, rng: np.random.Generator) -> Floats:
    """Counts of each fold, when every respondent goes to one at random."""
    whole = np.rint(counts).astype(np.int64)
    folds = rng.multinomial(whole, [1 / FOLDS] * FOLDS)
    return np.moveaxis(folds, -1, 0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Spaced:
    """A joint law whose levels lie between dead ones, so that smoothing leaves levels alone.

    Expectation maximization smooths along every axis. Here all that it takes from a level falls
    on a dead level, which no report can come from, and is gone with the next step. Every level
    has two dead neighbors and loses the same share, which scaling to one gives back: what is
    left is the smoothing along the values, exactly.
    """

    law: Channel
    axes: int

    @property
    def inputs(self) -> tuple[int, ...]:
        levels, *cells = self.law.inputs
        return (2 * levels + 1, *cells)

    @property
    def outputs(self) -> tuple[int, ...]:
        return self.law.outputs

    def kept(self, masses: Floats) -> Floats:
        living: Floats = np.moveaxis(masses, -self.axes - 1, 0)[1::2]
        return np.moveaxis(living, 0, -self.axes - 1)

    def spread(self, values: Floats, dead: float = LEAST) -> Floats:
        lead = values.shape[: values.ndim - self.axes - 1]
        spaced = np.full((*lead, *self.inputs), dead)
        self.kept(spaced)[...] = values
        return spaced

    def forward(self, masses: Floats, /) -> Floats:
        return self.law.forward(self.kept(masses))

    def adjoint(self, values: Floats, /) -> Floats:
        return self.spread(self.law.adjoint(values), 0.0)

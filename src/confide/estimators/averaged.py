"""Intervals from the posterior of the default estimate, averaged over priors and unseen heaps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf
from scipy.special import ndtr

from confide import _checks
from confide._types import Floats
from confide.estimators import heaps
from confide.estimators.em import coarse_edges, one_thread
from confide.estimators.log_density import FAR, SCALES, SPREAD, Ladder, Mode, mode
from confide.lattice import Lattice

ROUGHER, SMOOTH = (1, 4), (2, 3)
"""Steps of tau by which each prior is made rougher, for half of the chance each; the second pair is
for densities that are taken for smooth. What smoothing shifts is then less than what the reports
leave open. The end of a step needs a much rougher prior, an empty tail one that is hardly rougher.
In 150 surveys with 20,000 people at epsilon 1, drawn besides the record, the upper end of a block
was held in 92 % with this pair and in 93 % with 3 and 4, and intervals were 1.50 and 1.57 times as
wide as an oracle's. An empty tail beside a normal (2,000 people, epsilon 4) was held in 98 % and in
93 %."""
BOUND = 3.0
"""Prior odds of a heap at a bound, where clipping makes them. With odds of 1 and small shares more
probable than large ones, the share below the first edge of 30 % zeros was covered in 75 % of tuning
surveys with 500 people, and with these in 95 %."""
RARE, RARER = 0.1, 0.003
"""Part of the chance of the likeliest prior below which heaps that may be hidden are not looked at,
and of heaps at a bound."""
HALF = 0.5
"""Part of what an interval cuts off that models with a heap at a bound cut off by themselves.
With 10 % zeros beside a skewed curve the average alone held the share at zero in 70 % of 80 surveys
with 20,000 people at epsilon 1, and in 95 % with this; with all of it in 91 %."""
NODES, RANGE = 15, (0.002, 0.9)
"""How many shares of an unseen heap are averaged over, and the least and the largest of them."""
LEAST_STEP = 3
"""Places from one multiple of a round step to the next, at least."""
ALIKE, OWN, MOST_ROUND = 0.5, 0.5, 40
"""Standard deviation of the part of the people near a multiple of a round step who say the
multiple: of what all multiples share, and of what each may have beside it. The latter is looked at
for so many multiples at most."""
TOGETHER, APART = 1.0, 2.0
"""Prior odds that people round to the multiples of a step, to all alike, and to some more than to
others. With 20,000 people at epsilon 1, odds of 3 for the latter made intervals of two
smooth populations 2 to 3 % wider than odds of 1, and hardly held more."""
SUSPECT = math.log(2)
"""Evidence for people who round from which on a density does not pass for smooth. With 20,000
reports at epsilon 1 it is there in 42 to 44 % of surveys in which half of Beta(3,5) is at multiples
of .05, and in 4 to 20 % of those of three smooth populations (64 to 1,024 cells)."""
CLOSE, LEAST, MOST = 1e-9, 1e-12, 700.0
UNLIKELY = 1e-6
"""Chance of a model below which it moves no end of an interval."""
STEPS, HALVINGS = 50, 20


@dataclass(frozen=True, eq=False)
class Heaps:
    """A set of heaps with the logarithm of its prior odds and the modes under all priors."""

    places: tuple[int, ...]
    odds: float
    ladder: Ladder

    @property
    def score(self) -> float:
        """Logarithm of the evidence for its best prior, the heaps' included."""
        return self.ladder.best.evidence + self.odds


@dataclass(frozen=True, eq=False)
class Models:
    """Distribution functions at nodes, each normal around its mode, and their chances.

    Attributes
    ----------
    chances : array (models,)
    below, upto : array (models, nodes)
        Share below a node, and the share up to it: with a heap in the place that begins there.
    below_spread, upto_spread : array (models, nodes)
        Their standard deviations.
    bounds : array (models, 2)
        Whether a model has a heap at the low bound, and at the high one.
    """

    chances: Floats
    below: Floats
    upto: Floats
    below_spread: Floats
    upto_spread: Floats
    bounds: npt.NDArray[np.bool_]

    @property
    def without_spread(self) -> Floats:
        """Standard deviations at the end of each place, of the share without a heap that is in it.

        Where there is a heap, what the rest of its place adds to them is left out.
        """
        before, after = self.below_spread[:, :-1], self.below_spread[:, 1:]
        return np.where(self.upto[:, :-1] != self.below[:, :-1], before, after)

    def only(self, some: npt.NDArray[np.bool_]) -> Models:
        """Some of the models, whose chances add up to one."""
        parts = [getattr(self, each.name)[some] for each in fields(self)]
        return Models(parts[0] / parts[0].sum(), *parts[1:])


@dataclass(frozen=True, eq=False)
class Line:
    """Shares below the nodes under one mode, and how they move with its coefficients.

    Attributes
    ----------
    shares : array (nodes,)
    slopes : array (coefficients, nodes)
        By independent standard normal coefficients, the last of which is the last heap's.
    """

    shares: Floats
    slopes: Floats

    @property
    def last(self) -> Floats:
        """Change of the shares by one standard deviation of the last coefficient."""
        moved: Floats = self.slopes[-1]
        return moved

    @property
    def all(self) -> Floats:
        """Standard deviations, as one row."""
        return _spreads(self.slopes)

    @property
    def others(self) -> Floats:
        """Standard deviations where the last coefficient is known, as one row."""
        return _spreads(self.slopes[:-1])


@dataclass(frozen=True, eq=False)
class AveragedIntervals:
    """Intervals of the distribution function and of quantiles, by averaging over models.

    The models are those of the default estimate: a smooth log-density under each prior, with each
    set of heaps that was found. Beside them are models with heaps that the reports may hide: at a
    bound, and at all multiples of a round step, where those near a multiple may round to it. Each
    has its chance by its evidence, and the ends of an interval cut off equal parts of the average
    of all of them.

    Parameters
    ----------
    sets
        Sets of heaps that the estimate found, the empty one among them.
    law : array (bins, places)
        Law of the bins of reports given a place.
    lattice
        Its bounds and its scale say which numbers are round.
    rounding
        Whether many people may be at round numbers although no heap was found.

    Notes
    -----
    The distribution function is normal under each model, with the variance of Laplace's
    approximation. Each prior hands its chance to two that are rougher by some steps of tau: the
    average that is best for the estimate smooths more than an interval can afford. Reports say
    nothing about where in its place a heap lies, so a heap counts as far down as it can for one
    end, and as far up for the other.

    A heap at a bound and a curve that rises there look alike through the noise, so the average
    hangs on how probable such a heap was beforehand. Nobody knows that, and zeros are common. So
    the share at a bound may be as large as the models with a heap there say by themselves, and
    intervals of other shares and of quantiles allow for that.
    """

    sets: tuple[Heaps, ...]
    law: Floats
    lattice: Lattice
    rounding: bool = True

    @cached_property
    def _places(self) -> int:
        return int(self.law.shape[1])

    @cached_property
    def _edges(self) -> Floats:
        return coarse_edges(self.lattice, self._places)

    @cached_property
    def _nodes(self) -> Floats:
        """Edges of smooth cells and of the places of heaps, as numbers of places.

        None is inside the place of a heap: what is known of the heap holds for the whole place.
        """
        cells = self.sets[0].ladder.best.smooth.size
        at = np.concatenate([[0, self._places - 1], *self._multiples])
        at = np.union1d(at, [place for one in self.sets for place in one.places])
        even = np.arange(cells + 1) * (self._places / cells)
        found: Floats = np.unique(np.concatenate([even, at, at + 1]).round(9))
        inside = np.isin(np.floor(found), at) & (found != found.round())
        kept: Floats = found[~inside]
        return kept

    @cached_property
    def smooth(self) -> AveragedIntervals:
        """Intervals that assume a smooth density, but for the heaps that were found."""
        return replace(self, rounding=False)

    @cached_property
    def heaped(self) -> bool:
        """Whether the reports suggest heaps at round numbers that the estimate lacks."""
        none = np.zeros((self._nodes.size, len(self._best.places)))
        found = self._rounded(self._best, self._best.ladder.best, none, none)
        return any(gain > SUSPECT for _, gain, _, _ in found)

    @cached_property
    def _best(self) -> Heaps:
        return max(self.sets, key=lambda one: one.score)

    @cached_property
    def _models(self) -> Models:
        return self._averaged()

    @one_thread
    def _averaged(self) -> Models:
        top = max(one.score for one in self.sets)
        found = [models for one in self.sets for models in self._with(one, top)]
        chances, below, upto, under, over, bounds = (
            np.concatenate([getattr(one, each.name) for one in found]) for each in fields(Models)
        )
        under, over = (np.maximum(spread, LEAST) for spread in (under, over))
        return Models(chances / chances.sum(), *_rising(below, upto), under, over, bounds)

    @cached_property
    def _likely(self) -> Models:
        """Those models that can move the ends of an interval."""
        models = self._models
        return models.only(models.chances > UNLIKELY)

    def _heaped_most(self, tail: float) -> tuple[float, float]:
        """The largest shares of people that may be at the low bound, and at the high one."""
        models = self._models
        chance = models.chances @ models.bounds
        low, high = (
            models.only(some) if each > 0 else None
            for some, each in zip(models.bounds.T, chance, strict=True)
        )
        return (
            _largest(low, low.upto[:, 0], low.upto_spread[:, 0], tail) if low else 0.0,
            _largest(high, 1 - high.below[:, -2], high.below_spread[:, -2], tail) if high else 0.0,
        )

    def _with(self, one: Heaps, top: float) -> Iterator[Models]:
        """The models of a set of heaps: it alone, and each of the unseen ones beside it.

        Their chances are relative to that of the best set.
        """
        nodes, ladder = self._nodes, one.ladder
        at = np.array(one.places, dtype=np.float64)
        ends = np.array([0, self._places - 1])
        bounds = np.isin(ends, at)[None]
        below, upto = (np.where(nodes[:, None] >= at + end, 1.0, 0.0) for end in (1, 0))
        rougher = _rougher(one, top, ROUGHER if self.rounding else SMOOTH)
        rare = RARE * max(rougher.values(), default=0.0)
        for prior, chance in rougher.items():
            found = ladder.mode(*prior)
            low, high = self._both(found, below, upto)
            shares = low.shares[None], high.shares[None]
            yield Models(np.array([chance]), *shares, low.all, high.all, bounds)
            if chance > rare:
                for odds, gain, under, over in self._rounded(one, found, below, upto):
                    weight = np.array([chance * odds * math.exp(min(gain, MOST))])
                    shares = under.shares[None], over.shares[None]
                    yield Models(weight, *shares, under.all, over.all, bounds)
        for place in ends.tolist():
            if place in one.places:
                continue
            column = self.law[:, place]
            first, gain = self._beside(one, column)
            odds = BOUND * math.exp(min(gain, MOST))
            heap = [np.where(nodes >= place + end, 1.0, 0.0) for end in (1, 0)]
            for (order, rung), chance in rougher.items():
                if chance > rare and chance * odds > rare * RARER / RARE:
                    start = np.append(ladder.mode(order, rung).theta, first.theta[-1])
                    tau = float(SCALES[order][rung])
                    found = mode(ladder.problem.added(column), order, tau, start)
                    parts = zip((below, upto), heap, strict=True)
                    low, high = self._both(found, *(np.column_stack(two) for two in parts))
                    moves, weights = _shares(found)
                    yield Models(
                        chance * odds * weights,
                        low.shares + moves[:, None] * low.last,
                        high.shares + moves[:, None] * high.last,
                        np.repeat(low.others, moves.size, axis=0),
                        np.repeat(high.others, moves.size, axis=0),
                        np.repeat(bounds | (ends == place), moves.size, axis=0),
                    )

    def _rounded(
        self, one: Heaps, found: Mode, below: Floats, upto: Floats
    ) -> Iterator[tuple[float, float, Line, Line]]:
        """A mode with people who round to multiples of a step: odds, evidence gained, both lines.

        Around each multiple of a step a part of the people say the multiple. Beforehand the parts
        are normal around 0: one part for all multiples, or that and a part of its own for each. A
        negative part stands for fewer people there than nearby. The posterior is taken for normal
        around the mode, so that everything here is linear.

        The information on the parts is a small difference of large numbers: what the reports tell,
        less what the other coefficients can mimic. So the information on those is computed anew:
        the one that a mode carries may be that of a neighboring mode.
        """
        problem, nodes = one.ladder.problem, self._nodes
        cells, places = found.smooth.size, self._places
        even = np.arange(places + 1.0) * (cells / places)
        masses = np.diff(_ramp(even, cells) @ found.smooth) * found.shares[0]
        people = np.append(0.0, masses.cumsum())
        reports = np.zeros((self.law.shape[0], places + 1))
        np.cumsum(self.law * masses, axis=1, out=reports[:, 1:])
        weight = np.sqrt(problem.n / found.fitted)[:, None]
        pull = problem.counts / found.fitted / weight[:, 0]
        told = weight * (problem.columns @ found.slope)
        exact = replace(found, precision=np.eye(found.theta.size) + told.T @ told)
        root, failed = dpotrf(exact.precision, lower=1)
        if failed:
            return
        slopes = solve_triangular(root, told.T, lower=True)
        lines = self._both(exact, below, upto)
        for multiples in self._multiples:
            half = int(np.diff(multiples).min(initial=places)) // 2
            at = np.setdiff1d(multiples, one.places)
            if not at.size:
                continue
            first, last = np.maximum(at - half, 0), np.minimum(at + half + 1, places)
            near = people[last] - people[first]
            moved = weight * (self.law[:, at] * near - (reports[:, last] - reports[:, first]))
            left = np.interp(np.clip(nodes[:, None], first, last), np.arange(places + 1), people)
            left -= people[first]
            shifts = [near * (nodes[:, None] >= at + end) - left for end in (1, 0)]
            for odds, parts in _parts(at.size):
                seen = moved @ parts
                mimicked = slopes @ seen
                precision = np.eye(parts.shape[1]) + seen.T @ seen - mimicked.T @ mimicked
                own, failed = dpotrf(precision, lower=1)
                if failed:
                    continue
                away = solve_triangular(own, pull @ seen, lower=True)
                gain = float(away @ away) / 2 - float(np.log(np.diag(own)).sum())
                both = []
                for line, shift in zip(lines, shifts, strict=True):
                    along = shift @ parts - line.slopes.T @ mimicked
                    each = solve_triangular(own, along.T, lower=True)
                    both.append(Line(line.shares + away @ each, np.vstack([each, line.slopes])))
                yield odds, gain, both[0], both[1]

    @cached_property
    def _multiples(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Places of the multiples of each round step to which people may round.

        Around each there are places of its own, one on either side or more. Multiples that fill all
        places would stand for any curvature of the density.
        """
        found = heaps.multiples(self.lattice, self._edges) if self.rounding else ()
        return tuple(at for at in found if np.diff(at).min(initial=self._places) >= LEAST_STEP)

    def _beside(self, one: Heaps, column: Floats) -> tuple[Mode, float]:
        """The best mode of a set with one more heap, and the evidence that it gains."""
        best, added = one.ladder.best, one.ladder.problem.added(column)
        found = mode(added, best.order, best.tau, np.append(best.theta, 0.0))
        return found, found.evidence - best.evidence

    def _both(self, one: Mode, below: Floats, upto: Floats) -> tuple[Line, Line]:
        """The lines up to each node without the heap whose place begins there, and with it."""
        low = self._line(one, below)
        return low, self._line(one, upto) if below.size else low

    def _line(self, one: Mode, parts: Floats) -> Line:
        """Shares below the nodes under one mode, given the parts of each heap that lie there."""
        cells = one.smooth.size
        ramp = _ramp(self._nodes * (cells / self._places), cells)
        below = np.hstack([ramp, parts])
        root, _ = dpotrf(one.precision, lower=1)
        slopes = solve_triangular(root, (below @ one.slope).T, lower=True, check_finite=False)
        return Line(below @ np.append(one.shares[0] * one.smooth, one.shares[1:]), slopes)

    def cdf(self, x: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval of the share of values up to x."""
        tail = (1 - _checks.level(level)) / 2
        places = np.interp(np.ravel(x), self._edges, np.arange(self._edges.size))
        models, nodes = self._likely, self._nodes
        at = np.clip(np.searchsorted(nodes, places + CLOSE, side="right") - 1, 0, nodes.size - 2)
        part = np.clip((places - nodes[at]) / (nodes[at + 1] - nodes[at]), 0, 1)
        part = np.where(part < CLOSE, 0.0, part)
        heap = models.upto[:, at] - models.below[:, at]
        # In the place of a heap the heap may lie on either side of x.
        least = (1 - part) * models.below[:, at] + part * (models.below[:, at + 1] - heap)
        under = (1 - part) * models.below_spread[:, at] + part * models.without_spread[:, at]
        over = (1 - part) * models.upto_spread[:, at] + part * models.below_spread[:, at + 1]
        low = _point(models.chances, least, under, tail)
        high = _point(models.chances, least + heap, over, 1 - tail)
        at_low, at_high = self._heaped_most(tail)
        low, high = np.minimum(low, 1 - at_high), np.maximum(high, at_low)
        # No values are below the low bound or above the high one.
        all_, none = np.ravel(x) >= self._edges[-1], np.ravel(x) < self._edges[0]
        ends = (np.where(all_, 1.0, np.where(none, 0.0, end.clip(0, 1))) for end in (low, high))
        least, most = (end.reshape(np.shape(x)) for end in ends)
        return least, most

    def quantile(self, q: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval of the value below which a share q of the population lies."""
        tail = (1 - _checks.level(level)) / 2
        models, nodes = self._likely, self._nodes
        heap = models.upto[:, :-1] - models.below[:, :-1]
        # Both lines from node to node: one goes past a heap where its place begins, the other
        # where it ends.
        most = _woven(models.upto, models.below[:, 1:])
        most_spread = _woven(models.upto_spread, models.below_spread[:, 1:])
        least = _woven(models.below, models.below[:, 1:] - heap)
        least_spread = _woven(models.below_spread, models.without_spread)
        at = np.repeat(nodes, 2)[1:]
        at_low, at_high = self._heaped_most(tail)
        ends = []
        for share in np.ravel(q).astype(np.float64):
            low = _first(models.chances, most - share, most_spread, at, tail)
            high = -_first(
                models.chances, share - least[:, ::-1], least_spread[:, ::-1], -at[::-1], tail
            )
            # Those who are clipped lie on a bound, not somewhere in its place.
            low = low if low >= 1 and share > at_low else 0.0
            high = high if high <= nodes[-1] - 1 and share < 1 - at_high else nodes[-1]
            ends.append((low, high))
        found = np.interp(np.array(ends).reshape(-1, 2), np.arange(self._edges.size), self._edges)
        return found[:, 0].reshape(np.shape(q)), found[:, 1].reshape(np.shape(q))


def _largest(models: Models, shares: Floats, spreads: Floats, tail: float) -> float:
    """A share that is exceeded with part of a chance only."""
    found = _point(models.chances, shares[:, None], spreads[:, None], 1 - tail * HALF)
    return float(found[0])


def _spreads(slopes: Floats) -> Floats:
    found: Floats = np.sqrt((slopes**2).sum(axis=0, keepdims=True))
    return found


def _shares(one: Mode) -> tuple[Floats, Floats]:
    """How far a heap's share may be from that of the mode, and the weights of these moves.

    The coefficient t of the last heap is not normal where the reports say little about its share w:
    the log-likelihood is a parabola in w, which rises with t like a logistic curve. Moves are in
    standard deviations of t at the mode, and linear in w. Every share is as probable beforehand.
    Weights are relative to what Laplace's approximation takes for the whole.
    """
    root, _ = dpotrf(one.precision, lower=1)
    deep, t, w = float(root[-1, -1]), float(one.theta[-1]), float(one.shares[-1])
    rate = SPREAD * w * (1 - w)
    information = max(deep**2 - 1, 0.0) / rate**2
    reach = 4 / math.sqrt(information) if information > 0 else 1.0
    ends = np.clip([w - reach, w + reach], *RANGE)
    odds = w / (1 - w) * math.exp(-SPREAD * t)
    first, last = np.log(ends / (1 - ends) / odds) / SPREAD
    nodes = np.linspace(first, last, NODES)
    shares = 1 / (1 + np.exp(-SPREAD * nodes) / odds)
    away = shares - w
    gain = t / rate * away - information * away**2 / 2 + t**2 / 2
    prior = SPREAD * shares * (1 - shares) / (RANGE[1] - RANGE[0])
    return away / rate * deep, np.exp(gain) * prior * (nodes[1] - nodes[0]) * deep


def _rising(below: Floats, upto: Floats) -> tuple[Floats, Floats]:
    """Distribution functions that never fall: half way between the highest before and lowest after.

    They fall in a model in which more people leave a round number than there are.
    """
    lines = np.stack([below, upto], axis=2).reshape(below.shape[0], -1)
    highest = np.maximum.accumulate(lines, axis=1)
    lowest = np.minimum.accumulate(lines[:, ::-1], axis=1)[:, ::-1]
    middle = ((highest + lowest) / 2).reshape(*below.shape, 2)
    return middle[..., 0], middle[..., 1]


def _woven(first: Floats, second: Floats) -> Floats:
    """Columns of two tables in turn, those of the first at both ends."""
    both = np.empty((first.shape[0], first.shape[1] + second.shape[1]))
    both[:, ::2], both[:, 1::2] = first, second
    return both


def _parts(multiples: int) -> Iterator[tuple[float, Floats]]:
    """Ways to round to so many multiples: prior odds, and parts by independent coefficients."""
    alike = np.full((multiples, 1), ALIKE)
    yield TOGETHER, alike
    if multiples <= MOST_ROUND:
        yield APART, np.hstack([alike, OWN * np.eye(multiples)])


def _ramp(nodes: Floats, cells: int) -> Floats:
    """Part of each cell below each node."""
    return np.clip(nodes[:, None] - np.arange(cells), 0, 1)


def _rougher(one: Heaps, top: float, steps: tuple[int, ...]) -> dict[tuple[int, int], float]:
    """Rougher priors, by order and rung, with the chances of those that they stand for."""
    chances: dict[tuple[int, int], float] = {}
    for each in one.ladder.above(top - FAR - one.odds):
        scales = SCALES[each.order]
        rung = int(np.abs(np.log(scales / each.tau)).argmin())
        chance = math.exp(each.evidence + one.odds - top) / len(steps)
        for more in steps:
            key = each.order, min(rung + more, scales.size - 1)
            chances[key] = chances.get(key, 0.0) + chance
    return chances


def _first(chances: Floats, above: Floats, spreads: Floats, at: Floats, target: float) -> float:
    """The first place where lines that are normal in each model are above zero with a chance.

    Between nodes a line and its standard deviation are straight, and the chance is not: where a
    quantile is known to a part of a cell, most of its rise is inside one.
    """

    def reached(line: Floats, spread: Floats) -> bool:
        return float(chances @ ndtr(line / spread)) >= target

    first, last = 0, at.size - 1
    if reached(above[:, first], spreads[:, first]):
        return float(at[first])
    if not reached(above[:, last], spreads[:, last]):
        return float(at[last])
    while last - first > 1:
        middle = (first + last) // 2
        up = reached(above[:, middle], spreads[:, middle])
        first, last = (first, middle) if up else (middle, last)
    line, spread = above[:, [first, last]], spreads[:, [first, last]]
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        part = (low + high) / 2
        sides = np.array([1 - part, part])
        low, high = (low, part) if reached(line @ sides, spread @ sides) else (part, high)
    return float(at[first] + high * (at[last] - at[first]))


def _point(chances: Floats, means: Floats, spreads: Floats, share: float) -> Floats:
    """The point of a mixture of normals, one for each column."""
    low = (means - 9 * spreads).min(axis=0)
    high = (means + 9 * spreads).max(axis=0)
    for _ in range(STEPS):
        middle = (low + high) / 2
        less = chances @ ndtr((middle - means) / spreads) < share
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.asarray((low + high) / 2)

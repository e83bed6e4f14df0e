"""The partition mechanism: vector reports of which cell a point is in, and its response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import Spend, checked_epsilon, exact
from confide.errors import InvalidInput, Unsupported
from confide.exact.enclosures import exp_ceiling, log_ceiling
from confide.exact.entropy import Entropy, SystemEntropy
from confide.exact.integer_noise import ONE, laplace_sampler, laplace_weights
from confide.exact.inversion import FEW, Inversion, Part
from confide.lattice import LIMIT, Categories, Cells, Lattice, Numbers
from confide.mechanisms.laws import Clamped, Law, geometric, largest_ratio
from confide.mechanisms.protocol import Mechanism, Reports

VECTORS = "Reports of a partition are vectors: add them up with CellSums."
NO_RESPONSES = "A partition that counts does not send responses."


@dataclass(frozen=True)
class VectorLaw(Law):
    """Clamped noise on an indicator and on a level, for each of ``size`` cells.

    Parameters
    ----------
    size
        Number of cells.
    levels
        J: responses are whole numbers from -J to J.
    count_parameter, value_parameter
        Numerators over 2**62 of the noises' p; 0 where indicators, or levels, are not sent.
    """

    size: int
    levels: int
    count_parameter: int
    value_parameter: int

    @cached_property
    def counts(self) -> Clamped:
        """Distribution of one indicator's report, given 0 or 1."""
        if not self.count_parameter:
            raise Unsupported("A partition for classification does not send cell counts.")
        return geometric(self.count_parameter, 1)

    @cached_property
    def values(self) -> Clamped:
        """Distribution of one level's report + J, given level + J; outside the cell that is J."""
        if not self.value_parameter:
            raise Unsupported(NO_RESPONSES)
        return geometric(self.value_parameter, 2 * self.levels)

    @cached_property
    def count_scores(self) -> Floats:
        """Scores of the reports 0 and 1 whose mean is the indicator, exactly."""
        if not self.count_parameter:
            raise Unsupported("A partition for classification does not send cell counts.")
        over = _overshoot(self.count_parameter)
        return np.array([-over, 1 + over])

    @cached_property
    def value_scores(self) -> Floats:
        """Scores of the reports -J .. J whose mean is the level, exactly."""
        if not self.value_parameter:
            raise Unsupported(NO_RESPONSES)
        scores = np.arange(-self.levels, self.levels + 1, dtype=np.float64)
        over = _overshoot(self.value_parameter)
        scores[0] -= over
        scores[-1] += over
        return scores

    @property
    def inputs(self) -> tuple[int, ...]:
        """None that could be listed: the law is stated coordinate by coordinate."""
        raise Unsupported(VECTORS)

    @property
    def outputs(self) -> tuple[int, ...]:
        """None that could be listed: the law is stated coordinate by coordinate."""
        raise Unsupported(VECTORS)

    def forward(self, masses: Floats) -> Floats:
        """Refused."""
        raise Unsupported(VECTORS)

    def adjoint(self, values: Floats) -> Floats:
        """Refused."""
        raise Unsupported(VECTORS)

    def weights(self, index: int) -> Sequence[int]:
        """Refused."""
        raise Unsupported(VECTORS)

    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one vector report, over all pairs of inputs.

        Exact. Coordinates are independent, so that the ratios of those that change multiply. Pairs
        are: the same cell and other responses; a cell and none; two cells.
        """
        enter = leave = still = Fraction(1)
        if self.value_parameter:
            columns = [self.values.weights(level) for level in range(2 * self.levels + 1)]
            middle = columns[self.levels]
            rows = list(zip(*columns, strict=True))
            enter = largest_ratio((max(row), at) for row, at in zip(rows, middle, strict=True))
            leave = largest_ratio((at, min(row)) for row, at in zip(rows, middle, strict=True))
            still = self.values.ratio()
        if self.count_parameter:
            off, on = (self.counts.weights(index) for index in (0, 1))
            enter *= largest_ratio(zip(on, off, strict=True))
            leave *= largest_ratio(zip(off, on, strict=True))
        apart = enter * leave if self.size > 1 else max(enter, leave)
        return max(still, apart)


def _overshoot(parameter: int) -> float:
    """Mean of how far noise went past an end, given that it reached it: p/(1-p)."""
    return parameter / (ONE - parameter)


Small = npt.NDArray[np.int8]
BITS = 53
"""Digits of a response below its level: those of a float."""
MAX_LEVELS = 127
MAX_CELLS = FEW
"""So that all draws of one respondent take the same path, and in the same time."""
BATCH = 2**20
"""Numbers drawn at a time."""
SPLIT = 0.4


@dataclass(frozen=True, eq=False)
class Partition(Mechanism):
    """Noisy cell indicators and noisy responses, one pair of integers for every cell.

    With X in cell j and the response y rounded at random to z in -J .. J (units of bound/J), the
    respondent sends W_j = 1 + noise and Z_j = z + noise, and noise alone for all other cells. W is
    clamped to {0, 1} and Z to -J .. J. A point outside the cells sends noise only.

    Parameters
    ----------
    cells
        Public cells of the private point X.
    bound
        Responses are cut to [-bound, bound]. See `confide.estimators.truncation` where they
        have no natural bound.
    epsilon
        The largest privacy loss of the whole report.
    levels
        J. One level has the least noise in nearly every case: a cell's noise comes from the many
        respondents outside it, and random rounding adds to the few inside it only.
    split
        Share of epsilon that W has; Z has the rest. The noise of the estimate nu/mu is smallest
        where (share of W / share of Z)**3 is E m(X)**2 / bound**2; the default suits 0.3 and costs
        at most a seventh more variance from 0.1 to 1.
    classify
        Labels -1 and 1 in place of a response. W is not sent, Z has the whole epsilon.
    counting
        No response at all: Z is not sent, W has the whole epsilon. With one axis of the cells for
        labels of any number this is a bit vector for each label.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the vector report, exactly. When X
    moves from one cell to another, two coordinates of W change by 1 and two of Z by at most J;
    when y alone changes, one coordinate of Z changes by at most 2 J. With
    p_W >= e**(-split epsilon/2) and p_Z >= e**(-(1-split) epsilon/(2 J)), rationals over 2**62, the
    largest ratio of probabilities is p_W**-2 p_Z**(-2 J) <= e**epsilon. Rounding y at random mixes
    such reports, which cannot raise the ratio.

    Examples
    --------
    >>> partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
    >>> partition.spend
    Spend(epsilon=2)
    >>> partition.privatize([0.1, 0.7, 5.0], [0.5, -1.0, 0.2]).indices.shape
    (3, 2, 4)
    """

    name: ClassVar[str] = "partition"
    cells: Cells
    bound: float | None = field(default=None, kw_only=True)
    epsilon: float = field(kw_only=True)
    levels: int = field(default=1, kw_only=True)
    split: float | None = field(default=None, kw_only=True)
    classify: bool = field(default=False, kw_only=True)
    counting: bool = field(default=False, kw_only=True)
    implied: ClassVar[tuple[str, ...]] = ("counting",)

    def __post_init__(self) -> None:
        if not isinstance(self.cells, Cells):
            raise InvalidInput("Cells", _checks.shown(self.cells))
        if self.cells.size > MAX_CELLS:
            raise InvalidInput(
                f"at most {MAX_CELLS} cells",
                str(self.cells.size),
                "Every respondent reports on every cell: suggest_cells says how many n can fill.",
            )
        for flag in ("classify", "counting"):
            if not isinstance(getattr(self, flag), bool):
                raise InvalidInput(f"{flag}=True or False", _checks.shown(getattr(self, flag)))
        if self.classify and self.counting:
            raise InvalidInput("classify or counting", "both")
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        levels = _checks.integer(1, MAX_LEVELS, levels=self.levels)
        if self.classify:
            if levels != 1 or not _absent(self.bound, 1.0) or not _absent(self.split, 0.0):
                raise InvalidInput(
                    "no bound, levels or split with classify=True", "one of them",
                    "Labels are -1 and 1, and the whole epsilon goes to them.",
                )  # fmt: skip
            bound, split = 1.0, 0.0
        elif self.counting:
            if levels != 1 or not _absent(self.bound, 1.0) or not _absent(self.split, 1.0):
                raise InvalidInput(
                    "no bound, levels or split with counting=True", "one of them",
                    "There is no response, and the whole epsilon goes to the counts.",
                )  # fmt: skip
            bound, split = 1.0, 1.0
        else:
            bound = _checks.positive(bound=self.bound)
            given = SPLIT if self.split is None else self.split
            split = _checks.within(0.01, 0.99, split=given)
        if not 1 / LIMIT <= bound <= LIMIT:
            raise InvalidInput(f"a bound from {1 / LIMIT:g} to {LIMIT:g}", f"bound={bound:g}")
        for name, value in (("bound", bound), ("levels", levels), ("split", split)):
            object.__setattr__(self, name, value)
        # Refuse an epsilon that is too small now, before people answer.
        _ = self.law

    @cached_property
    def law(self) -> VectorLaw:
        """The law of the vector report, coordinate by coordinate."""
        # Rationals from here on: the shares add up to epsilon and to nothing above it.
        whole = exact(self.epsilon)
        counts = whole * Fraction(self.split or 0)
        p_w = exp_ceiling(-counts / 2, ONE) if counts else 0
        p_z = 0 if self.counting else exp_ceiling(-(whole - counts) / (2 * self.levels), ONE)
        if max(p_w, p_z) >= ONE:
            raise InvalidInput(
                "epsilon large enough to leave a trace of the value", f"epsilon={self.epsilon:g}"
            )
        return VectorLaw(self.cells.size, self.levels, p_w, p_z)

    @property
    def limit(self) -> float:
        """The bound of the responses; 1 for labels."""
        return float(self.bound or 1.0)

    @property
    def rows(self) -> int:
        """Numbers sent for each cell: W and Z, or one of them alone."""
        return 1 if self.classify or self.counting else 2

    @property
    def value_scores(self) -> Floats:
        """Scores of Z_j = -J .. J, in units of y, whose mean is the cut response, exactly."""
        return self.law.value_scores * (self.limit / self.levels)

    @cached_property
    def spend(self) -> Spend:
        """The exact loss of the whole report, rounded up to a float: at most epsilon."""
        return Spend(log_ceiling(self.law.ratio()))

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """None: a point and a response are no question of a survey."""
        return {}

    @property
    def report_shape(self) -> tuple[int, int]:
        """Rows of numbers in a report, and cells."""
        return self.rows, self.cells.size

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest W and Z."""
        z = (-self.levels, self.levels)
        return (z,) if self.classify else ((0, 1),) if self.counting else ((0, 1), z)

    def unbiased(self, power: int) -> Floats:
        """A vector report has scores for each number: see `value_scores`."""
        raise Unsupported(VECTORS)

    def privatize(self, values: Any, responses: Any = None) -> Reports:
        """Private reports, drawn from the operating system's entropy.

        They come in the order of the points, which can give answers away where that order means
        anything: see `Mechanism.privatize`.

        Parameters
        ----------
        values
            X, one row a respondent; or X and y together.
        responses
            y, one number a respondent; -1 or 1 where this partition classifies.
        """
        return super().privatize(_paired(values, responses))

    def simulate(self, values: Any, responses: Any = None, *, seed: int) -> Reports:
        """Repeatable reports with the same law, stamped as simulated. Not private."""
        return super().simulate(_paired(values, responses), seed=seed)

    def stream(self, points: Any, responses: Any = None) -> Iterator[Reports]:
        """Like `simulate`, in batches that `CellSums.of` adds up in bounded memory."""
        # Checked at the call, not when the first batch is asked for.
        indices, entropy = self.index(_paired(points, responses)), SystemEntropy()
        self.gate(indices)
        return (
            Reports(self.draw(indices[start : start + self.batch], entropy), self, simulated=False)
            for start in range(0, len(indices), self.batch)
        )

    @property
    def batch(self) -> int:
        """Respondents whose reports are drawn at a time."""
        return max(1, BATCH // (self.rows * self.cells.size))

    @_checks.steady
    def index(self, values: Any) -> Numbers:
        """Cell numbers, -1 outside, and responses in units of 2**-53 levels above -J.

        Takes points and responses together; a single response is one respondent. A response is
        known to 2**-51 of the bound. This is the last place where a float may appear.
        """
        if self.counting:
            cell = self.cells.index(_alone(values))
            return np.stack([cell, np.zeros_like(cell)], axis=1)
        points, responses = _together(values)
        cell = self.cells.index(points)
        y = _checks.vector(responses=responses)
        if y.size != cell.size:
            raise InvalidInput("a response for each point", f"{y.size} for {cell.size} points")
        if self.classify and not (np.abs(y) == 1).all():
            at = int(np.flatnonzero(np.abs(y) != 1)[0])
            raise InvalidInput("labels -1 and 1", f"another number at position {at}")
        place = (np.clip(y, -self.limit, self.limit) / self.limit + 1) * self.levels
        below = np.clip(np.floor(place), 0, 2 * self.levels)
        part = np.clip((place - below) * 2.0**BITS, 0, 2**BITS - 1).astype(np.int64)
        return np.stack([cell, (below.astype(np.int64) << BITS) + part], axis=1)

    def gate(self, indices: Any) -> None:
        """Refuse cells and responses out of range: they would get too little noise."""
        if indices.dtype.kind != "i" or indices.ndim != 2 or indices.shape[1] != 2:
            raise InvalidInput(
                "a whole cell and a whole response for each respondent", "numbers with a fraction"
            )
        cell, response = indices[:, 0], indices[:, 1]
        if cell.size and not (cell.min() >= -1 and cell.max() < self.cells.size):
            raise InvalidInput(
                f"cells from -1 to {self.cells.size - 1}", "cells outside that range"
            )
        top = 2 * self.levels
        if response.size and not (response.min() >= 0 and response.max() <= top << BITS):
            raise InvalidInput(f"responses from level 0 to {top}", "responses outside that range")

    def blank(self, indices: Any) -> Any:
        """A small number for each row and cell of each report."""
        return np.empty((len(indices), self.rows, self.cells.size), dtype=np.int8)

    def levels_of(self, indices: Numbers, entropy: Entropy) -> Numbers:
        """Responses rounded at random to the level below or above: 0 .. 2 J, with their mean."""
        response = indices[:, 1]
        words = (entropy.words(len(indices), 64) >> np.uint64(64 - BITS)).astype(np.int64)
        level: Numbers = (response >> BITS) + (words < (response & ((1 << BITS) - 1)))
        return level

    def draw(self, indices: Numbers, entropy: Entropy) -> Small:
        """Reports: integers and fair words only, an independent draw for every number."""
        self.gate(indices)
        reports: Small = self.blank(indices)
        cell = indices[:, 0]
        if self.counting:
            truth = self._spread(cell, np.ones_like(cell), 0)
            reports[:, 0] = _noisy(truth, 1, self.count_sampler, entropy)
            return reports
        level = self.levels_of(indices, entropy)
        if not self.classify:
            truth = self._spread(cell, np.ones_like(cell), 0)
            reports[:, 0] = _noisy(truth, 1, self.count_sampler, entropy)
        truth = self._spread(cell, level, self.levels)
        reports[:, -1] = _noisy(truth, 2 * self.levels, self.value_sampler, entropy) - self.levels
        return reports

    @cached_property
    def count_sampler(self) -> Inversion:
        """Exact draws of the noise of W, shifted by 1."""
        return laplace_sampler(self.law.count_parameter, 1)

    @cached_property
    def value_sampler(self) -> Inversion:
        """Exact draws of the noise of Z, shifted by 2 J."""
        return laplace_sampler(self.law.value_parameter, 2 * self.levels)

    def _spread(self, cell: Numbers, value: Numbers, rest: int) -> Numbers:
        """One row a respondent: the value in its cell, ``rest`` elsewhere."""
        table = np.full((cell.size, self.cells.size + 1), rest, dtype=np.int64)
        # Outside is -1, the last column, which is left behind: the same steps for everybody.
        table[np.arange(cell.size), cell] = value
        return table[:, :-1]

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The noise of W, shifted by 1, and of Z, shifted by 2 J: both are drawn for every cell."""
        law, top = self.law, 2 * self.levels
        found = []
        if law.count_parameter:
            found.append(("W", self.count_sampler, law.count_parameter, 1))
        if law.value_parameter:
            found.append(("Z", self.value_sampler, law.value_parameter, top))
        parts = []
        for name, sampler, parameter, m in found:
            weights = laplace_weights(parameter, m)
            parts.append(Part(name, sampler, (*weights[:0:-1], *weights)))
        return tuple(parts)

    def made_of(self) -> dict[str, Any]:
        """The fields; ``counting`` only where it is so, as in files from before there was any."""
        made = super().made_of()
        return made if self.counting else {key: made[key] for key in made if key != "counting"}

    def stated(self) -> dict[str, Any]:
        """The public parameters that the noise really has."""
        law = self.law
        return {"p": [f"{law.count_parameter}/{ONE}", f"{law.value_parameter}/{ONE}"]}


def _paired(values: Any, responses: Any) -> Any:
    return values if responses is None else (values, responses)


def _alone(values: Any) -> Any:
    """Points without responses."""
    if isinstance(values, tuple) and len(values) == 2 and values[1] is not None:
        raise InvalidInput(
            "points without responses", "both", "A partition that counts takes privatize(X)."
        )
    return values


def _together(values: Any) -> tuple[Any, Any]:
    """Points and responses; a single response has a single point."""
    if not isinstance(values, tuple) or len(values) != 2:
        raise InvalidInput("points and responses", _checks.kind(values), "Write privatize(X, y).")
    points, responses = values
    if isinstance(responses, (int, float, np.number)) and not isinstance(responses, bool):
        return [points], [responses]
    return points, responses


def _absent(given: Any, implied: float) -> bool:
    """Whether an argument was left out, or says what follows anyway."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return given is None or (number and given == implied)


def _noisy(truth: Numbers, m: int, sampler: Inversion, entropy: Entropy) -> Numbers:
    noise = sampler.draw(entropy, truth.size).reshape(truth.shape)
    noise += truth
    noise -= m
    return np.clip(noise, 0, m)

"""The law of a vector report: independent coordinates, few of which depend on the value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.accounting import Spend, checked_epsilon, exact
from confide.errors import InvalidInput, Unsupported
from confide.exact.clamped import ONE, laplace_sampler, laplace_weights
from confide.exact.enclosures import exp_ceiling, log_ceiling
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.inversion import FEW, Inversion
from confide.exact.parts import Part
from confide.lattice import LIMIT, Cells, Numbers
from confide.mechanisms.laws import Clamped, geometric, largest_ratio
from confide.mechanisms.private import Private


@dataclass(frozen=True)
class VectorLaw:
    """Clamped noise on an indicator and on a level, for each of ``size`` cells.

    Parameters
    ----------
    size
        Number of cells.
    levels
        J: responses are whole numbers from -J to J.
    count_parameter, value_parameter
        Numerators over 2**62 of the noises' p; 0 where indicators are not sent.
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
        scores = np.arange(-self.levels, self.levels + 1, dtype=np.float64)
        over = _overshoot(self.value_parameter)
        scores[0] -= over
        scores[-1] += over
        return scores

    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one vector report, over all pairs of inputs.

        Exact. Coordinates are independent, so that the ratios of those that change multiply. Pairs
        are: the same cell and other responses; a cell and none; two cells.
        """
        columns = [self.values.weights(level) for level in range(2 * self.levels + 1)]
        middle = columns[self.levels]
        rows = list(zip(*columns, strict=True))
        enter = largest_ratio((max(row), at) for row, at in zip(rows, middle, strict=True))
        leave = largest_ratio((at, min(row)) for row, at in zip(rows, middle, strict=True))
        if self.count_parameter:
            off, on = (self.counts.weights(index) for index in (0, 1))
            enter *= largest_ratio(zip(on, off, strict=True))
            leave *= largest_ratio(zip(off, on, strict=True))
        apart = enter * leave if self.size > 1 else max(enter, leave)
        return max(self.values.ratio(), apart)


def _overshoot(parameter: int) -> float:
    """Mean of how far noise went past an end, given that it reached it: p/(1-p)."""
    return parameter / (ONE - parameter)


MAX_LEVELS = 127
MAX_CELLS = FEW
"""So that all draws of one respondent take the same path, and in the same time."""
BATCH = 2**20
"""Numbers drawn at a time."""
SPLIT = 0.4


@dataclass(frozen=True)
class Partition(Private):
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
        Privacy loss of the whole report, at most.
    levels
        J. One level has the least noise in nearly every case: a cell's noise comes from the many
        respondents outside it, and random rounding adds to the few inside it only.
    split
        Share of epsilon that W has; Z has the rest. The noise of the estimate nu/mu is smallest
        where (share of W / share of Z)**3 is E m(X)**2 / bound**2; the default suits 0.3 and costs
        at most a seventh more variance from 0.1 to 1.
    classify
        Labels -1 and 1 in place of a response. W is not sent, Z has the whole epsilon.

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
    >>> partition.privatize([0.1, 0.7, 5.0], [0.5, -1.0, 0.2]).values.shape
    (3, 2, 4)
    """

    name: ClassVar[str] = "partition"
    cells: Cells
    bound: float | None = field(default=None, kw_only=True)
    epsilon: float = field(kw_only=True)
    levels: int = field(default=1, kw_only=True)
    split: float | None = field(default=None, kw_only=True)
    classify: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.cells, Cells):
            raise InvalidInput("Cells", _checks.shown(self.cells))
        if self.cells.size > MAX_CELLS:
            raise InvalidInput(
                f"at most {MAX_CELLS} cells",
                str(self.cells.size),
                "Every respondent reports on every cell: suggest_cells says how many n can fill.",
            )
        if not isinstance(self.classify, bool):
            raise InvalidInput("classify=True or False", _checks.shown(self.classify))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        levels = _checks.integer(1, MAX_LEVELS, levels=self.levels)
        if self.classify:
            if levels != 1 or not _absent(self.bound, 1.0) or not _absent(self.split, 0.0):
                raise InvalidInput(
                    "no bound, levels or split with classify=True", "one of them",
                    "Labels are -1 and 1, and the whole epsilon goes to them.",
                )  # fmt: skip
            bound, split = 1.0, 0.0
        else:
            bound = _checks.positive(bound=self.bound)
            given = SPLIT if self.split is None else self.split
            split = _checks.within(0.01, 0.99, split=given)
        if not 1 / LIMIT <= bound <= LIMIT:
            raise InvalidInput(f"a bound from {1 / LIMIT:g} to {LIMIT:g}", f"bound={bound:g}")
        for name, value in (("bound", bound), ("levels", levels), ("split", split)):
            object.__setattr__(self, name, value)
        # Now, and not in the field: an epsilon too small is refused before anybody answers.
        _ = self.law

    @cached_property
    def law(self) -> VectorLaw:
        """The law of the vector report, coordinate by coordinate."""
        # Rationals from here on: the shares add up to epsilon and to nothing above it.
        whole = exact(self.epsilon)
        counts = whole * Fraction(self.split or 0)
        p_w = exp_ceiling(-counts / 2, ONE) if counts else 0
        p_z = exp_ceiling(-(whole - counts) / (2 * self.levels), ONE)
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
        """Numbers sent for each cell: W and Z, or Z alone."""
        return 1 if self.classify else 2

    @property
    def value_scores(self) -> Floats:
        """Scores of Z_j = -J .. J, in units of y, whose mean is the cut response, exactly."""
        return self.law.value_scores * (self.limit / self.levels)

    @cached_property
    def spend(self) -> Spend:
        """The exact loss of the whole report, rounded up to a float: at most epsilon."""
        return Spend(log_ceiling(self.law.ratio()))

    def privatize(self, points: Any, responses: Any) -> CellReports:
        """Private reports, drawn from the operating system's entropy.

        They come in the order of the points, which can give answers away where that order means
        anything: see `Mechanism.privatize`.

        Parameters
        ----------
        points
            X, one row a respondent.
        responses
            y, one number a respondent; -1 or 1 where this partition classifies.
        """
        parts = [part.values for part in self.stream(points, responses)]
        return CellReports(np.concatenate(parts), self, simulated=False)

    def stream(self, points: Any, responses: Any) -> Iterator[CellReports]:
        """The same in batches, so that `CellSums.of` adds them up in bounded memory."""
        # Checked at the call, not when the first batch is asked for.
        batches = self._batches(self._checked(points, responses), SystemEntropy())
        return (CellReports(part, self, simulated=False) for part in batches)

    def simulate(self, points: Any, responses: Any, *, seed: int) -> CellReports:
        """Repeatable reports with the same law, stamped as simulated. Not private."""
        entropy = SeededEntropy(_checks.integer(0, seed=seed))
        parts = list(self._batches(self._checked(points, responses), entropy))
        return CellReports(np.concatenate(parts), self, simulated=True)

    def index(self, points: Any, responses: Any, entropy: Entropy) -> tuple[Numbers, Numbers]:
        """Cell numbers and response levels 0 .. 2 J: the last place where a float may appear."""
        cell, y = self._checked(points, responses)
        return cell, self._rounded(y, entropy)

    def draw(self, cell: Numbers, level: Numbers, entropy: Entropy) -> Small:
        """Reports: integers and fair words only, an independent draw for every number."""
        # The last gate before noise: anything out of range would pass with too little of it.
        top = 2 * self.levels
        if cell.dtype.kind != "i" or level.dtype.kind != "i" or cell.shape != level.shape:
            raise InvalidInput("a whole cell and a whole level for each respondent", "others")
        if cell.size and not (cell.min() >= -1 and cell.max() < self.cells.size):
            raise InvalidInput(f"cells from -1 to {self.cells.size - 1}", "others")
        if level.size and not (level.min() >= 0 and level.max() <= top):
            raise InvalidInput(f"levels from 0 to {top}", "others")
        reports = np.empty((cell.size, self.rows, self.cells.size), dtype=np.int8)
        if not self.classify:
            truth = self._spread(cell, np.ones_like(cell), 0)
            reports[:, 0] = _noisy(truth, 1, self.count_sampler, entropy)
        truth = self._spread(cell, level, self.levels)
        reports[:, -1] = _noisy(truth, top, self.value_sampler, entropy) - self.levels
        return reports

    @cached_property
    def count_sampler(self) -> Inversion:
        """Exact draws of the noise of W, shifted by 1."""
        return laplace_sampler(self.law.count_parameter, 1)

    @cached_property
    def value_sampler(self) -> Inversion:
        """Exact draws of the noise of Z, shifted by 2 J."""
        return laplace_sampler(self.law.value_parameter, 2 * self.levels)

    @_checks.steady
    def _checked(self, points: Any, responses: Any) -> tuple[Numbers, Floats]:
        cell = self.cells.index(points)
        y = _checks.vector(responses=responses)
        if y.size != cell.size:
            raise InvalidInput("a response for each point", f"{y.size} for {cell.size} points")
        if self.classify and not (np.abs(y) == 1).all():
            at = int(np.flatnonzero(np.abs(y) != 1)[0])
            raise InvalidInput("labels -1 and 1", f"another number at position {at}")
        # A copy: batches are drawn later, and the caller's array is the caller's.
        return cell, y.copy()

    @_checks.steady
    def _rounded(self, y: Floats, entropy: Entropy) -> Numbers:
        """Random rounding to the levels next to y, with mean y to 2**-51 of the bound."""
        at = (np.clip(y, -self.limit, self.limit) / self.limit + 1) * self.levels
        below = np.clip(np.floor(at), 0, 2 * self.levels)
        part = np.clip((at - below) * 2.0**53, 0, 2.0**53).astype(np.uint64)
        up = (entropy.words(y.size, 64) >> np.uint64(11)) < part
        level: Numbers = below.astype(np.int64) + up
        return level

    def _batches(self, checked: tuple[Numbers, Floats], entropy: Entropy) -> Iterator[Small]:
        cell, y = checked
        rows = max(1, BATCH // (self.rows * self.cells.size))
        for start in range(0, cell.size, rows):
            part = slice(start, start + rows)
            yield self.draw(cell[part], self._rounded(y[part], entropy), entropy)

    def _spread(self, cell: Numbers, value: Numbers, rest: int) -> Numbers:
        """One row a respondent: the value in its cell, ``rest`` elsewhere."""
        table = np.full((cell.size, self.cells.size + 1), rest, dtype=np.int64)
        # Outside is -1, the last column, which is left behind: the same steps for everybody.
        table[np.arange(cell.size), cell] = value
        return table[:, :-1]

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The noise of W, shifted by 1, and of Z, shifted by 2 J: both are drawn for every cell."""
        law, top = self.law, 2 * self.levels
        found = [("Z", self.value_sampler, law.value_parameter, top)]
        if law.count_parameter:
            found.insert(0, ("W", self.count_sampler, law.count_parameter, 1))
        parts = []
        for name, sampler, parameter, m in found:
            weights = laplace_weights(parameter, m)
            parts.append(Part(name, sampler, (*weights[:0:-1], *weights)))
        return tuple(parts)

    def stated(self) -> dict[str, Any]:
        """The public parameters that the noise really has."""
        law = self.law
        return {"p": [f"{law.count_parameter}/{ONE}", f"{law.value_parameter}/{ONE}"]}


def _absent(given: Any, implied: float) -> bool:
    """Whether an argument was left out, or says what follows anyway."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return given is None or (number and given == implied)


def _noisy(truth: Numbers, m: int, sampler: Inversion, entropy: Entropy) -> Numbers:
    noise = sampler.draw(entropy, truth.size).reshape(truth.shape)
    noise += truth
    noise -= m
    return np.clip(noise, 0, m)


Small = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class CellReports:
    """Vector reports and the partition that made them.

    Parameters
    ----------
    values
        Integers of shape (respondents, 2, cells): W and Z; (respondents, 1, cells) for labels.
    mechanism
        How they were made.
    simulated
        Whether they were drawn from a seed.
    """

    values: Small
    mechanism: Partition
    simulated: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.simulated, bool):
            raise InvalidInput("simulated=True or False", _checks.shown(self.simulated))
        if getattr(self.mechanism, "name", None) != "partition":
            raise InvalidInput("a Partition", _checks.shown(self.mechanism))
        array = _checks.array(values=self.values)
        if array.dtype.kind not in "iu":
            raise InvalidInput("whole numbers as reports", f"an array of type {array.dtype}")
        tail = (self.mechanism.rows, self.mechanism.cells.size)
        if array.ndim != 3 or array.shape[1:] != tail:
            raise InvalidInput(f"reports of shape {('n', *tail)}", f"shape {array.shape}")
        levels = self.mechanism.levels
        ends = [(-levels, levels)] if tail[0] == 1 else [(0, 1), (-levels, levels)]
        for row, (low, high) in enumerate(ends):
            part = array[:, row]
            if part.size and not (part.min() >= low and part.max() <= high):
                raise InvalidInput(
                    f"reports from {low} to {high}",
                    "others",
                    "They are not reports of this partition.",
                )
        # A copy of its own, so that what was checked stays as it was.
        kept = np.array(array, dtype=np.int8)
        kept.flags.writeable = False
        object.__setattr__(self, "values", kept)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        return f"<{len(self)} {kind} reports of {self.mechanism!r}>"

"""Laws: the distribution of a report given an index, and fast products with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._types import Floats, Integers
from confide.errors import Unsupported
from confide.exact.enclosures import exp_floor
from confide.exact.integer_noise import laplace_table, laplace_weights

STEPS = 30
"""Steps of an iteration at most; each keeps a vector."""
PRECISION = 1e-13


def gmres(run: Callable[[Floats], Floats], right: Floats) -> Floats:
    """The best solution of ``run(x) = right`` in a Krylov space of at most `STEPS` dimensions."""
    length = float(np.linalg.norm(right))
    basis = [right / length]
    columns = np.zeros((STEPS + 1, STEPS))
    goal = np.zeros(STEPS + 1)
    goal[0] = length
    for step in range(STEPS):
        new = run(basis[-1])
        # Twice, for what rounding left of the directions that are there already.
        for _ in range(2):
            for at, one in enumerate(basis):
                part = one @ new
                columns[at, step] += part
                new = new - part * one
        columns[step + 1, step] = np.linalg.norm(new)
        seen = slice(None, step + 2), slice(None, step + 1)
        weights = np.linalg.lstsq(columns[seen], goal[: step + 2], rcond=None)[0]
        missed = np.linalg.norm(columns[seen] @ weights - goal[: step + 2])
        if missed <= PRECISION * length or not columns[step + 1, step] > 0:
            break
        basis.append(new / columns[step + 1, step])
    result: Floats = np.sum(
        [weight * one for weight, one in zip(weights, basis, strict=False)], axis=0
    )
    return result


MAX_ENTRIES = 2**26
"""Numbers of a dense law at most: half a gigabyte."""
CHUNK = 2**20


class Law(ABC):
    """Distribution of a report given an index."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""

    @abstractmethod
    def forward(self, masses: Floats) -> Floats:
        """Masses of reports from masses of indices; leading axes are a batch."""

    @abstractmethod
    def adjoint(self, values: Floats) -> Floats:
        """E[values(report) | index]; leading axes are a batch."""

    @abstractmethod
    def weights(self, index: int) -> Sequence[int]:
        """Exact weights of all reports (flattened) given a (flattened) index.

        They have the same total for every index.
        """

    def matrix(self) -> Floats:
        """The law as a dense array, reports by indices; refused where that would be too large."""
        size, reports = math.prod(self.inputs), math.prod(self.outputs)
        if size * reports > MAX_ENTRIES:
            raise Unsupported(
                f"This takes a table of {reports:,} by {size:,} numbers, more than the "
                f"{MAX_ENTRIES:,} that confide will hold: take fewer cells or categories."
            )
        table = np.empty((size, reports))
        rows = max(1, CHUNK // reports)
        for start in range(0, size, rows):
            some = np.zeros((min(rows, size - start), size))
            np.fill_diagonal(some[:, start:], 1.0)
            part = self.forward(some.reshape(-1, *self.inputs))
            table[start : start + rows] = part.reshape(-1, reports)
        return table.T

    def ratio(self) -> Fraction:
        """The largest ratio of two probabilities of the same report, over all pairs of indices."""
        columns = [self.weights(index) for index in range(math.prod(self.inputs))]
        return largest_ratio((max(row), min(row)) for row in zip(*columns, strict=True))

    def divergence(self, epsilon: float) -> Fraction:
        """The smallest delta with which epsilon holds for all pairs of indices, rounded up."""
        size = math.prod(self.inputs)
        return largest([self.weights(index) for index in range(size)], epsilon)


def largest_ratio(pairs: Iterable[tuple[int, int]]) -> Fraction:
    """The largest of the given (highest, lowest) pairs, as a ratio."""
    worst = (1, 1)
    for high, low in pairs:
        if low == 0:
            raise ZeroDivisionError("a report that some index cannot give has no finite ratio")
        if high * worst[1] > worst[0] * low:
            worst = (high, low)
    return Fraction(*worst)


@dataclass(frozen=True, eq=False)
class Clamped(Law):
    """Symmetric noise added to an index in 0 .. m, the sum clamped to 0 .. m.

    Parameters
    ----------
    table
        Masses of noise 0 .. m, the last one holding the tail beyond it too.
    exact
        The same as integers over a common total; called only when they are asked for.
    """

    table: Floats
    exact: Callable[[], Sequence[int]]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return (self.table.size,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return (self.table.size,)

    @cached_property
    def _tails(self) -> Floats:
        """P(noise >= k) for k = 0 .. m; the one at 0 is taken so that columns sum to one."""
        return self.table[::-1].cumsum()[::-1]

    @cached_property
    def _spectrum(self) -> tuple[int, Floats]:
        m = self.table.size - 1
        # Circular convolution: wrapped terms fall outside 0 .. m when the period is above 2 m.
        period = fast_length(2 * m + 1)
        kernel = np.zeros(period)
        kernel[: m + 1] = self.table
        kernel[period - m :] = self.table[:0:-1]
        return period, np.fft.rfft(kernel).real

    def _convolve(self, values: Floats) -> Floats:
        period, spectrum = self._spectrum
        size = self.table.size
        return np.fft.irfft(np.fft.rfft(values, period) * spectrum, period)[..., :size]

    def forward(self, masses: Floats) -> Floats:
        """Convolution inside, tail sums at the two ends."""
        reports = self._convolve(masses)
        reports[..., 0] = masses @ self._tails
        reports[..., -1] = masses @ self._tails[::-1]
        return reports

    def adjoint(self, values: Floats) -> Floats:
        """Convolution of the inner values, plus the ends through their tails."""
        inner = values.copy()
        inner[..., 0] = inner[..., -1] = 0.0
        ends = values[..., :1] * self._tails + values[..., -1:] * self._tails[::-1]
        return self._convolve(inner) + ends

    def solve(self, target: Floats) -> Floats | None:
        """Scores of reports whose expectation given each index is ``target``, by GMRES.

        Preconditioned with the circulant matrix of the same noise, 5 to 20 steps do where the
        noise's characteristic function has no zeros. None where its steps do not.
        """
        size = self.table.size
        half = size // 2
        kernel = np.zeros(size)
        kernel[: half + 1] = self.table[: half + 1]
        kernel[size - half :] = self.table[half:0:-1]
        spectrum = np.fft.rfft(kernel).real
        least = PRECISION * np.abs(spectrum).max()
        spectrum = np.where(np.abs(spectrum) < least, least, spectrum)

        def near(values: Floats) -> Floats:
            return np.fft.irfft(np.fft.rfft(values) / spectrum, size)

        scores = gmres(lambda values: near(self.adjoint(values)), near(target))
        missed = np.abs(self.adjoint(scores) - target).max()
        return scores if missed <= 1e-9 * np.abs(target).max() else None

    def weights(self, index: int) -> Sequence[int]:
        """Exact weights of the reports 0 .. m."""
        table, tails = self._exact
        m = len(table) - 1
        inner = [table[abs(report - index)] for report in range(1, m)]
        return [tails[index], *inner, tails[m - index]]

    def ratio(self) -> Fraction:
        """The largest ratio: rows are parts of one table, so the longest row decides."""
        table, tails = self._exact
        inner = table[:-1]
        rows = [(max(inner), min(inner))] if len(inner) > 1 else []
        return largest_ratio([*rows, (tails[0], tails[-1])])

    def divergence(self, epsilon: float) -> Fraction:
        """The divergence of this law, computed one shift of the table at a time."""
        return clamped(*self._exact, epsilon)

    @cached_property
    def _exact(self) -> tuple[Sequence[int], list[int]]:
        table = self.exact()
        return table, list(accumulate(reversed(table)))[::-1]


LARGE = 512
"""From here on the exact weights of a geometric law are integers of many thousand digits."""


@dataclass(frozen=True, eq=False)
class Geometric(Clamped):
    """Clamped noise (1-p)/(1+p) p**|k|, with p = parameter / 2**62."""

    parameter: int


def geometric(parameter: int, m: int) -> Geometric:
    """Discrete Laplace noise on 0 .. m, clamped."""
    return Geometric(laplace_table(parameter, m), lambda: laplace_weights(parameter, m), parameter)


@dataclass(frozen=True)
class Band(Law):
    """Weight ``near`` on the 2 w + 1 reports nearest to the index, ``far`` on the others.

    Indices are 0 .. size-1 and reports 0 .. size-1+2w; report r is near to index i when
    i <= r <= i + 2w. With w = 0 this is randomized response.
    """

    size: int
    reach: int
    near: int
    far: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return (self.size,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return (self.size + 2 * self.reach,)

    @property
    def total(self) -> int:
        """Sum of the weights of all reports, the same for every index."""
        return (2 * self.reach + 1) * self.near + (self.size - 1) * self.far

    def _mix(self, values: Floats, near: Floats) -> Floats:
        low, gap = self.far / self.total, (self.near - self.far) / self.total
        mixed: Floats = low * values.sum(-1, keepdims=True) + gap * near
        return mixed

    def forward(self, masses: Floats) -> Floats:
        """Window sums as differences of cumulative sums."""
        return self._mix(masses, spread_out(masses, self.reach))

    def adjoint(self, values: Floats) -> Floats:
        """Window sums as differences of cumulative sums."""
        return self._mix(values, gathered(values, self.reach))

    def weights(self, index: int) -> Sequence[int]:
        """Exact weights of the reports."""
        near = [self.near] * (2 * self.reach + 1)
        return [self.far] * index + near + [self.far] * (self.size - 1 - index)

    def ratio(self) -> Fraction:
        """The ratio of a near and a far report: some report is near to one index, far from another.

        Weights have one total, so the ratio of weights is that of probabilities.
        """
        return Fraction(self.near, self.far) if self.size > 1 else Fraction(1)


def spread_out(masses: Floats, reach: int) -> Floats:
    """Sums over the indices from which each report is near, along the last axis."""
    size, width = masses.shape[-1], 2 * reach
    cumulative = np.zeros((*masses.shape[:-1], size + 2 * width + 1))
    np.cumsum(masses, axis=-1, out=cumulative[..., width + 1 : width + 1 + size])
    cumulative[..., width + 1 + size :] = cumulative[..., [width + size]]
    near: Floats = cumulative[..., width + 1 :] - cumulative[..., : size + width]
    return near


def gathered(values: Floats, reach: int) -> Floats:
    """Sums over the reports near to each index, along the last axis."""
    cumulative = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=cumulative[..., 1:])
    width = 2 * reach + 1
    near: Floats = cumulative[..., width:] - cumulative[..., :-width]
    return near


@dataclass(frozen=True)
class Declinable(Law):
    """A `Band` with one more index, "declined", and one more report, a symbol for it.

    Indices 0 .. size-1 are cells and index size is "declined". Reports 0 .. size-1+2w are those of
    the band, and report size+2w is the symbol, which counts as 2 w + 1 cells: given a cell it
    weighs ``far`` (2 w + 1), given "declined" it weighs ``near`` (2 w + 1), and then every other
    report weighs ``far``. Both have the total (2 w + 1) near + (size - 1) far + (2 w + 1) far, so
    that no report is more than near / far times as likely under one index as under another. With
    w = 0 this is randomized response with one more category.

    Examples
    --------
    >>> law = Declinable(size=3, reach=1, near=5, far=2)
    >>> law.weights(0), law.weights(3)
    ([5, 5, 5, 2, 2, 6], [2, 2, 2, 2, 2, 15])
    """

    size: int
    reach: int
    near: int
    far: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return (self.size + 1,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return (self.size + 2 * self.reach + 1,)

    @property
    def symbol(self) -> int:
        """Cells that the symbol counts as."""
        return 2 * self.reach + 1

    @property
    def total(self) -> int:
        """Sum of the weights of all reports, the same for every index."""
        return self.symbol * self.near + (self.size - 1 + self.symbol) * self.far

    def forward(self, masses: Floats) -> Floats:
        """The band on the cells; the symbol from the share that declined."""
        low, gap = self.far / self.total, (self.near - self.far) / self.total
        near = [spread_out(masses[..., :-1], self.reach), masses[..., -1:]]
        reports: Floats = low * masses.sum(-1, keepdims=True) + gap * np.concatenate(near, axis=-1)
        reports[..., -1] *= self.symbol
        return reports

    def adjoint(self, values: Floats) -> Floats:
        """The band on the cells, the symbol counted as so many."""
        low, gap = self.far / self.total, (self.near - self.far) / self.total
        cells, symbol = values[..., :-1], self.symbol * values[..., -1:]
        near = [gathered(cells, self.reach), symbol]
        base = cells.sum(-1, keepdims=True) + symbol
        means: Floats = low * base + gap * np.concatenate(near, axis=-1)
        return means

    def weights(self, index: int) -> Sequence[int]:
        """Exact weights of the reports."""
        if index == self.size:
            return [self.far] * (self.size + 2 * self.reach) + [self.symbol * self.near]
        near = [self.near] * (2 * self.reach + 1)
        cells = [self.far] * index + near + [self.far] * (self.size - 1 - index)
        return [*cells, self.symbol * self.far]

    def ratio(self) -> Fraction:
        """The largest ratio: of the declining symbol, or of a near and a far report."""
        return Fraction(self.near, self.far)


@dataclass(frozen=True)
class Dense(Law):
    """A small law as a table of integers, one tuple of report weights for each index."""

    columns: tuple[tuple[int, ...], ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return (len(self.columns),)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return (len(self.columns[0]),)

    @cached_property
    def _matrix(self) -> Floats:
        return np.array([[w / sum(column) for w in column] for column in self.columns])

    def forward(self, masses: Floats) -> Floats:
        """Product with the dense matrix."""
        return masses @ self._matrix

    def adjoint(self, values: Floats) -> Floats:
        """Product with the transposed matrix."""
        return values @ self._matrix.T

    def weights(self, index: int) -> Sequence[int]:
        """Exact weights of the reports."""
        return self.columns[index]


@dataclass(frozen=True)
class Product(Law):
    """Independent reports of several questions, one axis each."""

    laws: tuple[Law, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return tuple(size for law in self.laws for size in law.inputs)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return tuple(size for law in self.laws for size in law.outputs)

    def _each(self, values: Floats, name: str) -> Floats:
        for axis, law in enumerate(self.laws, start=-len(self.laws)):
            values = np.moveaxis(getattr(law, name)(np.moveaxis(values, axis, -1)), -1, axis)
        return values

    def forward(self, masses: Floats) -> Floats:
        """One axis after another."""
        return self._each(masses, "forward")

    def adjoint(self, values: Floats) -> Floats:
        """One axis after another."""
        return self._each(values, "adjoint")

    def weights(self, index: int) -> Sequence[int]:
        """Products of the parts' weights."""
        at = np.unravel_index(index, self.inputs)
        parts = [law.weights(int(i)) for law, i in zip(self.laws, at, strict=True)]
        return [math.prod(combination) for combination in product(*parts)]

    def ratio(self) -> Fraction:
        """Ratios of independent parts multiply."""
        return math.prod((law.ratio() for law in self.laws), start=Fraction(1))


@dataclass(frozen=True)
class Grouped(Law):
    """Randomized response on a public function of two indices.

    Each index is put into a class of its axis, both classes together decide an outcome, and the
    report is the outcome with weight ``near``, every other outcome with weight ``far``.

    Parameters
    ----------
    classes
        For each of the two axes the class of every index.
    outcomes
        The outcome for each class of the first axis (a row) and of the second (a column).
    response
        Randomized response on the outcomes.

    Examples
    --------
    >>> law = Grouped(((0, 0, 1), (0, 1)), ((0, 1), (1, 0)), Band(2, 0, 3, 1))
    >>> law.inputs, law.weights(0), law.weights(1)
    ((3, 2), [3, 1], [1, 3])
    """

    classes: tuple[tuple[int, ...], tuple[int, ...]]
    outcomes: tuple[tuple[int, ...], ...]
    response: Band

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the indices."""
        return tuple(len(axis) for axis in self.classes)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports."""
        return self.response.outputs

    @cached_property
    def _tables(self) -> tuple[Integers, Integers, Integers]:
        first, second = (np.array(axis) for axis in self.classes)
        return first, second, np.array(self.outcomes)

    @cached_property
    def gathering(self) -> tuple[Floats, Floats, Floats]:
        """Matrices that add masses of indices up to classes, and classes to outcomes."""
        first, second, outcomes = self._tables
        rows, columns = outcomes.shape
        return (
            np.eye(rows)[first],
            np.eye(columns)[second],
            np.eye(self.response.size)[outcomes.ravel()],
        )

    def forward(self, masses: Floats) -> Floats:
        """Masses of classes, of outcomes, of reports."""
        rows, columns, outcomes = self.gathering
        together = rows.T @ masses @ columns
        flat = together.reshape(*together.shape[:-2], -1)
        return self.response.forward(flat @ outcomes)

    def adjoint(self, values: Floats) -> Floats:
        """The expectation given the outcome of each pair of indices."""
        first, second, outcomes = self._tables
        means = self.response.adjoint(values)
        found: Floats = means[..., outcomes[np.ix_(first, second)]]
        return found

    def weights(self, index: int) -> Sequence[int]:
        """Exact weights of the reports given a pair of indices, numbered row by row."""
        first, second = divmod(index, len(self.classes[1]))
        outcome = self.outcomes[self.classes[0][first]][self.classes[1][second]]
        return self.response.weights(outcome)

    def ratio(self) -> Fraction:
        """The same as for any law: weights depend on the outcomes, and all that occur are met."""
        met = {
            self.outcomes[first][second]
            for first in set(self.classes[0])
            for second in set(self.classes[1])
        }
        columns = [self.response.weights(outcome) for outcome in sorted(met)]
        return largest_ratio((max(row), min(row)) for row in zip(*columns, strict=True))


def fast_length(n: int) -> int:
    """The smallest 2**a, 3 * 2**a or 5 * 2**a that is at least n."""
    return min(base << (-(-n // base) - 1).bit_length() for base in (1, 3, 5))


Weights = npt.NDArray[Any]

BITS = 64


def largest(columns: Sequence[Sequence[int]], epsilon: float) -> Fraction:
    """The divergence of a small law, from the weights of its reports given each index."""
    factor = exp_floor(Fraction(epsilon), 1 << BITS)
    worst = max(
        sum(max(0, (a << BITS) - factor * b) for a, b in zip(one, other, strict=True))
        for one in columns
        for other in columns
    )
    return Fraction(worst, sum(columns[0]) << BITS)


def clamped(table: Sequence[int], tails: Sequence[int], epsilon: float) -> Fraction:
    """The divergence for symmetric noise that is clamped to 0 .. m.

    The reports inside see one difference of shifted tables, so that for each shift running sums
    serve all pairs of indices. A pass in floats first tells which shifts can hold the maximum.

    Parameters
    ----------
    table
        Weights of noise 0 .. m, the last one holding the tail.
    tails
        Weights of noise of at least 0 .. m.
    """
    factor = exp_floor(Fraction(epsilon), 1 << BITS)
    total = tails[0] + tails[1]
    m = len(table) - 1
    shares, ends = (np.array([w / total for w in weights]) for weights in (table, tails))
    size = factor / 2**BITS
    rough = _by_shift(shares, ends, shares * size, ends * size, range(1, m + 1))
    # Sums of at most 2 m + 2 terms, none above one: far more than floats can be off by.
    margin = 16 * (m + 2) * 2.0**-52
    shifts = [s for s, value in enumerate(rough, start=1) if value >= max(rough) - margin]
    whole, over = (np.array(weights, dtype=object) for weights in (table, tails))
    exact = _by_shift(whole << BITS, over << BITS, whole * factor, over * factor, shifts)
    return Fraction(max(exact), total << BITS)


def _by_shift(
    table: Weights, tails: Weights, scaled: Weights, scaled_tails: Weights, shifts: Iterable[int]
) -> list[Any]:
    """The largest divergence between the indices i and i + s, for each shift s.

    Pairs in the other order are mirror images of these.
    """
    m = table.size - 1
    near = np.concatenate([table[:0:-1], table])  # noise -m .. m
    far = np.concatenate([scaled[:0:-1], scaled])
    result = []
    for s in shifts:
        i = np.arange(m - s + 1)
        # Noise k = r - i at the report r of index i is noise k - s at index i + s.
        k = np.arange(1 - (m - s), m) + m
        running = np.zeros(k.size + 1, dtype=table.dtype)
        np.cumsum(np.maximum(near[k] - far[k - s], 0), out=running[1:])
        start = m - s - i  # where k = 1 - i lies
        inner = running[start + m - 1] - running[start]
        low = np.maximum(tails[i] - scaled_tails[i + s], 0)
        high = np.maximum(tails[m - i] - scaled_tails[m - i - s], 0)
        result.append(max((inner + low + high).tolist()))
    return result

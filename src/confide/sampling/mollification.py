"""Mollification: the law nearest to a private one among all that stay near a public one.

Husain, Balle, Cranko and Nock (2020), equation (8), on finitely many cells. With a public
reference Q and a private P the mollified law is

    R(x) = min(max(Q(x) e**(-epsilon/2), P(x)/C), Q(x) e**(epsilon/2)),   sum of R = 1,

the law of least KL(P, R) in the band Q e**(-epsilon/2) .. Q e**(epsilon/2). Any two laws in the
band differ by a factor of at most e**epsilon, so one draw from R costs epsilon whatever P is.
Floats choose R only. What is drawn from are integers between public bounds, with a constant total.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.accounting.spend import checked_epsilon
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import Entropy
from confide.lattice import CHUNK
from confide.mechanisms.laws import largest_ratio

Weights = npt.NDArray[np.int64]

BITS = 62
TOTAL = 2**BITS
"""The total of all weights: a power of two, so that one word makes one draw, without rejection."""
MARGIN = Fraction(1, 2**40)
"""Share of epsilon that is left unused, so that k times epsilon covers the loss of k draws however
that product is rounded, or read as it is written down."""
FAR = 1e6
"""Log ratios beyond this are as good as infinite."""
PRECISION = 128


def mollify(log_ratio: Floats, reference: Floats, epsilon: float) -> Floats:
    """Equation (8) in floats, from log(P/Q) up to a constant.

    Parameters
    ----------
    log_ratio
        One number a cell. Minus infinity stands for P = 0, and NaN for no opinion: 0.
    reference
        Q: positive masses that sum to one.
    epsilon
        Width of the band on the log scale.

    Notes
    -----
    Where P has too small a support, Q(supp P) < 1/(1 + e**(epsilon/2)), no C exists as printed: the
    support is at its upper bound and the cells with P = 0 share the rest, in proportion to Q.
    Dividing by the sum instead would leave the band. That solution is the limit of small positive
    P, so that empty cells need no case of their own here.
    """
    half = epsilon / 2
    scores = finite_scores(log_ratio, epsilon)
    low, high = reference * np.exp(-half), reference * np.exp(half)

    def sums(c: float) -> float:
        return float((reference * np.exp(np.clip(scores - c, -half, half))).sum())

    # The sum falls as c = log C grows, and has kinks where a cell enters or leaves the band. Each
    # is summed anew: running sums lose the small terms where P spans many decades.
    kinks = np.sort(np.concatenate([scores - half, scores + half]))
    first, last = 0, kinks.size - 1
    while last - first > 1:
        middle = (first + last) // 2
        if sums(kinks[middle]) >= 1:
            first = middle
        else:
            last = middle
    offset = scores - (kinks[first] + kinks[last]) / 2
    result: Floats = reference * np.exp(np.clip(offset, -half, half))
    free = np.abs(offset) < half
    inner = float(result[free].sum())
    if inner > 0:
        result[free] *= max(0.0, 1 - float(result[~free].sum())) / inner
    result = np.clip(result, low, high)
    for _ in range(3):
        # What rounding left over goes where there is room: in the band, never by division.
        missing = 1 - float(result.sum())
        room = high - result if missing > 0 else result - low
        whole = float(room.sum())
        if whole > 0:
            result = np.clip(result + missing * (room / whole), low, high)
    return result


def finite_scores(log_ratio: Floats, epsilon: float) -> Floats:
    """Scores with infinities just beyond the reach of the finite ones, which gives the limit."""
    scores = np.array(log_ratio, dtype=np.float64)
    scores[np.isnan(scores)] = 0.0
    finite = np.isfinite(scores)
    scores[finite] = np.clip(scores[finite], -FAR, FAR)
    inner = scores[finite] if finite.any() else np.zeros(1)
    scores[scores == -np.inf] = inner.min() - 2 * epsilon - 1
    scores[scores == np.inf] = inner.max() + 2 * epsilon + 1
    return scores


@dataclass(frozen=True, eq=False)
class Mollification:
    """Public bounds of integer weights around a reference, and exact draws between them.

    Parameters
    ----------
    reference
        Positive public masses, one for each cell; scaled to sum to one.
    epsilon
        Privacy loss of one draw, at most.

    Notes
    -----
    Formal guarantee: with total S = 2**62 the weight of cell x is always one of L .. U, with
    L = max(1, ceil(S Q(x) e**(-epsilon/2))) and U <= L e**epsilon by integer enclosure, and the
    total is always S. So no two inputs, whatever they are, give a cell probabilities whose ratio is
    above e**epsilon. A draw takes one word and compares it with every cell's running sum, so that
    neither its number of steps nor its reads depend on the weights.

    Examples
    --------
    >>> from confide.exact.entropy import SystemEntropy
    >>> band = Mollification(np.full(4, 0.25), epsilon=1.0)
    >>> weights = band.weights(np.array([0.0, -np.inf, 2.0, np.nan]))
    >>> int(weights.sum()) == TOTAL
    True
    >>> len(band.draw(weights, SystemEntropy(), 3))
    3
    """

    reference: Floats
    epsilon: float = field(kw_only=True)

    def __post_init__(self) -> None:
        epsilon = checked_epsilon(self.epsilon)
        masses = np.array(self.reference, dtype=np.float64)
        if masses.ndim != 1 or masses.size < 2:
            raise InvalidInput("a reference of two or more masses", f"shape {masses.shape}")
        if not (np.isfinite(masses).all() and masses.min() > 0):
            raise InvalidInput(
                "positive masses in the reference", "one that is zero, negative or infinite"
            )
        masses /= masses.max()
        masses /= masses.sum()
        if not masses.min() > 0:
            raise InvalidInput(
                "masses of a reference of similar size",
                "one that rounds to zero beside the largest",
            )
        masses.flags.writeable = False
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "reference", masses)
        # Now, and not on the device: a band that leaves nothing to choose is refused at once.
        lower, upper = self._bounds
        if not (sum(lower.tolist()) <= TOTAL <= sum(upper.tolist()) and (lower < upper).any()):
            raise InvalidInput(
                "epsilon large enough to leave a trace of the records",
                f"epsilon={epsilon:g} on {masses.size} cells",
            )

    @property
    def lower(self) -> Weights:
        """The least weight of each cell."""
        return self._bounds[0]

    @property
    def upper(self) -> Weights:
        """The largest weight of each cell."""
        return self._bounds[1]

    @cached_property
    def _bounds(self) -> tuple[Weights, Weights]:
        half = self.epsilon / 2
        scaled = self.reference * TOTAL
        lower = np.maximum(np.ceil(scaled * np.exp(-half)), 1).astype(np.int64)
        wanted = np.minimum(np.floor(scaled * np.exp(half)), TOTAL).astype(np.int64)
        # The floats above are good for accuracy only. Privacy rests on the next line.
        known, place = np.unique(lower, return_inverse=True)
        factor, _ = exp_enclosure(Fraction(self.epsilon) * (1 - MARGIN), PRECISION)
        most = [min(TOTAL, (int(least) * factor) >> PRECISION) for least in known]
        upper = np.minimum(wanted, np.array(most, dtype=np.int64)[place])
        upper = np.maximum(upper, lower)
        lower.flags.writeable = upper.flags.writeable = False
        return lower, upper

    def ratio(self) -> Fraction:
        """The largest ratio of two weights of the same cell, over all inputs whatsoever."""
        known, place = np.unique(self.lower, return_inverse=True)
        most = np.zeros_like(known)
        np.maximum.at(most, place, self.upper)
        return largest_ratio(zip(most.tolist(), known.tolist(), strict=True))

    def weights(self, log_ratio: npt.ArrayLike) -> Weights:
        """Integer weights of the mollified law, from log(P/Q) up to a constant."""
        scores = np.asarray(log_ratio, dtype=np.float64)
        if scores.shape != self.reference.shape:
            raise InvalidInput(f"{self.reference.size} log ratios", f"shape {scores.shape}")
        lower, upper = self._bounds
        # Ignore numpy's error settings: a failure here would depend on the records.
        with np.errstate(all="ignore"):
            ideal = mollify(scores, self.reference, self.epsilon) * TOTAL
            weights: Weights = np.clip(np.rint(ideal).astype(np.int64), lower, upper)
        missing = TOTAL - int(weights.sum())
        room = upper - weights if missing > 0 else weights - lower
        # No more than is needed of each, so that the running sums stay far from overflow.
        room = np.minimum(room, abs(missing))
        before = np.cumsum(room) - room
        step = np.clip(abs(missing) - before, 0, room)
        weights += step if missing > 0 else -step
        return weights

    def draw(self, weights: Weights, entropy: Entropy, k: int) -> Weights:
        """Numbers of ``k`` cells, drawn independently with the given weights, exactly."""
        lower, upper = self._bounds
        # The last check: never draw from weights outside the band.
        if weights.dtype != np.int64 or weights.shape != lower.shape:
            raise InvalidInput(
                "a whole weight for every cell", "fractions, or another number of weights"
            )
        cumulative = np.cumsum(weights)
        inside = (lower <= weights) & (weights <= upper)
        # No weight is above the total, so that a sum that overflows leaves this range first.
        inside &= (cumulative > 0) & (cumulative <= TOTAL)
        if not (inside.all() and int(cumulative[-1]) == TOTAL):
            raise InvalidInput(f"weights within their bounds that sum to {TOTAL}", "other weights")
        words = (entropy.words(k, 64) >> np.uint64(64 - BITS)).astype(np.int64)
        numbers = np.empty(k, dtype=np.int64)
        step = max(1, CHUNK // cumulative.size)
        for start in range(0, k, step):
            part = slice(start, start + step)
            # Every running sum, not a search: the same steps whatever the weights and the outcome.
            (cumulative <= words[part, None]).sum(axis=1, dtype=np.int64, out=numbers[part])
        return numbers

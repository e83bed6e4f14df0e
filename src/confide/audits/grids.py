"""The real draw code, fed a deterministic grid of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.audits.findings import Finding
from confide.audits.losses import noises_of
from confide.discrete import ONE
from confide.errors import InvalidInput
from confide.mechanisms import Joint, Mechanism, Partition
from confide.mechanisms.laws import Law
from confide.mechanisms.mollification import TOTAL, Mollification
from confide.mechanisms.samples import Sampler
from confide.randomness import Entropy, Words
from confide.releases.base import Recipe
from confide.releases.noise import DiscreteLaplace

Floats = npt.NDArray[np.float64]

SLACK = 1e-6
FEW = 12
"""Laws of at most so many inputs are run for each of them."""
UNSEEN = (
    "It replaces the source of randomness, so that it cannot see a bad source, and it looks at "
    "one output at a time."
)


class Grid(Entropy):
    """Deterministic words: the midpoints of n equal parts of [0, 1), one for each draw."""

    def words(self, n: int, bits: int) -> Words:
        """The same n words at every call."""
        step = 2**bits // n
        return np.arange(n, dtype=np.uint64) * np.uint64(step) + np.uint64(step // 2)


def grid(subject: Any, *, n: int = 2**17, indices: Sequence[int] | None = None) -> Finding:
    """Counts of the draw code on a grid of words: each within 1 of n times its probability.

    There is no chance in it: no false alarm is possible, and noise that is a thousandth short is
    caught. Where one word makes one output the output is looked at, else every part that is made
    from one word.

    Parameters
    ----------
    subject
        A mechanism, a partition, a sampler, or the recipe of a release.
    n
        How many words, a power of two.
    indices
        Inputs to run; by default the ends and the middle, or all of a few.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> grid(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0)).holds
    True
    """
    n = _validate.integer(2, n=n)
    worst = {name: float(gap) for name, gap in _gaps(subject, n, indices)}
    most = max(worst.values(), default=0.0)
    return Finding(
        "grid", repr(subject), subject.spend.epsilon,
        holds=most <= 1 + SLACK,
        unseen=UNSEEN if worst else f"Nothing here is made of one word. {UNSEEN}",
        evidence={"words": n, "parts": len(worst), "largest_deviation": most},
    )  # fmt: skip


def deviation(mechanism: Mechanism, index: int, n: int) -> float:
    """Largest |count - n pmf| of the real draw code fed with the grid."""
    law = mechanism.law
    reports = mechanism.draw(np.full(n, index, dtype=np.int32), Grid())
    return _apart(reports, pmf_of(law, (index,)))


def pmf_of(law: Law, place: tuple[int, ...]) -> Floats:
    """Probabilities of all reports of one input, flattened."""
    masses = np.zeros(law.inputs)
    masses[place] = 1.0
    return np.maximum(law.forward(masses).ravel(), 0.0)


def _apart(outcomes: npt.NDArray[Any], pmf: Floats) -> float:
    n = outcomes.size
    if outcomes.dtype.kind not in "iu" or outcomes.min() < 0 or outcomes.max() >= pmf.size:
        return float(n)
    return float(np.abs(np.bincount(outcomes, minlength=pmf.size) - n * pmf).max())


def _gaps(
    subject: Any, n: int, indices: Sequence[int] | None = None
) -> Iterator[tuple[str, float]]:
    if isinstance(subject, Joint):
        for name, part in subject.parts.items():
            yield from ((f"{name}, {where}", gap) for where, gap in _gaps(part, n, indices))
    elif isinstance(subject, Mechanism):
        for at in inputs_of(subject.law.inputs[0]) if indices is None else indices:
            yield f"input {at}", deviation(subject, at, n)
    elif isinstance(subject, Partition):
        yield from _partition(subject, n)
    elif isinstance(subject, Recipe):
        noises = [each for each in noises_of(subject, 1000) if isinstance(each, DiscreteLaplace)]
        for at, noise in enumerate(noises):
            yield from ((f"noise {at}, {where}", gap) for where, gap in _laplace(noise, n))
    elif isinstance(subject, Sampler):
        yield from _sampler(subject, n, indices)
    else:
        raise InvalidInput(
            "a mechanism, a sampler or the recipe of a release", _validate.shown(subject)
        )


def _sampler(
    subject: Sampler, n: int, indices: Sequence[int] | None
) -> Iterator[tuple[str, float]]:
    if isinstance(band := getattr(subject, "band", None), Mollification):
        for at, scores in enumerate(_opinions(band.reference.size)):
            weights = band.weights(scores)
            pmf = weights.astype(np.float64) / TOTAL
            yield f"weights {at}", _apart(band.draw(weights, Grid(), n), pmf)
    if isinstance(inner := getattr(subject, "mechanism", None), Mechanism):
        # The randomizer inside makes the sample; which record it gets does not matter.
        yield from _gaps(inner, n, indices)


def inputs_of(size: int) -> list[int]:
    """All inputs of a few; else both ends, their neighbours and the middle."""
    return list(range(size)) if size <= FEW else [0, 1, size // 2, size - 2, size - 1]


def _opinions(size: int) -> list[Floats]:
    """Log ratios of nobody, of one who holds a single cell, and of one with many."""
    single = np.full(size, -np.inf)
    single[0] = 0.0
    return [np.zeros(size), single, np.linspace(-3.0, 3.0, size)]


def _partition(subject: Partition, n: int) -> Iterator[tuple[str, float]]:
    for cell in (-1, 0, subject.cells.size - 1):
        for level in (0, subject.levels, 2 * subject.levels):
            yield f"cell {cell}, level {level}", vector_deviation(subject, cell, level, n)


def vector_deviation(partition: Partition, cell: int, level: int, n: int) -> float:
    """Largest |count - n pmf| over the coordinates of a vector report.

    Every coordinate sees a grid of its own: words are dealt in turn to the cells.
    """
    law, size = partition.law, partition.cells.size
    reports = partition.draw(np.full(n, cell), np.full(n, level), Grid()).astype(np.int64)
    worst = 0.0
    for at in range(size):
        inside = at == cell
        pmf = _column(law.values, level if inside else law.levels)
        worst = max(worst, _apart(reports[:, -1, at] + law.levels, pmf))
        if law.count_parameter:
            worst = max(worst, _apart(reports[:, 0, at], _column(law.counts, int(inside))))
    return worst


def _column(law: Law, index: int) -> Floats:
    weights = law.weights(index)
    total = sum(weights)
    return np.array([float(Fraction(weight, total)) for weight in weights])


def _laplace(noise: DiscreteLaplace, n: int) -> Iterator[tuple[str, float]]:
    """Each binary digit and what lies above them, against the formula of a geometric law."""
    p = noise.parameter / ONE
    gap = (ONE - noise.parameter) / ONE
    log_p = float(np.log1p(-gap)) if gap < 0.5 else float(np.log(p))
    for j, digit in enumerate(noise._samplers):
        q = np.exp(log_p * 2.0**j)
        yield f"digit {j}", _apart(digit.draw(Grid(), n), np.array([1, q]) / (1 + q))
    sampler = noise._above
    levels = len(sampler.enclosure(64)[0])
    q = np.exp(log_p * 2.0 ** len(noise._samplers))
    rest = (1 - q) * q ** np.arange(levels)
    yield "rest", _apart(sampler.draw(Grid(), n), np.append(rest, q**levels))

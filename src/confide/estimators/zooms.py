"""Chooses the fine cells of the next phase's lattice from the private reports of a pilot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from confide._figures import percent
from confide.errors import InvalidInput
from confide.estimators.adaptive import POOR, believable, estimate, grid
from confide.estimators.declining import Answerers
from confide.lattice import FEWEST as CELLS
from confide.lattice import LINEAR, NUMBER, ZOOM, Lattice
from confide.mechanisms import SquareWave
from confide.questions.phases import LEAST
from confide.summaries import Counts
from confide.summaries.counts import expected

TAIL = 0.02
"""Share of people on each side that the zoom may leave out, before it is padded."""
PAD = 0.3
"""Width added to the zoom on each side, as a share of its own."""
WIDEST = 0.7
"""Share of the range above which a zoom does not pay."""
EDGES = 256
"""Equal parts of the bounds: a zoom begins and ends at an edge between them."""


@dataclass(frozen=True)
class Zoom:
    """The lattice of a question's next phase, and why it is what it is.

    Parameters
    ----------
    lattice
        That of the pilot where the zoom was declined.
    reason
        Why it was declined; empty where it was not.

    Examples
    --------
    >>> Zoom(Lattice(low=0, high=1), "people are spread out").declined
    True
    """

    lattice: Lattice
    reason: str = ""

    @property
    def declined(self) -> bool:
        """Whether the next phase keeps the pilot's lattice."""
        return bool(self.reason)


def eligible(mechanism: object) -> bool:
    """Whether a question can be zoomed: a square wave of numbers on a linear scale."""
    if not isinstance(mechanism, SquareWave):
        return False
    lattice = mechanism.lattice
    return lattice.scale == LINEAR and lattice.kind == NUMBER and lattice.size >= CELLS


def expected_share(low: float, high: float, *, quantiles: tuple[float, float]) -> float:
    """The share of the bounds in a zoom if the pilot's quantiles were exact.

    Parameters
    ----------
    low, high
        The bounds.
    quantiles
        Of the population, for the shares .02 and .98.

    Examples
    --------
    >>> round(expected_share(0, 1000, quantiles=(200, 250)), 3)
    0.08
    """
    start, end = (min(max(each, low), high) for each in quantiles)
    pad = PAD * (end - start)
    return (min(high, end + pad) - max(low, start - pad)) / (high - low)


def zoom(counts: Counts) -> Zoom:
    """The lattice for the next phase, from the counts of the first one.

    With the pilot's estimate F of the distribution function and its standard deviation s, the zoom
    runs from the last place with F + s < .02 to the first with F - s > .98, padded by .3 of its
    width on each side. Nine tenths of the cells lie inside, and the others outside, so that nothing
    is clipped that was not before. Where it would be wider than .7 of the bounds, where the pilot
    has fewer than 1,000 respondents, or where its estimate does not fit the reports, the lattice
    stays as it is.

    Parameters
    ----------
    counts
        Of the pilot: reports of one number by a square wave on a linear scale.

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(32, 1, 20_000)
    >>> wide = SquareWave(Lattice(low=0, high=100, size=256), epsilon=2.0)
    >>> found = zoom(Counts.of(wide.simulate(values, seed=1)))
    >>> 20 < found.lattice.zoom[0] < 30 < 34 < found.lattice.zoom[1] < 45
    True
    """
    mechanism = expected(counts).mechanism
    if not eligible(mechanism):
        raise InvalidInput("counts of a number by a square wave on a linear scale", repr(mechanism))
    assert isinstance(mechanism, SquareWave)
    lattice = mechanism.lattice
    n = counts.effective_n
    if n < LEAST or not believable(counts):
        return Zoom(lattice, f"the pilot has {counts.n:,} usable reports, and {LEAST:,} are needed")
    declined = Answerers(counts).declined if mechanism.prefer_not_to_say else None
    if (declined or 0.0) > 0.9:
        return Zoom(lattice, "nearly everybody declined to answer")
    total = counts.total
    found = estimate(grid(mechanism.law, total * (n / total.sum()), declined), lattice)
    if not found.misfit < POOR:
        return Zoom(lattice, "the pilot's estimate does not fit its reports")
    line, spread = found.line()
    places = np.arange(EDGES + 1) / EDGES
    own = np.arange(line.size) / (line.size - 1)
    line, spread = (np.interp(places, own, each) for each in (line, spread))
    below = np.flatnonzero(line + spread < TAIL)
    above = np.flatnonzero(line - spread > 1 - TAIL)
    low = int(below[-1]) if below.size else 0
    high = int(above[0]) if above.size else EDGES
    if high <= low:
        return Zoom(lattice, "the pilot does not tell where people are")
    pad = PAD * (high - low)
    low, high = max(0, int(np.floor(low - pad))), min(EDGES, int(np.ceil(high + pad)))
    if high - low > WIDEST * EDGES:
        return Zoom(lattice, f"a zoom would cover more than {percent(WIDEST)} of the bounds")
    edges = lattice.low + (lattice.high - lattice.low) * places[[low, high]]
    ends = float(edges[0]), float(edges[1])
    return Zoom(replace(lattice, scale=ZOOM, zoom=ends))

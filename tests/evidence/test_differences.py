"""Differences of two groups' quantiles: how often their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from confide import Counts, Laplace, Lattice, SquareWave
from confide.curves import difference
from confide.estimators import Likelihood, calibration

LATTICE = Lattice(low=0, high=1, size=32)
SURVEYS = 24
SHARES = (0.5, 0.9)
CELLS = [np.diff(law.cdf(LATTICE.edges)) for law in (stats.beta(2, 5), stats.beta(3, 4))]
CASES = [
    (SquareWave(LATTICE, epsilon=2.0), (600, 400)),
    (Laplace(LATTICE, epsilon=4.0), (3000, 2000)),
]


def quantile(cells: np.ndarray, share: float) -> float:
    """Of values spread evenly inside cells, as the intervals take them to be."""
    return float(np.interp(share, np.append(0, cells.cumsum()), LATTICE.edges))


@pytest.mark.parametrize(("mechanism", "sizes"), CASES, ids=["square-wave", "laplace"])
def test_differences_of_quantiles_cover(monkeypatch, mechanism, sizes):
    # Fewer simulated surveys behind each interval; its length hardly changes.
    monkeypatch.setattr(calibration, "DRAWS", 25)
    generator = np.random.default_rng(11)
    truths = [quantile(CELLS[0], share) - quantile(CELLS[1], share) for share in SHARES]
    covered, short = np.zeros(len(SHARES)), np.zeros(len(SHARES))
    for _ in range(SURVEYS):
        drawn = (
            generator.multinomial(n, mechanism.law.forward(cells))
            for n, cells in zip(sizes, CELLS, strict=True)
        )
        pair = [Likelihood().fit(Counts(mechanism, counts, simulated=True)) for counts in drawn]
        for at, (share, truth) in enumerate(zip(SHARES, truths, strict=True)):
            found = difference(*pair, "quantile", share)
            assert found.low <= found.value <= found.high
            covered[at] += found.low <= truth <= found.high
            middle, length = (found.low + found.high) / 2, found.high - found.low
            short[at] += abs(truth - middle) <= length / 8
    # At most two standard errors below 95 %, for each of the quantiles.
    luck = 2 * np.sqrt(0.95 * 0.05 / SURVEYS)
    assert np.all(covered / SURVEYS >= 0.95 - luck), covered / SURVEYS
    # Mutant: intervals of a quarter of the length do not pass.
    assert np.all(short / SURVEYS < 0.95 - luck), short / SURVEYS

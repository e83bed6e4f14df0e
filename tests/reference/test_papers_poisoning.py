"""The bounds that the threat model states for fake respondents, each against what fakes can do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evidence.poisoning import study as poisoning

import confide as cf

CELLS = poisoning.CELLS
LATTICE = cf.Lattice(low=0, high=1, size=CELLS)
FAKES = 0.05


def surveys() -> list[poisoning.Survey]:
    return [
        poisoning.Survey(make(LATTICE, epsilon=epsilon), poisoning.population())
        for epsilon in (1.0, 4.0)
        for make in (cf.SquareWave, cf.Laplace)
    ]


def test_the_fitted_law_stays_near_the_honest_one() -> None:
    """sum (h - g)^2/g <= f (1 - e^-epsilon)/(1 - f), and fakes come near to that."""
    fit = poisoning.by_likelihood(smoothing=0.0)
    shares = []
    for survey in surveys():
        h = survey.honest
        most = FAKES * (1 - math.exp(-survey.mechanism.spend.epsilon)) / (1 - FAKES)
        for fakes in np.eye(h.size)[:: h.size // 4]:
            g = survey.matrix @ np.diff(fit(survey.counts(fakes, FAKES)))
            distance = float(((h - g) ** 2 / g).sum())
            assert distance <= most
            # Half its root bounds the total variation.
            assert np.abs(h - g).sum() / 2 <= math.sqrt(distance) / 2 + 1e-12
            shares.append(distance / most)
    # Half of the bound would be broken.
    assert max(shares) > 0.5


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("k", [2, 5])
def test_a_share_moves_by_its_score_at_most(epsilon: float, k: int) -> None:
    """f (e^epsilon + k - 2)/(e^epsilon - 1) for k categories, reached where nobody says the one."""
    response = cf.RandomizedResponse([str(name) for name in range(k)], epsilon=epsilon)
    most = FAKES * (math.exp(epsilon) + k - 2) / math.expm1(epsilon)
    found = []
    for share in (0.0, 0.3, 0.5):
        truth = np.append(share, np.full(k - 1, (1 - share) / (k - 1)))
        survey = poisoning.Survey(response, truth)
        scores = np.linalg.inv(survey.matrix)[0]
        found.append(poisoning.number_bound(scores, survey.honest, FAKES))
    assert found[0] == pytest.approx(most, rel=1e-9)
    assert found[0] > found[1] > found[2]


def test_scores_of_the_ends_lie_one_over_epsilon_beyond_the_range() -> None:
    """p/(1-p) cells, about range/epsilon, for clamped Laplace reports."""
    for epsilon in (0.2, 1.0):
        mechanism = cf.Laplace(LATTICE, epsilon=epsilon)
        scores = mechanism.unbiased(1)
        width = 1 / LATTICE.size
        beyond = mechanism.p / (1 - mechanism.p) * width
        assert LATTICE.centers[0] - scores[0] == pytest.approx(beyond)
        assert scores[-1] - LATTICE.centers[-1] == pytest.approx(beyond)
        assert beyond == pytest.approx(1 / epsilon, rel=0.1)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_median_of_a_linear_density_stays_where_its_bound_says(epsilon: float) -> None:
    survey = poisoning.Survey(cf.Laplace(LATTICE, epsilon=epsilon), poisoning.population())
    fit = poisoning.by_deconvolution
    bound = poisoning.linear_bounds(survey, fit, FAKES)["median"]
    clean = poisoning.median(fit(survey.counts()))
    generator = np.random.default_rng(1)
    mixtures = [*np.eye(CELLS), *generator.dirichlet(np.full(CELLS, 0.1), size=20)]
    moved = [abs(poisoning.median(fit(survey.counts(fakes, FAKES))) - clean) for fakes in mixtures]
    assert 0.95 * bound < max(moved) <= bound + 1e-6


def test_medians_of_curves_that_are_known() -> None:
    rising = np.array([0.0, 0.25, 0.75, 1.0])
    assert poisoning.median(rising) == pytest.approx(0.5)
    assert poisoning.median(np.array([0.0, 0.6, 0.4, 1.0])) == pytest.approx(0.5 / 0.6 / 3)
    room = np.array([0, 0.25, 0.25, 0])
    assert poisoning.median_bound(rising - room, rising + room, 0.5) == pytest.approx(1 / 6)

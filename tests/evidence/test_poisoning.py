"""What fake respondents can do stays within the bounds of the threat model, and comes near them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from evidence.poisoning import study as poisoning

import confide as cf
from confide.mechanisms import Mechanism

LATTICE = cf.Lattice(low=0, high=1, size=poisoning.CELLS)
MECHANISMS = [make(LATTICE, epsilon=1.0) for make in (cf.SquareWave, cf.Laplace)]
FAKES = 0.05
# So many fakes that all send one report are found out, which is not what is measured here.
pytestmark = pytest.mark.filterwarnings("ignore:Expected reports")


@pytest.fixture(params=MECHANISMS, ids=lambda mechanism: mechanism.name)
def survey(request: pytest.FixtureRequest) -> poisoning.Survey:
    return poisoning.Survey(request.param, poisoning.population())


def test_the_bound_of_a_mean_is_attained(survey: poisoning.Survey) -> None:
    scores = survey.mechanism.unbiased(1)
    bound = poisoning.number_bound(scores, survey.honest, FAKES)
    shift = poisoning.worst(survey, poisoning.mean_score, FAKES)["number"]
    assert shift == pytest.approx(bound, abs=1e-5)
    # Lying through the honest mechanism is worth no more than the range.
    assert shift > FAKES * (1 - scores @ survey.honest)


def test_the_bound_of_a_share_is_attained() -> None:
    response = cf.RandomizedResponse(["yes", "no"], epsilon=1.0)
    survey = poisoning.Survey(response, np.array([0.3, 0.7]))
    scores = np.linalg.inv(survey.matrix)[0]
    bound = poisoning.number_bound(scores, survey.honest, FAKES)
    assert poisoning.worst(survey, poisoning.first_share, FAKES)["number"] == pytest.approx(
        bound, abs=1e-5
    )
    assert bound < FAKES * (np.e + 1) / (np.e - 1)


def test_privacy_bounds_the_likelihood(survey: poisoning.Survey) -> None:
    """KL(h, g) <= f epsilon / (1 - f) for the fitted law g, whatever is sent."""
    most = FAKES * survey.mechanism.spend.epsilon / (1 - FAKES)
    fit = poisoning.by_likelihood(smoothing=0.0)
    seen = []
    for fakes in np.eye(survey.honest.size)[[0, survey.honest.size // 2, -1]]:
        fitted = survey.matrix @ np.diff(fit(survey.counts(fakes, FAKES)))
        seen.append(float(survey.honest @ np.log(survey.honest / fitted)))
    assert max(seen) < most
    assert max(seen) > 0.01 * most


def test_curves_stay_within_their_bounds(survey: poisoning.Survey) -> None:
    bounds = poisoning.curve_bounds(survey, FAKES)
    fit = poisoning.by_likelihood(smoothing=0.0)
    shifts = poisoning.worst(survey, fit, FAKES, thin=True)
    for kind, shift in shifts.items():
        assert 0 < shift < bounds[kind] <= 1


def test_a_bound_without_the_noise_would_be_broken(survey: poisoning.Survey) -> None:
    """Reports taken at their word move a mean by the range at most; their scores do more."""
    mean = float(survey.truth @ LATTICE.centers)
    naive = FAKES * max(1 - mean, mean)
    assert poisoning.worst(survey, poisoning.mean_score, FAKES)["number"] > naive


def test_linear_densities_move_by_no_more_than_their_share() -> None:
    mechanism: Mechanism = MECHANISMS[1]
    survey = poisoning.Survey(mechanism, poisoning.population())
    bounds = poisoning.linear_bounds(survey, poisoning.by_deconvolution, FAKES)
    shifts = poisoning.worst(survey, poisoning.by_deconvolution, FAKES, thin=True)
    assert 0.5 * bounds["W1"] < shifts["W1"] < bounds["W1"] + 1e-6
    assert shifts["KS"] < bounds["KS"] + 1e-6


def test_the_page_is_made_of_the_results() -> None:
    rows = json.loads(poisoning.RESULT.read_text())["rows"]
    assert all(r["bound"] is None or r["shift"] <= r["bound"] + 1e-6 for r in rows)
    assert poisoning.MARKS[0] + poisoning.page(rows) + poisoning.MARKS[1] in (
        poisoning.PAGE.read_text()
    )

"""Phases of a survey: who is in which, the survey of the second, and both together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.errors import InvalidInput, Mismatch
from confide.exact.entropy import SeededEntropy
from confide.files.settings import settings_of, toml_of
from confide.questions.phases import Phases

QUESTIONS = {
    "pay": {"low": 0, "high": 1000, "size": 256, "text": 'What do you "earn"?'},
    "age": {"low": 0, "high": 120, "kind": "integer"},
    "smokes": {"categories": ["no", "yes"]},
}
N = 24_000


def survey(**keys: Any) -> cf.Survey:
    fields = {"title": "Staff", "epsilon": 6.0, "groups": ["region"], "questions": QUESTIONS}
    return cf.Survey.from_dict({**fields, "phases": {}, **keys})


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    draw = np.random.default_rng(1)
    return {
        "pay": 200 + 20 * draw.beta(2, 5, N),
        "age": draw.integers(20, 60, N),
        "smokes": np.where(draw.random(N) < 0.3, "yes", "no"),
        "region": np.where(draw.random(N) < 0.5, "north", "south"),
    }


def summarized(made: cf.Survey, answers: dict[str, Any], rows: Any, folder: Path) -> Any:
    own = {name: values[rows] for name, values in answers.items()}
    path = folder / "reports.parquet"
    pq.write_table(made.simulate(own, seed=3, keep=["region"]), path)
    return made.summarize(path, by="region")


def test_both_phases_together(answers: dict[str, Any], tmp_path: Path) -> None:
    first = survey()
    phases = first.phase_of(np.unique(answers["region"], return_inverse=True)[1], seed=1)
    pilot = summarized(first, answers, phases == 1, tmp_path)
    second = first.next_phase(pilot)
    assert second == first.next_phase(pilot)
    assert second.phases == Phases(now=2)
    assert second.pilot == first
    start, end = second.questions["pay"].axis.zoom  # type: ignore[union-attr]
    assert 150 < start < 203
    assert 215 < end < 270
    for name in ("age", "smokes"):
        assert second.mechanisms[name] == first.mechanisms[name]
    assert second.spend == first.spend
    others = summarized(second, answers, phases == 2, tmp_path)
    both = second.combine(pilot, others)
    assert both["pay"].n == N
    assert both["age"].n == N
    results = second.estimate(both)
    truth = np.median(answers["pay"])
    median = results["pay"]["median"]
    assert median.low < truth < median.high
    assert median.high - median.low < 8
    assert set(results["pay"].groups["region"]) == {"north", "south"}
    both.save(tmp_path / "both.json")
    again = cf.read(tmp_path / "both.json")
    assert again["pay"].n == N
    assert (again + both)["pay"].n == 2 * N
    # Out of order, or of another survey.
    with pytest.raises(Mismatch, match="first phase"):
        second.combine(others, pilot)
    with pytest.raises(InvalidInput, match="second phase"):
        first.combine(pilot, others)
    with pytest.raises(InvalidInput, match="no phase after"):
        second.next_phase(others)
    with pytest.raises(Mismatch, match="first phase"):
        first.next_phase(others)
    with pytest.raises(Mismatch):
        first.estimate(both)


def test_the_next_survey_can_be_written_and_read(answers: dict[str, Any], tmp_path: Path) -> None:
    first = survey()
    second = first.next_phase(summarized(first, answers, slice(0, 6000), tmp_path))
    path = tmp_path / "second.toml"
    path.write_text(toml_of(second.to_dict()))
    assert settings_of(path, "a survey") == second.to_dict()
    assert cf.Survey.read(path) == second
    assert cf.Survey.read(path).fingerprint == second.fingerprint


def test_a_small_pilot_keeps_its_lattice(answers: dict[str, Any], tmp_path: Path) -> None:
    first = survey()
    second = first.next_phase(summarized(first, answers, slice(0, 500), tmp_path))
    assert second.mechanisms == first.mechanisms
    assert second.phases == Phases(now=2)


@pytest.mark.parametrize("share", [0.25, 0.1, 0.5])
def test_everybody_is_equally_likely_to_be_asked_first(share: float) -> None:
    phases = Phases((share, 1 - share if share != 0.1 else 0.9))
    cells = [0] * 7 + [1] * 40 + [2] * 3
    drawn = np.array([phases.drawn(SeededEntropy(seed), cells) == 1 for seed in range(2000)])
    assert np.abs(drawn.sum(axis=1) - 50 * share).max() <= 1
    assert np.abs(drawn[:, 7:47].sum(axis=1) - 40 * share).max() <= 1
    spread = np.sqrt(share * (1 - share) / 2000)
    assert np.abs(drawn.mean(axis=0) - share).max() < 4.5 * spread


@pytest.mark.parametrize(
    "phases",
    [
        {"shares": [0.25, 0.7]},
        {"shares": [0.25, 0.85]},
        {"shares": [1.0, 0.0]},
        {"shares": [0.2, 0.3, 0.5]},
        {"shares": 0.25},
        {"now": 3},
        {"now": 0},
        {"share": [0.25, 0.75]},
        [0.25, 0.75],
    ],
)
def test_phases_that_are_refused(phases: Any) -> None:
    with pytest.raises(InvalidInput):
        survey(phases=phases)


def test_phases_go_with_neither_rounds_nor_a_zoom_of_their_own() -> None:
    with pytest.raises(InvalidInput, match="one of"):
        survey(rounds={"count": 3})
    zoomed = {"pay": {"low": 0, "high": 9, "scale": "zoom", "zoom": [1, 2]}}
    with pytest.raises(InvalidInput, match="without a zoom"):
        survey(questions=zoomed)
    assert survey(questions=zoomed, phases={"now": 2}).pilot.questions["pay"].axis.zoom is None  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="phases"):
        cf.Survey.from_dict({"epsilon": 1.0, "questions": QUESTIONS}).phase_of([0])


def test_a_zoomed_survey_is_not_served() -> None:
    from confide.collect.devices import light

    zoomed = {"pay": {"low": 0, "high": 9, "scale": "zoom", "zoom": [1, 2]}}
    made = survey(questions=zoomed, phases={"now": 2})
    with pytest.raises(InvalidInput, match="zoomed lattices"):
        light([(name, each.to_dict()) for name, each in made.mechanisms.items()])

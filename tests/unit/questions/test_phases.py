"""Phases of a survey: who is in which, the survey of the second, and both together."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.errors import BadRows, InvalidInput, Mismatch
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
    assert made.phases is not None
    own: dict[str, Any] = {name: values[rows] for name, values in answers.items()}
    own["phase"] = np.full(len(own["pay"]), made.phases.now)
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
    # An owner may have the survey of the first phase only: a collector moves on by itself.
    assert first.estimate(both).questionnaire == results.questionnaire
    with pytest.raises(Mismatch):
        survey(epsilon=5.0).estimate(both)


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
        {"shares": [1 / 3, 2 / 3]},
        {"shares": [0.33333, 0.66667]},
    ],
)
def test_phases_that_are_refused(phases: Any) -> None:
    with pytest.raises(InvalidInput):
        survey(phases=phases)


@pytest.mark.parametrize("first", ["0.3", "0.4", "0.15", "0.0001", "0.3333"])
def test_decimal_shares_are_exact(first: str) -> None:
    share, rest = float(first), float(1 - Decimal(first))
    drawn = Phases((share, rest)).drawn(SeededEntropy(1), [0] * 10_000)
    assert (drawn == 1).sum() == int(10_000 * Decimal(first))


ONE = {"epsilon": 1.0, "questions": {"pay": {"low": 0, "high": 9}}}


@pytest.mark.parametrize("now", [1, 2])
@pytest.mark.parametrize(
    "phases", [[1, 2], ["1", "2"], [1.0, 2.0], pa.array(["1", "2"]).dictionary_encode(), [3, None]]
)
def test_people_of_another_phase_are_refused(now: int, phases: Any) -> None:
    made = cf.Survey.from_dict({**ONE, "phases": {"now": now}})
    for draw in (made.privatize, lambda table: made.simulate(table, seed=1)):
        with pytest.raises(BadRows, match=f"people of phase {now} alone in the table.* row "):
            draw({"phase": phases, "pay": [1.0, 2.0]})
        with pytest.raises(InvalidInput, match="a column 'phase' in the table"):
            draw({"pay": [1.0, 2.0]})
    own = phases[now - 1 : now]
    if own not in ([3], [None]):
        assert made.privatize({"phase": own, "pay": [1.0]}).column_names == ["pay"]


def test_files_of_another_phase_are_refused(tmp_path: Path) -> None:
    from confide.streams import Job, privatize

    values, to = tmp_path / "values.csv", tmp_path / "reports.parquet"
    survey = cf.Survey.from_dict({**ONE, "phases": {}})
    values.write_text("pay\n1\n")
    with pytest.raises(InvalidInput, match="a column 'phase'"):
        Job(survey, [values])
    for name in ("values.csv", "values.parquet"):
        values = tmp_path / name
        for phases, fits in (([1, 1, 2], False), ([1, 1, 1], True)):
            if name.endswith("csv"):
                values.write_text("pay,phase\n" + "".join(f"3,{phase}\n" for phase in phases))
            else:
                pq.write_table(pa.table({"pay": [3.0] * 3, "phase": phases}), values)
            if fits:
                assert privatize(Job(survey, [values]), to, processes=1)[0] == 3
                assert pq.read_schema(to).names == ["pay"]
                to.unlink()
                assert privatize(Job(survey, [values], keep=["phase"]), to, processes=1)[0] == 3
                assert pq.read_table(to)["phase"].to_pylist() == [1, 1, 1]
                to.unlink()
            else:
                with pytest.raises(BadRows, match=r"of phase 1 alone.* row 3"):
                    privatize(Job(survey, [values]), to, processes=1)
                assert not to.exists()


def test_no_question_is_named_phase() -> None:
    with pytest.raises(InvalidInput, match="no question or group 'phase'"):
        survey(questions={"phase": {"low": 0, "high": 9}})


def test_phases_go_with_neither_rounds_nor_a_zoom_of_their_own() -> None:
    with pytest.raises(InvalidInput, match="one of"):
        survey(rounds={"count": 3})
    zoomed = {"pay": {"low": 0, "high": 9, "scale": "zoom", "zoom": [1, 2]}}
    with pytest.raises(InvalidInput, match="without a zoom"):
        survey(questions=zoomed)
    assert survey(questions=zoomed, phases={"now": 2}).pilot.questions["pay"].axis.zoom is None  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="phases"):
        cf.Survey.from_dict({"epsilon": 1.0, "questions": QUESTIONS}).phase_of([0])


def test_devices_draw_on_zoomed_lattices() -> None:
    from confide.collect.wire import check_survey

    zoomed = {"pay": {"low": 0, "high": 9, "scale": "zoom", "zoom": [1, 2]}}
    check_survey(cf.Survey.from_dict({"epsilon": 1.0, "questions": zoomed}))
    with pytest.raises(InvalidInput, match="the survey of the first phase"):
        check_survey(survey(questions=zoomed, phases={"now": 2, "after": 5000}))
    with pytest.raises(InvalidInput, match=r"after or until in \[phases\]"):
        check_survey(survey())


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"after": 0}, "after as a whole number of at least 1,000 people"),
        ({"after": 999}, "at least 1,000"),
        ({"after": 2000.0}, "a whole number"),
        ({"after": True}, "a whole number"),
        ({"after": "5000"}, "a whole number"),
        ({"until": "2099-01-31T18:00:00"}, "until with an offset from universal time"),
        ({"until": "tomorrow"}, "until as a date and a time"),
        ({"until": 5}, "until as a date and a time"),
        ({"until": "2099-02-01T00:00:00Z"}, "before the survey closes"),
        ({"until": "2099-03-01T00:00:00Z"}, "before the survey closes"),
    ],
)
def test_ends_of_the_first_phase_that_are_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        survey(phases=keys, closes="2099-02-01T00:00:00Z")


def test_the_first_phase_ends_by_count_or_by_date() -> None:
    by_count, early, late = (
        Phases(after=1000),
        Phases(until="2001-01-01T00:00:00Z"),  # type: ignore[arg-type]
        Phases(after=1000, until="2099-01-01T00:00:00+02:00"),  # type: ignore[arg-type]
    )
    assert [by_count.over(n) for n in (0, 999, 1000)] == [False, False, True]
    assert early.over(0)
    assert [late.over(n) for n in (999, 1000)] == [False, True]
    assert not Phases().over(10**9)
    for each in (by_count, early, late, Phases()):
        assert Phases.read(each.to_dict()) == each
    made = survey(phases=late.to_dict())
    assert made.phases == late
    assert made.worded != survey().worded

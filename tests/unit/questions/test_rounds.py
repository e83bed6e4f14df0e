"""Rounds: schedules, caps, and the exact loss of a person who answers in several."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide import streams
from confide.errors import InvalidInput
from confide.estimators.trends import trend
from confide.results import estimate
from confide.results.page import document
from confide.summaries import Counts, Groups

PAY = {"low": 0, "high": 10, "size": 32}


def survey(**keys: Any) -> cf.Survey:
    fields = {"title": "Pay", "epsilon": 1.0, "questions": {"pay": PAY}}
    fields["rounds"] = {"count": 4, "per_person": 2}
    return cf.Survey.from_dict({**fields, **keys})


def test_a_person_spends_the_survey_epsilon_in_all_rounds_together() -> None:
    made = survey()
    assert made.spend.epsilon == 1.0
    assert made.mechanisms["pay"].spend.epsilon == 0.5
    assert made.groups == ("round",)
    own = survey(epsilon=None, questions={"pay": {**PAY, "epsilon": 0.75}})
    assert own.spend.epsilon == 1.5
    assert cf.Survey.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("per_person", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_exact_loss_of_a_schedule_is_the_stated_sum(per_person: int, epsilon: float) -> None:
    """All sequences of reports, for all pairs of answers that may change from round to round."""
    rounds = {"count": 3, "per_person": per_person}
    pay = {"low": 0, "high": 4, "size": 4}
    made = survey(epsilon=epsilon, questions={"pay": pay}, rounds=rounds)
    law = made.mechanisms["pay"].law
    columns = [law.weights(index) for index in range(law.inputs[0])]
    total = sum(columns[0])
    assert all(sum(column) == total for column in columns)
    worst = Fraction(1)
    # Whatever the schedule, a person answers so many rounds: which ones is public.
    some = range(len(columns))
    for first, second in product(product(some, repeat=per_person), repeat=2):
        # The reports are independent: the largest ratio is reached by one report for each round.
        for reports in _largest(columns, first, second):
            one = math.prod(columns[i][r] for i, r in zip(first, reports, strict=True))
            two = math.prod(columns[i][r] for i, r in zip(second, reports, strict=True))
            worst = max(worst, Fraction(one, two))
    loss = math.log(worst)
    assert loss <= made.spend.epsilon
    assert loss == pytest.approx(made.spend.epsilon, abs=1e-10)


def _largest(columns: Any, first: Any, second: Any) -> Any:
    """All sequences of reports for up to two rounds, else those that differ from the first."""
    reports = range(len(columns[0]))
    if len(first) <= 2:
        return product(reports, repeat=len(first))
    best = [
        max(reports, key=lambda r: Fraction(columns[i][r], columns[j][r]))
        for i, j in zip(first, second, strict=True)
    ]
    return [best]


SMALL = {"low": 0, "high": 2, "size": 2}
WORDS = {"categories": ["no", "yes"]}


@pytest.mark.parametrize(
    ("questions", "count", "per_person"),
    [
        ({"pay": SMALL}, 3, 1),
        ({"pay": SMALL}, 3, 2),
        ({"pay": SMALL}, 3, 3),
        ({"pay": {**SMALL, "prefer_not_to_say": True}}, 3, 3),
        ({"smokes": {**WORDS, "prefer_not_to_say": True}}, 4, 3),
        ({"pay": SMALL, "smokes": WORDS}, 3, 2),
    ],
)
def test_whole_schedules_are_enumerated(
    questions: dict[str, Any], count: int, per_person: int
) -> None:
    """Every schedule, all answers to all rounds, and the exact law of all sequences of reports."""
    made = survey(
        epsilon=1.0, questions=questions, rounds={"count": count, "per_person": per_person}
    )
    laws = [mechanism.law for mechanism in made.mechanisms.values()]
    # The law of what a person sends in one round, by what they answer to all questions.
    once = [
        [
            math.prod(weights)
            for weights in product(
                *(law.weights(own) for law, own in zip(laws, answers, strict=True))
            )
        ]
        for answers in product(*(range(law.inputs[0]) for law in laws))
    ]
    total = sum(once[0])
    for schedule in combinations(range(count), per_person):
        sent = {
            tuple(answers[number] for number in schedule)
            for answers in product(range(len(once)), repeat=count)
        }
        # A law of whole sequences of reports for each sequence of answers, in whole numbers.
        columns = [
            [math.prod(weights) for weights in product(*(once[own] for own in answers))]
            for answers in sorted(sent)
        ]
        assert all(sum(column) == total**per_person for column in columns)
        pairs = zip(*columns, strict=True)
        loss = math.log(max(Fraction(max(each), min(each)) for each in pairs))
        assert loss <= made.spend.epsilon == 1.0
        assert loss == pytest.approx(made.spend.epsilon, abs=1e-9)


def test_schedules_keep_the_cap_and_fill_every_round() -> None:
    flags = survey().schedule([0] * 40 + [1] * 20, seed=1)
    assert flags.shape == (60, 4)
    assert (flags.sum(axis=1) == 2).all()
    assert flags.sum(axis=0).tolist() == [30] * 4
    assert flags[:40].sum(axis=0).tolist() == [20] * 4
    with pytest.raises(InvalidInput, match="rounds"):
        cf.Survey.from_dict({"epsilon": 1.0, "questions": {"pay": PAY}}).schedule([0])


def table(people: list[Any], rounds: list[Any]) -> dict[str, list[Any]]:
    return {"person": people, "round": rounds, "pay": [3.0] * len(people)}


def test_reports_say_their_round_and_not_their_person() -> None:
    made = survey().privatize(table(["a", "a", "b"], [1, 3, 1]))
    assert sorted(made.column_names) == ["pay", "round"]
    assert sorted(made.column("round").to_pylist()) == [1, 1, 3]


@pytest.mark.parametrize(
    ("people", "rounds", "said"),
    [
        (["a", "a"], [1, 1], "a second answer to round 1"),
        (["a", "a", "a"], [1, 2, 3], "at most 2 of the rounds"),
        (["a"], [5], "rounds from 1 to 4"),
        (["a"], [0], "rounds from 1 to 4"),
        ([None], [1], "a person in every row"),
        ([float("nan")], [1], "a person in every row"),
        ([" "], [1], "a person in every row"),
        (["Ada L", " ada  l "], [1, 1], "a second answer to round 1"),
        (["Ada", "ADA", "ada"], [1, 2, 3], "at most 2 of the rounds"),
        (["Ada", "A\u00adda\u200b"], [1, 1], "a second answer to round 1"),
        (["Ada", "\ufeffAda\x00"], [1, 1], "a second answer to round 1"),
        (["\u200b"], [1], "a person in every row"),
    ],
)
def test_tables_that_are_refused(people: list[Any], rounds: list[Any], said: str) -> None:
    for draw in (survey().privatize, lambda t: survey().simulate(t, seed=1)):
        with pytest.raises(InvalidInput, match=said):
            draw(table(people, rounds))


def test_columns_that_are_needed_or_refused() -> None:
    with pytest.raises(InvalidInput, match="'person'"):
        survey().privatize({"pay": [1.0], "round": [1]})
    with pytest.raises(InvalidInput, match="undo the shuffling"):
        survey().privatize(table(["a"], [1]), keep=["person"])
    with pytest.raises(InvalidInput, match="no question or group 'person'"):
        survey(questions={"pay": PAY, "person": PAY})
    with pytest.raises(InvalidInput, match="no question or group 'person'"):
        survey(groups=["person"])


@pytest.mark.parametrize(
    "rounds",
    [
        {},
        {"count": 1},
        {"count": 3, "per_person": 4},
        {"count": 2.5},
        {"count": 3, "every": 1},
        [3],
    ],
)
def test_rounds_that_are_refused(rounds: Any) -> None:
    with pytest.raises(InvalidInput):
        survey(rounds=rounds)


def test_files_are_privatized_and_read_together_for_people_asked_too_often(tmp_path: Any) -> None:
    made = cf.Survey.from_dict(
        {"epsilon": 1.0, "rounds": {"count": 3}, "questions": {"pay": {"low": 0, "high": 1}}}
    )
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("person,round,pay,region\na,1,0.5,north\nb,1,0.5,south\n")
    second.write_text("person,round,pay,region\nc,2,0.5,north\nd,3,0.5,south\n")
    out = tmp_path / "out.parquet"
    job = streams.Job(made, [first, second], ["region"])
    assert streams.privatize(job, out) == (4, 0)
    table = pq.read_table(out)
    assert sorted(table.column_names) == ["pay", "region", "round"]
    assert sorted(table.column("round").to_pylist()) == [1, 1, 2, 3]
    for line, said in (
        ("B ,1,0.5,south", "a second answer to round 1 in row 3"),
        ("b,2,0.5,south", "at most 1 of the rounds"),
        ("e,4,0.5,south", "got another in row 3"),
        ("e,01,0.5,south", "rounds from 1 to 3"),
        ("e,,0.5,south", "rounds from 1 to 3"),
        (",2,0.5,south", "a person in every row"),
    ):
        more = second.read_text() + line + "\n"
        other = tmp_path / "other" / "second.csv"
        other.parent.mkdir(exist_ok=True)
        other.write_text(more)
        with pytest.raises(InvalidInput, match=said):
            streams.privatize(streams.Job(made, [first, other]), tmp_path / "x.parquet")
        assert not (tmp_path / "x.parquet").exists()
    with pytest.raises(InvalidInput, match="undo the shuffling"):
        streams.Job(made, [first], ["person"])
    first.write_text("round,pay\n1,0.5\n")
    with pytest.raises(InvalidInput, match="a column 'person' in"):
        streams.Job(made, [first])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([7, 8]), pa.array([7.0, 9.0])),
        (pa.array([10**16]), pa.array([1e16])),
        (pa.array(["7"]), pa.array([Decimal("7.00")])),
        (pa.array(["Ada"]), pa.array([b"ada"])),
        (pa.array(["7"]), pa.array(["7.0"])),
        (pa.array(["007", "0"]), pa.array([7, 1])),
        (pa.array(["Ada"]), pa.array([b"Ada\0"], pa.binary(4))),
    ],
)
def test_a_person_is_known_in_files_that_write_names_and_numbers_in_another_way(
    one: Any, other: Any, tmp_path: Path
) -> None:
    made = cf.Survey.from_dict(
        {"epsilon": 1.0, "rounds": {"count": 3}, "questions": {"pay": {"low": 0, "high": 1}}}
    )
    paths = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for number, (path, people) in enumerate(zip(paths, (one, other), strict=True), start=1):
        rows = {"person": people, "round": [number] * len(people), "pay": [0.5] * len(people)}
        pq.write_table(pa.table(rows), path)
    with pytest.raises(InvalidInput, match="at most 1 of the rounds"):
        streams.privatize(streams.Job(made, paths), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_folders_may_tell_the_round(tmp_path: Path) -> None:
    made = cf.Survey.from_dict(
        {"epsilon": 1.0, "rounds": {"count": 3}, "questions": {"pay": {"low": 0, "high": 1}}}
    )
    paths = [tmp_path / f"round={number}" / "values.parquet" for number in (1, 2)]
    for path, people in zip(paths, ([1, 2], [3, 4]), strict=True):
        path.parent.mkdir()
        pq.write_table(pa.table({"person": people, "pay": [0.5, 0.5]}), path)
    out = tmp_path / "out.parquet"
    assert streams.privatize(streams.Job(made, paths), out) == (4, 0)
    assert sorted(pq.read_table(out).column("round").to_pylist()) == ["1", "1", "2", "2"]
    pq.write_table(pa.table({"person": [3, 1], "pay": [0.5, 0.5]}), paths[1])
    with pytest.raises(InvalidInput, match="at most 1 of the rounds"):
        streams.privatize(streams.Job(made, paths), tmp_path / "x.parquet")


def rounds_of(values: dict[int, float], n: int = 4000) -> Groups[Counts]:
    mechanism = cf.SquareWave(cf.Lattice(low=0, high=10, size=32), epsilon=4.0)
    parts = {
        number: Counts.of(mechanism.simulate(np.full(n, value), seed=number))
        for number, value in values.items()
    }
    return Groups(("round",), parts)


def test_a_trend_has_rounds_changes_and_a_slope() -> None:
    found = trend(rounds_of({1: 3.0, 2: 4.0, 4: 6.0}))
    assert list(found.rounds) == [1, 2, 4]
    assert list(found.changes) == [2, 4]
    assert found.changes[4].low < 2 < found.changes[4].high
    assert found.slope.low < 1 < found.slope.high
    assert found.slope.high - found.slope.low < 0.2
    assert found.to_dict()["rounds"][1]["change"] == found.changes[2].value
    assert len(found.to_frame()) == 3


def test_trends_of_words_and_what_is_refused() -> None:
    words = cf.RandomizedResponse(("no", "yes"), epsilon=4.0)
    parts = {
        str(number): Counts.of(words.simulate(["yes"] * 200 * number + ["no"] * 800, seed=number))
        for number in (1, 2, 10)
    }
    found = trend(Groups(("round",), parts), category="yes")
    assert list(found.rounds) == [1, 2, 10]
    assert found.changes[2].value > 0
    with pytest.raises(InvalidInput, match="category"):
        trend(Groups(("round",), parts))
    with pytest.raises(InvalidInput, match="question of words"):
        trend(rounds_of({1: 3.0, 2: 3.0}), category="yes")
    with pytest.raises(InvalidInput, match="two rounds"):
        trend(rounds_of({1: 3.0}))
    single = rounds_of({3: 3.0}, n=1)[3]
    with pytest.raises(InvalidInput, match="got 1 of round 3"):
        trend(Groups(("round",), {1: rounds_of({1: 3.0})[1], 3: single}))
    with pytest.raises(InvalidInput, match="column 'round'"):
        trend(Groups(("region",), parts), category="yes")
    with pytest.raises(InvalidInput, match="whole numbers"):
        trend(Groups(("round",), {"first": parts["1"], "last": parts["2"]}), category="yes")


def test_results_state_no_smaller_figure_where_a_person_answers_several_rounds() -> None:
    draw = np.random.default_rng(1)
    for per_person in (1, 2):
        made = survey(rounds={"count": 2, "per_person": per_person})
        mechanism = made.mechanisms["pay"]
        parts = {k: Counts.of(mechanism.privatize(draw.random(20_000))) for k in (1, 2)}
        results = made.estimate(cf.Summaries({"pay": Groups(("round",), parts)}))
        assert (results["pay"].reader is None) == (per_person == 2)
        page = document(results)
        for several in ("People answered 40,000 times.", "Each person answers in 2 of 2 rounds.",
                        "People answered this question 40,000 times."):  # fmt: skip
            assert (several in page) == (per_person == 2)
        assert ("40,000 people answered." in page) == (per_person == 1)


def test_results_tell_the_change_per_round_of_rounds_that_can_be_estimated() -> None:
    made = survey(epsilon=4.0, rounds={"count": 3})
    mechanism = made.mechanisms["pay"]
    parts = {
        number: Counts.of(mechanism.simulate(np.full(n, 2.0 + number), seed=number))
        for number, n in ((1, 4000), (2, 4000), (3, 5))
    }

    def slopes(by: str, *numbers: int, **options: Any) -> Any:
        groups = Groups((by,), {number: parts[number] for number in numbers})
        return estimate(made, cf.Summaries({"pay": groups}), **options)["pay"].slopes

    (found,) = slopes("round", 1, 2, 3)
    # The round of five people has no estimate, and does not count.
    expected = trend(Groups(("round",), {number: parts[number] for number in (1, 2)})).slope
    assert (found.estimate, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert found.low < 1 < found.high
    for none in (slopes("round", 1, 3), slopes("region", 1, 2), slopes("round", 1, 2, quick=True)):
        assert none == ()

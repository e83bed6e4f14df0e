"""Who is asked what: balanced, independent of answers, and no dearer than the survey says."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from confide import audits
from confide.errors import InvalidInput
from confide.exact import entropy
from confide.exact.entropy import SeededEntropy
from confide.questions import Questionnaire, questionnaire
from confide.questions.assignment import assigned
from confide.questions.questionnaire import share
from confide.survey import Survey

FREE = {"low": 0, "high": 10, "size": 8}
PAY = {**FREE, "epsilon": 1.0}
WORDS = {"categories": ["no", "yes"]}


def survey(d: int = 6, **keys: Any) -> Survey:
    questions = {f"q{at}": FREE if at % 2 else WORDS for at in range(d)}
    fields = {"title": "Staff", "epsilon": 2.0, "questions": questions}
    return Survey.from_dict(fields | keys)


def table(n: int, d: int = 6, *, seed: int = 0, **more: Any) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    numbers = draw.uniform(0, 10, (d, n))
    words = np.where(draw.random((d, n)) < 0.3, "yes", "no")
    return {f"q{at}": list((numbers if at % 2 else words)[at]) for at in range(d)} | more


def asked_of(reports: Any, d: int = 6) -> np.ndarray:
    return np.stack([~np.array(reports[f"q{at}"].is_null()) for at in range(d)], axis=1)


@pytest.mark.parametrize(
    ("questions", "ask"), [(6, 1), (6, 2), (6, 4), (6, 5), (5, 3), (2, 1), (7, 6)]
)
@pytest.mark.parametrize("sizes", [[1], [12, 18], [7, 1, 0, 30, 2], [1] * 40])
def test_every_question_is_asked_equally_often_in_each_cell_and_of_all(
    questions: int, ask: int, sizes: list[int]
) -> None:
    cells = np.repeat(np.arange(len(sizes)), sizes)
    np.random.default_rng(1).shuffle(cells)
    for seed in range(5):
        asked = assigned(SeededEntropy(seed), cells, questions=questions, ask=ask)
        assert (asked.sum(axis=1) == ask).all()
        for own in (np.ones(len(cells), dtype=bool), *(cells == at for at in range(len(sizes)))):
            often = asked[own].sum(axis=0)
            assert often.max() - often.min() <= 1


def test_whole_decks_are_exactly_even() -> None:
    asked = assigned(SeededEntropy(1), [0] * 12 + [1] * 60, questions=6, ask=2)
    assert asked[:12].sum(axis=0).tolist() == [4] * 6
    assert asked[12:].sum(axis=0).tolist() == [20] * 6


def test_every_set_of_questions_is_equally_likely_for_every_person() -> None:
    runs = 3000
    stream = SeededEntropy(3)
    found: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(5)]
    for _ in range(runs):
        asked = assigned(stream, [0, 0, 0, 1, 1], questions=4, ask=2)
        for person, row in enumerate(asked):
            found[person][tuple(np.flatnonzero(row).tolist())] += 1
    for counts in found:
        assert len(counts) == 6
        expected = runs / 6
        statistic = sum((n - expected) ** 2 / expected for n in counts.values())
        # Chi-square with 5 degrees of freedom: 25.7 is exceeded with a chance of 1e-4.
        assert statistic < 25.7


class Tape:
    """The operating system's entropy, as a tape that can be played again."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)

    def __call__(self, n: int) -> bytes:
        return self._draw.bytes(n)


def played(
    monkeypatch: pytest.MonkeyPatch, asked: Survey, data: dict[str, Any], **options: Any
) -> np.ndarray:
    monkeypatch.setattr(entropy.os, "urandom", Tape(7))
    return asked_of(asked.privatize(data, keep_order=True, **options))


def same_whatever_the_answers(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether other answers, and a sorted table, get the same assignment from the same tape."""
    one = survey(ask=2, groups=["region"])
    region = ["north", "south", "west"] * 20
    tables = [table(60, seed=seed, region=region) for seed in (1, 2)]
    tables.append({name: sorted(column) for name, column in tables[0].items()} | {"region": region})
    found = [played(monkeypatch, one, each, keep=["region"]) for each in tables]
    return all((each == found[0]).all() for each in found)


def test_the_assignment_does_not_depend_on_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert same_whatever_the_answers(monkeypatch)


def after_the_answers(original: Callable[..., Any]) -> Callable[..., Any]:
    """A fault: people are dealt questions in the order of an answer."""

    def reports(self: Questionnaire, given: Any, **options: Any) -> Any:
        order = np.argsort(np.array(given["q1"]))
        assign = self.assigned

        def sorted_first(cells: Any, **rest: Any) -> Any:
            dealt = assign(np.zeros(len(cells), dtype=int), **rest)
            found = np.empty_like(dealt)
            found[order] = dealt
            return found

        object.__setattr__(self, "assigned", sorted_first)
        return original(self, given, **options)

    return reports


def test_an_assignment_by_answers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Questionnaire.reports
    monkeypatch.setattr(Questionnaire, "reports", after_the_answers(own))
    assert not same_whatever_the_answers(monkeypatch)


def test_an_unbalanced_assignment_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault: every person draws alone, so that some questions are asked more often."""

    def alone(stream: Any, cells: Any, *, questions: int, ask: int, **_: Any) -> Any:
        every = [assigned(stream, [0], questions=questions, ask=ask) for _ in cells]
        return np.concatenate(every)

    def even() -> bool:
        often = asked_of(survey(ask=1).simulate(table(600), seed=1)).sum(axis=0)
        return set(often.tolist()) == {100}

    assert even()
    monkeypatch.setattr(questionnaire, "assigned", alone)
    assert not even()


def test_the_audit_of_a_survey_sees_who_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Survey.from_dict({"ask": 1, "questions": {"pay": PAY, "rent": PAY}})
    assert audits.joint(one, n=4000, seed=1).holds
    own = Questionnaire.reports

    def leaking(self: Questionnaire, given: Any, **options: Any) -> Any:
        # A fault: people who earn much are asked for their rent.
        much = np.array(given["pay"]) > 5
        object.__setattr__(self, "assigned", lambda *_, **__: np.stack([~much, much], axis=1))
        return own(self, given, **options)

    monkeypatch.setattr(Questionnaire, "reports", leaking)
    assert not audits.joint(one, n=4000, seed=1).holds


def test_people_who_decline_are_asked_like_others() -> None:
    fields = {
        "epsilon": 4.0,
        "ask": 1,
        "questions": {
            "pay": {"low": 0, "high": 10, "prefer_not_to_say": True},
            "smokes": {"categories": ["no", "yes"], "prefer_not_to_say": True},
            "days": {"low": 0, "high": 20, "kind": "integer"},
        },
    }
    one = Survey.from_dict(fields)
    data = {"pay": [None] * 60, "smokes": [None] * 60, "days": list(range(20)) * 3}
    made = one.privatize(data)
    # Declining is a report: null still means that somebody was not asked.
    assert [60 - made[name].null_count for name in one.questions] == [20, 20, 20]
    for name, mechanism in one.mechanisms.items():
        reports = [report for report in made[name].to_pylist() if report is not None]
        assert all(0 <= report < mechanism.law.outputs[0] for report in reports)
    data["days"][7] = 1.5
    with pytest.raises(InvalidInput, match="whole numbers in column 'days'"):
        one.privatize(data)


def test_balanced_within_kept_groups() -> None:
    one = survey(ask=1, groups=["region", "age"])
    region = ["north"] * 12 + ["south"] * 30 + [None] * 6
    age = (["old", "young"] * 24)[:48]
    made = one.privatize(table(48, region=region, age=age), keep=["region", "age"])
    asked = asked_of(made)
    cells = list(zip(made["region"].to_pylist(), made["age"].to_pylist(), strict=True))
    for cell in set(cells):
        often = asked[[each == cell for each in cells]].sum(axis=0)
        assert often.max() - often.min() <= 1
    assert asked.sum(axis=0).tolist() == [8] * 6


def test_null_means_not_asked_and_nothing_else() -> None:
    one = survey(ask=2)
    data = table(50)
    data["q1"][3] = None
    with pytest.raises(InvalidInput, match="an answer to 'q1' in every row"):
        one.privatize(data)
    with pytest.raises(InvalidInput, match="an answer to 'q1' in every row"):
        survey(ask=1).simulate(data, seed=1)
    made = one.simulate(table(50), seed=1)
    assert made.schema.field("q0").type == pa.int32()
    assert (asked_of(made).sum(axis=1) == 2).all()
    assert made.equals(one.simulate(table(50), seed=1))
    assert not made.equals(one.simulate(table(50), seed=2))


def test_few_people() -> None:
    made = survey(ask=1).privatize(table(1))
    assert made.num_rows == 1
    assert asked_of(made).sum() == 1


def test_a_survey_has_one_epsilon_or_each_question_its_own() -> None:
    one = survey(ask=1)
    assert one.epsilon == 2.0
    assert {each.spend.epsilon for each in one.mechanisms.values()} == {2.0}
    assert one.spend.epsilon == 2.0
    every = survey()
    assert {each.spend.epsilon for each in every.mechanisms.values()} == {share(2.0, 6)}
    assert every.spend.epsilon <= 2.0
    with pytest.raises(InvalidInput, match=r"one of every question, not both in question 'pay'"):
        Survey.from_dict({"epsilon": 1.0, "questions": {"pay": PAY}})
    with pytest.raises(InvalidInput, match="Did you mean 'epsilon'"):
        Survey.from_dict({"epsilom": 1.0, "questions": {"pay": FREE}})
    with pytest.raises(InvalidInput, match="Did you mean 'ask'"):
        Survey.from_dict({"asks": 1, "questions": {"pay": PAY}})
    with pytest.raises(
        InvalidInput, match=r"key 'epsilon' in question 'pay', got none\. Or give the"
    ):
        Survey.from_dict({"questions": {"pay": FREE}})
    gamma = {"low": 0, "high": 1, "mechanism": "two-sided-gamma", "shape": 1, "noise_scale": 1}
    with pytest.raises(InvalidInput, match="takes an epsilon"):
        Survey.from_dict({"epsilon": 1.0, "questions": {"pay": gamma}})
    for wrong in (0, -1, math.nan, math.inf, "1", True, 101):
        with pytest.raises(InvalidInput, match="epsilon"):
            Survey.from_dict({"epsilon": wrong, "questions": {"pay": FREE}})
    with pytest.raises(InvalidInput, match="Leave the survey's epsilon out"):
        Survey(one.questions, epsilon=2.0)


@pytest.mark.parametrize("cells", [["north"], [0.5], [float("nan")], [[0, 1]], 3, None, [None]])
def test_cells_are_whole_numbers_one_for_each_person(cells: Any) -> None:
    questions = {"pay": {"low": 0, "high": 1}, "rent": {"low": 0, "high": 1}}
    for key, draw in (("rounds", "schedule"), ("phases", "phase_of"), ("ask", "assigned")):
        value = {"rounds": {"count": 2}, "phases": {}, "ask": 1}[key]
        made = Survey.from_dict({"epsilon": 1.0, "questions": questions, key: value})
        with pytest.raises(InvalidInput, match="cells as one whole number for each person"):
            getattr(made, draw)(cells)
        assert len(getattr(made, draw)(np.zeros(5))) == 5
        assert len(getattr(made, draw)([])) == 0


@pytest.mark.parametrize("ask", [0, -1, 7, True, 1.0, "1"])
def test_ask_is_a_number_of_questions(ask: Any) -> None:
    with pytest.raises(InvalidInput, match="ask as a whole number from 1 to 6"):
        survey(ask=ask)


def test_asking_all_is_no_choice() -> None:
    assert survey(ask=6) == survey()
    one = Survey.from_dict({"ask": 1, "questions": {"pay": PAY}})
    assert one.ask is None
    assert one.fingerprint == Survey.from_dict({"questions": {"pay": PAY}}).fingerprint


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.3, 2.0, 1 / 3, 99.9, 1e-3])
@pytest.mark.parametrize("asks", [1, 2, 3, 5, 7, 11])
def test_shares_never_add_up_to_more(epsilon: float, asks: int) -> None:
    part = share(epsilon, asks)
    written = min(Fraction(epsilon), Fraction(repr(epsilon)))
    assert asks * max(Fraction(part), Fraction(repr(part))) <= written
    above = math.nextafter(math.nextafter(part, 1e3), 1e3)
    assert asks * Fraction(above) > written
    one = survey(12, epsilon=epsilon, ask=asks)
    assert one.spend.epsilon <= epsilon
    assert Fraction(one.spend.epsilon) >= asks * Fraction(part)


def test_round_trips_and_names() -> None:
    one = survey(ask=2, groups=["region"])
    again = Survey.from_dict(one.to_dict())
    assert again == one
    assert "epsilon" not in one.to_dict()["questions"]["q1"]
    assert (again.fingerprint, again.worded) == (one.fingerprint, one.worded)
    # The same promises, said in another way.
    spelt = {f"q{at}": {**(FREE if at % 2 else WORDS), "epsilon": 1.0} for at in range(6)}
    rest = {"title": "Staff", "groups": ["region"]}
    other = Survey.from_dict({**rest, "ask": 2, "questions": spelt})
    assert (other.fingerprint, other.worded) == (one.fingerprint, one.worded)
    assert other.epsilon is None
    # Places of questions are in invitations: another order is another survey.
    turned = dict(reversed(spelt.items()))
    back = Survey.from_dict({**rest, "ask": 2, "questions": turned})
    assert back.fingerprint != other.fingerprint
    more = Survey.from_dict({**rest, "ask": 3, "questions": spelt})
    assert more.fingerprint != other.fingerprint


def test_questions_of_their_own_epsilon_spend_the_dearest() -> None:
    costs = {"a": 0.5, "b": 2.0, "c": 1.0}
    questions = {name: {**FREE, "epsilon": cost} for name, cost in costs.items()}
    spends = [
        Survey.from_dict({"ask": ask, "questions": questions}).spend.epsilon for ask in (1, 2, 3)
    ]
    assert spends == [2.0, 3.0, 3.5]


def test_the_exact_loss_of_a_whole_questionnaire_is_what_it_says() -> None:
    """All rows that a person can send, with their exact chances, for all answers that there are."""
    tiny = {"low": 0, "high": 3, "size": 3}
    one = Survey.from_dict(
        {
            "epsilon": 1.5,
            "ask": 2,
            "questions": {"a": tiny, "b": {"categories": ["x", "y"]}, "c": {**tiny, "size": 2}},
        }
    )
    laws = [each.law for each in one.mechanisms.values()]
    sets = list(itertools.combinations(range(3), 2))
    most = Fraction(0)
    chances: dict[Any, dict[Any, Fraction]] = {}
    for answers in itertools.product(*(range(law.inputs[0]) for law in laws)):
        rows: dict[Any, Fraction] = {}
        for places in sets:
            columns = [_column(laws[at], answers[at]) for at in places]
            for outputs in itertools.product(*(range(len(column)) for column in columns)):
                chance = Fraction(1, len(sets))
                for column, output in zip(columns, outputs, strict=True):
                    chance *= column[output]
                rows[places, outputs] = chance
        assert sum(rows.values()) == 1
        chances[answers] = rows
    for first, second in itertools.permutations(chances.values(), 2):
        most = max(most, *(first[row] / second[row] for row in first))
    loss = math.log(most)
    assert loss <= one.spend.epsilon <= 1.5
    # Weights of 30 bits lose next to nothing.
    assert loss > 1.5 - 1e-6


def _column(law: Any, index: int) -> list[Fraction]:
    weights = law.weights(index)
    return [Fraction(weight, sum(weights)) for weight in weights]

"""Pairs of questions in a survey: who is asked for one, what it costs, what rows may hold."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide import audits
from confide._limits import MAX_COLUMNS
from confide.collect import wire
from confide.errors import InvalidInput, Unsupported
from confide.estimators import density
from confide.exact.entropy import SeededEntropy
from confide.questions.assignment import assigned
from confide.questions.relations import Relations
from confide.survey import Survey

N = 6000
TABLE = {"pairs": "all", "share": 0.5, "at": {"pay": 40, "ill": 5}}


def fields(**changes: Any) -> dict[str, Any]:
    questions = {
        "pay": {"low": 0, "high": 100, "size": 50},
        "ill": {"kind": "integer", "low": 0, "high": 20},
        "smokes": {"categories": ["no", "yes"], "prefer_not_to_say": True},
    }
    return {"title": "Staff", "epsilon": 2.0, "ask": 1, "relations": TABLE,
            "questions": questions, **changes}  # fmt: skip


def survey(**changes: Any) -> Survey:
    return Survey.from_dict(fields(**changes))


def answers(n: int = N) -> dict[str, Any]:
    generator = np.random.default_rng(1)
    words = [None if u < 0.1 else "yes" if u < 0.4 else "no" for u in generator.random(n)]
    return {"pay": generator.uniform(0, 100, n), "ill": generator.integers(0, 21, n),
            "smokes": words, "region": generator.choice(["n", "s"], n)}  # fmt: skip


def test_pairs_are_columns_with_a_mechanism_of_their_own() -> None:
    one = survey()
    assert list(one.mechanisms) == [
        "pay", "ill", "smokes", "pay & ill", "pay & smokes", "ill & smokes",
    ]  # fmt: skip
    assert one.pairs["pay & ill"].law.outputs == (2,)
    assert one.pairs["pay & smokes"].law.outputs == (3,)
    # 40 of 0 to 100 in 50 cells is the edge of cell 20; 5 days are the sixth cell.
    assert one.pairs["pay & ill"].sides["pay"].cuts == (20,)
    assert one.pairs["pay & ill"].sides["ill"].cuts == (5,)
    assert Survey.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.fingerprint != survey(relations={**TABLE, "at": {"pay": 42, "ill": 5}}).fingerprint


@pytest.mark.parametrize("ask", [1, 2, None])
def test_a_person_spends_the_epsilon_of_the_survey_and_no_more(ask: int | None) -> None:
    one = survey(ask=ask) if ask else Survey.from_dict(
        {key: value for key, value in fields().items() if key != "ask"}
    )  # fmt: skip
    assert one.spend.epsilon == 2.0
    # The exact loss of all that is seen of a person, by enumeration over what they are asked.
    asked = [*itertools.combinations(one.questions, one.asks), *((pair,) for pair in one.pairs)]
    losses = [math.prod(one.mechanisms[name].law.ratio() for name in each) for each in asked]
    assert max(losses) <= Fraction(math.exp(2.0)) * Fraction(10**15 + 1, 10**15)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_everybody_answers_questions_or_one_pair_and_all_equally_often(share: float) -> None:
    cells = np.repeat([0, 1, 2], [400, 90, 7])
    asked = assigned(SeededEntropy(1), cells, questions=4, ask=2, pairs=3, share=share)
    single, pairs = asked[:, :4].sum(axis=1), asked[:, 4:].sum(axis=1)
    assert (((single == 2) & (pairs == 0)) | ((single == 0) & (pairs == 1))).all()
    for cell, size in ((0, 400), (1, 90), (2, 7)):
        own = asked[cells == cell]
        assert abs(own[:, 4:].sum() - share * size) <= 1
        for columns in (slice(4), slice(4, None)):
            times = own[:, columns].sum(axis=0)
            assert times.max() - times.min() <= 2
    total = asked.sum(axis=0)
    assert np.ptp(total[:4]) <= 1
    assert np.ptp(total[4:]) <= 1


def test_everybody_may_be_asked_for_a_pair() -> None:
    draws = [
        assigned(SeededEntropy(at), [0], questions=2, ask=1, pairs=1, share=0.3)[0]
        for at in range(400)
    ]
    # One person alone, time and again: 0.3 of the times a pair, within four standard errors.
    assert np.mean([row[2] for row in draws]) == pytest.approx(0.3, abs=0.092)


def test_who_is_asked_what_does_not_depend_on_answers() -> None:
    one, other = answers(), answers()
    other["pay"] = 100 - np.asarray(other["pay"])
    made = [survey().simulate(each, seed=3) for each in (one, other)]
    for name in survey().mechanisms:
        assert made[0][name].is_null().equals(made[1][name].is_null())


@pytest.mark.parametrize("by", [None, "region"])
def test_rows_are_counted_by_question_and_by_pair(tmp_path: Path, by: str | None) -> None:
    one = survey(groups=["region"])
    made = one.privatize(answers(), keep=["region"])
    pq.write_table(made, tmp_path / "r.parquet")
    counts = one.summarize(tmp_path / "r.parquet", by=by)
    assert sum(counts[name].n for name in counts) == N
    assert {counts[name].n for name in counts} == {N // 6}
    assert counts.mechanism("pay & ill") == one.pairs["pay & ill"]
    # Without the survey too: the file says what it holds.
    import confide as cf

    again = cf.summarize(tmp_path / "r.parquet", by=by)
    assert {name: again[name].n for name in again} == {name: counts[name].n for name in counts}


def test_a_query_counts_as_the_stream_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = survey()
    pq.write_table(one.privatize(answers()), tmp_path / "r.parquet")
    streamed = one.summarize(tmp_path / "r.parquet")
    monkeypatch.setattr("confide.tables.sources.LEAST", 1)
    queried = one.summarize(tmp_path / "r.parquet")
    for name in one.mechanisms:
        assert streamed[name].counts.tolist() == queried[name].counts.tolist()


@pytest.mark.parametrize("least", [1, 10**9])
def test_a_person_with_a_single_answer_and_a_pair_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr("confide.tables.sources.LEAST", least)
    one = survey()
    made = one.privatize(answers(60))
    columns = {name: made[name].to_pylist() for name in made.column_names}
    row = next(at for at, value in enumerate(columns["pay & ill"]) if value is not None)
    columns["pay"][row] = 3
    both = pa.table({name: pa.array(each, pa.int32()) for name, each in columns.items()})
    pq.write_table(both.replace_schema_metadata(made.schema.metadata), tmp_path / "r.parquet")
    with pytest.raises(InvalidInput, match=r"about a pair and no others|more or fewer"):
        one.summarize(tmp_path / "r.parquet")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"pairs": [["pay", "pay"]]}, "'pay' with itself"),
        ({"pairs": [["pay", "ill"], ["ill", "pay"]]}, "twice"),
        ({"pairs": [["pay", "rent"]]}, "'rent' in"),
        ({"pairs": [["pay"]]}, "two questions in each pair"),
        ({"pairs": [["pay", 3]]}, "names of questions"),
        ({"pairs": []}, "at least one pair"),
        ({"pairs": "some"}, "pairs ="),
        ({"pairs": "all", "share": 0}, "between 0 and 1"),
        ({"pairs": "all", "share": 1.0}, "between 0 and 1"),
        ({"pairs": "all", "at": {"pay": 0}}, "inside its bounds"),
        ({"pairs": "all", "at": {"pay": 100}}, "inside its bounds"),
        ({"pairs": "all", "at": {"ill": 0}}, "inside its bounds"),
        ({"pairs": "all", "at": {"ill": 2.5}}, "whole numbers"),
        ({"pairs": "all", "at": {"pay": [50, 40]}}, "ascending"),
        ({"pairs": "all", "at": {"pay": []}}, "at least one threshold"),
        ({"pairs": "all", "at": {"smokes": 1}}, "answers are words"),
        ({"pairs": "all", "at": {"rent": 1}}, "'rent'"),
        ({"pairs": "all", "at": 3}, "at = "),
        ({"pairs": "all", "of": 3}, "'of'"),
        (3, "a table"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused(table: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        survey(relations=table)


def test_a_pair_costs_the_epsilon_of_the_survey() -> None:
    given = fields()
    del given["epsilon"]
    for question in given["questions"].values():
        question["epsilon"] = 1.0
    with pytest.raises(InvalidInput, match="epsilon of the survey"):
        Survey.from_dict(given)
    del given["relations"]
    given["questions"]["pay & ill"] = given["questions"]["pay"]
    with pytest.raises(InvalidInput, match="another name than the pair"):
        Survey.from_dict({**given, "relations": TABLE})


def test_all_pairs_of_a_hostile_survey_are_counted_before_they_are_listed() -> None:
    # A table of reports has a column for each: 220 kB of questions made five gigabytes of pairs.
    questions = {f"q{at}": {"low": 0, "high": 1, "size": 2} for at in range(2000)}
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=r"at most 16,384 pairs .* got 1,999,000"):
            Survey.from_dict(
                {"epsilon": 1.0, "questions": questions, "relations": {"pairs": "all"}}
            )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**26
    chain = tuple((f"q{at}", f"q{at + 1}") for at in range(MAX_COLUMNS + 1))
    assert len(Relations(chain[1:]).columns) == MAX_COLUMNS
    with pytest.raises(InvalidInput, match=r"at most 16,384 pairs .* got 16,385"):
        Relations(chain)


def test_thresholds_of_a_hostile_survey_are_counted_before_they_are_placed() -> None:
    # A device looks for the cell of each: 340 kB of them kept it busy for half a minute.
    many = [at / 1000 for at in range(40_000)]
    table = {**TABLE, "at": {"pay": many, "ill": 5}}
    with pytest.raises(InvalidInput, match=r"at most 511 thresholds of 'pay', got 40,000\."):
        survey(relations=table)


def test_nobody_is_asked_before_there_are_thresholds() -> None:
    one = survey(relations={"pairs": "all"})
    with pytest.raises(InvalidInput, match="none for 'pay', 'ill'"):
        one.privatize(answers(10))
    # What it will cost is known already, and so is what is asked.
    assert one.spend.epsilon == 2.0
    assert "pay &amp; ill" in one._repr_html_()


def test_what_cannot_take_pairs_says_so(tmp_path: Path) -> None:
    one = survey()
    zoomed = one.to_dict()
    zoomed["questions"]["pay"] |= {"scale": "zoom", "zoom": [20, 60], "size": 64}
    with pytest.raises(InvalidInput, match="no zoom for the question 'pay'"):
        wire.check_survey(type(one).from_dict(zoomed))
    pq.write_table(one.privatize(answers(600)), tmp_path / "r.parquet")
    with pytest.raises(Unsupported, match="how the two relate"):
        density(one.summarize(tmp_path / "r.parquet")["pay & ill"])
    with pytest.raises(InvalidInput, match="public columns"):
        one.privatize(answers(10), keep=["pay & ill"])


def test_the_audit_of_a_survey_looks_at_pairs() -> None:
    found = audits.survey(survey(), n=2000, seed=1)
    assert found.holds
    assert found.rows()["pay & smokes"]["certified"] == pytest.approx(2.0)
    assert found.together.claimed == 2.0

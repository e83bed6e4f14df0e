"""Tables in which each person was asked some of the questions: null means that, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide import reports, streams
from confide.errors import InvalidInput, Mismatch
from confide.reports.rows import LeftOut
from confide.reports.stamps import Stamp
from confide.survey import Survey
from confide.tables import counts, pair, sources
from confide.tables.pairs import Together

QUESTIONS = {
    "pay": {"low": 0, "high": 10, "size": 8},
    "smokes": {"categories": ["no", "yes"]},
    "age": {"low": 0, "high": 99, "size": 8},
    "rent": {"low": 0, "high": 10, "size": 8},
}
N = 240


def survey(ask: int | None = 2) -> Survey:
    given = {} if ask is None else {"ask": ask}
    return Survey.from_dict(
        {"title": "T", "epsilon": 4.0, "groups": ["region"], "questions": QUESTIONS, **given}
    )


def answers(n: int = N) -> dict[str, Any]:
    draw = np.random.default_rng(5)
    return {
        "pay": draw.uniform(0, 10, n),
        "smokes": np.where(draw.random(n) < 0.3, "yes", "no"),
        "age": draw.uniform(0, 99, n),
        "rent": draw.uniform(0, 10, n),
        "region": draw.choice(["north", "south"], n),
        "weight": draw.choice([1.0, 2.0], n),
    }


KEEP = ["region", "weight"]


@pytest.fixture(scope="module")
def made() -> pa.Table:
    return survey().simulate(answers(), seed=1, keep=KEEP)


def expected(made: pa.Table, name: str, region: str | None = None) -> np.ndarray:
    rows = [
        row[name]
        for row in made.to_pylist()
        if row[name] is not None and region in (None, row["region"])
    ]
    return np.bincount(rows, minlength=survey().mechanisms[name].law.outputs[0])


@pytest.fixture(params=["parquet", "csv"])
def path(request: pytest.FixtureRequest, made: pa.Table, tmp_path: Path) -> Path:
    found = tmp_path / f"reports.{request.param}"
    if request.param == "csv":
        pa_csv.write_csv(made, found)
    else:
        pq.write_table(made, found)
    return found


def test_summaries_count_those_who_were_asked(made: pa.Table, path: Path) -> None:
    found = survey().summarize(path)
    for name in QUESTIONS:
        assert found[name].counts.tolist() == expected(made, name).tolist()
        assert found[name].n == N // 2
    by = survey().summarize(path, by="region", weights="weight")
    for name in QUESTIONS:
        for region in ("north", "south"):
            own = by.groups(name)[region]
            assert own.counts.tolist() == expected(made, name, region).tolist()
            total = sum(
                row["weight"]
                for row in made.to_pylist()
                if row[name] is not None and row["region"] == region
            )
            assert own.total.sum() == pytest.approx(total)
    one = survey().summarize(path, question="age")
    assert list(one) == ["age"]
    assert one["age"].counts.tolist() == expected(made, "age").tolist()


@pytest.mark.parametrize("by", [None, "region"])
def test_a_query_counts_what_the_stream_does(
    made: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str | None
) -> None:
    path = tmp_path / "reports.parquet"
    pq.write_table(made, path)
    slow = survey().summarize(path, by=by, weights="weight")
    monkeypatch.setattr(sources, "LEAST", 0)
    fast = survey().summarize(path, by=by, weights="weight")
    for name in QUESTIONS:
        if by is None:
            assert (fast[name].counts == slow[name].counts).all()
            assert fast[name].total == pytest.approx(slow[name].total)
        else:
            for region in ("north", "south"):
                one, other = fast.groups(name)[region], slow.groups(name)[region]
                assert (one.counts == other.counts).all()


def test_group_by_wherever_a_table_lives(made: pa.Table, path: Path) -> None:
    pay = survey().mechanisms["pay"]
    rows = expected(made, "pay").tolist()
    # Arrow and Parquet tables say themselves how many each person was asked.
    assert counts(made, pay, column="pay").counts.tolist() == rows
    bare = made.replace_schema_metadata()
    simulated = {"survey": survey(), "simulated": True}
    for table in (bare, pl.from_arrow(bare), bare.to_pandas(), ibis.memtable(bare)):
        assert counts(table, pay, column="pay", **simulated).counts.tolist() == rows
        with pytest.raises(InvalidInput, match="without a report"):
            counts(table, pay, column="pay", simulated=True)
    grouped = counts(path, pay, column="pay", by="region", survey=survey(), weights="weight")
    assert grouped["north"].counts.tolist() == expected(made, "pay", "north").tolist()


def spoiled(made: pa.Table, *, more: bool) -> pa.Table:
    """A table in which the seventh person has a report too many, or one that is missing."""
    rows = made.to_pylist()
    for name in QUESTIONS:
        if (rows[6][name] is None) == more:
            rows[6][name] = 1 if more else None
            break
    return pa.Table.from_pylist(rows, schema=made.schema)


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_rows_with_another_number_of_reports_are_refused(
    made: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: bool, suffix: str
) -> None:
    path = tmp_path / f"reports.{suffix}"
    table = spoiled(made, more=more)
    pa_csv.write_csv(table, path) if suffix == "csv" else pq.write_table(table, path)
    words = "1 row with more or fewer reports than each person is asked for"
    for options in ({}, {"by": "region"}, {"question": "rent"}):
        with pytest.raises(InvalidInput, match=f"{words}: the first is row 7"):
            survey().summarize(path, **options)
    for source in (table, path):
        with pytest.raises(InvalidInput, match=words):
            counts(source, survey().mechanisms["pay"], column="pay", survey=survey(),
                   simulated=True)  # fmt: skip
    with pytest.warns(LeftOut, match="more or fewer reports"):
        slow = survey().summarize(path, invalid="drop")
    assert sum(slow[name].n for name in QUESTIONS) == 2 * (N - 1)
    if suffix == "parquet":
        with pytest.raises(InvalidInput, match="2 reports in each row, of 4 questions"):
            reports.from_table(table, column="pay")
        monkeypatch.setattr(sources, "LEAST", 0)
        with pytest.warns(LeftOut, match="more or fewer reports"):
            fast = survey().summarize(path, invalid="drop")
        for name in QUESTIONS:
            assert (fast[name].counts == slow[name].counts).all()


def test_faults_of_people_who_were_not_asked_do_not_matter(made: pa.Table, tmp_path: Path) -> None:
    rows = made.to_pylist()
    asked = next(row for row in rows if row["pay"] is not None)
    asked["weight"] = None
    path = tmp_path / "reports.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=made.schema), path)
    with pytest.warns(LeftOut) as caught:
        found = survey().summarize(path, weights="weight", invalid="drop")
    told = {str(each.message) for each in caught if each.category is LeftOut}
    assert told == {
        f"Left out of {name!r} 1 row without a weight."
        for name in QUESTIONS
        if asked[name] is not None
    }
    whole = {name: N // 2 - (asked[name] is not None) for name in QUESTIONS}
    assert {name: found[name].n for name in QUESTIONS} == whole


def test_pandas_makes_floats_of_whole_numbers_with_gaps(made: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "pandas.parquet"
    frame = made.to_pandas()
    assert frame["pay"].dtype == np.float64
    frame.to_parquet(path)
    found = survey().summarize(path, by="region", unstamped=True)
    for name in QUESTIONS:
        assert found[name].counts.tolist() == expected(made, name).tolist()
    row = frame["pay"].first_valid_index()
    for wrong in (1.5, 1e30, np.inf):
        frame.loc[row, "pay"] = wrong
        frame.to_parquet(path)
        with pytest.raises(InvalidInput, match="not a whole number"):
            survey().summarize(path)
    every = survey(None).simulate(answers(), seed=1).to_pandas()
    every.astype(float).to_parquet(path)
    with pytest.raises(InvalidInput, match="the type double"):
        survey(None).summarize(path)


def test_survey_and_files_must_agree(made: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    pq.write_table(made, path)
    own = {name: {**keys, "epsilon": 2.0} for name, keys in QUESTIONS.items()}
    for ask in (1, None):
        other = Survey.from_dict({"questions": own, **({} if ask is None else {"ask": ask})})
        assert other.mechanisms == survey().mechanisms
        with pytest.raises(Mismatch, match="belong to another survey"):
            other.summarize(path)
        with pytest.raises(Mismatch, match="belong to another survey"):
            counts(made, other.mechanisms["pay"], column="pay", survey=other)
    pq.write_table(made.drop_columns(["rent"]), path)
    with pytest.raises(InvalidInput, match="a column 'rent'"):
        survey().summarize(path, question="pay")
    with pytest.raises(InvalidInput, match="a column 'rent'"):
        counts(path, survey().mechanisms["pay"], column="pay")


def test_stamps_know_how_many_are_asked(made: pa.Table) -> None:
    stamp = Stamp.read(made.schema.metadata, "here")
    assert stamp is not None
    assert stamp.asking == survey().asking
    assert Survey.from_dict(stamp.survey or {}) == survey()
    for ask in (0, 4, 5, True, "1", 1.5):
        bad = {b"confide": made.schema.metadata[b"confide"].replace(
            b'"ask":2', b'"ask":' + str(ask).lower().encode() if ask != "1" else b'"ask":"1"'
        )}  # fmt: skip
        with pytest.raises(InvalidInput, match="parts of it"):
            Stamp.read(bad, "here")


def test_reports_of_a_column_are_those_of_people_who_were_asked(
    made: pa.Table, tmp_path: Path
) -> None:
    path = tmp_path / "reports.parquet"
    pq.write_table(made, path)
    pay = [value for value in made["pay"].to_pylist() if value is not None]
    for found in (reports.from_table(made, column="pay"), reports.read(path, column="pay")):
        assert found.indices.tolist() == pay
    both = reports.from_table(made, column=["pay", "age"])
    rows = [
        [row["pay"], row["age"]]
        for row in made.to_pylist()
        if row["pay"] is not None and row["age"] is not None
    ]
    assert both.indices.tolist() == rows
    one = survey(1).simulate(answers(), seed=1)
    with pytest.raises(InvalidInput, match="none: each person was asked 1 of 4 questions"):
        reports.from_table(one, column=["pay", "age"])


def test_relations_of_two_questions(made: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    pq.write_table(made, path)
    together = sum(row["pay"] is not None and row["age"] is not None for row in made.to_pylist())
    with pytest.warns(Together, match=rf"Only the {together} people.*about 17% of all"):
        found = pair(path, survey=survey(), x="pay", y="age")
    assert found.counts.n == together
    joint = cf.Joint({name: survey().mechanisms[name] for name in ("pay", "age")})
    assert (counts(made, joint).counts == found.counts.counts).all()
    pq.write_table(survey(1).simulate(answers(), seed=1, keep=KEEP), path)
    with pytest.raises(InvalidInput, match="people who were asked 'pay' and 'age', got none"):
        pair(path, survey=survey(1), x="pay", y="age")
    with pytest.raises(InvalidInput, match="people who were asked 'pay' and 'age', got none"):
        counts(path, cf.Joint({name: survey(1).mechanisms[name] for name in ("pay", "age")}))
    # A public response is that of the people who were asked.
    public = pair(path, survey=survey(1), x="pay", y="weight")
    assert public.counts.n == N // 4


def test_questions_that_nobody_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    few = survey(1).simulate({name: column[:2] for name, column in answers().items()}, seed=1,
                             keep=KEEP)  # fmt: skip
    pq.write_table(few, path)
    found = survey(1).summarize(path)
    assert sorted(found[name].n for name in QUESTIONS) == [0, 0, 1, 1]
    by = survey(1).summarize(path, by="region", weights="weight")
    assert len({tuple(by.groups(name)) for name in QUESTIONS}) == 1
    whole = by + survey(1).summarize(path, by="region", weights="weight")
    whole.save(tmp_path / "counts.json")
    assert cf.read(tmp_path / "counts.json")["pay"].n == 2 * found["pay"].n


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("keep_order", [True, False])
def test_streams_draw_who_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, keep_order: bool
) -> None:
    values, to = tmp_path / f"values.{suffix}", tmp_path / f"reports.{suffix}"
    table = pa.table(answers())
    if suffix == "csv":
        pa_csv.write_csv(table, values)
    else:
        pq.write_table(table, values, row_group_size=50)
        monkeypatch.setattr(streams.batches, "PART", 100)
    job = streams.Job(survey(), [values], KEEP, keep_order=keep_order)
    assert streams.privatize(job, to) == (N, 0)
    found = survey().summarize(to, by="region")
    batches = 3 if suffix == "parquet" else 1
    for name in QUESTIONS:
        assert abs(found[name].n - N // 2) <= batches
    for region in ("north", "south"):
        often = [found.groups(name)[region].n for name in QUESTIONS]
        assert max(often) - min(often) <= batches
    regions = (pq.read_table(to) if suffix == "parquet" else pa_csv.read_csv(to))["region"]
    assert (regions.to_pylist() == table["region"].to_pylist()) == keep_order

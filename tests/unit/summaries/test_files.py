"""Summaries in files, their sums, and counting files of reports in Python."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import confide as cf
from confide.errors import InvalidInput, Mismatch, Unnamed
from confide.files.source import MISSING
from confide.reports.rows import LeftOut
from confide.tables import sources

LATTICE = cf.Lattice(low=0, high=10, size=16)
MECHANISM = cf.SquareWave(LATTICE, epsilon=2.0)
SURVEY = {
    "questions": {
        "pay": {"low": 0, "high": 10, "size": 16, "epsilon": 2.0, "missing": 3.0},
        "smokes": {"categories": ["no", "yes"], "epsilon": 2.0},
    }
}
N = 600


def counts(seed: int = 1) -> cf.Counts:
    values = np.random.default_rng(seed).uniform(0, 10, 200)
    return cf.Counts.of(MECHANISM.simulate(values, seed=seed))


def same(one: Any, two: Any) -> bool:
    return bool(one.to_dict() == two.to_dict())


@pytest.fixture
def survey() -> cf.Survey:
    return cf.Survey.from_dict(SURVEY)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survey: cf.Survey) -> Path:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    for name in ("a", "b"):
        values = {
            "pay": generator.uniform(0, 10, N),
            "smokes": generator.choice(["no", "yes"], N),
            "region": generator.choice(["north", "south"], N),
            "year": generator.integers(2025, 2027, N),
            "rate": generator.normal(size=N),
        }
        keep = ["region", "year", "rate"]
        pq.write_table(survey.privatize(values, keep=keep), f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_counts_come_back_with_their_name(tmp_path: Path, suffix: str) -> None:
    made = counts()
    made.save(tmp_path / f"a{suffix}")
    made.save(tmp_path / f"b{suffix}", question="pay")
    assert same(cf.read(tmp_path / f"a{suffix}").only(), made)
    found = cf.read(str(tmp_path / f"b{suffix}"))
    assert list(found) == ["pay"]
    assert same(found["pay"], made)
    counts(2).save(tmp_path / f"a{suffix}")
    both = cf.read([tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"])
    assert both["pay"].n == made.n + counts(2).n


def test_groups_come_back(tmp_path: Path) -> None:
    groups = cf.Groups(("region", "year"), {("n", 1): counts(1), ("n", 2): counts(2)})
    groups.save(tmp_path / "groups.json", question="pay")
    found = cf.read(tmp_path / "groups.json")
    assert found.by == ("region", "year")
    assert same(found.groups("pay"), groups)
    assert same(found["pay"], groups.total())
    assert same(found.group("n/2").only(), counts(2))
    assert list(found.groups().coarser(["region"])) == ["n"]
    with pytest.raises(InvalidInput, match="file for groups"):
        groups.save(tmp_path / "groups.npz")


def test_several_questions_come_back(tmp_path: Path) -> None:
    made = cf.Summaries({"pay": counts(1), "rent": counts(2)})
    made.save(tmp_path / "all.json")
    found = cf.read(tmp_path / "all.json")
    assert {name: one.to_dict() for name, one in found.items()} == {
        name: one.to_dict() for name, one in made.items()
    }
    with pytest.raises(InvalidInput, match="one question"):
        found.only()
    with pytest.raises(InvalidInput, match="one question for a"):
        made.save(tmp_path / "all.npz")
    with pytest.raises(InvalidInput, match="summary by group"):
        found.groups("pay")
    assert same(pickle.loads(pickle.dumps(found))["rent"], counts(2))


def test_all_summaries_have_a_zero() -> None:
    one, two = counts(1), counts(2)
    assert same(sum([one, two]), one + two)
    groups = cf.Groups(("region",), {"north": one})
    assert same(sum([groups, groups]), groups + groups)
    named = cf.Summaries({"pay": one})
    assert same(sum([named, named, named])["pay"], one + one + one)
    partition = cf.Partition(cf.Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=1.0)
    sums = cf.CellSums.of(partition.simulate([0.3, 0.5], [0.5, 0.1], seed=1))
    assert same(sum([sums, sums]), sums + sums)
    for summary in (one, groups, named, sums):
        with pytest.raises(TypeError):
            1 + summary  # type: ignore[operator]


def test_summaries_of_other_questions_do_not_add_up(tmp_path: Path) -> None:
    one, other = cf.Summaries({"pay": counts()}), cf.Summaries({"rent": counts()})
    with pytest.raises(Mismatch, match="'pay' and 'rent'"):
        one + other
    one.save(tmp_path / "a.json")
    other.save(tmp_path / "b.json")
    with pytest.raises(Mismatch, match="same questions in"):
        cf.read(tmp_path)
    with pytest.raises(InvalidInput, match="at least one question"):
        cf.Summaries({})


def test_files_are_as_they_were(tmp_path: Path) -> None:
    """The bytes of a file are those of the plain values, in one order."""
    made = counts()
    made.save(tmp_path / "a.json", question="pay")
    fields = {"question": "pay", **made.to_dict()}
    text = json.dumps(fields, separators=(",", ":")).encode() + b"\n"
    assert (tmp_path / "a.json").read_bytes() == text


def test_a_survey_summarizes_all_questions_and_groups(folder: Path, survey: cf.Survey) -> None:
    told: list[tuple[int, int | None]] = []
    found = survey.summarize("*.parquet", by=["region"], progress=lambda *a: told.append(a))
    assert sum(rows for rows, _ in told) == told[0][1] == 4 * N
    assert found.by == ("region",)
    assert list(found) == ["pay", "smokes"]
    assert list(found.groups("pay")) == ["north", "south"]
    alone = cf.summarize(["a.parquet", "b.parquet"])
    assert {name: one.to_dict() for name, one in alone.items()} == {
        name: one.to_dict() for name, one in found.items()
    }
    assert 2 < cf.density(found["pay"]).mean() < 8


def test_public_numbers_go_along(folder: Path, survey: cf.Survey) -> None:
    by = survey.summarize("a.parquet", question="pay", by="year", response="rate")
    table = pq.read_table("a.parquet")
    rates, years = (table.column(name).to_numpy() for name in ("rate", "year"))
    for year, own in by.groups().items():
        assert own.response is not None
        assert own.response.sums.sum() == pytest.approx(rates[years == year].sum())
        assert own.response.high == rates[years == year].max()


def test_bad_rows_are_refused_or_dropped(folder: Path, survey: cf.Survey) -> None:
    table = pq.read_table("a.parquet")
    pay = table.column("pay").to_pylist()
    region = table.column("region").to_pylist()
    pay[3], region[7], region[9] = 10**6, None, None
    columns = {"pay": pa.array(pay), "smokes": table.column("smokes"), "region": region}
    made = pa.table(columns).replace_schema_metadata(table.schema.metadata)
    pq.write_table(made, "bad.parquet")
    words = "1 row with a report out of range: the first is row 4 of 'bad.parquet'"
    with pytest.raises(InvalidInput, match="2 rows without a group"):
        survey.summarize("bad.parquet", by="region")
    with pytest.raises(InvalidInput, match="reports from 0 to"):
        survey.summarize("bad.parquet")
    region[7] = region[9] = "north"
    mended = pa.table({**columns, "region": region})
    pq.write_table(mended.replace_schema_metadata(table.schema.metadata), "bad.parquet")
    with pytest.raises(InvalidInput, match=words):
        survey.summarize("bad.parquet", by="region")
    with pytest.warns(LeftOut, match="Left out of 'pay' 1 row"):
        found = survey.summarize("bad.parquet", by="region", invalid="drop")
    assert (found["pay"].n, found["smokes"].n) == (N - 1, N)


def test_groups_are_words_whole_numbers_or_dates(folder: Path, survey: cf.Survey) -> None:
    with pytest.raises(InvalidInput, match="words, whole numbers or dates in column 'rate'"):
        survey.summarize("a.parquet", by="rate")
    with pytest.raises(InvalidInput, match="--keep town"):
        survey.summarize("a.parquet", by="town")


def test_a_pair_is_found_in_files(folder: Path, survey: cf.Survey) -> None:
    both = survey.pair("*.parquet", x="pay", y="smokes")
    assert both.private
    assert both.labels == ("no", "yes")
    assert both.missing == {"pay": 3.0}
    public = survey.pair("a.parquet", x="pay", y="rate", bounds=(-9, 9))
    assert public.bounds == (-9, 9)
    assert abs(public.fit(cf.estimators.LinearRegression()).predict(5.0)) < 1
    assert 0 < both.fit(cf.estimators.RatioRegression()).predict(5.0) < 1
    with pytest.raises(InvalidInput, match="x and y that differ"):
        survey.pair("a.parquet", x="pay", y="pay")


def test_the_name_of_one_of_several_is_asked_for(folder: Path) -> None:
    with pytest.raises(Unnamed, match="question= to name one of 'pay', 'smokes'") as caught:
        cf.tables.asked("a.parquet")
    assert (caught.value.parameter, caught.value.names) == ("question", ("pay", "smokes"))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


DAYS = {"2026-01-05": 100, "2026-01-06": 200, "a b%c": 50}


@pytest.fixture
def partitioned(folder: Path, survey: cf.Survey) -> Path:
    """Reports in folders as Hive and Spark write them, one of them for rows without a day."""
    for at, (day, n) in enumerate({**DAYS, MISSING: 7}.items()):
        place = Path("hive") / f"day={quote(day, safe='')}" / f"part={at % 2}"
        place.mkdir(parents=True)
        values = {"pay": np.full(n, 3.0), "smokes": ["yes"] * n, "region": ["n", "s"] * (n // 2)}
        if n == 7:
            values["region"] = ["n"] * 7
        table = survey.privatize(values, keep=["region"])
        pq.write_table(table, place / "part-0.parquet")
        csv.write_csv(table, place / "part-0.csv")
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("database", [False, True])
def test_folders_make_groups(
    partitioned: Path,
    survey: cf.Survey,
    ending: str,
    database: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "LEAST", 0 if database else 10**9)
    paths = f"hive/**/*.{ending}"
    with pytest.raises(InvalidInput, match="7 rows without a group"):
        survey.summarize(paths, by="day")
    with pytest.warns(LeftOut, match="7 rows without a group"):
        found = survey.summarize(paths, by="day", invalid="drop")
    assert {day: own.n for day, own in found.groups("pay").items()} == DAYS
    both = survey.summarize(paths, by=["part", "region"]).groups("smokes")
    assert {key: own.n for key, own in both.items()} == {
        ("0", "n"): 75,
        ("0", "s"): 75,
        ("1", "n"): 107,
        ("1", "s"): 100,
    }
    assert survey.summarize(paths)["pay"].n == sum(DAYS.values()) + 7


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders_make_groups_for_an_engine(
    partitioned: Path, survey: cf.Survey, ending: str
) -> None:
    mechanism = survey.mechanisms["pay"]
    paths = f"hive/**/*.{ending}"
    with pytest.warns(LeftOut, match="7 rows without a group"):
        found = cf.tables.counts(paths, mechanism, column="pay", by="day", invalid="drop")
    assert {day: own.n for day, own in found.items()} == DAYS


@pytest.mark.parametrize("least", [0, 10**9])
def test_a_folder_does_not_replace_reports(
    folder: Path, survey: cf.Survey, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LEAST", least)
    place = Path("pay=3/day=5")
    place.mkdir(parents=True)
    own = survey.summarize("a.parquet")
    Path("a.parquet").rename(place / "a.parquet")
    for found in (survey.summarize("pay=3"), survey.summarize("pay=3", by="day")):
        assert same(found["pay"], own["pay"])


def test_a_folder_is_not_taken_for_a_column_of_that_name(folder: Path, survey: cf.Survey) -> None:
    place = Path("region=north")
    place.mkdir()
    Path("a.parquet").rename(place / "a.parquet")
    assert survey.summarize(place)["pay"].n == N
    words = "one column 'region' in 'region=north/a.parquet', got two"
    with pytest.raises(InvalidInput, match=words):
        survey.summarize(place, by="region")
    mechanism = survey.mechanisms["pay"]
    with pytest.raises(InvalidInput, match=words):
        cf.tables.counts(place, mechanism, column="pay", by="region")
    with pytest.raises(InvalidInput, match="--keep day"):
        survey.summarize(place, by="day")


def test_groups_are_found_left_out_and_added_up() -> None:
    keys = [("n", 1), ("n", 2), ("s", 1)]
    groups = cf.Groups(("region", "year"), {key: counts(at) for at, key in enumerate(keys, 1)})
    assert same(groups.find("n/2"), counts(2))
    assert same(groups.others(("n", 1)), counts(2) + counts(3))
    coarse = groups.coarser(["region"])
    assert coarse.by == ("region",)
    assert same(coarse["n"], counts(1) + counts(2))
    assert groups.coarser(["region", "year"]) is groups
    assert list(groups.coarser(["year", "region"])) == [(1, "n"), (1, "s"), (2, "n")]
    with pytest.raises(InvalidInput, match="Did you mean 'region'"):
        groups.coarser(["regin"])
    with pytest.raises(InvalidInput, match="a group by region, year"):
        groups.find("n/3")
    with pytest.raises(InvalidInput, match="one of at least two groups"):
        groups.others(("x", 1))


def test_folders_make_groups_of_vector_reports(tmp_path: Path) -> None:
    partition = cf.Partition(cf.Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=1.0)
    for day, n in (("a", 3), ("b", 5)):
        place = tmp_path / f"day={day}"
        place.mkdir()
        made = partition.privatize(np.full(n, 0.3), np.full(n, 0.5))
        cf.reports.write(made, place / "part.parquet")
    found = cf.tables.counts(tmp_path, partition, by="day")
    assert {day: own.n for day, own in found.items()} == {"a": 3, "b": 5}


def test_several_questions_count_no_respondent_twice() -> None:
    one = cf.Summaries({"pay": counts(1)})
    assert repr(one) == "<Summaries of 200 respondents: 'pay'>"
    # Some may have been asked about pay only, others about rent only.
    both = cf.Summaries({"pay": counts(1) + counts(2), "rent": counts(3)})
    words = "Summaries of at most 400 respondents a question"
    assert repr(both) == f"<{words}: 'pay', 'rent'>"
    assert words in both._repr_html_()

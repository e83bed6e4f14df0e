"""A folder of many files, in which something is that does not belong there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.cli.app import run
from confide.errors import InvalidInput, Mismatch
from confide.files.copies import chance
from confide.reports.stamps import Unstamped

SURVEY = """
groups = ["region"]
[questions.commute]
low = 0
high = 120
size = 64
epsilon = 1.5
"""
N = 3000


@pytest.fixture(autouse=True)
def lake(here: Path) -> Path:
    """Two weeks of reports, each with the stamp of confide."""
    Path("survey.toml").write_text(SURVEY)
    survey, draw = cf.Survey.read("survey.toml"), np.random.default_rng(5)
    for week in ("W01", "W02"):
        folder = Path(f"lake/week={week}")
        folder.mkdir(parents=True)
        values = {
            "commute": draw.gamma(3, 9, N),
            "region": draw.choice(["east", "north", "west"], N),
        }
        pq.write_table(survey.privatize(values, keep=["region"]), folder / "part-0.parquet")
    return here / "lake"


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert len(said.splitlines()) == 1
    return said


def done(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 0
    return capsys.readouterr().err


def raw(path: Path) -> None:
    """Whole numbers that look like reports, as somebody forgot to privatize them."""
    minutes = np.random.default_rng(1).integers(0, 80, N).astype(np.int32)
    region = pa.array(["east"] * N)
    pq.write_table(pa.table({"commute": minutes, "region": region}), path)


@pytest.mark.parametrize("verb", ["summarize -o c.json", "results", "density"])
def test_a_file_without_a_stamp_among_others(
    verb: str, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw(lake / "week=W02" / "part-1.parquet")
    said = refused(f"{verb} survey.toml lake", capsys)
    assert said.startswith(
        "Expected the stamp of confide in all 3 files of reports, got none in "
        "'lake/week=W02/part-1.parquet'. Raw values have none: put them through privatize first."
    )
    assert not Path("c.json").exists()


def test_a_csv_file_among_files_with_a_stamp(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{minutes},east" for minutes in range(100)]
    (lake / "raw.csv").write_text("\n".join(["commute,region", *lines]) + "\n")
    assert "got none in 'lake/raw.csv'" in refused("summarize survey.toml lake -o c.json", capsys)


def test_a_file_without_a_stamp_that_is_known_to_hold_reports(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lake / "week=W02" / "part-0.parquet"
    pq.write_table(pq.read_table(path, partitioning=None).replace_schema_metadata(None), path)
    refused("summarize survey.toml lake -o c.json", capsys)
    assert done("summarize survey.toml lake -o c.json --unstamped", capsys) == ""
    assert cf.read("c.json").n == 2 * N
    assert done("results survey.toml lake --unstamped", capsys) == ""
    assert "reports to go with --unstamped" in refused(
        "results survey.toml c.json --unstamped", capsys
    )


def test_no_file_has_a_stamp(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in lake.rglob("*.parquet"):
        pq.write_table(pq.read_table(path, partitioning=None).replace_schema_metadata(None), path)
    said = done("summarize survey.toml lake -o c.json", capsys)
    assert said.startswith(
        "Warning: Expected the stamp of confide in each of 2 files such as "
        "'lake/week=W01/part-0.parquet', got none: nothing but you says"
    )
    assert cf.read("c.json").n == 2 * N
    assert done("summarize survey.toml lake -o c.json --unstamped", capsys) == ""


def test_python_refuses_it_too(lake: Path) -> None:
    survey = cf.Survey.read("survey.toml")
    raw(lake / "part-1.parquet")
    wave = survey.mechanisms["commute"]
    mixed = "the stamp of confide in all 3 files of reports"
    with pytest.raises(Mismatch, match=mixed):
        survey.summarize("lake")
    with pytest.raises(Mismatch, match=mixed):
        cf.tables.counts("lake", wave, column="commute")
    assert survey.summarize("lake", unstamped=True).n == 3 * N
    assert cf.tables.counts("lake", wave, column="commute", unstamped=True).n == 3 * N
    with pytest.warns(Unstamped):
        assert cf.tables.counts("lake/*.parquet", wave, column="commute").n == N


def test_a_copy_of_a_part(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(lake / "week=W01" / "part-0.parquet", lake / "week=W01" / "part-0 (1).parquet")
    said = refused("summarize survey.toml lake -o c.json", capsys)
    assert "Expected each report once, got files with the same bytes: " in said
    assert "'lake/week=W01/part-0 (1).parquet' and 'lake/week=W01/part-0.parquet'" in said
    survey = cf.Survey.read("survey.toml")
    with pytest.raises(InvalidInput, match="the same bytes"):
        survey.summarize("lake", by="week")
    with pytest.raises(InvalidInput, match="the same bytes"):
        cf.tables.counts("lake", survey.mechanisms["commute"], column="commute")


def test_a_copy_of_answers_of_two_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    Path("yes.toml").write_text('[questions.smokes]\ncategories = ["no", "yes"]\nepsilon = 1.0\n')
    draw = np.random.default_rng(1)
    lines = draw.integers(0, 2, 200).astype(str)
    for name in ("a", "b"):
        Path(f"{name}.csv").write_text("\n".join(["smokes", *lines]) + "\n")
    assert "the same bytes" in refused("summarize yes.toml a.csv b.csv -o c.json", capsys)
    # Sorted, such files may well be equal by chance.
    for name in ("a", "b"):
        Path(f"{name}.csv").write_text("\n".join(["smokes", *sorted(lines)]) + "\n")
    done("summarize yes.toml a.csv b.csv -o c.json", capsys)


def test_equal_files_of_a_few_reports_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        Path(f"{name}.csv").write_text("commute\n7\n7\n9\n")
    done("summarize survey.toml a.csv b.csv -o c.json", capsys)
    assert cf.read("c.json").n == 6


def test_vector_reports_and_sums_that_are_copied(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.toml").write_text(
        '[partition]\nepsilon = 2.0\nresponse = "y"\nlow = 0\nhigh = 1\n'
        "[partition.features.x]\nlow = 0\nhigh = 1\ncells = 8\n"
    )
    draw = np.random.default_rng(1)
    values = {"x": draw.random(500), "y": draw.random(500)}
    reports = cf.PartitionSurvey.read("p.toml").privatize(values)
    pq.write_table(reports, "v.parquet")
    shutil.copy("v.parquet", "w.parquet")
    assert "the same bytes" in refused("summarize p.toml v.parquet w.parquet -o s.json", capsys)
    done("summarize p.toml v.parquet -o s.json", capsys)
    shutil.copy("s.json", "t.json")
    assert "equal sums in 's.json' and 't.json'" in refused("merge s.json t.json -o u.json", capsys)


@pytest.fixture
def weeks(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Summaries of both weeks, by week and region."""
    for week in ("W01", "W02"):
        command = f"summarize survey.toml lake/week={week} -o {week}.json --by week --by region"
        done(command, capsys)


@pytest.mark.usefixtures("weeks")
def test_a_copy_of_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("W02.json", "again.json")
    said = refused("merge W01.json W02.json again.json -o all.json", capsys)
    assert said.startswith(
        "Expected summaries of different reports, got equal counts of 3 groups in 'W02.json' and "
        "'again.json'. One is a copy of the other, or holds it already"
    )
    with pytest.raises(InvalidInput, match="equal counts"):
        cf.read(["W02.json", "again.json"])
    assert (cf.read("W02.json") + cf.read("again.json")).n == 2 * N


@pytest.mark.usefixtures("weeks")
def test_a_week_that_was_added_before(capsys: pytest.CaptureFixture[str]) -> None:
    done("merge W01.json W02.json -o all.json", capsys)
    assert "equal counts of 3 groups in 'all.json' and 'W02.json'" in refused(
        "merge all.json W02.json -o twice.json", capsys
    )


@pytest.mark.usefixtures("weeks")
def test_a_group_in_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    done("merge W01.json W02.json -o all.json --disjoint", capsys)
    command = "summarize survey.toml lake/week={} -o {}.json --by region"
    for week in ("W01", "W02"):
        done(command.format(week, f"r{week}"), capsys)
    done("merge rW01.json rW02.json -o r.json", capsys)
    assert cf.read("r.json").n == 2 * N
    said = refused("merge rW01.json rW02.json -o s.json --disjoint", capsys)
    assert "Expected each group in one file, got 'east' in 'rW01.json' and 'rW02.json'" in said
    done("summarize survey.toml lake -o plain.json", capsys)
    said = refused("merge plain.json r.json -o s.json --disjoint", capsys)
    assert "summaries by group to go with --disjoint" in said


def test_few_respondents_may_be_alike_by_chance(capsys: pytest.CaptureFixture[str]) -> None:
    wave = cf.Survey.read("survey.toml").mechanisms["commute"]
    counts = cf.Counts.of(cf.Reports(np.array([3, 3, 5]), wave, simulated=False))
    for name in ("a", "b"):
        counts.save(f"{name}.json")
    assert cf.read(["a.json", "b.json"]).n == 6


def test_the_chance_of_equal_counts() -> None:
    draw = np.random.default_rng(1)
    for shares in ([0.5, 0.5], [0.2, 0.3, 0.5]):
        first, second = (draw.multinomial(8, shares, 200_000) for _ in range(2))
        equal = (first == second).all(axis=1)
        bound = np.array([chance(row) for row in first[:2000].tolist()])
        assert equal.mean() < np.exp(bound).mean()
        for row in np.unique(first[:2000], axis=0):
            assert (second == row).all(axis=1).mean() <= np.exp(chance(row.tolist())) + 0.004


def test_intervals_of_the_density_are_there_if_asked_for(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    interval = cf.curves.Density.interval

    def listening(self: cf.curves.Density, what: str, *at: Any, **more: Any) -> Any:
        asked.append(what)
        return interval(self, what, *at, **more)

    monkeypatch.setattr(cf.curves.Density, "interval", listening)
    done("summarize survey.toml lake -o c.json --by week", capsys)
    for by in ([], ["--by", "week"]):
        assert run(["density", "survey.toml", "c.json", *by, "--json"]) == 0
        capsys.readouterr()
    assert set(asked) == {"mean", "quantile"}
    assert run(["density", "survey.toml", "c.json", "--json", "--band"]) == 0
    found = json.loads(capsys.readouterr().out)
    ends = found["intervals"]["pdf"]
    assert len(ends["lower"]) == len(ends["upper"]) == len(found["x"])
    assert "Expected --json to go with --band" in refused(
        "density survey.toml c.json --band", capsys
    )


def test_tables_in_place_of_paths_are_refused_in_one_sentence(lake: Path) -> None:
    survey = cf.Survey.read("survey.toml")
    frame = pl.read_parquet("lake/*/*.parquet")
    tables = [frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), ibis.memtable(frame), {}]
    for table in tables:
        with pytest.raises(InvalidInput, match=r"Expected paths of files.*got a table.*counts"):
            survey.summarize(table)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Expected paths of files"):
        survey.summarize([3])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="Collect it first"):
        cf.tables.counts(frame.lazy(), survey.mechanisms["commute"], column="commute")
    assert survey.summarize(lake.glob("*/*.parquet")).n == 2 * N  # type: ignore[arg-type]


def test_counts_that_cannot_be_name_their_file(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("raw.csv").write_text("commute,region\n" + "30,east\n" * N)
    for verb in ("summarize -o c.json", "density"):
        said = refused(f"{verb} survey.toml raw.csv", capsys)
        assert "reports of 'commute' in 'raw.csv' by square-wave" in said
    for name in ("a", "b"):
        (lake / f"{name}.csv").write_text("commute\n" + f"{30 + (name == 'a')}\n" * N)
    said = refused("summarize survey.toml lake/a.csv lake/b.csv -o c.json", capsys)
    assert "of 'commute' in 2 files, from 'lake/a.csv' by square-wave" in said


def test_rows_that_are_refused_name_their_column(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.csv").write_text("commute,region\n3,east\n1.5,west\n")
    said = refused("summarize survey.toml odd.csv -o c.json --by region", capsys)
    assert "Expected valid rows of 'commute' in 'odd.csv', got 1 row with a report that is" in said
    wave = cf.Survey.read("survey.toml").mechanisms["commute"]
    with pytest.raises(InvalidInput, match=r"valid rows of 'commute' in 'odd.csv'"):
        cf.tables.counts("odd.csv", wave, column="commute")


@pytest.mark.usefixtures("weeks")
def test_columns_of_groups_in_another_order(capsys: pytest.CaptureFixture[str]) -> None:
    command = "summarize survey.toml lake/week=W02 -o other.json --by region --by week"
    done(command, capsys)
    done("merge W01.json other.json -o all.json", capsys)
    found, ordered = cf.read("all.json"), cf.read(["W01.json", "W02.json"])
    assert found.by == ordered.by == ("week", "region")
    for key, own in ordered.groups().items():
        assert found.groups()[key].counts.tolist() == own.counts.tolist()
    # The same reports are the same whatever the order.
    assert "equal counts of 3 groups" in refused("merge W02.json other.json -o twice.json", capsys)

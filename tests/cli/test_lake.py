"""A folder of many files, in which something is that does not belong there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.cli.app import run
from confide.errors import Mismatch
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

"""`confide results`: the results of a whole survey, written once and for all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.results import Results
from confide.survey import Survey

TOML = """
title = "Staff"
groups = ["region"]
[questions.pay]
low = 0
high = 10
size = 32
epsilon = 2.0
[questions.smokes]
categories = ["no", "yes"]
epsilon = 2.0
"""
N = 600


@pytest.fixture
def folder(here: Path) -> Path:
    Path("survey.toml").write_text(TOML)
    survey, draw = Survey.read("survey.toml"), np.random.default_rng(1)
    region = draw.choice(["north", "south"], N)
    values = {
        "pay": 10 * draw.beta(2, 5, N),
        "smokes": np.where(draw.random(N) < np.where(region == "north", 0.9, 0.1), "yes", "no"),
        "region": region,
    }
    pq.write_table(survey.privatize(values, keep=["region"]), "reports.parquet")
    pq.write_table(survey.privatize(values), "alone.parquet")
    pq.write_table(survey.simulate(values, seed=1, keep=["region"]), "simulated.parquet")
    return here


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = sorted(Path().iterdir())
    assert run(["results", *arguments]) == 2
    told = capsys.readouterr()
    assert sorted(Path().iterdir()) == before
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


def test_groups_that_reports_lack_are_told_when_they_are_drawn(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("values.csv").write_text("region,pay,smokes\nnorth,1,yes\nsouth,2,no\n")
    drawn = ["privatize", "survey.toml", "values.csv", "-o", "drawn.parquet"]
    assert run(drawn) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "draw again with --keep region --replace before anybody sees these" in told
    assert run([*drawn, "--keep", "region", "--replace"]) == 0
    assert "--keep region" not in " ".join(capsys.readouterr().out.split())
    assert "region" in pq.read_schema("drawn.parquet").names
    # Values that have no such column cannot keep it.
    Path("values.csv").write_text("pay,smokes\n1,yes\n2,no\n")
    assert run([*drawn, "--replace"]) == 0
    assert "--keep region" not in " ".join(capsys.readouterr().out.split())


def test_reports_and_their_summary_give_the_same_results(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = [part for one in ("html", "json", "md", "csv") for part in ("-o", f"results.{one}")]
    assert run(["results", "survey.toml", "reports.parquet", *outputs]) == 0
    told = capsys.readouterr().out
    assert "600 people answered." in told
    assert "smokes, by region: north ▲ (yes), south ▼ (yes)" in told
    assert "Results: results.html, results.json, results.md, results.csv" in told
    results = Results.read("results.json")
    assert (results.by, results.comparisons) == (("region",), 4)
    run(["summarize", "survey.toml", "reports.parquet", "--by", "region", "-o", "counts.json"])
    capsys.readouterr()
    assert run(["results", "survey.toml", "counts.json", "--by", "region", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields.pop("output") == []
    assert fields == json.loads(Path("results.json").read_text())


def test_a_file_that_is_there_is_replaced(folder: Path) -> None:
    Path("results.md").write_text("old")
    assert run(["results", "survey.toml", "alone.parquet", "-o", "results.md"]) == 0
    text = Path("results.md").read_text()
    assert text.startswith("# Staff")
    assert "By region" not in text


def test_simulated_results_say_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "got simulated ones" in refused(capsys, "survey.toml", "simulated.parquet")
    words = ["results", "survey.toml", "simulated.parquet", "--simulated", "-o", "results.md"]
    assert run(words) == 0
    assert (
        "All of this is simulated: no person gave these reports" in Path("results.md").read_text()
    )


def test_what_does_not_fit_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = ("survey.toml", "reports.parquet")
    assert "'sex'" in refused(capsys, *one, "--by", "sex", "-o", "results.html")
    assert "ends in .html" in refused(capsys, *one, "-o", "results.txt")
    assert "other than the inputs" in refused(capsys, *one, "-o", "reports.parquet")
    assert "invited" in refused(capsys, *one, "--invited", "5", "-o", "results.html")
    assert "a survey" in refused(capsys, "reports.parquet")
    Path("other.toml").write_text(TOML.replace("high = 10", "high = 20"))
    assert "another" in refused(capsys, "other.toml", "reports.parquet", "-o", "results.html")
    Path("labels.toml").write_text(TOML + 'labels = ["No"]\n')
    assert "one label for each of the 2" in refused(capsys, "labels.toml", "reports.parquet")
    pq.write_table(pa.table({"pay": [1.5], "smokes": ["no"]}), "raw.parquet")
    assert "got" in refused(capsys, "survey.toml", "raw.parquet")
    run(["summarize", "survey.toml", "reports.parquet", "--by", "region", "-o", "counts.json"])
    capsys.readouterr()
    assert "'sex'" in refused(capsys, "survey.toml", "counts.json", "--by", "sex")
    assert "--weights" in refused(capsys, "survey.toml", "counts.json", "--weights", "w")
    assert "another" in refused(capsys, "other.toml", "counts.json")

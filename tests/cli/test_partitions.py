"""A partition survey on the command line, from a file to a fitted curve."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.cli.app import run
from confide.estimators import PartitionRegression, partition_curve
from confide.mechanisms import Partition
from confide.questions import PartitionSurvey
from confide.streams import batches

N = 20_000
SURVEY = """
[partition]
epsilon = 4.0
response = "pay"
low = 0
high = 100000

[partition.features.age]
low = 18
high = 80
cells = 3

[partition.features.tenure]
low = 0
high = 30
cells = 2
"""
WORDS = """
[partition]
epsilon = 4.0
response = "mode"
labels = ["bus", "car", "foot"]

[partition.features.region]
categories = ["north", "south"]
"""


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    draw = np.random.default_rng(1)
    age, tenure = draw.uniform(18, 80, N).round(2), draw.uniform(0, 30, N).round(2)
    region = draw.choice(["north", "south"], N)
    mode = np.where(region == "north", "bus", draw.choice(["car", "foot"], N, p=[0.3, 0.7]))
    pay = (20_000 + 600 * (age - 18) + 500 * tenure).round(2)
    with Path("values.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "tenure", "region", "mode", "pay", "site"])
        writer.writerows(zip(age, tenure, region, mode, pay, np.arange(N) % 3, strict=True))
    Path("survey.toml").write_text(SURVEY)
    Path("words.toml").write_text(WORDS)
    return here


def machine(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code = run([*command.split(), "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    fields: dict[str, Any] = json.loads(printed.out)
    return fields


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code = run(command.split())
    printed = capsys.readouterr()
    assert (code, printed.out, len(printed.err.splitlines())) == (2, "", 1), printed
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return printed.err


def test_reports_in_the_place_of_others_cost_epsilon_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "privatize words.toml values.csv -o reports.parquet"
    assert not machine(command, capsys)["replaced"]
    assert "costs epsilon again" in refused(command, capsys)
    assert run([*command.split(), "--replace"]) == 0
    assert "cost epsilon again: 8 in all" in " ".join(capsys.readouterr().out.split())
    assert machine(f"{command} --replace", capsys)["replaced"]


def test_from_a_file_to_a_curve(capsys: pytest.CaptureFixture[str]) -> None:
    made = machine("privatize survey.toml values.csv -o reports.parquet --keep site", capsys)
    assert made["n"] == N
    assert made["epsilon"] <= 4.0
    table = pq.read_table("reports.parquet")
    assert table.schema.names == ["w", "z", "site"]
    # Shuffled: public columns go with their rows.
    assert table["site"].to_pylist()[:3000] != [at % 3 for at in range(3000)]
    assert np.bincount(table["site"].to_numpy()).tolist() == [6667, 6667, 6666]
    machine("summarize survey.toml reports.parquet -o sums.json", capsys)
    machine("summarize survey.toml reports.parquet -o sums.npz", capsys)
    found = machine("regress --partition survey.toml sums.json", capsys)
    for other in ("sums.npz", "reports.parquet"):
        assert machine(f"regress --partition survey.toml {other}", capsys) == found
    assert found["cells"] == [3, 2]
    # The same figures as in Python.
    survey = PartitionSurvey.read("survey.toml")
    sums = cf.CellSums.from_dict(json.loads(Path("sums.json").read_text()))
    assert sums.mechanism.spend.epsilon == found["epsilon"] == made["epsilon"]
    curve = partition_curve(survey, sums)
    where = survey.cells.centers
    assert [row["y"] for row in found["table"]] == curve.predict(where).tolist()
    own = PartitionRegression().fit(sums)
    np.testing.assert_allclose(curve.predict(where), own.predict(where) + 50_000)
    truth = 20_000 + 600 * (where[:, 0] - 18) + 500 * where[:, 1]
    inside = [a["lower"] < y < a["upper"] for a, y in zip(found["table"], truth, strict=True)]
    assert sum(inside) >= 4
    assert run(["regress", "--partition", "survey.toml", "sums.json", "--plot", "map.png"]) == 0
    printed = capsys.readouterr().out
    assert "Mean pay by age, tenure, 20,000 reports, partition" in printed
    assert "epsilon = 4" in printed
    assert Path("map.png").stat().st_size > 1000
    machine("privatize survey.toml values.csv -o others.parquet", capsys)
    machine("summarize survey.toml others.parquet -o again.json", capsys)
    machine("merge sums.json again.json -o twice.json", capsys)
    assert machine("regress --partition survey.toml twice.json", capsys)["n"] == 2 * N


@pytest.mark.parametrize(
    ("survey", "response"), [("survey.toml", "pay"), ("words.toml", "mode"), ("two.toml", "mode")]
)
def test_the_audit_of_a_partition(
    survey: str, response: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.toml").write_text(WORDS.replace(', "foot"', ""))
    found = machine(f"audit {survey} --n 4000", capsys)
    row = found["questions"][response]
    law = PartitionSurvey.read(survey).mechanism.law
    assert found["holds"]
    # The attack proves most of what the exact law allows, and no more.
    assert 1 < row["lower_bound"] < row["certified"] <= row["claimed"] == 4.0
    assert row["certified"] == pytest.approx(math.log(law.ratio()), rel=1e-12)
    assert {each["layer"] for each in found["findings"]} == {
        "exact", "grid", "index", "goodness", "sampled", "joint",
    }  # fmt: skip


def test_the_audit_finds_a_partition_without_noise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Partition.draw

    def broken(self: Partition, indices: Any, entropy: Any) -> Any:
        reports = right(self, indices, entropy)
        # Whoever is outside of the first cell has nothing but zeros there.
        reports[indices[:, 0] != 0, :, 0] = 0
        return reports

    monkeypatch.setattr(Partition, "draw", broken)
    assert run(["audit", "survey.toml", "--n", "4000"]) == 1
    said = capsys.readouterr().out
    for layer in ("grid", "sampled", "joint"):
        assert f": {layer}: " in said


def test_words_and_several_labels(capsys: pytest.CaptureFixture[str]) -> None:
    machine("privatize words.toml values.csv -o reports.parquet", capsys)
    found = machine("classify --partition words.toml reports.parquet", capsys)
    assert [row["class"] for row in found["table"]] == ["bus", "foot"]
    assert found["table"][0]["at"] == {"region": {"category": "north"}}
    assert abs(found["table"][1]["probability"][2] - 0.7) < 0.1
    assert run(["classify", "--partition", "words.toml", "reports.parquet"]) == 0
    assert "The most likely mode by region" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("privatize survey.toml values.csv -o reports.csv", ".parquet"),
        ("privatize survey.toml values.csv -o r.parquet --keep pay", "private column"),
        ("regress --partition values.csv", "a table \\[partition\\]"),
        ("regress --partition survey.toml", "reports"),
        ("regress --partition survey.toml values.csv --x age", "--x with --partition"),
        ("regress --partition words.toml sums.json", "confide classify"),
        ("classify --partition survey.toml sums.json", "confide regress"),
        ("density survey.toml values.csv", "privatize, summarize, regress, classify, audit"),
        ("serve survey.toml", "privatize, summarize, regress, classify, audit"),
    ],
)
def test_what_does_not_fit_is_refused(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.search(words, refused(command, capsys))


def test_reports_and_sums_of_others_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    machine("privatize survey.toml values.csv -o reports.parquet", capsys)
    assert "already" in refused("privatize survey.toml values.csv -o reports.parquet", capsys)
    assert "--partition" in refused("density reports.parquet", capsys)
    Path("other.toml").write_text(SURVEY.replace("4.0", "3.0"))
    assert "survey was changed" in refused("regress --partition other.toml reports.parquet", capsys)
    survey = PartitionSurvey.read("survey.toml")
    table = {"age": [20.0] * 10, "tenure": [1.0] * 10, "pay": [1.0] * 10}
    pq.write_table(survey.simulate(table, seed=1), "simulated.parquet")
    assert "--simulated" in refused("summarize survey.toml simulated.parquet -o s.json", capsys)
    assert "all private" in refused(
        "regress --partition survey.toml reports.parquet simulated.parquet", capsys
    )


PRIVATIZE = ["privatize", "survey.toml", "values.csv", "-o", "reports.parquet"]


def test_reports_are_drawn_and_written_in_slices(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Slices of 500 rows, each of which counts for three, and buckets as if the file were large.
    monkeypatch.setattr(batches, "ROW", 4)
    monkeypatch.setattr(batches, "PART", 1_500)
    monkeypatch.setattr(batches, "BUCKET", 12_000)
    job = batches.Job(PartitionSurvey.read("survey.toml"), [Path("values.csv")], ["site"])
    assert job.part == 500
    assert job.buckets > 4
    cut = list(job.batches())
    assert len(cut) >= N // 500
    assert max(batch.rows for batch in cut) == 500
    assert [batch.first for batch in cut[:3]] == [0, 500, 1000]
    assert run([*PRIVATIZE, "--keep", "site"]) == 0
    capsys.readouterr()
    whole = pq.read_table("reports.parquet")
    assert whole.num_rows == N
    assert pq.ParquetFile("reports.parquet").num_row_groups > 4
    sites = [int(site) for site in whole["site"].to_pylist()]
    assert sorted(sites) == sorted(at % 3 for at in range(N))
    # Rows are not where they were.
    assert sites[:30] != [at % 3 for at in range(30)]
    survey = PartitionSurvey.read("survey.toml")
    curve = partition_curve(survey, cf.CellSums.of(cf.reports.read("reports.parquet")))
    assert curve.predict([[70.0, 25.0]])[0] > curve.predict([[25.0, 5.0]])[0]


def test_an_interrupted_run_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    monkeypatch.setattr(batches.Job, "small", False)
    honest, seen = batches.Job.drawn, []

    def cut(self: Any, batch: Any) -> Any:
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(batch.number)
        return honest(self, batch)

    monkeypatch.setattr(batches.Job, "drawn", cut)
    command = [*PRIVATIZE, "--processes", "1", "--json"]
    assert run(command) != 0
    assert not Path("reports.parquet").exists()
    monkeypatch.setattr(batches.Job, "drawn", honest)
    assert capsys.readouterr().err == "Run the same command again: it continues this run.\n"
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["reused"]) == (N, 10_000)

"""The verbs as a user meets them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.mechanisms import RandomizedResponse
from confide.reports import Stamp, read
from confide.summaries import Counts
from confide.surveys import Survey

TOML = """
title = "Staff"
[questions.pay]
low = 0
high = 10
size = 64
epsilon = 2.0
[questions.age]
low = 15
high = 75
mechanism = "laplace"
epsilon = 4.0
size = 60
missing = 40
[questions.smokes]
mechanism = "randomized-response"
categories = ["no", "yes"]
epsilon = 2.0
"""
N = 4000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(TOML)
    generator = np.random.default_rng(1)
    rows = zip(
        10 * generator.beta(2, 5, N),
        [*generator.integers(20, 60, N - 1).tolist(), ""],
        np.where(generator.random(N) < 0.3, "yes", "no"),
        range(N),
        strict=True,
    )
    lines = [f'{pay:.3f},{age},{smokes},{number},"a ""b"", c"' for pay, age, smokes, number in rows]
    Path("values.csv").write_text("pay,age,smokes,number,text\n" + "\n".join(lines) + "\n")
    return tmp_path


def ran(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def machine(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    result = json.loads(ran(f"{command} --json", capsys))
    assert isinstance(result, dict)
    return result


PRIVATIZE = "privatize survey.toml values.csv -o reports.parquet --keep number --keep text"


def test_main_job(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "epsilon = 8" in ran(PRIVATIZE, capsys)
    table = pq.read_table("reports.parquet")
    assert table.schema.names == ["pay", "age", "smokes", "number", "text"]
    assert list(map(str, table.schema.types)) == ["int32"] * 3 + ["int64", "string"]
    assert table.column("number").to_pylist() == list(range(N))
    assert table.column("text").to_pylist()[0] == 'a "b", c'
    survey = Survey.read("survey.toml")
    stamp = Stamp.read(table.schema.metadata, "here")
    assert stamp is not None
    assert stamp.mechanisms == survey.mechanisms
    ran("summarize survey.toml reports.parquet -o counts.json", capsys)
    for source in ("survey.toml reports.parquet", "reports.parquet", "counts.json"):
        found = machine(f"density {source} --question pay", capsys)
        assert {
            "n",
            "epsilon",
            "method",
            "x",
            "pdf",
            "cdf",
            "mean",
            "quantiles",
            "intervals",
        } <= set(found)
        assert (found["n"], found["epsilon"], found["method"]) == (N, 2.0, "likelihood")
        assert found["mean"] == pytest.approx(20 / 7, abs=0.4)
        assert len(found["x"]) == len(found["pdf"]) == len(found["cdf"])
        assert set(found["quantiles"]) == {"0.1", "0.25", "0.5", "0.75", "0.9"}
    assert "median" in ran("density counts.json --question pay", capsys)
    found = machine("shares counts.json --question smokes", capsys)
    assert found["shares"]["yes"] == pytest.approx(0.3, abs=0.1)
    assert sum(found["shares"].values()) == pytest.approx(1)
    below, above = found["intervals"]["shares"]["yes"]
    assert below < found["shares"]["yes"] < above
    assert "yes" in ran("shares survey.toml reports.parquet --question smokes", capsys)


def test_deconvolution_has_its_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(PRIVATIZE, capsys)
    command = "density reports.parquet --question age --method deconvolution"
    found = machine(f"{command} --kernel gaussian --bandwidth 2.5 --level 0.8", capsys)
    assert (found["kernel"], found["bandwidth"]) == ("gaussian", 2.5)
    assert found["intervals"]["level"] == 0.8
    below, above = found["intervals"]["mean"]
    assert below < 40 < above
    assert found["intervals"]["quantiles"]["0.5"][0] < found["quantiles"]["0.5"]


def test_summaries_of_parts_add_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        ran(f"privatize survey.toml values.csv -o {name}.parquet", capsys)
        for suffix in ("npz", "json"):
            command = f"summarize {name}.parquet -o {name}.{suffix} --question pay"
            assert machine(command, capsys)["n"] == N
        ran(f"summarize {name}.parquet -o {name}-all.json", capsys)
    ran("summarize *.parquet -o whole.json --question pay", capsys)
    whole = json.loads(Path("whole.json").read_text())
    assert Counts.from_dict(whole).n == 2 * N
    assert machine("merge a.npz b.npz -o c.json", capsys)["n"] == 2 * N
    assert json.loads(Path("c.json").read_text()) == whole
    ran("merge a.json b.npz -o c.npz", capsys)
    assert Counts.from_bytes(Path("c.npz").read_bytes()).to_dict() == whole
    found = machine("merge a-all.json b-all.json -o all.json", capsys)
    assert found["questions"] == ["age", "pay", "smokes"]
    merged = json.loads(Path("all.json").read_text())
    assert merged["questions"]["pay"] == whole
    assert machine("density survey.toml all.json --question pay", capsys)["n"] == 2 * N
    assert machine("density a.json b.json", capsys)["n"] == 2 * N


def test_csv_reports_need_the_survey(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran("privatize survey.toml values.csv -o reports.csv --keep number", capsys)
    assert run(["summarize", "reports.csv", "-o", "counts.json"]) == 2
    assert "survey" in capsys.readouterr().err
    ran("summarize survey.toml reports.csv -o counts.npz --question age", capsys)
    mechanism = Survey.read("survey.toml").mechanisms["age"]
    reports = read("reports.csv", column="age", mechanism=mechanism)
    counted = Counts.from_bytes(Path("counts.npz").read_bytes())
    assert counted.to_dict() == Counts.of(reports).to_dict()


def test_parquet_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 1, "epsilon": 1.0}}})
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 1\nepsilon = 1.0\n")
    table = pa.table({"note": ["x"] * 3, "pay": [0.1, 0.2, 0.3]})
    pq.write_table(table.replace_schema_metadata({"secret": "0.1"}), "values.parquet")
    found = machine("privatize one.toml values.parquet -o r.parquet --keep note", capsys)
    assert found["n"] == 3
    assert found["fingerprint"] == survey.fingerprint
    assert set(pq.read_schema("r.parquet").metadata) == {b"confide"}


def test_marks_of_other_programs_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.toml").write_text("\ufeff[questions.pay]\nlow = 0\nhigh = 9\nepsilon = 1.0\n")
    Path("values.csv").write_bytes(b'\xef\xbb\xbf"pay",x\r\n1.5e0,"a\nb"\r\n"2",c\r\n-.5,\r\n3.,d')
    assert machine("privatize one.toml values.csv -o r.parquet --keep x", capsys)["n"] == 4
    assert pq.read_table("r.parquet").column("x").to_pylist() == ["a\nb", "c", None, "d"]


def test_kept_columns_have_one_type_in_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 9\nepsilon = 1.0\n")
    rows = "1,,7,0.5\n" * 400_000
    Path("values.csv").write_text(f"pay,void,mixed,number\n{rows}2,,x,3\n2,,,\n")
    command = "privatize one.toml values.csv -o r.parquet --keep void --keep mixed --keep number"
    assert machine(command, capsys)["n"] == 400_002
    table = pq.read_table("r.parquet")
    assert list(map(str, table.schema.types)) == ["int32", "int64", "string", "double"]
    assert table.column("void").null_count == 400_002
    assert table.column("mixed").to_pylist()[-3:] == ["7", "x", None]
    assert table.column("number").to_pylist()[-3:] == [0.5, 3.0, None]


def test_a_public_value_stands_for_a_missing_answer(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 9\nepsilon = 1.0\nmissing = 0\n")
    Path("values.csv").write_text("pay\n1\n\n2\n")
    assert machine("privatize one.toml values.csv -o r.parquet", capsys)["n"] == 3
    Path("values.csv").write_text("pay\n1\nNA\n2\n")
    assert run(["privatize", "one.toml", "values.csv", "-o", "r.parquet"]) == 2


def test_simulated_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey.read("survey.toml")
    values = {"pay": [1.0] * 50, "age": [30] * 50, "smokes": ["no"] * 50}
    pq.write_table(survey.simulate(values, seed=1), "s.parquet")
    assert run(["summarize", "s.parquet", "-o", "c.json"]) == 2
    assert "simulated" in capsys.readouterr().err
    assert machine("density s.parquet --question pay", capsys)["n"] == 50
    ran("summarize s.parquet -o c.json --question pay --simulated", capsys)
    assert Counts.from_dict(json.loads(Path("c.json").read_text())).simulated


@pytest.mark.parametrize("method", ["likelihood", "deconvolution"])
def test_numbers_noised_elsewhere(
    method: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(2)
    z = 7.3 + 0.2 * generator.standard_normal(2000) + generator.laplace(0, 0.3, 2000)
    Path("z.csv").write_text("z\n" + "\n".join(map(str, z)) + "\n")
    command = "density --noised z.csv --column z --noise laplace --scale 0.3 --low 6.6 --high 8.1"
    found = machine(f"{command} --method {method}", capsys)
    assert (found["n"], found["epsilon"], found["method"]) == (2000, None, method)
    assert found["mean"] == pytest.approx(7.3, abs=0.1)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plots(suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(PRIVATIZE, capsys)
    ran(f"density reports.parquet --question pay --plot p.{suffix}", capsys)
    ran(f"shares reports.parquet --question smokes --plot s.{suffix}", capsys)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    for name in ("p", "s"):
        assert Path(f"{name}.{suffix}").read_bytes().startswith(start)


def test_demo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ran("demo --out here/demo", capsys)
    for word in ("mean", "median", "90 % quantile", "true", "estimate", "epsilon = 1"):
        assert word in said
    assert Path("here/demo/density.png").read_bytes().startswith(b"\x89PNG")
    found = machine("demo --out here/demo --n 5000 --epsilon 3", capsys)
    assert found["mean"]["estimate"] == pytest.approx(found["mean"]["true"], rel=0.1)


def test_as_a_program(folder: Path) -> None:
    command = [sys.executable, "-m", "confide"]
    done = subprocess.run(
        [*command, *PRIVATIZE.split(), "--json"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["epsilon"] == 8
    Path("values.csv").write_bytes(bytes(range(256)) * 40)
    for bad in (PRIVATIZE, "density nowhere.parquet", "density --level x", "nothing"):
        done = subprocess.run([*command, *bad.split()], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "privatize" in done.stdout


def test_without_its_extra(folder: Path) -> None:
    code = "import sys; sys.modules['typer'] = None; from confide.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "This needs typer, which is not installed: pip install 'confide[cli]'.\n"


def test_reader_that_goes_away(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(PRIVATIZE, capsys)
    command = f"{sys.executable} -m confide density reports.parquet --question pay --json | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_shares_need_no_survey(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = RandomizedResponse(["a", "b", "c"], epsilon=3.0)
    counts = Counts.of(mechanism.privatize(["a"] * 300 + ["b"] * 100))
    Path("c.npz").write_bytes(counts.to_bytes())
    found = machine("shares c.npz", capsys)
    assert found["shares"]["a"] == pytest.approx(0.75, abs=0.15)

"""The verbs as a user meets them."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import confide
from confide.cli import output
from confide.cli.app import VERBS, program, run
from confide.errors import EXTRAS, installing
from confide.estimators.register import DENSITIES
from confide.mechanisms import Joint, RandomizedResponse
from confide.reports import Reports, read
from confide.reports.stamps import Stamp
from confide.summaries import Counts, Groups
from confide.survey import Survey

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
def folder(here: Path) -> Path:
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
    return here


def ran(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    caveat = DENSITIES["deconvolution"].caveat
    warned = f"Warning: {caveat}\n" if "--method deconvolution" in command else ""
    kept = "--keep number" in command and identified(printed.err)
    assert printed.err == warned or kept
    return printed.out


def identified(said: str) -> bool:
    """Whether all that was said is that a kept column names each row."""
    first = "Warning: Each of the first rows has a 'number' of its own. "
    return said.startswith(first) and said.count("\n") == 1


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
    numbers = table.column("number").to_pylist()
    assert sorted(numbers) == list(range(N)) != numbers
    assert table.column("text").to_pylist()[numbers.index(0)] == 'a "b", c'
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
        assert (found["n"], found["epsilon"], found["method"]) == (N, 2.0, "adaptive")
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
    # Real randomness: six standard errors of room on either side of the true 40.
    assert 38 < below < above < 42
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
    bare = {key: value for key, value in whole.items() if key != "question"}
    assert Counts.from_dict(whole).n == 2 * N
    assert machine("merge a.npz b.npz -o c.json", capsys)["n"] == 2 * N
    assert json.loads(Path("c.json").read_text()) == whole
    assert whole["question"] == "pay"
    ran("merge a.json b.npz -o c.npz", capsys)
    assert Counts.from_bytes(Path("c.npz").read_bytes()).to_dict() == bare
    found = machine("merge a-all.json b-all.json -o all.json", capsys)
    assert found["questions"] == ["age", "pay", "smokes"]
    merged = json.loads(Path("all.json").read_text())
    assert merged["questions"]["pay"] == bare
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
    made = pq.read_table("r.parquet").column("x").to_pylist()
    assert sorted(made, key=str) == [None, "a\nb", "c", "d"]


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
    rows = table.select(["mixed", "number"]).to_pylist()
    odd = [tuple(row.values()) for row in rows if row != {"mixed": "7", "number": 0.5}]
    assert sorted(odd, key=str) == [("x", 3.0), (None, None)]


def test_a_public_value_stands_for_a_missing_answer(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 9\nepsilon = 1.0\nmissing = 0\n")
    Path("values.csv").write_text("pay\n1\n\n2\n")
    assert machine("privatize one.toml values.csv -o r.parquet", capsys)["n"] == 3
    Path("values.csv").write_text("pay\n1\nNA\n2\n")
    assert run(["privatize", "one.toml", "values.csv", "-o", "s.parquet"]) == 2


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
    command = "density z.csv --noised z=laplace:0.3 --range z=6.6:8.1"
    found = machine(f"{command} --method {method}", capsys)
    assert (found["n"], found["epsilon"], found["method"]) == (2000, None, method)
    assert found["mean"] == pytest.approx(7.3, abs=0.1)


@pytest.mark.parametrize("n", [500, 3000])
def test_gaussian_noise_from_elsewhere(
    n: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(n)
    values = generator.gamma(4, 10_000, n).clip(0, 200_000)
    z = values + generator.normal(0, 15_000, n)
    command = "density z.csv --noised z=gaussian:15000 --range z=0:200000"
    Path("z.csv").write_text("z\n" + "\n".join(map(str, z)) + "\n")
    found = machine(command, capsys)
    error = np.sqrt((values.var() + 15_000**2) / n)
    assert abs(found["mean"] - values.mean()) < 3 * error
    low, high = found["intervals"]["mean"]
    assert low - error < values.mean() < high + error
    z[5] = -999_999
    Path("z.csv").write_text("z\n" + "\n".join(map(str, z)) + "\n")
    assert run(command.split()) == 2
    assert f"1 of {n:,} that lie too far out" in capsys.readouterr().err


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
    assert done.returncode == 0
    assert identified(done.stderr)
    assert json.loads(done.stdout)["epsilon"] == 8
    Path("values.csv").write_bytes(bytes(range(256)) * 40)
    for bad in (PRIVATIZE, "nothing"):
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
    assert done.stderr.startswith("This needs typer, which is not installed. Install confide with")
    assert len(done.stderr.splitlines()) == 1


VERBS_WITHOUT = """
import importlib, json, sys
for module in sys.argv[1].split():
    sys.modules[module] = None
from confide.cli.app import program, run
from confide.cli.verbs import VERBS
from confide.errors import MissingExtra
told = {}
for verb in VERBS:
    try:
        program(verb)
    except MissingExtra as error:
        told[verb] = str(error)
if len(sys.argv) > 2:
    sys.exit(run(sys.argv[2:]))
print(json.dumps(told))
"""


def without(modules: Sequence[str], *command: str) -> subprocess.CompletedProcess[str]:
    """All verbs imported, and a command run, where some modules are not installed."""
    return subprocess.run(
        [sys.executable, "-c", VERBS_WITHOUT, " ".join(modules), *command],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", sorted(set(EXTRAS) - {"cli"}))
def test_every_verb_can_be_looked_up_without_an_extra(name: str) -> None:
    done = without([each for each in EXTRAS[name] if each not in EXTRAS["cli"]])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("starlette", "serve --demo"),
        ("uvicorn", "serve survey.toml"),
        ("httptools", "serve survey.toml"),
        ("matplotlib", "demo"),
        ("matplotlib", "density survey.toml c.json --question pay --plot p.png"),
    ],
)
def test_a_verb_without_its_extra_says_which(folder: Path, module: str, command: str) -> None:
    done = without([module], *command.split())
    assert done.returncode == 2
    name = "serve" if command.startswith("serve") else "plot"
    assert done.stderr == f"This needs {module}, which is not installed. {installing(name)}\n"
    assert without([module], command.split(maxsplit=1)[0], "--help").returncode == 0


def test_python_says_which_extra_too() -> None:
    for module, name, code in (
        ("starlette", "serve", "import confide.collect; confide.collect.Collector"),
        ("sklearn", "sklearn", "import confide.sklearn"),
    ):
        block = f"import sys; sys.modules[{module!r}] = None; {code}"
        done = subprocess.run(
            [sys.executable, "-c", block], capture_output=True, text=True, check=False
        )
        assert f"MissingExtra: This needs {module}" in done.stderr
        assert installing(name) in done.stderr


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


def test_values_in_many_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 9\nsize = 8\nepsilon = 1.0\n")
    Path("many").mkdir()
    Path("many/a.csv").write_text("pay,x\n" + "1,1\n" * 4)
    Path("many/b.csv").write_text("x,pay\n" + "0.5,2\n" * 6)
    for given in ("many", "many/*.csv", "many/a.csv many/b.csv"):
        said = ran(f"privatize one.toml {given} -o r.parquet --keep x --replace", capsys)
        assert "10 reports from 2 files" in said
        kept = pq.read_table("r.parquet").column("x").to_pylist()
        assert sorted(kept) == [0.5] * 6 + [1.0] * 4
    found = machine("privatize one.toml many -o r.parquet --replace", capsys)
    assert (found["n"], found["files"], found["replaced"]) == (10, 2, True)
    said = ran("privatize one.toml many/a.csv -o r.csv", capsys)
    assert "4 reports in" in said
    assert "CSV cannot carry the mechanism: keep the survey with it." in said
    Path("many/a.csv").write_text("pay,x\n1,1\n")
    assert "1 report in" in ran("privatize one.toml many/a.csv -o r.csv --replace", capsys)


def test_a_summary_knows_its_question(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = "low = 0\nhigh = 9\nsize = 8\nepsilon = 1.0\n"
    Path("two.toml").write_text(f"[questions.pay]\n{same}[questions.debt]\n{same}")
    Path("values.csv").write_text("pay,debt\n" + "1,2\n" * 50)
    ran("privatize two.toml values.csv -o r.parquet", capsys)
    for name in ("pay", "debt"):
        for suffix in ("json", "npz"):
            ran(f"summarize r.parquet --question {name} -o {name}.{suffix}", capsys)
    for suffix in ("json", "npz"):
        assert machine(f"density pay.{suffix}", capsys)["question"] == "pay"
        assert run(["density", f"pay.{suffix}", "--question", "debt"]) == 2
        assert "for 'question', got 'debt'" in capsys.readouterr().err
        assert run(["merge", f"pay.{suffix}", f"debt.{suffix}", "-o", "all.json"]) == 2
        said = capsys.readouterr().err
        for word in (f"'pay.{suffix}'", f"'debt.{suffix}'", "'pay' and 'debt'"):
            assert word in said
    assert not Path("all.json").exists()
    # Summaries made in Python have no name: they take that of the others.
    fields = json.loads(Path("pay.json").read_text())
    del fields["question"]
    Path("bare.json").write_text(json.dumps(fields))
    assert machine("density bare.json", capsys)["question"] is None
    assert machine("merge pay.json bare.json -o all.json", capsys)["questions"] == ["pay"]


def test_help_and_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    printed = capsys.readouterr()
    assert "privatize" in printed.out
    assert printed.err == ""
    assert ran("--version", capsys).startswith(f"confide {confide.__version__}\n")
    told = machine("--version", capsys)
    assert told["extras"]["cli"] is True


def test_weights_and_response(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 9\nsize = 8\nepsilon = 3.0\n")
    rows = "".join(f"{i % 9},{1 + i % 2},{i % 5}\n" for i in range(400))
    Path("values.csv").write_text(f"pay,w,y\n{rows}")
    for kind in ("csv", "parquet"):
        ran(f"privatize one.toml values.csv -o r.{kind} --keep w --keep y --keep-order", capsys)
        command = f"summarize one.toml r.{kind} -o c.json --weights w --response y --bounds 0 10"
        found = machine(command, capsys)
        assert (found["n"], found["weights"], found["response"]) == (400, True, True)
        assert found["effective_n"] == pytest.approx(600**2 / (200 * 5))
        counts = Counts.from_dict(json.loads(Path("c.json").read_text()))
        mechanism = Survey.read("one.toml").mechanisms["pay"]
        y = np.arange(400) % 5
        expected = Counts.of(
            read(f"r.{kind}", column="pay", mechanism=mechanism),
            weights=1 + np.arange(400) % 2,
            response=y,
            bounds=(0, 10),
        )
        assert counts.to_dict() == expected.to_dict()
        assert machine("density c.json", capsys)["effective_n"] == found["effective_n"]
        ran("merge c.json -o d.npz", capsys)
        assert Counts.from_bytes(Path("d.npz").read_bytes()).to_dict() == counts.to_dict()
    found = machine("summarize r.parquet -o c.json --response y", capsys)
    assert (found["weights"], found["response"]) == (False, True)
    assert "median" in ran("density c.json", capsys)


def test_missing_answers_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = "[questions.pay]\nlow = 0\nhigh = 9000\nsize = 8\nepsilon = 1.0\n"
    Path("one.toml").write_text(one + "missing = 4500\n")
    Path("values.csv").write_text("pay\n1\n\n2\n")
    ran("privatize one.toml values.csv -o r.parquet", capsys)
    ran("summarize r.parquet -o c.json", capsys)
    for given in ("r.parquet", "one.toml r.parquet", "one.toml c.json"):
        assert "Missing answers count as 4,500." in ran(f"density {given}", capsys)
        assert machine(f"density {given}", capsys)["missing"] == 4500
    assert machine("density c.json", capsys)["missing"] is None
    Path("one.toml").write_text(one)
    assert run(["density", "one.toml", "r.parquet"]) == 2
    assert "4500.0 and refused" in capsys.readouterr().err


@pytest.fixture
def related(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Reports of a survey whose answers go together, with public columns that follow from pay."""
    generator = np.random.default_rng(3)
    pay = 10 * generator.beta(2, 2, N)
    chance = 1 / (1 + np.exp(5 - pay))
    age = np.clip(20 + 4 * pay, 15, 75)
    late, smokes = generator.random((2, N)) < chance
    columns = {
        "pay": pay,
        "age": age,
        "smokes": np.where(smokes, "yes", "no"),
        "rate": 1 + pay / 2 + generator.normal(0, 0.3, N),
        "late": late.astype(int),
        "word": np.where(late, "yes", "no"),
        "truth": late,
        "grade": 1 + late,
        "w": generator.uniform(1, 2, N),
    }
    pq.write_table(pa.table(columns), "values.parquet")
    keep = " ".join(f"--keep {name}" for name in ("rate", "late", "word", "truth", "grade", "w"))
    for kind in ("parquet", "csv"):
        ran(f"privatize survey.toml values.parquet -o reports.{kind} {keep}", capsys)
    return folder


REGRESSED = {
    "method",
    "n",
    "epsilon",
    "response",
    "names",
    "x",
    "y",
    "lower",
    "upper",
    "level",
    "linear",
}


@pytest.mark.parametrize(
    ("x", "method"),
    [("pay", "adaptive"), ("pay", "ratio"), ("age", "kernel --bandwidth 15"), ("pay", "linear")],
)
def test_regress_on_a_public_column(
    x: str, method: str, related: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"regress survey.toml reports.csv --x {x} --y rate --bounds -2 9 --method {method}"
    found = machine(f"{command} --level 0.9", capsys)
    assert set(found) >= REGRESSED
    told = (found["method"], found["n"], found["response"], found["level"])
    assert told == (method.split(maxsplit=1)[0], N, "public", 0.9)
    assert (found["names"], found["bounds"]) == ({"x": x, "y": "rate"}, [-2, 9])
    assert len(found["x"]) == len(found["y"]) == len(found["lower"]) == len(found["upper"]) == 41
    low, at, high = (found[key][20] for key in ("lower", "y", "upper"))
    assert low <= at <= high
    # The middle of either range is where the rate is 3.5 or 4.1.
    assert at == pytest.approx({"pay": 3.5, "age": 4.1}[x], abs=0.8)
    line = found["linear"]
    slope = {"pay": 0.5, "age": 0.125}[x]
    assert abs(line["slope"] - slope) < 6 * line["slope_error"]
    assert {"intercept", "intercept_error"} <= set(line)


def test_regress_for_people(related: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(ran("regress reports.parquet --x pay --y rate --plot p.png", capsys).split())
    for words in (
        "Mean rate by pay, 4,000 reports, adaptive",
        "mean rate 95 % from to",
        " 6.25 ",
        "Corrected line: rate = ",
        "(standard error). rate is public, pay is private. epsilon = 2:",
        "Picture: p.png",
    ):
        assert words in said
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    said = ran(
        "regress reports.parquet --x pay --y rate --points 3 --method ratio --size 8 --smoothing 0",
        capsys,
    )
    assert "size 8" in said
    assert " 6.25 " not in said
    said = " ".join(ran("regress reports.parquet --x smokes --y rate", capsys).split())
    assert " no " in said
    assert "Corrected line" not in said


def test_regress_on_another_question(related: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = machine(
        "regress reports.parquet --x pay --y age --method ratio --size 16 --weights w", capsys
    )
    assert (found["response"], found["epsilon"]) == ("private", 6)
    assert found["epsilons"] == {"pay": 2, "age": 4}
    assert found["missing"] == {"age": 40}
    assert N / 2 < found["effective_n"] < N
    assert found["y"][20] == pytest.approx(40, abs=8)
    line = found["linear"]
    assert abs(line["slope"] - 4) < 6 * line["slope_error"]
    said = " ".join(ran("regress reports.parquet --x age --y smokes", capsys).split())
    for words in (
        "no counts as 0 and yes as 1.",
        "Corrected logistic curve: log odds of yes = ",
        "Missing answers to 'age' count as 40.",
        "Both are private, and what they cost adds up: epsilon = 4 for 'age' and 2 for 'smokes'.",
        "epsilon = 6: whatever",
    ):
        assert words in said


def test_regress_from_summaries(related: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = machine("regress reports.parquet --x pay --y rate --weights w", capsys)
    summarize = "summarize reports.parquet --response rate --weights w -o"
    ran(f"{summarize} pay.npz --question pay", capsys)
    ran(f"{summarize} all.json", capsys)
    for given in ("pay.npz", "survey.toml pay.npz --x pay", "all.json --x pay"):
        assert machine(f"regress {given} --y rate", capsys) == expected
    nameless = machine("regress pay.npz", capsys)
    assert nameless == {**expected, "names": {"x": "pay", "y": None}}
    assert "mean response" in ran("regress pay.npz", capsys)
    survey = Survey.read("survey.toml")
    parts = {name: survey.mechanisms[name] for name in ("pay", "smokes")}
    columns = [read("reports.parquet", column=name).indices for name in parts]
    both = Reports(np.stack(columns, axis=1), Joint(parts), simulated=False)
    Path("both.json").write_text(json.dumps(Counts.of(both).to_dict()))
    for verb in ("regress", "classify"):
        expected = machine(f"{verb} reports.parquet --x pay --y smokes", capsys)
        assert machine(f"{verb} survey.toml both.json --y smokes", capsys) == expected


def test_classify(related: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "classify reports.parquet --x pay --y"
    found = machine(f"{command} late", capsys)
    assert set(found) >= (REGRESSED - {"y"}) | {"labels", "probability", "regions"}
    assert (found["method"], found["labels"]) == ("adaptive", [0, 1])
    assert found["probability"][8] < 0.5 < found["probability"][32]
    assert (found["regions"][0][0], found["regions"][-1][1]) == (0, 10)
    for pay, label in ((2, 0), (8, 1)):
        assert [one[2] for one in found["regions"] if one[0] <= pay < one[1]] == [label]
    ends = [(one[1], two[0]) for one, two in itertools.pairwise(found["regions"])]
    assert all(above == below for above, below in ends)
    line = found["linear"]
    assert line["curve"] == "logistic"
    assert abs(line["slope"] - 1) < 6 * line["slope_error"]
    # The same column under other names of its values.
    for column, labels in (
        ("word", ["no", "yes"]),
        ("truth", [False, True]),
        ("grade", [1, 2]),
    ):
        other = machine(f"{command} {column}", capsys)
        assert other["labels"] == labels
        assert other["probability"] == found["probability"]
        assert [labels.index(one[2]) for one in other["regions"]] == [
            one[2] for one in found["regions"]
        ]
    csv = machine("classify survey.toml reports.csv --x pay --y grade", capsys)
    assert csv["labels"] == [1, 2]
    ran("summarize reports.parquet --question pay --response grade -o c.json", capsys)
    counted = machine("classify c.json --y grade", capsys)
    assert counted["labels"] == [1, 2]
    assert counted["probability"] == pytest.approx(found["probability"], abs=1e-6)


def test_classify_by_a_question(related: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = machine("classify reports.parquet --x pay --y smokes --method logistic", capsys)
    assert (found["labels"], found["response"], found["epsilon"]) == (["no", "yes"], "private", 4)
    assert [label for _, _, label in found["regions"]] == ["no", "yes"]
    assert found["regions"][0][1] == pytest.approx(5, abs=1)
    said = " ".join(ran("classify reports.parquet --x pay --y word --plot p.svg", capsys).split())
    for words in (
        "Probability that word is yes by pay, 4,000 reports, adaptive",
        "pay probability of yes 95 % from to more likely",
        "The more likely one: no from 0.00 to ",
        "Corrected logistic curve: log odds of yes = ",
        "Picture: p.svg",
    ):
        assert words in said
    assert Path("p.svg").exists()
    found = machine("classify reports.parquet --x smokes --y word", capsys)
    assert found["x"] == ["no", "yes"]
    assert found["regions"] == [["no", "no", "no"], ["yes", "yes", "yes"]]
    assert found["linear"] is None


def test_a_curve_on_a_log_lattice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["low = 1", "high = 10000", "size = 32", 'scale = "log"', "epsilon = 4.0"]
    Path("one.toml").write_text("\n".join(["[questions.pay]", *lines]) + "\n")
    rows = "".join(f"{10 ** (i % 40 / 10)},{i % 40}\n" for i in range(4000))
    Path("values.csv").write_text(f"pay,y\n{rows}")
    ran("privatize one.toml values.csv -o r.parquet --keep y", capsys)
    found = machine("regress r.parquet --y y --points 5", capsys)
    assert found["x"] == pytest.approx([1, 10, 100, 1000, 10_000])
    assert found["y"][2] == pytest.approx(20, abs=4)


def test_words_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(ran(PRIVATIZE, capsys).split())
    assert "all the answers of one respondent change the odds" in said
    assert "hardly any protection" not in said
    Path("one.toml").write_text("[questions.pay]\nlow = 0\nhigh = 9\nepsilon = 10\n")
    said = " ".join(ran("privatize one.toml values.csv -o one.parquet", capsys).split())
    assert "one report changes the odds" in said
    assert said.endswith("That is hardly any protection.")
    Path("z.csv").write_text("z\n7\n8\n")
    command = "density z.csv --noised z=laplace:0.3 --range z=6:9"
    said = ran(command, capsys)
    assert "2 values of 'z'" in said
    assert "report" not in said
    said = ran("density reports.parquet --question pay --plot p.svg", capsys)
    assert "Picture: p.svg" in said
    assert ">pay, 4,000 reports, epsilon = 2, adaptive<" in Path("p.svg").read_text().replace(
        "<!-- ", ">"
    ).replace(" -->", "<")
    assert "Picture: s.svg" in ran("shares reports.parquet --question smokes --plot s.svg", capsys)


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        ([12345.6, 999.4, 0.0], ["12,346", "999", "0"]),
        ([1234.5, 9.871], ["1,234.5", "9.9"]),
        ([2.8571, 0.51], ["2.857", "0.510"]),
        ([0.9, 0.001], ["0.9000", "0.0010"]),
        ([1e-7, -2e-9], ["1.000e-07", "-2.000e-09"]),
        ([3e20], ["3.000e+20"]),
        ([0.0], ["0.000"]),
    ],
)
def test_numbers_of_a_table_have_one_format(values: list[float], printed: list[str]) -> None:
    assert list(map(output.format_of(values), values)) == printed


def test_costs_have_one_format_and_are_never_below() -> None:
    assert output.costs([1.0, 0.5]) == ["1.0", "0.5"]
    assert output.costs([2.0, 30.0]) == ["2", "30"]
    assert output.costs([0.33333333]) == ["0.3334"]


OWN = ("shares", "epsilons", "missing", "facts", "questionnaire")
"""Keys of JSON objects with words of the survey, or with keys that another page tells of."""


def keys_of(fields: dict[str, Any]) -> set[str]:
    """All keys of a JSON object, but those that are the survey's own words."""
    found = set(fields)
    for key, value in fields.items():
        if key == "questions" and isinstance(value, dict):
            found |= {inner for part in value.values() for inner in keys_of(part)}
        elif isinstance(value, dict) and key not in OWN:
            found |= keys_of(value)
    return found


def test_the_page_names_every_verb_and_key(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (
        Path(confide.__file__).parents[2] / "docs" / "reference" / "command-line.md"
    ).read_text()
    parts = {part.split("\n", 1)[0]: part for part in page.split("\n## ")[1:]}
    density = "density reports.parquet --question"
    commands = {
        "privatize": [PRIVATIZE],
        "summarize": [
            "summarize reports.parquet -o counts.json --weights number",
            "summarize reports.parquet -o groups.json --by text",
        ],
        "merge": ["merge counts.json -o all.json"],
        "density": [f"{density} pay", f"{density} age --method deconvolution"],
        "shares": ["shares counts.json --question smokes"],
        "compare": ["compare halves.json 1 2"],
        "regress": [
            "regress reports.parquet --x pay --y number --weights number",
            "regress reports.parquet --x age --y number --method kernel --bandwidth 20",
            "regress reports.parquet --x age --y number --method linear",
        ],
        "classify": ["classify reports.parquet --x pay --y smokes"],
        "release": [
            "release histogram values.csv --column pay --low 0 --high 10 --epsilon 1",
            "release query values.csv --what mean --column pay --low 0 --high 10 --epsilon 1",
        ],
        "sample": [
            "sample values.csv --column pay --reference gaussian --mean 0 --sd 9 --epsilon 1"
        ],
        "plan": [
            "plan --n 500 --epsilon 1 --low 0 --high 9 --bounds --target w1=2 --surveys 4 --size 9"
        ],
        "results": ["results survey.toml reports.parquet -o results.md"],
        "audit": ["audit survey.toml --n 1000"],
        "demo": ["demo --n 2000"],
    }
    # Those of the collector need a service: tests/cli/test_collect.py.
    collector = {"serve", "invite", "export", "answer", "verify"}
    # Those of phases and rounds need surveys of their own: tests/cli/test_phases.py.
    others = {"schedule", "phase", "trend"}
    assert all(f"confide {verb} " in parts[verb] for verb in others)
    # Those of pairs of questions too: tests/cli/test_relations.py.
    pairs = {"relate", "synthesize"}
    assert all(f"confide {verb} " in parts["relate, synthesize"] for verb in pairs)
    assert set(commands) | collector | others | pairs == {
        command.callback.__name__ for command in program(*VERBS).registered_commands
    }
    counts = Counts.of(RandomizedResponse(["no", "yes"], epsilon=2.0).privatize(["no"] * 50))
    Path("halves.json").write_text(json.dumps(Groups(("half",), {1: counts, 2: counts}).to_dict()))
    # A weight is above zero.
    Path("values.csv").write_text(re.sub(r",0,", ",1,", Path("values.csv").read_text()))
    for verb, several in commands.items():
        assert f"confide {verb} " in parts[verb]
        for command in several:
            for key in keys_of(machine(command, capsys)):
                told = parts["summarize" if verb == "merge" else verb]
                assert f"`{key}`" in told, (verb, key)


def test_help_tells_of_each_verb_what_the_verb_tells_of_itself() -> None:
    whole = typer.main.get_command(program(*VERBS))
    light = typer.main.get_command(program())
    assert list(whole.commands) == list(light.commands) == list(VERBS)
    for name, command in whole.commands.items():
        assert light.commands[name].help == command.help.split("\n")[0]

"""Rows that cannot be used: refused by name, or dropped and counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.cli.app import run
from confide.tables import LeftOut, counts, sources

SURVEY = """[questions.pay]
low = 0
high = 10
size = 16
epsilon = 1.0
[questions.smokes]
categories = ["no", "yes"]
epsilon = 1.0
"""
WAVE = cf.Survey.from_dict(
    {"questions": {"pay": {"low": 0, "high": 10, "size": 16, "epsilon": 1.0}}}
).mechanisms["pay"]
N = 400


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    Path("survey.toml").write_text(SURVEY)
    return here


@pytest.fixture(params=["csv", "parquet"])
def forged(request: pytest.FixtureRequest) -> str:
    """A file of reports: the 17th of 'pay' and the 20th of 'smokes' are forged."""
    draw = np.random.default_rng(1)
    survey = cf.Survey.read("survey.toml")
    answers = {"pay": draw.uniform(0, 10, N), "smokes": draw.choice(["no", "yes"], N)}
    made = survey.simulate(answers, seed=1).replace_schema_metadata(None)
    pay, smokes = made["pay"].to_numpy().copy(), made["smokes"].to_numpy().copy()
    pay[16], smokes[19] = 99_999, 2
    weight, rate = np.ones(N), answers["pay"] / 10
    weight[29], rate[39] = -1, 7
    label = np.where(draw.random(N) < 0.5, "a", "b").astype(object)
    label[49] = None
    region = np.array(["north", "south"] * (N // 2), dtype=object)
    region[59] = None
    table = pa.table(
        {"pay": pay, "smokes": smokes, "weight": weight, "rate": rate,
         "label": pa.array(label), "region": pa.array(region)}
    )  # fmt: skip
    path = f"in.{request.param}"
    if request.param == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table.replace_schema_metadata(survey.stamp().metadata()), path)
    return path


def told(command: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    assert run(command.split()) == code
    out, said = capsys.readouterr()
    return out, said


REFUSED = {
    "summarize {} -o c.json": "row 17",
    "summarize {} -o c.json --question smokes": "row 20",
    "summarize {} -o c.json --question smokes --by region": "row 20",
    "density {} --question pay": "row 17",
    "shares {} --question smokes": "row 20",
    "regress {} --x pay --y smokes": "row 17",
    "classify {} --x pay --y smokes": "row 17",
}


@pytest.mark.parametrize("command", REFUSED)
def test_a_forged_row_is_named_and_not_quoted(
    command: str, forged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = told(command.format(f"survey.toml {forged}"), capsys, 2)
    assert f"{REFUSED[command]} of '{forged}'" in said
    assert "--invalid drop" in said
    assert "99999" not in said
    assert said.count("\n") == 1
    assert not Path("c.json").exists()


PUBLIC = {
    "summarize {} -o c.json --question rest --weights weight": "row 30",
    "summarize {} -o c.json --question rest --response rate --bounds 0 1": "row 40",
    "summarize {} -o c.json --question rest --by region": "row 60",
}


@pytest.mark.parametrize("command", PUBLIC)
def test_so_is_a_row_whose_public_column_is_odd(
    command: str, forged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("survey.toml").write_text(SURVEY + "[questions.rest]\nlow=0\nhigh=1\nepsilon=1\nsize=16")
    add = "rest" if forged.endswith("csv") else ""
    if add:
        lines = Path(forged).read_text().splitlines()
        Path(forged).write_text(
            "\n".join([f"{lines[0]},rest", *(f"{line},3" for line in lines[1:])]) + "\n"
        )
    else:
        table = pq.read_table(forged)
        stamp = cf.Survey.read("survey.toml").stamp()
        table = table.append_column("rest", pa.array([3] * N))
        pq.write_table(table.replace_schema_metadata(stamp.metadata()), forged)
    _, said = told(command.format(f"survey.toml {forged}"), capsys, 2)
    assert f"{PUBLIC[command]} of '{forged}'" in said
    assert "--invalid drop" in said


def test_dropped_rows_are_counted(forged: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"summarize survey.toml {forged} -o c.json --invalid drop --json"
    out, said = told(command, capsys)
    outside = {"with a report out of range": 1}
    assert json.loads(out)["left_out"] == {"pay": outside, "smokes": outside}
    assert said.splitlines() == [
        "Warning: Left out of 'pay' 1 row with a report out of range.",
        "Warning: Left out of 'smokes' 1 row with a report out of range.",
    ]
    found = json.loads(Path("c.json").read_text())["questions"]
    assert [found[name]["n"] for name in ("pay", "smokes")] == [N - 1, N - 1]


@pytest.mark.parametrize("more", ["", " --by region"])
@pytest.mark.parametrize("database", [False, True])
def test_whoever_counts_drops_the_same_rows(
    more: str,
    database: bool,
    forged: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if database:
        monkeypatch.setattr(sources, "LEAST", 1)
    out, _ = told(
        f"summarize survey.toml {forged} -o c.json --question pay --weights weight --response rate "
        f"--bounds 0 1 --invalid drop --json{more}",
        capsys,
    )
    expected = {
        "with a report out of range": 1,
        "with a weight that is not positive or no ordinary number": 1,
        "with a response out of bounds": 1,
    }
    if more:
        expected = {"without a group": 1, **expected}
    assert json.loads(out)["left_out"] == {"pay": expected}
    assert json.loads(out)["n"] == N - 3 - bool(more)


@pytest.mark.parametrize(
    ("command", "out_of"),
    [
        ("density {} --question pay", 1),
        ("shares {} --question smokes", 1),
        ("regress {} --x pay --y smokes", 2),
        ("classify {} --x pay --y smokes", 2),
        ("regress {} --x pay --y rate --bounds 0 1", 2),
        ("classify {} --x pay --y label", 2),
    ],
)
def test_estimates_say_what_they_left_out(
    command: str, out_of: int, forged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    full = command.format(f"survey.toml {forged}")
    out, said = told(f"{full} --invalid drop --json", capsys)
    found = json.loads(out)
    assert sum(found["left_out"].values()) == out_of
    assert found["n"] == N - out_of
    assert said.startswith("Warning: Left out of ")
    if "label" in command:
        assert found["left_out"]["without a response"] == 1


def test_a_file_without_a_good_row(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("pay,smokes\n52000,7\n\n")
    _, said = told("density survey.toml in.csv --question pay --invalid drop", capsys, 2)
    assert said.startswith("Expected at least one report in column 'pay', got none")
    _, said = told("regress survey.toml in.csv --x pay --y smokes --invalid drop", capsys, 2)
    assert "at least one row" in said


def test_there_is_one_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("pay,smokes\n1,0\n99,1\n")
    _, said = told("summarize survey.toml in.csv -o c.json --invalid report", capsys, 2)
    assert said == "Expected one of refuse, drop for 'invalid', got 'report'.\n"
    with pytest.raises(cf.errors.InvalidInput, match="one of refuse, drop for"):
        counts("in.csv", WAVE, column="pay", invalid="report")  # type: ignore[call-overload]
    with pytest.warns(LeftOut, match="1 row with a report out of range"):
        assert counts("in.csv", WAVE, column="pay", invalid="drop").n == 1


@pytest.mark.parametrize("command", ["density c.json", "regress c.json --y rate --x pay"])
def test_a_summary_has_no_rows_to_drop(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("pay,smokes\n1,0\n2,1\n")
    told("summarize survey.toml in.csv -o c.json --question pay", capsys)
    _, said = told(f"{command} --invalid drop", capsys, 2)
    assert said == "Expected reports to go with --invalid drop, got a summary.\n"

"""Pairs of questions on the command line: thresholds, reports, correlations, synthetic rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pytest
from scipy.special import ndtr

from confide.cli.app import run
from confide.cli.relate import inserted
from confide.survey import Survey

TOML = """
title = "Staff"
epsilon = 4.0
ask = 1
[relations]   # every two
pairs = "all"
at = { pay = 3 }
share = 0.5
[questions.pay]
low = 0
high = 100
size = 64
[questions."sick days"]
kind = "integer"
low = 0
high = 20
[questions.smokes]
categories = ["no", "yes"]
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(TOML)
    head, tail = TOML.split("[relations]")
    Path("pilot.toml").write_text(head + "[questions.pay]" + tail.split("[questions.pay]")[1])
    generator = np.random.default_rng(1)
    for name, n in (("pilot", 2000), ("values", 6000)):
        u = ndtr(
            generator.multivariate_normal(np.zeros(3), np.full((3, 3), 0.5) + np.eye(3) / 2, n)
        )
        rows = zip(60 * u[:, 0], (10 * u[:, 1]).astype(int), u[:, 2] > 0.6, strict=True)
        lines = [f"{pay},{days},{'yes' if smokes else 'no'}" for pay, days, smokes in rows]
        Path(f"{name}.csv").write_text("\n".join(["pay,sick days,smokes", *lines]) + "\n")


def told(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_from_thresholds_to_synthetic_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["privatize", "pilot.toml", "pilot.csv", "-o", "pilot.parquet"]) == 0
    made = told(capsys, "relate", "survey.toml", "pilot.parquet", "--thresholds", "-o", "new.toml")
    assert set(made["at"]) == {"pay", "sick days"}
    again = ["relate", "survey.toml", "pilot.parquet", "--thresholds", "-o", "again.toml"]
    assert run(again) == 0
    assert "A report about two numbers is one bit" in " ".join(capsys.readouterr().out.split())
    survey = Survey.read("new.toml")
    assert survey.relations is not None
    assert survey.relations.share == 0.5
    assert run(["privatize", "new.toml", "values.csv", "-o", "reports.parquet"]) == 0
    assert "asked about a pair" in capsys.readouterr().out
    assert run(["summarize", "new.toml", "reports.parquet", "-o", "counts.json"]) == 0
    found = told(capsys, "relate", "new.toml", "counts.json")
    assert [one["questions"] for one in found["relations"]] == [
        ["pay", "sick days"], ["pay", "smokes"], ["sick days", "smokes"],
    ]  # fmt: skip
    for one in found["relations"]:
        assert abs(one["correlation"] - 0.5) < 4 * one["error"]
    for verb in ("density", "shares"):
        for pair in ("pay & sick days", "pay & smokes"):
            assert run([verb, "counts.json", "--question", pair]) == 2
            assert "take cf.relate, or confide relate" in capsys.readouterr().err
    assert run(["relate", "new.toml", "counts.json", "--plot", "p.svg"]) == 0
    assert "Picture: p.svg" in capsys.readouterr().out
    assert "pay & sick days" in Path("p.svg").read_text().replace("&amp;", "&")
    for source in (["new.toml", "counts.json"], ["reports.parquet"]):
        command = ["synthesize", *source, "-n", "300", "-o", "rows.csv", "--seed", "1"]
        assert told(capsys, *command)["relations"] == ["pay & sick days", "pay & smokes",
                                                       "sick days & smokes"]  # fmt: skip
        table = pc.read_csv("rows.csv")
        assert table.num_rows == 300
        assert str(table["sick days"].type) == "int64"
        Path("rows.csv").unlink()
    named = [part for name in ("json", "md", "html") for part in ("-o", f"results.{name}")]
    assert run(["results", "new.toml", "reports.parquet", *named]) == 0
    assert "Relations" in capsys.readouterr().out
    # Cross tables of what words are in; of two numbers the correlation says all.
    written = Path("results.md").read_text()
    assert re.findall(r"^### (.* \\& .*)$", written, re.MULTILINE) == [
        r"pay \& smokes", r"sick days \& smokes",
    ]  # fmt: skip
    share = 100 * found["relations"][1]["shares"][0][1]
    low, high = (100 * end[0][1] for end in found["relations"][1]["ends"])
    cells = re.findall(r"^\| below .* \| ([\d.]+) % \(([\d.]+) to ([\d.]+)\) \|$", written, re.M)
    assert [float(each) for each in cells[0]] == pytest.approx([share, low, high], abs=0.11)
    page = Path("results.html").read_text()
    assert page.count("shares of the people who answered both questions") == 1
    assert page.count(f"{share:.1f} %") >= 1
    assert run(["synthesize", "results.json", "-n", "10", "-o", "rows.parquet"]) == 0
    assert "stand for nobody" in capsys.readouterr().out


def test_what_to_expect(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["relate", "survey.toml", "-n", "40000"]) == 0
    # A table tells a little more here, but not clearly more: the survey gets the bit.
    assert "--thresholds takes, one bit" in " ".join(capsys.readouterr().out.split())
    found = told(capsys, "relate", "survey.toml", "-n", "40000")
    assert found["chosen"] == "one bit"
    assert found["designs"][0]["name"] == "table of 3 x 3"
    assert found["n_pair"] == 6666
    assert min(one["error"] for one in found["designs"]) == pytest.approx(0.016, abs=0.002)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("privatize survey.toml values.csv -o r.parquet", "none for 'sick days'"),
        ("relate pilot.toml values.csv", "asks for pairs"),
        ("relate survey.toml values.csv -o new.toml", "--thresholds and -o"),
        ("relate survey.toml -n 0", "n"),
        ("relate survey.toml -n 500 --plot p.svg", "reports of pairs to go with --plot, got -n"),
        ("relate survey.toml values.csv --plot p.doc", "p.doc"),
        ("relate survey.toml values.csv -n 500", "-n and the survey alone, got reports too"),
        ("relate survey.toml --thresholds -o new.toml -n 500", "alone, got --thresholds too"),
        ("synthesize values.csv -n 0 -o rows.csv", "n"),
        ("synthesize survey.toml -n 5 -o rows.csv", "none"),
    ],
)
def test_bad_input_is_refused(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
    assert not Path("rows.csv").exists()


def test_thresholds_are_put_into_the_file_of_the_owner() -> None:
    at = {"a b": 4.0, "c": [1.0, 2.0]}
    text = inserted('x = 1\n[relations]\npairs = "all"\nat = {z = 1}\n[questions.a]\n', at)
    assert text == (
        'x = 1\n[relations]\nat = { "a b" = 4.0, "c" = [1.0, 2.0] }\npairs = "all"\n[questions.a]\n'
    )

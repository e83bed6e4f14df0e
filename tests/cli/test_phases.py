"""Phases and rounds at the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.results import Results
from confide.survey import Survey

PHASES = """
title = "Staff"
epsilon = 4.0
[phases]
[questions.pay]
low = 0
high = 1000
size = 128
"""
ROUNDS = """
epsilon = 4.0
[rounds]
count = 3
[questions.pay]
low = 0
high = 10
size = 32
[questions.smokes]
categories = ["no", "yes"]
"""


def test_two_phases(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(PHASES)
    pay = np.random.default_rng(1).normal(300, 8, 12_000)
    first = Survey.read("survey.toml")
    pq.write_table(
        first.simulate({"pay": pay[:3000], "phase": [1] * 3000}, seed=1), "first.parquet"
    )
    assert (
        run(["summarize", "survey.toml", "first.parquet", "-o", "first.json", "--simulated"]) == 0
    )
    capsys.readouterr()
    assert run(["phase", "survey.toml", "first.json", "-o", "second.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    start, end = told["zooms"]["pay"]
    assert told["kept"] == {}
    assert 200 < start < 290
    assert 310 < end < 400
    others = {"pay": pay[3000:], "phase": [2] * 9000}
    pq.write_table(Survey.read("second.toml").simulate(others, seed=2), "second.parquet")
    assert (
        run(["summarize", "second.toml", "second.parquet", "-o", "second.json", "--simulated"]) == 0
    )
    # Files of both phases do not mix in any other way.
    assert run(["merge", "first.json", "second.json", "-o", "all.json"]) == 2
    assert run(["phase", "second.toml", "second.json", "first.json", "-o", "both.json"]) == 2
    assert "first phase" in capsys.readouterr().err
    assert run(["phase", "second.toml", "first.json", "second.json", "-o", "both.json"]) == 0
    capsys.readouterr()
    assert run(["density", "second.toml", "both.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n"] == 12_000
    assert found["epsilon"] == 4.0
    # The survey of the first phase will do.
    assert run(["density", "survey.toml", "both.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    # Reports of both phases are told apart by what their files say.
    reports = ["first.parquet", "second.parquet"]
    assert run(["summarize", "survey.toml", *reports, "-o", "again.json", "--simulated"]) == 0
    assert json.loads(Path("again.json").read_text()) == json.loads(Path("both.json").read_text())
    capsys.readouterr()
    assert run(["results", "survey.toml", *reports, "--simulated", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"][0]["n"] == 12_000
    assert run(["results", "second.toml", "both.json", "-o", "results.html", "--simulated"]) == 0
    capsys.readouterr()
    assert run(["phase", "survey.toml", "-o", "x.toml"]) == 2
    assert "at least one .json" in capsys.readouterr().err
    assert run(["phase", "second.toml", "first.json", "-o", "x.json"]) == 2
    assert "got 1 file." in capsys.readouterr().err
    Path("copy.json").write_text(Path("first.json").read_text())
    Path("twice.toml").write_text(PHASES.replace("[phases]", "[phases]\nnow = 2"))
    # A question that keeps its lattice cannot tell the phases apart.
    assert run(["phase", "twice.toml", "first.json", "copy.json", "-o", "x.json"]) == 2
    assert "the same summary twice" in capsys.readouterr().err
    Path("values.csv").write_text("pay\n300\n")
    assert run(["privatize", "survey.toml", "values.csv", "-o", "x.parquet"]) == 2
    assert "Draw it beforehand: confide schedule" in capsys.readouterr().err
    Path("plain.toml").write_text(PHASES.replace("[phases]", ""))
    assert run(["phase", "plain.toml", "first.json", "-o", "x.toml"]) == 2


def test_questions_that_keep_their_cells_say_why_and_respondents_are_counted_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = '[questions.smokes]\ncategories = ["no", "yes"]\n'
    Path("survey.toml").write_text(PHASES.replace("[phases]", "ask = 1\n[phases]") + words)
    pay = np.random.default_rng(1).uniform(0, 1000, 8000)
    for now, survey in enumerate(("survey", "second"), start=1):
        asked = {"pay": pay, "smokes": ["no"] * 8000, "phase": [now] * 8000}
        pq.write_table(Survey.read(f"{survey}.toml").simulate(asked, seed=now), f"{now}.parquet")
        command = ["summarize", f"{survey}.toml", f"{now}.parquet", "-o", f"{now}.json"]
        assert run([*command, "--simulated"]) == 0
        capsys.readouterr()
        if now == 1:
            assert run(["phase", "survey.toml", "1.json", "-o", "second.toml", "--json"]) == 0
            kept = json.loads(capsys.readouterr().out)["kept"]
            assert list(kept) == ["pay", "smokes"]
            assert kept["pay"] == "a zoom would cover more than 70 % of the bounds"
            assert run(["phase", "survey.toml", "1.json", "-o", "second.toml"]) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert f"pay: the same cells as before, since {kept['pay']}." in said
            assert "smokes: the same cells as before, since only numbers" in said
    # Each answered one of the two questions.
    assert run(["phase", "second.toml", "1.json", "2.json", "-o", "both.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 16_000


def test_a_trend(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(ROUNDS)
    n = 6000
    number = np.arange(n) % 3 + 1
    values = {
        "person": np.arange(n),
        "round": number,
        "pay": 3.0 + number,
        "smokes": np.where(number == 3, "yes", "no"),
    }
    pq.write_table(Survey.read("survey.toml").simulate(values, seed=1), "reports.parquet")
    assert run(["trend", "survey.toml", "reports.parquet", "--question", "pay", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["round"] for one in found["rounds"]] == [1, 2, 3]
    assert found["slope"]["estimate"] == pytest.approx(1, abs=0.3)
    args = ["trend", "survey.toml", "reports.parquet", "--question", "smokes"]
    assert run([*args, "--category", "yes", "--plot", "p.svg"]) == 0
    said = capsys.readouterr().out
    assert "Change a round" in said
    assert "Picture: p.svg" in said
    for words in ("smokes by round", "share of yes, 95 % interval"):
        assert words in Path("p.svg").read_text()
    assert run([*args, "--plot", "q.svg"]) == 2
    assert "a category whose share is wanted" in capsys.readouterr().err
    assert not Path("q.svg").exists()
    assert run(["results", "survey.toml", "reports.parquet", "--simulated", "--json"]) == 0
    pay, smokes = json.loads(capsys.readouterr().out)["questions"]
    assert [one["by"] for one in pay["groups"]] == ["round"]
    assert [one["name"] for one in smokes["slopes"]] == ["yes"]
    (slope,) = pay["slopes"]
    assert slope["estimate"] == found["slope"]["estimate"]
    assert [slope["low"], slope["high"]] == found["slope"]["interval"]
    told = [*args[1:3], "--simulated", "-o", "r.html", "-o", "r.md", "-o", "r.json"]
    assert run(["results", *told]) == 0
    for name in ("r.html", "r.md"):
        written = Path(name).read_text()
        assert re.search(r"Change per round .* intervals: mean \\?\+[01]\.\d* \(", written)
        assert re.search(r"yes \\?\+[\d.]+ percentage points \([\d.]+ to [\d.]+\)", written)
        assert "several rounds" not in written
    assert run([*args[:3], "--question", "pay"]) == 0
    assert capsys.readouterr().err == ""
    Path("several.toml").write_text(ROUNDS.replace("count = 3", "count = 3\nper_person = 2"))
    made = Survey.read("several.toml").simulate(values, seed=1)
    pq.write_table(made, "several.parquet")
    assert run(["trend", "several.toml", "several.parquet", "--question", "pay"]) == 0
    assert "Each person answers in several rounds." in capsys.readouterr().err
    told = ["several.toml", "several.parquet", "--simulated", "-o", "several.md"]
    assert run(["results", *told]) == 0
    assert "may be too wide or too narrow" in Path("several.md").read_text()
    again = Results.read("r.json")
    (row,) = [row for row in again.rows() if "round" in row["measure"] and row["question"] == "pay"]
    assert (row["quantity"], row["estimate"]) == ("mean", slope["estimate"])
    assert again["pay"].slopes[0].estimate == slope["estimate"]


def test_rounds_from_a_schedule_to_a_trend(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(ROUNDS)
    Path("people.csv").write_text("person\n" + "".join(f"p{at}\n" for at in range(900)))
    assert run(["schedule", "survey.toml", "people.csv", "-o", "schedule.csv"]) == 0
    assert "in 1 of 3 rounds" in capsys.readouterr().out
    drawn = [line.split(",") for line in Path("schedule.csv").read_text().splitlines()[1:]]
    for number in "123":
        rows = [f"{person},{own},5,no" for person, own in drawn if own == number]
        Path(f"{number}.csv").write_text("\n".join(["person,round,pay,smokes", *rows]) + "\n")
        args = ["privatize", "survey.toml", f"{number}.csv", "-o", f"reports/{number}.parquet"]
        Path("reports").mkdir(exist_ok=True)
        assert run(args) == 0
    assert "Each person answers in 1 of 3 rounds" in capsys.readouterr().out
    assert run(["summarize", "survey.toml", "reports/", "-o", "counts.json", "--by", "round"]) == 0
    capsys.readouterr()
    assert run(["trend", "counts.json", "--question", "pay", "--json"]) == 0
    assert [one["round"] for one in json.loads(capsys.readouterr().out)["rounds"]] == [1, 2, 3]
    # Files of one run are looked at together.
    Path("more.csv").write_text(Path("1.csv").read_text())
    assert run(["privatize", "survey.toml", "1.csv", "more.csv", "-o", "x.parquet"]) == 2
    assert "a second answer to round 1 in row 1" in capsys.readouterr().err
    assert not Path("x.parquet").exists()


def test_schedules_are_drawn_once_and_invitations_keep_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("survey.toml").write_text(ROUNDS)
    Path("people.csv").write_text("name\n" + "".join(f"p{at}\n" for at in range(12)))
    args = ["schedule", "survey.toml", "people.csv", "-o", "schedule.csv"]
    assert run([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 12
    lines = Path("schedule.csv").read_text().splitlines()
    assert lines[0] == "person,name,round"
    rounds = [line.rsplit(",", 1)[1] for line in lines[1:]]
    assert sorted(rounds) == ["1"] * 4 + ["2"] * 4 + ["3"] * 4
    assert run(args) == 2
    assert "drawn once" in capsys.readouterr().err
    link = ["--url", "https://example.org", "-o", "links.csv"]
    invite = ["invite", "survey.toml", "--people", "schedule.csv", *link]
    assert run(invite) == 0
    assert len(Path("links.csv").read_text().splitlines()) == 13
    Path("schedule.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    invite[-1] = "more.csv"
    capsys.readouterr()
    assert run(invite) == 2
    assert "a second answer to round" in capsys.readouterr().err
    assert not Path("more.csv").exists()
    # Nobody could tell whether somebody is asked twice.
    Path("schedule.csv").write_text("name,round\nAda,1\nAda,1\n")
    assert run(invite) == 2
    assert "a column 'person'" in capsys.readouterr().err
    # The page tells what one round costs.
    Path("survey.toml").write_text(ROUNDS.replace("count = 3", "count = 3\nper_person = 2"))
    assert run(invite) == 2
    assert "per_person = 1" in capsys.readouterr().err


def test_a_schedule_of_phases(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(PHASES.replace("[phases]", "[phases]\nafter = 1000"))
    Path("people.csv").write_text("person\n" + "".join(f"p{at}\n" for at in range(8)))
    assert run(["schedule", "survey.toml", "people.csv", "-o", "schedule.csv"]) == 0
    lines = Path("schedule.csv").read_text().splitlines()
    assert lines[0] == "person,phase"
    assert sorted(line[-1] for line in lines[1:]) == ["1"] * 2 + ["2"] * 6
    assert run(["schedule", "survey.toml", "schedule.csv", "-o", "again.csv"]) == 2
    assert run(["serve", "survey.toml", "--anybody", "9"]) == 2
    capsys.readouterr()
    Path("people.csv").write_text("person\nAda\n ada\n")
    assert run(["schedule", "survey.toml", "people.csv", "-o", "again.csv"]) == 2
    assert "the same one in rows 1 and 2" in capsys.readouterr().err
    Path("plain.toml").write_text(PHASES.replace("[phases]", ""))
    assert run(["schedule", "plain.toml", "people.csv", "-o", "x.csv"]) == 2
    assert "[rounds] or [phases]" in capsys.readouterr().err


def test_links_have_the_phase_that_was_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    until = PHASES.replace("[phases]", '[phases]\nuntil = "2099-01-31T18:00:00Z"')
    Path("survey.toml").write_text(until)
    link = ["--url", "https://example.org", "-o", "links.csv"]
    invite = ["invite", "survey.toml", *link]
    Path("people.csv").write_text("person,phase\n" + "a,1\nb,2\nc,2\n")
    assert run([*invite, "--people", "people.csv"]) == 0
    rows = [line.split(",") for line in Path("links.csv").read_text().splitlines()]
    assert [row[:2] for row in rows] == [["person", "phase"], ["a", "1"], ["b", "2"], ["c", "2"]]
    Path("links.csv").unlink()
    assert run([*invite, "-n", "8"]) == 0
    rows = [line.split(",") for line in Path("links.csv").read_text().splitlines()]
    assert rows[0] == ["phase", "link"]
    assert sorted(row[0] for row in rows[1:]) == ["1"] * 2 + ["2"] * 6
    Path("links.csv").unlink()
    capsys.readouterr()
    for people, said in (
        ("person,phase\na,3\n", "1 or 2 in the column 'phase'"),
        ("person,phase\na,\n", "1 or 2 in the column 'phase'"),
        ("person,phase\na,1\n A,2\n", "each person in one row"),
    ):
        Path("people.csv").write_text(people)
        assert run([*invite, "--people", "people.csv"]) == 2
        assert said in capsys.readouterr().err
    for keys, said in (
        ("[phases]", "after or until in [phases]"),
        ("[phases]\nnow = 2\nafter = 1000", "the survey of the first phase"),
        ("[phases]\nuntil = 2001-01-01T00:00:00Z", "a first phase that ends in the future"),
        ("[phases]\nafter = 1000", "at least 1,000 people in the first phase"),
    ):
        Path("other.toml").write_text(PHASES.replace("[phases]", keys))
        assert run(["invite", "other.toml", *link, "-n", "100"]) == 2
        assert said in capsys.readouterr().err.replace("\n", " ")
        # Nothing is left: a store keeps its survey, and the owner has to change that.
        assert not [*Path().glob("links*"), *Path().glob("other.[kr]*")]


def test_a_first_phase_too_short_for_each_question_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = "[questions.rent]\nlow = 0\nhigh = 9\n[questions.age]\nlow = 0\nhigh = 99\n"
    invite = ["invite", "survey.toml", "--url", "https://example.org", "-o", "links.csv"]
    for after, warned in ((1000, True), (1500, False)):
        head = f"ask = 2\n[phases]\nafter = {after}\nuntil = 2099-01-31T18:00:00Z"
        Path("survey.toml").write_text(PHASES.replace("[phases]", head) + more)
        assert run([*invite, "-n", "8", "--store", f"{after}.db"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        told = "of whom 666 answer each question. With fewer than 1,000 a question keeps its cells"
        assert (told in said, "write after = 1500 or more" in said) == (warned, warned)
        Path("links.csv").unlink()

"""The planner as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from confide.cli.app import run
from confide.datasets import pay
from confide.results import Results

ASKED = ["plan", "--n", "300", "--epsilon", "2", "--low", "0", "--high", "1", "--size", "32"]
ASKED += ["--surveys", "20"]


def answer(capsys: pytest.CaptureFixture[str], *more: str) -> dict:
    assert run([*ASKED, *more, "--json"]) == 0
    out = capsys.readouterr()
    assert out.err == ""
    return json.loads(out.out)


def refusal(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    # An option that is asked for already is given another value.
    asked = list(ASKED)
    if more[0] in asked:
        at = asked.index(more[0])
        del asked[at : at + 2]
    assert run([*asked, *more]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.count("\n") == 1
    return out.err


def test_json_lists_mechanism_estimator_metric_and_error(capsys):
    result = answer(capsys, "--target", "mean=0.05", "--bounds", "--metric", "mean")
    keys = {"mechanism", "estimator", "metric", "error", "standard_error"}
    assert all(set(row) == keys for row in result["rows"])
    assert {row["mechanism"] for row in result["rows"]} == {"square-wave", "laplace"}
    exact = min(row["error"] for row in result["rows"] if row["metric"] == "mean")
    by_n = result["target"]["by_n"]
    assert by_n["n"] == pytest.approx(300 * (exact / 0.05) ** 2, abs=2)
    assert result["target"]["by_epsilon"]["n"] == 300
    for row in result["bounds"]:
        assert row["total"] == pytest.approx(row["clip"] + row["noise"])
    assert result["price"]["privacy"] == pytest.approx(1 / 600)


def test_people_get_a_table_and_sentences(capsys):
    assert run([*ASKED, "--target", "mean=0.05", "--bounds"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "square-wave" in text
    assert "For mean = 0.05 at epsilon=2: about" in text
    assert "Barber and Duchi 2014" in text
    assert "Least total" in text
    assert "stretched over the bounds that you gave" in text


def test_shares_of_many_points_are_plain_numbers(capsys, tmp_path):
    survey = tmp_path / "survey.toml"
    survey.write_text('[questions.smokes]\ncategories = ["no", "yes"]\nepsilon = 0.5\n')
    assert run(["plan", str(survey), "--n", "20", "--by", "region=4"]) == 0
    text = capsys.readouterr().out
    assert "e+02" not in text
    assert "Too few reports: results will show nothing of smokes" in " ".join(text.split())


def test_public_values_are_no_stretched_guess(capsys, tmp_path):
    (tmp_path / "public.csv").write_text("x\n" + "\n".join(f"0.{i}" for i in range(1, 10)))
    pilot = ["--pilot", str(tmp_path / "public.csv"), "--bounds"]
    assert run([*ASKED, *pilot]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Least total" in text
    assert "stretched over" not in text


def test_a_target_that_only_more_respondents_reach(capsys):
    assert answer(capsys, "--target", "mean=0.002")["target"]["by_epsilon"] is None


def test_pilot_and_picture(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    lines = [f"{x:.0f},a" for x in pay(200) / 3000]
    Path("pilot.csv").write_text("pay,who\n" + "\n".join(lines) + "\n")
    asked = ["plan", "--n", "50", "--epsilon", "2", "--low", "0", "--high", "60", "--size", "16"]
    asked += ["--surveys", "4"]
    more = ["--pilot", "pilot.csv", "--column", "pay", "--plot", "plan.svg", "--metric", "mean"]
    assert run([*asked, *more, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["population"] == "pilot 'pay'"
    assert result["outside"] == pytest.approx(np.mean(pay(200).round(-3) > 180_000), abs=0.02)
    assert "<svg" in Path("plan.svg").read_text()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--high", "0"], "Expected low < high, got low=0, high=0."),
        (["--n", "0"], "Expected a whole number n from 1"),
        (["--epsilon", "-1"], "Expected epsilon > 0, got epsilon=-1."),
        (["--population", "lognorml"], "Did you mean 'lognormal'?"),
        (["--mechanism", "square"], "Did you mean 'square-wave'?"),
        (["--shape", "0.9"], "Expected --mechanism two-sided-gamma to go with --shape"),
        (["--column", "x"], "Expected --pilot to go with --column"),
        (["--population", "beta", "--pilot", "x.csv"], "Expected either --population or --pilot"),
        (["--pilot", "nowhere.csv"], "nowhere.csv"),
        (["--metric", "w2"], "Expected one of w1, ks, "),
        (["--metric", "mse"], "Expected --response to go with the metric mse"),
        (["--target", "w1=x"], "Expected --target as VALUE or METRIC=VALUE"),
        (["--target", "w1=0.1", "--metric", "ks"], "Expected one metric for --target, ks"),
        (["--target", "mean=1e-9"], "1,000,000,000 respondents, the least error of mean is"),
        (["--plot", "plan.txt"], ".png"),
    ],
)
def test_bad_input_gets_one_sentence(capsys, tmp_path, monkeypatch, more, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refusal(capsys, *more)
    assert not list(tmp_path.iterdir())


SURVEY = """
groups = ["region"]
[questions.pay]
low = 0
high = 300000
size = 64
epsilon = 1.0
[questions.smokes]
categories = ["no", "yes"]
epsilon = 1.0
"""


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    return ["plan", "survey.toml", "--surveys", "0"]


def test_a_target_alone_finds_n_or_epsilon(capsys):
    bounds = ["--low", "0", "--high", "1", "--size", "32", "--surveys", "8", "--json"]
    found = {}
    for way, given in (("by_n", ["--epsilon", "2"]), ("by_epsilon", ["--n", "300"])):
        assert run(["plan", *given, "--target", "mean=0.05", *bounds]) == 0
        result = json.loads(capsys.readouterr().out)
        assert {key for key, one in result["target"].items() if one} == {way}
        found[way] = result["target"][way]
        assert (result["n"], result["epsilon"]) == (found[way]["n"], found[way]["epsilon"])
        exact = min(row["error"] for row in result["rows"] if row["metric"] == "mean")
        assert exact == pytest.approx(0.05, rel=0.03)
    assert found["by_n"]["epsilon"] == 2
    assert found["by_epsilon"]["n"] == 300


def test_a_whole_survey_in_words_and_in_json(capsys, survey):
    more = ["--n", "5000", "--by", "region=0.5,0.3,0.2", "--guess", "smokes=no:0.8,yes:0.2"]
    more += ["--target", "pay.mean=8000", "--target", "smokes.yes.region=0.1"]
    assert run([*survey, *more]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("Not enough: 5,000 respondents at epsilon 2 do not reach pay.mean")
    assert ". For pay.mean = 8,000 at epsilon=2: about" in text
    assert text.index("Ask each person 1 of the 2") < text.index("question quantity asked")
    assert "smokes: no 80 %, yes 20 %" in text
    assert run([*survey, *more, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["recommended"] == 1
    assert len(result["targets"]) == 2
    assert {row["question"] for row in result["rows"]} == {"pay", "smokes"}
    assert {row["n"] for row in result["differences"]} == {1000}


def test_a_survey_with_a_target_and_a_picture(capsys, survey):
    pytest.importorskip("matplotlib")
    Path("pilot.csv").write_text("pay\n" + "\n".join(f"{x:.0f}" for x in pay(200)) + "\n")
    more = ["--target", "pay.mean=9000", "--guess", "pay=pilot.csv", "--plot", "plan.svg", "--json"]
    assert run([*survey, *more]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n"] == result["targets"][0]["by_n"]["n"]
    assert result["assumed"]["pay"] == "pilot 'pay'"
    assert "<svg" in Path("plan.svg").read_text()


def test_an_example_of_the_results(capsys, survey):
    more = ["--n", "3000", "--by", "region=0.5,0.3,0.2", "--guess", "smokes=no:0.9,yes:0.1"]
    assert run([*survey, *more, "--example", "show.json"]) == 0
    assert "Results of made-up answers: show.json" in capsys.readouterr().out
    found = Results.read(Path("show.json"))
    assert found.simulated
    assert found.n == 3000
    assert found["smokes"].share("yes") == pytest.approx(0.1, abs=0.08)
    assert [one.n for one in found["pay"].groups["region"].values()] == pytest.approx(
        [1500, 900, 600], rel=0.2
    )
    assert run([*survey, "--n", "300", "--example", "show.html"]) == 0
    text = Path("show.html").read_text("utf-8")
    assert "Results of a simulated survey" in text
    assert "All of this is simulated: no person gave these reports" in text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--n", "10", "--example", "show.png"], ".html"),
        (["--n", "10", "--example", "show.md", "--ask", "1"], "no --ask to go with --example"),
        (["--n", "2000000", "--example", "show.md"], "whole number n from 1 to 1,000,000"),
        ([], "Expected n, a target, or both, got neither."),
        (["--n", "10", "--low", "0"], "Expected no survey file to go with --low, got one."),
        (["--n", "10", "--bounds"], "Expected no survey file to go with --bounds, got one."),
        (["--target", "mean=3"], "Did you mean 'pay.mean'?"),
        (["--target", "pay.mean"], "Expected --target as NAME=VALUE"),
        (["--target", "pay.mean=x"], "Expected a number for pay.mean, got 'x'."),
        (["--target", "pay.mean=1", "--target", "pay.mean=2"], "Expected --target pay.mean once"),
        (["--target", "pay.mean=1e-9"], "respondents, the least error of pay.mean is"),
        (["--n", "10", "--by", "city=3"], "Expected one of the survey's groups, got 'city'."),
        (["--n", "10", "--guess", "pay=nowhere.csv"], "nowhere.csv"),
        (["--n", "10", "--guess", "smokes=no:x"], "Expected shares as 0.7,0.3 or no:0.7,yes:0.3"),
        (["--n", "10", "--plot", "plan.txt"], ".png"),
    ],
)
def test_bad_input_about_a_survey(capsys, survey, more, sentence):
    assert run([*survey, *more]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.count("\n") == 1
    assert sentence in out.err
    assert [path.name for path in Path().iterdir()] == ["survey.toml"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("--n 5 --epsilon 1", "Expected --low and --high of the values, or a survey file"),
        ("--n 5 --low 0 --high 1", "Expected two of --n, --epsilon and --target, got --n alone."),
        ("--low 0 --high 1 --target 1", "got --target alone."),
        ("--n 5 --epsilon 1 --low 0 --high 1 --ask 2", "Expected a survey file to go with --ask"),
    ],
)
def test_what_one_question_needs(capsys, given, sentence):
    assert run(["plan", *given.split()]) == 2
    assert sentence in capsys.readouterr().err

"""What people read who made one of the mistakes that everybody makes once."""

import gzip
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from confide import Counts, RandomizedResponse, Reports
from confide.cli.app import run

SURVEY = """
[questions.age]
low = 0
high = 120
size = 120
epsilon = 1.0
[questions.smokes]
categories = ["no", "yes"]
epsilon = 1.0
"""
RAW = (
    "Expected reports{} by {} with epsilon = 1, got counts that no answers whatever would "
    "give. They may be raw values, reports of another survey, or forged: privatize raw values "
    "first, read reports with the survey that made them, and do not rely on an estimate from "
    "these.\n"
)
FRONT = ["privatize", "summarize", "density", "results", "audit", "plan", "plan", "release"]
COUNT = "A count is of a column of 0 and 1: write 1 for those to count, such as yes, else 0.\n"


@pytest.fixture(autouse=True)
def folder(here: Path) -> None:
    Path("survey.toml").write_text(SURVEY)
    generator = np.random.default_rng(1)
    ages = np.clip(generator.normal(45, 16, 1000).round(), 18, 90).astype(int)
    smokes = (generator.random(1000) < 0.05).astype(int)
    rows = list(zip(ages, smokes, ["a", "b"] * 500, strict=True))
    Path("raw.csv").write_text(
        "\n".join(["age,smokes,team", *(f"{a},{s},{t}" for a, s, t in rows)])
    )
    words = [f"{a},{'yes' if s else 'no'},{t}" for a, s, t in rows]
    Path("values.csv").write_text("\n".join(["age,smokes,team", *words]))


def test_the_commands_of_the_front_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    """In order and in an empty folder, as people try them."""
    for path in Path().iterdir():
        path.unlink()
    page = (Path(__file__).parents[2] / "README.md").read_text()
    (survey,) = re.findall(r"```toml\n# survey.toml\n(.*?)```", page, re.DOTALL)
    Path("survey.toml").write_text(survey)
    (made,) = re.findall(r'^python -c "(.*)" > values.csv$', page, re.MULTILINE)
    exec(made, {})
    Path("values.csv").write_text(capsys.readouterr().out)
    lines = re.findall(r"^confide (?!serve)(.*)$", page, re.MULTILINE)
    commands = [shlex.split(line) for line in lines]
    assert [command[0] for command in commands] == FRONT
    for command in commands:
        few = ["--surveys", "10"] if command[0] == "plan" else []
        assert run([*command, *few]) == 0, command
        assert capsys.readouterr().err == ""
    assert Path("pay.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "command",
    [
        "release query {} --what mean --column age --low 0 --high 120 --epsilon 1",
        "design gamma {} --column age --protection 0.75 --certainty 0.9",
        "plan --n 200 --epsilon 2 --low 0 --high 120 --size 32 --surveys 4 --pilot {} --column age",
        "sample {} --column age --reference gaussian --mean 45 --sd 20 --epsilon 1",
        "density {} --noised age=laplace:5 --range age=0:120",
    ],
)
def test_compressed_values_are_values(command, capsys):
    Path("packed.csv.gz").write_bytes(gzip.compress(Path("raw.csv").read_bytes()))
    keys = []
    for name in ("raw.csv", "packed.csv.gz"):
        assert run([*command.format(name).split(), "--json"]) == 0
        keys.append(json.loads(capsys.readouterr().out).keys())
    assert keys[0] == keys[1]
    Path("packed.csv.gz").write_bytes(Path("packed.csv.gz").read_bytes()[:-20])
    assert run(command.format("packed.csv.gz").split()) == 2
    assert capsys.readouterr().err.startswith("Expected ")


def told(command: str, code: int, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == code
    return capsys.readouterr().err


class TestRawValues:
    """Answers that were never privatized, taken for reports."""

    @pytest.mark.parametrize(
        ("command", "mechanism"),
        [
            ("density survey.toml raw.csv --question age", "square-wave"),
            ("density survey.toml raw.csv --question age --json", "square-wave"),
            ("shares survey.toml raw.csv --question smokes", "randomized-response"),
        ],
    )
    def test_an_estimate_is_refused(self, command, mechanism, capsys):
        about = f" of {command.split()[4]!r} in 'raw.csv'"
        assert told(command, 2, capsys) == RAW.format(about, mechanism)

    @pytest.mark.parametrize("by", ["", " --by team"])
    def test_a_summary_names_the_question(self, by, capsys):
        before = sorted(Path().iterdir())
        refusal = RAW.format(" of 'age' in 'raw.csv'", "square-wave")
        assert told(f"summarize survey.toml raw.csv -o raw.json{by}", 2, capsys) == refusal
        assert sorted(Path().iterdir()) == before

    def test_a_summary_that_python_wrote_is_refused_too(self, capsys):
        mechanism = RandomizedResponse(["no", "yes"], epsilon=1.0)
        counts = Counts.of(Reports(np.zeros(1000, dtype=np.int64), mechanism, simulated=False))
        Path("raw.json").write_text(json.dumps(counts.to_dict()))
        refusal = RAW.format(" in 'raw.json'", "randomized-response")
        assert told("shares raw.json", 2, capsys) == refusal
        assert told("merge raw.json -o again.json", 2, capsys).startswith("Expected reports")
        assert not Path("again.json").exists()

    @pytest.mark.parametrize(
        "verb", ["density", "regress --y age --x smokes", "summarize -o c.json"]
    )
    def test_what_cannot_be_a_report_is_not_shown(self, verb, capsys):
        raw = (
            "Reports are what privatize has written: put raw values through it first. "
            "To leave such rows out: --invalid drop.\n"
        )
        for age, fault in (
            (
                31_415,
                "reports from 0 to 179 in column 'age', got another number in row 2 of 'pay.csv'",
            ),
            (31.415, "whole numbers in column 'age', got other text in row 2 of 'pay.csv'"),
        ):
            Path("pay.csv").write_text(f"age,smokes\n3,1\n{age},0\n")
            question = " --question age" if verb == "density" else ""
            command = f"{verb} survey.toml pay.csv{question}"
            assert told(command, 2, capsys) == f"Expected {fault}. {raw}"
        Path("pay.csv").write_text("age,smokes,team\n31415,1,a\n")
        printed = told("summarize survey.toml pay.csv -o c.json --by team", 2, capsys)
        assert printed == (
            "Expected valid rows of 'age' in 'pay.csv', got 1 row with a report out of range: "
            f"the first is row 1 of 'pay.csv'. {raw}"
        )

    def test_a_public_column_that_was_left_behind(self, capsys):
        told("privatize survey.toml values.csv -o reports.parquet", 0, capsys)
        for option in ("--by team", "--weights team"):
            printed = told(f"summarize reports.parquet -o c.json {option}", 2, capsys)
            assert printed.startswith("Expected a column 'team' in 'reports.parquet', got none. ")
            assert printed.endswith(" To carry it along: confide privatize ... --keep team.\n")

    def test_reports_do_not_warn(self, capsys):
        told("privatize survey.toml values.csv -o reports.parquet --keep team", 0, capsys)
        for command in (
            "summarize reports.parquet -o counts.json",
            "summarize reports.parquet -o teams.json --by team",
            "density survey.toml counts.json --question age",
            "shares reports.parquet --question smokes",
            "compare teams.json a b --question age",
        ):
            assert told(command, 0, capsys) == ""


SENTENCES = {
    "number": ("density --level high", "Expected a number for '--level', got 'high'.\n"),
    "whole": ("plan --n 1.5", "Expected a whole number for '--n', got '1.5'.\n"),
    "pair": ("regress --bounds 0 x", "Expected a number for '--bounds', got 'x'.\n"),
    "list": ("release histogram raw.csv --low x", "Expected a number for '--low', got 'x'.\n"),
    "verb": ("bogus", "No such command 'bogus'. confide --help lists them.\n"),
    "no-verb": ("ledger", "Missing command. confide ledger --help lists them.\n"),
    "question": (
        "density survey.toml raw.csv",
        "Expected --question to name one of 'age', 'smokes', got no --question. For example: "
        "--question age.\n",
    ),
    "column": (
        "release histogram raw.csv --low 0 --high 1 --epsilon 1",
        "Expected the name of one of the 3 columns of 'raw.csv', got none. Name it with --column, "
        "or column= in Python.\n",
    ),
    "no-question": (
        "regress one.toml raw.csv --y age",
        "Expected a question or column for x, got none.\n",
    ),
    "kind": (
        "release count raw.csv --low 0 --high 1 --epsilon 1",
        "Expected a kind among query, histogram, series, gaussian-process, bernstein, "
        "kolmogorov-smirnov, means, least-squares, cross-table, statistic, selection, got 'count'. "
        "For that: confide release query FILE --what count.\n",
    ),
    "count-bounds": (
        "release query raw.csv --what count --low 0 --high 1 --epsilon 1",
        f"Expected no --low or --high for a count, got --low and --high. {COUNT}",
    ),
    "count-words": (
        "release query values.csv --what count --column smokes --epsilon 1",
        "Expected plain finite numbers in column 'smokes', got other text in row 1 of "
        f"'values.csv'. {COUNT}",
    ),
    "count-numbers": (
        "release query raw.csv --what count --column age --epsilon 1 --ledger new.db --budget 1",
        f"Expected 0 and 1 in column 'age', got other numbers. {COUNT}",
    ),
    "not-a-ledger": (
        "ledger show raw.csv",
        "Expected a ledger at 'raw.csv', got a file of another kind. A ledger is what --ledger "
        "FILE of release or sample made.\n",
    ),
    "small-budget": (
        "release query raw.csv --column age --what mean --low 0 --high 120 --epsilon 1 "
        "--ledger new.db --budget 0.5",
        "Expected --budget of at least 1 and --budget-delta of at least 0, got 0.5 and 0. Give the "
        "new ledger more, or release with a smaller --epsilon.\n",
    ),
}


@pytest.mark.parametrize(("command", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_mistakes(command: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.toml").write_text(SURVEY.partition("[questions.smokes]")[0])
    before = set(Path().iterdir())
    assert told(command, 2, capsys) == sentence
    assert set(Path().iterdir()) == before


NUMBERS = {
    "release histogram raw.csv --sample 0 --epsilon 1": (
        "Expected a number of at least 1 for '--sample', got '0'.\n"
    ),
    "demo --n 1.5": "Expected a whole number for '--n', got '1.5'.\n",
    "demo --n=x": "Expected a whole number for '--n', got 'x'.\n",
    "density raw.csv --level high": "Expected a number for '--level', got 'high'.\n",
    "regress raw.csv --y age --bounds 0 b": "Expected a number for '--bounds', got 'b'.\n",
    "release histogram raw.csv --low 0 --low o --epsilon 1": (
        "Expected a number for '--low', got 'o'.\n"
    ),
}


@pytest.mark.parametrize(("command", "sentence"), NUMBERS.items())
def test_numbers_that_are_none(
    command: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(command, 2, capsys) == sentence


def test_many_questions_are_not_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    one = "low = 0\nhigh = 1\nepsilon = 1.0\n"
    names = [f"my question {at}" for at in range(30)]
    Path("wide.toml").write_text("".join(f"[questions.'{name}']\n{one}" for name in names))
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 30) + "\n")
    printed = told("density wide.toml wide.csv", 2, capsys)
    assert "'my question 19', ..., got no --question" in printed
    assert printed.endswith("For example: --question 'my question 0'.\n")


def test_what_to_do_about_a_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    mean = "release query raw.csv --column age --what mean --low 0 --high 120 --ledger l.db"
    told(f"{mean} --epsilon 1 --budget 1.5", 0, capsys)
    assert told(f"{mean} --epsilon 1 --key again", 2, capsys).endswith(
        "got epsilon=1. Nothing was charged or drawn: spend less, or ask for a stored release by "
        "its key, which costs nothing.\n"
    )
    assert told(f"{mean} --epsilon 0.25", 2, capsys).endswith(
        "of the release 'raw.csv/age/mean', got different ones. Use another key (--key) for "
        "another release; it costs epsilon again.\n"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[questions.age\n", "line 1, column 15 (expected ']' at the end of a table declaration)"),
        ("[questions.age]\nlow = none\n", "line 2, column 7 (invalid value)"),
        ("[questions.age]\nlow = 0\nlow = 1\n", "line 3, column 8 (cannot overwrite a value)"),
    ],
)
def test_where_a_survey_is_wrong(text, fault, capsys):
    Path("survey.toml").write_text(text)
    printed = told("audit survey.toml", 2, capsys)
    assert printed == f"Expected TOML in 'survey.toml', got a mistake at {fault}.\n"

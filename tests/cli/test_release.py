"""A curator's releases on the command line."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from confide.cli.app import run
from confide.curves import AdditiveModel
from confide.ledger.budget import Ledger

BOUNDS = "--column x --low 0 --high 1 --epsilon 1"
COST = ["--epsilon", "1"]
CURVES = {
    "histogram": "--cells 8",
    "series": "--terms 4",
    "gaussian-process": "--bandwidth 0.1 --delta 1e-6",
    "bernstein": "--degree 8",
    "kolmogorov-smirnov": "--size 20 --points 8",
}


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    generator = np.random.default_rng(1)
    rows = zip(generator.beta(2, 5, 400), generator.uniform(0, 5, 400), strict=True)
    lines = [f"{x:.6f},{y:.6f},{int(x > 0.3)}" for x, y in rows]
    Path("values.csv").write_text("\n".join(["x,y,big", *lines]) + "\n")
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


@pytest.mark.parametrize("kind", CURVES)
def test_a_curve_is_a_density_with_its_spend(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = machine(f"release {kind} values.csv {BOUNDS} {CURVES[kind]}", capsys)
    widths = np.diff(found["edges"])
    assert found["release"] == kind
    assert found["n"] == 400
    assert len(found["x"]) == len(found["pdf"]) == widths.size
    assert widths @ np.array(found["pdf"]) == pytest.approx(1)
    assert found["spend"]["epsilon"] == 1
    assert found["spend"]["delta"] == (1e-6 if kind == "gaussian-process" else 0)
    assert "factor of" in found["words"]


@pytest.mark.parametrize("kind", CURVES)
def test_people_read_a_table_and_what_to_fear(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"release {kind} values.csv {BOUNDS} {CURVES[kind]} --plot p.png".split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "median" in printed
    assert "this release changes the odds by a factor of at most" in printed
    assert "finds the truth at most" in printed
    assert Path("p.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "ask",
    [
        "--what mean --column x --low 0 --high 1",
        "--what sum --column x --low 0 --high 1",
        "--what variance --column x --low 0 --high 1",
        "--what quantile --q 0.5 --column x --low 0 --high 1",
        "--what count --column big",
    ],
)
def test_a_query_has_an_answer_and_an_interval(
    ask: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = machine(f"release query values.csv {ask} --epsilon 2", capsys)
    assert found["answer"]["low"] <= found["answer"]["value"] <= found["answer"]["high"]
    assert run(f"release query values.csv {ask} --epsilon 2".split()) == 0
    assert "95 % from" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["histogram", "query --what mean", "histogram --column b"])
def test_names_of_columns_do_not_steer_the_terminal(
    how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.csv").write_text("a\x1b[31mz,b\n0.1,0.2\n0.3,0.4\n")
    kind, *rest = how.split()
    bounds = ["--low", "0", "--high", "1"] * (1 + rest.count("--column"))
    assert run(["release", kind, "odd.csv", "--column", "a\x1b[31mz", *rest, *bounds, *COST]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "a\\x1b[31mz" in printed


def test_several_columns_are_released_together(capsys: pytest.CaptureFixture[str]) -> None:
    both = "--column x --low 0 --high 1 --column y --low 0 --high 5 --epsilon 4"
    found = machine(f"release histogram values.csv {both} --cells 4", capsys)
    assert np.array(found["pdf"]).shape == (4, 4)
    assert [len(x) for x in found["x"]] == [4, 4]
    command = f"release histogram values.csv {both} --sample 50 -o synthetic.parquet"
    assert run(command.split()) == 0
    table = pyarrow.parquet.read_table("synthetic.parquet")
    assert (table.column_names, table.num_rows) == (["x", "y"], 50)
    capsys.readouterr()
    assert "one --column" in refused(f"release series values.csv {both}", capsys)


def test_a_histogram_has_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    """Of its mean and quantiles, which the noise does not draw to the middle of the bounds."""
    draw, means = np.random.default_rng(3), []
    values = np.exp(draw.normal(np.log(0.07), 0.4, 2_000))
    Path("far.csv").write_text("\n".join(["x", *map(str, values)]))
    command = "release histogram far.csv --low 0 --high 1 --epsilon 0.3"
    for _ in range(12):
        found = machine(command, capsys)
        ends = found["intervals"]["columns"][0]
        assert found["intervals"]["level"] == 0.95
        for part, value in {"mean": found["mean"], **found["quantiles"]}.items():
            assert ends[part][0] <= value <= ends[part][1]
        means.append(found["mean"])
    assert abs(np.mean(means) - values.mean()) < 0.01
    assert run(command.split()) == 0
    printed = capsys.readouterr().out
    assert "95 % from" in printed
    assert "90 % quantile of x" in printed
    both = "--column x --low 0 --high 1 --column y --low 0 --high 5 --epsilon 4 --cells 4"
    found = machine(f"release histogram values.csv {both}", capsys)
    for mean, ends in zip(found["mean"], found["intervals"]["columns"], strict=True):
        assert ends["mean"][0] <= mean <= ends["mean"][1]
    assert run(f"release histogram values.csv {both}".split()) == 0
    assert "median of y" in capsys.readouterr().out


def test_synthetic_rows_stay_within_the_bounds() -> None:
    assert run(f"release histogram values.csv {BOUNDS} --sample 70 -o s.csv".split()) == 0
    drawn = pyarrow.csv.read_csv("s.csv")["x"].to_numpy()
    assert drawn.size == 70
    assert 0 <= drawn.min() <= drawn.max() <= 1


def test_a_ledger_is_charged_once_and_stands(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"release histogram values.csv {BOUNDS} --ledger l.db"
    first = machine(f"{command} --budget 1.5", capsys)
    again = machine(command, capsys)
    assert (first["stored"], again["stored"]) == (False, True)
    assert first["pdf"] == again["pdf"]
    assert again["left"]["epsilon"] == pytest.approx(0.5)
    assert [entry.key for entry in Ledger("l.db").entries()] == ["values.csv/x/histogram"]
    told = refused(f"{command} --key other", capsys)
    assert "0.5" in told
    assert "left" in told
    assert "another key" in refused(f"{command} --cells 5", capsys)


def test_a_ledger_of_another_survey_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"release histogram values.csv {BOUNDS} --ledger l.db"
    machine(f"{command} --budget 3 --subject staff", capsys)
    assert "staff" in refused(f"{command} --key b --subject customers", capsys)
    assert machine(f"{command} --key b --subject staff", capsys)["left"]["epsilon"] == 1


def test_groups_cost_the_largest(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"release histogram values.csv {BOUNDS} --ledger l.db"
    machine(f"{command} --budget 1 --key n --group region north", capsys)
    found = machine(f"{command} --key s --group region south", capsys)
    assert found["left"]["epsilon"] == 0


BAD = {
    "release histogram values.csv --column x --epsilon 1": "Choose bounds from common knowledge",
    "release histogram values.csv --column x --low 0 --epsilon 1": "--high",
    "release histogram values.csv --low 0 --high 1 --epsilon 1": "--column",
    "release histogram values.csv --column z --low 0 --high 1 --epsilon 1": "'z'",
    "release histogram none.csv --column x --low 0 --high 1 --epsilon 1": "none.csv",
    "release histogarm values.csv --column x --low 0 --high 1 --epsilon 1": "histogram",
    "release histogram values.csv --column x --low 1 --high 0 --epsilon 1": "low",
    "release histogram values.csv --column x --low 0 --high 1 --epsilon 0": "epsilon > 0",
    "release histogram values.csv --column x --low 0 --high 1": "--epsilon",
    f"release histogram values.csv {BOUNDS} --terms 4": "no --terms for histogram",
    f"release series values.csv {BOUNDS} --delta 0.1": "no --delta for series",
    f"release gaussian-process values.csv {BOUNDS} --delta 0": "delta",
    f"release gaussian-process values.csv {BOUNDS}": "--delta, which is part of the cost",
    f"release query values.csv {BOUNDS}": "--what",
    f"release query values.csv {BOUNDS} --what mode": "mean",
    f"release query values.csv {BOUNDS} --what mean --plot p.png": "a query",
    f"release query values.csv {BOUNDS} --what count": "no --low",
    "release query values.csv --column x --epsilon 1 --what count": "0 and 1",
    f"release histogram values.csv {BOUNDS} --plot p.txt": ".png",
    f"release histogram values.csv {BOUNDS} --sample 5": "--output",
    f"release histogram values.csv {BOUNDS} -o values.csv --sample 5": "other than the inputs",
    f"release histogram . {BOUNDS} -o values.csv --sample 5": "other than the inputs",
    f"release histogram v*.csv {BOUNDS} -o values.csv --sample 5": "other than the inputs",
    f"release histogram values.csv {BOUNDS} --ledger l.csv --budget 1 -o l.csv --sample 5": (
        "other than the inputs"
    ),
    f"release histogram values.csv {BOUNDS} --key a": "--ledger",
    f"release histogram values.csv {BOUNDS} --ledger l.db": "--budget makes a new one",
    f"release histogram values.csv {BOUNDS} --ledger l.db --budget 0.5": "at least",
    f"release histogram values.csv {BOUNDS} --ledger values.csv": "ledger",
    f"release histogram values.csv {BOUNDS} --ledger . --budget 1": "folder",
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input_gets_one_sentence(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert BAD[command] in refused(command, capsys)


def test_a_cell_that_is_no_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for cell in ("", "nan", "inf", "abc"):
        Path("bad.csv").write_text(f"x,y\n0.1,1\n{cell},1\n0.2,1\n")
        told = refused(f"release histogram bad.csv {BOUNDS} --ledger l.db --budget 1", capsys)
        assert "'x'" in told
        assert not Path("l.db").exists()


ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    "how",
    [
        "corrupt",
        pytest.param("read-only", marks=pytest.mark.skipif(ROOT, reason="root may write anything")),
    ],
)
def test_a_ledger_that_cannot_be_charged_releases_nothing(
    how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"release histogram values.csv {BOUNDS} --ledger l.db"
    machine(f"{command} --budget 3 --key first", capsys)
    path = Path("l.db")
    if how == "corrupt":
        data = bytearray(path.read_bytes())
        data[:64] = bytes(64)
        path.write_bytes(data)
    else:
        path.chmod(0o400)
        Path().chmod(0o500)
    try:
        refused(f"{command} --key second", capsys)
    finally:
        Path().chmod(0o700)


AGES = "release histogram ages.csv --column age --low 17 --high 90 --epsilon 1"


@pytest.fixture
def ages(folder: Path) -> None:
    """Ages of many people as CSV, as Parquet and with fractions."""
    table = pyarrow.table({"age": np.resize(np.arange(17, 91), 20_000)})
    pyarrow.csv.write_csv(table, "ages.csv")
    pyarrow.parquet.write_table(table, "ages.parquet")
    parts = pyarrow.table({"age": np.random.default_rng(1).uniform(17, 90, 20_000)})
    pyarrow.csv.write_csv(parts, "parts.csv")


@pytest.mark.usefixtures("ages")
def test_cells_of_a_histogram_hold_equally_many_ages(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (AGES, f"{AGES} --integer", AGES.replace("csv", "parquet")):
        found = machine(command, capsys)
        assert found["edges"] == [age - 0.5 for age in range(17, 92)]
        assert found["facts"]["integers_per_cell"] == [1]
        # No comb: noise apart, every age is as frequent as the next.
        assert np.abs(np.array(found["pdf"]) * 74 - 1).max() < 0.2
    few = machine(f"{AGES} --cells 37 --integer", capsys)
    assert np.diff(few["edges"]).tolist() == [2.0] * 37
    plain = machine(f"{AGES} --no-integer", capsys)
    assert "integers_per_cell" not in plain["facts"]
    assert min(plain["pdf"]) * 74 < 0.2


@pytest.mark.usefixtures("ages")
def test_few_cells_of_a_histogram_are_printed_with_their_shares(
    capsys: pytest.CaptureFixture[str],
) -> None:
    charged = f"{AGES} --cells 4 --integer --ledger l.db --budget 2"
    found = machine(charged, capsys)["shares"]
    assert found["level"] == 0.95
    # 74 ages that are equally frequent in cells of 19, 19, 19 and 17.
    assert found["share"] == pytest.approx([19 / 74] * 3 + [17 / 74], abs=0.01)
    for low, share, high in zip(found["low"], found["share"], found["high"], strict=True):
        assert share - 0.02 < low < share < high < share + 0.02
    # The stored release costs nothing, and people see the same.
    assert run(charged.split()) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in printed if line[1:2] == ["to"]]
    assert [line[:3] for line in rows] == [
        ["17", "to", "35"], ["36", "to", "54"], ["55", "to", "73"], ["74", "to", "90"]
    ]  # fmt: skip
    for line, *ends in zip(rows, found["share"], found["low"], found["high"], strict=True):
        assert [float(end) for end in line[3:]] == pytest.approx(ends, abs=6e-5)
    assert run(f"{AGES} --cells 4 --no-integer".split()) == 0
    assert "35.25 to 53.5" in capsys.readouterr().out
    assert run(AGES.split()) == 0
    assert "Share of each cell" not in capsys.readouterr().out


@pytest.mark.usefixtures("ages")
@pytest.mark.parametrize(
    "options",
    [
        "--low 17 --high 90",
        "--low 17 --high 90 --integer",
        "--low 17 --high 90 --no-integer",
        "--low 17 --high 90 --cells 60",
        "--low 0 --high 5",
        "--low 17.3 --high 17.9",
        "--low 1 --high 90 --scale log",
    ],
)
def test_values_decide_nothing_about_whole_numbers(
    options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ages, parts = (
        machine(f"release histogram {name}.csv --column age {options} --epsilon 1", capsys)
        for name in ("ages", "parts")
    )
    assert (ages["edges"], ages["facts"]) == (parts["edges"], parts["facts"])


@pytest.mark.usefixtures("ages")
def test_what_cells_hold_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    def said(command: str) -> str:
        assert run(command.split()) == 0
        return " ".join(capsys.readouterr().out.split())

    one = "Each of the 74 cells of age holds one whole number"
    hint = "--integer makes synthetic rows whole; --no-integer if there are fractions"
    assert f"{one} ({hint})." in said(AGES)
    assert f"{one}." in said(f"{AGES} --integer")
    assert f"{one}." in said(AGES.replace("csv", "parquet"))
    assert "Each of the 37 cells of age holds 2 whole numbers." in said(
        f"{AGES} --integer --cells 37"
    )
    assert "Each of the 25 cells of age holds 3 whole numbers, the last one 2." in said(
        f"{AGES} --integer --cells 25"
    )
    advice = "If age can only be whole numbers, add --integer"
    assert advice in said(f"{AGES} --cells 100")
    assert advice in said("release histogram ages.csv --column age --low 0 --high 9 --epsilon 1")
    for quiet in (
        f"{AGES} --no-integer",
        "release histogram ages.csv --column age --low 0 --high 1 --epsilon 1",
        "release histogram ages.csv --column age --low 0 --high 3000000 --epsilon 1",
        "release series ages.csv --column age --low 17 --high 90 --epsilon 1",
    ):
        assert "whole number" not in said(quiet)
    message = refused(f"{AGES} --integer --cells 40", capsys)
    assert "cells=40. Nearest: 37 or 74." in message
    for verb in ("query --what mean", "series"):
        command = f"release {verb} ages.csv --column age --low 17 --high 90 --epsilon 1 --integer"
        assert "no --integer for" in refused(command, capsys)


@pytest.mark.usefixtures("ages")
def test_synthetic_ages_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for command, whole in ((AGES, False), (f"{AGES} --integer", True)):
        run([*command.split(), "--sample", "500", "-o", "out.parquet"])
        drawn = pyarrow.parquet.read_table("out.parquet").column("age")
        assert pyarrow.types.is_integer(drawn.type) == whole
        numbers = drawn.to_numpy()
        assert 17 <= numbers.min() < numbers.max() <= 90
    capsys.readouterr()


def test_quantiles_that_take_the_whole_budget_are_affordable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # As floats 0.1 + 0.1 + 0.1 is more than 0.3.
    command = "release query values.csv --what quantile --q .25 --q .5 --q .75 --column x --low 0"
    ledger = "--ledger thirds.db --budget 0.3"
    assert len(machine(f"{command} --high 1 --epsilon 0.3 {ledger}", capsys)["answers"]) == 3
    assert machine("ledger show thirds.db", capsys)["left"]["epsilon"] == 0
    # A retry says the epsilon that was asked for, not a float sum above it.
    again = machine(f"{command} --high 1 --epsilon 0.3 --ledger thirds.db", capsys)
    assert again["spend"]["epsilon"] == 0.3
    more = f"{command.replace('5 ', '6 ')} --high 1 --epsilon 0.3 {ledger}"
    assert "Nothing was charged" in refused(more, capsys)


def test_a_file_of_several_groups_is_not_charged_as_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("both.csv").write_text("x,region\n0.2,north\n0.4,south\n0.6,north\n")
    Path("north.csv").write_text("x,region\n0.2,north\n0.6,north\n")
    rest = "--what mean --column x --low 0 --high 1 --epsilon 0.5 --ledger g.db --budget 1"
    message = refused(f"release query both.csv {rest} --group region north", capsys)
    assert "--group does not select rows" in message
    assert "another in row 2 of 'both.csv'." in message
    assert "south" not in message
    Path("typo.csv").write_text("x,region\n0.2,north\n0.4,nroth\n0.6,north\n0.7,\n")
    message = refused(f"release query typo.csv {rest} --group region north", capsys)
    assert "in row 4 of 'typo.csv'" in message
    Path("typo.csv").write_text("x,region\n0.2,north\n0.4,nroth\n0.6,north\n0.7,Nroth\n")
    message = refused(f"release query typo.csv {rest} --group region north", capsys)
    assert "another in row 2 of 'typo.csv' and 1 more." in message
    assert not Path("g.db").exists()
    found = machine(f"release query north.csv {rest} --group region north", capsys)
    assert found["n"] == 2


HEADLESS = {"one": "52000\n61000\n47000\n", "two": "52000,1\n61000,0\n47000,1\n"}
READERS = [
    "release query raw.csv --what mean --low 0 --high 100000 --epsilon 1",
    "release query raw.csv --what mean --low 0 --high 100000 --epsilon 1 --json",
    "release query raw.csv --column 52000 --what mean --low 0 --high 100000 --epsilon 1",
    "release query raw.csv --what mean --low 0 --high 1e5 --epsilon 1 --ledger l.db --budget 2",
    "release histogram raw.csv --integer --low 0 --high 100000 --epsilon 1",
    "sample raw.csv --reference box --low 0 --high 100000 --epsilon 1 -o s.csv",
    "design gamma raw.csv --protection 0.5 --certainty 0.5",
    "plan --pilot raw.csv --low 0 --high 100000 --epsilon 1 --n 1000",
    "density raw.csv --noised z=laplace:1 --range z=0:100000",
]


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("form", HEADLESS)
def test_a_first_line_of_values_is_not_published(
    form: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("raw.csv").write_text(HEADLESS[form])
    said = refused(command, capsys)
    assert "the names of the columns in the first line of 'raw.csv', got a number" in said
    assert "52000" not in said
    assert not Path("l.db").exists()


@pytest.mark.parametrize("first", ["1e5", " 7 ", "-.5", "nan", '"1,5"', "$52000", "2020-01-31"])
def test_numbers_in_any_form_are_no_names(first: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("raw.csv").write_text(f"x,{first}\n1,2\n")
    refused("release query raw.csv --column x --what sum --low 0 --high 9 --epsilon 1", capsys)


def test_names_with_digits_are_names(capsys: pytest.CaptureFixture[str]) -> None:
    Path("raw.csv").write_text(",y2019,x_1\n1,2,3\n1,2,3\n")
    command = "release query raw.csv --column y2019 --what sum --low 0 --high 9 --epsilon 1"
    assert machine(command, capsys)["columns"] == ["y2019"]


def test_names_of_private_columns_are_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("raw.csv").write_text("Smith,Jones\n1,2\n")
    for command in (READERS[0], READERS[4], READERS[6], READERS[7]):
        said = refused(command, capsys)
        assert "the name of one of the 2 columns of 'raw.csv', got none" in said


FUNCTIONS = """
import numpy as np

def low_share(x):
    return np.mean(x < 0.5)

def two_shares(x):
    return [np.mean(x < 0.5), np.mean(x >= 0.5)]

def people(x, half):
    return np.sum((x < 0.5) == (half == "lower"))
"""
WORDED = "--column x --column said --words said=no,yes --low 0 --high 1 --epsilon 50"


@pytest.fixture
def spoken() -> None:
    lines = Path("values.csv").read_text().splitlines()[1:]
    words = [f"{line.split(',')[0]},{'yes' if line.endswith('1') else 'no'}" for line in lines]
    Path("spoken.csv").write_text("\n".join(["x,said", *words]) + "\n")
    Path("mine.py").write_text(FUNCTIONS)


@pytest.mark.usefixtures("spoken")
def test_tables_models_and_functions(capsys: pytest.CaptureFixture[str]) -> None:
    table = machine(f"release cross-table spoken.csv {WORDED} --sample 5 -o rows.csv", capsys)
    assert len(table["answers"]) == 8
    assert set(pyarrow.csv.read_csv("rows.csv")["said"].to_pylist()) <= {"no", "yes"}
    fitted = machine(f"release least-squares spoken.csv {WORDED} --target said", capsys)
    model = AdditiveModel.from_dict(fitted["model"])
    assert model.predict({"x": [0.1, 0.6]}).tolist() == ["no", "yes"]
    means = machine(
        "release means values.csv --column x --column y --low 0 --low 0 --high 1 --high 5 "
        "--epsilon 1 --delta 1e-6", capsys,
    )  # fmt: skip
    assert set(means["answers"]) == {"x", "y"}
    assert means["spend"]["delta"] == 1e-6
    own = "--sensitivity 1 --answer-low 0"
    share = machine(
        f"release statistic values.csv {BOUNDS} --function mine.py:low_share {own} --answer-high 1 "
        "--divided-by-n", capsys,
    )  # fmt: skip
    assert share["answer"]["value"] == pytest.approx(0.9, abs=0.1)
    assert "proves nothing" in share["words"]
    statistic = f"statistic values.csv {BOUNDS} --function mine.py:low_share {own} --answer-high 1"
    assert run(["release", *statistic.split(), "--divided-by-n"]) == 0
    assert "not the chance by which" in " ".join(capsys.readouterr().out.split())
    both = machine(
        f"release statistic values.csv {BOUNDS} --function mine.py:two_shares --sensitivity 2 "
        "--answer-low 0 --answer-high 1 --divided-by-n --answer-name lower --answer-name upper",
        capsys,
    )
    assert both["answers"]["lower"]["value"] == pytest.approx(0.9, abs=0.1)
    assert both["answers"]["upper"]["value"] == pytest.approx(0.1, abs=0.1)
    chosen = machine(
        f"release selection values.csv {BOUNDS} --function mine.py:people {own} "
        "--answer-high 1000 --outcome lower --outcome upper", capsys,
    )  # fmt: skip
    assert chosen["chosen"] == "lower"


def test_means_have_the_digits_of_their_own_units(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{at % 50 + 0.5},{1000 * at}" for at in range(2000)]
    Path("units.csv").write_text("\n".join(["age,pay", *lines]) + "\n")
    bounds = "--column age --low 0 --high 50 --column pay --low 0 --high 2000000 --epsilon 5"
    assert run(f"release means units.csv {bounds}".split()) == 0
    shown = capsys.readouterr().out
    assert re.search(r"age +2\d\.\d+ +2\d\.\d+ +2\d\.\d+", shown), shown
    assert re.search(r"pay +\d{3},\d{3}|pay +1,0\d\d,\d{3}", shown), shown


@pytest.mark.usefixtures("spoken")
def test_a_changed_file_is_another_function(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        f"release statistic values.csv {BOUNDS} --function mine.py:low_share --sensitivity 1 "
        "--answer-low 0 --answer-high 1 --divided-by-n --ledger l.db --budget 10"
    )
    first = machine(command, capsys)
    assert machine(command, capsys)["answer"] == first["answer"]
    # The function itself stays; a function beside it, which it could have used, does not.
    Path("mine.py").write_text(FUNCTIONS + "\n\ndef beside(x):\n    return x\n")
    assert run(command.split()) == 2
    assert "another key" in capsys.readouterr().err


@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"cross-table spoken.csv {WORDED}", "said yes"),
        (f"least-squares spoken.csv {WORDED} --target said", "moves the share by"),
        (f"least-squares spoken.csv {WORDED} --target x", "moves the share of the range by"),
        ("means values.csv --column x --low 0 --high 1 --epsilon 1", "95 % from"),
        (f"selection values.csv {BOUNDS} --function mine.py:people --sensitivity 1 --answer-low 0 "
         "--answer-high 1000 --outcome lower --outcome upper", "people: lower"),
    ],
)  # fmt: skip
def test_they_are_told_to_people_and_stored(
    command: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    charged = f"release {command} --ledger ledger.db --budget 99 --key first"
    assert run(charged.split()) == 0
    assert shown in capsys.readouterr().out
    assert run(["ledger", "get", "ledger.db", "first"]) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"least-squares spoken.csv {WORDED}", "--target for least-squares"),
        (f"least-squares spoken.csv {WORDED} --target y", "one of x, said for 'target', got 'y'"),
        (f"means spoken.csv {WORDED}", "public bounds"),
        (f"histogram spoken.csv {WORDED}", "no --words for histogram"),
        (f"cross-table spoken.csv {WORDED} --plot x.png", "a density for --plot"),
        (f"least-squares spoken.csv {WORDED} --target said --sample 3 -o x.csv", "cross-table"),
        ("cross-table spoken.csv --epsilon 1", "--column, the names of the columns"),
        (f"statistic values.csv {BOUNDS} --function mine.py:none", "a function 'none'"),
        (f"statistic values.csv {BOUNDS} --function none.py:low_share", "that is there"),
        (f"statistic values.csv {BOUNDS} --function values.csv:x", "a file of Python"),
        (f"statistic values.csv {BOUNDS}", "--what, the number to release"),
        (f"statistic values.csv {BOUNDS} --function mine.py:low_share", "--sensitivity for"),
        (f"statistic values.csv {BOUNDS} --function mine.py:two_shares --sensitivity 2 "
         "--divided-by-n --answer-low 0 --answer-high 1", "its name, with --answer-name"),
        (f"statistic values.csv {BOUNDS} --function mine.py:low_share --sensitivity 0.01 "
         "--divided-by-n --answer-low 0 --answer-high 1", "made-up data sets refute"),
        (f"statistic values.csv {BOUNDS} --function mine.py:low_share --sensitivity 0.01 "
         "--divided-by-n --answer-low 0 --answer-high 1 --ledger new.db --budget 1", "refute"),
    ],
)  # fmt: skip
def test_refusals_of_tables_models_and_functions(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(f"release {command}", capsys)


@pytest.fixture
def wards() -> str:
    draw = np.random.default_rng(4)
    rows = zip(draw.integers(20, 90, 500), draw.uniform(0, 100, 500), strict=True)
    lines = [f"{age},{cost:.2f},{'fm'[age % 2]}" for age, cost in rows]
    Path("wards.csv").write_text("\n".join(["age,cost,sex", *lines]) + "\n")
    bounds = "--column age --low 0 --high 100 --column cost --low 0 --high 100 --epsilon 50"
    return f"wards.csv {bounds} --sample 200 -o rows.csv"


@pytest.mark.parametrize("kind", ["histogram", "cross-table --column sex --words sex=f,m"])
def test_whole_numbers_are_of_named_columns(
    kind: str, wards: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def whole(options: str) -> list[bool]:
        machine(f"release {kind} {wards} {options}", capsys)
        rows = pyarrow.csv.read_csv("rows.csv")
        return [bool(np.all(np.array(rows[name]) % 1 == 0)) for name in ("age", "cost")]

    assert whole("--integer-column age") == [True, False]
    assert whole("--integer") == [True, True]
    assert whole("--no-integer") == [False, False]
    command = f"release {kind} {wards}"
    assert "and --integer-column, got both" in refused(
        f"{command} --integer --integer-column age", capsys
    )
    for name in ("agee", "sex"):
        message = refused(f"{command} --integer-column {name}", capsys)
        assert "--integer-column among the columns of numbers" in message
    others = "release series wards.csv --column age --low 0 --high 100 --epsilon 1"
    assert "--integer-column" in refused(f"{others} --integer-column age", capsys)


@pytest.mark.usefixtures("wards")
def test_a_word_that_was_not_stated_is_named_by_file_and_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Path("wards.csv").read_text().splitlines()
    lines[6] = "30,1.5,fm"
    Path("wards.csv").write_text("\n".join(lines) + "\n")
    words = "wards.csv --column sex --words sex=f,m --epsilon 1"
    told = "Expected words among ['f', 'm'] in column 'sex', got another in row 6 of 'wards.csv'."
    assert told in refused(f"release cross-table {words}", capsys)
    assert told in refused(f"sample {words} --k 1 -o s.csv", capsys)


BY = "release query staff.csv --what mean --column pay --low 0 --high 100 --epsilon 0.5"


@pytest.fixture
def staff() -> None:
    """A thousand people in the north who earn 20, and five hundred in the south who earn 60."""
    rows = ["20,north"] * 1000 + ["60,south"] * 500
    Path("staff.csv").write_text("\n".join(["pay,region", *rows]) + "\n")


@pytest.mark.usefixtures("staff")
def test_a_query_by_group_costs_as_much_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"{BY} --by region=south,north,west --ledger l.db --key pay"
    first = machine(f"{command} --budget 0.7", capsys)
    assert (first["by"], first["n"], first["spend"]["epsilon"]) == ("region", 1500, 0.5)
    assert first["left"]["epsilon"] == 0.2
    south, north, west = first["groups"]
    assert (south["group"], south["n"], south["key"]) == ("south", 500, "pay/south")
    assert south["low"] <= south["value"] <= south["high"]
    assert south["value"] == pytest.approx(60, abs=8)
    assert north["value"] == pytest.approx(20, abs=4)
    assert (west["group"], west["n"], west["value"], west["key"]) == ("west", 0, None, None)
    assert [each["stored"] for each in first["groups"]] == [False, False, False]
    again = machine(command, capsys)
    assert [each["stored"] for each in again["groups"]] == [True, True, False]
    assert [each["value"] for each in again["groups"]] == [south["value"], north["value"], None]
    assert [entry.group for entry in Ledger(Path("l.db")).entries()] == [
        ("region", "south"),
        ("region", "north"),
    ]
    assert run(command.split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "mean of pay, by region, epsilon = 0.5 for all groups together" in printed
    assert "The releases of 2 groups were in the ledger already, and cost nothing" in printed
    assert "west 0 - - -" in printed


@pytest.mark.usefixtures("staff")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--by region=north", "got another in row 1001 of 'staff.csv'"),
        ("--by region", "--by COLUMN=GROUP,GROUP"),
        ("--by region=north,", "--by COLUMN=GROUP,GROUP"),
        ("--by region=north,north", "each group of --by once"),
        ("--by pay=20,60", "another than that of --by, got 'pay'"),
        ("--by regin=north,south", "Did you mean 'region'?"),
        ("--by region=north,south --ledger l.db --budget 1 --group a b", "either --by or --group"),
    ],
)
def test_groups_that_make_no_sense(
    options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refused(f"{BY} {options}", capsys)


@pytest.mark.usefixtures("staff")
def test_groups_go_with_one_query(capsys: pytest.CaptureFixture[str]) -> None:
    by = "--by region=north,south"
    histogram = BY.replace("query", "histogram").replace("--what mean ", "")
    assert "a query to go with --by, got a histogram" in refused(f"{histogram} {by}", capsys)
    both = BY.replace("--what mean", "--what quantile --q 0.2 --q 0.5")
    assert "one --q to go with --by, got 2" in refused(f"{both} {by}", capsys)
    one = BY.replace("--what mean", "--what quantile --q 0.5")
    assert run(f"{one} {by}".split()) == 0
    assert "50 % quantile of pay, by region" in capsys.readouterr().out
    short = refused(f"{BY} {by} --ledger l.db --budget 0.3", capsys)
    assert "--budget of at least 0.5" in short

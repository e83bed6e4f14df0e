"""Synthetic records of a respondent's data set on the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from confide import sampling
from confide.cli.app import run
from confide.ledger.budget import Ledger
from confide.sampling import FiniteMollifier, Mollifier, reference_from_dict

GAUSSIAN = "--reference gaussian --mean 0 --sd 1"
ONE = f"sample records.csv --column x {GAUSSIAN} --epsilon 1"
TWO = "sample records.csv --column x --column y --reference"


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    rows = np.random.default_rng(1).normal(0.5, 0.3, size=(300, 2))
    lines = [f"{x:.6f},{y:.6f}" for x, y in rows]
    Path("records.csv").write_text("\n".join(["x,y", *lines]) + "\n")
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


def test_samples_can_be_made_again_from_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    found = machine(f"{ONE} --k 5", capsys)
    assert found["spend"]["epsilon"] == 5.0
    assert found["columns"] == ["x"]
    assert (found["key"], found["stored"], found["left"]) == (None, False, None)
    public = found["mechanism"]
    atoms = Mollifier(
        reference=reference_from_dict(public["reference"]),
        epsilon=public["epsilon"],
        seed=public["seed"],
    )
    assert atoms.locate(np.array(found["numbers"])).tolist() == found["samples"]


@pytest.mark.parametrize(
    "options",
    [
        "gaussian --mean 0 --mean 1 --sd 1 --sd 2",
        "box --low -2 --low -2 --high 3 --high 3 --ratio binned",
        "sample --public public.csv",
    ],
)
def test_references_in_two_columns(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(2).normal(size=(50, 2))
    Path("public.csv").write_text("x,y\n" + "\n".join(f"{x:.4f},{y:.4f}" for x, y in rows) + "\n")
    found = machine(f"{TWO} {options} --epsilon 2 --k 3 -o out.csv --plot out.svg", capsys)
    assert np.array(found["samples"]).shape == (3, 2)
    table = pyarrow.csv.read_csv("out.csv")
    assert table.column_names == ["x", "y"]
    written = np.array([column.to_numpy() for column in table.columns]).T
    assert written == pytest.approx(np.array(found["samples"]))
    assert "<svg" in Path("out.svg").read_text()


def test_a_ledger_pays_once_for_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    first = machine(f"{ONE} --k 2 --ledger book.db --budget 5 --key a", capsys)
    assert (first["key"], first["stored"], first["left"]["epsilon"]) == ("a", False, 3.0)
    again = machine(f"{ONE} --k 2 --ledger book.db --key a", capsys)
    assert again["stored"]
    assert (again["samples"], again["left"]) == (first["samples"], first["left"])
    assert run(f"{ONE} --k 3 --ledger book.db --plot all.png".split()) == 0
    told = capsys.readouterr().out
    assert "3 samples, epsilon = 3 in all" in told
    assert "epsilon = 0.000000 is left" in told
    assert Ledger("book.db").left.epsilon == 0.0


def test_what_the_ledger_cannot_pay_is_not_released(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--budget of at least 3" in refused(f"{ONE} --k 3 --ledger new.db --budget 2", capsys)
    machine(f"{ONE} --k 1 --ledger book.db --budget 2", capsys)
    spent = Ledger("book.db").left
    message = refused(f"{ONE} --k 2 --ledger book.db --key b -o out.csv", capsys)
    assert "epsilon" in message
    assert Ledger("book.db").left == spent


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"{TWO} box --low 0 --low 0 --high 0.5 --high 9 --epsilon 1", "where the reference has"),
        (f"{TWO} gaussian --mean 0 --epsilon 1", "--mean for each of 2 columns, for the"),
        (f"{TWO} gaussian --mean 0 --mean 0 --epsilon 1", "--sd for each of 2 columns, for the"),
        ("sample records.csv --column x --reference gaussian --epsilon 1", "--mean, for the"),
        (f"{TWO} box --low 0 --low 0 --epsilon 1", "--high for each of 2 columns, for the box"),
        (f"sample records.csv --column x {GAUSSIAN} --epsilon 1e-18", "leave a trace"),
        (f"sample records.csv --column x {GAUSSIAN} --epsilon 0", "epsilon"),
        (f"{ONE} --k 0", "k"),
        (f"{ONE} --low 0", "no --low for gaussian"),
        ("sample records.csv --column x --reference normal --epsilon 1", "gaussian"),
        ("sample records.csv --column x --reference sample --epsilon 1", "--public"),
        (f"sample records.csv --column z {GAUSSIAN} --epsilon 1", "z"),
        (f"{ONE} --budget 3", "--ledger"),
        (f"{ONE} --ledger none.db", "a ledger at"),
        (f"{ONE} -o records.csv", "records.csv"),
        (f"{ONE} --ratio magic", "kde"),
        ("sample records.csv --column x --epsilon 1", "--reference, or --words"),
    ],
)
def test_bad_input_is_one_sentence(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(command, capsys)


def test_records_that_do_not_fit_leave_no_new_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    box = "sample records.csv --column x --reference box --low 0 --high 0.5 --epsilon 1"
    refused(f"{box} --ledger new.db --budget 3 --plot out.png -o out.csv", capsys)
    assert not Path("new.db").exists()


def test_four_columns_take_a_mixture_and_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(3).normal(size=(60, 4))
    text = "\n".join(",".join(f"{x:.4f}" for x in row) for row in rows)
    Path("wide.csv").write_text(f"a,b,c,d\n{text}\n")
    wide = "sample wide.csv --column a --column b --column c --column d"
    wide += " --reference gaussian" + " --mean 0" * 4 + " --sd 1" * 4
    found = machine(f"{wide} --epsilon 2", capsys)
    assert found["mechanism"]["ratio"] == "gaussian-mixture"
    assert "one or two columns" in refused(f"{wide} --epsilon 2 --plot out.png", capsys)


def test_private_records_are_no_public_reference(capsys: pytest.CaptureFixture[str]) -> None:
    Path("copy.csv").hardlink_to("records.csv")
    for name in ("records.csv", "./records.csv", "copy.csv"):
        words = refused(f"{TWO} sample --public {name} --epsilon 1", capsys)
        assert "a file of their own" in words
    words = refused(f"{TWO} sample --public *.csv --epsilon 1", capsys)
    assert "each file once" in words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            "--column x --column y --column z --reference gaussian" + " --mean 0 --sd 1" * 3,
            "binned ratios",
        ),
        ("--column x --column y --reference sample --public public.csv", "has no cells"),
    ],
)
def test_a_ratio_that_cannot_work_leaves_no_new_ledger(
    options: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("public.csv").write_text("x,y\n0,1\n1,0\n2,3\n")
    command = f"sample records.csv {options} --ratio binned --epsilon 1"
    assert words in refused(f"{command} --ledger own.ledger --budget 2", capsys)


WORDS = "sample people.csv --column sex --column age --words sex=f,m --low 0 --high 100 --epsilon 2"


def people(n: int, seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    sexes, ages = rng.choice(["f", "m"], n, p=[0.8, 0.2]), rng.integers(60, 80, n)
    rows = [f"{sex},{age}" for sex, age in zip(sexes, ages, strict=True)]
    Path(name).write_text("\n".join(["sex,age", *rows]) + "\n")


def test_records_with_words(capsys: pytest.CaptureFixture[str]) -> None:
    people(200, 1, "people.csv")
    found = machine(f"{WORDS} --k 4 -o out.csv", capsys)
    assert found["spend"]["epsilon"] == 8.0
    sampler = sampling.from_dict(found["mechanism"])
    assert isinstance(sampler, FiniteMollifier)
    assert sampler.shape == (2, 16)
    rows = [list(row.values()) for row in sampler.rows(np.array(found["numbers"]))]
    assert rows == found["samples"]
    written = pyarrow.csv.read_csv("out.csv").to_pydict()
    assert [list(row) for row in zip(written["sex"], written["age"], strict=True)] == rows
    assert run(WORDS.split()) == 0
    assert "sex" in capsys.readouterr().out


def test_a_reference_of_public_records_with_words(capsys: pytest.CaptureFixture[str]) -> None:
    people(200, 1, "people.csv")
    people(300, 2, "public.csv")
    found = machine(f"{WORDS} --public public.csv --cells 10 --k 50", capsys)
    masses = np.array(found["mechanism"]["reference"])
    assert masses.shape == (2, 10)
    assert masses.min() > 0
    assert masses[:, 6:8].sum() > 0.9
    # Nearly all samples lie where the public records do, which takes no epsilon.
    assert np.mean([60 <= age <= 80 for _, age in found["samples"]]) > 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--words sex=f --low 0 --high 9", "two or more different categories"),
        ("--words sex", "--words as COLUMN=WORD,WORD"),
        ("--words sex=f,m --words sex=f,m", "each column once"),
        ("--words race=a,b", "--words of 'race', got none. Name each column with --column"),
        ("--words sex=f,m", "--low, a public bound for each column of numbers, 1 in all, got none"),
        ("--words sex=f,m --low 0 --high 9 --reference box", "no --reference where"),
        ("--words sex=f,m --low 0 --high 9 --mean 1", "no --mean where"),
        ("--words sex=f,m --low 0 --high 9 --plot x.png", "one or two columns of numbers"),
        ("--words sex=f,m --low 0 --high 9 --public people.csv", "a file of the private ones"),
        ("--words sex=f,x --low 0 --high 9", "words among"),
        ("--words age=f,m --low 0 --high 9", "column 'sex'"),
        ("--words sex=f,m --low 0 --high 9 --cells 1", "cells >= 2"),
        ("--reference box --cells 4", "no --cells without --words"),
    ],
)
def test_refusals_of_words(options: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    people(20, 1, "people.csv")
    base = "sample people.csv --column sex --column age --epsilon 1"
    assert words in refused(f"{base} {options}", capsys)

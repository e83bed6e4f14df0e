"""Options that are given twice, flags in help, and several quantiles at once."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from confide.cli.app import VERBS, program, run
from confide.ledger.budget import Ledger

QUANTILE = "release query ages.csv --what quantile --column age --low 17 --high 90 --epsilon 1"


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    ages = np.random.default_rng(1).integers(17, 91, 5000)
    Path("ages.csv").write_text("age\n" + "\n".join(map(str, ages)) + "\n")
    return here


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the program, groups of commands included, and how it is called."""

    def inside(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield path, command
        for name, each in getattr(command, "commands", {}).items():
            yield from inside(each, (*path, name))

    return inside(typer.main.get_command(program(*VERBS)), ())


COMMANDS = {" ".join(path): command for path, command in commands()}
SINGLE = [
    (path, max(option.opts, key=len), option.nargs)
    for path, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option" and not option.is_flag and not option.multiple
]
PAIRS = [
    (path, option.opts[0], option.secondary_opts[0])
    for path, command in COMMANDS.items()
    for option in command.params
    if option.secondary_opts
]


def test_the_walk_comes_everywhere() -> None:
    assert {"release", "ledger show", "design gamma", "privatize", "plan"} <= set(COMMANDS)
    assert len(SINGLE) > 90


@pytest.mark.parametrize(("path", "option", "values"), SINGLE)
def test_an_option_for_one_value_is_refused_twice(
    path: str, option: str, values: int, capsys: pytest.CaptureFixture[str]
) -> None:
    once = [option, *["1"] * values]
    for given in ([*once, *once], [*once, "some.csv", *once], [f"{option}=1", *once[1:-1], *once]):
        assert run([*path.split(), *given]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err == f"Expected {option} once, got it 2 times.\n"


def test_short_options_and_what_only_looks_like_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for given in ("-o a.json -o b.json", "-oa.json --output b.json", "--output=a.json -o b.json"):
        assert run(["merge", "x.json", "y.json", *given.split()]) == 2
        assert capsys.readouterr().err == "Expected --output once, got it 2 times.\n"
    # The value of an option, and what comes after two dashes, are no options.
    for given in ("x.json -o --output", "-o out.json -- x.json -o"):
        run(["merge", *given.split()])
        assert "once" not in capsys.readouterr().err


@pytest.mark.parametrize(("path", "yes", "no"), PAIRS)
def test_both_ways_of_a_flag_are_refused(
    path: str, yes: str, no: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*path.split(), yes, no]) == 2
    assert capsys.readouterr().err == f"Expected one of {yes} and {no}, got both.\n"


def test_a_flag_may_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*f"{QUANTILE} --q 0.5 --json --json".split()]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 5000


@pytest.mark.parametrize("path", COMMANDS)
def test_help_shows_flags_as_flags(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run([*path.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert "--help" in text
    assert "bool" not in text.lower()
    for option in COMMANDS[path].params:
        # Words in brackets would be read as a style and left out.
        assert not re.search(r"\[[a-z]", getattr(option, "help", None) or "")
        if option.param_type_name == "option" and option.is_flag:
            # Nothing but the words of its help comes after a flag.
            (line,) = re.findall(rf"{option.opts[0]} .*", text)
            names = " ".join([*option.opts, *option.secondary_opts])
            after = " ".join(line.replace(",", " ").split()).removeprefix(names).strip()
            assert after[0].isupper() or after.startswith("histogram:"), line


def test_help_of_the_longest_command_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["release", "--help"]) == 0
    text = capsys.readouterr().out
    # In one list the widest option of all leaves so little room that words are cut off.
    assert "\u2026" not in text
    assert text.count("\n") < 120


def test_several_quantiles_divide_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"{QUANTILE} --q 0.1 --q 0.5 --q=0.9"
    assert run([*command.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["q"] for each in found["answers"]] == [0.1, 0.5, 0.9]
    values = [each["value"] for each in found["answers"]]
    np.testing.assert_allclose(values, [24, 53.5, 83], atol=4)
    assert all(each["low"] < each["value"] < each["high"] for each in found["answers"])
    # Never more than was said, whole millionths each, as a ledger counts.
    assert [each["spend"]["epsilon"] for each in found["answers"]] == [0.333333] * 3
    assert found["spend"]["epsilon"] == 1.0
    assert run(command.split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in (
        "10 % quantile",
        "90 % quantile",
        "Each of the 3 quantiles is a release of its own for epsilon = 0.3334.",
        "by a factor of at most 2.72.",
    ):
        assert words in said


def test_several_quantiles_are_charged_all_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    def ran(options: str) -> str:
        assert run([*QUANTILE.split(), *options.split()]) == 0, capsys.readouterr().err
        return " ".join(capsys.readouterr().out.split())

    def refused(options: str) -> str:
        assert run([*QUANTILE.split(), *options.split()]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        return printed.err

    book = "--ledger book.db"
    first = ran(f"--q 0.25 --q 0.75 {book} --budget 2")
    assert "They were charged; epsilon = 1.000000 is left" in first
    again = ran(f"--q 0.25 --q 0.75 {book}")
    assert "They were in the ledger already, and cost nothing" in again
    assert again.split("They were")[0] == first.split("They were")[0]
    keys = [entry.key for entry in Ledger("book.db").entries()]
    assert [key.rpartition("/")[2] for key in keys] == ["0.25", "0.75"]
    some = ran(f"--q 0.5 --q 0.25 {book}")
    assert "They were charged but for 1 that the ledger had already" in some
    assert Ledger("book.db").left.epsilon == 0.5
    # Two at 0.5 each are too much for what is left, and one that is stored is of another epsilon.
    assert "left for 2 releases" in refused(f"--q 0.1 --q 0.9 {book}")
    assert "different ones" in refused(f"--q 0.1 --q 0.25 --q 0.75 {book}")
    assert Ledger("book.db").left.epsilon == 0.5
    assert "each quantile once" in refused("--q 0.1 --q 0.1")
    assert "0 <= q <= 1" in refused("--q 0.1 --q 1.1")


def test_a_quantile_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUANTILE.split(), "--q", "0.125"]) == 0
    assert "12.5 % quantile of age" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("confide den", "density"), ("confide density --me", "--method"), ("confide pla", "plan")],
)
def test_shells_complete_verbs_and_options(
    typed: str,
    wanted: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_CONFIDE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with contextlib.suppress(SystemExit):
        run([])
    assert wanted in capsys.readouterr().out.split()

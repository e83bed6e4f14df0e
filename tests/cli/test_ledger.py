"""The ledger on the command line: whose release is whose, and how it is read again."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Ledger
from confide.accounting import Spend
from confide.cli.app import run

BOUNDS = "--column pay --low 0 --high 300000 --epsilon 0.3"
MEAN = f"release query {{}} --what mean {BOUNDS} --ledger staff.db"
OLD = Path(__file__).parents[1] / "unit" / "ledger" / "ledger-version-2.db"


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    for name, mean in (("north", 25_000), ("south", 225_000)):
        Path(name).mkdir()
        write(Path(name) / "values.csv", np.random.default_rng(mean).normal(mean, 5000, 4000))
    return here


def write(path: Path, pay: Any) -> None:
    path.write_text("pay\n" + "".join(f"{x:.2f}\n" for x in pay))


def machine(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code = run([*command.split(), "--json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    fields: dict[str, Any] = json.loads(printed.out)
    return fields


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    code = run(command.split())
    printed = capsys.readouterr()
    assert (code, printed.out, len(printed.err.splitlines())) == (2, "", 1), printed
    return printed.err


def test_north_and_south_are_two_releases(capsys: pytest.CaptureFixture[str]) -> None:
    north = machine(MEAN.format("north/values.csv") + " --budget 1", capsys)
    south = machine(MEAN.format("south/values.csv"), capsys)
    assert abs(north["answer"]["value"] - 25_000) < 5000
    assert abs(south["answer"]["value"] - 225_000) < 5000
    assert (south["stored"], south["left"]["epsilon"]) == (False, 0.4)
    keys = [entry.key for entry in Ledger("staff.db").entries()]
    assert keys == ["north/values.csv/pay/mean", "south/values.csv/pay/mean"]


def test_june_under_the_name_of_may_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    command = MEAN.format("north/values.csv")
    may = machine(f"{command} --budget 1", capsys)
    shutil.copy("south/values.csv", "north/values.csv")
    before = Path("staff.db").read_bytes()
    for key in ("", " --key north/values.csv/pay/mean"):
        assert refused(command + key, capsys) == (
            "Expected the data that the key 'north/values.csv/pay/mean' was released from, got "
            "other data. A new key (--key) makes a new release, which costs its epsilon again. The "
            "stored one can be had without data: confide ledger get LEDGER KEY, or "
            "Ledger.entry(key).\n"
        )
    assert Path("staff.db").read_bytes() == before
    june = machine(f"{command} --key june", capsys)
    assert june["answer"]["value"] > 200_000
    got = machine("ledger get staff.db north/values.csv/pay/mean", capsys)
    assert got["release"]["answer"] == may["answer"]


def test_a_retry_has_the_same_key_wherever_it_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = machine(MEAN.format("north/values.csv") + " --budget 1", capsys)
    # Saved again in another order, through a link, from another folder, by its whole path.
    rows = Path("north/values.csv").read_text().split()
    Path("north/values.csv").write_text("\r\n".join([rows[0], *sorted(rows[1:])]) + "\r\n")
    Path("link.csv").symlink_to("north/values.csv")
    for file in (
        "north/values.csv",
        "./north/../north/values.csv",
        "link.csv",
        f"{folder}/link.csv",
    ):
        again = machine(MEAN.format(file), capsys)
        assert (again["stored"], again["key"]) == (True, "north/values.csv/pay/mean")
        assert again["answer"] == first["answer"]
    monkeypatch.chdir("north")
    command = MEAN.format("values.csv").replace("staff.db", "../staff.db")
    assert machine(command, capsys)["stored"]
    # The ledger and the data moved elsewhere together.
    moved = folder.with_name("moved")
    shutil.copytree(folder, moved)
    monkeypatch.chdir(moved)
    assert machine(MEAN.format("north/values.csv"), capsys)["stored"]
    assert machine(MEAN.format("north/values.csv"), capsys)["left"]["epsilon"] == 0.7


def test_samples_are_bound_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    command = "sample {} --column pay --reference gaussian --mean 25000 --sd 9000 --epsilon 0.5"
    ledger = " --ledger staff.db"
    first = machine(command.format("north/values.csv") + ledger + " --budget 2 --key a", capsys)
    assert "other data" in refused(command.format("south/values.csv") + ledger + " --key a", capsys)
    again = machine(command.format("north/values.csv") + ledger + " --key a", capsys)
    assert (again["stored"], again["samples"]) == (True, first["samples"])
    assert machine(command.format("north/values.csv") + ledger, capsys)["key"] == (
        "north/values.csv/pay/sample"
    )
    got = machine("ledger get staff.db a", capsys)
    assert got["release"]["samples"] == first["samples"]
    assert run(["ledger", "get", "staff.db", "a"]) == 0
    printed = capsys.readouterr().out
    assert str(first["samples"][0][0]) in printed


def test_unchecked_releases_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    command = MEAN.format("north/values.csv")
    first = machine(f"{command} --budget 1", capsys)
    Path("staff.db.secret").unlink()
    assert run([*command.split(), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["answer"] == first["answer"]
    assert printed.err.startswith("Warning: The stored release of the key 'north/values.csv/pay")
    assert printed.err.endswith("staff.db.secret' is missing.\n")


def test_a_release_of_an_older_ledger_is_asked_for_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = MEAN.format("north/values.csv")
    machine(f"{command} --budget 2 --key values.csv/pay/mean", capsys)
    # As an older confide left it: under the name of the file alone, and without a digest.
    connection = sqlite3.connect("staff.db")
    connection.execute("DELETE FROM data")
    connection.commit()
    connection.close()
    for file in ("north/values.csv", "south/values.csv"):
        told = refused(MEAN.format(file), capsys)
        assert "--key values.csv/pay/mean returns that one, unchecked, at no cost" in told
        assert f"--key {file}/pay/mean makes a new one" in told
    assert Ledger("staff.db").spent == Spend(0.3)
    assert run(f"{command} --key values.csv/pay/mean".split()) == 0
    assert "unchecked" in capsys.readouterr().err
    south = MEAN.format("south/values.csv")
    machine(f"{south} --key south/values.csv/pay/mean", capsys)
    assert machine(south, capsys)["stored"]
    # A release of a file beside the ledger, bound to its data, stands in nobody's way.
    shutil.copy("south/values.csv", "values.csv")
    os.remove("staff.db")
    machine(MEAN.format("values.csv") + " --budget 2", capsys)
    assert not machine(MEAN.format("north/values.csv"), capsys)["stored"]


LONG = "a-rather-long-name-of-a-key/" * 5 + "for-a-release"


def test_a_table_in_a_file_cuts_nothing() -> None:
    ledger = Ledger("staff.db", epsilon=1.0)
    ledger.charge(LONG, {}, Spend(0.1), lambda: 1, group=("region" * 9, "north" * 9))
    command = [sys.executable, "-m", "confide", "ledger", "show", "staff.db"]
    for columns in ({}, {"COLUMNS": "40"}):
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, **columns}
        )
        (line,) = [line for line in done.stdout.splitlines() if LONG in line]
        assert "region" * 9 + " = " + "north" * 9 in line
        assert line.rstrip().endswith("0.100000")


def test_a_table_in_a_terminal_wraps_and_cuts_nothing() -> None:
    pty = pytest.importorskip("pty")
    Ledger("staff.db", epsilon=1.0).charge(LONG, {}, Spend(0.1), lambda: 1)
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "confide", "ledger", "show", "staff.db"]
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    done = subprocess.Popen(command, stdout=writer, env=environment)
    os.close(writer)
    text = b""
    while part := _read(reader):
        text += part
    os.close(reader)
    assert done.wait() == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.decode())
    key = "".join(line[2:].split(" ")[0] for line in plain.splitlines() if line[2:3].strip())
    assert LONG in key
    assert "\N{HORIZONTAL ELLIPSIS}" not in plain


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 4096)
    except OSError:  # the other end is closed
        return b""


def test_get_prints_what_release_printed(capsys: pytest.CaptureFixture[str]) -> None:
    both = "--column pay --low 0 --high 300000 --column age --low 0 --high 100"
    rows = np.random.default_rng(1).uniform(0, 100, (500, 2))
    Path("two.csv").write_text("pay,age\n" + "".join(f"{1000 * x},{y}\n" for x, y in rows))
    for key, how in {
        "mean": f"query two.csv --what mean {BOUNDS}",
        "curve": f"histogram two.csv {BOUNDS} --cells 8",
        "joint": f"histogram two.csv {both} --epsilon 0.3 --cells 4",
    }.items():
        command = f"release {how} --ledger staff.db --budget 1 --key {key}"
        assert run(command.split()) == 0
        capsys.readouterr()
        assert run(command.split()) == 0
        again = capsys.readouterr().out.split()
        two = Path("two.csv").rename("gone.csv")
        assert run(["ledger", "get", "staff.db", key]) == 0
        two.rename("two.csv")
        got = capsys.readouterr().out.split()
        # The name of a single column is not part of a release, so its table is narrower.
        own = {"of", "pay"} if key != "joint" else set()
        assert [word for word in again if word not in own and "─" not in word] == [
            word for word in got if word not in own and "─" not in word
        ]


def test_get_says_what_cells_hold(capsys: pytest.CaptureFixture[str]) -> None:
    Path("days.csv").write_text("days\n" + "3\n7\n" * 100)
    command = "release histogram days.csv --column days --low 0 --high 9 --epsilon 1 --integer"
    assert run([*command.split(), *["--ledger", "staff.db", "--budget", "1", "--key", "days"]]) == 0
    capsys.readouterr()
    assert run(["ledger", "get", "staff.db", "days"]) == 0
    assert "Each of the 10 cells of the column holds one whole number." in capsys.readouterr().out


def test_get_names_the_nearest_key(capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger("staff.db", epsilon=1.0)
    assert "Nothing was released yet." in refused("ledger get staff.db mean", capsys)
    ledger.charge("staff/mean", {}, Spend(0.5), lambda: {"odd\x1b": [1, None]})
    assert "Did you mean 'staff/mean'?" in refused("ledger get staff.db staff/maen", capsys)
    assert "a file of another kind" in refused("ledger get north/values.csv mean", capsys)
    assert run(["ledger", "get", "staff.db", "staff/mean"]) == 0
    printed = capsys.readouterr().out
    assert "staff/mean, epsilon = 0.5" in printed
    assert '{"odd\\u001b": [1, null]}' in printed
    got = machine("ledger get staff.db staff/mean", capsys)
    assert got["release"] == {"odd\x1b": [1, None]}
    assert sorted(got) == [
        "asked", "at", "bound", "delta", "epsilon",
        "fingerprint", "group", "key", "note", "release",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        '{"spec":{"n":1},"noisy":[1],"spend":{"epsilon":1,"delta":0,"note":""},"facts":{},'
        '"simulated":false}',
        '{"spec":{"n":"x"},"noisy":[1],"spend":{"epsilon":1,"delta":0,"note":""},"facts":{},'
        '"simulated":false,"answer":{"value":1,"low":0,"high":2,"level":0.9}}',
        '{"spec":[],"noisy":7,"spend":{},"facts":{},"simulated":false,"curve":{}}',
        '{"samples":[[1,2],[3],["\x1b"]]}',
        '"just a text"',
        "[[[]]]",
    ],
)
def test_whatever_is_stored_can_be_printed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Ledger("staff.db", epsilon=1.0).charge("a", {}, Spend(0.5), lambda: 1)
    connection = sqlite3.connect("staff.db")
    connection.execute("UPDATE charges SET release = ?", (text,))
    connection.commit()
    connection.close()
    assert run(["ledger", "get", "staff.db", "a"]) in (0, 2)
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert printed.out or "release under the key 'a'" in printed.err


def test_show_tells_of_what_cannot_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(OLD, "old.db")
    assert run(["ledger", "show", "old.db"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Nothing is wrong with 3 releases" in printed
    assert [entry["bound"] for entry in machine("ledger show old.db", capsys)["entries"]] == [
        False
    ] * 3
    machine(MEAN.format("north/values.csv") + " --budget 1", capsys)
    assert run(["ledger", "show", "staff.db"]) == 0
    assert "digest" not in capsys.readouterr().out
    Path("staff.db.secret").unlink()
    assert run(["ledger", "show", "staff.db"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Nothing is wrong with 1 release" in printed
    assert "Reading the ledger does not need it." in printed
    (entry,) = machine("ledger show staff.db", capsys)["entries"]
    assert not entry["bound"]


def test_show_tells_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    command = "release {} north/values.csv --column pay --low 0 --high 100000 --epsilon 0.1"
    machine(MEAN.format("north/values.csv") + " --budget 2", capsys)
    for kind in ("query --what quantile --q 0.9 --key q", "histogram --key h"):
        machine(f"{command.format(kind)} --ledger staff.db", capsys)
    ledger = Ledger("staff.db")
    ledger.charge("mine", {"what": "count"}, Spend(0.1), lambda: {"answer": 12})
    asked = [entry["asked"] for entry in machine("ledger show staff.db", capsys)["entries"]]
    n = machine("ledger get staff.db q", capsys)["release"]["spec"]["n"]
    assert asked == [f"mean, n = {n:,}", f"90 % quantile, n = {n:,}", f"histogram, n = {n:,}", "-"]
    assert run(["ledger", "show", "staff.db"]) == 0
    printed = capsys.readouterr().out
    assert all(text in printed for text in asked)
    assert "count once" not in printed


def test_show_names_columns_and_says_what_groups_cost(capsys: pytest.CaptureFixture[str]) -> None:
    Path("both.csv").write_text("age,smokes\n" + "30,yes\n40,no\n" * 500)
    table = (
        "release cross-table both.csv --column smokes --words smokes=no,yes --column age --low 18"
    )
    machine(f"{table} --high 67 --epsilon 0.1 --ledger staff.db --budget 2", capsys)
    for region, epsilon in (("north", 0.3), ("south", 0.2), ("south", 0.25)):
        command = MEAN.format(f"{region}/values.csv").replace("0.3", str(epsilon))
        machine(f"{command} --key {region}-{epsilon} --group region {region}", capsys)
    shown = machine("ledger show staff.db", capsys)
    assert shown["entries"][0]["asked"] == "cross-table of smokes, age, n = 1,000"
    assert shown["spent"]["epsilon"] == 0.55
    assert run(["ledger", "show", "staff.db"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "The 2 groups by region count once" in printed
    assert "what the most expensive one does, epsilon = 0.450000." in printed


@pytest.mark.parametrize("kind", ["release", "sample"])
def test_one_of_two_runs_at_once_was_charged(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one says that it was not: the ledger had no such key when it looked."""
    sample = "sample north/values.csv --column pay --reference box --low 0 --high 1e6 --epsilon 0.1"
    sample += " -o {}.csv --ledger staff.db"
    command = sample if kind == "sample" else MEAN.format("north/values.csv")
    command += " --key same"
    machine(f"{MEAN.format('south/values.csv')} --budget 2", capsys)
    entries, other = Ledger.entries, []

    def racing(ledger: Ledger) -> Any:
        found = entries(ledger)
        if not other:
            other.append(True)
            other.append(run([*command.format("other").split(), "--json"]))
        return found

    monkeypatch.setattr(Ledger, "entries", racing)
    capsys.readouterr()
    code = run(command.format("mine").split())
    printed = " ".join(capsys.readouterr().out.split())
    assert (code, other[1:]) == (0, [0])
    assert "charged by another run at the same time, and cost nothing more" in printed
    assert sum(entry.key == "same" for entry in Ledger("staff.db").entries()) == 1


def test_a_new_secret_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    machine(MEAN.format("north/values.csv") + " --budget 1", capsys)
    Path("staff.db.secret").unlink()
    assert run(MEAN.format("south/values.csv").split()) == 0
    told = capsys.readouterr().err
    assert told.startswith("Warning: The secret file ")
    assert "a retry of 1 earlier release is returned unchecked" in told

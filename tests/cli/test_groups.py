"""Summaries by group at the command line, and counts by DuckDB."""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.reports import Reports
from confide.summaries import Counts, Groups
from confide.survey import Survey
from confide.tables import jobs, sources

TOML = """
[questions.pay]
low = 0
high = 10
size = 32
epsilon = 2.0
[questions.smokes]
categories = ["no", "yes"]
epsilon = 2.0
"""
N = 3000


@pytest.fixture
def folder(here: Path) -> Path:
    Path("survey.toml").write_text(TOML)
    survey, generator = Survey.read("survey.toml"), np.random.default_rng(1)
    for name in ("a", "b"):
        region = generator.choice(["north", "south"], N)
        north = region == "north"
        values = {
            "pay": 10 * np.where(north, generator.beta(5, 2, N), generator.beta(2, 5, N)),
            "smokes": np.where(generator.random(N) < np.where(north, 0.7, 0.2), "yes", "no"),
            "region": region,
            "year": generator.integers(2025, 2027, N),
            "rate": generator.normal(3, 1, N),
            "weight": generator.random(N) + 0.5,
        }
        keep = ["region", "year", "rate", "weight"]
        pq.write_table(survey.privatize(values, keep=keep), f"{name}.parquet")
    return here


@pytest.fixture
def duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are worth a database."""
    monkeypatch.setattr(sources, "LEAST", 0)


def ran(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def machine(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    result = json.loads(ran(f"{command} --json", capsys))
    assert isinstance(result, dict)
    return result


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    return said.err


def close(one: Any, two: Any) -> None:
    """The same plain values, sums within 1e-12."""
    assert type(one) is type(two)
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key, value in one.items():
            close(value, two[key])
    elif isinstance(one, list):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            close(a, b)
    elif isinstance(one, float):
        assert math.isclose(one, two, rel_tol=1e-12)
    else:
        assert one == two


PUBLIC = ["", "--weights weight", "--response rate", "--weights weight --response rate"]


@pytest.mark.usefixtures("duckdb")
@pytest.mark.parametrize("public", PUBLIC)
def test_duckdb_counts_as_the_stream_does(
    public: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    streamed: list[object] = []
    stream = jobs._streamed
    monkeypatch.setattr(jobs, "_streamed", lambda *a: [streamed.append(a), stream(*a)][1])
    ran(f"summarize *.parquet -o fast.json {public}", capsys)
    monkeypatch.setattr(sources, "ROWS", 1)
    ran(f"summarize *.parquet -o parts.json {public}", capsys)
    assert not streamed
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    ran(f"summarize *.parquet -o slow.json {public}", capsys)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(jobs, "_streamed", lambda *a: [streamed.append(a), stream(*a)][1])
    ran(f"summarize *.parquet -o few.json {public}", capsys)
    assert len(streamed) == 2
    fast, parts, slow = (
        json.loads(Path(f"{name}.json").read_text()) for name in ("fast", "parts", "slow")
    )
    close(fast, slow)
    close(parts, slow)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "outside": ({"pay": pa.array([1, 2, 10**6], pa.int64())}, "Expected reports from 0 to"),
    "null": ({"pay": pa.array([1, None, 2])}, "nothing in row 2 of 'bad.parquet'"),
    "float": ({"pay": pa.array([1.0, 2.0, 3.0])}, "the type double in row 1 of 'bad.parquet'"),
    "rate": ({"rate": pa.array([1.0, math.nan, 3.0])}, "nan in row 2 of 'bad.parquet'"),
    "gap": ({"rate": pa.array([1.0, 2.0, None])}, "none in row 3 of 'bad.parquet'"),
    "word": ({"rate": pa.array(["1", "2", "3"])}, "the type string in row 1"),
    "weight": ({"weight": pa.array([1.0, 0.0, 3.0])}, "weights > 0"),
}


@pytest.mark.usefixtures("duckdb")
@pytest.mark.parametrize(("columns", "words"), BAD.values(), ids=BAD)
def test_errors_name_the_row_with_and_without_duckdb(
    columns: dict[str, Any],
    words: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = pq.read_table("a.parquet").slice(0, 3)
    for name, cells in columns.items():
        table = table.set_column(table.column_names.index(name), name, cells)
    pq.write_table(table, "bad.parquet")
    command = "summarize bad.parquet a.parquet -o out.json --response rate --weights weight"
    said = refused(command, capsys)
    assert words in said
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    assert refused(command, capsys) == said
    assert not Path("out.json").exists()


@pytest.mark.usefixtures("duckdb")
@pytest.mark.parametrize("name", ["a[1].parquet", "*.parquet", "pay=3/x.parquet", "a'b.parquet"])
def test_names_are_not_patterns(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path("b.parquet").rename(name)
    assert machine("summarize survey.toml . -o out.json", capsys)["n"] == 2 * N
    counted = json.loads(Path("out.json").read_text())["questions"]["pay"]["counts"]
    indices = np.concatenate(
        [pq.ParquetFile(path).read().column("pay").to_numpy() for path in ("a.parquet", name)]
    )
    assert counted == np.bincount(indices, minlength=len(counted)).tolist()


def test_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = machine("summarize a.parquet b.parquet -o g.json --by region", capsys)
    assert (found["n"], found["by"], found["groups"]) == (2 * N, ["region"], 2)
    for name in ("a", "b"):
        ran(f"summarize {name}.parquet -o {name}.json --by region", capsys)
    ran("merge a.json b.json -o merged.json", capsys)
    fields = json.loads(Path("g.json").read_text())["questions"]
    close(json.loads(Path("merged.json").read_text())["questions"], fields)
    groups = Groups.from_dict(fields["pay"])
    tables = [pq.read_table(f"{name}.parquet") for name in ("a", "b")]
    both = pa.concat_tables(tables)
    north = np.array(both.column("region").to_pylist()) == "north"
    own = Reports(both.column("pay").to_numpy()[north], groups["north"].mechanism, simulated=False)
    assert groups["north"].to_dict() == Counts.of(own).to_dict()
    one = machine("density g.json --question pay --group north", capsys)
    assert one["n"] == int(north.sum())
    assert machine("density g.json --question pay", capsys)["n"] == 2 * N
    assert one["mean"] == pytest.approx(50 / 7, abs=0.7)
    share = machine("shares survey.toml g.json --question smokes --group south", capsys)
    assert share["shares"]["yes"] == pytest.approx(0.2, abs=0.12)
    ran("summarize a.parquet -o two.json --by region --by year --question pay", capsys)
    assert machine("density two.json --group north/2026", capsys)["n"] < N / 2
    assert "4 groups by region, year" in ran(
        "summarize a.parquet -o two.json --by region --by year", capsys
    )
    ran("summarize a.parquet -o r.json --by region --question pay --response rate", capsys)
    assert machine("regress r.json", capsys)["n"] == N


def test_groups_of_csv(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.read_table("a.parquet").to_pandas().to_csv("a.csv", index=False)
    Path("z.csv.gz").write_bytes(gzip.compress(Path("a.csv").read_bytes()))
    for by in ("--by region", ""):
        found = []
        for source in ("a.parquet", "survey.toml a.csv", "survey.toml z.csv.gz"):
            ran(f"summarize {source} -o out.json {by} --weights weight", capsys)
            found.append(json.loads(Path("out.json").read_text()))
        close(found[0], found[1])
        close(found[0], found[2])


def test_damaged_compressed_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = gzip.compress(b"pay,half\n" + b"3,1\n" * 10_000)
    command = "summarize survey.toml bad.csv.gz -o out.json"
    for bad in (
        good[:60],
        b"",
        b"pay,half\n3,1\n",
        good[:-1],
        gzip.compress(b"pay;half\n3;1\n"),
    ):
        Path("bad.csv.gz").write_bytes(bad)
        for by in ("", " --by half"):
            assert "bad.csv.gz" in refused(f"{command}{by} --question pay", capsys)
        assert not Path("out.json").exists()


def test_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran("summarize a.parquet b.parquet -o g.json --by region", capsys)
    found = machine("compare g.json --question pay north south", capsys)
    assert found["groups"] == ["north", "south"]
    assert sum(found["n"]) == 2 * N
    mean, median = found["differences"]
    assert (mean["what"], median["what"]) == ("mean", "median")
    for one, truth in ((mean, 30 / 7), (median, 4.7)):
        below, above = one["interval"]
        assert below < one["difference"] < above
        # Real randomness: half again as wide on either side.
        room = (above - below) / 2
        assert below - room < truth < above + room
        assert one["certain"]
        assert one["difference"] == pytest.approx(np.subtract(*one["estimates"]))
    said = ran("compare g.json --question pay south north --what mean", capsys)
    assert "The mean is lower in south than in north, by" in said
    found = machine("compare survey.toml g.json --question smokes north south", capsys)
    assert [(one["what"], one["at"]) for one in found["differences"]] == [
        ("share", "no"),
        ("share", "yes"),
    ]
    one = machine("compare g.json --question smokes north south --what share --at yes", capsys)
    assert one["differences"] == found["differences"][1:]
    said = ran("compare g.json --question pay north south --what quantile --at 0.9", capsys)
    assert "90 % quantile" in said
    assert "share up to 5" in ran(
        "compare g.json --question pay north south --what cdf --at 5", capsys
    )


def test_groups_that_are_alike(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran("summarize a.parquet -o g.json --by year --question smokes", capsys)
    groups = Groups.from_dict(
        {k: v for k, v in json.loads(Path("g.json").read_text()).items() if k != "question"}
    )
    same = dict.fromkeys(("one", "two\x1b[2J"), groups[2025])
    Path("same.json").write_text(json.dumps(Groups(("who",), same).to_dict()))
    assert run(["compare", "same.json", "one", "two\x1b[2J"]) == 0
    said = capsys.readouterr().out
    assert "may be the same in both" in said
    assert "\x1b[2J" not in said


REFUSED = {
    "by-reports": ("summarize a.parquet -o out.json --by pay", "a public column"),
    "by-absent": ("summarize a.parquet -o out.json --by regoin", "Did you mean 'region'"),
    "by-numbers": ("summarize a.parquet -o out.json --by rate", "words, whole numbers or dates"),
    "by-npz": ("summarize a.parquet -o out.npz --by region --question pay", ".json"),
    "group-of-reports": ("density a.parquet --question pay --group north", "--by COLUMN"),
    "group-of-all": ("density all.json --question pay --group north", "--by COLUMN"),
    "group": ("density g.json --question pay --group nroth", "Did you mean 'north'"),
    "merge": ("merge all.json g.json -o out.json", "all by group or all of everybody"),
    "merge-npz": ("merge g.json -o out.npz", "one question for a .npz file"),
    "noised-group": ("density g.csv --noised z=laplace:1 --group north", "--group"),
    "compare-one": ("compare g.json --question pay north", "two groups"),
    "compare-same": ("compare g.json --question pay north north", "two groups"),
    "compare-absent": ("compare g.json --question pay north soth", "Did you mean 'south'"),
    "compare-all": ("compare all.json --question pay north south", "--by COLUMN"),
    "compare-nothing": ("compare north south", "at least one .json or .npz file"),
    "compare-what": (
        "compare g.json --question pay north south --what mode",
        "for 'what', got 'mode'",
    ),
    "compare-share": ("compare g.json --question pay north south --what share", "for numbers"),
    "compare-mean": ("compare g.json --question smokes north south --what mean", "for categories"),
    "compare-at": ("compare g.json --question pay north south --at 3", "--what quantile"),
    "compare-no-at": ("compare g.json --question pay north south --what cdf", "--at to go with"),
    "compare-word": (
        "compare g.json --question pay north south --what cdf --at x",
        "a number for --at",
    ),
    "compare-level": ("compare g.json --question pay north south --level 95", "level"),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    survey = folder / "survey.toml"
    survey.write_text(TOML)
    values = {
        "pay": [1.0, 2.0] * 20,
        "smokes": ["no", "yes"] * 20,
        "region": ["north", "south"] * 20,
        "rate": [0.5] * 40,
    }
    table = Survey.read(survey).privatize(values, keep=["region", "rate"])
    pq.write_table(table, folder / "a.parquet")
    for name, by in (("g", ["--by", "region"]), ("all", [])):
        paths = [str(folder / file) for file in ("a.parquet", f"{name}.json")]
        assert run(["summarize", paths[0], "-o", paths[1], *by]) == 0
    return folder


@pytest.mark.parametrize(("command", "words"), REFUSED.values(), ids=REFUSED)
def test_refusals(
    command: str,
    words: str,
    prepared: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(prepared)
    capsys.readouterr()
    before = sorted(prepared.iterdir())
    assert words in refused(command, capsys)
    assert sorted(prepared.iterdir()) == before


def test_damaged_groups(prepared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = json.loads((prepared / "g.json").read_text())
    path = prepared / "damaged.json"

    def said(change: Sequence[Any]) -> str:
        damaged = json.loads(json.dumps(fields))
        *way, last, value = change
        place = damaged["questions"]["pay"]
        for key in way:
            place = place[key]
        place[last] = value
        path.write_text(json.dumps(damaged))
        capsys.readouterr()
        return refused(f"density {path} --question pay", capsys)

    for change in (
        ("groups", []),
        ("by", "region"),
        ("by", []),
        ("groups", 0, "key", [None]),
        ("groups", 0, "key", ["south"]),
        ("groups", 0, "counts", [1]),
        ("mechanism", {}),
        ("of", "spectrum"),
    ):
        assert "damaged.json" in said(change)
    path.unlink()


def test_by_needs_no_database(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    found = machine("summarize a.parquet -o out.json --by region", capsys)
    assert found["groups"] == 2


@pytest.mark.usefixtures("duckdb")
@pytest.mark.parametrize("by", ["region", "year", "year region"])
@pytest.mark.parametrize("public", PUBLIC)
def test_duckdb_groups_as_the_stream_does(
    by: str,
    public: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = " ".join(f"--by {name}" for name in by.split())
    ran(f"summarize *.parquet -o fast.json {columns} {public}", capsys)
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    ran(f"summarize *.parquet -o slow.json {columns} {public}", capsys)
    close(*(json.loads(Path(f"{name}.json").read_text()) for name in ("fast", "slow")))


@pytest.mark.parametrize("verb", ["density --question pay", "shares --question smokes"])
def test_every_group_in_one_run(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran("summarize *.parquet -o by.json --by region --by year", capsys)
    ran("summarize *.parquet -o region.json --by region", capsys)
    reports = machine(f"{verb} a.parquet b.parquet --by region", capsys)
    summary = machine(f"{verb} by.json --by region", capsys)
    assert reports == summary
    assert (summary["by"], summary["n"]) == (["region"], 2 * N)
    assert [one["group"] for one in summary["groups"]] == [{"region": "north"}, {"region": "south"}]
    for one in summary["groups"]:
        name = one.pop("group")["region"]
        alone = machine(f"{verb} region.json --group {name}", capsys)
        assert one == alone
    both = machine(f"{verb} by.json --by year --by region", capsys)
    assert len(both["groups"]) == 4
    assert both["groups"][0]["group"] == {"year": 2025, "region": "north"}
    printed = ran(f"{verb} by.json --by region", capsys)
    assert printed.startswith("6,000 reports of")
    assert "north" in printed
    assert "south" in printed
    # One group of one of the columns, of a summary and of reports.
    for files in ("by.json", "a.parquet b.parquet"):
        north = machine(f"{verb} {files} --by region --group north", capsys)
        assert north == machine(f"{verb} region.json --group north", capsys)
    said = refused(f"{verb} by.json --by region --group n", capsys)
    assert "got 'n'" in said
    assert "region, year, got 'regin'" in refused(f"{verb} by.json --by regin", capsys)


def test_one_picture_of_all_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran("summarize *.parquet -o by.json --by region --by year", capsys)
    said = ran("density by.json --question pay --by region --plot regions.svg", capsys)
    assert said.endswith("Picture: regions.svg\n")
    picture = Path("regions.svg").read_text()
    for words in ("north", "south", "6,000 reports of 'pay', by region"):
        assert f"<!-- {words} -->" in picture
    with_json = machine("density by.json --question pay --by region --plot again.svg", capsys)
    assert len(with_json["groups"]) == 2
    assert "<!-- south -->" in Path("again.svg").read_text()
    few = "shares by.json --question smokes --by region --plot a.svg"
    assert "add --group" in refused(few, capsys)


def test_a_picture_has_odd_names_as_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pay = Survey.read("survey.toml").mechanisms["pay"]
    names = ("_hidden", "$\\foo$", "a\x1b[31mb")
    parts = {name: Counts.of(pay.privatize([2.0, 3.0] * 20)) for name in names}
    Groups(("team",), parts).save("odd.json")
    ran("density odd.json --by team --plot odd.svg", capsys)
    picture = Path("odd.svg").read_text()
    assert all(f"<!-- {words} -->" in picture for words in (" _hidden", "$\\foo$"))
    assert "\x1b" not in picture


def test_more_groups_than_colors_make_no_picture(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pay = Survey.read("survey.toml").mechanisms["pay"]
    parts = {month: Counts.of(pay.privatize([2.0, 3.0] * 20)) for month in range(7)}
    Groups(("month",), parts).save("months.json")
    said = refused("density months.json --by month --plot a.png", capsys)
    assert said.startswith("Expected at most 6 groups in one picture, got 7.")
    assert not Path("a.png").exists()


def test_folders_make_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        Path(f"hive/day={name}").mkdir(parents=True)
        Path(f"{name}.parquet").rename(f"hive/day={name}/part.parquet")
    found = machine("summarize hive -o days.json --by day", capsys)
    assert (found["groups"], found["by"], found["n"]) == (2, ["day"], 2 * N)
    assert machine("density days.json --question pay --group a", capsys)["n"] == N
    # A column that folders make is carried along like any other.
    Path("survey2.toml").write_text(TOML.partition("[questions.smokes]")[0])
    for name in ("x", "y"):
        Path(f"raw/day={name}").mkdir(parents=True)
        Path(f"raw/day={name}/values.csv").write_text("pay\n1\n2\n")
    ran("privatize survey2.toml raw -o kept.parquet --keep day", capsys)
    assert sorted(pq.read_table("kept.parquet").column("day").to_pylist()) == ["x", "x", "y", "y"]


def test_groups_of_several_columns_are_compared_by_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran("summarize *.parquet -o both.json --by region --by year", capsys)
    ran("summarize *.parquet -o region.json --by region", capsys)
    command = "--question pay north south"
    coarse = machine(f"compare both.json --by region {command}", capsys)
    assert coarse == machine(f"compare region.json {command}", capsys)
    each = machine("compare both.json --by year --question pay --each", capsys)
    assert (each["by"], len(each["comparisons"])) == (["year"], 2)
    said = refused(f"compare both.json {command}", capsys)
    assert "Groups by region alone: --by region, or coarser(['region']) in Python." in said
    assert "region, year, got 'month'" in refused(f"compare both.json --by month {command}", capsys)


def test_raked_regions_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("margins.toml").write_text(
        "[region]\nnorth = 50\nsouth = 50\n[year]\n2025 = 50\n2026 = 50\n"
    )
    ran("summarize *.parquet -o raked.json --rake margins.toml", capsys)
    found = machine("compare raked.json --by region --question pay north south", capsys)
    alone = machine("density raked.json --by region --question pay", capsys)
    means = [one["mean"] for one in alone["groups"]]
    assert found["differences"][0]["estimates"] == pytest.approx(means)


def test_every_group_is_compared_with_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran("summarize *.parquet -o by.json --by region", capsys)
    found = machine("compare by.json --question pay --each", capsys)
    assert found["by"] == ["region"]
    two = machine("compare by.json --question pay north south", capsys)
    north, south = found["comparisons"]
    # Of two groups the others are the other one.
    assert north["differences"] == two["differences"]
    assert north["groups"] == ["north", "all others"]
    assert south["differences"][0]["difference"] == -two["differences"][0]["difference"]
    ran("summarize *.parquet -o four.json --by region --by year", capsys)
    four = machine("compare four.json --question smokes --each", capsys)["comparisons"]
    assert [sum(one["n"]) for one in four] == [2 * N] * 4
    assert "north/2025" in ran("compare four.json --question smokes --each", capsys)
    assert "--each" in refused("compare by.json --question pay --each north", capsys)


def test_raking_at_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("margins.toml").write_text(
        "[region]\nnorth = 0.9\nsouth = 0.1\n[year]\n2025 = 1\n2026 = 3\n"
    )
    assert run(["shares", "a.parquet", "--question", "smokes", "--rake", "margins.toml"]) == 2
    assert "add up" in capsys.readouterr().err
    Path("margins.toml").write_text("[region]\nnorth = 0.9\nsouth = 0.1\n")
    shares = ["shares", "a.parquet", "b.parquet", "--question", "smokes", "--json"]
    assert run(shares) == 0
    plain = json.loads(capsys.readouterr().out)
    assert run([*shares, "--rake", "margins.toml"]) == 0
    raked = json.loads(capsys.readouterr().out)
    found = [one["shares"]["yes"] for one in (plain, raked)]
    # .45 of a sample that is half from the north, .65 of a population that is mostly.
    assert found[0] == pytest.approx(0.45, abs=0.05)
    assert found[1] == pytest.approx(0.65, abs=0.07)
    made = ["summarize", "survey.toml", "a.parquet", "-o", "raked.json", "--rake", "margins.toml"]
    assert run(made) == 0
    capsys.readouterr()
    assert run(["shares", "raked.json", "--question", "smokes", "--by", "region", "--json"]) == 0
    assert (
        run(
            [
                "density",
                "raked.json",
                "--question",
                "pay",
                "--group",
                "north",
                "--rake",
                "margins.toml",
            ]
        )
        == 2
    )
    assert "either --group or --rake" in capsys.readouterr().err


def test_raked_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("margins.json").write_text('{"region": {"north": 90, "south": 10}}')
    assert run(["results", "survey.toml", "a.parquet", "--rake", "margins.json", "--json"]) == 0
    raked = json.loads(capsys.readouterr().out)
    pay = next(one for one in raked["questions"] if one["question"] == "pay")
    mean = next(one["estimate"] for one in pay["quantities"] if one["name"] == "mean")
    assert mean == pytest.approx(0.9 * 50 / 7 + 0.1 * 20 / 7, abs=0.5)
    assert raked["weighted"] is True

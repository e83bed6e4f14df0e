"""Summaries by GROUP BY, against the same rows counted in memory."""

from __future__ import annotations

import gc
import gzip
import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import Cells, Joint, Lattice, Partition, RandomizedResponse, Reports, SquareWave
from confide.errors import InvalidInput, Mismatch, Unsupported
from confide.reports import to_arrow, write
from confide.reports.stamps import Stamp
from confide.summaries import CellSums, Counts, Groups
from confide.tables import LeftOut, counts
from confide.tables.faults import Grouping, narrowed
from confide.tables.sources import opened

LATTICE = Lattice(low=0, high=1, size=12)
WAVE = SquareWave(LATTICE, epsilon=1.0)
WORDS = RandomizedResponse(["a", "b", "c"], epsilon=1.0)
BOTH = Joint({"pay": WAVE, "team": WORDS})
SIZE = WAVE.law.outputs[0]
REGIONS = ("east", "north", "south")


def rows(n: int, seed: int = 1) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    return {
        "pay": generator.integers(0, SIZE, n).astype(np.int32),
        "team": generator.integers(0, 3, n).astype(np.int32),
        "rate": generator.normal(3, 1, n),
        "weight": generator.random(n) + 0.1,
        "region": generator.choice(REGIONS, n),
        "year": generator.integers(2020, 2023, n),
    }


def oracle(data: dict[str, Any], keep: Any = None, **public: Any) -> Counts:
    keep = slice(None) if keep is None else keep
    reports = Reports(data["pay"][keep], WAVE, simulated=False)
    return Counts.of(reports, **{name: data[column][keep] for name, column in public.items()})


def same(ours: Counts, theirs: Counts) -> None:
    assert ours.mechanism == theirs.mechanism
    assert ours.simulated == theirs.simulated
    assert ours.counts.dtype == theirs.counts.dtype
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert ours._arrays().keys() == theirs._arrays().keys()
    for one, two in zip(ours._arrays().values(), theirs._arrays().values(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    if theirs.response is not None:
        assert (ours.response.low, ours.response.high) == (
            theirs.response.low,
            theirs.response.high,
        )


PUBLIC = [
    {},
    {"weights": "weight"},
    {"response": "rate"},
    {"weights": "weight", "response": "rate"},
]


@pytest.mark.parametrize("public", PUBLIC, ids=lambda p: "-".join(p) or "bare")
def test_counts_are_those_of_the_rows(public: dict[str, str]) -> None:
    data = rows(5000)
    table = ibis.memtable(pa.table(data))
    same(counts(table, WAVE, column="pay", **public), oracle(data, **public))
    groups = counts(table, WAVE, column="pay", by="region", **public)
    assert list(groups) == list(REGIONS)
    for region, own in groups.items():
        same(own, oracle(data, data["region"] == region, **public))
    groups = counts(table.filter(table.year > 2020), WAVE, column="pay", by=["year", "region"])
    assert list(groups) == [(year, region) for year in (2021, 2022) for region in REGIONS]
    for (year, region), own in groups.items():
        same(own, oracle(data, (data["region"] == region) & (data["year"] == year)))


def sqlite_table(data: dict[str, Any], path: Path) -> Any:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (pay INTEGER, rate REAL, weight REAL, region TEXT)")
    rows = zip(*(data[name].tolist() for name in ("pay", "rate", "weight", "region")), strict=True)
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return ibis.sqlite.connect(path).table("t")


@pytest.mark.parametrize("engine", ["polars", "sqlite"])
def test_other_engines(engine: str, tmp_path: Path) -> None:
    data = rows(1000)
    if engine == "polars":
        table = ibis.polars.connect({"t": pl.DataFrame(data)}).table("t")
    else:
        table = sqlite_table(data, tmp_path / "t.db")
    public = {"weights": "weight", "response": "rate"}
    groups = counts(table, WAVE, column="pay", by="region", **public)
    assert list(groups) == list(REGIONS)
    for region, own in groups.items():
        same(own, oracle(data, data["region"] == region, **public))


def test_an_engine_that_cannot_unnest() -> None:
    reports = to_arrow(vectors(PARTITIONS[0], 10))
    table = ibis.polars.connect({"t": pl.from_arrow(reports)}).table("t")
    with pytest.raises(Unsupported, match="has no TableUnnest, which this needs"):
        counts(table, PARTITIONS[0], simulated=True)


def test_joint_reports() -> None:
    data = rows(3000)
    pairs = np.stack([data["pay"], data["team"]], axis=1)
    theirs = Counts.of(Reports(pairs, BOTH, simulated=False), weights=data["weight"])
    same(counts(data, BOTH, weights="weight"), theirs)
    turned = {"x": data["pay"], "y": data["team"], "weight": data["weight"]}
    same(counts(turned, BOTH, column=["x", "y"], weights="weight"), theirs)


def test_files(tmp_path: Path) -> None:
    data = rows(2000)
    table = pa.table(data)
    whole = oracle(data, weights="weight", response="rate")
    public = {"column": "pay", "weights": "weight", "response": "rate", "unstamped": True}
    for at, part in enumerate((table.slice(0, 700), table.slice(700))):
        pq.write_table(part, tmp_path / f"{at}.parquet")
        part.select(part.column_names[:: 1 - 2 * at]).to_pandas().to_csv(
            tmp_path / f"{at}.csv", index=False
        )
        text = (tmp_path / f"{at}.csv").read_bytes()
        (tmp_path / f"{at}.csv.gz").write_bytes(gzip.compress(text))
    for ending in ("parquet", "csv", "csv.gz"):
        same(counts(str(tmp_path / f"*.{ending}"), WAVE, **public), whole)
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    same(counts(paths, WAVE, **public), whole)
    days = [counts(path, WAVE, by="region", **public) for path in paths]
    once = counts(paths, WAVE, by="region", **public)
    assert list(days[0] + days[1]) == list(once)
    for region, own in (days[0] + days[1]).items():
        same(own, once[region])
    same((days[0] + days[1]).total(), whole)
    with pytest.raises(InvalidInput, match="some of each"):
        counts([paths[0], tmp_path / "1.csv"], WAVE, column="pay")
    with pytest.raises(InvalidInput, match="Did you mean 'pay'"):
        counts(paths, WAVE, column="pya")


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 10**6))
def test_merged_days_equal_one_pass(n: int, k: int, seed: int) -> None:
    data = rows(n + k, seed)
    parts = [{name: v[:n] for name, v in data.items()}, {name: v[n:] for name, v in data.items()}]
    public = {"column": "pay", "weights": "weight", "response": "rate", "by": "region"}
    one, two = (counts(part, WAVE, **public) for part in parts)
    merged, whole = one + two, counts(data, WAVE, **public)
    assert set(merged) == set(whole)
    for region, own in merged.items():
        same(own, whole[region])


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, dict])
def test_tables_in_memory(make: Any) -> None:
    data = rows(100)
    same(counts(make(data), WAVE, column="pay", response="rate"), oracle(data, response="rate"))
    same(counts(make({"pay": data["pay"]}), WAVE), oracle(data))


def test_a_query_of_duckdb_is_told_the_way() -> None:
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(InvalidInput, match=r"Open the database with Ibis: ibis.duckdb.connect"):
        counts(duckdb.sql("SELECT 1 AS pay"), WAVE)


def test_kinds_of_numbers_that_hold_reports() -> None:
    data = rows(200)
    for kind in (np.uint8, np.int64, np.uint64, np.float32, np.float64, str):
        same(counts({"pay": data["pay"].astype(kind)}, WAVE), oracle(data))
    with pytest.raises(InvalidInput, match="whole numbers in column 'pay', got the type date"):
        counts({"pay": np.array(["2026-01-01"], "datetime64[D]")}, WAVE)


def test_groups_may_be_dates() -> None:
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-01"], "datetime64[D]")
    groups = counts({"pay": [1, 2, 3], "day": days}, WAVE, column="pay", by="day")
    assert {key: one.n for key, one in groups.items()} == {"2026-01-01": 2, "2026-01-02": 1}
    with pytest.raises(InvalidInput, match="words, whole numbers or dates in column 'rate'"):
        counts(rows(9), WAVE, column="pay", by="rate")


BAD = {
    "null": ({"pay": [1, None, 2]}, "1 row without a report"),
    "below": ({"pay": [1, -1, -2]}, "2 rows with a report out of range"),
    "above": ({"pay": [1, SIZE, 2**62]}, "2 rows with a report out of range"),
    "unsigned": ({"pay": np.array([1, 2**63, 2**64 - 1], np.uint64)}, "2 rows with a report out"),
    "fraction": ({"pay": [1.0, 1.5, 2.0]}, "1 row with a report that is not a whole number"),
    "nan": ({"pay": [1.0, math.nan, -math.inf]}, "2 rows with a report that is not a whole"),
    "float-above": ({"pay": [1.0, 99.0, 2.0]}, "1 row with a report out of range"),
    "text": ({"pay": ["1", "x", "01"]}, "2 rows with a report that is not a whole number"),
    "text-above": ({"pay": ["1", "99", "-5"]}, "2 rows with a report out of range"),
    "several": ({"pay": [1, None, 99]}, "1 row without a report and 1 row with a report out of"),
    "weight-null": ({"pay": [1, 1, 1], "weight": [1.0, None, 1.0]}, "1 row without a weight"),
    "weight-zero": ({"pay": [1, 1, 1], "weight": [1.0, 0.0, -1.0]}, "2 rows with a weight that"),
    "weight-odd": ({"pay": [1, 1, 1], "weight": [1.0, math.nan, math.inf]}, "2 rows with a weight"),
    "weight-text": ({"pay": [1, 1, 1], "weight": ["1.5", "x", ""]}, "2 rows with a weight that"),
    "rate-null": ({"pay": [1, 1, 1], "rate": [1.0, None, 1.0]}, "1 row without a response"),
    "rate-odd": ({"pay": [1, 1, 1], "rate": [1.0, math.nan, -math.inf]}, "2 rows with a response"),
    "rate-huge": ({"pay": [1, 1, 1], "rate": [1.0, 1e308, 1.0]}, "1 row with a response that is"),
    "rate-outside": ({"pay": [1, 1, 1], "rate": [1.0, 9.5, -9.5]}, "2 rows with a response out of"),
    "group": ({"pay": [1, 1, 1], "region": ["a", None, "a"]}, "1 row without a group"),
    "first": (
        {"pay": [1, 99, 1], "region": ["a", None, "a"], "rate": [1.0, None, None]},
        "1 row without a group and 1 row without a response",
    ),
}


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_rows_that_cannot_be_used(data: dict[str, Any], words: str) -> None:
    table = pa.table({name: pa.array(v, from_pandas=False) for name, v in data.items()})
    public: dict[str, Any] = {
        "response": "rate" if "rate" in data else None,
        "weights": "weight" if "weight" in data else None,
        "bounds": (-9, 9) if "rate" in data else None,
        "by": "region" if "region" in data else None,
    }
    with pytest.raises(InvalidInput, match=words):
        counts(table, WAVE, column="pay", **public)
    with pytest.warns(LeftOut, match=words) as caught:
        found = counts(table, WAVE, column="pay", invalid="drop", **public)
    told = caught[0].message
    assert isinstance(told, LeftOut)
    assert sum(told.rows.values()) + found.n == 3
    total = found.total() if isinstance(found, Groups) else found
    assert all(np.isfinite(array).all() for array in total._arrays().values())


def test_nan_that_the_statistics_of_a_file_leave_out(tmp_path: Path) -> None:
    path = tmp_path / "nan.parquet"
    odd = [1.0, math.nan, 1.0]
    pq.write_table(pa.table({"pay": odd, "good": [1, 2, 3], "y": odd, "z": [1.0, 2.0, 3.0]}), path)
    columns = pq.ParquetFile(path).metadata.row_group(0)
    assert columns.column(0).statistics.max == columns.column(2).statistics.max == 1
    with pytest.raises(InvalidInput, match="1 row with a report that is not a whole number"):
        counts(path, WAVE, column="pay")
    for public, words in (({"response": "y"}, "response"), ({"weights": "y"}, "weight")):
        with pytest.raises(InvalidInput, match=f"1 row with a {words} that is"):
            counts(path, WAVE, column="good", **public)
        with pytest.warns(LeftOut):
            found = counts(path, WAVE, column="good", invalid="drop", unstamped=True, **public)
        assert found.n == 2
        assert all(np.isfinite(array).all() for array in found._arrays().values())
    with pytest.raises(InvalidInput, match="1 row with a weight that is"):
        counts(path, WAVE, column="good", response="z", weights="y")


def test_bad_rows_leave_the_good_ones_alone() -> None:
    data = rows(1000)
    bad = {**data, "rate": data["rate"].copy(), "weight": data["weight"].copy()}
    bad["rate"][::7], bad["weight"][::5] = np.nan, -1
    bad["pay"] = np.where(np.arange(1000) % 11 == 0, 10**6 + np.arange(1000), data["pay"])
    kept = (np.arange(1000) % 7 > 0) & (np.arange(1000) % 5 > 0) & (np.arange(1000) % 11 > 0)
    with pytest.warns(LeftOut):
        ours = counts(bad, WAVE, column="pay", response="rate", weights="weight", invalid="drop")
    same(ours, oracle(data, kept, response="rate", weights="weight"))


def test_nothing_left() -> None:
    for data in ({"pay": np.array([], np.int32)}, {"pay": [99]}):
        with pytest.raises(InvalidInput, match="at least one report"):
            counts(data, WAVE, invalid="drop")


def test_invalid_values_are_collapsed_before_they_reach_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from confide.tables import counting

    crossed = []
    grouped = counting.grouped

    def watched(query: Any, where: str) -> Any:
        result = grouped(query, where)
        crossed.append(result.num_rows)
        return result

    monkeypatch.setattr(counting, "grouped", watched)
    hostile = np.concatenate([np.arange(10**6) + SIZE, np.arange(SIZE)])
    words = np.where(np.arange(hostile.size) < 10**6, None, "here")
    with pytest.raises(InvalidInput, match=r"1,000,000 rows with a report out of range"):
        counts({"pay": hostile}, WAVE)
    with pytest.raises(InvalidInput, match=r"1,000,000 rows without a group"):
        counts({"pay": hostile, "region": words}, WAVE, column="pay", by="region")
    assert crossed == [SIZE + 1, SIZE + 1]


@pytest.mark.parametrize("kind", ["int64", "uint64", "string"])
def test_values_that_are_no_reports_make_few_groups(kind: str) -> None:
    # The engine's memory is a matter of how many values the inner query tells apart.
    numbers = np.arange(50_000)
    hostile = {"int64": numbers - 20_000, "uint64": numbers, "string": numbers.astype(str)}[kind]
    table = pa.table({"pay": pa.array(hostile, kind)})
    if kind == "string":
        words = [f"{n % 5_000:x}" for n in numbers] + ["1" * 30, "1\n", "-1", None]
        table = pa.concat_tables([table, pa.table({"pay": words})])
    query = ibis.memtable(table)
    few = query.select(k=narrowed(query["pay"], SIZE)).distinct().count().execute()
    # Texts as long as a report, of digits and a minus, are told apart later.
    assert few <= (11**2 + 11 + 3 if kind == "string" else SIZE + 2)
    with pytest.warns(LeftOut):
        found = counts(table, WAVE, invalid="drop")
    good = [str(report) for report in range(SIZE)]
    column = pd.Series(table["pay"].to_pylist()).astype(str)
    assert found.counts.tolist() == [int((column == report).sum()) for report in good]


def test_files_say_where_bare_columns_will_do(tmp_path: Path) -> None:
    small = pa.table({"pay": pa.array([0, 3, None, 99], "int32"), "w": [[1], [2], [3], [4]]})
    for name, table, told in (
        ("small", small, {"pay"}),
        ("wide", pa.table({"pay": [0, 2**40]}), set()),
        ("negative", pa.table({"pay": [-1, 3]}), set()),
        ("float", pa.table({"pay": [1.0, 2.0]}), set()),
    ):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        assert opened(tmp_path / f"{name}.parquet", ["pay"]).small == told
    pq.write_table(small, tmp_path / "silent.parquet", write_statistics=False)
    assert opened(tmp_path / "silent.parquet", ["pay", "w"]).small == set()
    assert opened(tmp_path / "small.parquet", ["pay", "w"]).small == {"pay"}
    # One that is wide makes all of them so.
    pq.write_table(pa.table({"pay": pa.array([70_000], "int32")}), tmp_path / "other.parquet")
    both = [tmp_path / "small.parquet", tmp_path / "other.parquet"]
    assert opened(both, ["pay"]).small == set()
    with pytest.warns(LeftOut):
        assert counts(both, WAVE, column="pay", invalid="drop", unstamped=True).n == 2


def test_a_line_break_is_no_part_of_a_number(tmp_path: Path) -> None:
    data = {"pay": ["1", "1\n", "23456789\n", "2"], "weight": ["1.5", "1", "1", "2\n"]}
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (pay TEXT, weight TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", zip(*data.values(), strict=True))
    connection.commit()
    connection.close()
    for table in (data, ibis.sqlite.connect(tmp_path / "t.db").table("t")):
        with pytest.warns(LeftOut) as caught:
            found = counts(table, WAVE, column="pay", weights="weight", invalid="drop")
        assert found.n == 1
        told = [one.message for one in caught if isinstance(one.message, LeftOut)]
        assert [list(one.rows.values()) for one in told] == [[2, 1]]


def test_cells_of_another_type_than_their_column(tmp_path: Path) -> None:
    # SQLite keeps what it is given, whatever a column is declared as.
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (pay INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?)", [(1,), (3.5,), ("x",)])
    connection.commit()
    connection.close()
    with pytest.raises(InvalidInput, match="types that columns have in the table") as refused:
        counts(ibis.sqlite.connect(tmp_path / "t.db").table("t"), WAVE, column="pay")
    assert "3.5" not in str(refused.value)


def test_columns_whose_names_differ_by_case(tmp_path: Path) -> None:
    first = pa.table({"pay": [1], "Pay": [9], "region": ["a"]})
    pq.write_table(first, tmp_path / "a.parquet")
    pq.write_table(first.select(["Pay", "pay", "region"]), tmp_path / "b.parquet")
    (tmp_path / "a.csv").write_text("pay,Pay,region\n1,9,a\n")
    words = "differ by more than case, got 'pay' and 'Pay'"
    for table in (first, ibis.memtable(first), tmp_path / "a.csv", tmp_path / "a.parquet"):
        with pytest.raises(InvalidInput, match=words):
            counts(table, WAVE, column="pay")
    with pytest.raises(InvalidInput, match=words):
        counts([tmp_path / "a.parquet", tmp_path / "b.parquet"], WAVE, column="pay", by="region")


def test_a_table_in_memory_is_nobody_elses(tmp_path: Path) -> None:
    ibis.set_backend(ibis.sqlite.connect(tmp_path / "mine.db"))
    try:
        assert counts({"pay": [1, 2, 3]}, WAVE).n == 3
        assert ibis.get_backend().list_tables() == []
    finally:
        ibis.set_backend("duckdb")


def test_a_table_in_memory_is_let_go() -> None:
    size = 10**6
    table = pa.table({"pay": pa.nulls(size, pa.int64()).fill_null(1)})
    held = pa.total_allocated_bytes()
    counts(table, WAVE)
    del table
    gc.collect()
    assert pa.total_allocated_bytes() < held - 4 * size


def test_threads_do_not_meet() -> None:
    def count(report: int) -> bool:
        found = counts({"pay": np.full(1_000, report)}, WAVE)
        return bool(found.counts[report] == found.n == 1_000)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(count, [at % SIZE for at in range(40)]))


def test_too_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.tables import faults, sources

    data = {"pay": np.zeros(100, int), "who": np.arange(100)}
    monkeypatch.setattr(faults, "MAX_CELLS", 99 * SIZE)
    with pytest.raises(InvalidInput, match="at most 99 groups"):
        counts(data, WAVE, column="pay", by="who")
    partition = PARTITIONS[0]
    monkeypatch.setattr(faults, "MAX_CELLS", 9 * partition.cells.size * (2 * partition.levels + 2))
    lists = to_arrow(vectors(partition, 10)).append_column("who", pa.array(range(10)))
    with pytest.raises(InvalidInput, match="at most 9 groups"):
        counts(lists, partition, by="who", simulated=True)
    monkeypatch.setattr(sources, "MAX_ROWS", 99)
    with pytest.raises(InvalidInput, match="at most 99 pairs of a group and a report"):
        counts(data, WAVE, column="pay", by="who")


def test_rows_of_an_engine_that_was_misled() -> None:
    from confide.tables.counting import Query

    rows = pa.table({"k0": [1, SIZE], "kind": [0, 0], "n": [2, 3]})
    with pytest.raises(InvalidInput, match="although the file's statistics deny it"):
        Query(WAVE, ("pay",), None, None, None).summaries(
            rows, Grouping(), False, invalid="refuse", where="here"
        )


def test_files_must_be_by_the_mechanism(tmp_path: Path) -> None:
    path, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(to_arrow(WAVE.privatize([0.1, 0.9]), name="pay"), path)
    assert counts(path, WAVE, column="pay").n == 2
    with pytest.raises(Mismatch, match="another"):
        counts(path, SquareWave(LATTICE, epsilon=2.0), column="pay")
    pq.write_table(to_arrow(WAVE.simulate([0.1], seed=1), name="pay"), other)
    assert counts(other, WAVE, column="pay").simulated
    with pytest.raises(Mismatch, match="some of each"):
        counts([path, other], WAVE, column="pay")
    assert counts({"pay": [1]}, WAVE, simulated=True).simulated
    stamp = Stamp({"pay": WAVE, "team": WORDS})
    table = pa.table(rows(10)).replace_schema_metadata(stamp.metadata())
    with pytest.raises(InvalidInput, match="a public column"):
        counts(table, WAVE, column="pay", response="team")


def test_a_column_has_one_type_in_all_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"pay": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"pay": [1.5]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match="of one type in all files"):
        counts(tmp_path, WAVE, column="pay")


def test_files_that_are_something_else(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'pay\n1\n"2\n' + b"secret\n" * 10)
    (tmp_path / "b.csv.gz").write_bytes(b"secret")
    (tmp_path / "c.csv").write_bytes(b"pay,pay\n1,2\n")
    (tmp_path / "d.csv").write_bytes(b"secret\npay,x\n1,2\n")
    (tmp_path / "e.csv").write_bytes(b"pay,x\n" + b"1,2\n" * 30_000 + b"1,secret,3\n")
    (tmp_path / "f.csv").write_bytes(b"x,pay\n\xff,1\n")
    for name in ("a.csv", "b.csv.gz", "c.csv", "d.csv", "e.csv", "f.csv"):
        with pytest.raises(InvalidInput) as caught:
            counts(tmp_path / name, WAVE, column="pay")
        assert "secret" not in str(caught.value)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "columns": ({}, "one column of reports, got pay, team"),
    "column": ({"column": "pya"}, "Did you mean 'pay'"),
    "bounds": ({"column": "pay", "bounds": (0, 1)}, "a response to go with its bounds"),
    "order": ({"column": "pay", "response": "rate", "bounds": (1, 0)}, "bounds in order"),
    "invalid": ({"column": "pay", "invalid": "ignore"}, "for 'invalid', got 'ignore'"),
    "by": ({"column": "pay", "by": []}, "names of columns in by"),
    "twice": ({"column": "pay", "by": ["year", "year"]}, "each column once in by"),
    "response": ({"column": "pay", "response": "when"}, "plain numbers in column 'when'"),
    "simulated": ({"column": "pay", "simulated": 1}, "simulated=True or False"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_arguments(arguments: dict[str, Any], words: str) -> None:
    data = {**rows(5), "when": np.array(["2026-01-01"] * 5, "datetime64[D]")}
    with pytest.raises(InvalidInput, match=words):
        counts(data, WAVE, **arguments)


PARTITIONS = [
    Partition(Cells(low=[0], high=[1], shape=[6]), bound=1.0, epsilon=2.0),
    Partition(Cells(low=[0], high=[1], shape=[3]), bound=1.0, epsilon=4.0, levels=3),
    Partition(Cells(low=[0, 0], high=[1, 1], shape=[2, 2]), epsilon=2.0, classify=True),
]


def vectors(partition: Partition, n: int) -> Any:
    generator = np.random.default_rng(n)
    points = generator.random((n, len(partition.cells.shape)))
    return partition.simulate(points, generator.choice([-1.0, 1.0], n), seed=n)


@pytest.mark.parametrize("partition", PARTITIONS, ids=["plain", "levels", "classify"])
def test_cell_sums(partition: Partition, tmp_path: Path) -> None:
    one, two = vectors(partition, 400), vectors(partition, 300)
    for at, reports in enumerate((one, two)):
        write(reports, tmp_path / f"{at}.parquet")
    whole = CellSums.of([one, two])
    assert counts(tmp_path, partition).to_dict() == whole.to_dict()
    parts = [counts(tmp_path / f"{at}.parquet", partition) for at in range(2)]
    assert (parts[0] + parts[1]).to_dict() == whole.to_dict()
    table = to_arrow(one)
    table = table.append_column("region", pa.array(["a"] * 150 + ["b"] * 250))
    groups = counts(table, partition, by="region")
    assert list(groups) == ["a", "b"]
    first = type(one)(one.indices[:150], partition, simulated=True)
    assert groups["a"].to_dict() == CellSums.of(first).to_dict()
    assert groups.total().to_dict() == CellSums.of(one).to_dict()
    with pytest.raises(Mismatch, match="another"):
        counts(table, replace(partition, epsilon=1.0))


def test_cell_sums_of_bad_rows() -> None:
    partition = PARTITIONS[0]
    good = vectors(partition, 50)
    w, z = (good.indices[:, at].tolist() for at in range(2))
    w[3], z[4], z[5], w[6], z[7] = None, z[4][:-1], [*z[5], 0], [2] * 6, [*z[7][:-1], None]
    z[8] = [-2, *z[8][1:]]
    data = {"w": w, "z": z}
    with pytest.raises(InvalidInput, match="1 row without a report and 5 rows with a report that"):
        counts(data, partition)
    with pytest.warns(LeftOut):
        sums = counts(data, partition, simulated=True, invalid="drop")
    kept = np.ones(50, bool)
    kept[3:9] = False
    rest = type(good)(good.indices[kept], partition, simulated=True)
    assert sums.to_dict() == CellSums.of(rest).to_dict()
    with pytest.raises(InvalidInput, match="lists of whole numbers in column 'w'"):
        counts({"w": [1], "z": [[1]]}, partition)

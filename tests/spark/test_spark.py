"""A Spark cluster of one machine gives the summaries that DuckDB gives, from the same files."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide import Cells, Joint, Lattice, Partition, RandomizedResponse, SquareWave
from confide.errors import InvalidInput
from confide.reports import to_arrow, write
from confide.summaries import CellSums, Counts
from confide.tables import LeftOut, counts

HAS_JAVA = "JAVA_HOME" in os.environ or shutil.which("java") is not None
pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None,
        reason="pyspark is not installed: make test-spark installs it",
    ),
    pytest.mark.skipif(not HAS_JAVA, reason="Spark needs Java 17, and there is none"),
]
WAVE = SquareWave(Lattice(low=0, high=1, size=24), epsilon=1.0)
BOTH = Joint({"pay": WAVE, "team": RandomizedResponse(["a", "b", "c"], epsilon=1.0)})
SIZE = WAVE.law.outputs[0]
N = 20_000


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(folder))
        .getOrCreate()
    )
    yield ibis.pyspark.connect(session)
    session.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    generator = np.random.default_rng(1)
    for at in range(3):
        table = pa.table(
            {
                "pay": generator.integers(0, SIZE, N).astype(np.int32),
                "team": generator.integers(0, 3, N).astype(np.int32),
                "rate": generator.normal(3, 1, N),
                "weight": generator.random(N) + 0.1,
                "region": generator.choice(["east", "north", "south"], N),
                "year": generator.integers(2020, 2023, N),
            }
        )
        pq.write_table(table, folder / f"{at}.parquet")
    return folder


def same(ours: Counts, theirs: Counts) -> None:
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert ours._arrays().keys() == theirs._arrays().keys()
    for one, two in zip(ours._arrays().values(), theirs._arrays().values(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    if theirs.response is not None:
        assert (ours.response.low, ours.response.high) == (
            theirs.response.low,
            theirs.response.high,
        )


@pytest.mark.parametrize(
    "public",
    [{}, {"weights": "weight"}, {"response": "rate"}, {"weights": "weight", "response": "rate"}],
    ids=lambda public: "-".join(public) or "bare",
)
def test_the_same_counts(public: dict[str, str], spark: Any, files: Path) -> None:
    table = spark.read_parquet(str(files))
    same(
        counts(table, WAVE, column="pay", **public),
        counts(files, WAVE, column="pay", unstamped=True, **public),
    )
    for by in ("region", ["region", "year"]):
        ours = counts(table, WAVE, column="pay", by=by, **public)
        theirs = counts(files, WAVE, column="pay", by=by, unstamped=True, **public)
        assert list(ours) == list(theirs)
        for key, own in ours.items():
            same(own, theirs[key])


def test_the_same_joint_counts(spark: Any, files: Path) -> None:
    table = spark.read_parquet(str(files))
    same(counts(table, BOTH, by="region").total(), counts(files, BOTH, unstamped=True))


def test_the_same_bad_rows(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    table = pa.table(
        {
            "pay": [1, None, -1, SIZE, 2, 3, 4, 5, 6, 7],
            "part": [1.0, 1.5, np.nan, 99.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
            "text": ["1", "x", "", "99", "2", "3", "4", "5", "6", "7"],
            "rate": [1.0, 1.0, 1.0, 1.0, None, np.nan, np.inf, 50.0, 1.0, 1.0],
            "weight": [1.0] * 8 + [0.0, 2.0],
        }
    )
    pq.write_table(table, path)
    public: dict[str, Any] = {"response": "rate", "bounds": (0, 9), "weights": "weight"}
    for column in ("pay", "part", "text"):
        told, found = [], []
        for source in (spark.read_parquet(str(path)), path):
            with pytest.raises(InvalidInput):
                counts(source, WAVE, column=column, **public)
            with pytest.warns(LeftOut) as caught:
                found.append(
                    counts(source, WAVE, column=column, invalid="drop", unstamped=True, **public)
                )
            told += [one.message.rows for one in caught if isinstance(one.message, LeftOut)]
        assert told[0] == told[1]
        same(*found)


def test_the_same_cell_sums(spark: Any, tmp_path: Path) -> None:
    partition = Partition(
        Cells(low=[0, 0], high=[1, 1], shape=[3, 2]), bound=1.0, epsilon=4.0, levels=2
    )
    generator = np.random.default_rng(2)
    reports = partition.simulate(
        generator.random((2000, 2)), generator.uniform(-1, 1, 2000), seed=1
    )
    write(reports, tmp_path / "cells.parquet")
    table = spark.read_parquet(str(tmp_path / "cells.parquet"))
    whole = CellSums.of(reports).to_dict()
    assert counts(table, partition, simulated=True).to_dict() == whole
    named = to_arrow(reports).append_column("region", pa.array(["a", "b"] * 1000))
    pq.write_table(named, tmp_path / "named.parquet")
    ours = counts(
        spark.read_parquet(str(tmp_path / "named.parquet")), partition, by="region", simulated=True
    )
    theirs = counts(tmp_path / "named.parquet", partition, by="region")
    assert ours.to_dict() == theirs.to_dict()

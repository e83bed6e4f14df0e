"""Columns of raw numbers in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.errors import InvalidInput
from confide.files.columns import Columns


def test_columns_of_several_files(tmp_path: Path) -> None:
    for at in range(2):
        table = pa.table({"x": [1.5 + at, 2.5], "k": pa.array([1, 2], pa.int32())})
        pq.write_table(table, tmp_path / f"{at}.parquet")
    told: list[tuple[int, int | None]] = []
    found = Columns.open(tmp_path, ["k", "x"])
    read = found.read(lambda *rows: told.append(rows))
    assert list(read) == ["k", "x"]
    np.testing.assert_array_equal(read["x"], [1.5, 2.5, 2.5, 2.5])
    assert told == [(2, 4), (2, 4)]
    assert found.integers == ["k"]


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    assert Columns.open(path).read()["x"].tolist() == [1, 2]
    assert Columns.open(path, "x").integers == []
    path.write_text("x,secret\n1,2\n")
    with pytest.raises(InvalidInput, match="one of the 2 columns") as caught:
        Columns.open(path)
    assert "secret" not in str(caught.value)
    path.write_text("17\n1\n")
    with pytest.raises(InvalidInput, match="names of the columns"):
        Columns.open(path)
    path.write_text("x\n")
    with pytest.raises(InvalidInput, match="rows in"):
        Columns.open(path).read()

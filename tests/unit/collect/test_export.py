"""Exports: tables of reports that everything else reads."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.cli.app import run
from confide.collect.exports import export, parquet
from confide.collect.live import summarized
from confide.reports.stamps import Stamp


def test_an_export_is_stamped_as_private_reports_of_the_survey(collected: Any) -> None:
    collected.add(30)
    collected.add(20, region="south", seed=2)
    table = export(collected.store, collected.survey)
    assert table.schema.names == ["pay", "smokes", "region"]
    assert table.schema.types == [pa.int32(), pa.int32(), pa.string()]
    stamp = Stamp.read(table.schema.metadata, "the export")
    assert stamp == collected.survey.stamp()
    assert not stamp.simulated
    rows = sorted(zip(*(table[name].to_pylist() for name in table.schema.names), strict=True))
    kept = [(row["pay"], row["smokes"], cell[2:-2]) for cell, row in collected.store.rows()]
    assert rows == sorted(kept)


def test_rows_come_in_another_order_each_time(collected: Any) -> None:
    collected.add(60)
    orders = {tuple(export(collected.store, collected.survey)["pay"].to_pylist()) for _ in "abc"}
    stored = tuple(row["pay"] for _, row in collected.store.rows())
    assert len(orders | {stored}) == 4


def test_pandas_does_not_line_rows_up_with_others(collected: Any) -> None:
    collected.add(5)
    assert list(export(collected.store, collected.survey).to_pandas().index) == [5, 6, 7, 8, 9]


def test_summarizing_an_export_gives_the_tallies(
    collected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected.add(300)
    collected.add(200, region="süd, west", seed=2)
    monkeypatch.chdir(tmp_path)
    Path("reports.parquet").write_bytes(parquet(export(collected.store, collected.survey)))
    Path("survey.toml").write_text(
        'groups = ["region"]\n'
        "[questions.pay]\nlow = 0\nhigh = 100\nsize = 32\nepsilon = 2.0\n"
        '[questions.smokes]\ncategories = ["no", "yes"]\nepsilon = 2.0\n'
    )
    command = ["summarize", "survey.toml", "reports.parquet", "-o", "counts.json"]
    assert run([*command, "--by", "region"]) == 0
    wanted = summarized(collected.survey, collected.store.tallies())
    found = cf.read("counts.json")
    assert set(found.groups("pay")) == {"north", "süd, west"}
    for name in ("pay", "smokes"):
        for key, counts in wanted.groups(name).items():
            assert np.array_equal(found.groups(name)[key].counts, counts.counts)
            assert not found.groups(name)[key].simulated
    again = cf.summarize("reports.parquet", by="region")
    assert np.array_equal(again["pay"].counts, wanted["pay"].counts)


def test_people_without_groups_have_none(anybody: Any) -> None:
    anybody.add(5)
    table = export(anybody.store, anybody.survey)
    assert table["region"].null_count == 5
    assert pq.read_table(io.BytesIO(parquet(table))).num_rows == 5


def test_no_reports_are_an_empty_table(collected: Any) -> None:
    table = export(collected.store, collected.survey)
    assert (table.num_rows, table.schema.names) == (0, ["pay", "smokes", "region"])

"""The page of benchmarks: peers apart from limits, and nothing on it that was not measured."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from bench import __main__ as bench
from bench.clock import Row, watch

PEER = Row("adding", "somebody 1.0", 0.5, 1.0, peer=True)
LIMIT = Row("sorting", "one sort", 3.0, 10.0)


def test_peers_and_limits_have_tables_of_their_own() -> None:
    peers, limits = bench.tables([LIMIT, PEER]).split("\n\n")
    assert "| adding | 0.5 | somebody 1.0 | 1 | yes |" in peers
    assert "sorting" not in peers
    assert "| sorting | 3 | one sort | 10 | yes |" in limits
    assert "adding" not in limits
    assert bench.tables([LIMIT]) == limits
    assert "**no**" in bench.tables([replace(LIMIT, ratio=11.0)])
    assert "not run" in bench.tables([replace(PEER, ratio=None)])


def test_only_peers_can_be_ahead() -> None:
    assert bench.standing([PEER, LIMIT]) == "confide is ahead of every peer on the same work."
    told = bench.standing([replace(PEER, ratio=1.5), LIMIT])
    assert "- adding: 1.5 times somebody 1.0." in told
    assert "sorting" not in told


def test_the_pages_tell_what_is_recorded() -> None:
    record = bench.Record.read(bench.RESULTS)
    assert bench.PAGE.read_text() == bench.page(record)
    if record.rates is not None:
        assert bench.scale.PAGE.read_text() == bench.scale.page(record.rates)


def test_a_record_is_read_as_it_was_written(tmp_path) -> None:
    record = replace(bench.Record.read(bench.RESULTS), rows={"noise": [PEER, LIMIT]})
    record.write(tmp_path / "results.json")
    assert bench.Record.read(tmp_path / "results.json") == record


def test_each_part_is_kept_as_soon_as_it_is_measured(tmp_path, monkeypatch, capsys) -> None:
    for name in ("RESULTS", "PAGE", "PICTURE"):
        monkeypatch.setattr(bench, name, tmp_path / getattr(bench, name).name)
    monkeypatch.setattr(bench.scale, "PAGE", tmp_path / "scale.md")

    def broken() -> list[Row]:
        raise RuntimeError("stopped")

    parts = {"noise": ("Reports", lambda: [PEER, LIMIT]), "design": ("Design", broken)}
    monkeypatch.setattr(bench, "BENCHMARKS", parts)
    with pytest.raises(RuntimeError, match="stopped"):
        bench.main(["noise", "design"])
    kept = bench.Record.read(tmp_path / "results.json")
    assert kept.rows == {"noise": [PEER, LIMIT]}
    assert "| adding |" in (tmp_path / "benchmarks.md").read_text()
    assert bench.main(["pages"]) == 0
    assert bench.main(["nothing"]) == 2
    assert "got nothing" in capsys.readouterr().out


def test_a_program_is_not_charged_with_the_memory_of_who_starts_it() -> None:
    ours = np.ones(25_000_000)
    _, small = watch([sys.executable, "-c", "pass"])
    _, large = watch([sys.executable, "-c", "x = bytearray(10**8)"])
    assert small < ours.nbytes / 2
    assert 10**8 < large < small + 1.5e8

"""A file format is one class and one line: a toy one goes wherever CSV and Parquet go."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pytest

import confide as cf
from confide.cli.app import run
from confide.errors import InvalidInput
from confide.files import formats
from confide.files.source import Source


class Lines:
    """Writes tables as one JSON object a line."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.flush()

    def write_table(self, table: Any) -> None:
        for row in table.to_pylist():
            self.file.write(json.dumps(row).encode() + b"\n")


@dataclass(frozen=True)
class JsonLines(Source):
    """One JSON object a line."""

    title = "JSON lines"

    def _names(self) -> list[str]:
        with self.path.open() as file:
            return list(json.loads(file.readline()))

    def _kind(self, name: str) -> Any:
        (first, *_) = self._batches([name], None)
        return first.schema.field(name).type

    def _batches(self, columns: Sequence[str], groups: Sequence[int] | None) -> Iterator[Any]:
        rows = [json.loads(line) for line in self.path.read_text().splitlines()]
        yield pa.RecordBatch.from_pydict({name: [row[name] for row in rows] for name in columns})

    @classmethod
    def writer(cls, file: IO[bytes], schema: Any, *, packed: Sequence[str] = ()) -> Any:
        return Lines(file)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(formats.FORMATS, ".jsonl", JsonLines)
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(
        "[questions.pay]\nlow = 0\nhigh = 9\nsize = 8\nepsilon = 2.0\n"
        '[questions.smokes]\ncategories = ["no", "yes"]\nepsilon = 1.0\n'
    )
    rows = ({"pay": at % 9 + 0.5, "smokes": ["no", "yes"][at % 2]} for at in range(60))
    Path("values.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_from_values_to_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["privatize", "s.toml", "values.jsonl", "-o", "reports.jsonl"]) == 0
    assert "JSON lines cannot carry the mechanism" in capsys.readouterr().out
    assert run(["summarize", "s.toml", "reports.jsonl", "-o", "counts.json"]) == 0
    counts = cf.read("counts.json")
    assert counts.n == 60
    assert run(["density", "s.toml", "reports.jsonl", "--question", "pay"]) == 0
    reports = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    seen = np.bincount([row["pay"] for row in reports], minlength=counts["pay"].counts.size)
    assert counts["pay"].counts.tolist() == seen.tolist()


def test_a_database_counts_it() -> None:
    assert run(["privatize", "s.toml", "values.jsonl", "-o", "reports.jsonl"]) == 0
    survey = cf.Survey.read("s.toml")
    found = cf.tables.counts(["reports.jsonl"], survey.mechanisms["pay"], column="pay")
    streamed = survey.summarize("reports.jsonl")["pay"]
    assert found.counts.tolist() == streamed.counts.tolist()


def test_reports_are_written_and_read() -> None:
    wave = cf.SquareWave(cf.Lattice(low=0, high=1, size=8), epsilon=1.0)
    made = wave.privatize([0.1, 0.9, 0.5])
    cf.reports.write(made, "r.jsonl", keep_order=True)
    again = cf.reports.read("r.jsonl", mechanism=wave)
    assert again.indices.tolist() == made.indices.tolist()
    with pytest.raises(InvalidInput, match="simulated"):
        cf.reports.write(wave.simulate([0.1], seed=1), "s.jsonl")


def test_without_its_line_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(formats.FORMATS, ".jsonl")
    assert run(["privatize", "s.toml", "values.jsonl", "-o", "reports.csv"]) == 2


def test_a_folder_never_holds_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    place = Path("pay=5") / "smokes=yes"
    place.mkdir(parents=True)
    (place / "a.csv").write_text("other\n1\n2\n")
    assert run(["privatize", "s.toml", str(place / "a.csv"), "-o", "r.csv"]) == 2
    assert "a column 'pay'" in capsys.readouterr().err
    words = ["release", "query", str(place / "a.csv"), "--column", "pay", "--what", "mean"]
    assert run([*words, "--low", "0", "--high", "9", "--epsilon", "1"]) == 2
    assert "a column 'pay'" in capsys.readouterr().err

"""What is fuzzed: each reader, and a check of what it returns."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from evidence.bombs import files as bomb_files
from tests.fuzz.damage import mutated
from tests.fuzz.files import (
    SURVEY,
    WAVE,
    Document,
    archive,
    archives,
    cell_parquet,
    cell_reports,
    counts,
    counts_json,
    group_json,
    groups,
    joint,
    ledgers,
    noised,
    of_json,
    private,
    report_gzip,
    report_parquet,
    report_text,
    spectrum,
    stamped,
    summary_json,
    sums,
    survey_json,
    surveys,
    text,
    toml,
    value_parquet,
    value_text,
)

import confide as cf
from confide import accounting, reports
from confide.cli.app import run
from confide.errors import ConfideError
from confide.files import formats
from confide.files.paths import load_json
from confide.foreign import Spectrum
from confide.reports.files import Files
from confide.summaries import CellSums, Counts, Groups, files


@dataclass(frozen=True)
class Reader:
    """A reader.

    Parameters
    ----------
    name
        What it is called in the result.
    file
        The file that it reads.
    seeds
        Makes the valid files.
    read
        Reads a file, and checks what comes out by writing and reading that again.
    document
        Makes a file of a document in which a key or a value was exchanged, where there is one.
    bombs
        Functions of `evidence.bombs.files` that make small files which ask for much.
    changes, beside
        Whether reading may change the file, and what it may leave beside it.
    """

    name: str
    file: str
    seeds: Callable[[], tuple[bytes, ...]]
    read: Callable[[Path], Any]
    document: Document | None = None
    bombs: tuple[str, ...] = ()
    changes: bool = False
    beside: tuple[str, ...] = ()

    def damaged(self, rng: random.Random) -> bytes:
        """A file that somebody or something was at."""
        if self.bombs and rng.random() < 0.05:
            bomb = made(rng.choice(self.bombs))
            return mutated(bomb, rng) if rng.random() < 0.5 else bomb
        if self.document is not None and rng.random() < 0.5:
            return self.document(rng)
        return mutated(rng.choice(self.seeds()), rng)


@cache
def made(bomb: str) -> bytes:
    """A small file that asks for much."""
    data: bytes = getattr(bomb_files, bomb)()
    return data


def read_survey(path: Path) -> None:
    survey = cf.Survey.read(path)
    again = cf.Survey.from_dict(survey.to_dict())
    assert again.fingerprint == survey.fingerprint
    assert 0 < survey.spend.epsilon < float("inf")


def read_reports(path: Path) -> None:
    made = reports.read(path, column="pay", mechanism=WAVE)
    again = reports.from_table(reports.to_arrow(made))
    assert again.mechanism == made.mechanism
    assert (again.indices == made.indices).all()
    assert Counts.of(made).n == len(made)


def read_stamped(path: Path) -> None:
    """Without a survey: the file says itself what it holds."""
    files = Files.open([path])
    for batch, _ in files.batches():
        for name, made in batch.items():
            assert Counts.of(made).mechanism == files.mechanisms[name]
    for fields in files.surveys:
        cf.Survey.from_dict(fields)


def read_command(path: Path) -> None:
    """On the command line, over an older summary: that stays, or a whole one takes its place."""
    out = path.with_name("out.json")
    out.write_bytes(b"older")
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = run(["summarize", str(path), "-o", str(out)])
    if code == 0:
        read_summary(out)
    else:
        assert code == 2
        assert out.read_bytes() == b"older"
        raise ConfideError(said.getvalue().removesuffix("\n"))


def read_cells(path: Path) -> None:
    made = reports.read(path)
    assert CellSums.of(made).n == len(made)


def read_values(path: Path) -> None:
    source = formats.source(path)
    rows = 0
    for batch in source.batches(list(SURVEY.questions)):
        table = pa.Table.from_batches([batch])
        if batch.num_rows:
            made = SURVEY.reports(table, plain=source.text, where=source.where, first=rows)
            assert made.num_rows == batch.num_rows
        rows += batch.num_rows


def read_summary(path: Path) -> None:
    for summary in files.load(path).questions.values():
        if isinstance(summary, Groups):
            assert Groups[Counts].from_dict(summary.to_dict()).n == summary.n
        else:
            again = Counts.from_bytes(Counts.from_dict(summary.to_dict()).to_bytes())
            assert (again.counts == summary.counts).all()
            assert again.mechanism == summary.mechanism


def read_counts(path: Path) -> None:
    made = Counts.from_dict(load_json(path.read_bytes(), "the file"))
    assert Counts.from_dict(made.to_dict()).n == made.n >= 0


def read_archive(path: Path) -> None:
    made = Counts.from_bytes(path.read_bytes())
    assert Counts.from_bytes(made.to_bytes()).n == made.n >= 0


def read_sums(path: Path) -> None:
    data = path.read_bytes()
    made = (
        CellSums.from_bytes(data)
        if path.suffix == ".npz"
        else CellSums.from_dict(load_json(data, "the file"))
    )
    assert (CellSums.from_dict(made.to_dict()).tallies == made.tallies).all()


def read_spectrum(path: Path) -> None:
    made = Spectrum.from_dict(load_json(path.read_bytes(), "the file"))
    assert Spectrum.from_dict(made.to_dict()).n == made.n


def read_ledger(path: Path) -> None:
    ledger = cf.Ledger(path, timeout=1.0)
    spent, left = ledger.spent, ledger.left
    assert spent.epsilon >= 0
    assert left.epsilon <= ledger.budget.epsilon
    for entry in ledger.entries():
        assert entry.release is not ...
    cost, make = accounting.Spend(0.1), {"answer": 7}.copy
    assert ledger.charge("again", {"kind": "count"}, cost, make, data=b"data") == {"answer": 7}
    assert ledger.charge("again", {"kind": "count"}, cost, make, data=b"data") == {"answer": 7}
    assert ledger.spent.epsilon >= spent.epsilon


READERS = (
    Reader("survey.toml", "survey.toml", surveys, read_survey, toml, ("toml_dots",)),
    Reader("survey.json", "survey.json", survey_json, read_survey, of_json(SURVEY.to_dict)),
    Reader("reports.csv", "reports.csv", report_text, read_reports, bombs=("csv_columns",)),
    Reader("reports.csv.gz", "reports.csv.gz", report_gzip, read_reports),
    Reader(
        "reports.parquet",
        "reports.parquet",
        report_parquet,
        read_stamped,
        lambda rng: stamped(private(), rng),
        ("parquet_text", "parquet_rows", "parquet_kept"),
    ),
    Reader(
        "vector reports.parquet",
        "cells.parquet",
        cell_parquet,
        read_cells,
        lambda rng: stamped(reports.to_arrow(cell_reports()), rng),
        ("parquet_vectors",),
    ),
    Reader(
        "confide summarize",
        "reports.parquet",
        report_parquet,
        read_command,
        lambda rng: stamped(private(), rng),
        ("parquet_text", "parquet_rows", "parquet_tiny_groups"),
        beside=("out.json",),
    ),
    Reader("values.csv", "values.csv", value_text, read_values),
    Reader(
        "values.parquet",
        "values.parquet",
        value_parquet,
        read_values,
        bombs=("parquet_values", "parquet_prefixes"),
    ),
    Reader("summary.json", "summary.json", summary_json, read_summary),
    Reader(
        "counts.json",
        "counts.json",
        counts_json,
        read_counts,
        of_json(lambda: counts().to_dict(), lambda: joint().to_dict(), lambda: noised().to_dict()),
        ("json_scales", "json_words", "json_words_within"),
    ),
    Reader("counts.npz", "counts.npz", archives, read_archive, archive, ("npz_declared",)),
    Reader(
        "sums.json",
        "sums.json",
        lambda: (text(sums().to_dict()),),
        read_sums,
        of_json(lambda: sums().to_dict()),
    ),
    Reader("sums.npz", "sums.npz", lambda: (sums().to_bytes(),), read_sums),
    Reader(
        "spectrum.json",
        "spectrum.json",
        lambda: (text(spectrum().to_dict()),),
        read_spectrum,
        of_json(lambda: spectrum().to_dict()),
    ),
    Reader(
        "groups.json", "groups.json", group_json, read_summary, of_json(lambda: groups().to_dict())
    ),
    Reader(
        "ledger",
        "ledger.db",
        ledgers,
        read_ledger,
        changes=True,
        beside=("ledger.db-journal", "ledger.db-wal", "ledger.db-shm", "ledger.db.secret"),
    ),
)

"""Bad files, each with the words that its reader must find for it."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.fuzz.files import (
    ANSWERS,
    TOML,
    WAVE,
    cell_reports,
    counts,
    groups,
    joint,
    ledger_file,
    noised,
    parquet,
    private,
    spectrum,
    sums,
    text,
    unpacked,
)
from tests.fuzz.readers import read_values
from tests.fuzz.study import unclear

import confide as cf
from confide import reports
from confide.accounting import Spend
from confide.errors import ConfideError
from confide.foreign import Spectrum
from confide.reports.files import Files
from confide.summaries import CellSums, Counts, files, forms

Case = tuple[bytes, str]
REPORT = b"pay\n1\n2\n"


def survey(old: str, new: str, *, count: int = 1) -> bytes:
    """The valid survey with something exchanged, which must be there."""
    assert old in TOML
    return TOML.replace(old, new, count).encode()


def without(fields: dict[str, Any], *path: str) -> dict[str, Any]:
    """A copy of a document without one key."""
    copy = json.loads(json.dumps(fields))
    node = copy
    for key in path[:-1]:
        node = node[key]
    del node[path[-1]]
    return copy


def changed(fields: dict[str, Any], value: Any, *path: str) -> bytes:
    """A document with one value exchanged, as JSON."""
    copy = json.loads(json.dumps(fields))
    node = copy
    for key in path[:-1]:
        node = node[key]
    assert path[-1] in node
    node[path[-1]] = value
    return text(copy)


def packed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def repacked(header: dict[str, Any] | None = None, **arrays: Any) -> bytes:
    """The archive of valid counts with parts exchanged."""
    own, tables = unpacked(counts().to_bytes())
    return forms.pack(own | (header or {}), tables | arrays)


def restamped(table: pa.Table, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A Parquet file whose stamp says something else."""
    stamp = change(json.loads(table.schema.metadata[b"confide"]))
    data = stamp if isinstance(stamp, bytes) else text(stamp)
    return parquet(table.replace_schema_metadata({b"confide": data}))


def column(cells: pa.Array) -> bytes:
    """A Parquet file of a valid stamp and other cells."""
    kept = {name: private()[name].slice(0, len(cells)) for name in private().column_names}
    table = pa.table({**kept, "pay": cells})
    return parquet(table.replace_schema_metadata(private().schema.metadata))


def ledger(*statements: str) -> bytes:
    """A ledger that somebody wrote to by hand."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(ledger_file(2))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    return connection.serialize()


SURVEYS: dict[str, Case] = {
    "empty": (b"", "a table [questions.NAME]"),
    "utf-16": (TOML.encode("utf-16"), "UTF-8 text"),
    "surrogate": (b'title = "\xed\xa0\x80"\n', "UTF-8 text"),
    "cut": (TOML.encode()[:40], "TOML in"),
    "deep": (b"a = " + b"[" * 50_000, "TOML in"),
    "long-number": (survey("high = 10", "high = " + "9" * 5000), "TOML in"),
    "epsilon-nan": (survey("epsilon = 1.0", "epsilon = nan"), "epsilon > 0"),
    "epsilon-date": (survey("epsilon = 1.0", "epsilon = 2020-01-01"), "epsilon > 0"),
    "epsilon-text": (survey("epsilon = 1.0", 'epsilon = "1"'), "Write it without quotes."),
    "size-bool": (survey("size = 16", "size = true"), "a whole number size"),
    "size-huge": (survey("size = 16", "size = 9223372036854775807"), "a whole number size"),
    "bounds-swapped": (survey("low = 0", "low = 11"), "low < high"),
    "misspelt": (survey("missing = 0", "mising = 0"), "Did you mean 'missing'?"),
    "categories-number": (survey('["no", "yes"]', "0.5"), "a list of categories"),
    "categories-nested": (survey('["no", "yes"]', '[["no"], "yes"]'), "categories that are words"),
    "mechanism-joint": (survey("randomized-response", "joint"), "cf.Joint"),
    "name-odd": (survey("questions.pay", 'questions." "'), "questions that have a name"),
    "question-number": (b"[questions]\npay = 3\n", "a table of keys in question 'pay'"),
}


@pytest.mark.parametrize(("data", "words"), SURVEYS.values(), ids=SURVEYS)
def test_surveys(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_bytes(data)
    assert words in said(lambda: cf.Survey.read(path))


TEXTS: dict[str, Case] = {
    "empty": (b"", "no header and rows"),
    "header-only": (b"pay\n", "rows in"),
    "fraction": (b"pay\n1.0\n", "other text in row 1"),
    "sign": (b"pay\n+1\n", "other text in row 1"),
    "space": (b"pay\n1 \n", "other text in row 1"),
    "leading-zero": (b"pay\n1\n01\n", "other text in row 2"),
    "too-large": (b"pay\n" + b"9" * 40 + b"\n", "other text in row 1"),
    "outside": (b"pay\n1\n99999\n", "reports from 0 to"),
    "negative": (b"pay\n-1\n", "reports from 0 to"),
    "gap": (b"pay,x\n1,2\n,3\n", "nothing in row 2"),
    "ragged": (b"pay,x\n1,2\n3\n", "2 cells in every line"),
    "open-quote": (b'pay\n"1\n2\n', "other text in row 1"),
    "latin-1": (b"pay,caf\xe9\n1,2\n", "CSV UTF-8"),
    "nul": (b"pay\n1\x00\n", "other text in row 1"),
    "semicolons": (b"pay;x\n1;2\n", "semicolons"),
    "twice": (b"pay,pay\n1,2\n", "each column once"),
    "long-names": (b"x" * 5000 + b"\n1\n", "a column 'pay'"),
    "odd-names": (b"\x07,\x1b[2J\n1,2\n", "a column 'pay'"),
}


@pytest.mark.parametrize(("data", "words"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_reports_in_csv(data: bytes, words: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"reports{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    assert words in said(lambda: reports.read(path, column="pay", mechanism=WAVE))


GZIPS: dict[str, bytes] = {
    "plain": REPORT,
    "cut": gzip.compress(REPORT * 500)[:-20],
    "checksum": gzip.compress(REPORT)[:-8] + bytes(8),
    "empty": b"",
}


@pytest.mark.parametrize("data", GZIPS.values(), ids=GZIPS)
def test_reports_in_damaged_gzip(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv.gz"
    path.write_bytes(data)
    assert "a CSV file" in said(lambda: reports.read(path, column="pay", mechanism=WAVE))


FILE = parquet(private())
PARQUETS: dict[str, Case] = {
    "empty": (b"", "a Parquet file"),
    "cut": (FILE[: len(FILE) // 2], "a Parquet file"),
    "footer": (FILE[:-8] + b"\xff\xff\xff\x7fPAR1", "a Parquet file"),
    "magic": (FILE[:-4] + b"PARE", "a Parquet file"),
    "zeros": (FILE[:4] + bytes(len(FILE) - 8) + FILE[-4:], "a Parquet file"),
    "no-stamp": (parquet(private().replace_schema_metadata(None)), "Give the survey"),
    "stamp-cut": (restamped(private(), lambda stamp: text(stamp)[:-9]), "JSON in the metadata"),
    "stamp-bytes": (restamped(private(), lambda _: b"\xff\xfe"), "UTF-8 text in the metadata"),
    "stamp-list": (restamped(private(), lambda _: []), "metadata of version 1"),
    "stamp-null": (restamped(private(), lambda s: s | {"columns": None}), "the whole metadata"),
    "stamp-empty": (restamped(private(), lambda s: s | {"columns": {}}), "the whole metadata"),
    "stamp-truth": (restamped(private(), lambda s: s | {"simulated": 0}), "the whole metadata"),
    "stamp-other": (
        restamped(private(), lambda s: text(s).replace(b'"epsilon": 1.0', b'"epsilon": 0.5')),
        "its epsilon cannot be vouched for",
    ),
    "stamp-vector": (
        parquet(reports.to_arrow(cell_reports())),
        "vector reports of a partition",
    ),
    "floats": (column(pa.array([1.0])), "the type double"),
    "nulls": (column(pa.array([None, 1])), "nothing in row 1"),
    "unsigned": (column(pa.array([1, 2**64 - 1], pa.uint64())), "a number too large in row 2"),
    "lists": (column(pa.array([[1]])), "the type list"),
    "outside": (column(pa.array([77])), "reports from 0 to"),
    "rows": (column(pa.array([], pa.int32())), "rows in"),
}


def read_all(path: Path) -> None:
    for _ in Files.open([path]).batches():
        pass


@pytest.mark.parametrize(("data", "words"), PARQUETS.values(), ids=PARQUETS)
def test_reports_in_parquet(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    path.write_bytes(data)
    assert words in said(lambda: read_all(path))


VECTORS: dict[str, Case] = {
    "short": (
        parquet(
            pa.table({"w": [[0, 1]], "z": [[0, 1]]}).replace_schema_metadata(
                reports.to_arrow(cell_reports()).schema.metadata
            )
        ),
        "lists of 4 whole numbers",
    ),
    "fingerprint": (
        restamped(
            reports.to_arrow(cell_reports()),
            lambda s: s | {"partition": s["partition"] | {"fingerprint": "0"}},
        ),
        "changed after it was written",
    ),
}


@pytest.mark.parametrize(("data", "words"), VECTORS.values(), ids=VECTORS)
def test_vector_reports(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    path.write_bytes(data)
    assert words in said(lambda: reports.read(path))


def test_vector_reports_and_single_answers_are_told_apart(tmp_path: Path) -> None:
    path, vectors = tmp_path / "cells.parquet", cell_reports()
    path.write_bytes(FILE)
    asked = vectors.mechanism
    assert "by the mechanism that was asked for" in said(
        lambda: reports.read(path, mechanism=asked)
    )
    path.write_bytes(parquet(reports.to_arrow(vectors)))
    assert "no column" in said(lambda: reports.read(path, column="w"))
    assert "vector reports of a partition" in said(lambda: Files.open([path]))
    found = reports.read(path)
    assert found.mechanism == asked
    assert (found.indices == vectors.indices).all()
    path.write_bytes(
        restamped(
            reports.to_arrow(vectors),
            lambda s: {**s, "columns": {"w": s["partition"]}, "survey": None} | {"partition": 0},
        )
    )
    assert "the whole metadata" in said(lambda: reports.read(path))


def test_words_that_are_not_text(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 2], dtype=np.int32).tobytes())
    words = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xef\xbb"))
    path = tmp_path / "values.parquet"
    table = pa.table(ANSWERS).slice(0, 1)
    path.write_bytes(parquet(table.set_column(2, "smokes", words)))
    assert "UTF-8 text in column 'smokes'" in said(lambda: read_values(path))


COUNTS = counts().to_dict()
SUMMARIES: dict[str, Case] = {
    "empty": (b"", "JSON in"),
    "list": (b"[]", "a summary as a JSON object"),
    "deep": (b"[" * 100_000, "nesting too deep"),
    "nan": (text(COUNTS).replace(b'"n": 3', b'"n": NaN'), "finite numbers"),
    "twice": (text(COUNTS).replace(b"{", b'{"n": 3, ', 1), "each key once"),
    "version": (changed(COUNTS, 2, "version"), "a summary of version 1"),
    "kind": (changed(COUNTS, "sums", "confide"), "a summary written by confide"),
    "n": (changed(COUNTS, 4, "n"), "The summary is damaged."),
    "n-long": (changed(COUNTS, 10**400, "n"), "respondents in the counts"),
    "counts-negative": (changed(COUNTS, [-1] * len(COUNTS["counts"]), "counts"), "whole counts"),
    "counts-short": (changed(COUNTS, [3], "counts"), "of shape"),
    "counts-words": (changed(COUNTS, ["3"], "counts"), "numbers in 'counts'"),
    "counts-ragged": (changed(COUNTS, [[1], [1, 2]], "counts"), "rows of different lengths"),
    "weights-alone": (text(without(COUNTS, "squared_weights")), "both 'weights'"),
    "bounds": (changed(COUNTS, [0], "bounds"), "two bounds of the response"),
    "no-mechanism": (text(without(COUNTS, "mechanism")), "a mechanism as a JSON object"),
    "other-noise": (changed(COUNTS, 2.0, "mechanism", "epsilon"), "cannot be vouched for"),
    "half-a-lattice": (
        text(without(COUNTS, "mechanism", "lattice", "high")),
        "the key 'high' in a lattice",
    ),
    "joint-named-twice": (
        text(joint().to_dict()).replace(b'"name": "y"', b'"name": "x"'),
        "a name of its own",
    ),
    "noise-unknown": (
        changed(noised().to_dict(), "cauchy", "mechanism", "noise", "noise"),
        "one of laplace, gaussian, two-sided-gamma, none for 'noise'",
    ),
    "groups-of-none": (changed(groups().to_dict(), [], "groups"), "counts of at least one group"),
    "groups-by-nothing": (changed(groups().to_dict(), [], "by"), "names of columns"),
    "groups-without-keys": (changed(groups().to_dict(), [{}], "groups"), "a key in each"),
    "several-of-a-list": (
        b'{"confide": "summaries", "version": 1, "questions": [1]}',
        "a damaged one",
    ),
}


@pytest.mark.parametrize(("data", "words"), SUMMARIES.values(), ids=SUMMARIES)
def test_summaries(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_bytes(data)
    assert words in said(lambda: files.load(path))


def bomb() -> bytes:
    """An archive that says of itself that it is larger than anybody's memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("counts.npy", b"\0" * 1000)
    data = bytearray(buffer.getvalue())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (2**32 - 2).to_bytes(4, "little")
    return bytes(data)


HALF = len(counts().counts) // 2
ARCHIVES: dict[str, Case] = {
    "empty": (b"", "bytes that are not one"),
    "cut": (counts().to_bytes()[:200], "bytes that are not one"),
    "no-header": (packed(counts=np.ones(3)), "bytes that are not one"),
    "header-floats": (packed(header=np.ones(3)), "bytes that are not one"),
    "header-list": (packed(header=np.frombuffer(b"[]", np.uint8)), "without its header"),
    "pickle": (packed(header=np.array([{}], dtype=object)), "bytes that are not one"),
    "bomb": (bomb(), "bytes that are not one"),
    "words": (repacked(counts=np.array(["x"])), "numbers in 'counts'"),
    "shape": (repacked(counts=np.ones((2, 2))), "of shape"),
    "infinity": (repacked(weights=np.full(counts().counts.shape, np.inf)), "finite numbers"),
    "fractions": (repacked(counts=np.full(counts().counts.shape, 0.5)), "whole counts"),
    "unknown": (repacked(extra=np.ones(2)), "known keys in a summary"),
    "question": (repacked({"question": 3}), "a question by name"),
}


@pytest.mark.parametrize(("data", "words"), ARCHIVES.values(), ids=ARCHIVES)
def test_archives(data: bytes, words: str) -> None:
    assert words in said(lambda: Counts.from_bytes(data))


SUMS = sums().to_dict()
OTHERS: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "sums-n": (CellSums.from_dict, SUMS | {"n": 4}, "The sums are damaged."),
    "sums-classify": (CellSums.from_dict, without(SUMS, "mechanism"), "the key 'mechanism'"),
    "sums-tallies": (CellSums.from_dict, SUMS | {"tallies": [[1]]}, "tallies"),
    "sums-null": (CellSums.from_dict, None, "sums as a JSON object"),
    "spectrum-values": (
        Spectrum.from_dict,
        spectrum().to_dict() | {"values": [[0.1], [None]]},
        "numbers in",
    ),
    "spectrum-noise": (Spectrum.from_dict, spectrum().to_dict() | {"noise": 1}, "list of noises"),
    "spectrum-bounds": (
        Spectrum.from_dict,
        spectrum().to_dict() | {"low": [0, 0, 0]},
        "low for 1 axes",
    ),
}


@pytest.mark.parametrize(("read", "fields", "words"), OTHERS.values(), ids=OTHERS)
def test_other_documents(read: Callable[[Any], Any], fields: Any, words: str) -> None:
    assert words in said(lambda: read(fields))


EMPTY = ledger_file(0)
NOT_TEXT = EMPTY.replace(b"CREATE TABLE budget", b"\xcd\xff\xfe\xfc TABLE budget", 1)
LEDGERS: dict[str, Case] = {
    "empty": (b"", "something else"),
    "text": (b"epsilon = 1.0\n" * 100, "an intact ledger"),
    "cut": (EMPTY[: len(EMPTY) - 4096], "an intact ledger"),
    "head-only": (EMPTY[:100], "an intact ledger"),
    "other-application": (ledger("PRAGMA application_id = 7"), "something else"),
    "newer": (ledger("PRAGMA user_version = 99"), "update this one"),
    "older": (ledger("PRAGMA user_version = 1"), "only that one can go on"),
    "trigger": (
        ledger(
            "CREATE TRIGGER cheap AFTER INSERT ON charges BEGIN UPDATE charges SET epsilon = 0; END"
        ),
        "other tables, views or triggers",
    ),
    "no-budget": (ledger("DELETE FROM budget"), "an intact ledger"),
    "negative-charge": (
        ledger("PRAGMA ignore_check_constraints = 1", "UPDATE charges SET epsilon = -5"),
        "an intact ledger",
    ),
    "budget-of-text": (
        ledger("PRAGMA ignore_check_constraints = 1", "UPDATE budget SET epsilon = 'much'"),
        "an intact ledger",
    ),
    "digest-of-text": (
        ledger("PRAGMA ignore_check_constraints = 1", "UPDATE data SET digest = 'none'"),
        "an intact ledger",
    ),
    "schema-not-text": (NOT_TEXT, "an intact ledger"),
    "write-ahead": (EMPTY[:18] + b"\x02\x02" + EMPTY[20:], "one in write-ahead mode"),
}


@pytest.mark.parametrize(("data", "words"), LEDGERS.values(), ids=LEDGERS)
def test_ledgers(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(data)
    drawn: list[int] = []

    def use() -> None:
        ledger = cf.Ledger(path, timeout=1.0)
        ledger.charge("more", {"kind": "count"}, Spend(0.1), lambda: drawn.append(1))

    message = said(use)
    assert words in message
    assert "CREATE" not in message
    assert not drawn
    assert path.read_bytes() == data


def test_there_are_enough() -> None:
    tables = (SURVEYS, TEXTS, GZIPS, PARQUETS, VECTORS, SUMMARIES, ARCHIVES, OTHERS, LEDGERS)
    assert sum(map(len, tables)) >= 100


def said(read: Callable[[], Any]) -> str:
    """The one sentence that a reader has for a bad file."""
    with pytest.raises(ConfideError) as caught:
        read()
    message = str(caught.value)
    assert unclear(message) == ""
    return message

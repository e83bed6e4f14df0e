"""Bad input of every kind: one sentence on stderr, exit code 2, nothing written or changed."""

import json
import math
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.lattice import Lattice
from confide.mechanisms import Laplace, SquareWave
from confide.reports import Reports, write
from confide.summaries import Counts
from confide.survey import Survey

QUESTION = "[questions.pay]\nlow = 0\nhigh = 10\nsize = 16\nepsilon = 1.0\n"
WORDS = (
    '[questions.smokes]\nmechanism = "randomized-response"\ncategories = ["no", "yes"]\n'
    "epsilon = 1.0\n"
)
SENTINEL = b"what was here before"
MECHANISM = SquareWave(Lattice(low=0, high=10, size=16), epsilon=1.0)


@pytest.fixture
def folder(here: Path) -> Path:
    Path("survey.toml").write_text(QUESTION)
    Path("values.csv").write_text("pay,rate\n1,0.5\n2,0.25\n")
    write(MECHANISM.privatize([1.0, 2.0, 3.0]), "reports.parquet", name="pay")
    write(MECHANISM.simulate([1.0, 2.0], seed=1), "simulated.parquet", name="pay")
    Path("counts.json").write_text(json.dumps(Counts.of(MECHANISM.privatize([1.0])).to_dict()))
    for suffix in ("parquet", "csv", "json", "npz", "png"):
        Path(f"out.{suffix}").write_bytes(SENTINEL)
    return here


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence that a bad command gets, after checking that nothing else happened."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code = run(arguments)
    printed = capsys.readouterr()
    assert code == 2, printed.out
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.strip()
    assert "Traceback" not in printed.err
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert after == before
    return printed.err


SURVEYS = {
    "epsilon-zero": QUESTION.replace("1.0", "0"),
    "epsilon-negative": QUESTION.replace("1.0", "-1"),
    "epsilon-nan": QUESTION.replace("1.0", "nan"),
    "epsilon-inf": QUESTION.replace("1.0", "inf"),
    "epsilon-huge": QUESTION.replace("1.0", "1e6"),
    "epsilon-text": QUESTION.replace("1.0", '"1"'),
    "epsilon-bool": QUESTION.replace("1.0", "true"),
    "epsilon-absent": QUESTION.replace("epsilon = 1.0\n", ""),
    "low-above-high": QUESTION.replace("low = 0", "low = 11"),
    "low-is-high": QUESTION.replace("low = 0", "low = 10"),
    "low-infinite": QUESTION.replace("low = 0", "low = -inf"),
    "high-absent": QUESTION.replace("high = 10\n", ""),
    "size-one": QUESTION.replace("size = 16", "size = 1"),
    "size-float": QUESTION.replace("size = 16", "size = 16.0"),
    "size-huge": QUESTION.replace("size = 16", "size = 100000000000"),
    "log-from-zero": QUESTION + 'scale = "log"\n',
    "unknown-key": QUESTION + "epsilom = 2\n",
    "unknown-top-key": "tilte = 'x'\n" + QUESTION,
    "unknown-scale": QUESTION + 'scale = "logarithmic"\n',
    "unknown-mechanism": QUESTION + 'mechanism = "gaussian"\n',
    "mechanism-number": QUESTION + "mechanism = 1\n",
    "key-of-another": QUESTION + "shape = 0.5\n",
    "missing-outside": QUESTION + "missing = -1\n",
    "missing-nan": QUESTION + "missing = nan\n",
    "missing-word": QUESTION + 'missing = "skip"\n',
    "missing-no-category": WORDS + 'missing = "other"\n',
    "missing-ambiguous": WORDS.replace('"yes"', '"refuse"') + 'missing = "refuse"\n',
    "categories-one": WORDS.replace(', "yes"', ""),
    "categories-twice": WORDS.replace('"yes"', '"no"'),
    "categories-text": WORDS.replace('["no", "yes"]', '"no"'),
    "categories-numbers": WORDS.replace('["no", "yes"]', "[1, 2]"),
    "title-number": "title = 1\n" + QUESTION,
    "questions-list": "questions = [1]\n",
    "question-number": "[questions]\npay = 1\n",
    "no-questions": "title = 'nothing'\n",
    "empty": "",
    "not-toml": "[questions.pay\n",
    "key-twice": QUESTION + "epsilon = 2.0\n",
    "deep": "a = " + "[" * 100_000,
    "nul": "\0",
}


@pytest.mark.parametrize("text", SURVEYS.values(), ids=SURVEYS)
@pytest.mark.parametrize("verb", ["privatize", "summarize"])
def test_surveys(text: str, verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(text)
    data, out = (
        ("values.csv", "out.csv") if verb == "privatize" else ("reports.parquet", "out.json")
    )
    assert refused([verb, "survey.toml", data, "-o", out], capsys).startswith("Expected ")


def test_survey_that_is_not_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in refused(["privatize", "survey.toml", "values.csv", "-o", "out.csv"], capsys)


VALUES = {
    "nan": b"pay\n1\nnan\n",
    "NaN": b"pay\n1\nNaN\n",
    "NA": b"pay\nNA\n",
    "null": b"pay\nnull\n",
    "inf": b"pay\n1\ninf\n",
    "-inf": b"pay\n1\n-Infinity\n",
    "overflow": b"pay\n1e400\n",
    "words": b"pay\nlots\n",
    "hex": b"pay\n0x10\n",
    "hex-float": b"pay\n0x1p3\n",
    "underscore": b"pay\n1_000\n",
    "thousands": b'pay\n"1,000"\n',
    "decimal-comma": b'pay\n"1,5"\n',
    "two-signs": b"pay\n+-3\n",
    "plus": b"pay\n+3\n",
    "full-width": "pay\n１２\n".encode(),
    "arabic": "pay\n٣\n".encode(),
    "zero-width-space": "pay\n1\u200b\n".encode(),
    "space": b"pay\n 1\n",
    "tab": b"pay\n\t1\n",
    "currency": "pay\n€5\n".encode(),
    "formula": b"pay\n=1+1\n",
    "sql": b"pay\n1; DROP TABLE x\n",
    "boolean": b"pay\ntrue\n",
    "trailing-text": b"pay\n1x\n",
    "quoted-newline": b'pay\n"1\n2"\n',
    "nul-cell": b"pay\n1\x00\n",
    "blank-line": b"pay\n1\n\n2\n",
    "blank-cell": b"pay,rate\n1,2\n,3\n",
    "blank-line-of-two": b"pay,rate\n1,2\n\n3,4\n",
    "quoted-empty": b'pay\n1\n""\n',
    "empty-file": b"",
    "header-only": b"pay,rate\n",
    "header-without-end": b"pay,rate",
    "newlines-only": b"\n\n\n",
    "row-too-long": b"pay,rate\n1,2,3\n",
    "row-too-short": b"pay,rate\n1,2\n1\n",
    "open-quote": b'pay,rate\n"1,2\n3,4\n',
    "no-such-column": b"wage\n1\n",
    "column-case": b"Pay\n1\n",
    "columns-twice": b"pay,pay\n1,2\n",
    "other-columns-twice": b"pay,x,x\n1,2,3\n",
    "not-utf-8": b"pay\n\xff\n",
    "not-utf-8-header": b"p\xe4y,pay\n1,2\n",
    "utf-16": "pay\n1\n".encode("utf-16"),
    "nul-bytes": b"\0" * 1000,
    "binary": bytes(range(256)) * 40,
    "semicolons": b"pay;rate\n1;2\n",
    "json": b'{"pay": [1, 2]}',
}


@pytest.mark.parametrize("data", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("out", ["out.parquet", "out.csv"])
def test_csv_values(
    data: bytes, out: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("values.csv").write_bytes(data)
    said = refused(["privatize", "survey.toml", "values.csv", "-o", out, "--replace"], capsys)
    assert said.startswith("Expected ")
    assert "lots" not in said
    assert "DROP" not in said


def test_late_fault_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("values.csv").write_text("pay\n" + "1\n" * 3_000_000 + "x\n")
    out = "fresh.parquet"
    said = refused(["privatize", "survey.toml", "values.csv", "-o", out], capsys)
    assert "row 3000001" in said


def test_long_line_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("values.csv").write_text('pay\n"' + "1\n" * 6_000_000)
    said = refused([*PRIVATIZE.split(), "-o", "out.csv", "--replace"], capsys)
    assert "line" in said


NULLS = pa.array([1.0, None])
TABLES = {
    "strings": pa.table({"pay": ["1", "2"]}),
    "booleans": pa.table({"pay": [True]}),
    "nan": pa.table({"pay": [1.0, math.nan]}),
    "infinity": pa.table({"pay": [math.inf]}),
    "null": pa.table({"pay": NULLS}),
    "all-null": pa.table({"pay": pa.nulls(3)}),
    "lists": pa.table({"pay": [[1.0]]}),
    "dates": pa.table({"pay": pa.array([1], pa.timestamp("s"))}),
    "empty": pa.table({"pay": pa.array([], pa.float64())}),
    "no-columns": pa.table({}),
    "other-column": pa.table({"wage": [1.0]}),
    "already-private": None,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_parquet_values(
    table: pa.Table | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if table is None:
        table = Survey.read("survey.toml").privatize({"pay": [1.0]})
    pq.write_table(table, "values.parquet")
    command = ["privatize", "survey.toml", "values.parquet", "-o", "out.parquet", "--replace"]
    assert refused(command, capsys).startswith("Expected ")


@pytest.mark.parametrize(
    "answer", ["maybe", "Yes", "yes ", "", "1", "nan"], ids=lambda answer: answer or "empty"
)
def test_categories(answer: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(WORDS)
    Path("values.csv").write_text(f"smokes,x\nyes,1\n{answer},2\n")
    said = refused([*PRIVATIZE.split(), "-o", "out.csv", "--replace"], capsys)
    assert "row 2" in said


def other_survey() -> None:
    Path("survey.toml").write_text(QUESTION.replace("1.0", "2.0"))


def one_of_many_is_foreign() -> None:
    Path("many").mkdir()
    write(MECHANISM.privatize([1.0]), "many/a.parquet", name="pay")
    write(Laplace(MECHANISM.lattice, epsilon=1.0).privatize([1.0]), "many/b.parquet", name="pay")


def one_of_many_is_simulated() -> None:
    Path("many").mkdir()
    write(MECHANISM.privatize([1.0]), "many/a.parquet", name="pay")
    write(MECHANISM.simulate([1.0], seed=1), "many/b.parquet", name="pay")


def metadata_dropped() -> None:
    table = pq.read_table("reports.parquet").replace_schema_metadata(None)
    pq.write_table(table, "reports.parquet")


def metadata(change: Callable[[str], str]) -> Callable[[], None]:
    def apply() -> None:
        table = pq.read_table("reports.parquet")
        text = change(table.schema.metadata[b"confide"].decode())
        pq.write_table(table.replace_schema_metadata({b"confide": text}), "reports.parquet")

    return apply


def column(array: pa.Array) -> Callable[[], None]:
    def apply() -> None:
        meta = pq.read_table("reports.parquet").schema.metadata
        table = pa.table({"pay": array}).replace_schema_metadata(meta)
        pq.write_table(table, "reports.parquet")

    return apply


def truncated(name: str, share: float) -> Callable[[], None]:
    def apply() -> None:
        data = Path(name).read_bytes()
        Path(name).write_bytes(data[: int(len(data) * share)])

    return apply


def flipped() -> None:
    data = bytearray(Path("reports.parquet").read_bytes())
    data[4:60] = bytes(56)
    Path("reports.parquet").write_bytes(data)


def text_reports(text: str) -> Callable[[], None]:
    def apply() -> None:
        Path("reports.csv").write_text(text)

    return apply


def nothing() -> None:
    pass


REPORTS: dict[str, tuple[Callable[[], None], str]] = {
    "of-another-survey": (other_survey, "survey.toml reports.parquet"),
    "one-file-of-a-folder": (one_of_many_is_foreign, "survey.toml many"),
    "one-file-of-a-glob": (one_of_many_is_foreign, "many/*.parquet"),
    "simulated": (nothing, "survey.toml simulated.parquet"),
    "simulated-among-private": (one_of_many_is_simulated, "many --simulated"),
    "no-metadata": (metadata_dropped, "reports.parquet"),
    "csv-without-survey": (text_reports("pay\n1\n"), "reports.csv"),
    "metadata-not-json": (metadata(lambda text: text[:-5]), "reports.parquet"),
    "metadata-of-the-future": (
        metadata(lambda text: text.replace('"version":1', '"version":2')),
        "reports.parquet",
    ),
    "metadata-changed": (
        metadata(lambda text: text.replace('"epsilon":1.0', '"epsilon":0.5')),
        "reports.parquet",
    ),
    "metadata-fingerprint": (
        metadata(lambda text: text.replace(MECHANISM.fingerprint, "0" * 16)),
        "reports.parquet",
    ),
    "metadata-empty": (metadata(lambda text: '{"version":1}'), "reports.parquet"),
    "metadata-list": (metadata(lambda text: "[]"), "reports.parquet"),
    "metadata-key-twice": (
        metadata(lambda text: text.replace("{", '{"version":1,', 1)),
        "reports.parquet",
    ),
    "outside": (column(pa.array([999])), "survey.toml reports.parquet"),
    "negative": (column(pa.array([-1])), "survey.toml reports.parquet"),
    "enormous": (column(pa.array([2**64 - 1], pa.uint64())), "survey.toml reports.parquet"),
    "floats": (column(pa.array([1.0])), "survey.toml reports.parquet"),
    "strings": (column(pa.array(["1"])), "survey.toml reports.parquet"),
    "nulls": (column(pa.array([1, None])), "survey.toml reports.parquet"),
    "none": (column(pa.array([], pa.int32())), "survey.toml reports.parquet"),
    "truncated": (truncated("reports.parquet", 0.7), "survey.toml reports.parquet"),
    "truncated-to-nothing": (truncated("reports.parquet", 0.0), "survey.toml reports.parquet"),
    "damaged-pages": (flipped, "survey.toml reports.parquet"),
    "unknown-question": (nothing, "survey.toml reports.parquet --question pya"),
    "unknown-question-without-survey": (nothing, "reports.parquet --question pya"),
    "twice": (nothing, "survey.toml reports.parquet ./reports.parquet"),
    "two-surveys": (nothing, "survey.toml survey.toml reports.parquet"),
    "survey-only": (nothing, "survey.toml"),
    "missing-file": (nothing, "survey.toml absent.parquet"),
    "missing-survey": (nothing, "absent.toml reports.parquet"),
    "empty-glob": (nothing, "survey.toml absent*.parquet"),
    "folder-without-reports": (lambda: Path("bare").mkdir(), "survey.toml bare"),
    "other-kind": (nothing, "survey.toml counts.json"),
    "csv-floats": (text_reports("pay\n1.0\n"), "survey.toml reports.csv"),
    "csv-words": (text_reports("pay\nx\n"), "survey.toml reports.csv"),
    "csv-outside": (text_reports("pay\n999\n"), "survey.toml reports.csv"),
    "csv-negative": (text_reports("pay\n-1\n"), "survey.toml reports.csv"),
    "csv-leading-zero": (text_reports("pay\n01\n"), "survey.toml reports.csv"),
    "csv-300-digits": (text_reports("pay\n" + "9" * 300), "survey.toml reports.csv"),
    "csv-blank-line": (text_reports("pay\n1\n\n"), "survey.toml reports.csv"),
    "csv-empty": (text_reports(""), "survey.toml reports.csv"),
    "csv-header": (text_reports("pay\n"), "survey.toml reports.csv"),
    "csv-ragged": (text_reports("pay,x\n1,2\n3\n"), "survey.toml reports.csv"),
    "csv-other-column": (text_reports("wage\n1\n"), "survey.toml reports.csv"),
}


@pytest.mark.parametrize(("prepare", "arguments"), REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("out", ["out.json", "out.npz"])
def test_reports(
    prepare: Callable[[], None],
    arguments: str,
    out: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepare()
    refused(["summarize", *arguments.split(), "-o", out], capsys)


def test_lost_metadata_asks_for_the_survey(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata_dropped()
    assert "survey" in refused(["summarize", "reports.parquet", "-o", "out.json"], capsys)
    assert run(["summarize", "survey.toml", "reports.parquet", "-o", "out.json"]) == 0


def good_counts(epsilon: float = 1.0, *, simulated: bool = False) -> Counts:
    mechanism = SquareWave(MECHANISM.lattice, epsilon=epsilon)
    reports = mechanism.simulate([1.0], seed=1) if simulated else mechanism.privatize([1.0])
    return Counts.of(reports)


def fields(**changes: object) -> bytes:
    return json.dumps({**good_counts().to_dict(), **changes}).encode()


GOOD = fields()
SUMMARIES = {
    "other-epsilon": json.dumps(good_counts(2.0).to_dict()).encode(),
    "simulated": json.dumps(good_counts(simulated=True).to_dict()).encode(),
    "empty": b"",
    "truncated": GOOD[: len(GOOD) // 2],
    "concatenated": GOOD + GOOD,
    "not-utf-8": b"\xff" + GOOD,
    "utf-16": GOOD.decode().encode("utf-16"),
    "nul": b"\0" * 100,
    "deep": b"[" * 100_000,
    "deep-object": b'{"a":' * 100_000,
    "list": b"[]",
    "null": b"null",
    "string": b'"counts"',
    "number-too-long": b"1" * 10_000,
    "key-twice": GOOD.replace(b"{", b'{"n": 1, ', 1),
    "nan": GOOD.replace(b'"n": 1', b'"n": NaN'),
    "infinity": GOOD.replace(b'"n": 1', b'"n": Infinity'),
    "overflow": GOOD.replace(b'"n": 1', b'"n": 1e400'),
    "unknown-key": fields(extra=1),
    "other-version": fields(version=2),
    "other-kind": fields(confide="spectrum"),
    "no-kind": fields(confide=None),
    "wrong-n": fields(n=2),
    "n-text": fields(n="1"),
    "simulated-text": fields(simulated="no"),
    "question-number": fields(question=1),
    "mechanism-null": fields(mechanism=None),
    "mechanism-list": fields(mechanism=[]),
    "mechanism-unknown": fields(mechanism={"mechanism": "magic"}),
    "mechanism-bare": fields(mechanism={"mechanism": "laplace"}),
    "lattice-null": fields(mechanism={"mechanism": "laplace", "lattice": None, "epsilon": 1}),
    "joint-of-numbers": fields(mechanism={"mechanism": "joint", "parts": [1, 2]}),
    "noised-bare": fields(mechanism={"mechanism": "noised"}),
    "counts-null": fields(counts=None),
    "counts-short": fields(counts=[1]),
    "counts-ragged": fields(counts=[[1], [1, 2]]),
    "counts-words": fields(counts=["x"] * MECHANISM.law.outputs[0]),
    "counts-fractions": fields(counts=[0.5] * MECHANISM.law.outputs[0]),
    "counts-negative": fields(counts=[-1, 2] + [0] * (MECHANISM.law.outputs[0] - 2)),
    "counts-huge": fields(counts=[10**400] + [0] * (MECHANISM.law.outputs[0] - 1)),
    "weights-alone": fields(weights=[1.0] * MECHANISM.law.outputs[0]),
    "several-of-nothing": b'{"confide": "summaries", "version": 1, "questions": null}',
    "several-of-other-questions": b'{"confide": "summaries", "version": 1, "questions": {"x": '
    + GOOD
    + b', "y": '
    + GOOD
    + b"}}",
    "several-of-the-future": b'{"confide": "summaries", "version": 2, "questions": {}}',
    "several-of-none": b'{"confide": "summaries", "version": 1, "questions": {}}',
}


@pytest.mark.parametrize("data", SUMMARIES.values(), ids=SUMMARIES)
def test_summaries(data: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_bytes(data)
    said = refused(["merge", "counts.json", "bad.json", "-o", "out.json"], capsys)
    assert said.startswith("Expected ")


ARCHIVES = {
    "empty": b"",
    "truncated": good_counts().to_bytes()[:-100],
    "half": good_counts().to_bytes()[:300],
    "text": b"PK\x03\x04 and nothing else",
    "json": GOOD,
}


@pytest.mark.parametrize("data", ARCHIVES.values(), ids=ARCHIVES)
@pytest.mark.parametrize("verb", ["merge", "density"])
def test_archives(data: bytes, verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.npz").write_bytes(data)
    out = ["-o", "out.npz"] if verb == "merge" else ["--plot", "out.png"]
    refused([verb, "bad.npz", *out], capsys)


@pytest.mark.parametrize("arrays", [{"x": np.ones(3)}, {"header": np.ones(3)}], ids=str)
def test_archives_of_other_things(
    arrays: dict[str, np.ndarray], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("bad.npz", **arrays)
    refused(["merge", "bad.npz", "-o", "out.npz"], capsys)


PRIVATIZE = "privatize survey.toml values.csv"
NOISED = "density values.csv --noised pay=laplace:0.3 --range pay=0:9"
COMMANDS = {
    "no-verb": "frobnicate",
    "unknown-option": f"{PRIVATIZE} -o out.csv --seed 1",
    "no-output": PRIVATIZE,
    "no-files": "privatize -o out.csv",
    "no-survey": "privatize values.csv -o out.csv",
    "no-values": "privatize survey.toml -o out.csv",
    "two-values": "privatize survey.toml values.csv values.csv -o out.csv",
    "values-missing": "privatize survey.toml absent.csv -o out.csv",
    "values-a-folder": "privatize survey.toml . -o out.csv",
    "values-of-another-kind": "privatize survey.toml counts.json -o out.csv",
    "values-a-device": "privatize survey.toml /dev/null -o out.csv",
    "output-is-values": f"{PRIVATIZE} -o values.csv",
    "output-is-values-by-another-way": f"{PRIVATIZE} -o ../{{folder}}/values.csv",
    "output-is-linked-values": f"{PRIVATIZE} -o linked.csv",
    "output-is-survey": f"{PRIVATIZE} -o survey.toml",
    "output-of-another-kind": f"{PRIVATIZE} -o out.json",
    "output-in-no-folder": f"{PRIVATIZE} -o absent/out.csv",
    "output-is-a-folder": f"{PRIVATIZE} -o folder.csv",
    "output-is-a-device": f"{PRIVATIZE} -o /dev/full",
    "keep-a-question": f"{PRIVATIZE} -o out.csv --keep pay",
    "keep-a-stranger": f"{PRIVATIZE} -o out.csv --keep rat",
    "summary-over-reports": "summarize reports.parquet -o reports.parquet",
    "summary-of-another-kind": "summarize reports.parquet -o out.csv",
    "merge-nothing": "merge -o out.json",
    "merge-twice": "merge counts.json counts.json -o out.json",
    "merge-over-input": "merge counts.json -o counts.json",
    "merge-reports": "merge reports.parquet -o out.json",
    "density-of-nothing": "density",
    "density-of-survey": "density survey.toml",
    "density-mixed": "density reports.parquet counts.json",
    "density-method": "density reports.parquet --method magic",
    "density-kernel": "density reports.parquet --method deconvolution --kernel epanechnikov",
    "density-kernel-of-another-method": "density reports.parquet --kernel fan",
    "density-bandwidth": "density counts.json --method deconvolution --bandwidth 1x",
    "density-bandwidth-negative": "density counts.json --method deconvolution --bandwidth -1",
    "density-smoothing": "density reports.parquet --smoothing 2",
    "density-smoothing-word": "density reports.parquet --smoothing much",
    "density-smoothing-nan": "density reports.parquet --smoothing nan",
    "density-smoothing-of-another": "density counts.json --method deconvolution --smoothing 0.1",
    "density-level": "density reports.parquet --level 95",
    "density-level-nan": "density reports.parquet --level nan",
    "density-level-word": "density reports.parquet --level high",
    "density-plot": "density reports.parquet --plot out.gif",
    "density-plot-over-input": "density reports.parquet --plot reports.parquet",
    "density-plot-nowhere": "density reports.parquet --plot absent/out.png",
    "density-low-without-noised": "density reports.parquet --low 3",
    "density-question": "density survey.toml reports.parquet --question pya",
    "density-other-survey": "density other.toml counts.json",
    "density-of-words": "density words.parquet",
    "shares-of-numbers": "shares reports.parquet",
    "shares-of-nothing": "shares",
    "noised-and-reports": f"{NOISED} reports.parquet",
    "noised-missing": NOISED.replace("values.csv", "absent.csv"),
    "noised-column": NOISED.replace("pay", "pya"),
    "noised-no-column": NOISED.replace("pay=laplace", "laplace"),
    "noised-noise": NOISED.replace("laplace", "uniform"),
    "noised-no-noise": NOISED.replace("laplace:", ""),
    "noised-no-scale": NOISED.replace(":0.3", ""),
    "noised-scale": NOISED.replace("0.3", "0"),
    "noised-scale-nan": NOISED.replace("0.3", "nan"),
    "noised-scale-word": NOISED.replace("0.3", "big"),
    "noised-shape": NOISED.replace(":0.3", ":0.3:2"),
    "noised-no-low": NOISED.replace("--range pay=0:9", ""),
    "noised-low-above-high": NOISED.replace("=0:9", "=10:9"),
    "noised-low-infinite": NOISED.replace("=0:9", "=-inf:9"),
    "noised-gap": NOISED.replace("values.csv", "gap.csv"),
    "noised-question": f"{NOISED} --question pay",
    "summary-weights": "summarize survey.toml kept.csv -o out.json --weights absent",
    "summary-weights-zero": "summarize survey.toml kept.csv -o out.json --weights zero",
    "summary-weights-word": "summarize survey.toml kept.csv -o out.json --weights word",
    "summary-weights-gap": "summarize survey.toml kept.csv -o out.json --weights gap",
    "summary-weights-reports": "summarize survey.toml kept.csv -o out.json --weights pay",
    "summary-response-outside": "summarize survey.toml kept.csv -o out.json --response y "
    "--bounds 0 1",
    "summary-bounds-alone": "summarize survey.toml kept.csv -o out.json --bounds 0 1",
    "summary-bounds-turned": "summarize survey.toml kept.csv -o out.json --response y --bounds 9 1",
    "summary-bounds-nan": "summarize survey.toml kept.csv -o out.json --response y --bounds nan 1",
    "density-unlike-question": "density named.json --question age",
    "demo-in-a-file": "demo --out values.csv",
    "demo-epsilon": "demo --epsilon 0 --out elsewhere",
    "demo-nobody": "demo --n 0 --out elsewhere",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_commands(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.link("values.csv", "linked.csv")
    Path("folder.csv").mkdir()
    Path("gap.csv").write_text("pay,rate\n1,2\n,3\n")
    Path("kept.csv").write_text("pay,zero,word,gap,y\n1,0,x,,1\n2,1,1,1,7\n")
    Path("named.json").write_bytes(fields(question="pay"))
    Path("other.toml").write_text(QUESTION.replace("1.0", "2.0"))
    Path("words.toml").write_text(WORDS)
    pq.write_table(Survey.read("words.toml").privatize({"smokes": ["no"]}), "words.parquet")
    refused(command.format(folder=folder.name).split(), capsys)
    assert not Path("elsewhere").exists()


PAIR = "survey.toml pairs.parquet"
PARTITIONS = {
    "no-files": ("regress --x pay --y rate", "Expected reports"),
    "no-response": (f"regress {PAIR} --x pay", "Expected y, the response"),
    "no-covariate": (f"regress {PAIR} --y rate", "--x to name one"),
    "covariate": (f"regress {PAIR} --x pya --y rate", "Did you mean 'pay'?"),
    "covariate-public": (f"regress {PAIR} --x rate --y word", "for 'x', got 'rate'"),
    "response": (f"regress {PAIR} --x pay --y rat", "Did you mean 'rate'?"),
    "same": (f"regress {PAIR} --x pay --y pay", "Expected x and y that differ"),
    "same-class": (f"classify {PAIR} --x smokes --y smokes", "Expected x and y that differ"),
    "words": (f"regress {PAIR} --x pay --y word", "numbers in column 'word'"),
    "gap": (f"regress {PAIR} --x pay --y gap", "none in row 3 of 'pairs.parquet'"),
    "outside": (f"regress {PAIR} --x pay --y rate --bounds 0 1", "responses from 0 to 1"),
    "bounds": (f"regress {PAIR} --x pay --y rate --bounds 3 1", "LOW < HIGH"),
    "bounds-nan": (f"regress {PAIR} --x pay --y rate --bounds nan 1", "a finite bounds"),
    "bounds-of-a-question": (f"regress {PAIR} --x pay --y smokes --bounds 0 1", "public response"),
    "three": (f"regress {PAIR} --x pay --y team", "3 categories"),
    "three-classes": (f"classify {PAIR} --x pay --y team", "two categories of 'team'"),
    "class-of-numbers": (f"classify {PAIR} --x smokes --y pay", "got numbers. Take regress."),
    "classes": (f"classify {PAIR} --x pay --y rate", "two values in column 'rate', got more"),
    "one-class": (f"classify {PAIR} --x pay --y one", "two values in column 'one', got one"),
    "class-gap": (f"classify {PAIR} --x pay --y gap", "in row 3 of 'pairs.parquet'"),
    "class-nan": (f"classify {PAIR} --x pay --y nan", "both finite"),
    "class-dates": (f"classify {PAIR} --x pay --y day", "the type date32"),
    "class-column": (f"classify {PAIR} --x pay --y wrod", "Did you mean 'word'?"),
    "constant": (f"regress {PAIR} --x same --y rate", "answers to 'same' that vary"),
    "constant-pair": (f"regress {PAIR} --x same --y pay", "answers to 'same' that vary"),
    "one-cell": ("regress cell.json", "the same report from all"),
    "method": (f"regress {PAIR} --x pay --y rate --method magic", "for 'method', got 'magic'"),
    "class-method": (
        f"classify {PAIR} --x pay --y late --method linear",
        "for 'method', got 'linear'",
    ),
    "not-logistic": (
        f"regress {PAIR} --x pay --y rate --method logistic",
        "(--method linear).",
    ),
    "not-kernel": (f"regress {PAIR} --x pay --y rate --method kernel", "take --method ratio."),
    "kernel": (
        f"regress {PAIR} --x pay --y rate --kernel fan",
        "--method kernel to go with --kernel",
    ),
    "smoothing": (
        f"regress {PAIR} --x pay --y rate --method ratio --smoothing 2",
        "smoothing <= 1",
    ),
    "bandwidth": (
        f"regress {PAIR} --x pay --y rate --method kernel --bandwidth 1x",
        "a word or a number for --bandwidth",
    ),
    "size": (f"regress {PAIR} --x pay --y rate --method ratio --size 0", "size >= 1"),
    "level": (f"regress {PAIR} --x pay --y rate --level 95", "level=0.95"),
    "points": (f"regress {PAIR} --x pay --y rate --points 1", "points from 2"),
    "points-of-words": (f"regress {PAIR} --x smokes --y rate --points 5", "no --points"),
    "method-of-words": (f"regress {PAIR} --x smokes --y rate --method linear", "--method adaptive"),
    "weights": (f"regress {PAIR} --x pay --y rate --weights zero", "in column 'zero'"),
    "weights-reports": (f"regress {PAIR} --x pay --y rate --weights smokes", "a public column"),
    "plot": (f"regress {PAIR} --x pay --y rate --plot out.gif", ".png"),
    "plot-late": (f"regress {PAIR} --x pay --y word --plot out.png", "numbers in column"),
    "summary-without-response": ("regress counts.json --y rate", "Summarize with --response"),
    "summary-weights": ("regress counts.json --weights w", "Summarize with --weights."),
    "summary-bounds": ("regress counts.json --bounds 0 1", "Summarize with --bounds."),
    "summary-pair": ("regress all.json --x pay --y smokes", "a summary of each alone"),
    "summary-classes": ("classify rates.json", "a response of two values, got more"),
    "summary-one-class": ("classify ones.json", "a response of two values, got one"),
    "mixed": (f"regress {PAIR} counts.json --x pay --y rate", "some of each"),
}


@pytest.mark.parametrize(("command", "words"), PARTITIONS.values(), ids=PARTITIONS)
def test_relations(
    command: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = QUESTION.replace("pay", "same").replace("1.0", "8.0")
    team = WORDS.replace("smokes", "team").replace('"yes"', '"yes", "so"')
    Path("survey.toml").write_text(QUESTION + WORDS + same + team)
    n = 3000
    numbers = np.arange(n)
    public = {
        "rate": numbers % 7 / 2,
        "late": numbers % 2,
        "word": np.where(numbers % 2, "yes", "no"),
        "gap": pa.array([1.0, 0.0, None] * (n // 3)),
        "nan": np.where(numbers % 2, math.nan, 1.0),
        "one": np.ones(n),
        "zero": np.zeros(n),
        "day": pa.array(numbers % 2, pa.int32()).cast(pa.date32()),
    }
    private = {
        "pay": numbers % 10,
        "same": np.full(n, 3.0),
        "smokes": np.where(numbers % 3, "yes", "no"),
        "team": np.where(numbers % 3, "yes", "no"),
    }
    survey = Survey.read("survey.toml")
    table = survey.privatize({**private, **public}, keep=list(public), keep_order=True)
    pq.write_table(table, "pairs.parquet")
    reports = MECHANISM.privatize(private["pay"])
    for name, response in (("rates", public["rate"]), ("ones", public["one"])):
        Path(f"{name}.json").write_text(json.dumps(Counts.of(reports, response=response).to_dict()))
    cell = Reports(np.full(50, 4), MECHANISM, simulated=False)
    counted = Counts.of(cell, response=public["rate"][:50])
    Path("cell.json").write_text(json.dumps(counted.to_dict()))
    assert run(["summarize", "pairs.parquet", "-o", "all.json"]) == 0
    capsys.readouterr()
    assert words in refused(command.split(), capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_may_not_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("locked").mkdir(mode=0o500)
    refused([*PRIVATIZE.split(), "-o", "locked/out.csv"], capsys)


def test_full_disk(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    command = [*PRIVATIZE.split(), "-o", "out.parquet", "--replace"]
    assert "No space left" in refused(command, capsys)
    assert "No space left" in refused(["merge", "counts.json", "-o", "out.json"], capsys)


TOKENS = (
    b"nan",
    b"1e999",
    b"-1",
    b"null",
    b"[",
    b"{",
    b'"',
    b"\n",
    b"\r",
    b",",
    b"\0",
    b"\xff",
    b"=",
)
MUTATED = {
    "survey.toml": "privatize bad.toml values.csv -o fresh.parquet",
    "values.csv": "privatize survey.toml bad.csv -o fresh.parquet --keep rate",
    "reports.parquet": "summarize bad.parquet -o fresh.json",
    "counts.json": "merge bad.json -o fresh.json",
    "counts.npz": "merge bad.npz -o fresh.npz",
}


def mutated(data: bytes, generator: random.Random) -> bytes:
    """The bytes with a few changes: some flipped, cut out, put in, doubled or cut off."""
    changed = bytearray(data)
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(changed) + 1)
        match generator.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([generator.randrange(256)])
            case 1:
                del changed[at : at + generator.randint(1, 20)]
            case 2:
                changed[at:at] = generator.choice(TOKENS)
            case 3:
                changed[at:at] = changed[:at][-20:]
            case _:
                del changed[at:]
    return bytes(changed)


@pytest.mark.parametrize("name", MUTATED)
def test_mutations(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("counts.npz").write_bytes(good_counts().to_bytes())
    good, generator = Path(name).read_bytes(), random.Random(name)
    bad = Path("bad").with_suffix(Path(name).suffix)
    command = MUTATED[name].split()
    out = Path(command[command.index("-o") + 1])
    for _ in range(60):
        bad.write_bytes(mutated(good, generator))
        out.unlink(missing_ok=True)
        code = run(command)
        printed = capsys.readouterr()
        assert out.exists() == (code == 0)
        assert code in (0, 2)
        assert len(printed.err.splitlines()) == (code == 2)


SAID = {
    "per-cent": (b"pay\n50%\n", "Write 45000: no per cent or currency sign, no thousands"),
    "thousands": (b'pay\n"45,000"\n', "no thousands separator"),
    "dollars": (b"pay\n$45000\n", "no per cent or currency sign"),
    "euros": ("pay\n45 000 €\n".encode(), "no per cent or currency sign"),
    "decimal-comma": (b'pay\n"4,5"\n', "no decimal comma"),
    "NA": (b"pay\nNA\n", "NA is not read as missing: leave the cell empty and give the question"),
    "nan": (b"pay\nnan\n", "NaN is not read as missing"),
    "semicolons": (b"pay;rate\n1;2\n", "got semicolons. Save it with commas."),
    "semicolons-and-decimals": (b"pay;rate\n1,5;2\n", "got semicolons. Save it with commas."),
    "tabs": (b"pay\trate\n1\t2\n", "got tabs. Save it with commas."),
    "one-cell": (b"pay\n1,2\n", "Expected 1 cell in every line"),
    "latin-1": (b"pay\n\xe4\n", "Save it as CSV UTF-8."),
    "latin-1-header": (b"p\xe4y,pay\n1,2\n", "Save it as CSV UTF-8."),
}


@pytest.mark.parametrize(("data", "words"), SAID.values(), ids=SAID)
def test_what_to_write_instead(
    data: bytes, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("values.csv").write_bytes(data)
    assert words in refused([*PRIVATIZE.split(), "-o", "out.csv", "--replace"], capsys)


ADVICE = {
    f"{PRIVATIZE}": "For example: confide privatize survey.toml values.csv -o reports.parquet.",
    NOISED.replace(":0.3", ""): "Expected the scale of the laplace noise on 'pay'",
    "density reports.parquet --method deconvolution": "take --method likelihood.",
    "merge counts.json other.json -o out.json": "'counts.json' and 'other.json', "
    "got epsilon = 1.0 and 2.0.",
    "merge counts.json other.npz -o out.json": "got mechanism = 'square-wave' and 'laplace'",
    "merge counts.json simulated.json -o out.json": "'counts.json' and 'simulated.json'",
    "summarize survey.toml kept.csv -o out.json --weights zero": "in column 'zero'",
}


@pytest.mark.parametrize(("command", "words"), ADVICE.items(), ids=ADVICE)
def test_what_to_do_instead(
    command: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.json").write_text(json.dumps(good_counts(2.0).to_dict()))
    laplace = Laplace(MECHANISM.lattice, epsilon=1.0).privatize([1.0])
    Path("other.npz").write_bytes(Counts.of(laplace).to_bytes())
    Path("simulated.json").write_text(json.dumps(good_counts(simulated=True).to_dict()))
    Path("kept.csv").write_text("pay,zero\n1,0\n")
    assert words in refused(command.split(), capsys)


@pytest.mark.parametrize(
    "bad",
    [b"wage\n1\n", b"pay\n", b"pay\nx\n", b"pay,rate\n1,2\n"],
    ids=["column", "rows", "cell", "kept-type"],
)
def test_one_bad_file_among_many_leaves_nothing(
    bad: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("many").mkdir()
    pq.write_table(pa.table({"pay": [1.0], "rate": ["x"]}), "many/a.parquet")
    Path("many/b.csv").write_bytes(bad)
    keep = ["--keep", "rate"] if b"rate" in bad else []
    said = refused(["privatize", "survey.toml", "many", "-o", "fresh.parquet", *keep], capsys)
    assert "many/b.csv" in said

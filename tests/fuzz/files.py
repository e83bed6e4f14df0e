"""Valid files of every kind that is read, and what can happen to them."""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.damage import exchanged

import confide as cf
from confide import accounting, reports
from confide.foreign import Spectrum
from confide.lattice import Cells
from confide.mechanisms.partition import Partition
from confide.summaries import CellSums, Counts, Groups, forms

LATTICE = cf.Lattice(low=0, high=10, size=16)
WAVE = cf.SquareWave(LATTICE, epsilon=1.0)
SURVEY = cf.Survey.from_dict(
    {
        "title": "Pay",
        "questions": {
            "pay": {"low": 0, "high": 10, "size": 16, "epsilon": 1.0, "missing": 0},
            "age": {"low": 1, "high": 99, "scale": "log", "size": 8, "epsilon": 2.0},
            "smokes": {"categories": ["no", "yes"], "epsilon": 1.0, "missing": "no"},
            "odd": {
                "mechanism": "two-sided-gamma",
                "low": 0,
                "high": 1,
                "size": 8,
                "shape": 0.8,
                "noise_scale": 2.0,
            },
        },
    }
)
ANSWERS = {
    "pay": [1.5, None, 9.0],
    "age": [20, 30, 99],
    "smokes": ["yes", None, "no"],
    "odd": [0.1, 0.5, 1.0],
}
OLD_LEDGER = Path(__file__).parents[2] / "tests" / "unit" / "ledger" / "ledger-version-2.db"
Document = Callable[[random.Random], bytes]


def text(document: Any) -> bytes:
    return json.dumps(document).encode()


def of_json(*makers: Callable[[], Any]) -> Document:
    """Documents as JSON, with one thing exchanged."""
    return lambda rng: text(exchanged(rng.choice(makers)(), rng))


@cache
def private() -> Any:
    return SURVEY.privatize(ANSWERS)


@cache
def counts() -> Counts:
    made = WAVE.privatize([1.0, 2.0, 3.0])
    return Counts.of(made, weights=[1.0, 2.0, 1.0], response=[0.0, 1.0, 1.0])


@cache
def joint() -> Counts:
    word = cf.RandomizedResponse(["a", "b"], epsilon=1.0)
    made = cf.Joint({"x": cf.Laplace(LATTICE, epsilon=1.0), "y": word})
    return Counts.of(made.privatize({"x": [1.0, 2.0], "y": ["a", "b"]}))


@cache
def noised() -> Counts:
    return Counts.of_noised([0.5, 0.7], noise=cf.foreign.Laplace(scale=0.1), low=0, high=1, size=4)


@cache
def partition() -> Partition:
    return Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)


@cache
def cell_reports() -> Any:
    return partition().privatize([0.1, 0.7, 0.9], [0.5, -1.0, 0.0])


def saved(write: Callable[[Path], Any], name: str) -> bytes:
    """What a writer makes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def parquet(table: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


TOML = """title = "Pay"
[questions.pay]
low = 0
high = 10
size = 16
epsilon = 1.0
missing = 0
[questions.smokes]
mechanism = "randomized-response"
categories = ["no", "yes"]
epsilon = 0.5 # each
"""


def toml(rng: random.Random) -> bytes:
    """A survey in TOML, one thing exchanged; what TOML cannot say is left to JSON."""
    fields = exchanged(tomllib.loads(TOML), rng)
    if not isinstance(fields, dict) or not isinstance(fields.get("questions"), dict):
        return f"questions = {json.dumps(fields, ensure_ascii=False)}".encode(errors="replace")
    lines = [f"title = {json.dumps(fields.get('title'))}"]
    for name, keys in fields["questions"].items():
        lines.append(f"[questions.{json.dumps(name)}]")
        pairs = keys.items() if isinstance(keys, dict) else [("low", keys)]
        lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in pairs]
    return "\n".join(lines).encode()


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a packed summary that is in order."""
    header, arrays = forms.unpack(data)
    return header, {name: array.read() for name, array in arrays.items()}


def archive(rng: random.Random) -> bytes:
    """An archive whose header or arrays were exchanged."""
    header, arrays = unpacked(counts().to_bytes())
    if rng.random() < 0.6:
        header = exchanged(header, rng)
    else:
        name = rng.choice(list(arrays))
        changes: tuple[Callable[[Any], Any], ...] = (
            lambda a: a[:-1],
            lambda a: a.astype(bool),
            lambda a: a.astype("U3"),
            lambda a: a.astype(complex),
            lambda a: a.astype("datetime64[s]"),
            lambda a: a.astype([("a", "f8")]),
            lambda a: -a,
            lambda a: a * np.nan,
            lambda a: a * 1e300 * 1e300,
            lambda a: a.reshape(1, -1),
            lambda a: np.zeros(()),
            lambda a: np.broadcast_to(a, (3, a.size)),
            lambda a: a.astype(np.float16),
            lambda a: a.astype(">i4"),
        )
        with np.errstate(all="ignore"):
            arrays[name] = rng.choice(changes)(arrays[name])
    return forms.pack(header, arrays)


def stamped(table: Any, rng: random.Random) -> bytes:
    """A Parquet file whose stamp, types or cells were exchanged."""
    stamp = table.schema.metadata[b"confide"]
    if rng.random() < 0.5:
        stamp = text(exchanged(json.loads(stamp), rng))
    else:
        kinds = (
            pa.float64(), pa.string(), pa.uint64(), pa.bool_(), pa.list_(pa.int64()),
            pa.decimal128(5), pa.timestamp("s"), pa.dictionary(pa.int32(), pa.string()), pa.null(),
            pa.float16(), pa.large_string(), pa.binary(), pa.int8(), pa.struct([("a", pa.int8())]),
        )  # fmt: skip
        name = rng.choice(table.column_names)
        rows = rng.choice((0, 1, 3))
        cells = pa.nulls(rows, rng.choice(kinds))
        columns = {key: table[key].slice(0, rows) for key in table.column_names}
        table = pa.table({**columns, name: cells})
    return parquet(table.replace_schema_metadata({b"confide": stamp}))


def ledger_file(entries: int) -> bytes:
    def write(path: Path) -> None:
        ledger = cf.Ledger(path, epsilon=2.0, delta=1e-6, subject="staff")
        for number in range(entries):
            spec = {"kind": "count", "number": number}
            group = ("region", "north") if number % 2 else None
            cost = accounting.Spend(0.1, note="a test")
            make = {"answer": 5}.copy
            ledger.charge(f"count/{number}", spec, cost, make, data=b"data", group=group)

    return saved(write, "ledger.db")


@cache
def surveys() -> tuple[bytes, ...]:
    return (TOML.encode(), ("\ufeff" + TOML).replace("\n", "\r\n").encode())


@cache
def survey_json() -> tuple[bytes, ...]:
    return (text(SURVEY.to_dict()),)


@cache
def report_text() -> tuple[bytes, ...]:
    return (b"pay\n1\n2\n3\n", b'\xef\xbb\xbfpay,x\r\n1,"a,b"\r\n0,c\r\n', b"pay\n" + b"7\n" * 500)


@cache
def report_gzip() -> tuple[bytes, ...]:
    return tuple(gzip.compress(data, mtime=0) for data in report_text())


@cache
def report_parquet() -> tuple[bytes, ...]:
    return (
        parquet(private()),
        parquet(private(), compression="zstd", use_dictionary=False),
        parquet(private(), version="1.0", data_page_version="2.0", write_page_checksum=True),
    )


@cache
def cell_parquet() -> tuple[bytes, ...]:
    return (parquet(reports.to_arrow(cell_reports())),)


@cache
def value_text() -> tuple[bytes, ...]:
    return (
        b"pay,age,smokes,odd\n1,20,yes,0.5\n,30,,1\n3e0,40,no,-2\n",
        b"smokes,odd,age,pay\r\nyes,1,1,1\r\nno,0,2,2\r\n",
    )


@cache
def value_parquet() -> tuple[bytes, ...]:
    return (parquet(pa.table(ANSWERS)),)


@cache
def summary_json() -> tuple[bytes, ...]:
    questions = {"pay": counts().to_dict(), "region": groups().to_dict()}
    several = {"confide": "summaries", "version": 1, "questions": questions}
    return (text(counts().to_dict()), text(joint().to_dict()), text(several))


@cache
def counts_json() -> tuple[bytes, ...]:
    return tuple(text(one.to_dict()) for one in (counts(), joint(), noised()))


@cache
def archives() -> tuple[bytes, ...]:
    return (counts().to_bytes(), joint().to_bytes(), noised().to_bytes())


@cache
def groups() -> Any:
    return Groups(("region", "year"), {("north", 1): counts(), ("south", 2): counts()})


@cache
def group_json() -> tuple[bytes, ...]:
    return (text(groups().to_dict()),)


@cache
def spectrum() -> Spectrum:
    return Spectrum.of([0.1, 0.5, 0.7], noise=cf.foreign.Laplace(scale=0.1), low=0, high=1)


@cache
def ledgers() -> tuple[bytes, ...]:
    return (ledger_file(0), ledger_file(3), OLD_LEDGER.read_bytes())


@cache
def sums() -> CellSums:
    return CellSums.of(cell_reports())

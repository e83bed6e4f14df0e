"""Small files that ask for much: more memory or time than their size deserves."""

from __future__ import annotations

import io
import json
import math
import sqlite3
import struct
import zipfile
import zlib
from functools import cache
from typing import Any

import numpy as np
from evidence.bombs import parquet
from tests.fuzz.files import WAVE, counts, ledger_file, sums, text

import confide as cf
from confide.lattice import Cells
from confide.mechanisms.partition import Partition
from confide.reports.stamps import Stamp

FINE = 2**20
"""Cells of the finest lattice that there is."""
BLOCK = 2**20
MANY = 5 * 10**8
"""Numbers that take 4 GB."""
WORDS = ["x" * 5000] + ["x"] * 200_000
"""One long word among many short ones: as numpy would have them, all are as long, 4 gigabytes."""


def deflated(start: bytes, block: bytes, times: int) -> bytes:
    """A start and the same block over and over, compressed as one would be, and then repeated."""
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = coder.compress(start) + coder.flush(zlib.Z_FULL_FLUSH)
    once = coder.compress(block) + coder.flush(zlib.Z_FULL_FLUSH)
    return first + once * times + coder.flush()


def checksum(start: bytes, block: bytes, times: int) -> int:
    found = zlib.crc32(start)
    for _ in range(times):
        found = zlib.crc32(block, found)
    return found


def gzipped(start: bytes, block: bytes, times: int) -> bytes:
    """The same as a gzip file."""
    size = (len(start) + len(block) * times) % 2**32
    end = struct.pack("<II", checksum(start, block, times), size)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + deflated(start, block, times) + end


def archive(**members: tuple[str, tuple[int, ...], bytes]) -> bytes:
    """A numpy archive: type, shape and repeated bytes of each array, which may be none."""
    parts, entries, at = b"", b"", 0
    for name, (kind, shape, content) in members.items():
        head = io.BytesIO()
        fields = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(head, fields)
        size = math.prod(shape) * np.dtype(kind).itemsize if content else 0
        block = content * max(1, min(BLOCK, size) // max(1, len(content)))
        times = size // max(1, len(block))
        rest = (size - times * len(block)) // max(1, len(content))
        start = head.getvalue() + content * rest
        data = deflated(start, block, times)
        whole = len(start) + times * len(block)
        file = f"{name}.npy".encode()
        sizes = (checksum(start, block, times), len(data), whole, len(file))
        common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, *sizes, 0)
        entries += b"PK\x01\x02" + struct.pack("<H", 20) + common
        entries += struct.pack("<HHHII", 0, 0, 0, 0, at) + file
        parts += b"PK\x03\x04" + common + file + data
        at = len(parts)
    many = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, many, many, len(entries), len(parts), 0)
    return parts + entries + b"PK\x05\x06" + end


def plain(data: bytes) -> tuple[str, tuple[int, ...], bytes]:
    """An array of bytes as they are."""
    return "|u1", (len(data),), data


def header(mechanism: Any, n: int, kind: str = "counts") -> bytes:
    return text({"confide": kind, "version": 1, "n": n, "simulated": False, "mechanism": mechanism})


def npz_shape() -> bytes:
    """Counts of another shape than the mechanism's: 4 GB of zeros."""
    return archive(header=plain(header(WAVE.to_dict(), 0)), counts=("<i8", (MANY,), b"\0"))


def npz_extra() -> bytes:
    """An array that nobody reads, beside a summary that is in order."""
    return archive(
        header=plain(header(WAVE.to_dict(), 0)),
        counts=("<i8", WAVE.law.outputs, b"\0"),
        extra=("<i8", (MANY,), b"\0"),
    )


def npz_header() -> bytes:
    """A header of empty lists, each of which takes 64 bytes in memory."""
    lists = b"[" + b"[]," * 2**25 + b"0]"
    return archive(header=plain(lists), counts=("<i8", (1,), b"\0" * 8))


def npz_declared() -> bytes:
    """Counts that are there in words only: nobody has so much memory."""
    return archive(header=plain(header(WAVE.to_dict(), 0)), counts=("<i8", (10**11,), b""))


def npz_long_header() -> bytes:
    """An array whose own header is 512 MiB of spaces, in bzip2: less than a kilobyte."""
    return _long_header(zipfile.ZIP_BZIP2)


def npz_long_header_deflated() -> bytes:
    """The same as archives are compressed in general."""
    return _long_header(zipfile.ZIP_DEFLATED)


def _long_header(codec: int, times: int = 2**9) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", codec) as packed,
        packed.open("header.npy", "w", force_zip64=True) as file,
    ):
        file.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", times * BLOCK))
        for _ in range(times):
            file.write(b" " * BLOCK)
    return buffer.getvalue()


def npz_bzip2() -> bytes:
    """A summary in order, but in bzip2."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(counts().to_bytes())) as plainly,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as packed,
    ):
        for name in plainly.namelist():
            packed.writestr(name, plainly.read(name))
    return buffer.getvalue()


def npz_text() -> bytes:
    """Words in the place of counts: 4 GB."""
    return archive(header=plain(header(WAVE.to_dict(), 0)), counts=("<U1000", (10**6,), b"\0"))


def npz_joint() -> bytes:
    """A summary in order, of the largest joint mechanism there may be."""
    lattice = cf.Lattice(low=0, high=1, size=2**13)
    part = cf.Laplace(lattice, epsilon=1.0)
    both = cf.Joint({"x": part, "y": part})
    shape = both.law.outputs
    return archive(
        header=plain(header(both.to_dict(), 0)),
        counts=("<i8", shape, b"\0"),
    )


def npz_sums() -> bytes:
    """The same for the sums of a partition."""
    return archive(
        header=plain(header(sums().mechanism.to_dict(), 0, "cell-sums")),
        counts=("<i8", (MANY,), b"\0"),
        tallies=("<i8", (3, 4), b"\0"),
    )


def document(mechanism: Any, shape: int) -> bytes:
    """Counts as JSON: nobody in most cells, one in each of a thousand in the middle."""
    some = min(shape, 1000)
    before = (shape - some) // 2
    counts = [b"0"] * before + [b"1"] * some + [b"0"] * (shape - some - before)
    start = header(mechanism, some).removesuffix(b"}")
    return start + b', "counts": [' + b",".join(counts) + b"]}"


def noised(cells: int, scales: int, margin: int = 0) -> dict[str, Any]:
    """Noise of one scale a respondent, about as wide as the bounds."""
    return {
        "mechanism": "noised",
        "lattice": {"low": 0.0, "high": 1.0, "size": cells, "scale": "linear"},
        "noise": {"noise": "gaussian", "scale": [0.1 + at / scales for at in range(scales)]},
        "margin": margin,
    }


def json_scales() -> bytes:
    """Noise of 4,000 scales on the finest lattice, and counts of another shape."""
    return document(noised(FINE, 4000), 1)


def json_scales_whole() -> bytes:
    """The same with counts of the right shape: 2 MB."""
    return document(noised(FINE // 2, 4000, FINE // 4), FINE)


def gamma_counts(cells: int) -> bytes:
    """Counts of two-sided gamma reports, some in every cell."""
    lattice = cf.Lattice(low=0, high=1, size=cells)
    made = cf.TwoSidedGamma(lattice, shape=0.8, scale=0.3)
    found = made.simulate(np.random.default_rng(1).uniform(0, 1, 5000), seed=1)
    return text({**cf.Counts.of(found).to_dict(), "simulated": False})


def category_counts(many: int) -> bytes:
    """Counts of so many categories."""
    made = cf.RandomizedResponse([f"c{at}" for at in range(many)], epsilon=8.0)
    found = made.simulate([f"c{at}" for at in range(0, many, 3)], seed=1)
    return text({**cf.Counts.of(found).to_dict(), "simulated": False})


def json_words() -> bytes:
    """Words in the place of counts."""
    fields = counts().to_dict() | {"counts": WORDS}
    return text(fields)


def json_words_within() -> bytes:
    """The same one level down."""
    return text(counts().to_dict() | {"counts": [[word] for word in WORDS]})


def spectrum_words() -> bytes:
    noise = [{"noise": "laplace", "scale": 0.1}]
    fields = {"confide": "spectrum", "version": 1, "noise": noise, "response": None}
    return text(fields | {"low": None, "high": None, "values": WORDS})


def sums_words() -> bytes:
    return text(sums().to_dict() | {"tallies": WORDS})


def json_lists() -> bytes:
    """Empty lists: 64 bytes of memory for three of the file."""
    fields = text(counts().to_dict() | {"counts": "HERE"})
    return fields.replace(b'"HERE"', b"[" + b",".join([b"[]"] * 1_000_000) + b"]")


def json_deep() -> bytes:
    return b'{"a":' * 200_000


def groups_many() -> bytes:
    """Very many groups, one respondent each."""
    part = {"n": 0, "counts": [0] * WAVE.law.outputs[0]}
    fields = {"confide": "groups", "by": ["x"], "version": 1, "simulated": False, "of": "counts"}
    parts = [{"key": [at]} | part for at in range(20_000)]
    return text(fields | {"mechanism": WAVE.to_dict(), "groups": parts})


def toml_dots() -> bytes:
    """A key of 150,000 parts."""
    return b"a." * 150_000 + b"a = 1\n"


def toml_deep() -> bytes:
    return b"a = " + b"[" * 200_000


def toml_tables() -> bytes:
    """The heads of very many tables, each inside the last."""
    return b"".join(b"[" + b"a." * at + b"a]\n" for at in range(1000))


@cache
def stamp_of(kind: str, many: int) -> bytes:
    """A stamp of many columns on the finest lattice, all of them different."""
    columns = {}
    for at in range(many):
        lattice = cf.Lattice(low=0, high=1 + at, size=FINE)
        made: cf.mechanisms.Mechanism = cf.SquareWave(lattice, epsilon=1.0)
        if kind == "gamma":
            made = cf.TwoSidedGamma(lattice, shape=0.8, scale=0.3)
        columns[f"q{at}"] = {"fingerprint": made.fingerprint, "mechanism": made.to_dict()}
    return text({"version": 1, "simulated": False, "columns": columns, "survey": None})


def stamped(stamp: bytes, names: list[str]) -> bytes:
    """One row of zeros under a stamp."""
    zero = parquet.page(bytes(4), 1)
    return parquet.file([(name, parquet.INT32, [zero]) for name in names], 1, stamp=stamp)


def stamp_gamma() -> bytes:
    """40 columns of two-sided gamma noise, each with a table of a million integers."""
    return stamped(stamp_of("gamma", 40), [f"q{at}" for at in range(40)])


def stamp_wide() -> bytes:
    """1,000 columns with a million counts each."""
    return stamped(stamp_of("wave", 1000), [f"q{at}" for at in range(1000)])


def pay_stamp() -> bytes:
    return Stamp({"pay": WAVE}).metadata()[b"confide"]


def of_pay(pages: list[parquet.Page], rows: int, **options: Any) -> bytes:
    """A file of reports of one question."""
    return parquet.file([("pay", parquet.INT32, pages)], rows, stamp=pay_stamp(), **options)


def words(length: int, times: int) -> list[parquet.Page]:
    """One long word, over and over."""
    word = length.to_bytes(4, "little") + b"x" * length
    return [
        parquet.packed(parquet.page(word, 1, kind=parquet.DICTIONARY_PAGE)),
        parquet.packed(
            parquet.page(parquet.repeated(0, times), times, encoding=parquet.RLE_DICTIONARY)
        ),
    ]


def parquet_text() -> bytes:
    """Reports that are text of a megabyte each."""
    columns = [("pay", parquet.BYTE_ARRAY, words(2**20, 2**18))]
    return parquet.file(columns, 2**18, stamp=pay_stamp(), codec=parquet.GZIP)


def parquet_kept() -> bytes:
    """Reports that are in order beside a group of a megabyte for every row."""
    zeros = parquet.page(parquet.repeated(0, 2**18), 2**18, encoding=parquet.RLE_DICTIONARY)
    report = [parquet.page(bytes(4), 1, kind=parquet.DICTIONARY_PAGE), zeros]
    columns = [
        ("pay", parquet.INT32, [parquet.packed(one) for one in report]),
        ("region", parquet.BYTE_ARRAY, words(2**20, 2**18)),
    ]
    return parquet.file(columns, 2**18, stamp=pay_stamp(), codec=parquet.GZIP)


def parquet_values() -> bytes:
    """Answers in words, of a megabyte each."""
    columns = [("smokes", parquet.BYTE_ARRAY, words(2**20, 2**18))]
    return parquet.file(columns, 2**18, codec=parquet.GZIP)


def parquet_prefixes() -> bytes:
    """Words that repeat all of the word before: DELTA_BYTE_ARRAY."""
    rows, length = 2**14, 2**19
    body = steps(rows, 0, length) + steps(rows, length, 0) + b"x" * length
    made = parquet.packed(parquet.page(body, rows, encoding=parquet.DELTA_BYTE_ARRAY))
    return parquet.file([("smokes", parquet.BYTE_ARRAY, [made])], rows, codec=parquet.GZIP)


def steps(many: int, first: int, then: int) -> bytes:
    """A number and then another over and over, as DELTA_BINARY_PACKED.

    Blocks of 128 differences in four parts, each of so many bits, counted from the least.
    """
    result = b"".join(map(parquet.varint, (128, 4, many))) + parquet.zigzag(first)
    low = min(then - first, 0)
    offsets = [then - first - low] + [-low] * 127
    width = max(offsets).bit_length()
    bits = sum(offset << (width * at) for at, offset in enumerate(offsets))
    result += parquet.zigzag(low) + bytes([width] * 4) + bits.to_bytes(16 * width, "little")
    return result + (parquet.zigzag(0) + bytes(4)) * (-(-(many - 1) // 128) - 1)


def parquet_page() -> bytes:
    """One page of 1.5 GiB of reports, all 0."""
    times = 3 * 2**9
    body, count = gzipped(b"", bytes(BLOCK), times), times * BLOCK // 4
    return of_pay([parquet.Page(body, count, 4 * count)], count, codec=parquet.GZIP)


def parquet_rows() -> bytes:
    """Two thousand million reports in a run."""
    many = 2_000_000_000
    run = parquet.page(parquet.repeated(0, many), many, encoding=parquet.RLE_DICTIONARY)
    return of_pay([parquet.page(bytes(4), 1, kind=parquet.DICTIONARY_PAGE), run], many)


def parquet_odd(way: str, many: int = 2_000_000_000) -> bytes:
    """The same in a page that says so in another way than it seems."""
    body = parquet.repeated(0, many)
    run = parquet.Odd(body, many, len(body), encoding=parquet.RLE_DICTIONARY, way=way)
    return of_pay([parquet.page(bytes(4), 1, kind=parquet.DICTIONARY_PAGE), run], many)


def parquet_rows_allowed() -> bytes:
    """As many as a megabyte allows."""
    many = 1_000_000_000
    zeros = parquet.page(bytes(4), 1, kind=parquet.DICTIONARY_PAGE)
    run = parquet.page(parquet.repeated(0, many), many, encoding=parquet.RLE_DICTIONARY)
    return of_pay([zeros, run], many, padding=1_000_000)


def parquet_text_allowed() -> bytes:
    """Words of 32 kilobytes, as many as a megabyte allows."""
    columns = [("smokes", parquet.BYTE_ARRAY, words(2**15, 2**18))]
    return parquet.file(columns, 2**18, codec=parquet.GZIP, padding=1_000_000)


def stamp_allowed() -> bytes:
    """Three fine lattices and a table of gamma noise: as many as there may be."""
    stamp = json.loads(stamp_of("wave", 3))
    stamp["columns"]["gamma"] = json.loads(stamp_of("gamma", 1))["columns"]["q0"]
    return stamped(text(stamp), list(stamp["columns"]))


def parquet_groups() -> bytes:
    """5,000 row groups that are all in the same place."""
    many = 2**17
    numbers = np.arange(many, dtype="<i4") % 24
    return of_pay([parquet.page(numbers.tobytes(), many)], many, groups=5000)


def parquet_tiny_groups() -> bytes:
    """20,000 row groups of one report each, on the finest lattice."""
    wave = cf.SquareWave(cf.Lattice(low=0, high=1, size=FINE), epsilon=1.0)
    stamp = Stamp({"pay": wave}).metadata()[b"confide"]
    columns = [("pay", parquet.INT32, [parquet.page(bytes(4), 1)])]
    return parquet.file(columns, 1, stamp=stamp, groups=20_000)


def parquet_columns() -> bytes:
    """30,000 columns, which nobody asked for."""
    zero = parquet.page(bytes(4), 1)
    names = ["pay", *(f"x{at}" for at in range(30_000))]
    return parquet.file([(name, parquet.INT32, [zero]) for name in names], 1, stamp=pay_stamp())


@cache
def partition() -> Partition:
    return Partition(Cells(low=[0], high=[1], shape=[256]), bound=1.0, epsilon=2.0)


def parquet_vectors() -> bytes:
    """Vector reports without lists: text of a megabyte in each row."""
    columns = [(name, parquet.BYTE_ARRAY, words(2**20, 2**18)) for name in ("w", "z")]
    stamp = Stamp({"": partition()}).metadata()[b"confide"]
    return parquet.file(columns, 2**18, stamp=stamp, codec=parquet.GZIP)


def csv_columns() -> bytes:
    """A header of 100,000 columns."""
    return b"pay," + b",".join(b"x%d" % at for at in range(100_000)) + b"\n"


def csv_commas() -> bytes:
    """Two million columns without a name."""
    return b"pay" + b"," * 2_000_000 + b"\n" + b"1" + b"," * 2_000_000 + b"\n"


def gzip_rows() -> bytes:
    """500 million reports in a megabyte."""
    return gzipped(b"pay\n", b"1\n" * 2**19, 954)


def gzip_line() -> bytes:
    """A line of a thousand million letters."""
    return gzipped(b"pay\n", b"1" * 2**20, 954)


def gzip_wide() -> bytes:
    """A column that nobody asked for, with words of a megabyte."""
    return gzipped(b"pay,x\n", b"1," + b"x" * 2**19 + b"\n", 1907)


def ledger_deep() -> bytes:
    """A stored release that is nested without end."""
    return _ledger(b"[" * 1_000_000)


def ledger_long() -> bytes:
    """A stored release of empty lists."""
    return _ledger(b"[" + b",".join([b"[]"] * 1_000_000) + b"]")


def _ledger(release: bytes) -> bytes:
    connection = sqlite3.connect(":memory:")
    data = ledger_file(2)
    connection.deserialize(data[:18] + b"\x01\x01" + data[20:])
    connection.execute("UPDATE charges SET release = ?", (release.decode(),))
    connection.commit()
    return connection.serialize()

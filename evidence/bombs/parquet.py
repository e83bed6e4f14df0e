"""Parquet files made by hand: whatever pages and footers say, true or not."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

# Types of the compact protocol of Thrift.
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
INT32, BYTE_ARRAY = 1, 6
PLAIN, RLE, DELTA_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 7, 8
UNCOMPRESSED, GZIP = 0, 2
DATA_PAGE, DICTIONARY_PAGE = 0, 2


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    result = bytearray()
    while number >= 128:
        result.append(number % 128 | 128)
        number //= 128
    result.append(number)
    return bytes(result)


def zigzag(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def value(kind: int, given: Any) -> bytes:
    if kind in (I32, I64):
        return zigzag(given)
    if kind == BINARY:
        data = given.encode() if isinstance(given, str) else given
        return varint(len(data)) + data
    if kind == LIST:
        inner, items = given
        head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([0xF0 | inner])
        head += b"" if len(items) < 15 else varint(len(items))
        return head + b"".join(value(inner, item) for item in items)
    return struct(given)


def struct(fields: Sequence[tuple[int, int, Any]]) -> bytes:
    """A structure: number, type and value of each field, in ascending order."""
    result, last = b"", 0
    for number, kind, given in fields:
        step = number - last
        result += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + zigzag(number)
        result += value(kind, given)
        last = number
    return result + b"\0"


@dataclass(frozen=True)
class Page:
    """A page, with the sizes that its header states."""

    body: bytes
    values: int
    size: int
    encoding: int = PLAIN
    kind: int = DATA_PAGE

    def encoded(self) -> bytes:
        head = [(1, I32, self.kind), (2, I32, self.size), (3, I32, len(self.body))]
        if self.kind == DICTIONARY_PAGE:
            own = [(1, I32, self.values), (2, I32, self.encoding)]
            return struct([*head, (7, STRUCT, own)]) + self.body
        own = [(1, I32, self.values), (2, I32, self.encoding), (3, I32, RLE), (4, I32, RLE)]
        return struct([*head, (5, STRUCT, own)]) + self.body


@dataclass(frozen=True)
class Odd(Page):
    """A page whose header some readers understand in another way: as one value, or as none.

    Parameters
    ----------
    way
        "twice": the number of values comes again, in a type that readers skip. "far": fields with
        numbers of more than 16 bits. "both": the headers of two kinds of pages. "long": a kind of
        more than 32 bits, which is that of a dictionary.
    """

    way: str = "twice"

    def encoded(self) -> bytes:
        head = [(1, I32, self.kind), (2, I32, self.size), (3, I32, len(self.body))]
        rest = [(2, I32, self.encoding), (3, I32, RLE), (4, I32, RLE)]
        own: list[tuple[int, int, Any]] = [(1, I32, self.values), *rest]
        if self.way == "twice":
            after = struct([(number - 1, kind, given) for number, kind, given in rest])
            inner = struct(own[:1])[:-1] + again(1, I64, 1) + after
            made = struct(head)[:-1] + bytes([2 << 4 | STRUCT]) + inner + b"\0"
        elif self.way == "far":
            made = struct(head)[:-1] + again(2**16 + 5, STRUCT, own) + b"\0"
        elif self.way == "both":
            # The number of values, of empty ones and of rows, the encoding, two lengths, a flag.
            numbers = (self.values, 0, self.values, self.encoding, 0, 0)
            second = [(at, I32, number) for at, number in enumerate(numbers, 1)]
            few = [(1, I32, 1), *rest]
            made = struct([(1, I32, 3), *head[1:], (5, STRUCT, few), (8, STRUCT, second)])
        else:
            made = struct([(1, I32, 2**32), *head[1:], (5, STRUCT, own)])
        return made + self.body


def again(number: int, kind: int, given: Any) -> bytes:
    """A field under its whole number, whatever came before."""
    return bytes([kind]) + zigzag(number) + value(kind, given)


def page(body: bytes, values: int, **options: Any) -> Page:
    """A page that says the truth about its size."""
    return Page(body, values, len(body), **options)


def packed(one: Page) -> Page:
    """The same page in gzip, as a codec would write it."""
    coder = zlib.compressobj(9, zlib.DEFLATED, 31)
    return replace(one, body=coder.compress(one.body) + coder.flush())


def repeated(value_at: int, times: int) -> bytes:
    """The same dictionary value over and over: a bit width, and one run."""
    width = max(1, value_at.bit_length())
    return bytes([width]) + varint(2 * times) + value_at.to_bytes((width + 7) // 8, "little")


def file(
    columns: Sequence[tuple[str, int, Sequence[Page]]],
    rows: int,
    *,
    stamp: bytes = b"",
    codec: int = UNCOMPRESSED,
    groups: int = 1,
    padding: int = 0,
) -> bytes:
    """A file of required columns; all row groups say that they are in the same place."""
    data = b"PAR1" + bytes(padding)
    chunks = []
    for name, kind, pages in columns:
        start = len(data)
        first = next(at for at, one in enumerate(pages) if one.kind == DATA_PAGE)
        parts = [one.encoded() for one in pages]
        offset = start + sum(map(len, parts[:first]))
        data += b"".join(parts)
        fields: list[tuple[int, int, Any]] = [
            (1, I32, kind),
            (2, LIST, (I32, sorted({one.encoding for one in pages} | {RLE}))),
            (3, LIST, (BINARY, [name])),
            (4, I32, codec),
            (5, I64, sum(one.values for one in pages[first:])),
            (6, I64, len(data) - start),
            (7, I64, len(data) - start),
            (9, I64, offset),
        ]
        if first:
            fields.append((11, I64, start))
        chunks.append([(2, I64, start), (3, STRUCT, fields)])
    group = [(1, LIST, (STRUCT, chunks)), (2, I64, len(data) - 4), (3, I64, rows)]
    schema: list[list[tuple[int, int, Any]]] = [[(4, BINARY, "schema"), (5, I32, len(columns))]]
    for name, kind, _ in columns:
        own: list[tuple[int, int, Any]] = [(1, I32, kind), (3, I32, 0), (4, BINARY, name)]
        schema.append([*own, (6, I32, 0)] if kind == BYTE_ARRAY else own)
    footer: list[tuple[int, int, Any]] = [
        (1, I32, 2),
        (2, LIST, (STRUCT, schema)),
        (3, I64, rows * groups),
        (4, LIST, (STRUCT, [group] * groups)),
    ]
    if stamp:
        footer.append((5, LIST, (STRUCT, [[(1, BINARY, "confide"), (2, BINARY, stamp)]])))
    end = struct(footer)
    return data + end + len(end).to_bytes(4, "little") + b"PAR1"

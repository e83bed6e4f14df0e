"""The JSON and binary forms of summaries, and the checks of both."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.files.paths import counted, load_json, named, writable, write_bytes
from confide.foreign.noised import Noised
from confide.mechanisms import Channel, register
from confide.mechanisms.stacked import Stacked

VERSION = 1
MAX_N = 2**53
"""Respondents of a summary at most: up to here floats count without gaps."""
LARGEST = 1e280
"""Sums in a file at most: such sums of any number of files still add up to finite floats."""
HEADER_BYTES, HEADER_RATIO = 2**20, 20
"""A packed header is no longer than this and so many times the archive."""
MEMBERS = 100
"""Arrays of an archive that are looked at."""
CODECS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What members of an archive may be compressed by: others unpack more than is asked for."""
# What zip, numpy and json raise on bytes that are damaged or hostile.
DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    TypeError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
)
HEADER = ("confide", "version", "n", "simulated", "mechanism", "bounds", "question")
ARRAYS = ("counts", "weights", "squared_weights", "response", "squared_response")


@dataclass(frozen=True, eq=False)
class Packed:
    """An array in an archive, of which nothing but the shape and the type has been read."""

    archive: zipfile.ZipFile
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, archive: zipfile.ZipFile, member: str) -> Packed:
        """Read what the array says about itself."""
        if archive.getinfo(member).compress_type not in CODECS:
            raise ValueError("no codec that unpacks as much as it is asked for")
        with archive.open(member) as file:
            shape, dtype = _npy(file)
        return cls(archive, member, shape, dtype)

    def read(self) -> npt.NDArray[Any]:
        """The array; check its shape and type before reading it."""
        try:
            with self.archive.open(self.name) as file:
                array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        except DAMAGE as error:
            raise _damaged() from error
        return array


def _npy(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    form = np.lib.format
    # Later versions are for headers of up to 4 GiB, which numpy reads before it looks at them.
    if form.read_magic(file) != (1, 0):
        raise ValueError("no header of at most 64 KiB")
    shape, _, dtype = form.read_array_header_1_0(file)
    if dtype.hasobject or any(length < 0 for length in shape):
        raise ValueError("no plain array")
    return shape, dtype


def _damaged() -> InvalidInput:
    return InvalidInput("a summary written by confide", "bytes that are not one, or not all of it")


def split(fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a summary's JSON object."""
    if not isinstance(fields, Mapping):
        raise InvalidInput("a summary as a JSON object", _checks.shown(fields))
    arrays = {key: value for key, value in fields.items() if key in ARRAYS}
    return {key: value for key, value in fields.items() if key not in ARRAYS}, arrays


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A compressed numpy archive, the header inside it as JSON."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez_compressed(buffer, header=text, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Packed]]:
    """The header of a packed summary and its arrays, which are not read yet.

    A few bytes of an archive unpack to a thousand times as many: what an array says of its shape
    is compared with what the header asks for before the rest of it is looked at.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        names = archive.namelist()
        if len(names) > MEMBERS or len(set(names)) < len(names):
            raise _damaged()
        arrays = {name.removesuffix(".npy"): Packed.of(archive, name) for name in names}
        text = arrays.pop("header")
    except DAMAGE as error:
        raise _damaged() from error
    if text.dtype != np.uint8 or len(text.shape) != 1:
        raise _damaged()
    longest = HEADER_BYTES + HEADER_RATIO * len(data)
    if text.shape[0] > longest:
        raise InvalidInput(f"a header of at most {longest:,} bytes", f"{text.shape[0]:,}")
    header = load_json(text.read().tobytes(), "the header of a summary")
    if not isinstance(header, dict):
        raise InvalidInput("a summary written by confide", "an archive without its header")
    return header, arrays


def checked(
    header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> tuple[Channel, npt.NDArray[np.int64], dict[str, Floats]]:
    """The mechanism, the counts and the other tables of a summary that is in order."""
    if header.get("confide") != "counts":
        raise InvalidInput("a summary written by confide", "something else")
    if header.get("version") != VERSION:
        raise InvalidInput(
            f"a summary of version {VERSION}",
            f"version {_checks.shown(header.get('version'))}",
            "Read it with the release of confide that wrote it.",
        )
    _checks.known_keys(header, HEADER, "a summary")
    _checks.known_keys(arrays, ARRAYS, "a summary")
    if not isinstance(header.get("question", ""), str):
        raise InvalidInput("a question by name in a summary", _checks.shown(header.get("question")))
    if not isinstance(header.get("simulated"), bool) or "counts" not in arrays:
        raise InvalidInput("the keys 'simulated' and 'counts' in a summary", "none")
    for first, second in (ARRAYS[1:3], ARRAYS[3:5]):
        if (first in arrays) != (second in arrays):
            raise InvalidInput(f"both {first!r} and {second!r} in a summary", "one of them")
    channel = _channel(header.get("mechanism"))
    shape = channel.law.outputs
    for name, array in arrays.items():
        if isinstance(array, Packed):
            _fits(name, array, shape)
    counts = _counts(arrays["counts"], shape, header.get("n"))
    tables = {name: _table(name, arrays[name], shape) for name in ARRAYS[1:] if name in arrays}
    if any((tables[name] < 0).any() for name in ARRAYS[1:3] if name in tables):
        raise InvalidInput("weights >= 0 in a summary", "a negative one")
    return channel, counts, tables


def bounds(header: Mapping[str, Any]) -> tuple[float, float]:
    """Bounds of the response."""
    ends = header.get("bounds")
    if not isinstance(ends, list) or len(ends) != 2:
        raise InvalidInput("two bounds of the response in a summary", _checks.shown(ends))
    return _checks.finite(low=ends[0]), _checks.finite(high=ends[1])


def _channel(fields: Any) -> Channel:
    if isinstance(fields, Channel):
        return fields
    if isinstance(fields, Mapping) and fields.get("mechanism") == Noised.name:
        return Noised.from_dict(fields)
    if isinstance(fields, Mapping) and fields.get("mechanism") == Stacked.name:
        parts = fields.get("phases")
        register.affordable(parts if isinstance(parts, list) else [], "a summary")
        return Stacked.from_dict(fields)
    register.affordable([fields], "a summary")
    return register.from_dict(fields)


def _fits(name: str, array: Packed | npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.dtype.kind not in "iuf":
        raise InvalidInput(f"numbers in {name!r} of a summary", "values of another type")
    if array.shape != shape:
        raise InvalidInput(
            f"{name!r} of shape {shape} in a summary", f"shape {_checks.shown(array.shape)}"
        )


def _array(name: str, array: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Numbers of the right shape, from an archive or from lists."""
    table = array.read() if isinstance(array, Packed) else _checks.array(**{name: array})
    _fits(name, table, shape)
    return table


def _counts(array: Any, shape: tuple[int, ...], n: Any) -> npt.NDArray[np.int64]:
    table = _array("counts", array, shape)
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        raise InvalidInput(
            "finite numbers in 'counts' of a summary", "one that is infinite or missing"
        )
    if (table < 0).any() or (table.dtype.kind == "f" and (table % 1 != 0).any()):
        raise InvalidInput("whole counts >= 0 in a summary", "a negative one, or a fraction")
    # As floats first: the integers of a forged summary may add up to a negative number.
    if float(table.sum(dtype=np.float64)) > MAX_N:
        raise too_many()
    counts = table.astype(np.int64, copy=False)
    total = int(counts.sum())
    # True would be 1.
    if isinstance(n, bool) or total != n:
        raise InvalidInput(
            f"n={_checks.shown(n)} respondents in the counts",
            str(total),
            "The summary is damaged.",
        )
    return counts


def too_many() -> InvalidInput:
    """The error for an impossibly large number of respondents."""
    return InvalidInput(
        f"at most {MAX_N:,} respondents in a summary",
        "more",
        "A summary of so many is damaged or forged.",
    )


def _table(name: str, array: Any, shape: tuple[int, ...]) -> Floats:
    table = _array(name, array, shape).astype(np.float64, copy=False)
    # NaN is not within any bounds.
    if not (np.abs(table) <= LARGEST).all():
        raise InvalidInput(
            f"finite numbers within {LARGEST:g} in {name!r} of a summary", "another value"
        )
    return table


SUFFIXES = (".json", ".npz")
"""Endings of files of summaries."""
ALONE = ""
"""Name of a question that nobody named: Python's own summaries do not."""


def write(path: str | Path, questions: Mapping[str, Any]) -> None:
    """Write the summaries of questions as JSON, or that of a single one as a numpy archive.

    Parameters
    ----------
    path
        The file; one that is there is replaced, whole or not at all.
    questions
        Counts, or groups of them, by question.
    """
    path = Path(path)
    writable(path, SUFFIXES)
    if path.suffix == ".npz":
        write_bytes(path, _archive(path, questions))
        return
    if len(questions) == 1:
        ((name, only),) = questions.items()
        fields = ({} if name == ALONE else {"question": name}) | only.to_dict()
    else:
        fields = {
            "confide": "summaries",
            "version": VERSION,
            "questions": {name: one.to_dict() for name, one in questions.items()},
        }
    text = json.dumps(fields, separators=(",", ":"), allow_nan=False)
    write_bytes(path, text.encode() + b"\n")


def _archive(path: Path, questions: Mapping[str, Any]) -> bytes:
    if len(questions) > 1:
        raise InvalidInput(
            "one question for a .npz file",
            counted(len(questions), "question"),
            "Choose one, or write .json.",
        )
    ((name, only),) = questions.items()
    if not hasattr(only, "to_bytes"):
        raise InvalidInput("a .json file for groups", named(path))
    data: bytes = only.to_bytes(question=name)
    return data

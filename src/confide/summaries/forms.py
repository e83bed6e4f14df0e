"""The JSON and binary forms of summaries, and everything that can be wrong with one."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate, mechanisms
from confide.errors import InvalidInput
from confide.mechanisms import Channel, Noised

Floats = npt.NDArray[np.float64]
VERSION = 1
MAX_BYTES = 2**33
# What zip, numpy and json raise on bytes that are damaged or hostile.
DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
HEADER = ("confide", "version", "n", "simulated", "mechanism", "bounds", "question")
ARRAYS = ("counts", "weights", "squared_weights", "response", "squared_response")


def split(fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a summary's JSON object."""
    if not isinstance(fields, Mapping):
        raise InvalidInput("a summary as a JSON object", _validate.shown(fields))
    arrays = {key: value for key, value in fields.items() if key in ARRAYS}
    return {key: value for key, value in fields.items() if key not in ARRAYS}, arrays


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A compressed numpy archive, the header inside it as JSON."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez_compressed(buffer, header=text, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a packed summary."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_BYTES:
                raise InvalidInput(f"a summary of at most {MAX_BYTES} bytes", "a larger one")
        with np.load(io.BytesIO(data), allow_pickle=False) as tables:
            arrays = {name: tables[name] for name in tables.files}
        header = json.loads(arrays.pop("header").tobytes())
    except DAMAGE as error:
        raise InvalidInput(
            "a summary written by confide", "bytes that are not one, or not all of it"
        ) from error
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
            f"version {_validate.shown(header.get('version'))}",
            "Read it with the release of confide that wrote it.",
        )
    _validate.known_keys(header, HEADER, "a summary")
    _validate.known_keys(arrays, ARRAYS, "a summary")
    if not isinstance(header.get("question", ""), str):
        raise InvalidInput(
            "a question by name in a summary", _validate.shown(header.get("question"))
        )
    if not isinstance(header.get("simulated"), bool) or "counts" not in arrays:
        raise InvalidInput("the keys 'simulated' and 'counts' in a summary", "none")
    channel = _channel(header.get("mechanism"))
    tables = {name: _table(name, array, channel.law.outputs) for name, array in arrays.items()}
    whole = tables.pop("counts")
    counts = whole.astype(np.int64)
    if (counts != whole).any() or (counts < 0).any():
        raise InvalidInput("whole counts >= 0 in a summary", "others")
    if int(counts.sum()) != header.get("n"):
        raise InvalidInput(
            f"n={_validate.shown(header.get('n'))} respondents in the counts",
            str(int(counts.sum())),
            "The summary is damaged.",
        )
    if any((tables[name] < 0).any() for name in ARRAYS[1:3] if name in tables):
        raise InvalidInput("weights >= 0 in a summary", "others")
    for first, second in (ARRAYS[1:3], ARRAYS[3:5]):
        if (first in tables) != (second in tables):
            raise InvalidInput(f"both {first!r} and {second!r} in a summary", "one of them")
    return channel, counts, tables


def bounds(header: Mapping[str, Any]) -> tuple[float, float]:
    """Bounds of the response."""
    ends = header.get("bounds")
    if not isinstance(ends, list) or len(ends) != 2:
        raise InvalidInput("two bounds of the response in a summary", _validate.shown(ends))
    return _validate.finite(low=ends[0]), _validate.finite(high=ends[1])


def _channel(fields: Any) -> Channel:
    if isinstance(fields, Channel):
        return fields
    if isinstance(fields, Mapping) and fields.get("mechanism") == Noised.name:
        return Noised.from_dict(fields)
    return mechanisms.from_dict(fields)


def _table(name: str, array: Any, shape: tuple[int, ...]) -> Floats:
    table = _validate.array(**{name: array})
    if table.dtype.kind not in "iuf":
        raise InvalidInput(f"numbers in {name!r} of a summary", "something else")
    table = table.astype(np.float64)
    if table.shape != shape:
        raise InvalidInput(f"{name!r} of shape {shape} in a summary", f"shape {table.shape}")
    if not np.isfinite(table).all() or (name == "counts" and np.abs(table).max() > 2.0**62):
        raise InvalidInput(f"finite numbers in {name!r} of a summary", "others")
    return table

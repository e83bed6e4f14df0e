"""The JSON form of curves: what it must hold, and what it says about the summary behind it.

A curve's JSON holds what was estimated. Intervals need the summary of the reports, which is as
large as the lattice and has a file of its own; so the JSON names that summary by its fingerprint,
and a curve that came back from JSON refuses intervals with a sentence that says so. Straight lines
and logistic curves, whose intervals need four numbers, keep them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Unsupported


def fingerprint(public: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """A short name of exactly this summary.

    Parameters
    ----------
    public
        Plain values.
    arrays
        Whole numbers or floats; the same numbers in another type are the same summary.
    """
    text = json.dumps(public, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        table = arrays[name].astype("<i8" if arrays[name].dtype.kind in "iu" else "<f8", copy=False)
        digest.update(f"{name}{table.shape}".encode())
        digest.update(np.ascontiguousarray(table).tobytes())
    return digest.hexdigest()[:32]


def named(summary: Any) -> dict[str, str]:
    """The fact that names a summary; none where its noise is a function, which has no JSON form."""
    try:
        return {"summary": summary.fingerprint}
    except Unsupported:
        return {}


def without_intervals(facts: Mapping[str, Any]) -> Unsupported:
    """The error that a curve has no intervals, and where to get them."""
    source = facts.get("summary")
    if source is None:
        return Unsupported(
            "This curve has no intervals: it names no summary of reports to take them from."
        )
    return Unsupported(
        "A curve that was read from JSON has no intervals: fit it again from the summary with the "
        f"fingerprint {source}."
    )


def described(facts: Mapping[str, Any]) -> str:
    """Facts in print, without the fingerprint of the summary."""
    return ", ".join(f"{key}={short(value)}" for key, value in facts.items() if key != "summary")


def short(value: Any) -> str:
    """A fact in print: a number with four digits, a list with three entries."""
    if isinstance(value, (list, tuple)) and len(value) > 3:
        return f"[{', '.join(map(short, value[:3]))}, ...]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def keyed(fields: Any, curve: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """The fields of a curve's JSON form, all there and none besides."""
    if not isinstance(fields, Mapping) or fields.get("curve") != curve:
        raise InvalidInput(f"a {curve} as a JSON object", "something else")
    _checks.known_keys(fields, ("curve", *keys), f"a {curve}")
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} in a {curve}", "none")
    if "facts" in keys and not isinstance(fields["facts"], Mapping):
        raise InvalidInput(f"facts by name in a {curve}", "something else")
    return fields


def names(fields: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """The names of the columns, one each."""
    return words(fields, "names", count)


def words(fields: Mapping[str, Any], key: str, count: int) -> tuple[str, ...]:
    """A list of words, so many."""
    given = fields[key]
    known = isinstance(given, list) and all(isinstance(word, str) for word in given)
    if not known or len(given) != count:
        raise InvalidInput(f"{count} words in {key} of a {fields['curve']}", _checks.shown(given))
    return tuple(given)


def numbers(fields: Mapping[str, Any], key: str, shape: tuple[int, ...]) -> Floats:
    """Finite numbers of a given shape."""
    table = _checks.array(**{key: fields[key]})
    if table.shape != shape or table.dtype.kind not in "iuf" or not np.isfinite(table).all():
        wanted = f"finite numbers of shape {shape} in {key} of a {fields['curve']}"
        raise InvalidInput(wanted, f"{table.dtype} of shape {table.shape}")
    result: Floats = table.astype(np.float64)
    return result


def edges(fields: Mapping[str, Any]) -> tuple[Floats, ...]:
    """Ascending cell edges, one array a column."""
    if not isinstance(fields["edges"], list):
        raise InvalidInput("a list of edges", _checks.shown(fields["edges"]))
    found = tuple(_checks.vector(edges=edge) for edge in fields["edges"])
    for edge in found:
        if edge.size < 2 or not np.all(np.diff(edge) > 0):
            raise InvalidInput("ascending edges", "others")
    return found


def flag(fields: Mapping[str, Any], key: str) -> bool:
    """True or false."""
    value = fields[key]
    if not isinstance(value, bool):
        raise InvalidInput(f"true or false in {key} of a {fields['curve']}", _checks.shown(value))
    return value


def finite(fields: Mapping[str, Any], key: str) -> float:
    """A finite number."""
    return _checks.finite(**{key: fields[key]})


def plain(value: float) -> float | None:
    """A number as JSON can hold it: what is not finite is null."""
    return value if np.isfinite(value) else None

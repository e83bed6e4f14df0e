"""Curves in other forms: JSON, and tables of pandas."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import Spend, told_cost
from confide.errors import InvalidInput, Unsupported, extra


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


DECLINED = "declined"
"""What the share of those who preferred not to say is called, in tables and JSON."""


def not_offered() -> InvalidInput:
    """The error for a question that people could not decline."""
    return InvalidInput(
        "a question that could be declined",
        "one that could not",
        "Give it prefer_not_to_say = true before it is asked.",
    )


def with_declined(curve: Any) -> dict[str, Any]:
    """The facts of a curve for print, with the share that declined where there is one."""
    return dict(curve.facts) | declined_to(curve.declined)


def declined_to(share: float | None) -> dict[str, float]:
    """The share that declined for JSON: no key where nobody could."""
    return {} if share is None else {DECLINED: share}


def declined_from(fields: Mapping[str, Any]) -> float | None:
    """The inverse of `declined_to`."""
    return _checks.within(0, 1, declined=fields[DECLINED]) if DECLINED in fields else None


def cost(facts: Mapping[str, Any]) -> str:
    """A sentence that states what a curve cost each respondent; empty if its facts do not say."""
    epsilon = facts.get("epsilon", math.nan)
    known = Spend(math.inf if epsilon is None else float(epsilon), float(facts.get("delta", 0.0)))
    told = None if math.isnan(known.epsilon) else known
    return told_cost(told, simulated=facts.get("simulated") is True)


def how(facts: Mapping[str, Any]) -> str:
    """The facts of a curve that its cost does not tell, for notebooks; lists are left out."""
    own = ("epsilon", "delta", "simulated")
    told = {key: value for key, value in facts.items() if key not in own}
    return described({key: value for key, value in told.items() if not isinstance(value, list)})


def described(facts: Mapping[str, Any]) -> str:
    """Facts in print, without the fingerprint of the summary."""
    return ", ".join(f"{key}={short(value)}" for key, value in facts.items() if key != "summary")


def short(value: Any) -> str:
    """A fact in print: a number with four digits, a list with three entries."""
    if isinstance(value, (list, tuple)) and len(value) > 3:
        return f"[{', '.join(map(short, value[:3]))}, ...]"
    if isinstance(value, list):
        return f"[{', '.join(map(short, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def keyed(
    fields: Any, curve: str, keys: tuple[str, ...], *, optional: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """The fields of a curve's JSON form, all there and none besides but optional ones."""
    if not isinstance(fields, Mapping) or fields.get("curve") != curve:
        raise InvalidInput(f"a {curve} as a JSON object", "a value of another type")
    _checks.known_keys(fields, ("curve", *keys, *optional), f"a {curve}")
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} in a {curve}", "none")
    if "facts" in keys and not isinstance(fields["facts"], Mapping):
        raise InvalidInput(f"facts in a {curve} as a JSON object", "a value of another type")
    return fields


def names(fields: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """The names of the columns, one each."""
    return words(fields, "names", count)


def words(fields: Mapping[str, Any], key: str, count: int) -> tuple[str, ...]:
    """Check a list of words of a given length."""
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
            raise InvalidInput(
                "edges in ascending order", "edges in another order, or fewer than two"
            )
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


ENDS = ("estimate", "low", "high")


def frame(rows: list[dict[str, Any]]) -> Any:
    """A pandas DataFrame of rows."""
    return extra("pandas", "all").DataFrame(rows)


def to_frame(curves: Mapping[Any, Any], *, by: tuple[str, ...] = ("group",), **options: Any) -> Any:
    """The tables of several curves below each other, with columns that name the group.

    Parameters
    ----------
    curves
        A curve for each group, as ``groups.map(estimator.fit)`` gives them.
    by
        Names of the columns for the groups' keys.
    options
        Passed on to each curve's ``to_frame``, such as ``level=0.9``.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import numpy as np
    >>> from confide.curves import Proportions
    >>> north = Proportions(("no", "yes"), np.array([0.7, 0.3]))
    >>> print(to_frame({"north": north}, by=("region",))[["region", "category", "estimate"]])
      region category  estimate
    0  north       no       0.7
    1  north      yes       0.3
    """
    pandas = extra("pandas", "all")
    parts = []
    for key, curve in curves.items():
        words = key if isinstance(key, tuple) else (key,)
        if len(words) != len(by):
            raise InvalidInput(f"keys of {len(by)} parts, one for each of by", f"{len(words)}")
        part = curve.to_frame(**options)
        for at, (name, word) in enumerate(zip(by, words, strict=True)):
            part.insert(at, name, word)
        parts.append(part)
    if not parts:
        raise InvalidInput("at least one group", "none")
    return pandas.concat(parts, ignore_index=True)


def size(fields: Mapping[str, Any], key: str) -> int:
    """How many numbers a list of a curve's JSON form has, at least one."""
    if not isinstance(fields[key], list) or not fields[key]:
        raise InvalidInput(f"a list of {key} in a {fields['curve']}", "something else")
    return len(fields[key])

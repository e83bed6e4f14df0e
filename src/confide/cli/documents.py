"""Summaries in files: JSON, or a compact numpy archive; of one question or of all."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.files.paths import load_json, named, write_bytes
from confide.summaries import Counts, Groups
from confide.summaries.plausibility import checked

SUFFIXES = (".json", ".npz")
VERSION = 1
Summary = Counts | Groups[Counts]
ALONE = ""
"""Name of a question that nobody named: Python's own summaries do not."""
# What parsers, zip archives and conversions say about bytes that were changed.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
)


def load(path: Path) -> dict[str, Summary]:
    """The summaries in a file, by question; a single one may have the name ''."""
    data = path.read_bytes()
    where = named(path)
    fields = None if path.suffix == ".npz" else load_json(data, where)
    try:
        if path.suffix == ".npz":
            name, counts = Counts.named_from_bytes(data)
            return {name: counts}
        if isinstance(fields, Mapping) and fields.get("confide") == "summaries":
            return _several(fields)
        return _named(fields)
    except InvalidInput as error:
        raise type(error)(f"{error.expected} in {where}", error.got, error.advice) from None
    except DAMAGE:
        raise InvalidInput(f"a summary written by confide in {where}", "a damaged one") from None


def _named(fields: Any) -> dict[str, Summary]:
    """A summary of one question, which may say its name."""
    if not isinstance(fields, Mapping) or fields.get("confide") != "groups":
        counts = Counts.from_dict(fields)
        return {fields.get("question", ALONE): counts}
    name = fields.get("question", ALONE)
    if not isinstance(name, str):
        raise InvalidInput("a question by name in a summary", _checks.shown(name))
    return {name: _groups({key: fields[key] for key in fields if key != "question"})}


def _groups(fields: Mapping[str, Any]) -> Groups[Counts]:
    groups = Groups[Counts].from_dict(fields)
    if not groups or not isinstance(next(iter(groups.values())), Counts):
        raise InvalidInput("counts of at least one group", "none")
    return groups


def _several(fields: Mapping[str, Any]) -> dict[str, Summary]:
    _checks.known_keys(fields, ("confide", "version", "questions"), "a file of summaries")
    if fields.get("version") != VERSION:
        raise InvalidInput(f"summaries of version {VERSION}", "another version")
    if not fields["questions"]:
        raise InvalidInput("at least one question", "none")
    result: dict[str, Summary] = {}
    for name, summary in fields["questions"].items():
        by_group = isinstance(summary, Mapping) and summary.get("confide") == "groups"
        result[name] = _groups(summary) if by_group else Counts.from_dict(summary)
    return result


def save(path: Path, summaries: Mapping[str, Summary]) -> None:
    """Write summaries: one question as it is, several as one object."""
    for name, one in summaries.items():
        checked(one if isinstance(one, Counts) else one.total(), question=name)
    if path.suffix == ".npz":
        if len(summaries) > 1:
            raise InvalidInput(
                "one question for a .npz file",
                f"{len(summaries)} questions",
                "Choose one with --question, or write .json.",
            )
        ((name, only),) = summaries.items()
        if isinstance(only, Groups):
            raise InvalidInput("a .json file for groups", named(path))
        write_bytes(path, only.to_bytes(question=name))
        return
    if len(summaries) == 1:
        ((name, only),) = summaries.items()
        fields = _question(name) | only.to_dict()
    else:
        fields = {
            "confide": "summaries",
            "version": VERSION,
            "questions": {name: counts.to_dict() for name, counts in summaries.items()},
        }
    write_bytes(path, json.dumps(fields, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def _question(name: str) -> dict[str, Any]:
    return {} if name == ALONE else {"question": name}


def gather(paths: Sequence[Path]) -> dict[str, Summary]:
    """The summaries in files, added up question by question."""
    total = load(paths[0])
    for path in paths[1:]:
        total = _add(total, load(path), f"{named(paths[0])} and {named(path)}")
    return total


def _add(
    first: Mapping[str, Summary], second: Mapping[str, Summary], where: str
) -> dict[str, Summary]:
    if len(first) == len(second) == 1 and ALONE in {*first, *second}:
        # One of them does not say which question it is about: the mechanism must do.
        name = max(*first, *second)
        first, second = {name: next(iter(first.values()))}, {name: next(iter(second.values()))}
    if set(first) != set(second):
        raise Mismatch(
            f"summaries of the same questions in {where}", f"{_listed(first)} and {_listed(second)}"
        )
    result: dict[str, Summary] = {}
    for name, one in first.items():
        two = second[name]
        unlike = _difference(*(some(part).mechanism.to_dict() for part in (one, two)))
        if unlike:
            raise Mismatch(
                f"summaries of one mechanism in {where}", unlike + (f" of {name!r}" if name else "")
            )
        try:
            result[name] = _sum(one, two)
        except Mismatch as error:
            raise Mismatch(f"{error.expected} in {where}", error.got, error.advice) from None
    return result


def _sum(one: Summary, two: Summary) -> Summary:
    if isinstance(one, Counts) and isinstance(two, Counts):
        return one + two
    if isinstance(one, Groups) and isinstance(two, Groups):
        return one + two
    raise Mismatch("summaries that are all by group or all of everybody", "one of each")


def some(summary: Summary) -> Counts:
    """The counts themselves, or those of any group: what all of them have in common."""
    return summary if isinstance(summary, Counts) else next(iter(summary.values()))


def _difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    """The first field in which two mechanisms differ, and its values."""
    for key in dict.fromkeys((*one, *two)):
        a, b = one.get(key), two.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            inside = _difference(a, b)
            if inside:
                return inside
        elif a != b:
            return f"{key} = {_checks.shown(a)} and {_checks.shown(b)}"
    return ""


def _listed(names: Mapping[str, Summary]) -> str:
    return ", ".join(map(repr, names)) if ALONE not in names else "one without a name"

"""Summaries in files: JSON, or a compact numpy archive; of one question or of all."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confide import _validate
from confide._files import load_json, named, write_bytes
from confide.errors import InvalidInput, Mismatch
from confide.summaries import Counts

SUFFIXES = (".json", ".npz")
VERSION = 1
ALONE = ""
"""Name of the question in a file that holds only one."""
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


def load(path: Path) -> dict[str, Counts]:
    """The summaries in a file, by question; a single one has the name ''."""
    data = path.read_bytes()
    where = named(path)
    try:
        if path.suffix == ".npz":
            return {ALONE: Counts.from_bytes(data)}
        fields = load_json(data, where)
        if isinstance(fields, Mapping) and fields.get("confide") == "summaries":
            return _several(fields)
        return {ALONE: Counts.from_dict(fields)}
    except InvalidInput as error:
        expected = error.expected if where in error.expected else f"{error.expected} in {where}"
        raise type(error)(expected, error.got, error.advice) from None
    except DAMAGE:
        raise InvalidInput(f"a summary written by confide in {where}", "a damaged one") from None


def _several(fields: Mapping[str, Any]) -> dict[str, Counts]:
    _validate.known_keys(fields, ("confide", "version", "questions"), "a file of summaries")
    if fields.get("version") != VERSION:
        raise InvalidInput(f"summaries of version {VERSION}", "another version")
    if not fields["questions"]:
        raise InvalidInput("at least one question", "none")
    return {name: Counts.from_dict(summary) for name, summary in fields["questions"].items()}


def save(path: Path, summaries: Mapping[str, Counts]) -> None:
    """Write summaries: one question as it is, several as one object."""
    if path.suffix == ".npz":
        if len(summaries) > 1:
            raise InvalidInput(
                "one question for a .npz file",
                f"{len(summaries)} questions",
                "Choose one with --question, or write .json.",
            )
        (only,) = summaries.values()
        write_bytes(path, only.to_bytes())
        return
    if len(summaries) == 1:
        (only,) = summaries.values()
        fields = only.to_dict()
    else:
        fields = {
            "confide": "summaries",
            "version": VERSION,
            "questions": {name: counts.to_dict() for name, counts in summaries.items()},
        }
    write_bytes(path, json.dumps(fields, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def merge(first: Mapping[str, Counts], second: Mapping[str, Counts]) -> dict[str, Counts]:
    """Add summaries question by question."""
    if set(first) != set(second):
        raise Mismatch(
            f"summaries of the same questions, {_listed(first)}", f"some of {_listed(second)}"
        )
    return {name: counts + second[name] for name, counts in first.items()}


def _listed(names: Mapping[str, Counts]) -> str:
    return ", ".join(map(repr, names)) if ALONE not in names else "a single one"

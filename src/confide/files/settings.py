"""Plain values that people write into .toml and .json files: surveys, margins."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confide import _limits
from confide.errors import InvalidInput
from confide.files.paths import load_json, named, readable

PARTS = 64
"""Points outside of quotes in a line of TOML, at most."""
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


def settings_of(path: str | Path, what: str) -> Any:
    """The plain values in a .toml or .json file.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for messages: "a survey".
    """
    path = Path(path)
    readable(path)
    if path.suffix not in (".toml", ".json"):
        raise InvalidInput(f"{what} that ends in .toml or .json", named(path))
    if path.stat().st_size > _limits.MAX_SURVEY:
        raise InvalidInput(
            f"{what} of at most {_limits.MAX_SURVEY:,} bytes",
            f"{path.stat().st_size:,} in {named(path)}",
        )
    data = path.read_bytes()
    if path.suffix == ".json":
        return load_json(data, named(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"UTF-8 text in {named(path)}", "other bytes") from None
    _no_long_keys(text, named(path))
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InvalidInput(f"TOML in {named(path)}", _fault(error)) from None


def _no_long_keys(text: str, where: str) -> None:
    """Refuse keys of very many parts, over which Python's parser takes time by their square."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > PARTS and QUOTED.sub("", line).count(".") > PARTS:
            raise InvalidInput(
                f"keys of at most {PARTS} parts in {where}", f"a longer one in line {number}"
            )


def _fault(error: Exception) -> str:
    """What the parser says, which quotes keys and single characters at most."""
    words = re.fullmatch(r"(.+) \((at .+)\)", str(error))
    return (
        f"a mistake {words[2]} ({words[1][0].lower()}{words[1][1:]})" if words else "something else"
    )


def toml_of(fields: Mapping[str, Any]) -> str:
    """Plain values as the text of a .toml file: what `settings_of` reads.

    Examples
    --------
    >>> print(toml_of({"title": "Pay", "questions": {"pay": {"low": 0, "zoom": [1, 2]}}}), end="")
    title = "Pay"
    <BLANKLINE>
    [questions.pay]
    low = 0
    zoom = [1, 2]
    """
    return "\n".join(_lines(fields, ())).lstrip("\n") + "\n"


def _lines(fields: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """The lines of a table and of those inside it."""
    inner = {key: each for key, each in fields.items() if isinstance(each, Mapping) and each}
    own = [f"{_key(key)} = {_value(each)}" for key, each in fields.items() if key not in inner]
    lines = ["", f"[{'.'.join(map(_key, path))}]", *own] if path and (own or not inner) else own
    for key, each in inner.items():
        lines += _lines(each, (*path, key))
    return lines


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
    if isinstance(value, str):
        # JSON's escapes are TOML's, and DEL is the one character that only TOML refuses.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)

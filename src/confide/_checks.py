"""Checks of arguments, one line each where they are used.

Every check takes its subject as a keyword, so that the message can name it, and returns it
converted: ``epsilon = positive(epsilon=epsilon)``.
"""

from __future__ import annotations

import difflib
import itertools
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.errors import InvalidInput, Unnamed, unquoted

steady = np.errstate(all="ignore")
"""For functions that take private values: they do the same whatever numpy's error state is.

Where that state is "raise" or "warn", an underflow would tell that somebody's value is tiny. What
floats may do to a value is checked by us, and refused without quoting it."""
DEPTH = 32
"""Dimensions of an array that is given as lists of lists, at most."""
COMPARED, LENGTH = 1000, 100
"""Known names that an unknown one is compared with, and how long they may be."""
LISTED = 160
"""Characters of a list of known words that a message has in place of "a known"."""
KNOWN = "Known: "
"""Begins the advice that lists all known words, as none is near."""


def _only(named: dict[str, Any]) -> tuple[str, Any]:
    ((name, value),) = named.items()
    return name, value


def _number(expected: str, name: str, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InvalidInput(expected, f"{name}={shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidInput(expected, f"{name}={shown(value)}") from None


def kind(value: Any) -> str:
    """What a value is, for a message that must not quote it: "a list", "an int", "None"."""
    name = type(value).__name__
    if value is None:
        return "None"
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    """The first field in which two mechanisms differ, and its values."""
    for key in dict.fromkeys((*one, *two)):
        a, b = one.get(key), two.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if inside := difference(a, b):
                return inside
        elif a != b:
            return f"{key} = {shown(a)} and {shown(b)}"
    return ""


def shown(value: Any) -> str:
    """A short form of a value for a message: never a page, never a line break."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value).replace("\n", " ")
    except Exception:  # whatever a hostile object does when it is asked for its name
        text = kind(value)
    return text if len(text) <= 60 else text[:57] + "..."


def finite(**named: Any) -> float:
    """A finite number, as a float."""
    name, value = _only(named)
    result = _number(f"a finite {name}", name, value)
    if not math.isfinite(result):
        raise InvalidInput(f"a finite {name}", f"{name}={result}")
    return result


def positive(**named: Any) -> float:
    """A finite number above zero, as a float."""
    name, value = _only(named)
    result = _number(f"{name} > 0", name, value)
    if not (math.isfinite(result) and result > 0):
        raise InvalidInput(f"{name} > 0", f"{name}={result:g}")
    return result


def within(low: float, high: float, **named: Any) -> float:
    """A number in [low, high], as a float."""
    name, value = _only(named)
    expected = f"{low:g} <= {name} <= {high:g}"
    result = _number(expected, name, value)
    if not low <= result <= high:
        raise InvalidInput(expected, f"{name}={result:g}")
    return result


def level(value: Any) -> float:
    """A confidence level, strictly between 0 and 1."""
    result = _number("0 < level < 1", "level", value)
    if not 0 < result < 1:
        raise InvalidInput("0 < level < 1", f"level={result:g}", "For 95 % write level=0.95.")
    return result


def integer(minimum: int, maximum: int | None = None, **named: Any) -> int:
    """A whole number in [minimum, maximum], as an int."""
    name, value = _only(named)
    bounds = f">= {minimum:,}" if maximum is None else f"from {minimum:,} to {maximum:,}"
    expected = f"a whole number {name} {bounds}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InvalidInput(expected, f"{name}={shown(value)}")
    if value < minimum or (maximum is not None and value > maximum):
        raise InvalidInput(expected, f"{name}={shown(value)}")
    return int(value)


def flag(**named: Any) -> bool:
    """True or false."""
    name, value = _only(named)
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} to be true or false", f"{name}={shown(value)}")
    return value


def nearest(word: Any, known: Iterable[str], *, rest: str = "") -> str:
    """Advice that names the known word nearest to an unknown one; else all of them, or the rest."""
    # Names come from files too: comparing two takes time that grows with the product of lengths.
    known = list(itertools.islice(known, COMPARED))
    short = [name for name in known if len(name) <= LENGTH]
    close = difflib.get_close_matches(str(word)[: LENGTH + 1], short, n=1)
    if close:
        return f"Did you mean {shown(close[0])}?"
    if rest:
        return rest
    # The message must stay on one line.
    plain = (name if name.isprintable() and len(name) <= 60 else shown(name) for name in known)
    return f"{KNOWN}{', '.join(plain)}."


def one_of(known: Sequence[str], **named: Any) -> str:
    """One of the known words."""
    name, value = _only(named)
    if not isinstance(value, str) or value not in known:
        near, listed = nearest(value, known), ", ".join(known)
        if 0 < len(listed) <= LISTED and listed.isprintable():
            advice = "" if near.startswith(KNOWN) else near
            some = f"one of {listed}" if len(known) > 1 else listed
            raise InvalidInput(f"{some} for {name!r}", shown(value), advice)
        raise InvalidInput(f"a known {name}", f"{name}={shown(value)}", near)
    return value


def only(names: Sequence[str], **named: str | None) -> str:
    """The name that an argument gives, or the only one there is.

    Parameters
    ----------
    names
        What the argument can be.
    **named
        The argument, None where it is not given.
    """
    ((parameter, given),) = named.items()
    if given is not None:
        return one_of(tuple(names), **named)
    if not names:
        raise InvalidInput(f"a question or column for {parameter}", "none")
    if len(names) > 1:
        raise Unnamed(parameter, names)
    return names[0]


def known_keys(given: Iterable[str], known: Sequence[str], where: str) -> None:
    """Refuse unknown keys, so that a misspelt key is not ignored silently."""
    for key in given:
        if key not in known:
            raise InvalidInput(f"known keys in {where}", shown(key), nearest(key, known))


PUBLIC_VALUE = "Give missing answers a public value of their own."
LEAVE_OUT = "Leave the rows of missing answers out."
"""Advice about missing answers: before noise is drawn, and for data noised elsewhere."""


@unquoted("a plain array")
@steady
def array(*, gap: Any = PUBLIC_VALUE, **named: Any) -> npt.NDArray[Any]:
    """Convert to an array as numpy does; masked and ragged input is refused."""
    name, value = _only(named)
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidInput(
            f"{name} without a mask",
            "a masked array",
            gap,
        )
    try:
        return np.asarray(value, dtype=object) if _texts(value) else np.asarray(value)
    except (ValueError, TypeError):
        raise InvalidInput(f"{name} as a plain array", "rows of different lengths") from None


def _texts(value: Any, depth: int = DEPTH) -> bool:
    """Whether lists hold text, or are nested deeper than any array.

    Numpy would give every entry the length of the longest text: one long word among many short
    ones, in a file of a megabyte, would take gigabytes.
    """
    if not isinstance(value, (list, tuple)):
        return False
    kinds = set(map(type, value))
    if not depth or any(issubclass(kind, (str, bytes)) for kind in kinds):
        return True
    nested = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return nested and any(_texts(item, depth - 1) for item in value)


@unquoted("plain numbers")
@steady
def vector(*, gap: Any = PUBLIC_VALUE, **named: Any) -> Floats:
    """A one-dimensional array of finite numbers, as float64.

    Accepts whatever numpy can view as numbers: lists, arrays, series. Strings are refused even
    where they spell a number, since what reads "nan" or "1,5" as a number is not for us to guess.
    Messages name the place of a bad value and never the value: they end in logs. ``gap`` says what
    to do about missing answers.
    """
    name, value = _only(named)
    given = array(gap=gap, **named)
    if given.size == 0:
        raise InvalidInput(f"at least one number in {name}", "none")
    if given.ndim != 1:
        raise InvalidInput(f"{name} of one dimension", f"shape {given.shape}")
    if given.dtype.kind not in "iuf":
        raise InvalidInput(f"numbers in {name}", _first_odd(given.tolist(), given.dtype))
    if isinstance(value, (list, tuple)) and any(
        isinstance(item, (bool, np.bool_)) for item in value
    ):
        raise InvalidInput(f"numbers in {name}", _first_odd(value, given.dtype))
    result: Floats = given.astype(np.float64, copy=False)
    bad = np.flatnonzero(~np.isfinite(result))
    if bad.size:
        raise InvalidInput(
            f"finite numbers in {name}",
            f"{result[bad[0]]} at position {bad[0]}"
            + (f" and {bad.size - 1} more" if bad.size > 1 else ""),
            gap,
        )
    return result


def frozen(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only array: the array itself if nothing can write to it, otherwise a copy."""
    if given.flags.writeable or given.base is not None:
        given = given.copy()
        given.flags.writeable = False
    return given


def _first_odd(items: Sequence[Any], dtype: np.dtype[Any]) -> str:
    for position, item in enumerate(items):
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, float, np.number)):
            return f"{kind(item)} at position {position}"
    return f"an array of type {dtype}"

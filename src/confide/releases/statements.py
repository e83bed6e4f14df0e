"""Sensitivity stated by the user for a custom function, and checks that try to refute it.

A release may run a function that confide knows nothing about. Then its sensitivity is a statement
by its author: small made-up data sets can refute it, and none can prove it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card
from confide.errors import BadSetting, InvalidInput, Unsupported
from confide.lattice import Lattice
from confide.mechanisms.protocol import NONE, Kinds
from confide.releases.bounded import Bounds, described, indexed, named, split
from confide.releases.means import checked_columns
from confide.releases.release import Indices, Recipe, bounded, checked

FINE = 1024
"""Steps in the stated sensitivity by default: rounding then costs a thousandth of the noise."""
FEW = 4
"""All data sets of up to this number of records are tried, at as many places or fewer."""
MIXED = 8
"""Of more records the others lie at one place, or at the two ends: eighths of them at each."""

PLAIN = (bool, int, float, str, bytes, type(None))
"""Types of the values in a function's closure that its fingerprint covers."""

Values = npt.NDArray[np.float64]
Answers = list[Fraction]


@dataclass(frozen=True)
class Check:
    """The result of trying a stated sensitivity on made-up neighboring data sets.

    Parameters
    ----------
    stated
        The sensitivity that was stated, for n records.
    found
        The largest change that was found.
    n
        Number of records in each data set.
    sets
        How many data sets were tried.
    refuted
        Whether the largest change is above what was stated by more than one step, the room that
        the noise has for the rounding errors of the function.
    pair
        The two data sets with the largest change. They are made up, so they may be shown.

    Examples
    --------
    >>> check = Check(stated=1.0, found=0.5, n=4, sets=30, refuted=False, pair=((0,), (1,)))
    >>> check.words()[:57]
    'In 30 made-up data sets of 4 records one record changed t'
    """

    stated: float
    found: float
    n: int
    sets: int
    refuted: bool
    pair: tuple[Any, Any]

    def words(self) -> str:
        """The result, in a sentence or two."""
        if self.refuted:
            return (
                f"The stated sensitivity of {self.stated:g} is wrong: one of {self.n} made-up "
                f"records changed the answer by {self.found:g}."
            )
        return (
            f"In {self.sets} made-up data sets of {self.n} records one record changed the answer "
            f"by {self.found:g} at most; {self.stated:g} was stated. This does not prove the "
            "statement: data sets that were not tried may change more."
        )

    def _repr_html_(self) -> str:
        """What was stated and what was found, for notebooks."""
        verdict = "refuted" if self.refuted else "not refuted"
        changes = {"stated": self.stated, "found": self.found}
        return card(
            f"Stated sensitivity: {verdict}",
            bars(list(changes.values()), list(changes), told="stated and found"),
            facts=self.words(),
        )


class Stated(Recipe):
    """A release that runs a function of its user's, with a sensitivity that the user states.

    The function sees values clipped to public bounds and rounded to the cells of a public lattice.
    What it answers is clipped to public bounds too; where it fails or gives no number, that is
    the lower bound, since an error would tell something about a record. Then it is rounded down to
    a multiple of a public step, exactly.
    """

    SEVERAL: ClassVar[str] = ""
    """What to do where the function gives another number of numbers."""

    what: str
    function: Callable[..., Any]
    lattice: Bounds
    sensitivity: float
    low: float
    high: float
    step: float | None
    divided_by_n: bool
    least: int

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of numbers in an answer."""

    @abstractmethod
    def asked(self, values: Values) -> Any:
        """The result of the function for these values."""

    @abstractmethod
    def distance(self, one: Answers, other: Answers) -> Fraction:
        """Distance between answers in the norm of the sensitivity; squared for Gaussian noise."""

    @abstractmethod
    def reached(self, limit: Fraction) -> Fraction:
        """A distance as `distance` counts it."""

    def _check_statement(self) -> None:
        """Validate the fields that every statement has."""
        if not isinstance(self.what, str) or not self.what:
            raise InvalidInput(
                "a name for the function, as what=", _checks.shown(self.what), "JSON shows it."
            )
        if not callable(self.function):
            raise InvalidInput("a function", _checks.kind(self.function))
        given = self.lattice
        kept = checked_columns(given) if isinstance(given, Mapping) else bounded(given)
        object.__setattr__(self, "lattice", kept)
        checked(self)
        for name in ("low", "high"):
            object.__setattr__(self, name, _checks.finite(**{name: getattr(self, name)}))
        if not self.low < self.high:
            raise InvalidInput(
                "low < high, public bounds of the answers", f"low={self.low:g}, high={self.high:g}"
            )
        change = _checks.positive(sensitivity=self.sensitivity)
        object.__setattr__(self, "sensitivity", change)
        if self.step is not None:
            object.__setattr__(self, "step", _checks.positive(step=self.step))
        object.__setattr__(self, "divided_by_n", _checks.flag(divided_by_n=self.divided_by_n))
        object.__setattr__(self, "least", _checks.integer(1, least=self.least))

    @property
    def code(self) -> str:
        """A short fingerprint of the function's code; not of what else it uses."""
        return fingerprint(self.function)

    def made_of(self) -> dict[str, Any]:
        """The fields, with the fingerprint of the code in place of the function."""
        made = {key: getattr(self, key) for key in self.json_keys()}
        made.pop("function")
        made.pop("lattice")
        plain = {key: list(each) if isinstance(each, tuple) else each for key, each in made.items()}
        return {"columns": described(self.lattice), "code": self.code, **plain}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """Refuse: JSON holds no function."""
        return cls.from_dict(made)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], kinds: Kinds = NONE) -> NoReturn:
        """Refuse: JSON holds the name and the fingerprint of a function, not the function."""
        raise Unsupported(
            f"A {cls.name} cannot be read from JSON, which holds no function: make it anew. What "
            "was released can be read with Release.from_dict."
        )

    def change(self, n: int) -> Fraction:
        """The stated sensitivity for n records, the float or what is written, the larger."""
        if n < self.least:
            raise InvalidInput(f"at least {self.least} records", str(n))
        whole = max(Fraction(self.sensitivity), Fraction(repr(self.sensitivity)))
        return whole / n if self.divided_by_n else whole

    def unit(self, n: int) -> Fraction:
        """The step for n records."""
        if self.step is not None:
            return Fraction(self.step)
        return self.change(n) / (FINE * self.size)

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The lattice of each column."""
        return named(self.lattice)

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values, one row a record."""
        return indexed(list(named(self.lattice).values()), split(self.lattice, values))

    def seen(self, indices: Indices) -> Values:
        """The function's input: centers of cells, one row per record, read-only."""
        several = enumerate(named(self.lattice).values())
        columns = [lattice.position(indices[:, at]) for at, lattice in several]
        found = columns[0] if isinstance(self.lattice, Lattice) else np.stack(columns, axis=1)
        return _checks.frozen(np.asarray(found, dtype=np.float64))

    def answers(self, indices: Indices) -> Answers:
        """The function's answers, clipped to the bounds; the lower bound if it fails."""
        found = np.full(self.size, np.nan)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with contextlib.suppress(Exception):
                found = self._numbers(self.seen(indices))
        clipped = np.clip(np.where(np.isnan(found), self.low, found), self.low, self.high)
        return [Fraction(number) for number in clipped.tolist()]

    def whole(self, indices: Indices) -> list[int]:
        """The answers in whole steps, rounded down."""
        unit = self.unit(len(indices))
        return [math.floor(answer / unit) for answer in self.answers(indices)]

    def _numbers(self, values: Values) -> Values:
        found = np.asarray(self.asked(values))
        if found.size != self.size or found.ndim > 1 or found.dtype.kind not in "biuf":
            raise BadSetting(
                f"a function that gives {self.size} number{'s' * (self.size > 1)}",
                f"shape {found.shape}",
                self.SEVERAL,
            )
        return found.astype(np.float64).reshape(self.size)

    def vet(self, n: int) -> None:
        """Refuse a function that fails on made-up records, or whose sensitivity they refute."""
        columns = named(self.lattice).values()
        spread = [np.arange(n) * each.size // n for each in columns]
        try:
            self._numbers(self.seen(np.stack(spread, axis=1)))
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidInput(
                "a function that runs on made-up records between the bounds",
                f"{type(error).__name__}: {error}",
            ) from error
        found = check(self, n=n)
        if found.refuted:
            raise InvalidInput(
                f"a sensitivity of at least {found.found:g}",
                f"{found.stated:g}, which {found.sets} made-up data sets refute",
                "releases.check gives two of them.",
            )

    def _statement(self, n: int) -> dict[str, Any]:
        """Facts about what the guarantee rests on."""
        change = float(self.change(n))
        return {
            "what": self.what,
            "sensitivity": change,
            "step": float(self.unit(n)),
            "stated": (
                f"All this holds if no record changes {self.what} by more than {change:g}, as was "
                "stated by whoever made this release. Data sets that are made up did not refute "
                "that, which proves nothing."
            ),
        }


def fingerprint(function: Callable[..., Any]) -> str:
    """A short name of a function's compiled code, its defaults and plain values that it holds.

    What the function calls, and what else it remembers, is not part of it. Another version of
    Python may compile the same source to other code.

    Examples
    --------
    >>> def twice(x): return 2 * x
    >>> def thrice(x): return 3 * x
    >>> fingerprint(twice) == fingerprint(twice), fingerprint(twice) == fingerprint(thrice)
    (True, False)
    """
    return hashlib.sha256(_described(function).encode()).hexdigest()[:32]


def _described(function: Any) -> str:
    if isinstance(function, functools.partial):
        keywords = sorted(function.keywords.items())
        return f"{_described(function.func)} {function.args!r} {keywords!r}"
    code = getattr(function, "__code__", None)
    if code is None:
        own = getattr(function, "__qualname__", None)
        if own is None:
            # An object that can be called: what its class does, not what it remembers.
            return f"{type(function).__qualname__} {_described(type(function).__call__)}"
        return f"{getattr(function, '__module__', '')}.{own}"
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    plain = [each for each in held if isinstance(each, PLAIN)]
    defaults = (function.__defaults__, function.__kwdefaults__)
    return f"{_compiled(code)} {plain!r} {defaults!r}"


def _compiled(code: Any) -> str:
    if isinstance(code, frozenset):
        # Sets are unordered.
        return repr(sorted(map(_compiled, code)))
    if isinstance(code, tuple):
        return repr([_compiled(each) for each in code])
    if not inspect.iscode(code):
        return repr(code)
    return f"{code.co_code.hex()} {code.co_names} {_compiled(code.co_consts)}"


def check(recipe: Stated, *, n: int = 3) -> Check:
    """Try to refute the sensitivity that a `Statistic` or a `Selection` states.

    All data sets of up to four records at a few cells are tried. Of more records those are tried
    in which all but one lie in one cell, and some others. A statement that is not refuted is not
    proved.

    Parameters
    ----------
    recipe
        The release, with its function and what is stated about it.
    n
        Number of records in the data sets.

    Examples
    --------
    >>> from confide import Lattice
    >>> from confide.releases import Statistic
    >>> unit = Lattice(low=0, high=1, size=16)
    >>> wrong = Statistic("range", np.ptp, unit, sensitivity=0.5, low=0, high=1, epsilon=1.0)
    >>> print(check(wrong).words())
    The stated sensitivity of 0.5 is wrong: one of 3 made-up records changed the answer by 0.9375.
    """
    if not isinstance(recipe, Stated):
        raise InvalidInput("a Statistic or a Selection", _checks.kind(recipe))
    n = _checks.integer(1, n=n)
    limit = recipe.reached(recipe.change(n) + recipe.unit(n))
    worst, sets, pair = Fraction(-1), 0, None
    kept: dict[bytes, Answers] = {}
    for family in _families(recipe, n):
        answers = []
        for data in family:
            key = data.tobytes() if n <= FEW else b""
            if not key or key not in kept:
                kept[key] = recipe.answers(data)
                sets += 1
            answers.append(kept[key])
        for one, other in combinations(range(len(family)), 2):
            far = recipe.distance(answers[one], answers[other])
            if far > worst:
                worst, pair = far, (family[one], family[other])
    assert pair is not None
    root = recipe.reached(Fraction(2)) != 2
    found = math.sqrt(worst) if root else float(worst)
    shown = tuple(recipe.seen(each) for each in pair)
    return Check(float(recipe.change(n)), found, n, sets, worst > limit, (shown[0], shown[1]))


def _families(recipe: Stated, n: int) -> Iterator[list[Indices]]:
    """Data sets of n records; any two of a family differ in one record."""
    places = _places(recipe)
    if n <= FEW:
        for at in range(n):
            for others in product(places, repeat=n - 1):
                yield [np.array([*others[:at], place, *others[at:]]) for place in places]
        return
    table = np.array(places)
    for other in table:
        rest = np.tile(other, (n - 1, 1))
        yield [np.concatenate([rest, place[None]]) for place in table]
    # In the middle a rank or a ratio may change most, so others are divided in several ways.
    for share in range(1, MIXED):
        below = (n - 1) * share // MIXED
        rest = np.repeat(table[[0, -1]], [below, n - 1 - below], axis=0)
        yield [np.concatenate([rest, place[None]]) for place in table]


def _places(recipe: Stated) -> list[npt.NDArray[np.int64]]:
    """A few cells: the ends, and some between; of several columns corners, and the middle."""
    sizes = [lattice.size for lattice in named(recipe.lattice).values()]
    if len(sizes) == 1:
        some = np.unique(np.linspace(0, sizes[0] - 1, FEW).astype(np.int64))
        return [np.array([each]) for each in some]
    last = np.array(sizes) - 1
    turned = np.where(np.arange(len(sizes)) % 2 == 0, 0, last)
    return [0 * last, turned, last - turned, last]


def words_of(given: Any, name: str, *, least: int) -> tuple[str, ...]:
    """Different words as a tuple with a least length."""
    found = tuple(given) if isinstance(given, list | tuple) else None
    if found is None or len(found) < least or not all(isinstance(each, str) for each in found):
        raise InvalidInput(f"a list of at least {least} words as {name}", _checks.shown(given))
    if len(set(found)) < len(found):
        raise InvalidInput(f"each of the {name} once", "one twice")
    return found

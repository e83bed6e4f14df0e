"""Base classes of mechanisms, and their reports."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import card
from confide._types import Floats
from confide.accounting.spend import Spend, told_cost
from confide.errors import InvalidInput, Unsupported, unquoted
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.inversion import Part
from confide.lattice import CHUNK, Categories, Cells, Lattice
from confide.mechanisms.laws import Law

READ: Mapping[str, Callable[[Any], Any]] = {
    "lattice": lambda value: None if value is None else Lattice.from_dict(value),
    "cells": Cells.from_dict,
}
"""Fields of these names have a JSON form of their own; all others are plain values."""

Kinds = Mapping[str, "type[Private]"]
"""Kinds of private things, by name."""
NONE: Kinds = {}


class Described(ABC):
    """Anything whose public parameters are plain values."""

    name: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly these parameters: equal only where everything public is equal."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what it is made of; what was computed from that is computed again."""
        computed = {
            name
            for kind in type(self).__mro__
            for name, member in vars(kind).items()
            if isinstance(member, cached_property)
        }
        return {name: value for name, value in self.__dict__.items() if name not in computed}


class Private(Described):
    """Anything that draws an output from private values and states what that costs.

    A kind is a frozen dataclass, and its fields are what it is made from. The JSON form has these
    fields, under ``role`` the name of the kind, and whatever `stated` adds.

    Examples
    --------
    >>> from confide import Laplace
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
    >>> isinstance(mechanism, Private), mechanism.spend
    (True, Spend(epsilon=1))
    >>> Laplace.from_dict(mechanism.to_dict()) == mechanism
    True
    """

    role: ClassVar[str] = "mechanism"
    """The key of the JSON form that holds the name."""
    implied: ClassVar[tuple[str, ...]] = ()
    """Fields that the JSON form may leave out."""

    @property
    @abstractmethod
    def spend(self) -> Spend:
        """An upper bound on the cost of one output."""

    @property
    def inner(self) -> Mapping[str, Private]:
        """Private things that it runs and whose guarantee it has, by name; none by default."""
        return {}

    @abstractmethod
    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """Every sampler that it draws from, each with its exact law.

        Parameters
        ----------
        prepared
            The private input of `draw`, where the laws depend on it: a release and a sampler
            state the weights that they draw with for these very records. Private then.
        """

    @classmethod
    def json_keys(cls) -> tuple[str, ...]:
        """Names of the fields that it is made from, in JSON."""
        return tuple(each.name for each in dataclasses.fields(cls) if each.init)  # type: ignore[arg-type]

    def made_of(self) -> dict[str, Any]:
        """The fields that it is made from, as plain values for JSON."""
        return {name: _plain(getattr(self, name)) for name in self.json_keys()}

    def stated(self) -> dict[str, Any]:
        """Public parameters that follow from the fields, such as the weights of the noise."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the fields, and the public parameters that follow from them."""
        return {self.role: self.name, **self.made_of(), **self.stated()}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`; ``kinds`` are those that may be inside."""
        make: Callable[..., Self] = cls
        return make(**{name: READ.get(name, _same)(value) for name, value in made.items()})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `to_dict`; ``kinds`` are those that may be inside, by name.

        Public parameters that follow from the others (the noise's exact rational, its weights) are
        computed anew and must agree with those given: noise that differs from what is declared is
        refused.
        """
        what = f"a {cls.name} {cls.role}"
        if not isinstance(fields, Mapping):
            raise InvalidInput(f"{what} as a JSON object", _checks.shown(fields))
        _checks.one_of((cls.name,), **{cls.role: fields.get(cls.role)})
        made = cls.json_keys()
        for key in made:
            if key not in fields and key not in cls.implied:
                raise InvalidInput(f"the key {key!r} for {what}", "none")
        found = cls.read({key: fields[key] for key in made if key in fields}, kinds)
        stated = found.to_dict()
        _checks.known_keys(fields, tuple(stated), what)
        _same_size(fields.get("lattice"), stated.get("lattice"))
        for key, value in fields.items():
            if key not in made and not _alike(value, stated[key]):
                raise InvalidInput(
                    f"{key}={_checks.shown(stated[key])} for this {cls.name} {cls.role}",
                    f"{key}={_checks.shown(value)}",
                    "It was made by other rules than ours, so that its epsilon cannot be vouched "
                    "for.",
                )
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Categories):
        return list(value.labels)
    return value.to_dict() if isinstance(value, Lattice | Cells) else value


def _same_size(given: Any, made: Any) -> None:
    """Refuse a lattice of whole numbers whose size is not the one that it comes to have."""
    if isinstance(given, Mapping) and given.get("size", made["size"]) != made["size"]:
        raise InvalidInput(
            f"{made['size']} cells, each with equally many whole numbers", f"size={given['size']}"
        )


def _alike(given: Any, stated: Any) -> bool:
    """Whether two plain values are equal; types first: 1 == True and arrays compare to arrays."""
    if type(given) is not type(stated):
        return False
    if isinstance(given, list):
        return len(given) == len(stated) and all(map(_alike, given, stated))
    return bool(given == stated)


def _same(value: Any) -> Any:
    return value


Indices = npt.NDArray[np.int32]

CELLS = ("low", "high", "size", "scale", "kind", "zoom")
"""Keys of a survey file that make a lattice."""
DECLINED = "declined"
"""What curves call the share of those who preferred not to say: no category may be called so."""
NEGLIGIBLE = 1e-7
"""A function of the report whose root mean square is this much smaller than that of others is
taken to be zero. For the indicator of one report that is a chance of 1e-14."""


class Channel(Described):
    """Anything that turns a value into a report by a known law: all that an estimator needs.

    Most channels are mechanisms of confide; `Noised` describes noise added elsewhere.

    Examples
    --------
    >>> from confide import Laplace
    >>> channel = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
    >>> isinstance(channel, Channel), channel.law.outputs
    (True, (8,))
    """

    prefer_not_to_say: bool = False
    """Whether "prefer not to say" is an answer, with the index after the last one and a report of
    its own, the last. Then `unbiased` scores expect 0 of those who declined."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """Distribution of a report given the index of a value."""

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The public lattice of each question, by name; a single question has the name ''."""

    @property
    def marginals(self) -> Mapping[str, Channel]:
        """The channel of each question, by name; a single question has the name ''."""
        return {"": self}

    @property
    def single(self) -> bool:
        """Whether it has one question; otherwise values are given by the names of the axes."""
        return list(self.axes) == [""]

    @abstractmethod
    def unbiased(self, power: int) -> Floats:
        """A score g for each report with E[g(report) | index] = center(index)**power, exactly.

        Where people may decline it expects 0 of those who do. So the scores for the power 0 tell
        who answered, and a mean among those who did is a ratio of two means of scores.
        """

    def given(self, total: Floats) -> Channel:
        """The channel of these reports, where its law depends on their numbers: of phases only."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.fingerprint)


class Mechanism(Private, Channel):
    """A channel that runs on a respondent's device and states what it costs.

    A mechanism of one's own is a frozen dataclass (``eq=False``) with a name, a `law`, `spend`,
    `draw`, `unbiased` and `parts`, below `Numeric` or `Categorical`, which have `index` and the
    keys of survey files; and one line in `confide.mechanisms.KINDS`. Survey files, summaries, the
    planner, the scikit-learn interface and the audits then find it by its name. (Where its noise
    needs more than an epsilon, plans know a ``shape`` only.)

    Examples
    --------
    >>> from confide import Laplace
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
    >>> isinstance(mechanism, Mechanism), len(mechanism.privatize([0.2, 0.7]))
    (True, 2)
    """

    needed: ClassVar[tuple[str, ...]] = ()
    """Keys that a question of a survey file must have; none if no survey file can ask with it."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Keys that a question of a survey file may have."""
    words: ClassVar[tuple[str, ...]] = ()
    """Those of the keys whose values are words."""
    computed: ClassVar[bool] = False
    """Whether its noise is computed cell by cell when it is read from a file, which takes time."""
    implied: ClassVar[tuple[str, ...]] = ("prefer_not_to_say",)

    @property
    def marginals(self) -> Mapping[str, Mechanism]:
        """The mechanism of each question, by name; a single question has the name ''."""
        return {"": self}

    @classmethod
    def asked(cls, keys: Mapping[str, Any]) -> Mechanism:
        """The mechanism that the keys of a question in a survey file describe."""
        raise Unsupported(f"No survey file can ask with a {cls.name} mechanism.")

    def asking(self) -> dict[str, Any]:
        """The keys of a question in a survey file: the inverse of `asked`."""
        raise Unsupported(f"No survey file can ask with a {self.name} mechanism.")

    def made_of(self) -> dict[str, Any]:
        """The fields that define it; ``prefer_not_to_say`` only where it is true."""
        made = super().made_of()
        if not self.prefer_not_to_say:
            made.pop("prefer_not_to_say", None)
        return made

    @abstractmethod
    def index(self, values: Any) -> npt.NDArray[Any]:
        """Indices of values: the last place where a float may appear."""

    @abstractmethod
    def draw(self, indices: npt.NDArray[Any], entropy: Entropy) -> npt.NDArray[Any]:
        """Reports of indices: integers and fair words only, one independent draw each."""

    @_checks.steady
    def privatize(self, values: Any) -> Reports:
        """Private reports of values, drawn from the operating system's entropy.

        There is no seed: noise that can be repeated can be subtracted. A single number or word is
        one respondent.

        Reports come in the order of the values, so that they can be set beside other arrays, and
        that order can give answers away. Where values are sorted, or nearly so, the reports around
        a person's tell what the noise of that one hides: of 20,000 people sorted by pay, at
        epsilon 1, order puts 80 % within 10,000 of their pay; the population alone puts 42 %
        there. Shuffle values whose order means anything. `Survey.privatize`, `reports.write` and
        ``confide privatize`` shuffle.
        """
        if not math.isfinite(self.spend.epsilon):
            raise Unsupported(
                f"{self!r} has no finite epsilon and is here to estimate from surveys that used "
                "it: ask new ones with another mechanism."
            )
        return Reports(self._run(values, SystemEntropy()), self, simulated=False)

    @_checks.steady
    def simulate(self, values: Any, *, seed: int) -> Reports:
        """Repeatable reports with the same law, stamped as simulated. Not private."""
        seed = _checks.integer(0, seed=seed)
        return Reports(self._run(values, SeededEntropy(seed)), self, simulated=True)

    @property
    def report_shape(self) -> tuple[int, ...]:
        """Shape of one report: nothing for a single number."""
        outputs = self.law.outputs
        return () if len(outputs) == 1 else (len(outputs),)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest number of each column of a report."""
        return tuple((0, size - 1) for size in self.law.outputs)

    @property
    def batch(self) -> int:
        """Respondents whose reports are drawn at a time."""
        return CHUNK

    def gate(self, indices: Any) -> None:
        """Refuse indices out of range, the last thing before noise: they would get too little."""
        for axis, size in enumerate(self.law.inputs):
            column = indices if indices.ndim == 1 else indices[:, axis]
            if not (column.min() >= 0 and column.max() < size):
                raise InvalidInput(f"indices from 0 to {size - 1}", "numbers outside that range")

    def blank(self, indices: Any) -> Any:
        """The output array for reports of indices: the same memory if they fit."""
        return indices

    def _run(self, values: Any, entropy: Entropy) -> Any:
        indices = self.index(several(values))
        self.gate(indices)
        reports = self.blank(indices)
        for start in range(0, len(indices), self.batch):
            part = slice(start, start + self.batch)
            reports[part] = self.draw(indices[part], entropy)
        return reports


@unquoted("values that can be read")
def several(values: Any) -> Any:
    """A single answer as a list of one, or each of a respondent's answers by name; else as given.

    Examples
    --------
    >>> several(52_000.0), several({"pay": 52_000.0, "smokes": "no"}), several([1.0, 2.0])
    ([52000.0], {'pay': [52000.0], 'smokes': ['no']}, [1.0, 2.0])
    """
    single = (numbers.Real, str, type(None))
    if isinstance(values, single):
        return [values]
    if isinstance(values, Mapping) and all(isinstance(each, single) for each in values.values()):
        return {name: [each] for name, each in values.items()}
    return values


@unquoted("answers, or None where somebody declined")
@_checks.steady
def with_declined(axis: Lattice | Categories, values: Any) -> Indices:
    """Indices of answers, and the one after the last where somebody declined.

    Declined is whatever is None, masked, or null to pandas, polars and Arrow. A NaN in a list or
    an array is refused as everywhere: it may be a mistake. Another answer stands in until the
    index, so that declining takes the same steps as answering.
    """
    stand_in = axis.labels[0] if isinstance(axis, Categories) else axis.low
    declined: Any = None
    if isinstance(values, np.ma.MaskedArray):
        declined = np.ma.getmaskarray(values)
        values = np.where(declined, stand_in, values.data)
    elif nulls := getattr(values, "isna", getattr(values, "is_null", None)):
        declined = np.asarray(nulls(), dtype=bool)
        if declined.ndim != 1:
            raise InvalidInput("one column of answers", f"a table of shape {declined.shape}")
        listed = ("to_list", "to_pylist", "tolist")
        values = next(getattr(values, name) for name in listed if hasattr(values, name))()
    elif isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, list | tuple):
        if declined is None:
            declined = np.array([value is None for value in values], dtype=bool)
        pairs = zip(values, declined.tolist(), strict=True)
        values = [stand_in if none else value for value, none in pairs]
    indices = axis.index(values)
    return indices if declined is None else np.where(declined, np.int32(axis.size), indices)


class Numeric(Mechanism):
    """A mechanism for one number on a lattice, whose other fields are numbers.

    Examples
    --------
    >>> from confide import Laplace
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
    >>> isinstance(mechanism, Numeric), mechanism.index([0.0, 0.99]).tolist()
    (True, [0, 7])
    """

    needed: ClassVar[tuple[str, ...]] = ("low", "high", "epsilon")
    optional: ClassVar[tuple[str, ...]] = ("size", "scale", "kind")
    words: ClassVar[tuple[str, ...]] = ("scale", "kind")
    extra: ClassVar[tuple[str, ...]] = ()
    """What `costing` must know besides the lattice and epsilon."""
    lattice: Lattice

    def __post_init__(self) -> None:
        if not isinstance(self.lattice, Lattice):
            raise InvalidInput("a Lattice", _checks.shown(self.lattice))
        if self.lattice.zoom is not None and "zoom" not in self.optional:
            raise InvalidInput("a square wave on a zoomed lattice", f"a {self.name} mechanism")

    @classmethod
    def asked(cls, keys: Mapping[str, Any]) -> Mechanism:
        """The mechanism that the keys of a question in a survey file describe."""
        cells = {key: value for key, value in keys.items() if key in CELLS}
        others = {key: value for key, value in keys.items() if key not in CELLS}
        return cls.read({"lattice": cells, **others})

    def asking(self) -> dict[str, Any]:
        """The keys of a question in a survey file: the inverse of `asked`."""
        made = self.made_of()
        return {**made.pop("lattice"), **made}

    @classmethod
    def costing(cls, lattice: Lattice, *, epsilon: float, **extra: float) -> Numeric:
        """The mechanism of this kind whose reports cost epsilon, at most."""
        return cls.read({"lattice": lattice.to_dict(), "epsilon": epsilon, **extra})

    @classmethod
    def least_epsilon(cls, lattice: Lattice, **extra: float) -> float:
        """The least epsilon that `costing` takes; 0 stands for any above zero."""
        return 0.0

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The one lattice."""
        return {"": self.lattice}

    def index(self, values: Any) -> Indices:
        """Cell numbers of values, and one more for who declined, where that is offered."""
        if self.prefer_not_to_say:
            return with_declined(self.lattice, values)
        return self.lattice.index(values)


@dataclass(frozen=True, eq=False)
class Reports:
    """Noisy reports and the mechanism that made them.

    Parameters
    ----------
    indices
        One report number for each respondent; for a joint mechanism one row for each; for a
        `Partition` two rows of numbers for each, or one, with a number for each cell.
    mechanism
        How they were made.
    simulated
        Whether they were drawn from a seed. Estimators accept such reports, collectors do not.

    Examples
    --------
    >>> from confide import RandomizedResponse
    >>> reports = RandomizedResponse(["no", "yes"], epsilon=1.0).privatize(["no", "yes", "no"])
    >>> len(reports), reports.simulated, set(reports.indices.tolist()) <= {0, 1}
    (3, False, True)
    """

    indices: npt.NDArray[Any]
    mechanism: Mechanism
    simulated: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.simulated, bool):
            raise InvalidInput("simulated=True or False", _checks.shown(self.simulated))
        if not isinstance(self.mechanism, Mechanism):
            raise InvalidInput("a mechanism", _checks.shown(self.mechanism))
        array = _checks.array(indices=self.indices)
        if array.ndim == 0:
            raise InvalidInput("a list of reports", "a single number")
        if array.dtype.kind not in "iu":
            raise InvalidInput("whole numbers as reports", f"an array of type {array.dtype}")
        shape, ends = (len(array), *self.mechanism.report_shape), self.mechanism.ends
        if array.shape != shape:
            raise InvalidInput(f"reports of shape {shape}", f"shape {array.shape}")
        for axis, (low, high) in enumerate(ends):
            column = array if len(shape) == 1 else array[:, axis]
            if column.size and not (column.min() >= low and column.max() <= high):
                # Which ones is not said: raw values may have been taken for reports.
                raise InvalidInput(
                    f"reports from {low} to {high}",
                    "numbers outside that range",
                    "Were raw values passed instead of reports, or reports of another mechanism?",
                )
        # A copy, so that checked values cannot change; of a small type if the numbers are small.
        small = all(low >= -128 and high < 128 for low, high in ends) and len(shape) > 2
        kept = np.array(array, dtype=np.int8 if small else np.int32)
        kept.flags.writeable = False
        object.__setattr__(self, "indices", kept)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        return f"<{len(self)} {kind} reports of {self.mechanism!r}>"

    def _repr_html_(self) -> str:
        """How many there are and what each cost, for notebooks."""
        told = told_cost(self.mechanism.spend, simulated=self.simulated)
        return card(f"{len(self):,} reports", cost=told, facts=repr(self.mechanism))


def polynomials(positions: Floats, degree: int) -> Floats:
    """Legendre polynomials of ascending positions up to a degree, one a row, none above 1."""
    unit = 2 * (positions - positions[0]) / (positions[-1] - positions[0]) - 1
    return np.polynomial.legendre.legvander(unit, degree).T


def polynomial_scores(law: Law, basis: Floats, target: Floats) -> Floats:
    """Scores in the span of ``basis`` (rows, over reports) whose expectation is ``target``.

    Used where the law maps the span of the basis onto functions of the same kind, so that the
    small system has an exact solution. Of several solutions it takes the one that varies least
    when all indices are equally likely: the basis is made orthonormal under that distribution of
    reports, and the shortest solution is the answer. A function that is zero on every report that
    can occur (the indicator of an end cell that the noise never reaches) tells nothing about the
    value and is left out; the score of such a cell is then that of the polynomial there. Rows of
    the basis should be at most about 1.
    """
    chances = law.forward(np.full(law.inputs, 1 / law.inputs[0]))
    left, lengths, _ = np.linalg.svd(basis * np.sqrt(chances), full_matrices=False)
    known = lengths > NEGLIGIBLE * lengths.max()
    rows = (left[:, known] / lengths[known]).T @ basis
    coefficients, *_ = np.linalg.lstsq(law.adjoint(rows).T, target, rcond=None)
    scores: Floats = coefficients @ rows
    return scores

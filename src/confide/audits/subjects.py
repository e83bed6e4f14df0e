"""Outputs of any code as rows that can be compared without losing a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.audits.neighbors import spots, values_of
from confide.errors import InvalidInput, Unsupported
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.lattice import INTEGER, Categories, Lattice
from confide.mechanisms import Mechanism, PairResponse, Partition, Side
from confide.mechanisms.protocol import Private
from confide.releases.release import Recipe

Outputs = npt.NDArray[Any]

EXACT = 2**53
"""Whole numbers beyond it may not be floats."""
KINDS = (bool, int, float)


def tables(first: list[Any], second: list[Any]) -> tuple[Outputs, Outputs]:
    """Outputs of two inputs, one row a run, in one form for both.

    Numbers stay numbers. Where rows are of several lengths or outputs of several types, a last
    column tells which; all else becomes words.
    """
    outputs = [*first, *second]
    plain = [_plain(each) for each in outputs]
    kinds = [_kind(each) for each in outputs]
    code_of = {kind: code for code, kind in enumerate(sorted(set(kinds)))}
    codes = [code_of[kind] for kind in kinds]
    rows = _numbers(plain)
    if rows is None:
        rows = np.array([f"{each!r} {code}" for each, code in zip(plain, codes, strict=True)])
    elif len(code_of) > 1:
        rows = np.column_stack([rows, codes])
    return rows[: len(first)], rows[len(first) :]


def _plain(output: Any) -> Any:
    """Numbers, words and lists of Python's own, or a sentence: a name would hide the content."""
    if isinstance(output, np.ndarray | np.generic):
        output = output.tolist()
    if output is None or isinstance(output, (*KINDS, complex, str, bytes)):
        return output
    if isinstance(output, list | tuple):
        return [_plain(each) for each in output]
    if isinstance(output, dict):
        return {key: _plain(each) for key, each in output.items()}
    raise InvalidInput(
        "outputs that are numbers, words, or lists of them",
        _checks.kind(output),
        "Return all that is seen of it, such as the indices of reports.",
    )


def _kind(output: Any) -> str:
    """The types in an output, those of a list once where all are the same."""
    name = f"{type(output).__module__}.{type(output).__qualname__}"
    if isinstance(output, np.ndarray):
        return f"{name} {output.dtype.str} {output.ndim}"
    if isinstance(output, dict):
        return f"{name} {[_kind(each) for each in output.values()]}"
    if isinstance(output, list | tuple):
        kinds = [_kind(each) for each in output]
        return f"{name} {kinds if len(set(kinds)) > 1 else kinds[:1]}"
    return name


def _numbers(plain: list[Any]) -> Outputs | None:
    """One row of numbers a run; None where there is something else, or a float would be too short.

    Nested lists are numbers if they all have one shape.
    """
    if not all(isinstance(each, list) for each in plain):
        return _array(plain) if all(type(each) in KINDS for each in plain) else None
    lengths = np.array([len(row) for row in plain])
    if (lengths == lengths[0]).all():
        found = _array(plain)
        return None if found is None else found.reshape(len(plain), -1)
    longest = int(lengths.max())
    filled = [[*row, *[0] * (longest - len(row))] for row in plain]
    found = _array(filled)
    return None if found is None or found.ndim > 2 else np.column_stack([found, lengths])


def _array(plain: list[Any]) -> Outputs | None:
    try:
        found = np.array(plain)
    except ValueError:
        return None
    if found.dtype.kind in "bi":
        return found.astype(np.int64)
    if found.dtype.kind != "f":
        return None
    # A whole number this large among floats has lost its last digits.
    return None if (np.abs(found) > EXACT).any() and not _floats(plain) else found


def _floats(plain: list[Any]) -> bool:
    return all(
        _floats(each) if isinstance(each, list) else isinstance(each, float) for each in plain
    )


Pairs = Sequence[tuple[Any, Any]]

NEIGHBOURS = 2
"""Place of the pair of neighbors among the pairs of an axis."""
RECORDS = 4
"""Records of the data sets that a release is tried on."""


class Runs:
    """Runs a subject over and over on one value.

    Parameters
    ----------
    subject
        A mechanism, partition, sampler or recipe of ours, or any function of a value.
    seed
        For repeatable runs of ours; a foreign function brings its own randomness.
    """

    def __init__(self, subject: Any, seed: int | None = None) -> None:
        self.subject = subject
        self._seeds = None if seed is None else (hash_of(seed, at) for at in count())
        if not (isinstance(subject, Private) or callable(subject)):
            raise InvalidInput(
                "a mechanism, a release, a sampler or a function of a value",
                _checks.shown(subject),
            )

    def pair(self, first: Any, second: Any, n: int) -> tuple[Outputs, Outputs]:
        """Outputs of n runs on each of two values, in one form.

        Foreign code is asked for both in random order, so that what it remembers, or drifts by,
        is not taken for an effect of the value.
        """
        subject = self.subject
        if isinstance(subject, Private) and not isinstance(subject, Recipe):
            return self(first, n), self(second, n)
        outputs: tuple[list[Any], list[Any]] = ([], [])
        if isinstance(subject, Recipe):
            for value, found in zip((first, second), outputs, strict=True):
                prepared = subject.prepare(subject.admitted(value), _silent)
                entropy = self._entropy()
                found += [subject.draw(prepared, entropy) for _ in range(n)]
        else:
            values = (first, second)
            order = np.random.default_rng(None if self._seeds is None else next(self._seeds))
            for at in order.permutation(np.repeat([0, 1], n)):
                outputs[at].append(subject(values[at]))
        return tables(*outputs)

    def __call__(self, value: Any, n: int) -> Outputs:
        """Outputs of n runs of a mechanism, partition or sampler on one value."""
        subject = self.subject
        if isinstance(subject, Partition):
            point, response = value
            points = np.tile(np.atleast_1d(np.asarray(point, dtype=np.float64)), (n, 1))
            responses = np.full(n, response, dtype=np.float64)
            values = points if subject.counting else (points, responses)
            return self._reports(subject, values).reshape(n, -1)
        if isinstance(subject, Mechanism):
            return self._reports(subject, column(subject, value, n))
        settled = subject.settled(SeededEntropy(0))
        return np.asarray(settled.draw(settled.prepare(value), self._entropy(), n))

    def _entropy(self) -> Entropy:
        return SystemEntropy() if self._seeds is None else SeededEntropy(next(self._seeds))

    def _reports(self, mechanism: Mechanism, values: Any) -> Outputs:
        if self._seeds is None:
            return mechanism.privatize(values).indices
        return mechanism.simulate(values, seed=next(self._seeds)).indices


def hash_of(seed: int, at: int) -> int:
    """A seed for each run of a repeatable audit."""
    words = np.random.SeedSequence((seed, at)).generate_state(1, np.uint64)
    return int(words[0])


def column(mechanism: Mechanism, value: Any, n: int) -> Any:
    """One answer repeated n times, in the form that the mechanism takes."""
    return same(value, n) if mechanism.single else {k: same(v, n) for k, v in value.items()}


def same(value: Any, n: int) -> Any:
    """One answer n times."""
    if value is None or isinstance(value, str):
        return [value] * n
    return np.full(n, value, dtype=np.float64)


def value_at(mechanism: Mechanism, place: Sequence[int]) -> Any:
    """A value whose index is given: one of a cell, a category, or None for "declined"."""
    values: dict[str, Any] = {}
    for (name, axis), at in zip(mechanism.axes.items(), place, strict=True):
        if at == axis.size:
            values[name] = None
        else:
            values[name] = _answer(axis, at)
    return values[""] if mechanism.single else values


def inside(lattice: Lattice, at: int) -> float:
    """A value in a cell: its center, or a whole number next to it."""
    center = float(lattice.centers[at])
    return float(np.floor(center)) if lattice.kind == INTEGER else center


def pairs_of(subject: Any) -> Pairs:
    """Values worth telling apart: ends, middle, neighbors, and far outside the bounds."""
    if isinstance(subject, Partition):
        low, high = np.array(subject.cells.low), np.array(subject.cells.high)
        inside = low + (high - low) * 1e-3
        end = high - (high - low) * 1e-3
        return [
            ((inside, subject.limit), (end, -subject.limit)),
            ((inside, subject.limit), (inside, -subject.limit)),
        ]
    if isinstance(subject, Mechanism):
        if isinstance(subject, PairResponse):
            return _one_or_both(subject)
        return joined(subject.marginals) if subject.inner else _pairs(subject)
    if isinstance(subject, Recipe):
        return _data_sets(subject)
    raise Unsupported(
        "audits.sampled knows no values for this subject: give it pairs=[(a, b), ...]."
    )


def _data_sets(recipe: Recipe) -> Pairs:
    """Neighbors that one record changes most: it goes from end to end, alone or in a divided set.

    Few records are enough: how many others there are does not change what one can do to a sum, and
    a variance or a rank is changed most among few.
    """
    places = spots(recipe, RECORDS, 3)
    low, middle, high = (places[at] for at in (0, len(places) // 2, -1))
    others = [[low] * RECORDS, [low, low, high, high], [middle] * RECORDS]
    return [
        (values_of(recipe, np.array(rows)), values_of(recipe, np.array([high, *rows[1:]])))
        for rows in others[: 2 if len(places) == 2 else 3]
    ]


def checked_pairs(pairs: Any) -> Pairs:
    """Pairs as they were given, or a sentence."""
    found = list(pairs) if isinstance(pairs, list | tuple) else []
    if not found or not all(isinstance(each, list | tuple) and len(each) == 2 for each in found):
        raise InvalidInput(
            "at least one pair of values, as pairs=[(a, b), ...]",
            "none" if not found else "something else",
        )
    return found


def joined(parts: Mapping[str, Mechanism]) -> Pairs:
    """Pairs of answers to several questions: all of them change, or one alone does."""
    # Of a question that cannot be declined the first pair is taken once more.
    several = [_pairs(part) for part in parts.values()]
    longest = max(map(len, several))
    several = [[*pairs, *pairs[:1] * (longest - len(pairs))] for pairs in several]
    pairs = []
    for together in zip(*several, strict=True):
        first, second = (
            dict(zip(parts, side, strict=True)) for side in zip(*together, strict=True)
        )
        pairs.append((first, second))
    # Noise that two answers share shows in their difference, next to the middle.
    below, middle = pairs[NEIGHBOURS]
    changed = next(iter(parts))
    return [*pairs, (middle, {**middle, changed: below[changed]})]


def _one_or_both(mechanism: PairResponse) -> Pairs:
    """Pairs of two answers each: one of them crosses the first cut, either does, or both do."""
    low, high = (
        {name: at(side) for name, side in mechanism.sides.items()} for at in (below, above)
    )
    one, other = mechanism.sides
    pairs = [(low, {**low, one: high[one]}), (high, {**high, other: low[other]}), (low, high)]
    if mechanism.declines:
        declined = {
            name: None if side.prefer_not_to_say else low[name]
            for name, side in mechanism.sides.items()
        }
        pairs += [(low, declined), ({**low, one: high[one]}, declined)]
    return pairs


def below(side: Side) -> Any:
    """An answer just below the first cut."""
    return _answer(side.axis, side.starts[1] - 1)


def above(side: Side) -> Any:
    """An answer just above the first cut."""
    return _answer(side.axis, side.starts[1])


def _answer(axis: Lattice | Categories, at: int) -> Any:
    return axis.labels[at] if isinstance(axis, Categories) else inside(axis, at)


def _pairs(mechanism: Mechanism) -> list[tuple[Any, Any]]:
    """Pairs of answers to one question, and where people may decline an answer and none."""
    axis = mechanism.axes[""]
    pairs: list[tuple[Any, Any]]
    middle: Any
    if isinstance(axis, Categories):
        first, last, middle = axis.labels[0], axis.labels[-1], axis.labels[axis.size // 2]
        pairs = [(first, last), (middle, first), (axis.labels[1], first), (last, middle)]
    else:
        width = axis.high - axis.low
        beyond = width if axis.kind == INTEGER else width / 2
        below, middle = (inside(axis, axis.size // 2 - step) for step in (1, 0))
        pairs = [
            (axis.low, axis.high),
            (middle, axis.high),
            (below, middle),
            (axis.low - beyond, axis.high + beyond),
        ]
    return [*pairs, (middle, None)] if mechanism.prefer_not_to_say else pairs


def _silent(_: float) -> None:
    """Tell nobody."""

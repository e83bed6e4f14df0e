"""One summary for each group of respondents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar

import numpy as np

from confide import _checks
from confide._cards import bars, card, table
from confide.accounting.spend import told_cost
from confide.errors import InvalidInput, Mismatch
from confide.summaries import forms, raking
from confide.summaries.cell_sums import CellSums
from confide.summaries.counts import Counts
from confide.summaries.residuals import Residuals

Part = str | int
Key = Part | tuple[Part, ...]
Summary = TypeVar("Summary", Counts, CellSums)
Result = TypeVar("Result")

KINDS: dict[str, type[Counts] | type[CellSums]] = {"counts": Counts, "cell-sums": CellSums}
# What all groups have in common, written once.
COMMON = ("version", "simulated", "mechanism")
HEADER = ("confide", "of", "by", "raked", "groups", *COMMON)


@dataclass(frozen=True, eq=False)
class Groups(Mapping[Key, Summary], Generic[Summary]):
    """Summaries of one question, one for each group of respondents.

    Groups add up with ``+``: those that both sides have are merged, the others are kept. Columns
    may be in another order on each side; the sum has that of the left.

    Parameters
    ----------
    by
        Public columns that make the groups.
    summaries
        A summary for each key: a word or a whole number where there is one column, a tuple of
        them where there are several.
    raked
        Columns whose public margins the weights have, which makes the total more certain.

    Examples
    --------
    >>> from confide import Lattice, Laplace
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> north = Counts.of(mechanism.simulate([0.2, 0.7], seed=1))
    >>> groups = Groups(("region",), {"north": north, "south": north})
    >>> (groups + groups)["north"].n, groups.total().n
    (4, 4)
    """

    by: tuple[str, ...]
    summaries: Mapping[Key, Summary]
    raked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        by = self.by
        if not isinstance(by, tuple) or not by or not all(isinstance(name, str) for name in by):
            raise InvalidInput("names of columns that make the groups", _checks.shown(by))
        if len(set(by)) < len(by):
            raise InvalidInput("each column of the groups once", "one twice")
        if not isinstance(self.raked, tuple) or not set(self.raked) <= set(by):
            raise InvalidInput(
                f"raked columns among those that make the groups: {', '.join(by)}",
                _checks.shown(self.raked),
            )
        first = next(iter(self.summaries.values()), None)
        for key, one in self.summaries.items():
            self._check(key)
            if not isinstance(one, tuple(KINDS.values())) or type(one) is not type(first):
                raise InvalidInput(
                    "a summary for each group, all of one kind", "other values, or several kinds"
                )
            _belong(first, one)
        if self.raked and (not isinstance(first, Counts) or first.weights is None):
            raise InvalidInput("raked groups of counts with weights", "groups without weights")
        object.__setattr__(self, "summaries", MappingProxyType(dict(self.summaries)))

    def _check(self, key: Any) -> None:
        parts = (key,) if len(self.by) == 1 else key
        if (
            not isinstance(parts, tuple)
            or len(parts) != len(self.by)
            or not all(isinstance(part, (str, int)) for part in parts)
        ):
            raise InvalidInput(
                f"groups by {', '.join(self.by)} that are words or whole numbers",
                _checks.shown(key),
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return type(self), (self.by, dict(self.summaries), self.raked)

    def __getitem__(self, key: Key) -> Summary:
        return self.summaries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.summaries)

    def __len__(self) -> int:
        return len(self.summaries)

    @property
    def n(self) -> int:
        """Number of respondents in all groups."""
        return sum(one.n for one in self.values())

    def total(self) -> Summary:
        """The summary of all groups together."""
        if not self:
            raise InvalidInput("at least one group", "none")
        parts = list(self.values())
        total = parts[0]
        for one in parts[1:]:
            total = total + one
        return replace(total, raked=self._residuals()) if isinstance(total, Counts) else total

    def _residuals(self) -> Residuals | None:
        """What the weights of the groups tell of the errors of their total, where raked."""
        if not self.raked:
            return None
        keys = [key if isinstance(key, tuple) else (key,) for key in self]
        places = []
        for column in self.raked:
            own = [str(key[self.by.index(column)]) for key in keys]
            places.append(np.unique(own, return_inverse=True)[1])
        parts: list[Any] = list(self.values())
        alone = [one.residuals for one in parts]
        sums = np.concatenate([one.sums for one in alone])
        squares = np.concatenate([one.squares for one in alone])
        return Residuals(np.stack(places), sums, squares)

    def find(self, name: str) -> Summary:
        """The summary of the group that people call by this name.

        Parameters
        ----------
        name
            The group; where several columns make the groups, with slashes between their values.
        """
        found = [key for key in self if label(key) == name]
        # Slashes inside of a name need no backslash as long as one group can be meant only.
        found = found or [key for key in self if label(key, plain=True) == name]
        if not found:
            raise InvalidInput(f"a group by {', '.join(self.by)}", repr(name), self._advice(name))
        if len(found) > 1:
            several = list(dict.fromkeys(map(label, found)))
            advice = f"Write one of {', '.join(several)}." if several[1:] else "Take groups[key]."
            raise InvalidInput(
                f"the name of one group by {', '.join(self.by)}",
                f"{name!r}, which {len(found)} groups have",
                advice,
            )
        return self[found[0]]

    def _advice(self, name: str) -> str:
        """What to do about a name that no group has."""
        for key in self:
            for column, part in zip(
                self.by, key if isinstance(key, tuple) else (key,), strict=True
            ):
                if str(part) == name:
                    own = f"coarser([{column!r}])"
                    return f"Groups by {column} alone: --by {column}, or {own} in Python."
        return _checks.nearest(name, [label(key) for key in self])

    def others(self, key: Key) -> Summary:
        """The summary of all groups but one together.

        Parameters
        ----------
        key
            The group to leave out.
        """
        rest = {name: one for name, one in self.items() if name != key}
        if key not in self or not rest:
            raise InvalidInput("one of at least two groups", _checks.shown(key))
        return type(self)(self.by, rest).total()

    def coarser(self, by: Sequence[str]) -> Self:
        """The groups by some of the columns, those that differ in the others added up.

        Parameters
        ----------
        by
            Columns among those that make the groups.
        """
        columns = tuple(dict.fromkeys(by))
        for name in columns:
            if name not in self.by:
                raise InvalidInput(
                    f"columns among those that make the groups: {', '.join(self.by)}",
                    _checks.shown(name),
                    _checks.nearest(name, self.by),
                )
        if columns == self.by:
            return self
        merged: dict[Key, Summary] = {}
        for key, one in self.items():
            parts = dict(zip(self.by, key if isinstance(key, tuple) else (key,), strict=True))
            own = tuple(parts[name] for name in columns)
            short: Key = own if len(own) > 1 else own[0]
            merged[short] = merged[short] + one if short in merged else one
        raked = tuple(name for name in self.raked if name in columns)
        return type(self)(columns, dict(sorted(merged.items(), key=_order)), raked)

    def rake(self, margins: raking.Margins) -> Groups[Counts]:
        """The counts with weights that give all groups together the margins of the population.

        Where some groups answer more readily than others, the respondents are not like the
        population. Raking gives the respondents of each group a weight, so that every public column
        has the shares that are known of the population (iterative proportional fitting). `total`
        of the result then estimates the population. Weights make the effective number of
        respondents smaller; but what the margins explain is not uncertain any more. Intervals of
        the total's mean, shares and quantiles know both: see `confide.summaries.residuals`.

        Parameters
        ----------
        margins
            For some of the columns that make the groups how many people, or which share of them,
            are in each group: ``{"region": {"north": 0.3, "south": 0.7}, "sex": ...}``. Every
            column adds up to the same total, which is 1 of shares.

        Raises
        ------
        InvalidInput
            If margins do not add up, are of other groups than the respondents', or of a group
            without respondents.

        Examples
        --------
        >>> from confide import Lattice, Laplace
        >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
        >>> north, south = (
        ...     Counts.of(mechanism.simulate([x] * n, seed=n)) for x, n in ((0.2, 300), (0.7, 100)))
        >>> groups = Groups(("region",), {"north": north, "south": south})
        >>> groups.rake({"region": {"north": 0.5, "south": 0.5}}).total().effective_n
        300.0
        """
        parts: dict[Key, Counts] = {}
        for key, one in self.items():
            if not isinstance(one, Counts):
                raise InvalidInput("counts by group to rake", _checks.kind(one))
            parts[key] = one
        keys = [key if isinstance(key, tuple) else (key,) for key in parts]
        n = np.array([one.total.sum() for one in parts.values()], dtype=np.float64)
        found = raking.weights(self.by, keys, n, margins).tolist()
        pairs = zip(parts.items(), found, strict=True)
        weighted = {key: one.weighted(weight) for (key, one), weight in pairs}
        return Groups(self.by, weighted, tuple(margins))

    def map(self, function: Callable[[Summary], Result]) -> dict[Key, Result]:
        """Apply a function to the summary of each group.

        Parameters
        ----------
        function
            For instance ``estimators.Likelihood().fit``, for the curve of each group.
        """
        return {key: function(one) for key, one in self.items()}

    def __add__(self, other: Groups[Summary]) -> Self:
        """Merge."""
        if not isinstance(other, Groups):
            return NotImplemented
        if set(self.by) == set(other.by) and self.by != other.by:
            other = other.coarser(self.by)
        if self.by != other.by:
            raise Mismatch(
                "groups by the same columns",
                f"some by {' and '.join(self.by)}, and some by {' and '.join(other.by)}",
            )
        merged = dict(self.summaries)
        for key, one in other.items():
            merged[key] = merged[key] + one if key in merged else one
        # Sums of groups that have the same margins have them as well.
        return type(self)(self.by, merged, self.raked if self.raked == other.raked else ())

    def __radd__(self, other: int) -> Self:
        """Zero and a summary, with which `sum` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def save(self, path: str | Path, *, question: str = "") -> None:
        """Write a .json file that `confide.read` reads, of counts by group.

        Parameters
        ----------
        path
            The file; one that is there is replaced, whole or not at all.
        question
            The name of the question, which the file keeps.
        """
        forms.write(path, {question: self})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        parts = []
        for key, one in self.items():
            fields: dict[str, Any] = {"key": [key] if len(self.by) == 1 else list(key)}  # type: ignore[arg-type]
            parts.append(fields | one.to_dict())
        common: dict[str, Any] = {}
        for fields in parts:
            common["of"] = fields.pop("confide")
            common |= {name: fields.pop(name) for name in COMMON}
        raked = {"raked": list(self.raked)} if self.raked else {}
        return {"confide": "groups", "by": list(self.by), **raked, **common, "groups": parts}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping) or fields.get("confide") != "groups":
            raise InvalidInput("groups written by confide", "something else")
        _checks.known_keys(fields, HEADER, "groups")
        by, parts, raked = fields.get("by"), fields.get("groups"), fields.get("raked", [])
        if not isinstance(by, list) or not isinstance(parts, list):
            raise InvalidInput("the keys 'by' and 'groups' in groups", "none")
        if not isinstance(raked, list) or not all(isinstance(name, str) for name in raked):
            raise InvalidInput("the names of raked columns in groups", _checks.shown(raked))
        common = {name: fields[name] for name in COMMON if name in fields}
        if parts:
            common["confide"] = _checks.one_of(tuple(KINDS), of=fields.get("of"))
        summaries: dict[Key, Any] = {}
        for part in parts:
            if not isinstance(part, Mapping) or not isinstance(part.get("key"), list):
                raise InvalidInput("a key in each of the groups", "none")
            own = {name: value for name, value in part.items() if name != "key"}
            if twice := set(own) & set(common):
                raise InvalidInput(f"the key {min(twice)!r} once in groups", "twice")
            plain = all(isinstance(word, (str, int)) for word in part["key"])
            key = part["key"][0] if len(by) == len(part["key"]) == 1 else tuple(part["key"])
            if not plain or key in summaries:
                raise InvalidInput(
                    "groups that are words or numbers, each once", "a repeated one, or another type"
                )
            one = KINDS[common["confide"]].from_dict({**own, **common})
            if isinstance(one, Counts):
                # Read once and shared: its law is computed once, too.
                common["mechanism"] = one.mechanism
            summaries[key] = one
        return cls(tuple(by), summaries, tuple(raked))

    def __repr__(self) -> str:
        return f"<Groups of {self.n} reports: {len(self)} by {', '.join(self.by)}>"

    def _repr_html_(self) -> str:
        """How many reports each group has, and what they cost, for notebooks."""
        names, sizes = [label(key) for key in self], [one.n for one in self.values()]
        rows = [(name, f"{n:,}") for name, n in zip(names, sizes, strict=True)]
        first = next(iter(self.values()), None)
        spend = getattr(first.mechanism, "spend", None) if first is not None else None
        simulated = first is not None and first.simulated
        return card(
            f"{self.n:,} reports in {len(self):,} groups by {', '.join(self.by)}",
            bars(sizes, names, told="reports of each group"),
            table((", ".join(self.by), "reports"), rows),
            cost=told_cost(spend, simulated=simulated),
        )


def _belong(first: Any, one: Any) -> None:
    """Refuse summaries that would not add up, without adding them."""
    if one.mechanism is not first.mechanism and one.mechanism != first.mechanism:
        unlike = _checks.difference(first.mechanism.to_dict(), one.mechanism.to_dict())
        raise Mismatch("groups of one mechanism", unlike or "two mechanisms")
    if one.simulated != first.simulated:
        raise Mismatch("groups that are all private or all simulated", "some of each")
    for what in ("weights", "response"):
        if (getattr(one, what, None) is None) != (getattr(first, what, None) is None):
            raise Mismatch(f"groups that all have {what} or all have none", "some of each")


def _order(item: tuple[Key, Any]) -> Any:
    return item[0]


def label(key: Key, *, plain: bool = False) -> str:
    r"""A group as people write it: the parts of its key with slashes between.

    A slash or backslash inside a part has a backslash before it where there are several parts, so
    that no two groups look the same; not if ``plain``.

    Examples
    --------
    >>> print(label("a/b"), label(("north", 2024)), label(("north", "a/b")))
    a/b north/2024 north/a\/b
    """
    if not isinstance(key, tuple):
        return str(key)
    parts = map(str, key)
    if plain:
        return "/".join(parts)
    return "/".join(part.replace("\\", "\\\\").replace("/", "\\/") for part in parts)

"""Summaries of several questions, and summaries in files: JSON, or a compact numpy archive."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confide import _checks
from confide._cards import bars, card, table
from confide.accounting.spend import rounded_up, told_cost
from confide.errors import InvalidInput, Mismatch
from confide.files.paths import expand, listed, load_json, named
from confide.mechanisms import Channel
from confide.summaries.copies import Seen
from confide.summaries.counts import Counts
from confide.summaries.forms import ALONE, SUFFIXES, VERSION, write
from confide.summaries.groups import Groups
from confide.summaries.raking import Margins

Summary = Counts | Groups[Counts]
# Errors of parsers, zip archives and conversions about bytes that were changed.
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


@dataclass(frozen=True, eq=False)
class Summaries(Mapping[str, Counts]):
    """Counts by question, of all respondents or of each group of them.

    ``summaries["pay"]`` are the counts of all respondents; `groups` has those of each group. They
    add up with ``+``, question by question.

    Parameters
    ----------
    questions
        For each question its counts, or its counts by group. A single one may have the name ``""``.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> counts = Counts.of(mechanism.simulate([0.2, 0.7], seed=1))
    >>> both = Summaries({"pay": counts, "rent": counts})
    >>> (both + both)["pay"].n, sum([both, both, both]).n
    (4, 6)
    """

    questions: Mapping[str, Summary]

    def __post_init__(self) -> None:
        if not isinstance(self.questions, Mapping) or not self.questions:
            raise InvalidInput("a summary of at least one question", _checks.shown(self.questions))
        for name, one in self.questions.items():
            groups = isinstance(one, Groups) and all(isinstance(v, Counts) for v in one.values())
            if not isinstance(name, str) or not (isinstance(one, Counts) or groups):
                raise InvalidInput("counts, or counts by group, by question", "something else")
        object.__setattr__(self, "questions", MappingProxyType(dict(self.questions)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return type(self), (dict(self.questions),)

    def __getitem__(self, question: str) -> Counts:
        one = self.questions[question]
        return one if isinstance(one, Counts) else one.total()

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def by(self) -> tuple[str, ...]:
        """Public columns that make the groups; none where all respondents are counted together."""
        first = next(iter(self.questions.values()))
        return first.by if isinstance(first, Groups) else ()

    @property
    def n(self) -> int:
        """Number of respondents: the most that answered any one question."""
        return max(one.n for one in self.questions.values())

    def mechanism(self, question: str) -> Channel:
        """The mechanism of a question's reports."""
        return some(self.questions[question]).mechanism

    def groups(self, question: str | None = None) -> Groups[Counts]:
        """The counts of each group.

        Parameters
        ----------
        question
            Which question, by default the only one.
        """
        one = self.questions[self._name(question)]
        if isinstance(one, Counts):
            raise InvalidInput(
                "a summary by group",
                "one of all respondents",
                "Summarize with --by COLUMN, or by= in Python.",
            )
        return one

    def group(self, name: str) -> Summaries:
        """The counts of one group, question by question.

        Parameters
        ----------
        name
            The group, as for `Groups.find`.
        """
        return Summaries({each: self.groups(each).find(name) for each in self})

    def rake(self, margins: Margins) -> Summaries:
        """Counts by group with weights that give each question the margins of the population.

        Parameters
        ----------
        margins
            As for `Groups.rake`, which does it for each question: where people are asked some of
            the questions only, each has respondents of its own.
        """
        return Summaries({name: self.groups(name).rake(margins) for name in self})

    def only(self) -> Counts:
        """The counts of the only question; several are refused."""
        return self[self._name(None)]

    def _name(self, question: str | None) -> str:
        if question is not None:
            return _checks.one_of(tuple(self), question=question)
        if len(self) > 1:
            raise InvalidInput(
                "a summary of one question", f"{len(self)}: {_listed(self)}", "Name the one."
            )
        return next(iter(self))

    def __add__(self, other: Summaries) -> Summaries:
        """Merge."""
        if not isinstance(other, Summaries):
            return NotImplemented
        return _added(self, other, "")

    def __radd__(self, other: int) -> Summaries:
        """Zero and summaries, with which `sum` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def save(self, path: str | Path) -> None:
        """Write a file that `confide.read` reads: .json, or .npz for a single question.

        Parameters
        ----------
        path
            The file; one that is there is replaced, whole or not at all.
        """
        write(path, self.questions)

    def __repr__(self) -> str:
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"<Summaries of {self._many}{by}: {_listed(self)}>"

    @property
    def _many(self) -> str:
        """How many respondents, in words: of several questions nobody knows who answered two."""
        if len(self) == 1:
            return f"{self.n:,} respondents"
        return f"at most {self.n:,} respondents a question"

    def _repr_html_(self) -> str:
        """How many reports each question has, and what they cost, for notebooks."""
        names = [name or "reports" for name in self]
        sizes = [one.n for one in self.questions.values()]
        costs = [_epsilon(self.mechanism(name)) for name in self]
        rows = [(name, f"{n:,}", cost) for name, n, cost in zip(names, sizes, costs, strict=True)]
        by = f", by {', '.join(self.by)}" if self.by else ""
        simulated = any(some(one).simulated for one in self.questions.values())
        return card(
            f"Summaries of {self._many}{by}",
            bars(sizes, names, told="reports of each question"),
            table(("question", "reports", "epsilon of each"), rows),
            cost=told_cost(None, simulated=simulated),
        )


def _epsilon(mechanism: Channel) -> str:
    """The epsilon of a report in words; a dash for noise added elsewhere."""
    spend = getattr(mechanism, "spend", None)
    return "–" if spend is None else rounded_up(spend.epsilon, 6)


def read(paths: str | Path | Sequence[str | Path], *, disjoint: bool = False) -> Summaries:
    """Read summaries from files and add them up.

    Files with equal counts are refused where chance cannot have made them: one is a copy, or was
    added to the other before. To count both anyway, add up what was read from each.

    Parameters
    ----------
    paths
        A file, a glob or a folder of .json or .npz files, or several of them.
    disjoint
        Whether to refuse a group that two files have.

    Returns
    -------
    Summaries
        The counts of each question. Of a file with a single one, `Summaries.only` takes it.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> counts = Counts.of(mechanism.simulate([0.2, 0.7], seed=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counts.save(f"{folder}/a.json")
    ...     counts.save(f"{folder}/b.npz")
    ...     read(f"{folder}/*").only().n
    4
    """
    first, *others = expand(listed(paths), SUFFIXES)
    seen = Seen(disjoint=disjoint)
    total = load(first)
    seen.add(first, total.questions)
    for path in others:
        found = load(path)
        added = _added(total, found, f" in {named(first)} and {named(path)}")
        seen.add(path, found.questions)
        total = added
    return total


def load(path: Path) -> Summaries:
    """The summaries in one file."""
    data = path.read_bytes()
    where = named(path)
    fields = None if path.suffix == ".npz" else load_json(data, where)
    try:
        if path.suffix == ".npz":
            name, counts = Counts.named_from_bytes(data)
            return Summaries({name: counts})
        if isinstance(fields, Mapping) and fields.get("confide") == "summaries":
            return _several(fields)
        return _single(fields)
    except InvalidInput as error:
        raise type(error)(f"{error.expected} in {where}", error.got, error.advice) from None
    except DAMAGE:
        raise InvalidInput(f"a summary written by confide in {where}", "a damaged one") from None


def _single(fields: Any) -> Summaries:
    """A summary of one question, which may say its name."""
    if not isinstance(fields, Mapping) or fields.get("confide") != "groups":
        counts = Counts.from_dict(fields)
        return Summaries({fields.get("question", ALONE): counts})
    name = fields.get("question", ALONE)
    if not isinstance(name, str):
        raise InvalidInput("a question by name in a summary", _checks.shown(name))
    return Summaries({name: _groups({key: fields[key] for key in fields if key != "question"})})


def _groups(fields: Mapping[str, Any]) -> Groups[Counts]:
    groups = Groups[Counts].from_dict(fields)
    if not groups or not isinstance(next(iter(groups.values())), Counts):
        raise InvalidInput("counts of at least one group", "none")
    return groups


def _several(fields: Mapping[str, Any]) -> Summaries:
    _checks.known_keys(fields, ("confide", "version", "questions"), "a file of summaries")
    if fields.get("version") != VERSION:
        raise InvalidInput(f"summaries of version {VERSION}", "another version")
    if not fields["questions"]:
        raise InvalidInput("at least one question", "none")
    result: dict[str, Summary] = {}
    for name, summary in fields["questions"].items():
        by_group = isinstance(summary, Mapping) and summary.get("confide") == "groups"
        result[name] = _groups(summary) if by_group else Counts.from_dict(summary)
    return Summaries(result)


def _added(one: Summaries, two: Summaries, where: str) -> Summaries:
    """The sum question by question; ``where`` ends a message and names the files, if any."""
    first, second = one.questions, two.questions
    if len(first) == len(second) == 1 and ALONE in {*first, *second}:
        # One of them does not say which question it is about: the mechanism must do.
        name = max(*first, *second)
        first, second = {name: next(iter(first.values()))}, {name: next(iter(second.values()))}
    if set(first) != set(second):
        raise Mismatch(
            f"summaries of the same questions{where}", f"{_listed(first)} and {_listed(second)}"
        )
    result: dict[str, Summary] = {}
    for name, mine in first.items():
        unlike = _checks.difference(
            *(some(each[name]).mechanism.to_dict() for each in (first, second))
        )
        if unlike:
            raise Mismatch(
                f"summaries of one mechanism{where}", unlike + (f" of {name!r}" if name else "")
            )
        try:
            result[name] = _sum(mine, second[name])
        except Mismatch as error:
            raise Mismatch(f"{error.expected}{where}", error.got, error.advice) from None
    return Summaries(result)


def _sum(one: Summary, two: Summary) -> Summary:
    if isinstance(one, Counts) and isinstance(two, Counts):
        return one + two
    if isinstance(one, Groups) and isinstance(two, Groups):
        return one + two
    raise Mismatch("summaries that are all by group or all of everybody", "one of each")


def some(summary: Summary) -> Counts:
    """The counts themselves, or those of any group, for what all groups have in common."""
    return summary if isinstance(summary, Counts) else next(iter(summary.values()))


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names)) if ALONE not in names else "one without a name"

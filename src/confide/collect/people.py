"""Makes invitations: one link per person, in a file that only its owner can read."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from confide import _checks
from confide._secrets import settle
from confide.collect.invitations import (
    Invitation,
    Signer,
    checked_url,
    link,
    phase_of,
    question_cell,
    uncell,
)
from confide.collect.stores.store import Store, Unavailable
from confide.errors import InvalidInput
from confide.files.paths import named, readable, unseen
from confide.questions import Questionnaire
from confide.questions.persons import PERSON, once, plain
from confide.questions.phases import PHASE, Phases
from confide.questions.rounds import ROUND

LINK = "link"
"""The column of links."""
MOST = 10_000_000
"""Invitations in one go, at most."""
LARGEST = 2**30
"""Bytes of a table of people, at most."""


@final
@dataclass(frozen=True)
class People:
    """Whom to invite, with what is publicly known about each.

    Parameters
    ----------
    columns
        Names of the columns.
    rows
        One row a person. Public groups of the survey are among the columns; all others are copied
        beside the link and go no further.

    Examples
    --------
    >>> people = People(("region",), [{"region": "north"}, {"region": "south"}])
    >>> len(people.rows), len(People.nameless(3).rows)
    (2, 3)
    """

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, str]]

    @classmethod
    def nameless(cls, n: int) -> People:
        """So many people of whom nothing is known."""
        n = _checks.integer(1, MOST, n=n)
        return cls((), [{}] * n)

    @classmethod
    def read(cls, path: Path, survey: Questionnaire) -> People:
        """A CSV file of people with a column for each of the survey's groups."""
        columns, rows = table_of(path)
        _columns(columns, survey, path)
        for name in survey.groups:
            _spelled_once(name, [row[name] for row in rows], path)
        _times(columns, rows, survey, named(path))
        if not 1 <= len(rows) <= MOST:
            raise InvalidInput(f"from 1 to {MOST:,} people in {named(path)}", f"{len(rows):,}")
        return cls(columns, rows)


def _times(
    columns: Sequence[str], rows: Sequence[Mapping[str, str]], survey: Questionnaire, where: str
) -> None:
    """Refuse people who are asked too often."""
    if survey.phases is not None:
        if PHASE in columns:
            survey.phases.read_rows([row[PHASE] for row in rows], where)
        if PERSON in columns:
            once([row[PERSON] for row in rows], where)
    if survey.rounds is not None:
        if PERSON not in columns:
            raise InvalidInput(
                f"a column {PERSON!r} in {where}: the survey has rounds",
                "none",
                "Take the schedule that confide schedule has drawn.",
            )
        survey.rounds.check_rows(
            [row[PERSON] for row in rows],
            [int(row[ROUND]) if row[ROUND].isdecimal() else row[ROUND] for row in rows],
            where,
        )


def _spelled_once(name: str, values: Sequence[str], path: Path) -> None:
    """Refuse groups that differ only in spelling, since each spelling would be a separate group."""
    spellings: dict[str, tuple[str, int]] = {}
    for at, value in enumerate(values, start=2):
        if not value.strip():
            raise InvalidInput(
                f"a value for the group {name!r} in line {at} of {named(path)}", "none"
            )
        if value != value.strip():
            raise InvalidInput(
                f"no blanks around the group {name!r} in line {at} of {named(path)}", repr(value)
            )
        first, line = spellings.setdefault(plain(value), (value, at))
        if value != first:
            raise InvalidInput(
                f"one spelling of each group {name!r} in {named(path)}",
                f"{first!r} in line {line} and {value!r} in line {at}",
                "They would be two groups.",
            )


def table_of(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """The columns and rows of a CSV file."""
    readable(path)
    if path.stat().st_size > LARGEST:
        raise InvalidInput(f"a table of people of at most {LARGEST:,} bytes", named(path))
    try:
        text = path.read_bytes().decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows, columns = list(reader), tuple(reader.fieldnames or ())
    except UnicodeDecodeError:
        raise InvalidInput(f"UTF-8 text in {named(path)}", "other bytes") from None
    except csv.Error as error:
        raise InvalidInput(f"CSV in {named(path)}", f"something else ({error})") from None
    for at, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InvalidInput(
                f"{len(columns)} cells in line {at} of {named(path)}", "more or fewer"
            )
    return columns, rows


def _columns(columns: Sequence[str], survey: Questionnaire, path: Path) -> None:
    """Refuse a table that lacks a group, or that holds answers."""
    if len(set(columns)) != len(columns):
        raise InvalidInput(f"columns of different names in {named(path)}", "one twice")
    for name in survey.groups:
        if name not in columns:
            raise InvalidInput(
                f"a column {name!r} in {named(path)}, a group of the survey",
                "none",
                _checks.nearest(name, columns),
            )
    if LINK in columns:
        raise InvalidInput(f"a table without a column {LINK!r}", f"one in {named(path)}")
    for name in (*survey.questions, *survey.pairs):
        if name in columns:
            raise InvalidInput(
                f"public columns in {named(path)}",
                f"the question {name!r}",
                "Answers are given on the respondents' devices.",
            )


def check(people: People, survey: Questionnaire, *, url: str, to: Path) -> None:
    """Refuse what cannot be carried out, before anything is made."""
    checked_url(url)
    if survey.closes is not None and survey.closes <= datetime.now(UTC):
        raise InvalidInput(
            "a survey that closes in the future", f"one that closed at {survey.closes.isoformat()}"
        )
    until = None if survey.phases is None else survey.phases.until
    if until is not None and until <= datetime.now(UTC):
        raise InvalidInput(
            "a first phase that ends in the future", f"until = {until.isoformat()} in [phases]"
        )
    if survey.groups and not people.columns:
        raise InvalidInput(
            f"a table of people with the groups {', '.join(survey.groups)}",
            "a number of people alone",
            "Give --people people.csv.",
        )
    _times(people.columns, people.rows, survey, "the table of people")
    if to.exists():
        _left(to, people, survey, url)


def invite(
    people: People, survey: Questionnaire, signer: Signer, store: Store, *, url: str, to: Path
) -> int:
    """Make an invitation for every person, and write their links; returns how many.

    Where a survey asks each person some of the questions only, or some people for a pair, each
    call asks every question, and every pair, equally often in every cell of the groups, but for a
    difference of one. Where it has phases, each person's is that of the table's column "phase", or
    else drawn here, evenly in every cell; it is in the link, and in a column of the file.

    The file is on disk before the store knows the invitations, and it is the only copy of the
    links. So it goes only if the store refuses the links that this call has made. If the store
    fails, or the process is killed, the same call made again admits the links of the file, unless
    they were admitted before.

    Examples
    --------
    >>> import tempfile
    >>> from confide.collect import Signer, opened
    >>> survey = Questionnaire.from_dict(
    ...     {"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store, to = opened(f"{folder}/a.db", survey, create=True), Path(folder) / "links.csv"
    ...     url, signer = "https://survey.example.org", Signer(bytes(32), survey)
    ...     invite(People.nameless(3), survey, signer, store, url=url, to=to)
    ...     store.shut()
    3
    """
    check(people, survey, url=url, to=to)
    left = _left(to, people, survey, url) if to.exists() else []
    tokens = left or _minted(people, survey, signer)
    found = [signer.read(token) for token in tokens]
    invitations = [invitation for invitation in found if invitation is not None]
    if len(invitations) != len(tokens):
        raise _taken(to, "which is there")
    if left and store.knows(invitations[0].hash):
        raise _taken(to, "whose links the store has already", "These can be sent. ")
    groups = [invitation.groups for invitation in invitations]
    _check_spelling(survey, store, groups)
    if survey.phases is not None:
        before = store.status().invited
        first = sum(n for each, n in before.items() if phase_of(each) == 1)
        _enough_first(survey.phases, first + sum(one.phase == 1 for one in invitations))
    if not left:
        _write(to, _with_phases(people, invitations), [link(url, token) for token in tokens])
    try:
        cells = invited(invitations, survey)
        store.invite([one.hash for one in invitations], cells)
    except InvalidInput:
        # Another store may have admitted the links of a file that was there.
        if not left:
            to.unlink(missing_ok=True)
        raise
    except Unavailable as error:
        raise Unavailable(
            f"{error} Nobody knows whether it has the invitations. Keep {named(to)}, and run the "
            "same command again when the store can be used: it adds them if they are missing."
        ) from None
    return len(tokens)


def _minted(people: People, survey: Questionnaire, signer: Signer) -> list[str]:
    groups = [tuple(row[name] for name in survey.groups) for row in people.rows]
    asked, phases = assigned(groups, survey), _phases(people, groups, survey)
    return [
        signer.mint(own, asked=places, phase=phase)
        for own, places, phase in zip(groups, asked, phases, strict=True)
    ]


def _phases(
    people: People, groups: Sequence[tuple[str, ...]], survey: Questionnaire
) -> Sequence[int | None]:
    """The phase of each person: that of the table, or drawn here and now; None without phases."""
    if survey.phases is None:
        return [None] * len(groups)
    if PHASE in people.columns:
        return survey.phases.read_rows([row[PHASE] for row in people.rows], "the table of people")
    return [int(phase) for phase in survey.phase_of(_numbered(groups))]


def _with_phases(people: People, invitations: Sequence[Invitation]) -> People:
    """People with the phase of each, where there is one: they are asked at different times."""
    if invitations[0].phase is None or PHASE in people.columns:
        return people
    rows = [
        {**row, PHASE: str(one.phase)} for row, one in zip(people.rows, invitations, strict=True)
    ]
    return People((*people.columns, PHASE), rows)


def check_first(people: People, survey: Questionnaire) -> None:
    """Refuse a first phase that could never end, where nobody was invited before.

    It needs no store: a store keeps the survey that it was made for, and the owner has to change
    that.
    """
    if survey.phases is None:
        return
    if PHASE in people.columns:
        first = sum(row[PHASE].strip() == "1" for row in people.rows)
    else:
        first = survey.phases.least_first(len(people.rows))
    _enough_first(survey.phases, first)


def _enough_first(phases: Phases, first: int) -> None:
    """Refuse too few people in the first phase for it to end by their number."""
    if phases.after is None or phases.until is not None or first >= phases.after:
        return
    raise InvalidInput(
        f"at least {phases.after:,} people in the first phase, as after in [phases] says",
        f"{first:,}",
        "The second phase would never begin. Invite everybody at once, ask for fewer in after, "
        "or give until as well.",
    )


def _numbered(groups: Sequence[tuple[str, ...]]) -> list[int]:
    """The number of a cell for each person: people in the same groups share it."""
    numbers: dict[tuple[str, ...], int] = {}
    return [numbers.setdefault(own, len(numbers)) for own in groups]


def assigned(
    groups: Sequence[tuple[str, ...]], survey: Questionnaire
) -> list[tuple[int, ...] | None]:
    """Which questions or pair each person of some groups is asked, drawn here; None for all."""
    if survey.asking is None:
        return [None] * len(groups)
    return [tuple(row.nonzero()[0].tolist()) for row in survey.assigned(_numbered(groups))]


def invited(invitations: Sequence[Invitation], survey: Questionnaire) -> Counter[str]:
    """Number of people invited in each cell of the groups, and to each question or pair."""
    names = list(survey.mechanisms)
    counts = Counter(one.cell for one in invitations)
    counts.update(question_cell(names[at]) for one in invitations for at in one.asked or ())
    return counts


def _check_spelling(survey: Questionnaire, store: Store, groups: Sequence[tuple[str, ...]]) -> None:
    """Refuse a group that the store has in another spelling."""
    cells = [uncell(cell) for cell in store.status().invited]
    for at, name in enumerate(survey.groups):
        known = {plain(cell[at]): cell[at] for cell in cells}
        for value in dict.fromkeys(own[at] for own in groups):
            first = known.get(plain(value), value)
            if first != value:
                raise InvalidInput(
                    f"the group {name!r} in the spelling of those who were invited before, "
                    f"{first!r}",
                    repr(value),
                    "They would be two groups.",
                )


def _left(to: Path, people: People, survey: Questionnaire, url: str) -> list[str]:
    """The tokens of a file that an earlier run has written for these very people."""
    try:
        columns, rows = table_of(to)
    except InvalidInput:
        raise _taken(to, "which is there") from None
    drawn = (PHASE,) if survey.phases is not None and PHASE not in people.columns else ()
    if columns != (*people.columns, *drawn, LINK):
        raise _taken(to, "which is there")
    theirs, mine = ([[row[name] for name in people.columns] for row in part]
                    for part in (people.rows, rows))  # fmt: skip
    if mine != theirs:
        raise _taken(to, "which is there")
    start = f"{checked_url(url)}#"
    return [row[LINK].removeprefix(start) for row in rows]


def _taken(to: Path, why: str, advice: str = "") -> InvalidInput:
    return InvalidInput(
        "a new file for the links", f"{named(to)}, {why}", f"{advice}Links cannot be made again."
    )


def _write(to: Path, people: People, links: Sequence[str]) -> None:
    """Write the links, all or none, for the owner alone to read."""
    with unseen(to, private=True) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*people.columns, LINK])
        for row, own in zip(people.rows, links, strict=True):
            writer.writerow([*(row[name] for name in people.columns), own])
        text.detach()
    settle(to.parent)

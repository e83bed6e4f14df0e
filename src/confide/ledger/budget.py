"""A budget on disk that survives crashes, retries and several writers.

A charge and its release are one transaction of an SQLite file: both are stored, or neither. The
release is handed out only after the commit, so that every release that anyone has seen is charged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, final

from confide import _checks
from confide._cards import bars, card, table
from confide.accounting.spend import Spend, told_cost
from confide.errors import BudgetExhausted, ConfideWarning, InvalidInput, Mismatch
from confide.ledger import bindings, costs, database

APPLICATION = int.from_bytes(b"cnfd")
VERSION = 3
SCHEMA_2 = (
    """CREATE TABLE budget (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    epsilon INTEGER NOT NULL CHECK (typeof(epsilon) = 'integer' AND epsilon > 0),
    delta INTEGER NOT NULL CHECK (typeof(delta) = 'integer' AND delta >= 0)
    )""",
    # A charge without a group has an empty attribute and an empty member.
    """CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    epsilon INTEGER NOT NULL CHECK (typeof(epsilon) = 'integer' AND epsilon >= 0),
    delta INTEGER NOT NULL CHECK (typeof(delta) = 'integer' AND delta >= 0),
    note TEXT NOT NULL,
    attribute TEXT NOT NULL,
    member TEXT NOT NULL,
    at TEXT NOT NULL,
    release TEXT NOT NULL
    )""",
)
SCHEMA = (*SCHEMA_2, bindings.TABLE)
COLUMNS = "key, fingerprint, epsilon, delta, note, attribute, member, at, release"
ENTRIES = f"SELECT {COLUMNS}, CAST(secret AS BLOB) FROM charges LEFT JOIN data USING (number)"
MOST_BITS = 2048
"""Largest integer in a document, in bits; Python can read it back under any setting."""


class _Head(NamedTuple):
    """What a ledger was made with; the id tells it from another that is alike in all else."""

    id: str
    subject: str
    cap: costs.Cost


@final
@dataclass(frozen=True)
class Entry:
    """One charge of a ledger: the key, the release and its cost.

    Parameters
    ----------
    key
        The name of the release.
    fingerprint
        Of the public spec, the cost and the group that it was charged for.
    spend
        What it cost.
    group
        A public attribute and one of its values, if it is about those records only.
    at
        When it was charged.
    text
        The release, as JSON.
    bound
        Whether a retry with other data is noticed: a digest of the data was stored, and the secret
        file that it was made with is there. If not, it is returned with a warning.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/pay.ledger", epsilon=1.0)
    ...     _ = ledger.charge("n", {"what": "count"}, Spend(0.4), lambda: {"answer": 12})
    ...     entry = ledger.entry("n")
    >>> entry.key, entry.spend, entry.release
    ('n', Spend(epsilon=0.4), {'answer': 12})
    """

    key: str
    fingerprint: str
    spend: Spend
    group: tuple[str, str] | None
    at: str
    text: str
    bound: bool

    @property
    def release(self) -> Any:
        """The release, read from its JSON text."""
        try:
            return json.loads(self.text, parse_constant=_no_constant)
        except (ValueError, RecursionError, TypeError):
            raise InvalidInput(
                f"a stored release under the key {_checks.shown(self.key)}", "a damaged one"
            ) from None

    def _repr_html_(self) -> str:
        """What was charged under which key, for notebooks; the release itself is in `release`."""
        rows = [("charged at", self.at)]
        if self.group is not None:
            rows.append(("about", " = ".join(self.group)))
        rows.append(("bound to its data", "yes" if self.bound else "no"))
        return card(f"Charge {self.key}", table(("", ""), rows), cost=told_cost(self.spend))


class Ledger:
    """A budget for all releases about one data set, kept in a file.

    Parameters
    ----------
    path
        The file. It is made if it does not exist and a budget is given.
    budget
        The total that may be spent. A file keeps the budget that it was made with, and refuses
        another.
    epsilon, delta
        The budget as two numbers.
    subject
        A public name for the data that the budget is for, such as ``"staff-2024"``. A file keeps
        the one it was made with and refuses another, so that the ledger of other data is not
        charged by mistake.
    timeout
        Seconds to wait while other processes charge it.

    Notes
    -----
    **Formal guarantee.** The releases of a ledger together are (epsilon, delta)-differentially
    private with the ledger's budget, if each is with its own spend and they all are about the same
    records: costs add up (sequential composition), in integers, rounded up.

    With ``group=("region", "north")`` a charge states that its release depends only on the records
    of that group. The groups of one attribute must not overlap. They cost the maximum over the
    groups, not their sum (parallel composition). The ledger's total is the sum over attributes of
    that maximum, charges without a group counting as one more attribute with a single group. This
    protects a record's values given its group: the attribute must be public. A record that could
    change its group is not covered: it costs the sum of the two most expensive groups.

    A ledger cannot notice that its file was deleted or restored from an older copy: the charges
    since then are lost. A file beside it that ends in -journal belongs to an interrupted charge.
    Always copy both files together.

    **A key belongs to its data.** With a release a ledger stores an HMAC-SHA256 of its data, under
    a random key. The key is in a separate file that ends in .secret and that only its owner can
    read. So a retry with other data is noticed. Without that file the HMAC says nothing about the
    data. With both files one can test guesses of the whole data set, as one can by asking the
    ledger with guessed data. The HMAC is neither printed nor exported.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/survey.ledger", epsilon=1.0)
    >>> spec, data = {"kind": "count", "where": "age > 40"}, b"the answers, in a fixed order"
    >>> ledger.charge("count", spec, Spend(0.4), lambda: {"answer": 1234}, data=data)
    {'answer': 1234}
    >>> ledger.charge("count", spec, Spend(0.4), lambda: {"answer": 9999}, data=data)
    {'answer': 1234}
    >>> ledger.left
    Spend(epsilon=0.6)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: Path | str,
        budget: Spend | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        subject: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        timeout = _checks.positive(timeout=timeout)
        path = Path(path).resolve()
        self._file = database.File(path, "ledger", APPLICATION, VERSION, SCHEMA, timeout)
        self._bindings = bindings.Bindings.of(path)
        asked = costs.budgeted(budget, epsilon, delta)
        if subject is not None:
            subject = costs.word("a non-empty text as subject", subject)
        there = self._file.place()
        if asked is not None:
            values = (secrets.token_hex(16), subject or "", *asked)
            self._file.make("INSERT INTO budget VALUES (1, ?, ?, ?, ?)", values)
        elif not there:
            raise InvalidInput(
                f"a ledger at {self._file.named}", "none", "To make one give a budget: epsilon=1.0."
            )
        self._charged: set[str] = set()
        self._file.upgrade(2, SCHEMA_2, (bindings.TABLE,))
        with self._file.reading() as run:
            if run("PRAGMA quick_check(1)") != [("ok",)]:
                raise self._file.damaged()
            self._head = self._stored_head(run)
        if subject is not None and subject != self.subject:
            raise Mismatch(
                f"the subject that the ledger {self._file.named} was made for "
                f"({_checks.shown(self.subject) if self.subject else 'none'})",
                _checks.shown(subject),
                "Other data need a ledger of their own.",
            )
        if asked is not None and asked != self._head.cap:
            raise Mismatch(
                f"the budget that the ledger {self._file.named} was made with ({self._head.cap})",
                str(asked),
                "A ledger keeps its budget. For other data make a ledger in another file.",
            )

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def subject(self) -> str:
        """The public name of the data that the budget is for, or an empty text."""
        return self._head.subject

    @property
    def budget(self) -> Spend:
        """The total that may be spent."""
        return self._head.cap.spend()

    @property
    def spent(self) -> Spend:
        """The total cost of all charges so far."""
        with self._reading() as run:
            return costs.total(self._sums(run)).spend()

    @property
    def left(self) -> Spend:
        """The largest cost of one more charge without a group."""
        with self._reading() as run:
            return self._head.cap.plus(costs.total(self._sums(run)), -1).spend()

    @property
    def charged(self) -> frozenset[str]:
        """Keys that were charged through this object, and not by another program meanwhile."""
        return frozenset(self._charged)

    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        with self._reading() as run:
            rows = run(f"{ENTRIES} ORDER BY number")
        known = self._bindings.known()
        return tuple(_entry(row, known) for row in rows)

    def entry(self, key: str) -> Entry:
        """The charge under a key, with its release: to see it again costs nothing."""
        with self._reading() as run:
            rows = run(f"{ENTRIES} WHERE key = ?", (key,))
            if not rows:
                names = [name for (name,) in run("SELECT key FROM charges ORDER BY number")]
        if not rows:
            raise InvalidInput(
                f"a key of the ledger {self._file.named}",
                _checks.shown(key),
                _checks.nearest(key, names) if names else "Nothing was released yet.",
            )
        return _entry(rows[0], self._bindings.known())

    def charge(
        self,
        key: str,
        spec: Any,
        spend: Spend,
        make: Callable[[], Any],
        *,
        data: bytes | None = None,
        group: tuple[str, str] | None = None,
    ) -> Any:
        """Charge for a release, make it, store both, and only then hand it out.

        Parameters
        ----------
        key
            The name of the release. A key that was charged before gives the stored release again,
            at no cost. With other data than then it is refused.
        spec
            What is released and how, as plain JSON values: public, never a value from the data. A
            key with another spec, spend or group than before is refused.
        spend
            What it costs.
        make
            Draws the release, as plain JSON values: noisy results only, neither a raw value nor a
            noise. It runs while others wait, so what takes long belongs before it, and it must not
            use this ledger. If it raises, nothing is charged, so it must not fail because of what
            the values are.
        data
            Bytes that stand for the data that are used: the same for the same data, whatever order
            they come in, and others for others. Only an HMAC of them is stored. Without them
            nobody can tell whether a retry is about the same data, and it gets a warning.
        group
            A public attribute and one of its values, if only those records are used.

        Returns
        -------
        The release as it is stored, read back from JSON: a retry gives the same.
        """
        key = costs.word("a non-empty text as key", key)
        cost = costs.charged(spend)
        place = costs.placed(group)
        if data is not None and not isinstance(data, bytes):
            raise InvalidInput("data as bytes", _checks.kind(data))
        fingerprint = hashlib.sha256(
            _json("a spec", {"spec": spec, "cost": cost, "group": place}, sort=True).encode()
        ).hexdigest()
        doubt = loss = ""
        with self._file.writing() as run:
            self._check(run)
            text = self._known(run, key, fingerprint)
            new = text is None
            if text is None:
                self._afford(run, cost, place)
                secret = None if data is None else self._bindings.secret()
                loss = "" if secret is None else self._bindings.loss(run, secret)
                text = _json("a release", make())
                row = (key, fingerprint, *cost, spend.note, *place, _now(), text)
                self._store(run, row)
                if secret is not None and data is not None:
                    self._bindings.bind(run, secret, key, data)
            else:
                doubt = self._bindings.doubt(run, key, data)
            try:
                # Before the commit: what cannot be read back is not charged.
                release = json.loads(text)
            except (ValueError, RecursionError):
                raise self._file.damaged() from None
        if new:
            self._charged.add(key)
        if doubt:
            warnings.warn(
                f"The stored release of the key {_checks.shown(key)} is returned unchecked, and "
                f"may be about other data: {doubt}.",
                ConfideWarning,
                stacklevel=2,
            )
        if loss:
            warnings.warn(loss, ConfideWarning, stacklevel=2)
        return release

    def __repr__(self) -> str:
        about = f", subject={self.subject!r}" if self.subject else ""
        return f"Ledger({str(self.path)!r}, {self._head.cap}{about})"

    def _repr_html_(self) -> str:
        """What was spent, what is left, and the last charges, for notebooks."""
        budget, spent, left = self.budget, self.spent, self.left
        parts = {"budget": budget, "spent": spent, "left": left}
        charges = [
            (entry.key, entry.at, entry.spend.to_dict()) for entry in reversed(self.entries())
        ]
        rows = [
            (key, at, f"{cost['epsilon']:g}", f"{cost['delta']:g}") for key, at, cost in charges
        ]
        return card(
            f"Ledger of {self.subject}" if self.subject else "Ledger",
            bars([one.epsilon for one in parts.values()], list(parts), told="epsilon"),
            table(("", "epsilon", "delta"),
                  [(name, f"{one.epsilon:g}", f"{one.delta:g}") for name, one in parts.items()]),
            table(("charges, the newest first", "at", "epsilon", "delta"), rows),
        )  # fmt: skip

    def _known(self, run: database.Run, key: str, fingerprint: str) -> str | None:
        rows = run("SELECT fingerprint, release FROM charges WHERE key = ?", (key,))
        if not rows:
            return None
        ((known, text),) = rows
        if known != fingerprint:
            raise Mismatch(
                f"the settings, group and number of values of the release {_checks.shown(key)}",
                "different ones",
                "Use another key (--key) for another release; it costs epsilon again.",
            )
        return str(text)

    def _afford(self, run: database.Run, cost: costs.Cost, place: costs.Group) -> None:
        self._file.refuse_read_only()
        # Changes nothing, but fails before anything is drawn where the place is read-only.
        run("DELETE FROM charges WHERE 0")
        sums = self._sums(run)
        own = sums.get(place, costs.NOTHING)
        if costs.total({**sums, place: own.plus(cost)}).within(self._head.cap):
            return
        others = costs.total({other: sums[other] for other in sums if other[0] != place[0]})
        left = self._head.cap.plus(others, -1).plus(own, -1)
        raise BudgetExhausted(
            f"a spend within what is left of the budget ({left})",
            str(cost),
            "Nothing was charged or drawn: spend less, or ask for a stored release by its key, "
            "which costs nothing.",
        )

    def _sums(self, run: database.Run) -> dict[costs.Group, costs.Cost]:
        rows = run(
            "SELECT attribute, member, SUM(epsilon), SUM(delta) FROM charges"
            " GROUP BY attribute, member",
        )
        return {(attribute, member): costs.Cost(e, d) for attribute, member, e, d in rows}

    @contextlib.contextmanager
    def _reading(self) -> Iterator[database.Run]:
        with self._file.reading() as run:
            self._check(run)
            yield run

    def _check(self, run: database.Run) -> None:
        if self._stored_head(run) != self._head:
            raise Mismatch(
                f"the same ledger at {self._file.named} as when it was opened",
                "another",
                "The file was replaced while it was in use.",
            )

    def _stored_head(self, run: database.Run) -> _Head:
        rows = run("SELECT id, subject, epsilon, delta FROM budget")
        if len(rows) != 1:
            raise self._file.damaged()
        ((id_, subject, epsilon, delta),) = rows
        return _Head(id_, subject, costs.Cost(epsilon, delta))

    def _store(self, run: database.Run, row: tuple[Any, ...]) -> None:
        run(
            f"INSERT INTO charges ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def _entry(row: Any, known: bytes | None) -> Entry:
    key, fingerprint, epsilon, delta, note, attribute, member, at, text, secret = row
    spend = costs.Cost(epsilon, delta).spend(note)
    group = (attribute, member) if attribute else None
    return Entry(key, fingerprint, spend, group, at, text, secret is not None and secret == known)


def _no_constant(name: str) -> Any:
    """What we never write: NaN and infinities."""
    raise ValueError(name)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _json(what: str, value: Any, *, sort: bool = False) -> str:
    try:
        _check_plain(value)
        return json.dumps(value, allow_nan=False, sort_keys=sort, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        # The reason is left out: it could quote what must not be seen.
        raise InvalidInput(
            f"{what} of plain JSON values", "something else", "Nothing was charged."
        ) from None


def _check_plain(value: Any) -> None:
    """Refuse keys that are not text, which JSON would make one of 1 and "1", and huge integers."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise ValueError
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_plain(item)

"""Keyed digests of data sets, which do not depend on the order of records."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._secrets import SecretFile
from confide.errors import InvalidInput, Mismatch

Array = npt.NDArray[Any]

DENSE = 2**22
"""Up to so many cells there is a counter for each; beyond that the records are sorted."""
CHUNK = 2**22
"""Records that are counted at a time, so that little memory is needed beside them."""
WHOLE = 2**53
"""Whole numbers up to here are exact as floats: 1 and 1.0 are taken for the same record."""


def content(*tables: Array) -> bytes:
    """32 bytes that stand for the multisets of rows of some tables, one row a record.

    The same records in another order give the same bytes. They are private: with them one can test
    guesses of the data, so they are kept in memory only, and a ledger stores an HMAC of them.
    """
    digest = hashlib.sha256()
    for table in tables:
        for piece in _pieces(table):
            digest.update(len(piece).to_bytes(8, "little"))
            digest.update(piece)
    return digest.digest()


def _pieces(table: Array) -> Iterator[bytes]:
    rows = _plain(table.reshape(len(table), math.prod(table.shape[1:])))
    if rows.dtype == np.int64 and rows.size:
        low = rows.min(axis=0)
        shape = [int(b) - int(a) + 1 for a, b in zip(low, rows.max(axis=0), strict=True)]
        if math.prod(shape) < 2**63:
            yield _numbers([len(rows), *low, *shape])
            yield from _counted(rows, low, shape)
            return
    kind = rows.dtype.newbyteorder("<")
    yield f"{kind.str} {rows.shape}".encode()
    width = rows.shape[1] * rows.itemsize
    if rows.size and width:
        rows = np.ascontiguousarray(rows, dtype=kind)
        yield np.sort(rows.view(np.dtype((np.void, width))).ravel()).tobytes()


def _plain(rows: Array) -> Array:
    """One type for the same numbers, whatever type they came in."""
    kind = rows.dtype.kind
    if kind == "f":
        with np.errstate(all="ignore"):
            if not np.all((np.rint(rows) == rows) & (np.abs(rows) <= WHOLE)):
                rows = rows.astype(np.float64) + 0.0  # of -0 and 0 make one
                rows[np.isnan(rows)] = np.nan
                return rows
    elif kind not in "bi" and not (kind == "u" and np.all(rows < 2**63)):
        return rows
    return rows.astype(np.int64, copy=False)


def _counted(rows: Array, low: Array, shape: list[int]) -> Iterator[bytes]:
    """Which rows there are, as numbers of the cells of a box, and how often."""
    cells = math.prod(shape)

    def flat(start: int) -> Array:
        part = rows[start : start + CHUNK] - low
        numbers: Array = np.ravel_multi_index(tuple(part.T), shape)
        return numbers

    starts = range(0, len(rows), CHUNK)
    if cells <= DENSE:
        every = np.zeros(cells, dtype=np.int64)
        for start in starts:
            every += np.bincount(flat(start), minlength=cells)
        found = np.flatnonzero(every)
        counts = every[found]
    else:
        found, counts = np.unique(
            np.concatenate([flat(start) for start in starts]), return_counts=True
        )
    yield _numbers(found)
    yield _numbers(counts)


def _numbers(numbers: Any) -> bytes:
    return np.asarray(numbers, dtype="<i8").tobytes()


TABLE = """CREATE TABLE data (
    number INTEGER PRIMARY KEY,
    secret BLOB NOT NULL CHECK (typeof(secret) = 'blob'),
    digest BLOB NOT NULL CHECK (typeof(digest) = 'blob')
    )"""
"""For a charge, which secret its digest was made with, and the digest."""
ENDING = ".secret"
"""Of the name of a secret file, after that of its ledger."""
LABEL = "confide-secret-1"
"""First word of a secret file, before the key in hexadecimal digits."""
Run = Callable[..., list[Any]]


@final
@dataclass(frozen=True)
class Secret:
    """A random key: without it, digests made with it say nothing about the data."""

    key: bytes = field(repr=False)

    @property
    def id(self) -> bytes:
        """Tells which key a digest was made with, and nothing about the key."""
        return hashlib.sha256(b"confide secret id" + self.key).digest()[:8]

    def digest(self, name: str, data: bytes) -> bytes:
        """An HMAC of the data of a release; under another name the same data have another one."""
        label = name.encode()
        message = len(label).to_bytes(8, "little") + label + data
        return hmac.digest(self.key, message, "sha256")


@final
@dataclass(frozen=True)
class Bindings:
    """The digests that a ledger stores with its charges. Hold the ledger's lock to use them.

    Parameters
    ----------
    path
        The secret file. A digest beside its key lets a reader test guesses of the data, so it is
        kept out of the ledger, and only its owner can read it.
    """

    path: Path

    @classmethod
    def of(cls, ledger: Path) -> Bindings:
        """The digests of a ledger, whose secret file is beside it."""
        return cls(ledger.with_name(ledger.name + ENDING))

    def secret(self) -> Secret:
        """The secret for new digests, made where there is none (any more).

        Digests under a lost one can no longer be checked, which their id tells.
        """
        return self._read() or self._made()

    def loss(self, run: Run, secret: Secret) -> str:
        """A sentence about releases that a new secret cannot check, or nothing."""
        ids = dict(run("SELECT CAST(secret AS BLOB), COUNT(*) FROM data GROUP BY 1"))
        if not ids or secret.id in ids:
            return ""
        n = sum(ids.values())
        return (
            f"The secret file {str(self.path)!r} was made anew or is another one: a retry of {n} "
            f"earlier release{'s' * (n > 1)} is returned unchecked unless the old file is put back."
        )

    def known(self) -> bytes | None:
        """Which secret is there, or None where none can be used."""
        try:
            secret = self._read()
        except InvalidInput:
            return None
        return None if secret is None else secret.id

    def bind(self, run: Run, secret: Secret, key: str, data: bytes) -> None:
        """Store what the charge that was just stored has been made from."""
        row = (secret.id, secret.digest(key, data))
        run("INSERT INTO data VALUES (last_insert_rowid(), ?, ?)", row)

    def doubt(self, run: Run, key: str, data: bytes | None) -> str:
        """Why a stored release cannot be matched to these data, or nothing if it can.

        Raises
        ------
        Mismatch
            If it is about other data.
        """
        rows = run(
            "SELECT CAST(secret AS BLOB), CAST(digest AS BLOB)"
            " FROM data JOIN charges USING (number) WHERE key = ?",
            (key,),
        )
        if not rows:
            return "it was stored without a digest of its data"
        if data is None:
            return "no data were given"
        try:
            secret = self._read()
        except InvalidInput:
            return f"the secret file {str(self.path)!r} cannot be used"
        if secret is None:
            return f"the secret file {str(self.path)!r} is missing"
        ((known, digest),) = rows
        if secret.id != known:
            return f"the secret file {str(self.path)!r} is another one than then"
        if not hmac.compare_digest(digest, secret.digest(key, data)):
            raise Mismatch(
                f"the data that the key {_checks.shown(key)} was released from",
                "other data",
                "A new key (--key) makes a new release, which costs its epsilon again. The stored "
                "one can be had without data: confide ledger get LEDGER KEY, or Ledger.entry(key).",
            )
        return ""

    def _read(self) -> Secret | None:
        """The secret, or None where there is no such file."""
        key = self._file.read()
        return None if key is None else Secret(key)

    def _made(self) -> Secret:
        """A new secret, on disk before it is returned."""
        return Secret(self._file.make())

    @property
    def _file(self) -> SecretFile:
        # A reader of the secret can test guesses of the data.
        return SecretFile(
            self.path,
            label=LABEL,
            what="a secret file",
            advice="Nothing was charged. The user who charges the ledger must be able to read the "
            "file. Or move it away: a new one is made then, and earlier releases can no longer be "
            "checked.",
            beside=self.path.with_name(self.path.name.removesuffix(ENDING)),
        )

"""Metadata of tables of reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide import _checks
from confide.errors import ConfideWarning, InvalidInput, Mismatch
from confide.files.paths import load_json
from confide.mechanisms import Joint, Mechanism, Partition, register
from confide.reports.rows import Asking

if TYPE_CHECKING:
    from confide.files.source import Source

KEY = b"confide"
VERSION = 1


@dataclass(frozen=True)
class Stamp:
    """The mechanism of each column of reports, kept in the metadata of an Arrow schema.

    Parameters
    ----------
    mechanisms
        What made each column, by name; of a table of vector reports the one `Partition` that made
        all its columns, under the name ''.
    simulated
        Whether the reports were drawn from a seed.
    survey
        The survey they answer, as plain values, where there is one.
    """

    mechanisms: Mapping[str, Mechanism]
    simulated: bool = False
    survey: Mapping[str, Any] | None = None

    @property
    def vectors(self) -> bool:
        """Whether the reports are vectors of a partition."""
        return any(isinstance(each, Partition) for each in self.mechanisms.values())

    @property
    def asking(self) -> Asking | None:
        """What each person was asked; None where all questions, or where no survey is known."""
        single = tuple(name for name, one in self.mechanisms.items() if one.single)
        pairs = tuple(name for name, one in self.mechanisms.items() if not one.single)
        ask = None if self.survey is None else self.survey.get("ask")
        if self.survey is None or (ask is None and not pairs):
            return None
        return Asking(single, len(single) if ask is None else ask, pairs)

    def metadata(self) -> dict[bytes, bytes]:
        """The schema metadata that says so."""
        entries = {
            name: {"fingerprint": mechanism.fingerprint, "mechanism": mechanism.to_dict()}
            for name, mechanism in self.mechanisms.items()
        }
        text: dict[str, Any] = {"version": VERSION, "simulated": self.simulated}
        if self.vectors:
            text["partition"] = entries[""]
        else:
            text |= {"columns": entries, "survey": self.survey}
        return {KEY: json.dumps(text, separators=(",", ":")).encode()}

    @classmethod
    def read(cls, metadata: Mapping[bytes, bytes] | None, where: str) -> Stamp | None:
        """The stamp in some metadata, None where there is none; a damaged one is refused."""
        if not metadata or KEY not in metadata:
            return None
        fields = _fields(metadata, where)
        damaged = _damaged(where)
        vectors = "partition" in fields
        try:
            simulated, survey = fields["simulated"], None if vectors else fields["survey"]
            entries = {"": fields["partition"]} if vectors else fields["columns"]
            register.affordable((entry["mechanism"] for entry in entries.values()), where)
            made = {
                name: (register.from_dict(entry["mechanism"]), entry["fingerprint"])
                for name, entry in entries.items()
            }
        except (KeyError, TypeError, AttributeError):
            raise damaged from None
        if any(isinstance(each, Partition) is not vectors for each, _ in made.values()):
            raise damaged
        if not made or not isinstance(simulated, bool):
            raise damaged
        if not isinstance(survey, (Mapping, type(None))):
            raise damaged
        ask = None if survey is None else survey.get("ask")
        # A bool is an int to Python.
        single = sum(mechanism.single for mechanism, _ in made.values())
        if ask is not None and (type(ask) is not int or not 1 <= ask < single):
            raise damaged
        for name, (mechanism, fingerprint) in made.items():
            _unchanged(mechanism, fingerprint, f"column {name!r} in {where}" if name else where)
        return cls({name: mechanism for name, (mechanism, _) in made.items()}, simulated, survey)

    @classmethod
    def of_answers(cls, metadata: Mapping[bytes, bytes] | None, where: str) -> Stamp | None:
        """The stamp of a table of single answers; one of vector reports is refused."""
        stamp = cls.read(metadata, where)
        if stamp is not None and stamp.vectors:
            raise InvalidInput(
                f"reports of single answers in {where}",
                "vector reports of a partition",
                "Add them up with tables.counts; commands take them with --partition.",
            )
        return stamp

    @classmethod
    def of_vectors(cls, metadata: Mapping[bytes, bytes] | None, where: str) -> Stamp | None:
        """The stamp of a table of vector reports; one of single answers is refused."""
        stamp = cls.read(metadata, where)
        if stamp is not None and not stamp.vectors:
            raise InvalidInput(
                f"vector reports of a partition in {where}", "reports of single answers"
            )
        return stamp

    def made(self, names: Sequence[str], where: str) -> Mechanism:
        """The mechanism of one column, or of several jointly."""
        for name in names:
            if name not in self.mechanisms:
                raise Mismatch(
                    f"reports in column {name!r} of {where}",
                    "a column that its metadata does not name",
                    _checks.nearest(name, self.mechanisms),
                )
        if len(names) == 1:
            return self.mechanisms[names[0]]
        return Joint({name: self.mechanisms[name] for name in names})


def _fields(metadata: Mapping[bytes, bytes], where: str) -> Mapping[str, Any]:
    fields = load_json(metadata[KEY], f"the metadata of {where}")
    if not isinstance(fields, Mapping) or fields.get("version") != VERSION:
        raise InvalidInput(
            f"metadata of version {VERSION} in {where}",
            "another version",
            "Read it with the release of confide that wrote it.",
        )
    return fields


def _damaged(where: str) -> InvalidInput:
    return InvalidInput(f"the whole metadata of confide in {where}", "parts of it")


def _unchanged(made: Mechanism, fingerprint: Any, where: str) -> None:
    if made.fingerprint != fingerprint:
        raise Mismatch(
            f"the fingerprint {made.fingerprint} of {where}",
            _checks.shown(fingerprint),
            "The metadata was changed after it was written.",
        )


class Unstamped(ConfideWarning):
    """No file of reports names its mechanism, although its format could.

    Parameters
    ----------
    where
        A file, for the message.
    many
        How many files there are.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", Unstamped)  # the files are known to hold reports
    """

    def __init__(self, where: str, many: int) -> None:
        files = where if many == 1 else f"each of {many:,} files such as {where}"
        super().__init__(
            f"Expected the stamp of confide in {files}, got none: nothing but you says that the "
            f"numbers are reports and not raw values. {ACCEPTED}"
        )


ACCEPTED = (
    "For reports that another program wrote again, without it: summarize --unstamped, or "
    "unstamped=True in Python."
)


def accounted(sources: Sequence[Source], *, unstamped: bool) -> Unstamped | None:
    """Refuse files without a stamp among those with one; a warning where none has a stamp.

    A file of raw values looks like one of reports, and among others the sums do not show it.

    Parameters
    ----------
    sources
        The files.
    unstamped
        Whether the files without a stamp are known to hold reports.
    """
    bare = [source for source in sources if KEY not in source.metadata]
    if unstamped or not bare:
        return None
    if len(bare) < len(sources):
        raise Mismatch(
            f"the stamp of confide in all {len(sources):,} files of reports",
            f"none in {bare[0].where}" + (f" and {len(bare) - 1:,} more" if len(bare) > 1 else ""),
            f"Raw values have none: put them through privatize first. {ACCEPTED}",
        )
    could = all(source.stamped for source in sources)
    return Unstamped(bare[0].where, len(bare)) if could else None


def unknown(where: str) -> InvalidInput:
    """The error for reports of an unknown mechanism."""
    return InvalidInput(
        f"a mechanism in the metadata of {where}",
        "none",
        "Give the survey too: this file alone does not say what made its reports. For numbers "
        "that somebody else noised, give --noised COLUMN=LAW:SCALE (Counts.of_noised in Python).",
    )


def differs(names: Sequence[str], where: str) -> Mismatch:
    """The error that reports were made by something else than was asked for."""
    return Mismatch(
        f"reports of {', '.join(map(repr, names))} in {where} by the mechanism that was asked for",
        "those of another",
        "The reports belong to another survey, or the survey was changed since.",
    )

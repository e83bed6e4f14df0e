"""Findings of audits, and pictures of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from confide import _checks
from confide._cards import bars, card, table
from confide.accounting.spend import rounded_up
from confide.displays import ESTIMATE, NAIVE, TRUTH, Display, new_axes
from confide.errors import InvalidInput


@dataclass(repr=False)
class ClaimDisplay(Display):
    """Epsilons that were claimed, proved and found, a row each.

    Parameters
    ----------
    names
        What was checked.
    claimed, certified, found
        Epsilons; those that are missing or infinite are left out.

    Examples
    --------
    >>> ClaimDisplay(["pay"], claimed=[1.0], certified=[1.0], found=[0.7]).plot()
    <ClaimDisplay of 1 rows>
    """

    names: Sequence[str]
    claimed: Sequence[float | None]
    certified: Sequence[float | None]
    found: Sequence[float | None]
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> ClaimDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes(7.0, 1.2 + 0.5 * len(self.names)) if ax is None else ax
        places = range(len(self.names))
        found = [value or 0.0 for value in self.found]
        ax.barh(places, found, color=ESTIMATE, alpha=0.7, height=0.5, label="found, at least")
        for values, color, marker, label in (
            (self.certified, NAIVE, "D", "certified, at most"),
            (self.claimed, TRUTH, "|", "claimed"),
        ):
            pairs = [
                (value, at)
                for at, value in enumerate(values)
                if value is not None and math.isfinite(value)
            ]
            if pairs:
                size = 18 if marker == "|" else 6
                x, y = zip(*pairs, strict=True)
                ax.plot(x, y, marker, color=color, ms=size, mew=2, label=label)
        ax.set_yticks(places, list(self.names), parse_math=False)
        ax.invert_yaxis()
        ax.set_xlim(left=0)
        ax.set_xlabel("epsilon")
        ax.legend(frameon=False, loc="best")
        return self

    def __repr__(self) -> str:
        return f"<ClaimDisplay of {len(self.names):,} rows>"


@dataclass(frozen=True, repr=False)
class Finding:
    """The result of one layer of checks on one subject.

    Parameters
    ----------
    layer
        Which check it was.
    subject
        What was checked, in words.
    claimed
        The epsilon that was claimed; infinite where nothing was.
    holds
        Whether the check found nothing against the claim.
    looked
        Whether there was anything to look at: what could not have been found is not ruled out.
    unseen
        What this check cannot see.
    certified
        An epsilon that was proved, rounded up; None where the check proves none.
    lower_bound
        An epsilon that the subject certainly exceeds or reaches, at the stated alpha; None where
        the check gives none.
    evidence
        Figures, by name.

    Examples
    --------
    >>> found = Finding("exact", "pay", 1.0, holds=True, unseen="Nothing else.", certified=1.0)
    >>> found
    <Finding exact of 'pay': epsilon=1 holds>
    >>> Finding.from_dict(found.to_dict()) == found
    True
    """

    layer: str
    subject: str
    claimed: float
    holds: bool = field(kw_only=True)
    unseen: str = field(kw_only=True)
    looked: bool = field(default=True, kw_only=True)
    certified: float | None = field(default=None, kw_only=True)
    lower_bound: float | None = field(default=None, kw_only=True)
    evidence: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))

    def __repr__(self) -> str:
        verdict = ("holds" if self.looked else "not tested") if self.holds else "FAILS"
        claim = f"epsilon={figure(self.claimed)} {verdict}"
        return f"<Finding {self.layer} of {_checks.shown(self.subject)}: {claim}>"

    def _repr_html_(self) -> str:
        """The claim, the proof and the findings, for notebooks."""
        numbers = {
            "claimed": self.claimed,
            "certified, at most": self.certified,
            "found, at least": self.lower_bound,
        }
        rows = [(name, figure(one)) for name, one in numbers.items() if one is not None]
        verdict = ("holds" if self.looked else "not tested") if self.holds else "FAILS"
        title = f"{self.layer} check of {self.subject}: {verdict}"
        drawn = {name: one for name, one in numbers.items() if one is not None}
        picture = bars(list(drawn.values()), list(drawn), told="epsilons")
        return card(title, picture, table(("", "epsilon"), rows), facts=self.unseen)

    def words(self) -> str:
        """The finding in a sentence, and what the check cannot see."""
        # Only a certificate is a proof; other checks that pass have found no fault.
        passed = "holds" if self.certified is not None else "is not refuted"
        verdict = "FAILS" if not self.holds else passed if self.looked else "was not tested"
        parts = [f"{self.layer}: the claim of epsilon = {figure(self.claimed)} {verdict}"]
        if self.certified is not None:
            parts.append(f"certified {figure(self.certified)}")
        if self.lower_bound is not None:
            parts.append(f"at least {self.lower_bound:.4g} is certain")
        return f"{', '.join(parts)}. {self.unseen}"

    def plot(self, ax: Any = None) -> ClaimDisplay:
        """Draw the claimed epsilon beside the proved and the found one."""
        return ClaimDisplay(
            (self.subject,), (self.claimed,), (self.certified,), (self.lower_bound,)
        ).plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: epsilons that the check does not give are null."""
        return {
            "layer": self.layer,
            "subject": self.subject,
            "claimed": _written(self.claimed),
            "certified": _written(self.certified),
            "lower_bound": _written(self.lower_bound),
            "holds": self.holds,
            "looked": self.looked,
            "evidence": {key: plain(value) for key, value in self.evidence.items()},
            "unseen": self.unseen,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        try:
            texts = {key: fields[key] for key in ("layer", "subject", "unseen")}
            flags = {key: fields[key] for key in ("holds", "looked")}
            claimed, certified = _read(fields["claimed"]), _read(fields["certified"])
            lower_bound = _read(fields["lower_bound"])
            evidence = dict(fields["evidence"])
        except (TypeError, KeyError, ValueError):
            raise InvalidInput("a finding that to_dict wrote", "another document") from None
        known = all(isinstance(text, str) for text in texts.values())
        if not known or not all(isinstance(value, bool) for value in flags.values()):
            raise InvalidInput("a finding that to_dict wrote", "another document")
        if claimed is None:
            raise InvalidInput("a claimed epsilon in a finding", "none")
        return cls(
            **texts,
            **flags,
            claimed=claimed,
            certified=certified,
            lower_bound=lower_bound,
            evidence=evidence,
        )


def _written(epsilon: float | None) -> float | str | None:
    return "infinity" if epsilon is not None and math.isinf(epsilon) else epsilon


def _read(value: Any) -> float | None:
    if value is None:
        return None
    return math.inf if value == "infinity" else _checks.finite(epsilon=value)


def checked_alpha(alpha: Any) -> float:
    """The probability of a false alarm: with 0 nothing could ever be found."""
    return _checks.within(1e-12, 0.5, alpha=alpha)


def figure(epsilon: float) -> str:
    """A bound in print, never below what it stands for."""
    return "infinity" if math.isinf(epsilon) else rounded_up(epsilon, 4)


def plain(value: Any) -> Any:
    """A number as JSON can hold it: what is not finite is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""All checks on all questions of a survey."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from confide import _validate
from confide.audits.bounds import ALPHA, sampled
from confide.audits.displays import ClaimDisplay
from confide.audits.findings import Finding, plain
from confide.audits.fits import fit
from confide.audits.grids import grid
from confide.audits.indices import index
from confide.audits.joints import joint
from confide.audits.losses import exact
from confide.errors import InvalidInput
from confide.surveys import Survey


@dataclass(frozen=True)
class SurveyAudit:
    """What the checks found, by question and for all questions together.

    Parameters
    ----------
    questions
        The findings of each question.
    together
        The finding on all reports of one respondent.
    """

    questions: Mapping[str, tuple[Finding, ...]]
    together: Finding

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", MappingProxyType(dict(self.questions)))

    @property
    def holds(self) -> bool:
        """Whether nothing was found against any claim."""
        return self.together.holds and all(row["holds"] for row in self.rows().values())

    def rows(self) -> dict[str, dict[str, Any]]:
        """Claimed, certified, lower bound and verdict of each question.

        A fault that shows only in several reports together counts against every question.
        """
        rows = {}
        for name, findings in self.questions.items():
            by = {finding.layer: finding for finding in findings}
            rows[name] = {
                "claimed": plain(by["exact"].claimed),
                "certified": plain(by["exact"].certified),
                "lower_bound": plain(by["sampled"].lower_bound),
                "holds": self.together.holds and all(finding.holds for finding in findings),
            }
        return rows

    def plot(self) -> ClaimDisplay:
        """Claimed, certified and found, a row a question."""
        rows = self.rows()
        columns = (
            [row[key] for row in rows.values()] for key in ("claimed", "certified", "lower_bound")
        )
        return ClaimDisplay(list(rows), *columns).plot()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"questions": self.rows()}


def survey(
    questions: Survey,
    *,
    n: int = 100_000,
    alpha: float = ALPHA,
    seed: int | None = None,
    tell: Callable[[float], None] | None = None,
) -> SurveyAudit:
    """Run all checks on all questions of a survey.

    Parameters
    ----------
    questions
        The survey.
    n
        Reports drawn for each value that the sampled check tries.
    alpha
        Probability of a false alarm, of the whole audit.
    seed
        For a repeatable audit; by default reports are drawn as respondents' are.
    tell
        Told the share of the work that is done.

    Examples
    --------
    >>> from confide import Survey
    >>> pay = {"low": 0, "high": 9, "epsilon": 1.0, "size": 16}
    >>> found = survey(Survey.from_dict({"questions": {"pay": pay}}), n=4000, seed=1)
    >>> found.holds
    True
    """
    if not isinstance(questions, Survey):
        raise InvalidInput("a Survey", _validate.shown(questions))
    alpha = _validate.within(0, 1, alpha=alpha)
    mechanisms = questions.mechanisms
    # Two statistical checks a question and one of all.
    own = alpha / (2 * len(mechanisms) + 1)
    steps, done = 5 * len(mechanisms) + 1, 0
    findings: dict[str, tuple[Finding, ...]] = {}
    for name, mechanism in mechanisms.items():
        checks: list[Callable[[], Finding]] = [
            lambda mechanism=mechanism: exact(mechanism),  # type: ignore[misc]
            lambda mechanism=mechanism: grid(mechanism),  # type: ignore[misc]
            lambda mechanism=mechanism: index(mechanism),  # type: ignore[misc]
            lambda mechanism=mechanism: fit(mechanism, alpha=own, seed=seed),  # type: ignore[misc]
            lambda mechanism=mechanism: sampled(mechanism, n=n, alpha=own, seed=seed),  # type: ignore[misc]
        ]
        found = []
        for check in checks:
            found.append(check())
            done += 1
            if tell is not None:
                tell(done / steps)
        findings[name] = tuple(found)
    together = joint(questions, n=max(1000, n // 4), alpha=own, seed=seed)
    if tell is not None:
        tell(1.0)
    return SurveyAudit(findings, together)

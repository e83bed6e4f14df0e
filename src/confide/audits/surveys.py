"""All checks on all questions of a survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from confide import _checks
from confide._cards import bars, card, listed, table
from confide.audits import joints
from confide.audits.attacks import ALPHA
from confide.audits.findings import ClaimDisplay, Finding, checked_alpha, figure, plain
from confide.audits.joints import seen_together
from confide.audits.layers import JOINT, LAYERS, OUTSIDE
from confide.errors import InvalidInput
from confide.mechanisms import Mechanism
from confide.questions import PartitionSurvey, Questionnaire

EPSILONS = ("claimed", "certified", "lower_bound")
"""What a row of an audit says about epsilon."""

NUMBERS = 2**23
"""So many numbers of vector reports are drawn for each value at most."""


@dataclass(frozen=True, repr=False)
class SurveyAudit:
    """The findings of an audit, by question and for all questions together.

    Parameters
    ----------
    questions
        The findings of each question.
    together
        The finding on all reports of one respondent.

    Examples
    --------
    >>> from confide import Survey
    >>> smokes = {"categories": ["no", "yes"], "epsilon": 1.0}
    >>> found = survey(Survey.from_dict({"questions": {"smokes": smokes}}), n=2000, seed=1)
    >>> isinstance(found, SurveyAudit), found.rows()["smokes"]["claimed"]
    (True, 1.0)
    """

    questions: Mapping[str, tuple[Finding, ...]]
    together: Finding

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", MappingProxyType(dict(self.questions)))

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"<SurveyAudit of {len(self.questions)} questions: {verdict}>"

    def _repr_html_(self) -> str:
        """Claimed, certified and found, a row a question, for notebooks."""
        found = self.rows()
        rows = [
            (name, *("–" if row[key] is None else figure(row[key]) for key in EPSILONS),
             "holds" if row["holds"] else "FAILS")
            for name, row in found.items()
        ]  # fmt: skip
        claims = [row["claimed"] or 0.0 for row in found.values()]
        head = ("", "claimed", "certified, at most", "found, at least", "verdict")
        return card(
            f"Audit of {len(found):,} questions: {'holds' if self.holds else 'FAILS'}",
            bars(claims, list(found), told="claimed epsilons"),
            table(head, rows),
            listed(*(_sentence(*each) for each in self.faults)),
            cost=f"All answers of one person together: epsilon = {figure(self.together.claimed)}.",
        )

    @property
    def holds(self) -> bool:
        """Whether every claim passed."""
        rows = self.rows()
        return bool(rows) and self.together.holds and all(row["holds"] for row in rows.values())

    @property
    def faults(self) -> list[tuple[str, Finding]]:
        """What was found, with the question that it is about; "" stands for all together."""
        return [(name, finding) for name, finding in self._all() if not finding.holds]

    @property
    def untested(self) -> list[tuple[str, Finding]]:
        """Checks that could not have found anything, such as an attack on a very large epsilon."""
        return [(name, finding) for name, finding in self._all() if not finding.looked]

    def _all(self) -> Iterator[tuple[str, Finding]]:
        for name, findings in self.questions.items():
            yield from ((name, finding) for finding in findings)
        yield "", self.together

    def rows(self) -> dict[str, dict[str, Any]]:
        """Claimed, certified, lower bound and verdict of each question.

        A fault that shows only in several reports together counts against every question, and so
        does a check missing that must carry the claim.
        """
        rows = {}
        for name, findings in self.questions.items():
            by = {finding.layer: finding for finding in findings}
            rows[name] = {
                "claimed": plain(by["exact"].claimed),
                "certified": plain(by["exact"].certified),
                "lower_bound": plain(by["sampled"].lower_bound),
                "holds": self.together.holds
                and all(finding.holds for finding in findings)
                and all(
                    layer.name in by and by[layer.name].looked for layer in LAYERS if layer.carries
                ),
            }
        return rows

    def plot(self, ax: Any = None) -> ClaimDisplay:
        """Claimed, certified and found, a row a question."""
        rows = self.rows()
        columns = ([row[key] for row in rows.values()] for key in EPSILONS)
        return ClaimDisplay(list(rows), *columns).plot(ax)

    @property
    def checked(self) -> Mapping[str, str]:
        """A description of each check."""
        return {layer.name: layer.words for layer in LAYERS} | {"joint": JOINT}

    @property
    def unseen(self) -> Mapping[str, str]:
        """The limits of each check, and under "outside" those of all checks."""
        each = {layer.name: layer.unseen for layer in LAYERS}
        return each | {"joint": joints.UNSEEN, "outside": OUTSIDE}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the verdicts, and every finding with the question it is about."""
        return {
            "questions": self.rows(),
            "holds": self.holds,
            "epsilon": plain(self.together.claimed),
            "lower_bound": plain(self.together.lower_bound),
            "faults": [_sentence(*each) for each in self.faults],
            "untested": [_sentence(*each) for each in self.untested],
            "unseen": dict(self.unseen),
            "findings": [{"question": name, **finding.to_dict()} for name, finding in self._all()],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Parameters
        ----------
        fields
            Plain values, for instance from ``json.load``. Verdicts that do not follow from the
            findings are refused.
        """
        if not isinstance(fields, Mapping) or not isinstance(fields.get("findings"), list):
            raise InvalidInput(AUDIT, "another document")
        questions: dict[str, tuple[Finding, ...]] = {}
        together: list[Finding] = []
        for each in fields["findings"]:
            finding = Finding.from_dict(each)
            name = each.get("question")
            if not isinstance(name, str):
                raise InvalidInput(AUDIT, "a finding without a question")
            if name:
                questions[name] = (*questions.get(name, ()), finding)
            else:
                together.append(finding)
        if len(together) != 1 or not all(map(_whole, questions.values())):
            raise InvalidInput(AUDIT, "one that lacks findings")
        made = cls(questions, together[0])
        stated = made.to_dict()
        _checks.known_keys(fields, tuple(stated), "an audit")
        for key in ("questions", "holds", "epsilon", "lower_bound"):
            if fields.get(key, made) != stated[key]:
                raise InvalidInput(
                    f"{key!r} of an audit as its findings have it", "another value",
                    "It was changed since; run the audit again.",
                )  # fmt: skip
        return made


AUDIT = "an audit of a survey, as its to_dict gives it"


def _whole(findings: tuple[Finding, ...]) -> bool:
    """Whether the findings of a question hold those that its row is made of."""
    return {"exact", "sampled"} <= {finding.layer for finding in findings}


def _sentence(name: str, finding: Finding) -> str:
    return f"{name or 'all questions'}: {finding.words()}"


def survey(
    questions: Questionnaire | PartitionSurvey,
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
        The survey; of a partition survey the one report goes by the name of its response.
    n
        Reports drawn for each value that the sampled check tries; fewer where they are long
        vectors.
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
    mechanisms: Mapping[str, Mechanism]
    if isinstance(questions, PartitionSurvey):
        mechanisms = {questions.response: questions.mechanism}
        n = min(n, max(1000, NUMBERS // questions.width))
    elif isinstance(questions, Questionnaire):
        mechanisms = questions.mechanisms
    else:
        raise InvalidInput("a Survey", _checks.shown(questions))
    alpha = checked_alpha(alpha)
    # Every check that may raise a false alarm has its part of alpha, and so has that of all.
    own = alpha / (sum(layer.chance for layer in LAYERS) * len(mechanisms) + 1)
    steps, done = len(LAYERS) * len(mechanisms) + 1, 0
    findings: dict[str, tuple[Finding, ...]] = {}
    for name, mechanism in mechanisms.items():
        found = []
        for layer in LAYERS:
            found.append(layer.check(mechanism, n, own, seed))
            done += 1
            if tell is not None:
                tell(done / steps)
        findings[name] = tuple(found)
    together = seen_together(questions, n=max(1000, n // 4), alpha=own, seed=seed)
    if tell is not None:
        tell(1.0)
    return SurveyAudit(findings, together)

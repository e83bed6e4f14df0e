"""Checks of everything visible about one respondent: several questions, runs and retries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.audits.attacks import ALPHA, attacked
from confide.audits.findings import Finding, checked_alpha
from confide.audits.fits import chi_square
from confide.audits.grids import pmf_of
from confide.audits.subjects import Outputs, Pairs, Runs, column, joined, pairs_of, value_at
from confide.errors import InvalidInput
from confide.files import arrow
from confide.mechanisms import Mechanism
from confide.questions import Feature, PartitionSurvey, Questionnaire
from confide.questions.persons import PERSON
from confide.questions.phases import PHASE
from confide.questions.rounds import ROUND
from confide.reports.rows import NOT_ASKED

GROUPS = 8
"""Reports are put into so many groups to see whether two of them go together."""
ROUNDS = 4
"""Of a survey that comes back so many rounds of one respondent are looked at, at most."""
UNSEEN = (
    "It sees reports that go together where their values do not. What a device sends besides its "
    "reports, or on another day, it cannot see."
)


def joint(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    n: int = 40_000,
    alpha: float = ALPHA,
    seed: int | None = None,
) -> Finding:
    """Check that all reports of one respondent cost no more than the stated sum.

    Parameters
    ----------
    subject
        A survey or a joint mechanism: its questions, and two runs of it. A mechanism: two runs,
        which cost twice as much as one. Or a function of a value that returns all that a device
        ever sends about it, retries included, as one row.
    pairs, claimed, n, alpha, seed
        As for `sampled`.

    Examples
    --------
    >>> from confide import Joint, Laplace, Lattice
    >>> one = Laplace(Lattice(low=0, high=1, size=16), epsilon=1.0)
    >>> joint(Joint({"pay": one, "age": one}), n=8000, seed=1).holds
    True
    """
    alpha = checked_alpha(alpha)
    return seen_together(subject, pairs, claimed=claimed, n=n, alpha=alpha, seed=seed)


def seen_together(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    n: int,
    alpha: float,
    seed: int | None,
) -> Finding:
    """Like the public function here, without validating alpha: callers pass a share of it."""
    several: _Mechanism
    if isinstance(subject, Questionnaire):
        several = _Questions(subject)
    elif isinstance(subject, PartitionSurvey):
        several = _Vector(subject)
    elif isinstance(subject, Mechanism) and subject.axes:
        several = _Mechanism(subject)
    elif callable(subject):
        found = attacked(
            subject, pairs, claimed=claimed, n=n, alpha=alpha, seed=seed, layer="joint"
        )
        return replace(found, unseen=_unseen(found))
    else:
        raise InvalidInput("a survey, a mechanism or a function of a value", _checks.shown(subject))
    n = _checks.integer(1000, n=n)
    least, tables = several.together(n, seed)
    apart = min(1.0, least * max(tables, 1))
    found = attacked(
        _Seeded(several, seed),
        several.pairs() if pairs is None else pairs,
        claimed=several.claimed if claimed is None else claimed,
        n=n,
        alpha=alpha / 2,
        layer="joint",
    )
    holds = found.holds and apart > alpha / 2
    return replace(
        found,
        subject=repr(subject),
        holds=holds,
        looked=found.looked or not holds,
        unseen=_unseen(found),
        evidence={**found.evidence, "smallest_p": least, "tables": tables, "alpha": alpha},
    )


def _unseen(found: Finding) -> str:
    """What this check cannot see, and where the attack could not have failed, that."""
    return UNSEEN if found.looked else f"{found.unseen} {UNSEEN}"


class _Seeded(Runs):
    """Runs of several questions at once."""

    def __init__(self, several: _Mechanism, seed: int | None) -> None:
        super().__init__(several.rows, seed)
        self._several = several

    def pair(self, first: Any, second: Any, n: int) -> tuple[Outputs, Outputs]:
        """Rows of all questions for each of two respondents."""
        return self._rows(first, n), self._rows(second, n)

    def _rows(self, value: Any, n: int) -> Outputs:
        seed = None if self._seeds is None else next(self._seeds)
        return self._several.rows(value, n, seed)


class _Mechanism:
    """Two runs of a mechanism; one run of a joint one, whose questions go together already."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.parts: dict[str, Mechanism] = dict(mechanism.marginals)
        self.times = 1 if mechanism.inner else 2

    @property
    def claimed(self) -> float:
        return self.times * self.mechanism.spend.epsilon

    def pairs(self) -> Pairs:
        return pairs_of(self.mechanism)

    def rows(self, value: Any, n: int, seed: int | None = None) -> Outputs:
        """One row a respondent."""
        runs = Runs(self.mechanism, seed)
        parts = [runs(value, n).reshape(n, -1) for _ in range(self.times)]
        return np.concatenate(parts, axis=1)

    def middle(self) -> Any:
        return value_at(self.mechanism, [axis.size // 2 for axis in self.mechanism.axes.values()])

    def together(self, n: int, seed: int | None) -> tuple[float, int]:
        """The least p-value of two reports against the product of their laws, and how many."""
        runs = [self.rows(self.middle(), n, seed if seed is None else seed + at) for at in (1, 2)]
        both = np.concatenate(runs, axis=1)
        parts = list(self.parts.values()) * (both.shape[1] // len(self.parts))
        found = []
        for a in range(both.shape[1]):
            for b in range(a):
                pair = both[:, [a, b]]
                # Of people who were asked both.
                pair = pair[(pair != NOT_ASKED).all(axis=1)]
                if len(pair):
                    found.append(_independent(pair, parts[a], parts[b]))
        return min(found, default=1.0), len(found)


class _Questions(_Mechanism):
    """All questions of a survey, by the survey's own code."""

    def __init__(self, survey: Questionnaire) -> None:
        self.survey = survey
        self.parts = dict(survey.mechanisms)
        self.times = 1

    @property
    def claimed(self) -> float:
        return self.survey.spend.epsilon

    def pairs(self) -> Pairs:
        """All answers change, one does, and of two that are related either does."""
        middle, found = self.middle(), list(joined(self._asked))
        for part in self.parts.values():
            if not part.single:
                found += [({**middle, **one}, {**middle, **two}) for one, two in pairs_of(part)]
        return found

    @property
    def _asked(self) -> dict[str, Mechanism]:
        return {name: question.mechanism for name, question in self.survey.questions.items()}

    def rows(self, value: Any, n: int, seed: int | None = None) -> Outputs:
        pyarrow = arrow.arrow()
        # A person answers in one phase, and in some of the rounds: the same in each.
        times = min(self.survey.times, ROUNDS)
        table: dict[str, Any] = {
            name: pyarrow.array(column(one, value[name], n * times))
            for name, one in self._asked.items()
        }
        if self.survey.phases is not None:
            table[PHASE] = np.full(n, self.survey.phases.now)
        if self.survey.rounds is not None:
            table |= {PERSON: np.arange(n).repeat(times), ROUND: np.tile(np.arange(times) + 1, n)}
        if seed is None:
            reports = self.survey.privatize(pyarrow.table(table), keep_order=True)
        else:
            reports = self.survey.simulate(pyarrow.table(table), seed=seed)
        # Which questions a person was asked is seen as well.
        columns = (reports[name].fill_null(NOT_ASKED).to_numpy() for name in self.parts)
        return np.stack(list(columns), axis=1).reshape(n, -1)

    def middle(self) -> Any:
        return {
            name: value_at(part, [part.axes[""].size // 2]) for name, part in self._asked.items()
        }


class _Vector(_Mechanism):
    """The one report of a partition survey, by the survey's own code.

    That its numbers do not go together is for the check of the mechanism to see.
    """

    def __init__(self, survey: PartitionSurvey) -> None:
        self.survey = survey

    @property
    def claimed(self) -> float:
        return self.survey.spend.epsilon

    def pairs(self) -> Pairs:
        """Everything about a respondent changes, or the response alone."""
        features, labels = self.survey.features, self.survey.labels
        ends = labels or (self.survey.low, self.survey.high)
        first = {name: _cell(each, 0) for name, each in features.items()}
        last = {name: _cell(each, each.size - 1) for name, each in features.items()}
        response = self.survey.response
        one, *others = (
            {**each, response: end} for each in (first, last) for end in (ends[0], ends[-1])
        )
        return [(one, other) for other in others]

    def rows(self, value: Any, n: int, seed: int | None = None) -> Outputs:
        pyarrow = arrow.arrow()
        table = pyarrow.table({name: pyarrow.array([each] * n) for name, each in value.items()})
        if seed is None:
            reports = self.survey.privatize(table, keep_order=True)
        else:
            reports = self.survey.simulate(table, seed=seed)
        parts = (column.combine_chunks().flatten().to_numpy() for column in reports.columns)
        return np.concatenate([part.reshape(n, -1) for part in parts], axis=1)

    def together(self, n: int, seed: int | None) -> tuple[float, int]:
        """Nothing: there is one report."""
        return 1.0, 0


def _cell(feature: Feature, at: int) -> float | str:
    """An answer in a cell of a feature."""
    if feature.categories is not None:
        return feature.categories[at]
    low, high = feature.ends
    return low + (at + 0.5) * (high - low) / feature.size


def _middle(mechanism: Mechanism) -> int:
    """The input in the middle of every axis; inputs are numbered row by row."""
    at = 0
    for axis, size in zip(mechanism.axes.values(), mechanism.law.inputs, strict=True):
        at = at * size + axis.size // 2
    return at


def _independent(reports: Outputs, one: Mechanism, other: Mechanism) -> float:
    """P-value of two columns of reports against the product of their laws, in groups."""
    places: list[Outputs] = []
    masses: list[Floats] = []
    for column_, mechanism in zip(reports.T, (one, other), strict=True):
        pmf = pmf_of(mechanism, (_middle(mechanism),))
        group = np.minimum((np.cumsum(pmf) - pmf / 2) * GROUPS, GROUPS - 1).astype(np.int64)
        places.append(group[np.clip(column_, 0, pmf.size - 1)])
        mass = np.bincount(group, weights=pmf, minlength=GROUPS)
        masses.append(mass.astype(np.float64, copy=False))
    seen = np.bincount(places[0] * GROUPS + places[1], minlength=GROUPS**2)
    expected: Floats = len(reports) * np.outer(*masses).ravel()
    return chi_square(seen, expected)

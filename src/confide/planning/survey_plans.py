"""Plans of whole surveys: errors of all questions and differences, and questions per person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from confide import _checks
from confide._cards import bars, card, listed, table
from confide._figures import number, percent
from confide.accounting.spend import Spend, checked_epsilon, rounded_up, told_cost
from confide.curves.forms import frame
from confide.errors import InvalidInput, Unsupported
from confide.estimators import zooms
from confide.estimators.enough import needed
from confide.estimators.register import DEFAULT
from confide.lattice import Lattice
from confide.mechanisms import Mechanism
from confide.planning.answers import Answer, Answers
from confide.planning.guesses import Guess, named_shares
from confide.planning.guesses import guesses as guessed
from confide.planning.maps import ErrorMap, MapDisplay
from confide.planning.outlooks import CATEGORIES, DECLINED, MEDIAN, Outlook
from confide.planning.pair_plans import (
    CORRELATION,
    PairExpected,
    cut_as_guessed,
    expected_pairs,
)
from confide.planning.scenario import LEAST_EPSILON, MOST_EPSILON, MOST_N, checked_n
from confide.planning.survey_scenarios import (
    ALIKE,
    POWER,
    Design,
    SurveyScenario,
    Wanted,
    recommended,
    wanted,
)
from confide.questions import Questionnaire
from confide.questions.phases import LEAST, SHARES
from confide.questions.rounds import ROUND

WEAK = 0.25
"""An error of more than this part of the range says next to nothing."""
SURVEYS = 60
PRECISION = 0.1
START = 5_000
"""Respondents with whom the search for n begins."""
NARROW = 0.5
"""Two phases pay where a zoom covers at most this share of the bounds. Up to .7 a survey still gets
it, but no clear gain was measured: with normal answers at epsilon 1, errors were .49 (.06) of those
of one phase at a share of .26, .78 (.11) at .46 and 1.07 (.10) at .66."""


class Quantified:
    """Base of statements about one quantity of one question."""

    question: str
    quantity: str
    kind: str

    @property
    def is_category(self) -> bool:
        """Whether it is the share of a category."""
        return self.kind == CATEGORIES and self.quantity != DECLINED

    @property
    def is_share(self) -> bool:
        """Whether it is a share, of a category or of the people who decline."""
        return self.kind == CATEGORIES or self.quantity == DECLINED


@dataclass(frozen=True)
class Expected(Quantified):
    """The expected error of one quantity of one question.

    Attributes
    ----------
    question, quantity
        Of what: ``"mean"`` or ``"median"`` of a number, the share of a category, or ``"declined"``,
        the share of people who prefer not to say. The others are among those who answer.
    kind
        ``"number"``, ``"points"``, ``"integer"`` or ``"categories"``.
    n, epsilon
        How many people are asked the question, and what each answer to it costs.
    error
        Half of the range around the truth that holds a share ``level`` of estimates; what clipping
        shifts is part of it. In the units of the question; of shares as a part of 1.
    standard_error
        Of the simulation that it comes from; 0 where the error is exact.
    sampling
        The same error if all respondents answered every question in the open.
    span
        The range of the answers; 1 for shares.
    """

    question: str
    quantity: str
    kind: str
    n: int
    epsilon: float
    error: float
    standard_error: float
    sampling: float
    span: float

    @property
    def is_exact(self) -> bool:
        """Whether the error follows from the law of the reports, without simulation."""
        return self.kind == CATEGORIES or self.quantity != MEDIAN

    @property
    def is_weak(self) -> bool:
        """Whether the estimate would be almost all noise."""
        return self.error > WEAK * self.span


@dataclass(frozen=True)
class Detectable(Quantified):
    """The smallest difference between groups that a survey will probably show.

    Attributes
    ----------
    question, quantity, kind
        Of what; see `Expected`.
    by
        The public column that makes the groups.
    groups
        How many there are.
    n
        How many people of the smallest group are asked the question.
    needed
        How many reports an estimate for a group needs: with fewer, results show none.
    difference
        Between the two smallest groups, so that others are told apart at least as well: 80 % of
        surveys show it at the level of the plan, if it is the only comparison that is made.
    in_results
        Of the smallest group from everybody else, as the results of a survey mark it: with a level
        that holds for all their comparisons together (Bonferroni).
    """

    question: str
    quantity: str
    kind: str
    by: str
    groups: int
    n: int
    needed: int
    difference: float
    in_results: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SurveyPlan:
    """The expected errors of a whole survey before it runs, made by `plan_survey`.

    Attributes
    ----------
    n, epsilon
        Respondents, and what each of them spends in all, at most.
    ask
        How many questions each of them is asked.
    level
        Share of surveys whose estimates stay within an error.
    rows
        The expected error of every quantity of every question.
    differences
        The smallest detectable difference between groups, where groups were given.
    designs
        Asking all, some or one of the questions, at the same total epsilon; empty where there is
        one question.
    answers
        What each target takes.
    assumed
        The guess for each question, in words.
    zooms
        Questions for which two phases pay, if people are where the guess says: the share of the
        bounds that would get nine tenths of the second phase's cells.
    phases
        Whether the survey has phases.
    needed
        How many reports an estimate of each question needs: with fewer, results show none.
    pairs
        The expected error of each correlation, where the survey asks for pairs.
    simulated
        What further errors are worked out with; None in a plan that was read from JSON.

    Examples
    --------
    >>> survey = Questionnaire.from_dict(
    ...     {"questions": {"smokes": {"categories": ["no", "yes"], "epsilon": 1.0}}})
    >>> planned = plan_survey(survey, n=5_000, surveys=0)
    >>> isinstance(planned, SurveyPlan), planned.n
    (True, 5000)
    """

    n: int
    epsilon: float
    ask: int
    level: float
    rows: tuple[Expected, ...]
    differences: tuple[Detectable, ...] = ()
    designs: tuple[Design, ...] = ()
    answers: tuple[Answers, ...] = ()
    assumed: Mapping[str, str]
    zooms: Mapping[str, float] = field(default_factory=dict)
    phases: bool = False
    needed: Mapping[str, int] = field(default_factory=dict)
    pairs: tuple[PairExpected, ...] = ()
    simulated: SurveyScenario | None = None

    @property
    def scenario(self) -> SurveyScenario:
        """The scenario that further errors are computed with."""
        if self.simulated is None:
            raise Unsupported(
                "A plan that was read from JSON holds the errors that were worked out then: call "
                "plan() again for others."
            )
        return self.simulated

    @property
    def recommended(self) -> Design | None:
        """Recommended number of questions per person; None for a single question."""
        return recommended(self.designs) if self.designs else None

    def row(self, question: str, quantity: str) -> Expected:
        """The expected error of a quantity of a question."""
        own = {row.quantity: row for row in self.rows if row.question == question}
        if not own:
            _checks.one_of(tuple(self.assumed), question=question)
        return own[_checks.one_of(tuple(own), quantity=quantity)]

    def n_for(self, name: str, target: float) -> Answer:
        """Respondents that bring an error down to a target, at the plan's epsilon.

        Parameters
        ----------
        name
            Which error: ``"pay.mean"``, ``"smokes.yes"``, or for the smallest detectable
            difference between regions ``"pay.mean.region"``.
        target
            The error wanted.
        """
        what = wanted(self.scenario, name, target)
        n = self.scenario.n_for(what, self.epsilon, self.ask, self.n)
        return self._answer(what, n, self.epsilon)

    def epsilon_for(self, name: str, target: float) -> Answer:
        """The smallest total epsilon at which the plan's n reach a target; see `n_for`."""
        what = wanted(self.scenario, name, target)
        epsilon = self.scenario.epsilon_for(what, self.n, self.ask, self.epsilon)
        return self._answer(what, self.n, epsilon)

    def _answer(self, what: Wanted, n: int, epsilon: float) -> Answer:
        return _answer(self.scenario, what, n, epsilon)

    def map(self, name: str | None = None, *, target: float | None = None) -> ErrorMap:
        """An expected error at many n and epsilons around the plan's own.

        Parameters
        ----------
        name
            Which error; see `n_for`. By default that of the first target, or else of the first
            question.
        target
            An error to mark; by default that of the target of this name.
        """
        given = {one.metric: one.target for each in self.answers if (one := each.one)}
        if name is None:
            first = self.rows[0]
            name = next(iter(given), f"{first.question}.{first.quantity}")
        target = given.get(name) if target is None else target
        what = wanted(self.scenario, name, 1.0 if target is None else target)
        scenario, exact = self.scenario, self.scenario.exact(what)
        ends = max(self.n / 30, 10), min(self.n * 30, MOST_N)
        # What is simulated is looked at in few places, and interpolated between them.
        n = np.unique(np.geomspace(*ends, 61 if exact else 4).round())
        share = scenario.epsilons(1.0, self.ask)[what.question]
        epsilon = self.epsilon * np.geomspace(1 / 8, 8, 49 if exact else 4)
        epsilon = np.unique(np.clip(epsilon, LEAST_EPSILON / share, MOST_EPSILON / share))
        errors = np.array([scenario.along(what, n, each, self.ask) for each in epsilon.tolist()])
        return ErrorMap(name, n, epsilon, errors, target, (self.n, self.epsilon))

    def plot(
        self,
        ax: Any = None,
        *,
        target: str | None = None,
        label: str = "",
        color: str | None = None,
    ) -> MapDisplay:
        """Draw an expected error over n and epsilon, with the target and the plan on it.

        Parameters
        ----------
        ax
            Axes of matplotlib; by default new ones.
        target
            Which error; see `n_for`. By default that of the first target, or else of the first
            question.
        label
            Name of the plan's own point.
        color
            Of the lines.
        """
        return MapDisplay(self.map(target)).plot(ax, label=label, color=color)

    def words(self) -> list[str]:
        """The answers in sentences: targets, errors, how many questions to ask, differences."""
        lines = self._verdict() + [line for each in self.answers for line in each.words()]
        people = f"{self.n:,} respondents"
        count = len(self.assumed)
        asked = "" if self.ask == count else f", each asked {self.ask} of {count} questions"
        if self.pairs:
            asked = f"{asked or f', each asked all {count} questions'} or about one pair"
        told = "; ".join(self._told())
        lines.append(
            f"With {people}{asked}, and epsilon {rounded_up(self.epsilon, 4)} for each of them in "
            f"all, {percent(self.level)} of surveys will come this close to the truth: {told}."
        )
        if self.pairs:
            worst = max(self.pairs, key=lambda one: one.error)
            lines.append(
                f"{worst.n:,} people are asked about each pair. A correlation of "
                f"{CORRELATION:g} will be known to ± {worst.error:.2g} ({worst.pair}, the least "
                "certain one)."
            )
        if nothing := self._too_few():
            parts = ", ".join(
                f"{name} ({asked:,} reports, {self.needed[name]:,} are needed)"
                for name, asked in nothing.items()
            )
            lines.append(f"Too few reports: results will show nothing of {parts}.")
        lines += self._advice()
        lines += self._wider()
        for by in dict.fromkeys(one.by for one in self.differences):
            own = [one for one in self.differences if one.by == by]
            parts = "; ".join(
                f"{_about(one)} {_size(one.difference, one.is_share)}" for one in _worst(own)
            )
            lines.append(
                f"Differences between two of {own[0].groups} groups by {by} that {percent(POWER)} "
                f"of surveys will show: {parts}."
            )
        few = [
            one for one in self.differences if one.n < one.needed and one.question not in nothing
        ]
        for one in {(one.by, one.question): one for one in few}.values():
            lines.append(
                f"Results will show nothing of {one.question} in the smallest group by {one.by}: "
                f"it will have {one.n:,} reports, and {one.needed:,} are needed."
            )
        if weak := [row for row in self.rows if row.is_weak]:
            names = ", ".join(dict.fromkeys(_about(row) for row in weak))
            lines.append(
                f"Too uncertain to be of use, by more than a quarter of the range: {names}. It "
                "takes more respondents, a larger epsilon or fewer questions a person."
            )
        if self.zooms:
            parts = ", ".join(
                f"{name} in {100 * share:.2g} %" for name, share in self.zooms.items()
            )
            if self.phases:
                lines.append(
                    f"The two phases pay if people are where the guess says: {parts} of the "
                    "bounds. The errors here are those of one phase, and two have smaller ones."
                )
            else:
                lines.append(
                    "Two phases pay ([phases] in the survey) if people are where the guess says: "
                    f"{parts} of the bounds."
                )
        elif self.phases:
            lines.append(
                f"The survey has [phases], but they hardly gain anything here: the first one needs "
                f"{LEAST:,} reports of a question, a number on a linear scale whose answers lie in "
                f"at most {percent(NARROW)} of its bounds."
            )
        assumed = "; ".join(f"{name}: {words}" for name, words in self.assumed.items())
        lines.append(f"Assumed answers: {assumed}.")
        return lines

    def _verdict(self) -> list[str]:
        """Whether the plan's own respondents and epsilon are enough, if it was given both."""
        asked = [each for each in self.answers if each.by_epsilon is not None or each.limits]
        if not asked:
            return []
        reached: list[str] = []
        missed: list[str] = []
        for each in asked:
            assert each.one is not None
            enough = each.by_n is not None and each.by_n.n <= self.n
            (reached if enough else missed).append(f"{each.one.metric} = {number(each.one.target)}")
        people = f"{self.n:,} respondents at epsilon {rounded_up(self.epsilon, 4)}"
        if not missed:
            return [f"Enough: {people} reach {_listed(reached)}."]
        others = f" They reach {_listed(reached)}." if reached else ""
        return [f"Not enough: {people} do not reach {_listed(missed, 'or')}.{others}"]

    def _too_few(self) -> dict[str, int]:
        """The questions that too few people are asked for any estimate, and how many are."""
        asked = {row.question: row.n for row in self.rows}
        return {name: asked[name] for name, least in self.needed.items() if asked[name] < least}

    def _told(self) -> list[str]:
        """One error a question: that of the mean, or the largest of a share."""
        found = []
        for name in self.assumed:
            own = [row for row in self.rows if row.question == name]
            main = [row for row in own if row.is_category]
            row = max(main, key=lambda one: one.error) if main else own[0]
            what = f"shares of {name}" if main else f"{row.quantity} of {name}"
            found.append(f"{what} ± {_size(row.error, row.is_share)}")
        return found

    def _advice(self) -> list[str]:
        best = self.recommended
        if best is None:
            return []
        count = len(self.assumed)
        own, whole = (self._design(ask) for ask in (self.ask, count))
        ask = "all questions" if best.ask == count else f"{best.ask} of the {count} questions"
        against = "all" if self.ask == count else f"{self.ask}"
        gain = best.relative / own.relative
        if best is own:
            lead = f"Asking each person {ask}, as planned, is best at this epsilon."
        elif gain > 1 - ALIKE:
            lead = f"Ask each person {ask}: errors are about those of asking {against}."
        else:
            lead = (
                f"Ask each person {ask}: at the same total epsilon errors are then, on average, "
                f"{gain:.2g} times those of asking {against}."
            )
        if best is whole:
            why = (
                "Noise is small at this epsilon, so that more answers gain more than less noise in "
                "each would."
            )
        else:
            why = (
                f"Each answer then has epsilon {best.epsilon:.3g}, not {whole.epsilon:.3g} as if "
                f"all were asked, which gains more than having {best.ask} in {count} of the "
                "answers costs."
            )
        return [f"{lead} {why}"]

    def _wider(self) -> list[str]:
        """What a wider square wave would do, for those who want nothing but a mean."""
        if self.simulated is None:
            return []
        lines = []
        epsilons = self.simulated.epsilons(self.epsilon, self.ask)
        for name, outlook in self.simulated.outlooks.items():
            if (found := outlook.wider(epsilons[name])) is not None:
                lines.append(
                    f"If you only need the mean of {name}: with reach = {found[0]} in the survey "
                    f"file, its error is {found[1]:.2f} times as large, and all else about {name} "
                    "is less precise."
                )
        return lines

    def _design(self, ask: int) -> Design:
        return next(design for design in self.designs if design.ask == ask)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what was worked out, not the guesses themselves."""
        best = self.recommended
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "ask": self.ask,
            "level": self.level,
            "rows": [vars(row).copy() for row in self.rows],
            "differences": [vars(row).copy() for row in self.differences],
            "designs": [vars(row) | {"errors": dict(row.errors)} for row in self.designs],
            "recommended": None if best is None else best.ask,
            "targets": [each.to_dict() | {"limits": list(each.limits)} for each in self.answers],
            "assumed": dict(self.assumed),
            "zooms": dict(self.zooms),
            "phases": self.phases,
            "needed": dict(self.needed),
            "pairs": [vars(one).copy() for one in self.pairs],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`. Parts that were not computed need a new `plan_survey`."""
        fault = InvalidInput("a plan of a survey that to_dict wrote", "another document")
        try:
            rows = tuple(Expected(**row) for row in fields["rows"])
            differences = tuple(Detectable(**row) for row in fields["differences"])
            designs = tuple(Design(**row) for row in fields["designs"])
            answers = tuple(map(Answers.from_dict, fields["targets"]))
            pairs = tuple(PairExpected(**one) for one in fields.get("pairs", ()))
            numbers = [number for row in rows for number in (row.error, row.sampling)]
            numbers += [one.difference + one.in_results for one in differences]
            numbers += [one.error for one in pairs]
            numbers += [value for one in designs for value in (one.relative, *one.errors.values())]
            assumed = {str(name): str(words) for name, words in fields["assumed"].items()}
            least = {str(name): int(count) for name, count in fields.get("needed", {}).items()}
            finite = bool(np.isfinite(np.array(numbers, dtype=np.float64)).all())
            sound = finite and rows and {row.question for row in rows} == set(assumed) >= set(least)
            plain = {key: fields[key] for key in ("n", "epsilon", "ask", "level")}
            narrow = {str(name): float(share) for name, share in fields.get("zooms", {}).items()}
        except (TypeError, KeyError, ValueError, AttributeError):
            raise fault from None
        if not sound:
            raise fault
        return cls(
            n=checked_n(plain["n"]),
            epsilon=checked_epsilon(plain["epsilon"]),
            ask=_checks.integer(1, len(assumed), ask=plain["ask"]),
            level=_checks.level(plain["level"]),
            rows=rows,
            differences=differences,
            designs=designs,
            answers=answers,
            assumed=assumed,
            zooms=narrow,
            phases=bool(fields.get("phases", False)),
            needed=least,
            pairs=pairs,
        )

    def to_frame(self) -> Any:
        """The expected errors as a table of pandas."""
        return frame([vars(row).copy() for row in self.rows])

    def __repr__(self) -> str:
        asked = "" if self.ask == len(self.assumed) else f", ask={self.ask}"
        told = "; ".join(self._told()[:3]) + ("; ..." if len(self.assumed) > 3 else "")
        return f"<SurveyPlan n={self.n:,}, epsilon={self.epsilon:g}{asked}: {told}>"

    def _repr_html_(self) -> str:
        """The expected errors, and how many questions to ask, for notebooks."""
        rows = [
            (f"{row.question}: {row.quantity}", f"± {_size(row.error, row.is_share)}")
            for row in self.rows
        ]
        rows += [(f"{one.pair}: correlation", f"± {one.error:.2g}") for one in self.pairs]
        head = ("", f"error in {percent(self.level)} of surveys")
        names = [f"ask {design.ask}" for design in self.designs]
        relative = [design.relative for design in self.designs]
        picture = bars(relative, names, told="errors by the number of questions asked")
        asked = "" if self.ask == len(self.assumed) else f", each asked {self.ask}"
        title = f"Plan of a survey of {self.n:,} people{asked}"
        advice = [line for each in self.answers for line in each.words()] + self._advice()
        return card(
            title, picture, table(head, rows), listed(*advice), cost=told_cost(Spend(self.epsilon))
        )


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _about(row: Expected | Detectable) -> str:
    if row.kind == CATEGORIES and row.quantity != DECLINED:
        return f"shares of {row.question}"
    return f"{row.quantity} of {row.question}"


def _size(error: float, share: bool) -> str:
    if not share:
        return number(float(f"{error:.2g}"))
    points = number(float(f"{100 * error:.2g}"))
    return f"{points} percentage point{'' if points == '1' else 's'}"


def _worst(own: Sequence[Detectable]) -> list[Detectable]:
    """One difference a question: of shares the largest."""
    found: dict[str, Detectable] = {}
    for one in own:
        if one.question not in found or found[one.question].difference < one.difference:
            found[one.question] = one
    return list(found.values())


def _answer(scenario: SurveyScenario, what: Wanted, n: int, epsilon: float) -> Answer:
    outlook = scenario.outlooks[what.question]
    estimator = "unbiased scores" if scenario.exact(what) else DEFAULT
    return Answer(
        what.name, what.target, outlook.question.mechanism.name, estimator, n, epsilon
    )  # fmt: skip


def plan_survey(
    survey: Questionnaire,
    *,
    n: int | None = None,
    epsilon: float | None = None,
    ask: int | None = None,
    target: Mapping[str, float] | None = None,
    by: Mapping[str, Any] | None = None,
    guesses: Mapping[str, Any] | None = None,
    level: float = 0.95,
    surveys: int = SURVEYS,
    precision: float = PRECISION,
    told: Callable[[float], None] = lambda share: None,
) -> SurveyPlan:
    """Plan a whole survey: the expected error of every question.

    Everything that a plan needs is public. Guesses that come from raw private data leak through
    what is chosen with them.

    Parameters
    ----------
    survey
        The survey.
    n
        Respondents; not needed where there is a target, which then says how many.
    epsilon, ask
        What each respondent spends in all, and how many questions each is asked, if not as the
        survey has it. Questions keep the proportions of their epsilons.
    target
        Errors wanted, such as ``{"pay.mean": 2_000, "smokes.yes": 0.02}``, or smallest detectable
        differences, ``{"pay.mean.region": 5_000}``.
    by
        Groups that will be compared, by public column: how many equally large ones, ``{"region":
        4}``, or how large each is, ``{"region": [0.5, 0.3, 0.2]}``.
    guesses
        What the answers may look like; see `confide.planning.guesses.guesses`.
    level
        Share of surveys whose estimates stay within an error; differences are tested at 1 - level.
    surveys, precision
        Surveys to simulate for each median, at most; they stop when it is known to this relative
        standard error. 0 surveys leave the medians out.
    told
        Called with the share of the work that is done.

    Notes
    -----
    The errors of means and shares follow from the law of the reports, without simulation; medians
    are simulated with the default estimate. Where people may prefer not to say, the other
    quantities are those of the people who answer. A question that a share of the people are asked
    has that share of n.

    Examples
    --------
    >>> survey = Questionnaire.from_dict({"questions": {
    ...     "pay": {"low": 0, "high": 300_000, "epsilon": 1.0},
    ...     "smokes": {"categories": ["no", "yes"], "epsilon": 1.0}}})
    >>> planned = plan_survey(survey, n=5_000, surveys=0)
    >>> print(f"{planned.row('smokes', 'yes').error:.3f}")
    0.030
    >>> planned.recommended.ask
    1
    >>> plan_survey(survey, target={"smokes.yes": 0.02}, surveys=0).n > 5_000
    True
    """
    level = _checks.level(level)
    surveys = _checks.integer(0, surveys=surveys)
    precision = _checks.positive(precision=precision)
    if survey.rounds is not None:
        raise InvalidInput(
            "a survey without [rounds] to plan one of its rounds",
            f"one with {survey.rounds.count} rounds",
            "Leave the table out, and give the people and the epsilon of one round. To see which "
            "changes between rounds will show, give rounds as groups: --by round=12, and the "
            "people of all rounds.",
        )
    if any(
        getattr(question.axis, "zoom", None) is not None for question in survey.questions.values()
    ):
        raise InvalidInput(
            "a survey without a zoom to plan",
            "one that has it",
            "Plan the survey of the first phase.",
        )
    count = len(survey.questions)
    ask = survey.asks if ask is None else _checks.integer(1, count, ask=ask)
    chosen = guessed(survey, guesses or {})
    total = _epsilon(survey) if epsilon is None else checked_epsilon(epsilon)
    survey = cut_as_guessed(survey, chosen, total)
    outlooks = {
        name: Outlook(name, question, chosen[name], level, surveys, precision)
        for name, question in survey.questions.items()
    }
    single = 1.0 if survey.relations is None else 1 - survey.relations.share
    scenario = SurveyScenario(outlooks, _groups(survey, by or {}), level, single)
    several = [wanted(scenario, name, value) for name, value in (target or {}).items()]
    if n is None:
        if not several:
            raise InvalidInput("n, a target, or both", "neither", "A target alone finds n.")
        found = [scenario.n_for(what, total, ask, START) for what in several]
        n = max(found)
        answers = tuple(
            Answers(_answer(scenario, what, each, total), None)
            for what, each in zip(several, found, strict=True)
        )
    else:
        n = checked_n(n)
        answers = tuple(_both(scenario, what, n, total, ask) for what in several)
    n = max(n, -(-count // ask))
    return SurveyPlan(
        n=n,
        epsilon=total,
        ask=ask,
        level=level,
        rows=_rows(scenario, n, total, ask, told),
        differences=_differences(scenario, n, total, ask),
        designs=scenario.designs(n, total, ask) if count > 1 else (),
        answers=answers,
        assumed={name: one.words for name, one in chosen.items()},
        zooms=_zooms(survey, chosen, scenario.asked(n, ask)),
        phases=survey.phases is not None,
        needed=_needed(scenario, total, ask),
        pairs=expected_pairs(
            survey, chosen, _singles(scenario, n, total, ask), n=n, epsilon=total, level=level
        ),
        simulated=scenario,
    )


def _epsilon(survey: Questionnaire) -> float:
    """What a person spends; a survey with pairs states it, and may have no thresholds yet."""
    return survey.spend.epsilon if survey.relations is None else survey.epsilon or 0.0


def _singles(
    scenario: SurveyScenario, n: int, epsilon: float, ask: int
) -> dict[str, tuple[Mechanism, int]]:
    """What makes the reports to each question alone, and how many people send one."""
    own, asked = scenario.epsilons(epsilon, ask), round(scenario.asked(n, ask))
    return {name: (one.mechanism(own[name]), asked) for name, one in scenario.outlooks.items()}


def _zooms(survey: Questionnaire, chosen: Mapping[str, Guess], asked: float) -> dict[str, float]:
    """Questions for which a second phase pays, and the share of the bounds where people are."""
    shares = SHARES if survey.phases is None else survey.phases.shares
    found: dict[str, float] = {}
    if asked * shares[0] < LEAST:
        return found
    for name, guess in chosen.items():
        mechanism = survey.mechanisms[name]
        if guess.population is None or not zooms.eligible(mechanism):
            continue
        low, high = (guess.population.quantile(q) for q in (zooms.TAIL, 1 - zooms.TAIL))
        lattice = mechanism.axes[""]
        assert isinstance(lattice, Lattice)
        share = zooms.expected_share(lattice.low, lattice.high, quantiles=(low, high))
        if share <= NARROW:
            found[name] = share
    return found


def _both(scenario: SurveyScenario, what: Wanted, n: int, epsilon: float, ask: int) -> Answers:
    """Both ways to a target: more respondents and a larger epsilon."""
    faults: list[InvalidInput] = []
    by_n = by_epsilon = None
    try:
        found = scenario.n_for(what, epsilon, ask, n)
        by_n = _answer(scenario, what, found, epsilon)
    except InvalidInput as error:
        faults.append(error)
    try:
        by_epsilon = _answer(scenario, what, n, scenario.epsilon_for(what, n, ask, epsilon))
    except InvalidInput as error:
        faults.append(error)
    if by_n is None and by_epsilon is None:
        raise faults[0]
    return Answers(by_n, by_epsilon, tuple(fault.advice for fault in faults))


def _rows(
    scenario: SurveyScenario, n: int, epsilon: float, ask: int, told: Callable[[float], None]
) -> tuple[Expected, ...]:
    asked, epsilons, found = scenario.asked(n, ask), scenario.epsilons(epsilon, ask), []
    for done, (name, outlook) in enumerate(scenario.outlooks.items(), start=1):
        for quantity in outlook.quantities:
            if quantity not in outlook.exact and not outlook.surveys:
                continue
            risk = outlook.error(quantity, asked, epsilons[name])
            found.append(
                Expected(
                    name,
                    quantity,
                    outlook.kind,
                    round(asked),
                    epsilons[name],
                    risk.error,
                    risk.standard_error,
                    outlook.sampling(quantity, n),
                    1.0 if quantity == DECLINED else outlook.span,
                )
            )
        told(done / len(scenario.outlooks))
    return tuple(found)


def _needed(scenario: SurveyScenario, epsilon: float, ask: int) -> dict[str, int]:
    """How many reports an estimate of each question needs."""
    epsilons = scenario.epsilons(epsilon, ask)
    return {
        name: needed(outlook.mechanism(epsilons[name]))
        for name, outlook in scenario.outlooks.items()
    }


def _differences(
    scenario: SurveyScenario, n: int, epsilon: float, ask: int
) -> tuple[Detectable, ...]:
    asked, epsilons, found = scenario.asked(n, ask), scenario.epsilons(epsilon, ask), []
    for by, shares in scenario.by.items():
        smallest = round(asked * min(shares))
        for name, outlook in scenario.outlooks.items():
            least = needed(outlook.mechanism(epsilons[name]))
            for quantity in outlook.main:
                spread = outlook.deviation(quantity, epsilons[name]) / math.sqrt(asked)
                one, several = scenario.visible(by) * spread, scenario.marked(by) * spread
                row = (name, quantity, outlook.kind, by, len(shares), smallest, least)
                found.append(Detectable(*row, one, several))
    return tuple(found)


def _groups(survey: Questionnaire, by: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """The shares of the groups by each column."""
    if not isinstance(by, Mapping):
        raise InvalidInput('groups by public column, such as {"region": 4}', _checks.shown(by))
    found = {}
    for column, given in by.items():
        if column in survey.questions:
            raise InvalidInput("a public column to compare groups by", f"the question {column!r}")
        if survey.groups and column not in (*survey.groups, ROUND):
            advice = _checks.nearest(column, survey.groups)
            raise InvalidInput("one of the survey's groups", repr(column), advice)
        sizes = _checks.vector(**{column: _sizes(column, given)})
        if sizes.size < 2 or not sizes.min() > 0:
            raise InvalidInput(
                f"two or more groups by {column}, each with people in it",
                "fewer, or a group without people",
            )
        found[column] = tuple((sizes / sizes.sum()).tolist())
    return found


def _sizes(column: str, given: Any) -> Any:
    """How large groups are, from their number or their sizes."""
    if isinstance(given, str):
        given = int(given) if given.strip().isdigit() else named_shares(given)
    if isinstance(given, int):
        return [1.0] * _checks.integer(2, 10_000, **{column: given})
    return list(given.values()) if isinstance(given, Mapping) else given

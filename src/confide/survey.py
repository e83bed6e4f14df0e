"""Surveys: questionnaires with methods to plan, privatize, summarize and estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from confide import _checks, tables
from confide.errors import InvalidInput, Mismatch
from confide.lattice import Lattice
from confide.questions import Questionnaire
from confide.summaries import Summaries
from confide.summaries.together import combine
from confide.tables.jobs import Paths, Progress
from confide.tables.pairs import Pair

if TYPE_CHECKING:
    from confide.curves import Copula
    from confide.planning import SurveyPlan
    from confide.results import Results

__all__ = ["Survey"]


@dataclass(frozen=True)
class Survey(Questionnaire):
    """Named questions with their mechanisms, and methods to run the whole survey.

    Parameters
    ----------
    questions
        The questions by name, which is also the name of their column.
    wording
        What respondents read: ``title``, ``intro`` and ``contact``.
    language
        The language of the texts that name none.
    groups
        Public columns by which results are given, such as a region.
    closes
        When collecting ends, fixed beforehand; None for no date.
    ask
        How many of the questions each person is asked; None for all of them.
    epsilon
        The total that one person spends. It is divided evenly among the questions that a person is
        asked, over all rounds. None if every question has its own epsilon.
    phases
        Settings for two phases: the private reports of the first choose the cells of the second.
    rounds
        Settings for a repeated survey: how many rounds, and in how many of them a person is asked.
    relations
        Pairs of questions that some people are asked for in place of single questions; None for
        no pairs. Each of these people sends one report about two answers, at the survey's whole
        epsilon.

    Notes
    -----
    Formal guarantee: the questions' noises are independent, so a respondent spends the sum of the
    epsilons of the questions that they are asked, or the epsilon of the one pair. `spend` states
    the largest of these. The assignment of questions to people is public, and is drawn before any
    answer is read.

    Examples
    --------
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> survey.spend
    Spend(epsilon=1)
    >>> survey.privatize({"pay": [1.5, 7.0]}).num_rows
    2
    """

    def summarize(
        self,
        paths: Paths,
        *,
        question: str | None = None,
        by: str | Sequence[str] | None = None,
        weights: str | None = None,
        response: str | None = None,
        bounds: tuple[float, float] | None = None,
        invalid: str = "refuse",
        unstamped: bool = False,
        progress: Progress | None = None,
    ) -> Summaries:
        """Count the reports in files, all questions and all groups in one run.

        The parameters are those of `confide.summarize`. A column of a table, such as a frame of
        polars or a table of Ibis, is counted by `confide.tables.counts`.
        """
        return tables.summarize(
            paths,
            survey=self,
            question=question,
            by=by,
            weights=weights,
            response=response,
            bounds=bounds,
            invalid=invalid,
            unstamped=unstamped,
            progress=progress,
        )

    def estimate(
        self,
        summaries: Summaries,
        *,
        level: float = 0.95,
        least: int | None = None,
        invited: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Results:
        """Estimate every question, for all respondents and for each public group.

        The parameters are those of `confide.results.estimate`.
        """
        # Estimators need scipy, which counting does without.
        from confide.results import estimate

        return estimate(
            self, summaries, level=level, least=least, invited=invited, progress=progress
        )

    def next_phase(self, summaries: Summaries) -> Survey:
        """The survey of the second phase, whose lattices follow from the first phase's reports.

        Each question that is a number on a linear scale gets a zoom: nine tenths of its cells where
        people are, by `confide.estimators.zoom`. Questions for which that does not pay, and
        all others, stay as they are. Reports are private already, so this costs nobody anything.

        Parameters
        ----------
        summaries
            Of the first phase.
        """
        from confide.estimators.next_phase import next_phase

        return type(self).from_dict(next_phase(self, summaries))

    def combine(self, first: Summaries, second: Summaries) -> Summaries:
        """The summaries of both phases together, for estimates from all respondents.

        Parameters
        ----------
        first, second
            Of the first phase and of the second, whose survey this is.
        """
        return combine(self, first, second)

    def plan(
        self,
        *,
        n: int | None = None,
        epsilon: float | None = None,
        ask: int | None = None,
        target: Mapping[str, float] | None = None,
        by: Mapping[str, Any] | None = None,
        guesses: Mapping[str, Any] | None = None,
        level: float = 0.95,
    ) -> SurveyPlan:
        """The expected error of every question, before the survey runs.

        The parameters are those of `confide.planning.plan_survey`.
        """
        from confide.planning import plan_survey

        return plan_survey(
            self,
            n=n,
            epsilon=epsilon,
            ask=ask,
            target=target,
            by=by,
            guesses=guesses,
            level=level,
        )

    def with_thresholds(
        self, summaries: Summaries, *, n: int = 1000, classes: int | None = None
    ) -> Self:
        """The survey with thresholds for its pairs, from earlier private reports.

        They lie at the private medians, or at more quantiles where several classes of each
        question tell clearly more at the survey's epsilon. The people behind the summaries must
        be others than those who are then asked for pairs.

        Parameters
        ----------
        summaries
            Counts of earlier reports to the questions, of this survey without its pairs or of
            another one with questions of the same names.
        n
            People who will be asked for each pair.
        classes
            Classes of each question; by default the number with the most information.
        """
        from confide.estimators import thresholds
        from confide.planning.pair_designs import best_classes

        if self.relations is None or self.epsilon is None:
            raise InvalidInput("a survey with [relations] to give thresholds to", "one without")
        if classes is None:
            offered = any(self.questions[name].mechanism.prefer_not_to_say
                          for name in self.relations.questions)  # fmt: skip
            classes = best_classes(self.epsilon, n=n, declined=0.1 if offered else 0.0)
        names = [name for name in self.relations.questions
                 if isinstance(self.questions[name].axis, Lattice)]  # fmt: skip
        found = thresholds(summaries, names, classes=_checks.integer(2, 64, classes=classes))
        return replace(self, relations=replace(self.relations, at=found))

    def relate(self, summaries: Summaries, *, level: float = 0.95) -> Copula:
        """How the answers to pairs of questions go together.

        The parameters are those of `confide.relate`.
        """
        from confide.estimators import relate

        for name, pair in self.pairs.items():
            if name in summaries and summaries.mechanism(name) != pair:
                raise Mismatch(
                    f"reports about {name!r} by the survey's mechanism",
                    "those of another",
                    "The reports belong to another survey, or the survey was changed since.",
                )
        return relate(summaries, level=level)

    def pair(
        self,
        paths: Paths,
        *,
        x: str | None = None,
        y: str | None = None,
        weights: str | None = None,
        bounds: tuple[float, float] | None = None,
        classes: bool = False,
        invalid: str = "refuse",
        progress: Progress | None = None,
    ) -> Pair:
        """A private question and its response in files, to regress or classify.

        The parameters are those of `confide.tables.pair`.
        """
        return tables.pair(
            paths,
            survey=self,
            x=x,
            y=y,
            weights=weights,
            bounds=bounds,
            classes=classes,
            invalid=invalid,
            progress=progress,
        )

"""Computes the results of a survey from its summaries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from confide import _checks
from confide._types import Floats
from confide.curves import CellDensity, Relation, SimultaneousBand
from confide.curves.density import QUARTILES
from confide.errors import InvalidInput, Mismatch
from confide.estimators.enough import needed
from confide.estimators.register import DEFAULT, DENSITIES
from confide.estimators.relating import relate
from confide.estimators.shares import CategoryShares
from confide.estimators.trends import trend
from confide.lattice import Categories, Lattice
from confide.mechanisms import Mechanism
from confide.mechanisms.stacked import Stacked
from confide.questions import Questionnaire
from confide.questions.question import Question
from confide.questions.rounds import ROUND
from confide.results.comparing import compare
from confide.results.readers import told
from confide.results.values import CATEGORIES, Quantity, Result
from confide.results.whole import Results
from confide.summaries import Counts, Groups, Summaries
from confide.summaries.forms import ALONE
from confide.summaries.groups import Part
from confide.summaries.plausibility import possible

QUANTITIES = ("mean", *QUARTILES)
"""The quantities that results have of a number."""
BAND = "band"
"""The simultaneous band around the density of a number, which its picture shows."""


def estimate(
    survey: Questionnaire,
    summaries: Summaries,
    *,
    level: float = 0.95,
    intervals: Sequence[str] = (*QUANTITIES, BAND),
    group_intervals: Sequence[str] | None = None,
    quick: bool = False,
    least: int | None = None,
    invited: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """Estimate every question of a survey, for all respondents and for each public group.

    Parameters
    ----------
    survey
        The survey that was answered, in either phase where the reports are of both.
    summaries
        Counts of the reports, by question. Where they are by group, every column that makes the
        groups gets results of its own, those of the other columns added up.
    level
        Confidence level of each interval by itself; several intervals together miss more often.
    intervals
        Which quantities of a number get an interval: ``"mean"``, ``"lower quartile"``,
        ``"median"``, ``"upper quartile"``, and ``"band"`` for the simultaneous band of the whole
        density. The mean costs nothing; quantiles take about a quarter of a second together, and
        the band half a second. Shares always have theirs.
    group_intervals
        The same for the groups, of which there may be many; by default as for all respondents, but
        without the band.
    quick
        Take the estimator's quick intervals, for a view that is made again and again. They cover
        as the others do, and are wider where there are very many reports. No band is made.
    least
        Fewest reports for an estimate; by default what `needed` says for each question.
    invited
        How many people were invited to answer, where that is known.
    progress
        Called after each question and group, with how many are done and how many there are.

    Returns
    -------
    Results
        With the differences of each group from everybody else and, unless it is quick, with what
        a reader of the results learns about one person.

    Examples
    --------
    >>> survey = Questionnaire.from_dict({"questions": {
    ...     "pay": {"low": 0, "high": 100, "size": 64, "epsilon": 2.0}}})
    >>> mechanism = survey.mechanisms["pay"]
    >>> counts = Counts.of(mechanism.simulate([20] * 300 + [40] * 300, seed=1))
    >>> results = estimate(survey, Summaries({"pay": counts}))
    >>> 20 < results["pay"].mean() < 40
    True
    >>> results["pay"]["mean"].low < 30 < results["pay"]["mean"].high
    True
    """
    if not isinstance(summaries, Summaries):
        raise InvalidInput(
            "Summaries",
            f"a {type(summaries).__name__}",
            "Count the reports first: survey.summarize for files, or Summaries of what "
            "tables.counts makes of each question.",
        )
    level = _checks.level(level)
    if group_intervals is None:
        group_intervals = [name for name in intervals if name != BAND]
    for name in (*intervals, *group_intervals):
        _checks.one_of((*QUANTITIES, BAND), intervals=name)
    fewest = None if least is None else _checks.integer(1, least=least)
    recipe = _Recipe(level, frozenset(intervals), quick, fewest)
    of_groups = _Recipe(level, frozenset(group_intervals), quick, fewest)
    given, summaries = summaries, _named(survey, summaries)
    survey = survey.joined({name: summaries.mechanism(name) for name in summaries})
    step = _steps(summaries, progress)
    questions = {}
    for name, one in summaries.questions.items():
        asked = _asked(survey, summaries, name)
        groups: dict[str, dict[Part, Result]] = {}
        if isinstance(one, Groups):
            groups = {by: of_groups.each(name, asked, one.coarser([by]), step) for by in one.by}
        whole = recipe.result(name, asked, summaries[name])
        step()
        slopes: tuple[Quantity, ...] = ()
        if isinstance(one, Groups) and survey.rounds is not None and not quick:
            slopes = _slopes(whole, groups, one, level)
        questions[name] = replace(whole, groups=groups, slopes=slopes)
    questions = compare(questions, summaries, level)
    counts = [summaries[name] for name in summaries]
    simulated = any(one.simulated for one in counts)
    weighted = any(one.weights is not None for one in counts)
    # The bound for readers is for reports of one law, one of each person and question: each phase
    # has a law of its own, and a person who answers several rounds sends several.
    several = survey.times > 1 or any(isinstance(one.mechanism, Stacked) for one in counts)
    if not (quick or simulated or weighted or several):
        questions = told(questions, survey, summaries)
    return Results(
        survey.fingerprint,
        level,
        questions,
        quick=quick,
        questionnaire=Questionnaire.from_dict(survey.to_dict()),
        invited=invited,
        simulated=simulated,
        weighted=weighted,
        raked=tuple(
            dict.fromkeys(
                column
                for one in summaries.questions.values()
                if isinstance(one, Groups)
                for column in one.raked
            )
        ),
        relations=_relations(survey, given, questions, level),
        paired=sum(given[name].n for name in survey.pairs if name in given),
    )


def _slopes(
    whole: Result, groups: Mapping[str, Mapping[Part, Result]], counts: Groups[Counts], level: float
) -> tuple[Quantity, ...]:
    """Changes per round, from the rounds that could be estimated, if these are two or more."""
    known = [key for key, one in groups.get(ROUND, {}).items() if one.curve is not None]
    if len(known) < 2:
        return ()
    rounds = counts.coarser([ROUND])
    several = Groups((ROUND,), {key: rounds[key] for key in known})
    words = whole.kind == CATEGORIES
    names = [one.name for one in whole.quantities] if words else ["mean"]
    # Of two categories the second says it all.
    names = names[1:] if len(names) == 2 else names
    found = []
    for name in names:
        slope = trend(several, category=name if words else None, level=level).slope
        found.append(Quantity(name, slope.value, low=slope.low, high=slope.high))
    return tuple(found)


def _relations(
    survey: Questionnaire, given: Summaries, questions: Mapping[str, Result], level: float
) -> tuple[Relation, ...]:
    """How two questions go together, of the pairs whose questions could both be estimated."""
    pairs = [name for name in survey.pairs if name in given and given[name].n]
    for name in pairs:
        if given.mechanism(name) != survey.pairs[name]:
            raise Mismatch(
                f"reports about {name!r} by the survey's mechanism",
                "those of another",
                "The reports belong to another survey, or the survey was changed since.",
            )
    curves = {name: one.curve for name, one in questions.items() if one.curve is not None}
    known = [name for name in pairs if set(survey.pairs[name].sides) <= set(curves)]
    if not known:
        return ()
    wanted = Summaries({name: given.questions[name] for name in (*curves, *known)})
    return tuple(relate(wanted, margins=curves, level=level).relations)


def _named(survey: Questionnaire, summaries: Summaries) -> Summaries:
    """The summaries in the order of the survey; a single one may lack a name."""
    found = dict(summaries.questions)
    if set(found) == {ALONE} and len(survey.questions) == 1:
        found = {next(iter(survey.questions)): found[ALONE]}
    order = [name for name in survey.questions if name in found]
    others = [name for name in found if name not in survey.pairs]
    return Summaries({name: found[name] for name in dict.fromkeys([*order, *others])})


def _steps(summaries: Summaries, progress: Callable[[int, int], None] | None) -> Callable[[], None]:
    """What is called after each estimate."""
    if progress is None:
        return lambda: None
    parts = [
        sum(len(one.coarser([by])) for by in one.by) if isinstance(one, Groups) else 0
        for one in summaries.questions.values()
    ]
    total, done = len(parts) + sum(parts), itertools.count(1)
    return lambda: progress(next(done), total)


def _asked(survey: Questionnaire, summaries: Summaries, name: str) -> Question:
    """The question, whose mechanism must have made the reports."""
    if name not in survey.questions:
        advice = _checks.nearest(name, survey.questions)
        raise Mismatch("summaries of the survey's questions", repr(name), advice)
    question = survey.questions[name]
    if not survey.knows(name, summaries.mechanism(name)):
        raise Mismatch(
            f"reports of {name!r} by the survey's mechanism",
            "those of another",
            "The reports belong to another survey, or the survey was changed since.",
        )
    return question


class _Recipe:
    """How each question is estimated."""

    def __init__(
        self, level: float, intervals: frozenset[str], quick: bool, least: int | None
    ) -> None:
        self.level = level
        self.intervals = intervals
        self.quick = quick
        self.least = least

    def each(
        self, name: str, asked: Question, groups: Groups[Counts], step: Callable[[], None]
    ) -> dict[Part, Result]:
        """The result of each group by one column."""
        found: dict[Part, Result] = {}
        for key, counts in groups.items():
            assert not isinstance(key, tuple)
            found[key] = self.result(name, asked, counts)
            step()
        return found

    def result(self, name: str, asked: Question, counts: Counts) -> Result:
        """Estimate everything about a question from these reports."""
        axis, mechanism = asked.axis, asked.mechanism
        words = axis.labels if isinstance(axis, Categories) else None
        kind = axis.kind if isinstance(axis, Lattice) else CATEGORIES
        least = needed(mechanism) if self.least is None else self.least
        plausible = not isinstance(counts.mechanism, Mechanism) or possible(
            mechanism, counts.counts
        )
        effective = None if counts.weights is None else counts.effective_n
        if counts.effective_n < least:
            names = QUANTITIES if words is None else words
            return Result(
                name,
                kind,
                counts.n,
                least,
                tuple(Quantity(each, None, low=None, high=None) for each in names),
                reason=_too_few(counts, kind, least),
                plausible=plausible,
                effective=effective,
            )
        curve: Any
        cumulative: tuple[Quantity, ...] = ()
        band: SimultaneousBand | None = None
        if words is None:
            curve = DENSITIES[DEFAULT].make().fit(counts).cells
            quantities = self._of_number(curve)
            if BAND in self.intervals and not self.quick:
                band = curve.band(level=self.level)
        else:
            curve = CategoryShares().fit(counts)
            quantities = _shares(words, curve.shares, curve.intervals.shares(self.level))
            if asked.ordered:
                ends = curve.intervals.cumulative(self.level)
                cumulative = _shares(words, curve.shares.cumsum(), ends)
        declined = None
        if curve.declined is not None:
            low, high = curve.interval("declined", level=self.level)
            declined = Quantity("declined", float(curve.declined), low=low, high=high)
        return Result(
            name,
            kind,
            counts.n,
            least,
            quantities,
            curve=curve,
            plausible=plausible,
            declined=declined,
            cumulative=cumulative,
            band=band,
            effective=effective,
        )

    def _of_number(self, curve: CellDensity) -> tuple[Quantity, ...]:
        cheaper = getattr(curve.intervals, "quick", None)
        if self.quick and cheaper is not None:
            curve = replace(curve, intervals=cheaper())
        ends: dict[str, tuple[float, float] | tuple[None, None]] = {}
        if "mean" in self.intervals:
            ends["mean"] = curve.interval("mean", level=self.level)
        asked = [name for name in QUARTILES if name in self.intervals]
        if asked:
            # All at once: they share most of the work.
            places = [QUARTILES[name] for name in asked]
            lows, highs = curve.interval("quantile", places, level=self.level)
            ends |= zip(asked, zip(lows.tolist(), highs.tolist(), strict=True), strict=True)
        values = [curve.mean(), *(curve.quantile(q) for q in QUARTILES.values())]
        found = []
        for name, value in zip(QUANTITIES, values, strict=True):
            low, high = ends.get(name, (None, None))
            found.append(Quantity(name, float(value), low=low, high=high))
        return tuple(found)


def _shares(
    words: Sequence[str], shares: Floats, ends: tuple[Floats, Floats]
) -> tuple[Quantity, ...]:
    table = zip(words, shares.tolist(), *(end.tolist() for end in ends), strict=True)
    return tuple(Quantity(word, share, low=low, high=high) for word, share, low, high in table)


def _too_few(counts: Counts, kind: str, least: int) -> str:
    if not counts.n:
        return "No reports yet."
    of = "a share by a tenth" if kind == CATEGORIES else "a mean by a tenth of the range"
    return (
        f"Not enough reports yet: {counts.n:,} of {least:,}. With fewer, the noise alone moves {of}"
        " or more."
    )

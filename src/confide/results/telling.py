"""The sentences of results: response, privacy cost and methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confide._figures import number, percent
from confide.accounting.spend import Spend, odds, rounded_up
from confide.estimators.trends import SHARED_ROUNDS
from confide.lattice import POINTS, Categories, Lattice
from confide.mechanisms import Mechanism
from confide.questions import Questionnaire
from confide.questions.rounds import ROUND
from confide.results.about import About
from confide.results.comparing import each_level
from confide.results.digits import Format, Percent
from confide.results.readers import DELTA, of_person
from confide.results.values import CATEGORIES, INTEGER, Estimates, Result
from confide.summaries.groups import label

HALF = 0.5 - 1e-9
"""The share at which a median is reached, but for rounding."""
ROUGH = 10
"""The shape of a density from fewer reports than so many times those that an estimate needs is
mostly assumed: the simultaneous band would hold a flat curve as well. The dashboard has it too."""


def title(results: Estimates) -> str:
    """The survey's title, or what stands for one."""
    survey = results.questionnaire
    return (survey.title if survey is not None else "") or "Results of a survey"


def many(n: int, noun: str = "person", nouns: str = "people") -> str:
    """A count in words."""
    return f"{n:,} {noun if n == 1 else nouns}"


def rate(answered: int, invited: int) -> str:
    """The share of the invited who answered, in tenths of a percent as on the dashboard.

    It is rounded down: 100 % says that all have answered.

    Examples
    --------
    >>> rate(100, 150), rate(9_999, 10_000)
    ('66.6 %', '99.9 %')
    """
    return f"{1000 * answered // max(invited, 1) / 10:.1f} %"


def came(n: int, times: int, what: str = "") -> str:
    """How many people answered, or how often they did where each answers several times.

    Parameters
    ----------
    n
        Answers.
    times
        In how many rounds each person answers.
    what
        Was answered, if it is to be said.

    Examples
    --------
    >>> came(3, 1), came(3, 2, "this question")
    ('3 people answered', 'People answered this question 3 times')
    """
    said = f"answered {what}".rstrip()
    return f"{many(n)} {said}" if times == 1 else f"People {said} {n:,} times"


def opening(results: Estimates) -> list[str]:
    """The opening sentences: response, and how to read the numbers."""
    survey = results.questionnaire
    level = percent(results.level)
    times = 1 if survey is None else survey.times
    who = came(results.n, times)
    if results.invited is not None:
        who += f" of {results.invited:,} invited ({rate(results.n, results.invited)})"
    if survey is not None:
        each, of = survey.asks, len(survey.questions)
        if each < of:
            asked = "one question" if each == 1 else f"{each} questions"
            pair = "" if survey.relations is None else " or for one pair"
            who += f"; each of them was asked {asked} of {of}{pair}, drawn before anybody answered"
    found = [f"{who}."]
    if results.simulated:
        found[0] += (
            " All of this is simulated: no person gave these reports, and nothing here is about "
            "anybody."
        )
    if survey is not None and survey.rounds is not None and times > 1:
        found.append(
            f"{survey.rounds.words()} Intervals take all answers as independent, so they may be "
            "too narrow where the answers of one person are alike."
        )
    if survey is not None and survey.closes is not None:
        # Reports do not say when the survey was closed, which may have been by hand.
        closes = f"{survey.closes:%-d %B %Y, %H:%M} UTC"
        found.append(f"The survey was set to close by {closes}; it may have been closed earlier.")
    weighted = ", weighted" if results.weighted else ""
    found.append(
        "Nobody's answers are known here: noise was added to each before anything was counted. "
        "All numbers are estimates of the whole from noisy reports. Each is given with an "
        f"interval, which holds the truth in {level} of such surveys."
    )
    if not results.simulated and results.raked:
        found.append(
            f"Respondents are weighted, so that {_listed(list(results.raked))} "
            f"{'have' if len(results.raked) > 1 else 'has'} the shares that are known for the "
            "population. In each of these groups, people who did not answer may be different from "
            "those who did, and no interval accounts for that."
        )
    elif not results.simulated and results.n != results.invited:
        found.append(
            f"These numbers are about the people who answered{weighted}. People who did not answer "
            "may be different, and no interval accounts for that."
        )
    elif weighted and not results.simulated:
        found.append("Respondents are weighted.")
    hidden = results.paired - sum(one.n for one in results.relations)
    if hidden:
        found.append(
            f"{many(hidden)} sent a report about a pair of questions of which one has too few "
            "answers to be estimated here. `confide relate` estimates how the two go together."
        )
    if results.quick:
        found.append("People still answer: these numbers will change.")
    return found


def answered(result: Result, about: About) -> str:
    """Number of answers to a question, in a sentence."""
    text = f"{came(result.n, about.times, 'this question')}."
    if result.effective is not None:
        text += (
            " Because their weights are unequal, they count as "
            f"{many(round(result.effective))} (the effective number)."
        )
    if result.declined is not None:
        share = Percent()
        text += (
            f" An estimated {share(result.declined.estimate)} of them "
            f"({share.range(result.declined)}) preferred not to say. All other figures are about "
            "the others."
        )
    if about.missing is not None:
        text += f" Missing answers count as {about.label(str(about.missing))}."
    return text


def trend(results: Estimates, name: str, by: str) -> str:
    """How a question changes from round to round; empty for groups that are not rounds."""
    result, about, survey = results[name], About.of(results, name), results.questionnaire
    if by != ROUND or not result.slopes:
        return ""
    told: Format = Percent()
    points = " percentage points"
    if result.kind != CATEGORIES:
        assert about.scale is not None
        told = Format.of(result.slopes, about.scale.high - about.scale.low)
        points = f" {about.unit}" if about.unit else ""
    parts = []
    for one in result.slopes:
        name = about.label(one.name) if result.kind == CATEGORIES else one.name
        ends = told.points(one) if isinstance(told, Percent) else told.range(one)
        parts.append(f"{name} {told.signed(one.estimate)}{points} ({ends})")
    shared = "" if survey is None or survey.times == 1 else f" {SHARED_ROUNDS}"
    return (
        f"Change per round along a straight line, with {percent(results.level)} intervals: "
        f"{'; '.join(parts)}.{shared}"
    )


def middle(result: Result, about: About) -> str:
    """The median of ordered categories, with all that it may be; empty for other questions."""
    if not result.cumulative:
        return ""
    value, low, high = (
        next(
            about.label(one.name)
            for one in result.cumulative
            if (end := getattr(one, key)) is None or end >= HALF
        )
        for key in ("estimate", "high", "low")
    )
    if low == high:
        return f"The median answer is {value}; its interval holds no other."
    return f"The median answer is {value}; its interval runs from {low} to {high}."


def shared(result: Result) -> str:
    """Single values that many people share, which the density holds as atoms; else empty."""
    facts = {} if result.curve is None else result.curve.facts
    atoms = zip(facts.get("atoms", ()), facts.get("atom_shares", ()), strict=False)
    share = Percent()
    told = [f"{share(part)} at {number(value)}" for value, part in atoms]
    if not told:
        return ""
    listed = ", ".join(told)
    return f"Some values are shared by many people: {listed}. Their spikes are cut in the picture."


def banded(result: Result) -> str:
    """How the picture of a density is to be read, with the band around it; empty for categories."""
    if result.kind == CATEGORIES or result.curve is None:
        return ""
    told = []
    if result.band is not None:
        mean = (
            ""
            if result.kind == INTEGER
            else " The true curve here is its average over each sixteenth of the scale."
        )
        told.append(
            f"In {percent(result.band.level)} of such surveys, the light band holds the whole true "
            f"curve, whatever its shape.{mean} Where the band is higher than the picture, it is "
            "cut."
        )
    if result.n < ROUGH * result.needed:
        told.append(
            "With so few reports, the shape of the curve comes mostly from the assumption that "
            "distributions are smooth: do not read peaks or dips from it."
        )
    return " ".join(told)


def alarm(result: Result) -> str:
    """A warning where reports cannot be what they seem; empty otherwise."""
    if result.plausible:
        return ""
    return (
        "No answers at all could have given these reports: some may be forged, or belong to "
        "another survey. Do not rely on this estimate."
    )


MARKS = "▲ and ▼ mark groups that lie above or below everybody else by that measure."


def compared(results: Estimates) -> str:
    """How differences between groups are to be read; empty where there are none."""
    n = results.comparisons
    if not n:
        return ""
    level = percent(results.level)
    if n == 1:
        return (
            "Only one group could be compared with everybody else; otherwise there are too few "
            "reports. The interval of this difference holds the truth in "
            f"{level} of such surveys. {MARKS}"
        )
    return (
        "Each group that has enough reports is compared with everybody else. The intervals of all "
        f"{n:,} differences hold together in {level} of such surveys: each has the level "
        f"{100 * each_level(results.level, n):.4g} % (Bonferroni; Dunn 1961). {MARKS}"
    )


@dataclass(frozen=True)
class Cost:
    """The cost to a person of one group if an adversary sees only the results."""

    group: str
    fewest: int
    spend: Spend

    @property
    def epsilon(self) -> str:
        """Its epsilon, rounded upwards."""
        return rounded_up(self.spend.epsilon, 3)


def privacy(results: Estimates) -> list[str]:
    """The cost to each person, towards each kind of reader, in plain words."""
    survey = results.questionnaire
    if results.simulated or survey is None:
        return []
    each, spend = survey.asks * survey.times, survey.spend
    found = [
        "Each answer was turned into a noisy report, and only reports were counted. "
        f"{spend.words(answers=each)} That holds for everybody who sees reports but no "
        "answers, whatever else they know and however long they compute. If people answered on "
        "their own devices, only reports left them, and it holds for the collector too. The bound "
        "is exact: every report has a probability that is computed in whole numbers."
    ]
    reader = of_person(results)
    if results.weighted:
        found.append(
            "Respondents are weighted, and no smaller figure is known for readers of weighted "
            "results."
        )
    if reader is None:
        return found
    if reader.epsilon < spend.epsilon:
        found.append(
            "Somebody who sees nothing but these results learns less, since each person is hidden "
            "among all others who were asked the same question in the same group: at most "
            f"epsilon = {rounded_up(reader.epsilon, 3)} about any one person, a factor of "
            f"{odds(reader.epsilon)} in the odds, {_but_for(reader)}. {BOUND}. It is for the "
            "smallest group that is published, not for the whole survey, and it is summed over the "
            "questions that one person was asked."
        )
        return [*found, LIMITS]
    found.append(
        f"{'Some groups are so small' if results.by else 'So few people answered'} that these "
        "results alone may reveal as much about a person as that person's report does: "
        f"for their readers, too, the bound is epsilon = {spend.epsilon:g}."
    )
    better = [one.spend for one in costs(results) if one.spend.epsilon < spend.epsilon]
    if better:
        worst = max(better, key=lambda one: one.delta)
        found.append(
            "About people of larger groups such a reader learns less, since each is hidden among "
            "all others who were asked the same question in the same group: the table has an "
            f"epsilon for each group, which holds {_but_for(worst)}. {BOUND}, summed over the "
            "questions that one person was asked."
        )
        found.append(LIMITS)
    return found


BOUND = "The bound is that of Feldman, McMillan and Talwar (2021)"
LIMITS = (
    "The smaller figure does not hold for the collector, for anybody who has the file of reports, "
    "for those who watched a dashboard while people answered, nor for readers who see a second "
    "set of results of nearly the same people. Towards all of these, the first epsilon above "
    "holds. The smaller figure also assumes that the others are honest: people who made up their "
    "reports, or told what they sent, hide nobody."
)
"""Whom no smaller figure than that of everybody protects from."""


def _but_for(spend: Spend) -> str:
    return f"except with a probability of {rounded_up(max(spend.delta, 0.0), 2)} (delta)"


def costs(results: Estimates) -> list[Cost]:
    """The cost to people of each group if an adversary sees only the results, where known."""
    found = []
    columns: dict[str, dict[str | int, None]] = {}
    for result in results.values():
        for by, own in result.groups.items():
            columns.setdefault(by, {}).update(dict.fromkeys(own))
    for by, groups in columns.items():
        for group in groups:
            spend = of_person(results, by, group)
            if spend is not None:
                every = [one.groups.get(by, {}).get(group) for one in results.values()]
                fewest = min(one.n for one in every if one is not None)
                name = f"{by}: {label(group)}" if len(columns) > 1 else label(group)
                found.append(Cost(name, fewest, spend))
    return found


REFERENCES = {
    "bonferroni": "Dunn, O. J. (1961). Multiple comparisons among means. Journal of the American "
    "Statistical Association 56, 52-64.",
    "clopper": "Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits "
    "illustrated in the case of the binomial. Biometrika 26, 404-413.",
    "ems": "Silverman, B. W., Jones, M. C., Wilson, J. D. and Nychka, D. W. (1990). A smoothed EM "
    "approach to indirect estimation problems. Journal of the Royal Statistical Society B 52, "
    "271-324.",
    "fieller": "Fieller, E. C. (1954). Some problems in interval estimation. Journal of the Royal "
    "Statistical Society B 16, 175-185.",
    "geometric": "Ghosh, A., Roughgarden, T. and Sundararajan, M. (2012). Universally "
    "utility-maximizing privacy mechanisms. SIAM Journal on Computing 41, 1673-1693.",
    "local": "Kasiviswanathan, S. P., Lee, H. K., Nissim, K., Raskhodnikova, S. and Smith, A. "
    "(2011). What can we learn privately? SIAM Journal on Computing 40, 793-826.",
    "logistic": "Riihimaki, J. and Vehtari, A. (2014). Laplace approximation for logistic Gaussian "
    "process density estimation and regression. Bayesian Analysis 9, 425-448.",
    "mover": "Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect "
    "measures: a general approach. Statistics in Medicine 27, 1693-1702.",
    "raking": "Deming, W. E. and Stephan, F. F. (1940). On a least squares adjustment of a sampled "
    "frequency table when the expected marginal totals are known. Annals of Mathematical "
    "Statistics 11, 427-444.",
    "response": "Warner, S. L. (1965). Randomized response: a survey technique for eliminating "
    "evasive answer bias. Journal of the American Statistical Association 60, 63-69.",
    "shuffling": "Feldman, V., McMillan, A. and Talwar, K. (2021). Hiding among the clones: a "
    "simple and nearly optimal analysis of privacy amplification by shuffling. FOCS 2021.",
    "square-wave": "Li, Z., Wang, T., Lopuhaä-Zwakenberg, M., Li, N. and Škorić, B. (2020). "
    "Estimating numerical distributions under local differential privacy. SIGMOD 2020.",
    "weights": "Kish, L. (1965). Survey Sampling. Wiley.",
}


def _quantile_intervals(*, averaged: bool) -> str:
    tested = (
        "all values that a likelihood-ratio test does not reject, with a critical value "
        "calibrated by simulation from the fit; they assume no shape of the distribution."
    )
    if not averaged:
        return f"Those of quantiles hold {tested}"
    return (
        "Those of quantiles come from the same average, with heaps at bounds and round numbers "
        "that the noise may hide, and assume that the population is like one of these models. For "
        "whole numbers and points, with survey weights, if people could decline, or where the "
        f"average was not used, intervals of quantiles instead hold {tested}"
    )


def methods(results: Estimates) -> tuple[list[str], list[str]]:
    """A methods paragraph, ready for a paper, and the works that it cites."""
    survey = results.questionnaire
    used = {"local"}
    found: list[str] = []
    level = percent(results.level)
    if survey is not None:
        found.append(_collected(results, survey, used))
    numbers = [name for name, one in results.items() if one.kind != CATEGORIES]
    words = [name for name, one in results.items() if one.kind == CATEGORIES]
    text = []
    if numbers:
        curves = [results[name].curve for name in numbers]
        names = {str(curve.facts.get("method", "")) for curve in curves if curve is not None}
        if names == {"likelihood"}:
            used.add("ems")
            text.append(
                "Distributions of numbers are maximum likelihood estimates under the exact law of "
                "the reports, by expectation maximization with smoothing (Silverman et al. 1990), "
                "the amount of smoothing chosen by five-fold cross-validation."
            )
        elif "adaptive" in names:
            used |= {"logistic", "ems"} if "likelihood" in names else {"logistic"}
            text.append(
                "The logarithm of the density of a number has a Gaussian-process prior. The "
                "distribution is an average over the order and the scale of the prior, weighted by "
                "their evidence under the exact law of the reports in Laplace's approximation "
                "(Riihimaki and Vehtari 2014); single values that many people share enter as heaps "
                "where that raises the evidence. A mean is the average of unbiased scores of the "
                "reports."
            )
            if "likelihood" in names:
                text.append(
                    "Where that did not fit or there were too few cells, it is the maximum "
                    "likelihood estimate by expectation maximization with smoothing (Silverman et "
                    "al. 1990)."
                )
        elif names:
            text.append(f"Distributions of numbers were estimated by {', '.join(sorted(names))}.")
        text.append(
            f"The {level} interval of a mean is Student's, from these scores."
            if "adaptive" in names
            else f"The {level} interval of a mean is Student's, from scores of the reports that "
            "are unbiased for the value."
        )
        text.append(_quantile_intervals(averaged="adaptive" in names))
    if words:
        used.add("clopper")
        text.append(
            "Shares of categories are maximum likelihood estimates; their intervals are those of "
            "Clopper and Pearson (1934) for the chance of a report, carried over to shares."
        )
    if any(one.declined is not None for one in results.values()):
        used |= {"clopper", "fieller"}
        text.append(
            "Where people could prefer not to say, that was an answer as private as any other. Its "
            "share depends only on the number of such reports (Clopper and Pearson 1934); means "
            "and shares among those who answered are ratios, with intervals after Fieller (1954)."
        )
    if results.raked:
        used |= {"raking", "weights"}
        text.append(
            f"Respondents were weighted to known margins of {_listed(list(results.raked))} by "
            "iterative proportional fitting (Deming and Stephan 1940). Intervals for all "
            "respondents account for unequal weights and for what the margins explain, by "
            "residuals from a fit to the margins; those of groups by the effective number of "
            "respondents (Kish 1965)."
        )
    elif results.weighted:
        used.add("weights")
        text.append("Survey weights enter by their effective number of respondents (Kish 1965).")
    if results.comparisons:
        used |= {"mover", "bonferroni"}
        text.append(
            "Each group was compared with all other respondents, with intervals for the difference "
            "after Zou and Donner (2008), simultaneous over all "
            f"{results.comparisons:,} comparisons by Bonferroni's inequality (Dunn 1961)."
        )
    if any(one.reader is not None for one in results.values()):
        used.add("shuffling")
        text.append(
            "The bound for readers of the results is that of Feldman, McMillan and Talwar (2021), "
            f"with delta = {DELTA:.0e} over all questions of a person and the exact constants of "
            "the mechanisms, for the number of reports in the smallest published group."
        )
    text.append("All computations were made with confide.")
    found.append(" ".join(text))
    return found, [REFERENCES[key] for key in sorted(used, key=lambda key: REFERENCES[key])]


def _collected(results: Estimates, survey: Questionnaire, used: set[str]) -> str:
    """How answers were turned into reports."""
    each, of = survey.asks, len(survey.questions)
    asked = "all" if each == of else f"{each} of the" if each > 1 else "one of the"
    kinds: dict[str, list[str]] = {}
    for name in results:
        mechanism = survey.questions[name].mechanism
        made = _made(mechanism, used, phased=survey.phases is not None)
        kinds.setdefault(made, []).append(name)
    ways = "; ".join(
        f"{_listed(names)} by {way}" if len(kinds) > 1 else way for way, names in kinds.items()
    )
    start = came(results.n, survey.times, f"{asked} {of} questions" if of > 1 else "")
    return (
        f"{start} under local differential privacy (Kasiviswanathan et al. 2011): each answer was "
        f"randomized by itself before anything was counted, {ways}.{_paired(survey)} "
        "A respondent spent "
        f"{'' if _alike(survey) else 'at most '}epsilon = "
        f"{rounded_up(survey.spend.epsilon, 4)} in all."
    )


def _paired(survey: Questionnaire) -> str:
    """How people were asked for pairs, as a sentence after a space; empty where nobody was."""
    if survey.relations is None:
        return ""
    return (
        f" Of the respondents {percent(survey.relations.share)} answered no single question but "
        "sent one randomized report about a pair of answers."
    )


def _alike(survey: Questionnaire) -> bool:
    """Whether everybody spent the same, whichever questions they were asked."""
    costs = {question.mechanism.spend.epsilon for question in survey.questions.values()}
    return survey.ask is None or len(costs) == 1


def _made(mechanism: Mechanism, used: set[str], *, phased: bool) -> str:
    """A mechanism in the words of a paper."""
    epsilon = f"epsilon = {rounded_up(mechanism.spend.epsilon, 4)}"
    axis = mechanism.axes[""]
    if isinstance(axis, Categories):
        if mechanism.name == "randomized-response":
            used.add("response")
            return (
                f"randomized response over {len(axis.labels)} categories (Warner 1965; {epsilon})"
            )
        return f"{mechanism.name.replace('-', ' ')} ({epsilon})"
    assert isinstance(axis, Lattice)
    what = "points" if axis.kind == POINTS else "cells"
    cells = f"{axis.size:,} {what} from {number(axis.low)} to {number(axis.high)}"
    if axis.zoom is not None:
        start, end = map(number, axis.zoom)
        when = " in the second of two phases" if phased else ""
        cells += f", nine tenths of them from {start} to {end}{when},"
    known = {
        "square-wave": ("the square wave mechanism", "square-wave", "Li et al. 2020"),
        "laplace": ("two-sided geometric noise", "geometric", "Ghosh et al. 2012"),
    }
    if mechanism.name not in known:
        return f"{mechanism.name.replace('-', ' ')} noise on {cells} ({epsilon})"
    words, key, cited = known[mechanism.name]
    used.add(key)
    return f"{words} on {cells} ({cited}; {epsilon})"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


RELATED = (
    "The correlation of a pair is that of normal scores: 0 where answers tell nothing about each "
    "other, 1 where the order of one is that of the other, -1 where it is the opposite order. It "
    "is read off reports that tell on which side of a threshold both answers lie, or which words "
    "both are. So a relation that is symmetric, or that is there for extreme answers only, does "
    "not show."
)
CROSSED = (
    "The tables have the shares of the people who answered both questions, with intervals in "
    "parentheses."
)


def has_crossed(results: Estimates) -> bool:
    """Whether some pair has a cross table."""
    return any(one.crossed for one in results.relations)

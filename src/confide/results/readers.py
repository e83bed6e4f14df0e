"""Bounds on what a reader of the results learns about one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from confide.accounting import Spend, shuffled
from confide.mechanisms import Mechanism
from confide.questions import Questionnaire
from confide.results.values import Estimates, Result
from confide.summaries import Counts, Groups, Summaries
from confide.summaries.groups import Key, Part

DELTA = 1e-6
"""Probability that the bound for one person leaves out, over all questions together."""
WORTH = 0.99
"""A smaller epsilon that is at least this part of the whole one is not worth a delta."""

_bound = lru_cache(maxsize=4096)(shuffled)


def told(
    questions: Mapping[str, Result], survey: Questionnaire, summaries: Summaries
) -> dict[str, Result]:
    """The results with what one person spends towards a reader, question by question.

    All that is published about a question follows from the counts of its reports in the smallest
    parts that the groups make: people of one region, say, or of one region and sex where there are
    results by both. So the number that hides a person is that of the smallest part with anybody in
    it, not that of the survey. Counts of several questions have independent noise: what a
    person spends on each adds up, delta too.
    """
    share = DELTA / survey.asks
    found = {}
    for name, result in questions.items():
        one = summaries.questions[name]
        mechanism = survey.questions[name].mechanism
        parts: Mapping[Key, Counts] = one if isinstance(one, Groups) else {(): one}
        by = one.by if isinstance(one, Groups) else ()
        sizes = {
            key if isinstance(key, tuple) else (key,): counts.n
            for key, counts in parts.items()
            if counts.n
        }
        groups: dict[str, dict[Part, Result]] = {}
        for at, column in enumerate(by):
            groups[column] = {
                group: replace(
                    each,
                    reader=_of(
                        mechanism, [n for key, n in sizes.items() if key[at] == group], share
                    ),
                )
                for group, each in result.groups[column].items()
            }
        found[name] = replace(
            result, groups=groups, reader=_of(mechanism, list(sizes.values()), share)
        )
    return found


def _of(mechanism: Mechanism, sizes: list[int], delta: float) -> Spend | None:
    return _bound(mechanism, n=min(sizes), delta=delta) if sizes else None


def of_person(results: Estimates, by: str = "", group: Part = "") -> Spend | None:
    """The cost to one person if an adversary sees only the results, over all questions.

    Parameters
    ----------
    results
        The results.
    by, group
        A public column and the group that the person belongs to; by default the worst one.

    Returns
    -------
    Spend
        None where it is not known. The questions that cost most count, as many as a person was
        asked, and so do those of the largest deltas, which may be others: the bound holds for
        everybody, whatever they were asked, a pair of questions too. Never more than a person
        spends towards everybody.
    """
    survey = results.questionnaire
    found = [one.groups.get(by, {}).get(group) if by else one for one in results.values()]
    known = [one.reader for one in found if one is not None and one.reader is not None]
    if survey is None or not known:
        return None
    # The largest of each, which need not be of the same questions.
    epsilons, deltas = (
        sorted(each)[-survey.asks :]
        for each in ([one.epsilon for one in known], [one.delta for one in known])
    )
    total = sum(map(Spend, epsilons, deltas), start=Spend(0.0))
    for one in results.relations:
        # The law of a report about a pair depends on its outcome alone.
        pair = _bound(survey.pairs[one.name].response, n=one.n, delta=DELTA)
        total = Spend(max(total.epsilon, pair.epsilon), max(total.delta, pair.delta))
    return total if total.epsilon < WORTH * survey.spend.epsilon else survey.spend

"""Compares each group with everybody else, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from confide.curves import CellDensity, Proportions
from confide.curves.differences import apart, difference
from confide.estimators.intervals import Intervals
from confide.estimators.shares import CategoryShares
from confide.lattice import Categories
from confide.results.values import Quantity, Result
from confide.summaries import Counts, Groups, Summaries
from confide.summaries.groups import Part


@dataclass(frozen=True)
class Pair:
    """A group and everybody else, who answered the same question."""

    question: str
    by: str
    group: Part
    own: Counts
    others: Counts
    curve: CellDensity | Proportions

    @property
    def compared(self) -> tuple[str, ...]:
        """The compared quantities: the mean of a number, or the share of each category.

        Of two categories the second says it all.
        """
        axis = self.own.mechanism.axes[""]
        if not isinstance(axis, Categories):
            return ("mean",)
        return axis.labels[1:] if len(axis.labels) == 2 else axis.labels

    def differences(self, level: float) -> tuple[Quantity, ...]:
        """How much larger each quantity is in the group, with intervals of this level each."""
        if isinstance(self.curve, CellDensity):
            first, second = (_mean(counts, level) for counts in (self.own, self.others))
            low, high = apart(first, second)
            # The difference of the means that are shown; as theirs, the interval holds it.
            center = Intervals(self.others).center()
            gap = self.curve.mean() - (second[0] if center is None else center)
            return (Quantity("mean", gap, low=min(low, gap), high=max(high, gap)),)
        own, others = (CategoryShares().fit(counts) for counts in (self.own, self.others))
        found = [
            (name, difference(own, others, "share", name, level=level)) for name in self.compared
        ]
        return tuple(Quantity(name, one.value, low=one.low, high=one.high) for name, one in found)


def each_level(level: float, many: int) -> float:
    """The level of each of many intervals that hold together with the given one."""
    return 1 - (1 - level) / many


def compare(
    questions: Mapping[str, Result], summaries: Summaries, level: float
) -> dict[str, Result]:
    """The results with the differences of each group from everybody else.

    All intervals hold together with the given level, by Bonferroni's inequality: of m differences
    each has an interval of the level 1 - (1 - level) / m. Which groups are compared depends on the
    numbers of reports alone, and not on what they say.
    """
    pairs = list(_pairs(questions, summaries))
    many = sum(len(pair.compared) for pair in pairs)
    found = dict(questions)
    for pair in pairs:
        result = found[pair.question]
        own = {by: dict(each) for by, each in result.groups.items()}
        told = pair.differences(each_level(level, many))
        own[pair.by][pair.group] = replace(own[pair.by][pair.group], differences=told)
        found[pair.question] = replace(result, groups=own)
    return found


def _pairs(questions: Mapping[str, Result], summaries: Summaries) -> Iterator[Pair]:
    """Groups that have enough reports, wherever all others together have enough too."""
    for name, result in questions.items():
        whole = summaries.questions[name]
        if not isinstance(whole, Groups):
            continue
        for by, own in result.groups.items():
            groups = whole.coarser([by])
            for key, one in own.items():
                if one.curve is None or len(groups) < 2:
                    continue
                others = groups.others(key)
                if others.effective_n >= result.needed:
                    yield Pair(name, by, key, groups[key], others, one.curve)


def _mean(counts: Counts, level: float) -> tuple[float, float, float]:
    """The unbiased mean and the ends of its interval, which bounds do not cut.

    Cut intervals would be too short for a difference: the middle of one is no estimate any more.
    """
    low, high = Intervals(counts).mean(level, cut=False)
    return (low + high) / 2, low, high

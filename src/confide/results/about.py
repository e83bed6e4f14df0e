"""Notes about a question that a reader of its numbers needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confide._figures import logarithmic
from confide.curves import CellDensity
from confide.lattice import Categories
from confide.mechanisms import Mechanism
from confide.results.digits import Format
from confide.results.pictures import Scale
from confide.results.values import CATEGORIES, INTEGER, Estimates, Result


@dataclass(frozen=True)
class About:
    """The texts and the scale of a question.

    Parameters
    ----------
    text, help, unit
        As respondents read them; the name of the question where it has no text.
    labels
        What is shown in place of each category.
    scale
        The axis of a number; None for categories.
    capped
        What answers beyond the bounds count as, in a sentence; empty where no bound is open.
    ends
        The bounds of a number in words, such as "300,000 or more" where one is open.
    mechanism
        What made the reports; None where it is not known.
    missing
        What stands for a missing answer, or None.
    times
        In how many rounds each person answers.
    """

    text: str
    help: str = ""
    unit: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    scale: Scale | None = None
    capped: str = ""
    ends: tuple[str, str] = ("", "")
    mechanism: Mechanism | None = None
    missing: float | str | None = None
    times: int = 1

    @classmethod
    def of(cls, results: Estimates, name: str) -> About:
        """A question of some results."""
        survey, result = results.questionnaire, results[name]
        if survey is None:
            return cls(name, scale=_scale(result))
        asked = survey.questions[name]
        wording, axis = asked.wording, asked.axis
        labels: dict[str, str] = {}
        scale, ends = None, ("", "")
        if isinstance(axis, Categories):
            labels = dict(zip(axis.labels, wording.labels.get("", axis.labels), strict=True))
        else:
            edges = axis.edges
            scale = Scale(float(edges[0]), float(edges[-1]), axis.scale == "log")
            ends = asked.ends
        return cls(
            wording.get("text") or name,
            wording.get("help"),
            wording.get("unit"),
            labels,
            scale,
            f"{asked.capped} The mean is that of these capped values." if asked.capped else "",
            ends,
            asked.mechanism,
            asked.missing,
            survey.times,
        )

    def label(self, category: str) -> str:
        """A category as people read it."""
        return self.labels.get(category, category)

    def numbers(self, result: Result, name: str) -> Format:
        """The format of a quantity of a number; whole numbers have means that are not."""
        assert self.scale is not None
        span = self.scale.high - self.scale.low
        return Format.of([result[name]], span, whole=result.kind == INTEGER and name != "mean")


def _scale(result: Result) -> Scale | None:
    if result.kind == CATEGORIES or not isinstance(result.curve, CellDensity):
        return None
    edges = result.curve.edges[0]
    return Scale(float(edges[0]), float(edges[-1]), logarithmic(edges))

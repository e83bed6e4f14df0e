"""A private question and its response, public or private, from reports or a summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from confide.cli import counting, inputs, output
from confide.cli.labels import Label, coded
from confide.cli.public import Public
from confide.errors import InvalidInput, Mismatch
from confide.files.paths import counted, named
from confide.lattice import Categories, Lattice
from confide.mechanisms import Joint, Mechanism
from confide.mechanisms.protocol import Reports
from confide.reports import Files
from confide.summaries import Counts
from confide.summaries.counts import Response
from confide.survey import Survey


@dataclass(frozen=True)
class Pair:
    """What is regressed on what.

    Parameters
    ----------
    x, y
        Names of the question and of the response; '' where nobody named them.
    counts
        Reports of x with the response, or of both questions together.
    private
        Whether the response is a question too.
    labels
        What a response of 0 and of 1 stands for, or None.
    missing
        What stands for a missing answer, by question.
    left_out
        How many rows were left out, by kind; None where none may be.
    """

    x: str
    y: str
    counts: Counts
    private: bool = False
    labels: tuple[Label, Label] | None = None
    missing: Mapping[str, float | str] = field(default_factory=dict)
    left_out: Mapping[str, int] | None = None

    @property
    def response(self) -> str | None:
        """The private question that is the response."""
        return self.y if self.private else None

    @property
    def axis(self) -> Lattice | Categories:
        """Where the values of x are."""
        axes = self.counts.mechanism.axes
        return axes[self.x] if self.private else axes[""]

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the response."""
        if self.private:
            axis = self.counts.mechanism.axes[self.y]
            return (0.0, 1.0) if isinstance(axis, Categories) else (axis.low, axis.high)
        assert self.counts.response is not None
        return self.counts.response.low, self.counts.response.high

    @property
    def many(self) -> str:
        """How many reports; numbers noised elsewhere are values."""
        noun = "report" if isinstance(self.counts.mechanism, Mechanism) else "value"
        return counted(self.counts.n, noun)

    @property
    def epsilons(self) -> dict[str, float | None]:
        """What each private answer costs."""
        mechanism = self.counts.mechanism
        parts = mechanism.parts if isinstance(mechanism, Joint) else {self.x: mechanism}
        costs = {
            name: part.spend.epsilon for name, part in parts.items() if isinstance(part, Mechanism)
        }
        return {name: None if math.isinf(cost) else cost for name, cost in costs.items()}

    def say(self) -> None:
        """Print what must be known beside the estimate."""
        for name, value in self.missing.items():
            text = value if isinstance(value, str) else output.number(value)
            output.say(f"Missing answers to {name!r} count as {text}.")
        mechanism = self.counts.mechanism
        if not isinstance(mechanism, Mechanism):
            return
        if isinstance(mechanism, Joint):
            costs = output.costs([part.spend.epsilon for part in mechanism.parts.values()])
            each = " and ".join(
                f"{cost} for {name!r}" for name, cost in zip(self.epsilons, costs, strict=True)
            )
            output.say(f"Both are private, and what they cost adds up: epsilon = {each}.")
            output.say(mechanism.spend.words(answers=2))
            return
        output.say(
            f"{self.y or 'The response'} is public, {self.x or 'the question'} is private.",
            mechanism.spend.words(),
        )


@dataclass(frozen=True)
class Wanted:
    """What a command asks for.

    Parameters
    ----------
    x, y
        Names of the question and of the response, or None.
    weights
        Column of survey weights, or None.
    bounds
        Bounds of a public response, or None for those that are observed.
    two
        Whether the response must be one of two classes.
    invalid
        What to do about rows that cannot be used: refuse or drop.
    """

    x: str | None
    y: str | None
    weights: str | None = None
    bounds: tuple[float, float] | None = None
    two: bool = False
    invalid: str = "refuse"

    def __post_init__(self) -> None:
        inputs.one_choice(self.invalid)
        if self.x is not None and self.x == self.y:
            raise InvalidInput("--x and --y that differ", f"{self.x!r} for both")

    def read(self, survey: Survey | None, paths: Sequence[Path]) -> Pair:
        """The pair in files of reports or of summaries."""
        read = self._summary if inputs.are_summaries(paths) else self._reports
        return read(survey, paths)

    def _reports(self, survey: Survey | None, paths: Sequence[Path]) -> Pair:
        if self.y is None:
            raise InvalidInput("--y, the response: a public column or another question", "none")
        mechanisms = survey.mechanisms if survey else Files.open(paths).mechanisms
        private = self.y in mechanisms
        x = inputs.only([name for name in mechanisms if name != self.y], self.x, "--x")
        if private:
            self._no_bounds()
            categories = _categories(mechanisms[self.y], self.y, self.two)
            files = inputs.open_reports(survey, paths, [x, self.y], Public(self.weights).columns)
            counts, left = self._together(files, x, self.y)
            missing = _missing(survey, files)
            return Pair(x, self.y, counts, True, categories, missing, self._left(left))
        public = Public(self.weights, self.y, self.bounds)
        files = inputs.open_reports(survey, paths, [x], public.columns)
        labels: tuple[Label, Label] | None = None
        if self.two:
            sources = coded(files.sources, self.y, gaps=self.invalid == "drop")
            files, labels = replace(files, sources=sources), sources[0].labels
        found, out = counting.tally(files, public, self.invalid)
        counting.tell(out)
        missing = _missing(survey, files)
        return Pair(x, self.y, found[x], False, labels, missing, self._left(out.get(x, {})))

    def _left(self, left: Mapping[str, int]) -> Mapping[str, int] | None:
        return left if self.invalid == "drop" else None

    def _together(self, files: Files, x: str, y: str) -> tuple[Counts, dict[str, int]]:
        """Counts of two questions together, in bounded memory, and the rows that were left out."""
        both = Joint({x: files.mechanisms[x], y: files.mechanisms[y]})
        public = Public(self.weights)
        out: Counter[int] = Counter()
        rows = counting.batches(files)
        if self.invalid == "drop":
            rows = counting.sound(files, public, [x, y], out)
        total: Counts | None = None
        with output.progress("Counting reports", files.rows) as advance:
            for batch, numbers in rows:
                if not len(batch[x]):
                    continue
                indices = np.stack([batch[x].indices, batch[y].indices], axis=1)
                reports = Reports(indices, both, simulated=files.simulated)
                own = public.count(reports, numbers)
                total = own if total is None else total + own
                advance(len(reports))
        if total is None:
            raise InvalidInput(f"at least one row with reports of {x!r} and {y!r}", "none")
        left = counting.counted_left(out)
        counting.tell({f"{x} and {y}": left} if left else {})
        return total, left

    def _summary(self, survey: Survey | None, paths: Sequence[Path]) -> Pair:
        if self.invalid == "drop":
            raise inputs.no_reports("a summary")
        for option, value in {"weights": self.weights, "bounds": self.bounds}.items():
            if value is not None:
                raise InvalidInput(
                    f"reports to go with --{option}", "a summary", f"Summarize with --{option}."
                )
        summaries = inputs.load_summaries(paths)
        first = next(iter(summaries.values()))
        if len(summaries) == 1 and isinstance(first.mechanism, Joint):
            return self._joint(survey, first, paths[0])
        if self.y is not None and self.y in {*summaries, *(survey.questions if survey else ())}:
            raise InvalidInput(
                f"reports, to count {self.y!r} and its covariate together",
                f"a summary of each alone in {named(paths[0])}",
            )
        name, counts, missing = inputs.summary_of(survey, summaries, self.x, paths[0])
        if counts.response is None:
            raise InvalidInput(
                f"a summary with a response in {named(paths[0])}",
                "one without",
                "Summarize with --response, or give the reports.",
            )
        known = {} if missing is None else {name: missing}
        if not self.two:
            return Pair(name, self.y or "", counts, missing=known)
        counts, labels = _two(counts)
        return Pair(name, self.y or "", counts, False, labels, known)

    def _joint(self, survey: Survey | None, counts: Counts, path: Path) -> Pair:
        """A summary of two questions together, made in Python."""
        assert isinstance(counts.mechanism, Joint)
        parts = counts.mechanism.parts
        if self.y is None or self.y not in parts or len(parts) > 2:
            raise InvalidInput(
                f"--y to name one of two questions in {named(path)}",
                f"{self.y!r} and the questions {', '.join(parts)}",
            )
        x = inputs.only([name for name in parts if name != self.y], self.x, "--x")
        for name, part in parts.items():
            if survey is not None and survey.mechanisms.get(name) != part:
                raise Mismatch(
                    f"a summary of questions of this survey in {named(path)}",
                    f"another question {name!r}",
                )
        asked = survey.questions if survey else {}
        missing = {name: asked[name].missing for name in parts if name in asked}
        known = {name: value for name, value in missing.items() if value is not None}
        labels = _categories(parts[self.y], self.y, self.two)
        return Pair(x, self.y, replace(counts, response=None), True, labels, known)

    def _no_bounds(self) -> None:
        if self.bounds is not None:
            raise InvalidInput(
                "--bounds for a public response", f"the question {self.y!r}", "It has its own."
            )


def _categories(mechanism: Mechanism, name: str, two: bool) -> tuple[str, str] | None:
    """The two categories of a private response; None for a number."""
    axis = mechanism.axes[""]
    if not isinstance(axis, Categories):
        if two:
            raise InvalidInput(f"two categories of {name!r}", "numbers", "Take regress.")
        return None
    if axis.size != 2:
        raise InvalidInput(
            f"a number, or two categories of {name!r}"
            if not two
            else f"two categories of {name!r}",
            f"{axis.size} categories",
        )
    low, high = axis.labels
    return low, high


def _missing(survey: Survey | None, files: Files) -> dict[str, float | str]:
    found = {name: inputs.missing_of(survey, files, name) for name in files.mechanisms}
    return {name: value for name, value in found.items() if value is not None}


def _two(counts: Counts) -> tuple[Counts, tuple[Label, Label]]:
    """Counts with a response of two values as one of 0 and 1, and what these stand for."""
    response = counts.response
    assert response is not None
    low, high, total = response.low, response.high, counts.total
    between = (low + high) * response.sums - response.squares - low * high * total
    if low == high or between.sum() > 1e-9 * (high - low) ** 2 * total.sum():
        raise InvalidInput(
            "a response of two values",
            "one" if low == high else "more",
            "Take regress for numbers.",
        )
    sums = np.clip((response.sums - low * total) / (high - low), 0, total)
    if not 0 < sums.sum() < total.sum():
        raise InvalidInput("a response of two values", "one", "There is nothing to tell apart.")
    labels: list[Any] = [int(end) if end.is_integer() else end for end in (low, high)]
    return replace(counts, response=Response(sums, sums, low=0.0, high=1.0)), (labels[0], labels[1])

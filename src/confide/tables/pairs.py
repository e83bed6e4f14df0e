"""A private question and its response, public or private, from reports or a summary."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from confide import _checks
from confide.errors import ConfideWarning, InvalidInput, Mismatch
from confide.files import arrow, parse
from confide.files.paths import counted, listed, named
from confide.files.source import Source
from confide.lattice import Categories, Lattice
from confide.mechanisms import Joint, Mechanism
from confide.mechanisms.protocol import Reports
from confide.questions import Questionnaire
from confide.reports.files import Files, apart
from confide.reports.rows import CHOICES, Asking
from confide.summaries import Counts, Summaries, read
from confide.summaries.counts import Response
from confide.tables.asked import are_summaries, no_reports, of_survey
from confide.tables.jobs import Job, Paths, Progress, batches, counted_left, sound, tell
from confide.tables.public import Public

if TYPE_CHECKING:
    from confide.curves import Regression

Label = float | int | str | bool


def coded(
    sources: Sequence[Source], column: str, *, gaps: bool = False
) -> tuple[tuple[Source, ...], tuple[Label, Label]]:
    """Files whose column of two labels is read as 0 and 1, and the labels in that order.

    Parameters
    ----------
    sources
        The files.
    column
        The column.
    gaps
        Whether cells may be missing.

    Raises
    ------
    InvalidInput
        If there are more labels than two or fewer, or a cell without any where there may be none.
    """
    found: set[Label] = set()
    expected = f"two values in column {column!r}"
    for source in sources:
        first = 0
        for batch in source.batches((), public=[column]):
            cells = batch.column(0)
            where = parse.rows_of(source.where, first)
            if not _readable(cells.type):
                raise InvalidInput(expected, f"the type {cells.type} in {where(0)}")
            if cells.null_count and not gaps:
                at = int(np.flatnonzero(cells.is_null().to_numpy(zero_copy_only=False))[0])
                raise InvalidInput(
                    f"a value in every row of column {column!r}", f"none in {where(at)}"
                )
            found |= {_label(cell, source.text) for cell in _encoded(cells).dictionary.to_pylist()}
            if any(isinstance(label, float) and not math.isfinite(label) for label in found):
                raise InvalidInput(f"{expected}, both finite", f"another in {source.where}")
            if len(found) > 2:
                raise InvalidInput(expected, "more", "Take regress for numbers.")
            first += batch.num_rows
    if len(found) < 2:
        raise InvalidInput(expected, "one" if found else "none", "There is nothing to tell apart.")
    if len({isinstance(label, str) for label in found}) > 1:
        raise InvalidInput(f"{expected}, both numbers or both words", "one of each")
    low, high = sorted(found, key=lambda label: str(label) if isinstance(label, str) else label)

    def one(source: Source) -> Source:
        return replace(source, recoded={column: lambda cells: _numbers(cells, source.text, high)})

    return tuple(map(one, sources)), (low, high)


def _numbers(cells: Any, text: bool, second: Label) -> Any:
    """1 for one label and 0 for the other; a missing cell stays missing."""
    coded = _encoded(cells)
    # One more, for a batch in which all cells are missing.
    ones = [_label(cell, text) == second for cell in coded.dictionary.to_pylist()] + [False]
    missing = coded.indices.is_null().to_numpy(zero_copy_only=False)
    numbers = np.array(ones, dtype=np.int8)[
        coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    ]
    return arrow.arrow().array(numbers, mask=missing)


def _readable(kind: Any) -> bool:
    types = arrow.arrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (
        types.is_string,
        types.is_large_string,
        types.is_boolean,
        types.is_integer,
        types.is_floating,
    )
    return any(test(kind) for test in tests)


def _encoded(cells: Any) -> Any:
    types = arrow.arrow().types
    return cells if types.is_dictionary(cells.type) else cells.dictionary_encode()


def _label(cell: Any, text: bool) -> Label:
    """A cell as a number where it is one: whole if it can be."""
    if text and re.match(parse.NUMBER, cell):
        cell = float(cell)
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    result: Label = cell
    return result


class Together(ConfideWarning):
    """Two questions are related by the people who were asked both, who may be few.

    Parameters
    ----------
    x, y
        The questions.
    n
        How many people were asked both.
    asking
        How many of the questions each person was asked.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", Together)  # few people are known to be asked both
    """

    def __init__(self, x: str, y: str, n: int, asking: Asking) -> None:
        self.n = n
        d, k = len(asking.questions), asking.ask
        share = k * (k - 1) / (d * (d - 1))
        super().__init__(
            f"Only the {n:,} people who were asked both tell how {x!r} and {y!r} go together: "
            f"about {share:.0%} of all, since each person was asked {k} of {d} questions."
        )


NARROW = 0.03
"""Variance below which values that cannot be told apart are as good as one, as a share of that of
even spread: a standard deviation of 5 % of the range.
"""


@dataclass(frozen=True)
class Pair:
    """A covariate and its response.

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

    Examples
    --------
    >>> from confide import Laplace
    >>> reports = Laplace(Lattice(low=0, high=9), epsilon=1.0).simulate([1.0, 5.0, 7.0], seed=1)
    >>> found = Pair("pay", "rating", Counts.of(reports, response=[1, 2, 3], bounds=(1, 5)))
    >>> found.bounds, found.many
    ((1.0, 5.0), '3 reports')
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
        """Number of reports in words; numbers noised elsewhere are called values."""
        noun = "report" if isinstance(self.counts.mechanism, Mechanism) else "value"
        return counted(self.counts.n, noun)

    @property
    def epsilons(self) -> dict[str, float | None]:
        """The epsilon of each private answer."""
        mechanism = self.counts.mechanism
        parts = mechanism.mechanisms if isinstance(mechanism, Joint) else {self.x: mechanism}
        costs = {
            name: part.spend.epsilon for name, part in parts.items() if isinstance(part, Mechanism)
        }
        return {name: None if math.isinf(cost) else cost for name, cost in costs.items()}

    def fit(self, estimator: Any) -> Regression:
        """The regression of the response on the answers.

        Parameters
        ----------
        estimator
            One of the regressions of `confide.estimators`, such as ``AdaptiveRegression()``;
            whether the response is private is filled in.
        """
        # Imported here: to count reports needs neither.
        from confide.curves.regression import CellRegression
        from confide.estimators import LogisticRegression

        self.check_spread()
        curve: Regression = replace(estimator, response=self.response).fit(self.counts)
        if isinstance(curve, CellRegression) and self.private and self.labels is not None:
            # Scores of a private response are not 0 and 1, though it is.
            line = LogisticRegression(response=self.y).fit(self.counts)
            curve = replace(curve, baseline=line)
        return curve

    def check_spread(self) -> None:
        """Refuse reports that are all the same, or that show that all values are.

        Private reports cannot prove that values vary: this refuses only where they cannot be told
        from a single one although a standard deviation of 5 % of the range would show.
        """
        name = f"answers to {self.x!r}" if self.x else "answers"
        counts = self.counts.marginal(self.x) if self.private else self.counts
        if np.count_nonzero(counts.counts) < 2:
            raise InvalidInput(
                f"{name} that vary", "the same report from all", "There is nothing to regress on."
            )
        if not isinstance(self.axis, Lattice) or counts.mechanism.prefer_not_to_say:
            return
        first, second = (counts.mechanism.unbiased(power) for power in (1, 2))
        shares = counts.total / counts.total.sum()
        mean = float(shares @ first)
        scores = second - 2 * mean * first
        error = math.sqrt(float(shares @ (scores - shares @ scores) ** 2) / counts.effective_n)
        variance = float(shares @ second) - mean**2
        least = NARROW * (self.axis.high - self.axis.low) ** 2 / 12
        if variance < 4 * error and variance + 2 * error < least:
            raise InvalidInput(
                f"{name} that vary",
                "reports that vary no more than their noise",
                "There is nothing to regress on.",
            )


def pair(
    paths: Paths,
    *,
    survey: Questionnaire | None = None,
    x: str | None = None,
    y: str | None = None,
    weights: str | None = None,
    bounds: tuple[float, float] | None = None,
    classes: bool = False,
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> Pair:
    """A private question and its response in files of reports or of summaries.

    Parameters
    ----------
    paths
        A file, a glob or a folder of reports, or several of them; or files of summaries that were
        made with a response, or of two questions together.
    survey
        As for `summarize`.
    x
        The private question to regress on, by default the only one besides ``y``.
    y
        The response: a public column, or another question. Reports need it.
    weights
        A public column of survey weights.
    bounds
        Public bounds of a public response; by default those observed.
    classes
        Whether the response must be one of two classes, which are then counted as 0 and 1.
    invalid, progress
        As for `summarize`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> from confide import Survey
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> table = {"pay": [1.0, 5.0, 7.0], "rating": [1.0, 2.0, 3.0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.parquet"
    ...     pq.write_table(survey.privatize(table, keep=["rating"]), path)
    ...     found = pair(path, x="pay", y="rating", bounds=(1, 5))
    >>> found.counts.n, found.private
    (3, False)
    """
    wanted = _Wanted(survey, x, y, weights, bounds, classes, invalid, progress)
    given = listed(paths)
    return wanted.summary(given) if are_summaries(given) else wanted.reports(given)


@dataclass(frozen=True)
class _Wanted:
    """The arguments of `pair`."""

    survey: Questionnaire | None
    x: str | None
    y: str | None
    weights: str | None
    bounds: tuple[float, float] | None
    classes: bool
    invalid: str
    progress: Progress | None

    def __post_init__(self) -> None:
        _checks.one_of(CHOICES, invalid=self.invalid)
        if self.x is not None and self.x == self.y:
            raise InvalidInput("x and y that differ", f"{self.x!r} for both")

    def reports(self, paths: list[str | Path]) -> Pair:
        """The pair in files of reports."""
        survey, y = self.survey, self.y
        if y is None:
            raise InvalidInput("y, the response: a public column or another question", "none")
        mechanisms = survey.mechanisms if survey else Files.open(paths).mechanisms
        x = _checks.only([name for name in mechanisms if name != y], x=self.x)
        if y in mechanisms:
            self._no_bounds()
            categories = _categories(mechanisms[y], y, self.classes)
            job = self._job(paths, [x, y], Public(self.weights))
            counts, left = self._together(job, x, y)
            return Pair(x, y, counts, True, categories, _missing(job), self._left(left))
        job = self._job(paths, [x], Public(self.weights, y, self.bounds))
        labels: tuple[Label, Label] | None = None
        if self.classes:
            sources, labels = coded(job.files.sources, y, gaps=self.invalid == "drop")
            job = replace(job, files=replace(job.files, sources=sources))
        found, out = job.run(self.progress)
        tell(out, job.files.doubt)
        missing = _missing(job)
        return Pair(x, y, found[x], False, labels, missing, self._left(out.get(x, {})))

    def _job(self, paths: list[str | Path], questions: list[str], public: Public) -> Job:
        return Job.open(
            paths, survey=self.survey, question=questions, public=public, invalid=self.invalid
        )

    def _left(self, left: Mapping[str, int]) -> Mapping[str, int] | None:
        return left if self.invalid == "drop" else None

    def _together(self, job: Job, x: str, y: str) -> tuple[Counts, dict[str, int]]:
        """Counts of two questions together, in bounded memory, and the rows that were left out."""
        files, asking = job.files, job.files.asking
        if asking is not None and asking.ask < 2:
            raise apart([x, y], asking)
        both = Joint({x: files.mechanisms[x], y: files.mechanisms[y]})
        out: Counter[int] = Counter()
        if self.invalid == "drop" or asking is not None:
            rows = sound(job, [x, y], out)
        else:
            rows = batches(files)
        total: Counts | None = None
        advance = job.advance(self.progress)
        for batch, numbers in rows:
            if not len(batch[x]):
                continue
            indices = np.stack([batch[x].indices, batch[y].indices], axis=1)
            reports = Reports(indices, both, simulated=files.simulated)
            own = job.public.count(reports, numbers)
            total = own if total is None else total + own
            advance(2 * len(reports))
        if total is None and asking is not None:
            raise apart([x, y], asking)
        if total is None:
            raise InvalidInput(f"at least one row with reports of {x!r} and {y!r}", "none")
        if asking is not None:
            warnings.warn(Together(x, y, total.n, asking), stacklevel=4)
        left = counted_left(out)
        tell({f"{x} and {y}": left} if left else {}, files.doubt)
        return total, left

    def summary(self, paths: list[str | Path]) -> Pair:
        """The pair in files of summaries."""
        survey = self.survey
        if self.invalid == "drop":
            raise no_reports("a summary")
        for option, value in {"weights": self.weights, "bounds": self.bounds}.items():
            if value is not None:
                raise InvalidInput(
                    f"reports to go with {option}", "a summary", f"Summarize with --{option}."
                )
        found = read(paths)
        if len(found) == 1 and isinstance(found.only().mechanism, Joint):
            return self._joint(found, paths[0])
        if self.y is not None and self.y in {*found, *(survey.questions if survey else ())}:
            raise InvalidInput(
                f"reports, to count {self.y!r} and its covariate together",
                f"a summary of each alone in {named(paths[0])}",
            )
        chosen = of_survey(found, survey, self.x, paths[0])
        counts, known = chosen.counts, {}
        if counts.response is None:
            raise InvalidInput(
                f"a summary with a response in {named(paths[0])}",
                "one without",
                "Summarize with --response, or give the reports.",
            )
        if chosen.missing is not None:
            known = {chosen.question: chosen.missing}
        if not self.classes:
            return Pair(chosen.question, self.y or "", counts, missing=known)
        counts, labels = _two(counts)
        return Pair(chosen.question, self.y or "", counts, False, labels, known)

    def _joint(self, found: Summaries, path: str | Path) -> Pair:
        """A summary of two questions together, made in Python."""
        survey, counts = self.survey, found.only()
        assert isinstance(counts.mechanism, Joint)
        parts = counts.mechanism.mechanisms
        if self.y is None or self.y not in parts or len(parts) > 2:
            raise InvalidInput(
                f"y to name one of two questions in {named(path)}",
                f"{self.y!r} and the questions {', '.join(parts)}",
            )
        x = _checks.only([name for name in parts if name != self.y], x=self.x)
        for name, part in parts.items():
            if survey is not None and survey.mechanisms.get(name) != part:
                raise Mismatch(
                    f"a summary of questions of this survey in {named(path)}",
                    f"another question {name!r}",
                )
        asked = survey.questions if survey else {}
        missing = {name: asked[name].missing for name in parts if name in asked}
        known = {name: value for name, value in missing.items() if value is not None}
        labels = _categories(parts[self.y], self.y, self.classes)
        return Pair(x, self.y, replace(counts, response=None), True, labels, known)

    def _no_bounds(self) -> None:
        if self.bounds is not None:
            raise InvalidInput(
                "bounds for a public response", f"the question {self.y!r}", "It has its own."
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


def _missing(job: Job) -> dict[str, float | str]:
    found = {name: job.missing(name) for name in job.files.mechanisms}
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

"""`confide regress` and `confide classify`: a response against a private answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from confide import _checks
from confide.cli import inputs, noised_regression, output, partitions
from confide.cli import noised as noised_options
from confide.cli.options import (
    InvalidOption,
    JsonOption,
    LevelOption,
    PlotOption,
    ReportsArgument,
    plottable,
    word_or_number,
)
from confide.curves.regression import Classification, Logistic, Regression, Straight
from confide.errors import InvalidInput
from confide.estimators import (
    AdaptiveRegression,
    KernelRegression,
    LinearRegression,
    LogisticRegression,
    RatioRegression,
)
from confide.files.paths import writable
from confide.lattice import Categories, Lattice
from confide.mechanisms import Joint, Mechanism
from confide.tables import Pair, pair

POINTS = 41
ROWS = 9
FINE = 4001
"""Points between which the more likely class is looked for."""
GUESS = (
    "The reports hardly vary more than their noise, or more than the bounds allow, so the line is "
    "a guess without a standard error: there are too few reports for this much noise."
)


@dataclass(frozen=True)
class Fitted:
    """A response given a private answer.

    Parameters
    ----------
    pair
        What was regressed on what.
    curve
        The mean response, or the probability of the second class.
    method
        The option that chose the estimator.
    level
        Confidence level of the intervals.
    classes
        Whether it is about two classes.
    """

    pair: Pair
    curve: Regression
    method: str
    level: float
    classes: bool

    @property
    def line(self) -> Straight | None:
        """The corrected line or logistic curve beside the curve, or None."""
        line = self.curve if isinstance(self.curve, Straight) else self.curve.baseline
        assert line is None or isinstance(line, Straight)
        return line

    def grid(self, points: int) -> Any:
        """Values of x, even on the lattice's scale; categories as they are."""
        axis = self.pair.axis
        if not isinstance(axis, Lattice):
            return list(axis.labels)
        space = np.geomspace if axis.scale == "log" else np.linspace
        return space(axis.low, axis.high, points)

    @property
    def regions(self) -> list[tuple[Any, Any, Any]]:
        """Stretches of x and the class that is the more likely one there."""
        labels = self.pair.labels
        assert labels is not None
        x = self.grid(FINE)
        if isinstance(x, list):
            named = Classification(self.curve, labels=(0, 1)).predict(x)
            return [(one, one, labels[at]) for one, at in zip(x, named.tolist(), strict=True)]
        height = self.curve.predict(x) - 0.5
        turns = np.flatnonzero(np.diff(height > 0))
        part = height[turns] / (height[turns] - height[turns + 1])
        ends = [x[0], *(x[turns] + part * (x[turns + 1] - x[turns])), x[-1]]
        second = [bool(height[0] > 0), *(height[turns + 1] > 0).tolist()]
        return [
            (float(low), float(high), labels[at])
            for low, high, at in zip(ends[:-1], ends[1:], second, strict=True)
        ]

    def as_dict(self, points: int) -> dict[str, Any]:
        """Plain values."""
        pair = self.pair
        x = self.grid(points)
        values = np.asarray(self.curve.predict(x))
        lower, upper = self.curve.interval(x, level=self.level)
        start = dict.fromkeys(("method", "n", "epsilon"))
        facts = {**start, **self.curve.facts, **pair.counts.facts, "method": self.method}
        if self.curve is self.line:
            facts.pop("floored_variance", None)
        return {
            **facts,
            "epsilons": pair.epsilons,
            "response": "private" if pair.private else "public",
            "names": {"x": pair.x or None, "y": pair.y or None},
            "labels": None if pair.labels is None else list(pair.labels),
            "bounds": list(pair.bounds),
            "missing": dict(pair.missing),
            **({} if pair.left_out is None else {"left_out": dict(pair.left_out)}),
            "x": x if isinstance(x, list) else x.tolist(),
            "probability" if self.classes else "y": values.tolist(),
            "lower": _finite(lower),
            "upper": _finite(upper),
            "level": self.level,
            **({"regions": [list(one) for one in self.regions]} if self.classes else {}),
            "linear": None if self.line is None else _coefficients(self.line),
        }

    def table(self, points: int) -> None:
        """Print a table, and below it what else must be known."""
        pair, x = self.pair, self.grid(points)
        values = np.asarray(self.curve.predict(x))
        ends = self.curve.interval(x, level=self.level)
        number = output.format_of(np.concatenate([values, *ends]).tolist())
        if self.classes:
            number = "{:.3f}".format
        words: list[str] = x if isinstance(x, list) else list(map(output.format_of(x.tolist()), x))
        rows = [(word, *map(number, row)) for word, *row in zip(words, values, *ends, strict=True)]
        head = [pair.x or "x", self.height, f"{output.percent(self.level)} from", "to"]
        if self.classes:
            assert pair.labels is not None
            head[1] = f"probability of {pair.labels[1]}"
            head.append("more likely")
            rows = [
                (*row, f"{pair.labels[int(value > 0.5)]}")
                for row, value in zip(rows, values, strict=True)
            ]
        output.table(self._title(), head, rows, words=int(isinstance(x, list)))
        if self.classes and not isinstance(x, list):
            output.say(self._stretches())
        elif pair.labels is not None and not self.classes:
            output.say(f"{pair.labels[0]} counts as 0 and {pair.labels[1]} as 1.")
        if self.line is not None:
            output.say(*self._line_words(self.line))
        _say(pair)

    def draw(self, path: Path) -> None:
        """Write a picture of the curve, its band and the corrected line."""
        display = self.curve.plot(level=self.level)
        if self.classes:
            display.ax_.axhline(0.5, color="0.6", lw=0.8, ls=":")
        parts = [f"{self.pair.y or 'response'} by {self.pair.x or 'x'}", self.pair.many]
        epsilon = self.pair.counts.facts.get("epsilon")
        if epsilon is not None:
            parts.append(f"epsilon = {output.costs([epsilon])[0]}")
        title = ", ".join([*parts, self.method])
        output.save_plot(display, path, title, name=self.pair.x, height=self.height)

    @property
    def height(self) -> str:
        """The height of the curve at x."""
        if self.classes:
            assert self.pair.labels is not None
            return f"probability that {self.pair.y or 'response'} is {self.pair.labels[1]}"
        return f"mean {self.pair.y or 'response'}"

    def _title(self) -> str:
        facts = {**self.curve.facts, "method": self.method}
        how = [self.method]
        for key in ("smoothing", "size", "kernel", "bandwidth"):
            if key in facts and isinstance(self.pair.axis, Lattice):
                value = facts[key]
                how.append(value if isinstance(value, str) else f"{key} {output.number(value)}")
        what = self.height[0].upper() + self.height[1:]
        return f"{what} by {self.pair.x or 'x'}, {self.pair.many}, {', '.join(how)}"

    def _stretches(self) -> str:
        regions = self.regions
        number = output.format_of([end for low, high, _ in regions for end in (low, high)])
        parts = [f"{label} from {number(low)} to {number(high)}" for low, high, label in regions]
        return f"The more likely one: {', '.join(parts)}."

    def _line_words(self, line: Straight) -> list[str]:
        slope, (error,) = line.slope[0], line.slope_error
        sign = "-" if slope < 0 else "+"
        right = f"{output.number(line.intercept)} {sign} {output.number(abs(slope))}"
        right = f"{right} {self.pair.x or 'x'}"
        if isinstance(line, Logistic):
            what = self.pair.labels[1] if self.pair.labels else 1
            start = f"Corrected logistic curve: log odds of {what} = {right}"
        else:
            start = f"Corrected line: {self.pair.y or 'y'} = {right}"
        if line.facts.get("floored_variance"):
            return [f"{start}.", GUESS]
        return [f"{start}, slope {output.number(slope)} +- {error:.2g} (standard error)."]


def _finite(numbers: Any) -> list[float | None]:
    """Plain numbers, None for those that nobody knows."""
    return [each if math.isfinite(each) else None for each in numbers.tolist()]


def _coefficients(line: Straight) -> dict[str, Any]:
    fields = line.to_dict()
    known = ("curve", "intercept", "slope", "intercept_error", "slope_error")
    result = {key: fields[key] for key in known}
    for key, value in result.items():
        if isinstance(value, float) and not math.isfinite(value):
            result[key] = None
    floored = line.facts.get("floored_variance")
    return result if floored is None else {**result, "floored_variance": floored}


def _say(pair: Pair) -> None:
    """Print what must be known beside the estimate."""
    for name, value in pair.missing.items():
        text = value if isinstance(value, str) else output.number(value)
        output.say(f"Missing answers to {name!r} count as {text}.")
    mechanism = pair.counts.mechanism
    if not isinstance(mechanism, Mechanism):
        return
    if isinstance(mechanism, Joint):
        costs = output.costs([part.spend.epsilon for part in mechanism.mechanisms.values()])
        each = " and ".join(
            f"{cost} for {name!r}" for name, cost in zip(pair.epsilons, costs, strict=True)
        )
        output.say(f"Both are private, and what they cost adds up: epsilon = {each}.")
        output.say(mechanism.spend.words(answers=2))
        return
    output.say(
        f"{pair.y or 'The response'} is public, {pair.x or 'the question'} is private.",
        mechanism.spend.words(),
    )


# What each method takes.
METHODS: dict[str, tuple[str, ...]] = {
    "adaptive": (),
    "ratio": ("smoothing", "size"),
    "kernel": ("kernel", "bandwidth", "loss"),
    "linear": (),
    "logistic": (),
}
CLASSIFIERS = ("adaptive", "ratio", "kernel", "logistic")
MAX_POINTS = 100_000

XOption = Annotated[
    str | None, typer.Option("--x", metavar="NAME", help="The private question to regress on.")
]
YOption = Annotated[
    str | None,
    typer.Option("--y", metavar="NAME", help="The response: a public column, or a question."),
]
SmoothingOption = Annotated[
    str | None, typer.Option(help="For ratio: auto, or a number from 0 to 1.")
]
SizeOption = Annotated[int | None, typer.Option(help="For ratio: number of cells.")]
KernelOption = Annotated[str | None, typer.Option(help="For kernel: gaussian, fan or cauchy.")]
BandwidthOption = Annotated[
    str | None,
    typer.Option(
        help="For kernel: auto, plug-in, corrected-cv, a number or, with --noised, cv-at-z or "
        "numbers with commas."
    ),
]
PointsOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Values of x: by default 9 in the table, 41 in JSON."),
]
PartitionOption = Annotated[
    bool,
    typer.Option(
        "--partition",
        help="Features and response are both private, in vector reports: give the survey with its "
        "table of the partition, and reports or sums.",
    ),
]
WeightsOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="A public column of survey weights.")
]


def regress(
    files: ReportsArgument = None,
    *,
    x: XOption = None,
    y: YOption = None,
    noised: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LAW:SCALE", help=f"{noised_options.HELP}; repeat it."),
    ] = None,
    public: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="With --noised: a covariate without noise; repeat it."),
    ] = None,
    ranges: noised_options.RangeOption = None,
    method: Annotated[
        str | None,
        typer.Option(help=f"{' | '.join(METHODS)}; by default adaptive, and kernel with --noised."),
    ] = None,
    bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Public bounds of a public response."),
    ] = None,
    smoothing: SmoothingOption = None,
    size: SizeOption = None,
    kernel: KernelOption = None,
    bandwidth: BandwidthOption = None,
    loss: Annotated[
        str | None,
        typer.Option(help="For a bandwidth by cross-validation: squared, absolute or log."),
    ] = None,
    weights: WeightsOption = None,
    invalid: InvalidOption = "refuse",
    level: LevelOption = 0.95,
    points: PointsOption = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="With --noised: the places with estimates and intervals, .csv or .parquet.",
        ),
    ] = None,
    plot: PlotOption = None,
    partition: PartitionOption = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate the mean of a response given a private answer, with its uncertainty."""
    options = {"smoothing": smoothing, "size": size, "kernel": kernel, "bandwidth": bandwidth}
    if partition:
        given = {"x": x, "y": y, **options, "weights": weights, "points": points, "bounds": bounds}
        _alone(**given, noised=noised, public=public, range=ranges, loss=loss, output=to)
        partitions.estimate(files or [], classes=False, level=level, plot=plot, as_json=as_json)
        return
    options["loss"] = loss
    if noised:
        for option, value in {"x": x, "bounds": bounds, "weights": weights}.items():
            if value is not None:
                raise InvalidInput(f"no --{option} with --noised", "one")
        method = _checks.one_of(tuple(METHODS), method=method or "kernel")
        request = _Request(method, options, level, points, plot, as_json)
        response = noised_regression.needs_response(y)
        asked = noised_regression.Asked(noised, public or [], response, ranges, invalid)
        request.noised(files, asked, to)
        return
    alone = {"public": public, "range": ranges, "output": to}
    for option in (name for name, value in alone.items() if value):
        raise InvalidInput(f"--noised to go with --{option}", "none")
    method = _checks.one_of(tuple(METHODS), method=method or "adaptive")
    request = _Request(method, options, level, points, plot, as_json)
    wanted = {"x": x, "y": y, "weights": weights, "bounds": bounds, "invalid": invalid}
    fitted = request.fit(files or [], wanted, classes=False)
    request.tell(fitted)


def classify(
    files: ReportsArgument = None,
    *,
    x: XOption = None,
    y: YOption = None,
    method: Annotated[str, typer.Option(help=" | ".join(CLASSIFIERS))] = "adaptive",
    smoothing: SmoothingOption = None,
    size: SizeOption = None,
    kernel: KernelOption = None,
    bandwidth: BandwidthOption = None,
    weights: WeightsOption = None,
    invalid: InvalidOption = "refuse",
    level: LevelOption = 0.95,
    points: PointsOption = None,
    plot: PlotOption = None,
    partition: PartitionOption = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate which of two classes is more likely given a private answer."""
    if partition:
        _alone(
            x=x,
            y=y,
            smoothing=smoothing,
            size=size,
            kernel=kernel,
            bandwidth=bandwidth,
            weights=weights,
            points=points,
        )
        partitions.estimate(files or [], classes=True, level=level, plot=plot, as_json=as_json)
        return
    _checks.one_of(CLASSIFIERS, method=method)
    options = {"smoothing": smoothing, "size": size, "kernel": kernel, "bandwidth": bandwidth}
    request = _Request(method, options, level, points, plot, as_json)
    wanted = {"x": x, "y": y, "weights": weights, "invalid": invalid}
    fitted = request.fit(files or [], wanted, classes=True)
    request.tell(fitted)


def _alone(**given: Any) -> None:
    """Refuse options that a partition does not take: its survey says all of it."""
    for name in (name for name, value in given.items() if value is not None):
        raise InvalidInput(f"no --{name} with --partition", "one", "The survey says what is asked.")


@dataclass(frozen=True)
class _Request:
    """How to estimate and what to show."""

    method: str
    options: Mapping[str, Any]
    level: float
    points: int | None
    plot: Path | None
    as_json: bool

    def fit(self, files: list[Path], wanted: dict[str, Any], *, classes: bool) -> Fitted:
        level = _checks.level(self.level)
        if self.points is not None:
            _checks.integer(2, MAX_POINTS, points=self.points)
        estimator = _estimator(self.method, self.options)
        plottable(self.plot, files)
        survey, _, rest = inputs.split(files)
        with output.counter("Counting reports") as tell:
            found = pair(rest, survey=survey, classes=classes, progress=tell, **wanted)
        if isinstance(found.axis, Categories):
            self._fits_categories()
        return Fitted(found, found.fit(estimator), self.method, level, classes)

    def noised(
        self, files: list[Path] | None, asked: noised_regression.Asked, to: Path | None
    ) -> None:
        """Fit and tell a regression on numbers that somebody else noised."""
        if self.points is not None:
            _checks.integer(2, MAX_POINTS, points=self.points)
        estimator = _estimator(self.method, self.options)
        plottable(self.plot, files or [])
        if to is not None:
            writable(to, (".csv", ".parquet"), [path for path in files or [] if path.exists()])
        surface = noised_regression.fit(
            asked, files, estimator, method=self.method, level=self.level, points=self.points
        )
        default = POINTS if self.as_json else ROWS
        if self.plot is not None:
            surface.draw(self.plot)
        if to is not None:
            surface.write(to, POINTS)
        if self.as_json:
            written = {} if to is None else {"output": str(to)}
            output.machine({**surface.as_dict(default), **written})
            return
        surface.table(default)
        for words, path in (("Places", to), ("Picture", self.plot)):
            if path is not None:
                output.say(f"{words}: {path}")

    def tell(self, fitted: Fitted) -> None:
        if self.plot is not None:
            fitted.draw(self.plot)
        if self.as_json:
            output.machine(fitted.as_dict(self.points or POINTS))
            return
        fitted.table(self.points or ROWS)
        if self.method == "kernel":
            output.say(noised_regression.POINTWISE)
        if self.plot is not None:
            output.say(f"Picture: {self.plot}")

    def _fits_categories(self) -> None:
        if self.method not in ("adaptive", "ratio"):
            raise InvalidInput(
                "--method adaptive for an --x of categories", f"--method {self.method}"
            )
        given = {**self.options, "points": self.points}
        for option in ("smoothing", "size", "points"):
            if given[option] is not None:
                raise InvalidInput(f"no --{option} for an --x of categories", f"--{option}")


def _estimator(method: str, options: Mapping[str, Any]) -> Any:
    """The estimator that some options ask for, which are checked before anything is read."""
    given = {name: value for name, value in options.items() if value is not None}
    for option in given:
        right = next(name for name, takes in METHODS.items() if option in takes)
        if option not in METHODS[method]:
            raise InvalidInput(f"--method {right} to go with --{option}", f"--method {method}")
    for option in {"smoothing", "bandwidth"} & set(given):
        parts = [word_or_number(option, part) for part in given[option].split(",")]
        given[option] = parts[0] if len(parts) == 1 else parts
    make: Any = {
        "adaptive": AdaptiveRegression,
        "ratio": RatioRegression,
        "kernel": KernelRegression,
        "linear": LinearRegression,
        "logistic": LogisticRegression,
    }[method]
    return make(**given)

"""Verbs of those who relate one answer to another: regress, classify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import inputs, output, relations
from confide.cli.collect import InvalidOption, JsonOption
from confide.cli.estimate import LevelOption, PlotOption, ReportsArgument, plottable, word_or_number
from confide.errors import InvalidInput
from confide.estimators import (
    KernelRegression,
    LinearRegression,
    LogisticRegression,
    RatioRegression,
)
from confide.lattice import Categories
from confide.tables import pair

# What each method takes.
METHODS: dict[str, tuple[str, ...]] = {
    "ratio": ("smoothing", "size"),
    "kernel": ("kernel", "bandwidth"),
    "linear": (),
    "logistic": (),
}
CLASSIFIERS = ("ratio", "kernel", "logistic")
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
    str | None, typer.Option(help="For kernel: plug-in, corrected-cv, or a number.")
]
PointsOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Values of x: by default 9 in the table, 41 in JSON."),
]
WeightsOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="A public column of survey weights.")
]


def regress(
    files: ReportsArgument = None,
    *,
    x: XOption = None,
    y: YOption = None,
    method: Annotated[str, typer.Option(help=" | ".join(METHODS))] = "ratio",
    bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Public bounds of a public response."),
    ] = None,
    smoothing: SmoothingOption = None,
    size: SizeOption = None,
    kernel: KernelOption = None,
    bandwidth: BandwidthOption = None,
    weights: WeightsOption = None,
    invalid: InvalidOption = "refuse",
    level: LevelOption = 0.95,
    points: PointsOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recover the mean of a response given a private answer, and how sure it is."""
    _checks.one_of(tuple(METHODS), method=method)
    options = {"smoothing": smoothing, "size": size, "kernel": kernel, "bandwidth": bandwidth}
    request = _Request(method, options, level, points, plot, as_json)
    wanted = {"x": x, "y": y, "weights": weights, "bounds": bounds, "invalid": invalid}
    fitted = request.fit(files or [], wanted, classes=False)
    request.tell(fitted)


def classify(
    files: ReportsArgument = None,
    *,
    x: XOption = None,
    y: YOption = None,
    method: Annotated[str, typer.Option(help=" | ".join(CLASSIFIERS))] = "ratio",
    smoothing: SmoothingOption = None,
    size: SizeOption = None,
    kernel: KernelOption = None,
    bandwidth: BandwidthOption = None,
    weights: WeightsOption = None,
    invalid: InvalidOption = "refuse",
    level: LevelOption = 0.95,
    points: PointsOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell which of two classes is the more likely one given a private answer."""
    _checks.one_of(CLASSIFIERS, method=method)
    options = {"smoothing": smoothing, "size": size, "kernel": kernel, "bandwidth": bandwidth}
    request = _Request(method, options, level, points, plot, as_json)
    wanted = {"x": x, "y": y, "weights": weights, "invalid": invalid}
    fitted = request.fit(files or [], wanted, classes=True)
    request.tell(fitted)


@dataclass(frozen=True)
class _Request:
    """How to estimate and what to show."""

    method: str
    options: Mapping[str, Any]
    level: float
    points: int | None
    plot: Path | None
    as_json: bool

    def fit(
        self, files: list[Path], wanted: dict[str, Any], *, classes: bool
    ) -> relations.Relation:
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
        return relations.Relation(found, found.fit(estimator), self.method, level, classes)

    def tell(self, fitted: relations.Relation) -> None:
        if self.plot is not None:
            fitted.draw(self.plot)
        if self.as_json:
            output.machine(fitted.as_dict(self.points or relations.POINTS))
            return
        fitted.table(self.points or relations.ROWS)
        if self.plot is not None:
            output.say(f"Picture: {self.plot}")

    def _fits_categories(self) -> None:
        if self.method != "ratio":
            raise InvalidInput("--method ratio for an --x of categories", f"--method {self.method}")
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
        given[option] = word_or_number(option, given[option])
    make: Any = {
        "ratio": RatioRegression,
        "kernel": KernelRegression,
        "linear": LinearRegression,
        "logistic": LogisticRegression,
    }[method]
    return make(**given)

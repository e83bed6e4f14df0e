"""Verbs of those who estimate: density, shares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from confide import _arrow, _cells, _validate, noise
from confide._files import expand, writable
from confide.cli import inputs, output
from confide.cli.collect import JsonOption, QuestionOption
from confide.curves import Density
from confide.displays import FORMATS
from confide.errors import InvalidInput, Unsupported, extra
from confide.estimators import CategoryShares, Deconvolution, Likelihood
from confide.lattice import Categories
from confide.mechanisms import Mechanism
from confide.summaries import Counts, Spectrum

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
METHODS = ("likelihood", "deconvolution")
NOISES = ("laplace", "gaussian", "two-sided-gamma")

ReportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        help="Reports (.parquet, .csv) or summaries (.json, .npz); a .toml is the survey.",
        show_default=False,
    ),
]
LevelOption = Annotated[float, typer.Option("--level", help="Confidence level of intervals.")]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Picture: .png, .svg or .pdf.")
]


def density(
    files: ReportsArgument = None,
    *,
    question: QuestionOption = None,
    method: Annotated[str, typer.Option(help=" or ".join(METHODS))] = "likelihood",
    smoothing: Annotated[
        str | None, typer.Option(help="For likelihood: auto, or a number from 0 to 1.")
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="For deconvolution: fan, gaussian or cauchy.")
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(help="For deconvolution: plug-in, normal-reference, cv, or a number."),
    ] = None,
    level: LevelOption = 0.95,
    noised: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of reports: numbers somebody else noised."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Their column.")] = None,
    law: Annotated[str | None, typer.Option("--noise", help=" | ".join(NOISES))] = None,
    scale: Annotated[
        float | None, typer.Option(help="Scale of the noise (for gaussian: its sd).")
    ] = None,
    shape: Annotated[float | None, typer.Option(help="Shape of two-sided gamma noise.")] = None,
    low: Annotated[float | None, typer.Option(help="Lower bound of the true values.")] = None,
    high: Annotated[float | None, typer.Option(help="Upper bound of the true values.")] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recover the density of a number, with its mean and quantiles and how sure they are."""
    level = _validate.level(level)
    estimator = _estimator(method, smoothing, kernel, bandwidth)
    given = [*(files or []), *([noised] if noised else [])]
    _plottable(plot, given)
    foreign = {"column": column, "noise": law, "scale": scale, "shape": shape}
    bounds = {"low": low, "high": high}
    summary: Counts | Spectrum
    if noised is not None:
        if files:
            raise InvalidInput("either reports or --noised", "both")
        name, summary = _foreign(noised, method, foreign, bounds)
    else:
        for option, value in (foreign | bounds).items():
            if value is not None:
                raise InvalidInput(f"--noised to go with --{option}", "none")
        survey, _, rest = inputs.split(files or [])
        name, summary = inputs.counts_of(survey, rest, question)
        if isinstance(summary.mechanism.axes.get(""), Categories):
            raise InvalidInput("a question with numbers", "one with categories", "Take shares.")
    curve = estimator.fit(summary)
    if plot is not None:
        output.save_plot(curve.plot(level=level), plot, name)
    if as_json:
        output.machine(as_dict(curve, summary, level))
        return
    table(curve, f"{summary.n:,} reports{f' of {name!r}' if name else ''}", level)
    mechanism = getattr(summary, "mechanism", None)
    output.say(*([mechanism.spend.words()] if isinstance(mechanism, Mechanism) else []))


def _estimator(
    method: str, smoothing: str | None, kernel: str | None, bandwidth: str | None
) -> Any:
    _validate.one_of(METHODS, method=method)
    others = {"kernel": kernel, "bandwidth": bandwidth}
    if method == "deconvolution":
        others = {"smoothing": smoothing}
    for option, value in others.items():
        if value is not None:
            right = METHODS[method == METHODS[0]]
            raise InvalidInput(f"--method {right} to go with --{option}", f"--method {method}")
    if method == "likelihood":
        return Likelihood(smoothing=_word_or_number("smoothing", smoothing or "auto"))
    return Deconvolution(
        kernel=kernel or "fan", bandwidth=_word_or_number("bandwidth", bandwidth or "plug-in")
    )


def _word_or_number(name: str, text: str) -> str | float:
    if not any(letter.isdigit() for letter in text):
        return text
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"a word or a number for --{name}", repr(text)) from None


def _plottable(plot: Path | None, given: list[Path]) -> None:
    """Refuse what cannot be drawn before anything is computed."""
    if plot is not None:
        writable(plot, FORMATS, [path for path in given if path.exists()])
        extra("matplotlib", "plot")


def _foreign(
    path: Path, method: str, given: dict[str, Any], bounds: dict[str, Any]
) -> tuple[str, Counts | Spectrum]:
    """A summary of numbers that somebody else noised."""
    if given["noise"] is None:
        raise InvalidInput(f"--noise, one of {', '.join(NOISES)}", "none")
    _validate.one_of(NOISES, noise=given["noise"])
    fields = {key: value for key, value in given.items() if key != "column" and value is not None}
    law = noise.from_dict(fields)
    source = _arrow.Source(expand([path], _arrow.SUFFIXES)[0])
    column = given["column"] or inputs.only(source.names, None, "--column")
    make: Callable[..., Counts | Spectrum] = Spectrum.of
    if method == "likelihood":
        make = Counts.of_noised
        for option, value in bounds.items():
            if value is None:
                raise InvalidInput(f"--{option}, a bound of the true values", "none")
    total: Any = None
    for batch in source.batches([column]):
        rows = _cells.rows_of(source.where, total.n if total else 0)
        values = _cells.numbers(batch.column(0), name=column, plain=source.plain, where=rows)
        gaps = np.isnan(values)
        if gaps.any():
            expected = f"a number in every row of column {column!r}"
            raise InvalidInput(expected, f"none in {rows(int(gaps.argmax()))}")
        if values.size:
            own = make(values, noise=law, **bounds)
            total = own if total is None else total + own
    if total is None:
        raise InvalidInput(f"rows in {source.where}", "none")
    return column, total


def _interval(curve: Density, what: str, at: Any, level: float) -> tuple[Any, Any] | None:
    """An interval, or None where the method has none."""
    try:
        return curve.interval(what, at, level=level)
    except Unsupported:
        return None


def as_dict(curve: Density, summary: Counts | Spectrum, level: float) -> dict[str, Any]:
    """The estimate as plain values."""
    cells = curve.cells
    edges = cells.edges[0]
    x = (edges[:-1] + edges[1:]) / 2
    intervals: dict[str, Any] = {"level": level}
    mean = _interval(curve, "mean", None, level)
    if mean is not None:
        intervals["mean"] = [float(end) for end in mean]
    quantiles = _interval(curve, "quantile", QUANTILES, level)
    if quantiles is not None:
        ends = zip(QUANTILES, *(end.tolist() for end in quantiles), strict=True)
        intervals["quantiles"] = {str(q): [below, above] for q, below, above in ends}
    band = _interval(curve, "pdf", x, level)
    if band is not None:
        intervals["pdf"] = {"lower": band[0].tolist(), "upper": band[1].tolist()}
    values = zip(QUANTILES, curve.quantile(QUANTILES).tolist(), strict=True)
    facts = {"n": summary.n, "epsilon": None, "method": None, **curve.facts}
    return {
        **facts,
        "x": x.tolist(),
        "pdf": cells.pdf(x).tolist(),
        "cdf": cells.cdf(x).tolist(),
        "mean": float(curve.mean()),
        "quantiles": {str(q): value for q, value in values},
        "intervals": intervals,
    }


def rows_of(
    curve: Density, quantiles: tuple[float, ...], level: float
) -> list[tuple[str, float, tuple[Any, Any] | None]]:
    """Name, estimate and interval of the mean and some quantiles."""
    rows = [("mean", float(curve.mean()), _interval(curve, "mean", None, level))]
    ends = _interval(curve, "quantile", quantiles, level)
    for at, (q, value) in enumerate(zip(quantiles, curve.quantile(quantiles), strict=True)):
        name = "median" if q == 0.5 else f"{output.percent(q)} quantile"
        rows.append((name, float(value), None if ends is None else (ends[0][at], ends[1][at])))
    return rows


def table(curve: Density, title: str, level: float) -> None:
    """The estimate for people."""
    facts = {key: value for key, value in curve.facts.items() if key not in ("n", "epsilon")}
    how = ", ".join(
        value
        if key == "method"
        else f"{key} {value:.3g}"
        if isinstance(value, float)
        else f"{value}"
        for key, value in facts.items()
    )
    rows = [
        (name, output.number(value), *(map(output.number, ends) if ends else ("-", "-")))
        for name, value, ends in rows_of(curve, QUANTILES, level)
    ]
    head = ("", "estimate", f"{output.percent(level)} from", "to")
    output.table(f"{title}, {how}", head, rows)


def shares(
    files: ReportsArgument = None,
    question: QuestionOption = None,
    level: LevelOption = 0.95,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recover the shares of categories from randomized response."""
    level = _validate.level(level)
    _plottable(plot, files or [])
    survey, _, rest = inputs.split(files or [])
    name, counts = inputs.counts_of(survey, rest, question)
    axis = counts.mechanism.axes.get("")
    if not isinstance(axis, Categories):
        raise InvalidInput("a question with categories", "one with numbers", "Take density.")
    curve = CategoryShares().fit(counts)
    if plot is not None:
        output.save_plot(curve.plot(level=level), plot, "")
    ends = [curve.interval(category, level=level) for category in curve.categories]
    if as_json:
        facts = {"n": counts.n, **curve.facts}
        output.machine(
            {
                **facts,
                "shares": {category: curve.share(category) for category in curve.categories},
                "intervals": {
                    "level": level,
                    "shares": dict(zip(curve.categories, map(list, ends), strict=True)),
                },
            }
        )
        return
    rows = [
        (category, f"{curve.share(category):.3f}", f"{below:.3f}", f"{above:.3f}")
        for category, (below, above) in zip(curve.categories, ends, strict=True)
    ]
    title = f"{counts.n:,} reports{f' of {name!r}' if name else ''}"
    output.table(title, ("category", "share", f"{output.percent(level)} from", "to"), rows)
    if isinstance(counts.mechanism, Mechanism):
        output.say(counts.mechanism.spend.words())

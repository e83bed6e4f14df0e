"""`confide regress --noised`: a response against numbers noised elsewhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.cli import noised, output
from confide.curves.regression import PLOT_POINTS, Logistic, Regression, Straight
from confide.displays import RegressionDisplay
from confide.errors import InvalidInput
from confide.estimators.responses import limits
from confide.files import arrow, formats
from confide.files.columns import Progress
from confide.files.paths import counted
from confide.foreign import NoNoise, Spectrum
from confide.lattice import MAX_AXES
from confide.summaries import Counts
from confide.summaries.plausibility import checked

BINNED = ("adaptive", "ratio")
"""Methods that see numbers in bins: of one noised covariate between bounds."""
POINTWISE = (
    "Intervals are pointwise and leave out what smoothing shifts: they can miss the truth more "
    "often than they say. For slopes: --method linear, which does not smooth."
)
PLACES = 3
"""Values of each of several covariates: the mean, and a standard deviation below and above."""
MAPPED = 2.0
"""Standard deviations to each side of the means that a map without stated bounds shows."""
MOST = 10_000
"""Places at most."""


@dataclass(frozen=True)
class Asked:
    """What to regress on what.

    Parameters
    ----------
    noised
        Words for each noised column, such as score=laplace:10.
    public
        Columns without noise.
    response
        The column whose mean is wanted.
    ranges
        Words for bounds of true values, such as score=300:850.
    invalid
        Whether rows without a number in each column are refused, or dropped.
    """

    noised: Sequence[str]
    public: Sequence[str]
    response: str
    ranges: Sequence[str] | None
    invalid: str = "refuse"

    def read(self, path: Path, most: int) -> tuple[Spectrum, dict[str, int]]:
        """The numbers of a file, with their noise, and how many rows were left out."""
        laws = dict([noised.law(text) for text in self.noised])
        given = [noised.law(text)[0] for text in self.noised] + list(self.public)
        names = list(dict.fromkeys(given))
        if len(names) < len(given) or self.response in names:
            raise InvalidInput(
                "each column once, as --noised, --public or --y",
                f"one of {', '.join([*given, self.response])} twice",
            )
        if len(names) > most:
            raise InvalidInput(
                f"at most {most} covariates",
                f"{len(names)}: {', '.join(names)}",
                "" if most == MAX_AXES else "--method linear takes more.",
            )
        bounds = noised.ranges(self.ranges, names)
        with output.counter("Reading numbers") as tell:
            found, left = self._columns(path, [*names, self.response], tell)
        spectrum = Spectrum.of(
            np.column_stack([found[name] for name in names]),
            noise=[laws.get(name, NoNoise()) for name in names],
            response=found[self.response],
            names=names,
        )
        if not bounds:
            return spectrum, left
        low, high = limits(spectrum)
        for at, name in enumerate(names):
            low[at], high[at] = bounds.get(name, (low[at], high[at]))
            if name in bounds and name in laws:
                noised.reachable(name, spectrum.values[:, at], laws[name], *bounds[name])
                checked(_counts(spectrum, at, bounds[name]))
        spectrum = Spectrum.of(
            spectrum.values,
            noise=spectrum.noise,
            response=spectrum.response,
            low=low.tolist(),
            high=high.tolist(),
            names=names,
        )
        return spectrum, left

    def _columns(
        self, path: Path, names: Sequence[str], tell: Progress
    ) -> tuple[dict[str, Floats], dict[str, int]]:
        parts, left = [], 0
        for batch, out in noised.numbers(path, names, self.invalid, public=self.public):
            parts.append(batch)
            left += out
            tell(len(batch[names[0]]), None)
        found = {name: np.concatenate([part[name] for part in parts]) for name in names}
        return found, noised.tell(left)

    def summary(
        self, path: Path, method: str
    ) -> tuple[Spectrum, Spectrum | Counts, dict[str, int]]:
        """The numbers, what a method sees of them, and how many rows were left out."""
        spectrum, left = self.read(path, MAX_AXES if method == "linear" else 3)
        if method not in BINNED:
            return spectrum, spectrum, left
        if spectrum.axes > 1 or self.public:
            raise InvalidInput(
                f"one covariate, noised, for --method {method}",
                "several, or one without noise",
                "Use --method kernel, or --method linear.",
            )
        if spectrum.low is None or spectrum.high is None:
            (name,) = spectrum.labels
            raise InvalidInput(
                f"--range {name}=LOW:HIGH, bounds of the true values, for --method {method}",
                "none",
                "Bounds that surely hold them all are enough.",
            )
        return spectrum, _counts(spectrum, 0, (spectrum.low[0], spectrum.high[0])), left


def _counts(spectrum: Spectrum, axis: int, bounds: tuple[float, float]) -> Counts:
    """One covariate in bins, with the response."""
    low, high = bounds
    return Counts.of_noised(
        spectrum.values[:, axis],
        noise=spectrum.noise[axis],
        low=low,
        high=high,
        response=spectrum.response,
    )


@dataclass(frozen=True)
class Surface:
    """A fitted regression on noised numbers, and where to tell it.

    Parameters
    ----------
    curve
        The regression.
    spectrum
        The numbers.
    response
        The name of the response.
    method
        The option that chose the estimator.
    level
        Confidence level.
    points
        Values of each covariate, or None.
    left_out
        How many rows were left out, by kind; None where none may be.
    """

    curve: Regression
    spectrum: Spectrum
    response: str
    method: str
    level: float
    points: int | None
    left_out: Mapping[str, int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the covariates."""
        return self.spectrum.labels

    @property
    def middle(self) -> Floats:
        """The mean of each covariate, which noise leaves where it is."""
        mean = self.spectrum.values.mean(axis=0)
        inside: Floats = np.clip(mean, self.curve.low, self.curve.high)
        return inside

    def places(self, default: int) -> Floats:
        """All combinations of some values of the covariates, one row each.

        Of more than three covariates, without a number of values: the means, and each in turn a
        standard deviation below and above its own.
        """
        low, high = np.array(self.curve.low), np.array(self.curve.high)
        count = self.points or (default if len(low) == 1 else PLACES)
        many = self.points is None and len(low) > 3
        if not many and count ** len(low) > MOST:
            raise InvalidInput(
                f"--points with at most {MOST:,} places in all", f"{count ** len(low):,}"
            )
        if self.points is None and len(low) > 1:
            low, high = self.around(1)
        if many:
            found = np.tile(self.middle, (1 + 2 * len(low), 1))
            for at in range(len(low)):
                found[1 + 2 * at, at], found[2 + 2 * at, at] = low[at], high[at]
            return found
        # Where no spread of a covariate is left after its noise, its mean is the only value.
        sides = [np.unique(np.linspace(a, b, count)) for a, b in zip(low, high, strict=True)]
        return np.array(list(itertools.product(*sides)))

    def around(self, deviations: float) -> tuple[Floats, Floats]:
        """So many standard deviations of the true values to each side of their means."""
        noise = [law.variance for law in self.spectrum.noise]
        own = np.sqrt(np.maximum(self.spectrum.values.var(axis=0) - noise, 0))
        low = np.maximum(self.curve.low, self.middle - deviations * own)
        high = np.minimum(self.curve.high, self.middle + deviations * own)
        return low, high

    def rows(self, places: Floats) -> tuple[Floats, Floats, Floats]:
        """The curve and the ends of its intervals."""
        values = np.asarray(self.curve.predict(places))
        if self.curve.band is None:
            nothing = np.full(values.shape, math.nan)
            return values, nothing, nothing
        low, high = self.curve.interval(places, level=self.level)
        return values, np.asarray(low), np.asarray(high)

    def as_dict(self, default: int) -> dict[str, Any]:
        """Plain values."""
        places = self.places(default)
        values, low, high = self.rows(places)
        start: dict[str, Any] = {"method": None, "n": None, "epsilon": None}
        line = self._line
        return {
            **start,
            **_plain(self.curve.facts),
            "method": self.method,
            "response": "public",
            "names": {"x": list(self.names), "y": self.response},
            "noise": {
                name: law.to_dict()
                for name, law in zip(self.names, self.spectrum.noise, strict=True)
            },
            "x": (places[:, 0] if len(self.names) == 1 else places).tolist(),
            **({} if self.left_out is None else {"left_out": dict(self.left_out)}),
            "y": values.tolist(),
            "lower": _finite(low),
            "upper": _finite(high),
            "level": self.level,
            "linear": None if line is None else _coefficients(line),
        }

    def table(self, default: int) -> None:
        """Print the answer, a table, and what else must be known."""
        places = self.places(default)
        values, low, high = self.rows(places)
        number = output.format_of(np.concatenate([values, low, high]).tolist())
        self._answer(number)
        sides = [output.format_of(column.tolist()) for column in places.T]
        rows = [
            (*(side(x) for side, x in zip(sides, place, strict=True)), *map(number, found))
            for place, *found in zip(places, values, low, high, strict=True)
        ]
        head = [*self.names, f"mean {self.response}", f"{output.percent(self.level)} from", "to"]
        output.table(self.title, head, rows, words=0)
        if self.method == "kernel":
            output.say(POINTWISE)
        if self._line is not None:
            output.say(self._line_words(self._line))
        parts = [
            f"{noised.told(law)} on {name}"
            for name, law in zip(self.names, self.spectrum.noise, strict=True)
            if not isinstance(law, NoNoise)
        ]
        output.say(f"Corrected for the noise that was added elsewhere: {', '.join(parts)}.")

    def _answer(self, number: Any) -> None:
        middle = self.middle
        where = " and ".join(
            f"{name} {output.number(x)}" for name, x in zip(self.names, middle, strict=True)
        )
        values, low, high = self.rows(middle[None])
        between = ""
        if np.isfinite([low[0], high[0]]).all():
            share = output.percent(self.level)
            without = ", without smoothing bias" if self.method == "kernel" else ""
            between = f" ({share} interval{without}: {number(low[0])} to {number(high[0])})"
        output.say(
            f"In the middle, at {where}, the mean of {self.response} is "
            f"{number(values[0])}{between}."
        )

    @property
    def title(self) -> str:
        """The title of the printed answer: quantity, number of rows and method."""
        facts, how = self.curve.facts, [self.method]
        for key in ("kernel", "smoothing", "size", "bandwidth"):
            value = facts.get(key)
            if value is not None:
                each = value if isinstance(value, list | tuple) else (value,)
                words = [one if isinstance(one, str) else output.number(one) for one in each]
                how.append(words[0] if key == "kernel" else f"{key} {' and '.join(words)}")
        by = " and ".join(self.names)
        return (
            f"Mean {self.response} by {by}, {counted(self.spectrum.n, 'value')}, {', '.join(how)}"
        )

    def draw(self, path: Path) -> None:
        """Write a picture: a curve, a map, or maps at values of the third covariate."""
        display = self._map() or self.curve.plot(level=self.level)
        if len(self.names) == 3:
            display.ax_.figure.suptitle(self.title, parse_math=False)
            output.save_figure(display, path)
            return
        height = f"mean {self.response}" if len(self.names) == 1 else self.names[1]
        output.save_plot(display, path, self.title, name=self.names[0], height=height)

    def _map(self) -> RegressionDisplay | None:
        """A map of two covariates, where people are: further out it would show noise as a shape."""
        low, high = self.around(MAPPED)
        if len(self.names) != 2 or self.spectrum.low is not None or not (low < high).all():
            return None
        axes = tuple(np.linspace(a, b, PLOT_POINTS) for a, b in zip(low, high, strict=True))
        return RegressionDisplay(axes, self.curve.on_grid(axes), self.curve.names).plot()

    def write(self, path: Path, default: int) -> None:
        """Write the places with the curve and its intervals, CSV or Parquet."""
        places = self.places(default)
        columns = {name: places[:, at] for at, name in enumerate(self.names)}
        for name, found in zip(("estimate", "low", "high"), self.rows(places), strict=True):
            if name in columns:
                raise InvalidInput(f"covariates without the name {name!r} for --output", "one")
            columns[name] = found
        formats.write(arrow.arrow().table(columns), path)

    @property
    def _line(self) -> Straight | None:
        line = self.curve if isinstance(self.curve, Straight) else self.curve.baseline
        assert line is None or isinstance(line, Straight)
        return line

    def _line_words(self, line: Straight) -> str:
        right = output.number(line.intercept)
        for slope, name in zip(line.slope, self.names, strict=True):
            right += f" {'-' if slope < 0 else '+'} {output.number(abs(slope))} {name}"
        left = "log odds" if isinstance(line, Logistic) else self.response
        kind = "logistic curve" if isinstance(line, Logistic) else "line"
        errors = [f"{error:.2g}" for error in line.slope_error]
        if not np.isfinite(line.slope_error).all():
            return (
                f"Corrected {kind}: {left} = {right}, a guess: there is too much noise, or the "
                "stated noise is larger than the real one."
            )
        return f"Corrected {kind}: {left} = {right} (standard errors {' and '.join(errors)})."


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in facts.items()}


def _finite(numbers: Floats) -> list[float | None]:
    return [each if math.isfinite(each) else None for each in numbers.tolist()]


def _coefficients(line: Straight) -> dict[str, Any]:
    fields = line.to_dict()
    known = ("curve", "intercept", "slope", "intercept_error", "slope_error")
    return {key: fields[key] for key in known}


def needs_response(response: str | None) -> str:
    """The response's column, which must be named."""
    if response is None:
        raise InvalidInput("--y, the column whose mean is wanted", "none")
    return response


def fit(asked: Asked, files: list[Path] | None, estimator: Any, **shown: Any) -> Surface:
    """Read, fit, and keep what to show: a method, a level and a number of points."""
    level = _checks.level(shown["level"])
    spectrum, summary, left = asked.summary(noised.file(files), shown["method"])
    curve = estimator.fit(summary)
    told = left if asked.invalid == "drop" else None
    return Surface(curve, spectrum, asked.response, shown["method"], level, shown["points"], told)

"""Numbers of results as people read them: as many digits as their intervals support."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from confide.results.values import Quantity

Round = Callable[[float], float]
LARGEST = 1e15
"""From here on numbers are written with an exponent."""


class Format:
    """One format for all numbers of a table.

    Parameters
    ----------
    step
        What numbers are rounded to. Ends of intervals are rounded outwards, so that what is
        printed holds what was computed.

    Examples
    --------
    >>> told = Format(100.0)
    >>> told(52_346.0), told.range(Quantity("mean", 52_346.0, low=51_190.0, high=53_510.0))
    ('52,300', '51,100 to 53,600')
    """

    def __init__(self, step: float) -> None:
        self.step = step

    @classmethod
    def of(cls, quantities: Iterable[Quantity], span: float, *, whole: bool = False) -> Format:
        """A tenth of the narrowest interval, or so; a thousandth of the span where there is none.

        Whole numbers are written as such.
        """
        if whole:
            return cls(1.0)
        widths = [
            (one.high - one.low) / 2
            for one in quantities
            if one.low is not None and one.high is not None and one.high > one.low
        ]
        smallest = max(min(widths, default=span / 100), span * 1e-9, 1e-300)
        return cls(10.0 ** (math.floor(math.log10(smallest)) - 1))

    def __call__(self, value: float | None) -> str:
        """The nearest number."""
        return self._written(value, round)

    def signed(self, value: float | None) -> str:
        """The number with its sign."""
        text = self(value)
        return f"+{text}" if value is not None and value > 0 and text.strip("0.,") else text

    def range(self, one: Quantity) -> str:
        """An interval, its ends rounded outwards; a dash where there is none."""
        if one.low is None or one.high is None:
            return "–"
        return f"{self._written(one.low, math.floor)} to {self._written(one.high, math.ceil)}"

    def _written(self, value: float | None, rounded: Callable[[float], int]) -> str:
        if value is None:
            return "–"
        if abs(value) >= LARGEST or self.step >= LARGEST or 0 < abs(value) < 1e-9:
            return f"{value:.4g}"
        # What lies on a step already, but for the last bits of a float, stays there.
        near = round(value / self.step)
        steps = near if abs(value / self.step - near) < 1e-6 else rounded(value / self.step)
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        text = f"{steps * self.step:,.{min(decimals, 12)}f}"
        return text.replace("-", "−") if text.strip("-0.,") else text.lstrip("-")


class Percent(Format):
    """Like `Format`, for shares as percentages with one decimal.

    Examples
    --------
    >>> told = Percent()
    >>> told(0.3127), told.range(Quantity("yes", 0.3127, low=0.2911, high=0.3339))
    ('31.3 %', '29.1 to 33.4 %')
    """

    def __init__(self) -> None:
        super().__init__(0.1)

    def __call__(self, value: float | None) -> str:
        """The nearest tenth of a percent."""
        return "–" if value is None else f"{super().__call__(100 * value)} %"

    def signed(self, value: float | None) -> str:
        """A difference, in percentage points."""
        if value is None:
            return "–"
        text = Format.__call__(self, 100 * value)
        return f"+{text}" if value > 0 and text.strip("0.") else text

    def range(self, one: Quantity) -> str:
        """An interval, its ends rounded outwards."""
        return f"{self.points(one)} %" if one.low is not None else "–"

    def points(self, one: Quantity) -> str:
        """An interval in percentage points."""
        if one.low is None or one.high is None:
            return "–"
        return super().range(Quantity(one.name, None, low=100 * one.low, high=100 * one.high))


def ticks(low: float, high: float, *, log: bool = False, most: int = 6) -> list[float]:
    """Round numbers along an axis, a few.

    Examples
    --------
    >>> ticks(0, 300_000, most=4)
    [0.0, 100000.0, 200000.0, 300000.0]
    >>> ticks(1, 1000, log=True)
    [1.0, 10.0, 100.0, 1000.0]
    """
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        skip = max(1, math.ceil((last - first) / most))
        decades = [10.0**power for power in range(first, last + 1, skip)]
        inside = [at for at in decades if low * (1 - 1e-9) <= at <= high * (1 + 1e-9)]
        if len(inside) > 1:
            return inside
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * by for by in (1, 2, 5, 10) if unit * by >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + at) * step, 12) for at in range(count)]

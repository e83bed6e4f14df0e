"""The mean of a response in each of a few categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.curves.regression import Band, Floats, Regression
from confide.displays import RegressionDisplay
from confide.errors import Unsupported
from confide.lattice import Categories


@dataclass(frozen=True, eq=False, repr=False)
class CategoryMeans(Regression):
    """Mean response in each category of a private answer.

    Parameters
    ----------
    categories
        The possible answers.
    values
        Mean response in each.
    names, facts, band
        As for `Regression`; the band goes by the categories' numbers.

    Examples
    --------
    >>> curve = CategoryMeans(Categories(("no", "yes")), np.array([1.0, 3.0]))
    >>> curve.predict(["yes", "no", "yes"])
    array([3., 1., 3.])
    """

    categories: Categories
    values: Floats
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None
    baseline: Regression | None = None

    @property
    def low(self) -> tuple[float, ...]:  # type: ignore[override]
        """Number of the first category."""
        return (0.0,)

    @property
    def high(self) -> tuple[float, ...]:  # type: ignore[override]
        """Number of the last category."""
        return (self.categories.size - 1.0,)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response in categories given by their labels."""
        return self.values[self.categories.index(x)]

    def interval(self, x: npt.ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
        """Confidence intervals of the mean response in categories given by their labels."""
        level = _validate.level(level)
        if self.band is None:
            raise Unsupported("This curve came without the reports' noise: it has no intervals.")
        return self.band.interval(self.categories.index(x).astype(np.float64), level)

    def plot(self, ax: Any = None, *, level: float | None = 0.95) -> RegressionDisplay:
        """Draw the means and their band over the categories."""
        labels = list(self.categories.labels)
        band = None if level is None or self.band is None else self.interval(labels, level=level)
        numbers = np.arange(len(labels), dtype=np.float64)
        display = RegressionDisplay((numbers,), self.values, self.names, band, level).plot(ax)
        display.ax_.set_xticks(numbers, labels)
        return display

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "category-means",
            "names": list(self.names),
            "categories": list(self.categories.labels),
            "values": self.values.tolist(),
            "facts": dict(self.facts),
        }

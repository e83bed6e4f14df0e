"""Synthetic rows of a released density."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.errors import InvalidInput
from confide.releases.release import Release


def synthesize(
    release: Release,
    n: int,
    *,
    columns: Sequence[str],
    integers: Sequence[str] = (),
    seed: int | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Synthetic rows of a released density, within its bounds; they cost no further privacy.

    Parameters
    ----------
    release
        A release of a density.
    n
        How many rows.
    columns
        Names of its columns.
    integers
        Columns to round to whole numbers.
    seed
        For rows that can be drawn again.

    Examples
    --------
    >>> from confide import Lattice
    >>> from confide.releases import Histogram
    >>> made = Histogram(Lattice(low=0, high=9), epsilon=1.0).release([1.0, 7.0] * 100)
    >>> rows = synthesize(made, 5, columns=["age"], integers=["age"])
    >>> rows["age"].dtype, rows["age"].size
    (dtype('int64'), 5)
    """
    n = _checks.integer(1, n=n)
    if release.curve is None:
        raise InvalidInput("the release of a density", "an answer")
    drawn = release.curve.sample(n, seed=seed).reshape(n, len(columns))
    rows: dict[str, npt.NDArray[Any]] = {name: drawn[:, at] for at, name in enumerate(columns)}
    bounds = release.spec.get("columns")
    if bounds is None:
        return rows
    for at, (name, ends) in enumerate(zip(columns, bounds, strict=True)):
        # Cells of whole numbers reach half a unit beyond the bounds.
        low, high = ends["low"], ends["high"]
        rows[name] = np.clip(drawn[:, at], low, high)
        if name in integers:
            rounded = np.clip(np.rint(drawn[:, at]), math.ceil(low), math.floor(high))
            rows[name] = rounded.astype(np.int64)
    return rows

"""Estimates as tables of pandas; ``polars.from_pandas`` takes them as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confide.errors import InvalidInput, extra

ENDS = ("estimate", "low", "high")


def frame(rows: list[dict[str, Any]]) -> Any:
    """A pandas DataFrame of rows."""
    return extra("pandas", "all").DataFrame(rows)


def to_frame(curves: Mapping[Any, Any], *, by: tuple[str, ...] = ("group",), **options: Any) -> Any:
    """The tables of several curves below each other, with columns that name the group.

    Parameters
    ----------
    curves
        A curve for each group, as ``groups.map(estimator.fit)`` gives them.
    by
        Names of the columns for the groups' keys.
    options
        Passed on to each curve's ``to_frame``, such as ``level=0.9``.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import numpy as np
    >>> from confide.curves import Proportions
    >>> north = Proportions(("no", "yes"), np.array([0.7, 0.3]))
    >>> print(to_frame({"north": north}, by=("region",))[["region", "category", "estimate"]])
      region category  estimate
    0  north       no       0.7
    1  north      yes       0.3
    """
    pandas = extra("pandas", "all")
    parts = []
    for key, curve in curves.items():
        words = key if isinstance(key, tuple) else (key,)
        if len(words) != len(by):
            raise InvalidInput(f"keys of {len(by)} parts, one for each of by", f"{len(words)}")
        part = curve.to_frame(**options)
        for at, (name, word) in enumerate(zip(by, words, strict=True)):
            part.insert(at, name, word)
        parts.append(part)
    if not parts:
        raise InvalidInput("at least one group", "none")
    return pandas.concat(parts, ignore_index=True)

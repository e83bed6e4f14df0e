"""One pass over reports and what came with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.errors import InvalidInput
from confide.lattice import CHUNK
from confide.reports.rows import LARGEST

Floats = npt.NDArray[np.float64]

SPREAD = 1e12
"""Largest over smallest weight: beyond, a respondent of little weight does not count at all."""


@dataclass(frozen=True, eq=False)
class Response:
    """Sums of a public response y for each report, and the bounds that y keeps to."""

    sums: Floats
    squares: Floats
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", _validate.frozen(self.sums))
        object.__setattr__(self, "squares", _validate.frozen(self.squares))

    def __add__(self, other: Response) -> Response:
        return Response(
            self.sums + other.sums,
            self.squares + other.squares,
            min(self.low, other.low),
            max(self.high, other.high),
        )


class Tally(NamedTuple):
    """Counts of reports, sums and squares of their weights, and their responses."""

    counts: npt.NDArray[np.int64]
    weights: tuple[Floats, Floats] | None
    response: Response | None


def tally(
    indices: npt.NDArray[np.integer],
    outputs: tuple[int, ...],
    *,
    response: npt.ArrayLike | None,
    bounds: tuple[float, float] | None,
    weights: npt.ArrayLike | None,
) -> Tally:
    """Counts and sums by report, in one pass.

    Parameters
    ----------
    indices
        Reports, a row each where there are several questions.
    outputs
        How many reports there can be, by question.
    response, bounds, weights
        As in `Counts.of`.
    """
    n = len(indices)
    w = None if weights is None else _aligned(n, weights=weights)
    if w is not None and not ((w >= 1 / LARGEST) & (w <= LARGEST)).all():
        bad = w.min() if w.min() < 1 / LARGEST else w.max()
        raise InvalidInput(
            "weights > 0 that are ordinary numbers",
            f"{bad:g}",
            "Leave respondents without weight out.",
        )
    if w is not None and w.max() > SPREAD * w.min():
        raise _apart()
    y = None if response is None else _aligned(n, response=response)
    low, high = _bounds(y, bounds)
    size = int(np.prod(outputs))
    counts = np.zeros(size, dtype=np.int64)
    # Rows: sum w, sum w^2, sum w y, sum w y^2.
    sums = np.zeros((4, size))
    for start in range(0, n, CHUNK):
        part = slice(start, start + CHUNK)
        rows = indices[part]
        flat = rows if rows.ndim == 1 else np.ravel_multi_index(tuple(rows.T), outputs)
        counts += np.bincount(flat, minlength=size)
        scale = 1.0 if w is None else w[part]
        if w is not None:
            sums[0] += np.bincount(flat, w[part], minlength=size)
            sums[1] += np.bincount(flat, w[part] ** 2, minlength=size)
        if y is not None:
            sums[2] += np.bincount(flat, scale * y[part], minlength=size)
            sums[3] += np.bincount(flat, scale * y[part] ** 2, minlength=size)
    table = sums.reshape(4, *outputs)
    return Tally(
        counts.reshape(outputs),
        None if w is None else (table[0], table[1]),
        None if y is None else Response(table[2], table[3], low, high),
    )


def comparable(counts: npt.NDArray[np.int64], sums: Floats, squares: Floats) -> None:
    """Refuse weights of which some make others vanish, as far as their sums by report tell.

    The mean weight of a report is at least the smallest one, and sum w**2 / sum w is at most the
    largest.
    """
    there = counts > 0
    if not there.any():
        return
    total, second = sums[there], squares[there]
    if not ((total > 0) & (second > 0)).all():
        raise InvalidInput("weights > 0 for every report that was sent", "others")
    if (second / total).max() > SPREAD * (total / counts[there]).min():
        raise _apart()


def _apart() -> InvalidInput:
    return InvalidInput(
        f"weights within a factor of {SPREAD:g} of each other",
        "some that are further apart",
        "Leave out respondents of next to no weight.",
    )


def _aligned(n: int, **named: Any) -> Floats:
    array = _validate.vector(**named)
    if array.size != n:
        (name,) = named
        raise InvalidInput(f"{n} numbers in {name}, one a report", str(array.size))
    return array


def _bounds(y: Floats | None, bounds: tuple[float, float] | None) -> tuple[float, float]:
    if y is None:
        if bounds is not None:
            raise InvalidInput("a response to go with its bounds", "bounds alone")
        return 0.0, 0.0
    if bounds is None:
        return float(y.min()), float(y.max())
    low, high = _validate.finite(low=bounds[0]), _validate.finite(high=bounds[1])
    if not low <= y.min() <= y.max() <= high:
        raise InvalidInput(
            f"responses from {low:g} to {high:g}", f"responses from {y.min():g} to {y.max():g}"
        )
    return low, high

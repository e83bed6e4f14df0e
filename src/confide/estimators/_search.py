"""Where a band around a distribution function holds a share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Ends = tuple[Floats, Floats]


def stretch(q: npt.ArrayLike, edges: Floats | Indices, lower: Floats, upper: Floats) -> Ends:
    """Smallest and largest edge at which lower <= q <= upper, one step wider on each side."""
    shares = np.asarray(q, dtype=np.float64)
    low, high = np.empty(shares.shape), np.empty(shares.shape)
    for at in np.ndindex(shares.shape):
        inside = np.flatnonzero((lower <= shares[at]) & (shares[at] <= upper))
        first, last = (inside[0] - 1, inside[-1] + 1) if inside.size else (-1, -1)
        if inside.size == 0:  # between two edges
            last = int(np.count_nonzero(upper < shares[at]))
            first = last - 1
        low[at] = edges[max(first, 0)]
        high[at] = edges[min(last, edges.size - 1)]
    return low, high


def search(
    q: npt.ArrayLike, last: int, ends: Callable[[Indices], Ends], *, coarse: int, fine: int
) -> tuple[Indices, Indices]:
    """`stretch` on the places 0, 1, ... last, without asking for the ends at all of them.

    A first look takes about `coarse` steps; the two steps that hold what is wanted are then split
    into `fine` smaller ones, until there are none.
    """
    shares = np.asarray(q, dtype=np.float64)
    all_places = _places(0, last, coarse)
    all_ends = np.stack(ends(all_places))
    result = np.empty((2, *shares.shape), dtype=np.int64)
    for at in np.ndindex(shares.shape):
        for side in (0, 1):
            places, known = all_places, all_ends
            while True:
                found = int(stretch(shares[at], places, *known)[side])
                # What lies inside is to the right of the left end, to the left of the right one.
                here = max(int(np.searchsorted(places, found)) - side, 0)
                pair = slice(here, here + 2)
                if places[pair].size < 2 or np.diff(places[pair])[0] < 2:
                    break
                places, known = _split(places[pair], known[:, pair], ends, fine)
            result[(side, *at)] = found
    return result[0], result[1]


def _split(
    pair: Indices, known: Floats, ends: Callable[[Indices], Ends], fine: int
) -> tuple[Indices, Floats]:
    places = _places(int(pair[0]), int(pair[1]), fine)
    between = np.stack(ends(places[1:-1]))
    return places, np.concatenate([known[:, :1], between, known[:, 1:]], axis=1)


def _places(first: int, last: int, steps: int) -> Indices:
    return np.unique(np.linspace(first, last, steps + 1).round().astype(np.int64))

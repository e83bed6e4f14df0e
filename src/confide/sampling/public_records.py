"""A public reference for tables: masses of cells, learned from public records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from confide._types import Floats
from confide.lattice import Axis
from confide.sampling.mollifier import FiniteMollifier

STRENGTHS = tuple(2.0**power for power in range(-2, 21))
"""How many records' worth the margins may count, of which the likeliest is taken."""


def public_masses(columns: Mapping[str, Axis], table: Any) -> Floats:
    """Positive masses of all cells of a table's columns, from public records.

    The shares of the public records in the cells are mixed with the product of the shares of each
    column alone, which fills the cells that no public record is in. How much of it is mixed in has
    the largest likelihood when each public record is left out in turn.

    Parameters
    ----------
    columns
        Categories or a lattice for each column, by name.
    table
        Public records: columns by name. Never any of the private ones.

    Examples
    --------
    >>> from confide.lattice import Categories
    >>> columns = {"sex": Categories(("f", "m")), "smokes": Categories(("no", "yes"))}
    >>> known = {"sex": ["f", "f", "m", "m"] * 9, "smokes": ["no", "no", "no", "yes"] * 9}
    >>> public_masses(columns, known).round(2).tolist()
    [[0.5, 0.0], [0.25, 0.25]]
    """
    # Only its cells are used; what it may cost does not matter.
    cells = FiniteMollifier(columns, epsilon=1.0)
    numbers = cells.index(table)
    n = len(numbers)
    counts = np.bincount(numbers, minlength=cells.outcomes).reshape(cells.shape)
    product = np.ones(())
    for axis in range(counts.ndim):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        margin = counts.sum(axis=others) + 0.5
        product = np.multiply.outer(product, margin / margin.sum())
    seen = counts > 0
    held, expected = counts[seen], product[seen]
    likelihoods = [
        float(held @ np.log((held - 1 + strength * expected) / (n - 1 + strength)))
        for strength in STRENGTHS
    ]
    best = STRENGTHS[int(np.argmax(likelihoods))]
    masses: Floats = (counts + best * product) / (n + best)
    return masses

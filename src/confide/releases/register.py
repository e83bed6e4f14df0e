"""All kinds of releases by name, and the way back from their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confide import _checks
from confide.errors import InvalidInput
from confide.releases.bernstein import Bernstein
from confide.releases.choice import Choice
from confide.releases.gaussian_process import GaussianProcess
from confide.releases.histogram import Histogram
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.query import Query
from confide.releases.release import Recipe
from confide.releases.series import Series

KINDS: dict[str, type[Recipe]] = {
    kind.name: kind
    for kind in (
        Query,
        Histogram,
        Series,
        Bernstein,
        GaussianProcess,
        KolmogorovSmirnov,
        Choice,
    )
}
"""Every kind of release, by name; one of one's own is added by setting an item."""


def from_dict(fields: Mapping[str, Any]) -> Recipe:
    """The recipe that a `to_dict` describes.

    Examples
    --------
    >>> recipe = Query("count", epsilon=1.0)
    >>> from_dict(recipe.to_dict()) == recipe
    True
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a release as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(KINDS), release=fields.get("release"))
    return KINDS[kind].from_dict(fields, KINDS)

"""All kinds of samplers by name, and the way back from their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confide import _checks
from confide.errors import InvalidInput
from confide.sampling.mbde import MBDE
from confide.sampling.mollifier import FiniteMollifier, Mollifier
from confide.sampling.naive import NaiveSampler
from confide.sampling.sampler import Sampler, Samples

KINDS: dict[str, type[Sampler]] = {
    kind.name: kind for kind in (Mollifier, FiniteMollifier, MBDE, NaiveSampler)
}
"""Every kind of sampler, by name; one of one's own is added by setting an item."""


def from_dict(fields: Mapping[str, Any]) -> Sampler:
    """The sampler that a `to_dict` describes.

    A density ratio comes back by its name, with its own defaults. A ratio or a learner of one's own
    is not in the JSON: the sampler then places outcomes and does not draw.

    Examples
    --------
    >>> from confide.lattice import Categories
    >>> sampler = FiniteMollifier({"smokes": Categories(("no", "yes"))}, epsilon=1.0)
    >>> from_dict(sampler.to_dict()).to_dict() == sampler.to_dict()
    True
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a sampler as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(KINDS), mechanism=fields.get("mechanism"))
    return KINDS[kind].from_dict(fields)


def samples(fields: Mapping[str, Any]) -> Samples:
    """The samples that a `to_dict` describes: their sampler places the outcomes.

    Parameters
    ----------
    fields
        Plain values, for instance from ``json.load``.
    """
    keys = ("mechanism", "numbers", "samples", "spend", "simulated")
    if not isinstance(fields, Mapping) or not set(keys) <= set(fields):
        raise InvalidInput("samples, as their to_dict gives them", "another document")
    _checks.known_keys(fields, keys, "samples")
    made = from_dict(fields["mechanism"])
    found = Samples(fields["numbers"], made, simulated=fields["simulated"])
    stated = found.to_dict()
    for key in ("samples", "spend"):
        if fields[key] != stated[key]:
            raise InvalidInput(f"the {key} of these samples", "others", "They were changed since.")
    return found

"""The register of samplers: made from settings by name, or read back from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confide import _checks
from confide.errors import BadSetting, InvalidInput
from confide.lattice import axes_of_settings
from confide.sampling.mbde import MBDE
from confide.sampling.mollifier import FiniteMollifier, Mollifier
from confide.sampling.naive import NaiveSampler
from confide.sampling.public_records import public_masses
from confide.sampling.ratios import KDE, Binned, GaussianMixture, Ratio
from confide.sampling.references import Box, Gaussian, Reference, Sample
from confide.sampling.sampler import Sampler, Samples

KINDS: dict[str, type[Sampler]] = {
    kind.name: kind for kind in (Mollifier, FiniteMollifier, MBDE, NaiveSampler)
}
"""Every kind of sampler, by name; one of one's own is added by setting an item."""
REFERENCES: dict[str, tuple[str, ...]] = {
    "gaussian": ("mean", "sd"),
    "box": ("low", "high"),
    "sample": ("public",),
}
"""References that plain settings make, and the settings of each."""
RATIOS: dict[str, Callable[[], Ratio]] = {
    "kde": KDE,
    "gaussian-mixture": GaussianMixture,
    "binned": Binned,
}
"""Ways to smooth the records, by name."""
MOST_FOR_KDE = 3
"""Columns up to which records are smoothed by kernels unless another way is asked for."""
ADVICE = (
    "Samples lie where the reference does. Choose it from common knowledge, in the units of the "
    "records, and never from the records themselves."
)


def from_settings(settings: Mapping[str, Any], *, dim: int = 1) -> Mollifier:
    """A sampler made of plain settings, such as those of a form or of the command line.

    What cannot work at all is refused here, before there are any records.

    Parameters
    ----------
    settings
        ``reference``, which is ``"gaussian"``, ``"box"`` or ``"sample"``; for the first ``mean``
        and ``sd``, for the second ``low`` and ``high``, with a number for each column, and for the
        last ``public``, rows of public records. ``epsilon``, the cost of one sample. Perhaps
        ``ratio``, how records are smoothed: ``"kde"``, which is the default up to three columns,
        ``"gaussian-mixture"``, which is it above, or ``"binned"``. None counts as not given.
    dim
        Number of columns.

    Examples
    --------
    >>> pay = {"reference": "box", "low": [0], "high": [9], "epsilon": 1.0}
    >>> from_settings(pay).epsilon
    1.0
    """
    given = {name: value for name, value in settings.items() if value is not None}
    kind = _checks.one_of(tuple(REFERENCES), reference=given.pop("reference", None))
    ratio = given.pop("ratio", "kde" if dim <= MOST_FOR_KDE else "gaussian-mixture")
    smooth = RATIOS[_checks.one_of(tuple(RATIOS), ratio=ratio)]()
    if "epsilon" not in given:
        raise BadSetting("{epsilon}, what one sample costs", "none")
    epsilon = given.pop("epsilon")
    reference = _reference(kind, given, dim)
    # On a public point.
    smooth(reference.sample(1, seed=0), reference)
    return Mollifier(reference=reference, epsilon=epsilon, ratio=smooth)


CELLS = 16
"""Cells of a column of numbers, unless told otherwise: more of them hold fewer records each."""


def table_from_settings(settings: Mapping[str, Any]) -> FiniteMollifier:
    """A sampler of numbers and words made of plain settings.

    Parameters
    ----------
    settings
        ``column``, the names; ``words``, the categories of those that hold words, by name; ``low``
        and ``high``, public bounds of all others in their order; perhaps ``cells`` of each of
        these; ``epsilon``, the cost of one sample; perhaps ``public``, columns of public records
        by name, from which the reference is learned. Without it all cells are alike. None counts as
        not given.

    Examples
    --------
    >>> words = {"smokes": ["no", "yes"]}
    >>> table_from_settings({"column": ["smokes"], "words": words, "epsilon": 1.0}).outcomes
    2
    """
    given = {name: value for name, value in settings.items() if value is not None}
    own = ("column", "words", "low", "high", "cells", "epsilon", "public")
    everywhere = ("reference", "ratio", *(each for one in REFERENCES.values() for each in one))
    for name in given:
        if name in everywhere and name not in own:
            raise BadSetting(f"no {{{name}}} where there are columns of words", f"{{{name}}}")
    _checks.known_keys(given, own, "the settings of a sampler of tables")
    if "epsilon" not in given:
        raise BadSetting("{epsilon}, what one sample costs", "none")
    columns = axes_of_settings(
        given.get("column", ()),
        words=given.get("words", {}),
        low=given.get("low", ()),
        high=given.get("high", ()),
        size=_checks.integer(2, cells=given.get("cells", CELLS)),
    )
    masses = public_masses(columns, given["public"]) if "public" in given else None
    return FiniteMollifier(columns, epsilon=given["epsilon"], reference=masses)


def _reference(kind: str, given: Mapping[str, Any], dim: int) -> Reference:
    """The public reference of that kind; settings of the others are refused."""
    own = REFERENCES[kind]
    everywhere = tuple(each for several in REFERENCES.values() for each in several)
    for name in given:
        if name not in everywhere:
            known = ("reference", "epsilon", "ratio", *own)
            _checks.known_keys([name], known, "the settings of a sampler")
        if name not in own:
            raise BadSetting(f"no {{{name}}} for {kind}", f"{{{name}}}")
    if kind == "sample":
        if "public" not in given:
            raise BadSetting("{public}, a file of public records", "none")
        return Sample(given["public"])
    for name in own:
        ends = given.get(name, ())
        if len(ends) != dim:
            each = "" if dim == 1 else f" for each of {dim} columns"
            got = str(len(ends)) if ends else "none"
            raise BadSetting(f"{{{name}}}{each}, for the {kind} reference", got, ADVICE)
    if kind == "box":
        return Box(low=given["low"], high=given["high"])
    return Gaussian(dim, mean=given["mean"], sd=given["sd"])


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

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0)
    >>> drawn = sampler.simulate([[0.1], [0.4], [0.2]], 2, seed=1)
    >>> samples(drawn.to_dict()).points.tolist() == drawn.points.tolist()
    True
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
            raise InvalidInput(
                f"the {key} of these samples", "different ones", "They were changed since."
            )
    return found

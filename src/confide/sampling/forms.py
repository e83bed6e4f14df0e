"""Samplers and samples from their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from confide import _checks, mechanisms
from confide.errors import InvalidInput, Unsupported
from confide.lattice import Categories, Lattice
from confide.sampling.mbde import MBDE
from confide.sampling.mollifier import Axis, FiniteMollifier, Mollifier
from confide.sampling.naive import NaiveSampler
from confide.sampling.references import reference_from_dict
from confide.sampling.sampler import Sampler

_KEYS = {
    FiniteMollifier.name: ("columns", "epsilon", "reference"),
    MBDE.name: ("reference", "epsilon", "learner", "rounds", "schedule", "proposals"),
    Mollifier.name: ("reference", "epsilon", "ratio", "atoms", "seed"),
    NaiveSampler.name: ("randomizer", "epsilon"),
}


@dataclass(frozen=True)
class Elsewhere:
    """A ratio estimator or learner that JSON names and does not hold.

    Whoever reads samples needs the public parameters only; the estimator runs where records are.
    """

    name: str

    def __call__(self, records: Any, reference: Any) -> NoReturn:
        """Refuse: there is nothing to estimate with."""
        raise Unsupported(
            f"The sampler was read from JSON, which names {self.name!r} and does not hold it: make "
            "the sampler again where the records are."
        )

    fit = __call__


def from_dict(fields: Mapping[str, Any]) -> Sampler:
    """The sampler that a `to_dict` describes: it places outcomes, and does not draw.

    Parameters
    ----------
    fields
        Plain values, for instance from ``json.load``.
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput("a sampler as a JSON object", _checks.shown(fields))
    kind = _checks.one_of(tuple(_KEYS), mechanism=fields.get("mechanism"))
    keys = _KEYS[kind]
    _checks.known_keys(fields, ("mechanism", *keys), f"a {kind} sampler")
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} for a {kind} sampler", "none")
    if kind == NaiveSampler.name:
        return NaiveSampler(mechanisms.from_dict(fields["randomizer"]))
    epsilon = fields["epsilon"]
    if kind == FiniteMollifier.name:
        columns = _columns(fields["columns"])
        return FiniteMollifier(columns, epsilon=epsilon, reference=fields["reference"])
    reference = reference_from_dict(fields["reference"])
    if kind == Mollifier.name:
        return Mollifier(
            reference=reference,
            epsilon=epsilon,
            ratio=Elsewhere(str(fields["ratio"])),
            atoms=fields["atoms"],
            seed=fields["seed"],
        )
    learner = fields["learner"]
    return MBDE(
        reference=reference,
        epsilon=epsilon,
        learner=None if learner == "network" else Elsewhere(str(learner)),
        rounds=fields["rounds"],
        schedule=fields["schedule"],
    )


def _columns(given: Any) -> dict[str, Axis]:
    if not isinstance(given, list):
        raise InvalidInput("a list of columns", _checks.shown(given))
    found: dict[str, Axis] = {}
    for column in given:
        if not isinstance(column, Mapping) or not isinstance(column.get("name"), str):
            raise InvalidInput("columns with a name", _checks.shown(column))
        axis = {key: value for key, value in column.items() if key != "name"}
        if "categories" in axis:
            _checks.known_keys(axis, ("categories",), "a column")
            found[column["name"]] = Categories(axis["categories"])
        else:
            found[column["name"]] = Lattice.from_dict(axis)
    return found

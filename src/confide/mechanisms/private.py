"""What everything private has in common: a cost, and a JSON form that goes both ways."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from confide import _checks
from confide.accounting import Spend
from confide.errors import InvalidInput
from confide.exact.parts import Part
from confide.lattice import Categories, Cells, Lattice

READ: Mapping[str, Callable[[Any], Any]] = {
    "lattice": lambda value: None if value is None else Lattice.from_dict(value),
    "cells": Cells.from_dict,
}
"""Fields of these names have a JSON form of their own; all others are plain values."""


class Described(ABC):
    """Anything whose public parameters are plain values."""

    name: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly these parameters: equal only where everything public is equal."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what it is made of; what was computed from that is computed again."""
        computed = {
            name
            for kind in type(self).__mro__
            for name, member in vars(kind).items()
            if isinstance(member, cached_property)
        }
        return {name: value for name, value in self.__dict__.items() if name not in computed}


class Private(Described):
    """Anything that draws an output from private values and states what that costs.

    A kind is a frozen dataclass, and its fields are what it is made from. The JSON form has these
    fields, under ``role`` the name of the kind, and whatever `stated` adds.
    """

    role: ClassVar[str] = "mechanism"
    """The key of the JSON form that holds the name."""
    implied: ClassVar[tuple[str, ...]] = ()
    """Fields that the JSON form may leave out."""

    @property
    @abstractmethod
    def spend(self) -> Spend:
        """What one output costs, at most."""

    @property
    def inner(self) -> Mapping[str, Private]:
        """Private things that it runs and whose guarantee it has, by name; none by default."""
        return {}

    @abstractmethod
    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """Every sampler that it draws from, each with its exact law.

        Parameters
        ----------
        prepared
            The private input of `draw`, where the laws depend on it: a release and a sampler
            state the weights that they draw with for these very records. Private then.
        """

    @classmethod
    def json_keys(cls) -> tuple[str, ...]:
        """Names of the fields that it is made from, in JSON."""
        return tuple(each.name for each in dataclasses.fields(cls) if each.init)  # type: ignore[arg-type]

    def made_of(self) -> dict[str, Any]:
        """The fields that it is made from, as plain values for JSON."""
        return {name: _plain(getattr(self, name)) for name in self.json_keys()}

    def stated(self) -> dict[str, Any]:
        """Public parameters that follow from the fields, such as the weights of the noise."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the fields, and the public parameters that follow from them."""
        return {self.role: self.name, **self.made_of(), **self.stated()}

    @classmethod
    def read(cls, made: Mapping[str, Any]) -> Self:
        """The inverse of `made_of`."""
        make: Callable[..., Self] = cls
        return make(**{name: READ.get(name, _same)(value) for name, value in made.items()})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Public parameters that follow from the others (the noise's exact rational, its weights) are
        computed anew and must agree with those given: noise that differs from what is declared is
        refused.
        """
        what = f"a {cls.name} {cls.role}"
        if not isinstance(fields, Mapping):
            raise InvalidInput(f"{what} as a JSON object", _checks.shown(fields))
        _checks.one_of((cls.name,), **{cls.role: fields.get(cls.role)})
        made = cls.json_keys()
        for key in made:
            if key not in fields and key not in cls.implied:
                raise InvalidInput(f"the key {key!r} for {what}", "none")
        found = cls.read({key: fields[key] for key in made if key in fields})
        stated = found.to_dict()
        _checks.known_keys(fields, tuple(stated), what)
        for key, value in fields.items():
            if key not in made and not _alike(value, stated[key]):
                raise InvalidInput(
                    f"{key}={_checks.shown(stated[key])} for this {cls.name} {cls.role}",
                    f"{key}={_checks.shown(value)}",
                    "It was made by other rules than ours, so that its epsilon cannot be vouched "
                    "for.",
                )
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Categories):
        return list(value.labels)
    return value.to_dict() if isinstance(value, Lattice | Cells) else value


def _alike(given: Any, stated: Any) -> bool:
    """Whether two plain values are equal; types first: 1 == True and arrays compare to arrays."""
    if type(given) is not type(stated):
        return False
    if isinstance(given, list):
        return len(given) == len(stated) and all(map(_alike, given, stated))
    return bool(given == stated)


def _same(value: Any) -> Any:
    return value

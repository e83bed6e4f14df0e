"""Joint mechanisms: several questions answered together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting import Spend
from confide.errors import InvalidInput, Unsupported, unquoted
from confide.exact.entropy import Entropy
from confide.exact.inversion import Part, within
from confide.lattice import Categories, Lattice
from confide.mechanisms.laws import Product
from confide.mechanisms.protocol import NONE, Indices, Kinds, Mechanism

MAX_CELLS = 2**26
"""Joint counts are dense: this many take half a gigabyte."""


@dataclass(frozen=True, eq=False)
class Joint(Mechanism):
    """Independent reports of two or three questions by the same respondent.

    Parameters
    ----------
    mechanisms
        A mechanism for each question, by name.

    Notes
    -----
    Formal guarantee: the noises are independent, so the losses add: the sum of the parts' spends.

    Examples
    --------
    >>> from confide.mechanisms.laplace import Laplace
    >>> one = Laplace(Lattice(low=0, high=1, size=16), epsilon=1.0)
    >>> both = Joint({"pay": one, "age": one})
    >>> both.spend
    Spend(epsilon=2)
    >>> both.privatize({"pay": [0.1, 0.2], "age": [0.5, 0.9]}).indices.shape
    (2, 2)
    """

    name: ClassVar[str] = "joint"
    mechanisms: Mapping[str, Mechanism]

    def __post_init__(self) -> None:
        if not isinstance(self.mechanisms, Mapping) or not 2 <= len(self.mechanisms) <= 3:
            raise InvalidInput("two or three mechanisms by name", _checks.shown(self.mechanisms))
        for name, part in self.mechanisms.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput("names that are words", _checks.shown(name))
            if not isinstance(part, Mechanism) or list(part.axes) != [""]:
                raise InvalidInput(f"a mechanism for {name!r}", _checks.shown(part))
            if part.prefer_not_to_say:
                raise Unsupported(
                    f"Questions that are estimated together cannot be declined: {name!r} has "
                    "prefer_not_to_say."
                )
        object.__setattr__(self, "mechanisms", MappingProxyType(dict(self.mechanisms)))
        cells = math.prod(self.law.outputs)
        if cells > MAX_CELLS:
            raise InvalidInput(
                f"at most {MAX_CELLS} joint cells",
                str(cells),
                "Take lattices of fewer cells: a joint estimate cannot resolve so many.",
            )

    def __reduce__(self) -> tuple[type[Joint], tuple[dict[str, Mechanism]]]:
        """Pickle as built: a read-only mapping does not pickle."""
        return type(self), (dict(self.mechanisms),)

    def __repr__(self) -> str:
        return f"Joint({dict(self.mechanisms)!r})"

    @cached_property
    def law(self) -> Product:
        """Distribution of the joint report given the joint index."""
        return Product(tuple(part.law for part in self.mechanisms.values()))

    @property
    def marginals(self) -> Mapping[str, Mechanism]:
        """The mechanism of each question."""
        return self.mechanisms

    @property
    def inner(self) -> Mapping[str, Mechanism]:
        """The mechanism of each question."""
        return self.mechanisms

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The parts of each question."""
        return tuple(
            part for name, each in self.mechanisms.items() for part in within(name, each.parts())
        )

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The lattice of each question."""
        return {name: part.axes[""] for name, part in self.mechanisms.items()}

    @property
    def spend(self) -> Spend:
        """The sum of what the parts cost."""
        first, *others = (part.spend for part in self.mechanisms.values())
        return sum(others, start=first)

    @unquoted("a column of values for each question")
    def index(self, values: Any) -> Indices:
        """One row of indices a respondent, from columns by name or an array of columns."""
        if isinstance(values, np.ndarray):
            values = _checks.array(values=values)
            if values.ndim != 2 or values.shape[1] != len(self.mechanisms):
                raise InvalidInput(f"{len(self.mechanisms)} columns", f"shape {values.shape}")
            values = dict(zip(self.mechanisms, values.T, strict=True))
        columns = []
        for name, part in self.mechanisms.items():
            try:
                column = values[name]
            except Exception:  # each kind of table has its own error for this
                known = ", ".join(self.mechanisms)
                raise InvalidInput(f"columns {known}", f"no column {name!r}") from None
            columns.append(part.index(column))
        if len({column.size for column in columns}) != 1:
            sizes = ", ".join(str(column.size) for column in columns)
            raise InvalidInput("columns of the same length", f"lengths {sizes}")
        return np.stack(columns, axis=1)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """Each question on its own, with its own words."""
        parts = self.mechanisms.values()
        columns = [part.draw(indices[:, at], entropy) for at, part in enumerate(parts)]
        return np.stack(columns, axis=1)

    def unbiased(self, power: int) -> Floats:
        """A joint report has one score a question, not one in all."""
        raise Unsupported("A joint mechanism has no single mean: take the parts one by one.")

    @classmethod
    def json_keys(cls) -> tuple[str, ...]:
        """One list, so that the questions keep their order in JSON."""
        return ("parts",)

    def made_of(self) -> dict[str, Any]:
        """The mechanisms, each with its name."""
        return {
            "parts": [{"name": name, **part.to_dict()} for name, part in self.mechanisms.items()]
        }

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        if not kinds:
            raise InvalidInput(
                "the kinds of mechanisms that may be inside",
                "none",
                "Use confide.mechanisms.from_dict.",
            )
        if not isinstance(made["parts"], list):
            raise InvalidInput("a list of parts", _checks.shown(made["parts"]))
        named: dict[str, Mechanism] = {}
        for part in made["parts"]:
            if not isinstance(part, Mapping) or part.get("mechanism") == cls.name:
                raise InvalidInput("single mechanisms as parts", _checks.shown(part))
            name = part.get("name")
            if not isinstance(name, str) or not name or name in named:
                raise InvalidInput("a name of its own for each part", _checks.shown(name))
            kind = kinds[_checks.one_of(tuple(kinds), mechanism=part.get("mechanism"))]
            one = kind.from_dict({key: part[key] for key in part if key != "name"}, kinds)
            if not isinstance(one, Mechanism):
                raise InvalidInput("single mechanisms as parts", _checks.shown(part))
            named[name] = one
        return cls(named)

"""Private samples of continuous data in any number of dimensions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import checked_epsilon
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.inversion import Part
from confide.lattice import MAX_SIZE, Axis, Categories, Lattice, axes_from_list, listed_axes
from confide.ledger.bindings import content
from confide.mechanisms.protocol import NONE, Kinds
from confide.sampling.densities import SampleLaw
from confide.sampling.mollification import Mollification, Weights
from confide.sampling.ratios import KDE, Binned, GaussianMixture, LogRatio, Ratio, opinions, tried
from confide.sampling.references import Reference, reference_from_dict
from confide.sampling.sampler import Elsewhere, Numbers, Sampler

FEWEST, MOST = 2000, 20_000
MAX_ATOMS = 2**20
SEED_BITS = 53
"""So that a seed passes unharmed through any reader of JSON."""

RATIOS: Mapping[str, Callable[[], Ratio]] = {
    kind.name: kind for kind in (KDE, GaussianMixture, Binned)
}
"""Ratios that come back from their name in JSON, with their own defaults."""


@dataclass(frozen=True)
class Held:
    """A draw from weights that are held fixed."""

    band: Mollification
    held: Weights

    def draw(self, entropy: Entropy, n: int) -> Numbers:
        """``n`` independent outcomes."""
        return self.band.draw(self.held, entropy, n)


class Banded(Sampler):
    """A sampler whose outcomes have integer weights within public bounds, whatever the records."""

    @property
    @abstractmethod
    def band(self) -> Mollification:
        """The bounds of every outcome's weight."""

    def odds(self) -> Fraction:
        """The largest ratio of two weights of one outcome that the bounds allow."""
        return self.band.ratio()

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The outcome, with the weights of these records."""
        return (Part("outcome", Held(self.band, prepared), prepared.tolist()),)

    def draw(self, prepared: Weights, entropy: Entropy, k: int) -> Numbers:
        """Outcomes with the weights of the records."""
        return self.band.draw(prepared, entropy, k)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mollifier(Banded):
    """Samples of a respondent's points: one of many public atoms, likelier where the records are.

    M atoms are drawn from a public reference with a public seed. The respondent estimates how much
    likelier its records make each atom than the reference does, mollifies these weights (equation
    (8) of Husain, Balle, Cranko and Nock, 2020), and releases the number of an atom drawn with
    them.

    Parameters
    ----------
    reference
        What is publicly known of such data: `Gaussian`, `Box`, `Product` or `Sample`. It must
        never come from the records.
    epsilon
        The largest privacy loss of one sample.
    ratio
        The density-ratio estimator: `KDE` (default), `GaussianMixture` (for more than three
        dimensions), `Binned`, `Classifier`, or any function of records and reference that returns
        a function of points.
    atoms
        M; by default 20 e**epsilon, but from 2000 to 20,000.
    seed
        Public seed of the atoms. By default every release takes a fresh one from the operating
        system and publishes it: with the same atoms again and again, what they miss stays missed.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the whole data set for one sample,
    k epsilon for k, exactly. Given the atoms, which do not depend on the records, the domain is
    finite and `Mollification` holds, whatever the ratio estimator returns. If an
    estimator fails before it sees the atoms, nothing is released. If it fails afterwards, all atoms
    get the same weight: a release that is given up and tried again would have atoms that the
    records have chosen.

    Examples
    --------
    >>> from confide.sampling.references import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(dim=2, sd=3.0), epsilon=1.0)
    >>> records = np.random.default_rng(1).normal(1.0, 0.5, size=(500, 2))
    >>> samples = sampler.privatize(records, k=3)
    >>> samples.points.shape, samples.spend
    ((3, 2), Spend(epsilon=3))
    >>> sampler.law_of(records).log_pdf([[1.0, 1.0]]).shape
    (1,)
    """

    name: ClassVar[str] = "mollifier"
    reference: Reference
    epsilon: float
    ratio: Ratio = field(default_factory=KDE)
    atoms: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.reference, Reference):
            raise InvalidInput(
                "a public reference, such as Gaussian(dim=2)", _checks.shown(self.reference)
            )
        if not callable(self.ratio):
            raise InvalidInput("a ratio, such as KDE()", _checks.shown(self.ratio))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.atoms is not None:
            atoms = _checks.integer(2, MAX_ATOMS, atoms=self.atoms)
            object.__setattr__(self, "atoms", atoms)
        if self.seed is not None:
            seed = _checks.integer(0, 2**SEED_BITS - 1, seed=self.seed)
            object.__setattr__(self, "seed", seed)
        # Refuse an epsilon that is too small now, not on the device.
        _ = self.band

    @property
    def size(self) -> int:
        """Number of atoms: a public rule."""
        return self.atoms or math.ceil(min(MOST, max(FEWEST, 20 * math.exp(self.epsilon))))

    @property
    def outcomes(self) -> int:
        """Number of atoms."""
        return self.size

    @cached_property
    def band(self) -> Mollification:
        """The bounds of every atom's weight: the same for all."""
        return Mollification(np.ones(self.size), epsilon=self.epsilon)

    @cached_property
    def points(self) -> Floats:
        """The public atoms, one row each."""
        if self.seed is None:
            raise InvalidInput("a sampler with a public seed", "none", "Each release has its own.")
        points = self.reference.sample(self.size, seed=self.seed)
        points.flags.writeable = False
        return points

    @_checks.steady
    def law_of(self, records: Any) -> SampleLaw:
        """The law of one sample of these records, for study by their holder. Private."""
        log_ratio = self.ratio(self.reference.held(records), self.reference)
        return SampleLaw(self, tried(log_ratio, self.reference))

    def weigh(self, log_ratio: LogRatio) -> Weights:
        """Integer weights of the atoms for a fitted log ratio: the exact law given the atoms."""
        return self.band.weights(opinions(log_ratio, self.points))

    def reseeded(self, entropy: Entropy) -> Mollifier:
        """A copy with a fresh public seed."""
        seed = int(entropy.words(1, 64)[0]) >> (64 - SEED_BITS)
        return replace(self, seed=seed)

    def settled(self, entropy: Entropy) -> Mollifier:
        """A copy with a public seed: the given one, or a fresh one."""
        return self if self.seed is not None else self.reseeded(entropy)

    def locate(self, numbers: Numbers) -> Floats:
        """The atoms with these numbers, one row each."""
        return self.points[np.asarray(numbers, dtype=np.int64)]

    def rows(self, numbers: Numbers) -> list[Any]:
        """Like `locate`, as lists."""
        rows: list[Any] = self.locate(numbers).tolist()
        return rows

    def made_of(self) -> dict[str, Any]:
        """The fields; a ratio by its name only."""
        kind = getattr(self.ratio, "name", None) or getattr(self.ratio, "__name__", "other")
        return {
            "reference": self.reference.to_dict(),
            "epsilon": self.epsilon,
            "ratio": str(kind),
            "atoms": self.size,
            "seed": self.seed,
        }

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`.

        A ratio of ours comes back with its own defaults; one's own is named and not held.
        """
        reference = reference_from_dict(made["reference"])
        name = made["ratio"]
        ratio = RATIOS[name]() if isinstance(name, str) and name in RATIOS else Elsewhere(str(name))
        others = {key: made[key] for key in ("epsilon", "atoms", "seed")}
        return cls(reference=reference, ratio=ratio, **others)

    def __repr__(self) -> str:
        return f"Mollifier({self.reference!r}, epsilon={self.epsilon:g}, atoms={self.size})"

    def prepare(self, records: Any) -> Weights:
        """Weights of the atoms."""
        return self.weigh(self.law_of(records).log_ratio)

    def _content(self, records: Any) -> bytes:
        return content(self.reference.held(records))

    def _public(self) -> dict[str, Any]:
        return {"seed": self.seed}

    def _reopened(self, document: Mapping[str, Any]) -> Mollifier:
        return replace(self, seed=document["seed"])


@dataclass(frozen=True, eq=False)
class FiniteMollifier(Banded):
    """Samples of categorical or mixed records: one cell of a product of categories and lattices.

    The shares of the respondent's records in the cells are mollified (equation (8) of Husain,
    Balle, Cranko and Nock, 2020) and a cell is drawn.

    Parameters
    ----------
    columns
        Categories or a lattice for each column, by name; up to 2**20 cells in all.
    epsilon
        The largest privacy loss of one sample.
    reference
        Positive public masses of the cells, one axis a column; uniform by default. The nearer it
        is to what respondents hold, the better the samples; it must never come from the records.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the whole data set for one sample,
    k epsilon for k, exactly: see `Mollification`.

    Examples
    --------
    >>> columns = {"smokes": Categories(("no", "yes")), "age": Lattice(low=0, high=100, size=10)}
    >>> sampler = FiniteMollifier(columns, epsilon=1.0)
    >>> records = {"smokes": ["no", "no", "yes"], "age": [31, 44, 60]}
    >>> samples = sampler.privatize(records, k=2)
    >>> samples.spend
    Spend(epsilon=2)
    >>> sorted(samples.points)
    ['age', 'smokes']
    """

    name: ClassVar[str] = "finite-mollifier"
    columns: Mapping[str, Axis]
    epsilon: float = field(kw_only=True)
    reference: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise InvalidInput("categories or lattices by column name", _checks.shown(self.columns))
        for name, axis in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput("names that are words", _checks.shown(name))
            if not isinstance(axis, Categories | Lattice):
                raise InvalidInput(f"Categories or a Lattice for {name!r}", _checks.shown(axis))
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        if self.outcomes > MAX_SIZE:
            raise InvalidInput(
                f"at most {MAX_SIZE} cells", str(self.outcomes), "Take fewer or coarser columns."
            )
        if self.reference is not None:
            given = _checks.array(reference=self.reference)
            if given.dtype.kind not in "iuf" or given.shape != self.shape:
                raise InvalidInput(f"masses of shape {self.shape}", f"shape {given.shape}")
            object.__setattr__(self, "reference", _checks.frozen(given.astype(np.float64)))
        object.__setattr__(self, "epsilon", self.band.epsilon)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return _rebuilt, (dict(self.columns), self.epsilon, self.reference)

    def __repr__(self) -> str:
        return f"FiniteMollifier({list(self.columns)}, epsilon={self.epsilon:g})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(axis.size for axis in self.columns.values())

    @property
    def outcomes(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @cached_property
    def band(self) -> Mollification:
        """The bounds of every cell's weight."""
        masses = np.ones(self.outcomes) if self.reference is None else np.ravel(self.reference)
        return Mollification(masses, epsilon=self.epsilon)

    def weights(self, records: Any) -> Weights:
        """The exact law of one sample: integer weights of the cells, for study by the holder."""
        counts = np.bincount(self.index(records), minlength=self.outcomes)
        with np.errstate(divide="ignore"):
            return self.band.weights(np.log(counts) - np.log(self.band.reference))

    def index(self, records: Any) -> Numbers:
        """Cell number of each record."""
        found = []
        for name, axis in self.columns.items():
            try:
                column = records[name]
            except Exception:  # each kind of table has its own error for this
                known = ", ".join(self.columns)
                raise InvalidInput(f"columns {known}", f"no column {name!r}") from None
            found.append(axis.index(column))
        if len({column.size for column in found}) != 1:
            sizes = ", ".join(str(column.size) for column in found)
            raise InvalidInput("columns of the same length", f"lengths {sizes}")
        return np.ravel_multi_index(tuple(found), self.shape).astype(np.int64)

    def locate(self, numbers: Numbers) -> dict[str, npt.NDArray[Any]]:
        """Columns of the sampled records: labels, and centers of lattice cells."""
        at = np.unravel_index(np.asarray(numbers, dtype=np.int64), self.shape)
        return {
            name: (np.array(axis.labels) if isinstance(axis, Categories) else axis.centers)[place]
            for (name, axis), place in zip(self.columns.items(), at, strict=True)
        }

    def rows(self, numbers: Numbers) -> list[Any]:
        """One object a sample, by column name."""
        columns = {name: column.tolist() for name, column in self.locate(numbers).items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def made_of(self) -> dict[str, Any]:
        """The fields."""
        masses = None if self.reference is None else np.asarray(self.reference).tolist()
        return {
            "columns": listed_axes(self.columns),
            "epsilon": self.epsilon,
            "reference": masses,
        }

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        columns = axes_from_list(made["columns"])
        return cls(columns, epsilon=made["epsilon"], reference=made["reference"])

    def prepare(self, records: Any) -> Weights:
        """Weights of the cells."""
        return self.weights(records)

    def _content(self, records: Any) -> bytes:
        return content(self.index(records))


def _rebuilt(columns: Mapping[str, Axis], epsilon: float, reference: Any) -> FiniteMollifier:
    return FiniteMollifier(columns, epsilon=epsilon, reference=reference)

"""Private samples of continuous data in any number of dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide import _validate
from confide._contents import content
from confide.accounting import checked_epsilon
from confide.errors import InvalidInput
from confide.mechanisms.mollification import Mollification, Weights
from confide.mechanisms.samples import Numbers, Sampler
from confide.randomness import Entropy
from confide.sampling.laws import SampleLaw
from confide.sampling.ratios import KDE, LogRatio, Ratio, opinions, tried
from confide.sampling.references import Floats, Reference

FEWEST, MOST = 2000, 20_000
MAX_ATOMS = 2**20
SEED_BITS = 53
"""So that a seed passes unharmed through any reader of JSON."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Mollifier(Sampler):
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
        Privacy loss of one sample, at most.
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
    finite and `Mollification` holds, whatever the ratio estimator returns. An estimator that fails
    does so before it sees the atoms, or else has no opinion of them: a release that is given up and
    tried again would have atoms that the records have chosen.

    Examples
    --------
    >>> from confide.sampling.references import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(dim=2, sd=3.0), epsilon=1.0)
    >>> records = np.random.default_rng(1).normal(1.0, 0.5, size=(500, 2))
    >>> samples = sampler.privatize(records, k=3)
    >>> samples.points.shape, samples.spend
    ((3, 2), Spend(epsilon=3))
    >>> sampler.fit(records).log_pdf([[1.0, 1.0]]).shape
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
                "a public reference, such as Gaussian(dim=2)", _validate.shown(self.reference)
            )
        if not callable(self.ratio):
            raise InvalidInput("a ratio, such as KDE()", _validate.shown(self.ratio))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.atoms is not None:
            atoms = _validate.integer(2, MAX_ATOMS, atoms=self.atoms)
            object.__setattr__(self, "atoms", atoms)
        if self.seed is not None:
            seed = _validate.integer(0, 2**SEED_BITS - 1, seed=self.seed)
            object.__setattr__(self, "seed", seed)
        # Now, and not on the device: an epsilon too small is refused before anybody samples.
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

    @_validate.steady
    def fit(self, records: Any) -> SampleLaw:
        """The law of one sample of these records, for study by whoever holds them. Private."""
        log_ratio = self.ratio(self.reference.held(records), self.reference)
        return SampleLaw(self, tried(log_ratio, self.reference))

    def weigh(self, log_ratio: LogRatio) -> Weights:
        """Integer weights of the atoms for a fitted log ratio: the exact law given the atoms."""
        return self.band.weights(opinions(log_ratio, self.points))

    def reseeded(self, entropy: Entropy) -> Mollifier:
        """The same with a fresh public seed."""
        seed = int(entropy.words(1, 64)[0]) >> (64 - SEED_BITS)
        return replace(self, seed=seed)

    def settled(self, entropy: Entropy) -> Mollifier:
        """The same with a public seed: its own, or a fresh one."""
        return self if self.seed is not None else self.reseeded(entropy)

    def locate(self, numbers: Numbers) -> Floats:
        """The atoms with these numbers, one row each."""
        return self.points[np.asarray(numbers, dtype=np.int64)]

    def rows(self, numbers: Numbers) -> list[Any]:
        """The same as lists."""
        rows: list[Any] = self.locate(numbers).tolist()
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a ratio of one's own by its name only."""
        kind = getattr(self.ratio, "name", None) or getattr(self.ratio, "__name__", "other")
        return {
            "mechanism": self.name,
            "reference": self.reference.to_dict(),
            "epsilon": self.epsilon,
            "ratio": str(kind),
            "atoms": self.size,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        return f"Mollifier({self.reference!r}, epsilon={self.epsilon:g}, atoms={self.size})"

    def _prepare(self, records: Any) -> Weights:
        return self.weigh(self.fit(records).log_ratio)

    def _content(self, records: Any) -> bytes:
        return content(self.reference.held(records))

    def _draw(self, prepared: Weights, entropy: Entropy, k: int) -> Numbers:
        return self.band.draw(prepared, entropy, k)

    def _public(self) -> dict[str, Any]:
        return {"seed": self.seed}

    def _reopened(self, document: Mapping[str, Any]) -> Mollifier:
        return replace(self, seed=document["seed"])

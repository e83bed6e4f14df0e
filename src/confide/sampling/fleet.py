"""Estimates from many respondents who send one sample each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import card, dots
from confide._types import Floats
from confide.accounting.spend import Spend, told_cost
from confide.errors import InvalidInput, Mismatch
from confide.sampling.diagnostics import Judge, LearnedDisplay
from confide.sampling.kernels import Kernels
from confide.sampling.mbde import MBDE
from confide.sampling.mollifier import Mollifier
from confide.sampling.references import Reference
from confide.sampling.sampler import Samples

LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Fleet:
    """The samples of many respondents as one data set, and its density.

    Each sample is drawn from its respondent's own mollified law, so that all of them together come
    from the mean of these laws: the population's mixture, drawn towards the reference. How far
    depends on each respondent's law in a way that is not linear, so that no correction is unbiased
    in general, and none is made here. To learn a population from many respondents, one record of
    each under the noise of a mechanism, and an estimator that undoes it, is consistent; this is
    not, but the samples look like records.

    Parameters
    ----------
    points
        One row a sample.
    reference
        What all respondents started from.
    epsilon
        What one sample costs its respondent.
    simulated
        Whether the samples were drawn from seeds.

    Examples
    --------
    >>> from confide.sampling.references import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=2.0, atoms=200)
    >>> homes = np.random.default_rng(1).normal(size=(30, 50)) / 3 + 1
    >>> fleet = Fleet.of(sampler.privatize(home) for home in homes)
    >>> fleet.n, fleet.log_pdf([0.0, 1.0]).shape
    (30, (2,))
    """

    points: Floats
    reference: Reference
    _: KW_ONLY
    epsilon: float
    simulated: bool

    def _repr_html_(self) -> str:
        """The samples of all respondents, and what each cost, for notebooks."""
        told = told_cost(Spend(self.epsilon), simulated=self.simulated)
        picture = dots(self.points, told="samples of all respondents")
        return card(f"{self.n:,} samples of many respondents", picture, cost=told)

    @classmethod
    def of(cls, samples: Iterable[Samples]) -> Fleet:
        """Collect samples; they must share all but their public seeds."""
        known: dict[str, Any] | None = None
        tables, stamps = [], set()
        mechanism: Any = None
        for one in samples:
            if not isinstance(one, Samples):
                raise InvalidInput("samples, one entry a respondent", _checks.shown(one))
            mechanism = one.mechanism
            if not isinstance(mechanism, Mollifier | MBDE):
                raise InvalidInput("samples of Mollifier or MBDE", mechanism.name)
            public = {key: held for key, held in mechanism.to_dict().items() if key != "seed"}
            if known is not None and public != known:
                raise Mismatch("samples of one mechanism", "samples of several")
            known = public
            stamps.add(one.simulated)
            tables.append(one.points)
        if not tables:
            raise InvalidInput("samples of one respondent or more", "none")
        if len(stamps) > 1:
            raise Mismatch("samples that are all private or all simulated", "both")
        return cls(
            np.concatenate(tables),
            mechanism.reference,
            epsilon=mechanism.epsilon,
            simulated=stamps.pop(),
        )

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.points)

    @cached_property
    def _kernels(self) -> Kernels:
        return Kernels.of(self.points, LEAST * self.reference.scale)

    def log_pdf(self, x: npt.ArrayLike) -> Floats:
        """Log of a kernel density of the samples at points, one row each."""
        return self._kernels.log_pdf(self.reference.table(x, "x"))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """The kernel density of the samples at points, one row each."""
        return np.exp(self.log_pdf(x))

    def plot(self, judge: Judge) -> LearnedDisplay:
        """The density beside the reference and a known mixture of respondents."""
        return judge.plot(self.log_pdf, self.reference, label="samples")

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        return f"<Fleet of {self.n} {kind} samples, epsilon = {self.epsilon:g} each>"

"""How far a population may be from the truth if its reports are near to the honest ones'."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog

from confide.mechanisms import Mechanism
from confide.summaries import Counts

N = 10**7
Floats = np.ndarray


@dataclass(frozen=True)
class Survey:
    """Honest reports of a known population under a mechanism, as shares of reports."""

    mechanism: Mechanism
    truth: Floats

    @cached_property
    def matrix(self) -> Floats:
        return self.mechanism.law.matrix()

    @cached_property
    def honest(self) -> Floats:
        return self.matrix @ self.truth

    def counts(self, fakes: Floats | None = None, share: float = 0.0) -> Counts:
        """Counts of a large survey, a share of it fake."""
        mixed = self.honest if fakes is None else (1 - share) * self.honest + share * fakes
        whole = np.round(N * mixed).astype(np.int64)
        return Counts(self.mechanism, whole, simulated=True)


@dataclass(frozen=True)
class Near:
    """All populations whose reports are within a total variation of the honest ones'."""

    survey: Survey
    distance: float

    @cached_property
    def _limits(self) -> dict[str, Any]:
        matrix, honest = self.survey.matrix, self.survey.honest
        outputs, cells = matrix.shape
        # Variables: masses, then at least the positive part of (reports - honest).
        above = np.hstack([matrix, -np.eye(outputs)])
        total = np.concatenate([np.zeros(cells), np.ones(outputs)])
        one = np.concatenate([np.ones(cells), np.zeros(outputs)])
        return {
            "A_ub": np.vstack([above, total]),
            "b_ub": np.append(honest, self.distance),
            "A_eq": one[None],
            "b_eq": [1.0],
            "method": "highs",
        }

    def most(self, aim: Floats) -> float:
        """The largest sum of masses with some coefficients."""
        costs = np.concatenate([-aim, np.zeros(self.survey.honest.size)])
        return -float(linprog(costs, **self._limits).fun)

    def ratio(self) -> float:
        """The largest ratio of a report's probability to the honest one."""
        survey = self.survey
        return max(self.most(row) / h for row, h in zip(survey.matrix, survey.honest, strict=True))

    def envelope(self) -> tuple[Floats, Floats]:
        """The lowest and the highest distribution function, edge by edge."""
        cells = self.survey.truth.size
        below = [(np.arange(cells) < at).astype(float) for at in range(cells + 1)]
        high = np.array([self.most(aim) for aim in below])
        low = np.array([-self.most(-aim) for aim in below])
        return low, high


def nearness(survey: Survey, share: float) -> Near:
    """What the fitted law of the reports keeps to, whatever the fakes send.

    The bound on the total variation bounds the ratios, in place of e**epsilon, and these bound
    the total variation: repeated until nothing is gained.
    """
    ratio = float(np.exp(survey.mechanism.spend.epsilon))
    while True:
        near = Near(survey, float(np.sqrt(share * (1 - 1 / ratio) / (1 - share)) / 2))
        less = near.ratio()
        if less > 0.98 * ratio:
            return near
        ratio = less

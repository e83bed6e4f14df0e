"""The uncertainty of raked estimates: raking removes the part that margins explain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats

NOTHING = 1e-9
"""Share of the sum of squares below which the fit has left nothing to judge errors by."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Weights by group and report, from which the variance of every weighted mean follows.

    Respondents who were not raked are one group: their residuals are from the mean.

    Parameters
    ----------
    places : array (columns, groups)
        For each column whose margins the weights have, the number of each group's value.
    sums, squares : array (groups, reports)
        Sums of weights and of their squares, by group and report.

    Notes
    -----
    Let a respondent i have the score s_i, the weight w_i and the indicators x_i of the values of
    the raked columns. Raking keeps the weighted sums of x at the public margins t in every sample.
    With B the regression of s on x by these weights, ``sum x w x' B = sum x w s``,

        sum w s = t'B + sum w (s - x'B),

    and the first term does not depend on who was sampled. To first order neither does an error in
    B: it multiplies ``t - sum w x``, which is 0. So the raked mean is as uncertain as that of the
    residuals e = s - x'B (Deville and Särndal 1992), with the variance

        sum w**2 e**2 / (sum w)**2.

    Scores hold the noise of the reports, which no margin explains: it stays in e as a whole.
    Residuals of a fit are too small. With A = sum x w x' and D = sum x w**2 x', a respondent's
    expected square is short of its variance by the share 2 w x'A⁻x - x'A⁻DA⁻x, if all variances are
    alike; the sum is divided by what that leaves. In one column this is n/(n - 1) in each group.

    Examples
    --------
    >>> table = np.array([[10.0, 0.0], [0.0, 10.0]])
    >>> known = Residuals(np.array([[0, 1]]), table, table)
    >>> bool(known.covariance(np.array([0.0, 1.0]), np.array([0.0, 1.0])) < 1e-12)
    True
    """

    places: npt.NDArray[np.int64]
    sums: Floats
    squares: Floats

    def __post_init__(self) -> None:
        for name in ("places", "sums", "squares"):
            object.__setattr__(self, name, _checks.frozen(getattr(self, name)))

    @cached_property
    def _indicators(self) -> Floats:
        """The values of each group: a column of zeros and ones for each."""
        blocks = [np.eye(int(own.max()) + 1)[own] for own in self.places]
        return np.concatenate(blocks, axis=1)

    @cached_property
    def _inverse(self) -> Floats:
        """A generalized inverse of A: the indicators of each column add up to one."""
        x, weights = self._indicators, self.sums.sum(1)
        inverse: Floats = np.linalg.pinv(x.T @ (x * weights[:, None]), hermitian=True)
        return inverse

    def fitted(self, sums: Floats) -> Floats:
        """The expected score of a respondent of each group.

        Parameters
        ----------
        sums : array (groups, ...)
            Weighted sums of scores by group.
        """
        x = self._indicators
        found: Floats = x @ (self._inverse @ (x.T @ sums.reshape(len(x), -1)))
        return found.reshape(sums.shape)

    @cached_property
    def left(self) -> float:
        """Share of the sum of squares that the fit leaves, by which it is divided."""
        x, squares = self._indicators, self.squares.sum(1)
        spread = self._inverse @ (x.T @ (x * squares[:, None])) @ self._inverse
        own, all_ = (np.einsum("gi,ij,gj->g", x, form, x) for form in (self._inverse, spread))
        weights = squares / np.maximum(self.sums.sum(1), np.finfo(float).tiny)
        short = np.clip(2 * weights * own - all_, 0.0, 1.0)
        share = float(squares @ (1 - short) / squares.sum())
        return share if share > NOTHING else 0.0

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of the variance, by Satterthwaite (1946): few where few weigh much."""
        squares, sums = self.squares.sum(1), self.sums.sum(1)
        some = sums > 0
        each = squares[some] ** 3 / sums[some] ** 2
        return float(squares.sum() ** 2 / each.sum()) * self.left

    def covariance(self, first: Floats, second: Floats) -> Floats:
        """Covariance of the raked means of two scores, or of two rows of them.

        Parameters
        ----------
        first, second : array (..., reports)
            Scores of the reports.
        """
        total = self.sums.sum()
        both = []
        for scores in (first, second):
            # Counted from the mean, so that no digits cancel; the fit does not change by that.
            centered = scores - (scores @ self.sums.sum(0) / total)[..., None]
            means = np.moveaxis(self.fitted(np.moveaxis(centered @ self.sums.T, -1, 0)), 0, -1)
            both.append((centered, means))
        (a, m), (b, k) = both
        squares = self.squares
        apart = (a * b) @ squares.sum(0)
        apart = apart - (m * (b @ squares.T) + k * (a @ squares.T) - m * k * squares.sum(1)).sum(-1)
        return self._spread(apart / total**2)

    def variances(self, *, cumulative: bool = False) -> Floats:
        """Variance of the raked share of each report.

        Parameters
        ----------
        cumulative
            Of each report and all before it together.
        """
        sums, squares = self.sums, self.squares
        if cumulative:
            sums, squares = sums.cumsum(1), squares.cumsum(1)
        means = self.fitted(sums)
        within = squares * (1 - 2 * means) + means**2 * self.squares.sum(1)[:, None]
        return self._spread(within.sum(0) / self.sums.sum() ** 2)

    def _spread(self, apart: Floats) -> Floats:
        """Sums of squares of residuals as large as those of errors are expected to be."""
        if not self.left:
            return np.full(np.shape(apart), np.inf)
        return np.asarray(apart / self.left)

    def marginal(self, outputs: tuple[int, ...], others: tuple[int, ...]) -> Residuals:
        """The same for the reports of one of several questions.

        Parameters
        ----------
        outputs
            How many reports each question has.
        others
            Places of the other questions among them.
        """
        axes = tuple(at + 1 for at in others)
        sums, squares = (part.reshape(-1, *outputs).sum(axes) for part in (self.sums, self.squares))
        return Residuals(self.places, sums, squares)

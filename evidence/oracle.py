"""Kernel regression with the bandwidth of Farokhi (2020), which asks for the true values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.estimators import KernelRegression
from confide.foreign import Spectrum


@dataclass(frozen=True, kw_only=True)
class OracleRegression(KernelRegression):
    """Choose the bandwidth by cross-validation at given places (Farokhi 2020, eq. 8).

    The paper asks for the true values, which nobody but the respondents has: this is to reproduce
    it, and to see how far a choice from data is from the best. Given the noised numbers instead,
    it is ``bandwidth="cv-at-z"``.

    Parameters
    ----------
    places
        A place for each number of the spectrum, in the same order: one row each.
    """

    places: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        places = _checks.array(places=self.places)
        object.__setattr__(self, "places", places[:, None] if places.ndim == 1 else places)

    def _usable(self, spectrum: Spectrum) -> Spectrum:
        # There is a place for each number.
        return spectrum

    def _places(self, spectrum: Spectrum) -> Floats | None:
        return self.places

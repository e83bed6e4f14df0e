"""Kernel regression with the bandwidth of Farokhi (2020), which asks for the true values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide import _checks
from confide.errors import InvalidInput
from confide.estimators import KernelRegression, bandwidths, division
from confide.estimators.regression_bandwidths import _affordable, wave_pair
from confide.foreign import Spectrum
from confide.foreign.spectrum import wave_sums


@dataclass(frozen=True, kw_only=True)
class OracleRegression(KernelRegression):
    """Choose the bandwidth by cross-validation at given places (Farokhi 2020, eq. 8).

    The paper asks for the true values, which nobody but the respondents has: this is to reproduce
    it, and to see how far a choice from data is from the best. Given the noised numbers instead,
    it is the cross-validation that the paper's printed bandwidths agree with, which is a bad one.

    Parameters
    ----------
    places
        A place for each number of the spectrum, in the same order. One covariate, equal noise.
    """

    places: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "places", _checks.vector(places=self.places))

    def _usable(self, spectrum: Spectrum) -> Spectrum:
        # There is a place for each number.
        return spectrum

    def _chosen(
        self,
        spectrum: Spectrum,
        pilot: tuple[float, ...],
        plug_in: tuple[float, ...],
        finest: Sequence[float],
        *,
        crossed: bool,
        least: float,
        center: float,
        bounds: tuple[float, float],
    ) -> tuple[float, ...]:
        """The bandwidth of least squared error at the places, each number left out in turn."""
        x, kernel = self.places, bandwidths.named(self.kernel)
        if x.size != spectrum.n:
            raise InvalidInput(f"{spectrum.n} places, one a number", str(x.size))
        z, y = spectrum.values[:, 0], np.asarray(spectrum.response)
        smallest = max(plug_in[0] / 5, finest[0])
        window = max(z.max(), x.max()) - min(z.min(), x.min())
        smallest = _affordable(spectrum, kernel, smallest, window, most=division.MAX_LINE)
        candidates = np.geomspace(smallest, max(5 * plug_in[0], 2 * smallest), 25)
        sums, pair = wave_pair(spectrum, y - center, kernel, (smallest,), [window])
        t, base = sums.nodes[0], kernel.transform(smallest * sums.nodes[0])
        places, back = np.unique(x, return_inverse=True)
        losses = []
        for h in candidates:
            factor = kernel.transform(h * t) / base
            density, product = (
                wave_sums(t[:, None], -places[:, None], part * factor).real[back] for part in pair
            )
            weights: Any = (sums.weights[0] * factor).astype(complex)
            kernel_at = wave_sums(t[:, None], (z - x)[:, None], weights).real
            density = density - kernel_at / spectrum.n
            product = product - kernel_at * (y - center) / spectrum.n
            scale = spectrum.n / (spectrum.n - 1)
            fitted = center + scale * product / np.maximum(scale * density, least)
            losses.append(float(((y - np.clip(fitted, *bounds)) ** 2).sum()))
        return (float(candidates[int(np.argmin(losses))]),)

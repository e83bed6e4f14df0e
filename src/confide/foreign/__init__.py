"""Data that were noised elsewhere: laws of noise, and summaries of such data."""

from __future__ import annotations

from confide.foreign.noise_laws import Custom, Gaussian, Laplace, Noise, NoNoise, TwoSidedGamma
from confide.foreign.noised import Noised
from confide.foreign.spectrum import Spectrum

__all__ = [
    "Custom",
    "Gaussian",
    "Laplace",
    "NoNoise",
    "Noise",
    "Noised",
    "Spectrum",
    "TwoSidedGamma",
]

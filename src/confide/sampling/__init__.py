"""Private sampling: a respondent with many records releases a few synthetic ones."""

from __future__ import annotations

from confide.sampling.densities import SampleLaw
from confide.sampling.fleet import Fleet
from confide.sampling.mbde import MBDE
from confide.sampling.mollifier import FiniteMollifier, Mollifier
from confide.sampling.naive import NaiveSampler
from confide.sampling.public_records import public_masses
from confide.sampling.ratios import KDE, Binned, Classifier, GaussianMixture, Ratio
from confide.sampling.references import (
    Box,
    Gaussian,
    Product,
    Reference,
    Sample,
    reference_from_dict,
)
from confide.sampling.register import from_dict, from_settings, samples, table_from_settings
from confide.sampling.sampler import Sampler, Samples

__all__ = [
    "KDE",
    "MBDE",
    "Binned",
    "Box",
    "Classifier",
    "FiniteMollifier",
    "Fleet",
    "Gaussian",
    "GaussianMixture",
    "Mollifier",
    "NaiveSampler",
    "Product",
    "Ratio",
    "Reference",
    "Sample",
    "SampleLaw",
    "Sampler",
    "Samples",
    "from_dict",
    "from_settings",
    "public_masses",
    "reference_from_dict",
    "samples",
    "table_from_settings",
]

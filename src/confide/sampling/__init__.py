"""Private sampling: a respondent with many records releases a few synthetic ones."""

from confide.mechanisms.finite_mollifier import FiniteMollifier
from confide.mechanisms.samples import Sampler, Samples
from confide.sampling.composed import Product, Sample, reference_from_dict
from confide.sampling.diagnostics import Judge
from confide.sampling.fleet import Fleet
from confide.sampling.laws import SampleLaw
from confide.sampling.mbde import MBDE
from confide.sampling.mollifier import Mollifier
from confide.sampling.naive import NaiveSampler
from confide.sampling.ratios import KDE, Binned, Classifier, GaussianMixture, LogRatio, Ratio
from confide.sampling.references import Box, Gaussian, Reference

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
    "Judge",
    "LogRatio",
    "Mollifier",
    "NaiveSampler",
    "Product",
    "Ratio",
    "Reference",
    "Sample",
    "SampleLaw",
    "Sampler",
    "Samples",
    "reference_from_dict",
]

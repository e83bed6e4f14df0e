"""Estimators: recipes that turn a summary into a curve."""

from confide.estimators.deconvolution import Deconvolution
from confide.estimators.likelihood import Likelihood

__all__ = ["Deconvolution", "Likelihood"]

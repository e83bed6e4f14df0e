"""Estimators: recipes that turn a summary into a curve."""

from confide.estimators.deconvolution import Deconvolution
from confide.estimators.likelihood import Likelihood
from confide.estimators.shares import CategoryShares

__all__ = ["CategoryShares", "Deconvolution", "Likelihood"]

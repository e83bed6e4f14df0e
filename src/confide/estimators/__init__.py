"""Estimators: recipes that turn a summary into a curve."""

from confide.estimators.deconvolution import Deconvolution
from confide.estimators.kernel_regression import KernelRegression
from confide.estimators.likelihood import Likelihood
from confide.estimators.linear import LinearRegression
from confide.estimators.logistic import LogisticRegression
from confide.estimators.partition import (
    PartitionClassification,
    PartitionRegression,
    partitioning,
    suggest_cells,
    truncation,
)
from confide.estimators.ratio import RatioRegression
from confide.estimators.regression_bandwidth import Oracle
from confide.estimators.shares import CategoryShares

__all__ = [
    "CategoryShares",
    "Deconvolution",
    "KernelRegression",
    "Likelihood",
    "LinearRegression",
    "LogisticRegression",
    "Oracle",
    "PartitionClassification",
    "PartitionRegression",
    "RatioRegression",
    "partitioning",
    "suggest_cells",
    "truncation",
]

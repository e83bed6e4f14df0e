"""Estimators: recipes that turn a summary into a curve."""

from __future__ import annotations

from confide.estimators.adaptive import Adaptive, density
from confide.estimators.adaptive_regression import AdaptiveRegression
from confide.estimators.correlations import Correlation, Covariance, correlations, covariance
from confide.estimators.deconvolution import Deconvolution
from confide.estimators.kernel import KernelRegression
from confide.estimators.likelihood import Likelihood
from confide.estimators.linear import LinearRegression, LogisticRegression
from confide.estimators.partition_curves import partition_curve
from confide.estimators.partition_regression import (
    PartitionClassification,
    PartitionRegression,
    suggest_cells,
    truncation,
)
from confide.estimators.ratio import RatioRegression
from confide.estimators.relating import relate, thresholds
from confide.estimators.shares import CategoryShares
from confide.estimators.trends import Trend, trend
from confide.estimators.zooms import Zoom, zoom

__all__ = [
    "Adaptive",
    "AdaptiveRegression",
    "CategoryShares",
    "Correlation",
    "Covariance",
    "Deconvolution",
    "KernelRegression",
    "Likelihood",
    "LinearRegression",
    "LogisticRegression",
    "PartitionClassification",
    "PartitionRegression",
    "RatioRegression",
    "Trend",
    "Zoom",
    "correlations",
    "covariance",
    "density",
    "partition_curve",
    "relate",
    "suggest_cells",
    "thresholds",
    "trend",
    "truncation",
    "zoom",
]

"""Estimators of densities by name, as commands and plans know them. A new one is one entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confide.estimators.adaptive import Adaptive
from confide.estimators.deconvolution import Deconvolution
from confide.estimators.likelihood import Likelihood
from confide.foreign import Spectrum
from confide.summaries import Counts


@dataclass(frozen=True)
class Method:
    """A way to recover a density.

    Parameters
    ----------
    make
        Makes the estimator, whose ``fit(summary)`` gives a density.
    options
        Its own options by name, each with what it can be; the command offers them.
    noised
        Makes the summary that it takes of numbers that somebody else noised, from the numbers,
        ``noise=``, ``low=`` and ``high=``.
    bounded
        Whether that summary needs bounds.
    least
        The fewest respondents that it can be asked about.
    planned
        Whether plans simulate it, many times over.
    caveat
        What must be said beside its intervals, or nothing.
    """

    make: Callable[..., Any]
    options: Mapping[str, str]
    noised: Callable[..., Any]
    bounded: bool
    least: int = 1
    planned: bool = True
    caveat: str = ""


DENSITIES: dict[str, Method] = {
    "adaptive": Method(Adaptive, {}, Counts.of_noised, bounded=True),
    "likelihood": Method(
        Likelihood,
        {"smoothing": "auto, or a number from 0 to 1"},
        Counts.of_noised,
        bounded=True,
        planned=False,
    ),
    "deconvolution": Method(
        Deconvolution,
        {
            "kernel": "fan, gaussian or cauchy",
            "bandwidth": "plug-in, normal-reference, cv, or a number",
        },
        Spectrum.of,
        bounded=False,
        least=2,
        caveat="The intervals of quantiles and of the density are without smoothing bias: those of "
        "outer quantiles can miss the truth more often than they hold it. Use --method adaptive, "
        "with --range for noised numbers, if you need intervals.",
    ),
}
"""Every method, by name."""
DEFAULT = "adaptive"
"""The method of results and plans, if no other is asked for."""

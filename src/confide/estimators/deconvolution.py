"""Linear deconvolution: invert the noise exactly, then smooth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.curves import CellDensity, Density, WaveDensity
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators import bandwidths, division, inverting
from confide.estimators.bands import CellBand, WaveBand
from confide.estimators.intervals import unbiased_means
from confide.foreign.spectrum import Spectrum
from confide.summaries import Counts
from confide.summaries.counts import expected
from confide.summaries.plausibility import checked


@dataclass(frozen=True, kw_only=True)
class Deconvolution:
    """The deconvoluting kernel density estimate.

    From counts of Laplace or two-sided gamma reports it takes the exact unbiased estimate of every
    cell and smooths those by a kernel that is folded back at the two ends of the support, at a
    cost that does not depend on the number of reports. From numbers noised elsewhere it divides
    characteristic functions. One to three dimensions.

    Parameters
    ----------
    kernel
        ``"fan"``, ``"gaussian"`` or ``"cauchy"``; see `confide.estimators.bandwidths.named`.
    bandwidth
        ``"plug-in"`` (Delaigle and Gijbels 2004), ``"normal-reference"``, ``"cv"`` (unstable:
        errors up to thirty times the best have been seen) or a number in the units of the values;
        on a log lattice, where smoothing acts on the logarithm, in natural logs. With several
        axes, a list may give one for each. ``density.bandwidth`` is what was used; on lattices of
        fewer than 32 cells that may be 0, no smoothing at all.
    positive
        Cut the estimate at zero and scale it to one. Otherwise the linear estimate itself, with
        whatever negative stretches it has.

    Notes
    -----
    ``density.interval("pdf", x)`` is the linear estimate plus and minus normal quantiles of its
    standard error, which is exact given the reports. It is an interval for the smoothed density:
    what the kernel has blurred, the bias, is not in it. The same holds for the cdf and quantiles:
    over 40 samples of 8,000 lognormal incomes (deviation .45 of the logarithm, median 36,316) with
    Laplace noise of scale 8,000, intervals of level .95 held the 10 % quantile in 7, the median in
    31 and the 90 % quantile in 33, and those of `cf.density` in 40, 40 and 39. Take those if you
    need intervals. The interval for the mean needs no smoothing and has no bias.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> from confide.summaries import Counts
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=64), epsilon=4.0)
    >>> values = np.random.default_rng(1).beta(2, 5, 20_000)
    >>> counts = Counts.of(mechanism.simulate(values, seed=1))
    >>> density = Deconvolution().fit(counts)
    >>> bool(abs(density.quantile(0.5) - np.median(values)) < 0.02)
    True
    """

    kernel: str = "fan"
    bandwidth: str | float | Sequence[float] = "plug-in"
    positive: bool = True

    def __post_init__(self) -> None:
        bandwidths.named(self.kernel)
        if isinstance(self.bandwidth, str):
            _checks.one_of(bandwidths.METHODS, bandwidth=self.bandwidth)
        elif np.ndim(self.bandwidth) == 0:
            _checks.positive(bandwidth=self.bandwidth)
        else:
            each = [_checks.positive(bandwidth=h) for h in np.asarray(self.bandwidth).tolist()]
            object.__setattr__(self, "bandwidth", tuple(each))

    def fit(self, summary: Counts | Spectrum) -> Density:
        """Estimate the density behind a summary.

        Parameters
        ----------
        summary
            Counts of a mechanism whose noise can be undone, or a spectrum.
        """
        if isinstance(summary, Spectrum):
            return self._fit_spectrum(summary)
        return self._fit_counts(expected(summary))

    def _chosen(
        self, count: int, axes: Callable[[], Sequence[bandwidths.Axis]]
    ) -> tuple[float, ...]:
        if isinstance(self.bandwidth, str):
            return bandwidths.chosen(self.bandwidth, axes(), bandwidths.named(self.kernel))
        given = np.atleast_1d(np.asarray(self.bandwidth, dtype=np.float64))
        if given.size not in (1, count):
            raise InvalidInput(f"{count} bandwidths, one for each axis", str(given.size))
        return tuple(np.broadcast_to(given, count).tolist())

    def _facts(self, source: dict[str, Any], h: tuple[float, ...]) -> dict[str, Any]:
        bandwidth = h[0] if len(h) == 1 else list(h)
        return {"method": "deconvolution", **source, "kernel": self.kernel, "bandwidth": bandwidth}

    def _fit_counts(self, counts: Counts) -> Density:
        undone = inverting.inverses(counts.mechanism)
        if counts.n < 2:
            raise InvalidInput("two or more reports", str(counts.n))
        kernel = bandwidths.named(self.kernel)
        total = checked(counts).total
        shares = total / total.sum()
        squares = counts.total if counts.weights is None else counts.weights[1]

        def axes() -> list[bandwidths.Axis]:
            result = []
            for axis, inverse in enumerate(undone):
                others = tuple(other for other in range(len(undone)) if other != axis)
                result.append(inverse.axis(shares.sum(others), counts.effective_n, kernel))
            return result

        h = self._chosen(len(undone), axes)
        masses = shares
        for axis, (inverse, b) in enumerate(zip(undone, h, strict=True)):
            masses = inverting.along(axis, inverse.masses, masses)
            masses = inverting.along(axis, partial(inverse.smooth, kernel, b), masses)
        band = CellBand(
            undone,
            kernel,
            h,
            masses,
            squares / total.sum() ** 2,
            shares,
            undone[0].scores(undone[0].lattice.centers) if len(undone) == 1 else None,
            self.positive,
        )
        return CellDensity(
            tuple(inverse.lattice.edges for inverse in undone),
            _cut(masses) if self.positive else masses,
            names=tuple(counts.mechanism.axes),
            facts=self._facts(counts.facts, h),
            intervals=band,
            means=unbiased_means(counts),
        )

    def _fit_spectrum(self, spectrum: Spectrum) -> Density:
        if spectrum.axes > 3:
            raise Unsupported("Deconvolution takes one to three columns: leave some out.")
        spectrum = division.plausible(spectrum)
        if spectrum.n < 2:
            raise InvalidInput("two or more numbers", str(spectrum.n))
        kernel = bandwidths.named(self.kernel)
        h = self._chosen(spectrum.axes, lambda: division.axes_of(spectrum, kernel))
        bottom, top = spectrum.values.min(axis=0), spectrum.values.max(axis=0)
        low = bottom if spectrum.low is None else np.array(spectrum.low)
        high = top if spectrum.high is None else np.array(spectrum.high)
        # Numbers that are all alike still have a density, as wide as the kernel.
        alone = np.where(low < high, 0.0, 4.0) * h
        low, high = low - alone, high + alone
        # The sum of waves is exact while |x - z| stays within this window; users of the linear
        # estimate may look beyond the data.
        room = 1.0 if self.positive else {1: 4.0, 2: 1.5, 3: 1.0}[spectrum.axes]
        window = room * (np.maximum(top, high) - np.minimum(bottom, low))
        if isinstance(self.bandwidth, str):
            wanted, h = h, division.affordable(spectrum, kernel, h, window.tolist())
            division.warn_raised(wanted, h)
        sums = division.divide(spectrum, kernel, h, window.tolist())
        reach = window * (1 - 1 / room)
        names = spectrum.labels
        facts = self._facts(spectrum.facts, h)
        band = None
        if spectrum.axes == 1:
            band = WaveBand(
                spectrum,
                sums.nodes[0],
                sums.weights[0],
                float(low[0]),
                float(high[0]),
                self.positive,
                float(reach[0]),
            )
        if not self.positive:
            flat = sums.amplitudes.ravel()
            excess = spectrum.values.var(axis=0) - [noise.variance for noise in spectrum.noise]
            moments = (spectrum.values.mean(axis=0), np.sqrt(np.maximum(excess, 0)))
            return WaveDensity(
                sums.frequencies,
                flat.real,
                flat.imag,
                low=low,
                high=high,
                moments=moments,
                reach=reach,
                names=names,
                facts=facts,
                intervals=band,
            )
        edges = tuple(
            np.linspace(a, b, _cells(b - a, bandwidth, kernel, spectrum.axes) + 1)
            for a, b, bandwidth in zip(low, high, h, strict=True)
        )
        masses = _cut(sums.masses(edges))
        return CellDensity(edges, masses, names=names, facts=facts, intervals=band)


def _cut(masses: Floats) -> Floats:
    kept = np.maximum(masses, 0)
    result: Floats = kept / kept.sum()
    return result


def _cells(length: float, bandwidth: float, kernel: bandwidths.Kernel, axes: int) -> int:
    """Cells fine against the smoothing, within what memory and eyes can use."""
    fewest, most = {1: (512, 8192), 2: (64, 512), 3: (32, 96)}[axes]
    wanted = 4 * length / bandwidth
    if length / most > bandwidth * math.sqrt(min(kernel.second_moment, 6.0)):
        warnings.warn(
            f"The {most} cells of the density are {length / most:.2g} wide each, wider than its "
            f"bandwidth {bandwidth:.2g} smooths: remove outliers, or give low= and high=.",
            ConfideWarning,
            stacklevel=2,
        )
    return int(np.clip(math.ceil(wanted), fewest, most))

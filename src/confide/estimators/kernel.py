"""Nadaraya-Watson regression with a kernel that undoes the noise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.curves import CellRegression, NodeRegression, Regression, WaveRegression
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators import bandwidths, division, inverting, product, regression_bandwidths
from confide.estimators.fieller import CellRatioBand, ProductRatioBand, WaveRatioBand
from confide.estimators.linear import baseline
from confide.estimators.responses import facts, limits, names, with_response
from confide.foreign.spectrum import Spectrum
from confide.summaries import Counts

CROSSED = ("corrected-cv", "cv-at-z")
METHODS = ("auto", "plug-in", *CROSSED)
POINTS = 1.38
"""How many times the plug-in bandwidth the normal reference is where values sit at a few points.
It was 1.4 to 1.5 for years of education, and at most 1.3 for smooth densities with two humps."""
FEW = 100
"""Respondents below which nothing shows that values sit at a few points."""
FLOOR = 0.05
"""Least density to divide by, as a share of that of even spread."""
ROOM = 2.0
"""Ranges of the numbers over which the sums of waves of one covariate are the estimate."""
CELLS = {1: 512, 2: 48, 3: 20}
"""Cells of each covariate on which the density is checked, by the number of covariates."""
NOTABLE, NOTABLE_NUMBERS = 0.01, 0.1
"""Share of the grid at the floor from which on somebody should know, and share of the numbers: of
those some percent lie where nobody is, because noise took them there."""
LOOKED_AT = 2000
"""Numbers at which the density of several covariates is compared with its floor, at least."""


@dataclass(frozen=True, kw_only=True)
class KernelRegression:
    """The mean of a response given a private number, by the adjusted kernel (Farokhi 2020, eq. 7).

    The density of the values and its product with the mean response are estimated alike, each by
    undoing the noise exactly and smoothing what is left; the curve is their ratio. From counts of
    Laplace or two-sided gamma reports the cost does not depend on the number of respondents.
    For other mechanisms, and for most purposes, take `RatioRegression`. One to three covariates;
    numbers that somebody else noised may stand beside public ones (`confide.foreign.NoNoise`).

    Parameters
    ----------
    kernel
        ``"gaussian"``, ``"fan"`` or ``"cauchy"``; see `confide.estimators.bandwidths.named`.
    bandwidth
        ``"auto"``: by corrected cross-validation where values sit at a few points, which shows in a
        plug-in bandwidth far below the one for normal values, and else the plug-in one.
        ``"plug-in"``: that of the density (Delaigle and Gijbels 2004), the steadiest choice,
        raised up to twofold where the density would have holes to divide by.
        ``"corrected-cv"``: the one of least squared error on held-out fifths, the noise of the
        held-out reports undone too; better where the curve is much smoother or rougher than the
        density, and noisier. ``"cv-at-z"``: the one of least error where each number of a spectrum
        is predicted at its noised place from all others. It smooths too much, and is here for
        comparison with Farokhi (2020). A number in the units of the values (in natural logs on a
        log lattice), or a list with one for each covariate.
    loss
        What cross-validation makes small: ``"squared"``, ``"absolute"``, ``"log"`` (minus the
        log-likelihood of a response of 0 and 1), or a function of responses and predictions,
        arrays in and an array out. In corrected cross-validation the mean of each of 32 levels
        stands for a response with more values than that, unless the loss is the squared one.
    floor
        Least density to divide by, in density units; by default .05/(high - low). Without it the
        ratio has poles wherever the estimated density passes zero.
    clip
        Keep the curve within the bounds of the response, and take off the mean response first, so
        that it falls back to that where the density is at the floor. With ``clip=False`` it is
        product/max(density, floor) as printed.
    response
        Name of the private question that is the response; by default the public response of the
        summary.

    Notes
    -----
    ``curve.facts["floored"]`` is the share of the range where the density is at the floor; a
    warning is given from 1 % on. ``curve.interval`` inverts a normal test on the exact variances
    of the two linear sums (Fieller 1954), and is as wide as the response where the density cannot
    be told from zero. It is pointwise, and for the smoothed curve at the bandwidths that were
    chosen: what the kernel has blurred, the bias, is not in it. With survey weights, squared
    weights are spread over the responses of a report evenly.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> from confide.summaries import Counts
    >>> x = np.random.default_rng(1).beta(2, 2, 50_000)
    >>> y = 2 * x + np.random.default_rng(2).normal(0, 0.1, x.size)
    >>> reports = Laplace(Lattice(low=0, high=1, size=64), epsilon=5.0).simulate(x, seed=1)
    >>> curve = KernelRegression().fit(Counts.of(reports, response=y))
    >>> print(np.round(curve.predict([0.3, 0.5, 0.7]), 1))
    [0.6 1.  1.4]
    """

    kernel: str = "gaussian"
    bandwidth: str | float | Sequence[float] = "auto"
    loss: str | regression_bandwidths.Loss | None = None
    floor: float | None = None
    clip: bool = True
    response: str | None = None

    def __post_init__(self) -> None:
        bandwidths.named(self.kernel)
        if isinstance(self.bandwidth, str):
            _checks.one_of(METHODS, bandwidth=self.bandwidth)
        else:
            each = np.atleast_1d(np.asarray(self.bandwidth)).tolist()
            chosen = tuple(_checks.positive(bandwidth=h) for h in each)
            object.__setattr__(self, "bandwidth", chosen[0] if len(chosen) == 1 else chosen)
        if self.loss is not None:
            if not callable(self.loss):
                _checks.one_of(tuple(regression_bandwidths.LOSSES), loss=self.loss)
            if self.bandwidth not in CROSSED:
                raise InvalidInput(
                    "bandwidth='corrected-cv' or 'cv-at-z' to go with a loss", f"{self.bandwidth!r}"
                )
        if self.floor is not None:
            object.__setattr__(self, "floor", _checks.positive(floor=self.floor))

    def fit(self, summary: Counts | Spectrum) -> Regression:
        """Estimate the regression behind a summary.

        Parameters
        ----------
        summary
            Counts with a response, of a mechanism whose noise can be undone, or a spectrum with
            a response.
        """
        with _own_name():
            if isinstance(summary, Spectrum):
                return self._fit_spectrum(with_response(summary, self.response))
            if isinstance(summary, Counts):
                return self._fit_counts(with_response(summary, self.response), summary)
        raise InvalidInput("counts or a spectrum", _checks.shown(summary))

    def _facts(self, summary: Counts | Spectrum, h: tuple[float, ...]) -> dict[str, Any]:
        return facts("kernel regression", summary, self.response) | {
            "kernel": self.kernel,
            "bandwidth": h[0] if len(h) == 1 else [float(one) for one in h],
        }

    def _loss(self, summary: Counts | Spectrum) -> regression_bandwidths.Loss | None:
        """The loss that the two sums of a ratio do not tell, or None for the squared error."""
        found = regression_bandwidths.loss_of(self.loss, summary)
        return None if self.loss in (None, "squared") else found

    def _given(self, count: int) -> tuple[float, ...] | None:
        if isinstance(self.bandwidth, str):
            return None
        given = np.atleast_1d(np.asarray(self.bandwidth, dtype=np.float64))
        if given.size not in (1, count):
            raise InvalidInput(f"{count} bandwidths, one for each covariate", str(given.size))
        return tuple(np.broadcast_to(given, count).tolist())

    def _fit_counts(self, counts: Counts, given: Counts) -> Regression:
        if self.bandwidth == "cv-at-z":
            raise Unsupported(
                "Cross-validation at z takes numbers that were noised (Spectrum), not counts of "
                "reports: take bandwidth='corrected-cv'."
            )
        inverses = inverting.inverses(counts.mechanism)
        _few(counts.n, len(inverses))
        response = counts.response
        assert response is not None
        kernel = bandwidths.named(self.kernel)
        total = counts.total
        size = total.sum()
        center = float(response.sums.sum() / size) if self.clip else 0.0
        bounds = (response.low, response.high) if self.clip else (-math.inf, math.inf)
        shares = total / size
        reports = np.stack([shares, response.sums / size - center * shares])
        sizes = [inverse.lattice.size for inverse in inverses]
        if self.floor is None:
            least: float | Floats = FLOOR / math.prod(sizes)
        else:
            least = np.asarray(self.floor)
            for inverse in inverses:
                least = np.multiply.outer(least, inverse.lattice.widths)

        unbiased = reports
        for axis, inverse in enumerate(inverses):
            unbiased = inverting.along(axis + 1, inverse.masses, unbiased)

        def smoothed(h: Sequence[float]) -> Floats:
            result = unbiased
            for axis, (inverse, b) in enumerate(zip(inverses, h, strict=True)):
                result = inverting.along(axis + 1, partial(inverse.smooth, kernel, b), result)
            return result

        h = self._given(len(inverses))
        if h is None:
            axes = []
            for axis, inverse in enumerate(inverses):
                others = tuple(other for other in range(len(inverses)) if other != axis)
                axes.append(inverse.axis(shares.sum(others), counts.effective_n, kernel))
            plug_in = bandwidths.plug_in(axes, kernel)
            h = regression_bandwidths.raised(plug_in, lambda b: smoothed(b)[0], least)
            if self._crossed(axes, plug_in):
                folds = regression_bandwidths.cell_folds(counts, inverses, kernel, center)
                centered = (bounds[0] - center, bounds[1] - center)
                finest = [axis.finest for axis in axes]
                h = regression_bandwidths.corrected_cv(
                    folds, h, finest, least, centered, loss=self._loss(counts), center=center
                )
        sums = smoothed(h)
        density, weighed = sums
        about = self._facts(given, h)
        about["floored"] = _floored(float((density < least).mean()))
        moments = np.stack([total, response.sums, response.squares])
        if counts.weights is not None:
            moments = moments * np.divide(
                counts.weights[1], total, out=np.zeros(total.shape), where=total > 0
            )
        moments[2] += center * (center * moments[0] - 2 * moments[1])
        moments[1] -= center * moments[0]
        band = CellRatioBand(inverses, kernel, h, sums, moments / size**2, center, bounds)
        return CellRegression(
            tuple(inverse.lattice.edges for inverse in inverses),
            np.clip(center + weighed / np.maximum(density, least), *bounds),
            names=names(counts),
            facts=about,
            band=band,
            baseline=baseline(counts),
        )

    def _crossed(self, axes: Sequence[bandwidths.Axis], plug_in: Sequence[float]) -> bool:
        """Whether to cross-validate: if asked to, or where one covariate sits at a few points."""
        if self.bandwidth != "auto" or len(axes) > 1 or axes[0].n < FEW:
            return self.bandwidth == "corrected-cv"
        (normal,) = bandwidths.normal_reference(axes, bandwidths.named(self.kernel))
        return normal > POINTS * plug_in[0]

    def _usable(self, spectrum: Spectrum) -> Spectrum:
        """The numbers that the noise could have brought where they are."""
        return division.plausible(spectrum)

    def _places(self, spectrum: Spectrum) -> Floats | None:
        """Where each number is predicted from all others to choose a bandwidth, if anywhere."""
        return spectrum.values if self.bandwidth == "cv-at-z" else None

    def _bandwidths(
        self,
        spectrum: Spectrum,
        density: Callable[[Sequence[float]], Floats],
        affordable: Callable[[Sequence[float]], tuple[float, ...]],
        *,
        least: float,
        center: float,
        bounds: tuple[float, float],
    ) -> tuple[float, ...]:
        """The bandwidths of noised numbers, as asked for.

        Parameters
        ----------
        spectrum
            The numbers.
        density
            Bandwidths to the estimated density on a grid.
        affordable
            Bandwidths to those, raised where they would need too many waves.
        least, center, bounds
            Least density to divide by, the response that is taken off, and the response's bounds.
        """
        kernel = bandwidths.named(self.kernel)
        axes = division.axes_of(spectrum, kernel)
        finest = [axis.finest for axis in axes]
        wanted = bandwidths.plug_in(axes, kernel)
        plug_in = affordable(wanted)
        places = self._places(spectrum)
        if places is not None:
            return regression_bandwidths.cv_at(
                places,
                spectrum,
                kernel,
                plug_in=plug_in,
                finest=finest,
                least=least,
                center=center,
                bounds=bounds,
                loss=regression_bandwidths.loss_of(self.loss, spectrum),
            )
        pilot = regression_bandwidths.raised(plug_in, density, least)
        chosen = pilot
        if self._crossed(axes, plug_in):
            folds = regression_bandwidths.number_folds(
                spectrum, kernel, pilot=pilot, finest=finest, limits=limits(spectrum), center=center
            )
            centered = (bounds[0] - center, bounds[1] - center)
            chosen = regression_bandwidths.corrected_cv(
                folds, pilot, finest, least, centered, loss=self._loss(spectrum), center=center
            )
        # Of no interest where the density asked for bandwidths above the smallest in reach anyway.
        if chosen == plug_in or plug_in[0] > regression_bandwidths.RAISES[-1] * wanted[0]:
            division.warn_raised(wanted, plug_in)
        return chosen

    def _fit_spectrum(self, spectrum: Spectrum) -> Regression:
        spectrum = self._usable(spectrum)
        _few(spectrum.n, spectrum.axes)
        y = spectrum.response
        assert y is not None
        self._loss(spectrum)
        center = float(y.mean()) if self.clip else 0.0
        bounds = (float(y.min()), float(y.max())) if self.clip else (-math.inf, math.inf)
        low, high = limits(spectrum)
        least = self.floor or FLOOR / float(np.prod(high - low))
        fit = self._fit_line if spectrum.axes == 1 else self._fit_product
        return fit(spectrum, (low, high), least=least, center=center, bounds=bounds)

    def _fit_line(
        self,
        spectrum: Spectrum,
        box: tuple[Floats, Floats],
        *,
        least: float,
        center: float,
        bounds: tuple[float, float],
    ) -> Regression:
        """The regression on one covariate, whose sums are waves."""
        kernel, (low, high) = bandwidths.named(self.kernel), box
        # The sums of waves are exact while |x - z| stays within this window.
        (span,) = regression_bandwidths.span(spectrum, box)
        window = ROOM * span
        edges = np.linspace(low[0], high[0], CELLS[1] + 1)
        width = edges[1] - edges[0]

        def density(h: Sequence[float]) -> Floats:
            found = division.divide(spectrum, kernel, h, [span]).masses([edges])
            return np.asarray(found / width, dtype=np.float64)

        def affordable(h: Sequence[float]) -> tuple[float, ...]:
            return division.affordable(spectrum, kernel, h, [window])

        h = self._given(1)
        if h is None:
            chosen = self._bandwidths(
                spectrum, density, affordable, least=least, center=center, bounds=bounds
            )
            h = affordable(chosen)
            division.warn_raised(chosen, h)
        sums = division.divide(spectrum, kernel, h, [window])
        assert spectrum.response is not None
        t, y = sums.nodes[0], spectrum.response - center
        weighed = spectrum.waves(t, weights=y, damped=True) * sums.weights[0] / spectrum.n
        reach = (ROOM - 1) * span
        ends = (float(low[0]) - reach, float(high[0]) + reach)
        about = self._facts(spectrum, h)
        about["floored"] = _floored(float((sums.masses([edges]) / width < least).mean()))
        return WaveRegression(
            sums.frequencies,
            np.stack([sums.amplitudes.real, sums.amplitudes.imag]),
            np.stack([weighed.real, weighed.imag]),
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            floor=least,
            center=center,
            bounds=bounds if self.clip else None,
            reach=(reach,),
            names=names(spectrum),
            facts=about,
            band=WaveRatioBand(spectrum, t, sums.weights[0], center, bounds, ends),
            baseline=baseline(spectrum),
        )

    def _fit_product(
        self,
        spectrum: Spectrum,
        box: tuple[Floats, Floats],
        *,
        least: float,
        center: float,
        bounds: tuple[float, float],
    ) -> Regression:
        """The regression on several covariates, whose sums are those of product kernels."""
        kernel, (low, high) = bandwidths.named(self.kernel), box
        window = regression_bandwidths.span(spectrum, box)
        size = CELLS[spectrum.axes]
        edges = [np.linspace(a, b, size + 1) for a, b in zip(low, high, strict=True)]
        centers = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
        one = np.ones((1, spectrum.n))

        def density(h: Sequence[float]) -> Floats:
            kernels = product.ProductKernel.of(spectrum, kernel, h, window)
            found: Floats = kernels.on_grid(centers, one)[0]
            return found

        def affordable(h: Sequence[float]) -> tuple[float, ...]:
            return product.affordable(spectrum, kernel, h, window, box)

        h = self._given(spectrum.axes)
        if h is None:
            chosen = self._bandwidths(
                spectrum, density, affordable, least=least, center=center, bounds=bounds
            )
            h = affordable(chosen)
            division.warn_raised(chosen, h)
        kernels = product.ProductKernel.of(spectrum, kernel, h, window)
        assert spectrum.response is not None
        sums = kernels.at_nodes(low, high, np.concatenate([one, [spectrum.response - center]]))
        curve = NodeRegression(
            *sums,
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            floor=least,
            center=center,
            bounds=bounds if self.clip else None,
            names=names(spectrum),
            facts=self._facts(spectrum, h),
            band=ProductRatioBand(kernels, center, bounds, low, high),
            baseline=baseline(spectrum),
        )
        # Of a box most corners are empty. What matters is where numbers lie.
        some = np.clip(spectrum.values[:: max(1, spectrum.n // LOOKED_AT)], low, high)
        _floored(float((curve.sums(some)[0] < least).mean()), spectrum.axes)
        share = float((curve.grid_sums(centers)[0] < least).mean())
        return replace(curve, facts={**curve.facts, "floored": share})


def _few(n: int, axes: int) -> None:
    if n < 2:
        raise InvalidInput("two or more reports", str(n))
    if axes > 3:
        raise Unsupported(
            "Kernel regression takes one to three covariates: leave some out, or take "
            "LinearRegression (--method linear)."
        )


def _floored(share: float, covariates: int = 1) -> float:
    if share > (NOTABLE if covariates == 1 else NOTABLE_NUMBERS):
        where, advice = "on {:.0%} of the range", "a larger bandwidth, or RatioRegression"
        if covariates > 1:
            where, advice = "at {:.0%} of the numbers", "larger bandwidths, or fewer covariates"
        warnings.warn(
            f"The estimated density is at its floor {where.format(share)}, where the curve is a "
            f"guess: take {advice}{' (--method ratio)' if covariates == 1 else ''}.",
            ConfideWarning,
            stacklevel=5,
        )
    return share


@contextmanager
def _own_name() -> Iterator[None]:
    """Name this estimator where the deconvolution inside it cannot be done."""
    try:
        yield
    except Unsupported as error:
        if error.method != "Deconvolution":
            raise
        raise Unsupported(
            error.reason, method="KernelRegression", instead="estimators.RatioRegression"
        ) from error

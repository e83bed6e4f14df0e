"""Claims of the papers about densities, checked by exact formulas. See docs/evidence/papers.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

GAUSSIAN: Callable[[np.ndarray], np.ndarray] = lambda u: np.exp(-(u**2) / 2)  # noqa: E731
CAUCHY: Callable[[np.ndarray], np.ndarray] = lambda u: np.exp(-np.abs(u))  # noqa: E731


def exact_mise(kernel: Callable[[np.ndarray], np.ndarray], h: float, n: float, b: float) -> float:
    """Mean integrated squared error for X ~ N(0, 1) and Laplace noise of scale b.

    Stefanski and Carroll (1990): variance (1/2 pi n) int K(ht)^2 (1/U^2 - X^2), squared bias
    (1/2 pi) int X^2 (1 - K(ht))^2, with characteristic functions X, U and kernel transform K.
    """
    # The Gaussian transform is gone at 9/h, the Cauchy one at 40/h.
    t = np.linspace(0, max(12.0, 40 / h), 100_001)
    x = np.exp(-(t**2) / 2)
    u = 1 / (1 + (b * t) ** 2)
    k = kernel(h * t)
    variance = np.trapezoid(k**2 * (1 / u**2 - x**2), t) / (np.pi * n)
    return float(variance + np.trapezoid(x**2 * (1 - k) ** 2, t) / np.pi)


def best(kernel: Callable[[np.ndarray], np.ndarray], n: float) -> tuple[float, float]:
    found = minimize_scalar(
        lambda s: exact_mise(kernel, np.exp(s), n, 1.0), bounds=(-2.5, 1.0), method="bounded"
    )
    return float(np.exp(found.x)), float(found.fun)


@pytest.mark.parametrize(
    ("n", "as_printed", "optimal"),
    [(1e3, 0.230, 0.00884), (1e5, 0.214, 0.00116), (1e7, 0.212, 0.000150)],
)
def test_bandwidth_n_to_the_minus_fifth_never_converges(
    n: float, as_printed: float, optimal: float
) -> None:
    # The deconvolution paper claims MISE O(n^(-4/5)) at h ~ n^(-1/5): true without noise only.
    assert exact_mise(GAUSSIAN, n**-0.2, n, 1.0) == pytest.approx(as_printed, abs=5e-4)
    assert best(GAUSSIAN, n)[1] == pytest.approx(optimal, rel=0.005)


def test_rates() -> None:
    n = np.array([1e8, 1e10])
    errors = np.array([best(GAUSSIAN, size)[1] for size in n])
    slope = np.diff(np.log(errors))[0] / np.diff(np.log(n))[0]
    assert slope == pytest.approx(-4 / 9, abs=1e-3)
    without_noise = [
        minimize_scalar(
            lambda s, size=size: exact_mise(GAUSSIAN, np.exp(s), size, 0.0),
            bounds=(-2.8, 1.0),
            method="bounded",
        ).fun
        for size in (1e4, 1e5)
    ]
    # It comes near to -.8 slowly: it is -.785 from 1e5 to 1e6.
    slope = np.log(without_noise[1] / without_noise[0]) / np.log(10)
    assert slope == pytest.approx(-0.774, abs=1e-3)


def test_cauchy_kernel_loses() -> None:
    # It has no second moment: its bias is O(h), not O(h^2).
    for n, cauchy, times in ((1e3, 0.0300, 3.40), (1e5, 0.0093, 8.03), (1e7, 0.0027, 18.04)):
        error = best(CAUCHY, n)[1]
        assert error == pytest.approx(cauchy, rel=0.01)
        assert error / best(GAUSSIAN, n)[1] == pytest.approx(times, abs=0.01)


def test_random_sign_gamma_above_shape_one_cannot_be_divided_by() -> None:
    from confide.foreign.noise_laws import TwoSidedGamma

    noise = TwoSidedGamma(shape=1.5, scale=1.0)
    zero = np.tan(np.pi / 3)
    assert abs(noise.characteristic(zero)) < 1e-12
    below = TwoSidedGamma(shape=0.8, scale=1.0)
    assert (below.characteristic(np.linspace(0, 1000, 10_000)) > 0).all()

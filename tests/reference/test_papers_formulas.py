"""Formulas and figures of the papers that need no study. See docs/evidence/papers.md."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import cumulative_trapezoid, quad

from confide import Lattice, SquareWave, mechanisms
from confide.estimators import Deconvolution
from confide.exact.integer_noise import ONE
from confide.foreign import Spectrum
from confide.foreign.noise_laws import Laplace, TwoSidedGamma
from confide.gamma.protection import closeness
from confide.mechanisms import ForcedResponse
from confide.releases import Query

log = np.vectorize(math.log)


def could_be(reports: np.ndarray, value: float, scale: float) -> np.ndarray:
    """Whether numpy's Laplace noise, by inversion of 53 random bits, can make these of a value.

    The bits are worked out from the report, and some to each side are tried.
    """
    found = np.zeros(reports.size, dtype=bool)
    bits = np.rint(np.exp(-np.abs(reports - value) / scale) * 2.0**52)
    for shift in range(-4, 5):
        u = np.clip(bits + shift, 1, 2.0**52) * 2.0**-53
        found |= (value + scale * log(u + u) == reports) & (u < 0.5)
        found |= value - scale * log(2.0 - (1 - u) - (1 - u)) == reports
    return found


@pytest.mark.parametrize(
    ("epsilon", "share"), [(0.1, 0.81), (0.5, 0.81), (1.0, 0.81), (2.0, 0.84), (5.0, 0.96)]
)
def test_one_float_report_gives_the_answer_away(epsilon: float, share: float) -> None:
    n = 10_000
    certain = []
    for value in (0.0, 1.0):
        reports = np.random.default_rng(1).laplace(value, 1 / epsilon, n)
        assert could_be(reports, value, 1 / epsilon).all()
        certain.append(1 - could_be(reports, 1 - value, 1 / epsilon).mean())
    assert np.mean(certain) == pytest.approx(share, abs=0.007)


@pytest.mark.parametrize("columns", [2, 3])
def test_noise_of_theorem_1_on_several_columns(columns: int) -> None:
    """Noise of scale q range/epsilon on each of q columns loses epsilon in all, and no less."""
    epsilon, lattice = 1.0, Lattice(low=0, high=1, size=4)
    part = mechanisms.Laplace(lattice, epsilon=epsilon / columns)
    scale = -1 / math.log(part.parameter / ONE)
    assert scale == pytest.approx(columns * (lattice.size - 1) / epsilon, rel=1e-9)
    joint = mechanisms.Joint({f"x{at}": part for at in range(columns)})
    assert math.log(joint.law.ratio()) == pytest.approx(epsilon, rel=1e-9)
    assert joint.spend.epsilon == pytest.approx(epsilon, rel=1e-4)


def test_printed_cauchy_kernel_undoes_laplace_noise() -> None:
    """Equation (6): on average over the noise it is the kernel itself."""
    ratio = 0.7  # b/h
    noise = stats.laplace(scale=ratio)

    def adjusted(x: float) -> float:
        near = 1 + x**2
        return (1 / near - ratio**2 * (8 * x**2 / near**3 - 2 / near**2)) / math.pi

    for x in (-3.0, -0.5, 0.0, 1.2):
        mean = sum(
            quad(lambda u, x=x: adjusted(x - u) * noise.pdf(u), *ends)[0]
            for ends in ((-40, 0), (0, 40))
        )
        assert mean == pytest.approx(1 / (math.pi * (1 + x**2)), abs=1e-6)


@pytest.mark.parametrize(("shape", "exponent"), [(0.5, 0.5), (0.8, 0.8), (1.0, 2.0)])
def test_exponents_of_gamma_noise(shape: float, exponent: float) -> None:
    """Lemma 1.1 says the shape; at shape 1 the leading term is cos(pi/2) = 0, and it is 2."""
    noise, t = TwoSidedGamma(shape=shape, scale=1.0), np.array([1e5, 1e6])
    near, far = np.abs(noise.characteristic(t))
    assert math.log10(near / far) == pytest.approx(exponent, abs=0.001)


def test_constants_of_the_gamma_paper() -> None:
    # The transform (1 - t^2)^3 is 1 - 3 t^2 at 0, so that the second moment is 6, squared 36.
    t = 1e-4
    assert 2 * (1 - (1 - t**2) ** 3) / t**2 == pytest.approx(6, rel=1e-6)
    # (-3, 3) is said to hold more than 1 - 1e-8 of a standard normal.
    assert stats.norm.cdf(3) - stats.norm.cdf(-3) == pytest.approx(0.9973, abs=1e-4)
    # M at large z, for values with tails like the noise's or heavier.
    values = stats.laplace(scale=10)
    far = [closeness(z, values, Laplace(scale=5.0), within=0.75 * values.std()) for z in (200, 300)]
    assert far == pytest.approx([0.730, 0.730], abs=1e-3)


def test_closeness_in_a_sample_goes_to_zero_far_out() -> None:
    """The empirical M, as printed: shares of the noise's density at values near z.

    That its supremum is attained does not follow: below shape 1 it is infinite at the values.
    """
    values = np.random.default_rng(1).laplace(0, 10, 1000)
    noise, within = TwoSidedGamma(shape=0.8, scale=5.0), 0.75 * values.std()

    def closeness_in_sample(z: float) -> float:
        heights = noise.pdf(z - values)
        return float(heights[np.abs(z - values) < within].sum() / heights.sum())

    middle = closeness_in_sample(0.1234)
    assert 0.2 < middle < 1
    far = [abs(z) + 1.001 * within for z in (values.min(), values.max())]
    assert [closeness_in_sample(-far[0]), closeness_in_sample(far[1])] == [0.0, 0.0]
    assert closeness_in_sample(1e3) == closeness_in_sample(-1e3) == 0.0


@pytest.mark.parametrize(
    ("law", "pair", "bandwidth", "least", "most"),
    [
        (stats.uniform(0, 10), (0.95, 1.314), "plug-in", 5, 7.5),
        (stats.uniform(0, 10), (0.95, 1.314), 0.4551, 5.5, 8.5),
        (stats.uniform(0, 10), (0.95, 1.314), 0.2181, 2, 3),
        (stats.norm(), (0.8, 0.548), "plug-in", 1, 1.2),
        (stats.norm(), (0.8, 0.548), 0.0681, 1, 1.2),
    ],
    ids=["uniform", "uniform, 36", "uniform, 11520", "normal", "normal, 11520"],
)
def test_distributions_summed_from_the_left(
    law: stats.rv_frozen,
    pair: tuple[float, float],
    bandwidth: str | float,
    least: float,
    most: float,
) -> None:
    """The density leaks past a sharp end, and a sum that begins there has missed that for good.

    By default, and at the bandwidths of the AIMSE with the constants 36 and 11520.
    """
    shape, scale = pair
    generator = np.random.default_rng(1)
    low, high = law.support() if np.isfinite(law.support()).all() else (-3, 3)
    fine = np.linspace(low, high, 2001)
    errors = []
    for _ in range(20):
        noise = generator.gamma(shape, scale, 1000) * generator.choice([-1, 1], 1000)
        z = law.rvs(1000, random_state=generator) + noise
        data = Spectrum.of(z, noise=TwoSidedGamma(shape=shape, scale=scale))
        density = Deconvolution(kernel="fan", bandwidth=bandwidth, positive=False).fit(data)
        summed = cumulative_trapezoid(density.pdf(fine), fine, initial=0)
        errors.append([np.mean((f - law.cdf(fine)) ** 2) for f in (density.cdf(fine), summed)])
    own, summed = np.mean(errors, axis=0)
    assert least < summed / own < most


def test_noise_of_the_partition_paper() -> None:
    """Proposition 1 and the choice below it, for real Laplace noise of unit variance."""
    for alpha, bound in ((0.5, 1.0), (2.0, 3.0)):
        sd_w, sd_z = math.sqrt(32) / alpha, math.sqrt(32) * bound / alpha
        assert 2**1.5 * (1 / sd_w + bound / sd_z) == pytest.approx(alpha)
        # Two indicators move by 1 and two responses by M; scales are the deviations over sqrt 2.
        assert math.sqrt(2) * (2 / sd_w + 2 * bound / sd_z) == pytest.approx(alpha)


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_tail_of_a_mean_of_laplace_noise(n: int) -> None:
    """Lemma 1 of the partition paper: 2 e^(-n x^2/4) up to x = 2, and not beyond."""

    def chernoff(x: float) -> float:
        t = np.linspace(0, math.sqrt(2), 20_001)[:-1]
        return float((-n * t * x - n * np.log1p(-(t**2) / 2)).min())

    for x in np.linspace(0.01, 1.99, 40):
        assert chernoff(x) <= -n * x**2 / 4
    assert chernoff(8.0) > -n * 8.0**2 / 4
    assert math.exp(-math.sqrt(2) * 8) > 2 * math.exp(-(8**2) / 4)


def test_noise_of_a_query_as_the_notes_print_it() -> None:
    """Density e^(-w/lambda) and deviation sqrt(2 lambda): both misprints."""
    scale = 3.0
    law = stats.laplace(scale=scale)
    assert law.std() == pytest.approx(math.sqrt(2) * scale)
    assert abs(law.std() - math.sqrt(2 * scale)) > 1
    assert law.pdf(-1.0) == pytest.approx(law.pdf(1.0))
    assert quad(lambda w: math.exp(-w / scale), -50, 0)[0] > 1e6  # it has no total
    # The scale Delta/epsilon is right: ours for a mean of n values in [-B, B], Delta = 2 B/n.
    bound, n, epsilon = 5.0, 1000, 0.5
    recipe = Query("mean", Lattice(low=-bound, high=bound), epsilon=epsilon, spread=0)
    (noise,) = recipe.noises(n)
    unit = 2 * bound / (noise.sensitivity * n)  # what a step of the integer sum is worth
    assert noise.scale * unit == pytest.approx(2 * bound / n / epsilon, rel=1e-6)


def test_share_from_a_forced_answer() -> None:
    """p = (pi - 1 + theta)/theta, from the law of the reports."""
    truth, share = 0.6, 0.3
    law = ForcedResponse(["no", "yes"], truth=truth).law.matrix()
    yes = float(law[1] @ [1 - share, share])
    assert (yes - 1 + truth) / truth == pytest.approx(share)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_power_of_a_test_about_a_person(epsilon: float) -> None:
    """The best test between two values, from one report: size 5 %, power at most 5 % e^epsilon."""
    law = SquareWave(Lattice(low=0, high=1, size=32), epsilon=epsilon).law.matrix()
    innocent, suspected = law[:, 0], law[:, 31]
    # Neyman and Pearson: reports by their likelihood ratio, the last one at random.
    order = np.argsort(-suspected / innocent, kind="stable")
    size, power = np.cumsum(innocent[order]), np.cumsum(suspected[order])
    best = float(np.interp(0.05, np.append(0, size), np.append(0, power)))
    assert 0.05 < best <= 0.05 * math.exp(epsilon) * (1 + 1e-9)
    assert best > 0.99 * 0.05 * math.exp(epsilon)

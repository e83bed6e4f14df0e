from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from confide.errors import InvalidInput, Unsupported
from confide.foreign import noise_laws as noise

LAWS = [
    noise.Laplace(scale=0.7),
    noise.Gaussian(scale=1.3),
    noise.TwoSidedGamma(shape=0.6, scale=0.5),
    noise.TwoSidedGamma(shape=2.5, scale=0.5),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
class TestLaws:
    def test_characteristic_and_variance_follow_from_the_cdf(self, law):
        u = (np.arange(200_000) + 0.5) / 200_000
        x = np.interp(u, law.cdf(grid := np.linspace(-30, 30, 600_001)), grid)
        for t in (0.0, 0.4, 1.7, 5.0):
            assert float(law.characteristic(t)) == pytest.approx(np.cos(t * x).mean(), abs=2e-4)
        assert law.variance == pytest.approx(np.mean(x**2), rel=1e-3)

    def test_cdf_is_the_integral_of_the_pdf(self, law):
        for a, b in ((0.2, 0.9), (-2.0, -0.5)):
            mass = integrate.quad(lambda x: float(law.pdf(x)), a, b)[0]
            assert float(law.cdf(b) - law.cdf(a)) == pytest.approx(mass, abs=1e-10)
        assert float(law.cdf(0.0)) == pytest.approx(0.5)

    def test_round_trip(self, law):
        again = noise.from_dict(law.to_dict())
        assert again == law
        assert hash(again) == hash(law)


def test_two_sided_gamma_of_shape_one_is_laplace():
    t = np.linspace(0, 9, 50)
    gamma = noise.TwoSidedGamma(shape=1.0, scale=0.4).characteristic(t)
    np.testing.assert_allclose(gamma, noise.Laplace(scale=0.4).characteristic(t), atol=1e-15)


def test_figure_one_of_the_gamma_paper():
    """Scale 1/ln 10: P(|noise| < 1) = .9 at shape 1."""
    law = noise.TwoSidedGamma(shape=1.0, scale=1 / math.log(10))
    assert float(law.cdf(1.0) - law.cdf(-1.0)) == pytest.approx(0.9)


def test_gaussian_with_one_scale_for_each_value():
    scale = np.array([0.5, 2.0, 2.0, 1.0])
    law = noise.Gaussian(scale=scale)
    t = np.linspace(0, 3, 7)
    assert law.characteristic(t).shape == (7, 4)
    expected = np.exp(-np.multiply.outer(t**2, scale**2)).mean(axis=1)
    np.testing.assert_allclose(law.mean_square(t), expected)
    np.testing.assert_allclose(law.mean_square(t[:2]), expected[:2])
    assert law == noise.from_dict(law.to_dict())
    scale[0] = 9.0
    assert law.scale[0] == 0.5


class TestCustom:
    def test_passes_functions_through(self):
        law = noise.Custom(characteristic=np.cos, variance=1.0, cdf=lambda x: 1.0 * (x > 0))
        assert law.characteristic([0.0, 1.0]).tolist() == [1.0, math.cos(1.0)]
        assert law.cdf(1.0) == 1.0
        with pytest.raises(Unsupported, match="no JSON form"):
            law.to_dict()

    def test_refusals(self):
        with pytest.raises(InvalidInput, match="1 at zero"):
            noise.Custom(characteristic=np.sin, variance=1.0)
        with pytest.raises(InvalidInput, match="symmetric"):
            noise.Custom(characteristic=lambda t: np.exp(1j * t), variance=1.0)
        with pytest.raises(InvalidInput, match="cdf= a function"):
            noise.Custom(characteristic=np.cos, variance=1.0).cdf(0.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: noise.Laplace(scale=0.0),
        lambda: noise.Gaussian(scale=[1.0, -1.0]),
        lambda: noise.Gaussian(scale=[1.0, math.nan]),
        lambda: noise.TwoSidedGamma(shape=-1.0, scale=1.0),
        lambda: noise.from_dict({"noise": "laplac", "scale": 1.0}),
        lambda: noise.from_dict({"noise": "laplace"}),
        lambda: noise.from_dict({"noise": "laplace", "scale": 1.0, "sd": 2.0}),
    ],
)
def test_bad_parameters(make):
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-151, 1.1e150, 1e300])
def test_scales_whose_squares_are_no_numbers_are_refused(scale: float) -> None:
    for make in (
        lambda: noise.Laplace(scale=scale),
        lambda: noise.Gaussian(scale=scale),
        lambda: noise.Gaussian(scale=[scale, scale]),
        lambda: noise.TwoSidedGamma(shape=1.0, scale=scale),
    ):
        with pytest.raises(InvalidInput, match=r"a scale of noise from 1e-150 to 1e\+150"):
            make()
    with pytest.raises(InvalidInput, match="a scale of noise"):
        noise.Custom(characteristic=np.cos, variance=1e-320 if scale < 1 else 1e305)


@pytest.mark.parametrize("shape", [1e-300, 1e-7, 1e7, 1e300])
def test_shapes_that_are_none_are_refused(shape: float) -> None:
    with pytest.raises(InvalidInput, match=r"a shape of noise from 1e-06 to 1e\+06"):
        noise.TwoSidedGamma(shape=shape, scale=1e-3)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_variances_are_numbers_at_the_ends(scale: float) -> None:
    for law in (
        noise.Laplace(scale=scale),
        noise.Gaussian(scale=scale),
        noise.TwoSidedGamma(shape=1e-6 if scale < 1 else 1e3, scale=scale),
    ):
        assert 0 < law.variance < math.inf
        assert law.cdf([-scale, 0.0, scale])[1] == pytest.approx(0.5)

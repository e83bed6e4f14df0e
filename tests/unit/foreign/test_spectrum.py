from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from confide.errors import InvalidInput, Mismatch
from confide.foreign import Spectrum, noise_laws
from confide.foreign import noise_laws as noise
from confide.foreign import spectrum as module

LAW = noise.Laplace(scale=0.3)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_non_uniform_fft_equals_the_plain_sum(axes, monkeypatch):
    rng = np.random.default_rng(1)
    spectrum = Spectrum.of(rng.normal(50, 2, (400, axes)), noise=LAW)
    t = rng.uniform(-9, 9, (300, axes))
    points = t[:, 0] if axes == 1 else t
    expected = np.exp(1j * spectrum.values @ t.T).mean(axis=0)
    weights = rng.uniform(size=400)
    for limit in (0, 2**30):
        monkeypatch.setattr(module, "DIRECT", limit)
        np.testing.assert_allclose(spectrum.characteristic(points), expected, atol=1e-11)
        noise_free = expected / LAW.characteristic(t).prod(axis=1)
        np.testing.assert_allclose(spectrum.deconvolved(points), noise_free, rtol=1e-9, atol=1e-8)
        weighted = weights @ np.exp(1j * spectrum.values @ t.T)
        np.testing.assert_allclose(spectrum.waves(points, weights=weights), weighted, atol=1e-8)


def test_without_the_extra_plain_sums_in_pieces(monkeypatch):
    spectrum = Spectrum.of(np.linspace(0, 1, 1000), noise=LAW)
    t = np.linspace(0, 5, 50)
    expected = spectrum.characteristic(t)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "DIRECT", 0)
    monkeypatch.setattr(module, "CHUNK", 333)
    np.testing.assert_allclose(spectrum.characteristic(t), expected, atol=1e-12)


def test_adds_by_concatenation():
    one = Spectrum.of([0.1, 0.2], noise=LAW, response=[1.0, 2.0], low=0, high=1)
    two = Spectrum.of([0.3], noise=LAW, response=[3.0], low=0, high=1)
    both = one + two
    assert both.n == 3
    assert both.values[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert both.response.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(
        (one + two).characteristic([1.3]), (two + one).characteristic([1.3]), atol=1e-15
    )
    for spectrum in (one, both):
        for array in (spectrum.values, spectrum.response):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 9.0
    varying = Spectrum.of([0.1, 0.2], noise=noise.Gaussian(scale=[1.0, 2.0]))
    assert (varying + varying).noise[0].scale.tolist() == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "other",
    [
        Spectrum.of([0.1], noise=noise.Laplace(scale=0.4)),
        Spectrum.of([0.1], noise=noise.Gaussian(scale=0.3)),
        Spectrum.of([0.1], noise=LAW, response=[1.0]),
        Spectrum.of([0.1], noise=LAW, low=0.0),
        Spectrum.of([[0.1, 0.2]], noise=LAW),
    ],
)
def test_refuses_to_add_what_does_not_belong_together(other):
    with pytest.raises(Mismatch):
        Spectrum.of([0.1], noise=LAW) + other


def test_round_trip_through_json():
    spectrum = Spectrum.of(
        [[0.1, 1.0], [0.2, 1 / 3]],
        noise=[LAW, noise.Gaussian(scale=[0.1, 0.2])],
        response=[1.0, 2.0],
        low=[0, 0],
        high=[1, 2],
    )
    again = Spectrum.from_dict(json.loads(json.dumps(spectrum.to_dict())))
    assert again.to_dict() == spectrum.to_dict()
    assert again.noise == spectrum.noise
    with pytest.raises(InvalidInput):
        Spectrum.from_dict({**spectrum.to_dict(), "version": 2})
    with pytest.raises(InvalidInput):
        Spectrum.from_dict({"confide": "counts"})


def test_a_response_is_not_the_callers_array():
    response = np.array([1.0, 2.0])
    spectrum = Spectrum.of([0.1, 0.2], noise=LAW, response=response)
    response[0] = 9.0
    assert spectrum.response.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "fields",
    [
        {"values": [[1.0, 2.0], [3.0]]},
        {"values": [[1.0, None]]},
        {"values": None},
        {"values": {"a": 1.0}},
        {"noise": 3},
        {"noise": None},
        {"noise": {"noise": "laplace", "scale": 1.0}},
        {"noise": []},
        {"noise": [3]},
        {"response": {"a": 1}},
        {"response": [[1.0], [2.0, 3.0]]},
        {"low": [[1.0], [2.0, 3.0]]},
        {"low": "0"},
        {"high": {"a": 1}},
    ],
)
def test_odd_json_is_refused_in_a_sentence(fields):
    plain = Spectrum.of([[0.1]], noise=LAW).to_dict()
    with pytest.raises(InvalidInput):
        Spectrum.from_dict({**plain, **fields})
    for key in fields:
        if key in ("values", "noise"):
            with pytest.raises(InvalidInput):
                Spectrum.from_dict({k: v for k, v in plain.items() if k != key})


@pytest.mark.parametrize(
    "arguments",
    [
        {"z": [], "noise": LAW},
        {"z": [0.1, np.nan], "noise": LAW},
        {"z": ["a"], "noise": LAW},
        {"z": [[0.1, 0.2], [0.3]], "noise": LAW},
        {"z": np.ma.masked_array([[1.0, 2.0]], mask=[[0, 1]]), "noise": LAW},
        {"z": np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "noise": LAW},
        {"z": np.zeros((3, 33)), "noise": LAW},
        {"z": np.zeros((3, 2)), "noise": [LAW]},
        {"z": [0.1, 0.2], "noise": 0.3},
        {"z": [0.1, 0.2], "noise": noise.Gaussian(scale=[1.0, 1.0, 1.0])},
        {"z": [0.1, 0.2], "noise": LAW, "response": [1.0]},
        {"z": [0.1, 0.2], "noise": LAW, "low": 1.0, "high": 0.0},
        {"z": [0.1, 0.2], "noise": LAW, "low": [0.0, 1.0]},
    ],
)
def test_bad_input(arguments):
    z = arguments.pop("z")
    with pytest.raises(InvalidInput):
        Spectrum.of(z, **arguments)


def test_names_come_from_the_columns_of_a_table() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    noise = (noise_laws.Laplace(scale=1.0), noise_laws.Gaussian(scale=1.0))
    columns = {"pay": [1.0, 2.0], "hours": [3.0, 4.0]}
    for kind in (pd, pl):
        table = kind.DataFrame(columns)
        assert Spectrum.of(table, noise=noise).names == ("pay", "hours")
        assert Spectrum.of(table, noise=noise, names=("a", "b")).names == ("a", "b")
        assert Spectrum.of(table["pay"], noise=noise[0]).names == ("pay",)
        assert Spectrum.of(kind.Series([1.0, 2.0]), noise=noise[0]).names is None
    assert Spectrum.of(pd.DataFrame(np.ones((2, 2))), noise=noise).names is None
    assert Spectrum.of(np.ones((2, 2)), noise=noise).names is None


def test_noise_is_a_list_in_the_order_of_the_columns() -> None:
    law = noise_laws.Laplace(scale=1.0)
    for wrong, got in (({"a": law, "b": law}, "a dict"), ((law,), r"\(Laplace")):
        with pytest.raises(InvalidInput, match=f"a list of 2 noises, .*, got {got}"):
            Spectrum.of(np.ones((3, 2)), noise=wrong)  # type: ignore[arg-type]

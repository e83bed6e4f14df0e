"""Broken mechanisms that the checks of this folder must catch, each by the check that should."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from confide.discrete import laplace_parameter, laplace_sampler, laplace_weights
from confide.errors import InvalidInput
from confide.lattice import Lattice
from confide.mechanisms import Joint, Laplace
from confide.mechanisms.laws import Clamped, Law
from confide.randomness import Entropy

from .test_mechanisms import exactly_within, grid_deviation

LATTICE = Lattice(low=0, high=100, size=101)
EPSILON = 1.0
M = 100
RIGHT = laplace_parameter(EPSILON, M)


def with_parameter(parameter: int) -> Clamped:
    weights = laplace_weights(parameter, M)
    return Clamped(np.array([float(Fraction(w, sum(weights))) for w in weights]), lambda: weights)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("half the noise", laplace_parameter(2 * EPSILON, M)),
        ("5 % short", laplace_parameter(EPSILON / 0.95, M)),
        ("1 % short", laplace_parameter(EPSILON / 0.99, M)),
        ("sensitivity off by one", laplace_parameter(EPSILON, M - 1)),
        ("parameter rounded down", RIGHT - 1),
    ],
)
def test_exact_check_catches_a_small_parameter(name: str, parameter: int) -> None:
    assert exactly_within(Law.ratio(with_parameter(RIGHT)), EPSILON)
    assert not exactly_within(Law.ratio(with_parameter(parameter)), EPSILON), name


class Mutant(Laplace):
    """A mechanism that claims the right law and draws by other code."""

    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        noise = self.noise(entropy, indices.size)
        return np.clip(noise + indices, 0, M).astype(np.int32)

    def right(self, entropy: Entropy, n: int) -> np.ndarray:
        return laplace_sampler(RIGHT, M).draw(entropy, n) - M

    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return self.right(entropy, n)


class ThousandthShort(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return laplace_sampler(laplace_parameter(EPSILON * 1.001, M), M).draw(entropy, n) - M


class OneSided(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return np.abs(self.right(entropy, n))


class EvenOnly(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return self.right(entropy, n) // 2 * 2


class TailCut(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        return np.clip(self.right(entropy, n), -90, 90)


class ZeroTwice(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        # A sign and a magnitude drawn apart: zero comes out of both signs.
        magnitude = np.abs(self.right(entropy, n))
        sign = 1 - 2 * (np.arange(n) % 2)
        return np.where(magnitude > 0, sign * (magnitude - 1), 0)


class FloatNoise(Mutant):
    def noise(self, entropy: Entropy, n: int) -> np.ndarray:
        u = (entropy.words(n, 64) >> np.uint64(11)) * 2.0**-53 - 0.5
        scale = M / EPSILON
        return np.round(-scale * np.sign(u) * np.log1p(-2 * np.abs(u))).astype(np.int64)


MUTANTS = [ThousandthShort, OneSided, EvenOnly, TailCut, ZeroTwice, FloatNoise]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_grid_catches_wrong_draws(mutant: type[Mutant]) -> None:
    # Cells of the clamped lattice near an end see the far tails.
    n = 2**20
    right = Mutant(LATTICE, epsilon=EPSILON)
    wrong = mutant(LATTICE, epsilon=EPSILON)
    places = (0, 50, 100)
    assert max(grid_deviation(right, at, n) for at in places) <= 1 + 1e-6
    assert max(grid_deviation(wrong, at, n) for at in places) > 2


class SharedNoise(Joint):
    """Both questions answered with the same words."""

    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        first = next(iter(self.parts.values())).draw(indices[:, 0], entropy)
        return np.stack([first, first], axis=1)


def agreement(joint: Joint, n: int = 4000) -> tuple[float, float]:
    """Share of equal reports to two equal answers, in standard errors above what chance gives."""
    values = np.full(n, 50.0)
    reports = joint.privatize({"a": values, "b": values}).indices
    pmf = Laplace(LATTICE, epsilon=EPSILON).law.forward(np.eye(M + 1)[50])
    chance = (pmf**2).sum()
    equal = (reports[:, 0] == reports[:, 1]).mean()
    return equal, (equal - chance) / np.sqrt(chance * (1 - chance) / n)


def test_joint_outputs_catch_reused_noise() -> None:
    parts = {name: Laplace(LATTICE, epsilon=EPSILON) for name in "ab"}
    assert abs(agreement(Joint(parts))[1]) < 5.5
    assert agreement(SharedNoise(parts))[1] > 20


def test_no_two_runs_share_their_noise() -> None:
    mechanism = Laplace(LATTICE, epsilon=EPSILON)
    values = np.full(4000, 50.0)
    first, second = mechanism.privatize(values).indices, mechanism.privatize(values).indices
    assert (first == second).mean() < 0.5
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def hostile() -> list[float]:
    return [
        0.0, -0.0, 5e-324, -5e-324, 100.0, np.nextafter(100, 200), np.nextafter(100, 0),
        1e308, -1e308, 2.0**53 + 2, 99.99999999999999, 1e-300, 150.0, -50.0,
    ]  # fmt: skip


@pytest.mark.parametrize("lattice", [LATTICE, Lattice(low=1e-3, high=1e9, size=77, scale="log")])
def test_index_map_ends_in_the_lattice(lattice: Lattice) -> None:
    # Mutants "no clipping", "index m + 1", "NaN through clip".
    indices = lattice.index(hostile())
    assert indices.dtype == np.int32
    assert indices.min() >= 0
    assert indices.max() <= lattice.size - 1
    assert lattice.index([1e308])[0] == lattice.size - 1
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(InvalidInput, match="finite"):
            lattice.index([1.0, bad])
    for odd in (["a"], [None], [True, False], [1 + 2j], [[1.0]], "x", [], np.array(["1"])):
        with pytest.raises(InvalidInput):
            lattice.index(odd)

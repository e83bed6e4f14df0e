"""The noise of releases on the grid: each part of it, and that it is made of these parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from confide.audits.words import Grid, apart
from confide.discrete import ONE
from confide.randomness import Entropy, SeededEntropy
from confide.releases.gaussian_noise import HALF, DiscreteGaussian
from confide.releases.noise import DiscreteLaplace

Integers = npt.NDArray[np.int64]

DRAWS = 4096
"""Draws that are put together again of their parts, and must be the same."""
CERTAIN = 6
"""Beyond x = 2**6 no word gives an event of probability e**-x."""


def noise_gaps(noise: DiscreteLaplace | DiscreteGaussian, n: int) -> Iterator[tuple[str, float]]:
    """Each part that is made of one word against its law, and draws against their parts."""
    if isinstance(noise, DiscreteLaplace):
        yield from _laplace(noise, n)
        again = _geometric(noise, entropy := SeededEntropy(0)) - _geometric(noise, entropy)
    else:
        yield from _gaussian(noise, n)
        again = _rejection(noise, SeededEntropy(0))
    drawn = noise.draw(SeededEntropy(0), DRAWS)
    yield "put together", 0.0 if np.array_equal(drawn, again) else float(n)


def _laplace(noise: DiscreteLaplace, n: int) -> Iterator[tuple[str, float]]:
    """Each binary digit and what lies above them, against the formula of a geometric law."""
    p = noise.parameter / ONE
    gap = (ONE - noise.parameter) / ONE
    log_p = float(np.log1p(-gap)) if gap < 0.5 else float(np.log(p))
    for j, digit in enumerate(noise._samplers):
        q = np.exp(log_p * 2.0**j)
        yield f"digit {j}", apart(digit.draw(Grid(), n), np.array([1, q]) / (1 + q))
    sampler = noise._above
    levels = len(sampler.enclosure(64)[0])
    q = np.exp(log_p * 2.0 ** len(noise._samplers))
    rest = (1 - q) * q ** np.arange(levels)
    yield "rest", apart(sampler.draw(Grid(), n), np.append(rest, q**levels))


def _geometric(noise: DiscreteLaplace, entropy: Entropy) -> Integers:
    """A number whose binary digits, and what lies above them, are the parts."""
    parts = [*noise._samplers, noise._above]
    return sum(
        (part.draw(entropy, DRAWS) << j for j, part in enumerate(parts)),
        start=np.zeros(DRAWS, dtype=np.int64),
    )


def _gaussian(noise: DiscreteGaussian, n: int) -> Iterator[tuple[str, float]]:
    """Blocks against (1 - 1/e) e**-v, and every coin that n words can tell from a certain one."""
    levels = len(noise._levels.enclosure(64)[0])
    blocks = np.append((1 - np.exp(-1.0)) * np.exp(-np.arange(levels)), np.exp(-levels))
    yield "blocks", apart(noise._levels.draw(Grid(), n), blocks)
    unit = Fraction(1, 2 * noise.variance)
    for scale in (Fraction(1), unit * 2 ** (2 * noise.variance).bit_length()):
        for j in range(-CERTAIN, n.bit_length()):
            x = scale / Fraction(2) ** j
            tails = -np.expm1(-float(x))
            coin = noise._coin(x).draw(Grid(), n)
            yield f"coin {float(x):.3g}", apart(coin, np.array([1 - tails, tails]))


def _rejection(noise: DiscreteGaussian, entropy: Entropy) -> Integers:
    """Canonne, Kamath and Steinke (2020), algorithm 3, from blocks and coins.

    y = t v + r with a sign is taken with probability e**(-r/t) e**(-(|y| - s/t)**2 / (2 s)), s the
    variance, and zero with one sign only.
    """
    s = noise.variance
    shift = math.isqrt(2 * s).bit_length() - 1
    found, left = np.zeros(DRAWS, dtype=np.int64), np.arange(DRAWS)
    while left.size:
        rest = (entropy.words(left.size, 64) % np.uint64(1 << shift)).astype(np.int64)
        size = (noise._levels.draw(entropy, left.size) << shift) + rest
        negative = entropy.words(left.size, 8) % np.uint64(2) == 1
        taken = np.flatnonzero(~negative | (size > 0))
        # The square of a number of more than 31 bits is taken by halves.
        high, low = np.divmod(np.abs(size - (s >> shift)), 2**HALF)
        squares = ((high * high, 4**HALF), (2 * high * low, 2**HALF), (low * low, 1))
        for number, scale in ((rest, Fraction(1, 1 << shift)),
                              *((each, Fraction(by, 2 * s)) for each, by in squares)):  # fmt: skip
            for j in reversed(range(63)):
                asked = number[taken] >> j & 1 == 1
                kept = np.ones(taken.size, dtype=bool)
                if asked.any():
                    kept[asked] = noise._coin(scale * 2**j).draw(entropy, int(asked.sum())) == 0
                taken = taken[kept]
        found[left[taken]] = np.where(negative, -size, size)[taken]
        left = np.delete(left, taken)
    return found

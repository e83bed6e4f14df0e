"""Smoothing kernels, known by their Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from confide import _validate

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """A symmetric kernel K with integral one.

    Near zero the transform is 1 - coefficient |t|**order + ..., which fixes the bias of an
    estimate; `reach` is where it has fallen to zero, or below what a double can add to one.

    Parameters
    ----------
    name
        What users call it.
    transform
        Fourier transform of K, for t >= 0.
    second_moment
        Integral of x**2 K(x); infinite for the Cauchy kernel.
    roughness
        Integral of K**2.
    order, coefficient
        Leading term of 1 - transform.
    reach
        The transform is negligible beyond this t.
    """

    name: str
    transform: Callable[[Floats], Floats]
    second_moment: float
    roughness: float
    order: int
    coefficient: float
    reach: float


def _fan(t: Floats) -> Floats:
    inside: Floats = np.maximum(1.0 - t * t, 0.0)
    return inside * inside * inside


def _gaussian(t: Floats) -> Floats:
    result: Floats = np.exp(-0.5 * t * t)
    return result


def _cauchy(t: Floats) -> Floats:
    result: Floats = np.exp(-np.abs(t))
    return result


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("fan", _fan, 6.0, 1024 / (3003 * math.pi), 2, 3.0, 1.0),
        Kernel("gaussian", _gaussian, 1.0, 0.5 / math.sqrt(math.pi), 2, 0.5, 9.0),
        Kernel("cauchy", _cauchy, math.inf, 0.5 / math.pi, 1, 1.0, 40.0),
    )
}


def named(kernel: str) -> Kernel:
    """The kernel of that name.

    ``"fan"`` has the transform (1 - t**2)**3 on [-1, 1] and nothing beyond, so no frequency above
    1/h is ever divided by the noise; its standard deviation is sqrt(6), so its bandwidths are
    about 2.45 times smaller than the Gaussian's. ``"cauchy"`` has no second moment: its bias is of
    order h instead of h**2, and it is here for comparison.

    Examples
    --------
    >>> named("fan").transform(np.array([0.0, 0.5, 1.0, 2.0]))
    array([1.      , 0.421875, 0.      , 0.      ])
    """
    return KERNELS[_validate.one_of(tuple(KERNELS), kernel=kernel)]

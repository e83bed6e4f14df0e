"""Private paths do the same whatever numpy's error state is: an error would tell of a value."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from confide import Lattice
from confide.errors import InvalidInput
from confide.lattice import Cells
from confide.mechanisms import Joint, Laplace, Partition, SquareWave, TwoSidedGamma
from confide.releases import (
    Bernstein,
    Choice,
    GaussianProcess,
    Histogram,
    Holdout,
    KolmogorovSmirnov,
    Query,
    Series,
)
from confide.sampling import MBDE, Box, FiniteMollifier, Gaussian, Mollifier, NaiveSampler
from confide.survey import Survey

TINY = [5e-324, -5e-324, 1e-310, 2.3e-308, -1e-200, 1e-160, 0.0, -0.0, 0.25]
HUGE = [1e308, -1e308, 1.7e308, 1e200, 1e155, 0.5, 0.75, 0.125, 1.0]
VALUES = {"tiny": TINY, "huge": HUGE}
PAY = Lattice(low=0, high=300_000, size=16)
WIDE = Lattice(low=-1e150, high=1e150, size=16)
TALL = Lattice(low=1e-150, high=1e150, size=16, scale="log")
FOUR = Cells(low=[-1, -1], high=[1, 1], shape=[2, 2])

# What takes values and a seed, and gives what is released.
PATHS: dict[str, Callable[[Any, int], Any]] = {
    "square-wave": lambda x, seed: SquareWave(PAY, epsilon=1.0).simulate(x, seed=seed).indices,
    "square-wave-log": lambda x, seed: SquareWave(TALL, epsilon=1.0).simulate(x, seed=seed).indices,
    "laplace": lambda x, seed: Laplace(WIDE, epsilon=50.0).simulate(x, seed=seed).indices,
    "gamma": lambda x, seed: (
        TwoSidedGamma(PAY, shape=0.5, scale=0.01).simulate(x, seed=seed).indices
    ),
    "joint": lambda x, seed: (
        Joint({"a": SquareWave(PAY, epsilon=1.0), "b": Laplace(TALL, epsilon=1.0)})
        .simulate({"a": x, "b": x}, seed=seed)
        .indices
    ),
    "partition": lambda x, seed: (
        Partition(FOUR, bound=1.0, epsilon=1.0)
        .simulate(np.stack([x, x], axis=1), x, seed=seed)
        .indices
    ),
    "partition-wide": lambda x, seed: (
        Partition(FOUR, bound=1e150, epsilon=1.0, levels=7)
        .simulate(np.stack([x, x], axis=1), x, seed=seed)
        .indices
    ),
    "partition-narrow": lambda x, seed: (
        Partition(FOUR, bound=1e-150, epsilon=1.0, levels=7)
        .simulate(np.stack([x, x], axis=1), x, seed=seed)
        .indices
    ),
    "survey": lambda x, seed: (
        Survey.from_dict({"questions": {"a": {"low": 0, "high": 300_000, "epsilon": 1.0}}})
        .simulate({"a": x}, seed=seed)
        .column("a")
        .to_pylist()
    ),
    **{
        f"query-{what}": lambda x, seed, what=what, q=q: (
            Query(what, PAY, epsilon=1.0, q=q).simulate(x, seed=seed).to_dict()
        )
        for what, q in (("mean", None), ("sum", None), ("variance", None), ("quantile", 0.5))
    },
    **{
        recipe.name: lambda x, seed, recipe=recipe: recipe.simulate(x, seed=seed).to_dict()
        for recipe in (
            Histogram(TALL, epsilon=1.0),
            Series(PAY, epsilon=1.0),
            GaussianProcess(PAY, epsilon=1.0, delta=1e-6),
            Bernstein(PAY, epsilon=1.0),
            KolmogorovSmirnov(PAY, epsilon=1.0, size=5, points=8),
            Choice(
                [Histogram(PAY, epsilon=1.0, cells=4), Histogram(PAY, epsilon=1.0, cells=8)],
                epsilon=2.0,
            ),
        )
    },
    "holdout": lambda x, seed: Holdout.simulate(x, x, seed=seed, epsilon=1.0, overfits=2).ask(
        lambda rows: rows * rows / 3
    ),
    "finite-mollifier": lambda x, seed: (
        FiniteMollifier({"a": PAY}, epsilon=1.0).simulate({"a": x}, 3, seed=seed).numbers
    ),
    "naive": lambda x, seed: (
        NaiveSampler(Laplace(PAY, epsilon=1.0)).simulate(x, 3, seed=seed).numbers
    ),
    "mollifier": lambda x, seed: (
        Mollifier(reference=Box(low=0, high=1), epsilon=1.0, seed=1)
        .simulate(np.clip(x, 0, 1)[:, None], 3, seed=seed)
        .numbers
    ),
    "mbde": lambda x, seed: (
        MBDE(reference=Gaussian(mean=0, sd=1), epsilon=1.0)
        .simulate(np.clip(x, -1, 1)[:, None], 3, seed=seed)
        .numbers
    ),
}


def outcome(path: str, values: Any, state: str) -> str:
    """What came of a path under an error state of numpy: what was released, or the refusal."""
    with np.errstate(all=state), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = PATHS[path](values, 5)
        except InvalidInput as error:
            return f"refused: {error}"
    return repr(found.tolist() if isinstance(found, np.ndarray) else found)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("path", PATHS)
def test_every_private_path(path: str, values: str) -> None:
    given = np.array(VALUES[values])
    expected = outcome(path, given, "ignore")
    assert not expected.startswith("refused")
    for state in ("raise", "warn"):
        assert outcome(path, given, state) == expected


@pytest.mark.parametrize("path", PATHS)
def test_numbers_of_other_types(path: str) -> None:
    given = np.array([np.longdouble("1e4000"), np.longdouble("1e-4000"), 0.5, 0.25])
    kinds: list[Any] = [given, np.array([6e-8, 0.5, 0.25, 1.0], dtype=np.float16)]
    kinds.append(np.array([1e-45, 0.5, 3e38, 1.0], dtype=np.float32))
    for values in kinds:
        outcomes = {outcome(path, values, state) for state in ("ignore", "raise", "warn")}
        assert len(outcomes) == 1

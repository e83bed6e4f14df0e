"""The targets of Husain et al. (2020), and one evaluation of every sampler on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neural_network import MLPClassifier

from confide.sampling import Box, Gaussian, Mollifier, Reference, SampleLaw
from confide.sampling.boosting import boost, network
from confide.sampling.densities import BoostedLaw
from confide.sampling.diagnostics import COVERED, Judge
from confide.sampling.mbde import MBDE

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
LABELS = {
    "naive": "naive sampler A_R, Laplace",
    "responded": "naive sampler A_R, randomized response",
    "mbde": "MBDE as printed",
    "mbde full": "MBDE, full budget",
    "best mbde": "best possible MBDE",
    "default": "default sampler",
    "mbde box": "MBDE as printed, Q0 uniform on the box",
    "mbde box adam": "MBDE by Adam, Q0 uniform on the box",
    "default box": "default sampler, Q0 uniform on the box",
    "limit": "limit, eq. (8) on P itself",
    "dpb cv": "DPB (sup, shift), cross-validated",
    "dpb tight": "DPB (tight, clip)",
}
SCATTERED = {"mbde": "MBDE by Adam"}
"""What is called otherwise on random targets, where MBDE's networks are trained by Adam."""
TRAINING = 2000
"""Records that MBDE is trained on, and as many draws."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Equal Gaussians: a target with a known density.

    Parameters
    ----------
    name
        Of the target.
    means
        One row a Gaussian.
    variances
        One number a Gaussian.
    low, high, points
        The box and the points along each axis that it is judged on.
    box
        Public bounds along each axis for what needs some.
    """

    name: str
    means: np.ndarray
    variances: np.ndarray
    low: float
    high: float
    points: int
    box: tuple[float, float]

    @property
    def dim(self) -> int:
        return self.means.shape[1]

    @property
    def reference(self) -> Gaussian:
        return Gaussian(dim=self.dim)

    def log_pdf(self, x: np.ndarray) -> np.ndarray:
        squares = ((x[:, None, :] - self.means) ** 2).sum(axis=2)
        logs = -squares / (2 * self.variances) - self.dim / 2 * np.log(2 * np.pi * self.variances)
        return logsumexp(logs, axis=1) - np.log(len(self.means))

    def sample(self, n: int, seed: int) -> np.ndarray:
        generator = np.random.default_rng([seed, 7])
        chosen = generator.integers(0, len(self.means), n)
        noise = generator.normal(size=(n, self.dim))
        return self.means[chosen] + np.sqrt(self.variances[chosen])[:, None] * noise

    @cached_property
    def judge(self) -> Judge:
        ends = {"low": [self.low] * self.dim, "high": [self.high] * self.dim}
        return Judge(self.log_pdf, **ends, points=self.points)

    @cached_property
    def boxed(self) -> Judge:
        """The same inside the public box: laws with bounds know nothing outside."""
        low, high = self.box
        ends = {"low": [low] * self.dim, "high": [high] * self.dim}
        return Judge(self.log_pdf, **ends, points=512 if self.dim == 1 else 128)


def ring(radius: float = 4.0, variance: float = 0.5) -> Mixture:
    """Eight Gaussians on a circle; the paper gives no numbers, these are of its authors' code."""
    angles = np.arange(8) * np.pi / 4
    means = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    end = radius + 4.2 * variance**0.5
    box = radius + 3.54 * variance**0.5
    return Mixture("ring", means, np.full(8, variance), -end, end, 140, (-box, box))


def mix1d() -> Mixture:
    """Three Gaussians on a line; the second argument of the paper's N is read as a variance."""
    means = np.array([[0.3], [0.5], [0.7]])
    return Mixture("mix1d", means, np.array([0.01, 0.1, 0.1]), -1.5, 2.5, 1600, (-1.2, 2.2))


def scattered(count: int, dim: int, seed: int) -> Mixture:
    """Gaussians of variance .01 with means uniform on the unit interval or square."""
    means = np.random.default_rng([seed, count, dim]).random((count, dim))
    points = 800 if dim == 1 else 100
    name = f"random{dim}d-{count}"
    return Mixture(name, means, np.full(count, 0.01), -0.5, 1.5, points, (-0.5, 1.5))


class Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once for each data set.

    The first classifier of a boosting does not depend on epsilon: it need not be trained for each.
    """

    known: dict[int, Any] = {}  # noqa: RUF012 - shared on purpose

    def __init__(self, model: Any):
        self.model = model

    def fit(self, x: np.ndarray, y: np.ndarray) -> Remembered:
        x = x.astype(np.float32)
        key = hash((x.tobytes(), repr(self.model)))
        if key not in self.known:
            self.known[key] = clone(self.model).fit(x, y)
        self.model_ = self.known[key]
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(x.astype(np.float32))


def paper_network(epochs: int = 750) -> Remembered:
    """The paper's network by the paper's optimizer; all records in one batch."""
    return Remembered(
        MLPClassifier(
            (25, 25, 25),
            activation="tanh",
            solver="sgd",
            alpha=0.0,
            batch_size=10**9,
            learning_rate_init=0.01,
            momentum=0.9,
            nesterovs_momentum=True,
            max_iter=epochs,
            tol=0.0,
            n_iter_no_change=epochs,
            random_state=0,
        )
    )


def adam_network() -> Remembered:
    """The default network of `MBDE`."""
    return Remembered(network())


def scores(judge: Judge, law: Callable[[np.ndarray], np.ndarray]) -> dict[str, float]:
    values = law(judge.table)

    def known(_: np.ndarray) -> np.ndarray:
        return values

    return {
        "kl": judge.kl(known),
        "nll": judge.nll(known),
        "coverage": judge.coverage(known),
        "printed": printed_coverage(judge, values),
    }


def printed_coverage(judge: Judge, logs: np.ndarray) -> float:
    """Mode coverage as the paper prints it: P(q < t) for the t with Q(q < t) = .95."""
    heights = np.exp(logs)
    order = np.argsort(heights)
    below = np.cumsum(heights[order])
    return float(judge.masses[order[below < COVERED * below[-1]]].sum())


def boosted(
    target: Mixture,
    epsilon: float,
    seed: int,
    learner: Any,
    n: int = TRAINING,
    *,
    boxed: bool = False,
) -> dict[str, Any]:
    """MBDE as printed and, with the same classifiers, with the full budget."""
    reference, judge = known_to(target, boxed=boxed)
    records = inside(target, n, seed) if boxed else target.sample(n, seed)
    found: dict[str, Any] = {}
    fitted = boost(records, reference, epsilon, 3, learner)
    for name, schedule in (("mbde", "printed"), ("mbde full", "full")):
        sampler = MBDE(reference=reference, epsilon=epsilon, schedule=schedule)
        law = BoostedLaw(sampler, sampler.scaled(fitted))
        found[name] = {**scores(judge, law.log_pdf), "facts": dict(law.facts)}
    return found


def inside(target: Mixture, n: int, seed: int) -> np.ndarray:
    """Records in the public box."""
    low, high = target.box
    records = target.sample(n, seed)
    return records[((records > low) & (records < high)).all(axis=1)]


@cache
def ratios(target: Mixture, n: int, seed: int, *, boxed: bool) -> Callable[..., np.ndarray]:
    """The default sampler's log ratio, which does not depend on epsilon; the grid's kept."""
    reference, judge = known_to(target, boxed=boxed)
    records = inside(target, n, seed) if boxed else target.sample(n, seed)
    fitted = Mollifier(reference=reference, epsilon=1.0).law_of(records).log_ratio
    grid = judge.table
    known = fitted(grid)
    return lambda x: known if x.shape == grid.shape and (x == grid).all() else fitted(x)


def known_to(target: Mixture, *, boxed: bool) -> tuple[Reference, Judge]:
    """The public reference, and who judges by it."""
    if not boxed:
        return target.reference, target.judge
    low, high = ([end] * target.dim for end in target.box)
    return Box(low=low, high=high), target.boxed


def mollified(
    target: Mixture, epsilon: float, n: int, seed: int, *, boxed: bool = False
) -> dict[str, float]:
    """The default sampler, around the paper's reference or a public box."""
    reference, judge = known_to(target, boxed=boxed)
    sampler = Mollifier(reference=reference, epsilon=epsilon)
    law = SampleLaw(sampler, ratios(target, n, seed, boxed=boxed))
    return scores(judge, law.log_pdf)


def limit(target: Mixture, epsilon: float) -> dict[str, float]:
    """The best law in the band."""
    return scores(target.judge, target.judge.limit(target.reference, epsilon))


def best_boosted(target: Mixture, epsilon: float) -> dict[str, float]:
    """The best that MBDE could ever be: log ratios within +-epsilon/4, then normalized."""
    judge, reference = target.judge, target.reference
    logs = reference.log_density(judge.table)
    inside = np.exp(logs) * judge.volume
    ratio = np.log(np.maximum(judge.masses, 1e-300)) - logs - np.log(judge.volume)

    def tilted(shift: float) -> tuple[np.ndarray, float]:
        tilt = np.clip(ratio - shift, -epsilon / 4, epsilon / 4)
        # What is outside the judge's box has none of the target.
        outside = (1 - inside.sum()) * np.exp(-epsilon / 4)
        return tilt, float(np.log(inside @ np.exp(tilt) + outside))

    def loss(shift: float) -> float:
        tilt, constant = tilted(shift)
        return constant - float(judge.masses @ tilt)

    # By its first-order condition the optimum is the log ratio plus the constant, clipped.
    ends = (-epsilon / 4, epsilon / 4)
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-7})
    tilt, constant = tilted(found.x)
    return scores(judge, lambda _: logs + tilt - constant)

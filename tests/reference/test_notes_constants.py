"""Every release keeps its word, and the notes' own constants, judged in the same way, do not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from evidence.printed import PrintedBernstein
from scipy.special import ndtr

from confide import Lattice, RandomizedResponse
from confide.exact.enclosures import exp_enclosure
from confide.lattice import Categories
from confide.mechanisms import ForcedResponse
from confide.releases import (
    Bernstein,
    Choice,
    CrossTable,
    GaussianProcess,
    Histogram,
    KolmogorovSmirnov,
    LeastSquares,
    Means,
    Query,
    Selection,
    Series,
    Statistic,
)
from confide.releases.series import UNIT

UNIT_RANGE = Lattice(low=0, high=1, size=256)
PLANE = {"x": UNIT_RANGE, "y": UNIT_RANGE}
TABLE = {"x": Lattice(low=0, high=1, size=16), "w": Categories(["no", "yes"])}


def laplace_loss(sensitivity: float, scale: float) -> float:
    """The loss of Laplace noise of a scale on sums of an L1 sensitivity."""
    return sensitivity / scale


def gaussian_delta(sensitivity: float, sd: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise at an epsilon (Balle and Wang 2018, theorem 8)."""
    half, whole = sensitivity / (2 * sd), epsilon * sd / sensitivity
    return float(ndtr(half - whole) - math.exp(epsilon) * ndtr(-half - whole))


def exceeds(ratio: Fraction, epsilon: float) -> bool:
    """Whether a ratio of probabilities is above e**epsilon, in integers."""
    _, upper = exp_enclosure(Fraction(epsilon), 128)
    return ratio * 2**128 > upper


RECIPES = {
    "count": lambda e: Query("count", epsilon=e),
    "mean": lambda e: Query("mean", UNIT_RANGE, epsilon=e),
    "variance": lambda e: Query("variance", UNIT_RANGE, epsilon=e),
    "quantile": lambda e: Query("quantile", UNIT_RANGE, epsilon=e, q=0.5),
    "histogram": lambda e: Histogram(UNIT_RANGE, epsilon=e),
    "joint histogram": lambda e: Histogram(PLANE, epsilon=e),
    "series": lambda e: Series(UNIT_RANGE, epsilon=e),
    "bernstein": lambda e: Bernstein(UNIT_RANGE, epsilon=e),
    "joint bernstein": lambda e: Bernstein(PLANE, epsilon=e),
    "bernstein as printed": lambda e: PrintedBernstein(UNIT_RANGE, epsilon=e),
    "gaussian process": lambda e: GaussianProcess(UNIT_RANGE, epsilon=e, delta=1e-6),
    "joint gaussian process": lambda e: GaussianProcess(PLANE, epsilon=e, delta=1e-6),
    "kolmogorov-smirnov": lambda e: KolmogorovSmirnov(UNIT_RANGE, epsilon=e),
    "means": lambda e: Means(PLANE, epsilon=e),
    "gaussian means": lambda e: Means(PLANE, epsilon=e, delta=1e-6),
    "statistic": lambda e: Statistic(
        "mean", np.mean, UNIT_RANGE, sensitivity=1, divided_by_n=True, low=0, high=1, epsilon=e
    ),
    "gaussian statistic": lambda e: Statistic(
        "sum", np.sum, UNIT_RANGE, sensitivity=1, low=0, high=1e5, epsilon=e, delta=1e-6
    ),
    "selection": lambda e: Selection(
        "records in a half",
        lambda x, which: np.sum((x > 0.5) == (which == "upper")),
        ["lower", "upper"],
        UNIT_RANGE,
        sensitivity=1,
        low=0,
        high=1e5,
        epsilon=e,
    ),
    "least squares": lambda e: LeastSquares(TABLE, target="w", epsilon=e),
    "gaussian least squares": lambda e: LeastSquares(TABLE, target="w", epsilon=e, delta=1e-6),
    "cross table": lambda e: CrossTable(TABLE, epsilon=e),
    "choice": lambda e: Choice(
        [Histogram(UNIT_RANGE, epsilon=0.75 * e, cells=cells) for cells in (4, 16)], epsilon=e
    ),
}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("name", RECIPES)
def test_the_certified_loss_is_within_what_is_declared(name: str, epsilon: float) -> None:
    recipe = RECIPES[name](epsilon)
    for n in (1, 100, 10_000):
        assert 0 < recipe.loss(n) <= epsilon
        assert recipe.slack(n) <= recipe.delta
    assert (recipe.spend.epsilon, recipe.spend.delta) == (epsilon, recipe.delta)
    assert (recipe.delta > 0) == ("gaussian" in name)


def test_the_notes_constants_fail_where_ours_hold() -> None:
    epsilon, n = 1.0, 1000
    # Series: a standard deviation of m c0 / (n epsilon), c0 = sqrt 2, against 2 m c0 / n.
    m = 10
    series = Series(UNIT_RANGE, epsilon=epsilon, terms=m)
    printed = m * math.sqrt(2) / (n * epsilon) / math.sqrt(2)
    assert laplace_loss(2 * m * math.sqrt(2) / n, printed) == pytest.approx(2.83, abs=0.01)
    exact = series.sensitivity(n) / UNIT / n
    assert laplace_loss(exact, printed) > 1.8 * epsilon
    assert laplace_loss(exact, series.noise(n).scale / (n * UNIT)) <= epsilon * (1 + 1e-9)

    # Gaussian process: c / (epsilon n h**(d/2)), where a process of variance one takes h**d.
    delta, width = 1e-6, 0.05
    process = GaussianProcess(PLANE, epsilon=epsilon, delta=delta, bandwidth=width)
    sensitivity, sd = math.sqrt(process.squared_sensitivity(n)), process.noise(n).sd
    assert gaussian_delta(sensitivity, sd, epsilon) <= delta
    assert gaussian_delta(sensitivity, sd * width, epsilon) > 0.9

    # Forced yes: a "no" is certainly true. Randomized response at the same chance of a truth.
    categories = Categories(["no", "yes"])
    forced = ForcedResponse(categories, truth=0.5)
    law = forced.law.matrix()
    assert np.min(law) == 0
    assert math.isinf(forced.spend.epsilon)
    fair = RandomizedResponse(categories, epsilon=epsilon)
    assert not exceeds(fair.law.ratio(), fair.spend.epsilon)
    assert exceeds(fair.law.ratio(), 0.99 * fair.spend.epsilon)

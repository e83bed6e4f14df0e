import numpy as np
import pytest
from scipy import stats

from confide import Laplace, Lattice
from confide.errors import InvalidInput
from confide.estimators.shares import CategoryShares
from confide.mechanisms import ForcedResponse, RandomizedResponse
from confide.summaries import Counts

LABELS = ["a", "b", "c"]


def fitted(mechanism, table, **changes):
    return CategoryShares().fit(Counts(mechanism, np.array(table, dtype=np.int64), **changes))


def test_inverse_of_the_law_where_it_is_a_distribution():
    mechanism = RandomizedResponse(LABELS, epsilon=2.0)
    shares = fitted(mechanism, [500, 300, 200]).shares
    np.testing.assert_allclose(mechanism.law.forward(shares), [0.5, 0.3, 0.2], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Expected reports")
def test_most_likely_on_a_fine_grid_where_the_inverse_is_negative():
    mechanism = RandomizedResponse(LABELS, epsilon=1.0)
    table = np.array([700, 250, 50])
    shares = fitted(mechanism, table).shares
    assert np.linalg.solve(mechanism.law.matrix(), table / 1000).min() < 0
    grid = np.linspace(0, 1, 401)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    points = np.stack([a, b, 1 - a - b], -1)[a + b <= 1]
    values = np.log(mechanism.law.forward(points)) @ table
    np.testing.assert_allclose(shares, points[values.argmax()], atol=0.004)
    assert shares.min() >= 0
    assert np.log(mechanism.law.forward(shares)) @ table >= values.max() - 1e-3


def test_interval_is_clopper_and_pearsons_carried_over():
    mechanism = RandomizedResponse(LABELS, epsilon=2.0)
    result = fitted(mechanism, [500, 300, 200])
    near, far = mechanism.law.matrix()[0, :2]
    exact = stats.binomtest(300, 1000).proportion_ci(0.9, method="exact")
    expected = [(chance - far) / (near - far) for chance in exact]
    np.testing.assert_allclose(result.interval("b", level=0.9), expected, rtol=1e-9)


def test_forced_response():
    # Heads (1/2): the truth; tails: yes. Only true no-sayers on heads report no.
    result = fitted(ForcedResponse(["no", "yes"], truth=0.5), [400, 600])
    assert result.share("no") == pytest.approx(0.8)
    exact = stats.binomtest(400, 1000).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(result.interval("no"), [2 * end for end in exact], rtol=1e-9)
    low, high = result.interval("yes")
    assert (1 - high, 1 - low) == pytest.approx(result.interval("no"))


def test_more_no_than_the_coin_allows():
    result = fitted(ForcedResponse(["no", "yes"], truth=0.5), [560, 440])
    assert result.share("no") == pytest.approx(1, abs=1e-4)
    assert result.interval("no")[1] == 1


@pytest.mark.filterwarnings("ignore:Expected reports")
@pytest.mark.parametrize("table", [[1, 0, 0], [1000, 0, 0], [0, 0, 5]])
def test_degenerate_counts(table):
    result = fitted(RandomizedResponse(LABELS, epsilon=1.0), table)
    assert result.shares.sum() == pytest.approx(1)
    assert result.shares.min() >= 0
    for label in LABELS:
        low, high = result.interval(label)
        assert 0 <= low <= high <= 1
    if sum(table) == 1:
        assert result.interval("b") == (0, 1)


def test_wider_at_higher_levels_and_with_unequal_weights():
    mechanism = RandomizedResponse(LABELS, epsilon=1.0)
    answers = np.array(LABELS)[np.random.default_rng(1).integers(0, 3, 900)]
    reports = mechanism.simulate(list(answers), seed=1)
    plain = CategoryShares().fit(Counts.of(reports))
    weights = np.random.default_rng(2).lognormal(0, 1, 900)
    weighted = CategoryShares().fit(Counts.of(reports, weights=weights))
    widths = [np.diff(plain.interval("a", level=level))[0] for level in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)
    assert np.diff(weighted.interval("a"))[0] > np.diff(plain.interval("a"))[0]


def test_refusals():
    number = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
    with pytest.raises(InvalidInput, match="Likelihood for numbers"):
        CategoryShares().fit(Counts.of(number.simulate([0.5], seed=1)))
    with pytest.raises(InvalidInput, match="at least one report"):
        fitted(RandomizedResponse(LABELS, epsilon=1.0), [0, 0, 0])


def test_each_share_has_its_own_effective_number():
    # Rare heavy answers: one effective number for all covers the first share in 60 % of surveys.
    mechanism = RandomizedResponse(LABELS, epsilon=6.0)
    generator, truth = np.random.default_rng(1), np.array([0.1, 0.5, 0.49]) / 1.09
    hits = np.zeros(3)
    for seed in range(200):
        answers = generator.choice(3, 2000, p=[0.01, 0.5, 0.49])
        reports = mechanism.simulate(np.array(LABELS)[answers], seed=seed)
        counts = Counts.of(reports, weights=np.where(answers == 0, 10.0, 1.0))
        low, high = CategoryShares().fit(counts).intervals.shares(0.95)
        hits += (low <= truth) & (truth <= high)
    assert np.all(hits / 200 > 0.91)


def test_equal_weights_change_nothing():
    mechanism = RandomizedResponse(LABELS, epsilon=2.0)
    reports = mechanism.simulate(["a"] * 60 + ["b"] * 40, seed=1)
    plain, same = (
        CategoryShares().fit(Counts.of(reports, weights=weights)).intervals.shares(0.95)
        for weights in (None, np.full(100, 3.0))
    )
    np.testing.assert_allclose(same, plain, rtol=1e-9)

"""The variance of raked means, against slow ways to compute and to simulate it."""

from __future__ import annotations

import numpy as np
import pytest

from confide.summaries import raking
from confide.summaries.residuals import Residuals

SCORES = np.array([-1.0, 0.5, 2.0])
KEYS = [(row, column) for row in range(3) for column in range(2)]
PLACES = np.array(KEYS).T
MARGINS = {"row": {0: 0.2, 1: 0.3, 2: 0.5}, "column": {0: 0.4, 1: 0.6}}


def table(n: int, seed: int) -> np.ndarray:
    """Counts by group and report, of groups whose reports differ."""
    draw = np.random.default_rng(seed)
    sizes = draw.multinomial(n, [0.3, 0.2, 0.1, 0.2, 0.1, 0.1])
    laws = [(0.7 - 0.1 * r - 0.1 * c, 0.2, 0.1 + 0.1 * r + 0.1 * c) for r, c in KEYS]
    return np.stack([draw.multinomial(k, law) for k, law in zip(sizes, laws, strict=True)])


def raked(counts: np.ndarray) -> Residuals:
    n = counts.sum(1).astype(float)
    w = raking.weights(("row", "column"), KEYS, n, MARGINS)[:, None]
    return Residuals(PLACES, w * counts, w**2 * counts)


def test_one_group_has_students_variance_and_freedom() -> None:
    counts = np.array([[30.0, 50.0, 20.0]])
    one = Residuals(np.zeros((1, 1), dtype=np.int64), counts, counts)
    people = np.repeat(SCORES, counts[0].astype(int))
    assert one.covariance(SCORES, SCORES) == pytest.approx(people.var(ddof=1) / 100)
    assert one.freedom == pytest.approx(99)
    other = SCORES**2
    expected = np.cov(people, people**2)[0, 1] / 100
    assert one.covariance(SCORES, other) == pytest.approx(expected)
    assert one.covariance(SCORES + 1e6, other) == pytest.approx(expected, rel=1e-6)


def test_residuals_are_those_of_a_regression_of_people() -> None:
    counts = table(300, 1)
    found = raked(counts)
    group, report = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    w = (found.sums / np.maximum(counts, 1)).max(1)[group]
    x = np.column_stack([np.eye(3)[PLACES[0][group]], np.eye(2)[PLACES[1][group]]])
    root = np.sqrt(w)[:, None]
    fit = np.linalg.lstsq(root * x, root[:, 0] * SCORES[report], rcond=None)[0]
    squares = (w * (SCORES[report] - x @ fit)) ** 2
    # What the fit takes away, from the matrix that makes residuals of scores.
    away = np.eye(w.size) - x @ np.linalg.pinv(root * x) * root.T
    left = (w**2 @ (away**2).sum(1)) / (w**2).sum()
    assert found.left == pytest.approx(left)
    assert found.covariance(SCORES, SCORES) == pytest.approx(squares.sum() / left / w.sum() ** 2)


def test_variances_of_shares_are_those_of_indicators() -> None:
    found = raked(table(300, 2))
    for cumulative, rows in ((False, np.eye(3)), (True, np.tril(np.ones((3, 3))))):
        each = found.covariance(rows, rows)
        np.testing.assert_allclose(found.variances(cumulative=cumulative), each, atol=1e-15)
        stacked = np.stack([rows, rows])
        np.testing.assert_allclose(found.covariance(stacked, stacked), [each, each])


def test_the_variance_is_that_of_many_surveys() -> None:
    made = [raked(table(400, seed)) for seed in range(1500)]
    means = [one.sums.sum(0) @ SCORES / one.sums.sum() for one in made]
    stated = np.mean([one.covariance(SCORES, SCORES) for one in made])
    # A variance from 1,500 surveys is off by 3.7 %.
    assert stated == pytest.approx(np.var(means), rel=0.15)


def test_what_margins_explain_is_certain_and_nothing_left_is_infinite() -> None:
    known = Residuals(np.array([[0, 1]]), np.diag([9.0, 9.0]), np.diag([9.0, 9.0]))
    assert known.covariance(SCORES[:2], SCORES[:2]) == pytest.approx(0, abs=1e-12)
    single = Residuals(np.array([[0, 1]]), np.eye(2), np.eye(2))
    assert single.left == 0
    assert np.isinf(single.covariance(SCORES[:2], SCORES[:2]))


def test_one_of_several_questions() -> None:
    both = np.arange(1.0, 25.0).reshape(4, 6)
    one = Residuals(np.array([[0, 0, 1, 1]]), both, both).marginal((2, 3), (0,))
    np.testing.assert_array_equal(one.sums, both.reshape(4, 2, 3).sum(1))

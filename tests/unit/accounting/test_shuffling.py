"""The bound for shuffled reports is never below what exact enumeration finds."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from confide.accounting import shuffled
from confide.accounting.shuffling import divergence, parameters
from confide.errors import InvalidInput, Unsupported
from confide.lattice import Lattice
from confide.mechanisms import ForcedResponse, Joint, Laplace, Mechanism, SquareWave, TwoSidedGamma
from confide.mechanisms import RandomizedResponse as Response

LAWS: list[Mechanism] = [
    *(Response(list("abcd"[:k]), epsilon=e) for k in (2, 3, 4) for e in (0.5, 1.0, 2.0)),
    *(
        SquareWave(Lattice(low=0, high=1, size=size), epsilon=e)
        for size in (2, 3)
        for e in (0.5, 1.0, 2.0)
    ),
    *(
        Laplace(Lattice(low=0, high=1, size=size), epsilon=e)
        for size in (2, 4)
        for e in (0.5, 1.0, 2.0)
    ),
    TwoSidedGamma(Lattice(low=0, high=1, size=4), shape=1.0, scale=0.8),
    *(
        SquareWave(Lattice(low=0, high=1, size=2), epsilon=e, prefer_not_to_say=True)
        for e in (0.5, 1.0, 2.0)
    ),
    Response(["a", "b"], epsilon=1.0, prefer_not_to_say=True),
]


def histogram(laws: tuple[list[Fraction], ...]) -> Counter[tuple[int, ...]]:
    """The distribution of the histogram of independent reports, exactly."""
    outputs = len(laws[0])
    found: Counter[tuple[int, ...]] = Counter({(0,) * outputs: Fraction(1)})
    for law in laws:
        following: Counter[tuple[int, ...]] = Counter()
        for counts, chance in found.items():
            for report, own in enumerate(law):
                place = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                following[place] += chance * own
        found = following
    return found


def exact(mechanism: Mechanism, n: int, epsilon: float) -> tuple[Fraction, int]:
    """The largest divergence over all answers of one person and all of the others; how many."""
    law = mechanism.law
    columns = [law.weights(index) for index in range(law.inputs[0])]
    shares = [[Fraction(w, sum(column)) for w in column] for column in columns]
    factor = Fraction(math.nextafter(math.exp(epsilon), 0))
    worst, pairs = Fraction(0), 0
    for others in itertools.combinations_with_replacement(range(len(shares)), n - 1):
        rest = tuple(shares[other] for other in others)
        made = [histogram((*rest, own)) for own in shares]
        for one, two in itertools.permutations(made, 2):
            delta = sum(max(Fraction(0), one[h] - factor * two[h]) for h in one)
            worst, pairs = max(worst, delta), pairs + 1
    return worst, pairs


@pytest.mark.parametrize("mechanism", LAWS, ids=str)
def test_enumeration_never_exceeds_the_bound(mechanism: Mechanism) -> None:
    p, r = parameters(mechanism.law)
    seen = 0
    for n in (2, 3):
        for share in (0.2, 0.5, 0.8):
            epsilon = share * mechanism.spend.epsilon
            found, pairs = exact(mechanism, n, epsilon)
            assert float(found) <= divergence(p, r, n, epsilon) + 1e-12
            seen += pairs
    assert seen > 20


def test_there_is_something_to_exceed() -> None:
    # Enumeration breaks a bound that counts one person too many: the test above can fail.
    mechanism = Response(["a", "b"], epsilon=1.0)
    p, r = parameters(mechanism.law)
    assert float(exact(mechanism, 2, 0.5)[0]) > divergence(p, r, 3, 0.5)


@pytest.mark.parametrize(
    ("epsilon", "n", "central"),
    [(1.0, 1000, 0.183), (1.0, 10_000, 0.053), (1.0, 100_000, 0.0154), (2.0, 10_000, 0.155)],
)
def test_figures_for_a_number(epsilon: float, n: int, central: float) -> None:
    mechanism = SquareWave(Lattice(low=0, high=1), epsilon=epsilon)
    assert shuffled(mechanism, n=n, delta=1e-6).epsilon == pytest.approx(central, rel=0.01)


def test_a_small_group_of_a_large_survey() -> None:
    # 20,000 people, 8 questions, 16 regions, one question each.
    mechanism = SquareWave(Lattice(low=0, high=1), epsilon=1.0)
    assert shuffled(mechanism, n=156, delta=1e-6).epsilon == pytest.approx(0.50, rel=0.01)


def test_bins_of_clones_only_add() -> None:
    mechanism = SquareWave(Lattice(low=0, high=1, size=64), epsilon=1.0)
    p, r = parameters(mechanism.law)
    import confide.accounting.shuffling as own

    fine = divergence(p, r, 20_000, 0.05)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "BINS", 64)
        assert divergence(p, r, 20_000, 0.05) >= fine


def test_the_share_of_large_laws_is_a_bound() -> None:
    import confide.accounting.shuffling as own

    for mechanism in LAWS:
        _, share = parameters(mechanism.law)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(own, "ENTRIES", 0)
            assert parameters(mechanism.law)[1] <= share


def test_it_never_costs_more_than_the_report_itself() -> None:
    mechanism = Response(["no", "yes"], epsilon=4.0)
    for n in (1, 2, 10):
        found = shuffled(mechanism, n=n, delta=1e-6)
        assert found.epsilon <= 4.0
    epsilons = [shuffled(mechanism, n=n, delta=1e-6).epsilon for n in (10, 100, 1000, 10_000)]
    assert np.all(np.diff(epsilons) <= 0)


@pytest.mark.parametrize("delta", [0, -1, 1e-11, 2, math.nan, "1e-6"])
def test_bad_deltas(delta: object) -> None:
    with pytest.raises(InvalidInput):
        shuffled(Response(["a", "b"], epsilon=1.0), n=10, delta=delta)  # type: ignore[arg-type]


def test_what_it_does_not_hold_for() -> None:
    with pytest.raises(Unsupported):
        shuffled(ForcedResponse(["no", "yes"]), n=10, delta=1e-6)
    pair = Joint({"a": Response(["x", "y"], epsilon=0.5), "b": Response(["x", "y"], epsilon=0.5)})
    one = shuffled(Response(["x", "y"], epsilon=1.0), n=1000, delta=1e-6)
    assert shuffled(pair, n=1000, delta=1e-6).epsilon > one.epsilon / 2

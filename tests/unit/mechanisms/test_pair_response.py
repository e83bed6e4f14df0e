"""One report about two answers: outcomes, exact loss over all pairs of answers, audits."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from confide import Lattice, audits, mechanisms
from confide.audits.losses import _every_pair
from confide.errors import InvalidInput, Unsupported
from confide.exact.entropy import Entropy
from confide.lattice import Categories
from confide.mechanisms import PairResponse, Side
from confide.mechanisms.square_wave import FAR, near_weight

TEN = Lattice(low=0, high=10, size=10)
WHOLE = Lattice(low=0, high=5, kind="integer")
WORDS = Categories(("bus", "car", "foot"))
YES = Categories(("no", "yes"))
KINDS = {
    "bit": {"a": Side(TEN, (4,)), "b": Side(WHOLE, (2,))},
    "one may decline": {"a": Side(TEN, (4,), True), "b": Side(WHOLE, (2,))},
    "both may decline": {"a": Side(TEN, (4,), True), "b": Side(YES, None, True)},
    "words": {"a": Side(WORDS), "b": Side(YES)},
    "words by numbers": {"a": Side(WORDS, None, True), "b": Side(TEN, (2, 5, 8))},
    "numbers, more cuts": {"a": Side(TEN, (3, 7)), "b": Side(WHOLE, (1, 4))},
}


def pair(kind: str, epsilon: float = 1.0) -> PairResponse:
    return PairResponse(KINDS[kind], epsilon=epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_exact_loss_over_all_pairs_of_answers_is_at_most_epsilon(
    kind: str, epsilon: float
) -> None:
    law = pair(kind, epsilon).law
    # Nothing is taken for granted here: every report, and every two pairs of indices.
    worst = _every_pair(law)
    assert worst == law.ratio() == Fraction(near_weight(epsilon), FAR)
    found = audits.exact(pair(kind, epsilon))
    assert found.holds
    assert found.certified == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_is_that_of_the_outcome_counted_by_hand(kind: str) -> None:
    mechanism = pair(kind)
    (one, other) = mechanism.sides.values()
    near, law = near_weight(1.0), mechanism.law
    columns = []
    for i, j in product(range(law.inputs[0]), range(law.inputs[1])):
        # How many cuts lie at or below each index, typed anew.
        a, b = (sum(cut <= at for cut in side.starts[1:]) for side, at in ((one, i), (other, j)))
        skipped = i == one.axis.size or j == other.axis.size
        if mechanism.bit:
            outcome = 2 if skipped else int(a != b)
        else:
            wide = len(other.starts)
            outcome = len(one.starts) * wide if skipped else a * wide + b
        weights = [FAR] * law.outputs[0]
        weights[outcome] = near
        assert list(law.weights(i * law.inputs[1] + j)) == weights
        columns.append(np.array(weights) / sum(weights))
    matrix = np.array(columns).T
    np.testing.assert_allclose(law.matrix(), matrix, rtol=1e-12)
    generator = np.random.default_rng(1)
    masses, scores = generator.random((3, *law.inputs)), generator.random((3, *law.outputs))
    np.testing.assert_allclose(law.forward(masses), masses.reshape(3, -1) @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(law.adjoint(scores).reshape(3, -1), scores @ matrix, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", ["exact", "grid", "index", "goodness", "sampled", "joint"])
def test_every_audit_looks_at_it(kind: str, layer: str) -> None:
    options: dict[str, Any] = {} if layer in ("exact", "grid", "index") else {"seed": 1, "n": 4000}
    finding = getattr(audits, layer)(pair(kind), **options)
    assert finding.holds
    assert finding.looked


def test_large_lattices_cost_the_same() -> None:
    sides = {"a": Side(Lattice(low=0, high=1), (512,)), "b": Side(Lattice(low=0, high=1), (9,))}
    mechanism = PairResponse(sides, epsilon=2.0)
    assert audits.exact(mechanism).holds
    assert audits.grid(mechanism, n=2**12).holds


@dataclass(frozen=True, eq=False, repr=False)
class TwoBits(PairResponse):
    """A mutant that steps from the class of the first answer, not from the outcome of both."""

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        return self.response.draw(self._classes[0][indices[:, 0]].astype(np.int32), entropy)


@dataclass(frozen=True, eq=False, repr=False)
class Honest(PairResponse):
    """A mutant whose report is the outcome itself where the second index is the last."""

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        reports = super().draw(indices, entropy)
        first, second = self._classes
        outcomes = self.outcomes[first[indices[:, 0]], second[indices[:, 1]]]
        return np.where(indices[:, 1] == len(second) - 1, outcomes, reports).astype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class Beyond(PairResponse):
    """A mutant whose index of the second answer may lie beyond its lattice."""

    def index(self, values: Any) -> Any:
        indices = super().index(values)
        indices[:, 1] += np.asarray(values["b"]) > WHOLE.high
        return indices


@pytest.mark.parametrize(
    ("mutant", "layer"),
    [(TwoBits, "grid"), (Honest, "grid"), (Honest, "goodness"), (Beyond, "index")],
)  # fmt: skip
def test_mutants_are_caught(mutant: type[PairResponse], layer: str) -> None:
    assert not getattr(audits, layer)(mutant(KINDS["bit"], epsilon=1.0)).holds


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_from_json_and_pickle(kind: str) -> None:
    mechanism = pair(kind)
    fields = json.loads(json.dumps(mechanism.to_dict()))
    assert mechanisms.from_dict(fields) == mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises(InvalidInput, match="vouched"):
        mechanisms.from_dict({**fields, "weights": ["3", "1"]})


def test_what_is_sent_is_about_both_answers() -> None:
    mechanism = pair("one may decline", 20.0)
    values = {"a": [1.0, 9.0, 1.0, None], "b": [1, 5, 5, 0]}
    # At epsilon 20 a report differs from the outcome once in hundreds of millions.
    assert mechanism.simulate(values, seed=1).indices.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Side(TEN, ()), "cuts of a question"),
        (lambda: Side(TEN, (0,)), "from 1 to 9"),
        (lambda: Side(TEN, (10,)), "from 1 to 9"),
        (lambda: Side(TEN, (3, 3)), "ascending"),
        (lambda: Side(TEN), "cuts of a question"),
        (lambda: PairResponse({"a": Side(TEN, (1,))}, epsilon=1.0), "two different questions"),
        (lambda: pair("bit", 0.0), "epsilon"),
        (lambda: pair("bit").privatize({"a": [1.0]}), "no column 'b'"),
        (lambda: pair("bit").privatize({"a": [1.0], "b": [1, 2]}), "same length"),
        (lambda: mechanisms.from_dict({"mechanism": "pair-response", "parts": 1, "epsilon": 1.0}),
         "list of parts"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make()


def test_it_has_no_mean() -> None:
    with pytest.raises(Unsupported, match="how they relate"):
        pair("bit").unbiased(1)

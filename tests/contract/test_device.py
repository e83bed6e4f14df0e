"""What runs on a device: its entropy, its stamps, every index, every chunk, hostile input."""

from __future__ import annotations

import ast
import json
import os
import pickle
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from confide import mechanisms
from confide.audits.grids import deviation
from confide.errors import ConfideError, InvalidInput, Unsupported
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.inversion import FEW, Inversion, weighted
from confide.lattice import CHUNK, Categories, Lattice
from confide.mechanisms import (
    ForcedResponse,
    Joint,
    Laplace,
    Mechanism,
    RandomizedResponse,
    Reports,
    SquareWave,
    TwoSidedGamma,
)

LATTICE = Lattice(low=0, high=1, size=9)
SINGLE: list[Mechanism] = [
    Laplace(LATTICE, epsilon=1.0),
    SquareWave(LATTICE, epsilon=1.0),
    TwoSidedGamma(LATTICE, shape=0.8, scale=0.7),
    RandomizedResponse(list("abcdefghi"), epsilon=1.0),
]
JOINT = Joint({"a": SINGLE[0], "b": SINGLE[1]})


def answers(mechanism: Mechanism, n: int) -> object:
    if isinstance(mechanism, Joint):
        return {name: answers(part, n) for name, part in mechanism.mechanisms.items()}
    return ["e"] * n if mechanism.name == "randomized-response" else np.full(n, 0.5)


@pytest.mark.parametrize("mechanism", SINGLE, ids=lambda m: m.name)
def test_every_index_on_the_grid(mechanism: Mechanism) -> None:
    for index in range(LATTICE.size):
        assert deviation(mechanism, index, 2**14) <= 1 + 1e-6


class Slots(Inversion):
    """A sampler that gives every outcome once, in order."""

    def draw(self, entropy: Entropy, n: int) -> np.ndarray:
        return np.arange(n)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("size", [2, 5, 16])
def test_slots_map_onto_the_law_for_every_index(epsilon: float, size: int) -> None:
    wave = SquareWave(Lattice(low=0, high=1, size=size), epsilon=epsilon)
    response = RandomizedResponse([str(k) for k in range(size)], epsilon=epsilon)
    for mechanism in (wave, response):
        law = mechanism.law
        slots = np.r_[[law.near] * (2 * law.reach + 1), [law.far] * (size - 1)]
        object.__setattr__(mechanism, "sampler", Slots(mechanism.sampler.enclosure))
        for index in range(size):
            reports = mechanism.draw(np.full(slots.size, index, dtype=np.int32), SystemEntropy())
            # Each slot goes to a report of its own, with that report's weight.
            assert sorted(reports) == list(range(law.outputs[0]))
            assert (slots == np.array(law.weights(index))[reports]).all()


@pytest.mark.parametrize("mechanism", [*SINGLE, JOINT], ids=lambda m: m.name)
def test_noise_reaches_past_the_first_chunk(mechanism: Mechanism) -> None:
    n = CHUNK + 3000
    reports = mechanism.privatize(answers(mechanism, n)).indices.reshape(n, -1)
    for axis, part in enumerate(mechanism.marginals.values()):
        tail = reports[CHUNK:, axis]
        pmf = part.law.forward(np.eye(part.law.inputs[0])[4])
        counts = np.bincount(tail, minlength=pmf.size)
        error = np.abs(counts - tail.size * pmf) / np.sqrt(tail.size * pmf * (1 - pmf))
        assert error.max() < 6


@pytest.mark.parametrize("mechanism", SINGLE, ids=lambda m: m.name)
@pytest.mark.parametrize("n", [50, 3 * FEW])
def test_reports_are_made_of_the_operating_systems_entropy(
    mechanism: Mechanism, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = np.random.default_rng(1).bytes(4 * n)
    given = iter([tape])

    def forbidden(*_: object) -> None:
        raise AssertionError("a seeded source on the private path")

    monkeypatch.setattr(os, "urandom", lambda size: next(given)[:size])
    monkeypatch.setattr(SeededEntropy, "__init__", forbidden)
    monkeypatch.setattr(np.random, "default_rng", forbidden)
    reports = mechanism.privatize(answers(mechanism, n)).indices

    class Tape(Entropy):
        def words(self, n: int, bits: int) -> np.ndarray:
            return np.frombuffer(tape, dtype="<u4")

    indices = np.full(n, 4, dtype=np.int32)
    assert (reports == mechanism.draw(indices, Tape())).all()


DEVICE = [
    "mechanisms", "lattice.py", "exact/inversion.py", "exact/integer_noise.py", "accounting",
    "_checks.py",
]  # fmt: skip


def test_no_generator_can_be_reached_from_the_device_modules() -> None:
    root = Path(mechanisms.__file__).parents[1]
    paths = [
        p
        for name in DEVICE
        for p in ((root / name).glob("*.py") if (root / name).is_dir() else [root / name])
    ]
    assert len(paths) > 8
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, (ast.Import, ast.ImportFrom))
                else []
            )
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] in ("random", "secrets") for n in names), path
            if isinstance(node, ast.Attribute):
                assert node.attr != "random", path
                # Only `simulate` may ask for a seeded source.
            if isinstance(node, ast.FunctionDef) and node.name != "simulate":
                assert "SeededEntropy" not in {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name)
                }


def test_stamps() -> None:
    assert SINGLE[0].privatize([0.5]).simulated is False
    assert SINGLE[0].simulate([0.5], seed=1).simulated is True
    with pytest.raises(TypeError):
        Reports(np.array([1]), SINGLE[0])  # type: ignore[call-arg]
    with pytest.raises(InvalidInput):
        Reports(np.array([1]), SINGLE[0], simulated="no")  # type: ignore[arg-type]


def test_few_draws_never_take_the_short_cut() -> None:
    sampler = weighted([1, 10**6, 1])
    sampler.draw(SeededEntropy(1), FEW)
    assert "_guide" not in vars(sampler)
    sampler.draw(SeededEntropy(1), FEW + 1)
    assert "_guide" in vars(sampler)


@pytest.mark.parametrize("bits", [8, 16])
def test_every_word_of_a_small_size(bits: int) -> None:
    # A last outcome too rare for one word must still be reachable, and only by refinement.
    sampler = weighted([2 ** (bits + 12), 1], bits)
    words = np.arange(2**bits, dtype=np.uint64)

    class Each(Entropy):
        def words(self, n: int, bits: int) -> np.ndarray:
            return words if n == words.size else np.zeros(n, dtype=np.uint64)

    for short_cut in (False, True):
        count = words.size
        outcomes = sampler._search(words, Each()) if not short_cut else sampler.draw(Each(), count)
        assert (outcomes == 0).all()


def test_a_part_without_epsilon_is_refused_inside_a_joint_too() -> None:
    forced = ForcedResponse(["no", "yes"], truth=0.9)
    both = Joint({"a": forced, "b": RandomizedResponse(["no", "yes"], epsilon=1.0)})
    with pytest.raises(Unsupported, match="no finite epsilon"):
        both.privatize({"a": ["no"], "b": ["no"]})
    assert both.simulate({"a": ["no"], "b": ["no"]}, seed=1).simulated


@pytest.mark.parametrize(
    ("low", "high"),
    [(1e-300, 1e10), (1e-10, 1e300), (5e-324, 1.0), (5e-324, 1e308), (-8e307, 8e307)],
)
def test_bounds_that_floats_cannot_hold_are_refused(low: float, high: float) -> None:
    for scale in ("linear", "log"):
        if scale == "linear" and high < 1e150:
            continue
        with pytest.raises(InvalidInput):
            Lattice(low=low, high=high, size=64, scale=scale)


def test_extreme_but_sound_lattices_index_every_value() -> None:
    wide = Lattice(low=1e-149, high=1e149, size=64, scale="log")
    values = np.logspace(-149, 149, 500)
    indices = wide.index(values)
    assert indices.min() == 0
    assert indices.max() == 63
    assert (np.diff(indices) >= 0).all()
    assert np.isfinite(wide.centers).all()


def given(mechanism: Mechanism, *rows: object) -> Mechanism:
    """The same mechanism with a map from values to indices that always gives these."""
    made = copy(mechanism)
    made.__dict__["index"] = lambda values: np.array(rows, dtype=np.int32)
    return made


@pytest.mark.parametrize("mechanism", SINGLE, ids=lambda m: m.name)
def test_an_index_out_of_range_never_meets_noise(mechanism: Mechanism) -> None:
    size = mechanism.law.inputs[0]
    # The first and the last index are answered, those beside them are not, alone or among others.
    assert len(given(mechanism, 0, size - 1).privatize([1.0])) == 2
    for wrong in (-1, size, size + 1, 100_000):
        for indices in ([wrong], [0, wrong, 0], [size - 1, wrong]):
            with pytest.raises(InvalidInput, match="indices"):
                given(mechanism, *indices).privatize([1.0])
            with pytest.raises(InvalidInput, match="indices"):
                given(mechanism, *indices).simulate([1.0], seed=1)


def test_no_question_of_several_passes_an_index_out_of_range() -> None:
    sizes = JOINT.law.inputs
    assert len(given(JOINT, [0, sizes[1] - 1], [sizes[0] - 1, 0]).privatize({})) == 2
    for at, size in enumerate(sizes):
        for wrong in (-1, size):
            row = [0, 0]
            row[at] = wrong
            with pytest.raises(InvalidInput, match="indices"):
                given(JOINT, [0, 0], row).privatize({})


@pytest.mark.parametrize("epsilon", [20.0, 37.0, 40.0, 100.0])
@pytest.mark.parametrize("size", [2, 3])
def test_large_epsilons_have_a_right_law(epsilon: float, size: int) -> None:
    law = Laplace(Lattice(low=0, high=1, size=size), epsilon=epsilon).law
    weights = np.array([[w / sum(law.weights(i)) for w in law.weights(i)] for i in range(size)]).T
    # Entries that underflow against their column are lost to the transform's rounding only.
    np.testing.assert_allclose(law.matrix(), weights, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(law.table[-1], law.weights(0)[-1] / sum(law.weights(0)), rtol=1e-9)


def hostile() -> dict[str, object]:
    good = SINGLE[0].to_dict()
    joint = JOINT.to_dict()
    wave = SINGLE[1].to_dict()
    deep: dict = {"mechanism": "joint", "parts": []}
    for _ in range(3000):
        deep = {"mechanism": "joint", "parts": [deep, deep]}
    return {
        "none": None,
        "list": [],
        "word": "laplace",
        "empty": {},
        "unknown": {**good, "mechanism": "laplaec"},
        "kind of wrong type": {**good, "mechanism": 3},
        **{f"lattice {v!r}": {**good, "lattice": v} for v in (None, 5, True, 1.5, [], ["low"], {})},
        "lattice with words": {**good, "lattice": {"low": "a", "high": "b"}},
        **{f"epsilon {v!r}": {**good, "epsilon": v} for v in (None, "1", True, 0, -1, 1e400, [])},
        "epsilon huge integer": {**good, "epsilon": 10**5000},
        "another p": {**good, "p": "1/2"},
        "p of another type": {**good, "p": 0.5},
        "p as array": {**good, "p": np.zeros(3)},
        "extra": {**good, "sigma": 1},
        "a reach beyond the lattice": {**wave, "reach": 10_000},
        "reach as bool": {**SquareWave(LATTICE, epsilon=9.0).to_dict(), "reach": False},
        "other weights": {**wave, "weights": ["3", "1"]},
        "other table": {**SINGLE[2].to_dict(), "table": "0" * 32},
        "no parts": {"mechanism": "joint", "parts": []},
        **{
            f"parts {v!r}": {"mechanism": "joint", "parts": v}
            for v in (None, 3, [None], ["a"], [[1, 2]])
        },
        "nested": deep,
        "parts without names": {"mechanism": "joint", "parts": [good, good]},
        "parts of one name": {"mechanism": "joint", "parts": joint["parts"] + joint["parts"][:1]},
        "categories": {"mechanism": "randomized-response", "categories": 3, "epsilon": 1.0},
        "one category": {"mechanism": "randomized-response", "categories": ["a"], "epsilon": 1.0},
    }  # fmt: skip


@pytest.mark.parametrize("name", hostile())
def test_hostile_descriptions_get_a_sentence(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        mechanisms.from_dict(hostile()[name])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([0.1, 0.5], mask=[0, 1]),
        [[0.1], [0.2, 0.3]],
        [True, 0.5],
        [0.5, None],
        ["secret"],
        [10**5000],
        np.array(0.5),
        np.zeros((2, 2)),
    ],
    ids=["masked", "ragged", "bool", "none", "word", "huge", "scalar", "table"],
)
def test_odd_values_get_a_sentence_that_does_not_quote_them(values: object) -> None:
    for mechanism in SINGLE:
        with pytest.raises(ConfideError) as caught:
            mechanism.privatize(values)
        assert "secret" not in str(caught.value)


def test_answers_stay_out_of_messages() -> None:
    with pytest.raises(InvalidInput) as caught:
        Categories(("no", "yes")).index(["no", "pregnant"])
    assert "pregnant" not in str(caught.value)
    assert "row 2" in str(caught.value)


def test_public_parts_cannot_be_changed() -> None:
    for array in (LATTICE.edges, SINGLE[0].law.table, SINGLE[0].privatize([0.5]).indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        JOINT.mechanisms["a"] = SINGLE[1]  # type: ignore[index]
    mine = np.array([1, 2], dtype=np.int32)
    reports = Reports(mine, SINGLE[0], simulated=False)
    mine[0] = -5
    assert reports.indices[0] == 1


@pytest.mark.parametrize("mechanism", [*SINGLE, JOINT], ids=lambda m: m.name)
def test_used_mechanisms_pickle(mechanism: Mechanism) -> None:
    reports = mechanism.privatize(answers(mechanism, 5))
    again = pickle.loads(pickle.dumps(reports))
    assert (again.indices == reports.indices).all()
    assert again.mechanism == mechanism
    assert json.dumps(again.mechanism.to_dict()) == json.dumps(mechanism.to_dict())


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_bad_weights(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="weights"):
        weighted(weights)


def test_constructors_refuse_what_they_cannot_use() -> None:
    with pytest.raises(InvalidInput, match="Lattice"):
        Laplace(Categories(("a", "b")), epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Lattice"):
        SquareWave(None, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="trace"):
        SquareWave(LATTICE, epsilon=1e-14)
    with pytest.raises(InvalidInput, match="trace"):
        Laplace(Lattice(low=0, high=1, size=2**20), epsilon=1e-14)
    with pytest.raises(InvalidInput, match="cells"):
        TwoSidedGamma(LATTICE, shape=0.8, scale=5e-324)

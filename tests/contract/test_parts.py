"""Everything private states the samplers that it draws from, and comes back from its JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from confide import mechanisms, releases, sampling
from confide.audits.neighbors import across
from confide.errors import InvalidInput, Unsupported
from confide.exact.entropy import SeededEntropy
from confide.exact.inversion import Part
from confide.lattice import Categories, Cells, Lattice
from confide.mechanisms import (
    ForcedResponse,
    Joint,
    Laplace,
    Partition,
    RandomizedResponse,
    SquareWave,
    TwoSidedGamma,
)
from confide.mechanisms.protocol import Private
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
    Series,
)
from confide.sampling import MBDE, FiniteMollifier, Gaussian, Mollifier, NaiveSampler

UNIT = Lattice(low=0, high=1, size=16)
BOTH = {"x": UNIT, "y": Lattice(low=1, high=100, size=8, scale="log")}
YES = Categories(("no", "yes"))
DEVICES: list[Private] = [
    Laplace(UNIT, epsilon=1.0),
    Laplace(Lattice(low=0, high=1, size=1024), epsilon=1.0),
    SquareWave(UNIT, epsilon=1.0),
    SquareWave(UNIT, epsilon=1.0, prefer_not_to_say=True),
    SquareWave(Lattice(low=0, high=9, kind="integer"), epsilon=1.0),
    RandomizedResponse(["no", "yes"], epsilon=1.0, prefer_not_to_say=True),
    TwoSidedGamma(UNIT, shape=0.9, scale=0.5),
    RandomizedResponse(["no", "yes", "maybe"], epsilon=1.0),
    ForcedResponse(["no", "yes"], truth=0.7),
    Joint({"x": Laplace(UNIT, epsilon=1.0), "y": SquareWave(UNIT, epsilon=0.5)}),
    Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0, levels=3),
    Partition(Cells(low=[0], high=[1], shape=[4]), epsilon=2.0, classify=True),
]
RECIPES: list[Any] = [
    Query("count", epsilon=1.0),
    Query("mean", UNIT, epsilon=1.0),
    Query("quantile", UNIT, epsilon=1.0, q=0.5),
    Histogram(UNIT, epsilon=1.0),
    Histogram(BOTH, epsilon=1.0, cells=4),
    Histogram(Lattice(low=17, high=90), epsilon=1.0, integers=True),
    Series(UNIT, epsilon=1.0, terms=3),
    Bernstein(UNIT, epsilon=1.0),
    GaussianProcess(UNIT, epsilon=1.0, delta=1e-6),
    KolmogorovSmirnov(UNIT, epsilon=1.0, size=4, points=4),
    CrossTable({"x": UNIT, "said": YES}, epsilon=1.0),
    LeastSquares({**BOTH, "said": YES}, target="said", epsilon=1.0),
    LeastSquares({**BOTH, "said": YES}, target="x", epsilon=1.0, delta=1e-6),
    Means(BOTH, epsilon=1.0),
    Means(BOTH, epsilon=1.0, delta=1e-6),
    Choice([Histogram(UNIT, epsilon=0.8, cells=cells) for cells in (2, 4)], epsilon=1.0),
]
SAMPLERS: list[Any] = [
    Mollifier(reference=Gaussian(dim=1), epsilon=1.0, atoms=50, seed=3),
    FiniteMollifier({"said": YES, "age": UNIT}, epsilon=1.0),
    FiniteMollifier({"said": YES}, epsilon=1.0, reference=[0.2, 0.8]),
    MBDE(reference=Gaussian(dim=1), epsilon=1.0, rounds=2),
    NaiveSampler(Laplace(UNIT, epsilon=1.0)),
]
ALL = [*DEVICES, *RECIPES, *SAMPLERS]


def records(recipe: Any, n: int = 400) -> Any:
    """Records within the bounds, or answers to count."""
    columns = {name: across(each, n) for name, each in recipe.lattices(n).items()} or {
        "": np.arange(n) % 2
    }
    return columns.get("", columns)


def parts_of(subject: Any) -> tuple[Part, ...]:
    """Its parts; for a release those of some records, for a mollifier those of no opinion."""
    if isinstance(subject, releases.Recipe):
        ready = subject.prepare(subject.admitted(records(subject)), lambda _: None)
        return subject.parts(ready)
    if isinstance(subject, Mollifier | FiniteMollifier):
        return subject.parts(subject.band.weights(np.zeros(subject.outcomes)))
    return tuple(subject.parts())


@pytest.mark.parametrize("subject", ALL, ids=lambda subject: f"{subject.name}")
def test_parts_have_names_of_their_own_and_exact_laws(subject: Any) -> None:
    parts = parts_of(subject)
    assert parts
    names = [part.name for part in parts]
    assert len(set(names)) == len(names)
    for part in parts:
        assert (part.weights is None) != (part.enclosure is None)
        pmf = part.pmf()
        assert pmf.min() >= 0
        assert pmf.sum() == pytest.approx(1, abs=1e-12)
        drawn = part.sampler.draw(SeededEntropy(1), 200)
        assert drawn.dtype.kind in "iu"
        assert drawn.min() >= 0
        assert drawn.max() < pmf.size


@pytest.mark.parametrize("subject", ALL, ids=lambda subject: f"{subject.name}")
def test_it_comes_back_from_json(subject: Any) -> None:
    read = {"mechanism": mechanisms.from_dict, "release": releases.from_dict}[subject.role]
    if isinstance(subject, sampling.Sampler):
        read = sampling.from_dict
    fields = json.loads(json.dumps(subject.to_dict()))
    again = read(fields)
    assert type(again) is type(subject)
    assert again.to_dict() == subject.to_dict()
    assert again.fingerprint == subject.fingerprint
    assert again.spend == subject.spend
    with pytest.raises(InvalidInput):
        read({**fields, "surplus": 1})
    with pytest.raises(InvalidInput):
        read({**fields, subject.role: "nonsense"})
    with pytest.raises(InvalidInput):
        read([fields])


def test_ratios_of_one_s_own_are_named_and_do_not_draw() -> None:
    given = Mollifier(reference=Gaussian(dim=1), epsilon=1.0, ratio=lambda records, reference: abs)
    read = sampling.from_dict(given.to_dict())
    assert read.to_dict() == given.to_dict()
    with pytest.raises(Unsupported, match="where the records are"):
        read.privatize([[0.5]])


def test_everything_private_is_of_one_kind() -> None:
    assert all(isinstance(subject, Private) for subject in ALL)
    for subject in ALL:
        assert subject.to_dict()[subject.role] == subject.name

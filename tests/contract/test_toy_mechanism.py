"""A mechanism of one's own is one class and one line in the register: the rest finds it."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide import audits, mechanisms
from confide.accounting.spend import Spend, checked_epsilon, exact
from confide.cli.app import run
from confide.errors import InvalidInput
from confide.estimators import Deconvolution, Likelihood
from confide.exact.enclosures import exp_floor
from confide.exact.entropy import Entropy
from confide.exact.inversion import Inversion, Part, weighted
from confide.lattice import Lattice
from confide.mechanisms import KINDS, Numeric, register
from confide.mechanisms.laws import Dense
from confide.planning.planner import plan
from confide.sklearn import PrivateKDE, PrivateRegressor
from confide.summaries import Counts
from confide.survey import Survey

UNIT = 2**30
N = 4000
TOML = """
title = "Toys"
[questions.pay]
mechanism = "toy"
low = 0
high = 10
size = 8
epsilon = 2.0
[questions.age]
low = 15
high = 75
epsilon = 1.0
size = 16
"""


@dataclass(frozen=True, eq=False)
class Toy(Numeric):
    """The true cell with weight floor(2**30 e**epsilon), every other one with 2**30."""

    name: ClassVar[str] = "toy"
    lattice: Lattice
    epsilon: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @cached_property
    def weight(self) -> int:
        return exp_floor(exact(self.epsilon), UNIT)

    @cached_property
    def law(self) -> Dense:
        size = self.lattice.size
        rows = np.full((size, size), UNIT, dtype=object)
        np.fill_diagonal(rows, self.weight)
        return Dense(tuple(map(tuple, rows.tolist())))

    @property
    def spend(self) -> Spend:
        return Spend(self.epsilon)

    @property
    def steps(self) -> list[int]:
        return [self.weight] + [UNIT] * (self.lattice.size - 1)

    @cached_property
    def sampler(self) -> Inversion:
        return weighted(self.steps)

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        return (Part("step", self.sampler, self.steps),)

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        steps = self.sampler.draw(entropy, indices.size)
        return ((indices + steps) % self.lattice.size).astype(np.int32)

    def unbiased(self, power: int) -> Any:
        return np.linalg.solve(self.law.matrix().T, self.lattice.centers**power)

    def stated(self) -> dict[str, Any]:
        return {"weight": str(self.weight)}


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "toy", Toy)
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(TOML)


@pytest.fixture
def values() -> Any:
    generator = np.random.default_rng(3)
    return {"pay": generator.beta(2, 5, N) * 10, "age": generator.uniform(15, 75, N)}


def toy(epsilon: float = 2.0) -> Toy:
    return Toy(Lattice(low=0, high=10, size=8), epsilon=epsilon)


def test_it_comes_back_from_json_and_pickle() -> None:
    fields = json.loads(json.dumps(toy().to_dict()))
    assert mechanisms.from_dict(fields) == toy()
    assert pickle.loads(pickle.dumps(toy())) == toy()
    with pytest.raises(InvalidInput, match="vouched"):
        mechanisms.from_dict({**fields, "weight": str(3 * UNIT)})
    with pytest.raises(InvalidInput, match="'epsilon' for a toy mechanism"):
        mechanisms.from_dict({key: fields[key] for key in fields if key != "epsilon"})


def test_its_cells_are_counted_before_it_is_built() -> None:
    many = {"mechanism": "toy", "lattice": {"low": 0, "high": 1, "size": 2**20}, "epsilon": 1.0}
    with pytest.raises(InvalidInput, match="cells in a file"):
        register.affordable([many] * 5, "a file")


def test_a_survey_asks_with_it(values: Any) -> None:
    survey = Survey.read("survey.toml")
    assert survey.mechanisms["pay"] == toy()
    assert survey.spend.epsilon == 3.0
    assert Survey.from_dict(survey.to_dict()) == survey
    reports = survey.privatize(values)
    assert reports["pay"].to_numpy().max() < 8
    counts = cf.tables.counts(reports, toy(), column="pay")
    density = Likelihood().fit(counts)
    assert density.mean() == pytest.approx(values["pay"].mean(), abs=0.4)
    with pytest.raises(InvalidInput, match="reach"):
        Survey.from_dict({"questions": {"pay": {"mechanism": "toy", "low": 0, "high": 1,
                                                "epsilon": 1.0, "reach": 3}}})  # fmt: skip
    with pytest.raises(InvalidInput, match="without quotes"):
        Survey.from_dict({"questions": {"pay": {"mechanism": "toy", "low": 0, "high": "1",
                                                "epsilon": 1.0}}})  # fmt: skip


def test_commands_know_it(values: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = zip(values["pay"], values["age"], strict=True)
    Path("raw.csv").write_text("pay,age\n" + "".join(f"{pay},{age}\n" for pay, age in rows))
    assert run(["privatize", "survey.toml", "raw.csv", "-o", "reports.parquet"]) == 0
    assert "toy" in capsys.readouterr().out
    assert set(pq.read_table("reports.parquet").column_names) == {"pay", "age"}
    command = ["summarize", "reports.parquet", "--question", "pay", "-o", "counts.json"]
    assert run(command) == 0
    assert json.loads(Path("counts.json").read_text())["mechanism"]["mechanism"] == "toy"
    capsys.readouterr()
    assert run(["density", "counts.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mean"] == pytest.approx(values["pay"].mean(), abs=0.4)
    assert run(["audit", "survey.toml", "--n", "2000", "--json"]) == 0
    audit = json.loads(capsys.readouterr().out)
    assert audit["holds"] is True
    assert audit["questions"]["pay"]["certified"] <= 2.0
    command = "plan --n 500 --epsilon 2 --low 0 --high 10 --size 16 --surveys 4 --json"
    assert run([*command.split(), "--mechanism", "toy", "--mechanism", "laplace"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert {row["mechanism"] for row in planned["rows"]} == {"toy", "laplace"}


def test_it_is_planned() -> None:
    made = plan(n=1000, epsilon=2.0, low=0, high=1, size=16, mechanisms="toy", surveys=4)
    assert made.best().mechanism == "toy"
    assert made.n_for(made.best("mean").error / 2, metric="mean").n == pytest.approx(4000, rel=0.05)


def test_scikit_learn_takes_it() -> None:
    X = np.random.default_rng(1).beta(2, 5, (2000, 1))
    model = PrivateKDE(epsilon=3.0, low=0, high=1, mechanism="toy", size=8, random_state=1).fit(X)
    assert model.spend_.epsilon == np.inf
    assert np.isfinite(model.score_samples([[0.3]])).all()
    regressor = PrivateRegressor(
        epsilon=6.0, low=0, high=1, response_low=0, response_high=1, mechanism="toy", size=8
    ).fit(X, X[:, 0])  # fmt: skip
    assert np.isfinite(regressor.predict([[0.3]])).all()


@pytest.mark.parametrize("layer", ["exact", "grid", "index", "goodness", "sampled", "joint"])
def test_every_audit_looks_at_it(layer: str) -> None:
    options: dict[str, Any] = {} if layer in ("exact", "grid", "index") else {"seed": 1}
    finding = getattr(audits, layer)(toy(), **options)
    assert finding.holds
    assert finding.looked


def test_audits_find_it_wanting() -> None:
    class Cheat(Toy):
        """Tells the truth more often than its law says."""

        @cached_property
        def sampler(self) -> Inversion:
            return weighted([2 * self.weight] + [UNIT] * (self.lattice.size - 1))

    cheat = Cheat(Lattice(low=0, high=10, size=8), epsilon=2.0)
    assert not audits.grid(cheat).holds
    assert not audits.goodness(cheat, seed=1).holds


def test_deconvolution_says_that_it_knows_no_inverse(values: Any) -> None:
    counts = Counts.of(toy().simulate(values["pay"], seed=1))
    with pytest.raises(cf.errors.Unsupported, match="no inverse of toy reports"):
        Deconvolution().fit(counts)


def test_counts_merge_and_have_a_json_form(values: Any) -> None:
    one = Counts.of(toy().privatize(values["pay"]))
    both = one + one
    again = Counts.from_dict(json.loads(json.dumps(both.to_dict())))
    assert again.mechanism == toy()
    assert again.n == 2 * N
    with pytest.raises(cf.errors.ConfideError):
        both + Counts.of(toy(1.0).privatize(values["pay"]))

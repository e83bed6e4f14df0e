"""The audits: what is right passes, every mutant is caught where it should be, the page agrees."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from evidence.audits import study
from scipy import stats
from tests.contract import mutants
from tests.contract.mutants import LATTICE, LAYERS, RIGHT, Case

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave, Survey, audits
from confide.accounting import Spend
from confide.audits.attacks import learned, lower_bound
from confide.audits.fits import chi_square
from confide.audits.losses import BRUTE
from confide.audits.trials import within
from confide.errors import InvalidInput, Unsupported
from confide.ledger.budget import Ledger
from confide.mechanisms import ForcedResponse
from confide.mechanisms.laws import Band, Law
from confide.releases import Query
from confide.sampling.mollifier import FiniteMollifier

from .test_mechanisms import ALL, exactly_within

CASES = {case.name: case for case in mutants.cases()}
SUBJECTS = {case.name: case for case in study.subjects()}
NEEDED = [
    "half the noise", "5 % short", "1 % short", "sensitivity off by one", "zero counted twice",
    "one-sided", "no clipping", "index m + 1", "NaN through clip", "tail cut before adding",
    "even noise only", "noise reused", "fresh noise on retry", "float noise",
]  # fmt: skip


@pytest.fixture(scope="module")
def page() -> str:
    return study.PAGE.read_text()


def row_of(page: str, kind: str, name: str) -> list[str]:
    """The cells of a row of a table of the page."""
    table = re.search(rf"^\| {kind} \|.*?\n\n", page, re.DOTALL | re.MULTILINE)
    assert table is not None
    (found,) = [
        re.split(r" ?\| ?", line.strip("|").strip()) for line in table[0].splitlines()
        if line.startswith(f"| {name} |")
    ]  # fmt: skip
    return [cell.strip() for cell in found]


@pytest.mark.parametrize("name", NEEDED)
def test_all_known_faults_have_a_mutant(name: str) -> None:
    assert any(case.startswith(name) and CASES[case].caught for case in CASES)


@pytest.mark.parametrize("name", CASES)
def test_mutants_are_caught_by_the_layers_that_should(name: str, page: str) -> None:
    case = CASES[name]
    found = {layer: finding.holds for layer, finding in mutants.run(case).items()}
    caught = {layer for layer, holds in found.items() if not holds}
    assert case.caught <= caught
    # The page says so too, neither more nor less.
    cells = dict(zip(LAYERS, row_of(page, "mutant", name)[1:], strict=False))
    assert {layer for layer, cell in cells.items() if cell == "caught"} == caught


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_is_right_passes_every_layer(name: str, page: str) -> None:
    # Fewer samples than the study takes: what is right passes with any number that can be judged.
    subject = SUBJECTS[name]
    found = mutants.run(replace(subject, n=max(subject.n // 4, min(subject.n, 500))))
    assert all(finding.holds for finding in found.values()), found
    cells = row_of(page, "subject", name)[1:]
    for layer, cell in zip(LAYERS, cells, strict=False):
        seen = layer in found and found[layer].looked
        assert cell == ("holds" if seen else "-"), layer


def test_the_recorded_study_agrees_with_the_page(page: str) -> None:
    results = json.loads(study.RESULT.read_text())
    assert study.page(results) == page
    assert study.shortfalls(results) == []
    assert {row["seeds"] for row in results["alarms"]} == {200}
    # No false alarm at the alpha that is stated.
    assert sum(row["alarms"] for row in results["alarms"] if row["alpha"] == 1e-6) == 0


def test_a_missed_mutant_and_a_false_alarm_are_told() -> None:
    row = {"name": "x", "layers": {"exact": True, "goodness": False}, "must": ["exact"]}
    alarm = {"mechanism": "x", "layer": "goodness", "alpha": 1e-6, "seeds": 9, "alarms": 1}
    assert len(study.shortfalls({"mutants": [row], "subjects": [row], "alarms": [alarm]})) == 3


@pytest.mark.parametrize("mechanism", ALL[::7], ids=str)
def test_exact_agrees_with_an_independent_check(mechanism: object) -> None:
    found = audits.exact(mechanism)
    ratio = Law.ratio(mechanism.law)  # type: ignore[attr-defined]
    assert found.holds
    assert exactly_within(ratio, found.certified)
    assert not exactly_within(ratio, math.nextafter(found.certified, 0) * (1 - 1e-12))


@pytest.mark.parametrize("size", [600, 3000, 2**17])
def test_large_lattices_are_certified_too(size: int) -> None:
    lattice = Lattice(low=0, high=1, size=size)
    for mechanism in (Laplace(lattice, epsilon=1.0), SquareWave(lattice, epsilon=1.0)):
        found = audits.exact(mechanism)
        assert found.holds
        assert 1 - 1e-9 < found.certified <= 1
    short = mutants.Short(lattice, epsilon=1.0)
    object.__setattr__(short, "parameter", Laplace(lattice, epsilon=1.01).parameter)
    found = audits.exact(short)
    assert not found.holds
    assert found.certified == pytest.approx(1.01)


def test_losses_of_questions_add() -> None:
    large = Laplace(Lattice(low=0, high=1, size=4096), epsilon=0.3)
    found = audits.exact(Joint({"a": large, "b": RIGHT}))
    assert found.holds
    assert found.certified == pytest.approx(1.3)
    wrong = audits.exact(Joint({"a": large, "b": mutants.OneStated(LATTICE, epsilon=1.0)}))
    assert not wrong.holds


def test_short_cuts_of_the_exact_loss_are_exact() -> None:
    band = SquareWave(LATTICE, epsilon=1.0).law
    assert math.prod(band.inputs) * math.prod(band.outputs) > BRUTE
    assert Fraction(band.near, band.far) == Law.ratio(band)
    edge = Fraction(3, 2)
    epsilon = math.log(1.5)
    assert within(edge, epsilon) is exactly_within(edge, epsilon)
    assert not within(edge, math.nextafter(epsilon, 0) - 1e-15)
    assert within(edge, epsilon + 1e-15)


def test_laws_of_several_totals_are_compared_as_laws() -> None:
    class Uneven(Band):
        def weights(self, index: int) -> list[int]:
            return list(super().weights(index)) if index else [2 * self.far] * 3

    class Wrong(RandomizedResponse):
        law = Uneven(3, 0, 2**40 * 2, 2**40)

    found = audits.exact(Wrong(["a", "b", "c"], epsilon=1.0))
    # (1/3) / (1/4) and (1/2) / (1/4): the second is the larger.
    assert found.certified == pytest.approx(math.log(2))


def test_no_claim_is_no_breach() -> None:
    found = audits.exact(ForcedResponse(["no", "yes"], truth=0.5))
    assert found.holds
    assert found.to_dict()["certified"] == "infinity"
    assert "infinity" in found.words()


@pytest.mark.parametrize("hits", [0, 1, 40, 999, 1000])
@pytest.mark.parametrize("misses", [0, 7, 1000])
def test_bounds_are_those_of_clopper_and_pearson(hits: int, misses: int) -> None:
    alpha = 1e-3
    low = stats.beta.ppf(alpha / 2, hits, 1001 - hits) if hits else 0.0
    high = stats.beta.isf(alpha / 2, misses + 1, 1000 - misses) if misses < 1000 else 1.0
    expected = max(0.0, math.log(low / high)) if low else 0.0
    found = lower_bound((hits, 1000), (misses, 1000), alpha)
    assert found == pytest.approx(expected, rel=1e-6)
    assert lower_bound((hits, 1000), (misses, 1000), alpha, delta=0.5) <= found


def test_learned_events_do_not_look_at_what_they_are_judged_by() -> None:
    generator = np.random.default_rng(1)
    noise = [generator.random(4000) for _ in range(4)]
    event = learned((noise[0], noise[1]), (noise[2], noise[3]), 1e-3, 2)
    fresh = generator.random((2, 4000))
    assert lower_bound(*((event.count(part), 4000) for part in fresh), 1e-3) == 0


def test_p_values_of_a_fit_are_uniform() -> None:
    generator = np.random.default_rng(2)
    pmf = np.array([0.5, 0.3, 0.15, 0.05])
    found = [chi_square(generator.multinomial(2000, pmf), 2000 * pmf) for _ in range(400)]
    assert stats.kstest(found, "uniform").pvalue > 1e-3
    assert chi_square(np.array([50, 50, 5]), np.array([50.0, 50.0, 0.0])) < 1e-6


def test_float_noise_gives_itself_away_whatever_epsilon_is() -> None:
    for epsilon in (0.1, 1.0, 2.0):
        subject = mutants.FloatLaplace(1 / epsilon)
        found = audits.sampled(subject, [(0.0, 1.0)], claimed=epsilon, n=20_000)
        assert not found.holds
        assert found.evidence["event"] == "lowest bits"
    # The same noise on a lattice of integers gives nothing away that it does not claim.
    rounded = audits.sampled(
        lambda value: round(subject(value) * 2**10), [(0.0, 1.0)], claimed=2.0, n=20_000
    )
    assert rounded.holds


def test_foreign_outputs_of_any_kind() -> None:
    generator = np.random.default_rng(3)

    def told(value: str) -> str:
        return value if generator.random() < 0.9 else "other"

    found = audits.sampled(told, [("a", "b")], claimed=1.0, n=2000)
    assert not found.holds
    assert "words" in found.evidence["event"]
    assert audits.sampled(lambda value: True, [(0, 1)], claimed=0.1, n=200).lower_bound == 0
    rows = audits.sampled(
        lambda value: (0, value + int(generator.integers(3))), [(0, 9)], claimed=1.0, n=2000
    )
    assert not rows.holds


def test_a_ledger_makes_a_retry_safe(tmp_path: object) -> None:
    query = Query("count", epsilon=1.0)
    ledger = Ledger(tmp_path / "audit.ledger", Spend(100.0))  # type: ignore[operator]
    turn = iter(range(1000))

    def kept(values: list[int]) -> list[int]:
        key = f"device-{next(turn)}"
        return [query.release(values, ledger, key).noisy[0] for _ in range(4)]

    rows = [kept([0, 1, 1]) for _ in range(20)]
    assert all(len(set(row)) == 1 for row in rows)


def test_a_survey_is_audited_whole() -> None:
    pay = {"low": 0, "high": 9, "epsilon": 1.0, "size": 32}
    survey = Survey.from_dict(
        {"questions": {"pay": pay, "said": {"categories": ["no", "yes"], "epsilon": 0.5}}}
    )
    told: list[float] = []
    found = audits.survey(survey, n=8000, seed=1, tell=told.append)
    assert found.holds
    assert told[-1] == 1
    assert told == sorted(told)
    rows = found.to_dict()["questions"]
    assert rows["pay"]["claimed"] == 1.0
    assert rows["pay"]["lower_bound"] < rows["pay"]["certified"] <= 1.0
    assert len(found.plot().names) == 2
    # A fault in one question is told there, and one of both together everywhere.
    wrong = RandomizedResponse(["no", "yes"], epsilon=0.6)
    assert wrong.law.ratio() > 1
    object.__setattr__(wrong, "epsilon", 0.5)
    object.__setattr__(survey.questions["said"], "mechanism", wrong)
    broken = audits.survey(survey, n=8000, seed=1)
    assert not broken.holds
    assert broken.rows()["pay"]["holds"]
    assert not broken.rows()["said"]["holds"]
    shared = replace(found, together=replace(found.together, holds=False))
    assert not any(row["holds"] for row in shared.rows().values())


@pytest.mark.parametrize(
    "keys", [{"phases": {}}, {"rounds": {"count": 3}}, {"rounds": {"count": 6, "per_person": 6}}]
)
def test_surveys_with_phases_and_rounds_are_audited(keys: dict[str, Any]) -> None:
    questions = {"pay": {"low": 0, "high": 9, "size": 16}, "said": {"categories": ["no", "yes"]}}
    survey = Survey.from_dict({"epsilon": 3.0, "questions": questions, **keys})
    found = audits.survey(survey, n=4000, seed=1)
    assert found.holds
    assert found.together.claimed == 3.0
    assert audits.joint(survey, n=2000).holds


def test_noise_that_is_remembered_from_round_to_round_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {"categories": ["no", "yes"]}
    fields = {"epsilon": 3.0, "rounds": {"count": 2, "per_person": 2}, "questions": {"said": said}}
    survey, simulate = Survey.from_dict(fields), Survey.simulate
    assert audits.joint(survey, n=4000, seed=1).holds

    def remembered(self: Survey, table: Any, *, seed: int) -> Any:
        made = simulate(self, table, seed=seed)
        assert made["round"].to_pylist()[:4] == [1, 2, 1, 2]
        first = made["said"].to_numpy()[::2].repeat(2)
        return made.set_column(0, "said", [first])

    monkeypatch.setattr(Survey, "simulate", remembered)
    assert not audits.joint(survey, n=4000, seed=1).holds


def test_findings_are_values() -> None:
    found = audits.grid(RIGHT, n=2**12)
    with pytest.raises(TypeError):
        found.evidence["words"] = 1  # type: ignore[index]
    assert json.dumps(found.to_dict())
    assert found.unseen in found.words()
    assert found.plot().ax_ is not None


@pytest.mark.parametrize("layer", ["exact", "grid", "index", "goodness"])
def test_foreign_code_is_sent_to_the_sampled_check(layer: str) -> None:
    with pytest.raises(InvalidInput):
        getattr(audits, layer)(lambda value: value)


def test_questions_that_make_no_sense() -> None:
    with pytest.raises(InvalidInput, match="claimed"):
        audits.sampled(lambda value: value, [(0, 1)])
    with pytest.raises(InvalidInput, match="function of a value"):
        audits.sampled(3, [(0, 1)], claimed=1.0)
    with pytest.raises(Unsupported, match="pairs"):
        audits.sampled(FiniteMollifier({"said": mutants.ANSWERS}, epsilon=1.0))
    with pytest.raises(InvalidInput, match="pair"):
        audits.sampled(RIGHT, [])
    with pytest.raises(InvalidInput, match="Survey"):
        audits.survey(RIGHT)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="survey"):
        audits.joint(3)


def test_no_two_runs_share_their_noise() -> None:
    first, second = (RIGHT.privatize(np.full(4000, 50.0)).indices for _ in range(2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert audits.joint(Joint(mutants.TWO), n=8000).holds


def test_cases_know_their_layers() -> None:
    for case in [*CASES.values(), *SUBJECTS.values()]:
        assert isinstance(case, Case)
        assert case.caught <= set(case.layers) <= set(LAYERS)

"""The audits themselves: their alpha is kept, nothing is left out, and no short cut is trusted."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from evidence.audits import study
from scipy import stats
from tests.contract import mutants
from tests.contract.mutants import LATTICE, RIGHT

from confide import Cells, Joint, Laplace, Lattice, RandomizedResponse, Survey, audits
from confide.accounting import Spend
from confide.audits.fits import chi_square
from confide.audits.grids import inputs_of, noise_gaps, pmf_of
from confide.audits.losses import _every_pair, _short
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteGaussian, DiscreteLaplace, laplace_parameter
from confide.exact.inversion import Inversion
from confide.mechanisms import Mechanism, Partition
from confide.mechanisms.laws import Band, Clamped, Dense, Product
from confide.releases import GaussianProcess, Histogram, Holdout, Query, ranks
from confide.releases.release import Recipe
from confide.sampling.sampler import Sampler


def concrete(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield from concrete(each)
        if not inspect.isabstract(each) and each.__module__.startswith("confide."):
            yield each


def test_everything_that_makes_a_claim_is_audited() -> None:
    audited = {type(case.subject) for case in study.subjects()}
    known = {each for kind in (Mechanism, Recipe, Sampler) for each in concrete(kind)}
    assert {Laplace, Query} < known
    assert known | {Partition} <= audited
    assert isinstance(study.holdout([0.0] * 20), Holdout)


@pytest.mark.parametrize("share", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6])
def test_a_fit_keeps_its_alpha_for_rare_outcomes(share: float, alpha: float) -> None:
    n = 60_000
    expected = n * np.array([share, 1 - share])
    seen = np.arange(400)
    p = np.array([chi_square(np.array([k, n - k]), expected) for k in seen])
    # The probability of an alarm, by the law itself.
    assert stats.binom.pmf(seen, n, share)[p <= alpha].sum() <= alpha
    # It is not kept by never alarming.
    assert p[int(n * share + 12 * math.sqrt(n * share) + 30)] <= 1e-6


def test_a_fit_of_many_outcomes_keeps_its_alpha() -> None:
    generator = np.random.default_rng(4)
    pmf = np.exp(-np.arange(40) / 3.0)
    pmf /= pmf.sum()
    p = np.array(
        [chi_square(counts, 3000 * pmf) for counts in generator.multinomial(3000, pmf, 4000)]
    )
    for alpha in (0.05, 0.01):
        assert (p <= alpha).mean() <= alpha + 4 * math.sqrt(alpha / len(p))


def test_what_is_impossible_is_seen_once() -> None:
    counts, expected = np.array([40_000, 19_999, 1, 0]), np.array([4e4, 2e4, 0.0, 1e-3])
    assert chi_square(counts, expected) == 0
    assert chi_square(np.array([40_000, 20_000, 0, 0]), expected) > 0.5


class OwnLaw(Laplace):
    """A large lattice, a right parameter, and a law of its own that is not private."""

    @cached_property
    def law(self) -> Clamped:
        right = Laplace(self.lattice, epsilon=4 * self.epsilon)
        return right.law


class OwnSpend(Laplace):
    @property
    def spend(self) -> Spend:
        return Spend(self.epsilon / 2)


def test_short_cuts_read_what_is_stated() -> None:
    large = Lattice(low=0, high=1, size=600)
    found = audits.exact(OwnLaw(large, epsilon=1.0))
    assert not found.holds
    assert found.certified == pytest.approx(4.0)
    found = audits.exact(OwnSpend(large, epsilon=1.0))
    assert found.claimed == 0.5
    assert not found.holds


@pytest.mark.parametrize(("size", "epsilon"), [(9, 0.1), (200, 1.1), (600, 1.1)])
def test_a_claim_is_what_is_written(size: int, epsilon: float) -> None:
    lattice = Lattice(low=0, high=1, size=size)
    right, mechanism = (Laplace(lattice, epsilon=epsilon) for _ in range(2))
    assert audits.exact(right).holds
    # The float lies above the decimal, and noise that is made for it costs more.
    assert Fraction(epsilon) > Fraction(str(epsilon))
    parameter = laplace_parameter(Fraction(epsilon), size - 1)
    assert parameter < right.parameter
    object.__setattr__(mechanism, "parameter", parameter)
    assert not audits.exact(mechanism).holds


def test_parts_cost_what_is_written() -> None:
    class Given(Joint):
        """Says what all its questions cost."""

        epsilon = 0.5

        @property
        def spend(self) -> Spend:
            return Spend(self.epsilon)

    few, many = (RandomizedResponse(["no", "yes"], epsilon=epsilon) for epsilon in (0.1, 0.4))
    assert Fraction(0.1) + Fraction(0.4) > 0.5
    for kind in (Given, Joint):
        assert audits.exact(kind({"a": few, "b": many})).holds
    more = RandomizedResponse(["no", "yes"], epsilon=math.nextafter(0.1, 1))
    assert not audits.exact(Given({"a": more, "b": many})).holds


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 40.0])
def test_large_laws_in_closed_form_are_those_of_the_integers(epsilon: float) -> None:
    mechanism = Laplace(Lattice(low=0, high=1, size=520), epsilon=epsilon)
    for at in (0, 1, 260, 519):
        expected = pmf_of(mechanism.law, (at,))
        np.testing.assert_allclose(pmf_of(mechanism, (at,)), expected, rtol=1e-12)
    parts = {"a": mechanism, "b": RandomizedResponse(["no", "yes"], epsilon=1.0)}
    both = Joint(parts)
    np.testing.assert_allclose(pmf_of(both, (3, 1)), pmf_of(both.law, (3, 1)), rtol=1e-12)


def test_draws_from_a_large_lattice_are_compared_with_what_is_certified() -> None:
    subject = mutants.LargeTwoFaced(Lattice(low=0, high=1, size=1025), epsilon=1.0)
    assert audits.exact(subject).holds
    assert not audits.grid(subject).holds
    assert not audits.goodness(subject, seed=1).holds


def test_a_band_the_wrong_way_round_is_no_less_of_a_loss() -> None:
    band = Band(200, 0, 2**40, 3 * 2**40)
    assert _short(band) == _every_pair(band) == 3
    with pytest.raises(ZeroDivisionError):
        _short(Band(200, 0, 2**40, 0))
    uneven = Dense(((1, 1), (2, 2), (6, 2)))
    assert _every_pair(uneven) == Fraction(2)


def test_a_choice_is_no_better_than_its_candidates() -> None:
    case = {case.name: case for case in mutants.cases()}["release: a choice among such"]
    assert not audits.exact(case.subject).holds
    assert audits.exact(study_choice()).holds
    assert audits.goodness(study_choice(), seed=1).evidence["tables"] == 2


def study_choice() -> Any:
    return {case.name: case for case in study.subjects()}["Choice"].subject


def test_a_grid_comes_to_the_small_draws_and_to_refinement() -> None:
    parts = audits.grid(RIGHT).evidence["parts"]
    assert parts == len(inputs_of(101)) + 3
    for kind in (mutants.Unrefined, mutants.OnDevices):
        assert not audits.grid(kind(LATTICE, epsilon=1.0)).holds


def test_a_grid_follows_a_release_to_what_it_releases() -> None:
    assert audits.grid(Histogram(LATTICE, epsilon=1.0, cells=4)).holds
    for kind in (mutants.Forgetful, mutants.OneNoise, mutants.FiveShort):
        assert not audits.grid(kind(LATTICE, epsilon=1.0, cells=4)).holds


def test_a_grid_follows_a_quantile_and_the_ends_of_its_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = Query("quantile", LATTICE, epsilon=2.0, q=0.5)
    found = audits.grid(query)
    assert found.holds
    assert found.evidence["parts"] == 3
    right = ranks.rank_weights
    monkeypatch.setattr(ranks, "rank_weights", lambda part: right(2 * part))
    assert not audits.grid(query).holds


class OtherCoin(DiscreteGaussian):
    """Coins a thousandth too sure."""

    def coin(self, x: Fraction) -> Inversion:
        return super().coin(x * Fraction(999, 1000))


class OtherBlocks(DiscreteGaussian):
    @cached_property
    def levels(self) -> Inversion:
        return DiscreteLaplace(Fraction(1001, 1000), 1).above


class OtherCentre(DiscreteGaussian):
    @property
    def _shift(self) -> int:
        return super()._shift + 1


class ShortLaplace(DiscreteLaplace):
    def draw(self, entropy: Entropy, n: int) -> np.ndarray:
        return DiscreteLaplace(self.epsilon * Fraction(1000, 999), self.sensitivity).draw(
            entropy, n
        )


@pytest.mark.parametrize(
    ("noise", "holds"),
    [
        (DiscreteGaussian(1), True),
        (DiscreteGaussian(10**4), True),
        (DiscreteGaussian(10**14), True),
        (DiscreteGaussian(2**92), True),
        (DiscreteLaplace(Fraction(1), 1), True),
        (DiscreteLaplace(Fraction(1, 3), 2**40), True),
        (OtherCoin(10**14), False),
        (OtherBlocks(10**14), False),
        (OtherCentre(10**4), False),
        (mutants.ShortGaussian(10**14), False),
        (ShortLaplace(Fraction(1), 1000), False),
    ],
)
def test_noise_is_made_of_parts_that_are_on_the_grid(noise: Any, holds: bool) -> None:
    found = dict(noise_gaps(noise, 2**14))
    assert len(found) > 1
    assert (max(found.values()) <= 1) is holds


def test_gaussian_noise_that_hides_less_is_found() -> None:
    small = Lattice(low=0, high=1, size=16)
    right = GaussianProcess(small, epsilon=1.0, delta=1e-6)
    assert audits.grid(right).holds
    assert not audits.grid(mutants.ShortProcess(small, epsilon=1.0, delta=1e-6)).holds


def test_what_has_nothing_to_look_at_says_so() -> None:
    sampler = {case.name: case for case in study.subjects()}["MBDE"].subject
    for check in (audits.grid, audits.index, audits.goodness):
        found = check(sampler)
        assert not found.looked
        assert "was not tested" in found.words()


@pytest.fixture(scope="module")
def survey() -> Survey:
    questions = {"pay": {"low": 0, "high": 9, "epsilon": 1.0, "size": 16},
                 "age": {"low": 0, "high": 9, "epsilon": 12.0, "size": 8}}  # fmt: skip
    return Survey.from_dict({"questions": questions})


@pytest.fixture(scope="module")
def audit(survey: Survey) -> audits.SurveyAudit:
    return audits.survey(survey, n=2000, seed=1)


def test_an_audit_tells_machines_what_it_tells_people(audit: audits.SurveyAudit) -> None:
    found = audit.to_dict()
    assert found["holds"] is True
    assert found["epsilon"] == 13.0
    assert found["lower_bound"] == audit.together.lower_bound
    assert found["faults"] == []
    assert [text.split(":")[0] for text in found["untested"]] == ["age", "all questions"]
    assert set(found["unseen"]) == {*mutants.LAYERS, "outside"}


def test_all_questions_together_may_cost_more_than_an_attack_can_prove() -> None:
    pay = {"low": 0, "high": 9, "epsilon": 2.0, "size": 8}
    four = Survey.from_dict({"questions": dict.fromkeys("abcd", pay)})
    found = audits.joint(four, n=4000, seed=1)
    assert found.holds
    assert found.claimed == 8
    assert found.evidence["reach"] < 8
    assert not found.looked
    assert "not put to the test" in found.unseen
    assert "on another day" in found.unseen
    # What is found all the same is found.
    shared = audits.joint(mutants.SharedNoise(mutants.TWO), claimed=50.0, n=4000, seed=1)
    assert not shared.holds
    assert shared.looked


def test_the_smallest_alpha_is_one_that_can_be_given(survey: Survey) -> None:
    assert audits.joint(RIGHT, n=1000, alpha=1e-12, seed=1).evidence["alpha"] == 1e-12
    assert audits.survey(survey, n=1000, alpha=1e-12, seed=1).holds
    for check in (audits.joint, audits.sampled, audits.goodness):
        with pytest.raises(InvalidInput, match="alpha"):
            check(RIGHT, alpha=1e-13)
    with pytest.raises(InvalidInput, match="alpha"):
        audits.survey(survey, alpha=1e-13)


@pytest.mark.parametrize("layer", ["exact", "grid", "index"])
def test_no_question_holds_without_the_checks_that_carry_it(
    audit: audits.SurveyAudit, layer: str
) -> None:
    blind = tuple(replace(each, looked=each.layer != layer) for each in audit.questions["pay"])
    found = audits.SurveyAudit({**audit.questions, "pay": blind}, audit.together)
    assert not found.rows()["pay"]["holds"]
    assert not found.holds
    assert not audits.SurveyAudit({}, audit.together).holds


def test_faults_of_one_and_of_all_are_told(audit: audits.SurveyAudit) -> None:
    wrong = tuple(replace(each, holds=each.layer != "goodness") for each in audit.questions["pay"])
    found = audits.SurveyAudit(
        {**audit.questions, "pay": wrong}, replace(audit.together, holds=False)
    ).to_dict()
    assert [text.split(": the")[0] for text in found["faults"]] == [
        "pay: goodness",
        "all questions: joint",
    ]


def test_a_joint_mechanism_with_a_law_of_its_own_is_read() -> None:
    class Told(Joint):
        """States another law than that of its parts."""

        @cached_property
        def law(self) -> Product:
            return Product((Dense(((9, 1), (1, 9))), Dense(((3, 1), (1, 3)))))

    part = RandomizedResponse(["no", "yes"], epsilon=0.5)
    found = audits.exact(Told({"a": part, "b": part}))
    assert not found.holds
    assert found.certified == pytest.approx(math.log(27))


@pytest.mark.parametrize("cells", [3, 5, 7, 10, 100])
def test_the_grid_is_even_for_any_number_of_cells(cells: int) -> None:
    partition = Partition(Cells(low=[0], high=[1], shape=[cells]), bound=1.0, epsilon=2.0)
    assert audits.grid(partition, n=2**12).holds
    assert audits.grid(Laplace(Lattice(low=0, high=1, size=16), epsilon=1.0), n=10_007).holds


def test_parts_that_are_right_do_not_vouch_for_the_whole() -> None:
    class Bare(Joint):
        def draw(self, indices: Any, entropy: Any) -> Any:
            return indices

    axis = Lattice(low=0, high=1, size=8)
    found = audits.grid(Bare({name: Laplace(axis, epsilon=1.0) for name in ("a", "b")}))
    assert not found.holds


def test_a_release_of_one_s_own_that_nobody_can_try_is_not_vouched_for() -> None:
    class Raw(Recipe):
        name = "raw"
        epsilon = 0.5

        def index(self, values: Any) -> Any:
            return np.asarray(values, dtype=np.int64)

        def lattices(self, n: int) -> dict[str, Any]:
            return {}

        def loss(self, n: int) -> float:
            return 0.5

        def parts(self, prepared: Any = None) -> tuple[Any, ...]:
            return ()

        def draw(self, prepared: Any, entropy: Any) -> list[int]:
            return [int(x) for x in prepared]

        def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
            return {"facts": {}, "answer": None}

    assert not audits.exact(Raw()).looked

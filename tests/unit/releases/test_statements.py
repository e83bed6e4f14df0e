"""Functions of the user's: their statements, what refutes them, and the noise that follows."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import subprocess
import sys
import traceback
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide import Lattice, Ledger, audits
from confide.accounting.spend import exact
from confide.errors import InvalidInput, Mismatch, Unsupported
from confide.exact.enclosures import exp_enclosure
from confide.exact.integer_noise import DiscreteGaussian, gaussian, gaussian_delta, laplace
from confide.releases import Query, Release, Selection, Statistic, check, statistic
from confide.releases.statements import fingerprint

UNIT = Lattice(low=0, high=1, size=16)
BOTH = {"a": UNIT, "b": UNIT}


def mean(**changed: Any) -> Statistic:
    given: dict[str, Any] = {
        "sensitivity": 1.0, "divided_by_n": True, "low": 0, "high": 1, "epsilon": 1.0, **changed,
    }  # fmt: skip
    return Statistic("a mean", np.mean, UNIT, **given)


def pair(**changed: Any) -> Statistic:
    given: dict[str, Any] = {
        "sensitivity": 2.0, "names": ["sum", "large"], "low": 0, "high": 1e6, "epsilon": 1.0,
        **changed,
    }  # fmt: skip
    return Statistic("two sums", lambda x: [x.sum(), (x > 0.5).sum()], UNIT, **given)


def half(**changed: Any) -> Selection:
    given: dict[str, Any] = {"sensitivity": 1, "low": 0, "high": 1e9, "epsilon": 1.0, **changed}
    return Selection(
        "records in a half", lambda x, which: np.sum((x > 0.5) == (which == "upper")),
        ["lower", "upper"], UNIT, **given,
    )  # fmt: skip


# What rounding does to a sensitivity.


@pytest.mark.parametrize("step", ["1/3", "1/2", "3/7", "1", "2", "7/10"])
@pytest.mark.parametrize("change", ["1/2", "1", "5/3", "7/10"])
def test_floors_change_by_the_integer_that_is_derived(step: str, change: str) -> None:
    s, d = Fraction(step), Fraction(change)
    fine = [Fraction(at, 210) * s for at in range(210 * 2)]
    plain = max(abs(math.floor((x + d) / s) - math.floor(x / s)) for x in fine)
    # An exact function needs ceil(D/s); one that errs by a step in two answers one more.
    assert plain == math.ceil(d / s)
    roomy = max(abs(math.floor((x + d + s) / s) - math.floor(x / s)) for x in fine)
    assert roomy == math.ceil(d / s) + 1


@pytest.mark.parametrize("size", [2, 3])
def test_floors_of_several_numbers(size: int) -> None:
    # All ways to divide a change of D + s among the numbers, from all starting points, in sixths.
    recipe = pair(names=[f"x{at}" for at in range(size)], sensitivity=1.0, step=0.5)
    whole, s = 9, 3  # D + s = 1.5, s = 0.5, in sixths
    most = squares = 0
    for moved in itertools.product(range(-whole, whole + 1), repeat=size):
        for starts in itertools.product(range(s), repeat=size):
            jumps = [(x + m) // s - x // s for x, m in zip(starts, moved, strict=True)]
            if sum(map(abs, moved)) <= whole:
                most = max(most, sum(map(abs, jumps)))
            if sum(m * m for m in moved) <= whole**2:
                squares = max(squares, sum(jump * jump for jump in jumps))
    assert most == recipe.integer_sensitivity(5) == 2 + size
    assert squares <= replace(recipe, delta=1e-6).integer_sensitivity(5)


def released(recipe: Statistic, data: Any) -> list[int]:
    return recipe.prepare(recipe.admitted(data), lambda _: None)[0]


@pytest.mark.parametrize("step", [None, 0.3, 0.01, 5.0])
@pytest.mark.parametrize("make", [mean, pair])
def test_integer_sensitivity_by_brute_force(make: Any, step: float | None) -> None:
    recipe = make(step=step)
    for n in (1, 2, 3):
        worst = 0
        for others in itertools.product([0.0, 0.4, 1.0], repeat=n - 1):
            found = [np.array(released(recipe, [*others, last])) for last in UNIT.centers]
            for one, other in itertools.combinations(found, 2):
                worst = max(worst, int(np.abs(one - other).sum()))
        assert worst <= recipe.integer_sensitivity(n)
        if step is None:
            assert worst > 0.9 * recipe.integer_sensitivity(n)


# Audits.


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("make", [mean, pair])
def test_an_audit_runs_the_function(
    make: Any, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make(delta=delta)
    assert audits.exact(recipe, n=20).holds
    # A statement of half the truth states a loss of epsilon all the same.
    wrong = replace(recipe, sensitivity=recipe.sensitivity / 2)
    assert wrong.loss(20) <= 1.0
    assert not audits.exact(wrong, n=20).holds
    # Noise for less than what is stated.
    monkeypatch.setattr(statistic, "laplace", lambda e, most: laplace(e, most * 8 // 10))
    monkeypatch.setattr(
        statistic, "gaussian", lambda e, d, most, k: gaussian(e, d, most * 7 // 10, k)
    )
    assert not audits.exact(recipe, n=20).holds


def test_gaussian_noise_is_certified() -> None:
    recipe = pair(delta=1e-6, sensitivity=math.sqrt(2))
    noise = recipe.noise(10)
    assert isinstance(noise, DiscreteGaussian)
    change = (noise, recipe.integer_sensitivity(10), 2)
    assert gaussian_delta([change], exact(1.0)) == recipe.slack(10) <= 1e-6


def weights(recipe: Selection, data: Any) -> list[Decimal]:
    exponents = recipe.prepare(recipe.admitted(data), lambda _: None)
    top = max(exponents)
    found = [sum(exp_enclosure(x - top, 200)) for x in exponents]
    return [Decimal(each) / Decimal(sum(found)) for each in found]


def test_the_law_of_a_selection_by_brute_force() -> None:
    recipe, worst = half(epsilon=1.3), Decimal(0)
    with localcontext() as context:
        context.prec = 50
        for n in (1, 2, 3):
            for others in itertools.product([0.2, 0.9], repeat=n - 1):
                laws = [weights(recipe, [*others, last]) for last in (0.2, 0.9)]
                for one, other in itertools.permutations(laws):
                    worst = max(worst, *((a / b).ln() for a, b in zip(one, other, strict=True)))
    assert Decimal("0.5") < worst <= Decimal("1.3")


def test_a_selection_is_audited() -> None:
    recipe = half()
    found = audits.exact(recipe, n=30)
    assert found.holds
    assert found.evidence["data_sets"] > 100
    assert not audits.exact(half(sensitivity=0.5), n=30).holds

    class Greedy(Selection):
        def draw(self, prepared: Any, entropy: Any) -> list[int]:
            return [prepared.index(max(prepared))]

    greedy = Greedy(recipe.what, recipe.function, recipe.outcomes, UNIT,
                    sensitivity=1, low=0, high=1e9, epsilon=1.0)  # fmt: skip
    assert not audits.exact(greedy, n=30).holds


def test_a_selection_follows_its_law() -> None:
    recipe, data = half(epsilon=2.0), [0.2] * 2 + [0.9] * 3
    p = 1 / (1 + math.exp(-2.0 * 1 / 2))
    seen = [recipe.simulate(data, seed=seed).chosen for seed in range(1000)]
    assert seen.count("upper") / 1000 == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 1000))


# Statements that are refuted, and those that are not.


def test_a_wrong_statement_is_refuted_and_shown() -> None:
    found = check(mean(sensitivity=0.5))
    assert found.refuted
    assert "wrong" in found.words()
    one, other = found.pair
    assert (one != other).sum() == 1
    assert abs(one.mean() - other.mean()) == pytest.approx(found.found)
    right = check(mean())
    assert not right.refuted
    assert right.found == pytest.approx(15 / 16 / 3)
    assert "does not prove" in right.words()
    assert check(half(sensitivity=0.5)).refuted
    assert not check(half()).refuted
    assert check(pair(delta=1e-6, sensitivity=1.2)).refuted
    assert not check(pair(delta=1e-6, sensitivity=1.42)).refuted


def test_a_median_is_refuted_among_many() -> None:
    # With all the others in one place no record moves a median: they must be divided.
    median = Statistic("median", np.median, UNIT, sensitivity=0.5, low=0, high=1, epsilon=1.0)
    assert check(median, n=2).found < 0.5
    assert check(median, n=33).refuted


def test_rounding_errors_do_not_refute() -> None:
    third = Statistic(
        "sum of thirds", lambda x: np.sum(x / 3) * 3, UNIT,
        sensitivity=0.9375, low=0, high=1e6, epsilon=1.0,
    )  # fmt: skip
    for n in (2, 4, 50):
        assert not check(third, n=n).refuted


class Unpaid:
    """A ledger that must not be reached."""

    def charge(self, *given: Any, **more: Any) -> Any:
        raise AssertionError


def test_what_is_refuted_is_neither_charged_nor_released() -> None:
    for wrong in (mean(sensitivity=0.5), half(sensitivity=0.5)):
        with pytest.raises(InvalidInput, match="made-up data sets refute"):
            wrong.release([0.1, 0.9] * 50, ledger=Unpaid(), key="a")


def test_mistakes_in_the_code_show_before_private_records_are_seen() -> None:
    seen = []

    def broken(x: Any) -> Any:
        seen.append(x)
        return x.men()

    recipe = Statistic("broken", broken, UNIT, sensitivity=1, low=0, high=1, epsilon=1.0)
    with pytest.raises(InvalidInput, match="AttributeError"):
        recipe.release([0.03125] * 5, ledger=Unpaid(), key="a")
    assert all(x.size == 5 and len(set(x.tolist())) == 5 for x in seen)
    vector = Statistic("rows", lambda x: x, UNIT, sensitivity=1, low=0, high=1, epsilon=1.0)
    with pytest.raises(InvalidInput, match=r"gives 1 number, .* its name, with names"):
        vector.release([0.5] * 5)


def test_a_private_failure_tells_nothing(recwarn: Any) -> None:
    def secretive(x: Any) -> float:
        if (x > 0.95).all():
            raise ValueError(f"all are {x[0]}")
        return float(np.log(x[0] - x[0] - (x < 0.05).all()))  # -inf, or NaN with a warning

    recipe = Statistic("odd", secretive, UNIT, sensitivity=1, low=0, high=1, epsilon=1.0)
    for data in ([0.99] * 3, [0.01] * 3, [0.01, 0.5, 0.99]):
        assert released(recipe, data) == [0]
        assert recipe.release(data).answer is not None
    assert not recwarn


def test_values_stay_out_of_messages() -> None:
    for recipe in (mean(), half()):
        for data in (["54321.5", "x54321"], [54321.0, None], [[54321.0, 1]]):
            try:
                recipe.release(data)
            except InvalidInput:
                assert "5432" not in traceback.format_exc()
            else:
                raise AssertionError


# JSON, ledgers and words.


@pytest.mark.parametrize("make", [mean, pair, half])
def test_a_recipe_names_its_function_and_cannot_be_read(make: Any) -> None:
    recipe = make()
    fields = json.loads(json.dumps(recipe.to_dict()))
    assert fields["what"] == recipe.what
    assert len(fields["code"]) == 32
    assert "function" not in fields
    with pytest.raises(Unsupported, match="holds no function"):
        type(recipe).from_dict(fields)
    release = recipe.simulate([0.1, 0.9] * 20, seed=1)
    again = Release.from_dict(json.loads(json.dumps(release.to_dict())))
    assert again == release
    assert repr(again) == repr(release)
    assert len(release.to_frame()) == (2 if make is pair else 1)


def test_another_function_under_the_same_key_is_refused(tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0, subject="staff")
    data = [0.1, 0.9] * 20
    first = mean(epsilon=0.5).release(data, ledger, "mean")
    assert mean(epsilon=0.5).release(data, ledger, "mean").noisy == first.noisy
    assert ledger.left.epsilon == pytest.approx(0.5)
    other = replace(mean(epsilon=0.5), function=lambda x: x.max() / len(x))
    with pytest.raises(Mismatch):
        other.release(data, ledger, "mean")
    assert half(epsilon=0.5).release(data, ledger, "half").chosen in ("lower", "upper")
    assert ledger.left.epsilon == pytest.approx(0.0)


def test_fingerprints_tell_functions_apart() -> None:
    def above(limit: float) -> Any:
        return lambda x: (x > limit).sum()

    class Power:
        def __call__(self, x: Any) -> Any:
            return x.sum()

    several = [
        above(0.1), above(0.2), lambda x, k=1: k * x.sum(), lambda x, k=2: k * x.sum(),
        functools.partial(np.quantile, q=0.1), functools.partial(np.quantile, q=0.2), np.mean,
        math.fsum, Power(), lambda x: sum(1 for each in x if each in {1, 2}),
        lambda x: sum(1 for each in x if each in {1, 3}), lambda x: [each + 1 for each in x],
        lambda x: [each + 2 for each in x], lambda x: x.min(), lambda x: x.max(),
    ]  # fmt: skip
    assert len({fingerprint(each) for each in several}) == len(several)
    assert fingerprint(above(0.1)) == fingerprint(above(0.1))
    assert fingerprint(Power()) == fingerprint(Power())


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    line = (
        "from confide.releases.statements import fingerprint\n"
        "print(fingerprint(lambda x: [y in {'a', 'b', 'c', 'd'} for y in x]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", line], env={**os.environ, "PYTHONHASHSEED": seed},
            check=True, capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1


def test_a_release_says_whose_the_statement_is() -> None:
    for recipe in (mean(), half()):
        release = recipe.release([0.1, 0.9] * 20)
        assert "as was stated by whoever made this release" in release.words()
        assert "proves nothing" in release.words()
    assert "stated" not in Query("count", epsilon=1.0).release([0, 1]).words()


def test_intervals_hold_the_answer() -> None:
    data = [0.1, 0.9] * 20
    for recipe in (mean(), mean(delta=1e-6), mean(step=0.2, divided_by_n=False, sensitivity=1)):
        truth = float(np.mean(UNIT.position(UNIT.index(data))))
        held = 0
        for seed in range(400):
            answer = recipe.simulate(data, seed=seed).answer
            held += answer["low"] <= truth <= answer["high"]  # type: ignore[index]
        assert held >= 400 * (0.95 - 4 * math.sqrt(0.05 * 0.95 / 400))


def test_several_columns_come_as_rows() -> None:
    seen: list[Any] = []

    def product(x: Any) -> Any:
        seen.append(x.shape)
        return (x[:, 0] * x[:, 1]).sum()

    recipe = Statistic("product", product, BOTH, sensitivity=1, low=0, high=99, epsilon=1.0)
    release = recipe.release({"b": [0.5] * 7, "a": [1.0] * 7})
    assert set(seen) == {(7, 2)}
    assert release.answer is not None
    assert audits.exact(recipe, n=6).holds


def test_fewer_records_than_the_statement_is_for_are_refused() -> None:
    for recipe in (mean(least=3), half(least=3)):
        with pytest.raises(InvalidInput, match="at least 3 records"):
            recipe.release([0.1, 0.9])
        assert audits.exact(recipe, n=10).evidence["records"] == [3, 4, 10]


@pytest.mark.parametrize(
    "wrong",
    [{"sensitivity": 0}, {"sensitivity": math.inf}, {"low": 1}, {"high": math.nan}, {"step": -1},
     {"least": 0}, {"divided_by_n": 1}, {"epsilon": 0}, {"names": "ab"}, {"names": ["a", "a"]},
     {"what": ""}, {"function": 3}, {"lattice": 3}, {"level": 1.0}, {"delta": 1}],
    ids=str,
)  # fmt: skip
def test_fields_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        replace(mean(), **wrong)


@pytest.mark.parametrize("outcomes", [["a"], "ab", ["a", "a"], [1, 2], None])
def test_outcomes_are_words(outcomes: Any) -> None:
    with pytest.raises(InvalidInput, match="outcomes"):
        replace(half(), outcomes=outcomes)


def test_only_statements_are_checked() -> None:
    with pytest.raises(InvalidInput, match="a Statistic or a Selection"):
        check(Query("count", epsilon=1.0))  # type: ignore[arg-type]

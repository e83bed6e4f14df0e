from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.accounting.spend import Spend, checked_epsilon
from confide.errors import InvalidInput


@given(st.floats(0, 100), st.floats(0, 100))
def test_composition_never_rounds_down(a: float, b: float) -> None:
    total = (Spend(a) + Spend(b)).epsilon
    assert Fraction(total) >= Fraction(a) + Fraction(b)
    assert math.isclose(total, a + b, rel_tol=1e-15)


def test_words_say_the_odds() -> None:
    assert "at most 2.72" in Spend(1.0).words()
    assert "no bound" in Spend(math.inf).words()
    assert "1e-06" in Spend(1.0, delta=1e-6).words()
    assert Spend(1.0, note="Mind the step.").words().endswith("Mind the step.")
    assert Spend(math.inf).to_dict()["epsilon"] is None


def test_printed_bounds_are_never_below_and_never_above_what_was_declared() -> None:
    assert "epsilon = 0.1:" in Spend(0.1).words()
    assert repr(Spend(0.0001)) == "Spend(epsilon=0.0001)"
    assert "at most 1.00011" in Spend(0.0001).words()
    assert "at most 4.49" in Spend(1.5).words()
    assert "epsilon = 1.001" in Spend(1.00004999).words()


def test_notes_travel() -> None:
    assert (Spend(1.0, note="a") + Spend(1.0, note="a")).note == "a"
    assert (Spend(1.0, note="a") + Spend(1.0)).note == "a"


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 101, "1", None, True])
def test_bad_epsilons(epsilon: object) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        checked_epsilon(epsilon)  # type: ignore[arg-type]


def test_words_for_several_answers_and_for_weak_protection() -> None:
    assert "one report changes the odds" in Spend(1.0).words()
    assert "all the answers of one respondent change the odds" in Spend(1.0).words(answers=2)
    assert "hardly any protection" not in Spend(9.99).words()
    assert Spend(10.0).words().endswith("at most 22,100. That is hardly any protection.")

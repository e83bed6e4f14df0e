"""Audits of foreign code: no leak goes unseen for its form, and nothing passes untested."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from tests.contract.mutants import RIGHT

from confide import audits
from confide.audits.subjects import tables
from confide.errors import InvalidInput

Code = Callable[[float], Any]
PAIRS = [(0.0, 1.0)]


def checked(code: Code, **more: Any) -> audits.Finding:
    given = {"claimed": 1.0, "n": 4000, **more}
    return audits.sampled(code, given.pop("pairs", PAIRS), **given)


GENERATOR = np.random.default_rng(5)


def sometimes(odd: Any) -> Code:
    """Something odd three times in ten if the value is 1, else a number with no pattern."""
    return lambda value: odd if value and GENERATOR.random() < 0.3 else float(GENERATOR.random())


def xored(value: int) -> list[int]:
    """Eight fair bits, of which two tell the value together and none does alone."""
    bits = GENERATOR.integers(2, size=8).tolist()
    return [*bits[:6], bits[0] ^ value, bits[7]]


@pytest.mark.parametrize(
    "code",
    [
        sometimes(math.nan),
        sometimes(math.inf),
        sometimes(-math.inf),
        sometimes("refused"),
        sometimes(None),
        sometimes([0.5]),
        sometimes(0.25),
        lambda value: -0.0 if value else 0.0,
        lambda value: 2**60 + int(value),
        lambda value: 2**80 + int(value),
        lambda value: [0.5, 2**60 + int(value)],
        lambda value: int(GENERATOR.integers(2)) * (2**63 + int(value)) - 1,
        lambda value: 1 if value else True,
        lambda value: 1 if value else 1.0,
        lambda value: "1" if value else 1,
        lambda value: b"a" if value else "a",
        lambda value: [0] * (1 + int(value)),
        lambda value: [0] * (int(value) + int(GENERATOR.integers(3))),
        lambda value: [[1], [2, int(value)]],
        lambda value: np.full((2, 2), value),
        lambda value: {"sent": np.float64(value) * 1e-12},
        lambda value: value + 1j,
        lambda value: np.array([f"{value}"]),
        lambda value: [1.0] if value else [1],
        lambda value: [True] if value else [1],
        lambda value: (1,) if value else [1],
        lambda value: [0.5, 1 if value else 1.0],
        lambda value: [[1], [2.0 if value else 2]],
        lambda value: [1, [2, 3]] if value else [1, (2, 3)],
        lambda value: np.float32(1) if value else np.float64(1),
        lambda value: np.zeros(2, np.int32 if value else np.int64),
        lambda value: {"sent": (1,) if value else [1]},
        lambda value: [1.0 if value else 1] * (1 + int(GENERATOR.integers(3))),
        lambda value: [0] * 70 + [int(value)] + [0] * 9,
        lambda value: [*GENERATOR.random(70), value, *GENERATOR.random(9)],
        lambda value: [*GENERATOR.integers(9, size=70), int(value), *[0] * 200],
        lambda value: xored(int(value)),
    ],
)
def test_no_leak_is_lost_in_its_form(code: Code) -> None:
    found = checked(code)
    assert not found.holds
    assert found.lower_bound is not None
    assert found.lower_bound > 2


@pytest.mark.parametrize(
    "code",
    [
        lambda value: 7,
        lambda value: [],
        lambda value: None,
        lambda value: math.nan,
        lambda value: [1, 2] if GENERATOR.random() < 0.5 else 3,
        lambda value: [math.inf, -math.inf],
        lambda value: [1.0] if GENERATOR.random() < 0.5 else (1,),
        lambda value: GENERATOR.random(80).tolist(),
    ],
)
def test_what_tells_nothing_is_not_convicted(code: Code) -> None:
    found = checked(code, claimed=0)
    assert found.holds
    assert found.lower_bound == 0


def test_what_drifts_is_not_taken_for_an_effect_of_the_value() -> None:
    turn = count()
    assert checked(lambda value: next(turn), claimed=0.1).holds


@pytest.mark.parametrize(
    "code", [lambda value: RIGHT.privatize([value]), lambda value: {"sent": object()}]
)
def test_a_name_that_hides_its_content_is_refused(code: Code) -> None:
    with pytest.raises(InvalidInput, match="such as the indices of reports"):
        checked(code, n=100)


def test_what_foreign_code_raises_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        checked(lambda value: 1 / value)


@pytest.mark.parametrize(
    "more",
    [
        {"claimed": math.nan},
        {"claimed": -1},
        {"claimed": "1"},
        {"delta": math.nan},
        {"delta": -0.1},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": math.nan},
        {"n": 10},
        {"pairs": (0.0, 1.0)},
        {"pairs": [(0.0, 1.0, 2.0)]},
        {"pairs": []},
    ],
)
def test_no_figure_makes_a_check_pass_by_itself(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        checked(lambda value: value, **more)


def test_a_claim_out_of_reach_is_said_to_be_untested() -> None:
    found = checked(lambda value: value, claimed=50.0)
    assert found.holds
    assert not found.looked
    assert "was not tested" in found.words()
    assert found.lower_bound == found.evidence["reach"]
    assert checked(lambda value: value, claimed=4.0).looked
    device = audits.joint(lambda value: [value], PAIRS, claimed=50.0, n=4000)
    assert not device.looked
    assert not found.to_dict()["looked"]


def test_events_are_learned_for_the_delta_that_is_claimed() -> None:
    def leaking(value: float) -> float:
        """Tells all of one in 25, and of the others a little too much."""
        if GENERATOR.random() < 0.04:
            return 100 + value
        return float(GENERATOR.random() < (0.9 if value else 0.1))

    assert not checked(leaking, claimed=1.0, delta=0.05, n=20_000).holds
    assert checked(leaking, claimed=2.5, delta=0.05, n=20_000).holds
    assert not checked(leaking, claimed=2.5, n=20_000).holds


def test_numbers_stay_numbers_in_one_form_for_both() -> None:
    one, other = tables([1, 2.5], [3, 4])
    assert one.tolist() == [[1.0, 1.0], [2.5, 0.0]]
    assert other.tolist() == [[3.0, 1.0], [4.0, 1.0]]
    one, other = tables([[1], [1, 2]], [[3, 0]])
    assert one.tolist() == [[1, 0, 1], [1, 2, 2]]
    assert other.tolist() == [[3, 0, 2]]
    assert tables([2**62 + 1], [0])[0].tolist() == [2**62 + 1]
    assert tables([np.float32(0.5)], [np.float32(0.25)])[0].tolist() == [0.5]
    assert [rows.tolist() for rows in tables([[1, 2.5]], [[3, 4.5]])] == [[[1, 2.5]], [[3, 4.5]]]

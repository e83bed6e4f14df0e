"""Samplers that are made of plain settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.cli.app import _option
from confide.errors import BadSetting, InvalidInput
from confide.sampling import Box, Gaussian, Mollifier, Sample, from_settings
from confide.sampling.ratios import KDE, Binned, GaussianMixture

BOX = {"reference": "box", "low": [0], "high": [9], "epsilon": 1.0}


def test_settings_make_what_the_classes_make() -> None:
    made = from_settings({**BOX, "ratio": None, "mean": None})
    expected = Mollifier(reference=Box(low=[0], high=[9]), epsilon=1.0, ratio=KDE())
    assert made.to_dict() == expected.to_dict()
    normal = {"reference": "gaussian", "mean": [0, 1], "sd": [1, 2], "epsilon": 0.5}
    made = from_settings({**normal, "ratio": "gaussian-mixture"}, dim=2)
    assert made.to_dict()["reference"] == Gaussian(2, mean=[0, 1], sd=[1, 2]).to_dict()
    assert isinstance(made.ratio, GaussianMixture)
    rows = np.random.default_rng(1).normal(size=(20, 1))
    made = from_settings({"reference": "sample", "public": rows, "epsilon": 1.0})
    assert isinstance(made.reference, Sample)
    assert isinstance(from_settings({**BOX, "ratio": "binned"}).ratio, Binned)


def test_many_columns_are_smoothed_by_a_mixture() -> None:
    several = {"low": [0] * 4, "high": [9] * 4}
    assert isinstance(from_settings({**BOX, **several}, dim=4).ratio, GaussianMixture)


BAD: list[tuple[dict[str, Any], int, str, str]] = [
    ({**BOX, "mean": [0]}, 1, "no mean for box, got mean", "no --mean for box"),
    ({**BOX, "high": None}, 1, "high, for the box reference, got none", "--high, for the"),
    (BOX, 2, "low for each of 2 columns, for the box reference, got 1", "--low for each"),
    ({**BOX, "epsilon": None}, 1, "epsilon, what one sample costs", "--epsilon"),
    ({"reference": "sample", "epsilon": 1.0}, 1, "public, a file of public", "--public"),
]


@pytest.mark.parametrize(("settings", "dim", "words", "options"), BAD)
def test_settings_that_do_not_go_together(
    settings: dict[str, Any], dim: int, words: str, options: str
) -> None:
    with pytest.raises(BadSetting) as caught:
        from_settings(settings, dim=dim)
    assert words in str(caught.value)
    # The command line spells settings as it takes them.
    assert options in caught.value.words(_option)


def test_unknown_words_are_told_with_the_nearest_known() -> None:
    for wrong, near in (
        ({**BOX, "hihg": [9]}, "high"),
        ({**BOX, "reference": "boxes"}, "box"),
        ({**BOX, "ratio": "bined"}, "binned"),
    ):
        with pytest.raises(InvalidInput, match=f"Did you mean '{near}'"):
            from_settings(wrong)

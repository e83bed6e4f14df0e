"""The mechanisms that devices support, and limits of what a survey may ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confide import _checks
from confide.errors import InvalidInput
from confide.mechanisms import register
from confide.mechanisms.categories import RandomizedResponse
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.square_wave import SquareWave

MECHANISMS = (SquareWave.name, Laplace.name, RandomizedResponse.name)
"""Those of web/device/device.js for single questions; for pairs it has `PairResponse`."""
MOST_QUESTIONS = 500
MOST_PAIRS = 500
MOST_CELLS = 2**18
"""Cells and categories of all questions: what a phone can draw from in about a second."""


def light(declared: Sequence[tuple[Any, Any]], pairs: int = 0) -> None:
    """Refuse mechanisms that devices do not have, or that would keep them busy.

    Parameters
    ----------
    declared
        Names of questions and descriptions of their mechanisms, or whatever a collector has sent
        in their place. None of them is built.
    pairs
        How many pairs of questions there are. A device draws one report about one of them.
    """
    for many, most, what in (
        (len(declared), MOST_QUESTIONS, "questions"),
        (pairs, MOST_PAIRS, "pairs of questions"),
    ):
        if many > most:
            raise InvalidInput(
                f"at most {most} {what} in a survey that devices answer", f"{many:,}"
            )
    for name, fields in declared:
        kind = fields.get("mechanism") if isinstance(fields, Mapping) else None
        if kind not in MECHANISMS:
            raise InvalidInput(
                f"a mechanism that devices can draw ({', '.join(MECHANISMS)}) for the question "
                f"{_checks.shown(name)}",
                _checks.shown(kind),
                "Without the key 'mechanism' a number gets a square wave, and words get "
                "randomized response.",
            )
    register.affordable(
        (fields for _, fields in declared), "a survey that devices answer", most=MOST_CELLS
    )

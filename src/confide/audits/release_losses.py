"""The loss of a release, by running its own code on neighbouring data sets.

What a release states is not taken for granted: neither what one record can change, nor that what
is drawn is what is stated.
"""

from __future__ import annotations

from typing import Any

from confide.audits.findings import Finding
from confide.audits.neighbors import FEW
from confide.audits.release_laws import choice_tried, quantile_tried, sequences_tried
from confide.audits.trials import Trial, sums_tried
from confide.releases.additive import Additive
from confide.releases.choice import Choice
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.query import Query
from confide.releases.release import Recipe

UNSEEN = (
    "It runs the release on neighbouring data sets: all of up to {few} records on a few cells, and "
    "some of {most} records. What only other data sets would show it does not see."
)
STATED = "It takes the loss that the release states: it knows no way to try data sets of this kind."


def release_loss(recipe: Recipe, n: int) -> Finding:
    """The loss that a release states, and whether data sets that are tried show no larger one."""
    loss, slack, trial = recipe.loss(n), recipe.slack(n), tried(recipe, n)
    evidence: dict[str, Any] = {
        "n": n, "data_sets": trial.sets, "records": list(trial.sizes),
        "changes": list(trial.changes),
    }  # fmt: skip
    if recipe.delta:
        evidence |= {"delta": recipe.delta, "certified_delta": max(slack, trial.slack)}
    return Finding(
        "exact", repr(recipe), recipe.epsilon,
        holds=bool(loss <= recipe.epsilon and slack <= recipe.delta and trial.holds),
        certified=loss if trial.holds else max(loss, trial.loss),
        evidence=evidence, unseen=_unseen(trial, n),
    )  # fmt: skip


def _unseen(trial: Trial, n: int) -> str:
    """What data sets were tried; the largest have fewer than n records where n is very large."""
    if not trial.sets:
        return STATED
    return UNSEEN.format(few=FEW, most=min(n, max(trial.sizes)))


def tried(recipe: Recipe, n: int) -> Trial:
    """What neighbouring data sets show of a release of n records; nothing for unknown kinds."""
    if isinstance(recipe, Query) and recipe.what == "quantile":
        return quantile_tried(recipe, n)
    if isinstance(recipe, Additive):
        return sums_tried(recipe, n)
    if isinstance(recipe, KolmogorovSmirnov):
        return sequences_tried(recipe, n)
    if isinstance(recipe, Choice):
        released = Trial()
        for candidate in recipe.candidates:
            released += tried(candidate, n)
        return choice_tried(recipe, n, released)
    return Trial()

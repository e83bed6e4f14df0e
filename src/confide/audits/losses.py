"""The exact loss of mechanisms and releases, from their laws and in integers."""

from __future__ import annotations

import math
from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeGuard

from confide import _checks
from confide.accounting import Spend
from confide.accounting.spend import exact as written
from confide.audits.findings import Finding
from confide.audits.neighbors import FEW
from confide.audits.release_laws import (
    choice_tried,
    holdout_loss,
    quantile_tried,
    selection_tried,
    sequences_tried,
)
from confide.audits.trials import BITS, Trial, sums_tried, within
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_enclosure, log_ceiling, logs_ceiling
from confide.exact.integer_noise import ONE
from confide.mechanisms import Mechanism, Partition
from confide.mechanisms.laws import (
    LARGE,
    Band,
    Clamped,
    Declinable,
    Geometric,
    Grouped,
    Law,
    Product,
    largest_ratio,
)
from confide.mechanisms.protocol import Private
from confide.releases import Holdout
from confide.releases.choice import Choice
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.query import Query
from confide.releases.release import Additive, Recipe
from confide.releases.selection import Selection
from confide.sampling.sampler import Sampler

BRUTE = 12_000
"""Laws with at most this number of entries are also checked entry by entry."""
UNSEEN = (
    "It reads the law that the mechanism states, exactly; whether the code draws from that law is "
    "for the other checks."
)


def exact(subject: Any, *, n: int = 1000) -> Finding:
    """The largest log ratio over all pairs of inputs and all outputs, in integers.

    Parameters
    ----------
    subject
        A mechanism, a partition, a sampler, the recipe of a release, or a holdout.
    n
        Number of records of a release.

    Notes
    -----
    The stated sensitivity of a release is not trusted either: its own code is run on neighboring
    data sets, all of a few records on a few cells and many of n records, and the noise that it
    really draws must hide the largest change that was found.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> found = exact(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0))
    >>> found.holds, found.certified <= 1.0
    (True, True)
    """
    if isinstance(subject, Recipe | Holdout):
        n = _checks.integer(1, n=n)
        return release_loss(subject, n) if isinstance(subject, Recipe) else holdout_loss(subject)
    if not isinstance(subject, Private):
        raise InvalidInput(
            "a mechanism, a sampler or the recipe of a release",
            _checks.shown(subject),
            "Foreign code has no law to read: audits.sampled takes it.",
        )
    claimed = subject.spend.epsilon
    if isinstance(subject, Mechanism) and large(subject.law):
        return _geometric(subject, subject.law)
    if independent(subject) or (isinstance(subject, Sampler) and subject.inner):
        # A sampler's law is a mixture of what it runs.
        return _parts(subject, list(subject.inner.values()))
    try:
        ratio, evidence = _ratio(subject)
    except ZeroDivisionError:
        return Finding(
            "exact", repr(subject), claimed,
            holds=math.isinf(claimed), certified=math.inf, unseen=UNSEEN,
            evidence={"reason": "some input cannot give some output"},
        )  # fmt: skip
    return Finding(
        "exact", repr(subject), claimed,
        holds=within(ratio, promised(subject)), certified=log_ceiling(ratio), unseen=UNSEEN,
        evidence=evidence,
    )  # fmt: skip


def _parts(subject: Private, parts: list[Private]) -> Finding:
    """Independent parts: their ratios multiply, so that their losses add."""
    found = [exact(part) for part in parts]
    claimed = subject.spend.epsilon
    whole = sum(promised(part) for part in parts)
    losses = sum((Spend(part.certified or 0.0) for part in found), start=Spend(0.0))
    return Finding(
        "exact", repr(subject), claimed,
        holds=whole <= promised(subject) and all(part.holds for part in found),
        certified=losses.epsilon, unseen=UNSEEN,
        evidence={"losses": [part.certified for part in found]},
    )  # fmt: skip


def large(law: Any) -> TypeGuard[Geometric]:
    """Whether it is a geometric law whose exact weights would be very long."""
    return type(law) is Geometric and law.table.size > LARGE


def independent(subject: Any) -> bool:
    """Whether it states the product of the laws of what it runs: a subclass may state another."""
    if not isinstance(subject, Mechanism) or not isinstance(subject.law, Product):
        return False
    several = list(subject.marginals.values())
    return len(several) == len(subject.law.laws) and all(
        part.law is law for part, law in zip(several, subject.law.laws, strict=True)
    )


def _geometric(subject: Mechanism, law: Geometric) -> Finding:
    """The largest ratio is p**-m, so that p >= e**(-epsilon/m) decides, however large m is."""
    m = law.table.size - 1
    parameter, claimed = law.parameter, subject.spend.epsilon
    _, upper = exp_enclosure(-Fraction(promised(subject)) / m, BITS)
    holds = parameter << BITS >= upper * ONE
    return Finding(
        "exact", repr(subject), claimed,
        holds=holds, certified=logs_ceiling([(Fraction(ONE, parameter), m)]), unseen=UNSEEN,
         evidence={"inputs": m + 1, "outputs": m + 1},
    )  # fmt: skip


def promised(subject: Private) -> Fraction | float:
    """The allowed loss: the given epsilon in its decimal form, or infinity.

    A claim that was computed, from the law or as a sum, was never written: it is its float.
    """
    claimed = subject.spend.epsilon
    if math.isinf(claimed):
        return math.inf
    given = any(each.name == "epsilon" for each in fields(subject))  # type: ignore[arg-type]
    return written(claimed) if given else Fraction(claimed)


def _ratio(subject: Any) -> tuple[Fraction, dict[str, Any]]:
    if isinstance(subject, Partition):
        return subject.law.ratio(), {"coordinates": subject.rows * subject.cells.size}
    if isinstance(subject, Mechanism):
        inputs, outputs = math.prod(subject.law.inputs), math.prod(subject.law.outputs)
        brute = inputs * outputs <= BRUTE
        ratio = _every_pair(subject.law) if brute else _short(subject.law)
        return ratio, {"inputs": inputs, "outputs": outputs}
    return subject.odds(), {"outcomes": subject.outcomes}


def _every_pair(law: Law) -> Fraction:
    """The largest ratio with nothing taken for granted, not even that totals are equal."""
    columns = [law.weights(index) for index in range(math.prod(law.inputs))]
    if min(map(min, columns)) <= 0:
        raise ZeroDivisionError
    totals = [sum(column) for column in columns]
    if len(set(totals)) == 1:
        return largest_ratio((max(row), min(row)) for row in zip(*columns, strict=True))
    shares = ([Fraction(*each) for each in zip(row, totals, strict=True)]
              for row in zip(*columns, strict=True))  # fmt: skip
    return max(max(row) / min(row) for row in shares)


def _short(law: Law) -> Fraction:
    """The largest ratio of a large law, from its structure; tests compare both on small laws."""
    # A subclass may define other weights.
    own = type(law) in (Band, Declinable)
    if own and isinstance(law, Band | Declinable) and min(law.near, law.far) > 0:
        return Fraction(max(law.near, law.far), min(law.near, law.far))
    return law.ratio() if type(law) in (Clamped, Geometric, Grouped) else _every_pair(law)


UNTRIED = (
    "It runs the release on neighboring data sets: all of up to {few} records on a few cells, and "
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
        looked=bool(trial.sets), evidence=evidence, unseen=_unseen(trial, n),
    )  # fmt: skip


def _unseen(trial: Trial, n: int) -> str:
    """What data sets were tried; the largest have fewer than n records where n is very large."""
    if not trial.sets:
        return STATED
    return UNTRIED.format(few=FEW, most=min(n, max(trial.sizes)))


def tried(recipe: Recipe, n: int) -> Trial:
    """Try a release of n records on neighboring data sets; an empty trial for unknown kinds."""
    if isinstance(recipe, Query) and recipe.what == "quantile":
        return quantile_tried(recipe, n)
    if isinstance(recipe, Additive):
        return sums_tried(recipe, n)
    if isinstance(recipe, KolmogorovSmirnov):
        return sequences_tried(recipe, n)
    if isinstance(recipe, Selection):
        return selection_tried(recipe, n)
    if isinstance(recipe, Choice):
        released = Trial()
        for candidate in recipe.candidates:
            released += tried(candidate, n)
        return choice_tried(recipe, n, released)
    return Trial()

"""The loss of a round of a holdout, by running its own code on small ones."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from confide.accounting import exact as written
from confide.audits.certificates import enough
from confide.audits.findings import Finding
from confide.audits.neighbors import Data, all_families, remembered
from confide.audits.tapes import Silence
from confide.exact.clamped import ONE
from confide.exact.enclosures import logs_ceiling
from confide.exact.entropy import Entropy, SeededEntropy
from confide.releases.holdout import UNIT, Holdout

FEW = 3
"""All holdouts of up to so many records are tried."""
SEEDS = 16
"""Rounds that are made again from the noises that are stated."""
ODD = np.array([0.0, 0.5, 1.0, -5.0, 7.0, math.nan])
"""Answers of a record to a query, some of which are none."""
UNSEEN_ROUND = (
    f"It asks holdouts of up to {FEW} records one query; that many queries cost no more is "
    "proved, and for the tests."
)


def holdout_loss(subject: Holdout) -> Finding:
    """What a record changes the sum of a query by, and whether the three noises hide that."""
    change, sets, stated = 0, 0, True
    for n in range(1, FEW + 1):
        look = remembered(lambda data: _asked(subject, data))
        for family in all_families(len(ODD), n):
            totals = [look(data) for data in family]
            change, sets = max(change, max(totals) - min(totals)), sets + len(family)
        stated = stated and _rounds(subject, np.arange(n) % len(ODD))
    # A comparison is between two numbers that the record may change: see the proof at `Holdout`.
    costs = list(zip(subject.noises, (change, 2 * change, change), strict=True))
    whole = sum(noise.epsilon for noise in subject.noises) <= written(subject.epsilon)
    return Finding(
        "exact", f"Holdout(epsilon={subject.epsilon:g})", subject.epsilon,
        holds=stated and whole and all(enough(*each) for each in costs),
        certified=logs_ceiling((Fraction(ONE, noise.parameter), k) for noise, k in costs),
        evidence={"data_sets": sets, "records": list(range(1, FEW + 1)), "changes": [change]},
        unseen=UNSEEN_ROUND,
    )  # fmt: skip


def _asked(subject: Holdout, data: Data, entropy: Entropy | None = None) -> Any:
    """The sum over a small holdout, as it is shown without noise; with entropy, the answer."""
    given = {"epsilon": subject.epsilon, "overfits": 1, "threshold": 0.0}
    small = Holdout.replayed([0.0], ODD[data], entropy=entropy or Silence(), **given)
    answer = small.ask(lambda records: records)
    return answer if entropy else round(answer.value * data.size * UNIT)


def _rounds(subject: Holdout, data: Data) -> bool:
    """Whether rounds are made of draws of the three noises, one of each."""
    total = _asked(subject, data)
    for seed in range(SEEDS):
        entropy = SeededEntropy(seed)
        limit, gap, more = (int(noise.draw(entropy, 1)[0]) for noise in subject.noises)
        shown = min(max((total + more) / (data.size * UNIT), 0.0), 1.0)
        expected = (0.0, "train") if total + gap <= limit else (shown, "holdout")
        answer = _asked(subject, data, SeededEntropy(seed))
        if (answer.value, answer.source) != expected:
            return False
    return True

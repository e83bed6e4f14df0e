"""The exact loss, from the law and in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from confide import _validate
from confide.accounting import Spend
from confide.accounting import exact as written
from confide.audits.findings import Finding
from confide.discrete import ONE
from confide.errors import InvalidInput
from confide.mechanisms import Joint, Laplace, Mechanism, Partition
from confide.mechanisms.laws import Band, Clamped, Law, largest_ratio
from confide.mechanisms.samples import Sampler
from confide.randomness import exp_enclosure, log_ceiling
from confide.releases.base import Recipe
from confide.releases.gaussian_noise import DiscreteGaussian
from confide.releases.noise import DiscreteLaplace

BITS = 256
BRUTE = 12_000
"""Laws with at most so many entries are also looked at entry by entry."""
LARGE = 512
"""From here on the weights of a Laplace law are integers of many thousand digits."""
UNSEEN = (
    "It reads the law that the mechanism states, exactly; whether the code draws from that law is "
    "for the other checks."
)


def exact(subject: Any, *, n: int = 1000) -> Finding:
    """The largest log ratio over all pairs of inputs and all outputs, in integers.

    Parameters
    ----------
    subject
        A mechanism, a partition, a sampler, or the recipe of a release.
    n
        Number of records of a release.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> found = exact(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0))
    >>> found.holds, found.certified <= 1.0
    (True, True)
    """
    if isinstance(subject, Recipe):
        return _recipe(subject, _validate.integer(1, n=n))
    if not isinstance(subject, Mechanism | Partition | Sampler):
        raise InvalidInput(
            "a mechanism, a sampler or the recipe of a release",
            _validate.shown(subject),
            "Foreign code has no law to read: audits.sampled takes it.",
        )
    claimed = subject.spend.epsilon
    if isinstance(subject, Laplace) and usual(subject, Laplace) and subject.lattice.size > LARGE:
        return _laplace(subject)
    if isinstance(subject, Joint) and usual(subject, Joint):
        return _parts(subject, list(subject.parts.values()))
    if isinstance(inner := getattr(subject, "mechanism", None), Mechanism):
        # A sampler whose law is a mixture of the mechanism's.
        return _parts(subject, [inner])
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


def _parts(subject: Any, parts: list[Mechanism]) -> Finding:
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


def _laplace(subject: Laplace) -> Finding:
    """The largest ratio is p**-m, so that p >= e**(-epsilon/m) decides, however large m is."""
    m = subject.lattice.size - 1
    parameter, claimed = subject._parameter, subject.spend.epsilon
    _, upper = exp_enclosure(-Fraction(promised(subject)) / m, BITS)
    certified = math.nextafter(m * log_ceiling(Fraction(ONE, parameter)), math.inf)
    holds = parameter << BITS >= upper * ONE
    return Finding(
        "exact", repr(subject), claimed,
        holds=holds, certified=min(certified, claimed) if holds else certified,
        unseen=UNSEEN, evidence={"inputs": m + 1, "outputs": m + 1},
    )  # fmt: skip


def usual(subject: Mechanism, kind: type[Mechanism]) -> bool:
    """Whether it states the law of this kind: a subclass may state another."""
    return type(subject).law is kind.law


def promised(subject: Any) -> Fraction | float:
    """What may be lost: the epsilon that was given, as it is written, or infinity.

    A claim that was computed, from the law or as a sum, was never written: it is its float.
    """
    claimed = subject.spend.epsilon
    if math.isinf(claimed):
        return math.inf
    return written(claimed) if hasattr(subject, "epsilon") else Fraction(claimed)


def within(ratio: Fraction, epsilon: Fraction | float) -> bool:
    """Whether ratio <= e**epsilon, decided in integers."""
    if epsilon == math.inf:
        return True
    bits = BITS
    while True:
        lower, upper = exp_enclosure(Fraction(epsilon), bits)
        if ratio.numerator << bits <= lower * ratio.denominator:
            return True
        if ratio.numerator << bits > upper * ratio.denominator:
            return False
        bits *= 2


def _ratio(subject: Any) -> tuple[Fraction, dict[str, Any]]:
    if isinstance(subject, Partition):
        return subject.law.ratio(), {"coordinates": subject.rows * subject.cells.size}
    if isinstance(subject, Mechanism):
        inputs, outputs = math.prod(subject.law.inputs), math.prod(subject.law.outputs)
        brute = inputs * outputs <= BRUTE
        ratio = _every_pair(subject.law) if brute else _short(subject.law)
        return ratio, {"inputs": inputs, "outputs": outputs}
    if hasattr(subject, "band"):
        return subject.band.ratio(), {"outcomes": subject.outcomes}
    return subject.ratio(), {"outcomes": subject.outcomes}


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
    """The same for large laws, from their structure: the tests compare it on small ones."""
    if type(law) is Band and min(law.near, law.far) > 0:
        return Fraction(max(law.near, law.far), min(law.near, law.far))
    return law.ratio() if type(law) is Clamped else _every_pair(law)


def _recipe(recipe: Recipe, n: int) -> Finding:
    loss, slack = recipe.loss(n), recipe.slack(n)
    noises = noises_of(recipe, n)
    within_parts = all(certified(noise) for noise in noises if isinstance(noise, DiscreteLaplace))
    shares = sum(noise.epsilon for noise in noises if isinstance(noise, DiscreteLaplace))
    # A choice among recipes is no better than any of them.
    candidates = [_recipe(each, n) for each in getattr(recipe, "candidates", ())]
    evidence: dict[str, Any] = {"n": n, "noises": len(noises)}
    if recipe.delta:
        evidence |= {"delta": recipe.delta, "certified_delta": slack}
    return Finding(
        "exact", repr(recipe), recipe.epsilon,
        holds=bool(
            loss <= recipe.epsilon
            and slack <= recipe.delta
            and within_parts
            and shares <= written(recipe.epsilon)
            and all(each.holds for each in candidates)
        ),
        certified=loss if within_parts else _stated(noises),
        evidence=evidence,
        unseen="It takes the sensitivity that the release states; that no record changes more is "
        "for the tests that try all small data sets, and for the sampled check.",
    )  # fmt: skip


def noises_of(recipe: Recipe, n: int) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
    """The noises that a release of n records adds; none where it draws by weights instead."""
    several = getattr(recipe, "noises", None)
    if callable(several):
        return () if getattr(recipe, "what", "") == "quantile" else tuple(several(n))
    one = getattr(recipe, "noise", None)
    if one is None:
        return ()
    return (one(n) if callable(one) else one,)


def certified(noise: DiscreteLaplace) -> bool:
    """Whether (2**62 / P)**sensitivity <= e**epsilon, in integers."""
    _, upper = exp_enclosure(-noise.epsilon / noise.sensitivity, BITS)
    return noise.parameter << BITS >= upper * ONE


def _stated(noises: tuple[Any, ...]) -> float:
    """What the noises cost by their own parameters, whatever they say."""
    steps = (noise for noise in noises if isinstance(noise, DiscreteLaplace))
    return sum(log_ceiling(Fraction(ONE, each.parameter)) * each.sensitivity for each in steps)

"""Lower bounds on epsilon from outputs alone: no law, no source, any code."""

from __future__ import annotations

import math
from typing import Any

from confide import _validate
from confide.audits.events import learned, lower_bound
from confide.audits.findings import Finding, checked_alpha
from confide.audits.runs import Pairs, Runs, checked_pairs, pairs_of
from confide.errors import InvalidInput
from confide.releases.base import Recipe

ALPHA = 1e-6
REPORTS, RELEASES = 100_000, 4_000
"""Runs for each value, unless told otherwise."""
UNSEEN = (
    "To pass proves nothing: it tries a few pairs of inputs and one learned event for each, and "
    "does not see excesses below a few per cent of epsilon, rare outputs, or inputs not tried."
)

SHORT = (
    "With so few runs an attack can prove an epsilon of {:.3g} at most: a claim of that much or "
    "more is not put to the test by it."
)


def sampled(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    delta: float | None = None,
    n: int | None = None,
    alpha: float = ALPHA,
    seed: int | None = None,
    layer: str = "sampled",
) -> Finding:
    """A lower bound on epsilon, from the outputs of pairs of inputs.

    For each pair an event that tells the two apart is learned on one half of the outputs and its
    probabilities are bounded on the other half (Clopper and Pearson 1934).

    Parameters
    ----------
    subject
        A mechanism, partition, sampler or recipe of a release, or any function of a value: foreign
        code. Outputs may be numbers, words, or rows of numbers.
        Every call must be a run of its own: a device that remembers its report is to be made anew.
    pairs
        Pairs of values, for a release of data sets that differ in one record; by default those
        that are hardest to hide, which are known for mechanisms and releases. For noise in floats
        0 and the sensitivity are a good pair: near 0 floats are finest.
    claimed, delta
        What is claimed; known for what is ours.
    n
        Runs for each value: by default 100,000, and 4,000 of a release, which takes milliseconds.
    alpha
        Probability of a false alarm, of the whole check.
    seed
        For a repeatable check of what is ours.
    layer
        Name of the check in the finding.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> plain = lambda value: value + generator.laplace(scale=1.0)
    >>> found = sampled(plain, [(0.0, 1.0)], claimed=1.0, n=20_000)
    >>> found.holds, found.lower_bound > 2, found.evidence["event"]
    (False, True, 'lowest bits')
    """
    alpha = checked_alpha(alpha)
    if n is None:
        n = RELEASES if isinstance(subject, Recipe) else REPORTS
    return attacked(
        subject, pairs, claimed=claimed, delta=delta, n=n, alpha=alpha, seed=seed, layer=layer
    )


def attacked(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    delta: float | None = None,
    n: int,
    alpha: float,
    seed: int | None = None,
    layer: str = "sampled",
) -> Finding:
    """The same, with an alpha that may be a share of one that was given."""
    runs = subject if isinstance(subject, Runs) else Runs(subject, seed)
    n = _validate.integer(100, n=n)
    spend = getattr(runs.subject, "spend", None)
    if claimed is None:
        if spend is None:
            raise InvalidInput("claimed=..., the epsilon of foreign code", "none")
        claimed = spend.epsilon
    claimed = _validate.within(0, math.inf, claimed=claimed)
    given = delta if delta is not None else getattr(spend, "delta", 0.0)
    delta = _validate.within(0, 1, delta=given)
    pairs = pairs_of(runs.subject) if pairs is None else checked_pairs(pairs)
    # One event for each order of each pair.
    own = alpha / (2 * len(pairs))
    best: dict[str, Any] = {"event": "none"}
    most = 0.0
    for number, (first, second) in enumerate(pairs):
        outputs = runs.pair(first, second, n)
        for one, other in (outputs, outputs[::-1]):
            fitting, choosing, judging = (
                (one[part], other[part])
                for part in (slice(n // 4), slice(n // 4, n // 2), slice(n // 2, n))
            )
            event = learned(fitting, choosing, own, 2, delta=delta)
            hits, misses = ((event.count(part), len(part)) for part in judging)
            found = float(lower_bound(hits, misses, own, delta=delta))
            if found > most:
                most = found
                best = {
                    "event": event.name,
                    "pair": number,
                    "share": hits[0] / hits[1],
                    "share_of_the_other": misses[0] / misses[1],
                }
    # Had one input always given the event and the other never.
    half = n - n // 2
    reach = float(lower_bound((half, half), (0, half), own, delta=delta))
    return Finding(
        layer, repr(runs.subject), claimed,
        holds=not most > claimed, looked=reach > claimed, lower_bound=most,
        unseen=UNSEEN if reach > claimed else SHORT.format(reach),
        evidence={**best, "pairs": len(pairs), "n": n, "alpha": alpha, "reach": reach},
    )  # fmt: skip

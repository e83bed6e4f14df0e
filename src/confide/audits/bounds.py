"""Lower bounds on epsilon from outputs alone: no law, no source, any code."""

from __future__ import annotations

from typing import Any

from confide import _validate
from confide.audits.events import learned, lower_bound
from confide.audits.findings import Finding
from confide.audits.runs import Pairs, Runs, pairs_of
from confide.errors import InvalidInput

ALPHA = 1e-6
UNSEEN = (
    "To pass proves nothing: it tries a few pairs of inputs and one learned event for each, and "
    "does not see excesses below a few per cent of epsilon, rare outputs, or inputs not tried."
)


def sampled(
    subject: Any,
    pairs: Pairs | None = None,
    *,
    claimed: float | None = None,
    delta: float | None = None,
    n: int = 100_000,
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
    pairs
        Pairs of values, for a release of data sets that differ in one record; known for mechanisms.
    claimed, delta
        What is claimed; known for what is ours.
    n
        Runs for each value.
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
    runs = subject if isinstance(subject, Runs) else Runs(subject, seed)
    n = _validate.integer(100, n=n)
    alpha = _validate.within(0, 1, alpha=alpha)
    spend = getattr(runs.subject, "spend", None)
    if claimed is None:
        if spend is None:
            raise InvalidInput("claimed=..., the epsilon of foreign code", "none")
        claimed = spend.epsilon
    claimed = float(claimed)
    delta = float(delta if delta is not None else getattr(spend, "delta", 0.0))
    pairs = pairs_of(runs.subject) if pairs is None else list(pairs)
    if not pairs:
        raise InvalidInput("at least one pair of values", "none")
    # One event for each order of each pair.
    own = alpha / (2 * len(pairs))
    best: dict[str, Any] = {"event": "none"}
    most = 0.0
    for number, (first, second) in enumerate(pairs):
        outputs = [runs(first, n), runs(second, n)]
        for one, other in (outputs, outputs[::-1]):
            fitting, choosing, judging = (
                (one[part], other[part])
                for part in (slice(n // 4), slice(n // 4, n // 2), slice(n // 2, n))
            )
            event = learned(fitting, choosing, own, 2)
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
    return Finding(
        layer, repr(runs.subject), claimed,
        holds=not most > claimed, lower_bound=most, unseen=UNSEEN,
        evidence={**best, "pairs": len(pairs), "n": n, "alpha": alpha},
    )  # fmt: skip

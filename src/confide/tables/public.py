"""Public columns that are copied next to reports."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, MissingColumn
from confide.mechanisms import Mechanism
from confide.mechanisms.protocol import Reports
from confide.summaries import Counts
from confide.summaries.counts import Response


@dataclass(frozen=True)
class Public:
    """Public columns that go into a summary.

    Parameters
    ----------
    weights
        Column of survey weights, or None.
    response
        Column of a response, or None.
    bounds
        Bounds of the response, or None for those that are observed.
    """

    weights: str | None = None
    response: str | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None:
            if self.response is None:
                raise InvalidInput("a response to go with its bounds", "none")
            low, high = (_checks.finite(bounds=end) for end in self.bounds)
            if not low < high:
                raise InvalidInput("bounds LOW HIGH with LOW < HIGH", f"{low:g} and {high:g}")

    @property
    def columns(self) -> list[str]:
        """Their names, each once."""
        return list(dict.fromkeys(name for name in (self.weights, self.response) if name))

    def count(self, reports: Reports, numbers: Mapping[str, Floats]) -> Counts:
        """Counts of some reports with the public numbers that go along."""
        try:
            return Counts.of(
                reports,
                weights=None if self.weights is None else numbers[self.weights],
                response=None if self.response is None else numbers[self.response],
                bounds=self.bounds,
            )
        except InvalidInput as error:
            columns = " and ".join(map(repr, self.columns))
            raise InvalidInput(
                f"{error.expected} in column {columns}", error.got, error.advice
            ) from None

    def nobody(self, mechanism: Mechanism, *, simulated: bool) -> Counts | None:
        """Counts of no reports; None where a response has no bounds but those observed."""
        zeros = np.zeros(mechanism.law.outputs)
        response = None
        if self.response is not None:
            if self.bounds is None:
                return None
            low, high = self.bounds
            response = Response(zeros, zeros, low=float(low), high=float(high))
        weights = None if self.weights is None else (zeros, zeros)
        return Counts(mechanism, zeros.astype(np.int64), simulated, weights, response)


NOTHING = Public()


@contextmanager
def carried(public: Sequence[str]) -> Iterator[None]:
    """Say of a public column that reports lack how it comes to be there."""
    try:
        yield
    except MissingColumn as error:
        if error.column not in public:
            raise
        kept = f"To carry it along: confide privatize ... --keep {shlex.quote(error.column)}."
        advice = f"{error.advice} {kept}".strip()
        raise InvalidInput(error.expected, error.got, advice) from None

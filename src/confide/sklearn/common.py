"""Shared parts of the estimators with scikit-learn's interface."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import Spend, checked_epsilon
from confide.errors import ConfideError, ConfideWarning, InvalidInput, alone
from confide.lattice import Lattice
from confide.mechanisms import Mechanism, Numeric, numeric

Bound = float | Sequence[float]


def warn_outside(
    values: Floats,
    low: float,
    high: float,
    what: str,
    names: tuple[str, str],
    *,
    stacklevel: int = 4,
) -> None:
    """Warn where most values lie outside their bounds, quoting none of them.

    The warning is about the line that called `fit`, which is the caller of the caller of this.

    The warning reaches the holder of the data. It states one fact about them that no epsilon
    covers, so it belongs in no log that leaves their hands.
    """
    outside = (values < low) | (values > high)
    # Bounds the wrong way round are refused where they are used.
    if low < high and 2 * np.count_nonzero(outside) > values.size:
        warnings.warn(
            f"Most {what} lie outside {names[0]}={low:g} and {names[1]}={high:g}, and all that do "
            "are treated alike, so that little can be learned from them. Bounds are public and in "
            "the units of the data: give what such a value can be at all.",
            ConfideWarning,
            stacklevel=stacklevel,
        )


# What scikit-learn says of the shape and kind of data, without quoting it.
SAFE = re.compile(
    r"(Input \w+ contains|Found array with|Found input variables|Sparse data|X has \d+ features"
    r"|\w+ does not support sparse|The feature names should match|bad input shape"
    r"|float\(\) argument must be a string or a real number, not '\w+'$"
    r"|y should be a 1d array|Unknown label type|This \w+ estimator requires y to be passed)"
)

# What it says of them beside the data, and what we say instead.
TOLD = {
    "Reshape your data": ("rows of features", "none", "Reshape your data: X.reshape(-1, 1)."),
    "Expected a 2-dimensional container": (
        "a table of features",
        "one column alone",
        "A table with this one column: X.to_frame().",
    ),
    "Complex data": ("real numbers", "others", "Complex data not supported."),
}


def guarded(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function, and replace any error by one that quotes no value."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        told = _unquoted(error)
    # Here no other error is being handled, which would go along.
    raise told


def _unquoted(error: Exception) -> Exception:
    text = str(error)
    if isinstance(error, ConfideError):
        alone(error)
        return error
    if isinstance(error, OSError | MemoryError):
        return error
    for part, told in TOLD.items():
        if part in text:
            return InvalidInput(*told)
    if SAFE.match(text):
        return TypeError(text) if isinstance(error, TypeError) else ValueError(text)
    kind = "text" if "could not convert" in text else f"what raised {type(error).__name__}"
    return InvalidInput("numbers", kind)


class Private(BaseEstimator):  # type: ignore[misc]
    """Public bounds, a budget and a source of noise."""

    epsilon: float
    low: Bound
    high: Bound
    mechanism: str
    size: int
    random_state: int | None

    def _box(self, features: int) -> tuple[list[float], list[float]]:
        box = []
        for name in ("low", "high"):
            given = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))
            if given.size not in (1, features):
                raise InvalidInput(
                    f"one {name} or one for each of {features} features", str(given.size)
                )
            box.append(np.broadcast_to(given, features).tolist())
        return box[0], box[1]

    def _held(self, X: Floats) -> None:
        """Warn of features most of whose values lie outside their bounds."""
        ends = zip(*self._box(X.shape[1]), strict=True)
        for at, (column, (low, high)) in enumerate(zip(X.T, ends, strict=True)):
            known = getattr(self, "feature_names_in_", None)
            what = f"values of feature {at if known is None else repr(str(known[at]))}"
            warn_outside(column, low, high, what, ("low", "high"), stacklevel=5)

    def _names(self, features: int) -> tuple[str, ...]:
        """The names of the features where they came with them, as in a table of pandas."""
        known = getattr(self, "feature_names_in_", None)
        if known is not None:
            return tuple(map(str, known))
        return ("",) if features == 1 else tuple(f"x{at}" for at in range(1, features + 1))

    @property
    def _kind(self) -> type[Numeric]:
        """The kind of mechanism that was named: one that an epsilon alone makes."""
        known = {name: kind for name, kind in numeric().items() if not kind.extra}
        return known[_checks.one_of(tuple(known), mechanism=self.mechanism)]

    def _mechanisms(self, features: int, share: float) -> list[Mechanism]:
        low, high = self._box(features)
        return [
            self._kind.costing(Lattice(low=a, high=b, size=self.size), epsilon=share)
            for a, b in zip(low, high, strict=True)
        ]

    def _share(self, parts: int) -> float:
        """An even share of the budget, rounded down: the shares never add up to more."""
        epsilon = checked_epsilon(self.epsilon)
        share = epsilon / parts
        while Fraction(share) * parts > Fraction(epsilon):
            share = math.nextafter(share, 0)
        return share

    def _reports(self, mechanism: Any, values: Any, at: int = 0) -> Any:
        """Private reports, or simulated ones: the at-th stream of the seed."""
        if self.random_state is None:
            return mechanism.privatize(values)
        stream = np.random.SeedSequence(self.random_state).spawn(at + 1)[at]
        return mechanism.simulate(values, seed=int(stream.generate_state(1)[0]))

    def _state(self, note: str = "") -> None:
        """What a row has cost, once the reports are drawn."""
        if self.random_state is not None:
            _checks.integer(0, random_state=self.random_state)
        self.simulated_ = self.random_state is not None
        self.spend_ = Spend(checked_epsilon(self.epsilon), note=note)
        if self.simulated_:
            self.spend_ = Spend(math.inf, note="Simulated from a seed: not private.")

    def _data(self, X: Any, *y: Any, **options: Any) -> Any:
        """scikit-learn's validation, with our rules: no masks, and no value in a message."""
        for given in (X, *y):
            if isinstance(given, np.ma.MaskedArray):
                raise InvalidInput("data without a mask", "a masked array")
        return guarded(validate_data, self, X, *y, dtype=np.float64, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise makes two fits differ, and noise on a few points leaves little to score.
        tags.non_deterministic = self.random_state is None
        return tags

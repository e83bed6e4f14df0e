"""A reusable holdout: Thresholdout (Dwork et al. 2015).

An analyst who tunes on a training set checks each idea on a holdout; after enough checks the
holdout is tuned on as well. Thresholdout answers from the training set as long as the holdout
agrees, and shows a noisy answer of the holdout only where it does not.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.accounting.spend import Spend, checked_epsilon, exact
from confide.errors import BudgetExhausted, InvalidInput
from confide.exact.enclosures import logs_ceiling
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.integer_noise import DiscreteLaplace, laplace
from confide.ledger.bindings import content
from confide.ledger.costs import Charges

UNIT = 2**12
"""Units in an answer of one: what a record answers is rounded to whole ones, then summed."""
TIES = 0.05
"""Share of records that a last digit may tip over, where sums of floats tie."""

Array = npt.NDArray[Any]
Ask = Callable[[Array], Any]


class Noises(NamedTuple):
    """The noise of a round: on the threshold (once), on each comparison, on the answer (once)."""

    threshold: DiscreteLaplace
    comparison: DiscreteLaplace
    answer: DiscreteLaplace

    @property
    def loss(self) -> float:
        """The certified loss of a round, rounded up."""
        return logs_ceiling(noise.power for noise in self)


def noises(epsilon: Fraction, unit: int = UNIT) -> Noises:
    """A quarter of epsilon for the threshold, a quarter for comparisons, half for the answer.

    One record moves a sum, and so its distance from a public number, by at most ``unit``. A
    comparison is charged for twice that: see the proof at `Holdout`.
    """
    return Noises(
        laplace(epsilon / 4, unit), laplace(epsilon / 4, 2 * unit), laplace(epsilon / 2, unit)
    )


@final
@dataclass(frozen=True)
class Answer:
    """An estimate of a query's mean: of the training set exactly, or of the holdout with noise."""

    value: float
    source: str
    left: int
    """How often the holdout may still be shown."""


@final
class Holdout:
    """Thresholdout: the mean of any query over the population, adaptively, many times.

    Parameters
    ----------
    train
        Records that the analyst knows, one per row. **Not protected**: answers from them are exact.
    holdout
        Records of the same kind that nobody looks at but through `ask`. These are protected.
    epsilon
        What a round costs each holdout record. A round ends when the holdout is shown.
    overfits
        Rounds there may be, at a cost of ``overfits * epsilon`` in all.
    threshold
        The largest difference of training set and holdout that counts as agreement.
    ledger, key
        Where every round is charged before anything in it is answered, under key/1, key/2, ...
        Another holdout needs another key.

    Notes
    -----
    **Formal guarantee.** All answers of a round together are epsilon-differentially private for a
    holdout record's value, however many they are and however queries depend on earlier answers;
    neighbors differ in one holdout record, both sizes are public. Rounds add up.

    *Proof.* A query gives each record an integer 0 .. U, so the sum S over the holdout, and with
    it the gap g = abs(S - t) to the public t of the training set, changes by at most U between
    neighbors. A round draws r once, and for query i draws v_i and shows the holdout if
    g_i + v_i > T + r. Fix its answers: k - 1 times "train", then "holdout" with a number. Compare
    the terms of the sum over r with those of r + U for the neighbor, which costs U steps of r,
    epsilon/4. At r + U every "train" is at least as likely, since g_i grew by U at most: all of
    them cost nothing. The last comparison needs v_k larger by U for the threshold and by U for
    g_k, so 2 U steps of v, epsilon/4. The number is S plus noise of its own, U steps, epsilon/2.
    A next round draws everything anew. (Noise v below 2 U steps, or shown again as the answer's
    noise, are the well-known errors: Lyu, Su and Li 2017.)

    Noise is exact on integers. What the analyst does must be a function of the answers: a query
    is to look at one record at a time and to keep nothing.

    **Queries are code that runs on the holdout.** One that stores, prints or sends what it is
    given, or takes longer for some records, gets around all of this: read a query before it runs,
    or take it only from people you trust. That records of the training set answer the same in
    other company is checked; it finds mistakes and does not stop malice.

    **Crashes.** The noise of a round lives in memory and nowhere else. A new process, or a fork,
    cannot go on with a round: it takes the next, charged anew, and finds in the ledger how many
    were begun. Without a ledger that count is in memory too, and only honest use keeps it.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> train, fresh = generator.random((2, 5000))
    >>> holdout = Holdout(train, fresh, epsilon=0.1, overfits=5)
    >>> answer = holdout.ask(lambda x: x < 0.5)
    >>> abs(answer.value - 0.5) < 0.2
    True
    """

    simulated = False

    def __init__(
        self,
        train: Any,
        holdout: Any,
        *,
        epsilon: float,
        overfits: int,
        threshold: float = 0.04,
        ledger: Charges | None = None,
        key: str | None = None,
    ) -> None:
        self._train, self._holdout = _records(train=train), _records(holdout=holdout)
        if self._train.shape[1:] != self._holdout.shape[1:]:
            raise InvalidInput(
                f"holdout records of shape {self._train.shape[1:]}", f"{self._holdout.shape[1:]}"
            )
        self.epsilon = checked_epsilon(epsilon)
        self.overfits = _checks.integer(1, overfits=overfits)
        self.threshold = _checks.within(0, 1, threshold=threshold)
        self.noises = noises(exact(self.epsilon))
        if not self.noises.loss <= self.epsilon:
            raise InvalidInput(f"noise that keeps epsilon={self.epsilon:g}", "a larger loss")
        if ledger is not None and (not isinstance(key, str) or not key):
            raise InvalidInput("a key for the ledger", _checks.shown(key), "Name the holdout.")
        self._ledger, self._key = ledger, key
        # Objects have no bytes that another process would know them by.
        known = ledger is not None and not self._holdout.dtype.hasobject
        self._data = content(self._holdout) if known else None
        self._entropy: Entropy = SystemEntropy()
        self._lock = Lock()
        self._process = os.getpid()
        self._begun = 0
        self._limit: int | None = None

    @classmethod
    def simulate(cls, train: Any, holdout: Any, *, seed: int, **parameters: Any) -> Holdout:
        """A repeatable one, for study: its noise comes from a seed, so it is not private."""
        entropy = SeededEntropy(_checks.integer(0, seed=seed))
        return cls.replayed(train, holdout, entropy=entropy, **parameters)

    @classmethod
    def replayed(cls, train: Any, holdout: Any, *, entropy: Entropy, **parameters: Any) -> Holdout:
        """One whose noise is made of the words that are given, for checks: not private."""
        if parameters.get("ledger") is not None:
            raise InvalidInput("no ledger for a simulation", "one", "It is not a release.")
        made = cls(train, holdout, **parameters)
        made.simulated = True
        made._entropy = entropy
        return made

    @property
    def spend(self) -> Spend:
        """The cost of a round."""
        return Spend(self.epsilon)

    @property
    def left(self) -> int:
        """Number of times that this process may still show the holdout."""
        return self.overfits - self._begun + (self._limit is not None)

    def ask(self, query: Ask) -> Answer:
        """The mean of a query with values in [0, 1].

        Parameters
        ----------
        query
            Takes records, one per row, and gives a number for each that depends on it alone.
            Numbers outside [0, 1] are clipped, and NaN counts as 0, as does a holdout record for
            which it fails.

        Raises
        ------
        BudgetExhausted
            When all rounds are used up or the ledger cannot pay for another; nothing is answered.
        """
        known, n = _answers(query, self._train), len(self._holdout)
        # Company that answers alike is where a query that centers or ranks gives itself away.
        order = np.argsort(known, kind="stable")
        for part in np.array_split(order, min(2, order.size)):
            # A unit of room: sums of floats may differ in their last digit for other lengths.
            odd = np.abs(_answers(query, self._train[part]) - known[part]) > 1
            if odd.mean() > TIES:
                raise InvalidInput(
                    "a query that answers for each record alone",
                    "one that depends on the other records",
                    "Do not center, scale or rank inside a query.",
                )
        total = int(_private(query, self._holdout).sum())
        public = (2 * int(known.sum()) * n + len(known)) // (2 * len(known))
        with self._lock:
            if self._limit is None or self._process != os.getpid():
                self._limit = self._begin()
            if abs(total - public) + self._draw(self.noises.comparison) <= self._limit:
                return Answer(public / (n * UNIT), "train", self.left)
            self._limit = None
            noisy = total + self._draw(self.noises.answer)
            return Answer(min(max(noisy / (n * UNIT), 0.0), 1.0), "holdout", self.left)

    def _draw(self, noise: DiscreteLaplace) -> int:
        return int(noise.draw(self._entropy, 1)[0])

    def _begin(self) -> int:
        """Pay for a round, then draw its threshold."""
        if self._process != os.getpid():
            if self._ledger is None:
                raise InvalidInput(
                    "the process that made the holdout",
                    "another process",
                    "Share it through a ledger.",
                )
            self._limit, self._process = None, os.getpid()
        mine = False
        while not mine:
            number = self._begun + 1
            if number > self.overfits:
                raise BudgetExhausted(
                    f"at most {self.overfits} rounds", "another query", "The holdout is used up."
                )
            mine = self._paid(number)
            self._begun = number
        limit = math.ceil(Fraction(self.threshold) * len(self._holdout) * UNIT)
        return limit + self._draw(self.noises.threshold)

    def _paid(self, number: int) -> bool:
        """Whether this very call has paid for the round, and not one before a crash."""
        if self._ledger is None:
            return True
        token = secrets.token_hex(16)
        spec = {
            "release": "holdout",
            "n": len(self._holdout),
            "train": len(self._train),
            "epsilon": self.epsilon,
            "overfits": self.overfits,
            "threshold": self.threshold,
            "round": number,
        }
        stored = self._ledger.charge(
            f"{self._key}/{number}", spec, self.spend, lambda: {"token": token}, data=self._data
        )
        return bool(stored.get("token") == token)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied: two copies of a round would show the holdout twice for one price."""
        raise TypeError("a Holdout cannot be copied or pickled: make another, with the same ledger")


def _records(**named: Any) -> Array:
    ((name, _),) = named.items()
    found = _checks.array(**named)
    if found.ndim == 0 or not len(found):
        raise InvalidInput(f"at least one record in {name}", "none")
    return _checks.frozen(found)


@_checks.steady
def _answers(query: Ask, records: Array) -> npt.NDArray[np.int64]:
    """What each record answers, as an integer 0 .. UNIT."""
    found = np.asarray(query(records))
    if found.shape != (len(records),) or found.dtype.kind not in "biuf":
        raise InvalidInput("a number for each record from the query", f"shape {found.shape}")
    numbers = np.nan_to_num(found.astype(np.float64), nan=0.0)
    units: npt.NDArray[np.int64] = np.rint(UNIT * np.clip(numbers, 0, 1)).astype(np.int64)
    return units


def _private(query: Ask, records: Array) -> npt.NDArray[np.int64]:
    """Like `_answers` for the private records, of which an error could reveal one.

    Where the query fails, each record is asked alone, and one that it fails for answers 0.
    """
    with contextlib.suppress(Exception):
        return _answers(query, records)
    units = np.zeros(len(records), dtype=np.int64)
    for at in range(len(records)):
        with contextlib.suppress(Exception):
            units[at] = _answers(query, records[at : at + 1])[0]
    return units

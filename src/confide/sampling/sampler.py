"""Samplers: a respondent who holds a whole data set releases a few synthetic records of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import ROWS, card, dots, table
from confide._figures import number
from confide._markup import Html
from confide.accounting.spend import Spend, told_cost
from confide.errors import InvalidInput, Unsupported, unquoted
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.ledger.costs import Charges
from confide.mechanisms.protocol import Private

Numbers = npt.NDArray[np.int64]

MAX_SAMPLES = 2**20
RECORDS = "records that the sampler can take"


class Sampler(Private):
    """Releases samples of a respondent's data set, each at a cost of epsilon.

    Neighbors are any two data sets whatever, of any two sizes: nothing about the records, not
    even how many there are, changes the law of a sample by more than a factor of e**epsilon.

    Everything that can fail (records of another shape, records outside of what the reference can
    hold, a fit that does not work) fails on the respondent's own device, before anything is
    charged or drawn; the message is for the respondent and must not be sent on. The time that the
    fit takes depends on the records, and the draw's does not: send at a time fixed beforehand, not
    when the fit is done. Whether anything is sent at all tells of the records too where they can be
    refused: choose what holds all that a respondent may have, or have them clipped.

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0)
    >>> isinstance(sampler, Sampler), sampler.cost(3)
    (True, Spend(epsilon=3))
    """

    epsilon: float

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Number of outcomes of a draw; outcomes are numbered from 0."""

    @abstractmethod
    def odds(self) -> Fraction:
        """The largest ratio of an outcome's probabilities, over all pairs of data sets. Exact."""

    @abstractmethod
    def locate(self, numbers: Numbers) -> Any:
        """The points that outcomes stand for."""

    @abstractmethod
    def rows(self, numbers: Numbers) -> list[Any]:
        """The samples as plain JSON values, one entry for each."""

    @abstractmethod
    def prepare(self, records: Any) -> Any:
        """Compute everything that needs no draw and may fail. The result is private."""

    @abstractmethod
    def _content(self, records: Any) -> bytes:
        """What stands for the records in a ledger, whatever order they come in. Private."""

    @abstractmethod
    def draw(self, prepared: Any, entropy: Entropy, k: int) -> Numbers:
        """Numbers of k independent outcomes: integers and fair words only."""

    def settled(self, entropy: Entropy) -> Self:
        """The same with every public choice made: a fresh public seed where none was given."""
        return self

    def _reopened(self, document: Mapping[str, Any]) -> Self:
        """The settled sampler of a stored release."""
        return self

    def _public(self) -> dict[str, Any]:
        """What settling has chosen, to be stored with a release."""
        return {}

    @property
    def spend(self) -> Spend:
        """An upper bound on the cost of one sample."""
        return self.cost(1)

    def cost(self, k: int) -> Spend:
        """An upper bound on the cost of k samples: k times the decimal form of epsilon."""
        return Spend(float(k * Fraction(repr(self.epsilon))))

    @_checks.steady
    def privatize(
        self, records: Any, k: int = 1, *, ledger: Charges | None = None, key: str | None = None
    ) -> Samples:
        """Release samples, drawn from the operating system's entropy.

        Parameters
        ----------
        records
            The respondent's data set, one row a record.
        k
            How many samples; they cost k times epsilon.
        ledger
            Where that is charged, all at once, before anything is drawn.
        key
            A name for this release in the ledger; asking again with the same one returns the stored
            samples and costs nothing. With other records it is refused.
        """
        k = _checks.integer(1, MAX_SAMPLES, k=k)
        if ledger is None and key is not None:
            raise InvalidInput("a ledger with a key", "none", "Without one nothing is charged.")
        if ledger is not None and (not isinstance(key, str) or not key):
            raise InvalidInput(
                "a key for the ledger", _checks.shown(key), "Such as 'branch-12/2024-05'."
            )
        settled = self.settled(SystemEntropy())
        with unquoted(RECORDS):
            prepared = settled.prepare(records)

        def make() -> dict[str, Any]:
            numbers = settled.draw(prepared, SystemEntropy(), k).tolist()
            return {**settled._public(), "numbers": numbers, "samples": settled.rows(numbers)}

        if ledger is None or key is None:
            return Samples(np.array(make()["numbers"]), settled, simulated=False)
        spec = {"sampler": self.to_dict(), "k": k}
        document = ledger.charge(key, spec, self.cost(k), make, data=self._content(records))
        return Samples(np.array(document["numbers"]), self._reopened(document), simulated=False)

    @_checks.steady
    def simulate(self, records: Any, k: int = 1, *, seed: int) -> Samples:
        """Repeatable samples with the same law, stamped as simulated. Not private."""
        k = _checks.integer(1, k=k)
        entropy = SeededEntropy(_checks.integer(0, seed=seed))
        settled = self.settled(entropy)
        with unquoted(RECORDS):
            prepared = settled.prepare(records)
        numbers = settled.draw(prepared, entropy, k)
        return Samples(numbers, settled, simulated=True)


@dataclass(frozen=True)
class Elsewhere:
    """A ratio estimator or learner that JSON names and does not hold.

    A reader of samples needs the public parameters only; the estimator runs where the records are.
    """

    name: str

    def __call__(self, records: Any, reference: Any) -> NoReturn:
        """Refuse: there is nothing to estimate with."""
        raise Unsupported(
            f"The sampler was read from JSON, which names {self.name!r} and does not hold it: make "
            "the sampler again where the records are."
        )

    fit = __call__


@dataclass(frozen=True, eq=False)
class Samples:
    """Synthetic records, and the sampler with all its public parameters; send their `to_dict`.

    Parameters
    ----------
    numbers
        What was drawn: the number of an outcome for each sample.
    mechanism
        How they were made; it says which point a number stands for.
    simulated
        Whether they were drawn from a seed. Such samples are for study and not private.

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0)
    >>> drawn = sampler.simulate([[0.1], [0.4], [0.2]], 2, seed=1)
    >>> len(drawn), drawn.spend
    (2, Spend(epsilon=2))
    """

    numbers: Numbers
    mechanism: Sampler
    simulated: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.simulated, bool):
            raise InvalidInput("simulated=True or False", _checks.shown(self.simulated))
        array = _checks.array(numbers=self.numbers)
        if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
            raise InvalidInput("a list of whole numbers", f"shape {array.shape} of {array.dtype}")
        top = self.mechanism.outcomes - 1
        if not (array.min() >= 0 and array.max() <= top):
            raise InvalidInput(
                f"numbers from 0 to {top}",
                "numbers outside that range",
                "They are not samples of this mechanism.",
            )
        kept = np.array(array, dtype=np.int64)
        kept.flags.writeable = False
        object.__setattr__(self, "numbers", kept)

    @property
    def points(self) -> Any:
        """The synthetic records."""
        return self.mechanism.locate(self.numbers)

    @property
    def spend(self) -> Spend:
        """The cost of all samples together."""
        return self.mechanism.cost(len(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.mechanism.to_dict(),
            "numbers": self.numbers.tolist(),
            "samples": self.mechanism.rows(self.numbers),
            "spend": self.spend.to_dict(),
            "simulated": self.simulated,
        }

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        return f"<{len(self)} {kind} samples of {self.mechanism!r}>"

    def _repr_html_(self) -> str:
        """The synthetic records and what they cost, for notebooks."""
        points, picture = self.points, Html()
        if isinstance(points, Mapping):
            columns = {name: np.asarray(column)[:ROWS].tolist() for name, column in points.items()}
            head, records = [*columns], [*zip(*columns.values(), strict=True)]
        else:
            every = np.asarray(points)
            records = every.reshape(len(self), -1)[:ROWS].tolist()
            head = [""] * len(records[0])
            if every.dtype.kind in "iuf":
                picture = dots(every.astype(np.float64), told="synthetic records")
        rows = [(f"{at}", *map(_shown, record)) for at, record in enumerate(records, start=1)]
        return card(
            f"{len(self):,} synthetic records",
            picture,
            table(("", *head), rows),
            cost=told_cost(self.spend, simulated=self.simulated),
            facts=repr(self.mechanism),
        )


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)

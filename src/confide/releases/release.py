"""The base class of all releases: integers in, exact noise, a document, and then floats."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card, estimates
from confide._types import Integers
from confide.accounting.spend import (
    Spend,
    checked_epsilon,
    odds,
    rounded_up,
    told_cost,
)
from confide.curves import AdditiveModel, CellDensity, Density
from confide.curves.forms import frame, short
from confide.errors import ConfideWarning, InvalidInput, Mismatch, unquoted
from confide.exact.enclosures import logs_ceiling
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.integer_noise import DiscreteGaussian, DiscreteLaplace
from confide.exact.inversion import Part, within
from confide.lattice import Axis, Lattice
from confide.ledger.bindings import content
from confide.ledger.costs import Charges
from confide.mechanisms.protocol import Private

Indices = npt.NDArray[np.int64]
BOUNDS = (
    "Choose bounds from common knowledge (what a value can be at all, or a figure published "
    "elsewhere), never from the data: values beyond them are clipped."
)

ANSWER = ("value", "low", "high", "level")
"""What the answer of a query consists of."""
VERSION = 1
"""Of the tables and default rules: what was stored under others must not be opened with these."""

GAUSSIAN = 2
"""Of Gaussian noise, which once had a larger variance."""

FORMER = {"kolmogorov-smirnov": "kolmogorov_smirnov"}
"""Kinds that were once spelt otherwise. What a ledger fingerprints keeps the old spelling, so that
a retry of an old charge is still one."""

MOST_RECORDS = 2**29
"""Sums of the largest table's entries over this number of records stay within 64 bits."""

Noise = DiscreteLaplace | DiscreteGaussian
Progress = Callable[[float], None]
"""Told the share of the work that is done, from 0 to 1."""


@dataclass(frozen=True, repr=False)
class Release:
    """A release: a curve or an answer, with its cost to the people in the data.

    Parameters
    ----------
    spec
        Public parameters of the release.
    noisy
        The integers that were released; everything else follows from them and ``spec``.
    spend
        What it costs.
    facts
        How it came about.
    answer
        The number asked for, with its interval; for a `Query`.
    curve
        The density; for the releases of densities.
    answers
        Numbers by name, each with its interval; where several were asked for.
    chosen
        The word that was chosen; for a `Selection`.
    model
        The regression or the classifier; for `LeastSquares`.
    simulated
        Whether the noise came from a seed. Such a release is for study and not private.

    Examples
    --------
    >>> from confide import Lattice
    >>> from confide.releases import Query
    >>> mean = Query("mean", Lattice(low=0, high=10), epsilon=1.0).simulate([3.0] * 1000, seed=1)
    >>> mean.spend, bool(2.5 < mean.answer["value"] < 3.5)
    (Spend(epsilon=1), True)
    >>> Release.from_dict(mean.to_dict()).answer == mean.answer
    True
    """

    spec: Mapping[str, Any]
    noisy: tuple[int, ...]
    spend: Spend
    facts: Mapping[str, Any]
    _: KW_ONLY
    answer: Mapping[str, float] | None = None
    curve: Density | None = None
    answers: Mapping[str, Mapping[str, float]] | None = None
    chosen: str | None = None
    model: AdditiveModel | None = None
    simulated: bool = False

    def __repr__(self) -> str:
        kind, what = self.spec.get("release", "release"), self.spec.get("what")
        name = f"{kind} of {self.spec.get('n', 0):,} records" + (f", {what}" if what else "")
        cost = f"epsilon={self.spend.epsilon:g}"
        if self.spend.delta:
            cost += f", delta={self.spend.delta:g}"
        found = f": {short(float(self.answer['value']))}" if self.answer is not None else ""
        if self.chosen is not None:
            found = f": {self.chosen}"
        return f"<Release {name}, {cost}{', simulated' * self.simulated}{found}>"

    def _repr_html_(self) -> str:
        """The curve or the answers with their intervals, and what it cost, for notebooks."""
        kind, what = self.spec.get("release", "release"), self.spec.get("what")
        parts: list[str] = []
        if self.curve is not None:
            parts = [self.curve._picture(), self.curve._numbers()]
        if self.model is not None:
            parts = [self.model._picture()]
        several = self.answers if self.answer is None else {str(what or kind): self.answer}
        for level in dict.fromkeys(each["level"] for each in (several or {}).values()):
            rows = [
                (name, each["value"], (each["low"], each["high"]))
                for name, each in (several or {}).items()
                if each["level"] == level
            ]
            ends = tuple(np.array([row[2][end] for row in rows]) for end in (0, 1))
            names, values = [row[0] for row in rows], [row[1] for row in rows]
            parts.append(bars(values, names, ends=(ends[0], ends[1]), told="answers"))
            parts.append(estimates(rows, level=level))
        if self.chosen is not None:
            parts.append(f"Chosen: {self.chosen}")
        title = f"Release: {kind}" + (f", {what}" if what else "")
        told = told_cost(self.spend, simulated=self.simulated)
        facts = ", ".join(f"{key}={short(one)}" for key, one in self.facts.items())
        return card(title, *parts, cost=told, facts=facts)

    def to_frame(self) -> Any:
        """Answers with intervals, the choice, effects, or mean and quartiles, for pandas."""
        if self.curve is not None:
            return self.curve.to_frame()
        if self.model is not None:
            return self.model.to_frame()
        if self.chosen is not None:
            return frame([{"quantity": self.spec.get("what"), "chosen": self.chosen}])
        several = self.answers
        if several is None:
            assert self.answer is not None
            several = {self.spec.get("what", ""): self.answer}
        return frame(
            [{"quantity": name, "estimate": each["value"], "low": each["low"], "high": each["high"]}
             for name, each in several.items()]
        )  # fmt: skip

    def words(self) -> str:
        """The risk of this release for a person in the data, in words."""
        if self.simulated:
            return "Simulated from a seed, for study: not private, never to be published."
        if "stated" in self.facts:
            return f"{self._bound()} {self.facts['stated']}"
        return self._bound()

    def _bound(self) -> str:
        """The meaning of the spend."""
        epsilon, delta = self.spend.epsilon, self.spend.delta
        power = min(1.0, math.nextafter(0.05 * math.exp(epsilon) + delta, 1.0))
        text = (
            f"epsilon = {rounded_up(epsilon, 4)}: whatever anybody believes about a person in the "
            f"data, this release changes the odds by a factor of at most {odds(epsilon)}. "
        )
        if delta:
            text += (
                f"This holds except with a probability of 1 in {int(1 / Fraction(repr(delta))):,} "
                f"(delta): to so much of what may happen no bound applies. "
            )
        if power < 1:
            return text + (
                "A test of a claim about that person that is wrong 5 % of the time finds the truth "
                f"at most {rounded_up(100 * power, 3)} % of the time."
            )
        return text + "An epsilon this large gives almost no protection."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: nothing but public parameters and what follows from the noise."""
        result: dict[str, Any] = {
            "spec": dict(self.spec),
            "noisy": list(self.noisy),
            "spend": self.spend.to_dict(),
            "facts": dict(self.facts),
            "simulated": self.simulated,
        }
        if self.answer is not None:
            result["answer"] = dict(self.answer)
        if self.curve is not None:
            result["curve"] = self.curve.to_dict()
        if self.answers is not None:
            result["answers"] = {name: dict(each) for name, each in self.answers.items()}
        if self.chosen is not None:
            result["chosen"] = self.chosen
        if self.model is not None:
            result["model"] = self.model.to_dict()
        return result

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Release:
        """The inverse of `to_dict`: a release that a ledger has stored, without the data."""
        try:
            spec, facts, noisy = dict(fields["spec"]), dict(fields["facts"]), fields["noisy"]
            cost, simulated = fields["spend"], fields["simulated"]
            spend = Spend(float(cost["epsilon"]), float(cost["delta"]), str(cost["note"]))
            answer, curve = fields.get("answer"), fields.get("curve")
            several, chosen = fields.get("answers"), fields.get("chosen")
            model = fields.get("model")
            known = None if answer is None else _answer(answer)
            many = None if several is None else {name: _answer(several[name]) for name in several}
            _respell(spec, "release")
            _respell(facts, "method")
        except (TypeError, KeyError, ValueError, AttributeError):
            raise InvalidInput("a release that to_dict wrote", "another document") from None
        _checks.integer(1, n=spec.get("n"))
        whole = isinstance(noisy, list) and all(type(number) is int for number in noisy)
        found = [each for each in (answer, curve, several, chosen, model) if each is not None]
        word = chosen is None or isinstance(chosen, str)
        if not whole or type(simulated) is not bool or len(found) != 1 or not word:
            raise InvalidInput("a release that to_dict wrote", "another document")
        drawn = None if curve is None else CellDensity.from_dict(curve)
        if drawn is not None:
            _respell(drawn.facts, "method")
        fitted = None if model is None else AdditiveModel.from_dict(model)
        return cls(
            spec, tuple(noisy), spend, facts,
            answer=known, curve=drawn, answers=many, chosen=chosen, model=fitted,
            simulated=simulated,
        )  # fmt: skip


class Recipe(Private):
    """Public parameters of a release. Neighbors differ in one record's value; n is public.

    Examples
    --------
    >>> from confide import Lattice
    >>> from confide.releases import Histogram
    >>> recipe = Histogram(Lattice(low=0, high=10), epsilon=0.5)
    >>> isinstance(recipe, Recipe), recipe.spend
    (True, Spend(epsilon=0.5))
    """

    role: ClassVar[str] = "release"
    epsilon: float
    delta: float = 0.0

    @abstractmethod
    def loss(self, n: int) -> float:
        """The certified loss for n records, rounded up: never above epsilon."""

    def slack(self, n: int) -> float:
        """The certified probability that `loss` leaves out, rounded up: never above delta."""
        return 0.0

    @abstractmethod
    def lattices(self, n: int) -> Mapping[str, Axis]:
        """The cells that each column of n records is put on; none where values are 0 and 1."""

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of each group of sums, for n records; none where something else is drawn."""
        return ()

    @abstractmethod
    def index(self, values: Any) -> Indices:
        """Cell numbers of the values, one row a record: the last place with a raw float."""

    def prepare(self, indices: Indices, tell: Progress) -> Any:
        """Compute everything that needs no draw, and report the share that is done.

        It happens before the ledger is locked, so that what takes long keeps nobody waiting.
        """
        return indices

    def _content(self, indices: Indices) -> bytes:
        """What stands for the data in a ledger: the multiset of what is drawn from."""
        return content(indices)

    @abstractmethod
    def draw(self, prepared: Any, entropy: Entropy) -> list[int]:
        """Draw the release, from integers and fair words only."""

    @abstractmethod
    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""

    def vet(self, n: int) -> None:
        """Refuse, before anything is charged, what made-up data show to be wrong."""

    def _advice(self, n: int) -> str:
        """What about the public parameters may not be as it was meant, or nothing."""
        return ""

    def _caution(self, release: Release) -> str:
        """A sentence about a release that suggests wrong public bounds, or nothing."""
        return ""

    @property
    def spend(self) -> Spend:
        """An upper bound on the cost of one release."""
        return Spend(self.epsilon, self.delta)

    @_checks.steady
    def release(
        self,
        values: Any,
        ledger: Charges | None = None,
        key: str | None = None,
        *,
        group: tuple[str, str] | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Release from the operating system's entropy; there is no seed.

        Parameters
        ----------
        values
            The raw values, one for each record.
        ledger
            Where the cost is charged before anything is drawn.
        key
            A name for this release in the ledger; asking again with the same one returns the
            stored release and costs nothing. With other data it is refused: the same data are
            those whose values, in whatever order, fall into the same cells.
        group
            A public attribute and one of its values, such as ``("region", "north")``, if the
            records are those of that group only: groups cost the largest, not the sum.
        progress
            Told the share of a long preparation that is done.
        """
        indices = self.admitted(values)
        spec = self._spec(len(indices))
        # Before anything is charged: whether there is noise for this at all, and enough of it.
        if not self.loss(len(indices)) <= self.epsilon:
            raise InvalidInput(f"noise that keeps epsilon={self.epsilon:g}", "a larger loss")
        if not self.slack(len(indices)) <= self.delta:
            raise InvalidInput(f"noise that keeps delta={self.delta:g}", "a larger delta")
        self.vet(len(indices))
        if ledger is None and (key, group) != (None, None):
            raise InvalidInput(
                "a ledger with a key or a group",
                "none",
                "Without one a retry draws afresh, and several draws wear the noise away.",
            )
        if advice := self._advice(len(indices)):
            warnings.warn(advice, ConfideWarning, stacklevel=3)
        prepared = self.prepare(indices, progress or _silent)

        def make() -> dict[str, Any]:
            noisy = tuple(self.draw(prepared, SystemEntropy()))
            return self._open(spec, noisy, simulated=False).to_dict()

        if ledger is None:
            document = make()
        else:
            if not isinstance(key, str) or not key:
                raise InvalidInput(
                    "a key for the ledger",
                    _checks.shown(key),
                    "Name the data and the question, such as 'staff-2024/mean-pay'.",
                )
            data = self._content(indices)
            charged = {**spec, "release": FORMER.get(self.name, self.name)}
            document = ledger.charge(key, charged, self.spend, make, data=data, group=group)
            if (
                _respell(document.get("spec"), "release") != spec
                or document.get("simulated") is not False
            ):
                raise Mismatch("the stored release of this key", "one of other parameters")
        found = self._open(spec, tuple(document["noisy"]), simulated=False)
        if caution := self._caution(found):
            warnings.warn(caution, ConfideWarning, stacklevel=3)
        return found

    @_checks.steady
    def simulate(self, values: Any, *, seed: int) -> Release:
        """A repeatable release with the same law, stamped as simulated. Not private."""
        entropy = SeededEntropy(_checks.integer(0, seed=seed))
        indices = self.admitted(values)
        noisy = tuple(self.draw(self.prepare(indices, _silent), entropy))
        return self._open(self._spec(len(indices)), noisy, simulated=True)

    @unquoted("values that can be read")
    def admitted(self, values: Any) -> Indices:
        """The indices of the values; more records than sums can hold are refused."""
        indices = self.index(values)
        if len(indices) > MOST_RECORDS:
            raise InvalidInput(f"at most {MOST_RECORDS} records", str(len(indices)))
        return indices

    def _spec(self, n: int) -> dict[str, Any]:
        return {
            "release": self.name,
            "version": GAUSSIAN if self.delta else VERSION,
            "n": n,
            **self.to_dict(),
        }

    def _facts(self, n: int) -> dict[str, Any]:
        cost = {"epsilon": self.epsilon} | ({"delta": self.delta} if self.delta else {})
        return {"method": self.name, "n": n, **cost}

    def _open(self, spec: dict[str, Any], noisy: tuple[int, ...], *, simulated: bool) -> Release:
        found = self.finish(noisy, spec["n"])
        return Release(
            spec,
            noisy,
            self.spend,
            {**self._facts(spec["n"]), **found["facts"]},
            answer=found.get("answer"),
            curve=found.get("curve"),
            answers=found.get("answers"),
            chosen=found.get("chosen"),
            model=found.get("model"),
            simulated=simulated,
        )


def _answer(fields: Any) -> dict[str, float]:
    """A number with its interval, from JSON."""
    return {name: float(fields[name]) for name in ANSWER}


def _respell(fields: Any, key: str) -> Any:
    """Give a kind of a stored document its spelling of today, in place."""
    for today, once in FORMER.items():
        if isinstance(fields, dict) and fields.get(key) == once:
            fields[key] = today
    return fields


def _silent(_: float) -> None:
    """Tell nobody."""


def bounded(lattice: Any) -> Lattice:
    """A lattice, or advice on how to choose one."""
    if not isinstance(lattice, Lattice):
        raise InvalidInput(
            "public bounds, as a Lattice(low=..., high=...)",
            _checks.kind(lattice),  # not what is in it: it may be the values
            BOUNDS,
        )
    if lattice.kind != "number":
        raise InvalidInput(
            "a lattice of numbers for a release",
            f"kind={lattice.kind!r}",
            "Leave kind out; Histogram(integers=True) gives every whole number its cell.",
        )
    return lattice


def checked(recipe: Recipe) -> None:
    """Validate the recipe's epsilon."""
    object.__setattr__(recipe, "epsilon", checked_epsilon(recipe.epsilon))


Totals = Integers | Sequence[int]


class Additive(Recipe):
    """Integer sums over the records, and noise made for the most that one record can change them.

    What that is each kind states for itself. The tests and `audits.exact` find it by running
    ``sums`` on neighboring data sets.
    """

    @abstractmethod
    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of each group of sums, for n records."""

    @abstractmethod
    def sums(self, prepared: Any, entropy: Entropy) -> list[Totals]:
        """The integers before noise, one group for each noise. Private.

        The entropy is for putting records in an order that does not depend on their values.
        """

    def records(self, prepared: Any) -> int:
        """Number of prepared records."""
        return len(prepared)

    def loss(self, n: int) -> float:
        """The certified loss: that of all the integers together."""
        return logs_ceiling(
            noise.power for noise in self.noises(n) if isinstance(noise, DiscreteLaplace)
        )

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The parts of each noise, as many sums as it is added to."""
        noises = self.noises(self.records(prepared))
        return tuple(
            part for at, noise in enumerate(noises) for part in within(f"noise {at}", noise.parts())
        )

    def draw(self, prepared: Any, entropy: Entropy) -> list[int]:
        """Draw the release, from integers and fair words only."""
        groups = self.sums(prepared, entropy)
        noises = self.noises(self.records(prepared))
        found: list[int] = []
        for totals, noise in zip(groups, noises, strict=True):
            found += added(totals, noise.draw(entropy, len(totals)))
        return found


def added(totals: Totals, noise: Integers) -> list[int]:
    """Sums plus noise, in integers that cannot overflow."""
    return [int(total) + int(part) for total, part in zip(totals, noise, strict=True)]

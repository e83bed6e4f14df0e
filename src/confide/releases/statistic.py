"""Releases any function of the records, with a sensitivity that the user states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar

from scipy.special import ndtri

from confide import _checks
from confide.accounting.spend import exact
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, gaussian, gaussian_delta, laplace
from confide.releases.bounded import Bounds
from confide.releases.means import checked_delta
from confide.releases.release import Additive, Indices, Noise, Progress, Totals
from confide.releases.statements import Answers, Stated, Values, words_of

ROOT_BITS = 20
"""Binary digits of the root in a squared sensitivity, which is rounded up."""


@dataclass(frozen=True)
class Statistic(Stated, Additive):
    """One or several numbers that a function of yours makes of all records, plus exact noise.

    confide cannot know what one record can change. You state it, and the guarantee is as good as
    your statement. Before anything is charged, data sets that are made up are tried on the
    function: a statement that they refute is refused, and one that they do not refute is not
    thereby proved. The release says so.

    Parameters
    ----------
    what
        A name for the function, which JSON shows beside a fingerprint of its code. JSON cannot
        hold the function itself, so a recipe of this kind cannot be read back.
    function
        Takes the values, one row a record (a flat array for a single column), and gives a number,
        or one for each of ``names``. It is code that runs on the records: one that keeps, prints
        or sends what it is given gets around all of this.
    lattice
        Public bounds: a lattice, or a mapping of column names to lattices. The function sees values
        clipped to them and rounded to their cells.
    sensitivity
        The most that replacing one record by any other between the bounds can change the answer:
        for several numbers the sum of their absolute changes, or with ``delta`` the root of the sum
        of their squares.
    low, high
        Public bounds of the answers, which are clipped to them. Where the function fails or gives
        no number, the answer is ``low``; your statement must hold of that too.
    epsilon
        What the release costs.
    delta
        0 for Laplace noise and pure epsilon; else the delta of Gaussian noise, far below 1 / n.
    names
        Names of the numbers that the function gives; none for a single number.
    step
        Answers are rounded down to multiples of it; by default a small part of the sensitivity.
    divided_by_n
        Whether the sensitivity is ``sensitivity / n`` for n records, as that of a mean.
    least
        The least number of records for which the statement holds.
    level
        Confidence level of the interval, which is for the answer on these very records: it knows
        the privacy noise and no sampling noise.

    Notes
    -----
    **Formal guarantee.** Let D be the stated sensitivity, s the step, d how many numbers there are.
    If no record changes the answers by more than D + s in sum, the integers floor(answer / s)
    change by less than (D + s)/s + d in sum, as each floor adds less than one; an integer that is
    less than that is at most ceil(D / s) + d, which is ceil(D / s) + 1 for a single number. Exact
    Laplace noise for this integer gives epsilon-differential privacy. (For exact answers and one
    number ceil(D / s) would do. The one more is there for the rounding errors of the function, up
    to s in two answers together.) With Gaussian noise the root of the sum of squares is at most
    (D + s)/s + sqrt(d), and the discrete Gaussian is certified for the square of that.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import Lattice
    >>> pay = Lattice(low=0, high=300_000)
    >>> low_paid = Statistic(
    ...     "share below 20,000", lambda x: np.mean(x < 20_000), pay,
    ...     sensitivity=1, divided_by_n=True, low=0, high=1, epsilon=1.0,
    ... )
    >>> release = low_paid.release([15_000.0, 42_000.0] * 500)
    >>> release.spend, "proves nothing" in release.words()
    (Spend(epsilon=1), True)
    """

    name: ClassVar[str] = "statistic"
    SEVERAL: ClassVar[str] = "Give each of several numbers its name, with {names}."

    what: str
    function: Callable[..., Any]
    lattice: Bounds
    _: KW_ONLY
    sensitivity: float
    low: float
    high: float
    epsilon: float
    delta: float = 0.0
    names: Sequence[str] = ()
    step: float | None = None
    divided_by_n: bool = False
    least: int = 1
    level: float = 0.95

    def __post_init__(self) -> None:
        self._check_statement()
        object.__setattr__(self, "delta", checked_delta(self.delta))
        object.__setattr__(self, "names", words_of(self.names, "names", least=0))
        object.__setattr__(self, "level", _checks.level(self.level))

    @property
    def size(self) -> int:
        """Number of numbers that the function returns."""
        return len(self.names) or 1

    def asked(self, values: Values) -> Any:
        """The result of the function for these values."""
        return self.function(values)

    def distance(self, one: Answers, other: Answers) -> Fraction:
        """The sum of absolute changes, or of squares under Gaussian noise."""
        moved = [abs(a - b) for a, b in zip(one, other, strict=True)]
        return Fraction(sum(each * each for each in moved) if self.delta else sum(moved))

    def reached(self, limit: Fraction) -> Fraction:
        """A distance as `distance` counts it."""
        return limit * limit if self.delta else limit

    def integer_sensitivity(self, n: int) -> int:
        """The largest total change of the integers by one record; squared for Gaussian noise."""
        steps = math.ceil(self.change(n) / self.unit(n))
        if not self.delta:
            return steps + self.size
        # A root that is rounded up, as a fraction.
        root = math.isqrt((self.size << 2 * ROOT_BITS) - 1) + 1
        return math.floor((steps + 1 + Fraction(root, 1 << ROOT_BITS)) ** 2)

    def noise(self, n: int) -> Noise:
        """The noise on each integer."""
        most = self.integer_sensitivity(n)
        if self.delta:
            return gaussian(self.epsilon, self.delta, most, self.size)
        return laplace(exact(self.epsilon), most)

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all integers."""
        return (self.noise(n),)

    def loss(self, n: int) -> float:
        """The certified loss; of Gaussian noise epsilon itself, at which `slack` is certified."""
        return self.epsilon if self.delta else super().loss(n)

    def slack(self, n: int) -> float:
        """The certified delta of Gaussian noise."""
        noise = self.noise(n)
        if isinstance(noise, DiscreteLaplace):
            return 0.0
        change = (noise, self.integer_sensitivity(n), self.size)
        return gaussian_delta([change], exact(self.epsilon))

    def prepare(self, indices: Indices, tell: Progress) -> tuple[list[int], int]:
        """The function's answers in whole steps, and the number of records."""
        return self.whole(indices), len(indices)

    def sums(self, prepared: tuple[list[int], int], entropy: Entropy) -> list[Totals]:
        """The answers that were prepared."""
        return [prepared[0]]

    def records(self, prepared: tuple[list[int], int]) -> int:
        """The number of records."""
        return prepared[1]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answers with intervals from what was released alone."""
        unit, noise, risk = float(self.unit(n)), self.noise(n), 1 - self.level
        if isinstance(noise, DiscreteLaplace):
            reach = noise.scale * math.log(1 / risk)
        else:
            reach = float(-ndtri(risk / 2)) * noise.sd + 1
        several = []
        for number in noisy:
            # An answer lies between its step and the next one.
            ends = ((number + 0.5) * unit, (number - reach) * unit, (number + 1 + reach) * unit)
            value, low, high = (min(max(end, self.low), self.high) for end in ends)
            several.append({"value": value, "low": low, "high": high, "level": self.level})
        facts = {**self._statement(n), "noise_sd": noise.sd * unit}
        if not self.names:
            return {"answer": several[0], "facts": facts}
        return {"answers": dict(zip(self.names, several, strict=True)), "facts": facts}

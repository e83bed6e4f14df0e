"""Counts: how many respondents sent each report, with weights and responses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import card, shades, steps
from confide._types import Floats
from confide.curves.forms import cost, fingerprint, named
from confide.errors import InvalidInput, Mismatch
from confide.foreign.noise_laws import Noise
from confide.foreign.noised import Noised
from confide.lattice import CHUNK, Lattice
from confide.mechanisms import Channel, Mechanism, Reports
from confide.mechanisms.stacked import Stacked
from confide.reports.rows import LARGEST
from confide.summaries import forms
from confide.summaries.residuals import Residuals

SPREAD = 1e12
"""Largest over smallest weight: beyond, a respondent of little weight does not count at all."""


@dataclass(frozen=True, eq=False)
class Response:
    """Sums of a public response y for each report, and the bounds that y keeps to.

    Examples
    --------
    >>> both = Response(np.array([3.0]), np.array([5.0]), low=0.0, high=2.0)
    >>> (both + both).sums
    array([6.])
    """

    sums: Floats
    squares: Floats
    _: KW_ONLY
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", _checks.frozen(self.sums))
        object.__setattr__(self, "squares", _checks.frozen(self.squares))

    def __add__(self, other: Response) -> Response:
        return Response(
            self.sums + other.sums,
            self.squares + other.squares,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )


class Tally(NamedTuple):
    """Counts of reports, sums and squares of their weights, and their responses."""

    counts: npt.NDArray[np.int64]
    weights: tuple[Floats, Floats] | None
    response: Response | None


def tally(
    indices: npt.NDArray[np.integer],
    outputs: tuple[int, ...],
    *,
    response: npt.ArrayLike | None,
    bounds: tuple[float, float] | None,
    weights: npt.ArrayLike | None,
) -> Tally:
    """Counts and sums by report, in one pass.

    Parameters
    ----------
    indices
        Reports, a row each where there are several questions.
    outputs
        How many reports there can be, by question.
    response, bounds, weights
        As in `Counts.of`.
    """
    n = len(indices)
    w = None if weights is None else _aligned(n, weights=weights)
    if w is not None and not ((w >= 1 / LARGEST) & (w <= LARGEST)).all():
        bad = w.min() if w.min() < 1 / LARGEST else w.max()
        raise InvalidInput(
            "weights > 0 that are ordinary numbers",
            f"{bad:g}",
            "Leave respondents without weight out.",
        )
    if w is not None and w.max() > SPREAD * w.min():
        raise _apart()
    y = None if response is None else _aligned(n, response=response)
    low, high = _bounds(y, bounds)
    size = int(np.prod(outputs))
    counts = np.zeros(size, dtype=np.int64)
    # Rows: sum w, sum w^2, sum w y, sum w y^2.
    sums = np.zeros((4, size))
    for start in range(0, n, CHUNK):
        part = slice(start, start + CHUNK)
        rows = indices[part]
        flat = rows if rows.ndim == 1 else np.ravel_multi_index(tuple(rows.T), outputs)
        counts += np.bincount(flat, minlength=size)
        scale = 1.0 if w is None else w[part]
        if w is not None:
            sums[0] += np.bincount(flat, w[part], minlength=size)
            sums[1] += np.bincount(flat, w[part] ** 2, minlength=size)
        if y is not None:
            sums[2] += np.bincount(flat, scale * y[part], minlength=size)
            sums[3] += np.bincount(flat, scale * y[part] ** 2, minlength=size)
    table = sums.reshape(4, *outputs)
    return Tally(
        counts.reshape(outputs),
        None if w is None else (table[0], table[1]),
        None if y is None else Response(table[2], table[3], low=low, high=high),
    )


def _tallies(given: npt.ArrayLike, outputs: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Whole numbers from 0 on, one for each report that there can be."""
    found = np.asarray(given)
    if found.shape != outputs:
        raise InvalidInput(
            f"counts of {' x '.join(map(str, outputs))} reports, with 0 for those that nobody sent",
            f"an array of shape {found.shape}",
        )
    whole = found.dtype.kind in "iu" or (found.dtype.kind == "f" and bool((found % 1 == 0).all()))
    if not whole or not (found >= 0).all():
        raise InvalidInput(
            "counts that are whole numbers from 0 on", "a negative one, a fraction or text"
        )
    if float(found.sum(dtype=np.float64)) > forms.MAX_N:
        raise forms.too_many()
    return found.astype(np.int64, copy=False)


def comparable(counts: npt.NDArray[np.int64], sums: Floats, squares: Floats) -> None:
    """Refuse weights of which some make others vanish, as far as their sums by report tell.

    The mean weight of a report is at least the smallest one, and sum w**2 / sum w is at most the
    largest.
    """
    there = counts > 0
    if not there.any():
        return
    total, second = sums[there], squares[there]
    if not ((total > 0) & (second > 0)).all():
        raise InvalidInput("weights > 0 for every report that was sent", "a weight of 0 or below")
    if (second / total).max() > SPREAD * (total / counts[there]).min():
        raise _apart()


def _apart() -> InvalidInput:
    return InvalidInput(
        f"weights within a factor of {SPREAD:g} of each other",
        "some that are further apart",
        "Leave out respondents of next to no weight.",
    )


def _aligned(n: int, **named: Any) -> Floats:
    array = _checks.vector(**named)
    if array.size != n:
        (name,) = named
        raise InvalidInput(f"{n} numbers in {name}, one a report", str(array.size))
    return array


def _bounds(y: Floats | None, bounds: tuple[float, float] | None) -> tuple[float, float]:
    if y is None:
        if bounds is not None:
            raise InvalidInput("a response to go with its bounds", "bounds alone")
        return 0.0, 0.0
    if bounds is None:
        return float(y.min()), float(y.max())
    low, high = _checks.finite(low=bounds[0]), _checks.finite(high=bounds[1])
    if not low <= y.min() <= y.max() <= high:
        raise InvalidInput(
            f"responses from {low:g} to {high:g}", f"responses from {y.min():g} to {y.max():g}"
        )
    return low, high


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of reports: the number of respondents who sent each.

    Counts of the same mechanism add up with ``+``. Adding counts of different mechanisms, or of
    private and simulated reports, raises an error.

    Parameters
    ----------
    mechanism
        The mechanism of the reports.
    counts
        Number of respondents for each report, with one axis per question. A GROUP BY of your own
        leaves out reports that nobody sent: `numpy.bincount` puts them back.
    simulated
        Whether the reports were drawn from a seed.
    weights
        Sums of survey weights and of their squares for each report, or None.
    response
        Sums of a public response for each report, or None; weighted if there are weights.
    raked
        The groups behind raked weights, or None. Adding the total to something else, or saving it,
        loses them: save the groups instead.

    Examples
    --------
    >>> from confide import Lattice, Laplace
    >>> reports = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0).simulate([0.2, 0.7], seed=1)
    >>> (Counts.of(reports) + Counts.of(reports)).n
    4
    """

    mechanism: Channel
    counts: npt.NDArray[np.int64]
    simulated: bool = False
    weights: tuple[Floats, Floats] | None = None
    response: Response | None = None
    raked: Residuals | None = None

    def __post_init__(self) -> None:
        tallies = _tallies(self.counts, self.mechanism.law.outputs)
        object.__setattr__(self, "counts", _checks.frozen(tallies))
        if self.weights is not None:
            sums, squares = map(_checks.frozen, self.weights)
            object.__setattr__(self, "weights", (sums, squares))
            comparable(self.counts, sums, squares)
        object.__setattr__(self, "mechanism", self.mechanism.given(self.total))

    @classmethod
    def of(
        cls,
        reports: Reports,
        *,
        response: npt.ArrayLike | None = None,
        bounds: tuple[float, float] | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> Self:
        """Count reports.

        Parameters
        ----------
        reports
            Private or simulated reports.
        response
            A public number for each respondent.
        bounds
            Public bounds of the response; by default those observed, which merging widens.
        weights
            Survey weights, positive, one for each respondent.
        """
        if not isinstance(reports, Reports):
            raise InvalidInput(
                "Reports",
                _checks.kind(reports),
                "They come from mechanism.privatize; count a table of reports with "
                "confide.tables.counts.",
            )
        outputs = reports.mechanism.law.outputs
        tallied = tally(reports.indices, outputs, response=response, bounds=bounds, weights=weights)
        return cls(reports.mechanism, tallied.counts, reports.simulated, *tallied[1:])

    @classmethod
    def of_noised(
        cls,
        values: npt.ArrayLike,
        *,
        noise: Noise,
        low: float,
        high: float,
        size: int = 256,
        response: npt.ArrayLike | None = None,
        bounds: tuple[float, float] | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> Self:
        """Bin numbers that were noised elsewhere, for the estimators that work on counts.

        Parameters
        ----------
        values
            Noised numbers.
        noise
            The law of the noise.
        low, high
            Bounds of the true values.
        size
            Number of cells between the bounds.
        response, bounds, weights
            As in `of`.
        """
        numbers = _checks.vector(gap=_checks.LEAVE_OUT, values=values)
        lattice = Lattice(low=low, high=high, size=size)
        step = (lattice.high - lattice.low) / lattice.size
        # Margins come from the noise, not from the data, so that summaries of two files add up.
        # Ten standard deviations leave next to nothing beyond, and the end cells hold that.
        margin = math.ceil(min(10 * math.sqrt(noise.variance) / step, 32 * size - 1)) + 1
        channel = Noised(lattice, noise, margin=margin)
        tallied = tally(
            channel.index(numbers),
            channel.law.outputs,
            response=response,
            bounds=bounds,
            weights=weights,
        )
        return cls(channel, tallied.counts, False, *tallied[1:])

    @property
    def n(self) -> int:
        """Number of respondents."""
        return int(self.counts.sum())

    @property
    def total(self) -> Floats:
        """Weight of each report: the sum of survey weights, or the count where there are none."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights[0]

    @property
    def effective_n(self) -> float:
        """Number of respondents of equal weight with equal information: (sum w)**2 / sum w**2."""
        if self.weights is None:
            return float(self.n)
        w, squares = self.weights
        return float(w.sum() ** 2 / squares.sum()) if self.n else 0.0

    @cached_property
    def residuals(self) -> Residuals:
        """The uncertainty of weighted means of scores of the reports."""
        if self.raked is not None:
            return self.raked
        squares = self.total if self.weights is None else self.weights[1]
        alone = np.zeros((1, 1), dtype=np.int64)
        return Residuals(alone, self.total.reshape(1, -1), squares.reshape(1, -1))

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the origin of an estimate."""
        facts: dict[str, Any] = {"n": self.n}
        if self.simulated:
            facts["simulated"] = True
        if self.weights is not None:
            facts["effective_n"] = self.effective_n
        if isinstance(self.mechanism, Mechanism):
            epsilon = self.mechanism.spend.epsilon
            facts["epsilon"] = None if math.isinf(epsilon) else epsilon
        elif isinstance(self.mechanism, Stacked):
            facts["epsilon"] = self.mechanism.epsilon
        return facts | named(self)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly this summary, by which curves say what they were made from."""
        return fingerprint(self._header(), self._arrays())

    def __add__(self, other: Counts) -> Counts:
        """Merge."""
        if not isinstance(other, Counts):
            return NotImplemented
        _same(self, other)
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = (
                self.weights[0] + other.weights[0],
                self.weights[1] + other.weights[1],
            )
        response = None
        if self.response is not None and other.response is not None:
            response = self.response + other.response
        merged = self.counts + other.counts
        return replace(self, counts=merged, weights=weights, response=response, raked=None)

    def __radd__(self, other: int) -> Counts:
        """Zero and a summary, with which `sum` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def stacked(cls, parts: Sequence[Counts]) -> Counts:
        """The counts of the phases of one question together, for estimates from all of them.

        Parameters
        ----------
        parts
            Counts of each phase, in their order, by square waves that differ in the zoom of their
            lattice only. Phases of the same lattice are added up.

        Examples
        --------
        >>> from confide import Lattice, SquareWave
        >>> wide = SquareWave(Lattice(low=0, high=1, size=64), epsilon=1.0)
        >>> close = SquareWave(
        ...     Lattice(low=0, high=1, size=64, scale="zoom", zoom=(0.2, 0.3)), epsilon=1.0)
        >>> parts = [Counts.of(each.simulate([0.25] * 50, seed=1)) for each in (wide, close)]
        >>> both = Counts.stacked(parts)
        >>> both.n, (both + both).n
        (100, 200)
        """
        merged: dict[Channel, Counts] = {}
        for part in parts:
            own = expected(part)
            if own.response is not None:
                raise Mismatch("counts of phases without a response", "some with one")
            merged[own.mechanism] = merged[own.mechanism] + own if own.mechanism in merged else own
        some = list(merged.values())
        if len(some) == 1:
            return some[0]
        if not some or len({one.simulated for one in some}) > 1:
            raise Mismatch("counts of phases that are all private or all simulated", "some of each")
        if len({one.weights is None for one in some}) > 1:
            raise Mismatch(
                "counts of phases that all have weights or all have none", "some of each"
            )
        channel = Stacked(tuple(one.mechanism for one in some))  # type: ignore[misc]
        counts = channel.together([one.counts for one in some])
        weights = None
        if some[0].weights is not None:
            both = [[one.weights[at] for one in some if one.weights] for at in (0, 1)]
            weights = channel.together(both[0]), channel.together(both[1])
        return cls(channel, counts, some[0].simulated, weights)

    def weighted(self, weight: float) -> Counts:
        """These reports with their weights multiplied.

        Parameters
        ----------
        weight
            A positive number.
        """
        weight = _checks.positive(weight=weight)
        squares = self.total if self.weights is None else self.weights[1]
        response = self.response
        if response is not None:
            sums, second = weight * response.sums, weight * response.squares
            response = replace(response, sums=sums, squares=second)
        weights = (weight * self.total, weight**2 * squares)
        return replace(self, weights=weights, response=response, raked=None)

    def marginal(self, question: str) -> Counts:
        """Counts of one question of a joint mechanism."""
        parts = self.mechanism.marginals
        if len(parts) == 1 or question not in parts:
            known = ", ".join(parts if len(parts) > 1 else ["a joint mechanism"])
            raise InvalidInput(f"a question among {known}", repr(question))
        others = tuple(axis for axis, name in enumerate(parts) if name != question)
        weights, response = self.weights, self.response
        return Counts(
            parts[question],
            self.counts.sum(others),
            self.simulated,
            None if weights is None else (weights[0].sum(others), weights[1].sum(others)),
            None
            if response is None
            else replace(
                response,
                sums=response.sums.sum(others),
                squares=response.squares.sum(others),
            ),
            None if self.raked is None else self.raked.marginal(self.counts.shape, others),
        )

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {"counts": self.counts}
        if self.weights is not None:
            arrays["weights"], arrays["squared_weights"] = self.weights
        if self.response is not None:
            arrays["response"] = self.response.sums
            arrays["squared_response"] = self.response.squares
        return arrays

    def _header(self) -> dict[str, Any]:
        header: dict[str, Any] = {
            "confide": "counts",
            "version": forms.VERSION,
            "n": self.n,
            "simulated": self.simulated,
            "mechanism": self.mechanism.to_dict(),
        }
        if self.response is not None:
            header["bounds"] = [self.response.low, self.response.high]
        return header

    @classmethod
    def _read(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        mechanism, counts, tables = forms.checked(header, arrays)
        weights = response = None
        if "weights" in tables:
            weights = (tables["weights"], tables["squared_weights"])
        if "response" in tables:
            low, high = forms.bounds(header)
            sums, squares = tables["response"], tables["squared_response"]
            response = Response(sums, squares, low=low, high=high)
        return cls(mechanism, counts, header["simulated"], weights, response)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self._header(), **{name: a.tolist() for name, a in self._arrays().items()}}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; anything else is refused."""
        return cls._read(*forms.split(fields))

    def to_bytes(self, *, question: str = "") -> bytes:
        """A compact form: a compressed numpy archive.

        Parameters
        ----------
        question
            The name of the question, which the archive keeps.
        """
        named = {"question": question} if question else {}
        return forms.pack(self._header() | named, self._arrays())

    def save(self, path: str | Path, *, question: str = "") -> None:
        """Write a .json or .npz file that `confide.read` reads.

        Parameters
        ----------
        path
            The file; one that is there is replaced, whole or not at all.
        question
            The name of the question, which the file keeps.
        """
        forms.write(path, {question: self})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`; anything else is refused."""
        return cls.named_from_bytes(data)[1]

    @classmethod
    def named_from_bytes(cls, data: bytes) -> tuple[str, Self]:
        """Like `from_bytes`, with the name of the question, or '' if the archive has none."""
        header, arrays = forms.unpack(data)
        counts = cls._read(header, arrays)
        return header.get("question", ""), counts

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        if isinstance(self.mechanism, Noised):
            kind = "noised"
        return f"<Counts of {self.n} {kind} reports of {self.mechanism!r}>"

    def _repr_html_(self) -> str:
        """How often each report came, and what the reports cost, for notebooks."""
        picture, told = "", "counts of the reports"
        if self.counts.ndim == 1:
            edges = np.arange(self.counts.size + 1.0)
            picture = steps(edges, self.counts.astype(np.float64), told=told)
        elif self.counts.ndim == 2:
            picture = shades(self.counts.astype(np.float64), told=told)
        return card(
            f"Counts of {self.n:,} reports",
            picture,
            cost=cost(self.facts),
            facts=f"These are noisy reports, not answers. {self.mechanism!r}",
        )


def expected(summary: Any) -> Counts:
    """Counts, or a sentence that says how to get them."""
    if isinstance(summary, Reports):
        raise InvalidInput("Counts", "Reports", "Take Counts.of(reports).")
    if not isinstance(summary, Counts):
        raise InvalidInput(
            "Counts", _checks.kind(summary), "Count reports with Counts.of(reports)."
        )
    return summary


def _same(a: Counts, b: Counts) -> None:
    if a.mechanism != b.mechanism:
        unlike = _checks.difference(a.mechanism.to_dict(), b.mechanism.to_dict())
        raise Mismatch("summaries of one mechanism", unlike or "two mechanisms")
    if a.simulated != b.simulated:
        raise Mismatch("summaries that are all private or all simulated", "one of each")
    for what, one, two in (
        ("weights", a.weights, b.weights),
        ("a response", a.response, b.response),
    ):
        if (one is None) != (two is None):
            raise Mismatch(f"summaries that all have {what} or all have none", "one of each")

"""Sums of the vector reports of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import card, steps
from confide._types import Floats, Integers
from confide.accounting.spend import told_cost
from confide.curves.forms import fingerprint
from confide.errors import InvalidInput, Mismatch
from confide.exact.entropy import STREAM, SeededEntropy
from confide.mechanisms import Partition, Reports
from confide.mechanisms.laws import Clamped
from confide.summaries import forms

HEADER = ("confide", "version", "n", "simulated", "mechanism")


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums of the reports for each cell, over respondents.

    Sums of the same partition add up with ``+``. Adding sums of different partitions, or of
    private and simulated reports, raises an error.

    Parameters
    ----------
    mechanism
        The partition that made the reports.
    n
        Number of respondents.
    counts
        Sum of W for each cell; zeros where the partition classifies and sends none.
    tallies
        How many respondents sent Z = -J .. J (rows) for each cell (columns). With more than one
        level the unbiased score of an end is not a multiple of Z, so that the plain sum is not
        enough. A partition that counts sends no Z, which stands here as 0 for everybody.
    simulated
        Whether the reports were drawn from a seed.

    Examples
    --------
    >>> from confide.lattice import Cells
    >>> partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
    >>> sums = CellSums.of(partition.simulate([0.1, 0.7], [0.5, -1.0], seed=1))
    >>> (sums + sums).n
    4
    """

    mechanism: Partition
    n: int
    counts: Integers
    tallies: Integers
    simulated: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Partition):
            raise InvalidInput("a Partition", _checks.shown(self.mechanism))
        if not isinstance(self.simulated, bool):
            raise InvalidInput("simulated=True or False", _checks.shown(self.simulated))
        n = _checks.integer(0, forms.MAX_N, n=self.n)
        size = self.mechanism.cells.size
        counts = _whole((size,), counts=self.counts)
        tallies = _whole((2 * self.mechanism.levels + 1, size), tallies=self.tallies)
        top = 0 if self.mechanism.classify else n
        if counts.min() < 0 or counts.max() > top:
            raise InvalidInput(f"counts from 0 to {top} in sums", "counts outside that range")
        if tallies.min() < 0 or (tallies > n).any() or (tallies.sum(axis=0) != n).any():
            raise InvalidInput(
                f"tallies of {n} respondents in every cell",
                "another number",
                "The sums are damaged.",
            )
        for name, array in (("counts", counts), ("tallies", tallies)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "n", n)

    @classmethod
    def of(cls, reports: Reports | Iterable[Reports]) -> Self:
        """Add up reports, or batches of them such as `Partition.stream` makes.

        Parameters
        ----------
        reports
            Private or simulated reports.
        """
        total: Self | None = None
        for batch in [reports] if isinstance(reports, Reports) else reports:
            if not isinstance(batch, Reports) or not isinstance(batch.mechanism, Partition):
                raise InvalidInput("reports of a partition", _checks.shown(batch))
            part = cls._tally(batch)
            total = part if total is None else total + part
        if total is None:
            raise InvalidInput("at least one batch of reports", "none")
        return total

    @classmethod
    def _tally(cls, reports: Reports) -> Self:
        mechanism, values = reports.mechanism, reports.indices
        assert isinstance(mechanism, Partition)
        size, levels = mechanism.cells.size, 2 * mechanism.levels + 1
        counts = np.zeros(size, dtype=np.int64)
        if not mechanism.classify:
            counts = values[:, 0].sum(axis=0, dtype=np.int64)
        if mechanism.counting:
            return cls(mechanism, len(values), counts, _unsent(mechanism, len(values)),
                       reports.simulated)  # fmt: skip
        tallies = np.zeros(levels * size, dtype=np.int64)
        rows = max(1, 2**20 // size)
        for start in range(0, len(values), rows):
            z = values[start : start + rows, -1].astype(np.int64) + mechanism.levels
            tallies += np.bincount((z * size + np.arange(size)).ravel(), minlength=levels * size)
        return cls(mechanism, len(values), counts, tallies.reshape(levels, size), reports.simulated)

    @classmethod
    def simulate(
        cls, mechanism: Partition, points: Any, responses: Any = None, *, seed: int
    ) -> Self:
        """The sum of n simulated reports, each cell's drawn at once: the same law.

        Parameters
        ----------
        mechanism
            The partition.
        points, responses
            X and y, as for `Partition.privatize`.
        seed
            Seed of the simulation.
        """
        seed = _checks.integer(0, seed=seed)
        indices = mechanism.index(points if responses is None else (points, responses))
        cell = indices[:, 0]
        level = np.full(cell.size, mechanism.levels)
        if not mechanism.counting:
            level = mechanism.levels_of(indices, SeededEntropy(seed))
        size, levels = mechanism.cells.size, 2 * mechanism.levels + 1
        inside = cell >= 0
        flat = np.bincount(level[inside] * size + cell[inside], minlength=levels * size)
        return cls._drawn(mechanism, cell.size, flat.reshape(levels, size), seed)

    @classmethod
    def simulate_tallies(
        cls, mechanism: Partition, n: int, truth: npt.ArrayLike, *, seed: int
    ) -> Self:
        """Like `simulate`, from the number of respondents of each kind, for very large n.

        Parameters
        ----------
        mechanism
            The partition.
        n
            Number of respondents, those outside the cells included.
        truth
            How many have a response rounded to -J .. J (rows) and a point in each cell (columns).
        seed
            Seed of the simulation.
        """
        seed = _checks.integer(0, seed=seed)
        n = _checks.integer(1, forms.MAX_N, n=n)
        shape = (2 * mechanism.levels + 1, mechanism.cells.size)
        table = _whole(shape, truth=truth)
        if table.min() < 0 or sum(table.ravel().tolist()) > n:
            raise InvalidInput(
                f"counts of at most {n} respondents in truth", "larger or negative counts"
            )
        return cls._drawn(mechanism, n, table, seed)

    @classmethod
    def _drawn(cls, mechanism: Partition, n: int, truth: Integers, seed: int) -> Self:
        # A separate stream from the one that rounded the responses.
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM, 1)))
        inside = truth.sum(axis=0)
        counts = np.zeros_like(inside)
        if not mechanism.classify:
            (_, flip), (_, keep) = _rows(mechanism.law.counts)
            counts = generator.binomial(inside, keep) + generator.binomial(n - inside, flip)
        if mechanism.counting:
            return cls(mechanism, n, counts, _unsent(mechanism, n), True)
        # A person outside a cell reports for it like a response of zero.
        kinds = truth.copy()
        kinds[mechanism.levels] += n - inside
        tallies = np.zeros_like(kinds)
        for kind, law in zip(kinds, _rows(mechanism.law.values), strict=True):
            tallies += generator.multinomial(kind, law).T
        return cls(mechanism, n, counts, tallies, True)

    @property
    def values(self) -> Integers:
        """Sum of Z for each cell, in levels."""
        levels = self.mechanism.levels
        sums: Integers = np.arange(-levels, levels + 1) @ self.tallies
        return sums

    @property
    def mu(self) -> Floats:
        """Unbiased estimates of the shares of respondents in each cell."""
        off, on = self.mechanism.law.count_scores
        share = self.counts / max(self.n, 1)
        mu: Floats = off * (1 - share) + on * share
        return mu

    @property
    def nu(self) -> Floats:
        """Unbiased estimates of E[y, X in the cell] for each cell, in units of y."""
        sums: Floats = self.mechanism.value_scores @ self.tallies
        return sums / max(self.n, 1)

    @property
    def second(self) -> Floats:
        """Mean square of the scores whose mean is nu."""
        found: Floats = self.mechanism.value_scores**2 @ self.tallies / max(self.n, 1)
        return found

    def variances(self) -> tuple[Floats, Floats, Floats]:
        """Estimated variances of mu and nu and their covariance, noise and sampling together."""
        n = max(self.n, 1)
        none = np.zeros(self.mechanism.cells.size)
        of_mu = of_nu = none
        if not self.mechanism.classify:
            off, on = self.mechanism.law.count_scores
            share = self.counts / n
            of_mu = (on - off) ** 2 * share * (1 - share) / n
        if not self.mechanism.counting:
            of_nu = np.maximum(self.second - self.nu**2, 0) / n
        if self.mechanism.classify or self.mechanism.counting:
            return of_mu, of_nu, none
        # The noises are independent: only the sampling of the cell itself is common to both.
        return of_mu, of_nu, self.nu * (1 - self.mu) / n

    def __add__(self, other: CellSums) -> Self:
        """Merge."""
        if not isinstance(other, CellSums):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise Mismatch("sums of one partition", f"{self.mechanism!r} and {other.mechanism!r}")
        if self.simulated != other.simulated:
            raise Mismatch("sums that are all private or all simulated", "one of each")
        return type(self)(
            self.mechanism,
            self.n + other.n,
            self.counts + other.counts,
            self.tallies + other.tallies,
            self.simulated,
        )

    def __radd__(self, other: int) -> Self:
        """Zero and a summary, with which `sum` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _header(self) -> dict[str, Any]:
        return {
            "confide": "cell-sums",
            "version": forms.VERSION,
            "n": self.n,
            "simulated": self.simulated,
            "mechanism": self.mechanism.to_dict(),
        }

    @classmethod
    def _read(cls, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        if header.get("confide") != "cell-sums":
            raise InvalidInput("sums written by confide", "something else")
        if header.get("version") != forms.VERSION:
            raise InvalidInput(
                f"sums of version {forms.VERSION}",
                f"version {_checks.shown(header.get('version'))}",
                "Read them with the release of confide that wrote them.",
            )
        _checks.known_keys(header, HEADER, "sums")
        _checks.known_keys(arrays, ("counts", "tallies"), "sums")
        for key, where in (
            *((key, header) for key in HEADER),
            ("counts", arrays),
            ("tallies", arrays),
        ):
            if key not in where:
                raise InvalidInput(f"the key {key!r} in sums", "none")
        mechanism = Partition.from_dict(header["mechanism"])
        return cls(mechanism, header["n"], arrays["counts"], arrays["tallies"], header["simulated"])

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly this summary, by which curves say what they were made from."""
        return fingerprint(self._header(), {"counts": self.counts, "tallies": self.tallies})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self._header(),
            "counts": self.counts.tolist(),
            "tallies": self.tallies.tolist(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("sums as a JSON object", _checks.shown(fields))
        arrays = {key: fields[key] for key in ("counts", "tallies") if key in fields}
        return cls._read({key: fields[key] for key in fields if key not in arrays}, arrays)

    def to_bytes(self) -> bytes:
        """A compact form: a compressed numpy archive."""
        return forms.pack(self._header(), {"counts": self.counts, "tallies": self.tallies})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`; anything else is refused."""
        return cls._read(*forms.unpack(data))

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "private"
        return f"<CellSums of {self.n} {kind} reports of {self.mechanism!r}>"

    def _repr_html_(self) -> str:
        """How many respondents are in all, and what the reports cost, for notebooks."""
        heights = np.maximum(self.mu, 0)
        return card(
            f"Sums of {self.n:,} reports in {self.mechanism.cells.size:,} cells",
            steps(np.arange(heights.size + 1.0), heights, told="share of each cell, estimated"),
            cost=told_cost(self.mechanism.spend, simulated=self.simulated),
            facts=repr(self.mechanism),
        )


def _unsent(mechanism: Partition, n: int) -> Integers:
    """The tallies of Z where nobody sends any: 0 for everybody."""
    tallies = np.zeros((2 * mechanism.levels + 1, mechanism.cells.size), dtype=np.int64)
    tallies[mechanism.levels] = n
    return tallies


def _rows(law: Clamped) -> Floats:
    """Probabilities of the reports, one row an index; what rounding left is taken off."""
    table = np.clip(law.matrix().T, 0, None)
    rows: Floats = table / table.sum(axis=1, keepdims=True)
    return rows


def _whole(shape: tuple[int, ...], **named: Any) -> Integers:
    ((name, given),) = named.items()
    array = given if isinstance(given, forms.Packed) else _checks.array(**named)
    if array.dtype.kind not in "iu":
        raise InvalidInput(f"whole numbers in {name}", "numbers of another type")
    if array.shape != shape:
        raise InvalidInput(f"{name} of shape {shape}", f"shape {_checks.shown(array.shape)}")
    table = array.read() if isinstance(array, forms.Packed) else array
    if table.max() > forms.MAX_N:
        raise InvalidInput(f"whole numbers in {name}", "a number that is too large")
    return np.array(table, dtype=np.int64)

"""Relations of pairs of questions, and a joint model of all questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card, estimates, shades, table
from confide._figures import number, percent
from confide._types import Floats
from confide.curves.density import CellDensity
from confide.curves.forms import cost, frame, how
from confide.curves.proportions import Proportions
from confide.displays import CorrelationsDisplay, CrossTableDisplay
from confide.errors import InvalidInput

SIDES = ("low", "high")
"""Ends of an interval."""
LEAST = 1e-6
"""Eigenvalues of a matrix of correlations are at least this."""
SWEEPS = 500
"""Rounds of the completion of a matrix, at most."""
ASKED = "correlations of the pairs that were asked for"
PRESERVED = (
    ("the distribution of every single question", "yes", "within the errors of its estimate"),
    (ASKED, "yes", "as fitted, within their intervals"),
    ("correlations of other pairs", "assumed", "what follows from the pairs that were asked for"),
    ("shapes of a relation: symmetric, in the tails, clustered", "no", "a normal copula has none"),
    ("relations of three and more questions at once", "no", "only what pairs imply"),
    ("words without an order", "partly", "as far as they follow their order in the survey"),
    ("who declines, and whether one person declines twice", "no", "declined at random"),
    ("single people", "no", "rows are drawn from the model and stand for nobody"),
)
"""What synthetic respondents keep of the population."""


@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """How the answers to two questions are related.

    Parameters
    ----------
    questions
        The two questions.
    n
        People who were asked for this pair.
    correlation
        Correlation of the normal scores of the two answers (of the normal copula that fits the
        reports). Words count in the order of the survey.
    low, high
        Its confidence interval.
    error
        Standard error of the correlation.
    labels
        Classes of each question.
    shares
        Share of the people in each class of the first question (a row) and of the second, among
        those who answered both.
    ends
        Lower and upper ends of the confidence intervals of the shares.
    bit
        Whether each report was one bit; otherwise it was a cell of the table.
    declined
        Share that declined either question; None where nobody could.

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> labels = (("below 40", "40 and more"), ("no", "yes"))
    >>> Relation(("pay", "smokes"), 500, correlation=0.0, low=-0.1, high=0.1, error=0.05,
    ...          labels=labels, shares=half, ends=(half, half), bit=True)
    <Relation of pay & smokes: correlation 0, from -0.1 to 0.1>
    """

    questions: tuple[str, str]
    n: int
    _: KW_ONLY
    correlation: float
    low: float
    high: float
    error: float
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Floats
    ends: tuple[Floats, Floats]
    bit: bool
    declined: float | None = None

    @property
    def name(self) -> str:
        """The two questions as one name, that of the column of their reports."""
        return " & ".join(self.questions)

    @property
    def crossed(self) -> bool:
        """Whether the cross table says more than the correlation: not for one bit of two numbers.

        Numbers with one threshold have the classes "below" and "and more".
        """
        return not (self.bit and all(label.startswith("below ") for label, *_ in self.labels))

    def __repr__(self) -> str:
        ends = f"{self.low:.4g} to {self.high:.4g}"
        return f"<Relation of {self.name}: correlation {self.correlation:.4g}, from {ends}>"

    def _repr_html_(self) -> str:
        """The cross table as a picture and in numbers, and the correlation, for notebooks."""
        rows, columns = self.labels
        told = [
            (name, *(percent(share) for share in shares))
            for name, shares in zip(rows, self.shares.tolist(), strict=True)
        ]
        ends = f"{number(self.low)} to {number(self.high)}"
        return card(
            f"Relation of {self.name}: {self.n:,} people",
            shades(self.shares, told="share of each pair of answers"),
            table((" by ".join(self.questions), *columns), told),
            facts=f"Correlation {number(self.correlation)}, interval {ends}.",
        )

    def plot(self, ax: Any = None) -> CrossTableDisplay:
        """Draw the cross table of the two questions, with shares and their intervals.

        Parameters
        ----------
        ax
            Axes of matplotlib; by default new ones.
        """
        return CrossTableDisplay(self.questions, self.labels, self.shares, self.ends).plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fields = {
            "questions": list(self.questions),
            "n": self.n,
            "correlation": self.correlation,
            "low": self.low,
            "high": self.high,
            "error": self.error,
            "labels": [list(each) for each in self.labels],
            "shares": self.shares.tolist(),
            "ends": [end.tolist() for end in self.ends],
            "bit": self.bit,
        }
        return fields if self.declined is None else {**fields, "declined": self.declined}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Relation:
        """The inverse of `to_dict`."""
        try:
            one, other = fields["questions"]
            rows, columns = (tuple(map(str, each)) for each in fields["labels"])
            low, high = (np.array(end, dtype=np.float64) for end in fields["ends"])
            shares = np.array(fields["shares"], dtype=np.float64)
            if not {shares.shape, low.shape, high.shape} == {(len(rows), len(columns))}:
                raise ValueError
            return cls(
                (str(one), str(other)),
                int(fields["n"]),
                **{key: float(fields[key]) for key in ("correlation", "low", "high", "error")},
                labels=(rows, columns),
                shares=shares,
                ends=(low, high),
                bit=bool(fields["bit"]),
                declined=None if fields.get("declined") is None else float(fields["declined"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InvalidInput("a relation that to_dict wrote", "another document") from None


@dataclass(frozen=True, eq=False, repr=False)
class Copula:
    """A model of all questions: their distributions, and a normal copula that joins them.

    Parameters
    ----------
    margins
        The distribution of every question by itself.
    relations
        The relation of each pair that was asked for.
    level
        Confidence level of the intervals.
    facts
        Facts about the estimate.

    Examples
    --------
    >>> share = Proportions(("no", "yes"), np.array([0.6, 0.4]))
    >>> model = Copula({"smokes": share, "coughs": share}, ())
    >>> sorted(model.sample(4, seed=1))
    ['coughs', 'smokes']
    """

    margins: Mapping[str, CellDensity | Proportions]
    relations: Sequence[Relation]
    _: KW_ONLY
    level: float = 0.95
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "margins", MappingProxyType(dict(self.margins)))
        object.__setattr__(self, "relations", tuple(self.relations))
        for one in self.relations:
            if not set(one.questions) <= set(self.margins):
                raise InvalidInput("relations of questions with a margin", f"one of {one.name!r}")

    def __getitem__(self, pair: tuple[str, str]) -> Relation:
        """The relation of two questions, in either order."""
        for one in self.relations:
            if set(one.questions) == set(pair):
                return one
        raise InvalidInput(
            "a pair that was asked for", _checks.shown(pair), f"Pairs: {self._names() or 'none'}."
        )

    def _names(self) -> str:
        return ", ".join(one.name for one in self.relations)

    def __repr__(self) -> str:
        return f"<Copula of {', '.join(self.margins)}: {len(self.relations)} relations>"

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> CorrelationsDisplay:
        """Draw the correlation of each pair that was asked for, with its interval.

        Parameters
        ----------
        ax
            Axes of matplotlib; by default new ones.
        label
            Name in the legend.
        color
            By default the next one of the axes' cycle.
        """
        if not self.relations:
            raise InvalidInput("a model with relations", "one without", "No pair was asked for.")
        values = np.array([one.correlation for one in self.relations])
        low, high = (np.array([getattr(one, end) for one in self.relations]) for end in SIDES)
        names = [one.name for one in self.relations]
        display = CorrelationsDisplay(names, values, (low, high), self.level)
        return display.plot(ax, label=label, color=color)

    def _repr_html_(self) -> str:
        """The correlations of the pairs that were asked for, for notebooks."""
        rows = [(one.name, one.correlation, (one.low, one.high)) for one in self.relations]
        ends = tuple(np.array([getattr(one, end) for one in self.relations]) for end in SIDES)
        names, values = [row[0] for row in rows], [row[1] for row in rows]
        return card(
            f"Model of {', '.join(self.margins)}",
            bars(values, names, ends=(ends[0], ends[1]), told="correlations"),
            estimates(rows, level=self.level) if rows else "",
            cost=cost(self.facts),
            facts=how(self.facts),
        )

    @property
    def correlations(self) -> Floats:
        """The matrix of all correlations, in the order of the margins.

        Correlations of pairs that were not asked for are those under which the two questions tell
        nothing about each other that the asked pairs do not. If no population can have all the
        estimates at once, eigenvalues are raised until one can.
        """
        names = list(self.margins)
        matrix, known = np.eye(len(names)), np.eye(len(names), dtype=bool)
        for one in self.relations:
            a, b = (names.index(question) for question in one.questions)
            matrix[a, b] = matrix[b, a] = one.correlation
            known[a, b] = known[b, a] = True
        return possible(matrix if known.all() else completed(matrix, known))

    @property
    def moved(self) -> float:
        """How far `correlations` is from the estimates at most, so that a population can have it.

        Examples
        --------
        >>> half = np.full((2, 2), 0.25)
        >>> labels = (("no", "yes"), ("no", "yes"))
        >>> relations = [
        ...     Relation(pair, 500, correlation=rho, low=-1.0, high=1.0, error=0.5,
        ...              labels=labels, shares=half, ends=(half, half), bit=True)
        ...     for pair, rho in ((("x", "y"), 0.9), (("y", "z"), 0.9), (("x", "z"), -0.9))]
        >>> share = Proportions(("no", "yes"), np.array([0.6, 0.4]))
        >>> round(Copula(dict.fromkeys("xyz", share), relations).moved, 2)
        0.4
        """
        names, found = list(self.margins), self.correlations
        places = [[names.index(each) for each in one.questions] for one in self.relations]
        return max(
            (
                abs(float(found[a, b]) - one.correlation)
                for (a, b), one in zip(places, self.relations, strict=True)
            ),
            default=0.0,
        )

    def to_frame(self) -> Any:
        """One row for each relation, as a table of pandas."""
        return frame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One row for each relation, as plain values."""
        return [
            {
                "first": one.questions[0],
                "second": one.questions[1],
                "n": one.n,
                "estimate": one.correlation,
                "low": one.low,
                "high": one.high,
                "error": one.error,
            }
            for one in self.relations
        ]

    def sample(self, n: int, *, seed: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Synthetic respondents, a column of answers for each question.

        Parameters
        ----------
        n
            How many.
        seed
            For repeatable draws. They cost no privacy: nothing is looked at but the estimates.

        Returns
        -------
        dict
            Numbers, whole numbers or words by question; None for answers that are declined.
        """
        from scipy.special import ndtr

        n = _checks.integer(1, n=n)
        generator = np.random.default_rng(seed)
        values, vectors = np.linalg.eigh(self.correlations)
        normal = generator.standard_normal((n, len(values))) @ (vectors * np.sqrt(values)).T
        found = {}
        for (name, margin), column in zip(self.margins.items(), ndtr(normal).T, strict=True):
            answers = _answers(margin, column)
            if margin.declined is not None:
                answers = answers.astype(object)
                answers[generator.random(n) < margin.declined] = None
            found[name] = answers
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "copula",
            "margins": {name: margin.to_dict() for name, margin in self.margins.items()},
            "relations": [one.to_dict() for one in self.relations],
            "level": self.level,
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; margins come back without intervals."""
        _checks.known_keys(fields, ("curve", "margins", "relations", "level", "facts"), "a copula")
        margins, relations = fields.get("margins"), fields.get("relations")
        facts = fields.get("facts")
        if not isinstance(margins, Mapping) or not margins or not isinstance(relations, list):
            raise InvalidInput("margins and relations in a copula", "a document without them")
        if not isinstance(facts, Mapping):
            raise InvalidInput("facts in a copula", _checks.shown(facts))
        return cls(
            {name: _margin(each) for name, each in margins.items()},
            [Relation.from_dict(each) for each in relations],
            level=_checks.level(fields.get("level")),
            facts=dict(facts),
        )


def _margin(fields: Any) -> CellDensity | Proportions:
    kinds: dict[str, Any] = {"cell-density": CellDensity, "proportions": Proportions}
    kind = fields.get("curve") if isinstance(fields, Mapping) else None
    found: CellDensity | Proportions = kinds[_checks.one_of(tuple(kinds), curve=kind)].from_dict(
        fields
    )
    return found


def _answers(margin: CellDensity | Proportions, shares: Floats) -> npt.NDArray[Any]:
    """The answers below which these shares of the population lie."""
    if isinstance(margin, Proportions):
        edges = np.cumsum(margin.shares)[:-1]
        return np.array(margin.categories)[np.searchsorted(edges, shares, side="right")]
    values = np.asarray(margin.quantile(shares))
    return values.astype(np.int64) if margin.whole else values


def possible(matrix: Floats) -> Floats:
    """The matrix with its eigenvalues raised to a least one, and ones on its diagonal again."""
    values, vectors = np.linalg.eigh(matrix)
    if values.min() >= LEAST:
        return matrix
    raised = (vectors * np.maximum(values, LEAST)) @ vectors.T
    scale = 1 / np.sqrt(np.diag(raised))
    found: Floats = raised * np.outer(scale, scale)
    return found


def completed(matrix: Floats, known: npt.NDArray[np.bool_]) -> Floats:
    """The matrix of largest determinant that has the known entries (Dempster 1972).

    By iterative proportional scaling: the inverse has zeros where entries are not known. Where no
    such matrix exists the unknown entries stay zero.
    """
    inverse = np.eye(len(matrix))
    pairs = [(a, b) for a, b in np.argwhere(np.triu(known, 1)).tolist()]
    found: Floats = np.eye(len(matrix))
    for _ in range(SWEEPS):
        before = found
        for a, b in pairs:
            at = np.ix_([a, b], [a, b])
            if abs(matrix[a, b]) >= 1:
                return matrix
            inverse[at] += np.linalg.inv(matrix[at]) - np.linalg.inv(found[at])
            found = np.asarray(np.linalg.inv(inverse), dtype=np.float64)
            if not np.isfinite(found).all() or found.diagonal().min() <= 0:
                return matrix
        if np.abs(found - before).max() < 1e-9:
            return found
    return matrix

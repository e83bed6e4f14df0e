"""Synthetic respondents: rows with an answer to every question, drawn from estimates alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy.typing as npt

from confide import _checks
from confide._cards import ROWS, card, table
from confide._figures import number
from confide.curves.copula import ASKED, PRESERVED, Copula
from confide.errors import ConfideWarning, InvalidInput, Unsupported, extra
from confide.estimators.enough import needed
from confide.estimators.relating import relate
from confide.files import formats
from confide.files.paths import writable
from confide.mechanisms import Mechanism
from confide.results.values import Estimates
from confide.summaries import Summaries

NO_PAIRS = (
    "relations between questions",
    "no",
    "no pairs were asked for: each column is drawn by itself",
)
"""In place of all that is kept of relations."""
SEEN = 0.005
"""Correlations that were moved by less are as estimated, in two decimals."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Synthetic(Mapping[str, npt.NDArray[Any]]):
    """Synthetic respondents, a column of answers for each question.

    Parameters
    ----------
    columns
        Numbers, whole numbers or words by question; None for answers that are declined.
    model
        What they were drawn from.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.curves import Proportions
    >>> share = Proportions(("no", "yes"), np.array([0.6, 0.4]))
    >>> rows = synthesize(Copula({"smokes": share}, ()), 3, seed=1)
    >>> rows.n, list(rows)
    (3, ['smokes'])
    """

    columns: Mapping[str, npt.NDArray[Any]]
    model: Copula

    def __getitem__(self, question: str) -> npt.NDArray[Any]:
        return self.columns[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    @property
    def preserved(self) -> list[tuple[str, str, str]]:
        """Which properties of the population the rows keep, and how closely."""
        rows = list(PRESERVED)
        if not self.model.relations:
            return [rows[0], *[NO_PAIRS] * (len(self) > 1), *rows[-2:]]
        at = [row[0] for row in rows].index(ASKED)
        if (moved := self.model.moved) >= SEEN:
            why = "since no population can have all of the estimates at once"
            rows[at] = (ASKED, "partly", f"moved by up to {moved:.2f}, {why}")
        else:
            rows[at] = (ASKED, "yes", f"{rows[at][2]}, which reach up to {self._reach:.2f} away")
        return rows

    @property
    def _reach(self) -> float:
        """How far the widest interval of a correlation reaches from its estimate."""
        ends = [(one.correlation, one.low, one.high) for one in self.model.relations]
        return max(max(high - found, found - low) for found, low, high in ends)

    def __repr__(self) -> str:
        return f"<Synthetic: {self.n} respondents who stand for nobody: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        """The first rows, and what they keep of the population, for notebooks."""
        first = [column[:ROWS].tolist() for column in self.values()]
        rows = [tuple(map(_shown, row)) for row in zip(*first, strict=True)]
        kept = [line[:2] for line in self.preserved]
        return card(
            f"{self.n:,} synthetic respondents who stand for nobody",
            table(tuple(self), rows),
            table(("what they keep of the population", ""), kept),
            cost="They cost nothing beyond the reports that the model was made from.",
        )

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        extra("pyarrow", "cli")
        import pyarrow as pa

        return pa.table({name: pa.array(column.tolist()) for name, column in self.items()})

    def to_frame(self) -> Any:
        """The rows as a table of pandas."""
        return self.to_arrow().to_pandas()

    def save(self, path: str | Path) -> None:
        """Write the rows into a .csv or .parquet file, whole or not at all."""
        path = Path(path)
        writable(path, (".csv", ".parquet"))
        formats.write(self.to_arrow(), path)


def synthesize(source: Any, n: int, *, seed: int | None = None) -> Synthetic:
    """Synthetic respondents with an answer to every question of a survey.

    They are drawn from estimates: every question has its estimated distribution, and a normal
    copula with the estimated correlations joins them. Nothing else is looked at, so they cost no
    privacy beyond what the reports have cost. They keep means, quantiles, shares and correlations;
    `Synthetic.preserved` says what they do not keep.

    Parameters
    ----------
    source
        Results of a whole survey, summaries of its reports, or a `Copula`.
    n
        How many rows.
    seed
        For repeatable rows.

    Examples
    --------
    >>> from confide import Counts, RandomizedResponse
    >>> mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0)
    >>> counts = Counts.of(mechanism.privatize(["no"] * 600 + ["yes"] * 400))
    >>> synthesize(Summaries({"smokes": counts}), 5, seed=1)
    <Synthetic: 5 respondents who stand for nobody: smokes>
    """
    n = _checks.integer(1, n=n)
    if isinstance(source, Summaries):
        warn_of_few(source)
        source = relate(source)
    elif isinstance(source, Estimates):
        source = _model(source)
    if not isinstance(source, Copula):
        raise InvalidInput(
            "results of a survey, summaries or a copula to draw from", _checks.shown(type(source))
        )
    return Synthetic(source.sample(n, seed=seed), source)


def warn_of_few(summaries: Summaries) -> None:
    """Warn of questions with fewer reports than an estimate needs: their columns are noise.

    Parameters
    ----------
    summaries
        What the rows will be drawn from.
    """
    for name, counts in summaries.items():
        mechanism = counts.mechanism
        if not isinstance(mechanism, Mechanism) or not mechanism.single:
            continue
        if counts.effective_n < (least := needed(mechanism)):
            warnings.warn(
                f"Few reports of {name!r}: {counts.effective_n:,.0f}, where an estimate needs "
                f"{least:,}. Its synthetic answers come mostly from noise.",
                ConfideWarning,
                stacklevel=3,
            )


def _model(results: Estimates) -> Copula:
    """The model of results, whose curves and relations they hold."""
    curves = {}
    for name, one in results.items():
        if one.curve is None:
            raise Unsupported(f"There are too few reports of {name!r} to draw answers to it.")
        curves[name] = one.curve
    return Copula(curves, results.relations, level=results.level)


def _shown(value: Any) -> str:
    """An answer as words; a dash where it was declined."""
    if value is None:
        return "–"
    return number(value) if isinstance(value, float) else str(value)

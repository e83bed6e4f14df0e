"""Results of a whole survey, and the files that they are written to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from confide.errors import InvalidInput
from confide.files.paths import load_json, named, readable
from confide.results.saving import save
from confide.results.values import Estimates


@final
@dataclass(frozen=True, eq=False, repr=False)
class Results(Estimates):
    """The estimates of every question of a survey.

    ``results["pay"]`` is the result of a question. The parameters are those of
    `confide.results.values.Estimates`.

    Examples
    --------
    >>> from confide.results import Quantity, Result
    >>> mean = Quantity("mean", None, low=None, high=None)
    >>> pay = Result("pay", "number", 9, 20, (mean,), reason="Not enough reports yet.")
    >>> results = Results("0f", 0.95, {"pay": pay})
    >>> results
    <Results of 9 respondents: pay>
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results.save(f"{folder}/results.json")
    ...     Results.read(f"{folder}/results.json")["pay"].n
    9
    """

    def save(self, path: str | Path) -> None:
        """Write the results into a file; one that is there is replaced, whole or not at all.

        Parameters
        ----------
        path
            The ending says what it is: ``.html``, a page that needs nothing beside it; ``.md``,
            the same text and tables; ``.json``, which `Results.read` reads; ``.csv`` and
            ``.parquet``, a table with the columns of `to_frame`.
        """
        save(self, Path(path))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read results from a .json file that `save` has written; curves have no intervals."""
        path = Path(path)
        readable(path)
        if path.suffix != ".json":
            raise InvalidInput("results in a file that ends in .json", named(path))
        fields = load_json(path.read_bytes(), named(path))
        try:
            return cls.from_dict(fields)
        except InvalidInput as error:
            expected = f"{error.expected} in {named(path)}"
            raise type(error)(expected, error.got, error.advice) from None

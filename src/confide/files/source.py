"""The interface of all file formats with columns."""

from __future__ import annotations

import contextlib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar
from urllib.parse import unquote

from confide.errors import InvalidInput, unquoted
from confide.files.arrow import arrow, no_column, unique
from confide.files.paths import named

ROWS = 2**18
"""Rows of a batch, at most: small beside any table worth streaming."""
MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder whose rows have none, as Hive and Spark write it."""


@dataclass(frozen=True)
class Source(ABC):
    """A file of columns, read in batches that fit in memory.

    Parameters
    ----------
    path
        The file. A folder of its path that is called ``day=2026-01-05`` makes a column ``day`` of
        text, where the file has none of that name.
    recoded
        Columns that are read in another way: a function of the Arrow column for each.
    """

    title: ClassVar[str]
    """The format, for a message."""
    text: ClassVar[bool] = False
    """Whether cells are text that must still be parsed, and the file knows no types."""
    stamped: ClassVar[bool] = False
    """Whether the file can say what made its reports, in the metadata of its schema."""
    engine: ClassVar[str | None] = None
    """``"parquet"`` or ``"csv"`` where DuckDB can read the files by itself, else None."""
    written: ClassVar[bool] = True
    """Whether files of this format are written too."""

    path: Path
    recoded: Mapping[str, Callable[[Any], Any]] = field(
        default_factory=dict, kw_only=True, repr=False, compare=False
    )

    @property
    def where(self) -> str:
        """The file, for a message."""
        return named(self.path)

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns in the file."""
        with self.told():
            names = self._names()
        unique(names, self.where)
        return names

    @abstractmethod
    def _names(self) -> list[str]:
        """Column names, as they are in the file."""

    @abstractmethod
    def _batches(self, columns: Sequence[str], groups: Sequence[int] | None) -> Iterator[Any]:
        """Arrow record batches of some columns in the order of the file."""

    @classmethod
    @abstractmethod
    def writer(cls, file: IO[bytes], schema: Any, *, packed: Sequence[str] = ()) -> Any:
        """Something with ``write_table`` that writes Arrow tables into a file, to be used in with.

        Columns of small whole numbers without order may be packed.
        """

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """Metadata of the table's schema."""
        return {}

    @property
    def rows(self) -> int | None:
        """Number of rows, where the file knows it without being read."""
        return None

    @property
    def groups(self) -> list[int] | None:
        """Rows of each part that can be read apart, where the file has such parts."""
        return None

    @property
    def letters(self) -> int:
        """Bytes of text to parse, about."""
        return 0

    def kind(self, name: str) -> Any:
        """The Arrow type of a column, of a file that knows types, or of a folder's name."""
        if name in self.folders and name not in self.names:
            return arrow().string()
        return self._kind(name)

    def _kind(self, name: str) -> Any:
        """The Arrow type of a column in the file; text where the file knows no types."""
        return arrow().string()

    def states(self, name: str, low: int, high: int) -> bool:
        """Whether the file says that a column of whole numbers keeps to bounds."""
        return False

    def check(self, columns: Sequence[str]) -> int:
        """Refuse a file that asks for more than its size allows when some columns are read.

        Returns how many rows may be read at a time.
        """
        return ROWS

    @cached_property
    def folders(self) -> Mapping[str, str | None]:
        """Columns that folders of the path make, as Hive and Spark write them, and their cells.

        Text whatever it spells, None where the folder says that the value is missing.
        """
        found: dict[str, str | None] = {}
        for part in self.path.parent.parts:
            name, equals, value = part.partition("=")
            if equals and name:
                found[unquote(name)] = None if value == MISSING else unquote(value)
        return found

    def in_file(self, columns: Sequence[str]) -> list[str]:
        """The columns that are in the file itself and not in folders of its path."""
        return [name for name in columns if name not in self.folders or name in self.names]

    def apart(self, columns: Sequence[str]) -> None:
        """Refuse columns that the file has and a folder of its path makes, too."""
        for name in columns:
            if name in self.folders and name in self.names:
                raise InvalidInput(
                    f"one column {name!r} in {self.where}",
                    "two, in the file and in the name of a folder",
                    "Rename one of them.",
                )

    def require(self, columns: Sequence[str], *, public: Sequence[str] = ()) -> None:
        """Refuse a file that lacks one of some columns.

        Of public columns the names of its folders count too. Private values never come from a path:
        it is in messages and in the keys of ledgers.
        """
        for name in (*columns, *(each for each in public if each not in self.folders)):
            if name not in self.names:
                self._explain()
                raise no_column(self.names, name, self.where)

    def _explain(self) -> None:  # noqa: B027
        """Say why a column may be missing, where the file shows it."""

    def batches(
        self,
        columns: Sequence[str],
        *,
        public: Sequence[str] = (),
        groups: Sequence[int] | None = None,
    ) -> Iterator[Any]:
        """Arrow record batches of some columns, in the order of the file.

        Parameters
        ----------
        columns
            Columns in the file.
        public
            Columns in the file or in the names of its folders.
        groups
            Numbers of the parts that are wanted, of a file that has parts; by default all.
        """
        self.require(columns, public=public)
        wanted = list(dict.fromkeys([*columns, *public]))
        own = self.in_file(wanted)
        with self.told():
            for batch in self._batches(own or self.names[:1], groups):
                whole = batch if len(own) == len(wanted) else self._with_folders(batch, wanted)
                yield self._recode(whole) if self.recoded else whole

    def _with_folders(self, batch: Any, columns: Sequence[str]) -> Any:
        """A batch with what the names of folders say in every row."""
        pa = arrow()
        arrays = []
        for name in columns:
            if name in batch.schema.names:
                arrays.append(batch.column(batch.schema.names.index(name)))
            else:
                value = pa.scalar(self.folders[name], pa.string())
                arrays.append(pa.repeat(value, batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _recode(self, batch: Any) -> Any:
        for at, name in enumerate(batch.schema.names):
            if name in self.recoded:
                batch = batch.set_column(at, name, self.recoded[name](batch.column(at)))
        return batch

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Say in our words, and without quoting the data, what could not be read."""
        with unquoted(f"a file that can be read at {self.where}"):
            try:
                yield
            except UnicodeDecodeError:
                raise self.not_utf8() from None
            except arrow().ArrowException as error:
                raise self._fault(str(error)) from None
            except (OSError, EOFError, zlib.error) as error:
                # Damaged pages come as a bare OSError; the real ones carry a number.
                if getattr(error, "errno", None) is not None:
                    raise
                raise self.damaged() from None

    def _fault(self, said: str) -> InvalidInput:
        """What Arrow could not read, in our words."""
        return self.not_utf8() if "UTF8" in said else self.damaged()

    def not_utf8(self) -> InvalidInput:
        """The error that text is in another encoding."""
        return InvalidInput(
            f"UTF-8 text in {self.where}", "other bytes", f"Save it as {self.title} UTF-8."
        )

    def damaged(self) -> InvalidInput:
        """The error that a file is not of its format."""
        return InvalidInput(
            f"a {self.title} file at {self.where}", "something else, or not all of it"
        )

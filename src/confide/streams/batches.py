"""How values are cut into batches, and finished batches put together in random order."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confide.errors import InvalidInput
from confide.exact.entropy import SystemEntropy
from confide.exact.inversion import permutation
from confide.files import arrow, formats, parse
from confide.files.csv import BLOCK
from confide.files.source import Source
from confide.questions import PartitionSurvey, Questionnaire
from confide.questions.persons import PERSON
from confide.questions.questionnaire import already
from confide.questions.rounds import ROUND, Turns
from confide.reports.stamps import Stamp
from confide.streams.parts import Parts

PART = 2**20
"""Rows of a batch of Parquet, about: whole row groups make one."""
BLOCKS = 4
"""Blocks of a batch of CSV."""
SMALL = 2**22
"""Rows up to which one process is done before others have started."""
SMALL_BYTES = 2**26
"""The limit in bytes of CSV."""
BUCKET = 2**19
"""Rows of a bucket at most, about: as many are shuffled at once."""
MOST = 2**12
"""Buckets at most; those of a run of more rows are larger."""
ROW = 16
"""Bytes of a row of reports, about: one that is a longer vector counts for several."""
MANY = 1000
"""With so many rows, a public column that describes people has a value twice."""
LINE = 8
"""Bytes of a line of CSV, about; lines are longer as a rule, and buckets smaller then."""

Cuts = Iterator[tuple[int, tuple[int, ...], tuple[Any, ...]]]
"""How a file is cut into batches: their rows, and their row groups or their cells."""


@dataclass(frozen=True)
class Batch:
    """Some rows of one file: row groups of Parquet still to read, or cells of a CSV file.

    Parameters
    ----------
    number
        Its place among the batches of a run.
    source
        The file.
    first
        Number of its first row in the file.
    rows
        How many there are.
    groups
        Row groups.
    cells
        What was read already.
    """

    number: int
    source: Source
    first: int
    rows: int
    groups: tuple[int, ...] = ()
    cells: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Job:
    r"""Which values are to become reports, all checked but for the values themselves.

    Parameters
    ----------
    survey
        The questions, or a partition.
    paths
        Files of values, CSV or Parquet.
    keep
        Public columns to carry along.
    keep_order
        Leave the reports in the order of the values, which can give answers away: for values that
        are sorted by the answer, or nearly so, a report's neighbors tell what its noise hides.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from confide import Survey
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> with tempfile.TemporaryDirectory() as name:
    ...     values = Path(name) / "values.csv"
    ...     _ = values.write_text("pay,region\n3,north\n5,south\n")
    ...     Job(survey, [values], keep=["region"]).columns
    ['pay', 'region']
    """

    survey: Questionnaire | PartitionSurvey
    paths: Sequence[Path]
    keep: Sequence[str] = ()
    keep_order: bool = field(default=False, kw_only=True)
    kinds: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.survey.check_keep(self.keep)
        if self.survey.rounds is not None:
            object.__setattr__(self, "keep", self.survey.rounds.kept(self.keep))
        sources = self.sources
        for source in sources:
            if Stamp.read(source.metadata, source.where) is not None:
                raise already(source.where)
            self.survey.check_columns([*source.names, *source.folders], source.where)
            source.require(self.survey.columns, public=self.keep)
            source.apart(self.keep)
        for source in sources:
            if source.rows == 0:
                raise _empty(source)
        kinds = parse.kinds(sources, self.keep)
        object.__setattr__(self, "kinds", {key: arrow.plain(kinds[key]) for key in kinds})

    @property
    def identifying(self) -> list[str]:
        """Kept words and whole numbers of which each of many first rows has one of its own."""
        types = arrow.arrow().types
        names = [name for name, kind in self.kinds.items() if not types.is_floating(kind)]
        first = next(iter(self.sources[0].batches((), public=names)), None) if names else None
        if first is None or first.num_rows < MANY:
            return []
        rows = first.slice(0, 10 * MANY)
        return [name for name in names if len(rows.column(name).unique()) == rows.num_rows]

    @property
    def sources(self) -> list[Source]:
        """The files."""
        return [formats.source(path) for path in self.paths]

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return [*self.survey.columns, *self.keep]

    @property
    def rows(self) -> int | None:
        """Number of rows, if the files know it without being read."""
        rows = [source.rows for source in self.sources]
        return None if None in rows else sum(row or 0 for row in rows)

    @property
    def small(self) -> bool:
        """Whether the work is too small for more processes."""
        sources, weight = self.sources, self._weight
        return (
            weight * sum(source.rows or 0 for source in sources) <= SMALL
            and weight * sum(source.letters for source in sources) <= SMALL_BYTES
        )

    @property
    def _weight(self) -> int:
        """How many rows of single numbers a report counts for."""
        return -(-self.survey.width // ROW)

    @property
    def buckets(self) -> int:
        """Number of buckets for shuffling, a power of two; none if order is kept."""
        if self.keep_order:
            return 0
        sources = self.sources
        lines = sum(source.letters // LINE for source in sources)
        rows = sum(source.rows or 0 for source in sources) + lines
        return min(MOST, 1 << (-(-rows * self._weight // BUCKET) - 1).bit_length())

    @property
    def part(self) -> int:
        """Rows that are held at once, about: fewer where a report is a long vector."""
        return max(1, PART // self._weight)

    @cached_property
    def schema(self) -> Any:
        """Columns of a finished batch, reports in the fewest bytes that hold them."""
        return arrow.arrow().schema({**self.survey.types(packed=True), **self.kinds})

    @cached_property
    def written(self) -> Any:
        """Columns of the output, with what made them."""
        columns = {**self.survey.types(packed=False), **self.kinds}
        return arrow.arrow().schema(columns, metadata=self.survey.stamp().metadata())

    def manifest(self) -> dict[str, Any]:
        """The settings that an earlier run must share for its batches to be reused."""
        survey = json.dumps(self.survey.to_dict(), sort_keys=True)
        states = [path.stat() for path in self.paths]
        return {
            "version": 4,
            "arrow": arrow.arrow().__version__,
            "survey": hashlib.sha256(survey.encode()).hexdigest(),
            "fingerprint": self.survey.fingerprint,
            "keep": {name: str(kind) for name, kind in self.kinds.items()},
            "batch": [self.part, BLOCKS, BLOCK],
            "buckets": self.buckets,
            "values": [
                # A file put in the place of another can have its size and time, but was put there
                # later. (Numbers of files would tell too, but not all mounts keep them.)
                [str(path.resolve()), state.st_size, state.st_mtime_ns, state.st_ctime_ns]
                for path, state in zip(self.paths, states, strict=True)
            ],
        }

    def check_rounds(self) -> None:
        """Refuse values in which a person answers a round twice, or too many rounds.

        Batches are drawn one by one, so all files are read for this first.
        """
        if self.survey.rounds is None:
            return
        turns = Turns(self.survey.rounds)
        for source in self.sources:
            first = 0
            # The name of a folder is text, as the cells of CSV are.
            plain = source.text or ROUND in source.folders
            for batch in source.batches((), public=(PERSON, ROUND)):
                turns.add_table(batch, source.where, first=first, plain=plain)
                first += batch.num_rows

    def batches(self) -> Iterator[Batch]:
        """All batches in order, the same in every run of the same files."""
        number = 0
        for source in self.sources:
            first = 0
            for rows, groups, cells in self._cuts(source):
                yield Batch(number, source, first, rows, groups, cells)
                first += rows
                number += 1
            if not first:
                raise _empty(source)

    def _cuts(self, source: Source) -> Cuts:
        groups = source.groups
        if self.survey.width > 1:
            # A row group of values may be far more than memory holds once each is a vector.
            return self._sliced(source)
        return self._read(source) if groups is None else _grouped(groups)

    def _sliced(self, source: Source) -> Cuts:
        for batch in source.batches(self.survey.columns, public=self.keep):
            for start in range(0, batch.num_rows, self.part):
                rows = batch.slice(start, self.part)
                yield rows.num_rows, (), (rows,)

    def _read(self, source: Source) -> Cuts:
        held: list[Any] = []
        for batch in source.batches(self.survey.columns, public=self.keep):
            held += [batch] if batch.num_rows else []
            if len(held) == BLOCKS:
                yield sum(one.num_rows for one in held), (), tuple(held)
                held = []
        if held:
            yield sum(one.num_rows for one in held), (), tuple(held)

    def drawn(self, batch: Batch) -> Any:
        """Private reports of a batch as one Arrow batch, drawn here and now.

        Who is asked what, where people are asked some of the questions only, is drawn with the
        reports and kept with them: whatever is drawn again was never seen.
        """
        pa = arrow.arrow()
        source, first, made = batch.source, batch.first, []
        parts: Iterable[Any] = batch.cells or source.batches(
            self.survey.columns, public=self.keep, groups=batch.groups
        )
        if self.survey.asking is not None:
            # Questions are dealt evenly to all people that are drawn for at once. A row group can
            # be larger than memory, so not all of it is.
            parts = gathered(pa.Table.from_batches([part]) for part in parts)
        for values in parts:
            made.append(
                self.survey.reports(
                    values, keep=self.keep, plain=source.text, where=source.where, first=first
                )
                .replace_schema_metadata()
                # Reports were checked already, and kept columns have their types.
                .cast(self.schema, safe=False)
            )
            first += values.num_rows
        (whole,) = pa.concat_tables(made).combine_chunks().to_batches()
        return whole


def gathered(tables: Iterator[Any], part: int = PART) -> Iterator[Any]:
    """Small tables put together into some that are worth a row group each."""
    pa = arrow.arrow()
    held: list[Any] = []
    for table in tables:
        held.append(table)
        if sum(one.num_rows for one in held) >= part:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _grouped(groups: Sequence[int]) -> Cuts:
    held: list[int] = []
    rows = 0
    for at, more in enumerate(groups):
        if held and rows + more > PART:
            yield rows, tuple(held), ()
            held, rows = [], 0
        if more:
            held.append(at)
            rows += more
    if held:
        yield rows, tuple(held), ()


def _empty(source: Source) -> InvalidInput:
    return InvalidInput(f"rows in {source.where}", "none")


def tables(job: Job, parts: Parts, processes: int) -> Iterator[Any]:
    """The rows of all finished batches, shuffled unless their order is to be kept."""
    files = [path for _, path in sorted(parts.finished().items())]
    pa = arrow.arrow()

    def bucket(at: int) -> Any:
        rows = pa.Table.from_batches([parts.piece(path, at, job.schema) for path in files])
        order = permutation(SystemEntropy(), rows.num_rows)
        return rows.combine_chunks().take(pa.array(order)).cast(job.written)

    if job.keep_order:
        for path in files:
            yield pa.Table.from_batches([parts.piece(path, 0, job.schema)]).cast(job.written)
        return
    # Numpy and Arrow let threads run at once.
    with ThreadPoolExecutor(processes) as pool:
        ahead: deque[Future[Any]] = deque()
        try:
            for at in range(parts.buckets):
                ahead.append(pool.submit(bucket, at))
                if len(ahead) > processes:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

"""Values of any size into reports, a batch at a time, by several processes.

Batches are drawn once. Each is on the disk before it is named as finished, the output is put
together from finished ones alone and appears when all of it is there, and a run that was
interrupted goes on from what it had finished.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from confide import _arrow, _validate
from confide._files import atomic, publish
from confide.errors import InvalidInput, Mismatch
from confide.streams.batches import Job, gathered
from confide.streams.crew import cores, finished, in_order
from confide.streams.parts import Parts, folder_of

__all__ = ["Job", "privatize"]

Advance = Callable[[int], None]
Manifest = Mapping[str, Any]


def privatize(
    job: Job, to: Path, *, processes: int = 0, restart: bool = False, advance: Advance | None = None
) -> tuple[int, int]:
    """Write private reports of files into one, which appears when all of it is there.

    Parameters
    ----------
    job
        What is to be done.
    to
        A Parquet or CSV file.
    processes
        How many draw at once; 0 takes one a core.
    restart
        Throw away what an interrupted run did, which is otherwise taken as it is.
    advance
        Told of rows as they go by.

    Returns
    -------
    tuple
        The number of rows, and how many of them an interrupted run had drawn.
    """
    processes = _validate.integer(0, processes=processes) or cores()
    advance = advance or (lambda rows: None)
    manifest = job.manifest()
    if job.small and not os.path.lexists(folder_of(to)):
        return _at_once(job, to, manifest, advance), 0
    rows = drawn = 0
    metadata = job.survey.stamp().metadata()
    with Parts.open(to, manifest, restart=restart) as parts:
        output = parts.output(to.suffix)
        try:
            output.touch(0o600)
            with (
                _writer(output, job.keep) as write,
                closing(finished(job, parts, processes)) as batches,
            ):
                for batch, old in in_order(batches):
                    for table in gathered(parts.read(batch.number, batch.rows, metadata)):
                        write(table)
                    rows += batch.rows
                    drawn += batch.rows if old else 0
                    advance(batch.rows)
            _unchanged(job, manifest)
        except Mismatch:
            raise
        except InvalidInput:
            # The values have to change, so what was drawn is of no use; nobody has seen it.
            parts.remove()
            raise
        publish(output, to.resolve())
        _flush(to.resolve().parent)
        parts.remove()
    return rows, drawn


def _at_once(job: Job, to: Path, manifest: Manifest, advance: Advance) -> int:
    n = 0
    with atomic(to) as temporary, _writer(temporary, job.keep) as write:
        for batch in job.batches():
            for table in gathered(job.reports(batch)):
                write(table)
                advance(table.num_rows)
                n += table.num_rows
        _unchanged(job, manifest)
    return n


def _unchanged(job: Job, manifest: Manifest) -> None:
    """Refuse reports of values that were replaced on the way: some may stand in there twice."""
    if job.manifest() != manifest:
        raise InvalidInput(
            "values that stay as they are while they are read",
            "files that were changed meanwhile",
            "Run it again when they are finished.",
        )


def _flush(folder: Path) -> None:
    """Let the new name reach the disk before what it was made of goes."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _writer(path: Path, keep: Sequence[str]) -> Iterator[Callable[[Any], None]]:
    """Write tables one after the other; the first one says which columns there are."""
    opened: list[Any] = []

    def write(table: Any) -> None:
        if not opened:
            opened.append(_opened(path, table.schema, keep))
        opened[0].write_table(table)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def _opened(path: Path, schema: Any, keep: Sequence[str]) -> Any:
    if path.suffix == ".csv":
        return _arrow.arrow("pyarrow.csv").CSVWriter(path, schema)
    # Reports are small whole numbers without order: packed bits hold them in little more than a
    # dictionary does, and take half the time.
    packed = {name: "DELTA_BINARY_PACKED" for name in schema.names if name not in keep}
    return _arrow.arrow("pyarrow.parquet").ParquetWriter(
        path, schema, use_dictionary=list(keep), column_encoding=packed
    )

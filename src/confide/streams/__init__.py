"""Privatizes files of any size in batches, by several processes, in random order.

Every batch is drawn once. Its rows are dealt to random places and sealed before anything is
written, a run that was interrupted goes on from the batches that it had finished, and the output
appears when all of it is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.files import formats
from confide.reports.files import not_replaced
from confide.streams.batches import Job, gathered, tables
from confide.streams.crew import cores, finished, guarded
from confide.streams.parts import Parts, folder_of

__all__ = ["Job", "folder_of", "privatize"]

Advance = Callable[[int], None]
Manifest = Mapping[str, Any]


def privatize(
    job: Job,
    to: Path,
    *,
    processes: int = 0,
    replace: bool = False,
    restart: bool = False,
    advance: Advance | None = None,
) -> tuple[int, int]:
    r"""Write private reports of files into one, which appears when all of it is there.

    Parameters
    ----------
    job
        What is to be done.
    to
        A Parquet or CSV file.
    processes
        How many processes draw at once; 0 takes one for each core, and a small job always takes
        one. A script that starts several must do so under ``if __name__ == "__main__":``, since
        each process reads the script.
    replace
        Replace a file that is there. If it holds reports of the same people that anybody has
        seen, the second ones cost epsilon again.
    restart
        Throw away what an interrupted run did, which is otherwise taken as it is. Drawing again
        costs epsilon again if anybody has seen the first reports.
    advance
        Told of rows as they go by, each of them twice: when it is drawn and when it is written.

    Returns
    -------
    tuple
        The number of rows, and how many of them an interrupted run had drawn.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from confide import Survey
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "values.csv").write_text("pay\n3\n5\n")
    ...     job = Job(survey, [folder / "values.csv"])
    ...     _ = privatize(job, folder / "reports.parquet", processes=1)
    ...     (folder / "reports.parquet").is_file()
    True
    """
    wanted = _checks.integer(0, processes=processes) or cores()
    processes = 1 if job.small else wanted
    if processes > 1:
        guarded()
    if restart or not os.path.lexists(folder_of(to)):
        not_replaced(to, replace)
    told = advance or (lambda rows: None)
    manifest = job.manifest()
    with Parts.open(to, manifest, restart=restart) as parts:
        found = parts.whole()
        published = found is not None and to.exists() and to.samefile(found[0])
        if to.exists() and not (replace or published):
            if found is not None or parts.finished():
                raise parts.waiting(to)
            parts.remove()
            not_replaced(to, replace)
        if found is None:
            try:
                job.check_rounds()
                rows, drawn = _drawn(job, parts, processes, told)
                _unchanged(job, manifest)
                _written(job, parts, rows, to, processes=processes, advance=told)
            except Mismatch:
                raise
            except BaseException as error:
                # Values that are refused have to change, and a small run is soon done again. What
                # was drawn is sealed: nobody has seen it.
                if job.small or isinstance(error, InvalidInput):
                    parts.remove()
                raise
        else:
            # All was written, and perhaps published, before the run was interrupted.
            rows = drawn = found[1]
        parts.publish(to, replace=replace)
    return rows, drawn


def _drawn(job: Job, parts: Parts, processes: int, advance: Advance) -> tuple[int, int]:
    """Draw what was not drawn before; how many rows there are, and how many were."""
    rows = drawn = 0
    with closing(finished(job, parts, processes)) as batches:
        for batch, old in batches:
            rows += batch.rows
            drawn += batch.rows if old else 0
            advance(batch.rows)
    return rows, drawn


def _written(
    job: Job, parts: Parts, rows: int, to: Path, *, processes: int, advance: Advance
) -> None:
    """Put the output together, all of it or nothing."""
    written = 0
    kind = formats.format_of(to)
    packed = list(job.survey.types(packed=True)) if job.survey.width == 1 else []
    with (
        parts.writing(rows, to.suffix) as file,
        kind.writer(file, job.written, packed=packed) as writer,
    ):
        for table in gathered(tables(job, parts, processes), job.part):
            writer.write_table(table)
            written += table.num_rows
            advance(table.num_rows)
        if written != rows:
            raise parts.damaged()


def _unchanged(job: Job, manifest: Manifest) -> None:
    """Refuse reports of values that were replaced on the way: some may stand in there twice."""
    if job.manifest() != manifest:
        raise InvalidInput(
            "values that stay as they are while they are read",
            "files that were changed meanwhile",
            "Run it again when they are finished.",
        )

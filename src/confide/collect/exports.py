"""Exports of the stored reports as tables."""

from __future__ import annotations

import io
from array import array
from typing import Any

import numpy as np

from confide.collect.invitations import phase_of, uncell
from confide.collect.stores.store import Store
from confide.files import arrow
from confide.questions import Questionnaire
from confide.reports.rows import NOT_ASKED


def export(store: Store, survey: Questionnaire) -> Any:
    """All reports of the current phase of a survey, in random order.

    Parameters
    ----------
    store
        Where they are.
    survey
        The survey that they answer. Where it has phases, each has a table of its own.

    Returns
    -------
    pyarrow.Table
        One column of whole numbers for each question and each pair, and one of words for each
        public group. Its metadata names the mechanisms, so that the reports can be summarized
        without the survey. A question or pair that a person was not asked has no value in that row.
        A person without groups, in a survey that takes anybody, has none there.

    Notes
    -----
    Rows are shuffled with the system's entropy: while a survey runs, the order of a store follows
    the time of answering. The difference of two exports still shows the reports in between, perhaps
    of one person.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Survey
    >>> from confide.collect import opened
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = opened(f"{folder.name}/answers.db", survey, create=True, cap=10)
    >>> export(store, survey).num_rows
    0
    >>> store.shut()
    >>> folder.cleanup()
    """
    pa = arrow.arrow()
    reports = {name: array("i") for name in survey.mechanisms}
    cells: dict[str, int] = {}
    places = array("i")
    phase = None if survey.phases is None else survey.phases.now
    for cell, row in store.rows():
        if phase_of(cell) != phase:
            continue
        places.append(cells.setdefault(cell, len(cells)))
        for name, column in reports.items():
            column.append(row.get(name, NOT_ASKED))
    columns = {name: _column(column, survey) for name, column in reports.items()}
    values = [uncell(cell) or (None,) * len(survey.groups) for cell in cells]
    at = pa.array(places, type=pa.int32())
    for number, name in enumerate(survey.groups):
        words = pa.array([value[number] for value in values], type=pa.string())
        columns[name] = words.take(at)
    table = pa.table(columns).replace_schema_metadata(survey.stamp().metadata())
    return arrow.unpaired(arrow.mixed(table))


def _column(reports: array[int], survey: Questionnaire) -> Any:
    """A column of reports, null where the question or pair was not asked."""
    pa = arrow.arrow()
    if survey.asking is None:
        return pa.array(reports, type=pa.int32())
    own = np.frombuffer(reports, dtype=reports.typecode).astype(np.int32)
    return pa.array(own, mask=own == NOT_ASKED)


def parquet(table: Any) -> bytes:
    """A table as the bytes of a Parquet file."""
    file = io.BytesIO()
    arrow.arrow("pyarrow.parquet").write_table(table, file)
    return file.getvalue()

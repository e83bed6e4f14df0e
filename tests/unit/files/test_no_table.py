"""Messages about columns that make no table."""

from __future__ import annotations

import pytest

from confide.errors import InvalidInput
from confide.files.arrow import table_of


def test_columns_of_different_lengths_tell_them() -> None:
    with pytest.raises(InvalidInput, match="columns of one length, got 2 and 1 rows"):
        table_of({"pay": [1, 2], "age": [3]})


def test_a_column_that_mixes_types_is_told_by_its_place() -> None:
    """A dict that is no table may have answers for names, so that they are not quoted."""
    with pytest.raises(InvalidInput, match="got something else in column 2 of 2") as told:
        table_of({"pay": [1, 2], "secret": [3, "x"]})
    assert "secret" not in str(told.value)

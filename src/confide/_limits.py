"""Limits on the memory that a file may need, by its size.

A compressed file of a few bytes can unpack to gigabytes. Real files do not: they unpack to at most
a hundred times their size on disk, and even a column that repeats one value takes a byte for every
thousand rows.
"""

from __future__ import annotations

from confide.errors import InvalidInput

UNPACKED, RATIO = 2**26, 100
"""Bytes that a file may unpack to: so many, and so many for each of its own."""
VALUES, PER_BYTE = 2**24, 1000
"""Values that may be read from a file: so many, and so many for each of its bytes."""
WORD = 16
"""Letters that words have on average, at most, over all values that may be read."""
HELD, HELD_PER_BYTE = 2**26, 16
"""Values that may be held in memory at once: so many, and so many for each byte of the file."""
MAX_COLUMNS = 2**14
"""Columns of a table, as many as spreadsheets have."""
MAX_SURVEY = 2**23
"""Bytes of a survey."""


def check_unpacked(asked: int, size: int, where: str) -> None:
    """Refuse a file that unpacks to more bytes than its size allows."""
    most = UNPACKED + RATIO * size
    if asked > most:
        raise InvalidInput(
            f"at most {most:,} bytes in {where} when it is unpacked",
            "more",
            "If you trust the file, write it again without compression.",
        )


def check_values(asked: int, size: int, where: str) -> None:
    """Refuse a file of more values than its size allows."""
    most = VALUES + PER_BYTE * size
    if asked > most:
        raise InvalidInput(
            f"at most {most:,} values in the {size:,} bytes of {where}",
            f"{asked:,}",
            "If you trust the file, write it again with plain encoding.",
        )


def check_text(asked: int, size: int, where: str) -> None:
    """Refuse a file of more text than its size allows."""
    most = WORD * (VALUES + PER_BYTE * size)
    if asked > most:
        raise InvalidInput(
            f"at most {most:,} letters of text in the {size:,} bytes of {where}",
            "text that may be longer",
            "If you trust the file, write it again with plain encoding.",
        )


def check_held(asked: int, size: int, where: str, advice: str) -> None:
    """Refuse to hold more values of a file in memory than its size allows."""
    most = HELD + HELD_PER_BYTE * size
    if asked > most:
        raise InvalidInput(
            f"at most {most:,} values at once from the {size:,} bytes of {where}", "more", advice
        )


def check_columns(columns: int, where: str) -> None:
    """Refuse a table with too many columns."""
    if columns > MAX_COLUMNS:
        raise InvalidInput(f"at most {MAX_COLUMNS:,} columns in {where}", f"{columns:,}")

"""Results in files, by the ending of the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confide.errors import extra
from confide.files import formats
from confide.files.paths import writable, write_bytes
from confide.results.values import Estimates


def _page(results: Estimates, path: Path) -> None:
    from confide.results.page import document

    write_bytes(path, document(results).encode())


def _markdown(results: Estimates, path: Path) -> None:
    from confide.results.markdown import document

    write_bytes(path, document(results).encode())


def _json(results: Estimates, path: Path) -> None:
    text = json.dumps(results.to_dict(), allow_nan=False, ensure_ascii=False)
    write_bytes(path, text.encode())


def _table(results: Estimates, path: Path) -> None:
    formats.write(table(results), path)


def table(results: Estimates) -> Any:
    """The rows of results as an Arrow table, with the columns of `Results.to_frame`."""
    extra("pyarrow", "cli")
    import pyarrow as pa

    words, numbers = pa.string(), pa.float64()
    kinds = {"question": words, "by": words, "group": words, "n": pa.int64()}
    kinds |= {"measure": words, "quantity": words}
    numeric = ("estimate", "low", "high", "difference", "difference_low", "difference_high")
    kinds |= dict.fromkeys(numeric, numbers)
    return pa.Table.from_pylist(results.rows(), schema=pa.schema(list(kinds.items())))


FORMATS: dict[str, Callable[[Estimates, Path], None]] = {
    ".html": _page,
    ".md": _markdown,
    ".json": _json,
    ".csv": _table,
    ".parquet": _table,
}
"""What writes results into a file, for each ending."""


def save(results: Estimates, path: Path) -> None:
    """Write results into a file, whole or not at all; see `Results.save`."""
    writable(path, tuple(FORMATS))
    FORMATS[path.suffix](results, path)

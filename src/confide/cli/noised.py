"""Numbers that somebody else noised, from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confide import _checks
from confide.cli.values import headed
from confide.errors import InvalidInput
from confide.files import formats, parse
from confide.files.paths import expand
from confide.foreign import noise
from confide.foreign.spectrum import Spectrum
from confide.summaries import Counts

# What each law must know.
NOISES = {"laplace": ("scale",), "gaussian": ("scale",), "two-sided-gamma": ("scale", "shape")}
MEANINGS = {"scale": "the scale of the noise", "shape": "the shape of the noise"}


def read(
    path: Path,
    method: str,
    *,
    column: str | None,
    kind: str | None,
    parameters: Mapping[str, float | None],
    bounds: Mapping[str, float | None],
) -> tuple[str, Counts | Spectrum]:
    """The column and a summary of its numbers, of the kind that a method needs."""
    law = _law(kind, parameters)
    make: Callable[..., Counts | Spectrum] = Spectrum.of
    if method == "likelihood":
        make = Counts.of_noised
        for option, value in bounds.items():
            if value is None:
                raise InvalidInput(f"--{option}, a bound of the true values", "none")
    sources = [formats.source(found) for found in expand([path], formats.readable())]
    for source in sources:
        headed(source)
    column = column or _checks.only(sources[0].names, column=None)
    for source in sources:
        source.require([column])
    total: Any = None
    for source in sources:
        first = 0
        for batch in source.batches([column]):
            rows = parse.rows_of(source.where, first)
            values = parse.present(batch.column(0), name=column, plain=source.text, where=rows)
            first += values.size
            if values.size:
                own = make(values, noise=law, **bounds)
                total = own if total is None else total + own
        if not first:
            raise InvalidInput(f"rows in {source.where}", "none")
    return column, total


def _law(kind: str | None, parameters: Mapping[str, float | None]) -> noise.Noise:
    if kind is None:
        raise InvalidInput(f"--noise, one of {', '.join(NOISES)}", "none")
    needed = NOISES[_checks.one_of(tuple(NOISES), noise=kind)]
    for option, value in parameters.items():
        if option in needed and value is None:
            raise InvalidInput(f"--{option}, {MEANINGS[option]}", "none")
        if option not in needed and value is not None:
            raise InvalidInput(f"no --{option} for {kind} noise", f"--{option} {value:g}")
    return noise.from_dict({"noise": kind} | {key: parameters[key] for key in needed})

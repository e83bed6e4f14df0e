"""What studies have in common: how many surveys, a record, and a page of the docs."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

CLOSE = 1e-3
"""Relative difference below which a figure counts as the same: machines add in another order."""


def estimates_changed(study: Any) -> list[str]:
    """The figures of a record's sample that the code no longer gives: the record is old then.

    Parameters
    ----------
    study
        The module of a study: ``sample()`` estimates again what a few simulated surveys give, by
        name, from seeds of its own. Its record keeps them as ``"sample"``.
    """
    recorded = json.loads(study.RESULTS.read_text(encoding="utf-8"))["sample"]
    found = study.sample()
    if found.keys() != recorded.keys():
        return sorted(found.keys() ^ recorded.keys())
    return [
        name
        for name, value in found.items()
        if not math.isclose(value, recorded[name], rel_tol=CLOSE, abs_tol=CLOSE**2)
    ]


def run(study: Any, arguments: list[str] | None, *, surveys: int, thin: int) -> int:
    """Measure, print, and (unless thinned) write the results and the page.

    Parameters
    ----------
    study
        The module of a study: ``measured(surveys)`` gives its results with their ``"verdict"``,
        ``page(results)`` the page about them, and ``RESULTS`` and ``PAGE`` are their files.
    arguments
        Of the command line.
    surveys, thin
        Simulated surveys by default, and of a thin run.
    """
    parser = argparse.ArgumentParser(description=study.__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=surveys)
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    results = study.measured(thin if options.thin else options.surveys)
    text = study.page(results)
    print(text)
    if not options.thin:
        study.RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        study.PAGE.write_text(text + "\n", encoding="utf-8")
    return 0 if results["verdict"] == "reached" else 1

"""What studies have in common: how many surveys, a record, and a page of the docs."""

from __future__ import annotations

import argparse
import json
from typing import Any


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

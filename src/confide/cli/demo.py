"""`confide demo`: collect and estimate the pay of a made-up company."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from confide import datasets
from confide.cli import output
from confide.cli.estimates import rows_of
from confide.cli.options import JsonOption
from confide.displays import NAIVE, TRUTH, save
from confide.errors import InvalidInput, extra
from confide.estimators import Adaptive
from confide.files.paths import atomic, named
from confide.lattice import Lattice
from confide.mechanisms import Reports, SquareWave
from confide.summaries import Counts

QUANTILES = (0.25, 0.5, 0.75, 0.9)
LEVEL = 0.95


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where to write.")] = Path(
        "demo"
    ),
    n: Annotated[int, typer.Option("--n", help="Number of respondents.")] = 20_000,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of one report.")] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Privatize the pay of a made-up company, estimate its density, and compare with the truth."""
    extra("matplotlib", "plot")
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"a folder at {named(out)}", "a file")
    values = datasets.pay(n)
    lattice = Lattice(low=datasets.PAY_LOW, high=datasets.PAY_HIGH, size=1024)
    mechanism = SquareWave(lattice, epsilon=epsilon)
    reports = mechanism.privatize(values)
    curve = Adaptive().fit(Counts.of(reports))
    rows = rows_of(curve, QUANTILES, LEVEL)
    truths = [float(values.mean()), *np.quantile(values, QUANTILES).tolist()]
    picture = out / "density.png"
    out.mkdir(parents=True, exist_ok=True)
    with atomic(picture) as temporary:
        save(_draw(curve, reports, values), temporary)
    if as_json:
        compared = {
            name: {"true": truth, "estimate": value, "interval": ends and list(map(float, ends))}
            for (name, value, ends), truth in zip(rows, truths, strict=True)
        }
        output.machine({"n": n, "epsilon": epsilon, **compared, "output": str(picture)})
        return
    number = output.format_of([value for _, value, _ in rows])
    output.table(
        f"Yearly pay of {n:,} people, from one private report each",
        ("", "true", "estimate", "95 % from", "to"),
        [
            (name, number(truth), number(value), *(map(number, ends) if ends else ("-", "-")))
            for (name, value, ends), truth in zip(rows, truths, strict=True)
        ],
    )
    output.say(f"Picture: {picture}", mechanism.spend.words())


def _draw(curve: Any, reports: Reports, values: Any) -> Any:
    """The true density, what the reports look like, and what was recovered from them."""
    display = curve.plot(level=LEVEL)
    ax, edges = display.ax_, curve.cells.edges[0]
    mechanism = reports.mechanism
    assert isinstance(mechanism, SquareWave)
    seen = mechanism.lattice.position(reports.indices - mechanism.reach)
    step = edges[1] - edges[0]
    wide = np.arange(seen.min() - step, seen.max() + 2 * step, 4 * step)
    for label, sample, bins, color in (
        ("reports as they are", seen, wide, NAIVE),
        ("truth", values, edges, TRUTH),
    ):
        heights, _ = np.histogram(sample, bins)
        heights = heights / (len(sample) * np.diff(bins))
        ax.stairs(heights, bins, color=color, lw=1.2, label=label, baseline=None)
    ax.set_xlabel("yearly pay")
    ax.set_title(f"{len(reports):,} people, epsilon = {mechanism.epsilon:g}")
    ax.legend(frameon=False)
    return display

"""`confide design`: choose the noise before collecting."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.options import JsonOption, PlotOption, plottable
from confide.errors import InvalidInput
from confide.files.columns import Columns
from confide.gamma.designer import GammaDesign, optimal_gamma

design = typer.Typer(help="Choose the noise before collecting.")


@design.callback()
def _design() -> None:
    """Choose the noise before collecting."""


@design.command()
def gamma(
    file: Annotated[
        Path, typer.Argument(metavar="VALUES", help="CSV or Parquet: a file, a glob, a folder.")
    ],
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column; the only one by default.")
    ] = None,
    *,
    protection: Annotated[
        float, typer.Option(help="mu, in standard deviations of the values.")
    ] = 0.75,
    certainty: Annotated[
        float, typer.Option(help="Limit for the probability of a near guess.")
    ] = 0.9,
    shape: Annotated[float | None, typer.Option(help="Use this shape; 1 is Laplace noise.")] = None,
    floor: Annotated[float, typer.Option(help="The smallest shape allowed.")] = 0.8,
    near_cap: Annotated[
        float | None,
        typer.Option(help="Largest probability of noise below a hundredth of an sd."),
    ] = None,
    delta_cap: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="EPSILON DELTA", help="A further limit: the delta at this epsilon."),
    ] = None,
    bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH", help="Bounds to which values are clipped; by default their range."
        ),
    ] = None,
    criterion: Annotated[
        str, typer.Option(help="The error to minimize: mise (exact) or aimse.")
    ] = "mise",
    plot: PlotOption = None,
    curves: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture of the recovered distribution."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the two-sided gamma noise that protects values at the least cost."""
    pictures = [path for path in (plot, curves) if path is not None]
    for path in pictures:
        plottable(path, [file])
    if len(pictures) == 2 and pictures[0].resolve() == pictures[1].resolve():
        raise InvalidInput("a --plot file for each of the two pictures", "one file")
    with output.counter("Reading") as tell:
        ((name, x),) = Columns.open(file, column).read(tell).items()
    found = optimal_gamma(
        x,
        protection=protection,
        certainty=certainty,
        shape=shape,
        floor=floor,
        near_cap=near_cap,
        delta_cap=delta_cap,
        bounds=bounds,
        criterion=criterion,
    )
    title = f"{name}, mu = {found.mu:g}, certainty {found.certainty:g}"
    if plot is not None:
        output.save_plot(found.plot(), plot, title)
    if curves is not None:
        output.save_plot(found.plot_distribution(x, seed=0), curves, title, name=name)
    if as_json:
        output.machine({"column": name, **found.to_dict()})
        return
    _table(found, name)
    for path in pictures:
        output.say(f"Picture: {path}")


def _table(found: GammaDesign, name: str) -> None:
    rows = [
        ("this", f"{found.shape:.3g}", output.number(found.scale)),
        ("Laplace", "1", output.number(found.laplace.scale)),
    ]
    errors = (found.error, found.laplace.error)
    matches = (found.reidentification, found.laplace_reidentification)
    lines = [
        (*row, f"{error:.3g}", f"{100 * match:.2g} %")
        for row, error, match in zip(rows, errors, matches, strict=True)
    ]
    if found.shape == 1:
        del lines[1]
    head = ("noise", "shape", "scale", "expected error", "matched")
    output.table(f"{found.n:,} values of {name!r}, mu = {found.mu:g}", head, lines)
    output.say(*found.words())

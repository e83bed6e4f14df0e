"""`confide serve`: the page for respondents and the owner's dashboard."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.invite import PORT, KeyOption, StoreOption, asked_of, key_of, store_of
from confide.cli.options import JsonOption
from confide.collect import key_file
from confide.errors import InvalidInput
from confide.files.paths import named

if TYPE_CHECKING:
    from confide.collect import Addresses, demo


def serve(
    survey: Annotated[
        Path | None, typer.Argument(metavar="SURVEY", help="The survey, .toml or .json.")
    ] = None,
    *,
    store: StoreOption = None,
    key: KeyOption = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the respondents' page.")
    ] = PORT,
    owner_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of your dashboard, on this machine only.")
    ] = 8301,
    owner: Annotated[
        bool, typer.Option("--owner/--no-owner", help="Whether to serve the dashboard.")
    ] = True,
    owner_name: Annotated[
        str | None,
        typer.Option(
            metavar="HOST", help="Host name of the dashboard, if a proxy is in front of it."
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The page's public address, https://..., if a proxy ends TLS."
        ),
    ] = None,
    anybody: Annotated[
        int | None,
        typer.Option(
            "--anybody",
            metavar="N",
            min=1,
            help="Accept this many answers from anybody, without invitations. One "
            "person can then answer many times without being detected.",
        ),
    ] = None,
    as_demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve a built-in survey with made-up respondents.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve a survey: a page where people answer, and a dashboard for you."""
    # Imported here, so that a missing extra is reported and --help works without it.
    from confide.collect import Collector

    if as_demo:
        if survey is not None:
            raise InvalidInput("either a survey or --demo", "both")
        _demo(port, owner_port, as_json)
        return
    if survey is None:
        raise InvalidInput(
            "a survey, a file that ends in .toml",
            "none",
            "To try it without a survey: confide serve --demo.",
        )
    asked = asked_of(survey)
    signing = None
    if anybody is None:
        file = key_file(key_of(survey, key))
        signing = file.read()
        if signing is None:
            raise InvalidInput(
                f"a signing key at {named(file.path)}",
                "none",
                "Invite people first: confide invite makes it. If people were invited already, put "
                "their key back: with another one none of their links is accepted.",
            )
    elif asked.groups:
        raise InvalidInput(
            "a survey without groups for --anybody",
            f"the groups {', '.join(asked.groups)}",
            "Groups come with invitations.",
        )
    collector = Collector(
        asked,
        store_of(survey, store),
        signing,
        cap=anybody,
        host=host,
        port=port,
        owner_port=owner_port if owner else None,
        owner_name=owner_name,
        url=url,
    )
    collector.run(ready=lambda found: _ready(found, as_json, url))


def _ready(found: Addresses, as_json: bool, url: str | None) -> None:
    if as_json:
        output.machine({"page": found.page, "dashboard": found.dashboard})
        return
    output.link("Respondents: ", url or found.page)
    if found.dashboard:
        output.link("Your dashboard: ", found.dashboard)
    output.say("Stop with Ctrl+C. Everything that was acknowledged is stored.")


def _demo(port: int, owner_port: int, as_json: bool) -> None:
    from confide.collect import demo

    with tempfile.TemporaryDirectory(prefix="confide-demo-") as folder:
        show = demo.Show.prepared(Path(folder), port=port, owner_port=owner_port)
        stop = threading.Event()
        with _crowd(show, stop) as begin:

            def ready(found: Addresses) -> None:
                if as_json:
                    fields = {"page": found.page, "dashboard": found.dashboard}
                    output.machine({**fields, "invitation": show.link(found.page)})
                else:
                    output.say(f"{len(show.invited):,} made-up people begin to answer.")
                    output.link("Watch the estimates sharpen: ", found.dashboard)
                    output.link("Answer yourself:             ", show.link(found.page))
                    output.say("Stop with Ctrl+C; everything is thrown away then.")
                begin(found.page)

            show.collector.run(ready=ready, stop=stop)


@contextlib.contextmanager
def _crowd(show: demo.Show, stop: threading.Event) -> Iterator[demo.Begin]:
    """Made-up people who answer in a thread of their own until the program ends."""
    threads: list[threading.Thread] = []

    def begin(url: str) -> None:
        thread = threading.Thread(target=show.answer, args=(url, stop), daemon=True)
        threads.append(thread)
        thread.start()

    try:
        yield begin
    finally:
        stop.set()
        for thread in threads:
            thread.join()

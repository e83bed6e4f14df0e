"""`confide invite`: one link for each person who may answer a survey."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from confide.cli import output
from confide.cli.options import JsonOption
from confide.collect import People, Signer, key_file, opened
from confide.collect import invite as invited_all
from confide.collect.cautions import cautions
from confide.collect.people import check, check_first
from confide.collect.stores import has_password
from confide.collect.wire import check_survey
from confide.errors import ConfideWarning, InvalidInput
from confide.files.paths import counted, named, writable
from confide.survey import Survey

STORE = "CONFIDE_STORE"
"""Environment variable with the address of a store."""
PORT = 8300
"""Default port of the respondents' page in `confide serve`."""
SurveyArgument = Annotated[
    Path, typer.Argument(metavar="SURVEY", help="The survey, .toml or .json.")
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="A file, or postgresql://...; by default CONFIDE_STORE, or "
        "SURVEY.reports next to the survey.",
    ),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="The signing key; by default SURVEY.key next to the survey."
    ),
]


def store_of(survey: Path, store: str | None) -> str:
    """The address of a survey's store."""
    if store is not None and has_password(store):
        warnings.warn(
            "Other programs on this machine can see a password on the command line: put the "
            f"address into the environment variable {STORE}, or the password into PGPASSWORD or "
            "~/.pgpass.",
            ConfideWarning,
            stacklevel=2,
        )
    return store or os.environ.get(STORE) or str(survey.with_suffix(".reports"))


def asked_of(path: Path) -> Survey:
    """The survey of a file, with warnings of what its owner may not mean."""
    survey = Survey.read(path)
    check_survey(survey)
    for caution in cautions(survey):
        warnings.warn(caution, ConfideWarning, stacklevel=2)
    return survey


def key_of(survey: Path, key: Path | None) -> Path:
    """The file of a survey's signing key."""
    return survey.with_suffix(".key") if key is None else key


def invite(
    survey: SurveyArgument,
    *,
    to: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The links, a new .csv file.")
    ],
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="Public address of the page: https://..."),
    ],
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, help="Number of invitations, if there is no file of people."),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV file with a row for each person and a column for each group "
            "of the survey. Its columns are copied next to the links.",
        ),
    ] = None,
    store: StoreOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make one invitation for each person, and write their links into a file."""
    asked = asked_of(survey)
    if (n is None) == (people is None):
        raise InvalidInput("either -n or --people", "both" if n else "neither")
    invited = People.read(people, asked) if people is not None else People.nameless(n or 0)
    writable(to, (".csv",), [path for path in (survey, people) if path is not None])
    check(invited, asked, url=url, to=to)
    file = key_file(key_of(survey, key))
    # A key that cannot be used, and too few people, are refused before a store is made.
    if file.read() is None:
        check_first(invited, asked)
    opened_store = opened(store_of(survey, store), asked, create=True)
    try:
        before = sum(opened_store.status().invited.values())
        # After the look at the store: another process that invites makes its key first.
        signing = file.read()
        if signing is None and before:
            raise InvalidInput(
                f"the signing key of the {counted(before, 'invitation')} in the store, at "
                f"{named(file.path)}",
                "none",
                "Put it back. To begin anew, name another --store: links that were sent are void "
                "then.",
            )
        signer = Signer(signing or file.make_once(), asked)
        made = invited_all(invited, asked, signer, opened_store, url=url, to=to)
    finally:
        opened_store.shut()
    if as_json:
        output.machine({"n": made, "before": before, "output": str(to), "key": str(file.path)})
        return
    if before:
        output.say(
            f"{counted(before, 'invitation')} were there before, and all of them stay valid: "
            f"{before + made:,} in all. People who are in both files can answer twice."
        )
    parts = urlsplit(url)
    where = f" --url {url}"
    if parts.scheme != "https":
        port = parts.port or 80
        where = "" if port == PORT else f" --port {port}"
    # An address of a database may have a password in it.
    where += "" if store is None else " --store ..."
    output.say(
        f"{counted(made, 'invitation')} in {to}, which only you can read. Each link admits one "
        "answer.",
        f"Keep {file.path}: without it no link works.",
        f"Next: confide serve {survey}{where}",
    )
    if asked.ask is not None:
        output.say(
            f"Each person is asked {asked.ask} of {len(asked.questions)} questions, as the link "
            f"says. Each question is asked of {_alike(asked.groups)}."
        )
    if asked.relations is not None:
        share = f"{100 * asked.relations.share:.4g} %"
        output.say(
            f"{share} of the people are asked about a pair of questions instead, as the link "
            f"says. Each pair is asked of {_alike(asked.groups)}."
        )
    if asked.groups or asked.asking is not None:
        what = [
            *(["groups of a person"] if asked.groups else []),
            *(["questions that a person is asked"] if asked.asking is not None else []),
        ]
        output.say(
            f"The {' and the '.join(what)} are in the link and stored with the report. Where only "
            "a few people share them, they can tell whose report it is."
        )


def _alike(groups: Sequence[str]) -> str:
    """Of how many people each question or pair is asked."""
    return f"equally many people{' in every group' if groups else ''}, give or take one"

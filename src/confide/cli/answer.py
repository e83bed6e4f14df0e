"""`confide answer` and `confide verify`: answer without the page, and check what is served."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.accounting.spend import WEAK_EPSILON, odds, rounded_up
from confide.cli import output
from confide.cli.options import JsonOption
from confide.cli.parsing import harmless
from confide.collect import Client
from confide.collect import verify as verified
from confide.collect.client import check_asked
from confide.errors import InvalidInput
from confide.lattice import INTEGER, Categories
from confide.mechanisms import PairResponse
from confide.questions import Question
from confide.survey import Survey


def answer(
    link: Annotated[str, typer.Argument(metavar="LINK", help="The link of your invitation.")],
    *,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Answer a question on the command line; can be repeated. Shells "
            "keep typed commands in a history file.",
        ),
    ] = None,
    at_most: Annotated[
        float,
        typer.Option(
            metavar="EPSILON",
            help="The largest total epsilon for your answers; a survey that costs more is refused.",
        ),
    ] = WEAK_EPSILON,
    as_json: JsonOption = False,
) -> None:
    """Answer a survey on the terminal: noise is added here, and only noisy reports are sent."""
    client = Client(link, most=at_most)
    before = client.drawn() is not None
    answers: dict[str, Any] = {}
    if not before:
        client.check()
        survey = client.survey
        asked = {name: survey.questions[name] for name in client.asked}
        answers = _set(given or [], survey.questions)
        check_asked(answers, client.asked)
        if not as_json:
            output.say(survey.title or "A survey", *_told(client))
        missing = [name for name in asked if name not in answers]
        for name in missing:
            answers[name] = _ask(name, asked[name])
        if missing:
            _review(answers, asked)
    receipt = client.answer(answers)
    sent = json.loads(client.drawn() or b"{}")
    if before and given:
        print(
            "Warning: this machine has answered this link before. The earlier report was sent "
            "again, and the answers given now were not used.",
            file=sys.stderr,
        )
    if as_json:
        output.machine({"receipt": receipt, "drawn_before": before, "sent": sent["reports"]})
        return
    output.table(
        "What left this machine: noisy reports, not your answers",
        ("question", "number of the noisy report"),
        [(name, f"{report:,}") for name, report in sent["reports"].items()],
    )
    output.say(
        "The number is a position in the list of all reports that can be sent, drawn by chance. It "
        "is not your answer and has no unit."
    )
    if before:
        output.say("It was drawn by an earlier run, and was sent again; nothing was drawn anew.")
    output.say(f"The collector has it. Receipt: {receipt}")


def _told(client: Client) -> Iterator[str]:
    """Print what will be sent, before the first question."""
    survey = client.survey
    weak = " That is hardly any protection." if survey.spend.weak else ""
    sent = "one report that is sent changes" if client.paired else "reports that are sent change"
    yield (
        f"Your answers stay on this machine. Noise is added here: the {sent} anybody's odds about "
        f"you by a factor of at most {odds(survey.spend.epsilon)} (epsilon "
        f"{rounded_up(survey.spend.epsilon, 4)}).{weak}"
    )
    if client.paired:
        yield from _pair(survey.pairs[client.reported[0]])
    elif survey.ask is not None:
        yield f"You are asked {len(client.asked)} of {len(survey.questions)} questions."


def _pair(pair: PairResponse) -> Iterator[str]:
    """What one report about two answers says, with odds from its law."""
    yield "You are asked two questions, and one report about both answers together is sent."
    if pair.bit:
        yield "It says whether exactly one of these two holds, or none or both of them:"
    else:
        yield "It says which of these classes both answers are in:"
    for name, side in pair.sides.items():
        labels = side.labels()[1:] if pair.bit else side.labels()
        yield f"  {harmless(name)}: {harmless('; '.join(labels))}"
    if pair.declines:
        yield "Where you prefer not to say in one of them, the report is about that alone."
    near, far = pair.response.law.near, pair.response.law.far
    total = near + far * (pair.law.outputs[0] - 1)
    yield (
        f"Of 100 people with your two answers, {round(100 * near / total)} send just what holds "
        f"for them. Of 100 people with others, {round(100 * far / total)} send that as well."
    )


def _review(answers: dict[str, Any], questions: Any) -> None:
    """Show how the answers were read, and ask whether to go on: a report is drawn only once."""
    rows = [(name, _read_as(answers[name], question)) for name, question in questions.items()]
    output.say("")
    output.table("Your answers, on this machine only", ("question", "read as"), rows, words=2)
    if not typer.confirm("Add noise and send?", default=True):
        output.say("Nothing was drawn or sent.")
        raise typer.Exit


def _read_as(answer: Any, question: Question) -> str:
    if answer is None and question.mechanism.prefer_not_to_say:
        return "prefer not to say"
    if answer is None:
        return f"no answer, counts as {question.missing}"
    axis = question.axis
    if isinstance(axis, Categories):
        return dict(zip(axis.labels, question.wording.labels.get("", axis.labels), strict=True))[
            answer
        ]
    unit = question.wording.get("unit")
    text = f"{answer:,g}{' ' + unit if unit else ''}"
    inside = min(max(answer, axis.low), axis.high)
    return text if inside == answer else f"{text}, counts as {inside:,g}"


def _set(given: list[str], questions: Any) -> dict[str, Any]:
    if given:
        print(
            "Warning: a shell may keep answers that are typed after --set, and other programs on "
            "this machine can see them meanwhile.",
            file=sys.stderr,
        )
    answers: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or name not in questions:
            raise InvalidInput(
                f"--set NAME=VALUE with a question among {', '.join(questions)}", "another name"
            )
        if name in answers:
            raise InvalidInput("each question once", f"{name!r} twice")
        empty = not value and _may_be_empty(questions[name])
        answers[name] = None if empty else _read(value, name, questions[name])
    return answers


def _may_be_empty(question: Question) -> bool:
    """Whether no answer is one: to decline, or to count as the survey's value for it."""
    return question.mechanism.prefer_not_to_say or question.missing is not None


def _ask(name: str, question: Question) -> Any:
    """Ask on the terminal until there is an answer that the question takes."""
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"an answer to {name!r}", "none", "Without a terminal, give --set NAME=VALUE."
        )
    axis = question.axis
    text = harmless(question.wording.get("text") or name)
    if isinstance(axis, Categories):
        labels = question.wording.labels.get("", axis.labels)
        output.say("", text, *(f"  {at}  {harmless(label)}" for at, label in enumerate(labels, 1)))
        hint = f"1-{axis.size}"
    else:
        unit = question.wording.get("unit")
        low, high = question.ends
        hint = f"{low} to {high}{' ' + harmless(unit) if unit else ''}"
        output.say("", text)
    if help_text := question.wording.get("help"):
        output.say(harmless(help_text))
    may_decline = question.mechanism.prefer_not_to_say
    if may_decline:
        hint += "; empty if you prefer not to say"
    if question.missing is not None:
        hint += f"; empty counts as {harmless(str(question.missing))}"
    while True:
        typed = typer.prompt(f"[{hint}]", default="", show_default=False).strip()
        if not typed and _may_be_empty(question):
            return None
        if isinstance(axis, Categories) and typed in map(str, range(1, axis.size + 1)):
            return axis.labels[int(typed) - 1]
        try:
            return _read(typed, name, question)
        except InvalidInput as error:
            output.say(str(error))


def _read(typed: str, name: str, question: Question) -> Any:
    """What was typed, as a value of the question."""
    axis = question.axis
    if isinstance(axis, Categories):
        if typed not in axis.labels:
            raise InvalidInput(f"one of {', '.join(axis.labels)} for {name!r}", "another word")
        return typed
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in typed:
        raise InvalidInput(
            f"a number for {name!r}, such as {axis.high:g}",
            "text that is not a number",
            "Write it with a decimal point and without other separators.",
        )
    if axis.kind == INTEGER and not value.is_integer():
        raise InvalidInput(f"a whole number for {name!r}", "a number with a fraction")
    return value


def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the page.")],
    survey: Annotated[Path, typer.Argument(metavar="SURVEY", help="The survey as published.")],
    as_json: JsonOption = False,
) -> None:
    """Compare every file that a collector serves with this package, and its survey with a file."""
    asked = Survey.read(survey)
    found = verified(url, asked)
    if as_json:
        output.machine(found.to_dict())
    else:
        rows = [(path, "the same" if same else "DIFFERS") for path, same in found.files.items()]
        rows += [
            ("headers of the page", "the same" if found.headers else "DIFFER"),
            ("mechanisms of the survey", "the same" if found.mechanisms else "DIFFER"),
            ("wording of the survey", "the same" if found.wording else "DIFFERS"),
        ]
        output.table(f"Served by {url}", ("file", "compared with this package"), rows, words=2)
        output.say(
            "Everything served here is as it should be. A collector can serve something else to "
            "somebody else: check again from other places."
            if found.holds
            else "The page is right, but it asks another survey than the file."
            if all(found.files.values())
            else "Do not answer on this page: it is not the one that this release of confide ships."
        )
    if not found.holds:
        raise typer.Exit(1)

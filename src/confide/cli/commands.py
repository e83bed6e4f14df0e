"""How commands read their options, and how their help shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from confide.errors import InvalidInput


class Flags:
    """Shows a flag as a flag: help must not ask for a value that it does not take."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, --help included."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return params


class Group(Flags, TyperGroup):
    """Several commands under one name."""


class Command(Flags, TyperCommand):
    """A command that refuses an option given twice if it takes one value.

    The parser would keep the last and drop the others without a word.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed after the command's name."""
        check_repeats(self.get_params(ctx), args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def check_repeats(params: Sequence[Any], args: Sequence[str]) -> None:
    """Refuse options that take one value and are given more than one, or both ways of a flag."""
    known = {name: each for each in params for name in (*each.opts, *each.secondary_opts)}
    given: dict[str, Counter[str]] = {}
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            break
        name, equals, _ = word.partition("=")
        if name not in known and not word.startswith("--"):
            # A short option may have its value attached to it.
            name, equals = word[:2], word[2:]
        option = known.get(name)
        if option is None or option.param_type_name != "option":
            continue
        given.setdefault(option.name, Counter())[name] += 1
        if not (option.is_flag or equals):
            del left[: option.nargs]
        elif equals and not option.is_flag:
            del left[: option.nargs - 1]
    for each in params:
        names = given.get(each.name, Counter())
        if each.param_type_name != "option" or each.multiple:
            continue
        if each.is_flag and len(names) > 1:
            raise InvalidInput(f"one of {' and '.join(sorted(names))}", "both")
        if not each.is_flag and names.total() > 1:
            longest = max(each.opts, key=len)
            raise InvalidInput(f"{longest} once", f"it {names.total()} times")


def shape(app: typer.Typer) -> None:
    """Have all commands of an application, and of those inside it, behave so."""
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            shape(group.typer_instance)


def harmless(text: str) -> str:
    """Words out of a file that must not steer the terminal: what cannot be seen is spelt out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)

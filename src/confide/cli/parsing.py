"""How commands read their options, and how their help shows them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from confide.errors import InvalidInput

# Typer brings a click of its own, and older releases import the one that is installed: the classes
# of usage errors are in either case where this one is.
faults: Any = sys.modules[typer.BadParameter.__module__]


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
        given = check_repeats(self.get_params(ctx), args)
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except faults.BadParameter as error:
            param = getattr(error, "param", None)
            if param is not None and not isinstance(error, faults.MissingParameter):
                self._check_numbers(param, given.get(param.name, []))
            raise
        return rest

    def _check_numbers(self, option: Any, texts: Sequence[str]) -> None:
        """Refuse in our words what is no number, or too small, for an option that takes numbers."""
        hint = get_type_hints(self.callback, include_extras=True).get(option.name)
        kind = _number(hint)
        least = next((one.min for one in get_args(hint) if isinstance(one, OptionInfo)), None)
        if kind is None:
            return
        names = " / ".join(f"'{name}'" for name in option.opts)
        for text in texts:
            try:
                value = kind(text)
            except ValueError:
                expected = "a whole number" if kind is int else "a number"
            else:
                if least is None or value >= least:
                    continue
                expected = f"a number of at least {least:g}"
            raise InvalidInput(f"{expected} for {names}", repr(text)) from None


def _number(hint: Any) -> type[int] | type[float] | None:
    """Whether an option takes whole numbers or others, one or several; None for other things."""
    if hint is int:
        return int
    if hint is float:
        return float
    return next((kind for part in get_args(hint) if (kind := _number(part))), None)


def check_repeats(params: Sequence[Any], args: Sequence[str]) -> dict[str, list[str]]:
    """Refuse options that take one value and are given more than one, or both ways of a flag.

    Returns what each option was given.
    """
    known = {name: each for each in params for name in (*each.opts, *each.secondary_opts)}
    given: dict[str, Counter[str]] = {}
    texts: dict[str, list[str]] = {}
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            break
        name, equals, attached = word.partition("=")
        if name not in known and not word.startswith("--"):
            # A short option may have its value attached to it.
            name, equals, attached = word[:2], word[2:], word[2:]
        option = known.get(name)
        if option is None or option.param_type_name != "option":
            continue
        given.setdefault(option.name, Counter())[name] += 1
        if option.is_flag:
            continue
        own = [attached] if equals else []
        more = option.nargs - len(own)
        texts.setdefault(option.name, []).extend([*own, *left[:more]])
        del left[:more]
    for each in params:
        names = given.get(each.name, Counter())
        if each.param_type_name != "option" or each.multiple:
            continue
        if each.is_flag and len(names) > 1:
            ways = [way for way in (*each.opts, *each.secondary_opts) if way in names]
            raise InvalidInput(f"one of {' and '.join(ways)}", "both")
        if not each.is_flag and names.total() > 1:
            longest = max(each.opts, key=len)
            raise InvalidInput(f"{longest} once", f"it {names.total()} times")
    return texts


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

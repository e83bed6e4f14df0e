"""Errors and warnings of confide, and how their messages are made.

::

    ConfideError
    ├── InvalidInput     a parameter, a value or a file is not what it must be (also a ValueError)
    │   ├── Mismatch     two things that do not belong together (summaries, a file and its survey)
    │   ├── BudgetExhausted    a charge would exceed what may be spent; nothing was charged
    │   ├── Unnamed      several could be meant, and none was named
    │   ├── BadSetting   a named setting is missing, not known, or does not go with others
    │   └── ColumnFault        one column of a table is not what it must be
    │       ├── MissingColumn      it is not there
    │       ├── BadType            its type cannot hold what is wanted
    │       └── BadRows            some of its cells cannot be used
    ├── Unsupported      the method cannot do this; the message names the one that can
    ├── Refused          a collector cannot take an upload; it has the HTTP status that says so
    ├── Unavailable      a store of reports cannot be used now, but perhaps later
    ├── Unacknowledged   a collector has not said that it has a report
    └── MissingExtra     an optional dependency is not installed (also an ImportError)
    ConfideWarning       the result is valid, under conditions that are worth a look
    ├── Implausible      counts that no values could have given; the command line refuses them
    ├── LeftOut          rows were left out of a summary
    ├── Unstamped        files of reports do not say what made them, though they could
    └── Together         few people were asked the two questions that are related

Every message is one sentence of the form "Expected this, got that." and, where there is one, a
second that says what to do.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ContextDecorator
from types import ModuleType, TracebackType
from typing import Any

__all__ = [
    "BadRows",
    "BadType",
    "BudgetExhausted",
    "ColumnFault",
    "ConfideError",
    "ConfideWarning",
    "Implausible",
    "InvalidInput",
    "Mismatch",
    "MissingColumn",
    "MissingExtra",
    "Unsupported",
]

MOST = 1000
"""Characters of a message: more is a page, not a sentence."""


class ConfideError(Exception):
    """Base of all errors that confide raises on purpose.

    Examples
    --------
    >>> import confide as cf
    >>> try:
    ...     cf.Lattice(low=1, high=0)
    ... except cf.errors.ConfideError as error:
    ...     print(type(error).__name__)
    InvalidInput
    """


class InvalidInput(ConfideError, ValueError):
    """Something is not what it must be.

    Parameters
    ----------
    expected, got
        Halves of the sentence ``Expected {expected}, got {got}.``
    advice
        What to do about it; a sentence of its own.

    Examples
    --------
    >>> print(InvalidInput("epsilon > 0", "epsilon=-1", "Try 1."))
    Expected epsilon > 0, got epsilon=-1. Try 1.
    """

    def __init__(self, expected: str, got: str, advice: str = "") -> None:
        self.expected = expected
        self.got = got
        self.advice = advice
        super().__init__(
            _line(f"Expected {expected}, got {got}." + (f" {advice}" if advice else ""))
        )

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Pickle by the parts, so that an error crosses processes whole."""
        return type(self), (self.expected, self.got, self.advice)


def _line(text: str) -> str:
    """One line that any terminal shows and nobody scrolls: names come from files too."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    half = MOST // 2
    return text if len(text) <= MOST else f"{text[: half - 3]} ... {text[-half + 2 :]}"


class Mismatch(InvalidInput):
    """Two things that do not belong together.

    Examples
    --------
    >>> import confide as cf
    >>> axis = cf.Lattice(low=0, high=1, size=8)
    >>> one = cf.Counts.of(cf.Laplace(axis, epsilon=1.0).simulate([0.5], seed=1))
    >>> two = cf.Counts.of(cf.Laplace(axis, epsilon=2.0).simulate([0.5], seed=1))
    >>> try:
    ...     one + two
    ... except Mismatch:
    ...     print("Counts of different mechanisms do not add up.")
    Counts of different mechanisms do not add up.
    """


class BudgetExhausted(InvalidInput):
    """A charge would exceed the budget; nothing was drawn and nothing was charged.

    Examples
    --------
    >>> import tempfile
    >>> import confide as cf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = cf.Ledger(f"{folder}/pay.ledger", epsilon=1.0)
    ...     try:
    ...         ledger.charge("mean", {"what": "mean"}, cf.Spend(2.0), lambda: 0)
    ...     except BudgetExhausted:
    ...         print(ledger.spent)
    Spend(epsilon=0)
    """


class Unnamed(InvalidInput):
    """Several questions or columns could be meant, and none was named.

    Parameters
    ----------
    parameter
        The argument that names one; on the command line the option of the same name.
    names
        What it can be.
    """

    LISTED = 20
    """Names in a message, at most."""

    def __init__(self, parameter: str, names: Sequence[str]) -> None:
        self.parameter = parameter
        self.names = tuple(names)
        example = f"For example: {parameter}={self.names[0]!r}."
        super().__init__(f"{parameter}= to name one of {self.listed}", f"no {parameter}=", example)

    @property
    def listed(self) -> str:
        """The names for a message."""
        shown = ", ".join(map(repr, self.names[: self.LISTED]))
        return shown + (", ..." if self.names[self.LISTED :] else "")

    def __reduce__(self) -> Any:
        """Pickle by the parts."""
        return type(self), (self.parameter, self.names)


class BadSetting(InvalidInput):
    """A named setting is missing, not known, or does not go with others.

    Parameters
    ----------
    expected, got, advice
        As for `InvalidInput`. Settings stand in braces, ``{cells}`` or with a value ``{cells 5}``,
        so that a command or a page can show them as its reader writes them.

    Examples
    --------
    >>> error = BadSetting("no {cells} for series", "{cells 5}")
    >>> str(error)
    'Expected no cells for series, got cells=5.'
    >>> error.words(lambda name, value: f"--{name} {value}".strip())
    'Expected no --cells for series, got --cells 5.'
    """

    MARK = re.compile(r"\{(\w+)(?: ([^{}]*))?\}")

    def __init__(self, expected: str, got: str, advice: str = "") -> None:
        self.marked = (expected, got, advice)
        super().__init__(*self._spelled(_parameter))

    def words(self, spell: Callable[[str, str], str]) -> str:
        """The sentence, with every setting and its value, which may be "", in another spelling."""
        return str(InvalidInput(*self._spelled(spell)))

    def _spelled(self, spell: Callable[[str, str], str]) -> list[str]:
        def put(found: re.Match[str]) -> str:
            return spell(found[1], found[2] or "")

        return [self.MARK.sub(put, part) for part in self.marked]

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Pickle by the parts."""
        return type(self), self.marked


def _parameter(name: str, value: str) -> str:
    return f"{name}={value}" if value else name


class ColumnFault(InvalidInput):
    """One column of a table is not what it must be.

    Parameters
    ----------
    expected, got, advice
        As for `InvalidInput`.
    column
        The name of the column.

    Examples
    --------
    >>> error = ColumnFault("whole numbers", "words", column="age")
    >>> error.column, str(error)
    ('age', 'Expected whole numbers, got words.')
    """

    def __init__(self, expected: str, got: str, advice: str = "", *, column: str = "") -> None:
        super().__init__(expected, got, advice)
        self.column = column

    def __reduce__(self) -> Any:
        """Pickle by the parts."""
        return _again, (type(self), self.expected, self.got, self.advice, self.column)


def _again(kind: type[ColumnFault], *parts: str) -> ColumnFault:
    *sentence, column = parts
    return kind(*sentence, column=column)


class MissingColumn(ColumnFault):
    """A table lacks a column.

    Examples
    --------
    >>> import confide as cf
    >>> survey = cf.Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> try:
    ...     survey.privatize({"rent": [3.0]})
    ... except MissingColumn as error:
    ...     print(error.column)
    pay
    """


class BadType(ColumnFault):
    """A column has a type that cannot hold what is wanted: no row of it can be used.

    Examples
    --------
    >>> import confide as cf
    >>> survey = cf.Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> try:
    ...     survey.privatize({"pay": [[1.0], [2.0]]})
    ... except BadType as error:
    ...     print(error.column)
    pay
    """


class BadRows(ColumnFault):
    """Some cells of a column cannot be used; their rows can be left out.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.Laplace(cf.Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> try:
    ...     cf.reports.from_table({"pay": [3, None]}, mechanism=mechanism)
    ... except BadRows as error:
    ...     print(error)
    Expected whole numbers in column 'pay', got nothing in row 2 of the table.
    """


class Unsupported(ConfideError):
    """The method cannot do this; the message names the one that can.

    Parameters
    ----------
    reason
        A whole sentence, or where there is a method what it cannot do: ``{method} {reason}``.
    method
        The class that cannot.
    instead
        The class that can.

    Examples
    --------
    >>> print(Unsupported("has no interval of the mode", method="Likelihood", instead="the median"))
    Likelihood has no interval of the mode: take the median.
    """

    def __init__(self, reason: str, *, method: str = "", instead: str = "") -> None:
        self.reason = reason
        self.method = method
        self.instead = instead
        super().__init__(self.words({}))

    def words(self, names: Mapping[str, str]) -> str:
        """The sentence, with other names for classes where there are some."""
        start = f"{names.get(self.method, self.method)} {self.reason}".strip()
        return f"{start}: take {names.get(self.instead, self.instead)}." if self.instead else start

    def __reduce__(self) -> Any:
        """Pickle by the parts."""
        return _unsupported, (self.reason, self.method, self.instead)


def _unsupported(reason: str, method: str, instead: str) -> Unsupported:
    return Unsupported(reason, method=method, instead=instead)


class MissingExtra(ConfideError, ImportError):
    """An optional dependency is not installed.

    Examples
    --------
    >>> import textwrap
    >>> from confide.errors import extra
    >>> try:
    ...     extra("a_package_that_is_not_there", "plot")
    ... except MissingExtra as error:
    ...     print(textwrap.fill(str(error), 96))
    This needs a_package_that_is_not_there, which is not installed. Install confide with its extra
    plot: in a clone of it pip install '.[plot]', of a wheel pip install 'FILE.whl[plot]'.
    """


class ConfideWarning(UserWarning):
    """The result is valid, under conditions that are worth a look.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConfideWarning)  # take warnings of confide as errors
    """


class Implausible(ConfideWarning):
    """Counts that no values could have given; the command line refuses them.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", Implausible)  # refuse such counts, as commands do
    """


class unquoted(ContextDecorator):
    """Let no message out that may quote a private value: for wherever values meet other libraries.

    Errors of confide are raised again without their causes. Other errors may quote values, so they
    become an error that names only their kind and the lines of code that led to them. System
    errors, such as missing memory or files, are passed on unchanged.

    Parameters
    ----------
    expected
        What the values should have been.
    """

    def __init__(self, expected: str) -> None:
        self.expected = expected

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        lines: TracebackType | None,
    ) -> None:
        if isinstance(error, ConfideError):
            alone(error)
        elif isinstance(error, Exception) and not isinstance(error, OSError | MemoryError):
            told = InvalidInput(self.expected, f"a value that raised {type(error).__name__}")
            try:
                raise told.with_traceback(lines)
            finally:
                alone(told)


def alone(error: BaseException) -> None:
    """Forget the errors that led to this one: they may quote values, and logs print them too."""
    error.__cause__ = error.__context__ = None


def extra(module: str, name: str) -> ModuleType:
    """Import an optional module, or raise an error that names the extra to install.

    Parameters
    ----------
    module
        What to import, for instance ``"pyarrow"``.
    name
        The extra of this package that installs it, for instance ``"cli"``.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(module.partition(".")[0], name) from error


def missing(package: str, name: str) -> MissingExtra:
    """The error that an optional package is not installed, but would be with an extra of ours."""
    return MissingExtra(f"This needs {package}, which is not installed. {installing(name)}")


EXTRAS = {
    "cli": ("typer", "rich", "pyarrow"),
    "plot": ("matplotlib",),
    "nufft": ("finufft",),
    "sklearn": ("sklearn",),
    "tables": ("ibis", "duckdb", "pyarrow"),
    "serve": ("typer", "rich", "pyarrow", "starlette", "uvicorn", "httptools"),
    "postgres": ("starlette", "uvicorn", "psycopg"),
    "spark": ("ibis", "pyspark"),
}
"""Modules that each extra installs."""


def installing(name: str) -> str:
    """How to install an extra. No package index is named: there, confide may be somebody else's."""
    return (
        f"Install confide with its extra {name}: in a clone of it pip install '.[{name}]', of a "
        f"wheel pip install 'FILE.whl[{name}]'."
    )

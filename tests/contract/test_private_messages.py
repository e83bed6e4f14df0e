"""No message quotes a value, wherever values come in and whatever they are.

Every path that private values can take is driven with columns that hold a secret of many kinds.
What is raised is looked at whole: all errors that led to it, whether they would be shown or not,
with what was printed and warned of. The secret must not be found in any of it.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import confide as cf
from confide import releases, sampling, streams
from confide.cli.app import run
from confide.estimators import Likelihood, RatioRegression
from confide.sklearn import PrivateClassifier, PrivateKDE, PrivateRegressor
from confide.survey import Survey

MARK = str(7315 * 10**6 + 197315)
NUMBER = int(MARK)
DAY = datetime.date(1973, 5, 17)


class Named:
    """An object that tells its secret wherever it is shown."""

    def __repr__(self) -> str:
        return MARK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MARK


class Raises(Named):
    """An object that tells its secret when it is asked for a number or for its parts."""

    def tell(self, *_: Any, **__: Any) -> Any:
        raise ValueError(MARK)

    __float__ = __int__ = __index__ = __len__ = __iter__ = __getitem__ = __bool__ = tell
    __array__ = __eq__ = __hash__ = __lt__ = tell  # type: ignore[assignment]


class Text(str):
    """Text that tells its secret when it is shown."""

    def __repr__(self) -> str:
        return MARK


class Whole(int):
    """A number that tells its secret when it is shown."""

    def __repr__(self) -> str:
        return MARK


CELLS: dict[str, Callable[[], Any]] = {
    "text": lambda: f"x{MARK}",
    "text of a number": lambda: MARK,
    "money": lambda: f"${MARK},00",
    "bytes": MARK.encode,
    "number": lambda: float(NUMBER),
    "huge": lambda: NUMBER**40,
    "huge negative": lambda: -(NUMBER**40),
    "int64": lambda: NUMBER * 10**9,
    "uint64": lambda: NUMBER * 2 * 10**9,
    "128 bits": lambda: NUMBER * 10**20,
    "decimal": lambda: Decimal(f"{MARK}.25"),
    "huge decimal": lambda: Decimal(f"{MARK}e9999"),
    "fraction": lambda: Fraction(NUMBER, 7),
    "huge fraction": lambda: Fraction(NUMBER**99, 7),
    "complex": lambda: complex(NUMBER),
    "date": lambda: DAY,
    "time": lambda: datetime.datetime.combine(DAY, datetime.time(1, 2)),
    "span": lambda: datetime.timedelta(days=NUMBER // 10**4),
    "pandas time": lambda: pd.Timestamp(DAY),
    "numpy time": lambda: np.datetime64(DAY),
    "list": lambda: [float(NUMBER)],
    "list of text": lambda: [MARK, 1],
    "nested": lambda: [[MARK, [NUMBER]], 2],
    "set": lambda: {NUMBER, MARK},
    "dict": lambda: {MARK: NUMBER},
    "array": lambda: np.array([float(NUMBER), 1.0]),
    "named": Named,
    "raises": Raises,
    "text that tells": lambda: Text(f"y{MARK}"),
    "number that tells": lambda: Whole(10**400),
    "class": lambda: type(f"C{MARK}", (), {}),
    "error": lambda: ValueError(MARK),
}
TOKENS = (MARK, "1973-05-17", "1973, 5, 17", "731519", "x731", "y731")


def odd(*cells: Any) -> np.ndarray:
    """An array that holds its cells as they are."""
    array = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        array[at] = cell
    return array


def columns(cell: Callable[[], Any]) -> list[Any]:
    """Columns with a secret cell: in several places and containers, and the cell itself."""
    made = [
        [0.5, cell(), 0.25],
        [cell(), 0.5],
        [cell(), cell()],
        ["no", cell()],
        [None, cell()],
        [True, cell()],
        (0.5, cell()),
        {0: 0.5, 1: cell()},
        odd(0.5, cell()),
        odd("no", cell()),
        np.ma.MaskedArray(odd(0.5, cell()), mask=[0, 1]),
        (one for one in (0.5, cell())),
        cell(),
    ]
    for build in (np.array, pd.Series, pd.Categorical, pl.Series, pa.array):
        for cells in (
            [0.5, cell()],
            [cell(), cell()],
            odd(0.5, cell()),
            odd(cell(), cell()),
        ):
            # Libraries cannot hold every cell, and old ones fewer.
            with contextlib.suppress(Exception, pl.exceptions.PanicException):
                one = build(cells)
                if build is pl.Series:
                    np.asarray(one)
                made.append(one)
    return made


LATTICE = cf.Lattice(low=0, high=1, size=8)
WORDS = cf.Categories(("no", "yes"))
BOX = {"a": LATTICE, "b": LATTICE}
SURVEY = Survey.from_dict(
    {
        "questions": {
            "pay": {"low": 0, "high": 1, "epsilon": 1.0, "size": 8},
            "smokes": {"categories": ["no", "yes"], "epsilon": 1.0},
        }
    }
)
PAY = Survey({"pay": SURVEY.questions["pay"]})
SMOKES = Survey({"smokes": SURVEY.questions["smokes"]})
PAIRED = Survey.from_dict(
    {
        "epsilon": 1.0,
        "ask": 1,
        "relations": {"pairs": [["pay", "smokes"]], "at": {"pay": 0.5}},
        "questions": {
            "pay": {"low": 0, "high": 1, "size": 8},
            "smokes": {"categories": ["no", "yes"], "prefer_not_to_say": True},
        },
    }
)
(PAIR,) = PAIRED.pairs.values()
PHASED, REPEATED = (
    Survey.from_dict({"epsilon": 1.0, **times, "questions": {"pay": {"low": 0, "high": 1}}})
    for times in ({"phases": {}}, {"rounds": {"count": 3}})
)
JOINT = cf.Joint({"a": cf.SquareWave(LATTICE, epsilon=1.0), "b": cf.Laplace(LATTICE, epsilon=1.0)})
PARTITION = cf.Partition(cf.Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
PLANE = cf.Partition(cf.Cells(low=[0, 0], high=[1, 1], shape=[2, 2]), bound=1.0, epsilon=2.0)
CLASSES = cf.Partition(cf.Cells(low=[0], high=[1], shape=[4]), classify=True, epsilon=2.0)


def pairs(column: Any) -> list[list[Any]]:
    return [[one, one] for one in column]


def rows(column: Any) -> list[list[Any]]:
    return [[one] for one in column]


def halves(column: Any) -> list[float]:
    return [0.5] * len(column)


# What makes the input, outside of our code, and what takes it.
Path_ = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def plain(take: Callable[[Any], Any]) -> Path_:
    return (lambda x: x), take


def density() -> Any:
    return PrivateKDE(epsilon=1.0, low=0, high=1, size=4)


def regressor() -> Any:
    bounds = {"low": 0, "high": 1, "response_low": 0, "response_high": 1}
    return PrivateRegressor(epsilon=1.0, size=4, cells=(2, 2), **bounds)


@cache
def fitted() -> Any:
    return regressor().fit(rows(np.linspace(0, 1, 50)), np.linspace(0, 1, 50))


PATHS: dict[str, Path_] = {
    "lattice": plain(LATTICE.index),
    "log lattice": plain(cf.Lattice(low=1, high=9, size=8, scale="log").index),
    "categories": plain(cf.Categories(("no", "yes")).index),
    "cells": plain(PARTITION.cells.index),
    "cells of rows": (pairs, PLANE.cells.index),
    "square wave": plain(cf.SquareWave(LATTICE, epsilon=1.0).privatize),
    "square wave that can be declined": plain(
        cf.SquareWave(LATTICE, epsilon=1.0, prefer_not_to_say=True).privatize
    ),
    "square wave of whole numbers": plain(
        cf.SquareWave(cf.Lattice(low=0, high=9, kind="integer"), epsilon=1.0).privatize
    ),
    "laplace": plain(cf.Laplace(LATTICE, epsilon=1.0).privatize),
    "gamma": plain(cf.TwoSidedGamma(LATTICE, shape=1.0, scale=1.0).privatize),
    "randomized response": plain(cf.RandomizedResponse(["no", "yes"], epsilon=1.0).privatize),
    "words that can be declined": plain(
        cf.RandomizedResponse(["no", "yes"], epsilon=1.0, prefer_not_to_say=True).privatize
    ),
    "simulated": plain(lambda x: cf.SquareWave(LATTICE, epsilon=1.0).simulate(x, seed=1)),
    "joint": (lambda x: {"a": x, "b": x}, JOINT.privatize),
    "joint rows": (pairs, JOINT.privatize),
    "joint frame": (lambda x: pd.DataFrame({"a": x, "b": x}), JOINT.privatize),
    "partition": plain(lambda x: PARTITION.privatize(x, x)),
    "partition response": (lambda x: (halves(x), x), lambda x: PARTITION.privatize(*x)),
    "partition plane": (lambda x: (pairs(x), halves(x)), lambda x: PLANE.privatize(*x)),
    "partition classes": (lambda x: (halves(x), x), lambda x: CLASSES.privatize(*x)),
    "survey": (lambda x: {"pay": x}, PAY.privatize),
    "survey of words": (lambda x: {"smokes": x}, SMOKES.privatize),
    "survey of both": (lambda x: {"pay": x, "smokes": x}, SURVEY.privatize),
    "survey that keeps": (
        lambda x: {"pay": halves(x), "x": x},
        lambda x: PAY.privatize(x, keep=["x"]),
    ),
    "survey of two lengths": (lambda x: {"pay": x, "x": [1.0] * 7}, PAY.privatize),
    "survey of no table": plain(PAY.privatize),
    "survey simulated": (lambda x: {"pay": x}, lambda x: PAY.simulate(x, seed=1)),
    "survey pandas": (lambda x: pd.DataFrame({"pay": x}), PAY.privatize),
    "survey pandas names": (lambda x: pd.DataFrame([[0.5, 0.5]], columns=x), PAY.privatize),
    "survey pandas words": (lambda x: pd.DataFrame({"smokes": x}), SMOKES.privatize),
    "survey polars": (lambda x: pl.DataFrame({"pay": x}, strict=False), PAY.privatize),
    "survey polars words": (lambda x: pl.DataFrame({"smokes": x}, strict=False), SMOKES.privatize),
    "survey polars objects": (
        lambda x: pl.DataFrame({"pay": pl.Series(list(x), dtype=pl.Object)}),
        PAY.privatize,
    ),
    "survey arrow": (lambda x: pa.table({"pay": pa.array(list(x))}), PAY.privatize),
    "survey arrow words": (lambda x: pa.table({"smokes": pa.array(list(x))}), SMOKES.privatize),
    "pair": (lambda x: {"pay": x, "smokes": x}, PAIR.privatize),
    "survey of pairs": (lambda x: {"pay": x, "smokes": x}, PAIRED.privatize),
    "survey of phases": (lambda x: {"pay": x, "phase": [1] * len(x)}, PHASED.privatize),
    "survey of phases that are none": (lambda x: {"pay": halves(x), "phase": x}, PHASED.privatize),
    "survey of rounds": (
        lambda x: {"pay": x, "person": range(len(x)), "round": [1] * len(x)},
        REPEATED.privatize,
    ),
    "survey of rounds that are none": (
        lambda x: {"pay": halves(x), "person": x, "round": x},
        REPEATED.privatize,
    ),
    "groups of a release": (
        lambda x: (halves(x), x),
        lambda x: releases.release_groups(
            releases.Query("mean", LATTICE, epsilon=1.0), *x, groups=["a", "b"], attribute="region"
        ),
    ),
    "count": plain(releases.Query("count", epsilon=1.0).release),
    "mean": plain(releases.Query("mean", LATTICE, epsilon=1.0).release),
    "quantile": plain(releases.Query("quantile", LATTICE, epsilon=1.0, q=0.5).release),
    "histogram": plain(releases.Histogram(LATTICE, epsilon=1.0).release),
    "histogram columns": (
        lambda x: {"a": x, "b": x},
        releases.Histogram(BOX, epsilon=1.0).release,
    ),
    "histogram rows": (pairs, releases.Histogram(BOX, epsilon=1.0).release),
    "histogram frame": (
        lambda x: pd.DataFrame({"a": x, "b": x}),
        releases.Histogram(BOX, epsilon=1.0).release,
    ),
    "histogram polars": (
        lambda x: pl.DataFrame({"a": x, "b": x}, strict=False),
        releases.Histogram(BOX, epsilon=1.0).release,
    ),
    "series": plain(releases.Series(LATTICE, epsilon=1.0).release),
    "bernstein": plain(releases.Bernstein(LATTICE, epsilon=1.0).release),
    "gaussian process": plain(releases.GaussianProcess(LATTICE, epsilon=1.0, delta=1e-6).release),
    "kolmogorov-smirnov": plain(releases.KolmogorovSmirnov(LATTICE, epsilon=1.0).release),
    "means": (pairs, releases.Means(BOX, epsilon=1.0).release),
    "cross table": (
        lambda x: {"a": halves(x), "b": x},
        releases.CrossTable(
            {"a": cf.Lattice(low=0, high=1, size=4), "b": cf.Categories(("no", "yes"))}, epsilon=1.0
        ).release,
    ),
    "least squares": (pairs, releases.LeastSquares(BOX, target="a", epsilon=1.0).release),
    "least squares of words": (
        lambda x: {"a": halves(x), "b": x},
        releases.LeastSquares(
            {"a": LATTICE, "b": cf.Categories(("no", "yes"))}, target="b", epsilon=1.0
        ).release,
    ),
    "statistic": plain(
        releases.Statistic(
            "sum", lambda x: x.sum() / x.size, LATTICE, sensitivity=1e9, low=0, high=1, epsilon=1.0
        ).release
    ),
    "selection": plain(
        releases.Selection(
            "sum",
            lambda x, _: x.sum(),
            ["a", "b"],
            LATTICE,
            sensitivity=1e9,
            low=0,
            high=1,
            epsilon=1.0,
        ).release
    ),
    "choice": plain(
        releases.Choice(
            [releases.Histogram(LATTICE, epsilon=0.5, cells=cells) for cells in (2, 4)],
            epsilon=1.0,
        ).release
    ),
    "holdout": plain(lambda x: releases.Holdout([0.5, 0.5], x, epsilon=1.0, overfits=1)),
    "holdout train": plain(lambda x: releases.Holdout(x, [0.5, 0.5], epsilon=1.0, overfits=1)),
    "simulated release": plain(
        lambda x: releases.Histogram(LATTICE, epsilon=1.0).simulate(x, seed=1)
    ),
    "finite mollifier": (
        lambda x: {"a": x, "b": x},
        cf.FiniteMollifier(
            {"a": LATTICE, "b": cf.Categories(("no", "yes"))}, epsilon=1.0
        ).privatize,
    ),
    "mollifier": plain(
        cf.Mollifier(reference=sampling.Gaussian(), epsilon=1.0, atoms=50).privatize
    ),
    "mollifier box": plain(
        cf.Mollifier(reference=sampling.Box(low=0, high=1), epsilon=1.0, atoms=50).privatize
    ),
    "mollifier plane": (
        pairs,
        cf.Mollifier(reference=sampling.Gaussian(dim=2), epsilon=1.0, atoms=50).privatize,
    ),
    "mbde": plain(
        sampling.MBDE(
            reference=sampling.Gaussian(), epsilon=1.0, learner=LogisticRegression()
        ).privatize
    ),
    "naive": plain(sampling.NaiveSampler(cf.Laplace(LATTICE, epsilon=1.0)).privatize),
    "sklearn density": (rows, lambda x: density().fit(x)),
    "sklearn density of a column": plain(lambda x: density().fit(x)),
    "sklearn density frame": (
        lambda x: pd.DataFrame({"a": x, "b": x}),
        lambda x: density().fit(x),
    ),
    "sklearn regressor": (lambda x: (rows(halves(x)), x), lambda x: regressor().fit(*x)),
    "sklearn regressor features": (
        lambda x: (rows(x), halves(x)),
        lambda x: regressor().fit(*x),
    ),
    "sklearn regressor pairs": (lambda x: (pairs(x), halves(x)), lambda x: regressor().fit(*x)),
    "sklearn regressor predicts": (rows, lambda x: fitted().predict(x)),
    "sklearn classifier": (
        lambda x: (rows(halves(x)), x),
        lambda x: PrivateClassifier(epsilon=1.0, low=0, high=1, size=4).fit(*x),
    ),
}


def told(error: BaseException | None) -> list[str]:
    """All that an error and those that led to it can tell, whether they would be shown or not."""
    texts, seen, waiting = [], set(), [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        # Without the frames, which are lines of the program.
        texts += traceback.format_exception_only(one)
        texts += [part for part in one.args if isinstance(part, str)]
        texts += getattr(one, "__notes__", [])
        waiting += [one.__cause__, one.__context__]
    return texts


def all_told(path: Callable[[Any], Any], column: Any) -> tuple[str, str]:
    """Everything that is said while a path takes a column, and the kind of error, if any."""
    printed, failed = io.StringIO(), None
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            path(column)
        except Exception as error:
            failed = error
    texts = [*told(failed), printed.getvalue(), *(str(one.message) for one in warned)]
    return "\n".join(texts), type(failed).__name__ if failed else ""


def secrets(text: str) -> list[str]:
    return [token for token in TOKENS if token in text]


def refused(path: Path_, cell: Callable[[], Any]) -> Iterator[tuple[str, str]]:
    """What is told of each column that a path refuses, with the kind of error."""
    make, take = path
    for column in columns(cell):
        try:
            given = make(column)
        except Exception:
            continue
        try:
            text, kind = all_told(take, given)
        except pl.exceptions.PanicException as crash:
            # An old polars ends so where it cannot make an array of its own column.
            text, kind = str(crash), ""
        assert not secrets(text), text
        if kind:
            yield kind, text


@pytest.fixture
def one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate sees reports and never a value: the first one that is made serves for all."""
    for kind in (Likelihood, RatioRegression):
        monkeypatch.setattr(kind, "fit", first_of(kind.fit))


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    results: list[Any] = []

    def fit(*given: Any) -> Any:
        if not results:
            results.append(function(*given))
        return results[0]

    return fit


@pytest.mark.usefixtures("one_fit")
@pytest.mark.parametrize("name", PATHS)
def test_no_message_quotes_a_value(name: str) -> None:
    told = [one for cell in CELLS.values() for one in refused(PATHS[name], cell)]
    assert len(told) > 20
    # What is refused is refused in our words.
    ours = {"InvalidInput", "BadRows", "BadType", "MissingColumn", "Unsupported"} | (
        {"ValueError", "TypeError"} if "sklearn" in name else set()
    )
    assert {kind for kind, _ in told} <= ours


SURVEYS = {
    "pay": "[questions.pay]\nlow = 0\nhigh = 1\nepsilon = 1.0\n",
    "smokes": '[questions.smokes]\ncategories = ["no", "yes"]\nepsilon = 1.0\n',
}
VERBS = {
    "privatize": "privatize {survey}.toml {file} -o out.parquet --replace",
    "release": "release query {file} --what mean --column pay --low 0 --high 1 --epsilon 1",
    "sample": "sample {file} --column pay --reference gaussian --epsilon 1",
    "summarize": "summarize {survey}.toml {file} -o out.json",
}
TEXTS = (
    "NAME\n0.5\nCELL\n",
    "NAME\nCELL\n0.5\n",
    "NAME,NAME\nCELL,1\n",
    "CELL,x\n0.5,1\n",
    "CELL,CELL\n0.5,1\n",
    "NAME\n0.5,CELL\n",
    'NAME\n0.5\n"CELL\n',
    "NAME;x\nCELL;1\n",
    "NAME\n\xffCELL\n",
    "NAME\n0.5\nCELL\0\n",
)
"""CSV files with a secret: in a cell, as a header, and in lines that cannot be read."""


def files(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names of questions and files of values with secrets, as far as those can be written."""
    seen = set()
    for kind, cell in CELLS.items():
        tables = []
        for cells in ([0.5, cell()], [cell(), cell()], ["no", cell()], [None, cell()]):
            with contextlib.suppress(Exception):
                tables.append(pa.array(cells))
        for name in names:
            for table in tables:
                pq.write_table(pa.table({name: table}), "values.parquet")
                yield name, "values.parquet"
            for text in TEXTS if kind in ("text", "text of a number") else TEXTS[:2]:
                whole = text.replace("NAME", name).replace("CELL", str(cell()))
                if whole not in seen:
                    Path("values.csv").write_bytes(whole.encode("latin-1"))
                    yield name, "values.csv"
                seen.add(whole)


@pytest.mark.parametrize("verb", VERBS)
def test_no_message_of_the_program_quotes_a_value(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in SURVEYS.items():
        Path(f"{name}.toml").write_text(text)
    codes: list[int] = []
    for survey, file in files(["pay"] if "--column" in VERBS[verb] else ["pay", "smokes"]):
        command = VERBS[verb].format(survey=survey, file=file).split()
        text, kind = all_told(lambda given: codes.append(run(given)), command)
        assert not kind, text
        assert not secrets(text), (Path(file).read_bytes(), text)
    assert set(codes) <= {0, 2}
    assert codes.count(2) > 50


def test_no_error_of_a_stream_quotes_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same in Python, where the whole error is seen."""
    monkeypatch.chdir(tmp_path)
    kinds = []
    for name, file in files(["pay", "smokes"]):
        survey = {"pay": PAY, "smokes": SMOKES}[name]

        def take(given: str, survey: Survey = survey) -> None:
            job = streams.Job(survey, [Path(given)])
            streams.privatize(job, Path("out.parquet"), processes=1, replace=True)

        text, kind = all_told(take, file)
        assert not secrets(text), (Path(file).read_bytes(), text)
        kinds.append(kind)
    assert set(kinds) <= {"", "InvalidInput", "BadRows", "BadType", "MissingColumn"}
    assert sum(kind != "" for kind in kinds) > 100


def in_a_message(value: Any) -> None:
    raise ValueError(f"not {value}")


def in_a_cause(value: Any) -> None:
    try:
        in_a_message(value)
    except ValueError as error:
        raise TypeError("not this") from error


def in_a_context(value: Any) -> None:
    try:
        in_a_message(value)
    except ValueError:
        raise TypeError("not this") from None


def in_a_note(value: Any) -> None:
    error = TypeError("not this")
    error.add_note(str(value))
    raise error


def in_a_warning(value: Any) -> None:
    warnings.warn(f"odd: {value}", stacklevel=1)


@pytest.mark.parametrize("tell", [in_a_message, in_a_cause, in_a_context, in_a_note, in_a_warning])
def test_a_value_that_is_quoted_anywhere_is_seen(tell: Callable[[Any], Any]) -> None:
    assert secrets(all_told(tell, MARK)[0])
    assert not secrets(all_told(tell, "another")[0])
    assert secrets(all_told(print, MARK)[0])

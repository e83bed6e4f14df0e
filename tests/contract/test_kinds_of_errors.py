"""Every kind of error is in the tree that the docs show, and crosses processes whole."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil

import pytest

import confide
from confide import errors
from confide.errors import BadRows, BadType, ColumnFault, MissingColumn, Unsupported


def kinds() -> set[type]:
    found = set()
    for module in pkgutil.walk_packages(confide.__path__, "confide."):
        if module.name != "confide.__main__":
            for _, each in inspect.getmembers(
                importlib.import_module(module.name), inspect.isclass
            ):
                if issubclass(each, errors.ConfideError | errors.ConfideWarning):
                    found.add(each)
    return found


def test_every_kind_is_in_the_tree() -> None:
    told = set((errors.__doc__ or "").replace("─", " ").split())
    assert len(kinds()) > 10
    assert {each.__name__ for each in kinds()} <= told


@pytest.mark.parametrize("kind", [ColumnFault, MissingColumn, BadType, BadRows])
def test_faults_of_columns_cross_processes_whole(kind: type[ColumnFault]) -> None:
    made = kind("this", "that", "Do so.", column="pay")
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is kind
    assert (str(again), again.column) == (str(made), "pay")
    assert str(made) == "Expected this, got that. Do so."


def test_what_can_be_done_instead_is_a_part_of_the_error() -> None:
    made = Unsupported("cannot undo it", method="Deconvolution", instead="estimators.Likelihood")
    assert str(made) == "Deconvolution cannot undo it: take estimators.Likelihood."
    assert made.words({"estimators.Likelihood": "--method likelihood"}) == (
        "Deconvolution cannot undo it: take --method likelihood."
    )
    again = pickle.loads(pickle.dumps(made))
    assert (again.method, again.instead, str(again)) == (made.method, made.instead, str(made))
    assert str(Unsupported("A whole sentence.")) == "A whole sentence."

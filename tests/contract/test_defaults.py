"""No budget and no bound of values has a default: nobody but the user can know them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import confide
from confide import Lattice
from confide.releases import GaussianProcess, Query

BUDGETS = {"epsilon", "delta", "budget"}
BOUNDS = {"low", "high", "bound", "bounds", "response_low", "response_high"}


def callables() -> Iterator[tuple[str, object]]:
    """Every public function, class and method of the library; commands have tests of their own."""
    for module in pkgutil.walk_packages(confide.__path__, "confide."):
        if module.name.startswith(("confide.cli", "confide.__main__")):
            continue
        for name, made in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or getattr(made, "__module__", None) != module.name:
                continue
            if inspect.isclass(made):
                yield f"{module.name}.{name}", made
                for method, function in vars(made).items():
                    plain = getattr(function, "__func__", function)
                    if inspect.isfunction(plain) and not method.startswith("_"):
                        yield f"{module.name}.{name}.{method}", plain
            elif inspect.isfunction(made):
                yield f"{module.name}.{name}", made


def test_no_budget_and_no_bound_has_a_default() -> None:
    pytest.importorskip("sklearn")
    found = dict(callables())
    assert len(found) > 500
    defaults = []
    for name, made in found.items():
        try:
            parameters = inspect.signature(made).parameters.values()  # type: ignore[arg-type]
        except ValueError:
            continue
        for each in parameters:
            # None stands for what was not given and is asked for, or for what does not apply; and
            # a delta of zero is none.
            harmless = (None, inspect.Parameter.empty, *((0.0,) if each.name == "delta" else ()))
            if each.name in BUDGETS | BOUNDS and each.default not in harmless:
                defaults.append(f"{name}({each})")
    assert defaults == []


def test_releases_ask_for_what_they_cost() -> None:
    pay = Lattice(low=0, high=300_000)
    with pytest.raises(TypeError, match="epsilon"):
        Query("mean", pay)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="delta"):
        GaussianProcess(pay, epsilon=1.0)  # type: ignore[call-arg]

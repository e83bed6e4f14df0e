"""Budgets and bounds are named where they are given, and nobody is given one."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import confide as cf

NAMES = ("epsilon", "delta", "low", "high", "bound", "bounds", "response_low", "response_high")
MODULES = ("lattice", "ledger", "questions", "summaries", "survey")
"""Modules with public names beside those that ``confide.__all__`` lists."""
ARGUED = {
    "Spend.epsilon": "a price and no budget: the one obvious argument",
    "Spend.delta": "0 is pure differential privacy, the strictest",
    "Ledger.epsilon": "a ledger that exists has one; a new one without is refused",
    "Ledger.delta": "0 is pure differential privacy, the strictest",
    "Entry.bound": "whether the charge is bound to its data: no bound",
    "LeastSquares.delta": "0 is pure differential privacy, the strictest",
    "Means.delta": "0 is pure differential privacy, the strictest",
    "Statistic.delta": "0 is pure differential privacy, the strictest",
    "TwoSidedGamma.delta_at.epsilon": "the one obvious argument of a question about the law",
    "sampled.delta": "what the subject itself claims, unless another claim is tried",
    "Partition.bound": "a partition that classifies has none, any other without is refused",
    "Feature.low": "words have categories instead; a feature with neither is refused",
    "Feature.high": "words have categories instead; a feature with neither is refused",
    "PartitionSurvey.low": "labels have no bounds; a response with neither is refused",
    "PartitionSurvey.high": "labels have no bounds; a response with neither is refused",
    "optimal_gamma.bounds": "the design depends on the values anyway and is not private",
    "Counts.of.bounds": "of a public response",
    "Counts.of_noised.bounds": "of a public response",
    "counts.bounds": "of a public response",
    "pair.bounds": "of a public response",
    "summarize.bounds": "of a public response",
    "Survey.pair.bounds": "of a public response",
    "Survey.summarize.bounds": "of a public response",
    "Questionnaire.epsilon": "every question may have its own",
    "Survey.epsilon": "every question may have its own",
    "Survey.plan.epsilon": "a plan is for the survey's own, unless another is tried",
    "plan_survey.epsilon": "a plan is for the survey's own, unless another is tried",
    "plan.epsilon": "what a target takes, where none is given",
    "Spectrum.low": "numbers that are in the open already need none",
    "Spectrum.high": "numbers that are in the open already need none",
    "Spectrum.of.low": "numbers that are in the open already need none",
    "Spectrum.of.high": "numbers that are in the open already need none",
}


def public() -> dict[int, tuple[str, Any]]:
    """Public classes and functions by their identity."""
    found: dict[int, tuple[str, Any]] = {}
    modules = [one for one in map(cf.__getattr__, cf.__all__) if inspect.ismodule(one)]
    modules += [importlib.import_module(f"confide.{name}") for name in MODULES]
    for module in [cf, *modules]:
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[id(value)] = (name, value)
    return found


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All that can be called: classes, their public methods, and functions."""
    for name, value in public().values():
        if inspect.isfunction(value):
            yield name, value
        elif not issubclass(value, BaseException) and not getattr(value, "_is_protocol", False):
            yield name, value
            for method, member in vars(value).items():
                inner = getattr(member, "__func__", member)
                if not method.startswith("_") and inspect.isfunction(inner):
                    yield f"{name}.{method}", inner


def test_budgets_and_bounds_are_keywords_without_a_default() -> None:
    wrong, checked = set(), 0
    for name, call in calls():
        try:
            parameters = inspect.signature(call).parameters.values()
        except ValueError:
            continue
        for one in parameters:
            if one.name in NAMES:
                checked += 1
                if one.kind is not one.KEYWORD_ONLY or one.default is not one.empty:
                    wrong.add(f"{name}.{one.name}")
    assert checked > 60
    assert sorted(wrong - set(ARGUED)) == []
    assert sorted(set(ARGUED) - wrong) == [], "argued for nothing"


def test_every_public_name_says_what_it_is() -> None:
    for name, value in public().values():
        assert value.__doc__, name


def test_helpers_are_not_public() -> None:
    names = {name for name, _ in public().values()}
    helpers = {
        "commas",
        "exact",
        "extra",
        "logarithmic",
        "new_axes",
        "odds",
        "rounded_up",
        "sketch",
    }
    helpers |= {"CellStamp", "DiscreteLaplace", "Files", "Judge", "LogRatio", "Oracle", "sketch"}
    # The check of a claim is called exact, too.
    assert names & helpers == {"exact"}
    assert cf.audits.exact.__module__.startswith("confide.audits")


def test_every_public_name_has_an_example_that_runs() -> None:
    """Doctests are collected from all of src, so that an example that is there is run."""
    found = public()
    assert len(found) > 200
    without = [
        f"{value.__module__}.{name}"
        for name, value in found.values()
        if ">>> " not in value.__doc__
    ]
    assert without == []

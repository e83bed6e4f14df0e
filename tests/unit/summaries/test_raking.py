"""Raking: weights to public margins, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidInput
from confide.summaries import Counts, Groups, Summaries, raking, read

MECHANISM = cf.SquareWave(cf.Lattice(low=0, high=1, size=16), epsilon=4.0)
HALVES = {"region": {"north": 0.5, "south": 0.5}, "sex": {"f": 0.5, "m": 0.5}}


def groups(sizes: dict[Any, int], by: tuple[str, ...] = ("region", "sex")) -> Groups[Counts]:
    made = {key: Counts.of(MECHANISM.simulate(np.full(n, 0.2), seed=n)) for key, n in sizes.items()}
    return Groups(by, made)


FOUR = {("north", "f"): 40, ("north", "m"): 30, ("south", "f"): 20, ("south", "m"): 10}


def test_weighted_groups_have_the_margins() -> None:
    raked = groups(FOUR).rake(HALVES)
    for column in ("region", "sex"):
        sums = [one.total.sum() for one in raked.coarser([column]).values()]
        assert np.allclose(sums, 50)
    # Iterative proportional fitting keeps the odds ratio of the sample.
    w = {key: one.total.sum() for key, one in raked.items()}
    odds = w["north", "f"] * w["south", "m"] / (w["north", "m"] * w["south", "f"])
    assert odds == pytest.approx(40 * 10 / (30 * 20))


def test_people_and_shares_give_the_same_weights() -> None:
    people = {
        column: {name: 2_000 * x for name, x in own.items()} for column, own in HALVES.items()
    }
    one, two = (groups(FOUR).rake(margins).total() for margins in (HALVES, people))
    assert np.allclose(one.total, two.total)
    assert one.effective_n == pytest.approx(two.effective_n)
    assert one.effective_n < one.n == 100


def test_a_margin_that_holds_already_changes_nothing() -> None:
    raked = groups({"a": 30, "b": 70}, ("region",)).rake({"region": {"a": 3, "b": 7}})
    assert raked.total().effective_n == pytest.approx(100)


def test_weights_that_are_there_already_are_kept() -> None:
    doubled = groups(FOUR).map(lambda one: one.weighted(2.0))
    raked = Groups(("region", "sex"), doubled).rake(HALVES)
    assert np.allclose(raked.total().total, 2 * groups(FOUR).rake(HALVES).total().total)


def test_weighing_scales_responses_and_squares() -> None:
    reports = MECHANISM.simulate([0.1, 0.9], seed=1)
    one = Counts.of(reports, response=[1.0, 3.0]).weighted(2.0)
    two = Counts.of(reports, response=[1.0, 3.0], weights=[2.0, 2.0])
    assert np.array_equal(one._arrays()["squared_weights"], two._arrays()["squared_weights"])
    assert np.array_equal(one._arrays()["response"], two._arrays()["response"])


def test_groups_that_are_numbers_match_the_words_of_a_file() -> None:
    raked = groups({2024: 10, 2025: 30}, ("year",)).rake({"year": {"2024": 0.5, "2025": 0.5}})
    assert raked[2024].total.sum() == pytest.approx(20)


@pytest.mark.parametrize(
    ("margins", "said"),
    [
        ({}, "at least one public column"),
        ({"region": {"north": 0.5, "south": 0.4}}, "add up to 1"),
        ({"region": {"north": 5, "south": 5}, "sex": {"f": 5, "m": 6}}, "add up to one total"),
        ({"region": {"north": 0.5, "south": 0.3, "east": 0.2}}, "respondents in every group"),
        ({"region": {"north": 1.0}}, "a margin for every group"),
        ({"age": {"old": 1.0}}, "columns that make the groups"),
        ({"region": {"north": 1.5, "south": -0.5}}, "of the margin 'region', got -0.5 for 'south'"),
        ({"region": {"north": float("nan"), "south": 0.5}}, "a number > 0 .* got nan for 'north'"),
        ({"region": {"north": "half", "south": 0.5}}, "a number > 0 .* got 'half' for 'north'"),
        ({"region": [0.5, 0.5]}, "a number for each group"),
        ({"region": {1: 0.5, "1": 0.5}}, "once"),
    ],
)
def test_refused(margins: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        groups(FOUR).rake(margins)


def test_margins_that_no_weights_reach_are_refused() -> None:
    diagonal = {("north", "f"): 40, ("south", "m"): 10}
    with pytest.raises(InvalidInput, match="some weights"):
        groups(diagonal).rake({"region": {"north": 0.5, "south": 0.5}, "sex": {"f": 0.6, "m": 0.4}})


def test_every_question_is_raked() -> None:
    both = Summaries({"pay": groups(FOUR), "rent": groups({**FOUR, ("south", "m"): 50})})
    raked = both.rake(HALVES)
    assert [round(float(raked[name].total.sum())) for name in raked] == [100, 140]


def test_margins_are_read_from_files(tmp_path: Any) -> None:
    path = tmp_path / "margins.toml"
    path.write_text("[region]\nnorth = 0.5\nsouth = 0.5\n")
    assert raking.read(path) == {"region": {"north": 0.5, "south": 0.5}}
    path.write_text("north = 0.5\n")
    with pytest.raises(InvalidInput, match=r"a table of numbers .* Write a line \[region\]"):
        raking.read(path)
    with pytest.raises(InvalidInput, match=r"toml or \.json"):
        raking.read(Path(__file__))


def test_raked_groups_know_their_columns_in_files_and_sums(tmp_path: Path) -> None:
    raked = groups(FOUR).rake(HALVES)
    assert raked.raked == ("region", "sex")
    raked.save(tmp_path / "raked.json")
    again = read(tmp_path / "raked.json").groups()
    scores = MECHANISM.unbiased(1)
    for same in (again, pickle.loads(pickle.dumps(raked))):
        assert same.raked == raked.raked
        one, two = (each.total().residuals.covariance(scores, scores) for each in (raked, same))
        assert one == pytest.approx(float(two), rel=1e-12)
    assert (raked + again).raked == raked.raked
    weighted = Groups(raked.by, dict(raked.summaries))
    assert (raked + weighted).raked == ()
    assert raked.coarser(["sex"]).raked == ("sex",)
    assert raked.others(("north", "f")).raked is None
    assert (raked.total() + raked.total()).raked is None


@pytest.mark.parametrize("raked", [("age",), ["region"], "region"])
def test_raked_columns_are_among_the_groups(raked: Any) -> None:
    known = groups(FOUR).rake(HALVES)
    with pytest.raises(InvalidInput, match="raked columns among those that make the groups"):
        Groups(known.by, dict(known.summaries), raked)
    with pytest.raises(InvalidInput, match="names of raked columns"):
        Groups.from_dict({**known.to_dict(), "raked": "region"})


def test_groups_without_weights_are_not_raked() -> None:
    with pytest.raises(InvalidInput, match="raked groups of counts with weights"):
        Groups(("region", "sex"), dict(groups(FOUR).summaries), ("sex",))

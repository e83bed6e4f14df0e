"""The device in Chromium: the same reports from the same bytes, and a right law from its own."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.fresh import packed
from conformance.tapes import inputs
from playwright.sync_api import Page
from scipy.stats import chi2
from tests.browser.conftest import Served

from confide.lattice import Categories, Lattice
from confide.mechanisms import (
    Laplace,
    Mechanism,
    PairResponse,
    RandomizedResponse,
    Side,
    SquareWave,
)

N = 100_000
PAY, DAYS = Lattice(low=0, high=300_000), Lattice(low=0, high=60, kind="integer")
PAIR = PairResponse({"pay": Side(PAY, (137,)), "days": Side(DAYS, (5,))}, epsilon=1.0)
TABLE = PairResponse(
    {"pay": Side(PAY, (90, 137, 200), True), "word": Side(Categories(["no", "so", "yes"]))},
    epsilon=2.0,
)
MECHANISMS: list[Mechanism] = [
    SquareWave(Lattice(low=0, high=300_000), epsilon=1.0),
    Laplace(Lattice(low=0, high=1, size=256), epsilon=2.0),
    RandomizedResponse(["a", "b", "c", "d", "e"], epsilon=1.0),
    SquareWave(Lattice(low=0, high=60, kind="integer"), epsilon=1.0, prefer_not_to_say=True),
    RandomizedResponse(["a", "b", "c", "d"], epsilon=1.0, prefer_not_to_say=True),
    PAIR,
    TABLE,
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)


def test_the_vectors(page: Page, site: Served) -> None:
    page.goto(site.empty)
    faults = page.evaluate(
        """async () => {
            const device = await import("/web/device/device.js");
            const { faults, lines } = await import("/web/device/test/kit.js");
            const file = async (name) =>
                lines(await (await fetch(`/conformance/${name}.jsonl`)).text());
            const kit = Object.fromEntries(await Promise.all(
                ["draws", "indices", "refused"].map(async (name) => [name, await file(name)])));
            return [kit.draws.length, ...faults(device, kit)];
        }"""
    )
    assert faults[0] > 100
    assert faults[1:] == []


@each
def test_fresh_tapes_give_the_same_reports(page: Page, site: Served, mechanism: Mechanism) -> None:
    site.added["/tapes.bin"] = packed(mechanism, N, generator=np.random.default_rng())
    page.goto(site.empty)
    found = page.evaluate(
        """async () => {
            const { runTapes } = await import("/web/device/test/browser.js");
            return runTapes(await (await fetch("/tapes.bin", { cache: "no-store" })).arrayBuffer());
        }"""
    )
    assert found["unequal"] == 0, found["first"]
    assert found["n"] == N
    assert found["refined"] >= 5000


@pytest.mark.parametrize(
    ("mechanism", "declined"),
    [
        *((mechanism, False) for mechanism in MECHANISMS),
        *((mechanism, True) for mechanism in MECHANISMS if mechanism.prefer_not_to_say),
    ],
    ids=str,
)
def test_real_draws_follow_the_law(
    page: Page, site: Served, mechanism: Mechanism, declined: bool
) -> None:
    page.goto(site.empty)
    size = inputs(mechanism)
    found = page.evaluate(
        """async ([spec, n, index]) => {
            const { chiSquare } = await import("/web/device/test/browser.js");
            return chiSquare(spec, n, index);
        }""",
        [mechanism.to_dict(), N, size - 1 if declined else size // 2],
    )
    print(mechanism.name, declined, found)
    # Groups of outcomes that expect some draws, but for one.
    assert found["freedom"] >= min(mechanism.law.outputs[0] - 1, 4)
    assert chi2.sf(found["statistic"], found["freedom"]) > 1e-6
    assert chi2.cdf(found["statistic"], found["freedom"]) > 1e-6
    # Fifty times what it takes: a respondent never waits for the noise.
    assert found["microseconds"] < 1000


def test_bytes_of_a_page_over_plain_http(page: Page, site: Served) -> None:
    page.goto(site.empty)
    found = page.evaluate(
        """async () => {
            const { system } = await import("/web/device/device.js");
            return [...system.bytes(65536)];
        }"""
    )
    counts = np.bincount(found, minlength=256)
    assert chi2.sf(((counts - 256.0) ** 2).sum() / 256, 255) > 1e-6


def test_numbers_as_chromium_separates_them(page: Page, site: Served) -> None:
    page.goto(site.empty)
    found = page.evaluate(
        """async () => {
            const { parseNumber } = await import("/web/device/numbers.js");
            const typed = [["1.234", "en"], ["1.234", "de"], ["12\\u202f345,6", "fr"],
                           ["1'234.5", "de-CH"], ["1,5", "en"]];
            return typed.map(([text, language]) => parseNumber(text, language));
        }"""
    )
    assert [each.get("value") for each in found] == [1.234, 1234, 12345.6, 1234.5, None]
    assert found[-1] == {"reason": "separators"}

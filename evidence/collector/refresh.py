"""What a dashboard costs: the running counts against counting all reports anew."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from confide.collect.stores import Store, opened
from confide.collect.stores.sqlite import SqliteStore
from confide.collect.stores.store import Outcome
from confide.collect.wire import Entry
from confide.questions import Questionnaire
from evidence.collector.people import SURVEY

BATCH = 2000
ROUNDS = 5
COUNT = {
    True: "SELECT cell, key, value, count(*) FROM reports, json_each(reports) GROUP BY 1, 2, 3",
    False: "SELECT cell, key, value::int, count(*)"
    " FROM (SELECT cell, reports FROM reports UNION ALL SELECT cell, reports FROM fresh_reports)"
    " AS every, json_each_text(reports::json) GROUP BY 1, 2, 3",
}


def refresh(address: str, n: int) -> dict[str, Any]:
    """Fill a store, and compare a call of tallies with one statement that counts everything."""
    survey = Questionnaire.from_dict(SURVEY)
    store = opened(address, survey, create=True, cap=n + ROUNDS * BATCH)
    generator = random.Random(1)
    outputs = {name: each.law.outputs[0] for name, each in survey.mechanisms.items()}
    for _ in range(0, n, BATCH):
        fill(store, generator, outputs)
    counted, told = [], []
    for _ in range(ROUNDS):
        # A refresh finds new reports every time.
        fill(store, generator, outputs)
        start = time.perf_counter()
        tallies = store.tallies()
        told.append(time.perf_counter() - start)
        start = time.perf_counter()
        rows = store._open().execute(COUNT[isinstance(store, SqliteStore)]).fetchall()
        counted.append(time.perf_counter() - start)
        for cell, question, report, number in rows:
            if tallies[cell][question][report] != number:
                raise ValueError("the counts are wrong")
    start = time.perf_counter()
    store.close()
    closing = time.perf_counter() - start
    store.shut()
    return {
        "reports": n,
        "ratio": sorted(told)[ROUNDS // 2] / sorted(counted)[ROUNDS // 2],
        "seconds": sorted(told)[ROUNDS // 2],
        "closing": closing,
    }


def fill(store: Store, generator: random.Random, outputs: dict[str, int]) -> None:
    """One batch of reports."""
    batch = [
        Entry(
            None,
            os.urandom(32),
            os.urandom(32),
            '["north"]' if generator.random() < 0.5 else '["south"]',
            "{"
            + ",".join(f'"{name}":{generator.randrange(most)}' for name, most in outputs.items())
            + "}",
        )
        for _ in range(BATCH)
    ]
    if store.put(batch) != [Outcome.STORED] * BATCH:
        raise ValueError("the store does not take them")

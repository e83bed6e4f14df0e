"""Uploads that race for one invitation or one receipt, over two server processes."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from confide.collect.stores import opened
from evidence.collector.client import Load
from evidence.collector.kills import used
from evidence.collector.people import People, request
from evidence.collector.server import Server, together

RACERS = 64


def races(address: str, mutant: str, rounds: int) -> dict[str, Any]:
    """64 at once over two servers: one invitation, one receipt, and one upload.

    In each round one upload of each kind must be stored. The others are refused (409), or where
    they are the same upload acknowledged (200).
    """
    people = People()
    store = opened(address, people.survey, create=True)
    kinds = {
        "invitation": {201: 1, 409: 63},
        "receipt": {201: 1, 409: 63},
        "same": {201: 1, 200: 63},
    }
    found: dict[str, Any] = {"rounds": rounds, **dict.fromkeys(kinds, 0)}
    with together([Server(address, people, {"mutant": mutant}) for _ in range(2)]) as servers:
        ports = [server.port for server in servers]
        for _ in range(rounds):
            tokens = people.invite(store, RACERS + 2)
            receipt = json.loads(people.upload(tokens[0]))["receipt"]
            bodies = {
                "invitation": [people.upload(tokens[-1]) for _ in range(RACERS)],
                "receipt": [
                    json.dumps({**json.loads(people.upload(token)), "receipt": receipt}).encode()
                    for token in tokens[:RACERS]
                ],
                "same": [people.upload(tokens[-2])] * RACERS,
            }
            for kind, own in bodies.items():
                load = Load([request(body) for body in own]).run(ports, RACERS)
                found[kind] += Counter(load.statuses) != kinds[kind]
    found["stored"] = sum(1 for _ in store.rows())
    found["spent"] = used(store)
    store.shut()
    return found


def wrong(found: dict[str, Any]) -> int:
    """What must be 0: rounds in which something else happened, and reports too many or too few."""
    expected = 3 * found["rounds"]
    surplus = abs(found["stored"] - expected) + abs(found["spent"] - expected)
    return int(found["invitation"] + found["receipt"] + found["same"] + surplus)

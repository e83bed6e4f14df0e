"""The device in JavaScript draws what the mechanisms here draw, from the same bytes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conformance.fresh import packed
from conformance.tapes import Tape
from conformance.vectors import FILES, FOLDER, refused, text

from confide.errors import InvalidInput
from confide.lattice import Categories, Lattice
from confide.mechanisms import (
    Laplace,
    Mechanism,
    PairResponse,
    RandomizedResponse,
    Side,
    SquareWave,
    from_dict,
)

ROOT = Path(__file__).parents[2]
DEVICE = ROOT / "web" / "device"
NODE = shutil.which("node")
node = pytest.mark.skipif(NODE is None, reason="Node is not installed; make test-browser needs it")

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


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [str(NODE), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", FILES)
def test_the_vectors_are_what_this_code_makes(name: str) -> None:
    # python -m conformance writes them anew.
    assert (FOLDER / name).read_text() == text(name)


def test_the_vectors_are_small() -> None:
    assert sum((FOLDER / name).stat().st_size for name in FILES) < 600_000


@pytest.mark.parametrize("line", list(refused()), ids=lambda line: line["why"])
def test_what_a_device_must_refuse_is_refused_here(line: dict) -> None:
    with pytest.raises(InvalidInput):
        from_dict(line["spec"])


@node
def test_the_tests_of_the_device() -> None:
    found = run("--test", *sorted((DEVICE / "test").glob("*.test.js")))
    caught = re.search(r"(\d+) slips caught", found)
    assert caught is not None
    assert int(caught[1]) >= 14


SCRIPT = """
import { readFileSync } from "node:fs";
const { runTapes } = await import(process.argv[1]);
const { buffer, byteOffset, byteLength } = readFileSync(process.argv[2]);
console.log(JSON.stringify(runTapes(buffer.slice(byteOffset, byteOffset + byteLength))));
"""


@node
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_fresh_tapes_give_the_same_reports(mechanism: Mechanism, tmp_path: Path) -> None:
    n = 100_000
    tapes = tmp_path / "tapes.bin"
    tapes.write_bytes(packed(mechanism, n, generator=np.random.default_rng()))
    harness = (DEVICE / "test" / "browser.js").as_uri()
    found = json.loads(run("--input-type=module", "-e", SCRIPT, harness, tapes))
    assert found["unequal"] == 0, found["first"]
    assert found["n"] == n
    assert found["refined"] >= 5000


ANSWERS = """
import { readFileSync } from "node:fs";
const { mechanism, privatize } = await import(process.argv[1]);
const { spec, rows } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const made = mechanism(spec);
const reports = rows.map(([answers, tape]) => {
  let at = 0;
  return privatize(made, answers, { bytes: (n) => Uint8Array.from(tape.slice(at, (at += n))) });
});
console.log(JSON.stringify(reports));
"""


@node
@pytest.mark.parametrize("pair", [PAIR, TABLE], ids=str)
def test_two_answers_give_the_same_report(pair: PairResponse, tmp_path: Path) -> None:
    """From the answers to the report, not only from their indices."""
    generator = np.random.default_rng()
    n = 5_000
    pay: list[float | None] = generator.uniform(-1_000, 301_000, n).tolist()
    pay[: n // 4] = [PAY.low + PAY.step * k for k in range(n // 4)]
    if pair.sides["pay"].prefer_not_to_say:
        pay[-500:] = [None] * 500
    name, side = list(pair.sides.items())[1]
    words = side.axis.labels if isinstance(side.axis, Categories) else range(-1, 64)
    other = [words[at] for at in generator.integers(0, len(words), n)]
    tapes = generator.integers(0, 256, (n, 24), dtype=np.uint8)
    rows = pair.index({"pay": pay, name: other})
    here = [
        int(pair.draw(rows[at : at + 1], Tape(tape.tobytes()))[0]) for at, tape in enumerate(tapes)
    ]
    both = [{"pay": one, name: two} for one, two in zip(pay, other, strict=True)]
    given = {"spec": pair.to_dict(), "rows": list(zip(both, tapes.tolist(), strict=True))}
    (tmp_path / "answers.json").write_text(json.dumps(given))
    module = (DEVICE / "device.js").as_uri()
    found = json.loads(run("--input-type=module", "-e", ANSWERS, module, tmp_path / "answers.json"))
    assert found == here
    assert set(here) == set(range(pair.law.outputs[0]))

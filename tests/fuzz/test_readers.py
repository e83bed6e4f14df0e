"""Whatever is read: a value that is in order, or one sentence; and what is written comes back."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz import study as fuzz
from tests.fuzz.damage import mutated
from tests.fuzz.readers import READERS, Reader

import confide as cf
from confide import reports
from confide.accounting import Spend
from confide.errors import InvalidInput
from confide.mechanisms import Mechanism
from confide.questions.wording import Wording
from confide.reports import Reports
from confide.summaries import Counts, Summaries, files

QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NAMES = st.text(min_size=1, max_size=12).filter(lambda name: bool(name.strip()))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_valid_files_are_accepted(reader: Reader, tmp_path: Path) -> None:
    for data in reader.seeds():
        assert fuzz.fault(reader, data, tmp_path) == ("accepted", "")


def test_damaged_files(tmp_path: Path) -> None:
    done = fuzz.run(2, range(50 * len(READERS)), tmp_path)
    assert done["failures"] == []
    assert all(endings["refused"] for endings in done["endings"].values())


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@QUICK
@given(data=st.binary(max_size=300))
def test_any_bytes(reader: Reader, tmp_path: Path, data: bytes) -> None:
    assert fuzz.fault(reader, data, tmp_path)[1] == ""


def test_faults_are_caught(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        data = path.read_bytes()
        if data == b"raise":
            raise KeyError("x")
        if data == b"lines":
            raise cf.errors.ConfideError("Expected this,\ngot that.")
        if data == b"page":
            raise cf.errors.ConfideError("A" * 2000 + ".")
        if data == b"words":
            raise cf.errors.ConfideError("got that")
        if data == b"leave":
            (path.parent / "half").write_bytes(b"1")
        if data == b"write":
            path.write_bytes(b"other")

    reader = Reader("any", "any", lambda: (b"",), read)
    found = {data: fuzz.fault(reader, data.encode(), tmp_path) for data in
             ("fine", "raise", "lines", "page", "words", "leave", "write")}  # fmt: skip
    assert found.pop("fine") == ("accepted", "")
    assert all(ended == "failed" and wrong for ended, wrong in found.values())


def test_a_case_is_a_function_of_its_seed() -> None:
    same = [number for number, reader in enumerate(READERS) if reader.file.endswith(".toml")]
    for number in (at + step * len(READERS) for at in same for step in range(20)):
        assert fuzz.case(5, number) == fuzz.case(5, number)
        assert fuzz.case(5, number)[1] != fuzz.case(6, number)[1]
    assert mutated(b"abcdef" * 9, random.Random(3)) == mutated(b"abcdef" * 9, random.Random(3))


def lattices() -> st.SearchStrategy[cf.Lattice]:
    def make(low: float, width: float, size: int) -> cf.Lattice:
        return cf.Lattice(low=low, high=low + width, size=size)

    return st.builds(make, st.floats(-1e6, 1e6), st.floats(1.0, 1e6), st.integers(2, 40))


@st.composite
def mechanisms(draw: st.DrawFn) -> Mechanism:
    epsilon = draw(st.floats(0.05, 20))
    kind = draw(st.sampled_from(["wave", "laplace", "response", "gamma"]))
    if kind == "response":
        words = st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=5, unique=True)
        return cf.RandomizedResponse(draw(words), epsilon=epsilon)
    lattice = draw(lattices())
    if kind == "gamma":
        scale = (lattice.high - lattice.low) * draw(st.floats(0.1, 5))
        return cf.TwoSidedGamma(lattice, shape=draw(st.floats(0.5, 2)), scale=scale)
    return (cf.SquareWave if kind == "wave" else cf.Laplace)(lattice, epsilon=epsilon)


@QUICK
@given(made=st.dictionaries(NAMES, mechanisms(), min_size=1, max_size=3), title=st.text())
def test_surveys_come_back(tmp_path: Path, made: dict[str, Mechanism], title: str) -> None:
    survey = cf.Survey(
        {name: cf.Question(one) for name, one in made.items()},
        wording=Wording.read({"title": title}),
    )
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(survey.to_dict()))
    again = cf.Survey.read(path)
    assert (again, again.fingerprint) == (survey, survey.fingerprint)


@pytest.mark.filterwarnings("ignore:Expected reports")  # even ones are none
@QUICK
@given(made=mechanisms(), seed=st.integers(0, 99), simulated=st.booleans())
def test_reports_and_summaries_come_back(
    tmp_path: Path, made: Mechanism, seed: int, simulated: bool
) -> None:
    indices = np.random.default_rng(seed).integers(0, made.law.outputs[0], 30)
    given_ = Reports(indices, made, simulated=simulated)
    path = tmp_path / "reports.parquet"
    reports.write(given_, path, name="x", keep_order=True, replace=True)
    again = reports.read(path)
    assert again.mechanism == made
    assert again.simulated == simulated
    assert again.indices.tolist() == indices.tolist()
    if not simulated:
        path = tmp_path / "reports.csv"
        reports.write(given_, path, name="x", keep_order=True, replace=True)
        plain = reports.read(tmp_path / "reports.csv", mechanism=made)
        assert plain.indices.tolist() == indices.tolist()
    weights = np.linspace(0.5, 2, 30)
    summary = Counts.of(again, weights=weights, response=weights - 1)
    for name in ("counts.json", "counts.npz"):
        Summaries({"x": summary}).save(tmp_path / name)
        ((question, read),) = files.load(tmp_path / name).questions.items()
        assert question == "x"
        assert isinstance(read, Counts)
        assert read.to_dict() == summary.to_dict()


KEYS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=9)
RELEASES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip


@settings(QUICK, max_examples=25)
@given(charges=st.dictionaries(KEYS, RELEASES, min_size=1, max_size=4))
def test_ledgers_come_back(
    tmp_path_factory: pytest.TempPathFactory, charges: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    ledger = cf.Ledger(path, epsilon=1.0)
    stored, said = {}, []
    for key, release in charges.items():
        try:
            stored[key] = ledger.charge(key, "spec", Spend(0.1), lambda release=release: release)
        except InvalidInput as error:
            said.append(str(error))
    assert not any(map(fuzz.unclear, said))
    again = cf.Ledger(path)
    assert {entry.key: entry.release for entry in again.entries()} == stored
    assert again.spent.epsilon == pytest.approx(0.1 * len(stored))


def test_the_page_tells_of_the_last_run() -> None:
    result = json.loads(fuzz.RESULT.read_text())
    assert result["failures"] == []
    assert set(result["readers"]) == {reader.name for reader in READERS}
    assert fuzz.MARKS[0] + fuzz.line(result) + fuzz.MARKS[1] in fuzz.PAGE.read_text()

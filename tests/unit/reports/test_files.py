"""Reports keep their integers, their mechanism and their stamp through tables and files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confide import reports as io
from confide.errors import InvalidInput, Mismatch
from confide.lattice import Lattice
from confide.mechanisms import (
    Joint,
    Laplace,
    Mechanism,
    RandomizedResponse,
    Reports,
    SquareWave,
    TwoSidedGamma,
)
from confide.reports.files import Files
from confide.reports.stamps import Stamp

LATTICE = Lattice(low=0, high=1, size=8)
LOG = Lattice(low=0.5, high=20, size=5, scale="log")
MECHANISMS: list[Mechanism] = [
    SquareWave(LATTICE, epsilon=1.0),
    Laplace(LOG, epsilon=0.1),
    TwoSidedGamma(LATTICE, shape=0.8, scale=0.5),
    RandomizedResponse(["no", "yes", 'Straße, "x"\n'], epsilon=2.0),
    Joint({"pay": SquareWave(LATTICE, epsilon=1.0), "age": Laplace(LOG, epsilon=0.1)}),
]
relaxed = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def made(draw: st.DrawFn, *, simulated: bool | None = None) -> Reports:
    mechanism = draw(st.sampled_from(MECHANISMS))
    n = draw(st.integers(1, 40))
    columns = [
        draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n))
        for size in mechanism.law.outputs
    ]
    indices = np.array(columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)))
    stamp = draw(st.booleans()) if simulated is None else simulated
    return Reports(indices, mechanism, simulated=stamp)


def same(a: Reports, b: Reports) -> bool:
    return (
        np.array_equal(a.indices, b.indices)
        and a.mechanism == b.mechanism
        and a.simulated == b.simulated
    )


@given(made())
@relaxed
def test_arrow_round_trip(reports: Reports) -> None:
    assert same(io.from_table(io.to_arrow(reports)), reports)
    assert same(io.from_table(io.to_arrow(reports), mechanism=reports.mechanism), reports)


@given(made())
@relaxed
def test_parquet_round_trip(tmp_path: Path, reports: Reports) -> None:
    path = tmp_path / "reports.parquet"
    io.write(reports, path, keep_order=True, replace=True)
    assert same(io.read(path), reports)


@given(made(simulated=False))
@relaxed
def test_csv_round_trip(tmp_path: Path, reports: Reports) -> None:
    path = tmp_path / "reports.csv"
    io.write(reports, path, keep_order=True, replace=True)
    assert same(io.read(path, mechanism=reports.mechanism), reports)


@given(made())
@relaxed
@pytest.mark.parametrize("convert", [io.to_pandas, io.to_polars])
def test_frame_round_trip(convert: object, reports: Reports) -> None:
    frame = convert(reports)  # type: ignore[operator]
    again = io.from_table(frame, mechanism=reports.mechanism, simulated=reports.simulated)
    assert same(again, reports)
    with pytest.raises(InvalidInput, match="survey"):
        io.from_table(frame)


def test_simulated_reports_do_not_become_csv(tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    with pytest.raises(InvalidInput, match="parquet"):
        io.write(MECHANISMS[0].simulate([0.5], seed=1), path)
    assert not path.exists()


def test_one_column_of_several(tmp_path: Path) -> None:
    reports = MECHANISMS[-1].simulate({"pay": [0.1, 0.9], "age": [1.0, 2.0]}, seed=1)
    path = tmp_path / "reports.parquet"
    io.write(reports, path)
    assert np.array_equal(io.read(path, column="age").indices, reports.indices[:, 1])
    swapped = io.read(path, column=["age", "pay"])
    assert np.array_equal(swapped.indices, reports.indices[:, ::-1])
    with pytest.raises(InvalidInput, match="metadata does not name"):
        io.read(path, column="pya")


def test_another_mechanism_is_refused() -> None:
    table = io.to_arrow(MECHANISMS[0].privatize([0.5]))
    with pytest.raises(Mismatch, match="another"):
        io.from_table(table, mechanism=SquareWave(LATTICE, epsilon=2.0))


def test_public_columns_ride_along() -> None:
    table = io.to_arrow(MECHANISMS[0].privatize([0.5]), name="pay")
    wider = table.append_column("rate", pa.array([0.5]))
    assert len(io.from_table(wider)) == 1


def test_existing_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    path.write_bytes(b"before")
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match="costs epsilon again"):
        io.write(MECHANISMS[0].privatize([0.5]), path)
    assert path.read_bytes() == b"before"
    io.write(MECHANISMS[0].privatize([0.5]), path, replace=True)
    assert len(io.read(path)) == 1
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["reports.parquet"]


def test_stream_sees_every_row_and_the_order(tmp_path: Path) -> None:
    mechanism = MECHANISMS[0]
    whole = mechanism.simulate(np.linspace(0, 1, 600_000), seed=1)
    for part, name in ((slice(0, 1), "a"), (slice(1, 600_000), "b")):
        io.write(
            Reports(whole.indices[part], mechanism, simulated=True),
            tmp_path / f"{name}.parquet",
            name="pay",
        )
    files = Files.open([tmp_path])
    assert files.rows == 600_000
    assert files.simulated
    batches = [batch["pay"].indices for batch, _ in files.batches()]
    assert len(batches) > 2
    assert np.array_equal(np.concatenate(batches), whole.indices)


def test_stream_keeps_columns_apart_in_any_order(tmp_path: Path) -> None:
    pay, age = MECHANISMS[0], MECHANISMS[1]
    stamp = Stamp({"pay": pay, "age": age})
    table = pa.table({"age": [0, 1], "pay": [7, 8]}).replace_schema_metadata(stamp.metadata())
    pq.write_table(table, tmp_path / "a.parquet")
    ((batch, _),) = Files.open([tmp_path / "a.parquet"]).batches()
    assert batch["pay"].indices.tolist() == [7, 8]
    assert batch["age"].indices.tolist() == [0, 1]


@pytest.mark.parametrize("pattern", ["*.parquet", ".", "sub/*"])
def test_every_file_is_checked(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for folder in (".", "sub"):
        io.write(MECHANISMS[0].privatize([0.5]), Path(folder) / "a.parquet")
        other = SquareWave(LATTICE, epsilon=2.0).privatize([0.5])
        io.write(other, Path(folder) / "b.parquet")
    with pytest.raises(Mismatch, match=r"b\.parquet|sub/a"):
        Files.open([pattern])


def test_hidden_files_of_a_folder_are_not_reports(tmp_path: Path) -> None:
    io.write(MECHANISMS[0].privatize([0.5]), tmp_path / "a.parquet")
    (tmp_path / ".a.parquet").write_bytes(b"half")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    assert len(Files.open([tmp_path]).sources) == 1


def test_a_single_answer_is_one_respondent() -> None:
    pay = Laplace(Lattice(low=0, high=100_000, size=64), epsilon=1.0)
    smokes = RandomizedResponse(["no", "yes"], epsilon=1.0)
    both = Joint({"pay": pay, "smokes": smokes})
    for mechanism, one in (
        (pay, 52_000.0),
        (pay, 52_000),
        (pay, np.float32(52_000)),
        (smokes, "no"),
        (smokes, np.str_("no")),
        (both, {"pay": 52_000.0, "smokes": "no"}),
    ):
        assert len(mechanism.privatize(one)) == 1
        listed = {name: [each] for name, each in one.items()} if mechanism is both else [one]
        found = mechanism.simulate(one, seed=3).indices
        np.testing.assert_array_equal(found, mechanism.simulate(listed, seed=3).indices)
    for mechanism, odd in ((pay, "52000"), (pay, True), (pay, None), (pay, np.nan), (smokes, 1)):
        with pytest.raises(InvalidInput):
            mechanism.privatize(odd)


class Counted(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]

    __hash__ = str.__hash__


def test_columns_of_a_forged_stamp_are_not_compared_with_each_other() -> None:
    # A stamp may name any number of columns: 40,000 of them took twenty seconds here.
    mechanism = RandomizedResponse(["no", "yes"], epsilon=1.0)
    names = [Counted(f"q{at}") for at in range(500)]
    stamp = Stamp(dict.fromkeys(names, mechanism), survey={"ask": 1})
    Counted.compared = 0
    asking = stamp.asking
    assert asking is not None
    assert asking.questions == tuple(names)
    assert asking.pairs == ()
    assert Counted.compared <= 2 * len(names)

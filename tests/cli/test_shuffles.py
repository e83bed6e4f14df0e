"""Order: where rows go, what an interrupted run leaves on the disk, and what is never replaced."""

from __future__ import annotations

import errno
import json
import os
import signal
import zlib
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from sklearn.isotonic import IsotonicRegression
from tests.cli.killed import killed

import confide as cf
from confide import reports, streams
from confide.cli.app import run
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy, SystemEntropy
from confide.exact.inversion import permutation
from confide.files import paths
from confide.reports import read, write
from confide.streams import batches, seals
from confide.streams import parts as parts_module
from confide.streams.parts import Parts
from confide.survey import Survey

# At an epsilon of 100 the report is the cell of the value.
SURE = "[questions.pay]\nlow = 0\nhigh = 1\nsize = 4\nepsilon = 100.0\n"
ONE = "[questions.pay]\nlow = 0\nhigh = 300000\nepsilon = 1.0\n"
TO = Path("reports.parquet")
WORK = Path(".reports.parquet.parts")
COMMAND = ["privatize", "survey.toml", "values.parquet", "-o", "reports.parquet"]


@pytest.fixture
def folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("memory")))
    monkeypatch.setattr(parts_module, "PATIENCE", 0.5)
    Path("survey.toml").write_text(SURE)
    return tmp_path


def survey() -> Survey:
    return Survey.read("survey.toml")


def job(*keep: str, **options: bool) -> streams.Job:
    return streams.Job(survey(), [Path("values.parquet")], keep, **options)


def memory() -> list[str]:
    return [path.name for path in Path(os.environ["XDG_RUNTIME_DIR"]).iterdir()]


class Few(Entropy):
    """Words of few different keys, so that most keys are equal."""

    def words(self, n: int, bits: int) -> np.ndarray:
        return SystemEntropy().words(n, bits) & np.uint64(0x0101010101010101)


@pytest.mark.parametrize("entropy", [SystemEntropy(), Few()], ids=["system", "equal keys"])
def test_every_order_is_equally_likely(entropy: Entropy) -> None:
    draws = 8_000
    seen = Counter(tuple(permutation(entropy, 4).tolist()) for _ in range(draws))
    assert len(seen) == 24
    chi2 = sum((count - draws / 24) ** 2 for count in seen.values()) / (draws / 24)
    assert chi2 < 23 + 6 * np.sqrt(46)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9, 2**16 + 1, 3 * 2**20])
def test_an_order_holds_every_number_once(n: int) -> None:
    order = permutation(SystemEntropy(), n)
    assert np.array_equal(np.sort(order), np.arange(n))
    if n > 10:
        assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 6 / np.sqrt(n)


@pytest.mark.parametrize("bucket", [1, 2, 100], ids=["8 buckets", "4 buckets", "1 bucket"])
def test_every_row_goes_to_every_place(
    folder: Path, bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BUCKET", bucket)
    monkeypatch.setattr(batches, "PART", 3)
    assert excess_of_places() < 6


def test_an_order_that_is_kept_in_part_is_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each batch is shuffled, but the rows of a bucket stay in the order of their batches.
    monkeypatch.setattr(batches, "BUCKET", 100)
    monkeypatch.setattr(batches, "PART", 3)
    monkeypatch.setattr(batches, "permutation", lambda entropy, n: np.arange(n))
    assert excess_of_places() > 12


def excess_of_places() -> float:
    """How far rows are from going to every place equally often, in standard deviations."""
    n, runs = 5, 150
    pq.write_table(
        pa.table({"pay": np.full(n, 0.5), "id": np.arange(n)}), "values.parquet", row_group_size=3
    )
    one = job("id")
    places = np.zeros((n, n))
    for _ in range(runs):
        streams.privatize(one, TO, processes=1, replace=True)
        places[np.arange(n), pq.read_table(TO)["id"].to_numpy()] += 1
    chi2 = ((places - runs / n) ** 2).sum() / (runs / n)
    degrees = (n - 1) ** 2
    return float((chi2 - degrees) / np.sqrt(2 * degrees))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("large", [False, True])
def test_kept_columns_move_with_their_rows(
    folder: Path, suffix: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(batches, "SMALL", 0)
        monkeypatch.setattr(batches, "PART", 1_000)
        monkeypatch.setattr(batches, "BUCKET", 500)
    n = 10_000
    pay = np.arange(n) % 4 / 4 + 0.1
    words = [None if at % 7 == 0 else f"w{at % 4}" for at in range(n)]
    table = pa.table({"pay": pay, "id": np.arange(n), "word": words})
    table = table.append_column("coded", table["word"].dictionary_encode())
    pq.write_table(table, "values.parquet", row_group_size=1_000)
    to = TO.with_suffix(suffix)
    streams.privatize(job("id", "word", "coded"), to, processes=2)
    made = pa_csv.read_csv(to) if suffix == ".csv" else pq.read_table(to)
    ids = made["id"].to_numpy()
    assert sorted(ids.tolist()) == list(range(n))
    assert made["pay"].to_pylist() == (ids % 4).tolist()
    # CSV has no word for a missing one.
    told = [words[at] or ("" if suffix == ".csv" else None) for at in ids]
    assert made["word"].to_pylist() == made["coded"].to_pylist() == told
    # Neither the whole nor a stretch of it follows the order of the values.
    assert abs(np.corrcoef(ids, np.arange(n))[0, 1]) < 6 / np.sqrt(n)
    assert abs(np.mean(np.diff(ids) > 0) - 0.5) < 6 / np.sqrt(12 * n) + 6 / np.sqrt(4 * n)
    table = np.histogram2d(np.arange(n), ids, bins=10)[0]
    assert ((table - n / 100) ** 2 / (n / 100)).sum() < 81 + 6 * np.sqrt(162)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_are_shuffled_with_their_kept_columns(folder: Path, kind: Callable) -> None:
    n = 4_000
    table = kind({"pay": np.arange(n) % 4 / 4 + 0.1, "id": np.arange(n)})
    made = survey().privatize(table, keep=["id"])
    ids = made["id"].to_numpy()
    assert sorted(ids.tolist()) == list(range(n)) != ids.tolist()
    assert made["pay"].to_pylist() == (ids % 4).tolist()
    assert abs(np.corrcoef(ids, np.arange(n))[0, 1]) < 6 / np.sqrt(n)
    kept = survey().privatize(table, keep=["id"], keep_order=True)
    assert kept["id"].to_pylist() == list(range(n))


def test_pandas_does_not_pair_shuffled_rows_with_others(folder: Path) -> None:
    frame = pd.DataFrame({"pay": np.arange(100) % 4 / 4 + 0.1})
    frame["report"] = survey().privatize(frame).to_pandas()["pay"]
    assert frame["report"].isna().all()
    frame["report"] = survey().privatize(frame, keep_order=True).to_pandas()["pay"]
    assert frame["report"].tolist() == (np.arange(100) % 4).tolist()


def known(shares: np.ndarray, pay: np.ndarray) -> float:
    """The share of people whose pay isotonic regression on the place finds to within 10,000."""
    guess = IsotonicRegression().fit_transform(np.arange(pay.size), shares)
    return float(np.mean(np.abs(guess - pay) <= 10_000))


def test_order_gives_answers_away_unless_it_is_shuffled(folder: Path) -> None:
    Path("survey.toml").write_text(ONE)
    pay = np.sort(cf.datasets.pay(20_000))
    pq.write_table(pa.table({"pay": pay}), "values.parquet")
    scores = survey().mechanisms["pay"].unbiased(1)
    population = max(np.mean(np.abs(pay - at) <= 10_000) for at in range(0, 300_000, 500))
    assert population == pytest.approx(0.42, abs=0.01)
    found = {}
    for name, options in (("shuffled", []), ("kept", ["--keep-order"])):
        assert run([*COMMAND[:-1], f"{name}.parquet", *options]) == 0
        found[name] = known(scores[pq.read_table(f"{name}.parquet")["pay"]], pay)
    assert found["kept"] > population > 2 * found["shuffled"]
    assert found["kept"] > 0.5


def test_reports_of_a_mechanism_are_shuffled_on_the_way_to_a_file(tmp_path: Path) -> None:
    made = cf.SquareWave(cf.Lattice(low=0, high=1), epsilon=100.0).privatize(np.linspace(0, 1, 500))
    for suffix in (".parquet", ".csv"):
        path = tmp_path / f"a{suffix}"
        reports.write(made, path)
        again = reports.read(path, mechanism=made.mechanism).indices.tolist()
        assert sorted(again) == sorted(made.indices.tolist()) != again
        reports.write(made, path, keep_order=True, replace=True)
        again = reports.read(path, mechanism=made.mechanism).indices.tolist()
        assert again == made.indices.tolist()
    cells = cf.Partition(cf.Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=100.0)
    rows = cells.privatize(np.linspace(0.01, 0.99, 64), np.linspace(-1, 1, 64))
    write(rows, tmp_path / "cells.parquet")
    again = read(tmp_path / "cells.parquet").indices
    assert sorted(again.tolist()) == sorted(rows.indices.tolist()) != again.tolist()
    with pytest.raises(InvalidInput, match="costs epsilon again"):
        write(rows, tmp_path / "cells.parquet")
    write(rows, tmp_path / "cells.parquet", keep_order=True, replace=True)
    assert np.array_equal(read(tmp_path / "cells.parquet").indices, rows.indices)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.csv", "a.parquet", "cells.parquet"]


def begun(one: streams.Job, first: int = 2) -> pa.Table:
    """Begin a run and leave it after some batches; what it has drawn."""
    made = []
    with Parts.open(TO, one.manifest(), restart=False) as kept:
        for batch, _ in zip(one.batches(), range(first), strict=False):
            made.append(one.drawn(batch))
            kept.write(batch.number, made[-1])
    return pa.Table.from_batches(made, one.schema).cast(one.written)


def sorted_values(n: int = 20_000) -> None:
    Path("survey.toml").write_text(ONE)
    table = pa.table({"pay": np.sort(cf.datasets.pay(n)), "id": np.arange(n)})
    pq.write_table(table, "values.parquet", row_group_size=n // 4)


@pytest.mark.parametrize("order", [(), ("--keep-order",)], ids=["shuffled", "ordered"])
def test_what_is_left_on_the_disk_tells_nothing(
    folder: Path, order: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    begun(job("id", keep_order=bool(order)))
    left = [path.read_bytes() for path in WORK.glob("*.batch")]
    assert len(left) == 2
    for data in left:
        # Noise cannot be compressed; reports of 11 bits in 16, and row numbers, can.
        assert len(zlib.compress(data)) > 0.99 * len(data)
    assert [name.startswith("confide-") for name in memory()] == [True]
    names = {path.name for path in WORK.iterdir()} - {path.name for path in WORK.glob("*.batch")}
    assert names == {"lock", "manifest.json", "seal.json"}


def keys() -> list[Path]:
    return [Path(os.environ["XDG_RUNTIME_DIR"]) / name for name in memory()]


def test_batches_whose_key_is_gone_are_not_dropped_in_silence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    before = begun(job("id"))
    (key,) = keys()
    held = {path.name: path.read_bytes() for path in WORK.glob("*.batch")}
    # As after the machine was started again, or where somebody put another key.
    data = key.read_bytes()
    for planted in (None, b"", bytes(32), data[:-1], data + b"x"):
        key.unlink()
        if planted is not None:
            key.write_bytes(planted)
        assert run([*COMMAND, "--keep", "id"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"the key of the finished batches in {str(WORK.resolve())!r}" in said
        for words in (repr(str(key)), "XDG_RUNTIME_DIR", "--restart", "costs nothing"):
            assert words in said
        assert {path.name: path.read_bytes() for path in WORK.glob("*.batch")} == held
        key.touch()
    # It may come back, in another place that is looked at too.
    key.unlink()
    other = folder / "elsewhere"
    other.mkdir()
    (other / key.name).write_bytes(data)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(other))
    assert streams.privatize(job("id"), TO, processes=1) == (20_000, 10_000)
    assert within(before, pq.read_table(TO))
    assert memory() == []


def test_a_run_whose_key_is_gone_begins_anew_when_told_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    begun(job("id"))
    for key in keys():
        key.unlink()
    assert run([*COMMAND, "--keep", "id", "--restart", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reused"] == 0
    assert sorted(pq.read_table(TO)["id"].to_pylist()) == list(range(20_000))
    assert memory() == []


def test_a_run_goes_on_in_another_environment(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    one = job("id")
    login = os.environ["XDG_RUNTIME_DIR"]
    before = begun(one)
    # Cron has no such folder, or another one.
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with Parts.open(TO, one.manifest(), restart=False) as kept:
        third = list(one.batches())[2]
        more = one.drawn(third)
        kept.write(third.number, more)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("other")))
    assert streams.privatize(one, TO, processes=1) == (20_000, 15_000)
    made = pq.read_table(TO)
    assert within(before, made)
    assert within(pa.Table.from_batches([more]).cast(one.written), made)
    assert memory() == os.listdir(login) == []


@pytest.mark.parametrize("there", ["batches", "nothing"])
def test_a_full_disk_is_not_taken_for_one_without_nameless_files(
    folder: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    monkeypatch.setattr(batches, "SMALL", 0)
    sorted_values()
    one = job("id")
    before = begun(one) if there == "batches" else one.written.empty_table()
    real = os.open

    def full(path: str, flags: int, *more: int, **options: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, *more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        with pytest.raises(OSError, match="No space left"):
            streams.privatize(one, TO, processes=1)
    assert not TO.exists()
    assert not (WORK / "key").exists()
    n, reused = streams.privatize(one, TO, processes=1)
    assert (n, reused >= before.num_rows) == (20_000, True)
    assert within(before, pq.read_table(TO))


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT])
def test_a_mount_without_nameless_files(
    folder: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(folder: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(paths, "_without_name", none)
    assert not paths.nameless(folder)


def test_a_key_that_others_put_there_is_not_used(folder: Path) -> None:
    sorted_values()
    begun(job("id"))
    (key,) = keys()
    data = key.read_bytes()
    other = key.with_suffix(".other")
    key.rename(other)
    key.symlink_to(other)
    assert seals.read(WORK.resolve()) is None
    key.unlink()
    # Nobody waits for what a pipe might say.
    os.mkfifo(key)
    assert seals.read(WORK.resolve()) is None
    key.unlink()
    key.write_bytes(data)
    assert seals.read(WORK.resolve()) == data
    if os.getuid() == 0:
        os.chown(key, 65534, 65534)
        assert seals.read(WORK.resolve()) is None


def test_nobody_can_take_the_place_of_a_key(folder: Path) -> None:
    sorted_values()
    names = set()
    for _ in range(2):
        begun(job("id"))
        names |= set(memory())
        for path in (*WORK.iterdir(), *keys()):
            path.unlink()
    assert len(names) == 2


def test_a_run_that_drew_nothing_leaves_no_mark_for_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    one = job("id")
    begun(one, 0)
    before = begun(one, 2)
    assert len(memory()) == 1
    assert streams.privatize(one, TO, processes=1) == (20_000, 10_000)
    assert within(before, pq.read_table(TO))


def test_batches_that_were_being_thrown_away_are_not_missed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    one = job("id")
    begun(one)

    def last(folder: Path, pattern: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        # The key has gone, and the batches have not.
        patched.setattr(parts_module, "_unlink", last)
        with pytest.raises(KeyboardInterrupt):
            streams.privatize(one, TO, processes=1, restart=True)
    assert memory() == []
    assert any(WORK.glob("*.batch"))
    assert streams.privatize(one, TO, processes=1) == (20_000, 0)
    assert not WORK.exists()


def within(some: pa.Table, made: pa.Table) -> bool:
    made = made.take(pa.array(np.argsort(made["id"].to_numpy()))).cast(some.schema)
    return bool(made.take(some["id"].cast(pa.int64())).equals(some))


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("order", [False, True])
def test_an_interrupted_run_goes_on_wherever_it_was(
    folder: Path,
    small: bool,
    nameless: bool,
    order: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "SMALL", 10**9 if small else 0)
    monkeypatch.setattr(batches, "PART", 5_000)
    monkeypatch.setattr(batches, "BUCKET", 3_000)
    if not nameless:
        for module in (paths, seals):
            monkeypatch.setattr(module, "nameless", lambda folder: False)
    sorted_values()
    one = job("id", keep_order=order)
    before = begun(one)
    assert bool(memory()) == nameless
    assert streams.privatize(one, TO, processes=1) == (20_000, 10_000)
    made = pq.read_table(TO)
    assert within(before, made)
    ids = made["id"].to_pylist()
    assert sorted(ids) == list(range(20_000))
    assert (ids == list(range(20_000))) == order
    assert memory() == []
    assert sorted(path.name for path in folder.iterdir()) == [
        "reports.parquet",
        "survey.toml",
        "values.parquet",
    ]


@pytest.mark.parametrize(
    ("small", "replace"),
    [(0, []), (10**9, []), (10**9, ["--replace"])],
    ids=["large", "small", "replace"],
)
@pytest.mark.parametrize(
    "where", ["half a batch", "a batch", "half an output", "an output", "published", "half gone"]
)
def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_take(
    folder: Path,
    where: str,
    small: int,
    replace: list[str],
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, size in (("PART", 5_000), ("BUCKET", 3_000), ("SMALL", small)):
        monkeypatch.setattr(batches, name, size)
    sorted_values()
    if replace:
        TO.write_bytes(b"older")
    command = [*COMMAND, "--keep", "id", "--processes", "1", *replace]
    process = get_context("forkserver").Process(
        target=killed, args=(where, small, folder, os.environ["XDG_RUNTIME_DIR"], command)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    published = where in ("published", "half gone")
    assert TO.exists() == (bool(replace) or published)
    before = readable()
    stands = TO.read_bytes() if published else None
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reused"] >= before.num_rows
    made = pq.read_table(TO)
    assert sorted(made["id"].to_pylist()) == list(range(20_000))
    assert within(before, made)
    assert stands is None or TO.read_bytes() == stands
    assert memory() == []
    assert sorted(path.name for path in folder.iterdir()) == [
        "reports.parquet",
        "survey.toml",
        "values.parquet",
    ]


def readable() -> pa.Table:
    """All reports on the disk that anybody could read who has the key."""
    one = job("id")
    found = [one.written.empty_table()]
    key = seals.read(WORK.resolve())
    if key is not None:
        kept = Parts(WORK.resolve(), one.buckets, key)
        found += [
            pa.Table.from_batches([kept.piece(path, at, one.schema)]).cast(one.written)
            for path in kept.finished().values()
            for at in range(kept.buckets)
        ]
    for path in (TO, *WORK.glob("*.parquet")):
        if path.exists() and path.read_bytes()[:4] == b"PAR1":
            found.append(pq.read_table(path).cast(one.written))
    rows = {row["id"]: row for row in pa.concat_tables(found).to_pylist()}
    return pa.Table.from_pylist(list(rows.values()), one.written)


def test_reports_are_not_replaced_unasked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sorted_values(2_000)
    assert run(COMMAND) == 0
    capsys.readouterr()
    first = TO.read_bytes()
    for more in ([], ["--restart"], ["--keep", "id"]):
        assert run([*COMMAND, *more]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "A second report of the same people costs epsilon again" in said.err
        assert "--replace" in said.err
        assert TO.read_bytes() == first
        assert not WORK.exists()
    with pytest.raises(InvalidInput, match="replace=True"):
        streams.privatize(job(), TO)
    TO.chmod(0o640)
    assert run([*COMMAND, "--replace"]) == 0
    assert "cost epsilon again: 2 in all" in " ".join(capsys.readouterr().out.split())
    assert TO.read_bytes() != first
    assert TO.stat().st_mode & 0o777 == 0o640
    assert run([*COMMAND, "--replace", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replaced"] is True


def test_an_interrupted_run_does_not_replace_either(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batches, "PART", 5_000)
    sorted_values()
    before = begun(job("id"))
    TO.write_bytes(b"somebody else's")
    command = [*COMMAND, "--keep", "id"]
    assert run(command) == 2
    assert "costs epsilon again" in capsys.readouterr().err
    assert TO.read_bytes() == b"somebody else's"
    assert run([*command, "--replace"]) == 0
    assert within(before, pq.read_table(TO))


def test_a_name_that_is_taken_meanwhile_stands(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sorted_values(2_000)

    def taken(rows: int) -> None:
        TO.write_bytes(b"somebody else's")

    waiting = "where the finished reports of this run wait for their name, got one that is there"
    with pytest.raises(InvalidInput, match=waiting):
        streams.privatize(job("id"), TO, processes=1, advance=taken)
    assert TO.read_bytes() == b"somebody else's"
    # All was drawn and written: it waits for a name, and another name is not what helps.
    assert run([*COMMAND, "--keep", "id"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert waiting in said
    assert "Move that file away and run this again" in said
    assert "Take another name" not in said
    (waits,) = WORK.glob("whole-*")
    held = waits.read_bytes()
    TO.rename("moved.parquet")
    assert streams.privatize(job("id"), TO) == (2_000, 2_000)
    assert TO.read_bytes() == held
    assert not WORK.exists()


def test_finished_reports_take_the_place_when_told_to(folder: Path) -> None:
    sorted_values(2_000)
    with pytest.raises(InvalidInput, match="wait for their name"):
        streams.privatize(
            job("id"), TO, processes=1, advance=lambda rows: TO.write_bytes(b"other") and None
        )
    assert streams.privatize(job("id"), TO, replace=True) == (2_000, 2_000)
    assert pq.read_table(TO).num_rows == 2_000


@pytest.mark.parametrize("bucket", [500, 10**6])
def test_a_batch_does_not_keep_the_order_of_its_values(
    folder: Path, bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BUCKET", bucket)
    sorted_values(4_000)
    one = job("id")
    begun(one, 1)
    kept = Parts(WORK.resolve(), one.buckets, seals.read(WORK.resolve()) or b"")
    (path,) = kept.finished().values()
    for at in range(kept.buckets):
        ids = kept.piece(path, at, one.schema)["id"].to_numpy()
        assert abs(np.mean(np.diff(ids) > 0) - 0.5) < 6 / np.sqrt(4 * ids.size)


def test_names_however_long_have_a_folder_of_their_own(folder: Path) -> None:
    sorted_values(2_000)
    names = ["x" * 205 + "1.csv", "x" * 205 + "2.csv", "é" * 124 + ".csv", "reports.parquet"]
    folders = [parts_module.folder_of(Path(name)) for name in names]
    assert len(set(folders)) == 4
    assert folders[-1] == WORK.resolve()
    for name in names:
        assert streams.privatize(job(), Path(name), processes=1) == (2_000, 0)


def test_the_help_says_what_order_and_second_reports_cost(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["privatize", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for words in (
        "identifies people",
        "undoes the shuffling",
        "The order can reveal answers",
        "finds 80 % of their pay to within 10,000",
        "A second report of the same people costs epsilon again",
    ):
        assert words in said
    for told in (cf.SquareWave.privatize.__doc__, Survey.privatize.__doc__):
        assert "80 % within 10,000" in " ".join(str(told).split())

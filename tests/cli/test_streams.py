"""Files of values: batches drawn once, shuffled and sealed, whatever interrupts the run."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from confide import reports, streams
from confide.cli.app import run
from confide.errors import ConfideError, InvalidInput, Mismatch
from confide.files import csv
from confide.mechanisms import Mechanism
from confide.streams import batches, crew
from confide.streams import parts as parts_module
from confide.streams.parts import MANIFEST, Parts
from confide.summaries import Counts
from confide.survey import Survey

GROUP = 5_000
BUCKET = 4_000
N = 60_000
TOML = """
[questions.pay]
low = 0
high = 10
epsilon = 1.0
size = 16
[questions.smokes]
categories = ["no", "yes"]
epsilon = 2.0
missing = "no"
"""
WORK = Path(".reports.parquet.parts")
COMMAND = ["privatize", "survey.toml", "values.parquet", "-o", "reports.parquet", "--keep", "id"]
# The same command where a batch is small, in a process of its own that kill -9 meets half-way.
DRIVER = f"""
import os, signal, sys
from confide.cli.app import run
from confide.streams import batches
from confide.streams.parts import Parts
batches.PART, batches.SMALL, batches.BUCKET = {GROUP}, 0, {BUCKET}
whole = Parts.write
def write(self, number, batch):
    whole(self, number, batch)
    if number == 3:
        os.kill(int(os.environ["FIRST"]), signal.SIGKILL)
Parts.write = write
if __name__ == "__main__":
    os.environ["FIRST"] = str(os.getpid())
    sys.exit(run({COMMAND!r}))
"""


def values(n: int = N, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    words = pa.array(rng.choice(["no", "yes"], n), mask=rng.random(n) < 0.1)
    return pa.table({"pay": 10 * rng.beta(2, 5, n), "smokes": words, "id": np.arange(n)})


@pytest.fixture
def folder(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("memory")))
    monkeypatch.setattr(parts_module, "PATIENCE", 0.5)
    monkeypatch.setattr(batches, "BUCKET", BUCKET)
    monkeypatch.setattr(batches, "PART", GROUP)
    monkeypatch.setattr(batches, "SMALL", 0)
    monkeypatch.setattr(batches, "SMALL_BYTES", 0)
    Path("survey.toml").write_text(TOML)
    pq.write_table(values(), "values.parquet", row_group_size=GROUP)
    return tmp_path


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def job(keep: Sequence[str] = ("id",), **options: bool) -> streams.Job:
    return streams.Job(Survey.read("survey.toml"), [Path("values.parquet")], keep, **options)


def begun(job: streams.Job, restart: bool = False) -> AbstractContextManager[Parts]:
    return Parts.open(Path("reports.parquet"), job.manifest(), restart=restart)


def sealed() -> dict[str, bytes]:
    """The finished batches on the disk."""
    return {path.name: path.read_bytes() for path in WORK.glob("*.batch")}


def drawn() -> pa.Table:
    """The reports in the finished batches, read with the key."""
    one = job()
    with begun(one) as kept:
        pieces = [
            kept.piece(path, bucket, one.schema)
            for path in kept.finished().values()
            for bucket in range(kept.buckets)
        ]
    return pa.Table.from_batches(pieces).cast(one.written)


def killed() -> dict[str, bytes]:
    """The finished batches of a run that was killed."""
    Path("driver.py").write_text(DRIVER)
    done = subprocess.run([sys.executable, "driver.py"], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    with begun(job()):
        # Processes that outlived it have ended now.
        return sealed()


def within(some: pa.Table, made: pa.Table) -> bool:
    """Whether all rows of one table are in another, as they are."""
    made = made.take(pa.array(np.argsort(made["id"].to_numpy())))
    return bool(made.take(some["id"].cast(pa.int64())).equals(some))


def test_a_killed_run_leaves_no_output_and_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = killed()
    assert 1 <= len(kept) < N // GROUP
    assert not Path("reports.parquet").exists()
    assert WORK.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in WORK.glob("*.batch")} == {0}

    # Stop once more, just before the end, to see that what was finished is as it was.
    before = drawn()
    last = WORK / sorted(kept)[-1]
    whole = last.read_bytes()
    last.write_bytes(whole[: len(whole) // 2])
    assert "got a damaged one" in refused(COMMAND, capsys)
    last.write_bytes(whole)
    now = sealed()
    assert {name: now[name] for name in kept} == kept
    assert run([*COMMAND, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["n"] == N
    assert said["reused"] == len(now) * GROUP
    assert not WORK.exists()

    made = pq.read_table("reports.parquet")
    assert sorted(made["id"].to_pylist()) == list(range(N))
    assert within(before, made)


def test_a_run_of_something_else_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = killed()
    Path("survey.toml").write_text(TOML.replace("epsilon = 1.0", "epsilon = 2.0"))
    said = refused(COMMAND, capsys)
    assert "Expected the values, survey and options of the run that was interrupted" in said
    assert "--restart" in said
    assert "costs epsilon again" in said
    Path("survey.toml").write_text(TOML)
    assert "--restart" in refused(COMMAND[:-2], capsys)
    assert "--restart" in refused([*COMMAND, "--keep-order"], capsys)
    pq.write_table(values(seed=2), "values.parquet", row_group_size=GROUP)
    assert "--restart" in refused(COMMAND, capsys)
    assert sealed() == kept
    assert not Path("reports.parquet").exists()
    assert run([*COMMAND, "--restart", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reused"] == 0
    assert not WORK.exists()


def test_small_values_do_not_pass_by_a_run_that_was_interrupted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batches, "SMALL", 10**9)
    one = job(keep=())
    with begun(one) as kept:
        kept.write(0, one.drawn(next(one.batches())))
    assert "--restart" in refused(COMMAND, capsys)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_however_many_processes_draw_the_law_is_the_same(folder: Path, processes: int) -> None:
    survey = Survey.read("survey.toml")
    n, reused = streams.privatize(job(()), Path("reports.parquet"), processes=processes)
    assert (n, reused) == (N, 0)
    made = reports.read("reports.parquet", column="pay")
    assert not made.simulated
    mechanism = survey.mechanisms["pay"]
    assert isinstance(mechanism, Mechanism)
    indices = mechanism.index(values()["pay"].to_numpy())
    shares = np.bincount(indices, minlength=16) / N
    expected = N * mechanism.law.forward(shares)
    chi2 = ((Counts.of(made).counts - expected) ** 2 / expected).sum()
    degrees = expected.size - 1
    assert abs(chi2 - degrees) < 6 * np.sqrt(2 * degrees)


def test_no_two_batches_share_their_noise(folder: Path) -> None:
    same = pa.table({"pay": np.full(4 * GROUP, 5.0), "smokes": ["no"] * (4 * GROUP)})
    pq.write_table(same, "values.parquet", row_group_size=GROUP)
    streams.privatize(job((), keep_order=True), Path("reports.parquet"), processes=2)
    noise = pq.read_table("reports.parquet")["pay"].to_numpy().reshape(4, GROUP)
    correlations = np.corrcoef(noise)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 6 / np.sqrt(GROUP)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_several_files_of_either_kind(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(csv, "BLOCK", 2**16)
    Path("many").mkdir()
    table = values()
    for at, name in enumerate("ab"):
        part = table.slice(at * N // 2, N // 2)
        if kind == "csv":
            pa_csv.write_csv(part, f"many/{name}.csv")
        else:
            pq.write_table(part, f"many/{name}.parquet", row_group_size=1_700)
    command = ["privatize", "survey.toml", "many", "-o", f"out.{kind}", "--keep", "id"]
    assert run([*command, "--processes", "2"]) == 0
    assert "60,000 reports from 2 files" in capsys.readouterr().out
    made = pa_csv.read_csv("out.csv") if kind == "csv" else pq.read_table("out.parquet")
    assert made.column_names == ["pay", "smokes", "id"]
    assert sorted(made["id"].to_pylist()) == list(range(N)) != made["id"].to_pylist()
    assert not list(folder.glob(".out*"))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_first_bad_row_is_named_and_nothing_stays(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(csv, "BLOCK", 2**16)
    pay = values()["pay"].to_pylist()
    for at in (31_234, 31_235, 50_000):
        pay[at] = None
    table = values().set_column(0, "pay", pa.array(pay))
    if kind == "csv":
        pa_csv.write_csv(table, "bad.csv")
    else:
        pq.write_table(table, "bad.parquet", row_group_size=GROUP)
    command = ["privatize", "survey.toml", f"bad.{kind}", "-o", "out.parquet", "--processes", "3"]
    assert "none in row 31235 of" in refused(command, capsys)
    assert not list(folder.glob("*out*"))
    assert not list(folder.glob(".out*"))


def test_what_others_left_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*COMMAND, "--replace"]
    WORK.mkdir()
    (WORK / "notes.txt").write_text("not ours")
    (WORK / "half.tmp").write_bytes(b"half")
    assert run(command) == 0
    capsys.readouterr()
    assert [path.name for path in WORK.iterdir()] == ["notes.txt"]
    with begun(job()) as kept:
        kept.write(0, job().drawn(next(job().batches())))
    (WORK / MANIFEST).unlink()
    assert "--restart" in refused(command, capsys)
    (WORK / MANIFEST).write_text("{")
    assert "--restart" in refused(command, capsys)
    assert run([*command, "--restart"]) == 0
    capsys.readouterr()
    (WORK / "notes.txt").unlink()
    WORK.rmdir()
    WORK.symlink_to(folder)
    assert "Expected a folder of our own" in refused(command, capsys)
    WORK.unlink()
    WORK.write_text("")
    assert "Expected a folder of our own" in refused(command, capsys)


def test_two_runs_at_once_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with begun(job()):
        assert "one that is under way" in refused(COMMAND, capsys)
        assert "one that is under way" in refused([*COMMAND, "--restart"], capsys)
    assert run(COMMAND) == 0


def test_a_process_that_was_ended_is_told_and_the_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(())
    to = Path("reports.parquet")
    with monkeypatch.context() as patched:
        # A process that takes what it is given, does nothing and ends.
        patched.setattr(crew, "_serve", slice)
        with pytest.raises(ConfideError, match="one that was ended"):
            streams.privatize(one, to, processes=2)
    assert not to.exists()
    n, reused = streams.privatize(one, to, processes=1)
    assert n == N
    assert reused < N


def test_a_process_that_cannot_start_is_told_and_the_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(process: BaseProcess) -> None:
        raise OSError("Resource temporarily unavailable")

    one = job(())
    to = Path("reports.parquet")
    with monkeypatch.context() as patched:
        patched.setattr(BaseProcess, "start", fail)
        with pytest.raises(ConfideError, match="one that was ended"):
            streams.privatize(one, to, processes=2)
    assert not to.exists()
    assert streams.privatize(one, to, processes=1)[0] == N


def test_nobody_waits_for_a_process_to_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Event()
    waits = []
    start, write = crew._start, Parts.write

    def late(process: BaseProcess, theirs: Connection) -> None:
        waits.append(done.wait(20))
        start(process, theirs)

    def told(kept: Parts, number: int, batch: pa.RecordBatch) -> None:
        write(kept, number, batch)
        done.set()

    monkeypatch.setattr(crew, "_start", late)
    monkeypatch.setattr(Parts, "write", told)
    assert streams.privatize(job(()), Path("reports.parquet"), processes=2) == (N, 0)
    assert waits == [True]


@pytest.mark.parametrize("damage", ["zeros", "one bit", "no end", "a start", "nothing"])
def test_a_damaged_batch_is_told(
    folder: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with begun(job()) as kept:
        kept.write(0, job().drawn(next(job().batches())))
        path = kept.finished()[0]
    whole = bytearray(path.read_bytes())
    half = len(whole) // 2
    if damage == "zeros":
        whole[half : half + 4096] = bytes(4096)
    elif damage == "one bit":
        whole[half] ^= 1
    else:
        del whole[{"no end": -1, "a start": 3, "nothing": 0}[damage] :]
    path.write_bytes(whole)
    said = refused(COMMAND, capsys)
    assert "got a damaged one" in said
    assert "costs epsilon again" in said
    assert path.read_bytes() == whole
    assert not Path("reports.parquet").exists()


def test_a_batch_that_was_cut_while_the_output_is_written(folder: Path) -> None:
    def cut(rows: int) -> None:
        for path in WORK.glob("00000011-*.batch"):
            path.write_bytes(path.read_bytes()[:1000])

    with pytest.raises(Mismatch, match="a damaged one"):
        streams.privatize(job(), Path("reports.parquet"), processes=1, advance=cut)
    assert not Path("reports.parquet").exists()


@pytest.mark.parametrize("small", [False, True])
def test_values_that_are_replaced_while_they_are_read(
    folder: Path, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "SMALL", 10**9 if small else 0)
    pq.write_table(values(seed=2), "others.parquet", row_group_size=GROUP)

    def replace(rows: int) -> None:
        if Path("others.parquet").exists():
            os.replace("others.parquet", "values.parquet")

    with pytest.raises(InvalidInput, match="files that were changed meanwhile"):
        streams.privatize(job(), Path("reports.parquet"), processes=1, advance=replace)
    assert sorted(path.name for path in folder.iterdir()) == ["survey.toml", "values.parquet"]


def test_other_values_of_the_same_size_and_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with begun(job()) as kept:
        kept.write(0, job().drawn(next(job().batches())))
    shutil.copy2("values.parquet", "others.parquet")
    os.replace("others.parquet", "values.parquet")
    assert "--restart" in refused(COMMAND, capsys)


def test_a_lock_that_its_holder_has_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    lock = fcntl.flock
    first = begun(job())
    others = []

    def late(file: object, operation: int) -> None:
        # The lock is open: now the run that held it ends, and another one begins.
        monkeypatch.setattr(fcntl, "flock", lock)
        kept.remove()
        first.__exit__(None, None, None)
        others.append(begun(job()))
        others[0].__enter__()
        lock(file, operation)

    kept = first.__enter__()
    monkeypatch.setattr(fcntl, "flock", late)
    with (
        pytest.raises(InvalidInput, match="one that is under way"),
        begun(job()),
    ):
        pytest.fail("two runs at once")
    others[0].__exit__(None, None, None)


def test_compressed_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa_csv.write_csv(values(), "values.csv")
    header, *lines = Path("values.csv").read_bytes().splitlines(keepends=True)
    # Two members, as tools write that compress in parallel.
    whole = gzip.compress(header + b"".join(lines[:100])) + gzip.compress(b"".join(lines[100:]))
    Path("values.csv.gz").write_bytes(whole)
    command = [*COMMAND[:2], "values.csv.gz", *COMMAND[3:]]
    assert run(command) == 0
    capsys.readouterr()
    assert sorted(pq.read_table("reports.parquet")["id"].to_pylist()) == list(range(N))
    Path("reports.parquet").unlink()
    for cut in (20, len(whole) // 2, len(whole) - 1):
        Path("values.csv.gz").write_bytes(whole[:cut])
        assert "Expected a CSV file" in refused(command, capsys)
    assert not list(folder.glob("*reports*"))


def test_reports_are_packed_and_public_columns_are_not(folder: Path) -> None:
    survey = Survey.from_dict({"questions": {"a.b": {"low": 0, "high": 1, "epsilon": 1.0}}})
    table = pa.table({"a.b": np.full(N, 0.5), "a": [{"c": "x"}] * N, "region": ["north"] * N})
    pq.write_table(table, "values.parquet", row_group_size=GROUP)
    one = streams.Job(survey, [Path("values.parquet")], ["a", "region"])
    streams.privatize(one, Path("reports.parquet"), processes=1)
    group = pq.ParquetFile("reports.parquet").metadata.row_group(0)
    found = {
        group.column(at).path_in_schema: group.column(at).encodings
        for at in range(group.num_columns)
    }
    assert "DELTA_BINARY_PACKED" in found["a.b"]
    assert "RLE_DICTIONARY" in found["region"]
    made = pq.read_table("reports.parquet")
    assert made.select(["a", "region"]).equals(table.select(["a", "region"]))
    # At 1,024 cells a report has eleven bits or so, and its packed difference one more.
    assert group.column(0).total_compressed_size < 2 * group.num_rows


def test_the_number_of_processes_is_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "processes" in refused([*COMMAND, "--processes", "-1"], capsys)


def test_a_file_under_two_names_is_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.link("values.parquet", "again.parquet")
    command = ["privatize", "survey.toml", "values.parquet", "again.parquet", "-o", "out.parquet"]
    assert "each file once" in refused(command, capsys)
    Path("linked.parquet").symlink_to("values.parquet")
    command[3] = "linked.parquet"
    assert "each file once" in refused(command, capsys)


def test_compressed_values_count_by_what_is_in_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa_csv.write_csv(values(), "values.csv")
    whole = Path("values.csv").read_bytes()
    Path("values.csv.gz").write_bytes(gzip.compress(whole))
    assert Path("values.csv.gz").stat().st_size < len(whole) / 2
    survey = Survey.read("survey.toml")
    monkeypatch.setattr(batches, "SMALL_BYTES", len(whole) - 1)
    plain, packed = (
        streams.Job(survey, [Path(name)], ["id"]) for name in ("values.csv", "values.csv.gz")
    )
    assert not plain.small
    assert not packed.small
    assert packed.buckets >= plain.buckets > 1


UNGUARDED = f"""
from pathlib import Path
from confide import streams
from confide.streams import batches
from confide.survey import Survey
batches.PART, batches.SMALL, batches.BUCKET = {GROUP}, 0, {BUCKET}
job = streams.Job(Survey.read("survey.toml"), [Path("values.parquet")])
streams.privatize(job, Path("reports.parquet"), processes=2)
"""


def test_a_script_that_starts_processes_on_import_is_told(folder: Path) -> None:
    Path("script.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert 'under if __name__ == "__main__":' in last
    assert "memory" not in last
    assert "one that is under way" not in done.stderr
    assert not Path("reports.parquet").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_kept_column_that_tells_rows_apart_is_warned_of(
    kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "s.toml").write_text("[questions.pay]\nlow = 0\nhigh = 10\nepsilon = 1.0\n")
    n = 1200
    columns = {
        "pay": [3] * n,
        "mail": [f"{k}@example.org" for k in range(n)],
        "region": ["north", "south"] * (n // 2),
        "weight": [1 + k / n for k in range(n)],
    }
    if kind == "csv":
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        (here / "values.csv").write_text("\n".join(lines) + "\n")
    else:
        pq.write_table(pa.table(columns), here / "values.parquet")
    command = ["privatize", "s.toml", f"values.{kind}", "--keep", "region", "--keep", "weight"]
    assert run([*command, "-o", "a.parquet", "--json"]) == 0
    assert capsys.readouterr().err == ""
    assert run([*command, "--keep", "mail", "-o", "b.parquet", "--json"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("Warning: Each of the first rows has a 'mail' of its own.")
    assert said.count("\n") == 1

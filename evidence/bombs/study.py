"""Small files that ask for much: what reading each costs in time and memory.

python -m evidence bombs [--before FOLDER] [--thin] [NAME ...]

Every file is read in a process of its own that may not have more than six gigabytes of address
space nor more than 100 seconds of the processor. ``--before`` reads them with the library in
another folder instead, and keeps what it finds as the column to compare with.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "evidence" / "bombs" / "results.json"
PAGE = ROOT / "docs" / "evidence" / "hostile-files.md"
MARKS = ("<!-- made by evidence/bombs -->\n", "<!-- end of bombs -->\n")
MEMORY = 6 * 2**30
SECONDS, WALL = 100, 900
"""Seconds of the processor and of the clock that reading may take."""
BASE, PER_BYTE = 2**30, 200
"""Bytes of memory that reading a file may take: so many, and so many for each of its own."""
CELLS = 2**26
"""Cells of the largest joint mechanism: counts of them in an archive take eight bytes each."""
THIN = ("npz_long_header", "json_scales", "parquet_page", "gzip_wide")
"""Those that the tests run in processes of their own; they read the others in one."""


@dataclass(frozen=True)
class Bomb:
    """A small file that asks for much.

    Parameters
    ----------
    name
        What makes it one, for the table.
    file
        Name of the file.
    make
        The function of `evidence.bombs.files` that makes it, and its arguments.
    read
        The function of this module that reads it.
    """

    name: str
    file: str
    make: tuple[Any, ...]
    read: str

    def data(self) -> bytes:
        from evidence.bombs import files as bomb_files

        maker, *arguments = self.make
        made: bytes = getattr(bomb_files, maker)(*arguments)
        return made


def command(*words: str) -> None:
    """A command; what it refuses is an error like any other."""
    from confide.cli.app import run
    from confide.errors import ConfideError

    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = run(list(words))
    if code:
        raise ConfideError(said.getvalue().strip())


def nothing(path: Path) -> None:
    """What all the others cost too."""
    import confide.cli.app  # noqa: F401


def survey(path: Path) -> None:
    command("audit", str(path), "--json")


def summarize(path: Path) -> None:
    command("summarize", str(path), "-o", str(path.with_name("out.json")))


def summarize_csv(path: Path) -> None:
    toml = path.with_name("survey.toml")
    toml.write_text("[questions.pay]\nlow = 0\nhigh = 10\nsize = 16\nepsilon = 1.0\n")
    command("summarize", str(toml), str(path), "-o", str(path.with_name("out.json")))


def by_group(path: Path) -> None:
    to = str(path.with_name("out.json"))
    command("summarize", str(path), "--by", "region", "-o", to)


def query(path: Path) -> None:
    from tests.fuzz.files import WAVE

    from confide import tables

    tables.counts(path, WAVE, column="pay")


def privatize(path: Path) -> None:
    toml = path.with_name("survey.toml")
    toml.write_text('[questions.smokes]\ncategories = ["no", "yes"]\nepsilon = 1.0\n')
    command("privatize", str(toml), str(path), "-o", str(path.with_name("out.parquet")))


def read_reports(path: Path) -> None:
    from tests.fuzz.files import WAVE

    from confide import reports

    reports.read(path, column="pay", mechanism=WAVE)


def read_cells(path: Path) -> None:
    from confide import reports

    reports.read(path)


def merge(path: Path) -> None:
    command("merge", str(path), "-o", str(path.with_name("out.json")))


def density(path: Path) -> None:
    command("density", str(path), "--json")


def shares(path: Path) -> None:
    command("shares", str(path), "--json")


def spectrum(path: Path) -> None:
    from confide.foreign import Spectrum

    Spectrum.from_dict(json.loads(path.read_bytes()))


def read_sums(path: Path) -> None:
    from confide.summaries import CellSums

    data = path.read_bytes()
    if path.suffix == ".npz":
        CellSums.from_bytes(data)
    else:
        CellSums.from_dict(json.loads(data))


def read_counts(path: Path) -> None:
    from confide.summaries import Counts

    data = path.read_bytes()
    if path.suffix == ".npz":
        Counts.from_bytes(data)
    else:
        Counts.from_dict(json.loads(data))


def ledger(path: Path) -> None:
    command("ledger", "show", str(path))
    import confide as cf

    for entry in cf.Ledger(path).entries():
        assert entry.release is not ...


BOMBS = (
    Bomb("nothing: what all the others take too", "none", ("nothing",), "nothing"),
    Bomb("npz: 4 GB of counts of another shape", "s.npz", ("npz_shape",), "merge"),
    Bomb("npz: 4 GB that nobody asked for", "s.npz", ("npz_extra",), "merge"),
    Bomb("npz: a header of 33 million empty lists", "s.npz", ("npz_header",), "merge"),
    Bomb("npz: 512 MiB before an array, in bzip2", "s.npz", ("npz_long_header",), "merge"),
    Bomb("npz: the same, deflated", "s.npz", ("npz_long_header_deflated",), "merge"),
    Bomb("npz: words for counts", "s.npz", ("npz_text",), "merge"),
    Bomb("npz: sums of a partition, 4 GB", "s.npz", ("npz_sums",), "read_sums"),
    Bomb("npz in order, 67 million counts", "s.npz", ("npz_joint",), "read_counts"),
    Bomb("json: 4,000 scales of noise, few counts", "s.json", ("json_scales",), "density"),
    Bomb("json: 4,000 scales of noise, all counts", "s.json", ("json_scales_whole",), "density"),
    Bomb("json: gamma noise on 30,000 cells", "s.json", ("gamma_counts", 30_000), "density"),
    Bomb("json: gamma noise on a million cells", "s.json", ("gamma_counts", 2**20), "density"),
    Bomb("json: 30,000 categories", "s.json", ("category_counts", 30_000), "shares"),
    Bomb("json: a million categories", "s.json", ("category_counts", 2**20), "shares"),
    Bomb("json: a long word among short ones", "s.json", ("json_words",), "read_counts"),
    Bomb("json: the same in lists", "s.json", ("json_words_within",), "read_counts"),
    Bomb("json: the same in a spectrum", "s.json", ("spectrum_words",), "spectrum"),
    Bomb("json: the same in sums", "s.json", ("sums_words",), "read_sums"),
    Bomb("json: a million empty lists", "s.json", ("json_lists",), "merge"),
    Bomb("json: endless nesting", "s.json", ("json_deep",), "merge"),
    Bomb("json: 20,000 groups", "s.json", ("groups_many",), "merge"),
    Bomb("toml: a key of 150,000 parts", "s.toml", ("toml_dots",), "survey"),
    Bomb("toml: endless nesting", "s.toml", ("toml_deep",), "survey"),
    Bomb("toml: tables inside tables", "s.toml", ("toml_tables",), "survey"),
    Bomb("parquet: 40 tables of gamma noise", "r.parquet", ("stamp_gamma",), "summarize"),
    Bomb("parquet: 1,000 columns of a million cells", "r.parquet", ("stamp_wide",), "summarize"),
    Bomb("parquet: as many cells as there may be", "r.parquet", ("stamp_allowed",), "summarize"),
    Bomb("parquet: reports of a megabyte of text", "r.parquet", ("parquet_text",), "summarize"),
    Bomb("parquet: groups of a megabyte of text", "r.parquet", ("parquet_kept",), "by_group"),
    Bomb("parquet: answers of a megabyte of text", "v.parquet", ("parquet_values",), "privatize"),
    Bomb("parquet: answers made of prefixes", "v.parquet", ("parquet_prefixes",), "privatize"),
    Bomb(
        "parquet: as much text as there may be",
        "v.parquet",
        ("parquet_text_allowed",),
        "privatize",
    ),
    Bomb("parquet: a page of 1.5 GiB", "r.parquet", ("parquet_page",), "summarize"),
    Bomb("parquet: the same for a query", "r.parquet", ("parquet_page",), "query"),
    Bomb("parquet: 2,000 million reports in a run", "r.parquet", ("parquet_rows",), "summarize"),
    Bomb("parquet: the same at once", "r.parquet", ("parquet_rows",), "read_reports"),
    Bomb("parquet: how many, said twice", "r.parquet", ("parquet_odd", "twice"), "summarize"),
    Bomb("parquet: how many, in field 65,541", "r.parquet", ("parquet_odd", "far"), "summarize"),
    Bomb("parquet: how many, for two kinds", "r.parquet", ("parquet_odd", "both"), "summarize"),
    Bomb(
        "parquet: as many reports as there may be",
        "r.parquet",
        ("parquet_rows_allowed",),
        "summarize",
    ),
    Bomb("parquet: 5,000 groups in one place", "r.parquet", ("parquet_groups",), "summarize"),
    Bomb("parquet: 20,000 groups of one", "r.parquet", ("parquet_tiny_groups",), "summarize"),
    Bomb("parquet: 30,000 columns", "r.parquet", ("parquet_columns",), "summarize"),
    Bomb("parquet: vectors of a megabyte of text", "c.parquet", ("parquet_vectors",), "read_cells"),
    Bomb("csv: a header of 100,000 columns", "r.csv", ("csv_columns",), "summarize_csv"),
    Bomb("csv: two million empty columns", "r.csv", ("csv_commas",), "summarize_csv"),
    Bomb("csv.gz: 500 million reports", "r.csv.gz", ("gzip_rows",), "summarize_csv"),
    Bomb("csv.gz: the same at once", "r.csv.gz", ("gzip_rows",), "read_reports"),
    Bomb("csv.gz: the same for a query", "r.csv.gz", ("gzip_rows",), "query"),
    Bomb("csv.gz: a line without end", "r.csv.gz", ("gzip_line",), "summarize_csv"),
    Bomb("csv.gz: a long column that nobody reads", "r.csv.gz", ("gzip_wide",), "summarize_csv"),
    Bomb("ledger: a release nested without end", "l.db", ("ledger_deep",), "ledger"),
    Bomb("ledger: a release of empty lists", "l.db", ("ledger_long",), "ledger"),
)


def child(read: str, path: Path) -> dict[str, Any]:
    """Read a file here and now, in a process that has limits."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    from confide.errors import ConfideError, ConfideWarning

    try:
        globals()[read](path)
        ended, said = "read", ""
    except (ConfideError, ConfideWarning) as error:
        ended, said = "refused", str(error)
    except BaseException as error:
        ended, said = "failed", f"{type(error).__name__}: {str(error)[:80]}"
    return {"ended": ended, "said": said, "megabytes": _peak(os.getpid())}


def cost(bomb: Bomb, path: Path, source: Path) -> dict[str, Any]:
    """What reading costs, with the library in a folder."""
    own = [sys.executable, "-m", "evidence.bombs.study", "--child", bomb.read, str(path)]
    environment = os.environ | {
        "PYTHONPATH": f"{source}:{ROOT}", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    peak, start = 0, time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            own, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.DEVNULL
        )
        done = 0
        while not done:
            peak = max(peak, _peak(process.pid))
            if time.perf_counter() - start > WALL:
                process.kill()
            # Waited for here and not by the module, for what the process has used.
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.1)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        lines = out.read().splitlines()
    found = {"ended": "stopped", "said": ""}
    if process.returncode == 0 and lines:
        found = json.loads(lines[-1])
        peak = found.pop("megabytes")
    return {
        **found,
        "seconds": round(time.perf_counter() - start, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "megabytes": peak,
    }


def _peak(pid: int) -> int:
    """The most memory that a living process has had, in megabytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return round(int(found[0]) / 1024) if found else 0


def study(bombs: Sequence[Bomb], source: Path) -> Iterator[dict[str, Any]]:
    """What each costs, one after the other."""
    for bomb in bombs:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / bomb.file
            path.write_bytes(b"" if bomb.read == "nothing" else bomb.data())
            size = path.stat().st_size
            row = {"name": bomb.name, "bytes": size, **cost(bomb, path, source)}
        print(json.dumps(row), flush=True)
        yield row


def most(row: dict[str, Any]) -> float:
    """Megabytes that reading may take, by the size of the file."""
    declared = CELLS * 8 if row["name"].startswith("npz in order") else 0
    return (BASE + PER_BYTE * row["bytes"] + declared) / 2**20


def fault(row: dict[str, Any]) -> str:
    """What is wrong with how reading ended, if anything is."""
    from tests.fuzz.study import unclear

    if row["ended"] not in ("read", "refused"):
        return f"{row['ended']} ({row['said']})"
    if row["ended"] == "refused" and unclear(row["said"]):
        return unclear(row["said"])
    if row["megabytes"] > most(row):
        return f"{row['megabytes']} megabytes, more than {most(row):.0f}"
    return ""


def table(result: dict[str, Any]) -> str:
    """The table of the docs."""
    lines = [
        "| file | size | before: seconds | memory | end | now: seconds | memory | end |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in result["rows"].items():
        cells = [name, amount(row["after"]["bytes"])]
        for when in ("before", "after"):
            one = row[when]
            seconds = f"{'> ' if one['ended'] == 'stopped' else ''}{one['processor']}"
            cells += [seconds, amount(one["megabytes"] * 2**20), one["ended"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def amount(size: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def write(rows: Sequence[dict[str, Any]], when: str) -> dict[str, Any]:
    """Record what was found, before or after, beside what is known already."""
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {"rows": {}}
    known = result["rows"]
    for row in rows:
        known.setdefault(row["name"], {})[when] = {
            key: row[key] for key in ("bytes", "ended", "said", "seconds", "processor", "megabytes")
        }
    result["rows"] = {bomb.name: known[bomb.name] for bomb in BOMBS if bomb.name in known}
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if all(len(row) == 2 for row in result["rows"].values()):
        before, rest = PAGE.read_text().split(MARKS[0])
        PAGE.write_text(before + MARKS[0] + table(result) + MARKS[1] + rest.split(MARKS[1])[1])
    return result


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence bombs", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; by default all")
    parser.add_argument("--before", type=Path, help="a folder with another version of the library")
    parser.add_argument("--thin", action="store_true", help="a few of them, nothing written")
    parser.add_argument("--child", nargs=2, metavar=("READER", "FILE"), help="read one file here")
    options = parser.parse_args(argv)
    if options.child:
        print(json.dumps(child(options.child[0], Path(options.child[1]))))
        return 0
    chosen = [
        bomb
        for bomb in BOMBS
        if (not options.thin or bomb.make[0] in THIN)
        and (not options.names or any(name in bomb.name for name in options.names))
    ]
    rows = list(study(chosen, options.before or ROOT / "src"))
    if not options.thin:
        write(rows, "before" if options.before else "after")
    faults = {row["name"]: fault(row) for row in rows if fault(row)}
    for name, wrong in faults.items():
        print(f"{name}: {wrong}")
    return int(bool(faults) and options.before is None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

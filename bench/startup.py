"""What it takes until something happens: small programs against importing numpy alone."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.clock import Row

NUMPY = ("-c", "import numpy")
ONE = "import confide as cf; cf.SquareWave(cf.Lattice(low=0, high=1), epsilon=1.0).privatize([0.5])"
SURVEY = "[questions.pay]\nlow = 0\nhigh = 1\nepsilon = 1.0\n"
ROUNDS = 7


def processor(arguments: Sequence[str], folder: Path) -> float:
    """Seconds of the processor that a program takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, cwd=folder, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows() -> list[Row]:
    """Best of some rounds, the programs taking turns."""
    jobs = {
        "import confide and privatize one number": (("-c", ONE), 2.0),
        "confide --help": (("-m", "confide", "--help"), 2.5),
        "confide summarize, 2,000 reports": (
            ("-m", "confide", "summarize", "survey.toml", "reports.parquet", "-o", "counts.json"),
            6.0,
        ),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "survey.toml").write_text(SURVEY)
        values = np.random.default_rng(1).random(2_000)
        np.savetxt(folder / "values.csv", values, header="pay", comments="")
        made = ("-m", "confide", "privatize", "survey.toml", "values.csv", "-o", "reports.parquet")
        processor(made, folder)
        times = dict.fromkeys(["numpy", *jobs], float("inf"))
        for _ in range(ROUNDS):
            times["numpy"] = min(times["numpy"], processor(NUMPY, folder))
            for what, (arguments, _limit) in jobs.items():
                times[what] = min(times[what], processor(arguments, folder))
    return [
        Row(
            f"{what}: processor time",
            "python -c 'import numpy'",
            times[what] / times["numpy"],
            most,
        )
        for what, (_, most) in jobs.items()
    ]

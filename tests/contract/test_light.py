"""What runs on a device needs numpy alone, and public names are found before they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import confide as cf

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ImportError(f"{name} is not on this device")

ALLOWED = {"numpy", "confide", *sys.stdlib_module_names}
sys.meta_path.insert(0, Blocked())
"""
DEVICE = {
    "SquareWave": "SquareWave(cf.Lattice(low=0, high=1, size=8), epsilon=1.0).privatize([0.3])",
    "Laplace": "Laplace(cf.Lattice(low=0, high=1, size=8), epsilon=1.0).privatize([0.3])",
    "RandomizedResponse": "RandomizedResponse(['no', 'yes'], epsilon=1.0).privatize(['no'])",
    "Partition": "Partition(cf.Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=1.0)"
    ".privatize([0.3], [0.5])",
}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", DEVICE)
def test_a_device_needs_numpy_alone(name: str) -> None:
    done = run(
        f"from confide.mechanisms import {name}\nimport confide as cf\nprint(len({DEVICE[name]}))\n"
        "assert not any(each.startswith(('scipy', 'pyarrow')) for each in sys.modules)\n"
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_only_the_tables_of_gamma_noise_need_scipy() -> None:
    done = run(
        "from confide.mechanisms import TwoSidedGamma\nimport confide as cf\n"
        "made = TwoSidedGamma(cf.Lattice(low=0, high=1, size=8), shape=0.5, scale=0.2)\n"
        "made.privatize([0.3])\n"
    )
    assert "scipy is not on this device" in done.stderr


def test_help_loads_neither_numpy_nor_arrow() -> None:
    code = (
        "import sys\nfrom confide.cli.app import run\nassert run(['--help']) == 0\n"
        "loaded = {'numpy', 'scipy', 'pyarrow', 'pandas'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_all_public_names_are_found_by_dir_and_are_there() -> None:
    assert set(cf.__all__) <= set(dir(cf))
    for name in cf.__all__:
        assert getattr(cf, name) is not None
    # Nothing of our own making stands among them.
    assert not [name for name in dir(cf) if name.startswith("_") and not name.startswith("__")]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cf.nonsense


SUMMARIZE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "duckdb", "ibis", "pandas", "matplotlib"):
            raise ImportError(f"{name} is not needed here")

sys.meta_path.insert(0, Blocked())
from confide.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("by", [(), ("--by", "region")])
def test_a_small_summary_needs_arrow_alone(tmp_path: Path, by: tuple[str, ...]) -> None:
    survey = cf.Survey.from_dict({"questions": {"pay": {"low": 0, "high": 1, "epsilon": 1.0}}})
    table = survey.privatize({"pay": [0.1, 0.7], "region": ["n", "s"]}, keep=["region"])
    pq.write_table(table, tmp_path / "reports.parquet")
    command = ("summarize", "reports.parquet", "-o", "counts.json", *by)
    done = subprocess.run(
        [sys.executable, "-c", SUMMARIZE, *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert cf.read(tmp_path / "counts.json")["pay"].n == 2


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "scipy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from confide.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


def test_an_estimate_without_scipy_gets_a_sentence() -> None:
    for verb in ("density", "shares", "results", "plan"):
        command = [sys.executable, "-c", ABSENT, verb, "counts.json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"confide {verb} needs scipy, which is not installed: pip install scipy. "
            "Without it confide can privatize, summarize and merge.\n"
        )

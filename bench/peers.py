"""Other people's packages, each run in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(__file__).parent.parent / ".bench"

# Each script reads nothing, times its job and prints {"seconds": best, "versions": {...}}.
OPENDP = """
import json, time
import numpy, opendp
import opendp.prelude as dp
from importlib.metadata import version
dp.enable_features("contrib")
laplace = dp.m.make_laplace(
    dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=1023.0)
values = numpy.random.default_rng(1).integers(0, 1024, 100_000)
times = []
for _ in range(3):
    start = time.perf_counter()
    laplace(values)
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": 10 * min(times), "version": version("opendp")}))
"""

KDEPY = """
import json, time
import numpy
from importlib.metadata import version
from KDEpy import FFTKDE
values = numpy.random.default_rng(1).beta(2, 5, 10_000_000)
times = []
for _ in range(5):
    start = time.perf_counter()
    FFTKDE(kernel="gaussian", bw=0.01).fit(values).evaluate()
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(times), "version": version("KDEpy")}))
"""


def run(package: str, script: str) -> tuple[float, str]:
    """Seconds and version that a peer's script reports; the environment is made on first use."""
    home = HOME / package
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"making an environment for {package} ...", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, package, "numpy"], check=True, stderr=subprocess.DEVNULL)
        (home / "ready").touch()
    result = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True)
    answer = json.loads(result.stdout.splitlines()[-1])
    return answer["seconds"], f"{package} {answer['version']}"

"""Other people's packages, each run in an environment of its own."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOME = Path(__file__).parent.parent / ".bench"
SCRIPTS = Path(__file__).parent / "others"
# What each needs besides itself: some do not say what they import, or break with newer releases.
NEEDS = {
    "opendp": ("numpy",),
    "diffprivlib": ("scikit-learn<1.6",),
    "python-dp": (),
    "numpy": (),
    "KDEpy": (),
    "scipy": (),
    "scikit-learn": (),
    "pure-ldp": ("scikit-learn", "statsmodels", "xxhash", "bitarray", "setuptools<81"),
    "multi-freq-ldpy": (),
}
FILES = {"scikit-learn": "run_sklearn.py"}


@dataclass(frozen=True)
class Peer:
    """What a peer's script tells, or nothing where the peer cannot run here."""

    name: str
    version: str = ""
    seconds: float | None = None
    error: float | None = None

    def __str__(self) -> str:
        if self.seconds is None:
            return (
                f"{self.name}, which does not install or run on Python {platform.python_version()}"
            )
        return f"{self.name} {self.version}"


def environment(name: str, *needs: str) -> Path:
    """The interpreter of an environment with what is named, made on first use."""
    home = HOME / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"making an environment for {name} ...", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *needs], check=True, capture_output=True)
        (home / "ready").touch()
    return python


@cache
def run(name: str) -> Peer:
    """Run a peer's script; its environment is made on first use."""
    script = SCRIPTS / FILES.get(name, f"run_{name.lower().replace('-', '_')}.py")
    try:
        python = environment(name, name, *NEEDS[name])
        result = subprocess.run([python, script], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        told = error.stderr if isinstance(error.stderr, str) else error.stderr.decode()
        print(f"{name}: {(told.strip().splitlines() or ['no reason'])[-1]}", file=sys.stderr)
        return Peer(name)
    return Peer(name, **json.loads(result.stdout.splitlines()[-1]))

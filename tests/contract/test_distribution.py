"""The wheel and the source distribution hold what they should, and the wheel runs by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from tools import release

import confide
from confide._extras import version
from confide.errors import EXTRAS, installing

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = {"ibis-framework": "ibis", "scikit-learn": "sklearn"}
"""Where the name to import is not the name to install."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("hatchling")
    return release.build(tmp_path_factory.mktemp("dist"))


def test_all_files_state_one_version() -> None:
    assert set(release.versions().values()) == {confide.__version__}


def test_both_hold_what_they_should(built: tuple[Path, Path]) -> None:
    release.looked_into(*built)
    shipped = release.inside(built[0])
    assert "confide/py.typed" in shipped
    assert "confide/collect/web/device/device.js" in shipped
    assert not [name for name in shipped if "test" in name or "evidence" in name]
    # Nothing of others is shipped, so that one license holds for everything.
    assert {name.partition("/")[0].partition("-")[0] for name in shipped} == {"confide"}


def test_a_wheel_that_lacks_a_page_is_refused(built: tuple[Path, Path], tmp_path: Path) -> None:
    damaged = tmp_path / built[0].name
    with zipfile.ZipFile(built[0]) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            if not name.endswith("owner.js"):
                new.writestr(name, old.read(name))
        new.writestr("tests/test_odd.py", "")
    with pytest.raises(release.Failed, match=r"lacks .*owner\.js.*hold .*test_odd"):
        release.looked_into(damaged, built[1])


def test_the_metadata_are_complete(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = [one for one in wheel.namelist() if one.endswith("/METADATA")]
        told = Parser().parsestr(wheel.read(name).decode())
        (license_name,) = [one for one in wheel.namelist() if "/licenses/" in one]
        assert b"Apache License" in wheel.read(license_name)
    assert told["Name"] == "confide"
    assert told["Version"] == confide.__version__
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Description-Content-Type"] == "text/markdown"
    assert set(told.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def test_the_wheel_runs_without_the_checkout_and_without_extras(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path / "installed")
    code = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted({one for all in EXTRAS.values() for one in all})}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())
import importlib.util
found = importlib.util.find_spec
def find_spec(name, package=None):
    try:
        return found(name, package)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find_spec
import confide
assert {str(tmp_path)!r} in confide.__file__
{release.PYTHON}
from confide.collect import static
assert "/device.js" in static.page("page", "device")
from confide.__main__ import main
main()
"""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    told = run("--version")
    assert told.returncode == 0, told.stderr
    assert "extras installed: none" in told.stdout
    lacking = run("demo")
    assert lacking.returncode == 2
    assert lacking.stderr == f"This needs typer, which is not installed. {installing('cli')}\n"
    assert "pip install '.[cli]'" in lacking.stderr
    assert "pip install 'confide" not in lacking.stderr


def test_extras_are_those_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"all"}
    for name, modules in EXTRAS.items():
        own = {re.split(r"[\[>]", one)[0] for one in extras[name]} - {"confide"}
        named = {MODULES.get(one, one) for one in own}
        assert named <= set(modules), name


def test_version_says_which_extras_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide._extras.find_spec", lambda name: None if name == "typer" else name)
    told = version(["--version"])
    assert told is not None
    assert told.splitlines()[0] == f"confide {confide.__version__}"
    assert f"not installed: cli, serve\n{installing('cli')}" in told
    as_json = version(["--json", "--version"])
    assert as_json is not None
    assert '"cli": false' in as_json
    assert version(["--version", "density"]) is None


def test_papers_of_the_project_are_there() -> None:
    templates = sorted(path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").iterdir())
    assert templates == ["bug.md", "wish.md"]
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff"):
        assert (ROOT / name).is_file()
    assert "docs/explanation/threat-model.md" in (ROOT / "SECURITY.md").read_text()
    assert (ROOT / "docs/explanation/threat-model.md").is_file()

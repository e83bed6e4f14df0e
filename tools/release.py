"""The checklist of a release, walked step by step: ``python -m tools.release`` or ``make release``.

It builds the wheel and the source distribution, looks into both, installs the wheel into an empty
environment and runs the first commands there. It publishes nothing: the last lines say what is left
for a person to do.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXTS = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
)
FIRST = (
    "confide --version",
    "confide demo",
    "confide plan --n 5000 --epsilon 1 --low 0 --high 300000",
)
"""What a newcomer types first."""
PAGES = ("docs/start/first-picture.md", "docs/tutorials/staff-survey.md")
"""Pages that a newcomer follows next; they must run as they are written."""
FOLLOW = (
    "import sys\n"
    "from pathlib import Path\n"
    "from run import Session, blocks\n"
    "session = Session(Path(sys.argv[2]))\n"
    "for block in blocks(Path(sys.argv[1]).read_text('utf-8')):\n"
    "    if block.runs:\n"
    "        session.run(block)\n"
)
"""Runs the blocks of a page in a folder, with the docs' own runner beside it."""
PYTHON = (
    "import confide as cf\n"
    "mechanism = cf.SquareWave(cf.Lattice(low=0, high=100), epsilon=2.0)\n"
    "counts = cf.Counts.of(mechanism.privatize([20.0] * 500 + [40.0] * 500))\n"
    "density = cf.density(counts)\n"
    "low, high = density.interval('mean')\n"
    "assert 0 <= low < high <= 100, (low, high)\n"
)
"""What the package without any extra can do."""


class Failed(Exception):
    """A step of the checklist does not hold."""


def versions() -> dict[str, str]:
    """The version that each file states."""
    own = re.search(r'^__version__ = "(.+)"', _text("src/confide/__init__.py"), re.MULTILINE)
    cited = re.search(r"^version: (.+)$", _text("CITATION.cff"), re.MULTILINE)
    changed = re.search(r"^## (\S+)", _text("CHANGELOG.md"), re.MULTILINE)
    found = {"src/confide/__init__.py": own, "CITATION.cff": cited, "CHANGELOG.md": changed}
    return {
        "pyproject.toml": tomllib.loads(_text("pyproject.toml"))["project"]["version"],
        "web/device/package.json": json.loads(_text("web/device/package.json"))["version"],
        **{name: match[1] if match else "none" for name, match in found.items()},
    }


def agreed() -> str:
    """The one version of all files."""
    stated = versions()
    if len(set(stated.values())) > 1:
        raise Failed(f"The versions differ: {stated}.")
    return stated["pyproject.toml"]


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution, built into a folder."""
    _run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], ROOT)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def inside(path: Path) -> set[str]:
    """The files of a wheel or a source distribution, without the folder that holds them."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def served() -> set[str]:
    """The files of the pages that a collector serves, as they lie in the wheel."""
    kinds = (".html", ".js", ".css", ".json", ".svg")
    skipped = {"test", "node_modules", "package.json", "package-lock.json", "tsconfig.json"}
    web = ROOT / "web"
    return {
        f"confide/collect/web/{path.relative_to(web).as_posix()}"
        for folder in ("device", "owner", "page", "pictures")
        for path in (web / folder).rglob("*")
        if path.suffix in kinds and not skipped & set(path.relative_to(web).parts)
    }


def looked_into(wheel: Path, source: Path) -> None:
    """Refuse distributions that lack something, or hold what does not belong there."""
    version, shipped = agreed(), inside(wheel)
    about = f"confide-{version}.dist-info"
    modules = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "confide").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    metadata = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    wanted = modules | served() | {f"{about}/{name}" for name in metadata}
    if shipped != wanted:
        lacks, odd = sorted(wanted - shipped), sorted(shipped - wanted)
        raise Failed(f"The wheel lacks {lacks or 'nothing'} and should not hold {odd or 'more'}.")
    files = inside(source)
    lacking = {*TEXTS, "pyproject.toml", *(f"src/{name}" for name in modules)} - files
    if lacking:
        raise Failed(f"The source distribution lacks {sorted(lacking)}.")
    others = [name for name in files if re.match(r"(tests|evidence|bench|docs|tmp|\.venv)/", name)]
    if others:
        raise Failed(f"The source distribution should not hold {sorted(others)[:5]}.")


def tried(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment and run the first commands there."""
    made = folder / "environment"
    venv.create(made, with_pip=True)
    programs = made / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    pip.append("--disable-pip-version-check")
    _run([*pip, str(wheel)], folder)
    _run([str(programs / "python"), "-c", PYTHON], folder)
    without(programs, folder)
    _run([*pip, f"{wheel}[cli,plot,serve]"], folder)
    for line in FIRST:
        _, *words = line.split()
        _run([str(programs / "confide"), *words], folder)
    followed(programs, folder)


def followed(programs: Path, folder: Path) -> None:
    """Run the first pages as they are written, away from the checkout."""
    desk = folder / "desk" / "docs"
    desk.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "run.py", desk)
    for name in PAGES:
        page = Path(shutil.copy(ROOT / name, desk))
        place = folder / page.stem
        place.mkdir()
        _run([str(programs / "python"), "-c", FOLLOW, str(page), str(place)], desk)


def without(programs: Path, folder: Path) -> None:
    """The program of a package without extras shows its version, and says what to install."""
    told = _run([str(programs / "confide"), "--version"], folder).stdout
    if f"confide {agreed()}" not in told or "extras installed: none" not in told:
        raise Failed(f"confide --version printed {told!r}.")
    done = _run([str(programs / "confide"), "demo"], folder, fails=2)
    if "FILE.whl[cli]" not in done.stderr or "Traceback" in done.stderr:
        raise Failed(f"A package without extras said {done.stderr!r}.")


def _text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _run(command: list[str], folder: Path, *, fails: int = 0) -> subprocess.CompletedProcess[str]:
    # Nothing of the checkout may stand in for what is not in the wheel.
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "LC_ALL": "C.UTF-8"}
    environment = None if command[1:3] == ["-m", "hatchling"] else clean
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != fails:
        raise Failed(f"{' '.join(command[:4])} ended with {done.returncode}: {done.stderr[-800:]}")
    return done


def _clean() -> None:
    if _run(["git", "status", "--porcelain"], ROOT).stdout:
        raise Failed("There are changes that are not committed.")


def _dated() -> None:
    heading = next(line for line in _text("CHANGELOG.md").splitlines() if line.startswith("## "))
    if not re.fullmatch(r"## \S+ \(\d{4}-\d\d-\d\d\)", heading):
        raise Failed(f"The changelog's first heading has no date: {heading!r}.")


def main() -> int:
    """Walk the checklist; the first step that fails ends it with exit code 1."""
    parser = argparse.ArgumentParser(description="Walk the checklist of a release.")
    parser.add_argument(
        "--rehearse", action="store_true", help="skip the changelog's date and uncommitted changes"
    )
    rehearse = parser.parse_args().rehearse
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built: list[Path] = []
        steps: list[tuple[str, Callable[[], object]]] = [
            ("all files state one version", agreed),
            ("wheel and source distribution are built", lambda: built.extend(build(folder))),
            ("both hold what they should, and nothing else", lambda: looked_into(*built)),
            (
                "the wheel and the first pages run in an empty environment",
                lambda: tried(built[0], folder),
            ),
        ]
        if not rehearse:
            steps = [
                ("everything is committed", _clean),
                ("the changelog has a date", _dated),
                *steps,
            ]
        for words, step in steps:
            try:
                step()
            except Failed as error:
                print(f"FAILED  {words}\n{error}", file=sys.stderr)
                return 1
            print(f"ok      {words}", flush=True)
    version = agreed()
    print(
        "Left for a person: run make test, make test-browser, make test-lowest and make docs; "
        f"tag v{version}; upload the wheel and the source distribution of that tag."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

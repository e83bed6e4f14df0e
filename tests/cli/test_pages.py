"""The shell blocks of the pages run as they are written, on files like those they speak of."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from confide.cli import app, parsing
from confide.cli.app import run
from confide.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "reference" / "command-line.md"]
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BEGUN = {"den", "density --me", "invitation"}
"""Words after `confide` in prose that are no command: two that Tab completes, and a prefix of a
signed message."""
N = 3000


def blocks(page: Path, language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text for known, text in fences if known == language]


def commands(text: str) -> list[list[str]]:
    """Arguments of each line that calls the program."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [line[1:] for line in lines if line[:1] == ["confide"]]


SHELL = [(page.name, text) for page in PAGES for text in blocks(page, "") if commands(text)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read: the page's own survey, values, reports, summaries and others."""
    folder = tmp_path_factory.mktemp("pages")
    generator = np.random.default_rng(1)
    names = "pay,smokes,weight,hours,region,rate,defaulted,age"
    columns = [
        np.round(300_000 * generator.beta(2, 5, N)),
        np.where(generator.random(N) < 0.3, "yes", "no"),
        generator.uniform(0.5, 2, N).round(2),
        generator.integers(0, 80, N),
        np.where(generator.random(N) < 0.5, "north", "south"),
        generator.normal(12, 2, N).round(2),
        generator.integers(0, 2, N),
        generator.integers(18, 81, N),
    ]
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    (folder / "values.csv").write_text("\n".join([names, *rows]) + "\n")
    survey, partition = blocks(ROOT / "docs" / "reference" / "command-line.md", "toml")
    (folder / "survey.toml").write_text(survey)
    (folder / "partition.toml").write_text(partition)
    for name, numbers in (("z", "z"), ("records", "x,y"), ("x", "x")):
        table = generator.normal(5, 1, (300, numbers.count(",") + 1)).round(3)
        lines = [numbers, *(",".join(map(str, row)) for row in table.tolist())]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    loans = np.column_stack(
        [
            generator.normal(690, 30, N) + generator.laplace(0, 10, N),
            generator.normal(60_000, 9_000, N) + generator.normal(0, 2_000, N),
            columns[-1],
            columns[5],
        ]
    )
    lines = [",".join(map(str, row)) for row in loans.round(2).tolist()]
    (folder / "loans.csv").write_text("\n".join(["score,income,age,rate", *lines]) + "\n")
    for name in ("staff", "census"):
        people = zip(columns[1], columns[-1], strict=True)
        lines = [f"{'male' if smokes == 'yes' else 'female'},{age}" for smokes, age in people]
        (folder / f"{name}.csv").write_text("\n".join(["sex,age", *lines]) + "\n")
    kept = [part for name in names.split(",")[2:] for part in ("--keep", name)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for made in (
            ["privatize", "survey.toml", "values.csv", "-o", "reports.parquet", *kept],
            ["summarize", "reports.parquet", "-o", "counts.json"],
            ["summarize", "reports.parquet", "-o", "north.json"],
            ["privatize", "survey.toml", "values.csv", "-o", "others.parquet", *kept],
            ["summarize", "others.parquet", "-o", "south.json"],
        ):
            assert run(made) == 0
    (folder / "reports").mkdir()
    shutil.copy(folder / "reports.parquet", folder / "reports" / "part.parquet")
    return folder


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize(("page", "text"), SHELL, ids=[f"{p}-{t.split()[1]}" for p, t in SHELL])
def test_shell_blocks_run(
    page: str, text: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    shutil.copytree(files, here)
    monkeypatch.chdir(here)
    if page == "README.md":
        (survey,) = blocks(ROOT / page, "toml")
        Path("survey.toml").write_text(survey)
    if "ledger show" in text:
        mean = "release query values.csv --what mean --column pay --low 0 --high 300000 --epsilon 1"
        assert run(f"{mean} --ledger ledger.db --budget 1".split()) == 0
    if "design gamma" in text:
        shutil.copy("x.csv", "values.csv")
    for arguments in commands(text):
        if "privatize" in arguments:
            Path("reports.parquet").unlink()
        # Fewer simulated surveys: the same steps in less time.
        thin = ["--surveys", "10"] if arguments[0] == "plan" else []
        assert run([*arguments, *thin]) == 0, arguments
        for option in ("-o", "--plot"):
            if option in arguments:
                assert Path(arguments[arguments.index(option) + 1]).exists()


def test_pages_have_such_blocks() -> None:
    verbs = {arguments[0] for _, text in SHELL for arguments in commands(text)}
    assert len(verbs) > 12


def options(words: list[str]) -> tuple[set[str], list[str]]:
    """The options that a command takes, and the words after its name."""
    verb, *rest = words
    command = app._command(verb).commands[verb]
    if isinstance(command, parsing.Group):
        command, rest = command.commands[rest[0]], rest[1:]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    return known | {"--json", "--help"}, rest


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_on_all_pages_exist(page: Path) -> None:
    """What other tests do not run for want of a server or of data is known to the parser."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*).*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [
        line
        for kind, block in fences
        if kind in ("", "sh", "shell")
        for line in block.replace("\\\n", " ").splitlines()
        if line.startswith("confide ")
    ]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines += re.findall(r"`(confide [^`]+)`", prose)
    for line in lines:
        _, _, typed = re.split(r"\s(?:\||>|\|\|)\s", line)[0].partition(" ")
        words = shlex.split(typed, comments=True)
        if typed.strip() in BEGUN or words[0].startswith("-") or words[0] == "VERB":
            continue
        assert words[0] in VERBS, f"{page.name}: {line}"
        known, rest = options(words)
        used = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert used <= known, f"{page.name}: {line}"

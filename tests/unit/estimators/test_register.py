"""An estimator of densities is one entry: commands and plans find a toy one by its name."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import confide as cf
from confide.cli import app, estimate
from confide.cli.app import run
from confide.estimators import Likelihood
from confide.estimators.register import DENSITIES, Method
from confide.summaries import Counts


@dataclass(frozen=True)
class Flat:
    """The likelihood, told to be as smooth as can be."""

    smoothing: float = 1.0
    times: float = 1.0

    def fit(self, counts: Counts) -> cf.Density:
        return Likelihood(smoothing=self.smoothing * self.times).fit(counts)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The method in the register, as if it had stood there when the program began."""
    own = {"smoothing": "a number", "times": "how much of it"}
    with monkeypatch.context() as patched:
        patched.setitem(DENSITIES, "flat", Method(Flat, own, Counts.of_noised, bounded=True))
        app._command.cache_clear()
        importlib.reload(estimate)
        yield
    app._command.cache_clear()
    importlib.reload(estimate)


@pytest.mark.usefixtures("toy")
def test_a_toy_goes_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    wave = cf.SquareWave(cf.Lattice(low=0, high=9, size=32), epsilon=4.0)
    counts = Counts.of(wave.privatize([1.0, 2.0, 2.5] * 200))
    counts.save("counts.json")
    for words, smoothing in (([], 1.0), (["--smoothing", "0.5"], 0.5), (["--times", "0.25"], 0.25)):
        assert run(["density", "counts.json", "--method", "flat", "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["smoothing"] == smoothing
    assert run(["density", "counts.json", "--method", "flat", "--kernel", "fan"]) == 2
    assert "--method deconvolution to go with --kernel" in capsys.readouterr().err
    assert run(["density", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "For likelihood: auto, or a number from 0 to 1. For flat: a number." in said
    planned = cf.planning.plan(n=300, epsilon=1.0, low=0, high=9, size=32, surveys=8)
    assert planned.best("w1").estimator in DENSITIES

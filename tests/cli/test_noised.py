"""`confide regress --noised` and the words that name noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.cli.app import run

pytestmark = pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
COMMAND = "regress d.csv --noised score=laplace:10 --noised income=gaussian:2000 --y rate"
N = 600


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    score, income = rng.normal(710, 40, N), rng.normal(40_000, 9_000, N)
    age = rng.integers(20, 70, N)
    rate = 12 - 0.04 * (score - 710) - 1e-4 * (income - 40_000) + rng.normal(0, 0.5, N)
    table = {
        "score": score + rng.laplace(0, 10, N),
        "income": income + rng.normal(0, 2000, N),
        "age": age.astype(float),
        "rate": rate,
    }
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(map(repr, map(float, row))) for row in rows)]
    Path("d.csv").write_text("\n".join(lines) + "\n")
    return table


def machine(command, capsys):
    assert run([*command.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_two_covariates_are_the_figures_of_python(data, capsys):
    found = machine(f"{COMMAND} -o places.csv", capsys)
    spectrum = cf.Spectrum.of(
        np.column_stack([data["score"], data["income"]]),
        noise=(cf.foreign.Laplace(scale=10), cf.foreign.Gaussian(scale=2000)),
        response=data["rate"],
        names=("score", "income"),
    )
    curve = cf.estimators.KernelRegression().fit(spectrum)
    assert found["bandwidth"] == list(curve.facts["bandwidth"])
    np.testing.assert_allclose(found["y"], curve.predict(found["x"]), rtol=1e-12)
    np.testing.assert_allclose([found["lower"], found["upper"]], curve.interval(found["x"]))
    assert found["names"] == {"x": ["score", "income"], "y": "rate"}
    assert found["noise"]["score"] == {"noise": "laplace", "scale": 10.0}
    assert (found["n"], found["epsilon"], found["method"]) == (N, None, "kernel")
    assert found["linear"]["slope"][0] == pytest.approx(-0.04, abs=0.005)
    written = np.genfromtxt("places.csv", delimiter=",", names=True)
    np.testing.assert_allclose(written["estimate"], found["y"])


def test_public_columns_and_options(data, capsys):
    three = f"{COMMAND} --public age --range score=500:900 --bandwidth 25,5000,15 --points 2"
    found = machine(f"{three} --plot slices.png", capsys)
    assert len(found["y"]) == 8
    assert found["bandwidth"] == [25.0, 5000.0, 15.0]
    assert found["noise"]["age"] == {"noise": "none"}
    assert found["x"][0][0] == 500
    assert Path("slices.png").stat().st_size > 1000
    one = "regress d.csv --noised score=laplace:10 --y rate"
    crossed = machine(f"{one} --bandwidth cv-at-z --loss absolute", capsys)
    assert len(crossed["x"]) == 41
    for method in ("linear", "adaptive --range score=500:900"):
        assert len(machine(f"{one} --method {method}", capsys)["y"]) == 41


def test_words_for_people(data, capsys):
    assert run([*COMMAND.split(), "--plot", "map.svg"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("In the middle, at score 7")
    assert "the mean of rate is 1" in said
    assert "Mean rate by score and income, 600 values, kernel, gaussian, bandwidth" in said
    assert "Corrected line: rate = " in said
    assert "Taken out: laplace noise of scale 10 on score, gaussian noise of scale 2000" in said
    assert said.endswith("Picture: map.svg")


REFUSED = {
    "column": ("score=laplace:10", "scroe=laplace:10", "scroe"),
    "no-scale": ("score=laplace:10", "score=laplace", "the scale of the laplace noise on 'score'"),
    "word": ("score=laplace:10", "score=laplace:much", "a number for the scale"),
    "negative": ("score=laplace:10", "score=laplace:-1", "scale > 0"),
    "no-law": ("score=laplace:10", "score", "COLUMN=LAW:SCALE"),
    "law": ("score=laplace:10", "score=uniform:10", "laplace:SCALE or gaussian:SCALE or"),
    "more": ("score=laplace:10", "score=laplace:10:3", "scale for laplace noise"),
    "zeros": (
        "score=laplace:10",
        "score=two-sided-gamma:10:2",
        "characteristic function has zeros",
    ),
    "twice": ("income=gaussian", "score=gaussian", "each column once"),
    "no-response": (" --y rate", "", "--y, the column whose mean is wanted"),
    "own-response": ("--y rate", "--y score", "each column once"),
    "four": ("--y rate", "--public age --public b --y rate", "one to three covariates, got 4"),
    "range": ("--y rate", "--y rate --range age=0:9", "--range of score or income"),
    "range-back": ("--y rate", "--y rate --range score=9:1", "LOW below HIGH"),
    "method": ("--y rate", "--y rate --method ratio", "one --noised column with its --range"),
    "loss": ("--y rate", "--y rate --loss absolute", "to go with a loss"),
    "log": ("--y rate", "--y rate --bandwidth cv-at-z --loss log", "0 and 1"),
    "bandwidths": ("--y rate", "--y rate --bandwidth 1,2,3", "2 bandwidths"),
    "x": ("--y rate", "--y rate --x score", "no --x with --noised"),
    "files": ("d.csv", "d.csv d.csv", "one file of numbers"),
    "empty": ("d.csv", "empty.csv", "rows in 'empty.csv', got none"),
    "points": ("--y rate", "--y rate --points 500", "at most 10,000 places"),
    "output": ("--y rate", "--y rate -o d.csv", "d.csv"),
    "invalid": ("--y rate", "--y rate --invalid drop", "--noised"),
    "alone": (
        "--noised score=laplace:10 --noised income=gaussian:2000",
        "--public age",
        "--noised",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_one_sentence(name, data, capsys):
    Path("empty.csv").write_text("score,income,rate\n")
    before, after, words = REFUSED[name]
    assert before in COMMAND
    assert run(COMMAND.replace(before, after).split()) == 2
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert "Traceback" not in said


def test_a_density_without_smoothing_bias_says_so(data, capsys):
    command = "density d.csv --noised score=laplace:10"
    for words in (["--method", "deconvolution"], ["--method", "deconvolution", "--json"]):
        assert run([*command.split(), *words]) == 0
        said = capsys.readouterr().err
        assert said.startswith("Warning: The intervals of quantiles and of the density are without")
    assert run([*command.split(), "--range", "score=500:900"]) == 0
    assert "smoothing bias" not in capsys.readouterr().err
    assert run(command.split()) == 2
    said = capsys.readouterr().err
    assert "--range score=LOW:HIGH" in said
    assert "deconvolution" not in said

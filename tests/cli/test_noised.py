"""`confide regress --noised` and the words that name noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.cli.app import run
from confide.displays import RegressionDisplay

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
    more = {
        "b": rng.integers(0, 2, N),
        "region": ["north"] * N,
        "gap": ["", *rng.normal(0, 1, N - 1)],
    }
    more |= {"spelled": ["NA"] + ["1"] * (N - 1), "code": np.append(table["score"][1:], -999)}
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(map(repr, map(float, row))) for row in rows)]
    lines[0] += "," + ",".join(more)
    for at, row in enumerate(zip(*more.values(), strict=True), start=1):
        lines[at] += "," + ",".join(map(str, row))
    Path("d.csv").write_text("\n".join(lines) + "\n")
    return table | {"b": more["b"].astype(float)}


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


def test_many_people_at_a_bound_may_be_noise_that_is_larger_than_stated(data, capsys):
    rng = np.random.default_rng(4)
    noised = rng.lognormal(10.2, 0.4, 12_000) + rng.laplace(0, 12_000, 12_000)
    Path("x.csv").write_text("x\n" + "\n".join(map(repr, noised.tolist())))
    for scale, told in ((12_000, False), (6_000, True)):
        asked = f"density x.csv --noised x=laplace:{scale} --range x=0:300000"
        assert run(asked.split()) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert ("the noise is perhaps larger than stated" in said) is told
        assert ("Many people share one value" in said) is told


def test_a_map_shows_where_people_are(data, monkeypatch):
    drawn = []
    whole = RegressionDisplay.plot
    monkeypatch.setattr(
        RegressionDisplay, "plot", lambda self, *more: drawn.append(self.axes) or whole(self, *more)
    )
    for more in ("", "--range score=500:900 --range income=0:80000"):
        assert run([*COMMAND.split(), "--plot", "map.png", *more.split()]) == 0
    near, stated = [[(axis[0], axis[-1]) for axis in axes] for axes in drawn]
    # Two standard deviations of the true values, 40 and 9,000, to each side of the means.
    assert near[0] == pytest.approx((630, 790), abs=8)
    assert near[1] == pytest.approx((22_000, 58_000), abs=2_000)
    assert stated == [(500, 900), (0, 80_000)]


def test_a_covariate_without_a_spread_of_its_own_has_one_place(data, capsys):
    noise = "regress d.csv --noised score=laplace:100 --noised income=gaussian:2000 --y rate"
    found = machine(f"{noise} --method linear", capsys)
    assert len(found["x"]) == 3
    assert len({score for score, _ in found["x"]}) == 1


def test_words_for_people(data, capsys):
    assert run([*COMMAND.split(), "--plot", "map.svg"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("In the middle, at score 7")
    assert "the mean of rate is 1" in said
    assert "Mean rate by score and income, 600 values, kernel, gaussian, bandwidth" in said
    assert "Corrected line: rate = " in said
    assert "elsewhere: Laplace noise of scale 10 on score, Gaussian noise of scale 2,000 on" in said
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
    "four": (
        "--y rate",
        "--public age --public b --y rate",
        "at most 3 covariates, got 4: score, income, age, b. --method linear",
    ),
    "range": ("--y rate", "--y rate --range age=0:9", "--range of score or income"),
    "range-back": ("--y rate", "--y rate --range score=9:1", "LOW below HIGH"),
    "method": ("--y rate", "--y rate --method ratio", "one covariate, noised, for --method ratio"),
    "method-range": (
        "--noised income=gaussian:2000 --y rate",
        "--y rate --method ratio",
        "--range score=LOW:HIGH, bounds of the true values, for --method ratio",
    ),
    "loss": ("--y rate", "--y rate --loss absolute", "to go with a loss"),
    "log": ("--y rate", "--y rate --bandwidth cv-at-z --loss log", "0 and 1"),
    "bandwidths": ("--y rate", "--y rate --bandwidth 1,2,3", "2 bandwidths"),
    "x": ("--y rate", "--y rate --x score", "no --x with --noised"),
    "files": ("d.csv", "d.csv d.csv", "one file of numbers"),
    "empty": ("d.csv", "empty.csv", "rows in 'empty.csv', got none"),
    "points": ("--y rate", "--y rate --points 500", "at most 10,000 places"),
    "output": ("--y rate", "--y rate -o d.csv", "d.csv"),
    "invalid": ("--y rate", "--y rate --invalid report", "one of refuse, drop for"),
    "words": ("--y rate", "--public region --y rate", "columns of 0 and 1, one for each word but"),
    "gap": ("--y rate", "--public gap --y rate", "of 'd.csv'. To leave such rows out: --invalid"),
    "spelled-gap": ("--y rate", "--public spelled --y rate", "leave its row out. To leave such"),
    "no-row-left": (
        "--y rate",
        "--public region --y rate --invalid drop",
        "rows with a number in each column, got none. Turn a column of words into",
    ),
    "code": ("--y rate", "--range code=500:900 --noised code=laplace:10 --y rate", "such as -999"),
    "picture": (
        "--y rate",
        "--public age --public b --method linear --plot p.png --y rate",
        "up to three covariates",
    ),
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


def test_a_kernel_says_that_it_leaves_out_smoothing_bias(data, capsys):
    assert run(COMMAND.split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "interval, without smoothing bias: " in said
    assert "Intervals are pointwise and leave out what smoothing shifts" in said
    assert run([*COMMAND.split(), "--method", "linear"]) == 0
    said = capsys.readouterr().out
    assert "smoothing" not in said


def test_a_line_takes_more_than_three_covariates(data, capsys):
    command = f"{COMMAND} --public age --public b --method linear"
    found = machine(command, capsys)
    columns = [data[name] for name in ("score", "income", "age", "b")]
    laws = (cf.foreign.Laplace(scale=10), cf.foreign.Gaussian(scale=2000))
    laws += (cf.foreign.NoNoise(),) * 2
    spectrum = cf.Spectrum.of(np.column_stack(columns), noise=laws, response=data["rate"])
    assert spectrum.labels == ("x1", "x2", "x3", "x4")
    line = cf.estimators.LinearRegression().fit(spectrum)
    np.testing.assert_allclose(found["linear"]["slope"], line.slope)
    for slope, error, true in zip(line.slope, line.slope_error, (-0.04, -1e-4, 0, 0), strict=True):
        assert abs(slope - true) < 4 * error
    # The means, and each covariate in turn below and above its own.
    places = np.array(found["x"])
    assert places.shape == (9, 4)
    assert ((places[1:] != places[0]).sum(axis=1) == 1).all()
    assert run(command.split()) == 0
    assert "Corrected line: rate = " in capsys.readouterr().out


def test_rows_without_a_number_are_dropped_and_counted(data, capsys):
    one = "regress d.csv --noised score=laplace:10 --public gap --y rate"
    whole = "regress d.csv --noised score=laplace:10 --y rate --method linear --json"
    assert run([*one.split(), "--method", "linear", "--invalid", "drop", "--json"]) == 0
    printed = capsys.readouterr()
    assert "Left out 1 row without a number." in printed.err
    found = json.loads(printed.out)
    assert (found["n"], found["left_out"]) == (N - 1, {"without a number": 1})
    assert run(whole.split()) == 0
    assert "left_out" not in json.loads(capsys.readouterr().out)
    density = "density d.csv --noised gap=laplace:1 --range gap=-5:5 --invalid drop --json"
    assert run(density.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["left_out"]) == (N - 1, {"without a number": 1})


def test_a_scale_that_is_too_large_is_named_as_a_cause(data, capsys):
    command = "regress d.csv --noised score=laplace:60 --y rate --method linear"
    assert run(command.split()) == 0
    printed = capsys.readouterr()
    words = "or the stated noise is larger than the real one."
    assert words in printed.err
    assert words in " ".join(printed.out.split())


def test_missing_numbers_are_to_be_left_out(data):
    law = cf.foreign.Laplace(scale=10)
    with pytest.raises(cf.errors.InvalidInput, match="Leave the rows of missing answers out"):
        cf.Spectrum.of([1.0, np.nan], noise=law)
    with pytest.raises(cf.errors.InvalidInput, match="Leave the rows of missing answers out"):
        cf.Counts.of_noised([1.0, np.nan], noise=law, low=0, high=9)


def test_a_code_is_refused_wherever_there_is_a_range(data, capsys):
    commands = ("density d.csv --noised code=laplace:10", "regress d.csv --noised code=laplace:10")
    for command, more in zip(commands, ("", " --y rate"), strict=True):
        assert run(f"{command} --range code=500:900{more}".split()) == 2
        assert "1 of 600 that lie too far out" in " ".join(capsys.readouterr().err.split())


def test_a_column_that_is_all_the_same_is_refused(data, capsys):
    command = f"{COMMAND} --public same --method linear"
    text = Path("d.csv").read_text().splitlines()
    Path("d.csv").write_text("\n".join([f"{text[0]},same", *(f"{row},1" for row in text[1:])]))
    assert run(command.split()) == 2
    assert "Leave that column out." in capsys.readouterr().err


def test_a_law_in_capital_letters(data, capsys):
    shown = [
        machine(f"regress d.csv --noised score={law}:10 --y rate --method linear", capsys)
        for law in ("laplace", "Laplace")
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("command", ["density d.csv", "regress d.csv --x score --y rate"])
def test_numbers_without_a_mechanism_are_told_of_noised(command, data, capsys):
    assert run(command.split()) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "Give the survey too" in said
    assert "--noised COLUMN=LAW:SCALE" in said

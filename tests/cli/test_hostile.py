"""Forged summaries, odd names, odd weights, odd locales: one clear sentence each."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.cli.app import run
from confide.errors import InvalidInput
from confide.estimators import CategoryShares, Likelihood, RatioRegression
from confide.summaries import Counts, Groups
from confide.summaries.groups import label

LATTICE = cf.Lattice(low=0, high=10, size=16)
WAVE = cf.SquareWave(LATTICE, epsilon=1.0)
WORDS = cf.RandomizedResponse(["no", "yes"], epsilon=1.0)
ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command.split()) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.count("\n") == 1
    return said


def forged(name: str, counts: list[int], n: int) -> None:
    """A summary that says of itself what it likes."""
    fields = Counts.of(WORDS.simulate(["no", "yes"], seed=1)).to_dict()
    fields |= {"simulated": False, "counts": counts, "n": n}
    Path(name).write_text(json.dumps(fields))


class TestOverflow:
    def test_a_summary_of_more_respondents_than_there_are_people(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("a.json", "b.json"):
            forged(name, [3 * 10**18, 3 * 10**18], 6 * 10**18)
        said = refused("merge a.json b.json -o c.json", capsys)
        assert "at most 9,007,199,254,740,992 respondents in a summary in 'a.json'" in said
        assert not Path("c.json").exists()

    def test_counts_that_add_up_to_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        forged("a.json", [2**63 - 1, 2**63 - 1], -2)
        assert "at most 9,007,199,254,740,992" in refused("merge a.json -o c.json", capsys)

    def test_a_merge_that_goes_too_far(self, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("a.json", "b.json"):
            forged(name, [2**52, 2**52], 2**53)
        said = refused("merge a.json b.json -o c.json", capsys)
        assert "at most 9,007,199,254,740,992 respondents" in said
        assert not Path("c.json").exists()

    def test_in_python(self) -> None:
        with pytest.raises(InvalidInput, match="at most 9,007,199,254,740,992 respondents"):
            Counts(WORDS, np.array([2**62, 2**62]))
        most = Counts(WORDS, np.array([2**52, 2**52]))
        assert most.n == 2**53
        with pytest.raises(InvalidInput, match="respondents"):
            _ = most + most

    def test_sums_of_weights_that_would_be_infinite(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        made = Counts.of(WORDS.simulate(["no", "yes"] * 50, seed=1), weights=[1.0] * 100)
        fields = made.to_dict() | {"simulated": False}
        fields["weights"] = fields["squared_weights"] = [1.7e308, 1.7e308]
        Path("a.json").write_text(json.dumps(fields))
        Path("b.json").write_text(json.dumps(fields))
        assert "within 1e+280 in 'weights'" in refused("merge a.json b.json -o c.json", capsys)


class TestNames:
    def summary(
        self, mechanism: cf.mechanisms.Mechanism, values: Any, **more: Any
    ) -> dict[str, Any]:
        return {
            **Counts.of(mechanism.simulate(values, seed=1), **more).to_dict(),
            "simulated": False,
            "question": ESCAPE,
        }

    @pytest.mark.parametrize(
        "command",
        ["merge a.json -o b.json", "shares a.json", "density n.json", "regress n.json --y rate"],
    )
    def test_do_not_steer_the_terminal(
        self, command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        odd = cf.RandomizedResponse([f"no{ESCAPE}", "yes"], epsilon=4.0)
        answers = [f"no{ESCAPE}"] * 150 + ["yes"] * 150
        Path("a.json").write_text(json.dumps(self.summary(odd, answers)))
        values = np.random.default_rng(1).uniform(0, 10, 3000)
        fine = cf.SquareWave(LATTICE, epsilon=4.0)
        numbers = self.summary(fine, values, response=values, bounds=(0, 10))
        Path("n.json").write_text(json.dumps(numbers))
        assert run(command.split()) == 0
        out, said = capsys.readouterr()
        assert "owned" in out
        assert "\x1b" not in out + said
        assert "\x07" not in out + said

    def test_nor_does_what_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("a.json").write_text(json.dumps(self.summary(WORDS, ["no", "yes"])))
        said = refused("density a.json", capsys)
        assert "\x1b" not in said
        assert run(["shares", "a.json", "--question", ESCAPE, "--group", ESCAPE]) == 2
        assert "\x1b" not in capsys.readouterr().err

    def test_nor_can_a_name_add_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        odd = cf.RandomizedResponse(["no\n  yes    1.000", "yes"], epsilon=4.0)
        fields = self.summary(odd, ["yes"] * 100 + ["no\n  yes    1.000"] * 100)
        Path("a.json").write_text(json.dumps(fields | {"question": "q"}))
        assert run(["shares", "a.json"]) == 0
        assert r"no\n" in capsys.readouterr().out


class TestGroups:
    def test_labels_do_not_collide(self, capsys: pytest.CaptureFixture[str]) -> None:
        first = Counts.of(WORDS.simulate(["no"] * 100, seed=1))
        second = Counts.of(WORDS.simulate(["yes"] * 200, seed=1))
        groups = Groups(("region", "team"), {("north", "a/b"): first, ("north/a", "b"): second})
        Path("g.json").write_text(json.dumps(groups.to_dict() | {"simulated": False}))
        said = refused("shares g.json --group north/a/b", capsys)
        assert "north/a/b', which 2 groups have. Write one of north/a\\/b, north\\/a/b." in said
        for name, n in ((r"north/a\/b", 100), (r"north\/a/b", 200)):
            assert run(["shares", "g.json", "--group", name, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["n"] == n

    def test_a_slash_that_can_mean_one_thing_only(self, capsys: pytest.CaptureFixture[str]) -> None:
        one = Counts.of(WORDS.simulate(["no"] * 100, seed=1))
        groups = Groups(("region", "team"), {("north", "a/b"): one, ("south", "c"): one})
        Path("g.json").write_text(json.dumps(groups.to_dict() | {"simulated": False}))
        assert run(["shares", "g.json", "--group", "north/a/b", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["n"] == 100

    def test_a_word_and_a_number(self, capsys: pytest.CaptureFixture[str]) -> None:
        one = Counts.of(WORDS.simulate(["no"] * 100, seed=1))
        groups = Groups(("year",), {2024: one, "2024": one})
        Path("g.json").write_text(json.dumps(groups.to_dict() | {"simulated": False}))
        said = refused("shares g.json --group 2024", capsys)
        assert "'2024', which 2 groups have" in said

    def test_every_key_has_a_label_of_its_own(self) -> None:
        parts = ["a", "a/a", "a/b", "b", "a\\", "\\", "/", "\\/", "a\\/b"]
        keys = [(one, two) for one in parts for two in parts]
        assert len({label(key) for key in keys}) == len(keys)


class TestWeights:
    def weights(self, decades: float) -> Any:
        return 10.0 ** np.linspace(-decades / 2, decades / 2, 500)

    def test_over_many_decades(self, capsys: pytest.CaptureFixture[str]) -> None:
        values = np.random.default_rng(1).permutation(np.linspace(0, 10, 500))
        made = WAVE.simulate(values, seed=1).indices
        lines = [f"{pay},{weight!r}" for pay, weight in zip(made, self.weights(180), strict=True)]
        Path("in.csv").write_text("pay,w\n" + "\n".join(lines).replace("np.float64", "") + "\n")
        text = Path("in.csv").read_text().replace("(", "").replace(")", "")
        Path("in.csv").write_text(text)
        Path("s.toml").write_text("[questions.pay]\nlow=0\nhigh=10\nsize=16\nepsilon=1.0\n")
        said = refused("summarize s.toml in.csv --weights w -o c.json", capsys)
        assert "weights within a factor of 1e+12 of each other in column 'w'" in said

    def test_up_to_there_every_estimate_is_finite(self) -> None:
        draw = np.random.default_rng(1)
        values, weights = draw.uniform(0, 10, 500), self.weights(11.9)
        counts = Counts.of(WAVE.simulate(values, seed=1), weights=weights, response=values)
        density = Likelihood().fit(counts)
        answers = ["no", "yes"] * 250
        shares = CategoryShares().fit(Counts.of(WORDS.simulate(answers, seed=1), weights=weights))
        for ends in (
            density.interval("mean"),
            density.interval("quantile", [0.1, 0.5, 0.9]),
            density.interval("pdf", [1.0, 5.0]),
            RatioRegression().fit(counts).interval(3.0),
            shares.interval("no"),
            shares.interval("yes"),
        ):
            assert np.isfinite(ends).all()
            assert np.all(ends[0] <= ends[1])

    def test_a_merge_that_spreads_them(self) -> None:
        light, heavy = (
            Counts.of(WORDS.simulate(["no", "yes"] * 10, seed=1), weights=[size] * 20)
            for size in (1e-9, 1e9)
        )
        # Sums of both in every report: what is light no longer counts, and nobody can tell.
        assert np.isfinite(CategoryShares().fit(light + heavy).interval("no")).all()
        one, other = np.array([20, 0]), np.array([0, 20])
        light = Counts(WORDS, one, weights=(one * 1e-9, one * 1e-18))
        heavy = Counts(WORDS, other, weights=(other * 1e9, other * 1e18))
        with pytest.raises(InvalidInput, match=r"weights within a factor of 1e\+12"):
            _ = light + heavy


class TestStart:
    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
        own["PYTHONPATH"] = os.pathsep.join(
            [*environment.pop("first", "").split(), *filter(None, sys.path)]
        )
        return subprocess.run(
            [sys.executable, "-m", "confide", *words], env=own | environment, capture_output=True,
            check=False, timeout=300,
        )  # fmt: skip

    @pytest.mark.parametrize("name", ["wérte.csv", b"b\xffd.csv"])
    def test_a_name_that_the_locale_cannot_read(self, name: str | bytes) -> None:
        Path(os.fsdecode(name)).write_text("pay\n1\n2\n")
        Path("s.toml").write_text("[questions.pay]\nlow=0\nhigh=10\nsize=16\nepsilon=1.0\n")
        done = self.run(
            "privatize", "s.toml", name, "-o", "out.csv",  # type: ignore[arg-type]
            LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0",
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stdout == b""
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith("Expected a file name that this locale can read, got '")
        assert line.endswith("Set LC_ALL=C.UTF-8, or rename the file.")
        assert not Path("out.csv").exists()

    def test_words_that_the_locale_cannot_write(self) -> None:
        odd = cf.RandomizedResponse(["né", "ja"], epsilon=1.0)
        fields = Counts.of(odd.simulate(["né"] * 50 + ["ja"] * 50, seed=1)).to_dict()
        Path("a.json").write_text(json.dumps(fields | {"simulated": False}))
        done = self.run("shares", "a.json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        assert (done.returncode, done.stderr) == (0, b"")
        assert rb"n\xe9" in done.stdout

    @pytest.mark.parametrize(
        ("module", "verb"),
        [
            ("typer", "--help"),
            ("numpy", "privatize"),
            ("pyarrow", "privatize"),
            ("scipy", "density"),
        ],
    )
    def test_ctrl_c_while_it_starts(self, module: str, verb: str, tmp_path: Path) -> None:
        folder = tmp_path / "first"
        folder.mkdir()
        (folder / f"{module}.py").write_text("raise KeyboardInterrupt\n")
        Path("s.toml").write_text("[questions.pay]\nlow=0\nhigh=10\nsize=16\nepsilon=1.0\n")
        Path("a.csv").write_text("pay\n1\n2\n")
        files = ["s.toml", "a.csv"] + (["-o", "out.csv"] if verb == "privatize" else [])
        words = [verb] if verb == "--help" else [verb, *files]
        done = self.run(*words, first=str(folder))
        assert (done.returncode, done.stdout) == (130, b"")
        assert done.stderr == b"Interrupted.\n"


class TestLineWithoutErrors:
    """Far more noise than values: a guess is told as one, by every way out."""

    @pytest.fixture(autouse=True)
    def files(self) -> None:
        generator = np.random.default_rng(1)
        x = generator.uniform(0, 10, 300)
        wave = cf.Laplace(LATTICE, epsilon=0.05)
        rows = zip(wave.simulate(x, seed=1).indices, 2 * x, strict=True)
        Path("r.csv").write_text("pay,y\n" + "".join(f"{report},{y}\n" for report, y in rows))
        Path("s.toml").write_text(
            '[questions.pay]\nmechanism = "laplace"\n'
            "low = 0\nhigh = 10\nsize = 16\nepsilon = 0.05\n"
        )

    @pytest.mark.parametrize("method", ["linear", "ratio"])
    @pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
    def test_on_the_command_line(self, method: str, capsys: pytest.CaptureFixture[str]) -> None:
        command = f"regress s.toml r.csv --x pay --y y --bounds 0 20 --method {method}"
        assert run([*command.split(), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["linear"]["floored_variance"]
        assert found["linear"]["slope_error"] is None
        assert found["linear"]["intercept_error"] is None
        assert (found["lower"][0] is None) == (method == "linear")
        assert run([*command.split(), "--plot", "p.png"]) == 0
        said = capsys.readouterr().out
        assert "a guess without a standard error" in said
        assert "+-" not in said


class TestOddNoise:
    """Noise from elsewhere with parameters that nobody has."""

    @pytest.mark.parametrize("method", ["likelihood", "deconvolution"])
    @pytest.mark.parametrize(
        "law",
        [
            "laplace:1e300",
            "gaussian:1e160",
            "two-sided-gamma:1e-300:1e300",
            "two-sided-gamma:1:1e-300",
            "laplace:1e-320",
        ],
    )
    def test_is_refused(self, law: str, method: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("v.csv").write_text("x\n" + "".join(f"{x}\n" for x in np.linspace(0, 1, 50)))
        bounds = "--range x=0:1" if method == "likelihood" else ""
        said = refused(f"density v.csv --method {method} --noised x={law} {bounds}", capsys)
        assert "of noise from" in said

    @pytest.mark.parametrize("scale", ["1e-150", "1e-20", "1e100"])
    @pytest.mark.parametrize("values", ["0.5\n" * 9, "0.5\n1e9\n"])
    def test_or_what_cannot_be_divided_out(
        self, values: str, scale: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("v.csv").write_text(f"x\n{values}")
        command = f"density v.csv --noised x=laplace:{scale} --method deconvolution"
        if values.startswith("0.5\n1") and scale != "1e100":
            assert run(command.split()) == 0
        else:
            assert "Expected numbers" in refused(command, capsys)

    def test_margins_that_no_number_counts(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("v.csv").write_text("x\n0\n0\n")
        law = "--noised x=laplace:1e150 --range x=0:1e-200"
        assert run(f"density v.csv {law}".split()) in (0, 2)
        assert "Traceback" not in capsys.readouterr().err

    def test_noise_that_is_not_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("v.csv").write_text("x\n" + "".join(f"{x}\n" for x in np.linspace(0, 1, 500)))
        law = "--noised x=laplace:100 --range x=0:1"
        said = refused(f"density v.csv {law}", capsys)
        assert "smaller than stated, or the numbers were cut to the bounds" in said


def test_the_program_ends_where_a_packed_file_cannot_be_read() -> None:
    # Arrow reads ahead in a thread of its own, which must be done before Python is.
    with gzip.open("values.csv.gz", "wb") as file:
        file.write(b'pay\n"' + b"1\n" * 2**26)
    Path("survey.toml").write_text("[questions.pay]\nlow = 0\nhigh = 10\nepsilon = 1.0\n")
    command = ["privatize", "survey.toml", "values.csv.gz", "-o", "reports.parquet"]
    done = subprocess.run(
        [sys.executable, "-m", "confide", *command],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "a line that does not end, perhaps an open quote" in done.stderr
    assert done.stderr.count("\n") == 1

"""confide design gamma, as a user meets it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from confide.cli.design import design
from confide.errors import InvalidInput


@pytest.fixture
def folder(here: Path) -> Path:
    values = np.random.default_rng(1).normal(50, 10, 800)
    rows = [f"{x:.4f},{at}" for at, x in enumerate(values)]
    Path("values.csv").write_text("x,number\n" + "\n".join(rows) + "\n")
    return here


def run(command: str) -> None:
    typer.main.get_command(design).main(args=command.split(), standalone_mode=False)


def machine(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    run(f"{command} --json")
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


GAMMA = "gamma values.csv --column x --protection 0.75 --certainty 0.9"


@pytest.mark.usefixtures("folder")
class TestGamma:
    def test_json(self, capsys):
        found = machine(GAMMA, capsys)
        assert (found["column"], found["n"]) == ("x", 800)
        assert found["shape"] == 0.8
        assert 4 < found["scale"] < 7
        assert found["mu"] == 0.75
        assert found["epsilon"] is None
        assert [len(pair) for pair in found["delta_at"]] == [2] * len(found["delta_at"])
        assert 0 < found["smallest_feasible_shape"] < 0.5
        laplace = machine(f"{GAMMA} --shape 1.0 --bounds 0 100", capsys)
        assert laplace["epsilon"] == pytest.approx(100 / laplace["scale"])

    def test_criterion(self, capsys):
        limit, exact = (machine(f"{GAMMA} --criterion {one}", capsys) for one in ("aimse", "mise"))
        assert (limit["criterion"], exact["criterion"]) == ("aimse", "mise")
        assert exact["error"] != limit["error"]

    def test_parquet_is_the_same(self, capsys):
        numbers = np.loadtxt("values.csv", delimiter=",", skiprows=1)
        pq.write_table(pa.table({"x": numbers[:, 0]}), "values.parquet")
        assert machine("gamma values.parquet", capsys) == machine(GAMMA, capsys)

    def test_table_and_pictures(self, capsys):
        run(f"{GAMMA} --plot pairs.svg --curves curves.png")
        told = " ".join(capsys.readouterr().out.split())
        assert "not give differential privacy" in told
        assert "No pure epsilon" in told
        assert Path("pairs.svg").read_text().startswith("<?xml")
        assert Path("curves.png").stat().st_size > 1000

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("gamma values.csv", "Name it with --column"),
            ("gamma values.csv --column y", "column 'y'"),
            ("gamma missing.csv", "missing.csv"),
            (f"{GAMMA} --shape 0.5", "shape >= 0.8"),
            (f"{GAMMA} --criterion mse", "for 'criterion', got 'mse'"),
            ("gamma values.csv --column x --protection 4", "protection below"),
            (f"{GAMMA} --plot values.csv", "ends in"),
            (f"{GAMMA} --plot a.png --curves a.png", "each of the two pictures"),
        ],
    )
    def test_bad_input(self, command, message):
        with pytest.raises(InvalidInput, match=message):
            run(command)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [("1\n2\n", "at least 10"), ("7\n" * 20, "differ"), ("", "rows"), ("1\nNA\n", "NA")],
    )
    def test_bad_files(self, rows, message):
        Path("bad.csv").write_text("x\n" + rows)
        with pytest.raises(InvalidInput, match=message):
            run("gamma bad.csv")

"""Small files that ask for much: refused before they get it, or read at a bounded price."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from evidence.bombs import files as bomb_files
from evidence.bombs import parquet
from evidence.bombs import study as bombs
from tests.fuzz.files import WAVE, counts, text
from tests.fuzz.study import unclear

import confide as cf
from confide import _limits, reports, tables
from confide.errors import ConfideError, InvalidInput, Unsupported
from confide.estimators import CategoryShares
from confide.estimators.profile import maximize
from confide.estimators.shares import _most_likely, scores_of
from confide.files import formats
from confide.files import parquet as pages
from confide.files.parquet import LETTERS
from confide.files.source import ROWS
from confide.foreign.noise_laws import Gaussian
from confide.mechanisms.laws import Band
from confide.reports.files import Files
from confide.summaries import Counts, files

LITTLE = 2**28
"""Bytes that a refusal may take beside what was there before."""


def refusal(read: Callable[[], Any]) -> str:
    """The one sentence of a reader, which must not have taken much memory on its way.

    Numpy's arrays and Python's objects are counted; Arrow counts its own.
    """
    import tracemalloc

    arrow = pa.default_memory_pool()
    before = arrow.bytes_allocated()
    tracemalloc.start()
    try:
        with pytest.raises(ConfideError) as caught:
            read()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LITTLE
    assert arrow.bytes_allocated() - before < LITTLE
    message = str(caught.value)
    assert unclear(message) == ""
    return message


def loaded(path: Path) -> Any:
    return files.load(path)


def survey_of(path: Path) -> Any:
    return cf.Survey.read(path)


def stream(path: Path) -> None:
    for _ in Files.open([path], mechanisms={"pay": WAVE}).batches():
        pass


def query(path: Path) -> None:
    tables.counts(path, WAVE, column="pay")


def values(path: Path) -> None:
    for _ in formats.source(path).batches(["smokes"]):
        pass


CASES: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "npz_header": ("s.npz", loaded, "a header of at most"),
    "npz_declared": ("s.npz", loaded, "'counts' of shape (24,)"),
    "npz_long_header": ("s.npz", loaded, "bytes that are not one"),
    "npz_long_header_deflated": ("s.npz", loaded, "bytes that are not one"),
    "npz_bzip2": ("s.npz", loaded, "bytes that are not one"),
    "json_scales": ("s.json", loaded, "with the margin that noise this wide needs"),
    "json_words": ("s.json", loaded, "numbers in 'counts'"),
    "json_words_within": ("s.json", loaded, "numbers in 'counts'"),
    "json_deep": ("s.json", loaded, "nesting too deep"),
    "toml_dots": ("s.toml", survey_of, "keys of at most 64 parts"),
    "toml_deep": ("s.toml", survey_of, "TOML in"),
    "toml_tables": ("s.toml", survey_of, "keys of at most 64 parts"),
    "parquet_text": ("r.parquet", stream, "got the type string"),
    "parquet_values": ("v.parquet", values, "letters of text"),
    "parquet_prefixes": ("v.parquet", values, "letters of text"),
    "parquet_page": ("r.parquet", stream, "when it is unpacked"),
    "parquet_rows": ("r.parquet", stream, "at most 17,211,216 values in the 434 bytes"),
    "parquet_groups": ("r.parquet", stream, "a Parquet file"),
    "parquet_columns": ("r.parquet", stream, "at most 16,384 columns"),
    "parquet_vectors": ("c.parquet", reports.read, "letters of text"),
    "csv_columns": ("r.csv", stream, "at most 16,384 columns"),
    "csv_commas": ("r.csv", stream, "at most 16,384 columns"),
    "gzip_line": ("r.csv.gz", stream, "a line that does not end"),
    "gzip_wide": ("r.csv.gz", stream, "when it is unpacked"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_in_one_sentence_and_little_memory(name: str, tmp_path: Path) -> None:
    file, read, words = CASES[name]
    path = tmp_path / file
    path.write_bytes(getattr(bomb_files, name)())
    assert words in refusal(lambda: read(path))
    assert [one.name for one in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("name", ["parquet_page", "parquet_rows", "parquet_kept", "gzip_wide"])
def test_a_query_is_refused_too(name: str, tmp_path: Path) -> None:
    path = tmp_path / ("r.csv.gz" if name == "gzip_wide" else "r.parquet")
    path.write_bytes(getattr(bomb_files, name)())
    by = "region" if name == "parquet_kept" else None
    with pytest.raises(InvalidInput, match="If you trust the file"):
        tables.counts(path, WAVE, column="pay", by=by)


@pytest.mark.parametrize("column", ["counts", "extra"])
def test_arrays_are_not_read_before_their_shape_is_known(column: str) -> None:
    buffer = io.BytesIO(counts().to_bytes())
    packed = zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED)
    head = io.BytesIO()
    fields = {"descr": "<i8", "fortran_order": False, "shape": (2**29,)}
    np.lib.format.write_array_header_1_0(head, fields)
    with packed:
        packed.writestr("extra.npy", head.getvalue())
    data = buffer.getvalue()
    if column == "counts":
        data = data.replace(b"squared_weights.npy", b"squared_weighty.npy")
        data = data.replace(b"extra.npy", b"other.npy")
    assert "known keys in a summary" in refusal(lambda: Counts.from_bytes(data))


def test_shapes_are_compared_before_a_law_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(Gaussian, "mean_cdf", never)
    fields = json.loads(bomb_files.document(bomb_files.noised(2**16, 1), 1))
    assert "'counts' of shape (65536,)" in refusal(lambda: Counts.from_dict(fields))


def stamp(kind: str, many: int, cells: int) -> bytes:
    """A stamp that nobody has computed anything for."""
    lattice = {"low": 0.0, "high": 1.0, "size": cells, "scale": "linear"}
    own: dict[str, Any] = {"mechanism": kind, "lattice": lattice, "epsilon": 1.0}
    if kind == "two-sided-gamma":
        own = {"mechanism": kind, "lattice": lattice, "shape": 0.8, "scale": 0.3, "table": "0"}
    columns = {f"q{at}": {"fingerprint": "0", "mechanism": own} for at in range(many)}
    return text({"version": 1, "simulated": False, "columns": columns, "survey": None})


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("square-wave", "at most 4,194,304 cells in"),
        ("two-sided-gamma", "at most 1,048,576 cells of two-sided gamma noise in"),
    ],
)
def test_cells_are_counted_before_any_is_made(kind: str, words: str, tmp_path: Path) -> None:
    many = 1000 if kind == "square-wave" else 3
    path = tmp_path / "r.parquet"
    names = [f"q{at}" for at in range(many)]
    path.write_bytes(bomb_files.stamped(stamp(kind, many, 2**20), names))
    assert words in refusal(lambda: Files.open([path]))
    question = {"mechanism": kind, "low": 0, "high": 1, "size": 2**20, "epsilon": 1.0}
    if kind == "two-sided-gamma":
        del question["epsilon"]
        question |= {"shape": 0.8, "noise_scale": 0.3}
    fields = {"questions": dict.fromkeys(names, question)}
    assert words in refusal(lambda: cf.Survey.from_dict(fields))


def test_no_survey_is_asked_that_nobody_could_read() -> None:
    fine = cf.SquareWave(cf.Lattice(low=0, high=1, size=2**20), epsilon=1.0)
    questions = {f"q{at}": cf.Question(fine) for at in range(5)}
    with pytest.raises(InvalidInput, match="at most 4,194,304 cells"):
        cf.Survey(questions)
    del questions["q4"]
    assert len(cf.Survey(questions).questions) == 4


class TestPages:
    """What the headers of Parquet pages say, against what pyarrow reads."""

    @pytest.mark.parametrize("codec", ["snappy", "gzip", "zstd", "brotli", "lz4", "none"])
    @pytest.mark.parametrize("version", ["1.0", "2.0"])
    def test_values_are_counted_as_they_are(self, codec: str, version: str, tmp_path: Path) -> None:
        n = 50_000
        draw = np.random.default_rng(1)
        table = pa.table(
            {
                "whole": draw.integers(0, 9, n),
                "words": pa.array(draw.choice(["north", "south"], n)),
                "many": pa.array([f"{at:07}" for at in range(n)]),
                "lists": pa.array([[1, 2, 3], [], None, [4]] * (n // 4)),
            }
        )
        path = tmp_path / "a.parquet"
        pq.write_table(
            table, path, compression=codec, data_page_version=version, row_group_size=20_000
        )
        footer = pq.ParquetFile(path).metadata
        with path.open("rb") as file:
            data = file.read()
        for leaf in range(footer.num_columns):
            for group in range(footer.num_row_groups):
                chunk = footer.row_group(group).column(leaf)
                start, length = pages._place(chunk)
                found = list(pages._pages(data, start, start + length))  # type: ignore[arg-type]
                there = [page for page in found if page.kind != pages.DICTIONARY_PAGE]
                assert sum(page.values for page in there) == chunk.num_values
                # The total holds the headers too.
                total = sum(page.unpacked for page in found)
                assert total <= chunk.total_uncompressed_size < total + 200 * len(found)
        source = formats.source(path)
        assert source.check(table.column_names) == ROWS
        assert sum(batch.num_rows for batch in source.batches(table.column_names)) == n

    def test_words_are_as_long_as_they_are(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        for codec in ("snappy", "lz4", "none"):
            cells = ["x" * 3000, *(["y"] * 40_000)]
            pq.write_table(pa.table({"a": pa.array(cells)}), path, compression=codec)
            found = pages.check(path, pq.ParquetFile(path).metadata, ["a"], None, "here")
            assert found == 3000
            assert formats.source(path).check(["a"]) == LETTERS // 3000

    @pytest.mark.parametrize("way", ["twice", "far", "both", "long"])
    def test_headers_that_can_be_read_in_two_ways(self, way: str, tmp_path: Path) -> None:
        path = tmp_path / "r.parquet"
        path.write_bytes(bomb_files.parquet_odd(way))
        words = "at most 17," if way == "both" else "a Parquet file"
        source = formats.source(path)
        assert words in refusal(lambda: source.check(["pay"]))

    def test_pyarrow_reads_these_headers(self, tmp_path: Path) -> None:
        # Or there would be nothing to refuse.
        path = tmp_path / "r.parquet"
        for way in ("twice", "far"):
            path.write_bytes(bomb_files.parquet_odd(way, 1000))
            assert pq.ParquetFile(path).read().num_rows == 1000

    def test_values_of_the_footer_are_counted(self, tmp_path: Path) -> None:
        class Few(parquet.Page):
            def encoded(self) -> bytes:
                return parquet.page(self.body, 100).encoded()

        path = tmp_path / "r.parquet"
        path.write_bytes(bomb_files.of_pay([Few(bytes(400), 2**31 - 1, 400)], 100))
        assert "at most 17," in refusal(lambda: formats.source(path).check(["pay"]))

    def test_footers_that_lie(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        good = bomb_files.of_pay([parquet.page(bytes(400), 100)], 100)
        path.write_bytes(good)
        assert len(reports.read(path)) == 100
        for data in (
            bomb_files.of_pay([parquet.Page(bytes(400), 100, 2**31 - 1)], 100),
            bomb_files.of_pay([parquet.Page(bytes(400), 2**31 - 1, 400)], 100),
            bomb_files.of_pay([parquet.page(bytes(400), 100)], 100, groups=3),
            good[:4] + b"\xff" * 20 + good[24:],
        ):
            path.write_bytes(data)
            assert refusal(lambda: reports.read(path))


def test_what_a_file_may_hold_in_memory_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = WAVE.simulate(np.linspace(0, 10, 5000), seed=1)
    path = tmp_path / "r.parquet"
    reports.write(made, path, name="pay")
    assert len(reports.read(path)) == 5000
    monkeypatch.setattr(_limits, "HELD", 1000)
    monkeypatch.setattr(_limits, "HELD_PER_BYTE", 0)
    with pytest.raises(InvalidInput, match=r"at most 1,000 values at once.*tables\.counts"):
        reports.read(path)


def test_a_gzip_file_that_is_just_small_enough(tmp_path: Path) -> None:
    path = tmp_path / "r.csv.gz"
    path.write_bytes(bomb_files.gzipped(b"pay,x\n", b"1," + b"x" * 2**19 + b"\n", 128))
    size = path.stat().st_size
    assert 2**26 < 128 * 2**19 + 6 < _limits.UNPACKED + _limits.RATIO * size
    assert len(reports.read(path, column="pay", mechanism=WAVE)) == 128
    assert tables.counts(path, WAVE, column="pay").n == 128


class TestManyCells:
    def test_shares_of_very_many_categories(self) -> None:
        many = 30_000
        made = cf.RandomizedResponse([f"c{at}" for at in range(many)], epsilon=9.0)
        answers = [f"c{at % 7}" for at in range(20_000)]
        curve = CategoryShares().fit(Counts.of(made.simulate(answers, seed=1)))
        assert curve.shares.sum() == pytest.approx(1)
        assert curve.shares.min() >= 0
        low, high = curve.interval("c3")
        assert low < 1 / 7 < high

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
    @pytest.mark.parametrize("many", [2, 3, 12])
    def test_the_closed_form_is_the_most_likely(self, epsilon: float, many: int) -> None:
        law = cf.RandomizedResponse([f"c{at}" for at in range(many)], epsilon=epsilon).law
        assert isinstance(law, Band)
        draw = np.random.default_rng(many)
        for _ in range(5):
            seen = draw.multinomial(200, draw.dirichlet(np.full(many, 0.3))) / 200
            best = maximize(law.matrix(), seen[None], gap=1e-12)[0][0]
            np.testing.assert_allclose(_most_likely(law, seen, 1e-12), best, atol=1e-6)
        own, others = scores_of(law)
        inverse = np.linalg.inv(law.matrix())
        np.testing.assert_allclose(np.diagonal(inverse), own)
        np.testing.assert_allclose(inverse[0, 1], others[0])

    def test_means_under_gamma_noise(self) -> None:
        made = cf.TwoSidedGamma(cf.Lattice(low=0, high=1, size=30_000), shape=0.8, scale=0.3)
        scores = made.unbiased(1)
        np.testing.assert_allclose(made.law.adjoint(scores), made.lattice.centers, atol=1e-9)
        small = cf.TwoSidedGamma(cf.Lattice(low=0, high=1, size=512), shape=0.8, scale=0.3)
        solved = small.law.solve(small.lattice.centers)
        np.testing.assert_allclose(solved, small.unbiased(1), atol=1e-8)

    def test_or_a_sentence_where_that_does_not_converge(self) -> None:
        hard = cf.TwoSidedGamma(cf.Lattice(low=0, high=1, size=30_000), shape=3.0, scale=0.1)
        assert "take a lattice of at most 4,096" in refusal(lambda: hard.unbiased(1))

    def test_no_dense_table_of_a_large_law(self) -> None:
        law = cf.SquareWave(cf.Lattice(low=0, high=1, size=30_000), epsilon=1.0).law
        with pytest.raises(Unsupported, match="67,108,864"):
            law.matrix()

    def test_dense_tables_are_what_the_law_does(self) -> None:
        for law in (
            cf.SquareWave(cf.Lattice(low=0, high=1, size=50), epsilon=1.0).law,
            cf.Laplace(cf.Lattice(low=0, high=1, size=1500), epsilon=1.0).law,
        ):
            assert (law.matrix() == law.forward(np.eye(law.inputs[0])).T).all()


class TestManyScales:
    @pytest.mark.parametrize("spread", [0.01, 0.5, 2.0])
    def test_the_average_of_very_many_is_that_of_a_few(self, spread: float) -> None:
        from scipy.special import ndtr

        scales = np.exp(np.random.default_rng(1).normal(0, spread, 3000))
        noise = Gaussian(scale=scales)
        x = np.linspace(-30, 30, 301)
        assert noise.terms < 400
        exact = ndtr(x[:, None] / scales).mean(axis=1)
        np.testing.assert_allclose(noise.mean_cdf(x), exact, atol=1e-12)

    def test_too_many_cells_for_them(self) -> None:
        noise = Gaussian(scale=np.geomspace(1e-6, 1e5, 3000))
        with pytest.raises(InvalidInput, match="cells, with the margin that noise this wide"):
            Counts.of_noised([0.5], noise=noise, low=0, high=1e5, size=2**15)
        with pytest.raises(InvalidInput, match=r"scales within a factor of 1e\+12"):
            Gaussian(scale=[1e-7, 1e7])


def test_each_in_a_process_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evidence", "bombs", "--thin"], cwd=bombs.ROOT, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    thin = [bomb for bomb in bombs.BOMBS if bomb.make[0] in bombs.THIN]
    assert done.stdout.count('"ended": "refused"') == len(thin)


def test_faults_are_seen() -> None:
    row = {"name": "x", "bytes": 1000, "said": "Expected a, got b.", "megabytes": 100}
    assert bombs.fault({**row, "ended": "refused"}) == ""
    assert bombs.fault({**row, "ended": "read", "said": ""}) == ""
    for wrong in (
        {"ended": "failed", "said": "MemoryError"},
        {"ended": "stopped"},
        {"ended": "refused", "said": "no sentence"},
        {"ended": "read", "megabytes": 1100},
    ):
        assert bombs.fault({**row, **wrong})


def test_the_page_tells_of_the_last_run() -> None:
    result = json.loads(bombs.RESULT.read_text())
    assert list(result["rows"]) == [bomb.name for bomb in bombs.BOMBS]
    page = bombs.PAGE.read_text()
    assert bombs.MARKS[0] + bombs.table(result) + bombs.MARKS[1] in page
    for name, row in result["rows"].items():
        assert bombs.fault({"name": name, **row["after"]}) == ""
    assert sum(bool(bombs.fault({"name": name, **row["before"]}))
               for name, row in result["rows"].items()) > 15  # fmt: skip
    assert "1 GiB plus 200 S" in page
    for number in (_limits.VALUES, _limits.HELD, _limits.MAX_COLUMNS):
        assert f"{number:,}" in page

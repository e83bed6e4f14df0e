"""No float and no generator can be reached between an index and a report, by reading the source.

From every function that draws, all functions that it can reach by name are walked: names are
followed wherever a module of the draw path defines them, so that too much is looked at and never
too little. What makes public tables, before anybody's index is looked at, is listed with a reason.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

import confide

from .static_guard import Guard

ROOT = Path(confide.__file__).parent
MODULES = [
    *(f"exact/{name}.py" for name in (
        "entropy", "enclosures", "inversion", "integer_noise",
    )),
    *(f"mechanisms/{name}.py" for name in (
        "protocol", "laplace", "square_wave", "two_sided_gamma", "categories", "joint", "partition",
        "pair_response",
    )),
    *(f"releases/{name}.py" for name in (
        "release", "query", "ranks", "histogram", "series", "bernstein",
        "gaussian_process", "kolmogorov_smirnov", "choice", "sequences", "holdout", "bounded",
        "means", "statements", "statistic", "selection", "least_squares",
        "cross_table",
    )),
    *(f"sampling/{name}.py" for name in (
        "sampler", "mollification", "mollifier", "mbde", "naive",
    )),
]  # fmt: skip
DRAWING = {
    "draw", "_draw", "_run", "added", "sums", "noises", "choice.exponents", "selection.exponents",
    "gaussian_process.spread",
}  # fmt: skip
"""What draws, what noise it draws, and what works on indices before that."""
PUBLIC = {
    **{
        f"{name}.index": "floats may appear up to the index"
        for name in (
            "partition",
            "query",
            "histogram",
            "series",
            "gaussian_process",
            "kolmogorov_smirnov",
            "means",
            "least_squares",
            "cross_table",
            "statements",
        )
    },
    "protocol.several": "a single answer as a list of one, before the index",
    "protocol.with_declined": "floats may appear up to the index",
    "naive.shape": "public sizes",
    "two_sided_gamma._weights": "the public table of the noise: its integers are the law",
    "mollification._bounds": "public bounds, cut to the band by integers in the last line",
    "mollifier.band": "made of public parameters",
    "categories.law": "made of public parameters",
    "pair_response.response": "made of public parameters",
    "choice.apart": "the noise of a difference of scores, which is none",
    "gaussian_process.noise": "a public parameter, certified by integers",
    "least_squares.noise": "a public parameter, certified by integers",
    "least_squares.entries": "a public table: its rows are whole and checked to add up",
    "least_squares.axes": "public bounds",
    "least_squares.sizes": "public numbers of coefficients",
    "least_squares.squares": "which columns hold numbers",
    "means.noise": "a public parameter, certified by integers",
    "statistic.noise": "a public parameter, certified by integers",
    "selection.integer_sensitivity": "made of what the user states, in fractions",
    "square_wave.law": "made of public parameters",
    "partition.law": "made of public parameters",
    "partition.values": "the law, for estimators: nothing is drawn from it",
    "histogram.size": "a public number of cells",
    "histogram.grids": "public bounds",
    "series.grids": "public bounds",
    "series.size": "a public number of terms",
    "mollifier.size": "a public number of atoms",
    "series.table": "a public table of coefficients",
    "bernstein.table": "a public table of coefficients",
    "query.ranks": "public parameters",
    "ranks.targets": "public ranks",
    "ranks.reach": "a public distance",
    "mbde.proposals": "a public number",
    "mbde.chances": "clipped to public integer bounds, whatever the floats were",
    "mbde.locate": "points of public numbers",
    "release.words": "for people",
    "statements.words": "for people",
    "kolmogorov_smirnov.shape": "public sizes",
}
"""What is made of public parameters alone, or cannot change a law, and why it may use floats."""
RATIONAL = {
    "exp_enclosure", "exponents", "noises", "parameter", "rank_weights", "shares", "digits",
}  # fmt: skip
"""Functions whose divisions are between fractions."""
POWERS = {
    "mollification.TOTAL: BITS",
    "inversion._capped: self.bits",
    "inversion._guide: min(self.bits, 16)",
    "inversion._guide: shift",
    "inversion._search: self.bits",
    "inversion._thresholds: self.bits",
    "enclosures.exp_enclosure: halvings",
    "integer_noise._propose: HALF",
    "integer_noise._propose: HALF + 1",
    "integer_noise._survive: j",
    "integer_noise.digits: digits",
}
"""Exponents that are sizes of words, or counted up from 0."""


def guard(
    sources: dict[str, str],
    public: Collection[str] = PUBLIC,
    rational: Collection[str] = RATIONAL,
    powers: Collection[str] = POWERS,
) -> Guard:
    return Guard(sources, DRAWING, public, rational, powers)


def violations(sources: dict[str, str], public: Collection[str] = PUBLIC) -> list[str]:
    return guard(sources, public).violations


SOURCES = {name: (ROOT / name).read_text() for name in MODULES}


def test_no_float_and_no_generator_between_index_and_report() -> None:
    assert violations(SOURCES) == []


def test_the_walk_comes_everywhere() -> None:
    found = {f"{Path(module).stem}.{name}" for module, name in guard(SOURCES).reached}
    assert found >= {
        "inversion.draw", "inversion._search", "inversion._refine", "inversion._guide",
        "inversion._count", "entropy.words", "inversion.weighted", "enclosures.exp_enclosure",
        "integer_noise.laplace_sampler", "protocol._run", "laplace.draw",
        "square_wave.draw", "two_sided_gamma.draw", "categories.draw", "joint.draw",
        "pair_response.draw", "pair_response.outcomes",
        "partition._noisy", "partition._spread", "mollification.draw", "mollifier.draw",
        "integer_noise._geometric", "integer_noise._digit", "integer_noise._power",
        "integer_noise._propose", "integer_noise._survive",
        "histogram.sums", "query.draw", "query.sums", "query.noises",
        "series.sums", "series.noises", "gaussian_process.sums", "release.draw",
        "choice.exponential", "ranks.draw", "ranks.weights", "ranks.distances",
        "query.integer_variance", "query.integer_fourth", "sequences.keeping", "sequences.draw",
        "release.added", "holdout._draw", "mbde.draw", "naive.draw",
    }  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_every_exception_is_needed(name: str) -> None:
    assert violations(SOURCES, set(PUBLIC) - {name})


@pytest.mark.parametrize("name", sorted(RATIONAL))
def test_every_division_of_fractions_is_one(name: str) -> None:
    assert guard(SOURCES, rational=RATIONAL - {name}).violations


@pytest.mark.parametrize("name", sorted(POWERS))
def test_every_power_is_needed(name: str) -> None:
    assert guard(SOURCES, powers=POWERS - {name}).violations


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("mechanisms/laplace.py", "        noise += indices\n", "        noise += 0.5\n"),
        ("mechanisms/laplace.py", "        noise += indices\n", "        noise = noise / 2\n"),
        (
            "mechanisms/square_wave.py",
            "self.sampler.draw(entropy, indices.size)",
            "np.random.default_rng().integers(0, 9, indices.size)",
        ),
        (
            "mechanisms/square_wave.py",
            "np.int32(2 * self.reach) * (indices == self.law.size)",
            "np.int32(2 * self.reach) * (indices > self.epsilon)",
        ),
        ("mechanisms/square_wave.py", "np.minimum(self._placed(", "np.fmin(self._placed("),
        (
            "mechanisms/categories.py",
            "self.sampler.draw(entropy, indices.size)",
            "helper(indices)",
        ),
        ("sampling/mollification.py", "np.cumsum(weights)", "np.cumsum(np.exp(weights))"),
        ("sampling/mollification.py", "np.cumsum(weights)", "np.cumsum(weights.astype(float))"),
        ("mechanisms/partition.py", "    noise += truth\n", "    noise += truth.mean()\n"),
        ("mechanisms/partition.py", "    noise += truth\n", "    noise = noise.astype('f8')\n"),
        ("exact/inversion.py", "middle = (low + high) // 2", "middle = int((low + high) / 2)"),
        ("exact/entropy.py", "os.urandom(n * bits // 8)", "random.randbytes(n * bits // 8)"),
        (
            "exact/integer_noise.py",
            "        work = bits + 64\n",
            "        work = bits + math.log2(64)\n",
        ),
        ("releases/release.py", "int(total) + int(part)", "float(total) + int(part)"),
        ("exact/integer_noise.py", ".astype(np.int64) << j", ".astype(np.int64) * 2.0**j"),
        (
            "exact/integer_noise.py",
            "np.abs(size - center)",
            "np.sqrt((size - center) ** 2)",
        ),
        ("releases/sequences.py", "reached -= counts[-1]", "reached -= counts[-1] / 1"),
    ],
)
def test_violations_are_caught(module: str, line: str, broken: str) -> None:
    source = SOURCES[module]
    assert line in source
    helper = "\n\ndef helper(x):\n    return deeper(x)\n\n\ndef deeper(x):\n    return x * 0.5\n"
    assert violations({**SOURCES, module: source.replace(line, broken) + helper})


@pytest.mark.parametrize(
    ("statement", "elsewhere"),
    [
        ("noise += getattr(np, 'exp')(indices)", ""),
        ("noise = noise * 2 ** -1", ""),
        ("noise = noise * self.epsilon", ""),
        ("noise = noise * type(self).half", ""),
        ("from math import exp; noise = exp(1) * noise", ""),
        ("import math as m; noise = m.exp(1) * noise", ""),
        ("noise = E(1) * noise", "import math\nE = math.exp"),
        ("noise = N.exp(noise)", "import numpy as N"),
        ("noise = np.cbrt(noise)", ""),
        ("noise = np.random.normal() + noise", ""),
        ("noise = rng.choice(noise)", "from numpy.random import default_rng\nrng = default_rng()"),
        ("noise = noise * HALF", "HALF = 0.5"),
        ("noise = half(noise)", "half = lambda x: x * 0.5"),
        ("noise = (lambda x, h=0.5: x * h)(noise)", ""),
        ("noise = other(noise)", "def other(x, *, h=0.5):\n    return x * h"),
        ("noise = other(noise)", "async def other(x):\n    return x * 0.5"),
        ("noise = other(noise)", "@scaled(0.5)\ndef other(x):\n    return x"),
        ("noise = other(noise)", "from confide.displays import other"),
        (
            "noise = Half()(noise)",
            "class Half:\n    def __call__(self, x):\n        return x * 0.5",
        ),
        (
            "noise = Half() * noise",
            "class Half:\n    def __mul__(self, x):\n        return x * 0.5",
        ),
        ("noise = __import__('math').exp(noise)", ""),
        ("noise = importlib.import_module('math').exp(noise)", "import importlib"),
        ("noise = eval('noise / 2')", ""),
        ("noise = operator.truediv(noise, 2)", "import operator"),
        ("noise = noise.__truediv__(2)", ""),
        ("noise = noise * Fraction(1, 2).__float__()", "from fractions import Fraction"),
        ("noise = noise + time.time()", "import time"),
        ("noise = noise.astype('d')", ""),
        ("noise = noise.astype('<f8')", ""),
        ("noise = noise.astype(np.float64)", ""),
        ("noise = np.array(noise, dtype='float32')", ""),
        ("noise = noise + np.zeros(indices.size)", ""),
        ("noise = noise + np.ones(indices.size)", ""),
        ("noise = np.array(noise, 'd')", ""),
        ("noise = noise + np.full(indices.size, 1, 'd')", ""),
        ("noise = np.frombuffer(noise.tobytes(), 'f8')", ""),
        ("noise = np.cumsum(noise, 0, 'd')", ""),
        ("noise = noise * np.prod([noise], 0, 'd')", ""),
        ("noise = noise + np.arange(0, indices.size, 1, 'd')", ""),
        ("noise = noise + noise.sum(0, 'd')", ""),
        ("noise = np.array(*[noise, 'd'])", ""),
        ("noise = np.array(noise, **{'dtype': 'd'})", ""),
        ("noise = np.abs(noise, signature='d->d')", ""),
        ("noise = np.bincount(indices, indices)", ""),
        ("noise = np.ndarray(indices.size)", ""),
        ("make = np.array; noise = make(noise, 'd')", ""),
        ("make = noise.astype; noise = make('d')", ""),
        ("k = -1; noise = noise * 2**k", ""),
        ("k = -1; noise = 2; noise **= k", ""),
        ("shift = -1; noise = noise * 2**shift", ""),
        ("int64 = 'd'; noise = noise.astype(int64)", ""),
        ("noise = noise.astype(int64)", "int64 = 'd'"),
        ("int = 'd'; noise = noise.astype(int)", ""),
        ("noise = noise.astype(int)", "int = 'd'"),
        ("noise = (lambda x, int: x.astype(int))(noise, 'd')", ""),
        ("noise = other(noise, 'd')", "def other(x, int):\n    return x.astype(int)"),
        ("me = self; noise = noise * me.epsilon", ""),
        ("me, _ = self, 0; noise = noise * me.shape", ""),
        ("noise = other(self) * noise", "def other(x):\n    return x.epsilon"),
        ("noise = other(self) * noise", "def other(x):\n    return x.shape"),
        ("noise = noise * self.lattice.low", ""),
        ("noise = noise + self.lattice.high", ""),
        ("noise = SeededEntropy(1).words(9, 8)", "from confide.exact.entropy import SeededEntropy"),
    ],
)
def test_roundabout_ways_are_caught(statement: str, elsewhere: str) -> None:
    module, line = "mechanisms/laplace.py", "        noise += indices\n"
    source = SOURCES[module]
    assert line in source
    broken = source.replace(line, f"        {statement}\n") + f"\n\n{elsewhere}\n"
    assert violations({**SOURCES, module: broken})


def test_a_seeded_source_is_the_only_generator() -> None:
    source = SOURCES["exact/entropy.py"].replace("class SeededEntropy", "class Another")
    assert violations({**SOURCES, "exact/entropy.py": source})

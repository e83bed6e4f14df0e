"""The vectors: draws from given bytes, cells of given values, and specifications to refuse.

Every line of a file is a JSON object of its own. The reports are made by confide's mechanisms, and
the bytes by SHAKE-256 of a public text, so that the files can be made again.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from confide.exact.enclosures import exp_floor
from confide.exact.integer_noise import ONE, laplace_parameter
from confide.lattice import MAX_SIZE, Categories, Lattice
from confide.mechanisms import (
    Laplace,
    Mechanism,
    PairResponse,
    RandomizedResponse,
    Side,
    SquareWave,
)
from conformance.tapes import drawn, inputs, public_bytes, sampler, split, with_bits, written

FOLDER = Path(__file__).parent
SEED = "confide conformance 1"
SPARE = 64
"""Bytes behind the words that are placed; what is not read is not written down."""


def unit(size: int) -> Lattice:
    return Lattice(low=0, high=1, size=size)


def labels(size: int) -> list[str]:
    return [f"word {at}" for at in range(size)]


MECHANISMS: list[Mechanism] = [
    SquareWave(Lattice(low=0, high=300_000, size=1024), epsilon=1.0),
    SquareWave(Lattice(low=1, high=1e6, size=1024, scale="log"), epsilon=4.0),
    SquareWave(unit(64), epsilon=0.1),
    SquareWave(unit(8), epsilon=1.0),
    SquareWave(unit(2), epsilon=3.0),
    SquareWave(Lattice(low=-40, high=40, size=33), epsilon=20.0),
    SquareWave(unit(16), epsilon=100.0),
    Laplace(unit(256), epsilon=1.0),
    Laplace(Lattice(low=0.5, high=90, size=1024, scale="log"), epsilon=0.1),
    Laplace(unit(8), epsilon=0.5),
    Laplace(unit(2), epsilon=0.3),
    Laplace(unit(16), epsilon=30.0),
    Laplace(unit(3), epsilon=100.0),
    RandomizedResponse(["no", "yes"], epsilon=1.0),
    RandomizedResponse(["nein", "vielleicht", "ja, übermäßig", "日本", "weiß nicht"], epsilon=0.7),
    RandomizedResponse(labels(3), epsilon=25.0),
    RandomizedResponse(labels(30), epsilon=2.0),
    RandomizedResponse(labels(12), epsilon=100.0),
    SquareWave(unit(256), epsilon=1.0, prefer_not_to_say=True),
    SquareWave(Lattice(low=0, high=60, kind="integer"), epsilon=2.0, prefer_not_to_say=True),
    SquareWave(unit(2), epsilon=0.5, prefer_not_to_say=True),
    SquareWave(unit(8), epsilon=6.0, prefer_not_to_say=True),
    SquareWave(Lattice(low=0, high=3000, kind="integer"), epsilon=1.0),
    Laplace(Lattice(low=-7, high=7, kind="integer"), epsilon=1.0),
    RandomizedResponse(labels(2), epsilon=1.0, prefer_not_to_say=True),
    RandomizedResponse(labels(7), epsilon=3.0, prefer_not_to_say=True),
    SquareWave(Lattice(low=0, high=2000, size=41, kind="points"), epsilon=1.0),
    SquareWave(Lattice(low=0, high=1e6, size=64, scale="zoom", zoom=(31_250, 62_500)), epsilon=1.0),
]
DAYS = Lattice(low=0, high=60, kind="integer")
YEARS = Categories(["nein", "ja, übermäßig", "日本"])
PAIRS = [
    PairResponse({"pay": Side(unit(64), (20,)), "days": Side(DAYS, (5,))}, epsilon=1.0),
    PairResponse({"pay": Side(unit(8), (7,)), "words": Side(YEARS)}, epsilon=2.0),
    PairResponse({"pay": Side(unit(16), (3, 4, 9)), "days": Side(DAYS, (1, 60))}, epsilon=0.1),
    PairResponse({"pay": Side(unit(8), (4,), True), "days": Side(DAYS, (5,))}, epsilon=1.0),
    PairResponse({"days": Side(DAYS, (30,)), "words": Side(YEARS, (2,), True)}, epsilon=3.0),
    PairResponse({"a": Side(unit(8), (1, 2), True), "b": Side(YEARS, None, True)}, epsilon=0.5),
    PairResponse({"a": Side(Categories(labels(2))), "b": Side(YEARS, (1,))}, epsilon=100.0),
]
"""Reports about two answers: a bit or a table, of numbers and words, declined or not."""


def draws() -> Iterator[dict[str, Any]]:
    """Bytes, an index, the report, and how many words were read for it."""
    for at, mechanism in enumerate((*MECHANISMS, *PAIRS)):
        for why, bits, starts in placed(mechanism, f"{SEED}/{at}"):
            made, size = with_bits(mechanism, bits), inputs(mechanism)
            seed = f"{SEED}/{at}/{why}"
            fill = public_bytes(seed, SPARE * len(starts))
            # The last index is "declined" where that is offered; the one before is then an answer.
            ends = (0, size - 1, size - 2) if mechanism.prefer_not_to_say else (0, size - 1)
            indices = (*ends, *np.frombuffer(public_bytes(f"{seed}/i", 800), "<u4") % size)
            rows = []
            for row, start in enumerate(starts):
                tape = written(start, bits) + fill[SPARE * row : SPARE * (row + 1)]
                index = int(indices[row % len(indices)])
                report, read = drawn(made, index, tape)
                rows.append([tape[:read].hex(), index, report, read * 8 // bits])
            yield {"why": why, "bits": bits, "spec": mechanism.to_dict(), "draws": rows}


def placed(mechanism: Mechanism, seed: str) -> Iterator[tuple[str, int, list[list[int]]]]:
    """Kinds of tapes: why, bits of a word, and the first words of each tape."""
    yield "random words", 32, [[]] * 60
    enclosure = sampler(mechanism).enclosure
    for words, most, why in ((1, 16, "first"), (2, 8, "second"), (3, 4, "third")):
        lower, upper = enclosure(32 * words)
        starts = []
        for k in chosen(mechanism, len(lower), most, f"{seed}/{words}"):
            for number in sorted({lower[k] - 1, lower[k], upper[k], upper[k] + 1}):
                if 0 <= number < 2 ** (32 * words):
                    starts.append(split(number, 32, words))
        yield f"{why} word at and beside thresholds", 32, starts
    top = 2**32 - 1
    yield "smallest and largest words", 32, [[0], [0, 0], *([top] * n for n in (1, 2, 3, 4, 5))]
    yield "words of 16 bits", 16, [[], *([0xFFFF] * n for n in (1, 2)), *[[]] * 30]
    # All 256 words where that is cheap, so that every threshold is met.
    every = range(0, 256, 1 if len(lower) < 64 else 5)
    yield "words of 8 bits", 8, [*([n] for n in every), [255, 255], [255, 255, 255]]


def chosen(mechanism: Mechanism, thresholds: int, most: int, seed: str) -> list[int]:
    """Thresholds to look at: the ends, where near and far reports meet, and others."""
    middle = mechanism.to_dict().get("reach", thresholds // 4) * 2
    random = np.frombuffer(public_bytes(f"{seed}/k", 4 * most), "<u4") % thresholds
    first = [0, thresholds - 1, middle, middle + 1]
    found = dict.fromkeys(k for k in (*first, *random.tolist()) if k < thresholds)
    return list(found)[:most]


LATTICES = [
    Lattice(low=0, high=300_000, size=1024),
    Lattice(low=-5.5, high=7.25, size=10),
    Lattice(low=0.1, high=0.7, size=3),
    Lattice(low=-1e150, high=1e150, size=7),
    Lattice(low=0, high=1, size=2**16),
    Lattice(low=1, high=1000, size=3, scale="log"),
    Lattice(low=0.01, high=1e6, size=1024, scale="log"),
    Lattice(low=1e-149, high=1e149, size=64, scale="log"),
    Lattice(low=3, high=3.1, size=4096, scale="log"),
    Lattice(low=0.7, high=1.1, size=100, scale="log"),
]
POINTS = [
    Lattice(low=0, high=2000, size=41, kind="points"),
    Lattice(low=0, high=1, size=101, kind="points"),
    Lattice(low=-0.7, high=0.3, size=64, kind="points"),
    Lattice(low=0.1, high=1e9, size=2, kind="points"),
    Lattice(low=-1e150, high=1e150, size=1000, kind="points"),
]
ZOOMS = [
    Lattice(low=0, high=1_000_000, size=1024, scale="zoom", zoom=(19_531.25, 66_406.25)),
    Lattice(low=0, high=100, size=20, scale="zoom", zoom=(30, 40)),
    Lattice(low=-5.5, high=7.25, size=100, scale="zoom", zoom=(-5.5, -5)),
    Lattice(low=0.1, high=0.7, size=45, scale="zoom", zoom=(0.6, 0.7)),
    Lattice(low=-1e150, high=1e150, size=33, scale="zoom", zoom=(-1, 1e149)),
    Lattice(low=0, high=9, size=25, scale="zoom", zoom=(0.1, 8.8)),
    Lattice(low=0, high=1000, size=40, scale="zoom", zoom=(1, 500)),
    Lattice(low=0, high=1, size=2**16, scale="zoom", zoom=(1 / 3, 2 / 3)),
]
WHOLE = [
    Lattice(low=0, high=60, kind="integer"),
    Lattice(low=-7, high=7, size=4, kind="integer"),
    Lattice(low=1, high=10_000, kind="integer"),
    Lattice(low=-(2**50), high=2**50, size=1000, kind="integer"),
    Lattice(low=0, high=1, kind="integer"),
]


def indices() -> Iterator[dict[str, Any]]:
    """Values and their cells: at edges, one float beside them, anywhere, and beyond the bounds."""
    for at, lattice in enumerate((*LATTICES, *POINTS)):
        if lattice.kind == "number":
            some = sorted({Fraction(lattice.size * k // 80, lattice.size) for k in range(81)})
        else:
            # Points, and the places halfway between two.
            halves = 2 * lattice.size - 2
            some = sorted({Fraction(halves * k // 80, halves) for k in range(81)})
        edges = [place(lattice, share) for share in some]
        random = np.frombuffer(public_bytes(f"{SEED}/values/{at}", 160), "<u4").tolist()
        values = [
            *edges,
            *(math.nextafter(edge, -math.inf) for edge in edges),
            *(math.nextafter(edge, math.inf) for edge in edges),
            *(place(lattice, Fraction(word, 2**32)) for word in random),
            *(0.0, -0.0, -1e308, 1e308, 5e-324, lattice.low, lattice.high),
        ]
        cells = lattice.index(values).tolist()
        yield {"lattice": lattice.to_dict(), "values": values, "indices": cells}
    for at, lattice in enumerate(ZOOMS):
        own = sorted({lattice.size * k // 40 for k in range(41)})
        ends = [first for _, _, first, _ in lattice.pieces]
        edges = [float(lattice.edges[k]) for k in sorted({*own, *ends})]
        random = np.frombuffer(public_bytes(f"{SEED}/zooms/{at}", 160), "<u4").tolist()
        values = [
            *edges,
            *(math.nextafter(edge, -math.inf) for edge in edges),
            *(math.nextafter(edge, math.inf) for edge in edges),
            *(place(lattice, Fraction(word, 2**32)) for word in random),
            *(0.0, -0.0, -1e308, 1e308, 5e-324, *(lattice.zoom or ())),
        ]
        cells = lattice.index(values).tolist()
        yield {"lattice": lattice.to_dict(), "values": values, "indices": cells}
    for at, lattice in enumerate(WHOLE):
        edges = [math.floor(lattice.edges[lattice.size * k // 40]) for k in range(41)]
        random = np.frombuffer(public_bytes(f"{SEED}/whole/{at}", 160), "<u4").tolist()
        count = int(lattice.high - lattice.low) + 1
        values = [
            *(float(edge + more) for edge in edges for more in (-1, 0, 1, 2)),
            *(lattice.low + float(word * count >> 32) for word in random),
            *(0.0, -0.0, -1e308, 1e308, lattice.low, lattice.high),
        ]
        cells = lattice.index(values).tolist()
        others = [0.5, -0.5, 1e-300, lattice.low + 0.5, lattice.high - 0.25]
        line = {"lattice": lattice.to_dict(), "values": values, "indices": cells}
        yield {**line, "refused": others}
    yield from map(of_pair, PAIRS)


def of_pair(pair: PairResponse) -> dict[str, Any]:
    """Pairs of answers and their indices, around every cut, and what is no pair of answers."""
    names, (first, second) = list(pair.sides), map(answers_of, pair.sides.values())
    values = [dict(zip(names, both, strict=True)) for both in itertools.product(first, second)]
    rows = pair.index({name: [each[name] for each in values] for name in names})
    indices = np.ravel_multi_index(tuple(rows.T), pair.law.inputs).tolist()
    right = values[0]
    wrong = [{**right, name: "none of them"} for name in names]
    wrong += [{name: right[name]} for name in names]
    wrong += [{**right, name: None} for name in names if not pair.sides[name].prefer_not_to_say]
    line = {"spec": pair.to_dict(), "values": values, "indices": indices}
    return {**line, "refused": [*wrong, {}, [], list(right.values()), "", 0, None]}


def answers_of(side: Side) -> list[Any]:
    """Answers around every cut, and none where people may decline."""
    axis = side.axis
    declined = [None] if side.prefer_not_to_say else []
    if isinstance(axis, Categories):
        return [*axis.labels, *declined]
    edges = [side.edge(cut) for cut in side.starts[1:]]
    step = 1.0 if axis.kind == "integer" else axis.step / 8
    near = [float(edge + more) for edge in edges for more in (-step, 0, step)]
    return [axis.low, *near, axis.high, axis.high + 1, *declined]


def place(lattice: Lattice, share: Fraction) -> float:
    """The value at a share of the way from low to high, the same float on every machine."""
    low, high = lattice.low, lattice.high
    if lattice.scale != "log":
        return float(Fraction(low) + share * (Fraction(high) - Fraction(low)))
    with localcontext(prec=50):
        part = Decimal(share.numerator) / Decimal(share.denominator)
        return float(Decimal(low) * (part * (Decimal(high) / Decimal(low)).ln()).exp())


def refused() -> Iterator[dict[str, Any]]:
    """Specifications that no device may draw for, above all noise that is weaker than declared."""
    wave, laplace, response = (MECHANISMS[at].to_dict() for at in (0, 7, 14))
    near, far = map(int, wave["weights"])
    p = int(laplace["p"].partition("/")[0])
    cells = wave["lattice"]
    pair = PAIRS[0].to_dict()
    one, other = pair["parts"]
    whole = next(
        spec for each in MECHANISMS if "kind" in (spec := each.to_dict()).get("lattice", {})
    )
    yield from (
        {"why": why, "spec": spec}
        for why, spec in [
            ("near weight one too large", {**wave, "weights": [str(near + 1), str(far)]}),
            ("far weight one too small", {**wave, "weights": [str(near), str(far - 1)]}),
            ("weights of twice the epsilon", {**wave, "weights": ["8124046753", "1099511627"]}),
            ("weights the wrong way round", {**wave, "weights": [str(far), str(near)]}),
            ("weights of another epsilon", {**wave, "epsilon": 0.99}),
            *((f"epsilon {x} by its float or its decimals, the larger", between(wave, x))
              for x in (0.1, 0.3)),
            ("words with a weight too large",
             {**response, "weights": [str(2 * far + far // 50), str(far)]}),
            ("p one too small", {**laplace, "p": f"{p - 1}/{ONE}"}),
            ("p of a lattice with one cell fewer",
             {**laplace, "p": f"{laplace_parameter(1.0, 254)}/{ONE}"}),
            ("p of another epsilon", {**laplace, "epsilon": 0.999}),
            ("p of the float, which is above a tenth",
             {**Laplace(unit(2), epsilon=0.1).to_dict(),
              "p": f"{laplace_parameter(Fraction(0.1), 1)}/{ONE}"}),
            ("p of 1", {**laplace, "p": f"{ONE}/{ONE}"}),
            ("p of 0", {**laplace, "p": f"0/{ONE}"}),
            ("p over another denominator", {**laplace, "p": "1/2"}),
            ("p as a number", {**laplace, "p": 0.999}),
            *((f"weights {x!r}", {**wave, "weights": x})
              for x in ([], ["2"], ["2", "1", "1"], ["-2", "-3"], ["2", "0"], ["2.5", "1"],
                        [2988799921536, far], ["0x2b7e1516", "268435456"], None, "2,1")),
            ("equal weights", {**wave, "weights": [str(far), str(far)]}),
            ("weights that are too long to check", {**wave, "weights": ["1" * 65, "1" * 65]}),
            *((f"epsilon {x!r}", {**wave, "epsilon": x})
              for x in (0, -1, 101, "1", None, True, [1])),
            *((f"reach {x!r}", {**wave, "reach": x}) for x in (-1, 1.5, "262", None, True, 1025)),
            *((f"{key} {x!r}", {**wave, "lattice": {**cells, key: x}})
              for key, x in [("low", None), ("low", "0"), ("low", 300_000), ("low", 1e6),
                             ("low", -2e150), ("high", 1e151), ("high", True), ("size", 1),
                             ("size", MAX_SIZE + 1), ("size", 10.5), ("size", "1024"),
                             ("scale", "logarithmic"), ("scale", None), ("scale", "log"),
                             ("shape", 1)]),
            *((f"{key} {x!r} of whole numbers", {**whole, "lattice": {**whole["lattice"], key: x}})
              for key, x in [("kind", "whole"), ("kind", None), ("kind", 1), ("scale", "log"),
                             ("low", 0.5), ("high", 60.5), ("high", 2.0**51), ("size", 60)]),
            ("whole numbers on a log scale",
             {**whole, "lattice": {**whole["lattice"], "low": 1.0, "size": 60, "scale": "log"}}),
            ("points on a log scale",
             {**whole,
              "lattice": {**whole["lattice"], "low": 1.0, "kind": "points", "scale": "log"}}),
            *((f"zoom {x!r}", {**wave, "lattice": {**cells, "scale": "zoom", "zoom": x}})
              for x in (None, [], [1], [1, 2, 3], "12", [2, 1], [1, 1], [-1, 5], [5, 3e5 + 1],
                        [0, 300_000], ["1", "2"], [True, 2], [None, 2])),
            ("a zoom on a linear scale", {**wave, "lattice": {**cells, "zoom": [1, 2]}}),
            ("a scale without its zoom", {**wave, "lattice": {**cells, "scale": "zoom"}}),
            ("a zoom of 19 cells", {**wave, "reach": 4, "lattice": {
                **cells, "size": 19, "scale": "zoom", "zoom": [1, 2]}}),
            *((f"a zoom of {kind}", {**wave, "lattice": {
                **cells, "kind": kind, "scale": "zoom", "zoom": [1, 2]}})
              for kind in ("points", "integer")),
            *((f"prefer_not_to_say {x!r}", {**each, "prefer_not_to_say": x})
              for each in (wave, response) for x in ("true", 1, None, [])),
            ("prefer_not_to_say with Laplace noise", {**laplace, "prefer_not_to_say": True}),
            ("near weight one too large where people may decline",
             {**wave, "weights": [str(near + 1), str(far)], "prefer_not_to_say": True}),
            ("no lattice", {**wave, "lattice": None}),
            ("lattice without a scale of its own",
             {**wave, "lattice": {"low": 0, "high": 1, "size": 1024, "kind": "linear"}}),
            ("another key", {**wave, "version": 2}),
            ("no epsilon", {key: x for key, x in wave.items() if key != "epsilon"}),
            *((f"mechanism {x!r}", {**wave, "mechanism": x})
              for x in ("laplace", "square wave", "constructor", "__proto__", "", None, 3)),
            *((f"categories {x!r}", {**response, "categories": x})
              for x in ([], ["one"], ["a", "a"], ["a", ""], ["a", 1], ["a", None], "ab", None)),
            ("a pair with a near weight one too large",
             {**pair, "weights": [str(near + 1), str(far)]}),
            ("a pair at another epsilon", {**pair, "epsilon": 0.99}),
            ("a pair with another key", {**pair, "prefer_not_to_say": True}),
            *((f"parts {x!r}", {**pair, "parts": x})
              for x in (None, [], {}, "ab", [one], [one, None], [one, one], [one, other, other])),
            *((f"a pair with the part {x!r}", {**pair, "parts": [one, {**other, **x}]})
              for x in ({"name": one["name"]}, {"name": ""}, {"name": None}, {"name": 3},
                        {"version": 2}, {"categories": ["a", "b"]}, {"prefer_not_to_say": 1},
                        {"lattice": None},
                        *({"cuts": x} for x in (
                            None, [], 5, "5", ["5"], [5.5], [True], [0], [-1], [61], [5, 5],
                            [9, 5], [5, None])))),
            ("a part without cuts",
             {**pair, "parts": [one, {key: x for key, x in other.items() if key != "cuts"}]}),
            ("more than 1,024 cells of a pair",
             {**pair, "parts": [{**one, "cuts": list(range(1, 40))},
                                {**other, "cuts": list(range(1, 27))}]}),
            ("nothing", {}),
            ("a list", []),
            ("null", None),
        ]
    )  # fmt: skip


def between(spec: dict[str, Any], epsilon: float) -> dict[str, Any]:
    """Weights that keep the larger of the float and the decimals of an epsilon, not the smaller."""
    far = 10**30
    near = exp_floor(max(Fraction(epsilon), Fraction(repr(epsilon))), far)
    return {**spec, "epsilon": epsilon, "weights": [str(near), str(far)]}


FILES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "draws.jsonl": draws,
    "indices.jsonl": indices,
    "refused.jsonl": refused,
}


def text(name: str) -> str:
    """The content of a file."""
    lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in FILES[name]()]
    return "\n".join(lines) + "\n"

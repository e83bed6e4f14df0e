"""No float and no generator can be reached between an index and a report, by reading the source.

From every function that draws, all functions that it can reach by name are walked: names are
followed wherever a module of the draw path defines them, so that too much is looked at and never
too little. What makes public tables, before anybody's index is looked at, is listed with a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import confide

ROOT = Path(confide.__file__).parent
MODULES = [
    "randomness.py",
    "discrete.py",
    *(f"mechanisms/{name}.py" for name in (
        "base", "laplace", "square_wave", "gamma", "randomized_response", "joint", "partition",
        "mollification", "finite_mollifier", "samples",
    )),
    *(f"releases/{name}.py" for name in (
        "base", "noise", "gaussian_noise", "query", "histogram", "tables", "series", "bernstein",
        "gaussian_process", "kolmogorov_smirnov", "choice", "ranks", "moments", "_layers",
        "_sequences", "holdout",
    )),
    "sampling/mollifier.py",
    "sampling/mbde.py",
    "sampling/naive.py",
]  # fmt: skip
DRAWING = {"draw", "_draw", "_run", "added"}
PUBLIC = {
    "partition.index": "floats may appear up to the index",
    "naive.shape": "public sizes",
    "noise.scale": "for people",
    "gamma._weights": "the public table of the noise: its integers are the law",
    "mollification._bounds": "public bounds, cut to the band by integers in the last line",
    "gaussian_process.noise": "a public parameter, certified by integers",
    "square_wave.law": "made of public parameters",
    "partition.law": "made of public parameters",
    "histogram.size": "a public number of cells",
    "series.size": "a public number of terms",
    "mollifier.size": "a public number of atoms",
    "series.table": "a public table of coefficients",
    "bernstein.table": "a public table of coefficients",
    "query._ranks": "public parameters",
    "ranks.targets": "public ranks",
    "ranks.reach": "a public distance",
    "mbde.proposals": "a public number",
    "mbde.chances": "clipped to public integer bounds, whatever the floats were",
    "mbde.locate": "points of public numbers",
    "base.words": "for people",
    "kolmogorov_smirnov.shape": "public sizes",
}
"""What is made of public parameters alone, or cannot change a law, and why it may use floats."""
RATIONAL = {"exp_enclosure", "exponents", "parameter", "parts", "rank_weights", "_samplers"}
"""Functions whose divisions are between fractions."""
FLOATING = {
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "power", "pow", "float_power", "sin",
    "cos", "tanh", "true_divide", "divide", "mean", "average", "std", "var", "median", "quantile",
    "percentile", "round", "rint", "floor_divide", "linspace", "logspace", "interp", "float16",
    "float32", "float64", "longdouble", "double", "half", "single", "inf", "nan", "pi", "e",
    "nextafter", "isclose", "allclose", "hypot", "gamma", "lgamma", "ndtr", "frexp", "ldexp",
    "random", "default_rng", "Generator", "PCG64", "SeedSequence", "RandomState", "normal",
    "laplace", "uniform", "fft", "linalg",
}  # fmt: skip
WHOLE = {"isqrt", "gcd", "lcm", "prod", "comb", "perm", "factorial", "ceil", "floor"}
"""Of the module math; the last two are taken of fractions here."""
MATHS = {"math", "cmath", "np", "numpy", "scipy", "special"}
GENERATORS = {
    "random",
    "secrets",
    "default_rng",
    "RandomState",
    "SeedSequence",
    "PCG64",
    "integers",
}


def functions(source: str) -> dict[str, list[ast.FunctionDef]]:
    """All functions and methods of a module by name, those of seeded entropy apart."""
    found: dict[str, list[ast.FunctionDef]] = {}
    tree = ast.parse(source)
    seeded = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == "SeededEntropy"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and id(node) not in seeded:
            found.setdefault(node.name, []).append(node)
    return found


def body(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """What a function runs: neither its annotations nor its docstring, nor what it raises."""
    stack: list[ast.AST] = [*node.body, *node.args.defaults]
    while stack:
        part = stack.pop()
        if isinstance(part, (ast.Raise, ast.arguments)):
            continue
        yield part
        if isinstance(part, ast.AnnAssign):
            stack += [child for child in (part.target, part.value) if child is not None]
        elif isinstance(part, ast.FunctionDef):
            stack += part.body
        else:
            stack += ast.iter_child_nodes(part)


def mentioned(node: ast.FunctionDef) -> Iterator[tuple[str, bool]]:
    """Names that a function may call or read, and whether they are its own object's."""
    parts = list(body(node))
    local = {arg.arg for arg in [*node.args.args, *node.args.kwonlyargs]}
    local |= {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    for part in parts:
        if isinstance(part, ast.Name) and part.id not in local:
            yield part.id, True
        if isinstance(part, ast.Attribute):
            own = isinstance(part.value, ast.Name) and part.value.id in ("self", "cls")
            yield part.attr, own


def faults(node: ast.FunctionDef) -> list[str]:
    """Floats and generators in one function."""
    found = []
    for part in body(node):
        where = f"{node.name}, line {getattr(part, 'lineno', '?')}"
        if isinstance(part, ast.Constant) and isinstance(part.value, (float, complex)):
            found.append(f"{where}: a float")
        divides = isinstance(part, (ast.BinOp, ast.AugAssign)) and isinstance(part.op, ast.Div)
        if divides and node.name not in RATIONAL:
            found.append(f"{where}: a true division")
        if isinstance(part, ast.Name) and part.id in {"float", "complex", "round"} | GENERATORS:
            found.append(f"{where}: {part.id}")
        if isinstance(part, ast.Attribute):
            of = part.value.id if isinstance(part.value, ast.Name) else ""
            if of == "math" and part.attr not in WHOLE:
                found.append(f"{where}: math.{part.attr}")
            elif of in MATHS - {"math"} and part.attr in FLOATING:
                found.append(f"{where}: {of}.{part.attr}")
            elif part.attr in GENERATORS | {"mean", "std", "var"}:
                found.append(f"{where}: {part.attr}")
        if isinstance(part, ast.Constant) and part.value in ("f2", "f4", "f8", "float", "float64"):
            found.append(f"{where}: {part.value!r}")
    return found


def reached(
    sources: dict[str, str], public: Collection[str] = PUBLIC
) -> dict[tuple[str, str], list[ast.FunctionDef]]:
    """All functions that a draw can come to, by module and name."""
    modules = {name: functions(source) for name, source in sources.items()}
    found: dict[tuple[str, str], list[ast.FunctionDef]] = {}
    ahead = {(module, name) for module, known in modules.items() for name in DRAWING & set(known)}
    while ahead:
        module, name = ahead.pop()
        if (module, name) in found or f"{Path(module).stem}.{name}" in public:
            continue
        found[module, name] = nodes = modules[module][name]
        for other, own in {each for node in nodes for each in mentioned(node)}:
            # What the module itself has is meant, where it is the object's own or a plain name.
            here = [module] if own and other in modules[module] else list(modules)
            ahead |= {(place, other) for place in here if other in modules[place]}
    return found


def violations(sources: dict[str, str], public: Collection[str] = PUBLIC) -> list[str]:
    return [
        f"{module}: {fault}"
        for (module, _), nodes in reached(sources, public).items()
        for node in nodes
        for fault in faults(node)
    ]


SOURCES = {name: (ROOT / name).read_text() for name in MODULES}


def test_no_float_and_no_generator_between_index_and_report() -> None:
    assert violations(SOURCES) == []


def test_the_walk_comes_everywhere() -> None:
    found = {f"{Path(module).stem}.{name}" for module, name in reached(SOURCES)}
    assert found >= {
        "randomness.draw", "randomness._search", "randomness._refine", "randomness._guide",
        "randomness._count", "randomness.words", "randomness.weighted", "randomness.exp_enclosure",
        "discrete.laplace_sampler", "discrete.gamma_sampler", "base._run", "laplace.draw",
        "square_wave.draw", "gamma.draw", "randomized_response.draw", "joint.draw",
        "partition._noisy", "partition._spread", "mollification.draw", "finite_mollifier._draw",
        "noise._geometric", "noise._digit", "noise._power", "gaussian_noise._propose",
        "gaussian_noise._survive", "histogram._draw", "query._draw", "tables._draw",
        "gaussian_process._draw", "choice.exponential", "ranks.draw", "ranks.distances",
        "moments.integer_variance", "moments.integer_fourth", "_layers.keeping", "_sequences.draw",
        "base.added", "holdout._draw", "mollifier._draw", "mbde._draw", "naive._draw",
    }  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_every_exception_is_needed(name: str) -> None:
    assert violations(SOURCES, set(PUBLIC) - {name})


@pytest.mark.parametrize("name", sorted(RATIONAL))
def test_every_division_of_fractions_is_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.RATIONAL", RATIONAL - {name})
    assert violations(SOURCES)


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
            "mechanisms/randomized_response.py",
            "self.sampler.draw(entropy, indices.size)",
            "helper(indices)",
        ),
        ("mechanisms/mollification.py", "np.cumsum(weights)", "np.cumsum(np.exp(weights))"),
        ("mechanisms/mollification.py", "np.cumsum(weights)", "np.cumsum(weights.astype(float))"),
        ("mechanisms/partition.py", "    noise += truth\n", "    noise += truth.mean()\n"),
        ("mechanisms/partition.py", "    noise += truth\n", "    noise = noise.astype('f8')\n"),
        ("randomness.py", "middle = (low + high) // 2", "middle = int((low + high) / 2)"),
        ("randomness.py", "os.urandom(n * bits // 8)", "random.randbytes(n * bits // 8)"),
        ("discrete.py", "        work = bits + 64\n", "        work = bits + math.log2(64)\n"),
        ("releases/base.py", "int(total) + int(part)", "float(total) + int(part)"),
        ("releases/noise.py", "digit.draw(entropy, n) << j", "digit.draw(entropy, n) * 2.0**j"),
        (
            "releases/gaussian_noise.py",
            "np.abs(size - centre)",
            "np.sqrt((size - centre) ** 2)",
        ),
        ("releases/_sequences.py", "reached -= counts[-1]", "reached -= counts[-1] / 1"),
    ],
)
def test_violations_are_caught(module: str, line: str, broken: str) -> None:
    source = SOURCES[module]
    assert line in source
    helper = "\n\ndef helper(x):\n    return deeper(x)\n\n\ndef deeper(x):\n    return x * 0.5\n"
    assert violations({**SOURCES, module: source.replace(line, broken) + helper})


def test_a_seeded_source_is_the_only_generator() -> None:
    source = SOURCES["randomness.py"].replace("class SeededEntropy", "class Another")
    assert violations({**SOURCES, "randomness.py": source})

"""What code may use between an index and a report, decided by reading its source.

Nothing is allowed that is not listed: a name must be defined in the modules of the draw path, and
is then read as well, or stand in one of the lists below.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

MODULES = {
    "numpy": {
        "abs", "arange", "argsort", "array", "array_split", "ascontiguousarray", "bincount",
        "clip", "concatenate", "cumsum", "diag", "empty", "flatnonzero", "frombuffer", "full",
        "int8", "int32", "int64", "little_endian", "maximum", "minimum", "moveaxis", "ndarray",
        "ones", "ones_like", "prod", "ptp", "ravel", "ravel_multi_index", "searchsorted", "stack",
        "tensordot", "uint8", "uint16", "uint32", "uint64", "unique", "where", "zeros",
    },
    # The last one is taken of fractions.
    "math": {"isqrt", "prod", "comb", "ceil"},
    "os": {"urandom"},
    "confide._checks": {"array", "vector", "integer", "positive", "within", "shown"},
}  # fmt: skip
"""Modules that may be used, and what of them."""
IMPORTED = {
    "dataclasses.dataclass", "dataclasses.field", "fractions.Fraction", "functools.cache",
    "functools.cached_property", "functools.lru_cache", "functools.singledispatch",
    "itertools.accumulate", "itertools.combinations", "abc.abstractmethod", "typing.Any",
    "typing.NamedTuple",
    "confide.accounting.spend.exact", "confide.errors.InvalidInput", "confide.errors.unquoted",
    "confide.lattice.CHUNK", "confide.lattice.Lattice", "confide.lattice.MAX_SIZE",
}  # fmt: skip
BUILTINS = {
    "Exception", "abs", "all", "any", "bool", "bytes", "dict", "divmod", "enumerate", "int",
    "isinstance", "iter", "len", "list", "map", "max", "min", "next", "object", "property", "range",
    "reversed", "set", "slice", "sorted", "str", "sum", "super", "tuple", "zip",
}  # fmt: skip
ATTRIBUTES = {
    "T", "all", "any", "append", "astype", "bit_length", "columns", "denominator", "dtype", "flags",
    "fromkeys", "get", "items", "join", "kind", "max", "min", "ndim", "nonzero", "numerator", "pop",
    "ravel", "reshape", "searchsorted", "setdefault", "shape", "size", "sum", "tobytes", "tolist",
    "values", "view", "writeable",
    "__setattr__",
    "_entropy", "count_parameter", "far", "inputs", "near", "value_parameter",
}  # fmt: skip
"""Of arrays, fractions and Python's own containers; then of public laws."""
TYPES = {"bool", "int", "np.int8", "np.int32", "np.int64", "np.uint16", "np.uint32", "np.uint64",
         "KINDS[bits]", "KINDS[self.bits]"}  # fmt: skip
KEPT = {"np", *(each.removeprefix("np.") for each in TYPES)}
"""Names that may not be given another meaning."""
PLACES = {
    "astype": 0, "view": 0, "array": 1, "ascontiguousarray": 1, "empty": 1, "frombuffer": 1,
    "ones": 1, "ones_like": 1, "sum": 1, "zeros": 1, "cumsum": 2, "full": 2, "prod": 2,
    "arange": 3,
}  # fmt: skip
"""Functions that can be told a type, and at which place."""
BARRED = {"casting", "sig", "signature", "weights"}
"""Arguments of arrays' functions that make floats, or hide a type."""
TYPED = {"zeros", "ones", "empty"}
"""They make floats unless they are told a type."""
PARAMETERS = {"float", "float | None"}
"""Fields declared so are public parameters, which must become fractions before they are used."""
BOUNDS = {"low", "high"}
"""Of a lattice: floats too."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.Assign | ast.AnnAssign
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Module:
    """What a module defines, by name, and what it imports."""

    def __init__(self, source: str) -> None:
        self.defined: dict[str, list[Definition]] = {}
        self.imported: dict[str, str] = {}
        self.fields: set[str] = set()
        self.parameters: set[str] = set()
        tree = ast.parse(source)
        self._look(tree.body, ())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    self.imported[each.asname or each.name.partition(".")[0]] = each.name
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    self.imported[each.asname or each.name] = f"{node.module}.{each.name}"

    def _look(self, nodes: list[ast.stmt], owners: tuple[str, ...]) -> None:
        """A class stands for what is called without a name; seeded entropy is left out."""
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                if node.name != "SeededEntropy":
                    self.defined.setdefault(node.name, [])
                    self._look(node.body, (*owners, node.name))
            elif isinstance(node, FUNCTIONS):
                unnamed = node.name.startswith("__") and node.name != "__repr__"
                for name in (node.name, *(owners if unnamed else ())):
                    self.defined.setdefault(name, []).append(node)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.fields.add(node.target.id)
                if ast.unparse(node.annotation) in PARAMETERS:
                    self.parameters.add(node.target.id)
                elif node.value is not None:
                    self.defined.setdefault(node.target.id, []).append(node)
            elif isinstance(node, ast.Assign):
                for part in (part for target in node.targets for part in ast.walk(target)):
                    if isinstance(part, ast.Name):
                        self.defined.setdefault(part.id, []).append(node)


@cache
def looked_at(source: str) -> Module:
    """The same for the many times that one module is read."""
    return Module(source)


def body(node: ast.AST) -> Iterator[ast.AST]:
    """What runs: neither annotations nor what is raised, but names, defaults and decorators."""
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, (ast.Raise, ast.arg)):
            continue
        if isinstance(part, FUNCTIONS):
            stack += [*part.body, *part.decorator_list, part.args]
        elif isinstance(part, ast.arguments):
            stack += [*part.defaults, *(each for each in part.kw_defaults if each is not None)]
            stack += [each for each in ast.iter_child_nodes(part) if isinstance(each, ast.arg)]
        elif isinstance(part, ast.AnnAssign):
            stack += [each for each in (part.target, part.value) if each is not None]
        else:
            stack += ast.iter_child_nodes(part)


def local(node: ast.AST) -> set[str]:
    """Names that a function makes itself."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            found.add(part.arg)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, FUNCTIONS) and part is not node:
            found.add(part.name)
    return found if isinstance(node, FUNCTIONS) else set()


def own(part: ast.AST) -> str:
    """The name of an attribute of the object itself."""
    if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
        return part.attr if part.value.id in ("self", "cls") else ""
    return ""


def made_exact(part: ast.AST) -> list[ast.expr]:
    """What a call turns into a fraction."""
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
        return part.args if part.func.id in ("exact", "Fraction") else []
    return []


def constant(node: Definition) -> str:
    """The name of what is assigned."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def in_place(part: ast.AST) -> list[ast.AST]:
    """The object where its attribute is read or set, and functions of arrays where called."""
    if isinstance(part, ast.Attribute):
        return [part.value]
    if not isinstance(part, ast.Call):
        return []
    return [part.func, *(part.args[:1] if ast.unparse(part.func) == "object.__setattr__" else [])]


def needs_place(part: ast.AST) -> bool:
    """By another name the object, or a function that takes a type, would not be known again."""
    if isinstance(part, ast.Attribute):
        return part.attr in PLACES
    return isinstance(part, ast.Name) and part.id in ("self", "cls")


def meant(part: ast.AST) -> str:
    """The name that is given a meaning here."""
    if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
        return part.id
    if isinstance(part, ast.arg):
        return part.arg
    return part.name if isinstance(part, (*FUNCTIONS, ast.ClassDef)) else ""


class Guard:
    """All that a draw can come to, and what it may not come to.

    Parameters
    ----------
    sources
        Modules of the draw path, by their paths under the package.
    drawing
        Names of the functions that draw, of all modules or written as module.name.
    public
        Names that need not be looked at, written as module.name.
    rational
        Functions whose divisions are between fractions.
    powers
        Exponents that are no literals and never negative, written as module.name: exponent.
    """

    def __init__(
        self,
        sources: dict[str, str],
        drawing: Collection[str],
        public: Collection[str],
        rational: Collection[str],
        powers: Collection[str],
    ) -> None:
        self.modules = {name: looked_at(source) for name, source in sources.items()}
        self.public, self.rational, self.powers = public, rational, powers
        self.parameters = BOUNDS.union(*(each.parameters for each in self.modules.values()))
        self.names = {
            f"confide.{name.removesuffix('.py').replace('/', '.')}": name for name in sources
        }
        self.fields = {each for module in self.modules.values() for each in module.fields}
        self.violations: list[str] = []
        self.reached: set[tuple[str, str]] = set()
        ahead = {
            (module, name)
            for module, known in self.modules.items()
            for name in known.defined
            if name in drawing or f"{Path(module).stem}.{name}" in drawing
        }
        while ahead:
            module, name = ahead.pop()
            if (module, name) in self.reached or f"{Path(module).stem}.{name}" in public:
                continue
            self.reached.add((module, name))
            for node in self.modules[module].defined[name]:
                ahead |= self._read(module, node)

    def _read(self, module: str, node: Definition) -> set[tuple[str, str]]:
        """Note what a definition may not use, and return what it leads to."""
        name = getattr(node, "name", "")
        if name and f"{Path(module).stem}.{name}" in self.public:
            return set()
        mine, ahead, parts = local(node), set(), list(body(node))
        exact = {id(each) for part in parts for each in made_exact(part)}
        plain = {id(each) for part in parts for each in in_place(part)}
        for part in parts:
            if id(part) not in exact and self._parameter(module, part):
                self.violations.append(f"{module}: {name}: the parameter {ast.unparse(part)}")
            if id(part) not in plain and needs_place(part):
                self.violations.append(f"{module}: {name}: {ast.unparse(part)} by another name")
            for fault in self._faults(module, name or constant(node), part):
                where = f"{module}: {name or 'a constant'}, line {getattr(part, 'lineno', '?')}"
                self.violations.append(f"{where}: {fault}")
            if isinstance(part, ast.Name) and part.id not in mine:
                ahead |= self._named(module, part)
            elif isinstance(part, ast.Attribute):
                ahead |= self._attribute(module, part, mine)
        return ahead

    def _parameter(self, module: str, part: ast.AST) -> bool:
        """Whether it reads a float parameter, of the object itself or of any other."""
        if not isinstance(part, ast.Attribute):
            return False
        if own(part):
            return part.attr in self.modules[module].parameters
        # Elsewhere the same name may be a function, which is read itself, or belong to arrays.
        read = any(
            part.attr in known.defined and f"{Path(each).stem}.{part.attr}" not in self.public
            for each, known in self.modules.items()
        )
        return part.attr in self.parameters - ATTRIBUTES and not read

    def _faults(self, module: str, name: str, part: ast.AST) -> Iterator[str]:
        if isinstance(part, ast.Constant) and isinstance(part.value, (float, complex)):
            yield "a float"
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            yield "an import"
        if isinstance(part, (ast.BinOp, ast.AugAssign)):
            if isinstance(part.op, ast.Div) and name not in self.rational:
                yield "a true division"
            power = part.right if isinstance(part, ast.BinOp) else part.value
            where = f"{Path(module).stem}.{name}: {ast.unparse(power)}"
            whole = isinstance(power, ast.Constant) or where in self.powers
            if isinstance(part.op, ast.Pow) and not whole:
                yield f"the power {ast.unparse(power)}, which may be negative"
        if meant(part) in KEPT:
            yield f"another meaning of {meant(part)}"
        if isinstance(part, ast.Call):
            yield from self._call(part)

    def _call(self, part: ast.Call) -> Iterator[str]:
        """Types are given as those of whole numbers, and where floats are usual they are given."""
        called = part.func.attr if isinstance(part.func, ast.Attribute) else ""
        types = [each.value for each in part.keywords if each.arg == "dtype"]
        if called in PLACES:
            types += part.args[PLACES[called] : PLACES[called] + 1]
            hidden = any(isinstance(each, ast.Starred) for each in part.args)
            if hidden or any(each.arg is None for each in part.keywords):
                yield f"{called} with arguments that cannot be read"
            if called in TYPED and not types:
                yield f"{called} without a type"
        for each in part.keywords:
            if each.arg in BARRED:
                yield f"the argument {each.arg}"
        if called == "ndarray" or (called == "bincount" and len(part.args) > 1):
            yield f"{called}, which makes floats"
        for each in types:
            text = ast.unparse(each)
            whole = isinstance(each, ast.JoinedStr) and text[1:].startswith(("'<u", '"<u'))
            if text not in TYPES and not whole:
                yield f"the type {text}"

    def _named(self, module: str, part: ast.Name) -> set[tuple[str, str]]:
        known = self.modules[module]
        if part.id in known.defined:
            return {(module, part.id)}
        full = known.imported.get(part.id, "")
        place, _, name = full.rpartition(".")
        if place in self.names and name in self.modules[self.names[place]].defined:
            return {(self.names[place], name)}
        if not (full in MODULES or full in IMPORTED or (not full and part.id in BUILTINS)):
            self.violations.append(f"{module}: line {part.lineno}: the name {full or part.id}")
        return set()

    def _attribute(self, module: str, part: ast.Attribute, mine: set[str]) -> set[tuple[str, str]]:
        base = part.value.id if isinstance(part.value, ast.Name) else ""
        of = "" if base in mine else self.modules[module].imported.get(base, "")
        if of in MODULES:
            if part.attr not in MODULES[of]:
                self.violations.append(f"{module}: line {part.lineno}: {of}.{part.attr}")
            return set()
        # What the module itself has is meant, where it is the object's own.
        here = own(part) in self.modules[module].defined
        places = [module] if here else list(self.modules)
        found = {(each, part.attr) for each in places if part.attr in self.modules[each].defined}
        if not found and part.attr not in ATTRIBUTES | self.fields:
            self.violations.append(f"{module}: line {part.lineno}: the attribute {part.attr}")
        return found

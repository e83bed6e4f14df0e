"""Where a module can be changed by one small mistake, and the source with that mistake in it.

Left out, because no test could or should tell: docstrings, annotations, type aliases, imports,
decorators, `__all__`, `__repr__`, code for type checkers, the wording of errors (that an error is
raised at all is not left out), and `strict=True` of a zip, which guards lengths that are equal by
construction. What tells a user about privacy, such as the words of a spend or of a release, is in.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
}
TWINS = {
    name: other
    for pair in (
        ("min", "max"), ("minimum", "maximum"), ("floor", "ceil"), ("any", "all"),
        ("exp_ceiling", "exp_floor"), ("argmin", "argmax"), ("zeros", "ones"),
    )
    for name, other in (pair, pair[::-1])
}  # fmt: skip
SYMMETRIC = {"min", "max", "minimum", "maximum", "hypot", "gcd"}
"""Functions whose arguments have no order."""
WORDS = {"left": "right", "right": "left", "linear": "log", "log": "linear"}
SHORT = 80
"""Letters of a change that are shown."""
ALIAS = re.compile(r"_?[A-Z][a-z]\w*$")
ERRORS = re.compile(r"\b(InvalidInput|Mismatch|Unsupported|BudgetExhausted|\w*Error)$")


@dataclass(frozen=True)
class Site:
    """One change of one module.

    Parameters
    ----------
    module
        Path under the package.
    line, last
        First and last line that it is on.
    start, end
        Where the text that is replaced begins and ends, in bytes.
    kind
        What kind of mistake it is.
    before, after
        The text that is replaced, and what replaces it.
    inside
        Name of the function or class around it; empty for the module itself.
    imported
        Whether it runs when the module is imported: outside of functions, or as a default.
    key
        A name that does not depend on line numbers.
    """

    module: str
    line: int
    last: int
    start: int
    end: int
    kind: str
    before: str
    after: str
    inside: str
    imported: bool = False
    key: str = ""

    @property
    def text(self) -> str:
        """The change on one line, without what stays as it is in a long text."""
        before, after = (" ".join(part.split()) for part in (self.before, self.after))
        if len(before) > SHORT:
            shared = [a == b for a, b in zip(before, after, strict=False)]
            start = max(0, ([*shared, False]).index(False) - SHORT // 4)
            before, after = (part[start : start + SHORT] for part in (before, after))
        return f"{before} -> {after}"

    def applied(self, source: bytes) -> bytes:
        """The module with the mistake in it."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def sites(root: Path, module: str) -> list[Site]:
    """All changes of a module."""
    source = (root / module).read_bytes()
    lines = source.splitlines()
    found, seen = [], dict[str, int]()
    for site in Walk(module, source).sites():
        line = lines[site.line - 1].decode().strip()
        name = f"{module}|{site.inside}|{line}|{site.kind}|{site.text}"
        seen[name] = seen.get(name, 0) + 1
        key = hashlib.sha256(f"{name}|{seen[name]}".encode()).hexdigest()[:12]
        found.append(Site(**{**site.__dict__, "key": key}))
    return found


class _Swapped(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


class Walk:
    """Looks at every node that is not left out."""

    def __init__(self, module: str, source: bytes) -> None:
        self.module, self.source, self.tree = module, source, ast.parse(source)
        self.depth = 0
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def sites(self) -> Iterator[Site]:
        for node in self.tree.body:
            yield from self._statement(node, "")

    def _site(self, node: ast.expr | ast.stmt, kind: str, after: str, inside: str) -> Site:
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = self.source[start:end].decode()
        last = node.end_lineno or node.lineno
        return Site(
            self.module, node.lineno, last, start, end, kind, before, after, inside, not self.depth
        )

    def _statement(self, node: ast.stmt, inside: str) -> Iterator[Site]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from self._definition(node, inside)
        elif not self._left_out(node, inside):
            yield from self._removed(node, inside)
            if not isinstance(node, ast.Raise):
                yield from self._replaced(node, inside)
                yield from self._parts(node, inside)

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, inside: str
    ) -> Iterator[Site]:
        if node.name == "__repr__":
            return
        name = f"{inside}.{node.name}".lstrip(".")
        function = not isinstance(node, ast.ClassDef)
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield from self._expression(default, name)
        self.depth += function
        for part in node.body:
            yield from self._statement(part, name)
        self.depth -= function

    def _left_out(self, node: ast.stmt, inside: str) -> bool:
        """Imports, docstrings, lists of names, type aliases, declarations, checkers' code."""
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant)
        if isinstance(node, ast.If):
            return ast.unparse(node.test) == "TYPE_CHECKING"
        if isinstance(node, ast.AnnAssign):
            return node.value is None
        if isinstance(node, ast.Assign):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            return names == ["__all__"] or (not inside and any(map(ALIAS.match, names)))
        return isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass)

    def _replaced(self, node: ast.stmt, inside: str) -> Iterator[Site]:
        """Statements that become others."""
        if isinstance(node, ast.Return) and getattr(node.value, "value", 0) is not None:
            yield self._site(node, "return nothing", "return None", inside)
        elif isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED:
            other = ast.AugAssign(node.target, COMPUTED[type(node.op)](), node.value)
            yield self._site(node, "arithmetic", ast.unparse(other), inside)
        elif isinstance(node, ast.Break | ast.Continue):
            other_way = "continue" if isinstance(node, ast.Break) else "break"
            yield self._site(node, "loop", other_way, inside)

    def _parts(self, node: ast.AST, inside: str) -> Iterator[Site]:
        """Statements and expressions inside of a statement."""
        for field, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.stmt):
                    yield from self._statement(part, inside)
                elif isinstance(part, ast.ExceptHandler | ast.match_case | ast.withitem):
                    yield from self._parts(part, inside)
                elif isinstance(part, ast.expr) and field not in ("annotation", "type"):
                    negated = field == "test" and isinstance(node, ast.If | ast.While)
                    yield from self._expression(part, inside, negated=negated)

    def _removed(self, node: ast.stmt, inside: str) -> Iterator[Site]:
        """Statements that are there for what they do."""
        kinds = {ast.Raise: "raise removed", ast.AugAssign: "statement removed"}
        kind = kinds.get(type(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            kind = "statement removed"
        if isinstance(node, ast.Assign) and not all(
            isinstance(each, ast.Name | ast.Tuple) for each in node.targets
        ):
            kind = "statement removed"
        if kind:
            yield self._site(node, kind, "pass", inside)

    def _expression(self, node: ast.expr, inside: str, *, negated: bool = False) -> Iterator[Site]:
        if isinstance(node, ast.Call) and ERRORS.search(ast.unparse(node.func)):
            return
        if negated and not isinstance(node, ast.Constant | ast.Compare | ast.UnaryOp):
            yield self._site(node, "condition", f"(not ({ast.unparse(node)}))", inside)
        for kind, after in self._changes(node):
            text = ast.unparse(after)
            wrapped = text if isinstance(after, ast.Constant | ast.Call | ast.Name) else f"({text})"
            yield self._site(node, kind, wrapped, inside)
        if isinstance(node, ast.IfExp):
            yield from self._expression(node.test, inside, negated=True)
            yield from self._expression(node.body, inside)
            yield from self._expression(node.orelse, inside)
            return
        if isinstance(node, ast.Lambda):
            yield from self._expression(node.body, inside)
            return
        if isinstance(node, ast.JoinedStr):
            for kind, text in self._worded(node):
                yield self._site(node, kind, text, inside)
            return
        for _, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else [value]:
                yield from self._part(part, inside)

    def _worded(self, node: ast.JoinedStr) -> Iterator[tuple[str, str]]:
        """Changes of a formatted string, whose parts have no place of their own: written anew."""
        marked = ast.JoinedStr([ast.Constant("XX"), *node.values])
        yield "constant", ast.unparse(marked)
        parts = [part for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
        for part in parts:
            for holder in ast.walk(part.value):
                for kind, other in self._changes(holder) if isinstance(holder, ast.expr) else ():
                    made = _Swapped(holder, other).visit(copy.deepcopy(node, {id(holder): holder}))
                    with contextlib.suppress(ValueError):
                        yield kind, ast.unparse(made)

    def _part(self, part: object, inside: str) -> Iterator[Site]:
        if isinstance(part, ast.keyword):
            if part.arg != "strict":
                yield from self._expression(part.value, inside)
        elif isinstance(part, ast.comprehension):
            yield from self._expression(part.iter, inside)
            for each in part.ifs:
                yield from self._expression(each, inside, negated=True)
        elif isinstance(part, ast.expr):
            yield from self._expression(part, inside)

    def _changes(self, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        if isinstance(node, ast.Compare):
            for at, op in enumerate(node.ops):
                for number, other in enumerate(COMPARED[type(op)]):
                    ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                    boundary = number == 0 and len(COMPARED[type(op)]) == 2
                    made = ast.Compare(node.left, ops, node.comparators)
                    yield "boundary" if boundary else "comparison", made
        elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
            if not isinstance(node.left, ast.Constant | ast.JoinedStr) or not isinstance(
                getattr(node.left, "value", 0), str | list
            ):
                yield "arithmetic", ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "logic", ast.BoolOp(other, node.values)
        elif isinstance(node, ast.UnaryOp):
            yield "sign or negation removed", node.operand
        elif isinstance(node, ast.Constant):
            yield from self._constants(node.value)
        elif isinstance(node, ast.Call):
            yield from self._calls(node)

    def _constants(self, value: object) -> Iterator[tuple[str, ast.expr]]:
        if isinstance(value, bool):
            yield "constant", ast.Constant(not value)
        elif isinstance(value, int | float):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        elif isinstance(value, str):
            yield "constant", ast.Constant(WORDS.get(value, f"XX{value}"))

    def _calls(self, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in TWINS:
            func: ast.expr = ast.Name(TWINS[name])
            if isinstance(node.func, ast.Attribute):
                func = ast.Attribute(node.func.value, TWINS[name])
            yield "function", ast.Call(func, node.args, node.keywords)
        if (
            name not in SYMMETRIC
            and len(node.args) > 1
            and not any(isinstance(x, ast.Starred) for x in node.args[:2])
        ):
            first, second, *rest = node.args
            if ast.dump(first) != ast.dump(second):
                swapped = [second, first, *rest]
                yield "arguments swapped", ast.Call(node.func, swapped, node.keywords)

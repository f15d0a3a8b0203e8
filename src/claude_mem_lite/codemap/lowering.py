"""Expressions of a syntax tree as nested tuples that are cheap to keep and to evaluate.

A tuple's first item is its kind: n name, a attribute, c call, s subscript, k constant, x builtin type,
L list, T tuple, D dict, G comprehension, f lambda, | either, if choice, o operator, v others, w await,
y yield, Y yield from, := walrus, * starred.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

Expr = Any  # None (nothing to know) or a nested tuple as described above
Op = tuple[Any, ...]

_CONSTANT_CHARS = 60
OPERATORS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "MatMult": "matmul", "Div": "truediv", "Mod": "mod",
    "Pow": "pow", "LShift": "lshift", "RShift": "rshift", "BitOr": "or", "BitXor": "xor",
    "BitAnd": "and", "FloorDiv": "floordiv", "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le",
    "Gt": "gt", "GtE": "ge", "In": "contains", "NotIn": "contains", "USub": "neg", "UAdd": "pos",
    "Invert": "invert", "Not": "bool",
}  # fmt: skip


class ExpressionLowering:
    """Lowers expressions, each by the method `on_` and its name; `bound` gathers the names that they bind."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.is_generator = False

    if TYPE_CHECKING:

        def inner(self, name: str, kind: str, body: Any, node: Any) -> int:
            """Lower a scope inside this one and return its index; the lowering of scopes provides it."""

    def target(self, node: ast.expr) -> Expr:
        kind = node.__class__
        if kind is ast.Name:
            self.bound.add(node.id)  # type: ignore[attr-defined]
            return ("n", node.id)  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute):
            return ("a", self.expr(node.value), node.attr, node.lineno)
        if isinstance(node, ast.Subscript):
            return ("s", self.expr(node.value), self.expr(node.slice), node.lineno)
        if isinstance(node, ast.Tuple | ast.List):
            return ("T", tuple([self.target(each) for each in node.elts]))
        if isinstance(node, ast.Starred):
            return ("*", self.target(node.value))
        return None

    def expr(self, node: ast.expr | None) -> Expr:
        return ON[node.__class__](self, node)

    def some(self, nodes: Iterable[ast.expr | None]) -> Expr:
        """Evaluate for what is called in it alone; None where nothing is."""
        found = tuple([each for each in map(self.expr, nodes) if each is not None and each[0] not in "kx"])
        return ("v", found) if found else None

    def on_Name(self, node: ast.Name) -> Expr:
        return ("n", node.id)

    def on_Attribute(self, node: ast.Attribute) -> Expr:
        return ("a", ON[node.value.__class__](self, node.value), node.attr, node.lineno)

    def on_Constant(self, node: ast.Constant) -> Expr:
        value: Any = node.value
        kind = value.__class__
        if kind is str and len(value) <= _CONSTANT_CHARS:
            return ("k", value)
        if kind is int and -_CONSTANT_CHARS < value < _CONSTANT_CHARS:
            return ("k", value)
        return None if value is None or value is ... else ("x", kind.__name__)

    def on_JoinedStr(self, node: ast.JoinedStr) -> Expr:
        first = node.values[0] if node.values else None
        start = first.value if isinstance(first, ast.Constant) else ""
        return ("o", "str", self.some(node.values), ("k", start) if start else None, node.lineno)

    def on_FormattedValue(self, node: ast.FormattedValue) -> Expr:
        return (
            "o",
            "format",
            ON[node.value.__class__](self, node.value),
            self.expr(node.format_spec),
            node.lineno,
        )

    def on_Call(self, node: ast.Call) -> Expr:
        func = node.func
        return (
            "c",
            ON[func.__class__](self, func),
            tuple([ON[each.__class__](self, each) for each in node.args]),
            tuple([(word.arg, ON[word.value.__class__](self, word.value)) for word in node.keywords]),
            func.end_lineno or node.lineno,
        )

    def on_Starred(self, node: ast.Starred) -> Expr:
        return ("*", ON[node.value.__class__](self, node.value))

    def on_Subscript(self, node: ast.Subscript) -> Expr:
        return ("s", ON[node.value.__class__](self, node.value), self.expr(node.slice), node.lineno)

    def on_Slice(self, node: ast.Slice) -> Expr:
        return self.some([node.lower, node.upper, node.step]) or ("v", ())

    def on_List(self, node: ast.List | ast.Set) -> Expr:
        return ("L", tuple([ON[each.__class__](self, each) for each in node.elts]))

    on_Set = on_List

    def on_Tuple(self, node: ast.Tuple) -> Expr:
        return ("T", tuple([ON[each.__class__](self, each) for each in node.elts]))

    def on_Dict(self, node: ast.Dict) -> Expr:
        return (
            "D",
            tuple([("**",) if each is None else self.expr(each) for each in node.keys]),
            tuple([ON[each.__class__](self, each) for each in node.values]),
        )

    def comprehension(self, node: Any, elements: Sequence[ast.expr], kind: str) -> Expr:
        loops = []
        for loop in node.generators:
            items = self.expr(loop.iter)
            target = self.target(loop.target)
            loops.append(
                (
                    target,
                    items,
                    tuple([ON[each.__class__](self, each) for each in loop.ifs]),
                    bool(loop.is_async),
                )
            )
        return (
            "G",
            kind,
            tuple([ON[each.__class__](self, each) for each in elements]),
            tuple(loops),
            node.lineno,
        )

    def on_ListComp(self, node: ast.ListComp) -> Expr:
        return self.comprehension(node, [node.elt], "list")

    def on_SetComp(self, node: ast.SetComp) -> Expr:
        return self.comprehension(node, [node.elt], "set")

    def on_GeneratorExp(self, node: ast.GeneratorExp) -> Expr:
        return self.comprehension(node, [node.elt], "generator")

    def on_DictComp(self, node: ast.DictComp) -> Expr:
        return self.comprehension(node, [node.key, node.value], "dict")

    def on_Lambda(self, node: ast.Lambda) -> Expr:
        return ("f", self.inner("<lambda>", "lambda", node.body, node))

    def on_BoolOp(self, node: ast.BoolOp) -> Expr:
        kind = "and" if node.op.__class__ is ast.And else "or"
        return ("|", kind, tuple([ON[each.__class__](self, each) for each in node.values]))

    def on_IfExp(self, node: ast.IfExp) -> Expr:
        return ("if", self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def on_BinOp(self, node: ast.BinOp) -> Expr:
        left, right = ON[node.left.__class__](self, node.left), ON[node.right.__class__](self, node.right)
        if left is None and right is None:
            return None
        return ("o", OPERATORS[node.op.__class__.__name__], left, right, node.lineno)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Expr:
        value = self.expr(node.operand)
        return (
            None if value is None else ("o", OPERATORS[node.op.__class__.__name__], value, None, node.lineno)
        )

    def on_Compare(self, node: ast.Compare) -> Expr:
        left = ON[node.left.__class__](self, node.left)
        parts: list[Expr] = []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expr(comparator)
            if name := OPERATORS.get(op.__class__.__name__):
                pair = (right, left) if name == "contains" else (left, right)
                parts.append(("o", name, *pair, node.lineno))
            else:  # `is`, `is not`
                parts.append(("v", (left, right)))
            left = right
        return parts[0] if len(parts) == 1 else ("v", tuple(parts))

    def on_Await(self, node: ast.Await) -> Expr:
        return ("w", ON[node.value.__class__](self, node.value))

    def on_Yield(self, node: ast.Yield) -> Expr:
        self.is_generator = True
        return ("y", ON[node.value.__class__](self, node.value))

    def on_YieldFrom(self, node: ast.YieldFrom) -> Expr:
        self.is_generator = True
        return ("Y", ON[node.value.__class__](self, node.value), node.lineno)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Expr:
        return (":=", self.target(node.target), ON[node.value.__class__](self, node.value))

    def annotation(self, node: ast.expr | None) -> Expr:
        """Lower an annotation; a quoted one is read, too."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return ("s", self.annotation(node.value), tuple([self.annotation(each) for each in inner]), 0)
        if isinstance(node, ast.BinOp):
            return ("|", "or", (self.annotation(node.left), self.annotation(node.right)))
        if isinstance(node, ast.List):
            return None
        return self.expr(node)


def _nothing(_: ExpressionLowering, _node: Any) -> Expr:
    return None


_NODES = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.AST)]
ON: dict[type, Callable[[Any, Any], Expr]] = {
    each: getattr(ExpressionLowering, f"on_{each.__name__}", _nothing) for each in [*_NODES, type(None)]
}

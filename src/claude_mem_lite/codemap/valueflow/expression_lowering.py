"""Lower the expressions of a syntax tree to terms, and keep the scopes that are found on the way."""

import ast
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.codemap.valueflow import expression_terms as terms
from claude_mem_lite.codemap.valueflow.expression_terms import Expr
from claude_mem_lite.codemap.valueflow.terms import Block, Parameter, Return, Scope

_CONSTANT_CHARS = 60
_NO_NAMES = frozenset[str]()  # one for all: Python makes each empty set anew
_OPERATORS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "MatMult": "matmul", "Div": "truediv", "Mod": "mod",
    "Pow": "pow", "LShift": "lshift", "RShift": "rshift", "BitOr": "or", "BitXor": "xor",
    "BitAnd": "and", "FloorDiv": "floordiv", "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le",
    "Gt": "gt", "GtE": "ge", "In": "contains", "NotIn": "contains", "USub": "neg", "UAdd": "pos",
    "Invert": "invert", "Not": "bool",
}  # fmt: skip
OPERATORS = {getattr(ast, name): special for name, special in _OPERATORS.items()}


@dataclass(slots=True)
class OpenScope:
    """A scope that is being lowered: its index, its qualified name, and what has been found of it."""

    index: int = -1
    name: str = ""
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    is_generator: bool = False


class ExpressionLowering:
    """Lowers the expressions of one file, each by the method `on_` and the name of its node.

    `scopes` holds the file's scopes by index, None for one that is not finished; `open` is the innermost.
    """

    def __init__(self) -> None:
        self.scopes: list[Scope | None] = []
        self.open = OpenScope()
        self.name = functools.cache(terms.Name)  # most terms are names and constants, and most are not new
        self.constant = functools.cache(terms.Constant)

    def reserve(self) -> int:
        """Return the index of the next scope; lambdas among its defaults and decorators come after it."""
        self.scopes.append(None)
        return len(self.scopes) - 1

    def scope(
        self, index: int, name: str, kind: str, node: Any, body: Callable[[], Block], **settings: Any
    ) -> None:
        """Lower a scope inside the open one, its statements by `body`."""
        outside = self.open
        inside = self.open = OpenScope(index, f"{outside.name}.{name}" if outside.name else name)
        inside.bound.update([each.name for each in settings.get("parameters", ())])
        block = body()
        self.scopes[index] = Scope(
            name=inside.name, kind=kind, line=getattr(node, "lineno", 1), parent=outside.index, body=block,
            bound=frozenset(inside.bound - inside.outer), outer=frozenset(inside.outer) or _NO_NAMES,
            is_generator=inside.is_generator, **settings,
        )  # fmt: skip
        self.open = outside

    def parameters(self, node: ast.arguments) -> tuple[Parameter, ...]:
        """Lower the parameters of a function or lambda."""
        plain = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(plain) - len(node.defaults)) + node.defaults
        found = [(arg, "", default) for arg, default in zip(plain, defaults, strict=True)]
        found += [(node.vararg, "*", None)] if node.vararg else []
        found += [(arg, "k", default) for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        found += [(node.kwarg, "**", None)] if node.kwarg else []
        lowered = [
            Parameter(arg.arg, kind, self.annotation(arg.annotation), self.expr(default))
            for arg, kind, default in found
        ]
        return tuple(lowered)

    def annotation(self, node: ast.expr | None) -> Expr:
        """Lower an annotation; a quoted one is parsed, too."""
        if node is None:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return terms.Generic(
                self.annotation(node.value), tuple([self.annotation(each) for each in inner])
            )
        if isinstance(node, ast.BinOp):
            return terms.Either(False, (self.annotation(node.left), self.annotation(node.right)))
        return None if isinstance(node, ast.List) else self.expr(node)

    def target(self, node: ast.expr | None) -> Expr:
        """Lower what is assigned to, if anything is, and note the names that it binds."""
        if isinstance(node, ast.Name):
            self.open.bound.add(node.id)
            return self.name(node.id)
        if isinstance(node, ast.Tuple | ast.List):
            return terms.Tuple(tuple([self.target(each) for each in node.elts]))
        if isinstance(node, ast.Starred):
            return terms.Starred(self.target(node.value))
        return self.expr(node)

    def expr(self, node: ast.expr | None) -> Expr:
        """Lower an expression."""
        return ON[type(node)](self, node)

    def some(self, nodes: Iterable[ast.expr | None]) -> Expr:
        """Lower what is evaluated only for the calls in it; None where there is nothing to call."""
        found = [
            each
            for each in map(self.expr, nodes)
            if not isinstance(each, terms.Constant | terms.Builtin | None)
        ]
        return terms.Several(tuple(found)) if found else None

    def on_Name(self, node: ast.Name) -> Expr:
        return self.name(node.id)

    def on_Attribute(self, node: ast.Attribute) -> Expr:
        return terms.Attribute(
            ON[type(node.value)](self, node.value), node.attr, node.end_lineno or node.lineno
        )

    def on_Constant(self, node: ast.Constant) -> Expr:
        value: Any = node.value
        kind = type(value)
        if kind is str and len(value) <= _CONSTANT_CHARS:
            return self.constant(value)
        if kind is int and -_CONSTANT_CHARS < value < _CONSTANT_CHARS:
            return self.constant(value)
        return None if value is None or value is ... else terms.Builtin(kind.__name__)

    def on_JoinedStr(self, node: ast.JoinedStr) -> Expr:
        first = node.values[0] if node.values else None
        start: Any = first.value if isinstance(first, ast.Constant) else ""
        return terms.Operator(
            "str", self.some(node.values), terms.Constant(start) if start else None, node.lineno
        )

    def on_FormattedValue(self, node: ast.FormattedValue) -> Expr:
        value = ON[type(node.value)](self, node.value)
        return terms.Operator("format", value, self.expr(node.format_spec), node.lineno)

    def on_Call(self, node: ast.Call) -> Expr:
        func = node.func
        return terms.Call(
            ON[type(func)](self, func),
            tuple([ON[type(each)](self, each) for each in node.args]),
            tuple([(word.arg, ON[type(word.value)](self, word.value)) for word in node.keywords]),
            func.end_lineno or node.lineno,
        )

    def on_Starred(self, node: ast.Starred) -> Expr:
        return terms.Starred(ON[type(node.value)](self, node.value))

    def on_Subscript(self, node: ast.Subscript) -> Expr:
        line = node.value.end_lineno or node.lineno
        return terms.Subscript(ON[type(node.value)](self, node.value), self.expr(node.slice), line)

    def on_Slice(self, node: ast.Slice) -> Expr:
        return self.some([node.lower, node.upper, node.step]) or terms.Several(())

    def on_List(self, node: ast.List | ast.Set) -> Expr:
        return terms.Listing(tuple([ON[type(each)](self, each) for each in node.elts]))

    on_Set = on_List

    def on_Tuple(self, node: ast.Tuple) -> Expr:
        return terms.Tuple(tuple([ON[type(each)](self, each) for each in node.elts]))

    def on_Dict(self, node: ast.Dict) -> Expr:
        return terms.Dictionary(
            tuple([terms.Starred(None) if each is None else self.expr(each) for each in node.keys]),
            tuple([ON[type(each)](self, each) for each in node.values]),
        )

    def comprehension(self, node: Any, *elements: ast.expr) -> Expr:
        """Lower a comprehension, its loops first: they bind the names that its elements read."""
        loops = []
        for loop in node.generators:
            source = self.expr(loop.iter)
            target = self.target(loop.target)
            tests = tuple([ON[type(each)](self, each) for each in loop.ifs])
            loops.append(terms.Loop(target, source, tests, bool(loop.is_async), loop.iter.lineno))
        found = tuple([ON[type(each)](self, each) for each in elements])
        return terms.Comprehension(len(elements) > 1, found, tuple(loops))

    def on_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expr:
        return self.comprehension(node, node.elt)

    on_SetComp = on_GeneratorExp = on_ListComp

    def on_DictComp(self, node: ast.DictComp) -> Expr:
        return self.comprehension(node, node.key, node.value)

    def on_Lambda(self, node: ast.Lambda) -> Expr:
        def body() -> Block:
            return (Return(self.expr(node.body)),)

        index = self.reserve()
        self.scope(index, "<lambda>", "lambda", node, body, parameters=self.parameters(node.args))
        return terms.Lambda(index)

    def on_BoolOp(self, node: ast.BoolOp) -> Expr:
        operands = tuple([ON[type(each)](self, each) for each in node.values])
        return terms.Either(type(node.op) is ast.And, operands)

    def on_IfExp(self, node: ast.IfExp) -> Expr:
        return terms.Choice(
            self.expr(node.test), self.expr(node.body), self.expr(node.orelse), node.test.lineno
        )

    def on_BinOp(self, node: ast.BinOp) -> Expr:
        left, right = ON[type(node.left)](self, node.left), ON[type(node.right)](self, node.right)
        if left is None and right is None:
            return None
        return terms.Operator(OPERATORS[type(node.op)], left, right, node.lineno)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Expr:
        value = self.expr(node.operand)
        return None if value is None else terms.Operator(OPERATORS[type(node.op)], value, None, node.lineno)

    def on_Compare(self, node: ast.Compare) -> Expr:
        left = ON[type(node.left)](self, node.left)
        parts: list[Expr] = []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expr(comparator)
            if name := OPERATORS.get(type(op)):
                pair = (right, left) if name == "contains" else (left, right)
                parts.append(terms.Operator(name, *pair, node.lineno))
            else:  # `is`, `is not`
                parts.append(terms.Several((left, right)))
            left = right
        return parts[0] if len(parts) == 1 else terms.Several(tuple(parts))

    def on_Await(self, node: ast.Await) -> Expr:
        return terms.Await(ON[type(node.value)](self, node.value), node.lineno)

    def on_Yield(self, node: ast.Yield) -> Expr:
        self.open.is_generator = True
        return terms.Yield(self.expr(node.value))

    def on_YieldFrom(self, node: ast.YieldFrom) -> Expr:
        self.open.is_generator = True
        return terms.YieldFrom(ON[type(node.value)](self, node.value), node.lineno)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Expr:
        return terms.Walrus(self.target(node.target), ON[type(node.value)](self, node.value))

    def on_other(self, _: Any) -> Expr:
        """Lower None, and what has no value of its own, to nothing known."""
        return None


_NODES = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.AST)]
ON: dict[type, Callable[[Any, Any], Expr]] = {
    each: getattr(ExpressionLowering, f"on_{each.__name__}", ExpressionLowering.on_other)
    for each in [*_NODES, type(None)]
}

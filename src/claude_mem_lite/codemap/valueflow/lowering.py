"""Lower a file's syntax tree to its scopes: what each binds, evaluates and calls.

Nothing is resolved here: the solver does that for all files together.
"""

import ast
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from claude_mem_lite.codemap.valueflow import expression_terms as exprs
from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.codemap.valueflow.expression_terms import OPERATORS, Expr
from claude_mem_lite.codemap.valueflow.scope_lowering import ScopeLowering, is_stub, replaced
from claude_mem_lite.codemap.valueflow.terms import Block, Parameter, Scope, Statement

_CONSTANT_CHARS = 60


def lower(tree: ast.Module) -> tuple[Scope, ...]:
    """Return the scopes of a module, its own first; a statement nested too deeply is left out."""
    lowering = Lowering()
    lowering.scope(lowering.reserve(), "", "module", tree, lambda: lowering.block(tree.body))
    return tuple(scope for scope in lowering.scopes if scope is not None)


class Lowering(ScopeLowering):
    """Lowers one file: statements by the method `do_` and the name of their node, expressions by `on_`."""

    def __init__(self) -> None:
        super().__init__()
        # Most terms are names and constants, and most of these repeat.
        self.name, self.constant = functools.cache(exprs.Name), functools.cache(exprs.Constant)

    def block(self, nodes: Sequence[ast.stmt]) -> Block:
        """Lower statements; of functions with one name, only the last."""
        found: list[Statement] = []
        earlier = replaced(nodes)
        for node in nodes:
            handler = _DO.get(type(node))
            if handler is None or node in earlier:
                continue
            outside, made = self.open, len(self.scopes)
            try:
                statement = handler(self, node)
            except RecursionError:
                self.open = outside
                del self.scopes[made:]
                continue
            if statement is not None:
                found.append(statement)
        return tuple(found)

    def do_Expr(self, node: ast.Expr) -> Statement | None:
        value = self.expr(node.value)
        return None if value is None or isinstance(value, exprs.Constant) else terms.Evaluate(value)

    def do_Assign(self, node: ast.Assign) -> Statement:
        value = self.expr(node.value)
        return terms.Assign(tuple([self.target(each) for each in node.targets]), value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> Statement:
        value = self.expr(node.value)
        return terms.AnnotatedAssign(self.target(node.target), self.annotation(node.annotation), value)

    def do_AugAssign(self, node: ast.AugAssign) -> Statement:
        target = self.target(node.target)
        load = self.expr(node.target)
        return terms.AugmentedAssign(
            target, OPERATORS[type(node.op)], load, self.expr(node.value), node.lineno
        )

    def do_Return(self, node: ast.Return) -> Statement:
        return terms.Return(self.expr(node.value))

    def do_Raise(self, node: ast.Raise) -> Statement:
        return terms.Raise(self.expr(node.exc), self.expr(node.cause), node.lineno)

    def do_Continue(self, _: ast.Continue | ast.Break) -> Statement:
        return terms.Leave()

    do_Break = do_Continue

    def do_Assert(self, node: ast.Assert) -> Statement:
        return terms.Assert(self.expr(node.test), self.expr(node.msg))

    def do_If(self, node: ast.If) -> Statement:
        test = self.expr(node.test)
        return terms.If(test, self.block(node.body), self.block(node.orelse), node.lineno)

    def do_For(self, node: ast.For | ast.AsyncFor) -> Statement:
        source = self.expr(node.iter)
        target = self.target(node.target)
        is_async = type(node) is ast.AsyncFor
        return terms.For(
            target, source, self.block(node.body), self.block(node.orelse), node.lineno, is_async
        )

    do_AsyncFor = do_For

    def do_While(self, node: ast.While) -> Statement:
        return terms.While(self.expr(node.test), self.block(node.body), self.block(node.orelse), node.lineno)

    def do_Try(self, node: Any) -> Statement:
        body = self.block(node.body)
        handlers = []
        for handler in node.handlers:
            if handler.name:
                self.bind(handler.name)
            handlers.append(terms.Handler(self.expr(handler.type), handler.name, self.block(handler.body)))
        return terms.Try(body, tuple(handlers), self.block(node.orelse), self.block(node.finalbody))

    do_TryStar = do_Try

    def do_With(self, node: ast.With | ast.AsyncWith) -> Statement:
        items = [(self.expr(each.context_expr), self.target(each.optional_vars)) for each in node.items]
        return terms.With(tuple(items), self.block(node.body), node.lineno, type(node) is ast.AsyncWith)

    do_AsyncWith = do_With

    def do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Statement:
        self.bind(node.name)
        index = self.reserve()
        self.scope(
            index, node.name, "function", node, lambda: self.block(node.body),
            parameters=self.parameters(node.args),
            decorators=tuple([self.expr(each) for each in node.decorator_list]),
            returns=self.annotation(node.returns),
            is_async=type(node) is ast.AsyncFunctionDef,
            is_stub=all(is_stub(each) for each in node.body),
        )  # fmt: skip
        return terms.FunctionDefinition(node.name, index)

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node: ast.ClassDef) -> Statement:
        self.bind(node.name)
        index = self.reserve()
        metaclass = next((word.value for word in node.keywords if word.arg == "metaclass"), None)
        self.scope(
            index, node.name, "class", node, lambda: self.block(node.body),
            bases=tuple([self.expr(each) for each in node.bases]),
            decorators=tuple([self.expr(each) for each in node.decorator_list]),
            metaclass=self.expr(metaclass),
        )  # fmt: skip
        return terms.ClassDefinition(node.name, index)

    def do_Import(self, node: ast.Import) -> Statement:
        names = tuple([(alias.name, alias.asname) for alias in node.names])
        self.bind(*(asname or name.partition(".")[0] for name, asname in names))
        return terms.Import(names)

    def do_ImportFrom(self, node: ast.ImportFrom) -> Statement:
        names = tuple([(alias.name, alias.asname) for alias in node.names])
        self.bind(*(asname or name for name, asname in names))
        return terms.ImportFrom(node.module or "", node.level, names)

    def do_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.open.outer.update(node.names)

    do_Nonlocal = do_Global

    def do_Delete(self, node: ast.Delete) -> Statement | None:
        items = [
            (self.expr(each.value), each.lineno) for each in node.targets if isinstance(each, ast.Subscript)
        ]
        return terms.Delete(tuple(items)) if items else None

    def do_Match(self, node: ast.Match) -> Statement:
        cases = []
        for case in node.cases:
            classes: list[tuple[Expr, str | None]] = []
            self.pattern(case.pattern, classes)
            cases.append(terms.Case(tuple(classes), self.expr(case.guard), self.block(case.body)))
        return terms.Match(self.expr(node.subject), tuple(cases))

    def pattern(self, node: ast.AST, classes: list[tuple[Expr, str | None]], name: str | None = None) -> None:
        """Collect the classes that a pattern names, each with the name that it binds."""
        if isinstance(node, ast.MatchAs):
            if node.name:
                self.bind(node.name)
            if node.pattern:
                self.pattern(node.pattern, classes, node.name)
            return
        if isinstance(node, ast.MatchStar | ast.MatchMapping) and (bound := getattr(node, "name", None)):
            self.bind(bound)
        if isinstance(node, ast.MatchClass):
            classes.append((self.expr(node.cls), name))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.pattern):
                self.pattern(child, classes)

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
            return exprs.Generic(
                self.annotation(node.value), tuple([self.annotation(each) for each in inner])
            )
        if isinstance(node, ast.BinOp):
            return exprs.Either(False, (self.annotation(node.left), self.annotation(node.right)))
        return None if isinstance(node, ast.List) else self.expr(node)

    def target(self, node: ast.expr | None) -> Expr:
        """Lower an assignment target, if there is one, and record the names that it binds."""
        if isinstance(node, ast.Name):
            self.open.bound.add(node.id)
            return self.name(node.id)
        if isinstance(node, ast.Tuple | ast.List):
            return exprs.Tuple(tuple([self.target(each) for each in node.elts]))
        if isinstance(node, ast.Starred):
            return exprs.Starred(self.target(node.value))
        return self.expr(node)

    def expr(self, node: ast.expr | None) -> Expr:
        """Lower an expression."""
        return ON[type(node)](self, node)

    def some(self, nodes: Iterable[ast.expr | None]) -> Expr:
        """Lower expressions that are evaluated only for the calls in them; None if nothing is left."""
        found = [
            each
            for each in map(self.expr, nodes)
            if not isinstance(each, exprs.Constant | exprs.Builtin | None)
        ]
        return exprs.Several(tuple(found)) if found else None

    def on_Name(self, node: ast.Name) -> Expr:
        return self.name(node.id)

    def on_Attribute(self, node: ast.Attribute) -> Expr:
        return exprs.Attribute(
            ON[type(node.value)](self, node.value), node.attr, node.end_lineno or node.lineno
        )

    def on_Constant(self, node: ast.Constant) -> Expr:
        value: Any = node.value
        kind = type(value)
        if kind is str and len(value) <= _CONSTANT_CHARS:
            return self.constant(value)
        if kind is int and -_CONSTANT_CHARS < value < _CONSTANT_CHARS:
            return self.constant(value)
        return None if value is None or value is ... else exprs.Builtin(kind.__name__)

    def on_JoinedStr(self, node: ast.JoinedStr) -> Expr:
        first = node.values[0] if node.values else None
        start: Any = first.value if isinstance(first, ast.Constant) else ""
        return exprs.Operator(
            "str", self.some(node.values), exprs.Constant(start) if start else None, node.lineno
        )

    def on_FormattedValue(self, node: ast.FormattedValue) -> Expr:
        value = ON[type(node.value)](self, node.value)
        return exprs.Operator("format", value, self.expr(node.format_spec), node.lineno)

    def on_Call(self, node: ast.Call) -> Expr:
        func = node.func
        return exprs.Call(
            ON[type(func)](self, func),
            tuple([ON[type(each)](self, each) for each in node.args]),
            tuple([(word.arg, ON[type(word.value)](self, word.value)) for word in node.keywords]),
            func.end_lineno or node.lineno,
        )

    def on_Starred(self, node: ast.Starred) -> Expr:
        return exprs.Starred(ON[type(node.value)](self, node.value))

    def on_Subscript(self, node: ast.Subscript) -> Expr:
        line = node.value.end_lineno or node.lineno
        return exprs.Subscript(ON[type(node.value)](self, node.value), self.expr(node.slice), line)

    def on_Slice(self, node: ast.Slice) -> Expr:
        return self.some([node.lower, node.upper, node.step]) or exprs.Several(())

    def on_List(self, node: ast.List | ast.Set) -> Expr:
        return exprs.Listing(tuple([ON[type(each)](self, each) for each in node.elts]))

    on_Set = on_List

    def on_Tuple(self, node: ast.Tuple) -> Expr:
        return exprs.Tuple(tuple([ON[type(each)](self, each) for each in node.elts]))

    def on_Dict(self, node: ast.Dict) -> Expr:
        return exprs.Dictionary(
            tuple([exprs.Starred(None) if each is None else self.expr(each) for each in node.keys]),
            tuple([ON[type(each)](self, each) for each in node.values]),
        )

    def comprehension(self, node: Any, *elements: ast.expr) -> Expr:
        """Lower a comprehension, its loops first: they bind the names that its elements read."""
        loops = []
        for loop in node.generators:
            source = self.expr(loop.iter)
            target = self.target(loop.target)
            tests = tuple([ON[type(each)](self, each) for each in loop.ifs])
            loops.append(exprs.Loop(target, source, tests, bool(loop.is_async), loop.iter.lineno))
        found = tuple([ON[type(each)](self, each) for each in elements])
        return exprs.Comprehension(len(elements) > 1, found, tuple(loops))

    def on_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expr:
        return self.comprehension(node, node.elt)

    on_SetComp = on_GeneratorExp = on_ListComp

    def on_DictComp(self, node: ast.DictComp) -> Expr:
        return self.comprehension(node, node.key, node.value)

    def on_Lambda(self, node: ast.Lambda) -> Expr:
        def body() -> Block:
            return (terms.Return(self.expr(node.body)),)

        index = self.reserve()
        self.scope(index, "<lambda>", "lambda", node, body, parameters=self.parameters(node.args))
        return exprs.Lambda(index)

    def on_BoolOp(self, node: ast.BoolOp) -> Expr:
        operands = tuple([ON[type(each)](self, each) for each in node.values])
        return exprs.Either(type(node.op) is ast.And, operands)

    def on_IfExp(self, node: ast.IfExp) -> Expr:
        return exprs.Choice(
            self.expr(node.test), self.expr(node.body), self.expr(node.orelse), node.test.lineno
        )

    def on_BinOp(self, node: ast.BinOp) -> Expr:
        left, right = ON[type(node.left)](self, node.left), ON[type(node.right)](self, node.right)
        if left is None and right is None:
            return None
        return exprs.Operator(OPERATORS[type(node.op)], left, right, node.lineno)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Expr:
        value = self.expr(node.operand)
        return None if value is None else exprs.Operator(OPERATORS[type(node.op)], value, None, node.lineno)

    def on_Compare(self, node: ast.Compare) -> Expr:
        left = ON[type(node.left)](self, node.left)
        parts: list[Expr] = []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expr(comparator)
            if name := OPERATORS.get(type(op)):
                pair = (right, left) if name == "contains" else (left, right)
                parts.append(exprs.Operator(name, *pair, node.lineno))
            else:  # `is`, `is not`
                parts.append(exprs.Several((left, right)))
            left = right
        return parts[0] if len(parts) == 1 else exprs.Several(tuple(parts))

    def on_Await(self, node: ast.Await) -> Expr:
        return exprs.Await(ON[type(node.value)](self, node.value), node.lineno)

    def on_Yield(self, node: ast.Yield) -> Expr:
        self.open.is_generator = True
        return exprs.Yield(self.expr(node.value))

    def on_YieldFrom(self, node: ast.YieldFrom) -> Expr:
        self.open.is_generator = True
        return exprs.YieldFrom(ON[type(node.value)](self, node.value), node.lineno)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Expr:
        return exprs.Walrus(self.target(node.target), ON[type(node.value)](self, node.value))

    def on_other(self, _: Any) -> Expr:
        """Lower None, and nodes without a value of their own, to an unknown expression."""
        return None


_DO: dict[type, Callable[[Lowering, Any], Statement | None]] = {
    getattr(ast, name[3:]): method for name, method in vars(Lowering).items() if name[:3] == "do_"
}
_NODES = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.AST)]
ON: dict[type, Callable[[Any, Any], Expr]] = {
    each: getattr(Lowering, f"on_{each.__name__}", Lowering.on_other) for each in [*_NODES, type(None)]
}

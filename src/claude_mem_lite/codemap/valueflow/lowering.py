"""Lower a file's syntax tree to its scopes: what each binds, evaluates and calls.

Nothing is resolved here: the solver does that over all files.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.codemap.valueflow.expression_lowering import OPERATORS, ExpressionLowering
from claude_mem_lite.codemap.valueflow.expression_terms import Constant, Expr
from claude_mem_lite.codemap.valueflow.terms import Block, Scope, Statement


def lower(tree: ast.Module) -> tuple[Scope, ...]:
    """Return the scopes of a module, itself first; a statement nested too deeply is left out."""
    lowering = StatementLowering()
    lowering.scope(lowering.reserve(), "", "module", tree, lambda: lowering.block(tree.body))
    return tuple(scope for scope in lowering.scopes if scope is not None)


class StatementLowering(ExpressionLowering):
    """Lowers the statements of one file, each by the method `do_` and the name of its node."""

    def bind(self, *names: str) -> None:
        """Note names that the open scope binds."""
        self.open.bound.update(names)

    def block(self, statements: Sequence[ast.stmt]) -> Block:
        """Lower statements; of functions with one name, the last."""
        found: list[Statement] = []
        functions = [each for each in statements if type(each) in _FUNCTIONS]
        replaced = _replaced(functions) if len(functions) > 1 else ()
        for node in statements:
            handler = _DO.get(type(node))
            if handler is None or node in replaced:
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
        return None if value is None or isinstance(value, Constant) else terms.Evaluate(value)

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
            is_stub=all(_is_stub(each) for each in node.body),
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


def _replaced(functions: Sequence[Any]) -> set[ast.stmt]:
    """Return the functions that a later one of the same name replaces: undecorated ones and overloads."""
    last: dict[str, ast.stmt] = {}
    found: set[ast.stmt] = set()
    for function in functions:
        decorators = function.decorator_list
        earlier = last.get(function.name)
        if earlier is not None and not decorators:
            found.add(earlier)
        if all(getattr(each, "id", getattr(each, "attr", "")) == "overload" for each in decorators):
            last[function.name] = function
    return found


def _is_stub(node: ast.stmt) -> bool:
    """Tell whether a statement only says that a subclass is to do it."""
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_DO: dict[type, Callable[[StatementLowering, Any], Statement | None]] = {
    getattr(ast, name[3:]): method for name, method in vars(StatementLowering).items() if name[:3] == "do_"
}

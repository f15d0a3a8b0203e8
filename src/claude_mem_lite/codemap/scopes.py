"""What each scope of one file binds, evaluates and calls, as nested tuples that are cheap to keep.

A scope is a module, class, function or lambda. Nothing is resolved here: `world` does that over all files, so
that a changed file is lowered again and no other. Statements are tuples, too, their kind first (`flow` lists
them); expressions are described in `lowering`.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.codemap.lowering import OPERATORS, Expr, ExpressionLowering, Op


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `kind` is "" for a plain one, "k" keyword only, "*" or "**"."""

    name: str
    kind: str
    annotation: Expr
    default: Expr


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope; `name` is qualified within its file, `parent` an index into its scopes (module: -1)."""

    name: str
    kind: str
    line: int
    parent: int
    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[Expr, ...] = ()
    returns: Expr = None
    bases: tuple[Expr, ...] = ()
    metaclass: Expr = None
    body: tuple[Op, ...] = ()
    bound: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    is_async: bool = False
    is_generator: bool = False
    is_stub: bool = False


def lower(tree: ast.Module) -> tuple[Scope, ...]:
    """Return the scopes of a module, itself first; a statement nested too deeply is left out."""
    lowering = _Lowering()
    lowering.scope(-1, "", "module", tree.body, tree)
    return tuple(scope for scope in lowering.scopes if scope is not None)


class _Lowering(ExpressionLowering):
    """One file's walk; `scopes` fills from the outside in."""

    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[Scope | None] = []
        self.index = -1
        self.name = ""
        self.outer: set[str] = set()

    def scope(self, parent: int, name: str, kind: str, body: Sequence[ast.stmt] | ast.expr, node: Any) -> int:
        """Lower one scope and all in it; return its index."""
        index = len(self.scopes)
        self.scopes.append(None)
        settings: dict[str, Any] = {}
        if kind == "class":
            settings["bases"] = tuple([self.expr(base) for base in node.bases])
            settings["decorators"] = tuple([self.expr(each) for each in node.decorator_list])
            metaclass = [word.value for word in node.keywords if word.arg == "metaclass"]
            settings["metaclass"] = self.expr(metaclass[0]) if metaclass else None
        elif kind != "module":
            settings["parameters"] = self.parameters(node.args)
        if kind == "function":
            settings["decorators"] = tuple([self.expr(each) for each in node.decorator_list])
            settings["returns"] = self.annotation(node.returns)
            settings["is_async"] = node.__class__ is ast.AsyncFunctionDef
            settings["is_stub"] = all(_is_stub(statement) for statement in node.body)
        outside = (self.index, self.name, self.bound, self.outer, self.is_generator)
        self.index, self.name, self.bound, self.outer, self.is_generator = index, name, set(), set(), False
        for parameter in settings.get("parameters", ()):
            self.bound.add(parameter.name)
        ops = (("r", self.expr(body)),) if isinstance(body, ast.expr) else self.block(body)
        self.scopes[index] = Scope(
            name=name, kind=kind, line=getattr(node, "lineno", 1), parent=parent, body=ops,
            bound=frozenset(self.bound - self.outer), outer=frozenset(self.outer),
            is_generator=self.is_generator, **settings,
        )  # fmt: skip
        self.index, self.name, self.bound, self.outer, self.is_generator = outside
        return index

    def inner(self, name: str, kind: str, body: Sequence[ast.stmt] | ast.expr, node: Any) -> int:
        return self.scope(self.index, f"{self.name}.{name}" if self.name else name, kind, body, node)

    def parameters(self, node: ast.arguments) -> tuple[Parameter, ...]:
        plain = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(plain) - len(node.defaults)) + node.defaults
        found = [(arg, "", default) for arg, default in zip(plain, defaults, strict=True)]
        found += [(node.vararg, "*", None)] if node.vararg else []
        found += [(arg, "k", default) for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        found += [(node.kwarg, "**", None)] if node.kwarg else []
        return tuple(
            [
                Parameter(arg.arg, kind, self.annotation(arg.annotation), self.expr(default))
                for arg, kind, default in found
            ]
        )

    # statements

    def block(self, statements: Sequence[ast.stmt]) -> tuple[Op, ...]:
        ops: list[Op] = []
        functions = [each for each in statements if each.__class__ in _FUNCTIONS]
        replaced = _replaced(functions) if len(functions) > 1 else ()
        for statement in statements:
            handler = _DO.get(statement.__class__)
            if handler is None or statement in replaced:
                continue
            try:
                op = handler(self, statement)
            except RecursionError:
                continue
            if op is not None:
                ops.append(op)
        return tuple(ops)

    def do_Expr(self, node: ast.Expr) -> Op | None:
        value = self.expr(node.value)
        return None if value is None or value[0] == "k" else ("e", value)

    def do_Assign(self, node: ast.Assign) -> Op:
        value = self.expr(node.value)
        return ("=", tuple([self.target(each) for each in node.targets]), value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> Op:
        value = self.expr(node.value)
        return (":", self.target(node.target), self.annotation(node.annotation), value)

    def do_AugAssign(self, node: ast.AugAssign) -> Op:
        target = self.target(node.target)
        load = self.expr(node.target)
        return ("+", target, OPERATORS[node.op.__class__.__name__], load, self.expr(node.value), node.lineno)

    def do_Return(self, node: ast.Return) -> Op:
        return ("r", self.expr(node.value))

    def do_Raise(self, node: ast.Raise) -> Op:
        return ("raise", self.expr(node.exc), self.expr(node.cause))

    def do_Continue(self, _: ast.Continue) -> Op:
        return ("stop",)

    do_Break = do_Continue

    def do_Assert(self, node: ast.Assert) -> Op:
        return ("assert", self.expr(node.test), self.expr(node.msg))

    def do_If(self, node: ast.If) -> Op:
        test = self.expr(node.test)
        return ("?", test, self.block(node.body), self.block(node.orelse))

    def do_For(self, node: ast.For | ast.AsyncFor) -> Op:
        items = self.expr(node.iter)
        is_async = node.__class__ is ast.AsyncFor
        target = self.target(node.target)
        return ("for", target, items, self.block(node.body), self.block(node.orelse), node.lineno, is_async)

    do_AsyncFor = do_For

    def do_While(self, node: ast.While) -> Op:
        return ("while", self.expr(node.test), self.block(node.body), self.block(node.orelse))

    def do_Try(self, node: Any) -> Op:
        body = self.block(node.body)
        handlers = []
        for handler in node.handlers:
            if handler.name:
                self.bound.add(handler.name)
            handlers.append((self.expr(handler.type), handler.name, self.block(handler.body)))
        return ("try", body, tuple(handlers), self.block(node.orelse), self.block(node.finalbody))

    do_TryStar = do_Try

    def do_With(self, node: ast.With | ast.AsyncWith) -> Op:
        items = tuple(
            [
                (
                    self.expr(item.context_expr),
                    self.target(item.optional_vars) if item.optional_vars else None,
                )
                for item in node.items
            ]
        )
        return ("with", items, self.block(node.body), node.lineno, node.__class__ is ast.AsyncWith)

    do_AsyncWith = do_With

    def do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Op:
        self.bound.add(node.name)
        return ("def", node.name, self.inner(node.name, "function", node.body, node))

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node: ast.ClassDef) -> Op:
        self.bound.add(node.name)
        return ("class", node.name, self.inner(node.name, "class", node.body, node))

    def do_Import(self, node: ast.Import) -> Op:
        names = tuple([(alias.name, alias.asname) for alias in node.names])
        self.bound.update(asname or name.partition(".")[0] for name, asname in names)
        return ("import", names)

    def do_ImportFrom(self, node: ast.ImportFrom) -> Op:
        names = tuple([(alias.name, alias.asname) for alias in node.names])
        self.bound.update(asname or name for name, asname in names)
        return ("from", node.module or "", node.level, names)

    def do_Global(self, node: ast.Global) -> None:
        self.outer.update(node.names)

    def do_Nonlocal(self, node: ast.Nonlocal) -> Op:
        self.outer.update(node.names)
        return ("nonlocal", tuple(node.names))

    def do_Delete(self, node: ast.Delete) -> Op | None:
        subscripts = tuple(
            [(self.expr(each.value), each.lineno) for each in node.targets if isinstance(each, ast.Subscript)]
        )
        return ("del", subscripts) if subscripts else None

    def do_Match(self, node: ast.Match) -> Op:
        cases = []
        for case in node.cases:
            classes: list[tuple[Expr, str | None]] = []
            self.pattern(case.pattern, classes)
            cases.append((tuple(classes), self.expr(case.guard), self.block(case.body)))
        return ("match", self.expr(node.subject), tuple(cases))

    def pattern(self, node: ast.AST, classes: list[tuple[Expr, str | None]], name: str | None = None) -> None:
        """Collect the classes that a pattern names, each with the name that it binds."""
        if isinstance(node, ast.MatchAs):
            if node.name:
                self.bound.add(node.name)
            if node.pattern:
                self.pattern(node.pattern, classes, node.name)
            return
        if isinstance(node, ast.MatchStar | ast.MatchMapping) and (bound := getattr(node, "name", None)):
            self.bound.add(bound)
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
    """Tell whether a statement does nothing but say that a subclass is to do it."""
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_DO = {getattr(ast, name[3:]): method for name, method in vars(_Lowering).items() if name.startswith("do_")}

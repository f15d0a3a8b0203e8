"""Keep the scopes found while a file is lowered, and recognise replaced functions and stubs."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.codemap.valueflow.terms import Block, Scope

_NO_NAMES = frozenset[str]()  # shared, because Python makes each empty set anew
_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})


@dataclass(slots=True)
class OpenScope:
    """A scope while it is lowered: its index, its qualified name, and what was found in it."""

    index: int = -1
    name: str = ""
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    is_generator: bool = False


class ScopeLowering:
    """Keeps the `scopes` of one file by index, None for an unfinished one; `open` is the innermost."""

    def __init__(self) -> None:
        self.scopes: list[Scope | None] = []
        self.open = OpenScope()

    def bind(self, *names: str) -> None:
        """Record names that the open scope binds."""
        self.open.bound.update(names)

    def reserve(self) -> int:
        """Return the index of the next scope; lambdas in its defaults and decorators come after it."""
        self.scopes.append(None)
        return len(self.scopes) - 1

    def scope(
        self, index: int, name: str, kind: str, node: Any, body: Callable[[], Block], **settings: Any
    ) -> None:
        """Lower a scope inside the open one; `body` lowers its statements."""
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


def replaced(nodes: Sequence[ast.stmt]) -> set[ast.stmt]:
    """Return the undecorated functions and overloads that a later undecorated one of their name replaces."""
    functions: list[Any] = [each for each in nodes if type(each) in _FUNCTIONS]
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


def is_stub(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing, or only raises NotImplementedError."""
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

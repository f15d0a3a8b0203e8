"""Find what a Python source defines: its functions, methods and classes.

Pure functions over text; which of them changed is `diff`'s business.
"""

import ast
import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from claude_mem_lite.codemap.syntax import fingerprint, parameters, text

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef

MAX_FUNCTIONS = 500  # a file with more is generated; Source: unified PRD 8
# The kinds that are no functions; the members of one are its methods.
TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "type", "module"})

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SIMPLE = frozenset({
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Delete,
    ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue,
})  # fmt: skip
_SCOPED_KINDS = {
    (ast.FunctionDef, False): "function",
    (ast.FunctionDef, True): "method",
    (ast.AsyncFunctionDef, False): "async_function",
    (ast.AsyncFunctionDef, True): "async_method",
    (ast.ClassDef, False): "class",
    (ast.ClassDef, True): "class",
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function, method or type as its file defines it; one that `is_empty` does nothing yet."""

    qualified_name: str
    kind: str
    signature: str
    docstring: str | None
    decorators: tuple[str, ...]
    line: int
    end_line: int
    body_hash: str
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition's place in the syntax tree; `docstring` is its first line."""

    qualified_name: str
    kind: str
    docstring: str | None
    node: DefinitionNode

    @property
    def is_accessor(self) -> bool:
        """It is the setter, getter or deleter of a property defined before it."""
        return any(
            isinstance(each, ast.Attribute)
            and isinstance(each.value, ast.Name)
            and each.value.id == self.node.name
            for each in self.node.decorator_list
        )

    @property
    def first_line(self) -> int:
        """The line on which it begins, decorators included."""
        return min([self.node.lineno, *(decorator.lineno for decorator in self.node.decorator_list)])

    @property
    def last_line(self) -> int:
        """The line on which it ends."""
        return self.node.end_lineno or self.node.lineno


def extract(source: str, *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
    """Functions, methods and classes of a source, nested ones too, in the order of their lines.

    Of several definitions of one name the last counts, as in Python; the accessors of one property are one
    function. `signature` leaves out `self` and `cls`; `body_hash` stays the same when only the name, the
    docstring, comments or whitespace change. Raises: SyntaxError where Python cannot parse the source.
    """
    try:
        return describe(definitions(source), limit=limit)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError(f"source nested too deeply to describe: {error}") from error


def definitions(source: str) -> tuple[Definition, ...]:
    """Return what `extract` describes, still as syntax; the tree holds no docstrings any more.

    Raises: SyntaxError where Python cannot parse the source, NUL bytes and endless nesting included.
    """
    tree = parse(source)
    try:
        return definitions_of(tree)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError(f"source nested too deeply: {error}") from error


def parse(source: str | bytes) -> ast.Module:
    """Return a source's syntax tree.

    Raises: SyntaxError where Python cannot parse it, NUL bytes and endless nesting included.
    """
    try:
        with warnings.catch_warnings():  # "\\d" in somebody's source is not ours to report
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"source cannot be parsed: {error}") from error


def definitions_of(tree: ast.Module) -> tuple[Definition, ...]:
    """Return every definition of a tree, and take the docstrings out of it."""
    found = tuple(_walk(tree.body, prefix="", in_class=False))
    for definition in found:
        if definition.docstring is not None:
            definition.node.body = definition.node.body[1:]
    return found


def describe(found: Sequence[Definition], *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
    """Describe definitions, one a name, as many as `limit` allows."""
    by_name: dict[str, Function] = {}
    for definition in found:
        name = definition.qualified_name
        earlier = by_name.pop(name, None)
        if earlier is None and len(by_name) >= limit:
            break
        function = _describe(definition)
        if earlier is not None and definition.is_accessor:
            both = hashlib.md5((earlier.body_hash + function.body_hash).encode(), usedforsecurity=False)
            decorators = earlier.decorators + function.decorators
            function = replace(
                earlier, decorators=decorators, end_line=function.end_line, body_hash=both.hexdigest()
            )
        by_name[name] = function
    return tuple(by_name.values())


def body_hash(node: DefinitionNode) -> str:
    """Return the MD5 of what a definition does, whatever its name; of a class without its methods.

    Its docstring counts unless `definitions` or `scan` has taken it from the tree.
    """
    body = node.body
    if isinstance(node, ast.ClassDef):
        body = [statement for statement in body if not isinstance(statement, _DEFINITIONS)]
        head: list[ast.AST] = [*node.bases, *node.keywords]
    else:
        head = [node.args, *([node.returns] if node.returns else [])]
    head += getattr(node, "type_params", [])  # Python 3.12
    return fingerprint(type(node).__name__, [*node.decorator_list, *head, *body])


def _walk(statements: Iterable[ast.stmt], *, prefix: str, in_class: bool) -> Iterator[Definition]:
    for statement in statements:
        if isinstance(statement, _DEFINITIONS):
            name = prefix + statement.name
            kind = _SCOPED_KINDS[type(statement), in_class]
            yield Definition(name, kind, _first_docstring_line(statement), statement)
            inside = isinstance(statement, ast.ClassDef)
            yield from _walk(statement.body, prefix=f"{name}.", in_class=inside)
        elif statement.__class__ not in _SIMPLE:
            yield from _walk(_inside(statement), prefix=prefix, in_class=in_class)


def _inside(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Statements one level down: those of a branch, of `except` and of `case`."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(statement, field, ()):
            if isinstance(child, ast.stmt):
                yield child
            else:
                yield from child.body


def _first_docstring_line(node: DefinitionNode) -> str | None:
    text = ast.get_docstring(node)
    return None if text is None else text.strip().partition("\n")[0].strip()


def _describe(definition: Definition) -> Function:
    node = definition.node
    return Function(
        qualified_name=definition.qualified_name,
        kind=definition.kind,
        signature=_signature(node, is_method=definition.kind.endswith("method")),
        docstring=definition.docstring,
        decorators=tuple([f"@{text(decorator)}" for decorator in node.decorator_list]),
        line=node.lineno,
        end_line=definition.last_line,
        body_hash=body_hash(node),
        is_empty=not node.body,
    )


def _signature(node: DefinitionNode, *, is_method: bool) -> str:
    generic = getattr(node, "type_params", [])  # Python 3.12
    name = f"{node.name}[{', '.join(map(ast.unparse, generic))}]" if generic else node.name
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in (*node.bases, *node.keywords))
        return f"{name}({bases})" if bases else name
    returns = f" -> {text(node.returns)}" if node.returns else ""
    return f"{name}({parameters(node.args, skip_first=is_method)}){returns}"

"""What one Python source defines: its functions, methods and classes.

Pure functions over text; which of them changed is `diff`'s business.
"""

import ast
import functools
import hashlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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
    """A function, method or class as its file defines it."""

    qualified_name: str
    kind: str
    signature: str
    docstring: str | None
    decorators: tuple[str, ...]
    line: int
    end_line: int
    body_hash: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition's place in the syntax tree; `docstring` is its first line."""

    qualified_name: str
    kind: str
    docstring: str | None
    node: DefinitionNode

    @property
    def first_line(self) -> int:
        """The line on which it begins, decorators included."""
        return min([self.node.lineno, *(decorator.lineno for decorator in self.node.decorator_list)])

    @property
    def last_line(self) -> int:
        """The line on which it ends."""
        return self.node.end_lineno or self.node.lineno


def extract(source: str) -> tuple[Function, ...]:
    """Every function, method and class of a source, nested ones too, in the order of their lines.

    `signature` leaves out `self` and `cls`; `body_hash` stays the same when only the name, the docstring,
    comments or whitespace change. Raises: SyntaxError where Python cannot parse the source.
    """
    try:
        return tuple(_describe(definition) for definition in definitions(source))
    except (RecursionError, MemoryError) as error:
        raise SyntaxError(f"source nested too deeply to describe: {error}") from error


@functools.lru_cache(maxsize=4)  # an edit is asked for its changes, its docstrings and its renames
def definitions(source: str) -> tuple[Definition, ...]:
    """Return what `extract` describes, still as syntax; the tree holds no docstrings any more.

    Raises: SyntaxError where Python cannot parse the source, NUL bytes and endless nesting included.
    """
    try:
        with warnings.catch_warnings():  # "\\d" in somebody's source is not ours to report
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        found = tuple(_walk(tree.body, prefix="", in_class=False))
        for definition in found:
            if definition.docstring is not None:
                definition.node.body = definition.node.body[1:]
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"source cannot be parsed: {error}") from error
    return found


def body_hash(node: DefinitionNode) -> str:
    """Return the MD5 of what a definition does, whatever its name; of a class without its methods."""
    body = node.body
    if isinstance(node, ast.ClassDef):
        body = [statement for statement in body if not isinstance(statement, _DEFINITIONS)]
        head = [*node.bases, *node.keywords]
    else:
        head = [node.args, *([node.returns] if node.returns else [])]
    dumped = "\n".join(ast.dump(part) for part in (*node.decorator_list, *head, *body))
    return hashlib.md5(f"{type(node).__name__}\n{dumped}".encode(), usedforsecurity=False).hexdigest()


def _walk(statements: Iterable[ast.stmt], *, prefix: str, in_class: bool) -> Iterator[Definition]:
    for statement in statements:
        if not isinstance(statement, _DEFINITIONS):
            inner = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt))
            yield from _walk([*inner, *_branches(statement)], prefix=prefix, in_class=in_class)
            continue
        name = prefix + statement.name
        kind = _SCOPED_KINDS[type(statement), in_class]
        yield Definition(name, kind, _first_docstring_line(statement), statement)
        inside = isinstance(statement, ast.ClassDef)
        yield from _walk(statement.body, prefix=f"{name}.", in_class=inside)


def _branches(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Statements one level down in `except` and `case`, which are no statements themselves."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.ExceptHandler | ast.match_case):
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
        decorators=tuple(f"@{ast.unparse(decorator)}" for decorator in node.decorator_list),
        line=node.lineno,
        end_line=definition.last_line,
        body_hash=body_hash(node),
    )


def _signature(node: DefinitionNode, *, is_method: bool) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in (*node.bases, *node.keywords))
        return f"{node.name}({bases})" if bases else node.name
    arguments = ast.unparse(node.args)
    if is_method:
        first, _, rest = arguments.partition(", ")
        arguments = rest if first in {"self", "cls"} else arguments
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){returns}"

"""Find the functions, methods and classes that a Python source defines.

Pure functions over text; `languages.diff` tells which definitions changed. `_fingerprint` and `_text` take
a fifth of the time of `ast.dump` and `ast.unparse`.
"""

import ast
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef

MAX_FUNCTIONS = 500  # a file with more is taken to be generated
# Kinds that are not functions; their members are methods.
TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "type", "module"})

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SIMPLE = frozenset({
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Delete,
    ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue,
})  # fmt: skip
_UNSEEN = frozenset({"ctx", "type_comment", "kind", "type_ignores"})
_OPERANDS = frozenset({ast.Name, ast.Attribute, ast.Subscript, ast.Constant})
_NODES = [node for node in vars(ast).values() if isinstance(node, type) and issubclass(node, ast.AST)]
_FIELDS = {node: tuple(field for field in node._fields if field not in _UNSEEN) for node in _NODES}


@dataclass(frozen=True, slots=True)
class Function:
    """A function, method or type as its file defines it; `is_empty` if its body has no code yet."""

    qualified_name: str
    kind: str
    signature: str
    docstring: str | None
    decorators: tuple[str, ...]
    line: int
    end_line: int
    body_hash: str
    is_empty: bool = False


def extract(source: str, *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
    """Functions, methods and classes of a source, nested ones too, in the order of their lines.

    If a name is defined more than once, the last definition counts, as in Python; a property's accessors are
    one function. `signature` leaves out `self` and `cls`; `body_hash` stays the same when only the name, the
    docstring, comments or whitespace change. Raises: SyntaxError where Python cannot parse the source.
    """
    try:
        return describe(parse(source), limit=limit)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError(f"source nested too deeply to describe: {error}") from error


def parse(source: str | bytes) -> ast.Module:
    """Return a source's syntax tree.

    Raises: SyntaxError where Python cannot parse it, also for NUL bytes and too deep nesting.
    """
    try:
        with warnings.catch_warnings():  # a wrong escape in the user's source is not ours to report
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"source cannot be parsed: {error}") from error


def describe(tree: ast.Module, *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
    """Describe a tree's definitions, one per name, at most `limit`; removes the docstrings from the tree."""
    by_name: dict[str, Function] = {}
    found = [(*each, _taken_docstring(each[-1])) for each in _walk(tree.body)]
    for name, kind, node, docstring in found:
        earlier = by_name.pop(name, None)
        if earlier is None and len(by_name) >= limit:
            break
        function = Function(
            qualified_name=name,
            kind=kind,
            signature=_signature(node, is_method=kind.endswith("method")),
            docstring=docstring,
            decorators=tuple([f"@{_text(decorator)}" for decorator in node.decorator_list]),
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            body_hash=_body_hash(node),
            is_empty=not node.body,
        )
        if earlier is not None and _is_accessor(node):
            both = hashlib.md5((earlier.body_hash + function.body_hash).encode(), usedforsecurity=False)
            decorators = earlier.decorators + function.decorators
            function = replace(
                earlier, decorators=decorators, end_line=function.end_line, body_hash=both.hexdigest()
            )
        by_name[name] = function
    return tuple(by_name.values())


def _walk(
    statements: Iterable[ast.stmt], *, prefix: str = "", in_class: bool = False
) -> Iterator[tuple[str, str, DefinitionNode]]:
    """Yield each definition's qualified name, its kind and its node."""
    for statement in statements:
        if isinstance(statement, _DEFINITIONS):
            name = prefix + statement.name
            is_class = isinstance(statement, ast.ClassDef)
            is_async = isinstance(statement, ast.AsyncFunctionDef)
            function = f"{'async_' if is_async else ''}{'method' if in_class else 'function'}"
            yield name, "class" if is_class else function, statement
            yield from _walk(statement.body, prefix=f"{name}.", in_class=is_class)
        elif statement.__class__ not in _SIMPLE:
            yield from _walk(_inside(statement), prefix=prefix, in_class=in_class)


def _inside(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements one level down: those of branches, of `except` and of `case`."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(statement, field, ()):
            if isinstance(child, ast.stmt):
                yield child
            else:
                yield from child.body


def _taken_docstring(node: DefinitionNode) -> str | None:
    """Remove a definition's docstring from the tree and return its first line."""
    text = ast.get_docstring(node)
    if text is None:
        return None
    node.body = node.body[1:]
    return text.strip().partition("\n")[0].strip()


def _is_accessor(node: DefinitionNode) -> bool:
    """Tell whether a function is the setter, getter or deleter of a property defined before it."""
    return any(
        isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == node.name
        for each in node.decorator_list
    )


def _body_hash(node: DefinitionNode) -> str:
    """Return the MD5 of a definition without its name, and of a class without its methods."""
    body = node.body
    if isinstance(node, ast.ClassDef):
        body = [statement for statement in body if not isinstance(statement, _DEFINITIONS)]
        head: list[ast.AST] = [*node.bases, *node.keywords]
    else:
        head = [node.args, *([node.returns] if node.returns else [])]
    head += getattr(node, "type_params", [])  # Python 3.12
    return _fingerprint(type(node).__name__, [*node.decorator_list, *head, *body])


def _signature(node: DefinitionNode, *, is_method: bool) -> str:
    generic = getattr(node, "type_params", [])  # Python 3.12
    name = f"{node.name}[{', '.join(map(ast.unparse, generic))}]" if generic else node.name
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in (*node.bases, *node.keywords))
        return f"{name}({bases})" if bases else name
    returns = f" -> {_text(node.returns)}" if node.returns else ""
    return f"{name}({_parameters(node.args, skip_first=is_method)}){returns}"


def _fingerprint(head: str, nodes: Sequence[ast.AST]) -> str:
    """Return the MD5 of syntax as 32 hex digits, ignoring positions, quotes and redundant brackets."""
    out = [head]
    try:
        for node in nodes:
            _dump(node, out.append)
    except RecursionError:  # some 900 levels deep: the nodes by level identify it nearly as well
        out = [head]
        for node in nodes:
            out += [
                f"{type(each).__name__} {getattr(each, 'id', getattr(each, 'value', ''))!s:.200}"
                if isinstance(each, ast.Name | ast.Constant)
                else type(each).__name__
                for each in ast.walk(node)
            ]
    return hashlib.md5("\n".join(out).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _dump(node: Any, out: Callable[[str], object]) -> None:
    kind = node.__class__
    if kind is ast.Name:
        out(node.id)
    elif kind is ast.Constant:
        out(repr(node.value))
    elif kind is ast.Attribute:  # these four kinds are most of all nodes
        out(".")
        _dump(node.value, out)
        out(node.attr)
    elif kind is ast.Call:
        out(f"({len(node.args)} {len(node.keywords)}")
        _dump(node.func, out)
        for each in node.args:
            _dump(each, out)
        for word in node.keywords:
            out(f"={word.arg}")
            _dump(word.value, out)
    else:
        out(kind.__name__)
        for field in _FIELDS[kind]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                out("[")
                for item in value:
                    if isinstance(item, ast.AST):
                        _dump(item, out)
                    else:
                        out(str(item))
                out("]")
            elif isinstance(value, ast.AST):
                _dump(value, out)
            else:
                out(str(value))


def _text(node: Any) -> str:
    """Return an expression's source as `ast.unparse` writes it."""
    kind = node.__class__
    if kind is ast.Name:
        return node.id  # type: ignore[no-any-return]
    if kind is ast.Attribute and node.value.__class__ is not ast.Constant:
        return f"{_inner(node.value)}.{node.attr}"
    if kind is ast.Constant and node.value.__class__ in {bool, type(None), int}:
        return repr(node.value)
    if kind is ast.Subscript:
        inner = node.slice
        if inner.__class__ in {ast.Name, ast.Attribute, ast.Subscript}:
            return f"{_inner(node.value)}[{_text(inner)}]"
        if inner.__class__ is ast.Tuple and len(inner.elts) > 1:
            return f"{_inner(node.value)}[{', '.join(map(_text, inner.elts))}]"
    is_union = kind is ast.BinOp and node.op.__class__ is ast.BitOr
    if is_union and node.right.__class__ in _OPERANDS and node.left.__class__ in {*_OPERANDS, ast.BinOp}:
        return f"{_text(node.left)} | {_text(node.right)}"
    return ast.unparse(node)


def _inner(node: ast.expr) -> str:
    return (
        _text(node)
        if isinstance(node, ast.Name | ast.Attribute)
        else ast.unparse(ast.Attribute(node, ""))[:-1]
    )


def _parameters(node: ast.arguments, *, skip_first: bool) -> str:
    """Return the text between a definition's brackets; `skip_first` leaves out `self` or `cls`."""
    plain = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(plain) - len(node.defaults)) + node.defaults
    parts = []
    for index, (arg, default) in enumerate(zip(plain, defaults, strict=True)):
        if not (skip_first and index == 0 and arg.arg in {"self", "cls"}):
            parts.append(_parameter(arg, default))
        if index + 1 == len(node.posonlyargs) and parts:
            parts.append("/")
    if node.vararg:
        parts.append(f"*{_parameter(node.vararg, None)}")
    elif node.kwonlyargs:
        parts.append("*")
    parts += [_parameter(*pair) for pair in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
    if node.kwarg:
        parts.append(f"**{_parameter(node.kwarg, None)}")
    return ", ".join(parts)


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    annotated = f"{arg.arg}: {_text(arg.annotation)}" if arg.annotation else arg.arg
    return annotated if default is None else f"{annotated}={_text(default)}"

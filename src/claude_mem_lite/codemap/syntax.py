"""Syntax trees as text: a fingerprint that knows no positions, and source for signatures.

Both do in a few lines what `ast.dump` and `ast.unparse` do in general, at a fifth of their time.
"""

import ast
import hashlib
from collections.abc import Callable, Iterable
from typing import Any

_UNSEEN = frozenset({"ctx", "type_comment", "kind", "type_ignores"})
_OPERANDS = frozenset({ast.Name, ast.Attribute, ast.Subscript, ast.Constant})
_NODES = [node for node in vars(ast).values() if isinstance(node, type) and issubclass(node, ast.AST)]
_FIELDS = {node: tuple(field for field in node._fields if field not in _UNSEEN) for node in _NODES}


def fingerprint(head: str, nodes: Iterable[ast.AST]) -> str:
    """Return the MD5 of syntax, 32 hex digits; positions, quotes and needless brackets do not count."""
    nodes = list(nodes)
    out = [head]
    try:
        for node in nodes:
            _dump(node, out.append)
    except RecursionError:  # an expression some 900 deep: its nodes by level tell nearly as much
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
    elif kind is ast.Attribute:  # these four are most of what there is
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


def text(node: Any) -> str:
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
            return f"{_inner(node.value)}[{text(inner)}]"
        if inner.__class__ is ast.Tuple and len(inner.elts) > 1:
            return f"{_inner(node.value)}[{', '.join(map(text, inner.elts))}]"
    is_union = kind is ast.BinOp and node.op.__class__ is ast.BitOr
    if is_union and node.right.__class__ in _OPERANDS and node.left.__class__ in {*_OPERANDS, ast.BinOp}:
        return f"{text(node.left)} | {text(node.right)}"
    return ast.unparse(node)


def _inner(node: ast.expr) -> str:
    return (
        text(node)
        if isinstance(node, ast.Name | ast.Attribute)
        else ast.unparse(ast.Attribute(node, ""))[:-1]
    )


def parameters(node: ast.arguments, *, skip_first: bool = False) -> str:
    """Return what stands between a definition's brackets; without `self` or `cls` where asked to skip it."""
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
    annotated = f"{arg.arg}: {text(arg.annotation)}" if arg.annotation else arg.arg
    return annotated if default is None else f"{annotated}={text(default)}"

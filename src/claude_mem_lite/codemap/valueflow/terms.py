"""Define the terms that the solver evaluates, a file's scopes and their statements, and pack them as bytes.

`expression_terms` has the terms of expressions; `lowering` makes both from a syntax tree. They hold what the
solver needs of it and nothing that depends on other files, so that only a changed file is lowered again.
A term is never changed once it is made; frozen classes would enforce that, but take twice as long to make.

Reading packed scopes back costs less than parsing the file again. Terms are written one after another, outer
ones first, each as its class and its length: this needs no recursion, however deep they are nested.
"""

from __future__ import annotations

import dataclasses
import marshal
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Union

from claude_mem_lite.codemap.valueflow import expression_terms
from claude_mem_lite.codemap.valueflow.expression_terms import Expr


@dataclass(slots=True)
class Evaluate:
    """An expression as a statement."""

    value: Expr


@dataclass(slots=True)
class Assign:
    """`targets = value`."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(slots=True)
class AnnotatedAssign:
    """`target: annotation = value`."""

    target: Expr
    annotation: Expr
    value: Expr


@dataclass(slots=True)
class AugmentedAssign:
    """`target += value`; `load` is the target as an expression."""

    target: Expr
    operator: str
    load: Expr
    value: Expr
    line: int


@dataclass(slots=True)
class Return:
    """`return value`; also the body of a lambda."""

    value: Expr


@dataclass(slots=True)
class Raise:
    """`raise value from cause`."""

    value: Expr
    cause: Expr
    line: int


@dataclass(slots=True)
class Leave:
    """`break` or `continue`."""


@dataclass(slots=True)
class Assert:
    """`assert test, message`."""

    test: Expr
    message: Expr


@dataclass(slots=True)
class If:
    """`if`."""

    test: Expr
    body: Block
    orelse: Block
    line: int


@dataclass(slots=True)
class For:
    """`for` and `async for`."""

    target: Expr
    source: Expr
    body: Block
    orelse: Block
    line: int
    is_async: bool


@dataclass(slots=True)
class While:
    """`while`."""

    test: Expr
    body: Block
    orelse: Block
    line: int


@dataclass(slots=True)
class Handler:
    """`except type as name` of a `try`."""

    type: Expr
    name: str | None
    body: Block


@dataclass(slots=True)
class Try:
    """`try`."""

    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block


@dataclass(slots=True)
class With:
    """`with` and `async with`; `items` are pairs of a manager and its target."""

    items: tuple[tuple[Expr, Expr], ...]
    body: Block
    line: int
    is_async: bool


@dataclass(slots=True)
class FunctionDefinition:
    """`def`, by the index of its scope."""

    name: str
    scope: int


@dataclass(slots=True)
class ClassDefinition:
    """`class`, by the index of its scope."""

    name: str
    scope: int


@dataclass(slots=True)
class Import:
    """`import`; `names` are pairs of a module and the name after `as`."""

    names: tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class ImportFrom:
    """`from module import`; `level` counts the dots."""

    module: str
    level: int
    names: tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class Delete:
    """`del`; `items` are the objects that items are deleted from, each with its line."""

    items: tuple[tuple[Expr, int], ...]


@dataclass(slots=True)
class Case:
    """One case of a `match`; `classes` are those of its pattern, each with the name that it binds."""

    classes: tuple[tuple[Expr, str | None], ...]
    guard: Expr
    body: Block


@dataclass(slots=True)
class Match:
    """`match`."""

    subject: Expr
    cases: tuple[Case, ...]


Statement = Union[  # noqa: UP007
    Evaluate, Assign, AnnotatedAssign, AugmentedAssign, Return, Raise, Leave, Assert, If, For, While, Try,
    With, FunctionDefinition, ClassDefinition, Import, ImportFrom, Delete, Match,
]  # fmt: skip
Block = tuple[Statement, ...]


@dataclass(slots=True)
class Parameter:
    """One parameter; `kind` is "" for a plain one, "k" keyword only, "*" or "**"."""

    name: str
    kind: str
    annotation: Expr
    default: Expr


@dataclass(slots=True)
class Scope:
    """A module, class, function or lambda.

    `name` is qualified within its file, `parent` an index into the file's scopes (module: -1). `bound` are
    the names that it binds, `outer` those it declares `global` or `nonlocal`. `is_stub`: the body does
    nothing, or only raises NotImplementedError.
    """

    name: str
    kind: str
    line: int
    parent: int
    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[Expr, ...] = ()
    returns: Expr = None
    bases: tuple[Expr, ...] = ()
    metaclass: Expr = None
    body: Block = ()
    bound: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    is_async: bool = False
    is_generator: bool = False
    is_stub: bool = False


def import_statements(block: Block) -> Iterator[Import | ImportFrom]:
    """Yield the imports among statements and in their branches, except `except`, which seldom runs."""
    for statement in block:
        if type(statement) is Import or type(statement) is ImportFrom:
            yield statement
        elif type(statement) is If:
            yield from import_statements(statement.body + statement.orelse)
        elif type(statement) is Try:
            yield from import_statements(statement.body + statement.orelse + statement.final)


_TERMS: list[Any] = [
    each for each in (*vars(expression_terms).values(), *globals().values()) if dataclasses.is_dataclass(each)
]
_FIELDS = [tuple(field.name for field in dataclasses.fields(each)) for each in _TERMS]
_TUPLE = -1  # marks a tuple in place of a term's number
# marshal's format depends on the Python version. Data of other versions of Python or the terms is made again.
FORMAT = ("terms", zlib.crc32(repr((_TERMS, _FIELDS)).encode()), sys.version_info[:2])


def pack(scopes: tuple[Scope, ...], shown: Callable[[Collection[str]], Mapping[str, str]]) -> bytes:
    """Return the scopes as bytes, about 20 kB per thousand lines.

    `shown` takes all texts in them and returns replacements for those that may not be stored as they are.
    """
    numbers = {each: number for number, each in enumerate(_TERMS)}
    heads: dict[tuple[int, int], tuple[int, int]] = {}  # shared: marshal writes an object only once
    written: list[Any] = []
    waiting: list[Any] = [scopes]
    while waiting:
        value = waiting.pop()
        number = numbers.get(value.__class__, _TUPLE)
        if number != _TUPLE:
            value = [getattr(value, name) for name in _FIELDS[number]]
        elif not isinstance(value, tuple):
            written.append(value)
            continue
        head = (number, len(value))
        written.append(heads.setdefault(head, head))
        waiting += value
    others = shown({each for each in written if each.__class__ is str})
    if others:
        written = [others.get(each, each) if each.__class__ is str else each for each in written]
    return zlib.compress(marshal.dumps((FORMAT, written)), 3)


def unpack(data: bytes) -> tuple[Scope, ...] | None:
    """Return packed scopes; None where another version wrote them or they are damaged."""
    try:
        version, written = marshal.loads(zlib.decompress(data))  # noqa: S302  (our own file; runs nothing)
        return _read(written) if version == FORMAT else None
    except (zlib.error, ValueError, TypeError, EOFError, IndexError):
        return None


def _read(written: list[Any]) -> tuple[Scope, ...]:
    """Build terms from `written`, reading it from the end, so that parts come before their term."""
    made: list[Any] = []
    while written:
        value = written.pop()
        if value.__class__ is tuple:
            number, length = value
            start = len(made) - length
            parts = made[start:]
            del made[start:]
            value = tuple(parts) if number == _TUPLE else _TERMS[number](*parts)
        elif value.__class__ is str:
            value = sys.intern(value)  # many files have the same names
        made.append(value)
    (scopes,) = made
    return scopes  # type: ignore[no-any-return]

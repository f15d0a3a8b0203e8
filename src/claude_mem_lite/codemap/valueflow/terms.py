"""Define the terms that the solver evaluates: a file's scopes, their statements and their expressions.

`lowering` makes them of a syntax tree. They hold what the solver needs of it and nothing that changes with
other files, so that a changed file is lowered again and no other. Nobody changes a term once it is made;
frozen classes would say so, and take twice as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

# Expressions. None is an expression of which nothing can be known.


@dataclass(slots=True)
class Name:
    """A name that is read or bound."""

    name: str


@dataclass(slots=True)
class Attribute:
    """`base.attr`."""

    base: Expr
    attr: str
    line: int


@dataclass(slots=True)
class Call:
    """`function(*arguments, **keywords)`; a keyword without a name is `**value`."""

    function: Expr
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]
    line: int


@dataclass(slots=True)
class Subscript:
    """`base[key]`; a slice is a key of the kind `Several`."""

    base: Expr
    key: Expr
    line: int


@dataclass(slots=True)
class Generic:
    """`base[arguments]` in an annotation."""

    base: Expr
    arguments: tuple[Expr, ...]


@dataclass(slots=True)
class Constant:
    """A short text or a small number: it may be a key, a place or the name of an attribute."""

    value: str | int


@dataclass(slots=True)
class Builtin:
    """Any other constant, by the name of its type."""

    type_name: str


@dataclass(slots=True)
class Listing:
    """A list or set."""

    elements: tuple[Expr, ...]


@dataclass(slots=True)
class Tuple:
    """A tuple, or the targets that one is unpacked to."""

    elements: tuple[Expr, ...]


@dataclass(slots=True)
class Starred:
    """`*value`; without a value, as the key of a dict, it stands for `**`."""

    value: Expr


@dataclass(slots=True)
class Dictionary:
    """A dict."""

    keys: tuple[Expr, ...]
    values: tuple[Expr, ...]


@dataclass(slots=True)
class Loop:
    """`for target in source if tests` of a comprehension."""

    target: Expr
    source: Expr
    tests: tuple[Expr, ...]
    is_async: bool
    line: int


@dataclass(slots=True)
class Comprehension:
    """A comprehension; `elements` are the key and the value where `is_dict`."""

    is_dict: bool
    elements: tuple[Expr, ...]
    loops: tuple[Loop, ...]


@dataclass(slots=True)
class Lambda:
    """A lambda, by the index of its scope."""

    scope: int


@dataclass(slots=True)
class Either:
    """`and` and `or`; in an annotation also `|`."""

    is_and: bool
    operands: tuple[Expr, ...]


@dataclass(slots=True)
class Choice:
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr
    line: int


@dataclass(slots=True)
class Operator:
    """An operator by the name of its special method.

    `str` and `format` stand for the parts of an f-string, `bool` for `not`.
    """

    name: str
    left: Expr
    right: Expr
    line: int


@dataclass(slots=True)
class Several:
    """Expressions that are evaluated for the calls in them; what they give together is not known."""

    parts: tuple[Expr, ...]


@dataclass(slots=True)
class Await:
    """`await value`."""

    value: Expr
    line: int


@dataclass(slots=True)
class Yield:
    """`yield value`."""

    value: Expr


@dataclass(slots=True)
class YieldFrom:
    """`yield from value`."""

    value: Expr
    line: int


@dataclass(slots=True)
class Walrus:
    """`target := value`."""

    target: Expr
    value: Expr


Expr = Union[  # noqa: UP007 - evaluated when the module is loaded, with names that are no types yet
    Name, Attribute, Call, Subscript, Generic, Constant, Builtin, Listing, Tuple, Starred, Dictionary,
    Comprehension, Lambda, Either, Choice, Operator, Several, Await, Yield, YieldFrom, Walrus, None,
]  # fmt: skip


# Statements


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
    """`del`; `items` are what items are deleted from, each with its line."""

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


# Scopes


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
    the names that it binds, `outer` those it declares `global` or `nonlocal`. `is_stub`: the body only says
    that a subclass is to do it.
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


def is_name(node: Expr, name: str) -> bool:
    """Tell whether an expression is this name."""
    return type(node) is Name and node.name == name


def last_name(node: Expr) -> str:
    """Return the last part of a dotted name, "" for any other expression."""
    if type(node) is Name:
        return node.name
    return node.attr if type(node) is Attribute else ""


def import_statements(block: Block) -> Iterator[Import | ImportFrom]:
    """Yield the imports among statements and in their branches, but for `except`, which seldom runs."""
    for statement in block:
        if type(statement) is Import or type(statement) is ImportFrom:
            yield statement
        elif type(statement) is If:
            yield from import_statements(statement.body + statement.orelse)
        elif type(statement) is Try:
            yield from import_statements(statement.body + statement.orelse + statement.final)

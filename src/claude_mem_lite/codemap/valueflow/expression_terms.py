"""Define the terms of expressions. None is an expression of which nothing can be known."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Union

# The special method of each operator, without its underscores.
_OPERATORS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "MatMult": "matmul", "Div": "truediv", "Mod": "mod",
    "Pow": "pow", "LShift": "lshift", "RShift": "rshift", "BitOr": "or", "BitXor": "xor",
    "BitAnd": "and", "FloorDiv": "floordiv", "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le",
    "Gt": "gt", "GtE": "ge", "In": "contains", "NotIn": "contains", "USub": "neg", "UAdd": "pos",
    "Invert": "invert", "Not": "bool",
}  # fmt: skip
OPERATORS = {getattr(ast, name): special for name, special in _OPERATORS.items()}


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
    """Expressions that are evaluated for the calls in them; their combined value is unknown."""

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


def is_name(node: Expr, name: str) -> bool:
    """Tell whether an expression is this name."""
    return type(node) is Name and node.name == name


def last_name(node: Expr) -> str:
    """Return the last part of a dotted name, "" for any other expression."""
    if type(node) is Name:
        return node.name
    return node.attr if type(node) is Attribute else ""

"""Define what a term may be when it is evaluated, and what a language brings along for that."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple


class Value(NamedTuple):
    """What a term may be: a "function", "class", "instance", "module" or "namespace", by file and scope.

    A "signature" is a function of which the type alone is known (`extra`), an "alias" a type by another name;
    a "builtin" is of a type of the language (`path`) with its arguments (`extra`), a "builtin method" one of
    its methods; "outside" is all that the project does not define. `env` are the type arguments by name,
    `receiver` is what a method was taken from.
    """

    kind: str
    path: str = ""
    scope: int = 0
    env: Env = ()
    receiver: tuple[Any, ...] = ()
    extra: Any = ()


Values = tuple[Value, ...]
Env = tuple[tuple[str, tuple[Any, ...]], ...]
OUTSIDE = (Value("outside"),)
Place = int | str | tuple[Any, ...] | None


class At(NamedTuple):
    """Where a term is written: file and scope; and the type arguments that hold there."""

    path: str
    scope: int
    env: Env = ()


class Builtins(NamedTuple):
    """What a language brings along.

    `globals` are names that need no import, `unknown` types of which nothing is known, `containers` types
    whose arguments are known by place, `transparent` types that stand for their first argument, `awaited`
    those that `await` opens. `elements` says which argument a loop is over. `results` says by type and method
    what is returned: an argument by its place, "self", None for what is not known, or another type of such
    parts, e.g. ("Array", 1); `passed` what a function that is handed over is given, by place. `noise` are
    methods that are not told of where their receiver is unknown. Where it `implies_this`, a class sees its
    members without `this`.
    """

    globals: frozenset[str]
    unknown: frozenset[str]
    containers: frozenset[str]
    elements: Mapping[str, int]
    results: Mapping[tuple[str, str], Place]
    passed: Mapping[tuple[str, str], tuple[Place, ...]]
    noise: frozenset[str]
    transparent: frozenset[str] = frozenset()
    awaited: frozenset[str] = frozenset()
    implies_this: bool = False


class Finder(ABC):
    """Finds the files of a module that another file imports."""

    @abstractmethod
    def find(self, path: str, module: str) -> str:
        """Return the file that a module is, as it is written in a file; "" for one outside of the project."""

    def package(self, _path: str) -> str:
        """Return the package of a file, whose files see each other's exports; "" for none."""
        return ""


def by_method(*rows: tuple[str, str, Any]) -> dict[tuple[str, str], Any]:
    """Return what rows say by type and method, of which each names several: `results` or `passed`."""
    return {
        (kind, name): what for kinds, names, what in rows for kind in kinds.split() for name in names.split()
    }


def folders_of(paths: Iterable[str]) -> list[str]:
    """Return the folders that hold files, and those above them, from "" down."""
    return sorted({above for folder in set(map(posixpath.dirname, paths)) for above in and_above(folder)})


def and_above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, "" last."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def argument_of(value: Value, place: Place) -> Values:
    """Return an argument of a builtin's type, or what is made of it, as `Builtins` writes it."""
    if place is None:
        return ()
    if place == "self":
        return (value,)
    if isinstance(place, int):
        found: Values = value.extra[place] if place < len(value.extra) else ()
        return found
    return (Value("builtin", place[0], extra=tuple([argument_of(value, each) for each in place[1:]])),)

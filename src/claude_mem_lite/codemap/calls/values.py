"""Define the values that terms may have, and what evaluation knows of a language's built-ins."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple


class Value(NamedTuple):
    """A value of a term: a "function", "class", "instance", "module" or "namespace", by file and scope.

    A "signature" is a function of which only the type is known (`extra`), an "alias" another name of a type.
    A "builtin" has a type of the language (`path`) with type arguments (`extra`), and a "builtin method" is
    one of its methods. "outside" is everything that the project does not define. `env` are the type arguments
    by name, `receiver` is the value that a method was taken from.
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
    """The place of a term: its file, its scope, and the type arguments that hold there."""

    path: str
    scope: int
    env: Env = ()


class Builtins(NamedTuple):
    """The built-in names and types of a language.

    `globals` are names that need no import, `unknown` types of which nothing is known, `containers` types
    whose arguments are known by place, `transparent` types that stand for their first argument, `awaited`
    types that `await` unwraps. `elements` maps types to the place of the argument that a loop iterates over.
    `results` maps type and method to the result: an argument by place, "self", None for unknown, or another
    type of such parts, e.g. ("Array", 1). `passed` maps them to the arguments of a function that the method
    takes. `noise` are methods that are not reported when their receiver is unknown. With `implies_this`, a
    class sees its members without `this`.
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
    """Finds the file of a module that another file imports."""

    @abstractmethod
    def find(self, path: str, module: str) -> str:
        """Return the file of a module as the file `path` names it; "" for one outside of the project."""

    def package(self, _path: str) -> str:
        """Return the package of a file, whose files see each other's exports; "" for none."""
        return ""


def by_method(*rows: tuple[str, str, Any]) -> dict[tuple[str, str], Any]:
    """Expand rows that each name several types and methods to a mapping like `results` or `passed`."""
    return {
        (kind, name): what for kinds, names, what in rows for kind in kinds.split() for name in names.split()
    }


def folders_of(paths: Iterable[str]) -> list[str]:
    """Return the folders that hold files and those above them, sorted, "" first."""
    return sorted({above for folder in set(map(posixpath.dirname, paths)) for above in and_above(folder)})


def and_above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, "" last."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def argument_of(value: Value, place: Place) -> Values:
    """Return the type argument of a builtin at a `Place` of `Builtins`, or the value that it describes."""
    if place is None:
        return ()
    if place == "self":
        return (value,)
    if isinstance(place, int):
        found: Values = value.extra[place] if place < len(value.extra) else ()
        return found
    return (Value("builtin", place[0], extra=tuple([argument_of(value, each) for each in place[1:]])),)

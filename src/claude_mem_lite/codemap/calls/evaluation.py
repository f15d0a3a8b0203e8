"""Evaluate terms to the values that they may have, each term once.

Nothing is iterated to a fixed point: a term that depends on itself is unknown. The subclasses of `Evaluation`
say how each kind of term is evaluated: a method `on_KIND` is given where the term is written, and its items.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping

from claude_mem_lite.codemap.calls.facts import Facts, Scope, Term
from claude_mem_lite.codemap.calls.values import At, Builtins, Finder, Value, Values

_MAX_VALUES = 8  # that one term may have
_MAX_DEPTH = 40  # of terms that rest on each other
MAX_STEPS = 2_000  # terms evaluated for one call
CLASSES = frozenset({"class", "interface", "object", "impl"})


class Evaluation(ABC):
    """The files of languages that import each other, by path; terms are evaluated once."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        """Take files that see each other, and what finds the modules that they import."""
        self.files = files
        self.builtins = builtins
        self.finder = finder
        self.steps = 0  # taken for the call at hand
        self._depth = 0
        self._memo: dict[tuple[At, Term], Values] = {}
        self._on: dict[str, Callable[..., Iterable[Value]]] = {
            name.removeprefix("on_"): getattr(self, name) for name in dir(self) if name.startswith("on_")
        }

    @abstractmethod
    def member(self, value: Value, name: str) -> Values:
        """Return what an attribute of a value may be."""

    @abstractmethod
    def on_this(self, at: At) -> Values:
        """Return the instance or class around."""

    def start(self, at: At, term: Term) -> Values:
        """Return what a term may be, with all the steps that one call may take."""
        self.steps = 0
        return self.values(at, term)

    def values(self, at: At, term: Term) -> Values:
        """Return what a term may be: none where nothing is known of it."""
        if term is None:
            return ()
        key = (at, term)
        known = self._memo.get(key)
        if known is not None:
            return known
        self.steps += 1
        if self._depth >= _MAX_DEPTH or self.steps > MAX_STEPS:
            return ()
        self._memo[key] = ()
        self._depth += 1
        found = tuple(dict.fromkeys(self._on[term[0]](at, *term[1:])))[:_MAX_VALUES]
        self._depth -= 1
        self._memo[key] = found
        return found

    def scope(self, place: Value | At) -> Scope:
        """Return the scope of a function, class, instance or namespace, or of a place."""
        return self.files[place.path].scopes[place.scope]


def flat(values: Iterable[Values]) -> Values:
    """Return all of several values."""
    return tuple(itertools.chain.from_iterable(values))


def last(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition(".")[2]


def inside(value: Value) -> At:
    """Return where what a value holds is written."""
    return At(value.path, value.scope, value.env)

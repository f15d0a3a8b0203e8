"""Evaluate terms to the values that they may have, each term once.

Nothing is iterated to a fixed point: a term that depends on itself is unknown. How each kind of term is
evaluated is said by the parts of a family of languages: a method `on_KIND` is given where the term is
written, and its items.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from claude_mem_lite.codemap.calls.facts import Facts, Scope, Term
from claude_mem_lite.codemap.calls.values import At, Builtins, Value, Values

_MAX_VALUES = 8  # that one term may have
_MAX_DEPTH = 40  # of terms that rest on each other
MAX_STEPS = 2_000  # terms evaluated for one call
CLASSES = frozenset({"class", "interface", "object", "impl"})


class Rules(NamedTuple):
    """What a family of languages does its own way.

    `parts` have the methods `on_KIND`; of two of one name the later part's counts. `member` returns what an
    attribute of a value may be, `result` what a call of it returns, `given` what it gives to a function at a
    place, `this` the instance or class around.
    """

    parts: tuple[object, ...]
    member: Callable[[Value, str], Values]
    result: Callable[[Value], Values]
    given: Callable[[Value, int], Values]
    this: Callable[[At], Values]


class Evaluation:
    """The files of languages that import each other, by path; terms are evaluated once."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins) -> None:
        """Take files that see each other; nothing is evaluated before it is told the rules to `follow`."""
        self.files = files
        self.builtins = builtins
        self.steps = 0  # taken for the call at hand
        self._depth = 0
        self._memo: dict[tuple[At, Term], Values] = {}
        self._on: dict[str, Callable[..., Iterable[Value]]] = {}

    def follow(self, rules: Rules) -> None:
        """Evaluate by the rules of a family from now on."""
        for part in rules.parts:
            names = (name for name in dir(part) if name.startswith("on_"))
            self._on |= {name.removeprefix("on_"): getattr(part, name) for name in names}
        self.member, self.result, self.given, self.this = rules[1:]

    def forget(self) -> None:
        """Forget what was evaluated."""
        self._memo.clear()

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

    def scope(self, value: Value) -> Scope:
        """Return the scope of a function, class, instance or namespace."""
        return self.files[value.path].scopes[value.scope]


class Part:
    """A part of a family's rules, with what all of them look at."""

    def __init__(self, evaluation: Evaluation) -> None:
        """Take what terms are evaluated by."""
        self._evaluation = evaluation
        self._values, self._scope = evaluation.values, evaluation.scope
        self._files, self._builtins = evaluation.files, evaluation.builtins


def last(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition(".")[2]


def inside(value: Value) -> At:
    """Return where what a value holds is written."""
    return At(value.path, value.scope, value.env)

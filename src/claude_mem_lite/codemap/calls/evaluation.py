"""Evaluate terms to the values that they may have, each term once.

There is no iteration to a fixed point: a term that depends on itself is unknown. Subclasses of `Evaluation`
define how each kind of term is evaluated, in a method `on_KIND` that takes the term's place and its items.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from claude_mem_lite.codemap.calls.facts import Facts, Scope, Term
from claude_mem_lite.codemap.calls.values import (
    OUTSIDE,
    At,
    Builtins,
    Env,
    Finder,
    Value,
    Values,
    argument_of,
)

_MAX_VALUES = 8  # per term
_MAX_DEPTH = 40  # of terms that depend on each other
MAX_STEPS = 2_000  # terms evaluated for one call
CLASSES = frozenset({"class", "interface", "object", "impl"})
_KINDS = {"object": "instance", "interface": "instance", "variant": "maker"}


class Evaluation(ABC):
    """Evaluates the terms of files whose languages import each other, each term once.

    This class holds what all languages share: type parameters, calls, construction and `await`, and the
    arguments that functions and objects are given.
    """

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        """Take files that see each other, by path, and the finder of the modules that they import."""
        self.files = files
        self.builtins = builtins
        self.finder = finder
        self.steps = 0  # spent on the current call
        self._depth = 0
        self._memo: dict[tuple[At, Term], Values] = {}
        self._on: dict[str, Callable[..., Iterable[Value]]] = {
            name.removeprefix("on_"): getattr(self, name) for name in dir(self) if name.startswith("on_")
        }

    @abstractmethod
    def member(self, value: Value, name: str) -> Values:
        """Return the values that an attribute of a value may have."""

    @abstractmethod
    def on_this(self, at: At) -> Values:
        """Return the enclosing instance or class."""

    def start(self, at: At, term: Term) -> Values:
        """Return the values of a call's term, with a fresh budget of `MAX_STEPS`."""
        self.steps = 0
        return self.values(at, term)

    def values(self, at: At, term: Term) -> Values:
        """Return the values that a term may have; none where nothing is known of it."""
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

    def of_name(self, at: At, name: str) -> Values | None:
        """Return what a type parameter is bound to, else its constraint; None for other names."""
        for known, values in at.env:
            if known == name:
                return values
        scopes, here = self.files[at.path].scopes, at.scope
        while here >= 0:
            for known, constraint in scopes[here].type_params:
                if known == name:
                    return self.values(At(at.path, here), constraint)
            here = scopes[here].parent
        return None

    def own_types(self, at: At) -> Env:
        """Return a scope's own type parameters, bound to their constraints."""
        return tuple([(name, self.values(at, of)) for name, of in self.scope(at).type_params])

    def bound(self, value: Value, arguments: Sequence[Values]) -> Value:
        """Return a value with its type parameters bound to arguments, or to their constraints without any."""
        given, at = dict(enumerate(arguments)), At(value.path, value.scope)
        own = tuple([
            (name, given.get(place) or self.values(at, of))
            for place, (name, of) in enumerate(self.scope(value).type_params)
        ])  # fmt: skip
        return value._replace(env=(*own, *value.env) if value.kind == "function" else own)

    def inferred(self, function: Value, arguments: Sequence[Values]) -> Value:
        """Return a function with the type arguments inferred from its arguments."""
        scope = self.scope(function)
        names = {name for name, _ in scope.type_params} - {name for name, _ in function.env}
        env: dict[str, Values] = {}
        for (declared, _), given in zip(scope.params, arguments, strict=False) if names else ():
            if not declared or declared[0] != "ref":
                continue
            pairs = [(declared, given)]
            pairs += [
                (inner, each.extra[place])
                for each in given
                if each.kind == "builtin" and (each.path,) == declared[1]
                for place, inner in enumerate(declared[2][: len(each.extra)])
            ]
            for inner, values in pairs:
                if inner and inner[0] == "ref" and len(inner[1]) == 1 and inner[1][0] in names and values:
                    env.setdefault(inner[1][0], values)
        return function._replace(env=(*env.items(), *function.env)) if env else function

    def unified(self, function: Value, at: At, declared: Term) -> Value:
        """Return a function with the type arguments inferred from the declared type of its result."""
        own, returned = self.scope(function).type_params, self.scope(function).return_type
        if not own or not returned or not declared or returned[0] != "ref" or declared[0] != "ref":
            return function
        names = {(name,): name for name, _ in own}
        env = [
            (names[left[1]], self.values(at, right))
            for left, right in zip(returned[2], declared[2], strict=False)
            if left and left[0] == "ref" and left[1] in names
        ]
        return function._replace(env=(*env, *function.env))

    def aliased(self, alias: Value, arguments: tuple[Values, ...]) -> Values:
        """Return the type that an alias stands for."""
        _, of, params = alias.extra
        given = dict(enumerate(arguments))
        env = tuple([(name, given.get(place, ())) for place, (name, _) in enumerate(params)])
        return self.values(At(alias.path, alias.scope, env), of)

    def on_param(self, at: At, index: int, place: int) -> Iterable[Value]:
        """Return the values of a parameter: by its type, else by its default and the function's context."""
        scope = self.files[at.path].scopes[index]
        declared, default = scope.params[place]
        here = at._replace(scope=index)
        if declared is not None:
            return self.values(here, declared)
        found = [*self.values(here, default)]
        for value in self.values(at._replace(scope=scope.parent), scope.context):
            found += self.given(value, place)
        return found

    def on_argument(
        self, at: At, callee: Term, place: int, types: tuple[Term, ...], declared: Term
    ) -> Iterator[Value]:
        """Yield what a call expects as an argument; `declared` is the declared type of its result."""
        arguments = tuple([self.values(at, each) for each in types])
        for value in self.values(at, callee):
            made: Values = (value,)
            if value.kind == "class":
                made = self.member(self.bound(value, arguments)._replace(kind="instance"), "constructor")
            for each in made:
                if each.kind == "builtin method":  # `given` knows what it passes to a function
                    yield each
                    continue
                bound = self.bound(each, arguments) if each.kind == "function" else each
                if declared is not None and each.kind == "function" and not types:
                    bound = self.unified(each, at, declared)
                yield from self.given(bound, place)

    def on_expected(self, at: At, index: int) -> Values:
        """Return what is expected at the place of an object or a function."""
        scope = self.files[at.path].scopes[index]
        return self.values(at._replace(scope=scope.parent), scope.context)

    def on_returned(self, at: At, index: int) -> Values:
        """Return what is expected of a function's result."""
        scope = self.files[at.path].scopes[index]
        if scope.return_type is not None:
            return self.values(at._replace(scope=index), scope.return_type)
        return flat([self.result(each) for each in self.on_expected(at, index)])

    def given(self, value: Value, place: int) -> Values:
        """Return the values that a function is given as the argument at `place`."""
        if value.kind == "signature":
            types = value.extra[1]
            return self.values(inside(value), types[place]) if place < len(types) else ()
        if value.kind == "function":
            params = self.scope(value).params
            return self.values(inside(value), params[place][0]) if place < len(params) else ()
        if value.kind == "builtin method":
            places = self.builtins.passed.get((value.path, value.extra), ())
            return argument_of(value.receiver[0], places[place]) if place < len(places) else OUTSIDE
        if value.kind == "instance":
            return flat([self.given(each, place) for each in self.member(value, "()")])
        return OUTSIDE if value.kind == "outside" else ()

    def on_call(
        self, at: At, callee: Term, types: tuple[Term, ...] = (), arguments: tuple[Term, ...] = ()
    ) -> Iterator[Value]:
        for value in self.values(at, callee):
            called = value
            if types and value.kind == "function":
                called = self.bound(value, [self.values(at, each) for each in types])
            elif arguments and value.kind == "function":
                called = self.inferred(value, [self.values(at, each) for each in arguments])
            yield from self.result(called)

    def result(self, value: Value) -> Values:
        """Return what a call of a value may return."""
        if value.kind == "outside":
            return OUTSIDE
        if value.kind == "class":
            return (value._replace(kind="instance"),)
        if value.kind == "signature":
            return self.values(inside(value), value.extra[2])
        if value.kind == "instance":
            return flat([self.result(each) for each in self.member(value, "()")])
        if value.kind == "builtin method":
            place = self.builtins.results.get((value.path, value.extra))
            return argument_of(value.receiver[0], place) if place is not None else OUTSIDE
        if value.kind != "function":
            return ()
        scope = self.scope(value)
        if scope.return_type is not None:
            if scope.return_type == ("this_type",) and value.receiver:
                return value.receiver
            return self.values(inside(value), scope.return_type)
        if ("this",) in scope.returns and value.receiver:
            return value.receiver
        found = flat([self.values(inside(value), each) for each in scope.returns])
        return (Value("builtin", "Promise", extra=(found,)),) if "async" in scope.flags else found

    def on_new(self, at: At, callee: Term, types: tuple[Term, ...]) -> Iterator[Value]:
        arguments = tuple([self.values(at, each) for each in types])
        for value in self.values(at, callee):
            if value.kind == "class":
                yield self.bound(value, arguments)._replace(kind="instance")
            elif value.kind == "function" and self.scope(value).members:
                yield value._replace(kind="instance")
            elif value.kind == "instance":
                yield value
            elif value.kind == "outside":
                name = callee[1] if callee and callee[0] == "name" else ""
                is_container = name in self.builtins.containers
                yield Value("builtin", name, extra=arguments) if is_container else value

    def on_conversion(self, at: At, declared: Term) -> Iterator[Value]:
        for value in self.values(at, declared):
            yield value._replace(kind="class") if value.kind == "instance" else value

    def on_await(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            is_opened = value.kind == "builtin" and value.path in self.builtins.awaited
            yield from argument_of(value, 0) if is_opened else (value,)

    def on_one_of(self, at: At, terms: tuple[Term, ...]) -> Iterator[Value]:
        for each in terms:
            yield from self.values(at, each)

    def on_scope(self, at: At, index: int) -> Values:
        kind = self.files[at.path].scopes[index].kind
        return (Value(_KINDS.get(kind, kind), at.path, index, at.env),)

    def on_typed(self, at: At, term: Term) -> Values:
        return self.values(at, term)

    on_type_of = on_typed

    def on_union(self, at: At, terms: tuple[Term, ...]) -> list[Value]:
        found = [value for each in terms for value in self.values(at, each)]
        return [each for each in found if each.kind != "outside"] or found

    def on_this_type(self, at: At) -> Values:
        return self.on_this(at)

    def on_attribute(self, at: At, base: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, base):
            yield from self.member(value, name)

    on_member_type = on_attribute

    def on_function(self, at: At, *parts: Any) -> Values:
        return (Value("signature", at.path, at.scope, at.env, extra=("function", *parts)),)

    def on_shape(self, at: At, index: int) -> Values:
        return (Value("instance", at.path, index, at.env),)


def flat(values: Iterable[Values]) -> Values:
    """Concatenate several tuples of values."""
    return tuple(itertools.chain.from_iterable(values))


def last(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition(".")[2]


def inside(value: Value) -> At:
    """Return the scope of a value as the place to evaluate its terms at."""
    return At(value.path, value.scope, value.env)

"""Find what calls return, and what is expected where a function or an object is written."""

from collections.abc import Iterable, Iterator
from typing import Any

from claude_mem_lite.codemap.calls.evaluation import flat, inside
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.type_arguments import TypeArguments
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Value, Values, argument_of

_KINDS = {"object": "instance", "interface": "instance", "variant": "maker"}


class Results(TypeArguments):
    """What is called, made and awaited, what types stand for, and what functions and objects are given."""

    def on_param(self, at: At, index: int, place: int) -> Iterable[Value]:
        """Return what a parameter may be: by its type, its default, or what is expected of the function."""
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
        """Yield what a call expects as an argument; `declared` is what its result is declared to be."""
        arguments = tuple([self.values(at, each) for each in types])
        for value in self.values(at, callee):
            made: Values = (value,)
            if value.kind == "class":
                made = self.member(self.bound(value, arguments)._replace(kind="instance"), "constructor")
            for each in made:
                if each.kind == "builtin method":  # it says itself what it gives to a function
                    yield each
                    continue
                bound = self.bound(each, arguments) if each.kind == "function" else each
                if declared is not None and each.kind == "function" and not types:
                    bound = self.unified(each, at, declared)
                yield from self.given(bound, place)

    def on_expected(self, at: At, index: int) -> Values:
        """Return what is expected where an object or a function is written."""
        scope = self.files[at.path].scopes[index]
        return self.values(at._replace(scope=scope.parent), scope.context)

    def on_returned(self, at: At, index: int) -> Values:
        """Return what is expected of a function's result."""
        scope = self.files[at.path].scopes[index]
        if scope.return_type is not None:
            return self.values(at._replace(scope=index), scope.return_type)
        return flat([self.result(each) for each in self.on_expected(at, index)])

    def given(self, value: Value, place: int) -> Values:
        """Return what a function is given at a place."""
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
        return self._returned(value) if value.kind == "function" else ()

    def _returned(self, value: Value) -> Values:
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

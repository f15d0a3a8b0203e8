"""Find the members of values: what a class has, what is above it, and what `this` and `super` are."""

from collections.abc import Iterable, Iterator

from claude_mem_lite.codemap.calls.evaluation import CLASSES, MAX_STEPS, inside, last
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.lookup import Lookup
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Value, Values, argument_of

_CLASS_STEPS = 10  # that looking into a class counts as
_MAX_BASES = 100  # above a class


class Members(Lookup):
    """The members of classes, interfaces, objects, modules and builtins."""

    def on_attribute(self, at: At, base: Term, name: str) -> Iterator[Value]:
        is_super = base == ("super",)
        return self._member_of_super(at, name) if is_super else super().on_attribute(at, base, name)

    def _member_of_super(self, at: At, name: str) -> Iterator[Value]:
        for value in self.on_this(at):
            for base in self.on_super(at):
                yield from self.member(base._replace(kind=value.kind) if base.kind == "class" else base, name)

    def member(self, value: Value, name: str) -> Values:
        """Return what an attribute of a value may be."""
        if value.kind == "outside":
            return OUTSIDE
        if value.kind == "module":
            return self.export(value.path, name, "names", set())
        if value.kind == "builtin":
            return (Value("builtin method", value.path, receiver=(value,), extra=name),)
        if value.kind in {"instance", "class", "namespace"}:
            return self._inherited(value, name, "members" if value.kind == "instance" else "statics")
        if value.kind == "function":
            scope = self.scope(value)
            return self._own(value, scope.statics[name]) if name in scope.statics else OUTSIDE
        return ()

    def _inherited(self, value: Value, name: str, where: str) -> Values:
        waiting, seen = [value], {(value.path, value.scope)}
        is_open = False  # a class above is not the project's
        without: set[Value] = set()  # methods that are declared outside of the type
        while waiting and len(seen) < _MAX_BASES and self.steps <= MAX_STEPS:
            self.steps += _CLASS_STEPS
            each = waiting.pop(0)
            scope = self.scope(each)
            terms = getattr(scope, where).get(name)
            if terms is not None:
                return self._own(each._replace(receiver=(value,)), terms)
            if (
                scope.kind == "class"
                and each not in without
                and (found := self._declared_outside(each, name))
            ):
                return found
            for base in self._bases(each):
                is_open = is_open or base.kind in {"outside", "builtin"}
                if base.kind in {"instance", "class"} and (base.path, base.scope) not in seen:
                    seen.add((base.path, base.scope))
                    waiting.append(base._replace(kind=value.kind))
                    without |= {waiting[-1]} if "defined" in scope.flags else set()
        return OUTSIDE if is_open else ()

    def _declared_outside(self, value: Value, name: str) -> Values:
        """Return a type's methods of a name that its package declares outside of it."""
        scope = self.scope(value)
        if scope.parent != 0:
            return ()
        found: list[Value] = []
        for each in self.of_package(value.path, f"{scope.name}.{name}", "names"):
            if each.kind == "function":
                pairs = zip(self.scope(each).type_params, value.env, strict=False)
                env = tuple([(own, of) for (own, _), (_, of) in pairs])
                found.append(each._replace(env=env, receiver=(value,)))
        return tuple(found)

    def _own(self, owner: Value, terms: Iterable[Term]) -> Values:
        found = dict.fromkeys([each for term in terms for each in self.values(inside(owner), term)])
        receiver = owner.receiver or (owner,)
        return tuple(
            [
                each._replace(env=owner.env, receiver=receiver) if each.kind == "function" else each
                for each in found
            ]
        )

    def _bases(self, value: Value) -> Iterator[Value]:
        """Yield the classes and interfaces directly above one."""
        scope = self.scope(value)
        for base in scope.bases:
            yield from self.values(inside(value), base)
        if scope.kind in {"class", "interface"} and scope.name:
            # Declarations of one name are one type.
            around = self.files[value.path].scopes[scope.parent]
            for term in around.types.get(last(scope.name), ()):
                if term and term[0] == "scope" and term[1] != value.scope:
                    yield Value("instance", value.path, term[1], value.env)

    def on_element(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            if value.kind == "outside":
                yield value
            for each in self._bases(value) if value.kind == "instance" else (value,):
                place = self.builtins.elements.get(each.path) if each.kind == "builtin" else None
                if place is not None:
                    yield from argument_of(each, place)

    def on_this(self, at: At) -> Values:
        """Return the class or object around, or an instance of it; an arrow function has none of its own."""
        scopes, here = self.files[at.path].scopes, at.scope
        kind = "instance"
        while here > 0:
            scope = scopes[here]
            if scope.kind in {"class", "interface"}:
                return (Value(kind, at.path, here, self.own_types(At(at.path, here))),)
            if scope.kind == "function" and "arrow" not in scope.flags:
                if "this" in scope.names:
                    return self.all_of(At(at.path, here), scope.names["this"], "names")
                kind = "class" if "static" in scope.flags else "instance"
                around = scopes[scope.parent].kind
                if around == "object":
                    return (Value("instance", at.path, scope.parent),)
                if around not in CLASSES:
                    return (Value("instance", at.path, here),) if scope.members else ()
            here = scope.parent
        return ()

    def on_super(self, at: At) -> Iterator[Value]:
        for value in self.on_this(at):
            if value.kind in {"instance", "class"}:
                for base in self._bases(value):
                    yield base._replace(kind="class") if base.kind == "instance" else base

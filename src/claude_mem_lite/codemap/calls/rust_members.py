"""Find the methods, fields and associated types of Rust's values, by the `impl`s of a type in all files.

A struct, enum or trait is a "class", as a value an "instance"; a "maker" is a tuple struct, unit struct or
variant as a value, which is no function when it is called.
"""

from collections.abc import Iterator, Mapping

from claude_mem_lite.codemap.calls.facts import Facts, Term
from claude_mem_lite.codemap.calls.results import Results
from claude_mem_lite.codemap.calls.rust_modules import DERIVED
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

Key = tuple[str, int | str]


class RustMembers(Results):
    """The members of types; a type's methods are known when its `impl`s are taken."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        super().__init__(files, builtins, finder)
        self._impls: dict[Key, list[tuple[str, int]]] = {}
        self._methods_named: dict[tuple[Key, str], list[tuple[str, int]]] = {}  # those that have a method
        self._blanket: list[tuple[str, int]] = []

    def take_impls(self) -> None:
        """Find the `impl`s of each type, which paths have to be evaluated for."""
        for path, facts in self.files.items():
            for index, scope in enumerate(facts.scopes):
                if scope.kind == "impl":
                    self._take_impl(path, index)

    def _take_impl(self, path: str, index: int) -> None:
        scope = self.files[path].scopes[index]
        of = scope.return_type
        if of and of[0] == "ref" and of[1] in {(name,) for name, _ in scope.type_params}:
            self._blanket.append((path, index))
            return
        for value in self.start(At(path, index), of):
            if value.kind in {"instance", "builtin"}:
                self._impls.setdefault(key_of(value), []).append((path, index))
                for name in scope.members:
                    self._methods_named.setdefault((key_of(value), name), []).append((path, index))

    def on_this(self, at: At) -> Values:
        for name, values in at.env:
            if name == "Self":
                found: Values = values
                return found
        scopes, here = self.files[at.path].scopes, at.scope
        while here > 0:
            scope = scopes[here]
            if scope.kind == "impl":
                return self.values(At(at.path, here, at.env), scope.return_type)
            if scope.kind in {"interface", "class"}:
                return (Value("instance", at.path, here, at.env),)
            here = scope.parent
        return ()

    def on_member_type(self, at: At, term: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, term):
            yield from self.associated_type(value, name)

    def associated_type(self, value: Value, name: str) -> Values:
        for path, index in self._impls.get(key_of(value), ()):
            terms = self.files[path].scopes[index].types.get(name, ())
            if terms and terms[0] and terms[0][0] == "alias":
                return self.values(At(path, index, self._impl_env(value, path, index)), terms[0][1])
        if value.kind == "instance":
            for term in self.scope(value).types.get(name, ()):
                if term and term[0] == "alias":
                    return self.values(At(value.path, value.scope, value.env), term[1])
        return OUTSIDE

    def on_attribute(self, at: At, base: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, base):
            yield from self.member(value, name)

    def member(self, value: Value, name: str) -> Values:
        """Return what a method of a value may be."""
        if value.kind == "maker":
            value = self.owner(value)
        if value.kind in {"outside", "std", "signature", "function"}:
            return OUTSIDE
        if value.kind not in {"instance", "builtin"}:
            return ()
        found = self._method(value, name, set())
        if found:
            return found
        if value.kind == "builtin" or name in DERIVED:
            return (
                Value(
                    "builtin method",
                    value.path if value.kind == "builtin" else "",
                    receiver=(value,),
                    extra=name,
                ),
            )
        return OUTSIDE if self._is_open(value) else ()

    def _is_open(self, value: Value) -> bool:
        """Whether a type has traits from outside, whose methods are not known."""
        return any(each.kind in {"outside", "builtin"} for each, _ in self._traits(value)) or any(
            each.kind in {"outside", "builtin"} for each in self._bases(value)
        )

    def _method(self, value: Value, name: str, seen: set[Key]) -> Values:
        """Return a method: of the type itself, else of a trait's `impl`, else the trait's own."""
        key = key_of(value)
        if key in seen:
            return ()
        seen.add(key)
        impls = self._methods_named.get((key, name), [])
        is_trait = value.kind == "instance" and self.scope(value).kind == "interface"
        if is_trait and (found := self._members(value, value.path, value.scope, name, value.env)):
            return found
        for wanted in (False, True):
            found_all: list[Value] = []
            for path, index in impls:
                if ("trait" in self.files[path].scopes[index].flags) is wanted:
                    found_all += self._members(value, path, index, name, self._impl_env(value, path, index))
            if found_all:
                return tuple(dict.fromkeys(found_all))
        traits = [each for each, _ in self._traits(value)]
        for trait in [*(self._bases(value) if is_trait else ()), *traits]:
            if trait.kind == "instance" and (found := self._default(value, trait, name, set())):
                return found
        for trait, (path, index) in self._traits(value):
            if trait.kind != "instance" and self.files[path].scopes[index].types.get("Target"):
                for target in self.associated_type(value, "Target"):
                    if target.kind in {"instance", "builtin"} and (found := self._method(target, name, seen)):
                        return found
        return self._blanket_method(value, name)

    def _default(self, value: Value, trait: Value, name: str, seen: set[Key]) -> Values:
        """Return a trait's method, or that of a trait above it."""
        if key_of(trait) in seen or trait.kind != "instance":
            return ()
        seen.add(key_of(trait))
        found = self._members(value, trait.path, trait.scope, name, trait.env)
        for base in () if found else self._bases(trait):
            found = found or self._default(value, base, name, seen)
        return found

    def _blanket_method(self, value: Value, name: str) -> Values:
        """Return a method of an `impl<T: Bound> Trait for T` whose bounds hold."""
        for path, index in self._blanket:
            scope = self.files[path].scopes[index]
            if name not in scope.members and not any(
                name in self.scope(trait).members
                for trait in self.values(At(path, index), scope.context)
                if trait.kind == "instance"
            ):
                continue
            bound = dict(scope.type_params).get(scope.return_type[1][0]) if scope.return_type else None
            needed = [each for each in self.values(At(path, index), bound) if each.kind == "instance"]
            own = {key_of(trait) for trait, _ in self._traits(value)} | {key_of(value)}
            if (bound is not None and not needed) or any(key_of(each) not in own for each in needed):
                continue
            found = self._members(value, path, index, name, ())
            for trait in () if found else self.values(At(path, index), scope.context):
                found = found or self._default(value, trait, name, set())
            if found:
                return found
        return ()

    def _traits(self, value: Value) -> list[tuple[Value, tuple[str, int]]]:
        """Return the traits that a type implements, each with its `impl`."""
        return [
            (trait, (path, index))
            for path, index in self._impls.get(key_of(value), ())
            if "trait" in self.files[path].scopes[index].flags
            for trait in self.values(At(path, index), self.files[path].scopes[index].context) or OUTSIDE
        ]

    def _bases(self, value: Value) -> Iterator[Value]:
        """Yield the traits directly above one."""
        if value.kind == "instance" and self.scope(value).kind == "interface":
            for base in self.scope(value).bases:
                yield from self.values(At(value.path, value.scope, value.env), base)

    def _members(self, value: Value, path: str, index: int, name: str, env: Env) -> Values:
        terms = self.files[path].scopes[index].members.get(name, ())
        own = (*env, ("Self", (value,)))
        return tuple([
            each._replace(env=own, receiver=(value,)) if each.kind == "function" else each
            for term in terms
            for each in self.values(At(path, index), term)
        ])  # fmt: skip

    def _impl_env(self, value: Value, path: str, index: int) -> Env:
        """Return the type arguments of an `impl`: those of the value, by the names that they have there."""
        scope = self.files[path].scopes[index]
        of = scope.return_type
        if not of or of[0] != "ref" or not of[2]:
            return ()
        if value.kind == "builtin":
            given = dict(enumerate(value.extra))
        else:
            known = dict(value.env)
            names = [name for name, _ in self.scope(value).type_params]
            given = {place: known[name] for place, name in enumerate(names) if name in known}
        params = {name for name, _ in scope.type_params}
        return tuple([
            (term[1][0], given[place])
            for place, term in enumerate(of[2])
            if place in given and term and term[0] == "ref" and term[1][0] in params
        ])  # fmt: skip

    def on_field(self, at: At, base: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, base):
            yield from self._field(value, name, set())

    def _field(self, value: Value, name: str, seen: set[Key]) -> Values:
        if value.kind == "maker":
            value = self.owner(value)
        if value.kind == "builtin" and value.path == "(,)" and name.isdigit():
            return argument_of(value, int(name[:4]))
        if value.kind != "instance" or key_of(value) in seen:
            return OUTSIDE if value.kind in {"outside", "builtin", "std"} else ()
        seen.add(key_of(value))
        terms = self.scope(value).members.get(name)
        if terms is not None:
            return self.declared_field(value, value.path, value.scope, name)
        for target in self.associated_type(value, "Target"):
            if found := self._field(target, name, seen):
                return found
        return ()

    def declared_field(self, value: Value, path: str, index: int, name: str) -> Values:
        terms = self.files[path].scopes[index].members.get(name, ())
        return tuple([each for term in terms for each in self.values(At(path, index, value.env), term)])

    def owner(self, maker: Value) -> Value:
        """Return what a tuple struct or a variant makes."""
        scope = self.scope(maker)
        index = scope.parent if scope.kind == "variant" else maker.scope
        return Value("instance", maker.path, index, maker.env)

    def on_element(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            yield from self.element(value)

    def element(self, value: Value) -> Values:
        if value.kind == "builtin":
            if value.path in {"HashMap", "BTreeMap"}:
                return (Value("builtin", "(,)", extra=value.extra),)
            place = self.builtins.elements.get(value.path)
            return argument_of(value, place) if place is not None else OUTSIDE
        if value.kind == "instance":
            return self.associated_type(value, "Item")
        return OUTSIDE if value.kind in {"outside", "std"} else ()

    def on_index(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            if value.kind == "builtin":
                place = self.builtins.elements.get(value.path)
                yield from argument_of(value, place) if place is not None else OUTSIDE
            elif value.kind == "instance":
                found = self.associated_type(value, "Output")
                yield from found
            elif value.kind == "outside":
                yield value


def key_of(value: Value) -> Key:
    """Return what a type's `impl`s are found by."""
    return ("", value.path) if value.kind == "builtin" else (value.path, value.scope)

"""Find the methods, fields and associated types of Rust's values, by the `impl`s of a type in all files.

A struct, enum or trait is a "class", and a value of it an "instance". A "maker" is a tuple struct, unit
struct or variant used as a value; a call of one does not count as a call of a function.
"""

from collections.abc import Iterator, Mapping

from claude_mem_lite.codemap.calls.evaluation import Evaluation, flat, inside
from claude_mem_lite.codemap.calls.facts import Facts, Term
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


class RustMembers(Evaluation):
    """Finds the members of types; methods are known after `take_impls`."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        super().__init__(files, builtins, finder)
        self._impls: dict[Key, list[At]] = {}
        self._methods_named: dict[tuple[Key, str], list[At]] = {}  # `impl`s that have a method
        self._blanket: list[At] = []

    def take_impls(self) -> None:
        """Find the `impl`s of each type, which requires evaluating paths."""
        for path, facts in self.files.items():
            for index, scope in enumerate(facts.scopes):
                if scope.kind != "impl":
                    continue
                impl, of = At(path, index), scope.return_type
                if of and of[0] == "ref" and of[1] in {(name,) for name, _ in scope.type_params}:
                    self._blanket.append(impl)
                    continue
                for value in self.start(impl, of):
                    if value.kind in {"instance", "builtin"}:
                        self._impls.setdefault(key_of(value), []).append(impl)
                        for name in scope.members:
                            self._methods_named.setdefault((key_of(value), name), []).append(impl)

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
        for impl in self._impls.get(key_of(value), ()):
            terms = self.scope(impl).types.get(name, ())
            if terms and terms[0] and terms[0][0] == "alias":
                return self.values(impl._replace(env=self._impl_env(value, impl)), terms[0][1])
        if value.kind == "instance":
            for term in self.scope(value).types.get(name, ()):
                if term and term[0] == "alias":
                    return self.values(inside(value), term[1])
        return OUTSIDE

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
            kind = value.path if value.kind == "builtin" else ""
            return (Value("builtin method", kind, receiver=(value,), extra=name),)
        return OUTSIDE if self._is_open(value) else ()

    def _is_open(self, value: Value) -> bool:
        """Tell whether a type has traits from outside of the project, whose methods are unknown."""
        return any(each.kind in {"outside", "builtin"} for each, _ in self._traits(value)) or any(
            each.kind in {"outside", "builtin"} for each in self._bases(value)
        )

    def _method(self, value: Value, name: str, seen: set[Key]) -> Values:
        """Return a method: of the type itself, else of a trait's `impl`, else the default of a trait."""
        key = key_of(value)
        if key in seen:
            return ()
        seen.add(key)
        impls = self._methods_named.get((key, name), [])
        is_trait = value.kind == "instance" and self.scope(value).kind == "interface"
        if is_trait and (found := self._members(value, value, name, value.env)):
            return found
        for wanted in (False, True):
            found_all: list[Value] = []
            for impl in impls:
                if ("trait" in self.scope(impl).flags) is wanted:
                    found_all += self._members(value, impl, name, self._impl_env(value, impl))
            if found_all:
                return tuple(dict.fromkeys(found_all))
        traits = [each for each, _ in self._traits(value)]
        for trait in [*(self._bases(value) if is_trait else ()), *traits]:
            if trait.kind == "instance" and (found := self._default(value, trait, name, set())):
                return found
        for trait, impl in self._traits(value):
            if trait.kind != "instance" and self.scope(impl).types.get("Target"):
                for target in self.associated_type(value, "Target"):
                    if target.kind in {"instance", "builtin"} and (found := self._method(target, name, seen)):
                        return found
        return self._blanket_method(value, name)

    def _default(self, value: Value, trait: Value, name: str, seen: set[Key]) -> Values:
        """Return the method of a trait or of one of its supertraits."""
        if key_of(trait) in seen or trait.kind != "instance":
            return ()
        seen.add(key_of(trait))
        found = self._members(value, trait, name, trait.env)
        for base in () if found else self._bases(trait):
            found = found or self._default(value, base, name, seen)
        return found

    def _blanket_method(self, value: Value, name: str) -> Values:
        """Return a method of an `impl<T: Bound> Trait for T` whose bounds hold."""
        for impl in self._blanket:
            scope = self.scope(impl)
            if name not in scope.members and not any(
                name in self.scope(trait).members
                for trait in self.values(impl, scope.context)
                if trait.kind == "instance"
            ):
                continue
            bound = dict(scope.type_params).get(scope.return_type[1][0]) if scope.return_type else None
            needed = [each for each in self.values(impl, bound) if each.kind == "instance"]
            own = {key_of(trait) for trait, _ in self._traits(value)} | {key_of(value)}
            if (bound is not None and not needed) or any(key_of(each) not in own for each in needed):
                continue
            found = self._members(value, impl, name, ())
            for trait in () if found else self.values(impl, scope.context):
                found = found or self._default(value, trait, name, set())
            if found:
                return found
        return ()

    def _traits(self, value: Value) -> list[tuple[Value, At]]:
        """Return the traits that a type implements, each with its `impl`."""
        return [
            (trait, impl)
            for impl in self._impls.get(key_of(value), ())
            if "trait" in self.scope(impl).flags
            for trait in self.values(impl, self.scope(impl).context) or OUTSIDE
        ]

    def _bases(self, value: Value) -> Iterator[Value]:
        """Yield the direct supertraits of a trait."""
        if value.kind == "instance" and self.scope(value).kind == "interface":
            for base in self.scope(value).bases:
                yield from self.values(inside(value), base)

    def _members(self, value: Value, owner: Value | At, name: str, env: Env) -> Values:
        """Return the members of a trait or an `impl` by a name, with a value as their `Self`."""
        own = (*env, ("Self", (value,)))
        return tuple([
            each._replace(env=own, receiver=(value,)) if each.kind == "function" else each
            for term in self.scope(owner).members.get(name, ())
            for each in self.values(At(owner.path, owner.scope), term)
        ])  # fmt: skip

    def _impl_env(self, value: Value, impl: At) -> Env:
        """Return the type arguments of a value, under the names that the `impl` uses for them."""
        scope = self.scope(impl)
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
        if name in self.scope(value).members:
            return self.declared_field(value, value, name)
        for target in self.associated_type(value, "Target"):
            if found := self._field(target, name, seen):
                return found
        return ()

    def declared_field(self, value: Value, maker: Value, name: str) -> Values:
        at = At(maker.path, maker.scope, value.env)
        return flat([self.values(at, each) for each in self.scope(maker).members.get(name, ())])

    def owner(self, maker: Value) -> Value:
        """Return the instance that a tuple struct or a variant makes."""
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
                yield from self.associated_type(value, "Output")
            elif value.kind == "outside":
                yield value


def key_of(value: Value) -> Key:
    """Return the key under which a type's `impl`s are stored."""
    return ("", value.path) if value.kind == "builtin" else (value.path, value.scope)

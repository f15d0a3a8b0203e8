"""Look up names in scopes, packages and imports, and find the members of values.

Covers the members and bases of classes, and `this` and `super`.
"""

from collections.abc import Iterable, Iterator, Mapping

from claude_mem_lite.codemap.calls.evaluation import CLASSES, MAX_STEPS, Evaluation, flat, inside, last
from claude_mem_lite.codemap.calls.facts import Facts, Term
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Builtins, Finder, Value, Values, argument_of

_CLASS_STEPS = 10  # cost of a lookup in one class
_MAX_BASES = 100  # searched above a class
_SEEN_FROM_INSIDE = frozenset({"module", "function", "namespace", "block"})


class Members(Evaluation):
    """Resolves names in files that import each other, and the members of their values."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        """Find which files see each other's exports."""
        super().__init__(files, builtins, finder)
        self._packages: dict[str, dict[str, list[str]]] = {}  # files by package and exported name
        for path, facts in self.files.items():
            if package := finder.package(path):
                names = self._packages.setdefault(package, {})
                for name in facts.exports:
                    names.setdefault(name, []).append(path)
        self._modules: dict[str, dict[str, Values]] = {}  # that a file imports, by their own names

    def on_name(self, at: At, name: str, scope: int = -1) -> Values:
        return self._look_up(at._replace(scope=scope) if scope >= 0 else at, name, "names")

    def _look_up(self, at: At, name: str, space: str) -> Values:
        """Return what a name stands for in a scope, among its "names" (values) or "types"."""
        scopes, here = self.files[at.path].scopes, at.scope
        is_open = False  # an enclosing class inherits from one outside of the project
        while here >= 0:
            scope = scopes[here]
            if self.builtins.implies_this and scope.kind in CLASSES and self.steps <= MAX_STEPS:
                found = self._member_around(At(at.path, here), name, space)
                if found and (found != OUTSIDE or name in scope.members):
                    return found
                is_open = is_open or (space == "names" and found == OUTSIDE)
            terms = getattr(scope, space).get(name)
            if terms is not None and (
                space == "types" or scope.kind in _SEEN_FROM_INSIDE or name == last(scope.name)
            ):
                return self.all_of(At(at.path, here), terms, space)
            here = scope.parent
        found = self._seen(at.path, name, space)
        return found or (OUTSIDE if is_open or name in self.builtins.globals else ())

    def _member_around(self, at: At, name: str, space: str) -> Values:
        """Return what a name stands for as a member of an enclosing class, own or inherited."""
        if space == "types":
            found = self.member(Value("class", at.path, at.scope), name)
            return tuple([each for each in found if each.kind == "class"])
        return self.member(Value("instance", at.path, at.scope, self.own_types(at)), name)

    def _seen(self, path: str, name: str, space: str) -> Values:
        """Return what a name stands for in a file's package, else in what the file imports as a whole."""
        found = self.of_package(path, name, space)
        if found:
            return found
        names = self.files[path].scopes[0].names
        if name in (named := self._named(path)):
            return named[name]
        found = ()
        for term in names.get("*", ()):
            for each in self.values(At(path, 0), term):
                inner = self.member(each, name) if space == "names" else self._inner_type(each, name)
                if inner and inner != OUTSIDE:
                    return inner
                found = found or inner
        return found

    def _named(self, path: str) -> dict[str, Values]:
        """Return the modules that a file imports under their own names, by name."""
        if path not in self._modules:
            terms = self.files[path].scopes[0].names.get("package", ())
            found = [each for term in terms for each in self.values(At(path, 0), term)]
            self._modules[path] = {
                self.files[each.path].scopes[0].name: (each,) for each in found if each.kind == "module"
            }
        return self._modules[path]

    def of_package(self, path: str, name: str, space: str) -> Values:
        """Return what the files of a file's package export under a name."""
        paths = self._packages.get(self.finder.package(path), {}).get(name, ())
        return flat([self.all_of(At(each, 0), self.files[each].exports[name], space) for each in paths])

    def all_of(self, at: At, terms: Iterable[Term], space: str) -> Values:
        found: dict[Value, None] = {}
        for term in terms:
            if term and term[0] == "import":
                values = self.on_import(at, term[1], term[2], space)
            elif term and term[0] == "name" and space == "types":
                values = self._look_up(at, term[1], space)
            elif term and term[0] == "alias":
                values = (Value("alias", at.path, at.scope, extra=term),)
            else:
                values = self.values(at, term)
            found.update(dict.fromkeys(values))
        return tuple(found)

    def on_qualified(self, at: At, names: tuple[str, ...]) -> Values:
        """Return a package, or a class by the names of its package and enclosing classes."""
        for length in range(len(names), 0, -1):
            path = self.finder.find(at.path, ".".join(names[:length]))
            found: Values = (Value("module", path),) if path in self.files else ()
            for name in names[length:]:
                found = flat([self.member(each, name) for each in found])
            if found:
                return found
        return OUTSIDE

    def on_first(self, at: At, terms: tuple[Term, ...]) -> Values:
        """Return the values of the first term that the project defines."""
        found: Values = ()
        for term in terms:
            found = found if found == OUTSIDE else self.values(at, term)
            if (values := self.values(at, term)) and values != OUTSIDE:
                return values
        return found

    def on_import(self, at: At, module: str, name: str, space: str = "names") -> Values:
        target = self.finder.find(at.path, module)
        return self.export(target, name, space, set()) if target in self.files else OUTSIDE

    def export(self, path: str, name: str, space: str, seen: set[str]) -> Values:
        """Return what a file exports under a name, itself or by re-export from other files."""
        if path in seen:
            return ()
        seen.add(path)
        facts = self.files[path]
        if name == "*":
            return (Value("module", path),)
        if name == "=":
            whole = facts.exports.get("=")
            return self.all_of(At(path, 0), whole, space) if whole else (Value("module", path),)
        terms = facts.exports.get(name)
        if terms is not None:
            return self.all_of(At(path, 0), terms, space)
        if found := self.of_package(path, name, space):
            return found
        for star in facts.stars:
            target = self.finder.find(path, star)
            if target in self.files and (found := self.export(target, name, space, seen)):
                return found
        whole = self.all_of(At(path, 0), facts.exports.get("=", ()), space)
        return flat([self.member(each, name) for each in whole])

    def on_ref(self, at: At, names: tuple[str, ...], types: tuple[Term, ...]) -> Iterable[Value]:
        name = names[0]
        if len(names) == 1 and (bound := self.of_name(at, name)) is not None:
            return bound
        found = self._look_up(at, name, "types")
        if not found and len(names) > 1:
            found, names = self.on_qualified(at, names), ()
        for inner in names[1:]:
            found = flat([self._inner_type(each, inner) for each in found])
        if found and found != OUTSIDE:
            arguments = tuple([self.values(at, each) for each in types])
            return flat([self._of_type(each, arguments) for each in found])
        if name in self.builtins.unknown:
            return ()
        if name in self.builtins.transparent:
            return self.values(at, types[0]) if types else ()
        if name in self.builtins.containers:
            return (Value("builtin", name, extra=tuple([self.values(at, each) for each in types])),)
        return OUTSIDE

    def _inner_type(self, value: Value, name: str) -> Values:
        if value.kind == "module":
            return self.export(value.path, name, "types", set())
        if value.kind == "namespace":
            return self.all_of(inside(value), self.scope(value).types.get(name, ()), "types")
        if value.kind == "class":
            return self.member(value, name)
        return OUTSIDE if value.kind == "outside" else ()

    def _of_type(self, value: Value, arguments: tuple[Values, ...]) -> Values:
        if value.kind == "alias":
            return self.aliased(value, arguments)
        if value.kind in {"class", "instance"}:
            return (self.bound(value, arguments)._replace(kind="instance"),)
        return (value,) if value.kind == "outside" else ()

    def on_attribute(self, at: At, base: Term, name: str) -> Iterator[Value]:
        if base != ("super",):
            yield from super().on_attribute(at, base, name)
            return
        for value in self.on_this(at):
            for above in self.on_super(at):
                is_class = above.kind == "class"
                yield from self.member(above._replace(kind=value.kind) if is_class else above, name)

    def member(self, value: Value, name: str) -> Values:
        """Return the values that an attribute of a value may have."""
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
        is_open = False  # a base is outside of the project
        without: set[Value] = set()  # bases whose methods declared outside of the type are not inherited
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
        """Return a type's methods of a name that its package declares outside of the type."""
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
        """Yield the direct bases of a class or interface."""
        scope = self.scope(value)
        for base in scope.bases:
            yield from self.values(inside(value), base)
        if scope.kind in {"class", "interface"} and scope.name:
            # Several declarations of one name are one type.
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
        """Return the enclosing class or object, or an instance; an arrow function has no own `this`."""
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

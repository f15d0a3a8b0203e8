"""Look names up: in the scopes around, then in the file's package and its imports."""

from collections.abc import Iterable, Mapping

from claude_mem_lite.codemap.calls.evaluation import CLASSES, MAX_STEPS, flat, inside, last
from claude_mem_lite.codemap.calls.facts import Facts, Term
from claude_mem_lite.codemap.calls.results import Results
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Builtins, Finder, Value, Values

_SEEN_FROM_INSIDE = frozenset({"module", "function", "namespace", "block"})


class Lookup(Results):
    """The names of files that import each other."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        """Find which files see each other's exports."""
        super().__init__(files, builtins, finder)
        self._packages: dict[str, dict[str, list[str]]] = {}  # files by what they export
        for path, facts in self.files.items():
            if package := finder.package(path):
                names = self._packages.setdefault(package, {})
                for name in facts.exports:
                    names.setdefault(name, []).append(path)
        self._modules: dict[str, dict[str, Values]] = {}  # by their own names, that a file imports

    def on_name(self, at: At, name: str, scope: int = -1) -> Values:
        return self._look_up(at._replace(scope=scope) if scope >= 0 else at, name, "names")

    def _look_up(self, at: At, name: str, space: str) -> Values:
        """Return what a name stands for in a scope: "names" of values, or "types"."""
        scopes, here = self.files[at.path].scopes, at.scope
        is_open = False  # a class around inherits from one that is not the project's
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
        """Return what a name is as a member of a class around, an inherited one, too."""
        if space == "types":
            found = self.member(Value("class", at.path, at.scope), name)
            return tuple([each for each in found if each.kind == "class"])
        return self.member(Value("instance", at.path, at.scope, self.own_types(at)), name)

    def _seen(self, path: str, name: str, space: str) -> Values:
        """Return what a name is in a file's package, else in what the file imports as a whole."""
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
        """Return the modules that a file imports by the name that they say themselves."""
        if path not in self._modules:
            terms = self.files[path].scopes[0].names.get("package", ())
            found = [each for term in terms for each in self.values(At(path, 0), term)]
            self._modules[path] = {
                self.files[each.path].scopes[0].name: (each,) for each in found if each.kind == "module"
            }
        return self._modules[path]

    def of_package(self, path: str, name: str, space: str) -> Values:
        """Return what the files of a file's package export by a name."""
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
        """Return a package, or a class by the names of its package and of those around it."""
        for length in range(len(names), 0, -1):
            path = self.finder.find(at.path, ".".join(names[:length]))
            found: Values = (Value("module", path),) if path in self.files else ()
            for name in names[length:]:
                found = flat([self.member(each, name) for each in found])
            if found:
                return found
        return OUTSIDE

    def on_first(self, at: At, terms: tuple[Term, ...]) -> Values:
        """Return the values of the first term that is the project's."""
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
        """Return what a file exports by a name, by way of the files that it exports from."""
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
        if len(names) == 1:
            bound = self.of_name(at, name)
            if bound is not None:
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

"""Resolve Rust's paths to values and types, through modules, imports and globs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from claude_mem_lite.codemap.calls.evaluation import MAX_STEPS, flat, inside
from claude_mem_lite.codemap.calls.facts import Facts, Term
from claude_mem_lite.codemap.calls.rust_members import RustMembers
from claude_mem_lite.codemap.calls.rust_modules import SHARED_ROOTS
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Builtins, Finder, Value, Values

# What the variants of the standard library's enums hold: type, and place of the type argument.
WRAPPED = {"Some": ("Option", 0), "Ok": ("Result", 0), "Err": ("Result", 1), "None": ("Option", None)}
_MODULES = frozenset({"module", "namespace"})
_STD = Value("std")
_MAX_PATH_DEPTH = 30  # of imports that refer to each other
_MAX_MODULES = 500  # searched for a name
_MAX_GLOBS = 50  # followed per module


class RustPaths(RustMembers):
    """Resolves paths in the modules of crates that see each other."""

    def __init__(self, files: Mapping[str, Facts], builtins: Builtins, finder: Finder) -> None:
        """Find the parent of each module, then the `impl`s of each type."""
        super().__init__(files, builtins, finder)
        self._parents: dict[str, tuple[str, int]] = {}
        self._looking: set[tuple[str, int, str, str]] = set()
        self._held: dict[tuple[str, int, str, str], Values] = {}
        self._path_depth = 0
        self._globs: dict[tuple[str, int], Values] = {}
        self._is_open_module: dict[tuple[str, int], bool] = {}
        for path, facts in self.files.items():
            for index, scope in enumerate(facts.scopes):
                for terms in scope.types.values():
                    for term in terms:
                        if term and term[0] == "file":
                            target = self._file(path, term)
                            if target and target != path:
                                self._parents.setdefault(target, (path, index))
        self.take_impls()
        self._memo.clear()  # values found before all `impl`s were known
        self._held.clear()

    def on_path(self, at: At, names: tuple[str, ...]) -> Values:
        return self.find(at, names, "statics")

    def on_name(self, at: At, name: str, _scope: int = -1) -> Values:
        return self._first(at, name, "statics")

    def on_local(self, at: At, name: str, index: int, place: int) -> Values:
        terms = self.files[at.path].scopes[index].names.get(name, ())
        return self.values(at._replace(scope=index), terms[place]) if place < len(terms) else ()

    def on_ref(self, at: At, names: tuple[str, ...], types: tuple[Term, ...]) -> Iterable[Value]:
        if len(names) == 1:
            if names[0] in self.builtins.unknown:
                return ()
            if (bound := self.of_name(at, names[0])) is not None:
                return bound
        found = self.find(at, names, "types")
        arguments = tuple([self.values(at, each) for each in types])
        return flat([self._made_type(each, arguments) for each in found])

    def on_assoc(self, at: At, owner: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, owner):
            yield from self._item(value, name, "statics")

    def _file(self, path: str, term: Any) -> str:
        target = self.finder.find(path, f"={term[1]}" if len(term) > 2 else f"./{term[1]}")
        return target if target in self.files else ""

    def _module(self, at: At) -> Value:
        """Return the enclosing module of a scope."""
        scopes, here = self.files[at.path].scopes, at.scope
        while here > 0 and scopes[here].kind != "namespace":
            here = scopes[here].parent
        return Value("module", at.path, max(here, 0))

    def _above(self, module: Value) -> Value:
        if module.scope:
            parent = self.files[module.path].scopes[module.scope].parent
            return self._module(At(module.path, parent))
        path, scope = self._parents.get(module.path, (module.path, 0))
        return self._module(At(path, scope))

    def _crate(self, module: Value) -> Value:
        seen = set()
        path = module.path
        while path in self._parents and path not in seen:
            seen.add(path)
            path = self._parents[path][0]
        return Value("module", path)

    def find(self, at: At, names: tuple[str, ...], space: str) -> Values:
        """Return what a path may name, among values ("statics") or "types"."""
        if not names or self._path_depth > _MAX_PATH_DEPTH:
            return ()
        self._path_depth += 1
        found = self._first(at, names[0], space if len(names) == 1 else "types")
        for place, name in enumerate(names[1:], 2):
            inner = space if place == len(names) else "types"
            if names[0] == "::" and place == 2:
                found = self._extern(at, name)
            elif name == "super":
                found = tuple([self._above(each) for each in found if each.kind == "module"])
            else:
                found = tuple(dict.fromkeys(flat([self._item(each, name, inner) for each in found])))
        self._path_depth -= 1
        return found

    def _first(self, at: At, name: str, space: str) -> Values:
        if name == "::":
            return OUTSIDE
        if name in {"crate", "$crate"}:
            return (self._crate(self._module(at)),)
        if name == "self":
            return (self._module(at),)
        if name == "super":
            return (self._above(self._module(at)),)
        if name == "Self":
            return self.on_this(at)
        if space == "types" and (bound := self.of_name(at, name)) is not None:
            return bound
        scopes, here = self.files[at.path].scopes, at.scope
        while here >= 0:
            scope = scopes[here]
            if scope.kind in {"function", *_MODULES}:
                found = self._in_module(at.path, here, name, space)
                if found:
                    return found
                if scope.kind in _MODULES:
                    break
            here = scope.parent
        if space == "types" and (extern := self._extern(at, name)) != OUTSIDE:
            return extern
        return self._prelude(name) or self._from_globs(at.path, max(here, 0))

    def _from_globs(self, path: str, index: int) -> Values:
        """Return OUTSIDE if a name may come from another crate by a glob import, else no values."""
        key = path, index
        if key not in self._is_open_module:
            self._is_open_module[key] = False  # for lookups during this one
            at, globs = At(path, index), self.files[path].scopes[index].bases[:_MAX_GLOBS]
            found = [each for glob in globs if glob for each in self.find(at, glob[1], "types")]
            self._is_open_module[key] = any(each.kind in {"outside", "std"} for each in found)
        return OUTSIDE if self._is_open_module[key] else ()

    def _extern(self, at: At, name: str) -> Values:
        if name in SHARED_ROOTS:
            return (_STD,)
        target = self.finder.find(at.path, name)
        return (Value("module", target),) if target in self.files else OUTSIDE

    def _prelude(self, name: str) -> Values:
        known = self.builtins
        if name in WRAPPED:
            return (Value("builtin method", "", extra=name),)
        if name in known.containers or name in known.transparent:
            return (Value("builtin type", name),)
        return OUTSIDE if name in known.globals else ()

    def _in_module(self, path: str, index: int, name: str, space: str) -> Values:
        """Return what a module, or a function with items, holds under a name: its own items before globs."""
        key = path, index, name, space
        known = self._held.get(key)
        if known is not None:
            return known
        self.steps += 1
        if key in self._looking or self.steps > MAX_STEPS:
            return ()
        self._looking.add(key)
        scope = self.files[path].scopes[index]
        at = At(path, index)
        found: list[Value] = []
        for term in getattr(scope, space).get(name, ()):
            found += self._bound_item(at, term, space)
        waiting, seen = [] if found else [*self._globbed(path, index)], {(path, index)}
        while waiting and not found and len(seen) < _MAX_MODULES:
            module = waiting.pop(0)
            if module.kind != "module":
                found += [each for each in self._item(module, name, space) if each.kind == "maker"]
            elif (module.path, module.scope) not in seen:
                seen.add((module.path, module.scope))
                there = At(module.path, module.scope)
                for term in getattr(self.scope(there), space).get(name, ()):
                    items = self._bound_item(there, term, space)
                    found += [each for each in items if each.kind not in {"outside", "std"}]
                waiting += self._globbed(module.path, module.scope)
        self._looking.discard(key)
        values = tuple(dict.fromkeys(found))
        if not self._looking:  # during other lookups the result may be incomplete
            self._held[key] = values
        return values

    def _globbed(self, path: str, index: int) -> Values:
        """Return the modules and enums that a module imports with globs."""
        key = path, index
        if key not in self._globs:
            self._globs[key] = ()  # for lookups during this one
            at, globs = At(path, index), self.files[path].scopes[index].bases[:_MAX_GLOBS]
            found = [each for glob in globs if glob for each in self.find(at, glob[1], "types")]
            known = dict.fromkeys(each for each in found if each.kind in {"module", "class"})
            self._globs[key] = tuple(known)
        return self._globs[key]

    def _bound_item(self, at: At, term: Term, space: str) -> Values:
        if not term:
            return ()
        if term[0] == "use":
            names = term[1]
            if len(names) == 1 and names[0] in {"crate", "self", "super"}:
                return self._first(at, names[0], "types")
            found = self.find(at, names, space)
            other = "types" if space == "statics" else "statics"
            return found or (() if self.find(at, names, other) else OUTSIDE)
        if term[0] == "file":
            target = self._file(at.path, term)
            return (Value("module", target),) if target else OUTSIDE
        if term[0] == "alias":
            return (Value("alias", at.path, at.scope, extra=term),)
        if term[0] == "scope":
            kind = self.files[at.path].scopes[term[1]].kind
            if kind == "namespace":
                return (Value("module", at.path, term[1]),)
            if kind in {"class", "interface"}:
                return (Value("class" if space == "types" else "maker", at.path, term[1]),)
        return self.values(at, term)

    def _item(self, owner: Value, name: str, space: str) -> Values:
        """Return what a module or a type holds under a name."""
        if owner.kind == "outside":
            return OUTSIDE
        if owner.kind == "std":
            return self._prelude(name) or ((_STD,) if name.islower() else OUTSIDE)
        if owner.kind == "module":
            return self._in_module(owner.path, owner.scope, name, space)
        if owner.kind == "alias":
            return flat([self._item(each, name, space) for each in self._of_type(owner, ())])
        if owner.kind in {"class", "instance"}:
            variants = self.scope(owner).statics.get(name)
            if variants is not None:
                return flat([self.values(inside(owner), each) for each in variants])
            instance = owner._replace(kind="instance")
            return self.associated_type(instance, name) if space == "types" else self.member(instance, name)
        if owner.kind == "builtin type":
            owner = Value("builtin", owner.path)
        if owner.kind == "builtin":
            return self.member(owner, name) if space == "statics" else OUTSIDE
        return ()

    def _made_type(self, value: Value, arguments: tuple[Values, ...]) -> Values:
        if value.kind == "builtin type":
            if value.path in self.builtins.transparent:
                return arguments[0] if arguments else ()
            return (Value("builtin", value.path, extra=arguments),)
        if value.kind == "maker":  # `Shape::Rect { … }`
            return (self.owner(value),)
        if value.kind in {"class", "alias"}:
            return self._of_type(value, arguments)
        if value.kind in {"instance", "builtin", "signature"}:
            return (value,)
        return OUTSIDE if value.kind in {"outside", "std"} else ()

    def _of_type(self, value: Value, arguments: tuple[Values, ...]) -> Values:
        if value.kind == "class" and not arguments:
            return (value._replace(kind="instance"),)
        if value.kind == "class":
            names = [name for name, _ in self.scope(value).type_params]
            env = tuple([(name, given) for name, given in zip(names, arguments, strict=False) if given])
            return (value._replace(kind="instance", env=env),)
        return self.aliased(value, arguments)

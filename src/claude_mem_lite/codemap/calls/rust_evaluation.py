"""Evaluate Rust's terms: paths through modules, and methods by the `impl`s of a type in all files.

A struct, enum or trait is a "class", as a value an "instance"; a "maker" is a tuple struct, unit struct or
variant as a value, which is no function when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.calls.evaluation import MAX_STEPS as _MAX_STEPS
from claude_mem_lite.codemap.calls.evaluation import Evaluation
from claude_mem_lite.codemap.calls.rust_modules import (
    DERIVED,
    MAPPED,
    PASSED,
    RESULTS,
    SELF_RESULTS,
    SHARED_ROOTS,
)
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from claude_mem_lite.codemap.calls.facts import Facts, Term
    from claude_mem_lite.codemap.calls.values import Builtins, Env, Finder, Values

_MODULES = frozenset({"module", "namespace"})
_WRAPPED = {"Some": ("Option", 0), "Ok": ("Result", 0), "Err": ("Result", 1), "None": ("Option", None)}
_STD = Value("std")
_MAX_PATH_DEPTH = 30  # of imports that lead to each other
_MAX_MODULES = 500  # that a name is looked for in
_MAX_GLOBS = 50  # of a module that are looked at
Key = tuple[str, int | str]


class RustEvaluation(Evaluation):
    """The files of Rust crates that see each other."""

    def __init__(self, files: Mapping[str, Facts], finder: Finder, builtins: Builtins) -> None:
        """Take the files; find which module is in which, and the `impl`s of each type."""
        super().__init__(files, finder, builtins)
        self._parents: dict[str, tuple[str, int]] = {}
        self._looking: set[tuple[str, int, str, str]] = set()
        self._held: dict[tuple[str, int, str, str], Values] = {}
        self._path_depth = 0
        self._globs: dict[tuple[str, int], Values] = {}
        self._is_open_module: dict[tuple[str, int], bool] = {}
        self._impls: dict[Key, list[tuple[str, int]]] = {}
        self._methods_named: dict[tuple[Key, str], list[tuple[str, int]]] = {}  # those that have a method
        self._blanket: list[tuple[str, int]] = []
        for path, facts in files.items():
            for index, scope in enumerate(facts.scopes):
                for terms in scope.types.values():
                    for term in terms:
                        if term and term[0] == "file":
                            target = self._file(path, term)
                            if target and target != path:
                                self._parents.setdefault(target, (path, index))
        for path, facts in files.items():
            for index, scope in enumerate(facts.scopes):
                if scope.kind == "impl":
                    self._take_impl(path, index)
        self._held.clear()
        self._memo.clear()  # what was found without the `impl`s

    def _take_impl(self, path: str, index: int) -> None:
        scope = self._files[path].scopes[index]
        of = scope.return_type
        if of and of[0] == "ref" and of[1] in {(name,) for name, _ in scope.type_params}:
            self._blanket.append((path, index))
            return
        for value in self.start(At(path, index), of):
            if value.kind in {"instance", "builtin"}:
                self._impls.setdefault(_key(value), []).append((path, index))
                for name in scope.members:
                    self._methods_named.setdefault((_key(value), name), []).append((path, index))

    # --- modules and paths -------------------------------------------------------------------------

    def _file(self, path: str, term: Any) -> str:
        target = self._finder.find(path, f"={term[1]}" if len(term) > 2 else f"./{term[1]}")
        return target if target in self._files else ""

    def _module(self, at: At) -> Value:
        """Return the module around a scope."""
        scopes, here = self._files[at.path].scopes, at.scope
        while here > 0 and scopes[here].kind != "namespace":
            here = scopes[here].parent
        return Value("module", at.path, max(here, 0))

    def _above(self, module: Value) -> Value:
        if module.scope:
            parent = self._files[module.path].scopes[module.scope].parent
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

    def _path(self, at: At, names: tuple[str, ...], space: str) -> Values:
        """Return what a path may name: of values ("statics") or of types."""
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
                found = tuple(dict.fromkeys([v for each in found for v in self._item(each, name, inner)]))
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
            return self.on_this_type(at)
        if space == "types":
            bound = self._type_param(at, name)
            if bound is not None:
                return bound
        return self._look_up(at, name, space)

    def _look_up(self, at: At, name: str, space: str) -> Values:
        scopes, here = self._files[at.path].scopes, at.scope
        while here >= 0:
            scope = scopes[here]
            if scope.kind in {"function", *_MODULES}:
                found = self._in_module(at.path, here, name, space)
                if found:
                    return found
                if scope.kind in _MODULES:
                    break
            here = scope.parent
        if space == "types":
            extern = self._extern(at, name)
            if extern != OUTSIDE:
                return extern
        return self._prelude(name) or self._from_globs(at.path, max(here, 0))

    def _from_globs(self, path: str, index: int) -> Values:
        """Return that a name may come from outside, where all of another crate is imported."""
        key = path, index
        if key not in self._is_open_module:
            self._is_open_module[key] = False  # for what is looked up on the way
            at, globs = At(path, index), self._files[path].scopes[index].bases[:_MAX_GLOBS]
            found = [each for glob in globs if glob for each in self._path(at, glob[1], "types")]
            self._is_open_module[key] = any(each.kind in {"outside", "std"} for each in found)
        return OUTSIDE if self._is_open_module[key] else ()

    def _extern(self, at: At, name: str) -> Values:
        if name in SHARED_ROOTS:
            return (_STD,)
        target = self._finder.find(at.path, name)
        return (Value("module", target),) if target in self._files else OUTSIDE

    def _prelude(self, name: str) -> Values:
        known = self._builtins
        if name in _WRAPPED:
            return (Value("builtin method", "", extra=name),)
        if name in known.containers or name in known.transparent:
            return (Value("builtin type", name),)
        return OUTSIDE if name in known.globals else ()

    def _in_module(self, path: str, index: int, name: str, space: str) -> Values:
        """Return what a module, or a function that has items, holds by a name: its own before its globs."""
        key = path, index, name, space
        known = self._held.get(key)
        if known is not None:
            return known
        self._steps += 1
        if key in self._looking or self._steps > _MAX_STEPS:
            return ()
        self._looking.add(key)
        scope = self._files[path].scopes[index]
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
                inside = At(module.path, module.scope)
                for term in getattr(self._files[module.path].scopes[module.scope], space).get(name, ()):
                    found += [
                        each
                        for each in self._bound_item(inside, term, space)
                        if each.kind not in {"outside", "std"}
                    ]
                waiting += self._globbed(module.path, module.scope)
        self._looking.discard(key)
        values = tuple(dict.fromkeys(found))
        if not self._looking:  # else what waits for this one is left out
            self._held[key] = values
        return values

    def _globbed(self, path: str, index: int) -> Values:
        """Return the modules and enums that a module imports all of."""
        key = path, index
        if key not in self._globs:
            self._globs[key] = ()  # for what is looked up on the way
            at, globs = At(path, index), self._files[path].scopes[index].bases[:_MAX_GLOBS]
            found = [each for glob in globs if glob for each in self._path(at, glob[1], "types")]
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
            found = self._path(at, names, space)
            other = "types" if space == "statics" else "statics"
            return found or (() if self._path(at, names, other) else OUTSIDE)
        if term[0] == "file":
            target = self._file(at.path, term)
            return (Value("module", target),) if target else OUTSIDE
        if term[0] == "alias":
            return (Value("alias", at.path, at.scope, extra=term),)
        if term[0] == "scope":
            kind = self._files[at.path].scopes[term[1]].kind
            if kind == "namespace":
                return (Value("module", at.path, term[1]),)
            if kind in {"class", "interface"}:
                return (Value("class" if space == "types" else "maker", at.path, term[1]),)
        return self.values(at, term)

    def _item(self, owner: Value, name: str, space: str) -> Values:
        """Return what a module or a type holds by a name."""
        if owner.kind == "outside":
            return OUTSIDE
        if owner.kind == "std":
            return self._prelude(name) or ((_STD,) if name.islower() else OUTSIDE)
        if owner.kind == "module":
            return self._in_module(owner.path, owner.scope, name, space)
        if owner.kind == "alias":
            return tuple([v for each in self._of_type(owner, ()) for v in self._item(each, name, space)])
        if owner.kind in {"class", "instance"}:
            variants = self.scope(owner).statics.get(name)
            if variants is not None:
                at = At(owner.path, owner.scope, owner.env)
                return tuple([made for term in variants for made in self.values(at, term)])
            instance = owner._replace(kind="instance")
            return self._associated_type(instance, name) if space == "types" else self.member(instance, name)
        if owner.kind == "builtin type":
            owner = Value("builtin", owner.path)
        if owner.kind == "builtin":
            return self.member(owner, name) if space == "statics" else OUTSIDE
        return ()

    def on_path(self, at: At, names: tuple[str, ...]) -> Values:
        return self._path(at, names, "statics")

    def on_name(self, at: At, name: str, _scope: int = -1) -> Values:
        return self._first(at, name, "statics")

    def on_local(self, at: At, name: str, index: int, place: int) -> Values:
        terms = self._files[at.path].scopes[index].names.get(name, ())
        return self.values(at._replace(scope=index), terms[place]) if place < len(terms) else ()

    def on_scope(self, at: At, index: int) -> Values:
        kind = self._files[at.path].scopes[index].kind
        return (Value("maker" if kind == "variant" else kind, at.path, index, at.env),)

    # --- types -------------------------------------------------------------------------------------

    def on_ref(self, at: At, names: tuple[str, ...], types: tuple[Term, ...]) -> Iterable[Value]:
        if len(names) == 1:
            if names[0] in self._builtins.unknown:
                return ()
            bound = self._type_param(at, names[0])
            if bound is not None:
                return bound
        found = self._path(at, names, "types")
        arguments = tuple([self.values(at, each) for each in types])
        return [made for each in found for made in self._made_type(each, arguments)]

    def _made_type(self, value: Value, arguments: tuple[Values, ...]) -> Values:
        if value.kind == "builtin type":
            if value.path in self._builtins.transparent:
                return arguments[0] if arguments else ()
            return (Value("builtin", value.path, extra=arguments),)
        if value.kind == "maker":  # `Shape::Rect { … }`
            return (self._owner(value),)
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
        return super()._of_type(value, arguments)

    def on_this(self, at: At) -> Values:
        for name, values in at.env:
            if name == "Self":
                found: Values = values
                return found
        scopes, here = self._files[at.path].scopes, at.scope
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
            yield from self._associated_type(value, name)

    def _associated_type(self, value: Value, name: str) -> Values:
        for path, index in self._impls.get(_key(value), ()):
            terms = self._files[path].scopes[index].types.get(name, ())
            if terms and terms[0] and terms[0][0] == "alias":
                return self.values(At(path, index, self._impl_env(value, path, index)), terms[0][1])
        if value.kind == "instance":
            for term in self.scope(value).types.get(name, ()):
                if term and term[0] == "alias":
                    return self.values(At(value.path, value.scope, value.env), term[1])
        return OUTSIDE

    def on_declared(self, at: At, declared: Term, term: Term) -> Values:
        """Return a variable's declared type, or what it is given where that says more."""
        return self.values(at, declared) or self.values(at, term)

    # --- members -----------------------------------------------------------------------------------

    def on_attribute(self, at: At, base: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, base):
            yield from self.member(value, name)

    def on_assoc(self, at: At, owner: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, owner):
            yield from self._item(value, name, "statics")

    def member(self, value: Value, name: str) -> Values:
        """Return what a method of a value may be."""
        if value.kind == "maker":
            value = self._owner(value)
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
            each.kind in {"outside", "builtin"} for each in self.bases(value)
        )

    def _method(self, value: Value, name: str, seen: set[Key]) -> Values:
        """Return a method: of the type itself, else of a trait's `impl`, else the trait's own."""
        key = _key(value)
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
                if ("trait" in self._files[path].scopes[index].flags) is wanted:
                    found_all += self._members(value, path, index, name, self._impl_env(value, path, index))
            if found_all:
                return tuple(dict.fromkeys(found_all))
        traits = [each for each, _ in self._traits(value)]
        for trait in [*(self.bases(value) if is_trait else ()), *traits]:
            if trait.kind == "instance" and (found := self._default(value, trait, name, set())):
                return found
        for trait, (path, index) in self._traits(value):
            if trait.kind != "instance" and self._files[path].scopes[index].types.get("Target"):
                for target in self._associated_type(value, "Target"):
                    if target.kind in {"instance", "builtin"} and (found := self._method(target, name, seen)):
                        return found
        return self._blanket_method(value, name)

    def _default(self, value: Value, trait: Value, name: str, seen: set[Key]) -> Values:
        """Return a trait's method, or that of a trait above it."""
        if _key(trait) in seen or trait.kind != "instance":
            return ()
        seen.add(_key(trait))
        found = self._members(value, trait.path, trait.scope, name, trait.env)
        for base in () if found else self.bases(trait):
            found = found or self._default(value, base, name, seen)
        return found

    def _blanket_method(self, value: Value, name: str) -> Values:
        """Return a method of an `impl<T: Bound> Trait for T` whose bounds hold."""
        for path, index in self._blanket:
            scope = self._files[path].scopes[index]
            if name not in scope.members and not any(
                name in self.scope(trait).members
                for trait in self.values(At(path, index), scope.context)
                if trait.kind == "instance"
            ):
                continue
            bound = dict(scope.type_params).get(scope.return_type[1][0]) if scope.return_type else None
            needed = [each for each in self.values(At(path, index), bound) if each.kind == "instance"]
            own = {_key(trait) for trait, _ in self._traits(value)} | {_key(value)}
            if (bound is not None and not needed) or any(_key(each) not in own for each in needed):
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
            for path, index in self._impls.get(_key(value), ())
            if "trait" in self._files[path].scopes[index].flags
            for trait in self.values(At(path, index), self._files[path].scopes[index].context) or OUTSIDE
        ]

    def bases(self, value: Value) -> Iterator[Value]:
        """Yield the traits directly above one."""
        if value.kind == "instance" and self.scope(value).kind == "interface":
            for base in self.scope(value).bases:
                yield from self.values(At(value.path, value.scope, value.env), base)

    def _members(self, value: Value, path: str, index: int, name: str, env: Env) -> Values:
        terms = self._files[path].scopes[index].members.get(name, ())
        own = (*env, ("Self", (value,)))
        return tuple([
            each._replace(env=own, receiver=(value,)) if each.kind == "function" else each
            for term in terms
            for each in self.values(At(path, index), term)
        ])  # fmt: skip

    def _impl_env(self, value: Value, path: str, index: int) -> Env:
        """Return the type arguments of an `impl`: those of the value, by the names that they have there."""
        scope = self._files[path].scopes[index]
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
            value = self._owner(value)
        if value.kind == "builtin" and value.path == "(,)" and name.isdigit():
            place = int(name[:4])
            found: Values = value.extra[place] if place < len(value.extra) else ()
            return found
        if value.kind != "instance" or _key(value) in seen:
            return OUTSIDE if value.kind in {"outside", "builtin", "std"} else ()
        seen.add(_key(value))
        terms = self.scope(value).members.get(name)
        if terms is not None:
            return self._declared_field(value, value.path, value.scope, name)
        for target in self._associated_type(value, "Target"):
            if found := self._field(target, name, seen):
                return found
        return ()

    def _declared_field(self, value: Value, path: str, index: int, name: str) -> Values:
        terms = self._files[path].scopes[index].members.get(name, ())
        return tuple([each for term in terms for each in self.values(At(path, index, value.env), term)])

    def on_part(self, at: At, base: Term, names: tuple[str, ...], name: str) -> Iterator[Value]:
        """Yield a field of what a pattern matches."""
        makers = self._path(at, names, "statics") or self._path(at, names, "types")
        for maker in makers:
            if maker.kind == "builtin method" and maker.extra in _WRAPPED:
                kind, place = _WRAPPED[maker.extra]
                for value in self.values(at, base):
                    if value.kind == "builtin" and value.path == kind and place is not None:
                        yield from value.extra[place] if place < len(value.extra) else ()
                    elif value.kind == "outside":
                        yield value
            elif maker.kind in {"maker", "class", "instance"}:
                owner = self._owner(maker) if maker.kind == "maker" else maker
                matched = [each for each in self.values(at, base) if _key(each) == _key(owner)]
                known = matched[0] if matched else owner
                yield from self._declared_field(known, maker.path, maker.scope, name)
            elif maker.kind == "outside":
                yield maker

    def _owner(self, maker: Value) -> Value:
        """Return what a tuple struct or a variant makes."""
        scope = self.scope(maker)
        index = scope.parent if scope.kind == "variant" else maker.scope
        return Value("instance", maker.path, index, maker.env)

    def on_element(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            yield from self._element(value)

    def _element(self, value: Value) -> Values:
        if value.kind == "builtin":
            if value.path in {"HashMap", "BTreeMap"}:
                return (Value("builtin", "(,)", extra=value.extra),)
            place = self._builtins.elements.get(value.path)
            return _argument(value, place) if place is not None else OUTSIDE
        if value.kind == "instance":
            return self._associated_type(value, "Item")
        return OUTSIDE if value.kind in {"outside", "std"} else ()

    def on_index(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            if value.kind == "builtin":
                place = self._builtins.elements.get(value.path)
                yield from _argument(value, place) if place is not None else OUTSIDE
            elif value.kind == "instance":
                found = self._associated_type(value, "Output")
                yield from found
            elif value.kind == "outside":
                yield value

    def on_try(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            if value.kind == "builtin":
                yield from _argument(value, 0)
            elif value.kind in {"outside", "std"}:
                yield OUTSIDE[0]

    def on_tuple(self, at: At, terms: tuple[Term, ...]) -> Values:
        return (Value("builtin", "(,)", extra=tuple([self.values(at, each) for each in terms])),)

    def on_list(self, at: At, terms: tuple[Term, ...], kind: str = "[]") -> Values:
        found = tuple(dict.fromkeys([value for each in terms for value in self.values(at, each)]))
        return (Value("builtin", kind, extra=(found,)),)

    def on_vec(self, at: At, terms: tuple[Term, ...]) -> Values:
        return self.on_list(at, terms, "Vec")

    def on_future(self, at: At, term: Term) -> Values:
        return (Value("builtin", "Future", extra=(self.values(at, term),)),)

    # --- calls -------------------------------------------------------------------------------------

    def on_call(
        self, at: At, callee: Term, types: tuple[Term, ...] = (), given: tuple[Term, ...] = ()
    ) -> Iterator[Value]:
        """Yield what a call may return."""
        for value in self.values(at, callee):
            if value.kind == "builtin method":
                yield from self._of_builtin(value, at, types, given)
            elif value.kind == "maker":
                env = self._inferred_env(value, list(self._field_types(value)), at, given)
                yield self._owner(value)._replace(env=env) if env else self._owner(value)
            elif value.kind == "function":
                scope = self.scope(value)
                explicit = tuple([
                    (name, self.values(at, each))
                    for (name, _), each in zip(scope.type_params, types, strict=False)
                ])  # fmt: skip
                env = explicit or self._inferred_env(
                    value, [declared for declared, _ in scope.params], at, given
                )
                yield from self.result(value._replace(env=(*env, *value.env)))
            else:
                yield from self.result(value)

    def _field_types(self, maker: Value) -> Iterator[Term]:
        for name, terms in self.scope(maker).members.items():
            if name.isdigit() and terms and terms[0]:
                yield terms[0][1]

    def _inferred_env(self, value: Value, declared: list[Term], at: At, given: tuple[Term, ...]) -> Env:
        """Return the type arguments that follow from the arguments of a call."""
        scope = self.scope(self._owner(value) if value.kind == "maker" else value)
        names = {name for name, _ in scope.type_params}
        found: dict[str, Values] = {}
        for of, term in zip(declared, given, strict=False) if names else ():
            if of and of[0] == "ref" and len(of[1]) == 1 and of[1][0] in names:
                values = self.values(at, term)
                if values:
                    found.setdefault(of[1][0], values)
        return tuple(found.items())

    def result(self, value: Value) -> Values:
        """Return what a call of a value may return."""
        if value.kind == "maker":
            return (self._owner(value),)
        if value.kind == "builtin method":
            return self._of_builtin(value, At("", 0), (), ())
        if value.kind in {"instance", "builtin", "std", "module"}:
            return ()
        return super().result(value)

    def _of_builtin(self, method: Value, at: At, types: tuple[Term, ...], given: tuple[Term, ...]) -> Values:
        """Return what a method of the language's types returns."""
        kind, name = method.path, method.extra
        if not kind and name in _WRAPPED:
            of, place = _WRAPPED[name]
            inner = self.values(at, given[0]) if given else ()
            return (Value("builtin", of, extra=((), inner) if place else (inner,)),)
        receiver: Value | None = method.receiver[0] if method.receiver else None
        if receiver is None:
            return OUTSIDE
        if name == "new" and kind in self._builtins.transparent | {"RefCell", "Cell", "Mutex", "RwLock"}:
            inner = self.values(at, given[0]) if given else ()
            return inner if kind in self._builtins.transparent else (receiver._replace(extra=(inner,)),)
        if kind in self._builtins.transparent:  # `Rc::clone(&x)`
            return self.values(at, given[0]) if name == "clone" and given else OUTSIDE
        if name in {"new", "with_capacity", "default"}:
            return (receiver,)
        if name == "collect":
            return self._collected(receiver, at, types)
        if name in MAPPED and given and kind in {"Option", "Result", "Iterator"}:
            return self._mapped(receiver, MAPPED[name], self.values(at, given[-1]))
        spec = RESULTS.get((kind, name))
        if spec is not None:
            return _made(receiver, spec)
        return (receiver,) if name in SELF_RESULTS else OUTSIDE

    def _collected(self, receiver: Value, at: At, types: tuple[Term, ...]) -> Values:
        found = self.values(at, types[0]) if types else ()
        return tuple([
            each._replace(extra=(receiver.extra[0] if receiver.extra else (),))
            if each.kind == "builtin" and each.path not in {"Result", "Option"} and each.extra == ((),)
            else each
            for each in found
        ])  # fmt: skip

    def _mapped(self, receiver: Value, how: str, functions: Values) -> Values:
        found = tuple(dict.fromkeys([each for function in functions for each in self.result(function)]))
        if how == "bare":
            return found
        if how == "element":
            found = tuple([inner for each in found for inner in self._element(each)])
        return (receiver._replace(extra=(found, *receiver.extra[1:])),)

    def _given(self, value: Value, place: int) -> Values:
        if value.kind == "builtin method":
            places = PASSED.get((value.path, value.extra), ())
            if place >= len(places) or not value.receiver:
                return OUTSIDE
            return _made(value.receiver[0], places[place])
        return () if value.kind in {"instance", "maker"} else super()._given(value, place)


def _key(value: Value) -> Key:
    return ("", value.path) if value.kind == "builtin" else (value.path, value.scope)


def _argument(value: Value, place: int) -> Values:
    found: Values = value.extra[place] if place < len(value.extra) else ()
    return found


def _made(value: Value, spec: Any) -> Values:
    """Return a type that is written as in `RESULTS`."""
    if spec is None:
        return ()
    if spec == "self":
        return (value,)
    if isinstance(spec, int):
        return _argument(value, spec)
    return (Value("builtin", spec[0], extra=tuple([_made(value, each) for each in spec[1:]])),)

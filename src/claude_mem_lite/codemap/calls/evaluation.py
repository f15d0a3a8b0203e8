"""Evaluate terms to the values that they may have.

A name is looked up in the scopes around it, then in the file's imports; an attribute by what its receiver was
declared to be or made from, then in the classes above. Nothing is iterated to a fixed point: a term that
depends on itself is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Value, argument_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from claude_mem_lite.codemap.calls.facts import Facts, Scope, Term
    from claude_mem_lite.codemap.calls.values import Builtins, Finder, Values

_MAX_VALUES = 8  # that one term may have
_MAX_DEPTH = 40  # of terms that rest on each other
MAX_STEPS = 2_000  # terms evaluated for one call
_CLASS_STEPS = 10  # that looking into a class counts as
_MAX_BASES = 100  # above a class
CLASSES = frozenset({"class", "interface", "object", "impl"})
_SEEN_FROM_INSIDE = frozenset({"module", "function", "namespace", "block"})
_KINDS = {"object": "instance", "interface": "instance"}


class Evaluation:
    """The files of languages that import each other, by path; terms are evaluated once."""

    def __init__(self, files: Mapping[str, Facts], finder: Finder, builtins: Builtins) -> None:
        """Take files that see each other."""
        self._files = files
        self._finder = finder
        self._builtins = builtins
        self._packages: dict[str, dict[str, list[str]]] = {}  # files by what they export
        for path, facts in files.items():
            if package := finder.package(path):
                names = self._packages.setdefault(package, {})
                for name in facts.exports:
                    names.setdefault(name, []).append(path)
        self._modules: dict[str, dict[str, Values]] = {}  # by their own names, that a file imports
        self._memo: dict[tuple[At, Term], Values] = {}
        self._steps = 0
        self._depth = 0

    def start(self, at: At, term: Term) -> Values:
        """Return what a term may be, with all the steps that one call may take."""
        self._steps = 0
        return self.values(at, term)

    def values(self, at: At, term: Term) -> Values:
        """Return what a term may be: none where nothing is known of it."""
        if term is None:
            return ()
        key = (at, term)
        known = self._memo.get(key)
        if known is not None:
            return known
        self._steps += 1
        if self._depth >= _MAX_DEPTH or self._steps > MAX_STEPS:
            return ()
        self._memo[key] = ()
        self._depth += 1
        found = tuple(dict.fromkeys(getattr(self, f"on_{term[0]}")(at, *term[1:])))[:_MAX_VALUES]
        self._depth -= 1
        self._memo[key] = found
        return found

    def scope(self, value: Value) -> Scope:
        """Return the scope of a function, class, instance or namespace."""
        return self._files[value.path].scopes[value.scope]

    # --- names -------------------------------------------------------------------------------------

    def on_name(self, at: At, name: str, scope: int = -1) -> Values:
        return self._look_up(at._replace(scope=scope) if scope >= 0 else at, name, "names")

    def _look_up(self, at: At, name: str, space: str) -> Values:
        """Return what a name stands for in a scope: "names" of values, or "types"."""
        scopes, here = self._files[at.path].scopes, at.scope
        is_open = False  # a class around inherits from one that is not the project's
        while here >= 0:
            scope = scopes[here]
            if self._builtins.implies_this and scope.kind in CLASSES and self._steps <= MAX_STEPS:
                found = self._member_around(At(at.path, here), name, space)
                if found and (found != OUTSIDE or name in scope.members):
                    return found
                is_open = is_open or (space == "names" and found == OUTSIDE)
            terms = getattr(scope, space).get(name)
            if terms is not None and (
                space == "types" or scope.kind in _SEEN_FROM_INSIDE or name == last(scope.name)
            ):
                return self._all(At(at.path, here), terms, space)
            here = scope.parent
        found = self._seen(at.path, name, space)
        return found or (OUTSIDE if is_open or name in self._builtins.globals else ())

    def _member_around(self, at: At, name: str, space: str) -> Values:
        """Return what a name is as a member of a class around, an inherited one, too."""
        if space == "types":
            found = self.member(Value("class", at.path, at.scope), name)
            return tuple([each for each in found if each.kind == "class"])
        env = tuple(
            [(own, self.values(at, of)) for own, of in self._files[at.path].scopes[at.scope].type_params]
        )
        return self.member(Value("instance", at.path, at.scope, env), name)

    def _seen(self, path: str, name: str, space: str) -> Values:
        """Return what a name is in a file's package, else in what the file imports as a whole."""
        found = self._of_package(path, name, space)
        if found:
            return found
        names = self._files[path].scopes[0].names
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
            terms = self._files[path].scopes[0].names.get("package", ())
            found = [each for term in terms for each in self.values(At(path, 0), term)]
            self._modules[path] = {
                self._files[each.path].scopes[0].name: (each,) for each in found if each.kind == "module"
            }
        return self._modules[path]

    def _of_package(self, path: str, name: str, space: str) -> Values:
        """Return what the files of a file's package export by a name."""
        paths = self._packages.get(self._finder.package(path), {}).get(name, ())
        return tuple(
            [
                value
                for each in paths
                for value in self._all(At(each, 0), self._files[each].exports[name], space)
            ]
        )

    def _all(self, at: At, terms: Iterable[Term], space: str) -> Values:
        found: dict[Value, None] = {}
        for term in terms:
            if term and term[0] == "import":
                values = self._exported(at.path, term[1], term[2], space)
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
            path = self._finder.find(at.path, ".".join(names[:length]))
            found: Values = (Value("module", path),) if path in self._files else ()
            for name in names[length:]:
                found = tuple([inner for each in found for inner in self.member(each, name)])
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

    def on_import(self, at: At, module: str, name: str) -> Values:
        return self._exported(at.path, module, name, "names")

    def _exported(self, path: str, module: str, name: str, space: str) -> Values:
        target = self._finder.find(path, module)
        return self._export(target, name, space, set()) if target in self._files else OUTSIDE

    def _export(self, path: str, name: str, space: str, seen: set[str]) -> Values:
        """Return what a file exports by a name, by way of the files that it exports from."""
        if path in seen:
            return ()
        seen.add(path)
        facts = self._files[path]
        if name == "*":
            return (Value("module", path),)
        if name == "=":
            whole = facts.exports.get("=")
            return self._all(At(path, 0), whole, space) if whole else (Value("module", path),)
        terms = facts.exports.get(name)
        if terms is not None:
            return self._all(At(path, 0), terms, space)
        if found := self._of_package(path, name, space):
            return found
        for star in facts.stars:
            target = self._finder.find(path, star)
            if target in self._files and (found := self._export(target, name, space, seen)):
                return found
        whole = facts.exports.get("=", ())
        return tuple(
            [inner for each in self._all(At(path, 0), whole, space) for inner in self.member(each, name)]
        )

    def on_param(self, at: At, index: int, place: int) -> Iterable[Value]:
        """Return what a parameter may be: by its type, its default, or what is expected of the function."""
        scope = self._files[at.path].scopes[index]
        declared, default = scope.params[place]
        inside = at._replace(scope=index)
        if declared is not None:
            return self.values(inside, declared)
        found = [*self.values(inside, default)]
        for value in self.values(at._replace(scope=scope.parent), scope.context):
            found += self._given(value, place)
        return found

    # --- what is expected of a function, where it is written ---------------------------------------

    def on_argument(
        self, at: At, callee: Term, place: int, types: tuple[Term, ...], declared: Term
    ) -> Iterator[Value]:
        """Yield what a call expects as an argument; `declared` is what its result is declared to be."""
        arguments = tuple([self.values(at, each) for each in types])
        for value in self.values(at, callee):
            made: Values = (value,)
            if value.kind == "class":
                made = self.member(self._bound(value, arguments)._replace(kind="instance"), "constructor")
            for each in made:
                if each.kind == "builtin method":  # it says itself what it gives to a function
                    yield each
                    continue
                bound = self._bound(each, arguments) if each.kind == "function" else each
                if declared is not None and each.kind == "function" and not types:
                    bound = self._unified(each, at, declared)
                yield from self._given(bound, place)

    def on_expected(self, at: At, index: int) -> Values:
        """Return what is expected where an object or a function is written."""
        scope = self._files[at.path].scopes[index]
        return self.values(at._replace(scope=scope.parent), scope.context)

    def on_returned(self, at: At, index: int) -> Values:
        """Return what is expected of a function's result."""
        scope = self._files[at.path].scopes[index]
        if scope.return_type is not None:
            return self.values(at._replace(scope=index), scope.return_type)
        return tuple([each for value in self.on_expected(at, index) for each in self.result(value)])

    def _given(self, value: Value, place: int) -> Values:
        """Return what a function is given at a place."""
        if value.kind == "signature":
            types = value.extra[1]
            return self.values(_inside(value), types[place]) if place < len(types) else ()
        if value.kind == "function":
            params = self.scope(value).params
            return self.values(_inside(value), params[place][0]) if place < len(params) else ()
        if value.kind == "builtin method":
            places = self._builtins.passed.get((value.path, value.extra), ())
            return argument_of(value.receiver[0], places[place]) if place < len(places) else OUTSIDE
        if value.kind == "instance":
            return tuple([each for made in self.member(value, "()") for each in self._given(made, place)])
        return OUTSIDE if value.kind == "outside" else ()

    def _unified(self, function: Value, at: At, declared: Term) -> Value:
        """Return a function with the type arguments that follow from what its result is declared to be."""
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

    # --- members -----------------------------------------------------------------------------------

    def on_attribute(self, at: At, base: Term, name: str) -> Iterator[Value]:
        if base == ("super",):
            yield from self._member_of_super(at, name)
            return
        for value in self.values(at, base):
            yield from self.member(value, name)

    def _member_of_super(self, at: At, name: str) -> Iterator[Value]:
        for value in self.on_this(at):
            for base in self.on_super(at):
                yield from self.member(base._replace(kind=value.kind) if base.kind == "class" else base, name)

    def member(self, value: Value, name: str) -> Values:
        """Return what an attribute of a value may be."""
        if value.kind == "outside":
            return OUTSIDE
        if value.kind == "module":
            return self._export(value.path, name, "names", set())
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
        while waiting and len(seen) < _MAX_BASES and self._steps <= MAX_STEPS:
            self._steps += _CLASS_STEPS
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
            for base in self.bases(each):
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
        return tuple(
            [
                each._replace(
                    env=tuple(
                        [
                            (own, of)
                            for (own, _), (_, of) in zip(
                                self.scope(each).type_params, value.env, strict=False
                            )
                        ]
                    ),
                    receiver=(value,),
                )
                for each in self._of_package(value.path, f"{scope.name}.{name}", "names")
                if each.kind == "function"
            ]
        )

    def _own(self, owner: Value, terms: Iterable[Term]) -> Values:
        found = dict.fromkeys([each for term in terms for each in self.values(_inside(owner), term)])
        receiver = owner.receiver or (owner,)
        return tuple(
            [
                each._replace(env=owner.env, receiver=receiver) if each.kind == "function" else each
                for each in found
            ]
        )

    def bases(self, value: Value) -> Iterator[Value]:
        """Yield the classes and interfaces directly above one."""
        scope = self.scope(value)
        for base in scope.bases:
            yield from self.values(_inside(value), base)
        if scope.kind in {"class", "interface"} and scope.name:
            # Declarations of one name are one type.
            around = self._files[value.path].scopes[scope.parent]
            for term in around.types.get(last(scope.name), ()):
                if term and term[0] == "scope" and term[1] != value.scope:
                    yield Value("instance", value.path, term[1], value.env)

    def on_element(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            if value.kind == "outside":
                yield value
            for each in self.bases(value) if value.kind == "instance" else (value,):
                place = self._builtins.elements.get(each.path) if each.kind == "builtin" else None
                if place is not None:
                    yield from argument_of(each, place)

    def on_this(self, at: At) -> Values:
        """Return the class or object around, or an instance of it; an arrow function has none of its own."""
        scopes, here = self._files[at.path].scopes, at.scope
        kind = "instance"
        while here > 0:
            scope = scopes[here]
            if scope.kind in {"class", "interface"}:
                env = tuple([(name, self.values(At(at.path, here), of)) for name, of in scope.type_params])
                return (Value(kind, at.path, here, env),)
            if scope.kind == "function" and "arrow" not in scope.flags:
                if "this" in scope.names:
                    return self._all(At(at.path, here), scope.names["this"], "names")
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
                for base in self.bases(value):
                    yield base._replace(kind="class") if base.kind == "instance" else base

    # --- what is called, made and awaited ----------------------------------------------------------

    def on_call(
        self, at: At, callee: Term, types: tuple[Term, ...] = (), arguments: tuple[Term, ...] = ()
    ) -> Iterator[Value]:
        for value in self.values(at, callee):
            if arguments and not types and value.kind == "function":
                yield from self.result(self._inferred(value, [self.values(at, each) for each in arguments]))
                continue
            is_bound = types and value.kind == "function"
            yield from self.result(
                self._bound(value, tuple([self.values(at, each) for each in types])) if is_bound else value
            )

    def result(self, value: Value) -> Values:
        """Return what a call of a value may return."""
        if value.kind == "outside":
            return OUTSIDE
        if value.kind == "class":
            return (value._replace(kind="instance"),)
        if value.kind == "signature":
            return self.values(_inside(value), value.extra[2])
        if value.kind == "instance":
            return tuple([each for made in self.member(value, "()") for each in self.result(made)])
        if value.kind == "builtin method":
            place = self._builtins.results.get((value.path, value.extra))
            return argument_of(value.receiver[0], place) if place is not None else OUTSIDE
        return self._returned(value) if value.kind == "function" else ()

    def _returned(self, value: Value) -> Values:
        scope = self.scope(value)
        if scope.return_type is not None:
            if scope.return_type == ("this_type",) and value.receiver:
                return value.receiver
            return self.values(_inside(value), scope.return_type)
        if ("this",) in scope.returns and value.receiver:
            return value.receiver
        found = tuple([each for term in scope.returns for each in self.values(_inside(value), term)])
        return (Value("builtin", "Promise", extra=(found,)),) if "async" in scope.flags else found

    def on_new(self, at: At, callee: Term, types: tuple[Term, ...]) -> Iterator[Value]:
        arguments = tuple([self.values(at, each) for each in types])
        for value in self.values(at, callee):
            if value.kind == "class":
                yield self._bound(value, arguments)._replace(kind="instance")
            elif value.kind == "function" and self.scope(value).members:
                yield value._replace(kind="instance")
            elif value.kind == "instance":
                yield value
            elif value.kind == "outside":
                name = callee[1] if callee and callee[0] == "name" else ""
                is_container = name in self._builtins.containers
                yield Value("builtin", name, extra=arguments) if is_container else value

    def _bound(self, value: Value, arguments: Sequence[Values]) -> Value:
        """Return a value with its type parameters bound to arguments, to their constraints without."""
        env = [
            (name, given if (given := arguments[place : place + 1]) and given[0] else None, of)
            for place, (name, of) in enumerate(self.scope(value).type_params)
        ]
        own = tuple(
            [
                (name, given[0] if given else self.values(At(value.path, value.scope), of))
                for name, given, of in env
            ]
        )
        return value._replace(env=(*own, *value.env) if value.kind == "function" else own)

    def _inferred(self, function: Value, arguments: Sequence[Values]) -> Value:
        """Return a function with the type arguments that follow from what it is given."""
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

    def on_conversion(self, at: At, declared: Term) -> Iterator[Value]:
        for value in self.values(at, declared):
            yield value._replace(kind="class") if value.kind == "instance" else value

    def on_await(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            is_opened = value.kind == "builtin" and value.path in self._builtins.awaited
            yield from argument_of(value, 0) if is_opened else (value,)

    def on_one_of(self, at: At, terms: tuple[Term, ...]) -> Iterator[Value]:
        for each in terms:
            yield from self.values(at, each)

    def on_scope(self, at: At, index: int) -> Values:
        kind = self._files[at.path].scopes[index].kind
        return (Value(_KINDS.get(kind, kind), at.path, index, at.env),)

    # --- types -------------------------------------------------------------------------------------

    def on_ref(self, at: At, names: tuple[str, ...], types: tuple[Term, ...]) -> Iterable[Value]:
        name = names[0]
        if len(names) == 1:
            bound = self._type_param(at, name)
            if bound is not None:
                return bound
        found = self._look_up(at, name, "types")
        if not found and len(names) > 1:
            found, names = self.on_qualified(at, names), ()
        for inner in names[1:]:
            found = tuple([value for each in found for value in self._inner_type(each, inner)])
        if found and found != OUTSIDE:
            arguments = tuple([self.values(at, each) for each in types])
            return [value for each in found for value in self._of_type(each, arguments)]
        if name in self._builtins.unknown:
            return ()
        if name in self._builtins.transparent:
            return self.values(at, types[0]) if types else ()
        if name in self._builtins.containers:
            return (Value("builtin", name, extra=tuple([self.values(at, each) for each in types])),)
        return OUTSIDE

    def _type_param(self, at: At, name: str) -> Values | None:
        """Return what a type parameter is bound to, else its constraint; None for other names."""
        for known, values in at.env:
            if known == name:
                return values
        scopes, here = self._files[at.path].scopes, at.scope
        while here >= 0:
            for known, constraint in scopes[here].type_params:
                if known == name:
                    return self.values(At(at.path, here), constraint)
            here = scopes[here].parent
        return None

    def _inner_type(self, value: Value, name: str) -> Values:
        if value.kind == "module":
            return self._export(value.path, name, "types", set())
        if value.kind == "namespace":
            return self._all(_inside(value), self.scope(value).types.get(name, ()), "types")
        if value.kind == "class":
            return self.member(value, name)
        return OUTSIDE if value.kind == "outside" else ()

    def _of_type(self, value: Value, arguments: tuple[Values, ...]) -> Values:
        if value.kind == "alias":
            _, aliased, params = value.extra
            env = tuple(
                [(name, arguments[at] if at < len(arguments) else ()) for at, (name, _) in enumerate(params)]
            )
            return self.values(At(value.path, value.scope, env), aliased)
        if value.kind in {"class", "instance"}:
            return (self._bound(value, arguments)._replace(kind="instance"),)
        return (value,) if value.kind == "outside" else ()

    def on_typed(self, at: At, term: Term) -> Values:
        return self.values(at, term)

    def on_union(self, at: At, terms: tuple[Term, ...]) -> list[Value]:
        found = [value for each in terms for value in self.values(at, each)]
        return [each for each in found if each.kind != "outside"] or found

    def on_this_type(self, at: At) -> Values:
        return self.on_this(at)

    def on_type_of(self, at: At, term: Term) -> Values:
        return self.values(at, term)

    def on_member_type(self, at: At, term: Term, name: str) -> Iterator[Value]:
        for value in self.values(at, term):
            yield from self.member(value, name)

    def on_function(self, at: At, *parts: Any) -> Values:
        return (Value("signature", at.path, at.scope, at.env, extra=("function", *parts)),)

    def on_shape(self, at: At, index: int) -> Values:
        return (Value("instance", at.path, index, at.env),)


def last(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition(".")[2]


def _inside(value: Value) -> At:
    return At(value.path, value.scope, value.env)

"""Evaluate Rust's calls, patterns and literals, with the results of the standard library's methods."""

from collections.abc import Iterator

from claude_mem_lite.codemap.calls.evaluation import flat
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.rust_members import key_of
from claude_mem_lite.codemap.calls.rust_modules import MAPPED, SELF_RESULTS
from claude_mem_lite.codemap.calls.rust_paths import WRAPPED, RustPaths
from claude_mem_lite.codemap.calls.values import OUTSIDE, At, Env, Value, Values, argument_of


class RustResults(RustPaths):
    """Evaluates calls, patterns and literals; what Rust shares with other languages is in `Evaluation`."""

    def on_call(
        self, at: At, callee: Term, types: tuple[Term, ...] = (), given: tuple[Term, ...] = ()
    ) -> Iterator[Value]:
        """Yield what a call may return."""
        for value in self.values(at, callee):
            if value.kind == "builtin method":
                yield from self._of_builtin(value, at, types, given)
            elif value.kind == "maker":
                fields = self.scope(value).members.items()
                declared = [of[0][1] for name, of in fields if name.isdigit() and of and of[0]]
                env = self._inferred_env(value, declared, at, given)
                made = self.owner(value)
                yield made._replace(env=env) if env else made
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

    def on_part(self, at: At, base: Term, names: tuple[str, ...], name: str) -> Iterator[Value]:
        """Yield a field of the value that a pattern matches."""
        makers = self.find(at, names, "statics") or self.find(at, names, "types")
        for maker in makers:
            if maker.kind == "builtin method" and maker.extra in WRAPPED:
                kind, place = WRAPPED[maker.extra]
                for value in self.values(at, base):
                    if value.kind == "builtin" and value.path == kind:
                        yield from argument_of(value, place)
                    elif value.kind == "outside":
                        yield value
            elif maker.kind in {"maker", "class", "instance"}:
                owner = self.owner(maker) if maker.kind == "maker" else maker
                matched = [each for each in self.values(at, base) if key_of(each) == key_of(owner)]
                known = matched[0] if matched else owner
                yield from self.declared_field(known, maker, name)
            elif maker.kind == "outside":
                yield maker

    def on_try(self, at: At, base: Term) -> Iterator[Value]:
        for value in self.values(at, base):
            if value.kind == "builtin":
                yield from argument_of(value, 0)
            elif value.kind in {"outside", "std"}:
                yield OUTSIDE[0]

    def on_tuple(self, at: At, terms: tuple[Term, ...]) -> Values:
        return (Value("builtin", "(,)", extra=tuple([self.values(at, each) for each in terms])),)

    def on_list(self, at: At, terms: tuple[Term, ...], kind: str = "[]") -> Values:
        found = dict.fromkeys(flat([self.values(at, each) for each in terms]))
        return (Value("builtin", kind, extra=(tuple(found),)),)

    def on_vec(self, at: At, terms: tuple[Term, ...]) -> Values:
        return self.on_list(at, terms, "Vec")

    def on_future(self, at: At, term: Term) -> Values:
        return (Value("builtin", "Future", extra=(self.values(at, term),)),)

    def on_declared(self, at: At, declared: Term, term: Term) -> Values:
        """Return a variable's declared type, or its value where that type is unknown."""
        return self.values(at, declared) or self.values(at, term)

    def _inferred_env(self, value: Value, declared: list[Term], at: At, given: tuple[Term, ...]) -> Env:
        """Return the type arguments inferred from the arguments of a call."""
        scope = self.scope(self.owner(value) if value.kind == "maker" else value)
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
            return (self.owner(value),)
        if value.kind == "builtin method":
            return self._of_builtin(value, At("", 0), (), ())
        if value.kind in {"instance", "builtin", "std", "module"}:
            return ()
        return super().result(value)

    def _of_builtin(self, method: Value, at: At, types: tuple[Term, ...], given: tuple[Term, ...]) -> Values:
        """Return the result of a method of a built-in type."""
        kind, name = method.path, method.extra
        if not kind and name in WRAPPED:
            of, at_second = WRAPPED[name]
            inner = self.values(at, given[0]) if given else ()
            return (Value("builtin", of, extra=((), inner) if at_second else (inner,)),)
        receiver: Value | None = method.receiver[0] if method.receiver else None
        if receiver is None:
            return OUTSIDE
        if name == "new" and kind in self.builtins.transparent | {"RefCell", "Cell", "Mutex", "RwLock"}:
            inner = self.values(at, given[0]) if given else ()
            return inner if kind in self.builtins.transparent else (receiver._replace(extra=(inner,)),)
        if kind in self.builtins.transparent:  # `Rc::clone(&x)`
            return self.values(at, given[0]) if name == "clone" and given else OUTSIDE
        if name in {"new", "with_capacity", "default"}:
            return (receiver,)
        if name == "collect":
            return self._collected(receiver, at, types)
        if name in MAPPED and given and kind in {"Option", "Result", "Iterator"}:
            return self._mapped(receiver, MAPPED[name], self.values(at, given[-1]))
        place = self.builtins.results.get((kind, name))
        if place is not None:
            return argument_of(receiver, place)
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
        found = tuple(dict.fromkeys(flat([self.result(each) for each in functions])))
        if how == "bare":
            return found
        if how == "element":
            found = flat([self.element(each) for each in found])
        return (receiver._replace(extra=(found, *receiver.extra[1:])),)

    def given(self, value: Value, place: int) -> Values:
        return () if value.kind == "instance" else super().given(value, place)

"""Call sites to edges: what a call may run, what it passes on, and what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claude_mem_lite.codemap import foreign
from claude_mem_lite.codemap.attributes import FOREIGN, Attributes, choices
from claude_mem_lite.codemap.values import (
    Cell,
    Unit,
    Value,
    Values,
    content,
    items,
    join,
    mapping,
    sequence,
    union,
)

if TYPE_CHECKING:
    from claude_mem_lite.codemap.classes import Class
    from claude_mem_lite.codemap.lowering import Expr

_CALLABLE = frozenset({"fn", "bound", "cls", "inst"})
Arguments = list[tuple[bool, Values]]  # (is it starred, values)
Keywords = list[tuple[str | None, Values]]  # the name is None for `**`


class Site(NamedTuple):
    """Where a call stands and how sure its callee is: form, level of evidence, resolution if special."""

    line: int
    shape: str
    level: str
    resolution: str


class Calls(Attributes):
    """Attributes, and calls of them."""

    if TYPE_CHECKING:

        def expr(self, node: Expr) -> Values:
            """Return what an expression may be; the evaluation of expressions provides it."""

        def assign_more(self, target: Expr, values: Values) -> None:
            """Replace what a variable holds by a larger container; statements provide it."""

    def call(self, node: Expr) -> Values:
        """Resolve a call expression."""
        _, func, arguments, keywords, line = node
        outside, self.weak = self.weak, False
        base: Values = ()
        if func is None:
            callees: Values = FOREIGN
        elif func[0] == "a":
            if func[1] is None or func[1][0] in "kxo":
                self.expr(func[1])
                callees = FOREIGN
            else:
                base = self.expr(func[1])
                callees = self.load_any(base, func[2], line)
        elif func == ("n", "super") and "super" not in self.env:
            self.weak = outside
            return self.super_value([self.expr(each) for each in arguments])
        else:
            callees = self.expr(func)
        weak, self.weak = self.weak, outside
        passed: Arguments = [
            (False, self.expr(each)) if each is None or each[0] != "*" else (True, items(self.expr(each[1])))
            for each in arguments
        ]
        named: Keywords = [(name, self.expr(each)) for name, each in keywords] if keywords else []
        if not callees:
            self.miss(func, line)
            return ()
        if len(callees) == 1 and callees[0][0] == "ext":  # most calls leave the project
            name = callees[0][1]
            if name not in foreign.KNOWN:
                return foreign.result_of(name)
            return foreign.call(self, name, passed, named, Site(line, "f()", "direct", ""))
        site = self.site(func, base, callees, weak=weak, line=line)
        if len(callees) == 1 and callees[0][0] != "cm":
            return self.call_value(callees[0], passed, named, site)
        found: Values = ()
        for callee in callees:
            if callee[0] == "cm":
                found = join(found, foreign.container_method(self, callee, func, passed, named))
            else:
                found = join(found, self.call_value(callee, passed, named, site))
        return found

    def site(self, func: Expr, base: Values, callees: Values, *, weak: bool, line: int) -> Site:
        """Describe a call by its form and by what its callee rests on."""
        shape, resolution, is_lexical = "f()", "", True
        if func is not None and func[0] == "a":
            inner = func[1]
            kinds = {value[0] for value in base}
            shape, is_lexical = "obj.m()", "mod" in kinds or "cls" in kinds
            if inner is None:
                pass
            elif inner[0] == "n" and inner[1] == self.self_name and self.self_name:
                shape, resolution, is_lexical = "self.m()", "self_method", True
            elif inner[0] == "c":
                shape = "chain"
                if "super" in kinds:
                    shape, resolution, is_lexical = "super().m()", "self_method", True
            elif inner[0] == "a":
                is_self = inner[1] is not None and inner[1] == ("n", self.self_name)
                shape = "self.x.m()" if is_self else "chain"
            if shape == "obj.m()" and "mod" in kinds:
                shape = "module.f()"
        elif func is not None and func[0] != "n":
            shape, is_lexical = "chain", False
        certain = 1
        if len(callees) > 1:  # values, but of how many functions?
            certain = len({value[1] for value in callees if value[0] in _CALLABLE and len(value) < 4})
        level = "passed" if weak else "direct" if is_lexical else "typed"
        if (
            certain > 1
        ):  # functions kept in a list or dict are all called some time, methods of many classes not
            is_table = {"bound", "inst"}.isdisjoint([value[0] for value in callees])
            level = "any" if not is_table and (weak or certain > 2) else "several"
        return Site(line, shape, level, resolution)

    def miss(self, func: Expr, line: int) -> None:
        """Keep a call whose callee is unknown, by its last name and its receiver's."""
        if func is None:
            return
        if func[0] == "n":
            self.missed.append((line, func[1], None))
        elif func[0] == "a":
            receiver = func[1]
            called = (
                receiver[1]
                if receiver and receiver[0] == "n"
                else receiver[2]
                if receiver and receiver[0] == "a"
                else ""
            )
            self.missed.append((line, func[2], called))

    def super_value(self, arguments: list[Values]) -> Values:
        """Return what `super()` is in the method that this scope is or lies in."""
        unit: Unit | None = self.unit
        while unit is not None and unit.owner is None:
            unit = unit.parent
        if unit is None or unit.owner is None:
            return FOREIGN
        start = unit.owner
        if len(arguments) == 2 and arguments[0] and arguments[0][0][0] == "cls":
            start = arguments[0][0][1]
        is_class = unit.binding == "class" or unit.scope.name.endswith(".__new__")
        return (("super", start, ("cls" if is_class else "inst", unit.owner, False)),)

    def call_value(self, callee: Value, passed: Arguments, named: Keywords, site: Site) -> Values:
        """Note the edges of calling one value, hand it its arguments, and return what it gives."""
        kind = callee[0]
        if kind == "fn":
            return self.enter(callee[1], None, passed, named, site)
        if kind == "bound":
            if len(callee) > 3:
                site = site._replace(level="override")
            return self.enter(callee[1], callee[2], passed, named, site)
        if kind == "cls":
            return self.construct(callee, passed, named, site)
        if kind == "inst":
            found: Values = ()
            for method in self.load(callee, "__call__", site.line):
                if method[0] == "bound":
                    found = join(
                        found, self.call_value(method, passed, named, site._replace(shape="instance()"))
                    )
            return found
        if kind == "partial":
            earlier: Arguments = [(False, each) for each in callee[2]]
            more: Keywords = [*callee[3], *named]
            return union([self.call_value(each, earlier + passed, more, site) for each in callee[1]])
        if kind == "ext":
            return foreign.call(self, callee[1], passed, named, site)
        return ()

    def enter(
        self, unit: Unit, receiver: Value | None, passed: Arguments, named: Keywords, site: Site
    ) -> Values:
        """Note an edge to a function, bind its parameters, return what it gives."""
        self.note(unit, site.line, site.shape, site.level, site.resolution)
        if unit.scope.name.endswith(".__new__") and receiver is None and unit.owner:
            passed = passed[1:]
            receiver = ("cls", unit.owner, False)
        self.pass_on(unit, passed, named, is_bound=receiver is not None)
        return self.result(unit, receiver)

    def pass_on(self, unit: Unit, passed: Arguments, named: Keywords, *, is_bound: bool) -> None:
        """Bind arguments to parameters; what tests and examples pass says nothing of the code they use."""
        if not (passed or named) or (self.unit.module.is_aside and not unit.module.is_aside):
            return
        plain, rest = unit.plain, unit.rest
        place = 1 if is_bound else 0
        for is_starred, values in passed:
            if is_starred:
                for cell in [*plain[place:], rest]:
                    self.give(cell, values)
                continue
            self.give(plain[place] if place < len(plain) else rest, values)
            place += 1
        for name, values in named:
            if name is not None:
                self.give(unit.keywords.get(name, unit.others), values)
                continue
            pairs = [pair for value in values if value[0] == "map" for pair in value[1]]
            spread = union([value[2] for value in values if value[0] == "map"])
            for cell in plain[place:]:
                self.give(cell, spread)
            self.pass_on(unit, [], [pair for pair in pairs if isinstance(pair[0], str)], is_bound=False)
            self.give(unit.others, spread)

    def give(self, cell: Cell | None, values: Values) -> None:
        """Add what an argument is to a parameter, if there is one for it."""
        if values and cell is not None:
            self.write(cell, values)

    def construct(self, value: Value, passed: Arguments, named: Keywords, site: Site) -> Values:
        """Resolve `Cls(…)`: the class, `__init__`, `__new__`, `__post_init__`, the metaclass's `__call__`."""
        owner: Class = value[1]
        made: Value = ("inst", owner, value[2])
        self.read(owner.inherited)
        is_named = site.shape in {"f()", "module.f()"} and site.level == "typed"
        site = Site(site.line, "Cls()", "direct" if is_named else site.level, site.resolution)
        self.note(owner, site.line, site.shape, site.level, site.resolution)
        if owner.metaclass is not None:
            for method in self.in_order(owner.metaclass.mro, "__call__"):
                if method[0] == "fn":
                    self.note(method[1], site.line, "protocol", "protocol")
        found: Values = ()
        for method in self.in_order(owner.mro, "__new__"):
            if method[0] == "fn":
                self.note(method[1], site.line, site.shape, site.level, site.resolution)
                self.pass_on(method[1], passed, named, is_bound=True)
                found = join(found, self.result(method[1], value))
        for method in self.in_order(owner.mro, "__init__"):
            if method[0] == "fn":
                self.note(method[1], site.line, site.shape, site.level, site.resolution)
                self.pass_on(method[1], passed, named, is_bound=True)
        if any(each.is_record for each in owner.mro):
            self.fill_record(owner, passed, named)
            for method in self.in_order(owner.mro, "__post_init__"):
                if method[0] == "fn":
                    self.note(method[1], site.line, "protocol", "protocol")
        made_here = [each for each in found if each[0] == "inst"]
        return tuple(made_here) if made_here and not any(each[1] is owner for each in made_here) else (made,)

    def fill_record(self, owner: Class, passed: Arguments, named: Keywords) -> None:
        """Hand a dataclass its fields."""
        names = list(dict.fromkeys(name for each in reversed(owner.mro) for name in each.fields))
        for name, (is_starred, values) in zip(names, passed, strict=False):
            if not is_starred:
                self.give(owner.field_of(name), values)
        for keyword, values in named:
            if keyword in names:
                self.give(owner.field_of(keyword), values)

    def protocol(
        self,
        values: Values,
        method: str,
        line: int,
        passed: Arguments | None = None,
        *,
        among: Values | None = None,
    ) -> Values:
        """Resolve an operator or statement that calls a special method of instances of the project.

        `among` is all that the operand may be where `values` are some of it.
        """
        instances = [value for value in values if value[0] == "inst"]
        if not instances:
            return ()
        found: Values = ()
        owners = choices(values if among is None else among)
        for value in instances:
            for each in self.bind(self.in_order(value[1].mro, method), value, line):
                if each[0] == "bound":
                    level = "any" if owners > 1 else "protocol"
                    site = Site(line, "protocol", level, "")
                    found = join(found, self.enter(each[1], value, passed or [], [], site))
        return found

    def iterate(self, values: Values, line: int, *, is_async: bool = False) -> Values:
        """Return what a loop over values gives."""
        found = items(values)
        for value in values:
            if value[0] == "map":
                continue
            if value[0] == "inst":
                iterator = self.protocol(
                    (value,), "__aiter__" if is_async else "__iter__", line, among=values
                )
                found = join(found, items(iterator))
                following = self.protocol(iterator, "__anext__" if is_async else "__next__", line)
                found = join(found, self.awaited(following, line) if is_async else following)
                if not iterator:
                    found = join(found, FOREIGN if value[1].may_have_more else ())
            elif value[0] == "ext":
                found = join(found, FOREIGN)
        return found

    def awaited(self, values: Values, line: int) -> Values:
        """Return what `await` gives."""
        found: Values = ()
        for value in values:
            if value[0] == "coro":
                found = join(found, value[1])
            elif value[0] == "inst":
                found = join(found, content(self.protocol((value,), "__await__", line, among=values)))
            elif value[0] == "ext":
                found = join(found, (value,))
        return found

    def keyword(self, passed: Arguments, named: Keywords, place: int, name: str) -> Values:
        """Return the argument at a place or under a name."""
        if place < len(passed) and not passed[place][0]:
            return passed[place][1]
        return next((values for key, values in named if key and key == name), ())

    def as_mapping(self, named: Keywords) -> Values:
        """Return what `dict(a=…)` gives."""
        return mapping({name: values for name, values in named if name}, ())

    def as_sequence(self, values: Values) -> Values:
        """Return a list of what is iterated."""
        return sequence(self.iterate(values, 0))

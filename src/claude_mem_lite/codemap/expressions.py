"""What an expression may be, by its lowered form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.attributes import FOREIGN
from claude_mem_lite.codemap.calls import Calls
from claude_mem_lite.codemap.known import AWAITABLES, ITERABLES, MAPPINGS, TRANSPARENT
from claude_mem_lite.codemap.values import Values, at, content, items, join, mapping, sequence, union

if TYPE_CHECKING:
    from claude_mem_lite.codemap.lowering import Expr

_REFLECTED = frozenset(
    {"add", "sub", "mul", "truediv", "floordiv", "mod", "or", "and", "xor", "matmul", "pow"}
)
_SHORTEST_START = 3  # of a name put together
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class Expressions(Calls):
    """Calls, and the other expressions they stand in."""

    if TYPE_CHECKING:

        def assign(self, target: Expr, values: Values) -> None:
            """Bind a target; statements provide it."""

        def narrow(self, test: Expr, *, is_true: bool) -> None:
            """Take a test into account; statements provide it."""

    def expr(self, node: Expr) -> Values:
        """Return what an expression may be."""
        if node is None:
            return ()
        kind = node[0]
        if kind == "n":
            name = node[1]
            found = self.env.get(name)
            if not found:
                return self.name(name)
            if name in self.passed:
                self.weak = True
            return found
        if kind == "a":
            return self.load_any(self.expr(node[1]), node[2], node[3])
        if kind == "c":
            return self.call(node)
        if kind == "k":
            return (("key", node[1]),)
        return _HANDLERS[kind](self, node)

    def foreign_type(self, node: Expr) -> Values:
        return (("ext", node[1]),)

    def subscript(self, node: Expr) -> Values:
        values = self.expr(node[1])
        keys = self.expr(node[2])
        found = at(values, keys[0][1] if len(keys) == 1 and keys[0][0] == "key" else None)
        if node[2] is not None and node[2][0] == "v":  # a slice
            found = tuple([value for value in values if value[0] in {"seq", "tup"}])
        for value in values:
            if value[0] == "inst":
                found = join(
                    found, self.protocol((value,), "__getitem__", node[3], [(False, keys)], among=values)
                )
            elif value[0] == "cls":
                found = join(found, (value,))  # Generic[T]
                for method in self.in_order(value[1].mro, "__class_getitem__"):
                    if method[0] == "fn":
                        self.note(method[1], node[3], "protocol", "protocol")
            elif value[0] == "ext":
                found = join(found, (value,))
        return found

    def listing(self, node: Expr) -> Values:
        return sequence(union([self.element(each) for each in node[1]]))

    def element(self, node: Expr) -> Values:
        return items(self.expr(node[1])) if node is not None and node[0] == "*" else self.expr(node)

    def tuple_of(self, node: Expr) -> Values:
        if any(each is not None and each[0] == "*" for each in node[1]):
            return self.listing(node)
        return (("tup", tuple([self.expr(each) for each in node[1]])),)

    def dictionary(self, node: Expr) -> Values:
        pairs: dict[Any, Values] = {}
        others: Values = ()
        for key, value in zip(node[1], node[2], strict=True):
            values = self.expr(value)
            if key == ("**",):
                for each in values:
                    if each[0] == "map":
                        pairs.update(each[1])
                        others = join(others, each[2])
                continue
            keys = self.expr(key)
            if len(keys) == 1 and keys[0][0] == "key":
                pairs[keys[0][1]] = values
            else:
                others = join(others, values)
        return mapping(pairs, others)

    def comprehension(self, node: Expr) -> Values:
        _, kind, elements, loops, line = node
        kept = dict(self.env)
        for target, source, tests, is_async in loops:
            self.assign(target, self.iterate(self.expr(source), line, is_async=is_async))
            for test in tests:
                self.expr(test)
                self.narrow(test, is_true=True)
        values = [self.expr(each) for each in elements]
        self.env = kept
        return mapping({}, values[1]) if kind == "dict" else sequence(values[0])

    def function(self, node: Expr) -> Values:
        unit = self.unit.module.units[node[1]]
        self.defaults(unit)
        return (("fn", unit),)

    def either(self, node: Expr) -> Values:
        found: Values = ()
        kept = self.env
        for index, each in enumerate(node[2]):
            if index == 1:
                self.env = dict(kept)
            values = self.expr(each)
            if node[1] == "and":
                self.narrow(each, is_true=True)
            found = join(found, values)
        self.env = kept
        return found

    def choice(self, node: Expr) -> Values:
        self.truth(self.expr(node[1]))
        kept = self.env
        self.env = dict(kept)
        self.narrow(node[1], is_true=True)
        first = self.expr(node[2])
        self.env = dict(kept)
        self.narrow(node[1], is_true=False)
        second = self.expr(node[3])
        self.env = kept
        return join(first, second)

    def operator(self, node: Expr) -> Values:
        _, name, left, right, line = node
        first = self.expr(left)
        second = self.expr(right)
        if not first and not second:
            return ()
        if name in {"str", "add", "mod"} and (starts := _start(second if name == "str" else first)):
            return starts
        if name in {"str", "format"}:
            if name == "format" and not self.protocol(first, "__format__", line):
                self.protocol(first, "__str__", line)
            return (("ext", "str"),)
        if name == "bool":
            self.truth(first)
            return ()
        if name == "contains":
            self.protocol(first, "__contains__", line, [(False, second)])
            return ()
        found = self.protocol(first, f"__{name}__", line, [(False, second)])
        if not found and any(value[0] == "inst" for value in second):
            if name in _REFLECTED:
                found = self.protocol(second, f"__r{name}__", line, [(False, first)])
            elif name in _MIRRORED and not any(value[0] == "inst" for value in first):
                found = self.protocol(second, f"__{_MIRRORED[name]}__", line, [(False, first)])
        if name == "add":
            both = join(first, second)
            found = join(found, tuple([value for value in both if value[0] in {"seq", "tup"}]))
        elif name == "or":
            found = join(found, tuple([value for value in join(first, second) if value[0] == "map"]))
        return found or tuple([value for value in first if value[0] == "ext"])

    def truth(self, values: Values) -> None:
        """Note what testing instances of the project calls."""
        for value in values:
            if value[0] == "inst" and not self.in_order(value[1].mro, "__bool__"):
                self.protocol((value,), "__len__", 0, among=values)
            elif value[0] == "inst":
                self.protocol((value,), "__bool__", 0, among=values)

    def several(self, node: Expr) -> Values:
        for each in node[1]:
            self.expr(each)
        return ()

    def wait(self, node: Expr) -> Values:
        return self.awaited(self.expr(node[1]), 0)

    def give_out(self, node: Expr) -> Values:
        self.write(self.unit.yielded, self.expr(node[1]))
        return ()

    def give_all(self, node: Expr) -> Values:
        values = self.expr(node[1])
        self.write(self.unit.yielded, self.iterate(values, node[2]))
        return self.awaited(values, node[2])

    def walrus(self, node: Expr) -> Values:
        values = self.expr(node[2])
        self.assign(node[1], values)
        return values

    def starred(self, node: Expr) -> Values:
        return items(self.expr(node[1]))

    def nothing(self, _: Expr) -> Values:
        return ()

    def declared(self, node: Expr) -> Values:
        """Return what an annotation says: instances of the project's classes, and containers of them."""
        if node is None or node[0] in {"k", "x"}:
            return ()
        if node[0] in {"n", "a"}:
            if node[-1] == "Self" or (node[0] == "a" and node[2] == "Self"):
                unit = self.unit
                return (("inst", unit.owner, False),) if unit.owner else ()
            return _instances(self.expr(node))
        if node[0] == "|":
            return union([self.declared(each) for each in node[2]])
        if node[0] != "s" or node[1] is None or not isinstance(node[2], tuple):
            return ()
        name = node[1][1] if node[1][0] == "n" else node[1][2]
        inner = [each for each in node[2] if not isinstance(each, str)]
        if name in TRANSPARENT:
            return union([self.declared(each) for each in (inner[:1] if name == "Annotated" else inner)])
        if name in {"type", "Type"}:
            return tuple([("cls", *value[1:]) for value in self.declared(inner[0]) if value[0] == "inst"])
        if name in {"tuple", "Tuple"}:
            parts = [self.declared(each) for each in inner]
            return (("seq", parts[0]),) if len(parts) == 2 and inner[1] is None else (("tup", tuple(parts)),)
        if name in ITERABLES:
            return sequence(self.declared(inner[0]))
        if name in MAPPINGS:
            return mapping({}, self.declared(inner[-1]))
        if name in AWAITABLES:
            return (("coro", self.declared(inner[-1])),)
        return _instances(self.expr(node[1]))

    def defaults(self, unit: Any) -> None:
        """Bind the defaults of a function's parameters."""
        for parameter in unit.scope.parameters:
            if parameter.default is not None:
                values = self.expr(parameter.default)
                if values:
                    self.write(unit.parameters[parameter.name], values)


def _start(values: Values) -> Values:
    """Return how a text starts that is put together: "visit_" + name."""
    texts = [value[1] for value in values if value[0] == "key" and isinstance(value[1], str)]
    starts = [text.partition("%")[0].partition("{")[0] for text in texts]
    return tuple([("start", start) for start in starts if len(start) >= _SHORTEST_START])


def _instances(values: Values) -> Values:
    found: Values = ()
    for value in values:
        if value[0] == "cls":
            found = join(found, (("inst", value[1], False),))
        elif value[0] in {"tup", "seq"}:
            found = join(found, _instances(content((value,))))
        elif value[0] == "ext":
            found = join(found, FOREIGN)
    return found


_HANDLERS = {
    "x": Expressions.foreign_type, "s": Expressions.subscript, "L": Expressions.listing,
    "T": Expressions.tuple_of, "D": Expressions.dictionary, "G": Expressions.comprehension,
    "f": Expressions.function, "|": Expressions.either, "if": Expressions.choice,
    "o": Expressions.operator, "v": Expressions.several, "w": Expressions.wait,
    "y": Expressions.give_out, "Y": Expressions.give_all, ":=": Expressions.walrus,
    "*": Expressions.starred, "**": Expressions.nothing,
}  # fmt: skip

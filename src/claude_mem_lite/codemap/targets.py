"""What assignments bind and what tests tell of a name: the left side of statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.attributes import FOREIGN
from claude_mem_lite.codemap.expressions import Expressions
from claude_mem_lite.codemap.foreign import merged
from claude_mem_lite.codemap.values import Values, items, join, mapping, sequence, union

if TYPE_CHECKING:
    from claude_mem_lite.codemap.lowering import Expr


class Targets(Expressions):
    """Expressions, and what they are assigned to."""

    def assign(self, target: Expr, values: Values) -> None:
        """Bind a name, an attribute or the places of a tuple."""
        if target is None:
            return
        kind = target[0]
        if kind == "n":
            name = target[1]
            if name in self.unit.scope.outer:
                self.assign_outer(name, values)
                return
            self.env[name] = values
            if self.weak:
                self.passed.add(name)
            else:
                self.passed.discard(name)
            if self.unit.inner and name in self.unit.cells:
                self.write(self.unit.cells[name], values)
        elif kind == "a":
            self.assign_attribute(target, values)
        elif kind == "s":
            self.assign_item(target, values)
        elif kind == "T":
            for place, inner in enumerate(target[1]):
                self.assign(
                    inner,
                    _place(values, place, len(target[1]), is_rest=inner is not None and inner[0] == "*"),
                )
        elif kind == "*":
            self.assign(target[1], sequence(items(values)) if not values or values[0][0] != "seq" else values)

    def assign_more(self, target: Expr, values: Values) -> None:
        """Replace what a variable holds by a larger container, be it another scope's variable."""
        if target[0] == "n" and target[1] not in self.env and self.outer is None:
            self.assign_outer(target[1], values)
        else:
            self.assign(target, values)

    def assign_outer(self, name: str, values: Values) -> None:
        unit = self.unit.parent
        while unit is not None and unit.scope.kind != "module":
            if unit.scope.kind != "class" and name in unit.cells:
                self.write(unit.cells[name], values)
                return
            unit = unit.parent
        self.write(self.unit.module.cell(name), values)

    def assign_attribute(self, target: Expr, values: Values) -> None:
        """Bind an attribute; what tests and examples put into the code they use says nothing of it."""
        _, base, attr, line = target
        weak = self.weak
        for value in self.expr(base):
            self.weak = weak
            if value[0] == "inst":
                for each in self.in_order(value[1].mro, attr):
                    if each[0] == "prop" and each[2] is not None:
                        self.note(each[2], line, "property", "typed")
                        self.pass_on(each[2], [(False, values)], [], is_bound=True)
                self.protocol((value,), "__setattr__", line)
            if not values or value[0] not in {"inst", "cls", "mod"}:
                continue
            home = value[1] if value[0] == "mod" else value[1].unit.module
            if self.unit.module.is_aside and not home.is_aside:
                continue
            if value[0] == "inst":
                self.write(value[1].field_of(attr), values)
            elif value[0] == "cls":
                self.write(value[1].attribute(attr), values)
            else:
                self.write(home.cell(attr), values)

    def assign_item(self, target: Expr, values: Values) -> None:
        _, base, key, line = target
        holders = self.expr(base)
        keys = self.expr(key)
        self.protocol(holders, "__setitem__", line, [(False, keys), (False, values)])
        if not values:
            return
        for holder in holders:
            if holder[0] == "map" and base is not None:
                is_known = len(keys) == 1 and keys[0][0] == "key"
                if is_known and base[0] == "n":  # a later assignment takes the earlier one's place
                    pairs = {**dict(holder[1]), keys[0][1]: values}
                    self.assign(base, mapping(pairs, holder[2]))
                else:
                    more = mapping({keys[0][1]: values}, ()) if is_known else mapping({}, values)
                    self.assign(base, merged(holder, more))
            elif holder[0] == "seq" and base is not None:
                self.assign(base, merged(holder, sequence(values)))

    def narrow(self, test: Expr, *, is_true: bool) -> None:
        """Take `isinstance` into account, negated and joined by `and` too."""
        if test is None:
            return
        if test[0] == "o" and test[1] == "bool":
            self.narrow(test[2], is_true=not is_true)
        elif test[0] == "|" and (test[1] == "and") == is_true:
            for each in test[2]:
                self.narrow(each, is_true=is_true)
        elif test[0] == "c" and test[1] == ("n", "isinstance") and len(test[2]) == 2:
            subject, kinds = test[2]
            if subject is None or subject[0] != "n":
                return
            values = self.expr(kinds)
            flat = union([items((value,)) if value[0] == "tup" else (value,) for value in values])
            classes = [value[1] for value in flat if value[0] == "cls"]
            old = self.env.get(subject[1], ())
            if is_true:
                kept = tuple([v for v in old if v[0] == "inst" and any(c in v[1].mro for c in classes)])
                if kept or classes:
                    self.env[subject[1]] = kept or tuple([("inst", each, False) for each in classes])
                    self.passed.discard(subject[1])
                elif flat and old:
                    self.env[subject[1]] = tuple(
                        [
                            v
                            for v in old
                            if v[0] not in {"inst", "fn"} or (v[0] == "inst" and v[1].may_have_more)
                        ]
                    )
            elif classes and not any(value[0] == "ext" for value in flat):
                self.env[subject[1]] = tuple(
                    [v for v in old if not (v[0] == "inst" and any(each in v[1].mro for each in classes))]
                )


def _place(values: Values, place: int, count: int, *, is_rest: bool) -> Values:
    """Return what unpacking puts at one place of a tuple."""
    found: Values = ()
    for value in values:
        if value[0] == "tup" and len(value[1]) == count and not is_rest:
            found = join(found, value[1][place])
        elif value[0] in {"seq", "tup"}:
            found = join(found, items((value,)))
        elif value[0] == "ext":
            found = join(found, FOREIGN)
    return found

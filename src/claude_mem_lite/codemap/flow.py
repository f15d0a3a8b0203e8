"""One scope evaluated statement by statement: what each name is where, over branches and loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.attributes import FOREIGN
from claude_mem_lite.codemap.definitions import Definitions
from claude_mem_lite.codemap.foreign import merged
from claude_mem_lite.codemap.values import Values, items, join, mapping, sequence, union

if TYPE_CHECKING:
    from claude_mem_lite.codemap.lowering import Expr, Op


class Flow(Definitions):
    """The evaluation of a scope from its first statement to its last."""

    def evaluate(self) -> None:
        """Run the scope; what was found is left in `writes`, `edges` and `missed`."""
        unit = self.unit
        for parameter in unit.scope.parameters:
            self.env[parameter.name] = self.parameter(parameter)
        if unit.scope.returns is not None:
            found = self.declared(unit.scope.returns)
            self.weak = False
            self.write(unit.declared, found)
        if unit.inner and unit.scope.kind == "function":
            for name, values in self.env.items():
                self.weak = name in self.passed
                self.write(unit.cells[name], values)
        self.weak = False
        self.block(unit.scope.body)
        if unit.scope.kind == "module":
            self.weak = False
            for name, values in self.env.items():
                self.write(unit.module.cell(name), values)

    def parameter(self, parameter: Any) -> Values:
        """Return what a parameter may be: what it declares, else what it was given."""
        if parameter.name == self.self_name:
            owner = self.unit.owner
            if self.unit.binding == "class" or self.unit.scope.name.endswith(".__new__"):
                return (("cls", owner, False),)
            return (("inst", owner, False),)
        self.weak = False
        declared = self.declared(parameter.annotation)
        if declared and not all(value[0] == "ext" for value in declared):
            found = declared
        else:
            found = self.read(self.unit.parameters[parameter.name])
            if found:
                self.passed.add(parameter.name)
            found = found or declared
        if parameter.kind == "*":
            return sequence(found)
        return mapping({}, found) if parameter.kind == "**" else found

    def block(self, ops: tuple[Op, ...]) -> bool:
        """Run statements; tell whether control does not come out at their end."""
        for op in ops:
            self.weak = False
            if _STATEMENTS[op[0]](self, op):
                return True
        return False

    def branches(self, blocks: list[tuple[Any, tuple[Op, ...]]]) -> bool:
        """Run alternatives, each after its preparation, and join what they leave."""
        before = self.env
        left: list[dict[str, Values]] = []
        for prepare, ops in blocks:
            self.env = dict(before)
            if prepare is not None:
                prepare()
            if not self.block(ops):
                left.append(self.env)
        if not left:
            self.env = before
            return True
        first, *others = left
        for other in others:
            for name, values in other.items():
                old = first.get(name)
                if old is not values:
                    first[name] = values if old is None else join(old, values)
        self.env = first
        return False

    # statements

    def evaluate_only(self, op: Op) -> None:
        for each in op[1:]:
            self.expr(each)

    def assign_all(self, op: Op) -> None:
        values = self.expr(op[2])
        for target in op[1]:
            self.assign(target, values)

    def annotated(self, op: Op) -> None:
        _, target, annotation, value = op
        values = self.expr(value)
        weak, self.weak = self.weak, False
        declared = self.declared(annotation)
        known = declared and not all(each[0] == "ext" for each in declared)
        self.weak = weak and not known
        if self.unit.scope.kind == "class" and target is not None and target[0] == "n":
            owner = self.unit.module.classes.get(self.unit.index)
            if owner is not None:
                self.write(owner.field_of(target[1]), declared)
            if value is not None:
                self.env[target[1]] = values or declared
            return
        if value is not None or target is None or target[0] != "n":
            self.assign(
                target,
                values
                if values and not known
                else join(values, declared)
                if target and target[0] == "a"
                else declared or values,
            )
        else:
            self.assign(target, declared)

    def augmented(self, op: Op) -> None:
        _, target, name, load, value, line = op
        left, right = self.expr(load), self.expr(value)
        found = self.protocol(left, f"__i{name}__", line, [(False, right)])
        if not found:
            found = self.protocol(left, f"__{name}__", line, [(False, right)])
        grown = left
        for each in left:
            if each[0] in {"seq", "map"} and right:
                grown = merged(each, right)
        if found or grown:
            self.assign(target, found or grown)

    def give_back(self, op: Op) -> bool:
        values = self.expr(op[1])
        if values:
            self.write(self.unit.returned, values)
        return True

    def fail(self, op: Op) -> bool:
        raised = self.expr(op[1])
        self.expr(op[2])
        for value in raised:
            if value[0] == "cls":
                self.construct(
                    value, [], [], self.site(op[1], (), (value,), weak=self.weak, line=_line(op[1]))
                )
        return True

    def stop(self, _: Op) -> bool:
        return True

    def check(self, op: Op) -> None:
        self.expr(op[1])
        self.expr(op[2])
        self.narrow(op[1], is_true=True)

    def choose(self, op: Op) -> bool:
        _, test, body, orelse = op
        self.truth(self.expr(test))
        self.weak = False
        return self.branches(
            [
                (lambda: self.narrow(test, is_true=True), body),
                (lambda: self.narrow(test, is_true=False), orelse),
            ]
        )

    def loop(self, op: Op) -> None:
        _, target, source, body, orelse, line, is_async = op
        values = self.iterate(self.expr(source), line, is_async=is_async)
        weak = self.weak
        before = dict(self.env)
        self.weak = weak
        self.assign(target, values)
        self.block(body)
        self.merge(before)
        self.block(orelse)

    def repeat(self, op: Op) -> None:
        self.truth(self.expr(op[1]))
        before = dict(self.env)
        self.narrow(op[1], is_true=True)
        self.block(op[2])
        self.merge(before)
        self.block(op[3])

    def merge(self, before: dict[str, Values]) -> None:
        for name, values in before.items():
            self.env[name] = join(values, self.env.get(name, ()))

    def attempt(self, op: Op) -> bool:
        _, body, handlers, orelse, final = op
        before = dict(self.env)
        ended = self.block(body)
        after_body = self.env
        self.env = dict(before)
        for name, values in after_body.items():
            self.env[name] = join(self.env.get(name, ()), values)

        def catch(kind: Expr, name: str | None) -> None:
            flat = union([items((value,)) if value[0] == "tup" else (value,) for value in self.expr(kind)])
            if name:
                caught = tuple([("inst", each[1], False) for each in flat if each[0] == "cls"])
                self.env[name] = caught or FOREIGN

        def go_on() -> None:
            self.env = dict(after_body)

        blocks: list[tuple[Any, tuple[Op, ...]]] = [] if ended else [(go_on, orelse)]
        for kind, name, ops in handlers:
            blocks.append((lambda kind=kind, name=name: catch(kind, name), ops))
        ended = self.branches(blocks) if blocks else ended
        return self.block(final) or ended

    def enter_with(self, op: Op) -> bool:
        _, managers, body, line, is_async = op
        enter, leave = ("__aenter__", "__aexit__") if is_async else ("__enter__", "__exit__")
        for source, target in managers:
            values = self.expr(source)
            found: Values = ()
            for value in values:
                if value[0] == "ctx":
                    found = join(found, value[1])
                elif value[0] == "ext":  # most give themselves
                    found = join(found, (value,))
                elif value[0] == "inst":
                    given = self.protocol((value,), enter, line, among=values)
                    found = join(found, self.awaited(given, line) if is_async else given)
                    self.protocol((value,), leave, line, among=values)
                    if not given and value[1].may_have_more:
                        found = join(found, (value,))
            if target is not None:
                self.assign(target, found)
        return self.block(body)

    def delete(self, op: Op) -> None:
        for source, line in op[1]:
            self.protocol(self.expr(source), "__delitem__", line)

    def match(self, op: Op) -> None:
        _, subject, cases = op
        values = self.expr(subject)

        def bind(classes: Any, guard: Expr) -> None:
            for index, (kind, name) in enumerate(classes):
                found = tuple([("inst", each[1], False) for each in self.expr(kind) if each[0] == "cls"])
                if name:
                    self.env[name] = found
                if index == 0 and found and len(classes) == 1 and subject is not None and subject[0] == "n":
                    self.env[subject[1]] = found
            if not classes and values:
                self.truth(())
            self.expr(guard)

        blocks: list[tuple[Any, tuple[Op, ...]]] = [(None, ())]
        for classes, guard, ops in cases:
            blocks.append((lambda classes=classes, guard=guard: bind(classes, guard), ops))
        self.branches(blocks)


def _line(node: Expr) -> int:
    return node[-1] if node is not None and isinstance(node[-1], int) else 0


_STATEMENTS: dict[str, Any] = {
    "e": Flow.evaluate_only, "=": Flow.assign_all, ":": Flow.annotated, "+": Flow.augmented,
    "r": Flow.give_back, "raise": Flow.fail, "stop": Flow.stop, "assert": Flow.check, "?": Flow.choose,
    "for": Flow.loop, "while": Flow.repeat, "try": Flow.attempt, "with": Flow.enter_with,
    "def": Flow.define, "class": Flow.define_class, "import": Flow.import_modules,
    "from": Flow.import_names, "del": Flow.delete, "match": Flow.match,
    "nonlocal": lambda _flow, _op: None,
}  # fmt: skip

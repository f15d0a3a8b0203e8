"""One scope evaluated statement by statement: what each name is where, over branches, loops and definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.attributes import FOREIGN
from claude_mem_lite.codemap.classes import Class
from claude_mem_lite.codemap.expressions import Expressions
from claude_mem_lite.codemap.foreign import merged
from claude_mem_lite.codemap.known import CONTEXT_MANAGERS
from claude_mem_lite.codemap.values import Module, Unit, Values, items, join, mapping, sequence, union

if TYPE_CHECKING:
    from claude_mem_lite.codemap.scopes import Expr, Op

_ACCESSORS = frozenset({"setter", "getter", "deleter"})


class Flow(Expressions):
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
            self.assign(target, values if values and not known else join(values, declared) if target and target[0] == "a" else declared or values)
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
                self.construct(value, [], [], self.site(op[1], (), (value,), weak=self.weak, line=_line(op[1])))
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
        return self.branches([
            (lambda: self.narrow(test, is_true=True), body),
            (lambda: self.narrow(test, is_true=False), orelse),
        ])

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
            values = self.expr(kind)
            found = union([value[1] if value[0] == "tup" else ((value,),) for value in values]) if values else ()
            flat: Values = ()
            for each in found:
                flat = join(flat, each if each and isinstance(each[0], tuple) else (each,))
            if name:
                self.env[name] = tuple([("inst", each[1], False) for each in flat if each[0] == "cls"]) or FOREIGN

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
                    given = self.protocol((value,), enter, line)
                    found = join(found, self.awaited(given, line) if is_async else given)
                    self.protocol((value,), leave, line)
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

    # definitions

    def define(self, op: Op) -> None:
        _, name, index = op
        unit = self.unit.module.units[index]
        scope = unit.scope
        unit.owner = self.unit.module.classes.get(scope.parent)
        value: Values = (("prop", unit, None),) if unit.binding == "property" else (("fn", unit),)
        self.defaults(unit)
        for decorator in reversed(scope.decorators):
            if decorator is not None and decorator[0] == "a" and decorator[2] in _ACCESSORS and decorator[1] == ("n", name):
                old = [each for each in self.env.get(name, ()) if each[0] == "prop"]
                getter = old[0][1] if old else None
                setter = unit if decorator[2] == "setter" else old[0][2] if old else None
                value = (("prop", unit if decorator[2] == "getter" else getter, setter),)
                continue
            self.weak = False
            value = self.decorated(decorator, value, scope.line)
        self.weak = False
        self.assign(("n", name), value)

    def decorated(self, decorator: Expr, value: Values, line: int) -> Values:
        """Return what a decorator makes of a function or class; a foreign one is taken to leave it as it is."""
        found = self.expr(decorator)
        if any(each[0] == "ext" and each[1] in CONTEXT_MANAGERS for each in found):
            for each in value:
                if each[0] == "fn":
                    each[1].binding = "context"
            return value
        made: Values = ()
        for each in found:
            if each[0] in {"fn", "bound", "cls", "inst", "partial"}:
                site = self.site(decorator, (), (each,), weak=self.weak, line=line)._replace(shape="decorator")
                made = join(made, self.call_value(each, [(False, value)], [], site))
        kept = tuple([each for each in made if each[0] in {"fn", "bound", "inst", "cls", "prop", "partial"}])
        return kept or value

    def define_class(self, op: Op) -> None:
        _, name, index = op
        module = self.unit.module
        unit = module.units[index]
        owner = module.classes.get(index)
        if owner is None:
            owner = module.classes[index] = Class(unit.name, unit)
        bases: list[Class] = []
        foreign: list[str] = []
        for node in unit.scope.bases:
            values = self.expr(node)
            classes = [value[1] for value in values if value[0] == "cls"]
            bases += classes[:1]
            foreign += [value[1] for value in values if value[0] == "ext"] if not classes else []
            if not values:
                foreign.append("?")
        owner.is_open = any(each.rpartition(".")[2] not in _CLOSED for each in foreign)
        owner.is_enum = any(each.endswith(("Enum", "Flag")) for each in foreign) or any(base.is_enum for base in bases)
        owner.is_record = any(each.endswith("NamedTuple") for each in foreign)
        metaclass = [value[1] for value in self.expr(unit.scope.metaclass) if value[0] == "cls"]
        inherited = [base.metaclass for base in bases if base.metaclass is not None]
        owner.metaclass = metaclass[0] if metaclass else inherited[0] if inherited else None
        if owner.set_bases(bases):
            for each in owner.mro:
                self.world.changed(each.inherited)
        inner = Flow(self.world, unit, self)
        for method in unit.inner:
            if method.scope.kind == "function":
                method.owner = owner
        inner.block(unit.scope.body)
        for attribute, values in inner.env.items():
            inner.weak = attribute in inner.passed
            inner.write(owner.attribute(attribute), values)
        self.world.keep(inner)
        for base in owner.mro[1:]:
            for hook in self.in_order((base,), "__init_subclass__"):
                if hook[0] == "fn":
                    self.note(hook[1], unit.scope.line, "protocol", "protocol")
        value: Values = (("cls", owner, True),)
        for decorator in reversed(unit.scope.decorators):
            self.weak = False
            found = self.expr(decorator)
            owner.is_record |= any(each[0] == "ext" and _is_record(each[1]) for each in found)
            site = self.site(decorator, (), found, weak=False, line=unit.scope.line)._replace(shape="decorator")
            for each in found:
                if each[0] in {"fn", "bound", "inst"}:
                    self.call_value(each, [(False, value)], [], site)
        self.weak = False
        self.assign(("n", name), value)

    # imports

    def import_modules(self, op: Op) -> None:
        for name, asname in op[1]:
            found = self.world.absolute(name, self.unit.module)
            if asname:
                self.env[asname] = (("mod", found),) if found else (("ext", name),)
                continue
            top = name.partition(".")[0]
            root = self.world.absolute(top, self.unit.module) if found or "." not in name else None
            self.assign(("n", top), (("mod", root),) if root else (("ext", top),))

    def import_names(self, op: Op) -> None:
        _, module_name, level, names = op
        module = self.world.imported(module_name, level, self.unit.module)
        for name, asname in names:
            if name == "*":
                self.import_all(module)
                continue
            found: Values
            if module is None:
                found = (("ext", f"{module_name}.{name}" if module_name else name),)
            else:
                found = self.member(module, name)
            if found and module is not None and all(value == ("ext", "?") for value in found):
                found = ()
            self.weak = False
            self.assign(("n", asname or name), found)

    def import_all(self, module: Module | None) -> None:
        if module is None or module is self.unit.module:
            return
        self.read(module.named)
        names = module.exported if module.exported is not None else [each for each in module.names if each[:1] != "_"]
        grown = False
        for name in names:
            values = self.member(module, name)
            grown |= self.unit.scope.kind == "module" and name not in self.unit.module.names
            self.env[name] = values
            self.unit.module.cell(name)
        if grown:
            self.world.changed(self.unit.module.named)

    # targets and tests

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
                self.assign(inner, _place(values, place, len(target[1]), is_rest=inner is not None and inner[0] == "*"))
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
                if values:
                    self.write(value[1].field_of(attr), values)
            elif value[0] == "cls" and values:
                self.write(value[1].attribute(attr), values)
            elif value[0] == "mod" and values:
                self.write(value[1].cell(attr), values)

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
                    self.env[subject[1]] = tuple([v for v in old if v[0] not in {"inst", "fn"} or v[0] == "inst" and v[1].may_have_more])
            elif classes and not any(value[0] == "ext" for value in flat):
                self.env[subject[1]] = tuple([
                    v for v in old if not (v[0] == "inst" and any(each in v[1].mro for each in classes))
                ])


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


def _line(node: Expr) -> int:
    return node[-1] if node is not None and isinstance(node[-1], int) else 0


def _is_record(name: str) -> bool:
    return name in {"dataclasses.dataclass", "attr.s", "attr.define", "attrs.define", "attrs.frozen", "attr.frozen"}


_CLOSED = frozenset({"object", "Protocol", "ABC", "Generic", "Exception", "Enum", "Any"})
_STATEMENTS: dict[str, Any] = {
    "e": Flow.evaluate_only, "=": Flow.assign_all, ":": Flow.annotated, "+": Flow.augmented, "r": Flow.give_back,
    "raise": Flow.fail, "stop": Flow.stop, "assert": Flow.check, "?": Flow.choose, "for": Flow.loop,
    "while": Flow.repeat, "try": Flow.attempt, "with": Flow.enter_with, "def": Flow.define,
    "class": Flow.define_class, "import": Flow.import_modules, "from": Flow.import_names, "del": Flow.delete,
    "match": Flow.match, "nonlocal": lambda _flow, _op: None,
}  # fmt: skip

"""Definitions and imports: what functions, classes, their decorators and imported names stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.classes import Class
from claude_mem_lite.codemap.known import CONTEXT_MANAGERS, RECORDS
from claude_mem_lite.codemap.targets import Targets
from claude_mem_lite.codemap.values import Module, Values, join

if TYPE_CHECKING:
    from claude_mem_lite.codemap.lowering import Expr, Op

_ACCESSORS = frozenset({"setter", "getter", "deleter"})
_CLOSED = frozenset(
    {"object", "Protocol", "ABC", "Generic", "Exception", "Enum", "Any"}
)  # add no methods to call


class Definitions(Targets):
    """Assignments, and the statements that define and import."""

    if TYPE_CHECKING:

        def block(self, ops: tuple[Op, ...]) -> bool:
            """Run statements; the flow of control provides it."""

    def define(self, op: Op) -> None:
        _, name, index = op
        unit = self.unit.module.units[index]
        scope = unit.scope
        unit.owner = self.unit.module.classes.get(scope.parent)
        value: Values = (("prop", unit, None),) if unit.binding == "property" else (("fn", unit),)
        self.defaults(unit)
        for decorator in reversed(scope.decorators):
            if (
                decorator is not None
                and decorator[0] == "a"
                and decorator[2] in _ACCESSORS
                and decorator[1] == ("n", name)
            ):
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
        """Return what a decorator makes of a function or class; a foreign one leaves it as it is."""
        found = self.expr(decorator)
        if any(each[0] == "ext" and each[1] in CONTEXT_MANAGERS for each in found):
            for each in value:
                if each[0] == "fn":
                    each[1].binding = "context"
            return value
        made: Values = ()
        for each in found:
            if each[0] in {"fn", "bound", "cls", "inst", "partial"}:
                site = self.site(decorator, (), (each,), weak=self.weak, line=line)._replace(
                    shape="decorator"
                )
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
        owner.is_enum = any(each.endswith(("Enum", "Flag")) for each in foreign) or any(
            base.is_enum for base in bases
        )
        owner.is_record = any(each.endswith("NamedTuple") for each in foreign)
        owner.is_protocol = any(each.rpartition(".")[2] == "Protocol" for each in foreign)
        metaclass = [value[1] for value in self.expr(unit.scope.metaclass) if value[0] == "cls"]
        inherited = [base.metaclass for base in bases if base.metaclass is not None]
        owner.metaclass = metaclass[0] if metaclass else inherited[0] if inherited else None
        if owner.set_bases(bases):
            for ancestor in owner.mro:
                self.world.changed(ancestor.inherited)
        inner = type(self)(self.world, unit, self)
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
            owner.is_record |= any(each[0] == "ext" and each[1] in RECORDS for each in found)
            site = self.site(decorator, (), found, weak=False, line=unit.scope.line)._replace(
                shape="decorator"
            )
            for each in found:
                if each[0] in {"fn", "bound", "inst"}:
                    self.call_value(each, [(False, value)], [], site)
        self.weak = False
        self.assign(("n", name), value)

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
        names = (
            module.exported
            if module.exported is not None
            else [each for each in module.names if each[:1] != "_"]
        )
        grown = False
        for name in names:
            values = self.member(module, name)
            grown |= self.unit.scope.kind == "module" and name not in self.unit.module.names
            self.env[name] = values
            self.unit.module.cell(name)
        if grown:
            self.world.changed(self.unit.module.named)

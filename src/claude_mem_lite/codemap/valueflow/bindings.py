"""Bind names and attributes to values, unpack tuples, and narrow the values of names."""

from claude_mem_lite.codemap.valueflow.expression_terms import Attribute
from claude_mem_lite.codemap.valueflow.external import UNKNOWN
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.invocation import Arguments, call_special, pass_on
from claude_mem_lite.codemap.valueflow.value_sets import classes_in, items, join
from claude_mem_lite.codemap.valueflow.values import (
    ClassObject,
    Descriptor,
    External,
    Function,
    Instance,
    ListObject,
    ModuleObject,
    Property,
    TupleObject,
    Value,
    Values,
)


def assign_name(frame: Frame, name: str, values: Values) -> None:
    """Bind a name."""
    unit = frame.unit
    if name in unit.scope.outer:
        assign_outer(frame, name, values)
        return
    frame.names[name] = values
    if frame.is_weak:
        frame.passed.add(name)
    else:
        frame.passed.discard(name)
    if unit.inner and name in unit.cells:
        frame.write(unit.cells[name], values)


def assign_outer(frame: Frame, name: str, values: Values) -> None:
    """Bind a name of an enclosing scope, the module's where no other has it."""
    unit = frame.unit.parent
    while unit is not None and unit.scope.kind != "module":
        if unit.scope.kind != "class" and name in unit.cells:
            frame.write(unit.cells[name], values)
            return
        unit = unit.parent
    frame.write(frame.unit.module.names[name], values)


def store_attribute(frame: Frame, holders: Values, target: Attribute, values: Values) -> None:
    """Bind an attribute of values; tests and examples do not change attributes of the code that they use."""
    is_weak = frame.is_weak
    for value in holders:
        frame.is_weak = is_weak
        if type(value) is Instance:
            for each in frame.first_of(value.owner.mro, target.attr):
                descriptor = each.instance if isinstance(each, Descriptor) else each
                call_special(frame, (descriptor,), "__set__", target.line, (value,), values)
                if isinstance(each, Property) and each.setter is not None:
                    frame.note(each.setter, target.line, "property", "typed")
                    pass_on(frame, each.setter, Arguments.of(values), is_bound=True)
            call_special(frame, (value,), "__setattr__", target.line)
        if values:
            _store(frame, value, target.attr, values)


def _store(frame: Frame, holder: Value, attr: str, values: Values) -> None:
    is_aside = frame.unit.module.is_aside
    if type(holder) is ModuleObject:
        if not is_aside or holder.module.is_aside:
            frame.write(holder.module.names[attr], values)
    elif type(holder) is Instance or type(holder) is ClassObject:
        owner = holder.owner
        if not is_aside or owner.unit.module.is_aside:
            cell = owner.fields[attr] if type(holder) is Instance else owner.attributes[attr]
            frame.write(cell, values)


def unpacked(values: Values, place: int, count: int, *, is_rest: bool) -> Values:
    """Return the values that unpacking assigns to one place of a tuple."""
    found: Values = ()
    for value in values:
        if isinstance(value, TupleObject) and len(value.places) == count and not is_rest:
            found = join(found, value.places[place])
        elif isinstance(value, ListObject | TupleObject):
            found = join(found, items((value,)))
        elif isinstance(value, External):
            found = join(found, UNKNOWN)
    return found


def narrow_name(frame: Frame, name: str, kinds: Values, *, is_true: bool) -> None:
    """Narrow the values of a name by the outcome of `isinstance` with these kinds."""
    classes = classes_in(kinds)
    old = frame.names.get(name, ())

    def is_one(value: Value) -> bool:
        return isinstance(value, Instance) and any(each in value.owner.mro for each in classes)

    if is_true:
        fitting = tuple([value for value in old if is_one(value)])
        if fitting or classes:
            frame.names[name] = fitting or tuple([Instance(each) for each in classes])
            frame.passed.discard(name)
        elif kinds and old:
            frame.names[name] = tuple([value for value in old if _may_be_external(value)])
    elif classes and not any(isinstance(value, External) for value in kinds):
        frame.names[name] = tuple([value for value in old if not is_one(value)])


def _may_be_external(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.owner.may_have_more
    return not isinstance(value, Function)

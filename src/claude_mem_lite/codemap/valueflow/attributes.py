"""Look up names and attributes of values, binding methods and evaluating properties on the way."""

from claude_mem_lite.codemap.valueflow.external import BUILTIN_VALUES, UNKNOWN, attribute_of
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.value_sets import join, union
from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    ClassObject,
    ContainerMethod,
    Descriptor,
    DictObject,
    External,
    Function,
    Instance,
    Key,
    ListObject,
    Method,
    Module,
    ModuleObject,
    Partial,
    Property,
    Super,
    TextStart,
    TupleObject,
    Unit,
    Value,
    Values,
)

_SURE = {1: "typed", 2: "several"}  # by the number of classes that the receiver may have


def name_value(frame: Frame, name: str) -> Values:
    """Return the values of a name at this place."""
    found = frame.names.get(name)
    if found is not None:
        if name in frame.passed:
            frame.is_weak = True
        if not found and name in frame.unit.cells:  # an inner function may have set it
            return frame.read(frame.unit.cells[name])
        return found
    if frame.outer is not None and name not in frame.unit.scope.outer:
        return name_value(frame.outer, name)
    unit: Unit | None = frame.unit
    while unit is not None:
        if unit.scope.kind != "class" and name in unit.cells:
            return frame.read(unit.cells[name])
        unit = unit.parent
    module = frame.unit.module
    frame.asked.add(name)
    cell = module.names.get(name)
    if cell is not None:
        return frame.read(cell)
    frame.read(module.named)
    return BUILTIN_VALUES.get(name, ())


def member(frame: Frame, module: Module, name: str) -> Values:
    """Return an attribute of a module, or a module inside it."""
    frame.asked.add(name)
    cell = module.names.get(name)
    found = frame.read(cell) if cell is not None else ()
    if not found:
        inner = frame.modules.find(f"{module.name}.{name}")
        if inner is not None:
            return (ModuleObject(inner),)
        frame.read(module.named)
        frame.asked.add("__getattr__")
        if "__getattr__" in module.names and cell is None:
            return UNKNOWN
    return found


def choices(values: Values) -> int:
    """Count the classes that a receiver may have; all values but instances count as one more."""
    owners = {value.owner for value in values if isinstance(value, Instance)}
    return len(owners) + any(not isinstance(value, Instance) for value in values)


def load_any(frame: Frame, values: Values, attr: str, line: int) -> Values:
    """Return an attribute of any of several values."""
    if len(values) == 1:
        return load(frame, values[0], attr, line)
    frame.choices = choices(values)
    found = union([load(frame, value, attr, line) for value in values])
    frame.choices = 1
    return found


def load(frame: Frame, value: Value, attr: str, line: int) -> Values:
    """Return an attribute of one value."""
    if type(value) is Instance:
        return _load_instance(frame, value, attr, line)
    if type(value) is ModuleObject:
        return member(frame, value.module, attr)
    if type(value) is ClassObject:
        return _load_class(frame, value, attr, line)
    if type(value) is External:
        return attribute_of(value.name, attr)
    if isinstance(value, ListObject | TupleObject | DictObject | TextStart):
        return (ContainerMethod(value, attr),)
    if isinstance(value, Super):
        owner = value.receiver.owner
        start = owner.mro.index(value.start) + 1 if value.start in owner.mro else 1
        found = frame.first_of(owner.mro[start:], attr)
        return bind(frame, found, value.receiver, line) or (UNKNOWN if owner.may_have_more else ())
    if isinstance(value, Descriptor):
        return load(frame, value.instance, attr, line)
    if isinstance(value, Method) and attr == "__self__":
        return (value.receiver,)
    if isinstance(value, Function | Method):
        return (value,) if attr in {"__wrapped__", "__func__", "__call__"} else UNKNOWN
    return UNKNOWN if isinstance(value, Partial | Awaitable | Key) else ()


def _load_instance(frame: Frame, value: Instance, attr: str, line: int) -> Values:
    owner = value.owner
    frame.read(owner.inherited)
    mro = owner.mro
    on_class = frame.first_of(mro, attr)
    found = bind(frame, on_class, value, line) if on_class else ()
    if found and any(each.is_protocol for each in mro):  # an implementation runs instead
        found = tuple([_as_overridden(each) for each in found])
    if not found or _may_be_hidden(on_class[0]):
        for each in mro:
            stored = frame.read(each.fields[attr])
            if stored:
                found = join(found, stored)
    if owner.subclasses and not value.is_exact and (not found or on_class):
        below = _load_below(frame, value, attr, line, is_only=not found)
        if any(isinstance(each, Method) for each in below):  # a stub is meant to be overridden
            found = tuple([_as_overridden(each) for each in found])
        found = join(found, below)
    if found:
        return found
    if attr == "__class__":
        return (ClassObject(owner, value.is_exact),)
    fallback = frame.first_of(mro, "__getattr__")
    if fallback and not attr.startswith("__"):
        for method in methods_of(frame, fallback, value, line):
            frame.note_protocol(method.unit, line)
        return UNKNOWN
    return UNKNOWN if owner.may_have_more else ()


def _may_be_hidden(value: Value) -> bool:
    """Tell whether an instance's own attribute may hide the class's value of that name.

    A function may be hidden only if it does nothing but raise: one that is set later replaces it.
    """
    if isinstance(value, Function):
        return value.unit.only_raises
    return not isinstance(value, Property)


def _load_class(frame: Frame, value: ClassObject, attr: str, line: int) -> Values:
    owner = value.owner
    frame.read(owner.inherited)
    found: Values = ()
    for each in frame.first_of(owner.mro, attr):
        if isinstance(each, Function):
            is_bound = each.unit.binding == "class"
            found = join(found, (Method(each.unit, value) if is_bound else each,))
        elif owner.is_enum:
            found = join(found, (Instance(owner, True),))
        elif isinstance(each, Descriptor):
            found = join(found, _read_descriptor(frame, each, value, line, is_override=False))
        elif not isinstance(each, Property):
            found = join(found, (each,))
    if owner.subclasses and not value.is_exact:
        overriding = _load_below(frame, value, attr, line, is_only=False)
        found = join(found, tuple([each for each in overriding if isinstance(each, Method)]))
    if found:
        return found
    if owner.metaclass is not None:
        on_class = frame.first_of(owner.metaclass.mro, attr)
        return bind(frame, on_class, Instance(owner.metaclass, True), line)
    if attr in {"__name__", "__dict__", "__mro__", "__doc__", "__module__"}:
        return UNKNOWN
    if owner.is_enum:
        return (Instance(owner, True),)
    return UNKNOWN if owner.may_have_more else ()


def _load_below(
    frame: Frame, value: Instance | ClassObject, attr: str, line: int, *, is_only: bool
) -> Values:
    """Return what subclasses have in place of an attribute, with methods marked as overriding."""
    found: Values = ()
    frame.asked.add(attr)
    is_aside = frame.unit.module.is_aside
    for each in value.owner.below:
        if each.unit.module.is_aside and not is_aside:
            continue
        cell = each.attributes.get(attr)
        if cell is not None:
            receiver = value.__class__(each)
            for bound in bind(frame, frame.read(cell), receiver, line, is_override=True):
                found = join(found, (_as_override(bound),))
        if is_only and isinstance(value, Instance):
            found = join(found, frame.read(each.fields[attr]))
    return found


def bind(
    frame: Frame, on_class: Values, value: Instance | ClassObject, line: int, *, is_override: bool = False
) -> Values:
    """Return class attributes as reading them from an instance or class gives them."""
    found: Values = ()
    for each in on_class:
        new: Values = (each,)
        if isinstance(each, Function):
            binding = each.unit.binding
            if binding == "class":
                receiver = (
                    value if isinstance(value, ClassObject) else ClassObject(value.owner, value.is_exact)
                )
                new = (Method(each.unit, receiver),)
            elif binding != "static":
                new = (Method(each.unit, value),)
        elif isinstance(each, Property):
            is_read = isinstance(value, Instance)
            new = _read_property(frame, each, value, line, is_override=is_override) if is_read else ()
        elif isinstance(each, Descriptor):
            new = _read_descriptor(frame, each, value, line, is_override=is_override)
        elif isinstance(each, Instance) and isinstance(value, Instance):
            getters = _getters(frame, each, line)
            if getters:
                new = _given_by(frame, getters, each, line)
        found = join(found, new)
    return found


def methods_of(frame: Frame, on_class: Values, value: Instance | ClassObject, line: int) -> list[Method]:
    """Return the methods among class attributes, bound."""
    return [each for each in bind(frame, on_class, value, line) if isinstance(each, Method)]


def _read_property(
    frame: Frame, value: Property, receiver: Instance | ClassObject, line: int, *, is_override: bool
) -> Values:
    if value.getter is None:
        return ()
    level = "override" if is_override else _SURE.get(frame.choices, "any")
    if level == "typed" and frame.is_weak:
        level = "passed"
    is_self = frame.self_name and receiver.owner is frame.unit.owner
    frame.note(value.getter, line, "property", level, "self_method" if is_self else "")
    return frame.result(value.getter, receiver)


def _getters(frame: Frame, descriptor: Instance, line: int) -> list[Method]:
    return methods_of(frame, frame.first_of(descriptor.owner.mro, "__get__"), descriptor, line)


def _given_by(frame: Frame, getters: list[Method], descriptor: Instance, line: int) -> Values:
    """Return the results of `__get__`, and record that the language calls it."""
    for method in getters:
        frame.note_protocol(method.unit, line)
    return union([frame.result(method.unit, descriptor) for method in getters])


def _read_descriptor(
    frame: Frame, value: Descriptor, receiver: Instance | ClassObject, line: int, *, is_override: bool
) -> Values:
    """Return the result of reading a descriptor; one that calls its wrapped function is a property."""
    instance = value.instance
    getters = _getters(frame, instance, line)
    given = _given_by(frame, getters, instance, line)
    is_property = any(each.is_property for each in instance.owner.mro) or any(
        frame.read(each.unit.owner.got) for each in getters if each.unit.owner
    )
    gives_itself = any(isinstance(each, Instance) and each.owner in instance.owner.mro for each in given)
    if not is_property or (isinstance(receiver, ClassObject) and (gives_itself or not getters)):
        return given
    functions = [each.unit for each in value.functions if isinstance(each, Function)]
    read = [
        _read_property(frame, Property(each, None), receiver, line, is_override=is_override)
        for each in functions
    ]
    return union(read) or given


def _as_override(value: Value) -> Value:
    return value._replace(is_override=True) if isinstance(value, Method) else value


def _as_overridden(value: Value) -> Value:
    """Mark a stub method as overriding, because another method runs in its place."""
    is_stub = isinstance(value, Method) and not value.is_override and value.unit.scope.is_stub
    return _as_override(value) if is_stub else value

"""Evaluate definitions and imports: the values of functions, classes, decorators and modules."""

from collections.abc import Callable

from claude_mem_lite.codemap.valueflow.attributes import member
from claude_mem_lite.codemap.valueflow.bindings import assign_name
from claude_mem_lite.codemap.valueflow.calls import call_value
from claude_mem_lite.codemap.valueflow.expression_terms import Attribute, Expr, is_name, last_name
from claude_mem_lite.codemap.valueflow.expressions import bind_defaults, evaluate
from claude_mem_lite.codemap.valueflow.external import CONTEXT_MANAGERS, RECORDS, UNKNOWN
from claude_mem_lite.codemap.valueflow.frame import Frame, site_of
from claude_mem_lite.codemap.valueflow.invocation import Arguments, described
from claude_mem_lite.codemap.valueflow.terms import (
    Block,
    ClassDefinition,
    FunctionDefinition,
    Import,
    ImportFrom,
)
from claude_mem_lite.codemap.valueflow.value_sets import classes_in, join
from claude_mem_lite.codemap.valueflow.values import (
    Class,
    ClassObject,
    Descriptor,
    External,
    Function,
    Instance,
    Method,
    Module,
    ModuleObject,
    Partial,
    Property,
    Unit,
    Values,
)

_ACCESSORS = frozenset({"setter", "getter", "deleter"})
_CLOSED = frozenset(
    {"object", "Protocol", "ABC", "Generic", "Exception", "Enum", "Any"}
)  # add no methods to call


def define_function(frame: Frame, definition: FunctionDefinition) -> None:
    """Bind a function's name to the function, or to what its decorators return."""
    name = definition.name
    unit = frame.unit.module.units[definition.scope]
    frame.change(unit, "owner", frame.unit.module.classes.get(unit.scope.parent))
    value: Values = (Function(unit),)
    bind_defaults(frame, unit)
    for decorator in reversed(unit.scope.decorators):
        frame.is_weak = False
        is_accessor = isinstance(decorator, Attribute) and decorator.attr in _ACCESSORS
        if is_accessor and is_name(decorator.base, name):  # type: ignore[union-attr]
            value = (_accessor(frame, unit, name, decorator.attr),)  # type: ignore[union-attr]
        else:
            value = _decorated(frame, decorator, value, unit.scope.line)
    frame.is_weak = False
    assign_name(frame, name, value)


def _accessor(frame: Frame, unit: Unit, name: str, accessor: str) -> Property:
    """Return the property that a name holds, with one more accessor."""
    old = Property(None, None)
    for each in reversed(frame.names.get(name, ())):
        if isinstance(each, Property):
            old = each
        elif isinstance(each, Descriptor) and isinstance(each.functions[0], Function):
            old = Property(each.functions[0].unit, None)
    return Property(
        unit if accessor == "getter" else old.getter, unit if accessor == "setter" else old.setter
    )


def _decorated(frame: Frame, decorator: Expr, value: Values, line: int) -> Values:
    """Return what a decorator returns for a function; an external one returns the function unchanged."""
    found = evaluate(frame, decorator)
    if any(isinstance(each, External) and each.name in CONTEXT_MANAGERS for each in found):
        for each in value:
            if isinstance(each, Function):
                frame.change(each.unit, "binding", "context")
        return value
    made: Values = ()
    for each in found:
        if isinstance(each, Function | Method | ClassObject | Instance | Partial):
            site = site_of(frame, decorator, (), line).of((each,), is_weak=frame.is_weak)
            given = call_value(frame, each, Arguments.of(value), site._replace(shape="decorator"))
            made = join(made, tuple([described(frame, one, value) for one in given]))
    kinds = (Function, Method, Instance, ClassObject, Property, Descriptor, Partial)
    made = tuple([each for each in made if isinstance(each, kinds)])
    names = [last_name(decorator), *[each.name for each in found if isinstance(each, External)]]
    if made or not any(each.endswith("property") for each in names):
        return made or value
    return tuple([Property(each.unit, None) if isinstance(each, Function) else each for each in value])


def define_class(
    run_block: Callable[[Frame, Block], bool], frame: Frame, definition: ClassDefinition
) -> None:
    """Make or renew a class: its bases, its body by `run_block`, and the calls of its decorators."""
    unit = frame.unit.module.units[definition.scope]
    owner = frame.make_class(unit)
    is_record = _set_bases(frame, owner)
    inner = frame.inside(unit)
    run_block(inner, unit.scope.body)
    for attribute, values in inner.names.items():
        inner.is_weak = attribute in inner.passed
        inner.write(owner.attributes[attribute], values)
    frame.leave(unit, inner)
    for base in owner.mro[1:]:
        for hook in frame.functions_of((base,), "__init_subclass__"):
            frame.note_protocol(hook, unit.scope.line)
    value: Values = (ClassObject(owner, True),)
    for decorator in reversed(unit.scope.decorators):
        frame.is_weak = False
        found = evaluate(frame, decorator)
        is_record |= any(isinstance(each, External) and each.name in RECORDS for each in found)
        site = site_of(frame, decorator, (), unit.scope.line).of(found, is_weak=False)
        for each in found:
            if isinstance(each, Function | Method | Instance):
                call_value(frame, each, Arguments.of(value), site._replace(shape="decorator"))
    frame.change(owner, "is_record", is_record)
    frame.is_weak = False
    assign_name(frame, definition.name, value)


def _set_bases(frame: Frame, owner: Class) -> bool:
    """Set a class's bases and notify readers of its inheritance; return whether it is a named tuple."""
    scope = owner.unit.scope
    bases: list[Class] = []
    external: list[str] = []
    for node in scope.bases:
        values = evaluate(frame, node)
        classes = classes_in(values)
        bases += classes[:1]
        external += [value.name for value in values if isinstance(value, External)] if not classes else []
        if not values:
            external.append("?")
    is_enum = any(each.endswith(("Enum", "Flag")) for each in external) or any(base.is_enum for base in bases)
    last_names = {each.rpartition(".")[2] for each in external}
    frame.change(owner, "is_open", not last_names <= _CLOSED)
    frame.change(owner, "is_enum", is_enum)
    frame.change(owner, "is_protocol", "Protocol" in last_names)
    frame.change(owner, "is_property", any(each.endswith("property") for each in external))
    metaclasses = classes_in(evaluate(frame, scope.metaclass))
    metaclasses += [base.metaclass for base in bases if base.metaclass is not None]
    frame.change(owner, "metaclass", metaclasses[0] if metaclasses else None)
    if frame.change(owner, "bases", tuple(bases)):
        for ancestor in owner.mro:
            frame.notify(ancestor.inherited)
    return any(each.endswith("NamedTuple") for each in external)


def import_modules(frame: Frame, statement: Import) -> None:
    """Bind the modules of an `import` statement, or their top packages."""
    importer = frame.unit.module
    for name, asname in statement.names:
        found = frame.modules.absolute(name, importer)
        if asname:
            frame.names[asname] = _module_value(found, name)
            continue
        top = name.partition(".")[0]
        root = frame.modules.absolute(top, importer) if found or "." not in name else None
        assign_name(frame, top, _module_value(root, top))


def _module_value(module: Module | None, name: str) -> Values:
    return (ModuleObject(module) if module else External(name),)


def import_names(frame: Frame, statement: ImportFrom) -> None:
    """Bind the names of `from … import`."""
    module = frame.modules.imported(statement.module, statement.level, frame.unit.module)
    for name, asname in statement.names:
        if name == "*":
            _import_all(frame, module)
            continue
        found: Values
        if module is None:
            found = (External(f"{statement.module}.{name}" if statement.module else name),)
        else:
            found = member(frame, module, name)
            if found == UNKNOWN:
                found = ()
        frame.is_weak = False
        assign_name(frame, asname or name, found)


def _import_all(frame: Frame, module: Module | None) -> None:
    importer = frame.unit.module
    if module is None or module is importer:
        return
    frame.read(module.named)
    frame.asked.add(module.names)
    names = module.exported
    if names is None:
        names = tuple([each for each in module.names if each[:1] != "_"])
    has_grown = False
    for name in names:
        values = member(frame, module, name)
        has_grown |= frame.unit.scope.kind == "module" and name not in importer.names
        frame.names[name] = values
        importer.names[name]
    if has_grown:
        frame.notify(importer.named)

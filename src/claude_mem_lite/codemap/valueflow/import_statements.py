"""Evaluate imports: which modules and names of the project they bind."""

from claude_mem_lite.codemap.valueflow.attributes import member
from claude_mem_lite.codemap.valueflow.bindings import assign_name
from claude_mem_lite.codemap.valueflow.external import UNKNOWN
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.terms import Import, ImportFrom
from claude_mem_lite.codemap.valueflow.values import External, Module, ModuleObject, Values


def import_modules(frame: Frame, statement: Import) -> None:
    """Bind the modules of `import`, or their first packages."""
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

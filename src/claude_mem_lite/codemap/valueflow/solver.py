"""Evaluate all scopes of a project until nothing changes."""

from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.records import Record, Structure
from claude_mem_lite.codemap.valueflow.statements import evaluate_scope
from claude_mem_lite.codemap.valueflow.value_sets import is_telling, union
from claude_mem_lite.codemap.valueflow.values import Cell, Unit, Value, Values
from claude_mem_lite.codemap.valueflow.worklist import Worklist

_ENOUGH = 2  # values of the project in a cell; later ones seldom lead to calls that really happen


def solve(modules: Modules) -> None:
    """Store in each unit of a project its edges, and the calls without a known callee."""
    worklist = Worklist()
    fit: dict[int, Value] = {}
    for module in modules.in_import_order():
        worklist.add(module.units[0])
    for module in modules:
        for each in module.units:
            if each.scope.kind in {"function", "lambda"}:
                worklist.add(each)
    while unit := worklist.take():
        if not _repeat(unit, modules.structure, worklist):
            _evaluate(unit, modules, worklist, fit)


def _repeat(unit: Unit, structure: Structure, worklist: Worklist) -> bool:
    """Replay a record that fits in place of an evaluation; return whether there is one."""
    record = structure.fitting(unit)
    if record is None:
        return False
    records = structure.records[unit]
    record.position = len(structure.events)
    record.apply(unit, records[-1] if records else None, structure, worklist)
    records.append(record)
    _publish(unit, record.written, record.contents, worklist)
    return True


def _evaluate(unit: Unit, modules: Modules, worklist: Worklist, fit: dict[int, Value]) -> None:
    modules.fill(unit.module)
    structure = modules.structure
    frame = Frame(unit, modules, worklist, fit)
    structure.effects, position = frame.effects, len(structure.events)
    try:
        evaluate_scope(frame)
        if structure.is_recorded and frame.is_repeatable:
            unit.asked = tuple(frame.asked.union(unit.asked))
            cells, records = tuple(frame.reads), structure.records[unit]
            record = Record(
                position, cells, tuple([cell.values for cell in cells]), bytes(frame.reads.values()),
                tuple(frame.marked), tuple(frame.effects), tuple(frame.writes), tuple(frame.writes.values()),
                frame.edges, frame.missed,
            )  # fmt: skip
            if records:
                record.share(records[-1])
            records.append(record)
    except RecursionError:
        frame.writes = {}
        modules.is_renewable = False
    unit.edges, unit.missed = frame.edges, frame.missed
    _publish(unit, tuple(frame.writes), tuple(frame.writes.values()), worklist)


def _publish(unit: Unit, written: tuple[Cell, ...], contents: tuple[Values, ...], worklist: Worklist) -> None:
    """Replace what a unit wrote to cells before by what it writes now, and queue affected readers."""
    if unit.written is not written:
        still = set(written)
        if gone := [cell for cell in unit.written if cell not in still]:
            written, contents = (*written, *gone), (*contents, *[()] * len(gone))
    for cell, values in zip(written, contents, strict=True):
        before, parts = cell.values, cell.parts
        if parts is None and (cell.writer is unit or cell.writer is None):
            if before == values:
                continue
            cell.writer, cell.values = unit, values
        elif (parts.get(unit, ()) if parts else ()) == values:
            continue
        else:
            if parts is None:
                parts = cell.parts = {cell.writer: before}  # type: ignore[dict-item]
            parts[unit] = values
            cell.values = union(parts.values())
        if before != cell.values and _is_news(cell, before):
            worklist.add_readers(cell)
    unit.written = written


def _is_news(cell: Cell, before: Values) -> bool:
    """Tell whether a cell's new values may change what its readers call."""
    if not before and cell.home is not None:
        return True  # an empty cell made readers look elsewhere
    known = sum(map(is_telling, before))
    return known < _ENOUGH and any(is_telling(each) and each not in before for each in cell.values)

"""Evaluate all scopes of a project until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.statements import evaluate_scope
from claude_mem_lite.codemap.valueflow.value_sets import union
from claude_mem_lite.codemap.valueflow.worklist import Worklist

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claude_mem_lite.codemap.valueflow.terms import Scope
    from claude_mem_lite.codemap.valueflow.values import Cell, Unit, Value, Values


def solve(files: Mapping[str, tuple[Scope, ...]], names: Mapping[str, str]) -> Modules:
    """Return a project's modules, with the edges of each scope and the calls that nothing was found for.

    `files` are the scopes of each file by its path, `names` the module name of each.
    """
    modules = Modules(files, names)
    worklist = Worklist()
    fit: dict[int, Value] = {}
    for module in modules.in_import_order():
        worklist.add(module.units[0])
    for module in modules:
        for each in module.units:
            if each.scope.kind in {"function", "lambda"}:
                worklist.add(each)
    while unit := worklist.take():
        frame = Frame(unit, modules, worklist, fit)
        try:
            evaluate_scope(frame)
        except RecursionError:
            frame.writes = {}
        unit.edges, unit.missed = frame.edges, frame.missed
        _publish(unit, frame.writes, worklist)
    return modules


def _publish(unit: Unit, writes: dict[Cell, Values], worklist: Worklist) -> None:
    """Put what an evaluation wrote in the place of what it wrote before."""
    for cell in unit.written:
        if cell not in writes:
            writes[cell] = ()
    for cell, values in writes.items():
        if cell.parts.get(unit, ()) == values:
            continue
        cell.parts[unit] = values
        before = cell.values
        cell.values = now = union(cell.parts.values()) if len(cell.parts) > 1 else values
        if before != now and (len(before) != len(now) or set(before) != set(now)):
            worklist.add_readers(cell)
    unit.written = writes

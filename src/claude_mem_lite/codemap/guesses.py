"""Calls whose receiver is unknown, by name alone: one owner of that name in the project, or noise.

What is guessed here is scored apart; a guess never stands beside a resolved edge of the same call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.attributes import LEVELS
from claude_mem_lite.codemap.known import BUILTINS, EXCEPTIONS, NOISE_METHODS, NOISE_OBJECTS

if TYPE_CHECKING:
    from claude_mem_lite.codemap.classes import Class
    from claude_mem_lite.codemap.values import Unit
    from claude_mem_lite.codemap.world import World


def guess(world: World) -> tuple[dict[Unit, dict[str, Any]], list[tuple[Unit, int, str]]]:
    """Return guessed edges by caller (in the form of `Unit.edges`), and calls left unresolved."""
    methods = _methods(world)
    guessed: dict[Unit, dict[str, Any]] = {}
    missed: list[tuple[Unit, int, str]] = []
    for module in list(world.modules.values()):
        for unit in module.units:
            for line, name, receiver in unit.missed:
                target = None if receiver is None else _only(methods.get(name, []), name, receiver)
                if target is not None:
                    resolution = "direct" if target.module is module else "import"
                    guessed.setdefault(unit, {})[target.name] = (
                        LEVELS.index("guess"),
                        line,
                        "guess",
                        resolution,
                    )
                elif not _is_noise(name, receiver) or (name in methods and receiver not in NOISE_OBJECTS):
                    missed.append((unit, line, f"{receiver}.{name}" if receiver else name))
    return guessed, missed


def _is_noise(name: str, receiver: str | None) -> bool:
    if receiver is None:
        return name in BUILTINS or name in EXCEPTIONS
    return name in NOISE_METHODS or receiver in NOISE_OBJECTS or (name[:2] == "__" == name[-2:])


def _methods(world: World) -> dict[str, list[tuple[Class, Unit]]]:
    found: dict[str, list[tuple[Class, Unit]]] = {}
    for module in world.modules.values():
        for owner in module.classes.values():
            for unit in owner.unit.inner:
                if unit.scope.kind == "function":
                    found.setdefault(unit.scope.name.rpartition(".")[2], []).append((owner, unit))
    return found


def _only(candidates: list[tuple[Class, Unit]], name: str, receiver: str) -> Unit | None:
    """Return the one method a name can mean: of the only class that has it, or of the receiver's name."""
    called = receiver.replace("_", "").lower()
    alike = [unit for owner, unit in candidates if called and owner.name.rpartition(".")[2].lower() == called]
    if len(set(alike)) == 1:
        return alike[0]
    if name in NOISE_METHODS or not candidates:
        return None
    owners = [owner for owner, _ in candidates]
    for owner, unit in candidates:  # one class, or one and those that inherit from it
        if all(owner in each.mro for each in owners):
            return unit
    return None

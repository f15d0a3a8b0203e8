"""Match calls whose receiver is unknown by name alone: one owner of that name in the project, or noise.

What is matched here has the level "guess" and never stands beside a resolved edge of the same call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.valueflow.external import BUILTINS, EXCEPTIONS, NOISE_METHODS, NOISE_OBJECTS
from claude_mem_lite.codemap.valueflow.frame import LEVELS
from claude_mem_lite.codemap.valueflow.values import Evidence

if TYPE_CHECKING:
    from claude_mem_lite.codemap.valueflow.modules import Modules
    from claude_mem_lite.codemap.valueflow.values import Class, Unit

_RANK = LEVELS.index("guess")


def match(modules: Modules) -> tuple[dict[Unit, dict[str, Evidence]], list[tuple[Unit, int, str]]]:
    """Return edges by caller and name of the callee, and the calls left unresolved."""
    methods = _methods(modules)
    matched: dict[Unit, dict[str, Evidence]] = {}
    missed: list[tuple[Unit, int, str]] = []
    for module in modules:
        for unit in module.units:
            for line, name, receiver, is_outside in unit.missed:
                if is_outside:
                    if name in methods and not _is_noise(name, receiver):
                        missed.append((unit, line, f"{receiver}.{name}" if receiver else name))
                    continue
                target = None if receiver is None else _only(methods.get(name, []), name, receiver)
                if target is not None:
                    resolution = "direct" if target.module is module else "import"
                    matched.setdefault(unit, {})[target.name] = Evidence(_RANK, line, "guess", resolution)
                elif not _is_noise(name, receiver) or (name in methods and receiver not in NOISE_OBJECTS):
                    missed.append((unit, line, f"{receiver}.{name}" if receiver else name))
    return matched, missed


def _is_noise(name: str, receiver: str | None) -> bool:
    if receiver is None:
        return name in BUILTINS or name in EXCEPTIONS
    return name in NOISE_METHODS or receiver in NOISE_OBJECTS or (name[:2] == "__" == name[-2:])


def _methods(modules: Modules) -> dict[str, list[tuple[Class, Unit]]]:
    found: dict[str, list[tuple[Class, Unit]]] = {}
    for module in modules:
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

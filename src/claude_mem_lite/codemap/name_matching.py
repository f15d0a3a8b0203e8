"""Match calls whose receiver is unknown by name alone: one owner of that name in the project, or noise.

What is matched here has the level "guess" and never stands beside a resolved edge of the same call.
"""

from __future__ import annotations

from claude_mem_lite.codemap.valueflow.external import BUILTINS, EXCEPTIONS, NOISE_METHODS, NOISE_OBJECTS
from claude_mem_lite.codemap.valueflow.frame import LEVELS
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.values import Class, Evidence, Unit

_RANK = LEVELS.index("guess")


class Methods:
    """A project's methods by name, each with its class; the classes' names and what they inherit from."""

    def __init__(self, modules: Modules) -> None:
        """Take modules that are resolved."""
        self.by_name: dict[str, list[tuple[Class, Unit]]] = {}
        self.classes: set[str] = set()
        self.orders: dict[Class, tuple[Class, ...]] = {}
        for module in modules:
            for owner in module.classes.values():
                self.classes.add(owner.name)
                self.orders[owner] = owner.mro
                for unit in owner.unit.inner:
                    if unit.scope.kind == "function":
                        self.by_name.setdefault(unit.scope.name.rpartition(".")[2], []).append((owner, unit))

    def differing(self, before: Methods) -> set[str] | None:
        """Return the names that are matched otherwise than before; None: it may be any."""
        if self.orders != before.orders:
            return None
        names = self.by_name.keys() | before.by_name.keys()
        return {name for name in names if self.by_name.get(name) != before.by_name.get(name)}


def match(unit: Unit, methods: Methods) -> tuple[dict[str, Evidence], list[tuple[int, str]]]:
    """Return a scope's edges by the name of the callee, and its calls left unresolved: line and name."""
    matched: dict[str, Evidence] = {}
    missed: list[tuple[int, str]] = []
    for line, name, receiver, is_outside in unit.missed:
        known = methods.by_name.get(name, [])
        target = None if receiver is None or is_outside else _only(known, name, receiver)
        if target is not None:
            resolution = "direct" if target.module is unit.module else "import"
            matched[target.name] = Evidence(_RANK, line, "guess", resolution)
            continue
        is_noise = _is_noise(name, receiver)
        if is_outside:
            is_told = bool(known) and not is_noise
        else:
            is_told = not is_noise or (bool(known) and receiver not in NOISE_OBJECTS)
        if is_told:
            missed.append((line, f"{receiver}.{name}" if receiver else name))
    return matched, missed


def _is_noise(name: str, receiver: str | None) -> bool:
    if receiver is None:
        return name in BUILTINS or name in EXCEPTIONS
    return name in NOISE_METHODS or receiver in NOISE_OBJECTS or (name[:2] == "__" == name[-2:])


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

"""Queue the units to be evaluated, each a limited number of times."""

from collections import deque

from claude_mem_lite.codemap.valueflow.values import Cell, Unit

_MOST_RUNS = 4  # of one scope; most need two
_MOST_RUNS_ASIDE = 2


class Worklist:
    """The queued units; module bodies go first, so that functions find the names that they read."""

    def __init__(self) -> None:
        self._bodies: deque[Unit] = deque()
        self._others: deque[Unit] = deque()
        self._pending: set[Unit] = set()

    def add(self, unit: Unit) -> None:
        """Queue a unit for evaluation, unless it ran often enough."""
        most = _MOST_RUNS_ASIDE if unit.module.is_aside else _MOST_RUNS
        if unit not in self._pending and unit.runs < most:
            self._pending.add(unit)
            (self._bodies if unit.scope.kind == "module" else self._others).append(unit)

    def add_readers(self, cell: Cell) -> None:
        """Queue the readers of a cell."""
        for reader in cell.readers or ():
            self.add(reader)

    def take(self) -> Unit | None:
        """Return the next unit, None where none is left."""
        if not self._pending:
            return None
        unit = self._bodies.popleft() if self._bodies else self._others.popleft()
        self._pending.discard(unit)
        unit.runs += 1
        return unit

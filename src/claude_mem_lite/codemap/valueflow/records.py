"""Record evaluations, so that one with unchanged inputs need not be repeated.

The solver's results depend on the order of its evaluations: on the values present when a scope was evaluated,
and on how often that happened. So after a change of a file, everything is replayed from the beginning. Where
a record fits, its results replace an evaluation. It fits when all cells that were read have the same values
as then, and classes and modules have not changed in anything that was looked up. `Structure` knows that: it
holds the changes of classes and the new attributes in order, those of this run and those of the last one.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Union

from claude_mem_lite.codemap.valueflow.values import (
    Cell,
    Cells,
    Class,
    Evidence,
    MissedCall,
    Module,
    Unit,
    Values,
)
from claude_mem_lite.codemap.valueflow.worklist import Worklist

_values = operator.attrgetter("values")
_is_passed = operator.attrgetter("is_passed")
_SHARED = ("cells", "passed", "marked", "effects", "written", "contents", "edges", "missed")
_MOST_DIFFERENCES = 100  # after more, comparing costs more than evaluating


class Change(NamedTuple):
    """Change number `number` of an attribute of a class or scope."""

    target: Class | Unit
    name: str
    value: object
    number: int


class Notice(NamedTuple):
    """The readers of a cell were queued; `is_own`: the evaluation itself had read it."""

    cell: Cell
    is_own: bool


class Found(NamedTuple):
    """The calls in the body of a class."""

    unit: Unit
    edges: dict[str, Evidence]
    missed: list[MissedCall]

    def apply(self) -> None:
        """Store the calls in the class's scope."""
        self.unit.edges, self.unit.missed = self.edges, self.missed


# A Cell was made in a class or module; a Unit became a class.
Effect = Union[Cell, Unit, Change, Notice, Found]  # noqa: UP007
Event = Union[Cell, Change, Cells]  # noqa: UP007 - Cells: a module exports other names than before


@dataclass(slots=True, eq=False)
class Record:
    """An evaluation: the number of events before it, what it read, and its results."""

    position: int
    cells: tuple[Cell, ...]
    values: tuple[Values, ...]
    passed: bytes
    marked: tuple[Cell, ...]
    effects: tuple[Effect, ...]
    written: tuple[Cell, ...]
    contents: tuple[Values, ...]
    edges: dict[str, Evidence]
    missed: list[MissedCall]

    def share(self, last: Record) -> None:
        """Share equal parts with the last record of the scope, to save memory."""
        for name in _SHARED:
            if getattr(self, name) == (known := getattr(last, name)):
                setattr(self, name, known)

    def apply(self, unit: Unit, before: Record | None, structure: Structure, worklist: Worklist) -> None:
        """Replay the evaluation except for its writes; `before` is the record of the unit's previous one."""
        structure.effects = []
        for effect in self.effects:
            if type(effect) is Cell:
                if effect.home is not None:
                    effect.home[effect.key]
            elif type(effect) is Change:
                structure.change(effect.target, effect.name, effect.value)
            elif type(effect) is Notice:
                if effect.is_own:
                    effect.cell.add_reader(unit)
                worklist.add_readers(effect.cell)
            elif type(effect) is Found:
                effect.apply()
            elif type(effect) is Unit:
                effect.module.classes[effect.index] = effect.made  # type: ignore[assignment]
        for cell in self.marked:
            cell.is_passed = True
        if before is None or before.cells is not self.cells:
            for cell in self.cells:
                cell.add_reader(unit)
        unit.edges, unit.missed = self.edges, self.missed


class Structure:
    """The events of classes and modules in this run so far, compared with the same point of the last run.

    `effects` are those of the current evaluation, `records` those of this run.
    """

    def __init__(self, *, is_recorded: bool) -> None:
        self.is_recorded = is_recorded
        self.effects: list[Effect] = []
        self.events: list[Event] = []
        self.records: defaultdict[Unit, list[Record]] = defaultdict(list)
        self._recorded: dict[Unit, tuple[Record, ...]] = {}
        self._before: list[Event] = []
        self._at = 0
        self._differences = Differences((), ())
        self._numbers: Counter[tuple[object, str]] = Counter()

    def rest(self) -> None:
        """Keep the records for the next run."""
        self._recorded = {unit: tuple(found) for unit, found in self.records.items()}
        self.records.clear()

    def restart(
        self, different: Iterable[Event], newcomers: Iterable[Unit], changed: Iterable[Module]
    ) -> None:
        """Start a new run, without the records of the modules that changed.

        `different` are events from before the first evaluation, `newcomers` units that only one run has.
        """
        for module in changed:
            for unit in module.units:
                self._recorded.pop(unit, None)
        self._before, self.events, self._at = self.events, [], 0
        self._differences = Differences(different, newcomers)
        self._numbers.clear()

    def add(self, event: Cell | Change) -> None:
        """Record an event of the current evaluation."""
        self.effects.append(event)
        self.events.append(event)
        if self._at < len(self._before) and self._before[self._at] == event:
            self._at += 1  # both runs have it
        elif self._before:
            self._differences.turn(event)

    def change(self, target: Class | Unit, name: str, value: object) -> bool:
        """Set an attribute of a class or unit, and return whether it differs from before."""
        if name == "bases":
            if not target.set_bases(value):  # type: ignore[union-attr, arg-type]
                return False
        elif getattr(target, name) == value:
            return False
        else:
            setattr(target, name, value)
        self._numbers[target, name] += 1
        self.add(Change(target, name, value, self._numbers[target, name]))
        return True

    def fitting(self, unit: Unit) -> Record | None:
        """Return a record of what evaluating a unit would do now, None where there is none."""
        recorded = self._recorded.get(unit)
        if recorded is None:
            return None
        place = len(self.records[unit])  # the likeliest
        for record in (*recorded[place:], *recorded[:place]):
            if (
                tuple(map(_values, record.cells)) != record.values
                or bytes(map(_is_passed, record.cells)) != record.passed
            ):
                continue
            start, end = sorted((self._at, record.position))
            for event in self._before[start:end]:
                self._differences.turn(event)
            self._at = record.position
            if not self._differences.concern(unit, record):
                return record
        return None


class Differences:
    """The events that only one run has, and the look-ups of an evaluation that they concern."""

    def __init__(self, events: Iterable[Event], newcomers: Iterable[Unit]) -> None:
        self._events = set(events)
        self._newcomers = set(newcomers)
        self._is_known = False  # whether the fields below are up to date
        self._concern_all = False
        self._asked: set[object] = set()
        self._cells: set[Cell] = set()

    def turn(self, event: Event) -> None:
        """Add an event that one run has, or remove it once the other run has it, too."""
        self._events ^= {event}
        self._is_known = False

    def concern(self, unit: Unit, record: Record) -> bool:
        """Tell whether the differences may change an evaluation."""
        if not self._is_known:
            self._learn()
        return (
            self._concern_all
            or not self._asked.isdisjoint(unit.asked)
            or not (self._cells.isdisjoint(record.cells) and self._cells.isdisjoint(record.written))
        )

    def _learn(self) -> None:
        self._is_known = True
        self._asked.clear()
        self._cells.clear()
        self._concern_all = len(self._events) > _MOST_DIFFERENCES
        for event in () if self._concern_all else self._events:
            if type(event) is Cell:
                self._cells.add(event)
                self._asked.add(event.home)
                if event.home is not None and event.home.is_by_name:
                    self._asked.add(event.key)
            elif type(event) is Change:
                target = event.target
                self._concern_all |= (target if type(target) is Unit else target.unit) not in self._newcomers  # type: ignore[union-attr]
                bases: tuple[Class, ...] = event.value if event.name == "bases" else ()  # type: ignore[assignment]
                self._cells.update(above.inherited for each in bases for above in each.mro)
            else:
                self._asked.add(event)
        if not self._events:
            self._events = set()  # a set that was large stays slow

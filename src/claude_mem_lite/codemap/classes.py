"""Classes of the project: their method resolution order, and which attribute a class or instance has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.values import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claude_mem_lite.codemap.values import Unit

_MOST_SUBCLASSES = 40


@dataclass(slots=True, eq=False)
class Class:
    """A class; `bases` are the project's, `is_open`: a foreign one may add more; `is_record`: a dataclass."""

    name: str
    unit: Unit
    bases: tuple[Class, ...] = ()
    is_open: bool = False
    is_enum: bool = False
    is_record: bool = False
    is_protocol: bool = False
    metaclass: Class | None = None
    attributes: dict[str, Cell] = field(default_factory=dict)
    fields: dict[str, Cell] = field(default_factory=dict)
    subclasses: list[Class] = field(default_factory=list)
    inherited: Cell = field(default_factory=Cell)
    order: tuple[Class, ...] | None = None

    def attribute(self, name: str) -> Cell:
        """Return the cell of what the class body binds."""
        found = self.attributes.get(name)
        if found is None:
            found = self.attributes[name] = Cell()
        return found

    def field_of(self, name: str) -> Cell:
        """Return the cell of what is assigned to an instance's attribute."""
        found = self.fields.get(name)
        if found is None:
            found = self.fields[name] = Cell()
        return found

    @property
    def mro(self) -> tuple[Class, ...]:
        """Return the method resolution order, `self` first; foreign bases are left out."""
        if self.order is None:
            self.order = (self,)  # a class that is among its own bases
            self.order = (self, *_merge([list(base.mro) for base in self.bases] + [list(self.bases)]))
        return self.order

    def set_bases(self, bases: Sequence[Class]) -> bool:
        """Set the bases and tell whether they are others than before."""
        kept = tuple(dict.fromkeys(base for base in bases if base is not self and self not in base.mro))
        if kept == self.bases:
            return False
        for base in self.bases:
            base.subclasses.remove(self)
        self.bases = kept
        for base in kept:
            base.subclasses.append(self)
        for each in (self, *self.below()):
            each.order = None
        return True

    def below(self) -> Iterator[Class]:
        """Every subclass, subclasses of subclasses too."""
        seen = {self}
        waiting = list(self.subclasses)
        while waiting and len(seen) <= _MOST_SUBCLASSES:
            each = waiting.pop(0)
            if each not in seen:
                seen.add(each)
                waiting += each.subclasses
                yield each

    @property
    def may_have_more(self) -> bool:
        """Tell whether a foreign base may add attributes."""
        return any(each.is_open for each in self.mro)


def _merge(sequences: list[list[Class]]) -> list[Class]:
    """Merge by C3; where an order is impossible, what is left comes as it is.

    Source: https://docs.python.org/3/howto/mro.html
    """
    found: list[Class] = []
    while sequences := [each for each in sequences if each]:
        for sequence in sequences:
            head = sequence[0]
            if not any(head in other[1:] for other in sequences):
                break
        else:
            return list(dict.fromkeys([*found, *(each for sequence in sequences for each in sequence)]))
        found.append(head)
        sequences = [[each for each in sequence if each is not head] for sequence in sequences]
    return found

"""The journal: entries, posted and never changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from ledger.money import round_half_even


class UnbalancedError(ValueError):
    """The lines of an entry do not add up to zero."""


@dataclass
class Entry:
    """One booking."""

    day: date
    text: str
    lines: dict[str, Decimal] = field(default_factory=dict)
    is_locked: bool = False

    def balance(self) -> Decimal:
        return round_half_even(sum(self.lines.values(), Decimal(0)))


class Journal:
    """All entries of a year, by day."""

    MAX_LINES = 40

    def __init__(self, year: int) -> None:
        self.year = year
        self._entries: list[Entry] = []
        self._closed: set[int] = set()

    def post(self, entry: Entry, *, force: bool = False) -> int:
        """Add an entry; return its number."""
        # A closed month stays as it is.
        if entry.day.month in self._closed and not force:
            raise ValueError("the month is closed")
        if entry.balance() != 0:
            raise UnbalancedError(entry.text)
        self._entries.append(entry)
        self._entries.sort(key=lambda each: each.day)
        return len(self._entries)

    def reverse(self, number: int) -> Entry:
        """Post the opposite of an entry."""
        old = self._entries[number - 1]
        lines = {account: -amount for account, amount in old.lines.items()}
        entry = Entry(old.day, f"reverses {number}", lines)
        self.post(entry)
        return entry

    def close(self, month: int) -> None:
        """Close a month."""
        self._closed.add(month)
        for entry in self._entries:
            if entry.day.month == month:
                entry.is_locked = True

    @property
    def opening(self) -> Decimal:
        """The balance to begin with."""
        return self._opening

    @opening.setter
    def opening(self, value: Decimal) -> None:
        self._opening = round_half_even(value)


class AuditJournal(Journal):
    """A journal that tells who posted."""

    def post(self, entry: Entry, *, force: bool = False) -> int:
        number = super().post(entry, force=False)
        print(f"posted {number}")
        return number

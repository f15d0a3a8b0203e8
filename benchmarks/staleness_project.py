"""A small project that keeps accounts, and what was learned of it, as users and assistants write it."""

from __future__ import annotations

_MONEY = '''"""Amounts of money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Money:
    """An amount in one currency."""

    amount: Decimal
    currency: str = "EUR"

    def __add__(self, other: Money) -> Money:
        if other.currency != self.currency:
            raise ValueError(f"{other.currency} is not {self.currency}")
        return Money(self.amount + other.amount, self.currency)

    @property
    def is_negative(self) -> bool:
        return self.amount < 0

    @classmethod
    def zero(cls, currency: str = "EUR") -> Money:
        return cls(Decimal(0), currency)


def parse_amount(text: str) -> Decimal:
    """Return an amount from what a person typed."""
    cleaned = text.strip().replace(" ", "").replace(",", ".")
    if not cleaned:
        raise ValueError("an amount is missing")
    return Decimal(cleaned)


def round_half_even(value: Decimal, unit: Decimal = CENT) -> Decimal:
    """Round as banks do."""
    return value.quantize(unit, rounding=ROUND_HALF_EVEN)


def allocate(total: Decimal, weights: list[int]) -> list[Decimal]:
    """Split a total by weights; nothing is lost."""
    whole = sum(weights)
    shares = [round_half_even(total * weight / whole) for weight in weights]
    shares[0] += total - sum(shares)
    return shares
'''

_JOURNAL = '''"""The journal: entries, posted and never changed."""

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
'''

_STORE = '''"""Where a journal is kept."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from typing import Any


class Store(ABC):
    """What every store can do."""

    suffix = ".json"

    @abstractmethod
    def load(self, name: str) -> dict[str, Any]: ...

    @abstractmethod
    def save(self, name: str, content: dict[str, Any]) -> None: ...

    def exists(self, name: str) -> bool:
        try:
            self.load(name)
        except KeyError:
            return False
        return True


class FileStore(Store):
    """One file a journal."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def load(self, name: str) -> dict[str, Any]:
        try:
            with open(os.path.join(self.folder, name + self.suffix)) as file:
                return json.load(file)
        except FileNotFoundError:
            raise KeyError(name) from None

    def save(self, name: str, content: dict[str, Any]) -> None:
        path = os.path.join(self.folder, name + self.suffix)
        with open(path + ".tmp", "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".tmp", path)


class MemoryStore(Store):
    """For tests."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def load(self, name: str) -> dict[str, Any]:
        return self.kept[name]

    def save(self, name: str, content: dict[str, Any]) -> None:
        self.kept[name] = content
'''

_CACHE = '''"""What is computed once."""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from typing import Any


def cached(ttl_s: float = 60.0) -> Any:
    """Keep what a function returned for a while."""

    def decorate(function: Any) -> Any:
        kept: dict[Any, tuple[float, Any]] = {}

        @functools.wraps(function)
        def wrapper(*arguments: Any) -> Any:
            now = time.monotonic()
            if arguments in kept and now - kept[arguments][0] < ttl_s:
                return kept[arguments][1]
            value = function(*arguments)
            kept[arguments] = (now, value)
            return value

        return wrapper

    return decorate


class LruCache:
    """As many values as it has room for."""

    capacity = 128

    def __init__(self) -> None:
        self._values: OrderedDict[str, Any] = OrderedDict()

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._values:
            return default
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: str, value: Any) -> None:
        self._values[key] = value
        if len(self._values) > self.capacity:
            self._values.popitem(last=False)
'''

_CLIENT = '''"""Exchange rates from the central bank."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

from ledger.storage.cache import cached

BASE_URL = "https://rates.example.org"


class RatesError(Exception):
    """The bank did not answer."""


def backoff(attempt: int) -> float:
    """Return how long to wait before an attempt."""
    return min(30.0, 0.5 * 2**attempt)


async def fetch_rates(client: Any, day: str, *, attempts: int = 3) -> dict[str, Decimal]:
    """Return the rates of a day."""
    for attempt in range(attempts):
        response = await client.get(f"{BASE_URL}/{day}")
        if response.status == 200:
            return {code: Decimal(rate) for code, rate in response.json().items()}
        if response.status == 404:
            raise RatesError(f"no rates for {day}")
        await asyncio.sleep(backoff(attempt))
    raise RatesError(f"no answer after {attempts} attempts")


@cached(ttl_s=3600)
def rate_of(code: str) -> Decimal:
    """Return today's rate of a currency."""
    return asyncio.run(fetch_rates(None, "today"))[code]


class RateClient:
    """A session with the bank."""

    TIMEOUT_S = 10
    USER_AGENT = "ledger/1.0"

    def __init__(self, token: str | None = None) -> None:
        self.token = token

    @staticmethod
    def normalize(code: str) -> str:
        return code.strip().upper()

    async def close(self) -> None:
        await asyncio.sleep(0)
'''

_READER = '''"""Bank statements as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from ledger.money import parse_amount


class RowError(ValueError):
    """A row cannot be read."""


def sniff_dialect(sample: str) -> str:
    """Return the delimiter of a file."""
    return ";" if sample.count(";") >= sample.count(",") else ","


def read_rows(path: str, *, encoding: str = "latin-1") -> Iterator[dict[str, Any]]:
    """Yield the rows of a statement."""

    def cleaned(row: dict[str, str]) -> dict[str, Any]:
        row = {key.strip().lower(): value.strip() for key, value in row.items()}
        return {**row, "amount": parse_amount(row["amount"])}

    with open(path, encoding=encoding) as file:
        delimiter = sniff_dialect(file.read(1024))
        file.seek(0)
        for number, row in enumerate(csv.DictReader(file, delimiter=delimiter), 1):
            try:
                yield cleaned(row)
            except (KeyError, ValueError) as error:
                raise RowError(f"row {number}: {error}") from error


def deduplicate(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop rows that were imported before."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for row in rows:
        key = (row["date"], row["reference"])
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept
'''

_REPORTS = '''"""What is printed at the end of a month."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ledger.journal import Journal


class Report:
    """A table with a title."""

    title = "Report"

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def rows(self) -> list[tuple[str, Decimal]]:
        raise NotImplementedError

    def render(self, width: int = 80) -> str:
        lines = [f"{name:<{width - 12}}{amount:>12.2f}" for name, amount in self.rows()]
        return "\\n".join([self.title, "=" * width, *lines])


class BalanceSheet(Report):
    """What is there and what is owed."""

    title = "Balance sheet"

    def rows(self) -> list[tuple[str, Decimal]]:
        totals: dict[str, Decimal] = {}
        for entry in self.journal._entries:
            for account, amount in entry.lines.items():
                totals[account] = totals.get(account, Decimal(0)) + amount
        return sorted(totals.items())


def close_month(journal: Journal, month: int) -> str:
    """Close a month and return its balance sheet."""
    text = BalanceSheet(journal).render()
    journal.close(month)
    return text


def export_html(report: Report, *, stylesheet: str | None = None) -> str:
    """Return a report as a page."""
    style = f"<link rel=stylesheet href={stylesheet}>" if stylesheet else ""
    body = "".join(f"<tr><td>{name}<td>{amount}" for name, amount in report.rows())
    return f"<html>{style}<table>{body}</table>"


def totals_by_year(entries: list[Any]) -> dict[int, Decimal]:
    totals: dict[int, Decimal] = {}
    for entry in entries:
        totals[entry.day.year] = totals.get(entry.day.year, Decimal(0)) + entry.balance()
    return totals
'''

_SETTINGS = '''"""What can be chosen."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the user chose."""

    currency: str = "EUR"
    fiscal_start: int = 1
    backups: int = 7

    @property
    def is_calendar_year(self) -> bool:
        return self.fiscal_start == 1


def load_settings(path: str | None = None) -> Settings:
    """Read the settings; the environment comes first."""
    path = os.environ.get("LEDGER_CONFIG") or path or "ledger.toml"
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        found = {}
    return Settings(**found)
'''

_CLI = '''"""The command line."""

from __future__ import annotations

import argparse
import sys

from ledger.imports.csv_reader import deduplicate, read_rows
from ledger.settings import load_settings


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ledger")
    parser.add_argument("--config")
    parser.add_argument("statement")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Import a statement."""
    options = build_parser().parse_args(arguments)
    settings = load_settings(options.config)
    rows = deduplicate(list(read_rows(options.statement)))
    print(f"{len(rows)} rows in {settings.currency}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

_REINDEX = '''"""Number all entries anew."""


def reindex(journal):
    for number, entry in enumerate(journal._entries, 1):
        entry.number = number


def verify(journal):
    return all(entry.number for entry in journal._entries)
'''

_TESTS = """from decimal import Decimal

import pytest

from ledger.money import allocate, parse_amount


@pytest.fixture
def amounts():
    return [Decimal("1.10"), Decimal("2.20")]


def test_parse_amount():
    assert parse_amount("1,10") == Decimal("1.10")


def test_allocate(amounts):
    assert sum(allocate(sum(amounts), [1, 1, 1])) == sum(amounts)
"""

FILES = {
    "ledger/__init__.py": '"""Accounts."""\n',
    "ledger/money.py": _MONEY,
    "ledger/journal.py": _JOURNAL,
    "ledger/storage/__init__.py": "from ledger.storage.store import FileStore, MemoryStore, Store\n",
    "ledger/storage/store.py": _STORE,
    "ledger/storage/cache.py": _CACHE,
    "ledger/rates.py": _CLIENT,
    "ledger/imports/__init__.py": "",
    "ledger/imports/csv_reader.py": _READER,
    "ledger/reports.py": _REPORTS,
    "ledger/settings.py": _SETTINGS,
    "ledger/cli.py": _CLI,
    "tools/reindex.py": _REINDEX,
    "tests/test_money.py": _TESTS,
    "README.md": "# ledger\n\nAccounts for small firms.\n",
    "ledger.toml": 'currency = "EUR"\n',
}

# What somebody says the sentence speaks of, where it is Claude who wrote it (see `LEARNINGS`).
ABOUT = {
    "csv nested": ("read_rows.cleaned", "ledger/imports/csv_reader.py"),
    "nothing lost": ("allocate",),
    "dedup plain": ("deduplicate()",),
    "retry plain": ("fetch_rates", "ledger/rates.py"),
}

LEARNINGS = {
    # Marked by backticks.
    "parse": "`parse_amount` takes a comma as the decimal point and raises ValueError for an empty text",
    "half even": "Amounts are rounded with `round_half_even`, never with round()",
    "allocate": "`allocate` gives the remainder to the first share",
    "post": "`Journal.post` refuses an entry for a closed month unless force is given",
    "post sorts": "`Journal.post()` keeps the entries sorted by day",
    "reverse": "`Journal.reverse` posts a new entry and never deletes the old one",
    "journal close": "`Journal.close` locks every entry of the month",
    "audit": "`AuditJournal.post` never forces, even if it is asked to",
    "save": "`FileStore.save` writes a .tmp file and fsyncs it before os.replace",
    "memory save": "`MemoryStore.save` keeps the dict itself, it makes no copy",
    "load": "`FileStore.load` raises KeyError when the file is not there",
    "lru": "`LruCache.get` moves the key to the end, so reading counts as use",
    "cached": "`cached` keeps values for 60 seconds unless ttl_s says otherwise",
    "wrapper": "`cached.decorate.wrapper` takes no keyword arguments",
    "backoff": "`backoff` never waits longer than 30 seconds",
    "dialect": "`sniff_dialect` prefers the semicolon on a tie",
    "html": "`export_html` does not escape account names",
    "setter": "`Journal.opening` is rounded when it is set",
    "unbalanced": "`UnbalancedError` is a ValueError, so callers that catch ValueError see it",
    "fixture": "The `amounts` fixture in `tests/test_money.py` has two amounts that add up to 3.30",
    "normalize": "`RateClient.normalize` upper-cases currency codes",
    # With brackets.
    "fetch": "fetch_rates() gives up at once on a 404 and retries everything else three times",
    "rate of": "rate_of() is cached for an hour, tests must clear it",
    "settings": "load_settings() reads LEDGER_CONFIG before the path it is given",
    "parser": "build_parser() has no subcommands, the statement is positional",
    "close order": "close_month() renders the balance sheet first and only then calls journal.close()",
    "instance post": "journal.post(entry) must be called after the lines add up to zero",
    # Dotted, with module or file.
    "module name": "ledger.money.allocate must stay exact: sum of shares equals the total",
    "file name": "In ledger/imports/csv_reader.py, read_rows decodes latin-1, which the bank sends",
    "file colon": "ledger/storage/store.py:FileStore.save is atomic, do not write the file directly",
    "file only": "Everything about exchange rates lives in `ledger/rates.py`; nothing else calls the bank",
    "short file": "reports.py has close_month, which returns the text and does not print it",
    "module only": "Import currency helpers from `ledger.money`, not from the package",
    "tools": "Run tools/reindex.py after an import: reindex numbers entries from 1",
    "toml": "The currency is set in `ledger.toml`, EUR by default",
    # Classes.
    "money": "Money is frozen, so amounts can be keys of a dict",
    "money add": "Adding Money of two currencies raises ValueError, see Money.__add__",
    "max lines": "A Journal takes at most 40 lines an entry (`Journal.MAX_LINES`)",
    "timeout": "`RateClient` has a timeout of 10 seconds",
    "capacity": "LruCache holds 128 values",
    "balance base": "`BalanceSheet` is a `Report` and inherits render from it",
    "store suffix": "Every Store keeps its journals with the suffix .json",
    "defaults": "Settings defaults to 7 backups and a fiscal year from January",
    "entry": "An Entry is not locked when it is made (`is_locked` is False)",
    "render": "Report.render is 80 columns wide by default",
    "inherited": "`FileStore.exists` loads the whole file to find out",
    "two stores": "`save` of MemoryStore never fails, that of FileStore may when the disk is full",
    "possessive": "FileStore's `load` returns the parsed JSON, not a Journal",
    "calendar": "Settings.is_calendar_year is true when the fiscal year starts in January",
    "journal class": "`Journal` only ever appends: no entry is taken out again",
    "evicts": "When an LruCache is full it drops what was not read for the longest time",
    "cent": "`CENT` in ledger/money.py is 0.01, fractions of a cent are not kept",
    "bank": "BASE_URL is the bank's test server and needs no token",
    # Without any mark.
    "unmarked": "The totals_by_year helper counts entries by the year of their day",
    "unmarked csv": "read_rows lower-cases the column names, so look for amount and not Amount",
    "close unmarked": "close_month never closes a month twice by itself, the caller has to check",
    "helper": "The deduplicate helper keeps the first of two rows that are the same",
    "said to be": "Wait as the backoff function says, it doubles with every attempt",
    # That sound like code and are none of it.
    "main branch": "main is protected: open a pull request, never push to it",
    "imperative": "Always verify a backup before the year is closed",
    "report bugs": "Report failed imports to the bank by mail",
    "the office": "settings of the CI are in the wiki, not here",
    "plain": "allocate expects whole numbers as weights",
    # As Claude writes them, with what they are about.
    "csv nested": "Column names of bank statements are stripped and lower-cased before they are used",
    "nothing lost": "Splitting a total loses no cent: the first share takes what is left over",
    "dedup plain": "Rows of a statement are the same when date and reference are, whatever the amount",
    "retry plain": "Requests for rates are retried with growing pauses, but a missing day fails at once",
}

"""Define learnings about a small accounting project, and changes that make them false or leave them true.

The project is the folder `data/ledger`; the changes are in `data/staleness_changes.jsonl`, one per line. A
step is an edit (`old` and `new`), a write (`content`) or a `command`; `is_told` is false for an edit by an
editor or a formatter, which Claude Code does not notice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"
FILES = {
    path.relative_to(_DATA / "ledger").as_posix(): path.read_text()
    for path in sorted((_DATA / "ledger").rglob("*"))
    if path.is_file()
}


@dataclass(frozen=True)
class Edit:
    """An Edit: replaces the first occurrence of `old`, or with `everywhere` all; by Claude if `is_told`."""

    path: str
    old: str
    new: str
    everywhere: bool = False
    is_told: bool = True


@dataclass(frozen=True)
class Write:
    """A Write by Claude."""

    path: str
    content: str


@dataclass(frozen=True)
class Shell:
    """A command that Claude runs in the project's folder."""

    command: str


Step = Edit | Write | Shell


@dataclass(frozen=True)
class Change:
    """The steps of a session and the name of a learning; `prepare` is a command run before it is stored."""

    kind: str
    learning: str
    steps: tuple[Step, ...]
    prepare: str = ""


def _step(fields: dict[str, Any]) -> Step:
    if "command" in fields:
        return Shell(**fields)
    return Write(**fields) if "content" in fields else Edit(**fields)


def _changes(*, is_false: bool) -> tuple[Change, ...]:
    """Return the changes that make their learning false, or those that leave it true."""
    rows = map(json.loads, (_DATA / "staleness_changes.jsonl").read_text().splitlines())
    return tuple(
        Change(row["kind"], row["learning"], tuple(map(_step, row["steps"])), row.get("prepare", ""))
        for row in rows
        if row["is_false"] == is_false
    )


FALSE, TRUE = _changes(is_false=True), _changes(is_false=False)

# The code that a learning is about, as stated by its author, for those that Claude wrote (see `LEARNINGS`).
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
    # Without any marking.
    "unmarked": "The totals_by_year helper counts entries by the year of their day",
    "unmarked csv": "read_rows lower-cases the column names, so look for amount and not Amount",
    "close unmarked": "close_month never closes a month twice by itself, the caller has to check",
    "helper": "The deduplicate helper keeps the first of two rows that are the same",
    "said to be": "Wait as the backoff function says, it doubles with every attempt",
    # Words that look like names of code but are not.
    "main branch": "main is protected: open a pull request, never push to it",
    "imperative": "Always verify a backup before the year is closed",
    "report bugs": "Report failed imports to the bank by mail",
    "the office": "settings of the CI are in the wiki, not here",
    "plain": "allocate expects whole numbers as weights",
    # As Claude writes them, with the code they are about in `ABOUT`.
    "csv nested": "Column names of bank statements are stripped and lower-cased before they are used",
    "nothing lost": "Splitting a total loses no cent: the first share takes what is left over",
    "dedup plain": "Rows of a statement are the same when date and reference are, whatever the amount",
    "retry plain": "Requests for rates are retried with growing pauses, but a missing day fails at once",
}

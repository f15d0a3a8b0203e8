"""Changes to the project of `staleness_project`, each beside a learning: those that make it false, and others."""

from __future__ import annotations

from dataclasses import dataclass

from staleness_project import FILES

MONEY, JOURNAL = "ledger/money.py", "ledger/journal.py"
STORE, CACHE = "ledger/storage/store.py", "ledger/storage/cache.py"
RATES, READER = "ledger/rates.py", "ledger/imports/csv_reader.py"
REPORTS, SETTINGS, CLI = "ledger/reports.py", "ledger/settings.py", "ledger/cli.py"
REINDEX, TESTS = "tools/reindex.py", "tests/test_money.py"


@dataclass(frozen=True)
class Edit:
    """An Edit of Claude's: the first place of `old` is replaced, or every one."""

    path: str
    old: str
    new: str
    everywhere: bool = False
    is_told: bool = True


@dataclass(frozen=True)
class Write:
    """A Write of Claude's."""

    path: str
    content: str


@dataclass(frozen=True)
class Shell:
    """A command that Claude runs in the project's folder."""

    command: str


Step = Edit | Write | Shell


@dataclass(frozen=True)
class Change:
    """What happens in a session beside a learning (its name); `prepare` is a command that ran before."""

    kind: str
    learning: str
    steps: tuple[Step, ...]
    prepare: str = ""


def change(kind: str, learning: str, *steps: Step, prepare: str = "") -> Change:
    """Return a change."""
    return Change(kind, learning, steps, prepare)


def unseen(path: str, old: str, new: str) -> Edit:
    """Return what something else than a tool call writes: an editor, a formatter."""
    return Edit(path, old, new, is_told=False)


def cut(source: str, start: str, end: str) -> str:
    """Return what of a source stands from one text up to another, to the end for an empty one."""
    at = source.index(start)
    return source[at : source.index(end, at)] if end else source[at:]


def branch(command: str) -> str:
    """Return a command that makes a branch `other` on which another command ran."""
    return (
        f"git checkout -qb other && {command} && git add -A && git commit -qm other && git checkout -q main"
    )


def _function(path: str, start: str, end: str) -> str:
    return cut(FILES[path], start, end)


_PARSE = _function(MONEY, "def parse_amount", "def round_half_even")
_ALLOCATE = _function(MONEY, "def allocate", "")
_BACKOFF = _function(RATES, "def backoff", "async def fetch_rates")
_DEDUPLICATE = _function(READER, "def deduplicate", "")
_SNIFF = _function(READER, "def sniff_dialect", "def read_rows")
_HTML = _function(REPORTS, "def export_html", "def totals_by_year")
_TOTALS = _function(REPORTS, "def totals_by_year", "")
_CLOSE = _function(REPORTS, "def close_month", "def export_html")
_REVERSE = _function(JOURNAL, "    def reverse", "    def close")
_LRU = _function(CACHE, "class LruCache", "")
_MEMORY = _function(STORE, "class MemoryStore", "")
_MONEY_CLASS = _function(MONEY, "@dataclass(frozen=True)", "def parse_amount")
_LOAD = _function(SETTINGS, "def load_settings", "")

# --- what makes a learning false ---------------------------------------------------------------------

_SCRIPT = """python3 - <<'EOF'
from pathlib import Path
path = Path("{path}")
text = path.read_text()
path.write_text(text.replace({old!r}, {new!r}))
EOF"""

FALSE = (
    # Claude edits the body.
    change("body", "parse", Edit(MONEY, '.replace(",", ".")', '.replace(",", "")')),
    change(
        "body",
        "parse",
        Edit(MONEY, '        raise ValueError("an amount is missing")', "        return Decimal(0)"),
    ),
    change("body", "half even", Edit(MONEY, "rounding=ROUND_HALF_EVEN", 'rounding="ROUND_HALF_UP"')),
    change("body", "allocate", Edit(MONEY, "shares[0] +=", "shares[-1] +=")),
    change("body", "post", Edit(JOURNAL, " and not force:", ":")),
    change(
        "body", "post sorts", Edit(JOURNAL, "        self._entries.sort(key=lambda each: each.day)\n", "")
    ),
    change(
        "body",
        "reverse",
        Edit(
            JOURNAL,
            "        self.post(entry)\n        return entry",
            "        self._entries[number - 1] = entry\n        return entry",
        ),
    ),
    change(
        "body",
        "journal close",
        Edit(JOURNAL, "                entry.is_locked = True", "                pass"),
    ),
    change(
        "body", "audit", Edit(JOURNAL, "super().post(entry, force=False)", "super().post(entry, force=force)")
    ),
    change("body", "save", Edit(STORE, "            os.fsync(file.fileno())\n", "")),
    change(
        "body", "memory save", Edit(STORE, "self.kept[name] = content", "self.kept[name] = dict(content)")
    ),
    change(
        "body", "load", Edit(STORE, "            raise KeyError(name) from None", "            return {}")
    ),
    change("body", "lru", Edit(CACHE, "        self._values.move_to_end(key)\n", "")),
    change(
        "body",
        "wrapper",
        Edit(CACHE, "def wrapper(*arguments: Any)", "def wrapper(*arguments: Any, **named: Any)"),
    ),
    change("body", "backoff", Edit(RATES, "min(30.0,", "min(300.0,")),
    change("body", "dialect", Edit(READER, ">= sample.count", "> sample.count")),
    change(
        "body",
        "html",
        Edit(REPORTS, "<td>{name}<td>", "<td>{escape(name)}<td>"),
        Edit(REPORTS, "from typing import Any\n", "from html import escape\nfrom typing import Any\n"),
    ),
    change(
        "body", "setter", Edit(JOURNAL, "self._opening = round_half_even(value)", "self._opening = value")
    ),
    change("body", "fixture", Edit(TESTS, 'Decimal("2.20")', 'Decimal("4.20")')),
    change(
        "body",
        "fetch",
        Edit(
            RATES,
            '        if response.status == 404:\n            raise RatesError(f"no rates for {day}")\n',
            "",
        ),
    ),
    change(
        "body",
        "settings",
        Edit(SETTINGS, 'os.environ.get("LEDGER_CONFIG") or path', 'path or os.environ.get("LEDGER_CONFIG")'),
    ),
    change(
        "body",
        "parser",
        Edit(
            CLI,
            '    parser.add_argument("statement")\n',
            '    commands = parser.add_subparsers()\n    commands.add_parser("import").add_argument("statement")\n',
        ),
    ),
    change(
        "body",
        "close order",
        Edit(
            REPORTS,
            "    text = BalanceSheet(journal).render()\n    journal.close(month)\n    return text",
            "    journal.close(month)\n    return BalanceSheet(journal).render()",
        ),
    ),
    change(
        "body",
        "instance post",
        Edit(
            JOURNAL, "        if entry.balance() != 0:\n            raise UnbalancedError(entry.text)\n", ""
        ),
    ),
    change("body", "module name", Edit(MONEY, "    shares[0] += total - sum(shares)\n", "")),
    change(
        "body",
        "file colon",
        Edit(STORE, '        os.replace(path + ".tmp", path)', '        os.rename(path + ".tmp", path)'),
    ),
    change("body", "short file", Edit(REPORTS, "    return text", "    print(text)\n    return text")),
    change("body", "tools", Edit(REINDEX, "_entries, 1):", "_entries):")),
    change(
        "body",
        "money add",
        Edit(
            MONEY,
            '            raise ValueError(f"{other.currency} is not {self.currency}")',
            "            other = other.converted(self.currency)",
        ),
    ),
    change(
        "body", "inherited", Edit(STORE, "            self.load(name)\n", "            self.stat(name)\n")
    ),
    change(
        "body",
        "possessive",
        Edit(
            STORE,
            "                return json.load(file)",
            "                return Journal(**json.load(file))",
        ),
    ),
    change(
        "body",
        "calendar",
        Edit(SETTINGS, "return self.fiscal_start == 1", "return self.fiscal_start in {0, 1}"),
    ),
    change(
        "body",
        "unmarked",
        Edit(
            REPORTS,
            "totals[entry.day.year] = totals.get(entry.day.year, Decimal(0))",
            "totals[entry.year] = totals.get(entry.year, Decimal(0))",
        ),
    ),
    change("body", "unmarked csv", Edit(READER, "key.strip().lower(): value", "key.strip(): value")),
    change(
        "body",
        "close unmarked",
        Edit(
            REPORTS,
            "    journal.close(month)\n",
            "    if month not in journal._closed:\n        journal.close(month)\n",
        ),
    ),
    change("body", "plain", Edit(MONEY, "whole = sum(weights)", "whole = sum(map(Decimal, weights))")),
    change("body", "csv nested", Edit(READER, "key.strip().lower(): value", "key: value")),
    change("body", "nothing lost", Edit(MONEY, "    shares[0] += total - sum(shares)\n", "")),
    change(
        "body",
        "dedup plain",
        Edit(READER, '(row["date"], row["reference"])', '(row["date"], row["reference"], row["amount"])'),
    ),
    change(
        "body",
        "two stores",
        Edit(
            STORE,
            "        self.kept[name] = content",
            "        if len(self.kept) > 9:\n            raise MemoryError\n        self.kept[name] = content",
        ),
    ),
    change(
        "body",
        "two stores",
        Edit(
            STORE,
            '        os.replace(path + ".tmp", path)',
            '        with contextlib.suppress(OSError):\n            os.replace(path + ".tmp", path)',
        ),
    ),
    change("body, written whole", "parse", Write(MONEY, FILES[MONEY].replace('.replace(",", ".")', ""))),
    change(
        "body, written whole",
        "retry plain",
        Write(RATES, FILES[RATES].replace("await asyncio.sleep(backoff(attempt))", "await asyncio.sleep(1)")),
    ),
    change(
        "body, in two edits",
        "backoff",
        Edit(RATES, "    return min(30.0, 0.5 * 2**attempt)", "    return min(30.0, 0.5 * 2**attempt"),
        Edit(RATES, "    return min(30.0, 0.5 * 2**attempt", "    return 0.5 * 2**attempt"),
    ),
    change(
        "body",
        "helper",
        Edit(
            READER,
            "            seen.add(key)\n            kept.append(row)",
            "            kept.append(row)\n        seen.add(key)",
        ),
    ),
    change("body", "said to be", Edit(RATES, "0.5 * 2**attempt)", "0.5 * attempt)")),
    # A method of a class of which the learning speaks as a whole.
    change(
        "method of the class",
        "journal class",
        Edit(
            JOURNAL,
            "        self.post(entry)\n        return entry",
            "        self._entries[number - 1] = entry\n        return entry",
        ),
    ),
    change("method of the class", "evicts", Edit(CACHE, "popitem(last=False)", "popitem(last=True)")),
    # A constant of a module.
    change("constant", "cent", Edit(MONEY, 'CENT = Decimal("0.01")', 'CENT = Decimal("0.001")')),
    change("constant", "bank", Edit(RATES, "https://rates.example.org", "https://live.example.org")),
    # Names change.
    change(
        "renamed",
        "parse",
        Edit(MONEY, "def parse_amount", "def read_amount"),
        Edit(READER, "parse_amount", "read_amount", everywhere=True),
        Edit(TESTS, "parse_amount", "read_amount", everywhere=True),
    ),
    change(
        "renamed",
        "post",
        Edit(JOURNAL, "def post(self, entry: Entry", "def add(self, entry: Entry", everywhere=True),
        Edit(JOURNAL, "self.post(", "self.add("),
    ),
    change("renamed", "lru", Edit(CACHE, "def get(", "def read(")),
    change("renamed", "lru", Edit(CACHE, "class LruCache", "class RecentCache")),
    change("renamed", "unbalanced", Edit(JOURNAL, "UnbalancedError", "BalanceError", everywhere=True)),
    change("renamed", "unmarked", Edit(REPORTS, "totals_by_year", "yearly_totals", everywhere=True)),
    change(
        "renamed",
        "store suffix",
        Edit(STORE, "class Store(ABC)", "class BaseStore(ABC)"),
        Edit(STORE, "(Store)", "(BaseStore)", everywhere=True),
    ),
    change("renamed", "csv nested", Edit(READER, "cleaned(", "normalized(", everywhere=True)),
    change("renamed", "render", Shell("sed -i 's/\\brender\\b/to_text/g' ledger/reports.py")),
    change(
        "renamed",
        "fetch",
        Shell("grep -rl fetch_rates ledger | xargs sed -i 's/fetch_rates/download_rates/g'"),
    ),
    # Code moves to another file.
    change(
        "moved elsewhere",
        "parse",
        Edit(MONEY, _PARSE, ""),
        Write("ledger/imports/amounts.py", f"from decimal import Decimal\n\n\n{_PARSE.rstrip()}\n"),
    ),
    change(
        "moved elsewhere",
        "html",
        Edit(REPORTS, _HTML, ""),
        Write("ledger/html.py", f"from ledger.reports import Report\n\n\n{_HTML.rstrip()}\n"),
    ),
    change(
        "moved elsewhere",
        "backoff",
        Edit(RATES, _BACKOFF, "from ledger.waiting import backoff\n\n\n"),
        Write("ledger/waiting.py", f"{_BACKOFF.rstrip()}\n"),
    ),
    change(
        "moved elsewhere",
        "short file",
        Edit(REPORTS, _CLOSE, ""),
        Edit(JOURNAL, "class AuditJournal", f"{_CLOSE}class AuditJournal"),
    ),
    change(
        "moved elsewhere",
        "dedup plain",
        Write("ledger/imports/rows.py", _DEDUPLICATE),
        Edit(READER, _DEDUPLICATE, ""),
    ),
    change(
        "moved elsewhere",
        "memory save",
        Write(
            "tests/stores.py",
            f"from typing import Any\n\nfrom ledger.storage.store import Store\n\n\n{_MEMORY}",
        ),
        Edit(STORE, _MEMORY, ""),
    ),
    change(
        "moved elsewhere",
        "dialect",
        Shell(_SCRIPT.format(path=READER, old=_SNIFF, new="")),
        Write("ledger/imports/sniff.py", f"{_SNIFF.rstrip()}\n"),
    ),
    change(
        "moved elsewhere",
        "settings",
        Edit(SETTINGS, _LOAD, ""),
        Edit(CLI, "def build_parser", f"{_LOAD}\n\ndef build_parser"),
    ),
    # Code goes.
    change("removed", "reverse", Edit(JOURNAL, _REVERSE, "")),
    change("removed", "html", Edit(REPORTS, _HTML, "")),
    change("removed", "capacity", Edit(CACHE, _LRU, "")),
    change("removed", "unmarked", Edit(REPORTS, _TOTALS, "")),
    change(
        "removed",
        "setter",
        Edit(
            JOURNAL,
            "    @opening.setter\n    def opening(self, value: Decimal) -> None:\n        self._opening = round_half_even(value)\n",
            "",
        ),
    ),
    change("removed", "inherited", Edit(STORE, cut(FILES[STORE], "    def exists", "class FileStore"), "\n")),
    change("removed", "tools", Write(REINDEX, '"""Numbers are given when an entry is posted."""\n')),
    change("removed", "plain", Write(MONEY, FILES[MONEY].replace(_ALLOCATE, ""))),
    # Signatures.
    change(
        "signature",
        "post",
        Edit(JOURNAL, "entry: Entry, *, force: bool = False", "entry: Entry", everywhere=True),
    ),
    change(
        "signature",
        "settings",
        Edit(SETTINGS, "load_settings(path: str | None = None)", "load_settings(path: str)"),
    ),
    change("signature", "cached", Edit(CACHE, "ttl_s: float = 60.0", "ttl_s: float = 600.0")),
    change("signature", "fetch", Edit(RATES, "attempts: int = 3", "attempts: int = 5")),
    change("signature", "fetch", Edit(RATES, "async def fetch_rates", "def fetch_rates")),
    change("signature", "file name", Edit(READER, 'encoding: str = "latin-1"', 'encoding: str = "utf-8"')),
    change("signature", "render", Edit(REPORTS, "width: int = 80", "width: int = 100")),
    change("signature", "plain", Edit(MONEY, "weights: list[int]", "weights: list[Decimal]")),
    change(
        "signature",
        "short file",
        Edit(
            REPORTS,
            "def close_month(journal: Journal, month: int) -> str:",
            "def close_month(journal: Journal, month: int) -> None:",
        ),
    ),
    change(
        "signature",
        "allocate",
        Edit(
            MONEY,
            "def allocate(total: Decimal, weights: list[int])",
            "def allocate(total: Decimal, weights: list[int], *, remainder_at: int = 0)",
        ),
    ),
    # Decorators.
    change("decorator", "rate of", Edit(RATES, "@cached(ttl_s=3600)", "@cached(ttl_s=60)")),
    change("decorator", "rate of", Edit(RATES, "@cached(ttl_s=3600)\n", "")),
    change("decorator", "money", Edit(MONEY, "@dataclass(frozen=True)", "@dataclass")),
    change(
        "decorator",
        "normalize",
        Edit(
            RATES,
            "    @staticmethod\n    def normalize(code",
            "    @classmethod\n    def normalize(cls, code",
        ),
    ),
    change(
        "decorator", "fixture", Edit(TESTS, "@pytest.fixture", '@pytest.fixture(params=["1.10", "2.20"])')
    ),
    change("decorator", "wrapper", Edit(CACHE, "        @functools.wraps(function)\n", "")),
    # Attributes and bases of classes.
    change("class attribute", "max lines", Edit(JOURNAL, "MAX_LINES = 40", "MAX_LINES = 99")),
    change("class attribute", "timeout", Edit(RATES, "TIMEOUT_S = 10", "TIMEOUT_S = 30")),
    change("class attribute", "capacity", Edit(CACHE, "capacity = 128", "capacity = 1024")),
    change("class attribute", "store suffix", Edit(STORE, 'suffix = ".json"', 'suffix = ".cbor"')),
    change("class attribute", "defaults", Edit(SETTINGS, "backups: int = 7", "backups: int = 30")),
    change("class attribute", "entry", Edit(JOURNAL, "is_locked: bool = False", "is_locked: bool = True")),
    change(
        "class attribute",
        "defaults",
        Shell("sed -i 's/fiscal_start: int = 1/fiscal_start: int = 4/' ledger/settings.py"),
    ),
    change(
        "base class",
        "balance base",
        Edit(REPORTS, "class BalanceSheet(Report):", "class BalanceSheet(Table):"),
    ),
    change(
        "base class",
        "unbalanced",
        Edit(JOURNAL, "class UnbalancedError(ValueError)", "class UnbalancedError(Exception)"),
    ),
    change("base class", "inherited", Edit(STORE, "class FileStore(Store):", "class FileStore:")),
    # Files go.
    change("file deleted", "parse", Shell("rm ledger/money.py")),
    change("file deleted", "file only", Shell("git rm -q ledger/rates.py")),
    change("file deleted", "module only", Shell("git rm -q ledger/money.py")),
    change("file deleted", "tools", Shell("rm -rf tools")),
    change("file deleted", "lru", Shell("git rm -rq ledger/storage && git commit -qm 'no storage'")),
    change("file deleted", "toml", Shell("rm ledger.toml")),
    change("file deleted", "file name", Shell("cd ledger/imports && rm csv_reader.py")),
    change("file deleted", "fixture", Shell("rm -f tests/test_*.py")),
    # Commands rewrite files.
    change("sed or script", "backoff", Shell("sed -i 's/min(30.0/min(60.0/' ledger/rates.py")),
    change("sed or script", "dialect", Shell("sed -i -e 's/>= sample/> sample/' ledger/imports/*.py")),
    change("sed or script", "money", Shell(_SCRIPT.format(path=MONEY, old="(frozen=True)", new=""))),
    change(
        "sed or script",
        "lru",
        Shell("perl -0pi -e 's/ +self._values.move_to_end\\(key\\)\\n//' ledger/storage/cache.py"),
    ),
    change(
        "sed or script",
        "load",
        Write(
            "fix.py",
            "import pathlib\n\nfor path in pathlib.Path('ledger').rglob('*.py'):\n    path.write_text(path.read_text().replace('raise KeyError(name) from None', 'return {}'))\n",
        ),
        Shell("python3 fix.py && rm fix.py"),
    ),
    change(
        "sed or script",
        "parser",
        Shell(
            "cat > ledger/cli.py <<'EOF'\nimport click\n\n\n@click.group()\ndef main() -> None:\n    pass\nEOF"
        ),
    ),
    change(
        "sed or script",
        "html",
        Shell(
            'patch -p1 <<\'EOF\'\n--- a/ledger/reports.py\n+++ b/ledger/reports.py\n@@ -57,4 +57,4 @@\n     style = f"<link rel=stylesheet href={stylesheet}>" if stylesheet else ""\n-    body = "".join(f"<tr><td>{name}<td>{amount}" for name, amount in report.rows())\n+    body = "".join(f"<tr><td>{name!a}<td>{amount}" for name, amount in report.rows())\n     return f"<html>{style}<table>{body}</table>"\n \nEOF'
        ),
    ),
    change(
        "by git",
        "backoff",
        Shell("git checkout -q other"),
        prepare=branch("sed -i s/30.0/90.0/ ledger/rates.py"),
    ),
    change(
        "by git",
        "save",
        Shell("git merge -q other"),
        prepare=branch("sed -i '/fsync/d' ledger/storage/store.py"),
    ),
    change(
        "by git",
        "half even",
        Shell("git stash pop -q"),
        prepare="sed -i 's/rounding=ROUND_HALF_EVEN/rounding=None/' ledger/money.py && git stash -q",
    ),
)

# --- what leaves it as true as it was ----------------------------------------------------------------

_BANNER = "# Copyright 2024, the authors.\n# All rights reserved.\n\n"
_NEW_FUNCTION = "def to_cents(value: Decimal) -> int:\n    return int(value * 100)\n\n\n"

TRUE = (
    # Comments.
    change(
        "comment",
        "parse",
        Edit(MONEY, "    cleaned = text", "    # People type all kinds of things.\n    cleaned = text"),
    ),
    change("comment", "post", Edit(JOURNAL, "        # A closed month stays as it is.\n", "")),
    change(
        "comment",
        "post sorts",
        Edit(JOURNAL, "# A closed month stays as it is.", "# Closed months are never touched again."),
    ),
    change("comment", "backoff", Edit(RATES, "0.5 * 2**attempt)", "0.5 * 2**attempt)  # seconds")),
    change(
        "comment", "lru", Edit(CACHE, "class LruCache:", "# TODO: make it safe for threads\nclass LruCache:")
    ),
    change("comment", "capacity", Edit(CACHE, "capacity = 128", "capacity = 128  # values, not bytes")),
    change(
        "comment",
        "save",
        Edit(
            STORE,
            "            file.flush()",
            "            # The disk comes before the name.\n            file.flush()",
        ),
    ),
    change("comment", "rate of", Edit(RATES, "@cached(ttl_s=3600)", "@cached(ttl_s=3600)  # an hour")),
    change(
        "comment",
        "unmarked",
        Edit(REPORTS, "def totals_by_year", "# Used by the yearly report.\ndef totals_by_year"),
    ),
    change(
        "comment",
        "file name",
        Edit(READER, "    with open(path", "    # noqa: the caller closes it\n    with open(path"),
    ),
    change("comment", "money", Write(MONEY, _BANNER + FILES[MONEY])),
    change(
        "comment",
        "parser",
        Shell(f"printf '{_BANNER}' | cat - ledger/cli.py > new && mv new ledger/cli.py".replace("\n", "\\n")),
    ),
    # Docstrings.
    change(
        "docstring",
        "parse",
        Edit(
            MONEY,
            '"""Return an amount from what a person typed."""',
            '"""Return an amount.\n\n    Raises:\n        ValueError: there is none.\n    """',
        ),
    ),
    change(
        "docstring",
        "unmarked",
        Edit(
            REPORTS,
            "-> dict[int, Decimal]:\n",
            '-> dict[int, Decimal]:\n    """Return the sum of each year."""\n',
        ),
    ),
    change("docstring", "journal close", Edit(JOURNAL, '        """Close a month."""\n', "")),
    change(
        "docstring",
        "unbalanced",
        Edit(JOURNAL, "The lines of an entry do not add up to zero.", "Lines that are out of balance."),
    ),
    change(
        "docstring",
        "timeout",
        Edit(
            RATES,
            '"""A session with the bank."""',
            '"""A session with the bank.\n\n    Not safe for threads.\n    """',
        ),
    ),
    change(
        "docstring",
        "wrapper",
        Edit(
            CACHE,
            "        def wrapper(*arguments: Any) -> Any:\n",
            '        def wrapper(*arguments: Any) -> Any:\n            """Look it up first."""\n',
        ),
    ),
    change(
        "docstring",
        "csv nested",
        Edit(
            READER,
            "-> dict[str, Any]:\n        row =",
            '-> dict[str, Any]:\n        """Return a row in our words."""\n        row =',
        ),
    ),
    change(
        "docstring",
        "money",
        Edit(MONEY, '"""Amounts of money."""', '"""Amounts of money, and how they are rounded."""'),
    ),
    change(
        "docstring",
        "setter",
        Edit(JOURNAL, '"""The balance to begin with."""', '"""The balance on the first of January."""'),
    ),
    change(
        "docstring",
        "allocate",
        Shell("sed -i 's/Split a total by weights; nothing is lost./Split a total./' ledger/money.py"),
    ),
    # Formatting.
    change(
        "formatting",
        "parse",
        Edit(
            MONEY,
            '    cleaned = text.strip().replace(" ", "").replace(",", ".")',
            '    cleaned = (\n        text.strip()\n        .replace(" ", "")\n        .replace(",", ".")\n    )',
        ),
    ),
    change(
        "formatting",
        "post",
        Edit(
            JOURNAL,
            '    def post(self, entry: Entry, *, force: bool = False) -> int:\n        """',
            '    def post(\n        self,\n        entry: Entry,\n        *,\n        force: bool = False,\n    ) -> int:\n        """',
        ),
    ),
    change(
        "formatting",
        "settings",
        Edit(SETTINGS, 'os.environ.get("LEDGER_CONFIG")', "os.environ.get('LEDGER_CONFIG')"),
    ),
    change(
        "formatting",
        "html",
        Edit(
            REPORTS,
            'f"<html>{style}<table>{body}</table>"',
            '(\n        f"<html>{style}"\n        f"<table>{body}</table>"\n    )',
        ),
    ),
    change(
        "formatting",
        "dialect",
        Edit(
            READER,
            'return ";" if sample.count(";") >= sample.count(",") else ","',
            "return (\n        ';'\n        if sample.count(';') >= sample.count(',')\n        else ','\n    )",
        ),
    ),
    change(
        "formatting",
        "fetch",
        Edit(
            RATES,
            "async def fetch_rates(client: Any, day: str, *, attempts: int = 3) ->",
            "async def fetch_rates(\n    client: Any, day: str, *, attempts: int = 3\n) ->",
        ),
    ),
    change(
        "formatting",
        "lru",
        Edit(CACHE, "            return default\n        self", "            return default\n\n        self"),
    ),
    change(
        "formatting",
        "cached",
        Edit(
            CACHE,
            "if arguments in kept and now - kept[arguments][0] < ttl_s:",
            "if (\n                arguments in kept\n                and (now - kept[arguments][0]) < ttl_s\n            ):",
        ),
    ),
    change(
        "formatting",
        "module name",
        Edit(
            MONEY,
            "(total * weight / whole) for weight in weights]",
            "((total * weight) / whole) for weight in weights\n    ]",
        ),
    ),
    change("formatting", "money add", Edit(MONEY, "\n    def __add__", "\n\n    def __add__")),
    change(
        "formatting",
        "balance base",
        Edit(REPORTS, "class BalanceSheet(Report):", "class BalanceSheet(\n    Report,\n):"),
    ),
    change(
        "formatting",
        "defaults",
        Edit(SETTINGS, '    currency: str = "EUR"\n', "    currency: str = 'EUR'\n\n"),
    ),
    change(
        "formatting",
        "dedup plain",
        Edit(
            READER,
            "    seen: set[tuple[str, str]] = set()\n    kept = []\n",
            "    seen: set[tuple[str, str]] = set()\n\n    kept = []\n\n",
        ),
    ),
    change("formatting", "tools", Shell("sed -i 's/    /\\t/g' tools/reindex.py")),
    change("formatting", "save", Shell("sed -i 's/$/\\r/' ledger/storage/store.py")),
    change(
        "formatting",
        "reverse",
        Write(
            JOURNAL,
            FILES[JOURNAL]
            .replace('f"reverses {number}"', "f'reverses {number}'")
            .replace("{account: -amount for", "{\n            account: -amount\n            for"),
        ),
    ),
    change("formatting", "close order", Shell("sed -i -e 's/[[:space:]]*$//' ledger/*.py")),
    change(
        "formatting",
        "backoff",
        Edit(RATES, "class RateClient", "class  RateClient"),
        unseen(RATES, "class  RateClient", "class RateClient"),
        unseen(RATES, "min(30.0, 0.5 * 2**attempt)", "min(\n        30.0, 0.5 * 2**attempt\n    )"),
    ),
    # Other functions of the file.
    change("other function", "parse", Edit(MONEY, "shares[0] +=", "shares[-1] +=")),
    change(
        "other function",
        "half even",
        Edit(MONEY, '        raise ValueError("an amount is missing")', "        return Decimal(0)"),
    ),
    change(
        "other function",
        "post",
        Edit(JOURNAL, "        self._closed.add(month)\n", "        self._closed |= {month}\n"),
    ),
    change(
        "other function",
        "journal close",
        Edit(
            JOURNAL, "number = super().post(entry, force=False)", "number = super().post(entry, force=force)"
        ),
    ),
    change(
        "other function",
        "save",
        Edit(
            STORE, "            raise KeyError(name) from None", "            raise KeyError(path) from None"
        ),
    ),
    change(
        "other function",
        "memory save",
        Edit(STORE, "        return self.kept[name]", "        return dict(self.kept[name])"),
    ),
    change(
        "other function",
        "lru",
        Edit(
            CACHE,
            "        self._values[key] = value\n",
            "        self._values.pop(key, None)\n        self._values[key] = value\n",
        ),
    ),
    change("other function", "backoff", Edit(RATES, "response.status == 200", "response.ok")),
    change("other function", "dialect", Edit(READER, "file.read(1024)", "file.read(4096)")),
    change("other function", "unmarked", Edit(REPORTS, "<html>", "<!doctype html><html>")),
    change("other function", "settings", Edit(SETTINGS, "backups: int = 7", "backups: int = 9")),
    change("other function", "wrapper", Edit(CACHE, "capacity = 128", "capacity = 256")),
    change("other function", "timeout", Edit(RATES, "min(30.0,", "min(20.0,")),
    change("other function", "parser", Edit(CLI, 'print(f"{len(rows)} rows', 'print(f"{len(rows)} new rows')),
    change("other function", "money", Edit(MONEY, "cleaned = text.strip()", "cleaned = str(text).strip()")),
    change(
        "other function",
        "file colon",
        Edit(STORE, "        self.kept[name] = content", "        self.kept[name] = dict(content)"),
    ),
    change(
        "other function",
        "possessive",
        Edit(STORE, "        return self.kept[name]", "        return dict(self.kept[name])"),
    ),
    change(
        "other function",
        "two stores",
        Edit(
            STORE,
            "        except KeyError:\n            return False",
            "        except LookupError:\n            return False",
        ),
    ),
    change("other function", "tools", Edit(REINDEX, "all(entry.number for", "all(entry.number > 0 for")),
    change("other function", "short file", Shell("sed -i 's/Balance sheet/Balance/' ledger/reports.py")),
    change(
        "function added", "parse", Edit(MONEY, "def round_half_even", f"{_NEW_FUNCTION}def round_half_even")
    ),
    change(
        "function added",
        "post",
        Edit(
            JOURNAL,
            "    def reverse",
            "    def last(self) -> Entry:\n        return self._entries[-1]\n\n    def reverse",
        ),
    ),
    change(
        "function added",
        "money",
        Edit(
            MONEY,
            "    @classmethod",
            "    def __neg__(self) -> Money:\n        return Money(-self.amount, self.currency)\n\n    @classmethod",
        ),
    ),
    change(
        "function added",
        "timeout",
        Edit(
            RATES,
            "    async def close",
            "    async def open(self) -> None:\n        await asyncio.sleep(0)\n\n    async def close",
        ),
    ),
    change(
        "function added",
        "unmarked csv",
        Edit(
            READER,
            "def deduplicate",
            "def count_rows(path: str) -> int:\n    return sum(1 for _ in read_rows(path))\n\n\ndef deduplicate",
        ),
    ),
    change("function added", "nothing lost", Write(MONEY, f"{FILES[MONEY]}\n\n{_NEW_FUNCTION.rstrip()}\n")),
    change(
        "function added",
        "journal class",
        Edit(
            JOURNAL,
            "    def reverse",
            "    def last(self) -> Entry:\n        return self._entries[-1]\n\n    def reverse",
        ),
    ),
    change("function removed", "parse", Edit(MONEY, _ALLOCATE, "")),
    change("function removed", "close unmarked", Edit(REPORTS, _HTML, "")),
    change("function removed", "post", Edit(JOURNAL, _REVERSE, "")),
    change("function removed", "fetch", Edit(RATES, cut(FILES[RATES], "class RateClient", ""), "")),
    change("function removed", "load", Edit(STORE, _MEMORY, "")),
    change(
        "function removed",
        "file only",
        Edit(
            RATES,
            "    @staticmethod\n    def normalize(code: str) -> str:\n        return code.strip().upper()\n\n",
            "",
        ),
    ),
    # Words that are names, too.
    change("English word", "main branch", Edit(CLI, "    return 0", "    return 0 if rows else 1")),
    change("English word", "imperative", Edit(REINDEX, "all(entry.number for", "all(entry.number > 0 for")),
    change("English word", "report bugs", Edit(REPORTS, 'title = "Report"', 'title = "Untitled"')),
    change("English word", "the office", Edit(SETTINGS, "backups: int = 7", "backups: int = 9")),
    # Imports.
    change("import", "parse", Edit(MONEY, "from decimal import", "import re\nfrom decimal import")),
    change(
        "import",
        "cached",
        Edit(CACHE, "import functools\n", "import functools\nimport logging\n"),
        Edit(
            CACHE, "from typing import Any\n", "from typing import Any\n\nlog = logging.getLogger(__name__)\n"
        ),
    ),
    change(
        "import", "settings", Edit(SETTINGS, "import os\nimport tomllib\n", "import tomllib\nimport os\n")
    ),
    change(
        "import",
        "reverse",
        Edit(
            JOURNAL,
            "from dataclasses import dataclass, field",
            "from dataclasses import (\n    dataclass,\n    field,\n)",
        ),
    ),
    change("import", "file only", Edit(RATES, "import asyncio\n", "import asyncio\nimport logging\n")),
    change("import", "fixture", Shell("sed -i '1i import math' tests/test_money.py")),
    # Files beside it.
    change(
        "new file",
        "parse",
        Write(
            "ledger/imports/ofx.py",
            "from ledger.money import parse_amount\n\n\ndef read(text: str):\n    return parse_amount(text)\n",
        ),
    ),
    change(
        "new file",
        "post",
        Write(
            "tests/test_journal.py",
            "from ledger.journal import Journal\n\n\ndef test_post():\n    assert Journal(2024).year == 2024\n",
        ),
    ),
    change(
        "new file",
        "load",
        Write(
            "ledger/storage/remote.py",
            "from ledger.storage.store import Store\n\n\nclass RemoteStore(Store):\n    def load(self, name):\n        return {}\n\n    def save(self, name, content):\n        pass\n",
        ),
    ),
    change("new file", "tools", Shell("cp tools/reindex.py tools/renumber.py")),
    change("new file", "toml", Write("ledger.local.toml", 'currency = "CHF"\n')),
    change(
        "new file",
        "backoff",
        Shell(
            "mkdir -p ledger/net && touch ledger/net/__init__.py && cp ledger/rates.py ledger/net/rates.py"
        ),
    ),
    # The same name elsewhere.
    change("same name elsewhere", "post", Edit(JOURNAL, '        print(f"posted {number}")\n', "")),
    change(
        "same name elsewhere",
        "journal close",
        Edit(
            RATES,
            "    async def close(self) -> None:\n        await asyncio.sleep(0)",
            "    async def close(self) -> None:\n        await asyncio.sleep(1)",
        ),
    ),
    change(
        "same name elsewhere",
        "save",
        Edit(STORE, "        self.kept[name] = content", "        self.kept[name] = dict(content)"),
    ),
    change("same name elsewhere", "memory save", Edit(STORE, "            os.fsync(file.fileno())\n", "")),
    change(
        "same name elsewhere",
        "possessive",
        Edit(STORE, "        return self.kept[name]", "        return dict(self.kept[name])"),
    ),
    change("same name elsewhere", "instance post", Edit(JOURNAL, '        print(f"posted {number}")\n', "")),
    # Files move as they are.
    change("moved by git", "parse", Shell("git mv ledger/money.py ledger/amounts.py")),
    change("moved by git", "post", Shell("git mv ledger/journal.py ledger/book.py && git commit -qm moved")),
    change("moved by git", "lru", Shell("git mv ledger/storage ledger/persistence")),
    change(
        "moved by git", "capacity", Shell("mkdir ledger/util && git mv ledger/storage/cache.py ledger/util/")
    ),
    change("moved by git", "backoff", Shell("mkdir src && git mv ledger src/ledger")),
    change(
        "moved by git",
        "csv nested",
        Shell("git mv ledger/imports ledger/statements && git commit -qam 'Statements'"),
    ),
    change(
        "moved by git",
        "unmarked",
        Shell("git mv ledger/reports.py ledger/printing.py"),
        Shell("git mv ledger/printing.py ledger/output.py"),
    ),
    change(
        "moved by git",
        "settings",
        Shell("git mv ledger/settings.py ledger/config.py"),
        Edit(CLI, "ledger.settings", "ledger.config"),
    ),
    change(
        "moved by git",
        "memory save",
        Shell("mv ledger/storage/store.py ledger/storage/stores.py && git add -A"),
    ),
    change(
        "moved by git",
        "fixture",
        Shell(
            "git mv tests/test_money.py tests/test_amounts.py && git mv tests/test_amounts.py tests/test_money.py"
        ),
    ),
    change(
        "moved by git",
        "reverse",
        Shell("git checkout -q other"),
        prepare=branch("git mv ledger/journal.py ledger/books.py"),
    ),
    # What is taken back.
    change(
        "taken back",
        "parse",
        Edit(MONEY, '.replace(",", ".")', ""),
        Edit(MONEY, '.replace(" ", "")', '.replace(" ", "").replace(",", ".")'),
    ),
    change(
        "taken back", "post", Edit(JOURNAL, " and not force:", ":"), Shell("git checkout ledger/journal.py")
    ),
    change(
        "taken back",
        "backoff",
        Shell("sed -i 's/30.0/60.0/' ledger/rates.py"),
        Shell("git restore ledger/rates.py"),
    ),
    change("taken back", "html", Edit(REPORTS, _HTML, ""), Shell("git stash -q")),
    change(
        "taken back",
        "lru",
        Edit(CACHE, "class LruCache", "class RecentCache"),
        Edit(CACHE, "class RecentCache", "class LruCache"),
    ),
    change(
        "taken back",
        "file name",
        Shell("git rm -q ledger/imports/csv_reader.py"),
        Shell("git reset -q --hard"),
    ),
    change(
        "taken back", "capacity", Edit(CACHE, "capacity = 128", "capacity = 64"), Write(CACHE, FILES[CACHE])
    ),
    change(
        "taken back",
        "rate of",
        Edit(RATES, "@cached(ttl_s=3600)\n", ""),
        Edit(RATES, "def rate_of", "@cached(ttl_s=3600)\ndef rate_of"),
    ),
    change(
        "taken back",
        "dialect",
        Shell("git checkout -q other"),
        Shell("git checkout -q main"),
        prepare=branch("sed -i 's/>= sample/> sample/' ledger/imports/csv_reader.py"),
    ),
    # Code moves within its file.
    change(
        "moved within the file",
        "parse",
        Write(MONEY, FILES[MONEY].replace(_PARSE, "").replace("def allocate", f"{_PARSE}def allocate")),
    ),
    change(
        "moved within the file",
        "reverse",
        Write(
            JOURNAL,
            FILES[JOURNAL].replace(_REVERSE, "").replace("    def post(", f"{_REVERSE}    def post(", 1),
        ),
    ),
    change(
        "moved within the file",
        "lru",
        Edit(CACHE, _LRU, ""),
        Edit(CACHE, "def cached", f"{_LRU}\n\ndef cached"),
    ),
    change(
        "moved within the file",
        "unmarked",
        Edit(REPORTS, _TOTALS, ""),
        Edit(REPORTS, "def close_month", f"{_TOTALS}\n\ndef close_month"),
    ),
    change(
        "moved within the file",
        "money",
        Write(MONEY, FILES[MONEY].replace(_MONEY_CLASS, "") + "\n\n" + _MONEY_CLASS.rstrip() + "\n"),
    ),
    change(
        "moved within the file",
        "dialect",
        Edit(READER, _SNIFF, ""),
        Edit(READER, "def deduplicate", f"{_SNIFF}def deduplicate"),
    ),
)

"""What stands under the head of a table: psql, Markdown, CSV, columns, HTML and INSERT.

A hook loads this module, and `re`, for a text with the name of a secret where a head may be.
"""

from __future__ import annotations

import re

from claude_mem_lite.redaction_rules import AT_VALUE, AT_WORD, NAME, REACH, WORDS
from claude_mem_lite.redaction_values import least_weight
from claude_mem_lite.redaction_weights import MIXED, NEVER, RANDOM, is_chosen, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redact import Looks
    from claude_mem_lite.redaction_rules import Span

_LINE, _TABLE = 1024, 262_144  # characters of a head and of a table that are looked at
_NO_LABEL = frozenset("(){}=<>[]!':@0123456789")
_RULED = 4  # characters of the shortest line under a head
_LABEL = 32  # characters of the longest head of a column
_RULE = frozenset("-+|=: \t\\\r─┼│├┤┌┬┐└┴┘╪╞╡═")
_SEPARATORS = ("|", "│", "\t", "\\t", ",", ";")
_SHORTEST = 16  # characters of what is no password
_LITERAL = r"(?:'(?:[^'\\]|\\.|''){0,4096}+'|\"(?:[^\"\\]|\\.){0,4096}+\"|[^'\"(),]|\([^()]*+\))*+"
_INSERT = r"(?i)\(([^()]{1,1000})\)\s*(?:\\n)?\s*values\b"
_HEAD, _GAP = 1024, 16  # characters of the names before VALUES, and of the blanks between
_HTML = r"(?:<[^<>]{0,100}>|\s|\\+[nrt])++(?P<value>[^<>\s]{4,200})\s*<"


def find_cells(text: str, low: str, heads: list[int], looks: Looks) -> Iterator[Span]:
    """Yield the secrets under or beside the names that stand at `heads` in `text`."""
    done = 0
    for at in heads:
        word = next(word for word in WORDS if low.startswith(word, at))
        end = at + len(word)
        looks.spend(AT_WORD)
        rest = low[end : end + REACH].lstrip(NAME)
        if rest.startswith("</"):
            found = re.compile(_HTML).match(text, end + len(low[end : end + REACH]) - len(rest))
            if found and _kind(_name(low, at)) and _tells(found["value"], WORDS[word]):
                yield *found.span("value"), WORDS[word]
        if at >= done:
            looks.spend(AT_VALUE)
            cells, done = _cells(text, at, looks)
            yield from cells
    if heads and "insert" in low:
        yield from _inserted(text, low, looks)


def _name(low: str, at: int) -> str:
    head, tail = low[max(0, at - REACH) : at].replace(" ", "_"), low[at : at + REACH]  # API key
    return head[len(head.rstrip(NAME)) :] + tail[: len(tail) - len(tail.lstrip(NAME))]


def _kind(label: str) -> str:
    """Return what a column holds by its head, an empty string when no secrets."""
    plain = label.strip(" \"'`*\\").lower().replace(" ", "_")
    if not plain or len(plain) > _LABEL or plain.strip(NAME + "()"):
        return ""
    for word, kind in WORDS.items():
        at = plain.find(word)
        if at >= 0 and kind not in ("authorization", "session", "credential"):
            owner, tail = plain[:at], plain[at + len(word) :]
            if least_weight(owner, word, tail) != NEVER:
                return kind
    return ""


def _tells(value: str, kind: str) -> bool:
    if kind != "password":
        return len(value) >= _SHORTEST and weigh(value) == RANDOM and not set(value) & set("(){}[]<>\\\"',;")
    return is_chosen(value, alone=False)


def _cells(text: str, at: int, looks: Looks) -> tuple[list[Span], int]:  # noqa: C901  (a table in one pass)
    """Return the secrets under the head of a table with a name at `at`, and where the table ends."""
    nearby = text[at : at + _LINE]
    real, coded = nearby.find("\n"), nearby.find("\\n")
    newline = "\n" if real >= 0 and (coded < 0 or real < coded) else "\\n"
    if max(real, coded) < 0:
        return [], at
    first = max(0, at - _LINE)
    escape = text.rfind("\\n", first, at)
    start = max(text.rfind("\n", first, at) + 1, escape + 2 if escape >= 0 else 0, first)
    quote = text.rfind('"', start, at) if newline == "\\n" else -1  # where a string of JSON begins
    if quote >= 0 and text[quote - 1 : quote] != "\\":
        start = quote + 1
    end = text.index(newline, at)
    line = text[start:end].rstrip("\\\r")
    separator = next((each for each in _SEPARATORS if each in line), "  " if "  " in line.strip() else "")
    below = end + len(newline)
    if not separator:
        ruled = text[below : below + _LINE].partition(newline)[0]
        if len(ruled.strip()) < _RULED or not set(ruled) <= _RULE:
            return [], end
    labels = [label for _, label in _split(line, separator)]
    kinds = [_kind(label) for label in labels]
    if (
        not any(kinds)
        or not all(map(_is_label, labels[1:]))
        or (separator in ",;" and not labels[-1].strip())
    ):
        return [], end
    found: list[Span] = []
    last = min(len(text), end + _TABLE)
    while below < last:
        stop = text.find(newline, below, last)
        stop = stop if stop >= 0 else last
        row = text[below:stop]
        cut = _string_end(row) if newline == "\\n" else len(row)
        if not set(row) <= _RULE or not row.strip():
            cells = _split(row[:cut].rstrip("\\\r"), separator)
            if len(cells) != len(labels):
                break
            for (begin, cell), kind in zip(cells, kinds, strict=True):
                core = cell.strip(" \"'`*\\")
                if kind:
                    looks.spend(AT_VALUE)
                if kind and _tells(core, kind):
                    first = below + begin + cell.index(core)
                    found.append((first, first + len(core), kind))
        below = stop + len(newline)
        if cut < len(row):
            break
    return found, max(end, min(below, last))


def _is_label(label: str) -> bool:
    return len(label) <= _LABEL and not set(label) & _NO_LABEL


def _string_end(row: str) -> int:
    """Return where a string of JSON ends, at a quote that is not escaped, else the end of the row."""
    at = row.find('"')
    while at > 0 and row[at - 1] == "\\":
        at = row.find('"', at + 1)
    return at if at >= 0 else len(row)


def _split(line: str, separator: str) -> list[tuple[int, str]]:
    """Return the cells of a line and where each begins."""
    if separator == "  ":
        return [(cell.start(), cell[0]) for cell in re.finditer(r"\S+(?: \S+)*", line)]
    cells, at = [], 0
    for cell in line.split(separator) if separator else [line]:
        cells.append((at, cell))
        at += len(cell) + len(separator)
    return cells


def _inserted(text: str, low: str, looks: Looks) -> Iterator[Span]:
    """Yield the secrets in `INSERT INTO t (name, password) VALUES ('me', 'X')`."""
    pattern, after = re.compile(_INSERT), low.find("values")
    while after >= 0:
        place, after = after, low.find("values", after + 1)
        if not text[max(0, place - _GAP) : place].replace("\\n", " ").rstrip().endswith(")"):
            continue
        looks.spend(AT_WORD)
        head = pattern.search(text, max(0, place - _HEAD), place + len("values"))
        kinds = [_kind(name) for name in head[1].split(",")] if head else []
        at = head.end() if head and any(kinds) else -1
        while at >= 0 and (
            row := re.compile(rf"(?:\s|\\n|,)*\(({_LITERAL}(?:,{_LITERAL}){{0,200}}+)\)").match(text, at)
        ):
            at = row.end()
            looks.spend(AT_VALUE)
            cells = [cell for cell in re.finditer(_LITERAL + r"(?:,|$)", row[1]) if cell[0]]
            for cell, kind in zip(cells, kinds, strict=False):
                core = cell[0].rstrip(",").strip(" \\'\"")
                if kind and cell[0].lstrip(" \\")[:1] in ("'", '"') and weigh(core) >= MIXED:
                    begin = row.start(1) + cell.start() + cell[0].index(core)
                    yield begin, begin + len(core), kind

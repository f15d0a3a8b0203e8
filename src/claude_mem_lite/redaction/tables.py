"""Find secrets in tables, under or beside a label: psql, Markdown, CSV, columns, HTML and INSERT.

A hook loads this module for a text in which the name of a secret may be a label: one event in four. Most of
these are no tables, so `re` is imported only where a pattern is matched.
"""

from __future__ import annotations

from claude_mem_lite.redaction.vocabulary import AT_VALUE, AT_WORD, NAME, REACH, WORDS, name_end, places
from claude_mem_lite.redaction.weights import MIXED, NEVER, RANDOM, is_chosen, least_weight, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_LINE, _TABLE = 1024, 262_144  # characters of a header and of a table that are read
_NO_LABEL = frozenset("(){}=<>[]!':@0123456789")
_RULED = 4  # characters of the shortest rule under a header
_LABEL = 32  # characters of the longest column header
_RULE = frozenset("-+|=: \t\\\r─┼│├┤┌┬┐└┴┘╪╞╡═")
_SEPARATORS = ("|", "│", "\t", "\\t", ",", ";")
_SHORTEST = 16  # characters of the shortest secret that is no password
_LITERAL = r"(?>(?:'(?>(?:[^'\\]|\\.|''){0,4096})'|\"(?>(?:[^\"\\]|\\.){0,4096})\"|[^'\"(),]+|\([^()]*\))*)"
_ROW = rf"(?:\s|\\n|,)*\(({_LITERAL}(?>(?:,{_LITERAL}){{0,200}}))\)"
_INSERT = r"(?i)\(([^()]{1,1000})\)\s*(?:\\n)?\s*values\b"
_HEAD, _GAP = 1024, 16  # characters before VALUES that may hold the column names, and blanks between
_HTML = r"(?>(?:<[^<>]{0,100}>|\s+|\\+[nrt])+)(?P<value>[^<>\s]{4,200})\s*<"


def find_cells(text: str, low: str, heads: list[int], looks: Looks) -> Iterator[Span]:
    """Yield the secrets under or beside the labels at the positions `heads`. Raises: TooMuchError."""
    done = 0
    for at in heads:
        word = next(word for word in WORDS if low.startswith(word, at))
        end = at + len(word)
        looks.spend(AT_WORD)
        rest = low[end : end + REACH].lstrip(NAME)
        if rest.startswith("</") and _kind(_name(low, at)):
            import re

            found = re.compile(_HTML).match(text, name_end(low, end))
            if found and _tells(found["value"], WORDS[word]):
                yield *found.span("value"), WORDS[word]
        if at >= done:
            looks.spend(AT_VALUE)
            cells, done = _cells(text, at, looks)
            yield from cells
    if heads and "insert" in low:
        yield from _inserted(text, low, looks)


def _name(low: str, at: int) -> str:
    head = low[max(0, at - REACH) : at].replace(" ", "_")  # API key
    return head[len(head.rstrip(NAME)) :] + low[at : name_end(low, at)]


def _kind(label: str) -> str:
    """Return the kind of secret in a column with this header, "" for none."""
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


def _cells(text: str, at: int, looks: Looks) -> tuple[list[Span], int]:
    """Return the secrets of the table with a header at `at`, and where the table ends."""
    newline = _newline(text[at : at + _LINE])
    if not newline:
        return [], at
    end = text.index(newline, at)
    below = end + len(newline)
    head = text[_line_start(text, at, newline) : end].rstrip("\\\r")
    separator, kinds = _columns(head, text[below : below + _LINE].partition(newline)[0])
    if not any(kinds):
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
            if len(cells) != len(kinds):
                break
            found += _secrets(cells, kinds, below, looks)
        below = stop + len(newline)
        if cut < len(row):
            break
    return found, max(end, min(below, last))


def _columns(head: str, under: str) -> tuple[str, list[str]]:
    """Return the separator of a table with this header, and the kind of secret in each column, "" for none.

    `under` is the line below, which has to be a rule if the table has a single column.
    """
    separator = next((each for each in _SEPARATORS if each in head), "  " if "  " in head.strip() else "")
    if not separator and (len(under.strip()) < _RULED or not set(under) <= _RULE):
        return "", []
    labels = [label for _, label in _split(head, separator)]
    if any(len(label) > _LABEL or set(label) & _NO_LABEL for label in labels[1:]):
        return "", []
    if separator in ",;" and not labels[-1].strip():
        return "", []
    return separator, [_kind(label) for label in labels]


def _newline(nearby: str) -> str:
    """Return what ends the first line of a text: a newline, an escaped newline, or "" for neither."""
    real, coded = nearby.find("\n"), nearby.find("\\n")
    if max(real, coded) < 0:
        return ""
    return "\n" if real >= 0 and (coded < 0 or real < coded) else "\\n"


def _line_start(text: str, at: int, newline: str) -> int:
    """Return where the line of `at` begins; with escaped newlines, no earlier than its JSON string."""
    first = max(0, at - _LINE)
    escape = text.rfind("\\n", first, at)
    start = max(text.rfind("\n", first, at) + 1, escape + 2 if escape >= 0 else 0, first)
    quote = text.rfind('"', start, at) if newline == "\\n" else -1
    return quote + 1 if quote >= 0 and text[quote - 1 : quote] != "\\" else start


def _secrets(cells: list[tuple[int, str]], kinds: list[str], start: int, looks: Looks) -> Iterator[Span]:
    """Yield the secrets among the cells of a row that begins at `start`."""
    for (begin, cell), kind in zip(cells, kinds, strict=True):
        if kind:
            looks.spend(AT_VALUE)
            core = cell.strip(" \"'`*\\")
            if _tells(core, kind):
                first = start + begin + cell.index(core)
                yield first, first + len(core), kind


def _string_end(row: str) -> int:
    """Return where a JSON string ends: at the first unescaped quote, else at the end of the row."""
    at = row.find('"')
    while at > 0 and row[at - 1] == "\\":
        at = row.find('"', at + 1)
    return at if at >= 0 else len(row)


def _split(line: str, separator: str) -> list[tuple[int, str]]:
    """Return the cells of a line and where each begins."""
    if separator == "  ":
        return _split_at_blanks(line)
    cells, at = [], 0
    for cell in line.split(separator) if separator else [line]:
        cells.append((at, cell))
        at += len(cell) + len(separator)
    return cells


def _split_at_blanks(line: str) -> list[tuple[int, str]]:
    """Return the cells that are separated by two or more spaces, or by other whitespace."""
    plain = line.replace(" ", "")
    if len(plain.split()) > 1 or plain.strip() != plain:
        import re

        return [(cell.start(), cell[0]) for cell in re.finditer(r"\S+(?: \S+)*", line)]
    cells, at = [], 0
    for cell in line.split("  "):
        if core := cell.strip(" "):
            cells.append((at + cell.index(core), core))
        at += len(cell) + 2
    return cells


def _inserted(text: str, low: str, looks: Looks) -> Iterator[Span]:
    """Yield the secrets in `INSERT INTO t (name, password) VALUES ('me', 'X')`."""
    import re

    for place in places(low, "values"):
        if text[max(0, place - _GAP) : place].replace("\\n", " ").rstrip().endswith(")"):
            looks.spend(AT_WORD)
            head = re.compile(_INSERT).search(text, max(0, place - _HEAD), place + len("values"))
            kinds = [_kind(name) for name in head[1].split(",")] if head else []
            if head and any(kinds):
                yield from _row_secrets(text, head.end(), kinds, looks)


def _row_secrets(text: str, at: int, kinds: list[str], looks: Looks) -> Iterator[Span]:
    """Yield the secrets in the consecutive bracketed rows that begin at `at`."""
    import re

    while row := re.compile(_ROW).match(text, at):
        at = row.end()
        looks.spend(AT_VALUE)
        cells = [cell for cell in re.finditer(_LITERAL + r"(?:,|$)", row[1]) if cell[0]]
        for cell, kind in zip(cells, kinds, strict=False):
            core = cell[0].rstrip(",").strip(" \\'\"")
            if kind and cell[0].lstrip(" \\")[:1] in ("'", '"') and weigh(core) >= MIXED:
                begin = row.start(1) + cell.start() + cell[0].index(core)
                yield begin, begin + len(core), kind

"""Split a report into the sentences and list items that state something; find the names in them. Pure."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import dropwhile, zip_longest
from typing import NamedTuple
from zlib import crc32

from claude_mem_lite.quoting import balanced
from claude_mem_lite.text import sentences

STATEMENT_CHARS = 240
_HEAD_CHARS = 110
_SHORTEST, _WORDS = 10, 2
_COLONS = ":\uff1a"
_NO_STATEMENT = (":", ":”", "?", "\uff1a", "\uff1a”", "\uff1f")
_TICKED = ("[x] ", "[X] ")  # done items of a to-do list

_CODE = re.compile(r"^[ \t]*“?```.*?(?:^[ \t]*```”?[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
# A line that introduces shell commands, and these: "push it from the host:".
_COMMANDS = re.compile(
    r"^(?P<says>[^\n]{10,160}[:—–])[ \t*]*\n\s*```(?:ba|z|fi)?sh(?:ell)?[ \t]*\n"
    r"(?P<code>[^`]{1,2000}?)\n[ \t]*```[ \t]*$",
    re.MULTILINE,
)
# The end of a line above code: it says nothing without the code, and is no head of what follows.
_INTRODUCES = re.compile(r"[:\uff1a][ \t*]*\n\s*(?=“?```)")
_ROW, _CELLS, _RULE = re.compile(r"[ \t]*\|(.*)\|[ \t]*"), re.compile(r"(?<!\\)\|"), re.compile(r"[-:| \t]+")
_NO_WORDS = re.compile(r"[\W\d_]+").fullmatch
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\s]+\)")
# Marks that a list or a table puts before its entries.
_LEAD = re.compile(r"^[^\w`'\"“./$#@<(\[-]+")
_ITEM = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+•]|\d+[.)])[ \t]+(?P<says>.*)$")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+(?P<marked>.*?)|\*\*(?P<bold>[^*\n]+)\*\*[:\uff1a]?)[ \t#]*$")
# Names that look the same in any language: code, files, flags, tickets, measured figures. Examples: `…`,
# a/path, file.ext, camelCase, PascalCase, snake_case, #12, ABC-12, --flag, 15 ms.
_NAME = re.compile(
    r"`(?P<code>[^`\n]{2,60})`|(?<![\w/])[\w.-]*(?:/[\w.-]+)+|\b\w+\.[a-z]{1,4}\b|\b[a-z]+[A-Z]\w+"
    r"|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+_\w+\b|#\d+|\b[A-Z]{2,}-\d+\b|--[a-z][\w-]+"
    r"|\b\d+(?:\.\d+)? ?(?:ms|s|%|MB|kB|x)\b"
)

# The beginning of a sentence that refers to the one before it.
_REFERS = re.compile(
    r"(?:this|that|these|those|it|its|they|then|and|but|so|both|now it|dies|diese[rs]?|das|es|ce(?:la|ci)?|ça"
    r"|esto|eso|isto|isso|questo|это|он[аио]?|also|additionally|auch|außerdem|aussi|también|também|anche"
    r"|(?:the|der|die|le|la|el|o) (?:fix|bug|issue|problem|change|cause|reason|solution|lösung|fehler|ursache"
    r"|problème|correction|cause|solución|problema|erro|causa|solução))\b|[这那它]|これ|それ|その",
    re.IGNORECASE,
)
_CLAUSE, _JOIN = re.compile(r"\s+[—–]\s+|\s+-\s+|;\s+|\uff1b"), " — "
# Line numbers of a place in a file.
_LINES = re.compile(r" \((?:at )?lines? \d[\d, -]*\)|(?<=[a-z]):\d+-\d+\b")
# The labels of an item with the old state, and of one with the new.
_OLD = re.compile(
    r"\W*(?:before|old|previously|vorher|bisher|avant|antes|prima|раньше|было|之前|変更前)\b[^:\w]*[:\uff1a]",
    re.IGNORECASE,
)
_NEW = re.compile(
    r"\W*(?:after|new|now|nachher|jetzt|neu|après|después|ahora|depois|agora|dopo|теперь|стало|之后|変更後)\b"
    r"[^:\w]*[:\uff1a]",
    re.IGNORECASE,
)
# A guess, or a result of the moment: "might be the cause", "all tests pass", in a dozen languages.
MOMENT = re.compile(
    r"\b(?:might|may be|maybe|perhaps|probably|likely|seems?|appears to|i (?:think|believe|suspect|assume)"
    r"|pass(?:es|ed|ing)?(?= now|[.!]|$)"
    r"|work(?:s|ing)? (?:now|correctly)|is working|confirm(?:s|ed)|verified|succe(?:eds|eded|ssfully)"
    r"|vielleicht|wahrscheinlich|vermutlich|scheint|ich (?:glaube|vermute)|bestanden|peut-être|probablement"
    r"|semble|sans doute|je (?:pense|crois)|passent|quizás?|probablemente|parece|creo que|pasan|talvez"
    r"|provavelmente|acho que|passam|forse|probabilmente|sembra|secondo me|credo che|passano|chyba|pewnie"
    r"|prawdopodobnie|waarschijnlijk|misschien|возможно|вероятно|похоже|думаю|проходят)\b|可能|也许|通过了|かもしれ|おそらく|成功しました|[\u2705\u2713\u2714]",
    re.IGNORECASE,
)
# The name of a test, or of a file of tests: TestLoad, test_load, LoadTest, load_test.go, load.spec.ts.
TEST = re.compile(r"\bTest[A-Z_]\w*|\btest_\w|[a-z]_test\b|[a-z]Tests?\b|[.-](?:test|spec)\.")
_PLAIN = re.compile(r"[\u3040-\u9fff]{2}|[^\W\d_]{3,}")


class Statement(NamedTuple):
    """A sentence or a list item; `head` is the heading or the words above its list, "" for none."""

    says: str
    head: str = ""

    @property
    def text(self) -> str:
        """The statement with its head."""
        return f"{self.head}: {self.says}" if self.head else self.says


def mark(text: str) -> str:
    """Return the checksum by which a statement already shown is recognized: 8 hex digits."""
    return f"{crc32(text.encode()):08x}"


def statements(report: str) -> list[Statement]:
    """Return the statements of a report, without code, headings, questions and lists of names.

    A sentence that refers to the one before it is joined with that or left out, and an old state is joined
    with the new one. Line numbers are left out, because lines move.
    """
    shown = _INTRODUCES.sub(" […]\n", _COMMANDS.sub(_with_commands, report))
    text = _LINES.sub("", _CODE.sub("\n\n", shown))
    found: dict[str, Statement] = {}
    for head, block in _with_new_state(_blocks("\n".join(_without_tables(text.split("\n"))))):
        before = ""
        for sentence in sentences(block):
            told = balanced(_LEAD.sub("", _LINK.sub(r"\1", sentence)).strip())
            if told.startswith("(") and told.endswith(")"):
                told = told[1:-1]
            if _REFERS.match(told) and (found or before or head):
                found.pop(before, None)
                told = f"{before} {told}" if before else ""
            if before in found and _is_verdict(told):
                found.pop(before)
                told = f"{before} {told}"
            before = told
            part = _shortened(told)
            if _says_something(part):
                found.setdefault(part, Statement(part, head))
    return list(found.values())


def _with_commands(shown: re.Match[str]) -> str:
    """Return the line above a block of shell commands with the first of these, as many as fit."""
    told = f"{shown['says'].rstrip(' :—–')}:"
    for line in shown["code"].split("\n"):
        command = line.strip().removeprefix("$ ")
        if len(told) + len(command) + len(" ``;") > STATEMENT_CHARS:
            break
        told += f" `{command}`;" if command and command[0] != "#" else ""
    return f"{told.rstrip(';')}\n"


def _with_new_state(blocks: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield blocks, with "Before: …" and "After: …" joined into one; "Before: …" alone is left out."""
    old = ""
    for head, block in blocks:
        if _OLD.match(block):
            old = block.rstrip(".;")
            continue
        yield head, f"{old} → {block}" if old and _NEW.match(block) else block
        old = ""


def _without_tables(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with each table row, except the header, as a list item: "first cell: second".

    With more than two columns each cell has its header: "first cell: before 2; after 3".
    """
    heads: list[str] | None = None
    for line in lines:
        row = _ROW.fullmatch(line)
        cells = _cells(row[1]) if row else []
        if row and heads is not None and not _RULE.fullmatch(row[1]):
            filled = [(cell, head) for cell, head in zip_longest(cells, heads, fillvalue="") if cell]
            # Skip row numbers before the first cell with words.
            (first, _), *others = [*dropwhile(lambda each: _NO_WORDS(each[0]), filled)] or [("", "")]
            told = (f"{head} {cell}".strip() if len(others) > 1 else cell for cell, head in others)
            yield f"- {first}: {'; '.join(told)}"
        else:
            yield "" if row else line
        heads = None if row is None else cells if heads is None else heads


def _cells(row: str) -> list[str]:
    return [cell.replace("**", "").replace("\\|", "|").strip() for cell in _CELLS.split(row)]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each paragraph and list item, with the head of an item."""
    heads: list[tuple[int, str]] = [(-1, "")]  # indent and text of the enclosing heads
    head, block = "", ""
    for line in text.split("\n"):
        item, heading = _ITEM.match(line), _HEADING.match(line)
        says = item["says"] if item else (heading["marked"] or heading["bold"]) if heading else line
        if item or heading or not line.strip():
            if block:
                yield head, block
            head, block = "", ""
        if heading and not item:
            heads = [(-1, _as_head(says))]
            continue
        if item:
            indent = len(item["indent"].expandtabs(4))
            while heads[-1][0] >= indent:
                heads.pop()
            head = heads[-1][1]
        if says.rstrip(" *").endswith(tuple(_COLONS)):
            heads = [*heads, (indent, _as_head(says))] if item else [(-1, _as_head(says))]
        elif line.strip() and not item and not block:
            heads = [(-1, "")]  # a paragraph ends the scope of the heads above it
        block = f"{block}\n{says}" if block else says
    if block:
        yield head, block


def _as_head(line: str) -> str:
    """Return the last sentence of a line as a head; "" if it is too long for one."""
    last = sentences(_LINK.sub(r"\1", line.replace("**", "")))[-1:]
    told = balanced(_LEAD.sub("", "".join(last)).strip().rstrip(_COLONS).rstrip())
    return told if 1 < len(told) <= _HEAD_CHARS else ""


def _shortened(told: str) -> str:
    """Return a sentence that is too long for a statement as far as it fits, cut at a dash or semicolon."""
    if len(told) <= STATEMENT_CHARS:
        return told
    part, *others = _CLAUSE.split(told)
    for clause in others:
        is_aside = part.count("(") != part.count(")")  # an aside is not cut
        if not is_aside and len(part) + len(clause) + len(_JOIN) > STATEMENT_CHARS:
            break
        part = f"{part}{_JOIN}{clause}"
    return part


def _says_something(told: str) -> bool:
    if (
        not _SHORTEST <= len(told) <= STATEMENT_CHARS
        or told.endswith(_NO_STATEMENT)
        or "```" in told
        or told.startswith(_TICKED)
        or "[…]" in told
        or told.count("(") != told.count(")")  # part of an aside, or an option: "A) …"
    ):
        return False
    return len(_PLAIN.findall(_NAME.sub(" ", told))) >= _WORDS


def _is_verdict(told: str) -> bool:
    """Tell whether a sentence is too short to stand without the one before it: "I wouldn't."."""
    return (
        bool(told) and not told.endswith(_NO_STATEMENT) and len(_PLAIN.findall(_NAME.sub(" ", told))) < _WORDS
    )


# Hashes, ids and dates, which belong to one run.
_ONE_OFF = re.compile(r"(?=.*\d)[0-9a-f][0-9a-f_:.-]{5,}|\d[\d.,:/-]*|#\d{6,}")


@lru_cache(maxsize=8_192)
def names(text: str) -> frozenset[str]:
    """Return the code names, similar names and figures in a text, in lower case."""
    found = ((match["code"] or match[0]).lower() for match in _NAME.finditer(text))
    told = (name.strip("().,:;'\" ") for name in found)
    return frozenset(name for name in told if name and not _ONE_OFF.fullmatch(name))

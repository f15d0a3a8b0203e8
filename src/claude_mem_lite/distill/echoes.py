"""Put quotation marks around the parts of the assistant's words that it took from elsewhere. Pure.

Reports, plans and tasks for sub-agents count as the assistant's own words. The words of a page or a file do
not, however the assistant passes them on: between quotation marks, as a block of their own, or word for word
without saying so.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.quoting import parts, quote_blocks, quoted
from claude_mem_lite.text import UNPARTED, clean

# This many words in a row that also stood in a text read before count as repeated; fewer may be a name.
REPEATED_WORDS = 7
# Each run of REPEATED_WORDS words contains a window of this size that begins at a multiple of the size.
_WINDOW = (REPEATED_WORDS + 1) // 2

# A word; a single character in scripts without spaces, such as Chinese and Japanese.
_WORD = re.compile(rf"[{UNPARTED}]|[^\W{UNPARTED}]+")
# Three words or more; two may be a name.
_QUOTATION = re.compile(r'"((?:[^"\s]+[ \t]+){2,}[^"\s]+)"')
# A line in three groups: its list mark, its text, and a colon at its end.
_LINE = re.compile(r"^([ \t]*(?:(?:[-*+•#>]+|\d+[.)])[ \t]+)?)(\S.*?)(:?)[ \t]*$", re.MULTILINE)
# Tools whose input is code, paths and patterns. Of other tools the input is text, except in these fields.
_NO_WORDS = frozenset({*EDITORS, "Read", "Grep", "Glob", "LS", "NotebookRead"})
_NOT_SAID = frozenset({"command", "file_path", "notebook_path", "path", "url"})
_FROM_OUTSIDE = ("tool_response", "error", "last_assistant_message")


def quote_others(report: str, heard: Iterable[str]) -> str:
    """Return a report with quotation marks around its quotations and the passages repeated from `heard`."""
    report = quote_blocks(clean(report))
    report = "".join(
        part if is_apart else _QUOTATION.sub(lambda found: quoted(found[1]), part)
        for is_apart, part in parts(report)
    )
    told = []
    end = 0
    for start, stop in _repeated(report, heard):
        if start >= end:
            told += [report[end:start], _quoted_by_line(report[start:stop])]
            end = stop
    return "".join([*told, report[end:]])


def _quoted_by_line(repeated: str) -> str:
    """Return a repeated passage with each line quoted separately, so that lists survive; code as a whole."""
    if "```" in repeated:
        return quoted(repeated)
    return _LINE.sub(lambda line: f"{line[1]}{quoted(line[2])}{line[3]}", repeated)


def quote_in_call(
    payload: dict[str, Any], tool_name: str, heard: Callable[[], Iterable[str]]
) -> dict[str, Any]:
    """Return a tool call's event with the assistant's words in it quoted as `quote_others` does.

    Calls `heard` only if a text is long enough to repeat something.
    """
    said = {"tool_input": payload.get("tool_input")} if tool_name not in _NO_WORDS else {}
    response = payload.get("tool_response")
    if tool_name == "AskUserQuestion" and isinstance(response, dict):
        said["tool_response"] = response  # the questions, and the answers among which the user chose
    texts = [text for text in _texts(said) if len(_WORD.findall(text)) >= REPEATED_WORDS]
    if not texts:
        return payload
    others = list(heard())
    changed = {text: told for text in texts if (told := quote_others(text, others)) != clean(text)}
    return {**payload, **_replaced(said, changed)} if changed else payload


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for item in tree:
            yield from _texts(item)
    elif isinstance(tree, dict):
        for name, value in tree.items():
            if name not in _NOT_SAID:
                yield from (name, *_texts(value))


def _replaced(tree: Any, changed: Mapping[str, str]) -> Any:
    if isinstance(tree, str):
        return changed.get(tree, tree)
    if isinstance(tree, list):
        return [_replaced(item, changed) for item in tree]
    if isinstance(tree, dict):
        return {
            changed.get(name, name): value if name in _NOT_SAID else _replaced(value, changed)
            for name, value in tree.items()
        }
    return tree


def from_outside(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of an event that neither the user nor the assistant wrote."""
    left = [payload.get(name) for name in _FROM_OUTSIDE]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        left += [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []


def _repeated(report: str, heard: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each repeated run of words, extended to the quotations that it touches."""
    found = list(_WORD.finditer(report))
    words = [match[0].lower() for match in found]
    texts = "\n".join(f" {' '.join(_WORD.findall(text.lower()))} " for text in heard)
    whole = list(_apart(report))
    end = 0
    for at in range(0, len(words) - _WINDOW + 1, _WINDOW):
        first, last = at, at + _WINDOW
        if first < end or f" {' '.join(words[first:last])} " not in texts:
            continue
        while last < len(words) and f" {' '.join(words[first : last + 1])} " in texts:
            last += 1
        while first > end and f" {' '.join(words[first - 1 : last])} " in texts:
            first -= 1
        if last - first >= REPEATED_WORDS:
            start, stop = found[first].start(), found[last - 1].end()
            inside = [place for place in whole if place[0] < stop and start < place[1]]
            yield min([start, *(place[0] for place in inside)]), max([stop, *(place[1] for place in inside)])
            end = last


def _apart(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for is_apart, part in parts(text):
        if is_apart:
            yield start, start + len(part)
        start += len(part)

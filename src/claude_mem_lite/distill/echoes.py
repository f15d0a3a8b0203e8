"""Marks what of the assistant's words is somebody else's: what it quotes, and what it repeats. Pure.

A report, a plan and the task of a sub-agent are told as the assistant's own words. What a page or a file said
is none of them, however it is passed on: between quotation marks, as a block of its own, or word for word
without saying so.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.quoting import parts, quote_blocks, quoted
from claude_mem_lite.text import UNPARTED, clean

# So many words in a row that were read before are repeated; fewer are how things are called.
REPEATED_WORDS = 7
# Any run of so many words has a window of these that begins at a multiple of their number.
_WINDOW = (REPEATED_WORDS + 1) // 2

# A word; in Chinese and Japanese, which part no words, a sign.
_WORD = re.compile(rf"[{UNPARTED}]|[^\W{UNPARTED}]+")
# Three words or more; two are a name.
_QUOTATION = re.compile(r'"((?:[^"\s]+[ \t]+){2,}[^"\s]+)"')
# What makes a line an item, what it says, and the colon of a line that heads others.
_LINE = re.compile(r"^([ \t]*(?:(?:[-*+•#>]+|\d+[.)])[ \t]+)?)(\S.*?)(:?)[ \t]*$", re.MULTILINE)
# Tools whose input is code, paths and patterns; of others it is words, but for these fields.
_NO_WORDS = frozenset({*EDITORS, "Read", "Grep", "Glob", "LS", "NotebookRead"})
_NOT_SAID = frozenset({"command", "file_path", "notebook_path", "path", "url"})
_FROM_OUTSIDE = ("tool_response", "error", "last_assistant_message")


def quote_others(report: str, heard: Iterable[str]) -> str:
    """Return a report with quotation marks around what it quotes and what it repeats of texts read before."""
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
    """Return what is repeated with each line quoted by itself, so that a list stays one; code as a whole."""
    if "```" in repeated:
        return quoted(repeated)
    return _LINE.sub(lambda line: f"{line[1]}{quoted(line[2])}{line[3]}", repeated)


def quote_in_call(
    payload: dict[str, Any], tool_name: str, heard: Callable[[], Iterable[str]]
) -> dict[str, Any]:
    """Return the event of a tool call with what the assistant says in it, quoted as in `quote_others`.

    `heard` is asked only where something is long enough to repeat what was read.
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
    """Yield the texts of an event that neither the user nor the assistant has written."""
    left = [payload.get(name) for name in _FROM_OUTSIDE]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        left += [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []


def _repeated(report: str, heard: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where runs of words begin and end that were heard before, with the quotations that they touch."""
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

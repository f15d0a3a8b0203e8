"""Change the strings in the JSON of an event, and cut them so that the event keeps within its size.

Strings are cut before the search for secrets, which bounds its work, and once more after it. Only an event
with something to take out, or a very long one, loads this module.
"""

from __future__ import annotations

import json
import re

from claude_mem_lite.redaction.vocabulary import EDGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Change = Callable[[str, str | None], str]  # of a string in the field named, None for a key itself

WITHHELD = "[withheld: too much to redact]"
_SEAM = "\n\ue0ff"  # where the middle of a string was left out before the search
_CUT = "\n[… {:,} characters cut …]\n"
_CUT_BEFORE = r"\n\[… ([0-9,]+) characters cut …\]\n"
_SHORTEST = 256  # no string is cut shorter
_MOST_FIELDS = 64
_MANY, _JSON_OF_STRING = 20_000, 4  # strings, and the characters that JSON adds to each
_KEPT_OF_WITHHELD = 32_768  # characters of an event whose long strings are withheld
_LONGEST_KEPT = 512  # characters of a string in it


def loads(event: str) -> dict[str, Any]:
    """Return the tree of an event. Raises: ValueError when its text is no JSON object."""
    tree = json.loads(event)
    if not isinstance(tree, dict):
        raise ValueError(f"a hook event is a JSON object, this is a {type(tree).__name__}")  # noqa: TRY004
    return tree


def change_strings(node: Any, change: Change, field: str | None = "") -> Any:
    """Return a JSON tree with each string changed, given the field that it stands in, None for a key."""
    if isinstance(node, str):
        return change(node, field)
    if isinstance(node, list):
        return [change_strings(item, change, field) for item in node]
    if isinstance(node, dict):
        return {change(key, None): change_strings(value, change, key) for key, value in node.items()}
    return node


def dumps(tree: Any) -> str:
    """Return a tree as JSON text without blanks."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def narrowed(tree: dict[str, Any], max_chars: int) -> dict[str, Any]:
    """Return an event with little more than what the last cut may leave of it, a seam in each string cut.

    On both sides of a seam stand `EDGE` characters that `unseamed` drops: half a token may be among them.
    """
    lengths: list[int] = []
    tree = change_strings(tree, lambda text, _: _noted(text.encode("utf-8", "replace").decode(), lengths))
    limit = _limit(lengths, max_chars)
    left = sum(min(length, limit + 2 * EDGE) if limit else length for length in lengths)
    many = len(lengths) > _MANY and left + _JSON_OF_STRING * len(lengths) > max_chars
    if many or left > 4 * max_chars:  # so many strings take seconds
        tree, lengths = _flat(tree, max_chars), []
        change_strings(tree, lambda text, _: _noted(text, lengths))
        limit = _limit(lengths, max_chars)
    return change_strings(tree, lambda text, _: _seamed(text, limit)) if limit else tree


def unseamed(text: str) -> str:
    """Return a string with the mark of a cut in the place of its seam, and without the edges of that."""
    head, _, rest = text.partition(_SEAM)
    count, _, tail = rest.partition(_SEAM)
    return head[:-EDGE] + _CUT.format(int(count)) + tail[EDGE:] if count.isdecimal() else text


def fitted(tree: dict[str, Any], max_chars: int) -> str:
    """Return the JSON text of an event, its longest strings cut as far as `max_chars` asks."""

    def cut(limit: int) -> str:
        return dumps(change_strings(tree, lambda text, _: _cut(text, limit)))

    text = dumps(tree)
    if len(text) > max_chars >= len(cut(_SHORTEST)):
        limit = max_chars
        while len(text) > max_chars:
            limit = max(_SHORTEST, limit * 7 // 8)
            text = cut(limit)
    if len(text) <= max_chars:
        return text
    share = max_chars // (3 * min(len(tree), _MOST_FIELDS))
    return dumps(change_strings(_flat(tree, max_chars), lambda text, _: _cut(text, share)))


def without_long(tree: dict[str, Any]) -> str:
    """Return the JSON text of an event with its long strings withheld, and all but its names if need be.

    Where something of a call's input is withheld its output is too: the input tells whether that may be kept.
    """
    short = {name[:_SHORTEST]: value for name, value in list(tree.items())[:_MOST_FIELDS]}
    short = {name: _withheld(value, _KEPT_OF_WITHHELD // len(short)) for name, value in short.items()}
    if any(WITHHELD in dumps(short.get(name)) for name in ("tool_input", "tool_calls")):
        short |= dict.fromkeys(short.keys() & {"tool_response", "error", "tool_calls"}, WITHHELD)
    return dumps(short)


def _withheld(tree: Any, room: int) -> Any:
    """Return a JSON value of about `room` characters at most, with notes in the place of what is longer."""
    if isinstance(tree, str):
        return tree if len(tree) <= min(room, _LONGEST_KEPT) else WITHHELD
    if not isinstance(tree, (list, dict)):
        return tree
    share = room // (len(tree) or 1)
    if share < len(WITHHELD):
        return WITHHELD
    if isinstance(tree, list):
        return [_withheld(item, share) for item in tree]
    return {_withheld(name, share): _withheld(value, share) for name, value in tree.items()}


def _noted(text: str, lengths: list[int]) -> str:
    lengths.append(len(text))
    return text


def _limit(lengths: list[int], max_chars: int) -> int:
    """Return how much of a string may stay so that all of them fit, 0 when they do as they are."""
    room, left = max_chars, len(lengths)
    for length in sorted(lengths):
        if length * left > room:
            return max(_SHORTEST, room // left)
        room -= length
        left -= 1
    return 0


def _seamed(text: str, limit: int) -> str:
    head, tail = limit * 2 // 3 + EDGE, limit // 3 + EDGE
    if len(text) <= head + tail:
        return text
    left_out = len(text) - limit
    return f"{text[:head]}{_SEAM}{left_out}{_SEAM}{text[len(text) - tail :]}"


def _flat(tree: dict[str, Any], max_chars: int) -> dict[str, Any]:
    """Return an event whose fields that are longer than their share in JSON are strings of that JSON."""
    share = max_chars // (3 * min(len(tree), _MOST_FIELDS))
    fields = [(name[:_SHORTEST], value) for name, value in list(tree.items())[:_MOST_FIELDS]]
    return {name: value if len(coded := dumps(value)) <= share else coded for name, value in fields}


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = limit * 7 // 8  # the rest is for the mark
    head, tail = kept * 2 // 3, kept // 3
    middle = text[head : len(text) - tail]
    before = (match for match in re.finditer(_CUT_BEFORE, middle))
    missing = sum(int(match[1].replace(",", "")) - len(match[0]) for match in before)
    return text[:head] + _CUT.format(len(middle) + missing) + text[len(text) - tail :]

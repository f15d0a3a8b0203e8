"""Edit the strings in the JSON of an event: remove every secret and keep the event within its maximum size.

Strings are cut before the search for secrets, which bounds its work, and once more after it. A secret found
in one string is removed from all others. Only an event that needs redaction, or a very long one, loads this
module.
"""

from __future__ import annotations

import json
import re

from claude_mem_lite.redaction.marks import PRIVATE_KEYS, find_marks
from claude_mem_lite.redaction.scanner import find_values, holds_word
from claude_mem_lite.redaction.vocabulary import AT_WORD, EDGE, LONGEST
from claude_mem_lite.redaction.weights import MIXED, QUOTED_LEAST, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from claude_mem_lite.redaction.vocabulary import Looks, Span

    Change = Callable[[str, str | None], str]  # (string, name of its field or None for a key) -> new string

WITHHELD = "[withheld: too much to redact]"
_SEAM = "\n\ue0ff"  # where the middle of a string was left out before the search
_CUT = "\n[… {:,} characters cut …]\n"
_CUT_BEFORE = r"\n\[… ([0-9,]+) characters cut …\]\n"
_SHORTEST = 256  # no string is cut shorter
_MOST_FIELDS = 64
_MANY, _JSON_OF_STRING = 20_000, 4  # strings, and the characters that JSON adds to each
_KEPT_OF_WITHHELD = 32_768  # characters of an event whose long strings are withheld
_LONGEST_KEPT = 512  # characters of the longest string left in it
_LEAST = 4  # characters: nothing shorter is a secret
_HEAD = 8  # characters by which a secret is looked up; no known one is shorter


def loads(event: str) -> dict[str, Any]:
    """Return the JSON tree of an event. Raises: ValueError when its text is no JSON object."""
    tree = json.loads(event)
    if not isinstance(tree, dict):
        raise ValueError(f"a hook event is a JSON object, this is a {type(tree).__name__}")  # noqa: TRY004
    return tree


def change_strings(node: Any, change: Change, field: str | None = "") -> Any:
    """Return a JSON tree with each string replaced by `change(string, its field)`; a key's field is None."""
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
    """Return an event cut to little more than `fitted` may keep, with a seam in each string that was cut.

    `unseamed` drops the `EDGE` characters on both sides of a seam, because the cut may have split a token.
    """
    lengths: list[int] = []
    tree = change_strings(tree, lambda text, _: _noted(text.encode("utf-8", "replace").decode(), lengths))
    limit = _limit(lengths, max_chars)
    left = sum(min(length, limit + 2 * EDGE) if limit else length for length in lengths)
    many = len(lengths) > _MANY and left + _JSON_OF_STRING * len(lengths) > max_chars
    if many or left > 4 * max_chars:  # to process so many strings takes seconds
        tree, lengths = _flat(tree, max_chars), []
        change_strings(tree, lambda text, _: _noted(text, lengths))
        limit = _limit(lengths, max_chars)
    return change_strings(tree, lambda text, _: _seamed(text, limit)) if limit else tree


def without_secrets(tree: Any, looks: Looks, marks: list[str] | None = None) -> Any:
    """Return a JSON tree without its secrets; a secret found in one place is removed from all.

    Raises: TooMuchError.
    """
    marks = find_marks(dumps(tree)) if marks is None else marks
    known: dict[str, str] = {}

    def cleaned(text: str, field: str | None) -> str:
        if len(text) < _LEAST:
            return text
        text, secrets = _clean(text, marks, field or "", looks)
        known.update(secrets)
        return unseamed(text)

    tree = change_strings(tree, cleaned)
    return _without_known(tree, known, looks) if known else tree


def _clean(text: str, marks: list[str], field: str, looks: Looks) -> tuple[str, dict[str, str]]:
    """Return `text` without its secrets, and the kind of each secret to search for elsewhere too.

    `marks` are those of tokens that may occur in it; `field` is the key of `text` in its JSON object.
    """
    known: dict[str, str] = {}
    # Private keys first: a line of one may have any mark.
    for mark in sorted(marks, key=lambda mark: mark not in PRIVATE_KEYS):
        if mark in text:
            from claude_mem_lite.redaction.tokens import find_tokens

            spans, secrets = find_tokens(text, mark, looks)
            known |= secrets
            text = _swap(text, spans)
    spans = _values(text, field, looks)
    looks.spend(AT_WORD * len(spans))
    for start, end, kind in spans:
        # A value unlike ordinary text is the same secret wherever it occurs.
        if end - start >= QUOTED_LEAST and weigh(text[start:end]) >= MIXED:
            known[text[start:end]] = kind
    return _swap(text, spans), known


def _values(text: str, field: str, looks: Looks) -> list[Span]:
    """Return the secrets in a text; the whole text if the name of its field makes it one."""
    if len(text) <= LONGEST and holds_word(field):
        named, start = find_values(f"{field}='{text}'", looks), len(field) + len("='")
        if named and named[0][:2] == (start, start + len(text)):
            return [(0, len(text), named[0][2])]
    return find_values(text, looks)


def _swap(text: str, spans: list[Span]) -> str:
    parts, done = [], 0
    for start, end, kind in spans:
        if start >= done:
            parts += [text[done:start], f"[redacted: {kind}]"]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def _without_known(tree: Any, known: dict[str, str], looks: Looks) -> Any:
    """Return a JSON tree without the secrets that `known` maps to their kinds.

    The work is proportional to the text, however many secrets are known: each position of each distinct
    word is looked up once, by the `_HEAD` characters that follow.
    """
    kinds = {word: kind for secret, kind in known.items() for word in secret.split()}
    kinds = {word: kind for word, kind in kinds.items() if _HEAD <= len(word) <= LONGEST}
    lengths: dict[str, set[int]] = {}
    for secret in kinds:
        lengths.setdefault(secret[:_HEAD], set()).add(len(secret))
    longest_first = {head: sorted(some, reverse=True) for head, some in lengths.items()}
    words: set[str] = set()
    change_strings(tree, lambda text, _: words.update(text.split()) or text)  # type: ignore[func-returns-value]
    changed = {}
    for word in words:
        starts = [at for at in range(len(word) - _HEAD + 1) if word[at : at + _HEAD] in lengths]
        if starts:  # nearly never
            changed[word] = _swap(word, list(_known_in(word, starts, kinds, longest_first, looks)))
    if not changed:
        return tree
    return change_strings(
        tree, lambda text, _: re.sub(r"\S+", lambda word: changed.get(word[0], word[0]), text)
    )


def _known_in(
    word: str, starts: list[int], kinds: dict[str, str], lengths: dict[str, list[int]], looks: Looks
) -> Iterator[Span]:
    """Yield the known secrets in a word; of several that begin alike, the longest."""
    done = 0
    for start in starts:
        if start < done:
            continue
        some = lengths[word[start : start + _HEAD]]
        looks.spend(len(some))
        end = next((start + length for length in some if word[start : start + length] in kinds), 0)
        if end:
            yield start, end, kinds[word[start:end]]
            done = end


def unseamed(text: str) -> str:
    """Return a string with a notice of the cut in place of its seam and the `EDGE` characters beside it."""
    head, _, rest = text.partition(_SEAM)
    count, _, tail = rest.partition(_SEAM)
    return head[:-EDGE] + _CUT.format(int(count)) + tail[EDGE:] if count.isdecimal() else text


def fitted(tree: dict[str, Any], max_chars: int) -> str:
    """Return the JSON text of an event, its longest strings cut until it fits `max_chars`."""

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
    """Return the JSON text of an event with its long strings withheld, or whole values if there are many.

    If part of a call's input is withheld, so is its output: the input decides whether that may be kept.
    """
    short = {name[:_SHORTEST]: value for name, value in list(tree.items())[:_MOST_FIELDS]}
    short = {name: _withheld(value, _KEPT_OF_WITHHELD // len(short)) for name, value in short.items()}
    if any(WITHHELD in dumps(short.get(name)) for name in ("tool_input", "tool_calls")):
        short |= dict.fromkeys(short.keys() & {"tool_response", "error", "tool_calls"}, WITHHELD)
    return dumps(short)


def _withheld(tree: Any, room: int) -> Any:
    """Return a JSON value of at most about `room` characters, with `WITHHELD` in place of longer parts."""
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
    """Return the length to cut strings to so that all of them fit `max_chars`, 0 if they fit uncut."""
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
    """Return an event with each field whose JSON exceeds its share replaced by that JSON as one string."""
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

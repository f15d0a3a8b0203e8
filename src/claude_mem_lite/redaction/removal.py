"""Take every secret out of the strings of an event, and what is secret in one place out of all others.

Only an event with something to take out loads this module.
"""

from __future__ import annotations

import re

from claude_mem_lite.redaction.marks import PRIVATE_KEY, find_marks
from claude_mem_lite.redaction.scanner import find_values, holds_word
from claude_mem_lite.redaction.strings import change_strings, dumps, unseamed
from claude_mem_lite.redaction.vocabulary import AT_WORD, LONGEST
from claude_mem_lite.redaction.weights import MIXED, QUOTED_LEAST, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_LEAST = 4  # characters: nothing shorter is a secret
_HEAD = 8  # characters by which a secret is looked up; no known one is shorter


def without_secrets(tree: Any, looks: Looks, marks: list[str] | None = None) -> Any:
    """Return a JSON tree without its secrets; what is one at one place is taken out at all.

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
    """Return `text` without its secrets, and the kinds of those that are to be looked for elsewhere too.

    `marks` are those of tokens that may stand in it; `field` is its name in a JSON object.
    """
    known: dict[str, str] = {}
    for mark in sorted(marks, key=PRIVATE_KEY.__ne__):  # private keys first: a line of one may have any mark
        if mark in text:
            from claude_mem_lite.redaction.tokens import find_tokens

            spans, secrets = find_tokens(text, mark, looks)
            known |= secrets
            text = _swap(text, spans)
    spans = _values(text, field, looks)
    looks.spend(AT_WORD * len(spans))
    for start, end, kind in spans:
        # A value unlike other text is the same secret wherever it stands.
        if end - start >= QUOTED_LEAST and weigh(text[start:end]) >= MIXED:
            known[text[start:end]] = kind
    return _swap(text, spans), known


def _values(text: str, field: str, looks: Looks) -> list[Span]:
    """Return the secrets in a text: all of it where the name of its field says so."""
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

    However many secrets are known, the work is in proportion to the text: each position of each different
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
    """Yield the known secrets in a word, of those that begin alike the longest."""
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

"""Secrets found in one place of an event, taken out of every other place in one pass over its words.

Only an event in which secrets were found loads this module.
"""

from __future__ import annotations

import re

from claude_mem_lite.redact import change_strings
from claude_mem_lite.redaction_rules import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from claude_mem_lite.redact import Looks

_HEAD = 8  # characters by which a secret is looked up; no known one is shorter


def without_known(tree: Any, known: dict[str, str], looks: Looks) -> Any:
    """Return a JSON tree without the secrets that `known` maps to their kinds. Raises: TooMuchError.

    However many secrets are known, the work is in proportion to the text: each position of each different
    word is looked up once, by the `_HEAD` characters that follow.
    """
    kinds = {word: kind for secret, kind in known.items() for word in secret.split()}
    kinds = {word: kind for word, kind in kinds.items() if _HEAD <= len(word) <= LONGEST}
    lengths: dict[str, set[int]] = {}
    for secret in kinds:
        lengths.setdefault(secret[:_HEAD], set()).add(len(secret))
    longest_first = {head: sorted(some, reverse=True) for head, some in lengths.items()}

    def without(word: str, starts: list[int]) -> str:
        parts, done = [], 0
        for start in starts:
            if start < done:
                continue
            some = longest_first[word[start : start + _HEAD]]
            looks.spend(len(some))
            end = next((start + length for length in some if word[start : start + length] in kinds), 0)
            if end:
                parts += [word[done:start], f"[redacted: {kinds[word[start:end]]}]"]
                done = end
        return "".join([*parts, word[done:]])

    words: set[str] = set()
    change_strings(tree, lambda text, _: words.update(text.split()) or text)  # type: ignore[func-returns-value]
    changed = {}
    for word in words:
        starts = [at for at in range(len(word) - _HEAD + 1) if word[at : at + _HEAD] in lengths]
        if starts:  # nearly never
            changed[word] = without(word, starts)
    if not changed:
        return tree
    return change_strings(
        tree, lambda text, _: re.sub(r"\S+", lambda word: changed.get(word[0], word[0]), text)
    )

"""What of a row answers a prompt: the sentences and lines that carry most of its evidence, whole. Pure."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from claude_mem_lite.context.text import harmless
from claude_mem_lite.search.words import lemma, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TITLE_CHARS = 140
DETAIL_CHARS = 4_000
# What the title, or a sentence taken before, has said already counts this much.
REPEATED = 0.3
# A sentence of so many characters more counts by the root of it less: evidence is worth more said shortly.
_SHORT = 60
# A piece cut out of what is too long begins so many characters before the first word that counts.
_BEFORE = 40

# Sentences, lines, and what local summaries list between semicolons.
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+|(?<=;)\s+")
# The prompt that a local summary ends with; it has a row of its own.
_ASKED = re.compile(r"(?:^|\n)Asked: [^\n]*\s*\Z")


def excerpt(title: str, summary: str, detail: str, weights: Mapping[str, float], *, chars: int) -> str:
    """Return "Title: what answers" in one harmless line of about `chars`; `weights` are those of lemmas (idf)."""
    title = harmless(title, chars=TITLE_CHARS)
    told = summary if not title else _ASKED.sub("", summary)
    begins = title.rstrip("…")
    units = [unit.strip() for unit in _ENDS.split(told)]
    lines = [line.strip() for line in detail[:DETAIL_CHARS].splitlines()]
    known = set(lemmas(title))
    sentences = [unit for unit in units if unit and not (set(lemmas(unit)) <= known)]
    texts = [*sentences, *(line for line in dict.fromkeys(lines) if line and line not in sentences)]
    room = chars - len(title) - len(": ")
    chosen = _chosen(texts, len(sentences), known, weights, room)
    if chosen and title.endswith("…") and 0 in chosen and texts[0].startswith(begins[:60]):
        title = ""
    body = " / ".join(
        filter(
            None,
            [
                " ".join(text for at, text in sorted(chosen.items()) if at < len(sentences)),
                *(text for at, text in sorted(chosen.items()) if at >= len(sentences)),
            ],
        )
    )
    return harmless(": ".join(filter(None, [title, body])), chars=chars + TITLE_CHARS)


def lemmas(text: str) -> list[str]:
    """Return the lemmas of a text, in order."""
    return [lemma(word) for word in words(text)]


def _chosen(
    texts: Sequence[str], sentences: int, known: set[str], weights: Mapping[str, float], room: int
) -> dict[int, str]:
    """Return by their places the texts to tell: first what has the most evidence, then sentences in order."""
    said = [set(lemmas(text)) & weights.keys() for text in texts]
    chosen: dict[int, str] = {}
    told = set(known)

    def worth(at: int) -> float:
        gain = sum(weights[name] * (REPEATED if name in told else 1.0) for name in said[at])
        return gain / (_SHORT + len(texts[at])) ** 0.5

    left = set(range(len(texts)))
    while left:
        at = max(left, key=lambda at: (worth(at), -at))
        left.remove(at)
        if worth(at) <= 0:
            break
        if len(texts[at]) <= room:
            chosen[at] = texts[at]
        elif not chosen:
            chosen[at] = _piece(texts[at], said[at], room)
        else:
            continue
        told |= said[at]
        room -= len(chosen[at]) + 1
    for at in range(sentences):
        if at not in chosen and len(texts[at]) <= room:
            chosen[at] = texts[at]
            room -= len(texts[at]) + 1
    return chosen


def _piece(text: str, names: set[str], chars: int) -> str:
    """Return a piece of a long text from shortly before its first word that counts."""
    places = (match.start() for match in re.finditer(r"\w+", text) if lemma(match[0].lower()) in names)
    start = max(0, min(next(chain(places, [0])) - _BEFORE, len(text) - chars))
    if start:
        start = text.find(" ", start) + 1
        return harmless("…" + text[start:], chars=chars)
    return harmless(text, chars=chars)

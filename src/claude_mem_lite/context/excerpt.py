"""Extract from a row the sentences and lines that answer a prompt best. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from math import sqrt

from claude_mem_lite.context.text import harmless
from claude_mem_lite.distill.orders import LINE_END
from claude_mem_lite.distill.rules.conversation import without_reason
from claude_mem_lite.distill.statements import mark, names, statements
from claude_mem_lite.distill.thread import joined
from claude_mem_lite.quoting import pieces, quoted
from claude_mem_lite.search.words import lemma, words
from claude_mem_lite.text import unique

TITLE_CHARS = 140
# Most characters and lines of a row that are read.
MOST_CHARS, MOST_LINES = 4_000, 80
# Factors for a lemma already in the title or a chosen sentence, a line of the detail, and a removed line.
REPEATED, DETAIL, REMOVED = 0.3, 0.5, 0.25
# A sentence says nothing new if at least this share of its lemmas was already chosen.
SAID = 0.7
# Short texts are preferred: evidence is divided by the square root of the length plus this many characters.
_SHORT = 60
# Worth of a new code name in a report, in nats, and the most names that count in one sentence.
NAMED, _NAMES = 1.6, 2
# A piece of a text that is too long begins this many characters before the first matching word.
_BEFORE = 40

_REMOVED = "- "  # prefix of a removed line in the detail of an edit
_ENDS = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]”))\s+(?=[^a-z\s])|\n+")
# The command of a summary, which the title describes in words.
_COMMAND = re.compile(r"(?:Ran|[^`]{1,80}:) `[^`]*(?:`\W*)?")
# Separates clauses, and the lists in rule-written summaries, at semicolons outside of parentheses.
_ITEMS = re.compile(r"(?<=;)\s+(?![^(]{0,200}\))")
# In rule-written summaries: how much of a file was read or changed.
_COUNT = re.compile(r"(?:Created|Edited|Read|Rewrote) [^:]+(?: \([^()]*\)\.|: (?:lines )?\d[^.]*\.?)")


def excerpt(title: str, summary: str, detail: str, weights: Mapping[str, float], *, chars: int) -> str:
    """Return the title and the best matching texts of a row, in a harmless line of about `chars` characters.

    `weights` are the idf of the prompt's lemmas. Lines of the detail are quoted, as it is captured text.
    """
    title = harmless(title, chars=TITLE_CHARS)
    summary = summary[:MOST_CHARS]
    units = [unit.strip() for unit in pieces(_ENDS.split(without_reason(summary)[0] if title else summary))]
    commands = [unit for unit in units if _COMMAND.fullmatch(unit)]
    said = (_ITEMS.split(unit) for unit in units if not _COMMAND.fullmatch(unit))
    items = (item.strip() for each in said for item in pieces(each))
    sentences = [item for item in items if item and not _COUNT.fullmatch(item)][:MOST_LINES]
    lines = [*commands, *(" ".join(line.split()) for line in detail[:MOST_CHARS].splitlines())]
    texts = [*sentences, *unique(lines)[:MOST_LINES]]
    chosen = _chosen(texts, len(sentences), set(lemmas(title)), weights, chars - len(title) - len(": "))
    told = " ".join(text for at, text in sorted(chosen.items()) if at < len(sentences))
    shown = [text for at, text in sorted(chosen.items()) if at >= len(sentences)]
    captured = quoted(LINE_END.join(text for text in shown if text not in commands))
    if title.rstrip("…”") in harmless(told, chars=len(told) + 1):
        title = ""
    body = LINE_END.join(filter(None, [told, *(text for text in shown if text in commands), captured]))
    return harmless(": ".join(filter(None, [title, body])), chars=chars + TITLE_CHARS)


def reported(
    title: str, report: str, weights: Mapping[str, float], *, chars: int, known: Collection[str] = ()
) -> str:
    """Return a report's best matching statements in a harmless line of at most `chars`, else its title.

    `weights` are the idf of the prompt's lemmas, `known` marks of statements that are not repeated.
    """
    stated = [each for each in statements(report) if mark(each.text) not in known]
    has = [set(lemmas(each.text)) & weights.keys() for each in stated]
    called = [names(each.says) for each in stated]
    chosen: list[int] = []
    answered, named, heads = set[str](), set[str](), {""}

    def cost(at: int) -> int:
        head = 0 if stated[at].head in heads else len(stated[at].head) + len(": ")
        return len(stated[at].says) + head + len("; ")

    def worth(at: int) -> float:
        evidence = sum(weights[name] * (REPEATED if name in answered else 1.0) for name in sorted(has[at]))
        new = min(_NAMES, len(called[at] - named))
        return (evidence + NAMED * new) / sqrt(_SHORT + cost(at))

    room, left = chars, list(range(len(stated)))
    while left:
        at = max(left, key=worth)
        left.remove(at)
        if chosen and (cost(at) > room or not worth(at)):
            continue
        room -= cost(at)
        chosen.append(at)
        answered |= has[at]
        named |= called[at]
        heads.add(stated[at].head)
    told = joined((stated[at].head, stated[at].says) for at in sorted(chosen))
    return harmless(told or title, chars=chars)


def lemmas(text: str) -> list[str]:
    """Return the lemmas of a text, in order."""
    return [lemma(word) for word in words(text)]


def _chosen(
    texts: Sequence[str], sentences: int, title: set[str], weights: Mapping[str, float], room: int
) -> dict[int, str]:
    """Return the chosen texts by index: those that match first, then, after these, sentences before lines."""
    says = [set(lemmas(text)) for text in texts]
    chosen: dict[int, str] = {}
    told, answered = set(title), set[str]()

    def worth(at: int) -> float:
        is_line = at >= sentences
        gain = sum(
            weights[name] * (1.0 if name not in told else REPEATED)
            for name in sorted(says[at] & weights.keys())
            if not (is_line and name in answered)
        )
        share = 1.0 if not is_line else DETAIL if not texts[at].startswith(_REMOVED) else REMOVED
        return gain * share / sqrt(_SHORT + len(texts[at]))

    def last(at: int) -> tuple[bool, bool, int, int]:
        above = max((place for place in chosen if place < at), default=-len(texts))
        return at >= sentences, texts[at].startswith(_REMOVED), at - above, at

    left = list(range(len(texts)))
    while left:
        at = max(left, key=worth)
        if worth(at) <= 0:
            at = min(left, key=last)
        left = [other for other in left if other != at and (len(texts[other]) <= room or not chosen)]
        is_said = len(says[at] & told) >= SAID * len(says[at])
        if is_said and (at < sentences or not says[at] & weights.keys() - answered):
            continue
        if len(texts[at]) <= room:
            chosen[at] = texts[at]
        elif not chosen:
            chosen[at] = _piece(texts[at], says[at] & weights.keys(), room)
        else:
            continue
        told |= says[at]
        answered |= says[at]
        room -= len(chosen[at]) + len(LINE_END)
    return chosen


def _piece(text: str, names: set[str], chars: int) -> str:
    """Return the beginning of a long text, or a piece from shortly before its first matching word."""
    places = (match.start() for match in re.finditer(r"\w+", text) if lemma(match[0].lower()) in names)
    first = next(chain(places, [0]))
    start = max(0, min(first - _BEFORE, len(text) - chars)) if first > chars // 2 else 0
    if start:
        start = text.find(" ", start) + 1
        _, piece = pieces([text[:start], text[start:]])
        return harmless(f"…{piece}", chars=chars)
    return harmless(text, chars=chars)

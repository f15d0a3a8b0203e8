"""Cut out of a row what answers a prompt: whole sentences and lines with most of its evidence. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from math import sqrt

from claude_mem_lite.context.text import harmless
from claude_mem_lite.distill.local.conversation import without_reason
from claude_mem_lite.distill.orders import LINE_END
from claude_mem_lite.distill.statements import mark, names, statements
from claude_mem_lite.distill.thread import without_repeated_heads
from claude_mem_lite.quoting import pieces, quoted
from claude_mem_lite.search.words import lemma, words
from claude_mem_lite.text import unique

TITLE_CHARS = 140
# More of a row is not looked at.
MOST_CHARS, MOST_LINES = 4_000, 80
# What the title or a sentence taken before has said counts this much; a line of the detail; one that is gone.
REPEATED, DETAIL, REMOVED = 0.3, 0.5, 0.25
# Of a sentence that says something new, less than this share of the words has been told.
SAID = 0.7
# Evidence is worth more said shortly: it counts by the root of the length, of which so much is for nothing.
_SHORT = 60
# What a new name of code is worth in a report, in nats, and of how many in one sentence.
NAMED, _NAMES = 1.6, 2
# A piece cut out of what is too long begins so many characters before the first word that counts.
_BEFORE = 40

_REMOVED = "- "  # in the detail of an edit
_ENDS = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]”))\s+(?=[^a-z\s])|\n+")
# What was run, which the title tells in words.
_COMMAND = re.compile(r"(?:Ran|[^`]{1,80}:) `[^`]*(?:`\W*)?")
# Half sentences and what local summaries list between semicolons, but for those in parentheses.
_ITEMS = re.compile(r"(?<=;)\s+(?![^(]{0,200}\))")
# Of local summaries: how much of a file was read or changed.
_COUNT = re.compile(r"(?:Created|Edited|Read|Rewrote) [^:]+(?: \([^()]*\)\.|: (?:lines )?\d[^.]*\.?)")


def excerpt(title: str, summary: str, detail: str, weights: Mapping[str, float], *, chars: int) -> str:
    """Return "Title: what answers" in a harmless line of about `chars`; `weights` are the idf of lemmas.

    The detail is captured text: what is told of it is quoted.
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
    """Return what a report states on a prompt in a harmless line of at most `chars`; its title without any.

    `weights` are the idf of lemmas, `known` marks of statements that need not be told again.
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
    told = without_repeated_heads((stated[at].head, stated[at].says) for at in sorted(chosen))
    joined = "; ".join([*(text.rstrip(".") for text in told[:-1]), *told[-1:]])
    return harmless(joined or title, chars=chars)


def lemmas(text: str) -> list[str]:
    """Return the lemmas of a text, in order."""
    return [lemma(word) for word in words(text)]


def _chosen(
    texts: Sequence[str], sentences: int, title: set[str], weights: Mapping[str, float], room: int
) -> dict[int, str]:
    """Return the texts to tell by place: with evidence, then sentences, then lines, from below those on."""
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
    """Return a long text's beginning, or a piece of it from shortly before its first word that counts."""
    places = (match.start() for match in re.finditer(r"\w+", text) if lemma(match[0].lower()) in names)
    first = next(chain(places, [0]))
    start = max(0, min(first - _BEFORE, len(text) - chars)) if first > chars // 2 else 0
    if start:
        start = text.find(" ", start) + 1
        _, piece = pieces([text[:start], text[start:]])
        return harmless(f"…{piece}", chars=chars)
    return harmless(text, chars=chars)

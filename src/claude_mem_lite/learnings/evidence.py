"""What a sentence of the user's gives evidence of: a rule, something that may become one, or nothing. Pure.

A task says what to do now and names it; a rule says how things are done. No words tell the two apart for
sure, so signs are counted: a form that binds makes a rule, of all other signs it takes two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_mem_lite.distill import phrases
from claude_mem_lite.distill.sameness import terms
from claude_mem_lite.learnings.typed import sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_mem_lite.learnings.typed import Sentence

CONTENT_CHARS = 300
MAX_STATED = 20
ACTIVE, CANDIDATE = 2, 1  # signs

_MOST_WORDS, _MOST_LEADS = 30, 3
_FIRST_WORDS = 3
_FEWEST_TERMS = 2  # of what speaks of more than the moment
_CHARS_A_WORD = 3  # of a script without spaces
_WORD = re.compile(r"[^\s,:;.!?]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# A figure, a quotation, an address, a call: one thing.
_ONE_THING = re.compile(r"\d|[\"\u201c\u201d«»]|https?:|\w\(|#")
# Names of code, files and products.
_NAME = re.compile(
    r"`[^`\n]+`|[\w.-]*/[\w./-]+|\w+\.[a-z]{1,4}\b|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+[_-]\w[\w-]*"
)
_CHECK = re.compile(r"[A-Z]{1,4}\d{2,}\b")  # "E501 line too long" under "these rules fail:"


@dataclass(frozen=True, slots=True)
class Stated:
    """What the user has said in their own words, at most 300 characters, and how many signs make it a rule.

    `is_how` says that it tells how things are done, which with being said again makes a rule of it.
    """

    content: str
    signs: int
    is_how: bool


def stated(text: str, *, is_refusal: bool = False, is_known: Callable[[str], bool] = bool) -> list[Stated]:
    """Return what a prompt says that may be worth keeping, in its order; [] for what the client wrote itself.

    With `is_refusal` it was said while a tool call or a plan was turned down. `is_known` tells whether an
    earlier session knows a name: what only this session knows is the object of a task.
    """
    found: dict[str, Stated] = {}
    for sentence in sentences(text):
        content = without_lead(f"{sentence.prefix}{sentence.text}")
        if sentence.asks or _CHECK.match(content) or not is_short(content) or _is_for_once(content):
            continue
        signs = _signs(content, sentence, is_refusal=is_refusal, is_known=is_known)
        is_how = phrases.MANNER.search(content) is not None and not (
            phrases.HEDGES.match(content) or _ONE_THING.search(content)
        )
        if len(found) < MAX_STATED and (signs or is_how):
            found.setdefault(content.casefold(), Stated(content, signs, is_how))
    return list(found.values())


def without_lead(text: str) -> str:
    """Return a sentence without the words that lead to it."""
    text = " ".join(text.split()).strip(" ,;:-")
    for _ in range(_MOST_LEADS):
        lead = phrases.LEAD.match(text)
        text = text[lead.end() :].strip(" ,;:-") if lead else text
    return text


def is_short(content: str) -> bool:
    """Tell whether a text is one that people remember, and has a word to go on."""
    size = len(_WORD.findall(content)) + len(_UNSPACED.findall(content)) // _CHARS_A_WORD
    return size <= _MOST_WORDS and len(content) <= CONTENT_CHARS and len(terms(content)) > 0


def _signs(content: str, sentence: Sentence, *, is_refusal: bool, is_known: Callable[[str], bool]) -> int:
    if sentence.is_rule or _binds(content):
        return ACTIVE
    denies = phrases.DENIES.match(content)
    rest = content[denies.end() :] if denies else content
    is_denial = (denies is not None and len(terms(rest)) > 0) or phrases.DENIED.match(content) is not None
    ought = phrases.OUGHT.search(content)
    is_here = phrases.IN_PROJECT.search(rest) is not None
    strong = _is_ours(content) or phrases.SAID_BEFORE.match(content) is not None
    signs = is_refusal + is_denial + is_here + 2 * strong + (ought is not None)
    if not signs:
        return 0
    rest = phrases.IN_PROJECT.sub("", rest.replace(ought[0], "", 1) if ought else rest)
    signs += phrases.MANNER.search(rest) is not None
    return min(ACTIVE if _is_general(rest, is_known) else CANDIDATE, signs)


def _is_general(content: str, is_known: Callable[[str], bool]) -> bool:
    """Tell whether a text speaks of things that later sessions will know, not of what lies before both."""
    if phrases.POINTS.search(content) or phrases.HEDGES.match(content) or len(terms(content)) < _FEWEST_TERMS:
        return False
    return not _ONE_THING.search(content) and all(is_known(name) for name in _NAME.findall(content))


def _binds(content: str) -> bool:
    if phrases.FROM_NOW_ON.search(content):
        return True
    if phrases.TOLD_OF.match(content) or phrases.HEDGES.match(content):
        return False
    return any(phrases.ALWAYS.match(content, at) for at in _first_words(content))


def _first_words(content: str) -> Iterator[int]:
    for number, word in enumerate(_WORD.finditer(content)):
        if number == _FIRST_WORDS:
            break
        yield from range(word.start(), word.end() if _UNSPACED.match(word[0]) else word.start() + 1)


def _is_ours(content: str) -> bool:
    return phrases.OURS.search(content) is not None or phrases.ON_PURPOSE.search(content) is not None


def _is_for_once(content: str) -> bool:
    rest = phrases.FROM_NOW_ON.sub("", content)
    is_of_now = phrases.NOW.search(rest) is not None and not _is_ours(content)
    return is_of_now or phrases.ONCE.search(rest) is not None

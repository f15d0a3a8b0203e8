"""What a prompt states explicitly as worth knowing in later sessions, told by its form alone. Pure.

The forms stand in `forms`; one that also serves for a question, a report of a fault or an order for one time
gives nothing. What two statements say of each other stands in `relations`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from claude_mem_lite.distill.relations import terms
from claude_mem_lite.learnings import forms
from claude_mem_lite.learnings.typed import is_question, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.learnings.forms import Category
    from claude_mem_lite.learnings.typed import Sentence

CONTENT_CHARS = 300
MAX_STATEMENTS = 20
_FEWEST_ITEM_WORDS = 2
_MOST_SUBJECTS = 12
_MOST_LEADS = 6
_LONGEST_READ = 1_200  # of a sentence; a longer one is no statement


@dataclass(frozen=True)
class Statement:
    """One thing that the user wants known.

    `content` is at most 300 characters in the user's words; `subjects` are stems and names of code, the ones
    that two statements on the same matter share; `replaces` is what is no longer so, "" where that is
    not said.
    """

    content: str
    category: Category
    subjects: tuple[str, ...]
    is_negative: bool
    replaces: str


def statements(prompt: str) -> list[Statement]:
    """Return what a prompt states for good, in its order, at most 20; [] for what the client wrote itself."""
    found: dict[str, Statement] = {}
    before = ""
    for sentence in sentences(prompt):
        told = sentence
        if not sentence.is_first and forms.DENIAL.fullmatch(before):
            told = replace(sentence, text=f"no, {sentence.text}")
        before = sentence.text
        for content in _stated(told):
            fitting = _fit(content)
            if fitting and len(found) < MAX_STATEMENTS:
                found.setdefault(fitting.casefold(), _statement(fitting))
    return list(found.values())


def _statement(content: str) -> Statement:
    return Statement(
        content,
        category(content),
        tuple(terms(content))[:_MOST_SUBJECTS],
        _is_negative(content),
        _replaced(content),
    )


def category(content: str) -> Category:
    """Return the kind of learning that the words of a statement point to; a convention where none does."""
    told = content.partition(", like ")[0]
    return next((name for name, pattern in forms.CATEGORIES if pattern.search(told)), "convention")


def _stated(sentence: Sentence) -> Iterator[str]:
    text = sentence.text[:_LONGEST_READ]
    if len(sentence.text) > _LONGEST_READ:
        return
    signs = forms.SIGNS.search(text)
    if signs and signs["a"].casefold() != signs["b"].casefold() and not (sentence.asks or sentence.is_rule):
        yield signs[0]
    joined = forms.JOINED_RULE.search(text)
    for part in (text[: joined.start()], text[joined.end() :]) if joined else (text,):
        plain = _without_lead(part)
        if plain and not sentence.asks and not is_question(plain) and not forms.HEDGED.match(plain):
            yield from _of_clause(plain, sentence)


def _of_clause(text: str, sentence: Sentence) -> Iterator[str]:
    if sentence.is_rule:
        is_told = len((sentence.prefix + text).split()) >= _FEWEST_ITEM_WORDS
        if is_told and not forms.ONCE.search(text) and not forms.CODE_OF_A_CHECK.match(text):
            yield sentence.prefix + text
        return
    once = forms.ONCE.search(text) is not None
    for pattern, is_sound in _LEADS:
        if led := pattern.match(text):
            rest = _without_lead(led["rest"])
            if not once and is_sound(led["lead"].casefold(), rest):
                yield rest
            return
    if once:
        return
    trailing = forms.TRAILING.search(text)
    if trailing and "please" not in trailing[0].casefold().split(","):
        rest = f"{text[: trailing.start()]}{text[trailing.end() :]}"
        if len(trailing[0].split()) > 1 and not forms.FAULT.search(rest):
            yield rest
            return
    if _is_standing_order(text, sentence):
        yield text


def _is_standing_order(text: str, sentence: Sentence) -> bool:
    if any(order.match(text) for order in forms.ORDERS):
        return not forms.NOW.search(text)
    if forms.BANS.match(text):
        return not forms.NOW.search(text) and (sentence.is_first or bool(forms.GENERAL.search(text)))
    if forms.NONE.match(text) or forms.WHENEVER.match(text) or forms.PREFERENCE.match(text):
        return not forms.FAULT.search(text)
    contrasted = forms.CONTRASTED.match(text)
    if contrasted and forms.CONTRAST.search(contrasted["rest"]):
        return not forms.FAULT.search(text)
    return any(own.match(text) and not forms.FAULT.search(text.partition(",")[0]) for own in forms.OWN)


def _sound_memory(lead: str, rest: str) -> bool:
    """Tell whether a thing is to be remembered, not an errand; without "that" only what reads as a fact."""
    if is_question(rest) or len(rest.split()) < _FEWEST_ITEM_WORDS or forms.NOT_A_FACT.match(rest):
        return False
    if any(order.match(rest) for order in forms.ORDERS):
        return True
    is_marked = lead.rstrip().endswith(("that", ":", ",", "-", "–", "—"))
    return bool((forms.THING if is_marked else forms.FACT).match(rest))


def _sound_standing(lead: str, rest: str) -> bool:
    if forms.UNSURE_FUTURE.match(rest) or forms.FAULT.search(rest):
        return False
    return not lead.startswith(("in ", "for ")) or bool(forms.FUTURE_ORDER.match(rest))


def _sound_correction(lead: str, rest: str) -> bool:
    if lead.startswith("actually") and not forms.CONTRAST.search(rest):
        return False
    return (
        bool(forms.FACT.match(rest) or (forms.THING.match(rest) and forms.CONTRAST.search(rest)))
        and not forms.FAULT.search(rest)
        and not forms.REPAIR.search(rest)
        and not re.match(r"(?:i|you|let's|just|please|use|try|take|do|don't)\b", rest, re.IGNORECASE)
    )


def _sound_rule(lead: str, rest: str) -> bool:
    del lead
    return not forms.FAULT.search(rest) and not forms.UNSURE_FUTURE.match(rest) and len(rest.split()) > 1


_LEADS = (
    (forms.REMEMBER, _sound_memory),
    (forms.STANDING, _sound_standing),
    (forms.CORRECTION, _sound_correction),
    (forms.RULE_LEAD, _sound_rule),
)


def _without_lead(text: str) -> str:
    for _ in range(_MOST_LEADS):
        lead = forms.LEAD.match(text)
        if not lead:
            break
        text = text[lead.end() :]
    return text.strip()


def _fit(content: str) -> str:
    """Return the content trimmed and cut to its limit between clauses; "" when nothing can be told of it."""
    content = " ".join(content.split()).strip(" ,;:-")
    if len(content) > CONTENT_CHARS:
        cut = max(content.rfind(mark, 0, CONTENT_CHARS) for mark in (", ", "; ", ". ", " (", ": "))
        content = content[:cut] if cut > 0 else ""
    return content if terms(content) else ""


def _is_negative(content: str) -> bool:
    negative, positive = forms.NEGATIVE.search(content), forms.POSITIVE.search(content)
    return negative is not None and (positive is None or negative.start() <= positive.start())


def _replaced(content: str) -> str:
    for pattern in forms.REPLACED:
        if replaced := pattern.search(content):
            return forms.OLD_END.sub("", replaced["old"]).strip(" .`\"'")
    return ""

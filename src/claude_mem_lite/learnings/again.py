"""Finds what the user has said in another session before, by the rare words of both sentences. Pure.

A wish that comes back in other words is a rule, where one of the two says how a thing is done. What recurs
word for word at length was pasted, and what is said often, such as "commit and push", shares no rare words.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_mem_lite.distill.phrases import NOT
from claude_mem_lite.distill.sameness import tells_of_change, terms
from claude_mem_lite.learnings.evidence import is_how, is_short, without_lead
from claude_mem_lite.learnings.typed import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Of a wish, by rarity, what the other sentence says as well; and how rare that is (1: one session says so).
_SHARE, _RARE = 0.7, 1.3
_FEWEST_SHARED = 2
_MOST_TERMS = 14
_LONGEST_RETYPED = 6  # words


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a session; `is_how`: it tells how things are done."""

    session_id: str
    at: str
    text: str
    terms: frozenset[str]
    is_how: bool


class Earlier:
    """What the user said in other sessions of a project."""

    def __init__(self, prompts: Iterable[tuple[str, str, str]]) -> None:
        """Take prompts in: session, time (UTC text), text."""
        self._sentences: list[Sentence] = []
        self._by_term: defaultdict[str, list[int]] = defaultdict(list)
        sessions: defaultdict[str, set[str]] = defaultdict(set)
        ids = set()
        for session_id, at, prompt in prompts:
            ids.add(session_id)
            for sentence in heard(session_id, at, prompt):
                for term in sentence.terms:
                    self._by_term[term].append(len(self._sentences))
                    sessions[term].add(session_id)
                self._sentences.append(sentence)
        self._sessions = Counter({term: len(found) for term, found in sessions.items()})
        self._all = len(ids)

    def wishes(self, now: Sentence) -> Iterator[tuple[Sentence, Sentence]]:
        """Yield the wishes that a sentence shares with earlier ones, each with where it was said again.

        A wish is the sentence that says how, the earlier one where both do.
        """
        for other in () if tells_of_change(now.text) else self._near(now):
            wish, again = (other, now) if other.is_how else (now, other)
            is_other = _is_pasted(wish, again) or _is_turned(wish, again)
            if wish.is_how and not is_other and self._is_said_again(wish, again):
                yield wish, again

    def _near(self, now: Sentence) -> Iterator[Sentence]:
        shared = Counter(at for term in now.terms for at in self._by_term.get(term, ()))
        for at, count in shared.items():
            if count >= _FEWEST_SHARED and self._sentences[at].session_id != now.session_id:
                yield self._sentences[at]

    def _is_said_again(self, wish: Sentence, again: Sentence) -> bool:
        rare = self._rarity(wish.terms & again.terms)
        return rare >= _RARE and rare >= _SHARE * self._rarity(wish.terms)

    def _rarity(self, found: Iterable[str]) -> float:
        """Return how rare some terms are in all: each 1 at one session, near 0 where all say so."""
        sessions = self._all + 1
        return sum(math.log1p(sessions / (self._sessions[term] + 1)) / math.log1p(sessions) for term in found)


def heard(session_id: str, at: str, prompt: str) -> Iterator[Sentence]:
    """Yield the sentences of a prompt that can be held against others."""
    for sentence in sentences(prompt):
        found = frozenset(terms(sentence.text))
        if is_short(sentence.text) and _FEWEST_SHARED <= len(found) <= _MOST_TERMS:
            text = without_lead(sentence.text)
            yield Sentence(session_id, at, text, found, not sentence.asks and is_how(text))


def _is_turned(one: Sentence, other: Sentence) -> bool:
    """Tell whether only one of two sentences turns something down: they share words, not a wish."""
    return (NOT.search(one.text) is None) != (NOT.search(other.text) is None)


def _is_pasted(one: Sentence, other: Sentence) -> bool:
    return len(one.text.split()) > _LONGEST_RETYPED and one.text.casefold() == other.text.casefold()

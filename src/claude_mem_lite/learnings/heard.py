"""Collect the user's words in a session (prompts, refusals, answers, CLAUDE.md), and find repeated wishes.

The client sends no hook event for a rejected call: the user's words on it are only in the transcript. A wish
repeated in another session in other words is a rule if one of the two says how things are done. Shared rare
words show it: a long text repeated word for word was pasted, and "commit and push" has no rare words.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.distill.phrases import NOT
from claude_mem_lite.distill.sameness import tells_of_change, terms
from claude_mem_lite.distill.typed import is_how, is_short, sentences, without_lead
from claude_mem_lite.importers import lines, responses
from claude_mem_lite.learnings.evidence import stated
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.models import Session

# Source: transcripts of the clients 2.0.70 to 2.1.330.
_TURNED_DOWN = "The user doesn't want to proceed with this tool use"
_WORDS = re.compile(r"(?:the user said|following reason for the rejection):\s*(?P<said>.+)", re.DOTALL)
_CLIENTS = "The user wants to clarify these questions"
_LOADED = re.compile(
    r"(?:CLAUDE|AGENTS|GEMINI)(?:\.local)?\.md"
)  # instructions that clients load by themselves
# Part of a wish's rarity that the other sentence must share; least rarity shared (1: a term of one session).
_SHARE, _RARE = 0.7, 1.3
_FEWEST_SHARED = 2
_MOST_TERMS = 14
_LONGEST_RETYPED = 6  # words; a longer sentence repeated word for word was pasted
_MOST_ADDED = 12  # lines of an edit; more are a document


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the user, with their time (UTC text) and the id of their observation ("" for none)."""

    text: str
    at: str
    is_refusal: bool = False
    observation_id: str = ""


def said_in(session: Session) -> list[Said]:
    """Return the user's words in a session since it was last learned from, and all its refusals."""
    found = []
    for row, payload in learning_rows.events_after(session.id, session.learned_pk, ("UserPromptSubmit",)):
        found.append(Said(_text(payload.get("prompt")), row.created_at, observation_id=row.id))
    for row, payload in learning_rows.events_after(session.id, session.learned_pk, ("AskUserQuestion",)):
        found += [Said(text, row.created_at, observation_id=row.id) for text in _own_answers(payload)]
    return [*found, *_refusals(learning_rows.transcript_of(session.id), session.id)]


def added_to_instructions(session: Session) -> Iterator[Said]:
    """Yield the rules that edits added to instruction files such as CLAUDE.md at the user's request."""
    prompts = learning_rows.events_after(session.id, 0, ("UserPromptSubmit",))
    wished = {name for _, payload in prompts for name in _LOADED.findall(str(payload.get("prompt")))}
    edits = learning_rows.events_after(session.id, session.learned_pk, ("Edit",)) if wished else ()
    for row, payload in edits:
        given = payload.get("tool_input")
        if not isinstance(given, dict) or os.path.basename(_text(given.get("file_path"))) not in wished:
            continue
        before = set(_text(given.get("old_string")).splitlines())
        added = [line for line in _text(given.get("new_string")).splitlines() if line not in before]
        if len(added) <= _MOST_ADDED:
            for found in (each for line in added for each in stated(line.replace("**", ""))):
                yield Said(found.content, row.created_at, observation_id=row.id)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a session; `is_how` is whether it says how things are done."""

    session_id: str
    at: str
    text: str
    terms: frozenset[str]
    is_how: bool


class Earlier:
    """The user's sentences in other sessions of a project."""

    def __init__(self, prompts: Iterable[tuple[str, str, str]]) -> None:
        """Read prompts: (session id, time as UTC text, text)."""
        said = [(session_id, list(comparable(session_id, at, prompt))) for session_id, at, prompt in prompts]
        self._sentences = [sentence for _, sentences_of in said for sentence in sentences_of]
        pairs = {(term, sentence.session_id) for sentence in self._sentences for term in sentence.terms}
        self._sessions = Counter(term for term, _ in pairs)
        self._all = len({session_id for session_id, _ in said})

    def wishes(self, now: Sentence) -> Iterator[tuple[Sentence, Sentence]]:
        """Yield (wish, repetition) for each earlier sentence with which a sentence shares a wish.

        The wish is the sentence that says how things are done; the earlier one if both do.
        """
        for other in () if tells_of_change(now.text) else self._sentences:
            if other.session_id == now.session_id or len(now.terms & other.terms) < _FEWEST_SHARED:
                continue
            wish, again = (other, now) if other.is_how else (now, other)
            is_other = _is_pasted(wish, again) or _is_turned(wish, again)
            if wish.is_how and not is_other and self._is_said_again(wish, again):
                yield wish, again

    def _is_said_again(self, wish: Sentence, again: Sentence) -> bool:
        rare = self._rarity(wish.terms & again.terms)
        return rare >= _RARE and rare >= _SHARE * self._rarity(wish.terms)

    def _rarity(self, found: Iterable[str]) -> float:
        """Return the sum of the terms' rarities: 1 for a term of one session, near 0 for one of all."""
        sessions = self._all + 1
        return sum(math.log1p(sessions / (self._sessions[term] + 1)) / math.log1p(sessions) for term in found)


def comparable(session_id: str, at: str, prompt: str) -> Iterator[Sentence]:
    """Yield the sentences of a prompt that can be compared with others."""
    for sentence in sentences(prompt):
        found = frozenset(terms(sentence.text))
        if is_short(sentence.text) and _FEWEST_SHARED <= len(found) <= _MOST_TERMS:
            text = without_lead(sentence.text)
            yield Sentence(session_id, at, text, found, not sentence.asks and is_how(text))


def _is_turned(one: Sentence, other: Sentence) -> bool:
    """Tell whether only one of two sentences is negated: they then share words, but not a wish."""
    return (NOT.search(one.text) is None) != (NOT.search(other.text) is None)


def _is_pasted(one: Sentence, other: Sentence) -> bool:
    return len(one.text.split()) > _LONGEST_RETYPED and one.text.casefold() == other.text.casefold()


def _own_answers(payload: dict[str, Any]) -> Iterator[str]:
    """Yield the answers that the user typed instead of choosing one that the assistant offered."""
    given, response = payload.get("tool_input"), payload.get("tool_response")
    answers = response.get("answers") if isinstance(response, dict) else None
    offered = json.dumps(given.get("questions") if isinstance(given, dict) else None, ensure_ascii=False)
    for answer in answers.values() if isinstance(answers, dict) else ():
        if isinstance(answer, str) and json.dumps(answer, ensure_ascii=False)[1:-1] not in offered:
            yield answer


def _refusals(path: str, session_id: str) -> list[Said]:
    """Return the user's words on rejected calls, from a session's transcript."""
    found: list[Said] = []
    try:
        for line in lines.read(path, Counter(), now=inbox.utc_now()) if path else ():
            said = line.said
            is_own = said.get("sessionId", session_id) == session_id and not said.get("isSidechain")
            message = said.get("message") if is_own and said["type"] == "user" else None
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else ():
                told = responses.text(block.get("content")) if isinstance(block, dict) else ""
                words = _WORDS.search(told) if told.startswith(_TURNED_DOWN) else None
                if words and not words["said"].startswith(_CLIENTS):
                    found.append(Said(words["said"].strip(), line.at, is_refusal=True))
    except OSError:  # the transcript is gone, or belongs to another user
        return found
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

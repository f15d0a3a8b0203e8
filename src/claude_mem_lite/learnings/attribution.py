"""Trace whose words a learning is based on: the user's, Claude's, or text from outside. Pure.

An attacker can write files, pages, outputs, others' reports and texts that the user pastes; Claude's reports
and edits may repeat these. So the first to say something counts, by the events as the client sent them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.disguises import reveal
from claude_mem_lite.distill.sameness import terms
from claude_mem_lite.distill.typed import sentences
from claude_mem_lite.text import clean
from claude_mem_lite.text import sentences as told_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from claude_mem_lite.distill.suspicion import Origin

# Part of a learning's terms that the user and Claude must have said in one turn.
SAID_SHARE = 0.6
# Part of the terms of a sentence by Claude that the user must have typed or Claude itself written to tools. A
# sentence that only repeats what was read has few of them.
GROUNDED_SHARE = 0.2
# A text is based on a passage from outside that has this part of its terms.
ECHO_SHARE = 0.5

_PASSAGE_PIECES, _PIECE_CHARS = 3, 400
_FEWEST_COPIED = 4
_PIECE = re.compile(r"[^\n.!?;]+(?:[.!?;](?!\s)[^\n.!?;]*)*")
_NAMES = re.compile(r"\w+(?:[_./:@#-]\w+)+|\w*[a-z][A-Z]\w*|\w+_\w+")
_NAME_PARTS = re.compile(r"[_\W]+|(?<=[a-z])(?=[A-Z])")
_QUOTED = re.compile(r"[\"“”«»](?:[^\s\"“”«»]+\s+){2,}[^\"“”«»]*[\"“”«»]")
_CITES = re.compile(
    r"\baccording to\b|\b(?:readme|docs?|documentation|page|article|issue|ticket|comment|guide|site|website"
    r"|post|file|output|log|mail|sub-?agent)s? (?:also )?(?:says?|states?|mentions?|claims?|recommends?"
    r"|suggests?|advises?|notes?|asks?|instructs?|reads?|tells?|wants?)\b",
    re.IGNORECASE,
)
_WHO = r"\b(?:users?|owners?|maintainers?|developers?|teams?|admins?|cto|boss|management)\b"
_WANTS = (
    r"\b(?:prefer|want|wish|say|said|ask|decid|decision|like|expect|requir|agree|told|tell|request|chose|choice"
    r"|insist|demand|convention|policy|approv|allow)\w*"
)
_CLAIMS = re.compile(rf"{_WHO}[^.;]{{0,40}}?{_WANTS}|{_WANTS}[^.;]{{0,40}}?{_WHO}", re.IGNORECASE)
# Terms that attribute a statement to somebody; they are not part of what is stated.
_OF_CLAIMS = frozenset(
    terms(
        "user users owner maintainer team prefers prefer wants want says said asks asked decided decision "
        "likes expects requires agreed told requested convention rule policy note remember project"
    )
)


@dataclass
class _Turn:
    """The terms that the user typed in a prompt, and those of Claude's sentences since, by event index."""

    typed: set[str] = field(default_factory=set)
    told: list[tuple[int, frozenset[str]]] = field(default_factory=list)


class Voices:
    """The speakers of a session and their words, from its events, oldest first."""

    def __init__(self, events: Iterable[dict[str, Any]], *, remembered: Iterable[str] = ()) -> None:
        """Read the events; `remembered` are texts from tools of earlier sessions that memory showed."""
        self._turns = [_Turn()]
        # The terms that Claude said or passed to tools, by event index.
        self._of_claude: defaultdict[int, set[str]] = defaultdict(set)
        self._acted: set[str] = set()  # terms of the user's typing, and of Claude's actions if not copied
        self._heard: list[tuple[int, frozenset[str]]] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._hear(-1, remembered)
        for at, event in enumerate(events):
            self._take(at, event)

    def origin(self, content: str) -> Origin:
        """Return "assistant" for text based on the user's and Claude's words, "tool" for any other.

        A claim that the user wants something must be based on the user's own words.
        """
        wanted = set(terms(content)) - _OF_CLAIMS or set(terms(content))
        is_claim = _CLAIMS.search(content) is not None
        said = max((wanted & self._said(turn, wanted, by_user=is_claim) for turn in self._turns), key=len)
        is_said = bool(wanted) and len(said) >= SAID_SHARE * len(wanted)
        return "assistant" if is_said and not self._is_echo(wanted, typed=said) else "tool"

    def have_touched(self, content: str) -> bool:
        """Tell whether the user's or Claude's own words and actions share a term with a text."""
        return bool(set(terms(content)) & self._acted)

    def _said(self, turn: _Turn, wanted: set[str], *, by_user: bool) -> set[str]:
        said = set(turn.typed)
        for at, sentence in [] if by_user else turn.told:
            is_grounded = len(sentence & self._acted) >= GROUNDED_SHARE * len(sentence)
            if sentence & wanted and is_grounded and not self._is_echo(sentence, typed=turn.typed, before=at):
                said |= sentence
        return said

    def _is_echo(
        self, text: AbstractSet[str], *, typed: AbstractSet[str] = frozenset(), before: int | None = None
    ) -> bool:
        """Tell whether a passage from outside had half of a text's terms first, some of them untyped."""
        # A passage with half of the terms has one of any half plus one: look up the rarest of them.
        rarest = sorted(text, key=lambda term: len(self._places.get(term, ())))[: len(text) // 2 + 1]
        for place in {place for term in rarest for place in self._places.get(term, ())}:
            at, passage = self._heard[place]
            shared = passage & text
            is_later = before is not None and at > before
            if len(shared) < ECHO_SHARE * len(text) or shared <= typed or is_later:
                continue
            if not any(shared <= own for said_at, own in self._of_claude.items() if said_at < at):
                return True
        return False

    def _is_own(self, line: set[str]) -> bool:
        """Tell whether a line of an edit is too short to be a copy, or was not said outside before."""
        return len(line) < _FEWEST_COPIED or not self._is_echo(line)

    def _take(self, at: int, event: dict[str, Any]) -> None:
        name, given = event.get("hook_event_name"), event.get("tool_input")
        is_claude = not event.get("agent_id")
        if name == "UserPromptSubmit":
            self._take_prompt(at, _text(event.get("prompt")))
        elif name == "Stop" and is_claude:
            self._tell(at, told_sentences(clean(_text(event.get("last_assistant_message")))))
        elif event.get("tool_name") in EDITORS and is_claude and isinstance(given, dict):
            edits = [given, *(each for each in _items(given.get("edits")) if isinstance(each, dict))]
            old = [_text(each.get("old_string")) for each in edits]
            response = event.get("tool_response")
            old += _strings(response.get("originalFile") if isinstance(response, dict) else None)
            self._hear(at, old)
            new = [_text(each.get(key)) for each in edits for key in ("new_string", "content", "new_source")]
            self._of_claude[at].update(*map(_terms, new))
            before = {line for text in old for line in text.splitlines()}
            lines = [line for text in new for line in text.splitlines() if line not in before]
            self._tell(at, lines)
            self._acted |= set().union(*filter(self._is_own, map(_terms, lines)))
        else:
            if is_claude:
                self._of_claude[at].update(*map(_terms, _strings(given)))
                self._acted |= self._of_claude[at]
            self._hear(at, _strings([event.get(key) for key in _FROM_OUTSIDE]))

    def _take_prompt(self, at: int, prompt: str) -> None:
        typed = sentences(prompt)
        asked = {term for each in typed for term in terms(_QUOTED.sub(" ", each.text))}
        self._turns.append(
            _Turn({term for each in typed if not each.asks for term in terms(_QUOTED.sub(" ", each.text))})
        )
        self._acted |= asked
        pasted = (piece for piece in _PIECE.findall(prompt) if not set(terms(piece)) <= asked)
        self._hear(at, ["\n".join(pasted)])

    def _tell(self, at: int, texts: Iterable[str]) -> None:
        for text in texts:
            if not text.rstrip().endswith("?") and not _CITES.search(text):
                self._turns[-1].told.append((at, frozenset(terms(text))))
                self._of_claude[at].update(terms(text))

    def _hear(self, at: int, texts: Iterable[str]) -> None:
        for passage in _passages(texts):
            for term in passage:
                self._places[term].append(len(self._heard))
            self._heard.append((at, passage))


_FROM_OUTSIDE = ("tool_response", "error", "last_assistant_message")


def _passages(texts: Iterable[str]) -> Iterator[frozenset[str]]:
    """Yield the terms of each run of three consecutive pieces of a text."""
    for text in texts:
        pieces = [_terms(piece) for piece in _pieces(text)]
        for start in range(max(1, len(pieces) - _PASSAGE_PIECES + 1)):
            yield frozenset().union(*pieces[start : start + _PASSAGE_PIECES])


def _pieces(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, long ones in parts."""
    for piece in _PIECE.findall(clean(text)):
        for start in range(0, len(piece), _PIECE_CHARS):
            if part := piece[start : start + _PIECE_CHARS].strip():
                yield part


def _terms(text: str) -> set[str]:
    """Return the terms of a text with its disguises undone, also those of its names' parts."""
    text = clean(text)
    seen = text if text.isascii() else f"{text} {reveal(text).letters}"
    return {
        *terms(seen),
        *(term for name in _NAMES.findall(seen) for term in terms(_NAME_PARTS.sub(" ", name))),
    }


def _strings(value: Any) -> list[str]:
    """Return all strings in a JSON value, at any depth."""
    found, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.append(each)
        left += [*each, *each.values()] if isinstance(each, dict) else _items(each)
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""Trace whose words a learning goes back to: the user's, Claude's, or what came from outside. Pure.

An attacker writes files, pages, outputs, what others report and what the user pastes; Claude's report and
Claude's edits may repeat it. So it counts who said a thing first, by the events as the client sent them.
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

# Of a learning's terms, the part that one turn of user and Claude must have said.
SAID_SHARE = 0.6
# Of the terms of a sentence in Claude's report, the part that the user typed or Claude itself wrote to tools:
# who only retells what was read says little of either.
GROUNDED_SHARE = 0.2
# A text of which one passage from outside has so large a part goes back to that passage.
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
# Who is said to have said it says nothing of what is said.
_OF_CLAIMS = frozenset(
    terms(
        "user users owner maintainer team prefers prefer wants want says said asks asked decided decision "
        "likes expects requires agreed told requested convention rule policy note remember project"
    )
)


@dataclass
class _Turn:
    """What the user typed in a prompt, and the sentences of Claude's that followed, with their time."""

    typed: set[str] = field(default_factory=set)
    told: list[tuple[int, frozenset[str]]] = field(default_factory=list)


class Voices:
    """The voices of a session, from its events in the order of time."""

    def __init__(self, events: Iterable[dict[str, Any]], *, remembered: Iterable[str] = ()) -> None:
        """Take in what happened; `remembered` is what memory told of earlier sessions' tools."""
        self._turns = [_Turn()]
        # What Claude said, and with what it called tools, by event.
        self._of_claude: defaultdict[int, set[str]] = defaultdict(set)
        self._acted: set[str] = set()  # what the user typed, and what Claude did and took from nowhere
        self._heard: list[tuple[int, frozenset[str]]] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._hear(-1, remembered)
        for at, event in enumerate(events):
            self._take(at, event)

    def origin(self, content: str) -> Origin:
        """Return "assistant" for what user and Claude said, "tool" for what goes back to anything else.

        Who says that the user wants something has to show it in the user's own words.
        """
        wanted = set(terms(content)) - _OF_CLAIMS or set(terms(content))
        is_claim = _CLAIMS.search(content) is not None
        said = max((wanted & self._said(turn, wanted, by_user=is_claim) for turn in self._turns), key=len)
        is_said = bool(wanted) and len(said) >= SAID_SHARE * len(wanted)
        return "assistant" if is_said and not self._is_echo(wanted, typed=said) else "tool"

    def have_touched(self, content: str) -> bool:
        """Tell whether the user or Claude had anything to do with what a text is about."""
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
        """Tell whether a passage from outside had half of a text first, more of it than was said."""
        # What has half of the terms has one of any half and one more: the rarest are looked up.
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
        """Tell whether a line of an edit says too little to be copied, or nobody has said it before."""
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
    """Yield the terms of each three pieces of a text that follow one another."""
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
    """Return the terms of a text from outside, of its names' parts as well, past its disguise."""
    text = clean(text)
    seen = text if text.isascii() else f"{text} {reveal(text).letters}"
    return {
        *terms(seen),
        *(term for name in _NAMES.findall(seen) for term in terms(_NAME_PARTS.sub(" ", name))),
    }


def _strings(value: Any) -> list[str]:
    """Return all the texts in a value of JSON, however deep."""
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

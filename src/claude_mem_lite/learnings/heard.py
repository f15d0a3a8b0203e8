"""Find where the user speaks in a session: prompts, refusals, answers, CLAUDE.md.

The client sends no hook for a call that was turned down: what was said then stands in its transcript alone.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.importers import lines, responses
from claude_mem_lite.learnings.evidence import stated
from claude_mem_lite.storage import learnings as learning_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.storage.models import Session

# Source: transcripts of the clients 2.0.70 to 2.1.330.
_TURNED_DOWN = "The user doesn't want to proceed with this tool use"
_WORDS = re.compile(r"(?:the user said|following reason for the rejection):\s*(?P<said>.+)", re.DOTALL)
_CLIENTS = "The user wants to clarify these questions"
_LOADED = re.compile(
    r"(?:CLAUDE|AGENTS|GEMINI)(?:\.local)?\.md"
)  # instructions that clients load by themselves
_MOST_ADDED = 12  # lines of an edit: more are a document


@dataclass(frozen=True, slots=True)
class Said:
    """One saying of the user's: when (UTC text), and of which observation ("" where there is none)."""

    text: str
    at: str
    is_refusal: bool = False
    observation_id: str = ""


def said_in(session: Session) -> list[Said]:
    """Return what the user has said in a session since it was asked for last, and all refusals."""
    found = []
    for row, payload in learning_rows.events_after(session.id, session.learned_pk, ("UserPromptSubmit",)):
        found.append(Said(_text(payload.get("prompt")), row.created_at, observation_id=row.id))
    for row, payload in learning_rows.events_after(session.id, session.learned_pk, ("AskUserQuestion",)):
        found += [Said(text, row.created_at, observation_id=row.id) for text in _own_answers(payload)]
    return [*found, *_refusals(learning_rows.transcript_of(session.id), session.id)]


def added_to_instructions(session: Session) -> Iterator[Said]:
    """Yield the lines that were added, by the user's wish, to the instructions that the client loads."""
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


def _own_answers(payload: dict[str, Any]) -> Iterator[str]:
    """Yield the answers that were typed, not chosen among what the assistant offered."""
    given, response = payload.get("tool_input"), payload.get("tool_response")
    answers = response.get("answers") if isinstance(response, dict) else None
    offered = json.dumps(given.get("questions") if isinstance(given, dict) else None, ensure_ascii=False)
    for answer in answers.values() if isinstance(answers, dict) else ():
        if isinstance(answer, str) and json.dumps(answer, ensure_ascii=False)[1:-1] not in offered:
            yield answer


def _refusals(path: str, session_id: str) -> list[Said]:
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
    except OSError:  # it is gone, or not ours
        return found
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

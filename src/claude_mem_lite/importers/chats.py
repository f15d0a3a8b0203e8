"""Read a chat file of Gemini CLI as the lines of a transcript that Claude Code would have written.

Gemini CLI writes a message again once its calls have ended. Measured with 0.61.0. Chats stored as a single
JSON document are not read.
"""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from claude_mem_lite.capture import own_file
from claude_mem_lite.capture.clients import gemini
from claude_mem_lite.distill.rules.fields import items, value
from claude_mem_lite.importers import lines
from claude_mem_lite.importers.lines import Line

_MOST_PATH_BYTES = 4_096
_ENDED = frozenset({"success", "error"})
_OWN_WORDS = ("<session_context>", "<hook_context>")
_SILENT = frozenset({"info", "warning", "error", "None"})


def read(path: str, left_out: Counter[str], *, now: str) -> Iterator[Line]:
    """Yield a chat's lines in Claude Code's form; times after `now` become `now`. Raises: OSError."""
    cwd = folder_of(path)
    told: set[str] = set()
    for line in lines.objects(path, left_out, now=now):
        kind = str(line.said.get("type"))
        found = _user(line.said) if kind == "user" else _model(line.said, told) if kind == "gemini" else ()
        if kind not in {"user", "gemini", *_SILENT}:
            left_out["unknown line"] += 1
        for said in found:
            yield line._replace(said={**said, "cwd": cwd})


def folder_of(path: str) -> str:
    """Return the project folder that a chat file belongs to, "" if unknown."""
    marker = os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root")
    return (own_file.text(marker, most_bytes=_MOST_PATH_BYTES) or "").strip()


def _user(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the user wrote, without what hooks and the client added to it."""
    shown = said.get("displayContent") or said.get("content")
    text = gemini.without_context(gemini.text_of(shown))
    if text and not text.startswith(_OWN_WORDS):
        yield {"type": "user", "uuid": str(said.get("id")), **lines.message(text)}


def _model(said: dict[str, Any], told: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the model's text and its finished calls, each once."""
    message_id = str(said.get("id"))
    text = gemini.text_of(said.get("content"))
    if text and message_id not in told:
        told.add(message_id)
        yield {"type": "assistant", "uuid": message_id, **lines.message(text, message_id)}
    for call in items(said, "toolCalls"):
        call_id = str(call.get("id")) if isinstance(call, dict) else ""
        if not call_id or call_id in told or str(call.get("status")) not in _ENDED:
            continue
        told.add(call_id)
        ended = gemini.tool_call(call.get("name"), call.get("args"), _response(call))
        yield from lines.of_call(call_id, ended)


def _response(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call's response as the client passes it to hooks."""
    answers = [value(part, "functionResponse", "response") for part in items(call, "result")]
    answer = next((each for each in answers if isinstance(each, dict)), {})
    shown = gemini.without_context(gemini.text_of(answer.get("output")))
    response: dict[str, Any] = {"llmContent": shown, "returnDisplay": call.get("resultDisplay")}
    if call.get("status") == "error":
        response["error"] = {"message": gemini.text_of(answer.get("error"))}
    return response

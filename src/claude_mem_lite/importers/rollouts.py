"""Read a rollout of Codex CLI as the lines of a transcript that Claude Code would have written.

A rollout records everything twice: as items that the client completed, in any mode, and as messages of the
model's API. The messages are used for clients that wrote no items. Measured with 0.169.0.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from claude_mem_lite.capture.clients import codex, patches
from claude_mem_lite.distill.rules.fields import items, value
from claude_mem_lite.importers import lines
from claude_mem_lite.importers.lines import Line

_SHELLS = frozenset({"shell", "shell_command", "exec_command", "local_shell", "container.exec"})
_EXIT = re.compile(r"(?:Exit code:|exited with code) (\d{1,9})")
_OUTPUT = re.compile(r"^Output:\n", re.MULTILINE)
_ANY = frozenset({"session_meta", "turn_context", "event_msg", "response_item", "compacted"})
_SILENT = frozenset({"world_state", "token_usage_record", "ghost_snapshot", "inter_agent_communication"})


def read(path: str, left_out: Counter[str], *, now: str) -> Iterator[Line]:
    """Yield a rollout's lines in Claude Code's form; times after `now` become `now`. Raises: OSError."""
    rollout = _Rollout()
    for line in lines.objects(path, left_out, now=now):
        kind = str(line.said.get("type"))
        payload = line.said.get("payload")
        if kind in _ANY and isinstance(payload, dict):
            for said in rollout.of(kind, payload):
                yield line._replace(said={**said, **rollout.place})
        elif kind not in _SILENT:
            left_out["unknown line"] += 1


class _Rollout:
    """State of reading one rollout: folder and branch, calls already yielded, calls that wait for output."""

    def __init__(self) -> None:
        self.place: dict[str, Any] = {}
        self._told: set[str] = set()
        self._calls: dict[str, tuple[str, Any]] = {}
        self._has_items = False

    def of(self, kind: str, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the lines that Claude Code would have written for one line of the rollout."""
        if kind in {"session_meta", "turn_context"}:
            told = {"cwd": payload.get("cwd"), "gitBranch": value(payload, "git", "branch")}
            self.place |= {name: text for name, text in told.items() if isinstance(text, str)}
        elif kind == "compacted":
            yield {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
            summary = codex.summary(payload.get("message"))
            yield {"type": "user", "isCompactSummary": True, **lines.message(summary)}
        elif kind == "response_item":
            yield from self._message(payload)
        elif isinstance(item := payload.get("item"), dict):
            yield from self._item(item) if payload.get("type") == "item_completed" else ()
        else:
            yield from self._event(payload)

    def _item(self, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the lines for an item that the client has completed."""
        kind, item_id = str(item.get("type")), str(item.get("id"))
        self._has_items = True
        if kind in {"UserMessage", "AgentMessage"}:
            yield _said("user" if kind == "UserMessage" else "assistant", _text(item.get("content")), item_id)
        elif kind == "CommandExecution":
            words = items(item, "command")
            given = {"command": words[-1] if words else ""}
            call = patches.command(given, item.get("aggregated_output"), item.get("exit_code"))
            yield from self._call(item_id, [{**call, "tool_use_id": item_id}])
        elif kind == "FileChange" and item.get("status") == "completed":
            changes = item.get("changes")
            found = (
                [_change(path, each) for path, each in changes.items()] if isinstance(changes, dict) else []
            )
            yield from self._call(item_id, codex.edits(found, "/", item_id, _unknown))

    def _event(self, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the end of a turn, and what user and model said if the client has written no items."""
        kind, message = str(payload.get("type")), payload.get("message")
        if kind == "task_complete":
            yield {"type": "system", "subtype": "turn_duration"}
        elif kind == "turn_aborted":
            yield _said("user", "[Request interrupted by user]", "")
        elif kind in {"user_message", "agent_message"} and not self._has_items and isinstance(message, str):
            yield _said("user" if kind == "user_message" else "assistant", message, "")

    def _message(self, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Note a call that the model makes; yield it with its output, unless an item has already told it."""
        call_id, kind = payload.get("call_id"), str(payload.get("type"))
        if not isinstance(call_id, str) or call_id in self._told:
            return
        if kind in {"function_call", "custom_tool_call"}:
            self._calls[call_id] = str(payload.get("name")), payload.get("arguments") or payload.get("input")
        elif kind.endswith("_output") and call_id in self._calls:
            name, given = self._calls.pop(call_id)
            output, exit_code = _answer(payload.get("output"))
            if name in _SHELLS:
                call = patches.command({"command": _command(given)}, output, exit_code)
                yield from self._call(call_id, [{**call, "tool_use_id": call_id}])
            elif name == "apply_patch" and exit_code == 0 and isinstance(given, str):
                folder = str(self.place.get("cwd") or "/")
                yield from self._call(
                    call_id, codex.edits(patches.parse(_patch(given)), folder, call_id, _unknown)
                )

    def _call(self, call_id: str, made: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield tool calls with their results."""
        self._told.add(call_id)
        for call in made:
            yield from lines.of_call(call["tool_use_id"], call)


def _said(who: str, text: str, message_id: str) -> dict[str, Any]:
    uuid = {"uuid": message_id} if message_id else {}
    return {"type": who, **uuid, **lines.message(text, message_id)}


def _text(content: Any) -> str:
    texts = [value(block, "text") for block in items(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _change(path: str, told: Any) -> patches.Change:
    """Return the change that an item describes for a file."""
    told = told if isinstance(told, dict) else {}
    diff, content, moved_to = told.get("unified_diff"), told.get("content"), told.get("move_path")
    if told.get("type") == "update" and isinstance(diff, str):
        return patches.of_diff(path, moved_to if isinstance(moved_to, str) else "", diff)
    is_new = told.get("type") == "add"
    return patches.of_file(path, content if isinstance(content, str) else "", is_new=is_new)


def _answer(output: Any) -> tuple[str, int | None]:
    """Return a call's output and its exit code, which is None if the model was not shown one."""
    try:
        told = json.loads(output)
        return str(told["output"]), int(told["metadata"]["exit_code"])
    except (TypeError, ValueError, KeyError, RecursionError):
        pass
    shown = output if isinstance(output, str) else _text(output)
    exit_code, begins = _EXIT.search(shown[:400]), _OUTPUT.search(shown[:400])
    return shown[begins.end() :] if begins else shown, int(exit_code[1]) if exit_code else None


def _command(arguments: Any) -> str:
    """Return the command in a shell call's JSON arguments, "" if there is none."""
    try:
        given = json.loads(arguments)
        words = given.get("cmd") or given.get("command")
    except (TypeError, ValueError, AttributeError, RecursionError):
        return ""
    return str(words[-1]) if isinstance(words, list) and words else words if isinstance(words, str) else ""


def _patch(given: str) -> str:
    """Return a patch as text; older clients wrapped it in JSON."""
    try:
        told = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return str(told.get("input", "")) if isinstance(told, dict) else given


def _unknown(_path: str) -> None:
    """Return no text: a file's current text may differ from its text at the time of the call."""

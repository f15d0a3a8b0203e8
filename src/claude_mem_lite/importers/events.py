"""Turn a transcript into the events that Claude Code's hooks would have sent.

Pure. What the client sends to no hook makes no event here either: its own agents' messages, calls that were
never made, its own commands. Source: the transcripts and the hook events of the same sessions, clients
2.1.50 to 2.1.329.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.capture.clients import CLAUDE_CODE
from claude_mem_lite.distill.rules.fields import items, value
from claude_mem_lite.importers import responses
from claude_mem_lite.importers.lines import Line

# The client wrote a user's line that begins so. Notices of finished tasks are not listed: hooks get them.
_FROM_THE_CLIENT = (
    "<local-command", "<bash-", "<ide_", "<system-reminder", "[Request interrupted",
    "Operation stopped by hook: ", "Caveat: ",
)  # fmt: skip
_OWN_WORDS = ("isMeta", "isVisibleInTranscriptOnly")
_SUMMARY = "isCompactSummary"
_COMMAND = re.compile(r"<command-name>\s*(/?[^<]*?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_GLOBAL_ID = "toolu_"  # the API's own ids are globally unique; a gateway's may not be


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its id, always the same; its time (UTC text); the offset in bytes where its line ends.

    `branch` is "" where the transcript does not name it.
    """

    id: str
    at: str
    end: int
    payload: dict[str, Any]
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Owner of a transcript: a session, or its sub-agent `agent_id`."""

    session_id: str
    path: str
    agent_id: str = ""
    agent_type: str = ""
    client: str = CLAUDE_CODE


@dataclass(slots=True)
class _Said:
    """The assistant's last text, with its message id and its line."""

    message_id: str
    text: str
    line: Line


@dataclass(slots=True)
class Reading:
    """State of turning one transcript into events, up to the time `until` (UTC text).

    `goes_on` says that there are later lines; the assistant's last text before them is held back. `read_to`
    is the offset in bytes before which every event has been yielded; `cwd` and `last_at` are folder and time
    of the current line.
    """

    origin: Origin
    until: str = "9"
    goes_on: bool = False
    read_to: int = 0
    last_at: str = ""
    cwd: str = ""
    _calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    _said: _Said | None = None
    _failed: _Said | None = None  # the client's report of a failed API request, if nothing followed it
    _command: Event | None = None
    _has_started: bool = False
    _files: responses.Files = field(default_factory=responses.Files)

    def events(self, lines: Iterable[Line]) -> Iterator[Event]:
        """Yield the events of a file's lines, in order."""
        for line in lines:
            if line.at > self.until:
                self.goes_on = True
                break
            self.read_to, self.last_at = line.end, line.at
            cwd = line.said.get("cwd")
            self.cwd = cwd if isinstance(cwd, str) and cwd else self.cwd
            if isinstance(line.said.get("forkedFrom"), dict) or not line.at or not self.cwd:
                continue  # copied from another session, or before the first time or folder
            if not self._has_started and not self.origin.agent_id:
                yield self._event("start", line, "SessionStart", source="startup")
            self._has_started = True
            yield from self._of(line)
        if self.goes_on and self._said:
            self.read_to = self._said.line.start
        else:
            yield from self._report()

    def _of(self, line: Line) -> Iterator[Event]:
        said = line.said
        kind = said["type"]  # one of `lines.TOLD`
        if kind == "assistant":
            yield from self._hear(line)
        elif kind == "attachment":
            if value(said, "attachment", "type") == "queued_command":
                yield from self._prompt(line, [responses.text(value(said, "attachment", "prompt"))])
        elif kind == "system":
            yield from self._note(line)
        elif said.get(_SUMMARY):
            if not said.get("isSidechain") and not self.origin.agent_id:
                text = responses.text(_content(said))
                yield self._event(f"summary\0{_uuid(line)}", line, "PostCompact", compact_summary=text)
        elif not any(map(said.get, _OWN_WORDS)):
            content = _content(said)
            results = [block for block in content if block.get("type") == "tool_result"]
            for block in results:
                yield from self._result(line, block, said.get("toolUseResult") if len(results) == 1 else None)
            texts = [responses.text([block]) for block in content if block.get("type") == "text"]
            if texts and not said.get("isSidechain") and not self.origin.agent_id:
                yield from self._prompt(line, texts)

    def _hear(self, line: Line) -> Iterator[Event]:
        """Note the assistant's text and tool calls; yield a pending command, which the model has answered."""
        if self._command:
            yield self._command
            self._command = None
        message_id = str(value(line.said, "message", "id"))
        for block in _content(line.said):
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self._calls[block["id"]] = (str(block.get("name") or ""), block.get("input"))
                self._said = None
            elif block.get("type") == "text" and isinstance(block.get("text"), str):
                before = self._said
                goes_on = before is not None and before.message_id == message_id
                text = f"{before.text}\n{block['text']}" if before and goes_on else block["text"]
                self._said = _Said(message_id, text, line)
        is_own = value(line.said, "message", "model") == "<synthetic>"
        has_failed = bool(line.said.get("isApiErrorMessage"))
        self._failed = self._said if has_failed else None
        if has_failed or is_own:
            self._said = None

    def _result(self, line: Line, block: dict[str, Any], response: Any) -> Iterator[Event]:
        call_id = block.get("tool_use_id")
        name, given = self._calls.pop(call_id, ("", None)) if isinstance(call_id, str) else ("", None)
        if not name:
            return
        call = {"tool_name": name, "tool_input": given}
        key = call_key(self.origin.session_id, str(call_id))
        if not block.get("is_error"):
            if not isinstance(response, dict | list):
                response = responses.rebuilt(name, given, block.get("content"), response)
            response = self._files.completed(name, given, response)
            yield self._event(key, line, "PostToolUse", **call, tool_response=response, tool_use_id=call_id)
            return
        error = responses.text(block.get("content"))
        if not responses.is_refusal(error, name):
            yield self._event(
                key, line, "PostToolUseFailure", **call, tool_use_id=call_id, error=error, is_interrupt=False
            )

    def _prompt(self, line: Line, texts: Sequence[str]) -> Iterator[Event]:
        """Yield the end of a turn and the prompt after it; hold a command back until the model answers.

        `texts` are the blocks of a line: a prompt typed while a tool ran is stored beside the tool's result.
        """
        text = _typed(texts)
        self._command = None
        if any(each.startswith("[Request interrupted") for each in texts):
            self._said = None
        command = _COMMAND.search(text) if text.startswith("<command-") else None
        if command:
            arguments = _ARGUMENTS.search(text)
            text = f"{command[1]} {arguments[1] if arguments else ''}".strip()
        if not text.strip():
            return
        yield from self._report()
        event = self._event(f"prompt\0{_uuid(line)}", line, "UserPromptSubmit", prompt=text)
        if command:
            self._command = event  # dropped if the model does not answer: the client ran the command itself
        else:
            yield event

    def _note(self, line: Line) -> Iterator[Event]:
        subtype = str(line.said.get("subtype"))
        if subtype in {"stop_hook_summary", "turn_duration"}:
            yield from self._report()
        elif subtype == "compact_boundary" and not self.origin.agent_id:
            uuid, trigger = _uuid(line), str(value(line.said, "compactMetadata", "trigger"))
            yield self._event(
                f"compact\0{uuid}", line, "PreCompact", trigger=trigger, custom_instructions=None
            )
            yield self._event(f"compacted\0{uuid}", line, "SessionStart", source="compact")

    def _report(self) -> Iterator[Event]:
        """Yield the end of a turn, if the assistant's last output was text or an API failure."""
        said, self._said = self._said, None
        failed, self._failed = self._failed, None
        if failed and not self.origin.agent_id and not failed.line.said.get("isSidechain"):
            what = failed.line.said.get("error")
            what = what if isinstance(what, str) else "unknown"
            key, words = f"stopfailure\0{_uuid(failed.line)}", failed.text
            yield self._event(key, failed.line, "StopFailure", error=what, last_assistant_message=words)
        if said is None or not said.text.strip():
            return
        if said.line.said.get("isSidechain") and not self.origin.agent_id:
            return  # old clients wrote sub-agents' text into the same file
        key, name = f"stop\0{_uuid(said.line)}", "SubagentStop" if self.origin.agent_id else "Stop"
        yield self._event(key, said.line, name, stop_hook_active=False, last_assistant_message=said.text)

    def _event(self, key: str, line: Line, event_name: str, **fields: Any) -> Event:
        origin = self.origin
        prompt_id, agent_id = line.said.get("promptId"), line.said.get("agentId") or origin.agent_id
        payload = {
            **({} if origin.client == CLAUDE_CODE else {"client": origin.client}),
            "session_id": origin.session_id,
            "transcript_path": origin.path,
            "cwd": self.cwd,
            **({"prompt_id": prompt_id} if prompt_id else {}),
            **({"agent_id": agent_id, "agent_type": origin.agent_type or "agent"} if agent_id else {}),
            "hook_event_name": event_name,
            **fields,
        }
        whole = key if key.startswith(_GLOBAL_ID) else f"{origin.session_id}\0{key}"
        return Event(digest(whole), line.at, line.end, payload, str(line.said.get("gitBranch") or ""))


def typed_meanwhile(said: dict[str, Any]) -> str:
    """Return the text that the user typed while the assistant worked, "" if the line has none.

    Newer clients call no hook for it. Source: anthropics/claude-code issue 31114.
    """
    if said["type"] == "attachment":
        is_queued = value(said, "attachment", "type") == "queued_command"
        return responses.text(value(said, "attachment", "prompt")) if is_queued else ""
    blocks = _content(said) if said["type"] == "user" and not any(map(said.get, _OWN_WORDS)) else []
    is_beside = any(block.get("type") == "tool_result" for block in blocks)
    return _typed([responses.text([block]) for block in blocks]) if is_beside else ""


def end_of(last: Event) -> Event:
    """Return the `SessionEnd` event of the session that `last` is the last event of."""
    names = ("client", "session_id", "transcript_path", "cwd")
    payload = {name: last.payload[name] for name in names if name in last.payload}
    payload |= {"hook_event_name": "SessionEnd", "reason": "other"}
    return Event(digest(f"{payload['session_id']}\0end\0{last.at}"), last.at, last.end, payload, last.branch)


def call_key(session_id: str, call_id: str) -> str:
    """Return a key that is unique to a tool call."""
    return call_id if call_id.startswith(_GLOBAL_ID) else f"{session_id}\0{call_id}"


def digest(text: str) -> str:
    """Return an id for a text, always the same: 32 hexadecimal digits."""
    return hashlib.sha256(f"transcript\0{text}".encode("utf-8", "replace")).hexdigest()[:32]


def _typed(texts: Iterable[str]) -> str:
    """Return a line's text without the blocks that the client added."""
    return "\n".join(each for each in texts if each.strip() and not each.startswith(_FROM_THE_CLIENT))


def _content(said: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a line's message."""
    content = value(said, "message", "content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in items(content) if isinstance(block, dict)]


def _uuid(line: Line) -> str:
    """Return a key that is unique to a line within its file."""
    return str(line.said.get("uuid") or line.start)

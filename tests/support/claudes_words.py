"""Shared by tests of Claude's rewriting: its answers, captures to rewrite, and a fake clock."""

import json
import re
import time
from typing import Any

from claude_mem_lite import keys, settings, settings_file
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import rewrite
from claude_mem_lite.storage import models, queries
from support.databases import work_on
from support.hooks import tool_event

KEY = "sk-ant-test-0123456789"
PROJECT = "/home/dev/ledger"


def words_about(body: dict[str, Any]) -> dict[str, Any]:
    """Answer as Claude would: one observation for each record, a summary, or no learnings."""
    if "key_decisions" in json.dumps(body["output_config"]):
        said = {"summary": "Amounts are cents now.", "observations": [], "learnings": []}
        return {**said, "key_files": ["money.py"], "key_decisions": ["No floats."]}
    if '"learnings"' in json.dumps(body["output_config"]):
        return {"learnings": []}
    content = body["messages"][0]["content"]
    return {"observations": [words(each) for each in record_ids(content)]}


def words(short_id: str) -> dict[str, Any]:
    """Return Claude's observation of one record."""
    return {"id": short_id, "title": f"Claude on {short_id}", "summary": "Because of cents.", "detail": None}


def record_ids(content: str) -> list[str]:
    """Return the ids of the records in a request."""
    return re.findall(r'<record-[0-9a-f]+ id="([0-9a-f]+)">', content)


def capture(number: int = 0, *, session_id: str = "s1", tool: str = "Edit", **event: Any) -> str:
    """Store one tool call with the rules' observation of it and return the event's id."""
    edit = {"file_path": f"{PROJECT}/money.py", "old_string": "a = None", "new_string": f"a = {number}"}
    default = {"tool_input": edit, "tool_response": {"filePath": f"{PROJECT}/money.py"}}
    event_id = inbox.append(json.dumps(tool_event(tool, session_id=session_id, **(default | event))), PROJECT)
    work_on(event_id)
    return event_id


def captures(count: int) -> list[str]:
    """Store `count` tool calls, each with its own number, and return their ids."""
    return [capture(number) for number in range(count)]


def play(*, seconds: float = 120, start: float | None = None) -> list[tuple[float, rewrite.Step]]:
    """Take steps on a fake clock for `seconds`, each when the step before asks for it."""
    begin = time.time() if start is None else start
    now, taken = begin, []
    while now <= begin + seconds:
        step = rewrite.step(settings.load(), now=now)
        taken.append((now - begin, step))
        if step.wait_s is None:
            break
        now += max(step.wait_s, 0.001)
    return taken


def row_of(event_id: str) -> models.Observation:
    """Return the stored observation of an event."""
    return models.Observation.get(models.Observation.id == event_id)


def status_of(event_id: str) -> str:
    """Return the state of an event in the queue."""
    row = queries.pending_event(event_id)
    return str(row.status)


def consent(url: str) -> None:
    """Have the user name an API, agree to the key that is set, and want every capture rewritten by Claude."""
    settings_file.write("compress", {"high": "claude", "normal": "claude"})
    settings_file.write("claude", {"api_key_from": "ANTHROPIC_API_KEY", "base_url": url})
    keys.agree("ANTHROPIC_API_KEY")

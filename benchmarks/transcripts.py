"""Measure the first import of past Claude Code sessions: how long it takes and what it costs.

    python benchmarks/transcripts.py [--sessions N] [--calls M] [--projects P] [--keep]

Writes the recorded history repeatedly as transcripts in the client's format, with other projects, names and
ids, spread over a month. Imports them twice with the real command, then runs the real search. Prints time,
counts and dollars, and exits with 1 if the target is missed: 5 minutes on 2 cores, $0, nothing added by the
second run, results for every search.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from typing import TYPE_CHECKING, Any

from claude_mem_lite.cli import demo

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET_S = 300.0
QUESTIONS = (
    "rounding of split amounts", "parse_amount", "bank statement encoding", "backup checksum",
    "which library does the command line use",
)  # fmt: skip


class Writer:
    """Write the lines of one transcript as the client does: one per block, each with its parent."""

    def __init__(self, session_id: str, cwd: str, began: dt.datetime, chance: random.Random) -> None:
        self._common = {"isSidechain": False, "userType": "external", "cwd": cwd, "sessionId": session_id}
        self._at, self._chance, self._parent = began, chance, None
        self.lines: list[dict[str, Any]] = []

    def user(self, content: Any, **fields: Any) -> None:
        """Add a line of the user's text or of a tool's result."""
        self._add("user", {"role": "user", "content": content}, fields)

    def assistant(self, block: dict[str, Any], *, stop: str) -> None:
        """Add a line of the assistant."""
        usage = {"input_tokens": 20_000, "output_tokens": 200, "service_tier": "standard"}
        message = {
            "id": f"msg_{self._chance.getrandbits(96):024x}", "type": "message", "role": "assistant",
            "model": "claude-opus-5-5", "content": [block], "stop_reason": stop, "usage": usage,
        }  # fmt: skip
        self._add("assistant", message, {})

    def _add(self, kind: str, message: dict[str, Any], fields: dict[str, Any]) -> None:
        self._at += dt.timedelta(seconds=self._chance.uniform(2, 20))
        name = str(uuid.UUID(int=self._chance.getrandbits(128)))
        stamp = self._at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        line = {"parentUuid": self._parent, **self._common, "type": kind, "message": message, "uuid": name}
        self.lines.append({**line, "timestamp": stamp, "version": "2.1.329", "gitBranch": "main", **fields})
        self._parent = name


def written(events: list[dict[str, Any]], writer: Writer, call_ids: Iterator[str]) -> list[dict[str, Any]]:
    """Return the transcript's lines for a session whose hooks received these events."""
    for event in events:
        name = event["hook_event_name"]
        if name == "UserPromptSubmit":
            writer.user(event["prompt"])
        elif name in {"PostToolUse", "PostToolUseFailure"}:
            call_id, failed = next(call_ids), name == "PostToolUseFailure"
            call = {"type": "tool_use", "id": call_id, "name": event["tool_name"]}
            writer.assistant({**call, "input": event["tool_input"]}, stop="tool_use")
            response = f"Error: {event['error']}" if failed else event["tool_response"]
            shown = event["error"] if failed else _shown(response)
            result = {"type": "tool_result", "tool_use_id": call_id, "content": shown, "is_error": failed}
            writer.user([result], toolUseResult=response)
        elif name == "Stop":
            writer.assistant({"type": "text", "text": event["last_assistant_message"]}, stop="end_turn")
    return writer.lines


def generate(folder: str, options: argparse.Namespace) -> tuple[int, int]:
    """Write transcripts into a Claude Code folder; return their number of tool calls and their characters."""
    recorded: dict[str, list[dict[str, Any]]] = {}
    for event in demo.recorded_events():
        recorded.setdefault(event["session_id"], []).append(event)
    plays = [[event for event in events if not event.get("agent_id")] for events in recorded.values()]
    chance, now = random.Random(7), dt.datetime.now(dt.UTC)
    call_ids = (f"toolu_{number:024d}" for number in itertools.count())
    calls = size = 0
    for number in range(options.sessions):
        project = f"/home/dev/project-{number % options.projects}"
        session_id = str(uuid.UUID(int=chance.getrandbits(128)))
        began = now - dt.timedelta(days=30 * (1 - number / options.sessions) + 0.2)
        events = _of_length(itertools.cycle(plays[number % len(plays)]), options.calls)
        calls += sum("tool_name" in event for event in events)
        lines = written(events, Writer(session_id, project, began, chance), call_ids)
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        text = text.replace(demo.PROJECT, project).replace("Entry", f"Entry{chance.randint(0, 400)}")
        path = os.path.join(folder, "projects", project.replace("/", "-"), f"{session_id}.jsonl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            size += file.write(text)
        os.utime(path, (began.timestamp(), began.timestamp()))
    return calls, size


def _of_length(events: Iterator[dict[str, Any]], calls: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    while sum("tool_name" in event for event in told) < calls:
        told.append(next(events))
    return [*told, {"hook_event_name": "Stop", "last_assistant_message": "All of it is done and committed."}]


def _shown(response: Any) -> str:
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)[:30_000]


def claude_mem(*arguments: str) -> Any:
    """Return what a command prints as JSON."""
    command = [sys.executable, "-m", "claude_mem_lite.cli", *arguments, "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    """Generate transcripts, import them twice, search, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (("sessions", 400), ("calls", 50), ("projects", 12)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", action="store_true", help="leave the folders there, and say where")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="claude-mem-day-one-")
    os.environ |= {"CLAUDE_MEM_HOME": f"{folder}/mem", "CLAUDE_CONFIG_DIR": f"{folder}/claude"}
    try:
        calls, size = generate(f"{folder}/claude", options)
        print(f"{options.sessions} sessions, {calls:,} tool calls, {size / 1e6:.0f} MB of transcripts")
        reckoned = claude_mem("import", "transcripts", "--dry-run")
        print(f"dry run: {reckoned['tool_calls']:,} tool calls, about {reckoned['takes_s']:.0f} s, "
              f"$0, by Claude ${reckoned['claude_usd']:.2f}")  # fmt: skip
        started, before = time.monotonic(), os.times()
        first = claude_mem("import", "transcripts")
        took_s, after = time.monotonic() - started, os.times()
        cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"import: {took_s:.0f} s ({cpu_s:.0f} s of one processor), {first['sessions']} sessions, "
              f"{first['tool_calls']:,} tool calls, {first['observations']:,} observations, "
              f"{first['events'] / took_s:.0f} events/s, ${first['usd']:.2f} (by Claude "
              f"${first['claude_usd']:.2f})")  # fmt: skip
        again = claude_mem("import", "transcripts")
        print(f"again: {again['observations']} observations, {again['events']} events more, "
              f"{again['took_s']} s")  # fmt: skip
        found = [len(claude_mem("search", question, "--all-projects")["results"]) for question in QUESTIONS]
        print(f"search: {sum(number > 0 for number in found)} of {len(found)} questions have results")
        sizes = {
            name: os.path.getsize(f"{folder}/mem/{name}") / 1e6 for name in ("claude-mem.db", "queue.db")
        }
        print("files: " + ", ".join(f"{name} {size_mb:.0f} MB" for name, size_mb in sizes.items()))
        is_met = took_s < TARGET_S and not first["usd"] and not again["events"] and all(found)
        is_met = is_met and first["tool_calls"] == calls
        print(f"target ({TARGET_S:.0f} s, $0, once, searchable): {'met' if is_met else 'MISSED'}")
    finally:
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()

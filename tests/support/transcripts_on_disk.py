"""Transcripts as Claude Code writes them: the recorded ones, and ones that tests build line by line."""

import datetime as dt
import gzip
import json
import os
import uuid
from pathlib import Path
from typing import Any, Self

from claude_mem_lite.storage import learnings, models
from support.commands import command
from support.recorded import DATA, comparable, restore

SESSION = "5e5510e5-0000-4000-8000-000000000001"
FOLDER = "-home-dev-shop"
CWD = "/home/dev/shop"


def recorded(version: str, root: Path) -> None:
    """Write a client's recorded sessions below `root`, with their secrets and their old times."""
    with gzip.open(DATA / "ledger" / "transcripts.json.gz", "rt", encoding="utf-8") as file:
        texts: dict[str, str] = json.load(file)
    for name, text in texts.items():
        if name.startswith(f"{version}/"):
            path = root / name.removeprefix(f"{version}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(restore(text))
            os.utime(path, (1_795_000_000, 1_795_000_000))


def take_in(*arguments: str) -> dict[str, Any]:
    """Import transcripts with the command and return its JSON answer."""
    done = command("import", "transcripts", "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class Lines:
    """The lines of a transcript, each one second after the last; methods return the object itself."""

    def __init__(
        self,
        *,
        session_id: str = SESSION,
        agent_id: str = "",
        began: str = "2026-11-20T10:00:00",
        cwd: str = CWD,
    ) -> None:
        self._common = {"sessionId": session_id, "cwd": cwd, "version": "2.1.329"}
        self._common["isSidechain"] = bool(agent_id)
        self._common |= {"agentId": agent_id} if agent_id else {}
        self._session_id, self._at = session_id, dt.datetime.fromisoformat(began).replace(tzinfo=dt.UTC)
        self._lines: list[dict[str, Any]] = []
        self._calls = 0

    @property
    def at(self) -> str:
        """Return the time of the last line, in the memory's format."""
        return self._at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def user(self, content: Any, **fields: Any) -> Self:
        """Add a message of the user role."""
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def said(self, text: str, *, same: bool = False, **fields: Any) -> Self:
        """Add text of the assistant, in the `same` message as the last line or in a new one."""
        return self._assistant({"type": "text", "text": text}, same=same, **fields)

    def call(self, tool: str, given: Any, *, call_id: str = "", after_s: float = 1) -> Self:
        """Add a tool call."""
        self._calls += 1
        self._call_id = (
            call_id or f"toolu_{uuid.uuid5(uuid.NAMESPACE_OID, f'{self._common}{self._calls}').hex}"
        )
        block = {"type": "tool_use", "id": self._call_id, "name": tool, "input": given}
        return self._assistant(block, same=False, after_s=after_s)

    def result(self, shown: Any, response: Any = None, *, is_error: bool = False) -> Self:
        """Add the result of the last call, with the response object that its hook had, if any."""
        block = {"type": "tool_result", "tool_use_id": self._call_id, "content": shown, "is_error": is_error}
        return self.user([block], **({} if response is None else {"toolUseResult": response}))

    def bash(self, command: str, output: str = "") -> Self:
        """Add a command and its output."""
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return self.call("Bash", {"command": command}).result(output, response)

    def wrote(self, path: str, content: str) -> Self:
        """Add a Write of a new file."""
        response = {"type": "create", "filePath": path, "content": content}
        response |= {"originalFile": None, "structuredPatch": []}
        return self.call("Write", {"file_path": path, "content": content}).result("File written", response)

    def edited(self, path: str, before: str, old: str, new: str) -> Self:
        """Add an Edit of a file, with the file's content before it."""
        given = {"file_path": path, "old_string": old, "new_string": new}
        response = {"filePath": path, "originalFile": before, "structuredPatch": []}
        return self.call("Edit", given).result("File edited", response)

    def read(self, path: str, text: str) -> Self:
        """Add a Read of a file."""
        file = {"filePath": path, "content": text, "numLines": 1, "startLine": 1, "totalLines": 1}
        return self.call("Read", {"file_path": path}).result(text, {"type": "text", "file": file})

    def add(self, kind: str, *, after_s: float = 1, **fields: Any) -> Self:
        """Add a line of any kind."""
        self._at += dt.timedelta(seconds=after_s)
        name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._common}{len(self._lines)}"))
        stamp = self._at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        self._lines.append({"type": kind, **self._common, "uuid": name, "timestamp": stamp, **fields})
        return self

    def text(self) -> str:
        """Return the lines as Claude Code writes them."""
        return "".join(f"{json.dumps(line)}\n" for line in self._lines)

    def write(self, root: Path, *, name: str = "") -> Path:
        """Write the lines to their file below `root`, with the last line's time, and return its path."""
        path = root / FOLDER / (name or f"{self._session_id}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())
        os.utime(path, (self._at.timestamp(), self._at.timestamp()))
        return path

    def _assistant(self, block: dict[str, Any], *, same: bool, **fields: Any) -> Self:
        message_id = f"msg_{len(self._lines) - same}"
        if same:
            message_id = self._lines[-1]["message"]["id"]
        message = {"id": message_id, "role": "assistant", "model": "claude-opus-5-5", "content": [block]}
        return self.add("assistant", message=message, **fields)


def remembered() -> list[Any]:
    """Return all rows of memory and queue, without what differs between runs."""
    rows = models.Observation.select().order_by(models.Observation.created_at, models.Observation.id)
    queue = models.PendingEvent.select().order_by(models.PendingEvent.id)
    sessions = models.Session.select().order_by(models.Session.id)
    return [
        [(row.id, row.session_id, row.tier, *comparable(row)) for row in rows],
        [(row.id, row.status, row.note, row.raw_output) for row in queue],
        [(row.id, row.status, row.summary, row.observation_count, row.upgrade) for row in sessions],
        sorted((row.content, row.confidence) for row in learnings.find(None)),
    ]


def a_session(root: Path, **whose: Any) -> Lines:
    """Write a session of a few calls and return its lines, so that a test can append more."""
    lines = Lines(**whose).user("Round the totals in invoice.py")
    lines.bash("pytest -q", "2 passed in 0.1s").bash("git log --oneline", "abc1234 Start").said("They are.")
    lines.write(root)
    return lines

"""Wrap a piece of text in hook events: tool inputs, tool outputs and prompts of a session.

The redaction rules were fitted to the events of `FIRST`; those of `HELD_OUT` were not used for fitting.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from typing import Any

    Event = dict[str, Any]
    Surround = Callable[[str, Random], Event]

_SOURCE = (
    "from __future__ import annotations",
    "import os",
    "import logging",
    "log = logging.getLogger(__name__)",
    "def total(rows: list[Row]) -> int:",
    "    return sum(row.amount for row in rows)",
    "",
    "class Ledger:",
    '    """What was paid, by whom."""',
    "    def __init__(self, path: str) -> None:",
    "        self.path = path",
    "for name, amount in sorted(totals.items()):",
    "    print(f'{name:20} {amount:8.2f}')",
    "# see docs/setup.md",
    "assert response.status == 200",
    "export function render(items) {",
    "  return items.map((item) => item.label);",
    "}",
    "const express = require('express');",
    "app.listen(3000, () => console.log('listening'));",
)
_LOG = (
    "2026-03-02T10:11:12Z INFO  server started on port 8080",
    "GET /health 200 1.2 ms",
    "npm warn deprecated glob@7.2.3",
    "Collecting requests>=2.31",
    "........s....  [100%]",
    "warning: LF will be replaced by CRLF",
    "added 212 packages in 4s",
    "Step 4/9 : RUN pip install -r requirements.txt",
    "connected to db.internal in 12 ms",
    "OK (skipped=2)",
)
_PROSE = (
    "The build fails since this morning.",
    "Please have a look at the settings page.",
    "I think the cache is cold.",
    "Use the staging server for now.",
    "It worked yesterday on my machine.",
    "Then add a test and commit.",
)


def _some(lines: tuple[str, ...], rng: Random) -> list[str]:
    return rng.choices(lines, k=rng.randint(2, 12))


def _among(text: str, rng: Random, lines: tuple[str, ...] = _SOURCE, prefix: str = "") -> str:
    rows = [*_some(lines, rng), *text.split("\n"), *_some(lines, rng)]
    return "\n".join(prefix + row for row in rows)


def _event(tool: str, given: Event, response: Any) -> Event:
    return {
        "session_id": "5c9b7e7e-1f0a-4d8e-9b1c-2f3a4b5c6d7e",
        "hook_event_name": "PostToolUse",
        "cwd": "/home/me/shop",
        "tool_name": tool,
        "tool_input": given,
        "tool_response": response,
    }


def _prompt(text: str) -> Event:
    return {
        "session_id": "5c9b7e7e-1f0a",
        "hook_event_name": "UserPromptSubmit",
        "cwd": "/home/me/shop",
        "prompt": text,
    }


def bash(command: str, stdout: str = "", stderr: str = "") -> Event:
    """Return a command with its output."""
    return _event("Bash", {"command": command, "description": "Run it"}, {"stdout": stdout, "stderr": stderr})


def written_file(text: str, rng: Random) -> Event:
    """Return a Write of a source file."""
    content = _among(text, rng)
    return _event(
        "Write",
        {"file_path": "/home/me/shop/app.py", "content": content},
        {"type": "create", "content": content},
    )


def edited_file(text: str, rng: Random) -> Event:
    """Return an Edit with its patch."""
    new = _among(text, rng, prefix="    ")
    patch = [{"oldStart": 3, "lines": [" import os", "-old = 1", *("+" + row for row in new.split("\n"))]}]
    given = {"file_path": "/home/me/shop/app.py", "old_string": "old = 1", "new_string": new}
    return _event("Edit", given, {"filePath": "/home/me/shop/app.py", "structuredPatch": patch})


def command_line(text: str, rng: Random) -> Event:
    """Return a shell command with the text in it."""
    del rng
    return bash(
        f"cd /home/me/shop && {text}" if "\n" not in text else f"cat > notes.txt <<'EOF'\n{text}\nEOF"
    )


def command_output(text: str, rng: Random) -> Event:
    """Return a command with the text in its output."""
    return bash("make deploy", _among(text, rng, _LOG))


def json_in_json(text: str, rng: Random) -> Event:
    """Return an MCP server's answer: JSON inside a string."""
    body = json.dumps({"ok": True, "rows": [{"n": 1, "text": _among(text, rng, _LOG)}]})
    return _event("mcp__docs__fetch", {"query": "deploy"}, [{"type": "text", "text": body}])


def asked(text: str, rng: Random) -> Event:
    """Return a user's prompt."""
    return _prompt(_among(text, rng, _PROSE))


def python_repr(text: str, rng: Random) -> Event:
    """Return the printed repr of a Python object."""
    shown = repr({"status": 200, "body": _among(text, rng, _LOG), "headers": {"x": "y"}})
    return bash("python show.py", f"<Response {shown}>")


def coloured_diff(text: str, rng: Random) -> Event:
    """Return a diff as git prints it on a terminal."""
    rows = "\n".join(f"\x1b[32m+{row}\x1b[m" for row in _among(text, rng).split("\n"))
    return bash(
        "git diff", f"\x1b[1mdiff --git a/app.py b/app.py\x1b[m\n\x1b[36m@@ -1,2 +1,9 @@\x1b[m\n{rows}"
    )


def block_of_yaml(text: str, rng: Random) -> Event:
    """Return a Read of a YAML file with the text in a block scalar, and the tool's line numbers."""
    rows = [
        "apiVersion: v1",
        "data:",
        "  settings: |",
        *_among(text, rng, ("a: 1", "b: two", ""), "    ").split("\n"),
    ]
    content = "\n".join(f"{number:6}→{row}" for number, row in enumerate(rows, 1))
    return _event(
        "Read", {"file_path": "/home/me/shop/map.yaml"}, {"type": "text", "file": {"content": content}}
    )


def shell_history(text: str, rng: Random) -> Event:
    """Return the output of `history`."""
    rows = ["ls -la", "git status", *text.split("\n"), "make", "cd .."]
    start = rng.randint(80, 900)
    return bash("history", "\n".join(f"{start + number:5}  {row}" for number, row in enumerate(rows)))


def stack_trace(text: str, rng: Random) -> Event:
    """Return a traceback with the text in its last line, as a failed call."""
    rows = [
        "Traceback (most recent call last):",
        '  File "/home/me/shop/app.py", line 12, in main',
        "    run()",
    ]
    error = "\n".join([*rows, f"ValueError: cannot read {text}", *_some(_LOG, rng)])
    return {
        **_event("Bash", {"command": "python app.py"}, None),
        "hook_event_name": "PostToolUseFailure",
        "error": error,
    }


def twice_escaped(text: str, rng: Random) -> Event:
    """Return a log line with JSON inside JSON."""
    inner = json.dumps({"level": "debug", "body": text})
    outer = json.dumps({"at": 1, "message": inner, "n": rng.randint(1, 9)})
    return bash("tail -1 app.log", outer)


def found_lines(text: str, rng: Random) -> Event:
    """Return a Grep with the text in its output."""
    rows = "\n".join(f"src/app.py:{rng.randint(1, 400)}:{row}" for row in text.split("\n"))
    return _event("Grep", {"pattern": "x", "path": "src"}, {"mode": "content", "content": rows})


def answered(text: str, rng: Random) -> Event:
    """Return the end of a turn, with the text in a code block of the answer."""
    message = "\n".join([*_some(_PROSE, rng), "```sh", text, "```", *_some(_PROSE, rng)])
    return {"session_id": "5c9b7e7e-1f0a", "hook_event_name": "Stop", "last_assistant_message": message}


FIRST: tuple[Surround, ...] = (written_file, edited_file, command_line, command_output, json_in_json, asked)
HELD_OUT: tuple[Surround, ...] = (
    python_repr,
    coloured_diff,
    block_of_yaml,
    shell_history,
    stack_trace,
    twice_escaped,
    found_lines,
    answered,
)

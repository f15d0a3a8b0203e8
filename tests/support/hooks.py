"""Start hooks as Claude Code does, and build events for them."""

import json
import os
import subprocess
import sys
from typing import Any

from claude_mem_lite.services import install

# How Claude Code names itself to its hooks; old versions do not.
AGENT = "claude-code_2-1-330_harness"
_NAMES_A_CLIENT = {"AI_AGENT", "CLAUDE_CODE_SESSION_ID"}


def run_hook(
    hook: str,
    event: dict[str, Any] | bytes,
    *,
    project_dir: str = "/home/dev/ledger",
    agent: str = AGENT,
    client: str = "",
) -> subprocess.CompletedProcess[bytes]:
    """Run a hook as Claude Code or another client does: event on stdin, answer on stdout."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NAMES_A_CLIENT}
    command = [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")]
    environment = {**inherited, "CLAUDE_PROJECT_DIR": project_dir, **({"AI_AGENT": agent} if agent else {})}
    given = event if isinstance(event, bytes) else json.dumps(event).encode()
    command += [client] if client else []
    return subprocess.run(command, input=given, capture_output=True, env=environment, check=False, timeout=60)


def tool_event(tool_name: str = "Bash", *, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    """Return a PostToolUse event."""
    return {"session_id": session_id, "hook_event_name": "PostToolUse", "tool_name": tool_name, **fields}


def read(path: str) -> dict[str, Any]:
    """Return a Read of a small file."""
    content = f"# {path}\nVALUE = 1\n"
    file = {"filePath": path, "content": content, "numLines": 2, "startLine": 1, "totalLines": 2}
    return tool_event("Read", tool_input={"file_path": path}, tool_response={"type": "text", "file": file})


def edit(path: str) -> dict[str, Any]:
    """Return an Edit of one line."""
    old, new = "def f():\n    return 1\n", "def f():\n    return 2\n"
    fields = {"file_path": path, "old_string": "return 1", "new_string": "return 2"}
    response = {"filePath": path, "oldString": "return 1", "newString": "return 2", "originalFile": old}
    response |= {"structuredPatch": [], "new": new}
    return tool_event("Edit", tool_input=fields, tool_response=response)

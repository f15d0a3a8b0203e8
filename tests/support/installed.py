"""Read what `install` writes into Claude Code's settings."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from claude_mem_lite.services import install


def group(hook: str, **matcher: str) -> dict[str, Any]:
    """Return the settings entry that we register for one event."""
    command = shlex.join([sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")])
    return {**matcher, "hooks": [{"type": "command", "command": f"{command} || :", "timeout": 10}]}


OURS = {
    "SessionStart": group("session_start"),
    "UserPromptSubmit": group("user_prompt_submit"),
    "PreToolUse": group("subagent_start", matcher="Task|Agent"),
    "PostToolUse": group("post_tool_use", matcher="*"),
    "PostToolUseFailure": group("post_tool_use", matcher="*"),
    "PreCompact": group("pre_compact"),
    "Stop": group("stop"),
    "SubagentStart": group("subagent_start"),
    "SubagentStop": group("stop"),
    "SessionEnd": group("session_end"),
}
SINCE = {"PreToolUse", "PostToolUseFailure", "SubagentStart"}
OLD = tuple(event for event in OURS if event not in SINCE)
NEW = (*list(OURS)[:6], "PostCompact", "Stop", "StopFailure", *list(OURS)[7:])


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

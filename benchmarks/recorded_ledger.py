"""Replay the recorded history on disk: yield its events, and make their changes to the files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem_lite.cli import demo

if TYPE_CHECKING:
    from collections.abc import Iterator

# The shell commands of the history that change files: one inline script and sed commands.
_SCRIPT = re.compile(r"^python3 - <<'EOF'\n(.*?)\nEOF$", re.DOTALL | re.MULTILINE)
_SED = re.compile(r"sed -i '(?:[^']*)' [\w/.]+")


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the recorded events with the project's path replaced by a folder."""
    for event in demo.recorded_events():
        yield json.loads(json.dumps(event).replace(demo.PROJECT, str(folder)))


def apply(event: dict[str, Any], folder: Path) -> None:
    """Apply a recorded tool call's changes to the files in the folder."""
    if event["hook_event_name"] != "PostToolUse":
        return
    given = event["tool_input"]
    if event["tool_name"] == "Write":
        Path(given["file_path"]).parent.mkdir(parents=True, exist_ok=True)
        Path(given["file_path"]).write_text(given["content"])
    elif event["tool_name"] == "Edit":
        path = Path(given["file_path"])
        times = -1 if given.get("replace_all") else 1
        path.write_text(path.read_text().replace(given["old_string"], given["new_string"], times))
    elif event["tool_name"] == "Bash":
        script = _SCRIPT.search(given["command"])
        if script and "tests/test_journal.py" in script[1]:
            subprocess.run([sys.executable, "-c", script[1]], cwd=folder, check=True)
        for command in _SED.findall(given["command"]):
            subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True)

"""PostToolUse and PostToolUseFailure: a tool call, to be compressed; for a file, what memory knows of it."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.05
_ON_FILES = ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit")


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Ask what memory knows of the file that the tool named; what is returned waits for it, b"" for nothing.

    A sub-agent gets nothing: what it reads is not what the session works on.
    """
    if fields["tool_name"] not in _ON_FILES or not fields["file_path"] or fields["agent_id"]:
        return bytes
    if fields["event_name"] != "PostToolUse":
        return bytes
    from claude_mem_lite import client

    parameters = {
        "file": fields["file_path"],
        "project_path": project_dir,
        "session_id": fields["session_id"],
    }
    asked = client.block("PostToolUse", "/api/touch", parameters, timeout_s=WEB_TIMEOUT_S)
    return lambda: asked.read() or b""


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)

"""PostToolUse and PostToolUseFailure: a tool call, to be compressed; for a file, what memory knows of it."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.05
_ON_FILES = ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit")


def answer(fields: dict[str, str], project_dir: str) -> bytes:
    """Return what Claude Code expects on stdout, or b"" where there is nothing to say of a file.

    A sub-agent gets nothing: what it reads is not what the session works on.
    """
    if fields["tool_name"] not in _ON_FILES or not fields["file_path"] or fields["agent_id"]:
        return b""
    if fields["event_name"] != "PostToolUse":
        return b""
    from claude_mem_lite import client

    parameters = {
        "file": fields["file_path"],
        "project_path": project_dir,
        "session_id": fields["session_id"],
    }
    try:
        return client.block("PostToolUse", "/api/touch", parameters, timeout_s=WEB_TIMEOUT_S) or b""
    except client.UnreachableError:
        return b""


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(answer)

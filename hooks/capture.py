"""PostToolUse and PostToolUseFailure: a tool call, to be compressed; for a file, what memory knows of it."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.05

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Ask what memory knows of the file that the tool named; what is returned waits for it, b"" for nothing.

    A sub-agent gets nothing: what it reads is not what the session works on.
    """
    from claude_mem_lite import triage

    is_on_a_file = fields["tool_name"] in {*triage.EDITORS, "Read"} and fields["file_path"]
    if not is_on_a_file or fields["agent_id"] or fields["event_name"] != "PostToolUse":
        return bytes
    from claude_mem_lite import client

    file = fields["file_path"]
    asked = client.block("/api/touch", fields, project_dir, timeout_s=WEB_TIMEOUT_S, file=file)
    return lambda: asked.read() or b""


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)

"""PostToolUse and PostToolUseFailure: store the call, and print what memory has on its file or failure."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.05
_COMMAND_CHARS = 2_000

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Ask what memory has on the file that a tool named, or on the failure of a call.

    The function returned waits for it, b"" for nothing. A sub-agent gets nothing: the files that it reads are
    not those that the session works on.
    """
    wanted = {} if fields["agent_id"] else _file(fields) or _failure(fields, project_dir)
    if not wanted:
        return bytes
    from claude_mem_lite.capture import client

    address = "/api/failure" if "error" in wanted else "/api/touch"
    wait_s = client.patient(WEB_TIMEOUT_S)
    asked = client.block(address, fields, project_dir, timeout_s=wait_s, connection=None, **wanted)
    return lambda: asked.read() or b""


def _file(fields: dict[str, str]) -> dict[str, str]:
    from claude_mem_lite.capture import priority

    is_file = fields["event_name"] == "PostToolUse" and fields["tool_name"] in {*priority.EDITORS, "Read"}
    return {"file": fields["file_path"]} if is_file and fields["file_path"] else {}


def _failure(fields: dict[str, str], project_dir: str) -> dict[str, str]:
    if fields["event_name"] != "PostToolUseFailure" or not fields["error"]:
        return {}
    command = fields["command"][:_COMMAND_CHARS]
    return {
        "tool": fields["tool_name"], "command": command, "file": fields["file_path"],
        "error": fields["error"], "work_tree": project_dir,
    }  # fmt: skip


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)

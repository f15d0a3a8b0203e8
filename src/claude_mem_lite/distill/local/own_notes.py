"""Recognize files of Claude Code's own memory: its notes are no work on the project. Pure."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.local import fields

if TYPE_CHECKING:
    from claude_mem_lite.distill.observation import Capture

_NOTES = "memory"


def is_note(capture: Capture) -> bool:
    """Tell whether an editor was used on one of the client's own notes, PROJECTS/SLUG/memory/….

    PROJECTS is the folder of the session's transcript, wherever the client has its folders, or the usual one.
    """
    if capture.tool_name not in EDITORS:
        return False
    path = os.path.normpath(fields.argument(capture, "file_path") or ".")
    transcript = fields.text(capture.payload, "transcript_path")
    folders = [os.path.dirname(os.path.dirname(transcript)), os.path.expanduser("~/.claude/projects")]
    for projects in folders:
        if len(projects) > 1 and path.startswith(f"{projects}/"):
            inside = path[len(projects) + 1 :].split("/")
            if len(inside) > 2 and inside[1] == _NOTES:  # noqa: PLR2004  (slug, memory, file)
                return True
    return False

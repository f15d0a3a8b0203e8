"""Find which of the project's sources an event changed, and tell the code map."""

import logging
import os
from dataclasses import replace
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import file_index, languages
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.distill.local import fields, shell
from claude_mem_lite.distill.local.edits import Edit
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.text import relative

log = logging.getLogger(__name__)

# Git commands that write files of the working tree.
_MOVING = frozenset({
    "am", "apply", "checkout", "cherry-pick", "clean", "merge", "mv", "pull", "rebase", "reset", "restore",
    "revert", "rm", "stash", "switch",
})  # fmt: skip


def follow(capture: Capture, edit: Edit | None, seen: Seen) -> bool:
    """Take into the map what an event changed, with the edit in it; tell whether the calls may be others now.

    Non-fatal: what fails is logged, and the next scan finds the file as it is.
    """
    try:
        if edit:
            return _follow_edit(capture.project_dir, edit, seen)
        if capture.tool_name == "Bash":
            return _follow_command(capture, seen)
    except Exception:
        log.exception("code map: event %s not followed", seen.observation_id)
    return False


def past_changes(project_dir: str, edit: Edit, seen: Seen) -> list[dict[str, Any]]:
    """Return what an imported edit changed, for the function history; the map, which is of today, stays.

    Of an edit whose transcript does not hold both versions of the file nothing is concluded. Non-fatal.
    """
    try:
        both = edit.before or "", edit.after or ""
        return file_index.past_changes(project_dir, edit.path, both, edit.changes, seen)
    except Exception:
        log.exception("code map: imported event %s not noted", seen.observation_id)
        return []


def _follow_edit(project_dir: str, edit: Edit, seen: Seen) -> bool:
    language = languages.of(edit.path)
    if language is None:
        return False
    if edit.after is None:  # the event does not hold it whole
        file_index.rescan(project_dir, replace(seen, at=inbox.utc_now()), paths=[edit.path])
    else:
        before = "" if edit.is_new else edit.before
        file_index.follow(project_dir, edit.path, before, edit.after, seen)
    return language.has_calls


def _follow_command(capture: Capture, seen: Seen) -> bool:
    """Rescan what a command wrote, or the project after a git command that moved files; failed ones too."""
    command = fields.argument(capture, "command")
    now = replace(seen, at=inbox.utc_now())
    if any(step.program == "git" and _MOVING & set(step.operands[:1]) for step in shell.steps(command)):
        file_index.rescan(capture.project_dir, now)
        return True
    folder = fields.text(capture.payload, "cwd") or capture.project_dir
    changed = [relative(path, capture.project_dir) for path in shell.changed_files(command, folder)]
    mapped = {path: languages.of(path) for path in changed if not os.path.isabs(path)}
    known = {path: language for path, language in mapped.items() if language is not None}
    if known:
        file_index.rescan(capture.project_dir, now, paths=list(known))
    return any(language.has_calls for language in known.values())

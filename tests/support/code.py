"""A git project whose files tests edit, and the events of those edits."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import code, models
from support.databases import work_on
from support.hooks import tool_event

A = "def f(x=1):\n    return x\n\n\nclass C:\n    def m(self):\n        return f()\n"


def git(folder: Path, *arguments: str) -> None:
    """Run git without the user's settings."""
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments]
    settings = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=settings)


def happen(folder: Path, event: dict[str, Any]) -> str:
    """Record an event of a session on the project and return its id."""
    event_id = inbox.append(json.dumps(event), str(folder))
    work_on(event_id)
    return event_id


def edited(folder: Path, name: str, old: str, new: str, **fields: Any) -> dict[str, Any]:
    """Edit a file and return the event of that."""
    path = folder / name
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    given = {"file_path": str(path), "old_string": old, "new_string": new}
    response = {"originalFile": before, "structuredPatch": []}
    return tool_event("Edit", tool_input=given, tool_response=response, **fields)


def known(folder: Path) -> dict[tuple[str, str], str]:
    """Return the last change type of each function, by file and name."""
    return {(row.file_path, row.qualified_name): row.change_type for row in code.functions(str(folder))}


def changes(folder: Path) -> list[tuple[str, str, str, str | None]]:
    """Return name, change type, session and observation of each function change, oldest first."""
    rows = models.FunctionChange.select().where(models.FunctionChange.project_dir == str(folder))
    rows = rows.order_by(models.FunctionChange.pk)
    return [(row.qualified_name, row.change_type, row.session_id, row.observation_id) for row in rows]


def repository(tmp_path: Path) -> Path:
    """Return the folder of a project with two files, in a repository."""
    folder = (tmp_path / "shop").resolve()
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text(A)
    (folder / "b.py").write_text("import a\n\n\ndef g():\n    return a.f()\n")
    return folder

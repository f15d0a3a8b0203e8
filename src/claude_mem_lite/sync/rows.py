"""Read rows as records and write records as rows, with each project's key in place of its folder.

A project without a folder here gets a placeholder, `hub:KEY`: the first session in a clone takes over its
memory, as after a folder was moved.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import call_edges
from claude_mem_lite.storage.models import ProjectFolder
from claude_mem_lite.storage.rewrites import GONE
from claude_mem_lite.sync import records
from claude_mem_lite.sync.records import Record
from claude_mem_lite.upkeep import lines, store

_NO_KEY, _NO_FOLDER = "folder:", "hub:"
# For a session of another machine: nothing here summarizes it, learns from it or asks Claude about it.
_NOT_OURS = 1 << 53
_COUNTERS = dict.fromkeys(("summarized_pk", "learned_pk", "extracted_pk", "retold_pk"), _NOT_OURS)


@dataclass(slots=True)
class Projects:
    """Project keys by folder and folders by key, read once for each transaction."""

    keys: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Projects:
        """Read the folders that the memory knows now."""
        found = cls()
        for row in ProjectFolder.select().order_by(ProjectFolder.seen_at, ProjectFolder.folder):
            if row.key:
                found.keys.setdefault(row.project_dir, row.key)
                found.folders.setdefault(row.key, row.project_dir)
        return found

    def key(self, folder: str | None) -> str | None:
        """Return the key that identifies a project on every machine."""
        return None if folder is None else self.keys.get(folder, f"{_NO_KEY}{folder}")

    def folder(self, key: str | None) -> str | None:
        """Return the folder of a project's memory here; create a placeholder for an unknown key."""
        if key is None or key.startswith(_NO_KEY):
            return key and key.removeprefix(_NO_KEY)
        if key not in self.folders:
            folder = self.folders[key] = f"{_NO_FOLDER}{key}"
            self.keys[folder] = key
            ProjectFolder.insert(
                folder=folder, project_dir=folder, key=key, seen_at=inbox.utc_now()
            ).execute()
        return self.folders[key]


def fields_of(kind: str) -> list[str]:
    """Return the names of the fields of a row's line."""
    return [name for name in lines.KINDS[kind].model_fields if name != "kind"]


def read(kind: str, pk: int, projects: Projects) -> dict[str, Any] | None:
    """Return the fields of a row's line, with its project's key; None if there is no such row."""
    model = store.TABLES[kind]
    row = model.select().where(model.pk == pk).dicts().first()
    if row is None:
        return None
    row = store.as_line(kind, row)
    found = {name: row[name] for name in fields_of(kind)}
    found["project_dir"] = projects.key(found["project_dir"])
    return found


def write(record: Record, pk: int | None, projects: Projects) -> int:
    """Insert or update the row of a record; return its primary key."""
    model, columns = store.TABLES[record.kind], _columns(record, projects)
    if pk is not None:
        model.update(**columns).where(model.pk == pk).execute()
        return pk
    if record.kind == "session":
        columns |= _COUNTERS
    if record.kind == "observation":
        columns["upgrade"] = GONE  # its raw event is not here
    if record.kind == "call":
        return int(call_edges.add_edge(columns).pk)
    return int(model.insert(**columns).execute())


def present(record: Record, projects: Projects) -> int | None:
    """Return the primary key of a record's row, None if it is not here."""
    model = store.TABLES[record.kind]
    if record.kind in records.NAMES:
        columns = _columns(record, projects)
        names = [{"function_kind": "kind"}.get(name, name) for name in records.NAMES[record.kind]]
        known = [
            getattr(model, name).is_null() if columns[name] is None else getattr(model, name) == columns[name]
            for name in names
        ]
    else:
        known = [(model.event_id if record.kind == "finding" else model.id) == record.id]
    row = model.select(model.pk).where(*known).first()
    return row.pk if row else None


def stub(observation: Record) -> dict[str, Any]:
    """Return minimal fields for the session of an observation that arrived before its session."""
    said = observation.fields
    return dict.fromkeys(fields_of("session")) | {
        "id": said["session_id"], "project_dir": said["project_dir"], "branch": "", "client": said["client"],
        "started_at": said["created_at"], "last_event_at": said["created_at"], "status": "active",
        "key_files": [], "key_decisions": [], "written_by": "local",
    }  # fmt: skip


def _columns(record: Record, projects: Projects) -> dict[str, Any]:
    columns = dict(record.fields)
    columns["project_dir"] = projects.folder(columns["project_dir"])
    if record.kind == "learning":
        del columns["base"]
        columns["guard"] = json.dumps(columns["guard"], ensure_ascii=False) if columns["guard"] else ""
    if record.kind == "function_change":
        columns["kind"] = columns.pop("function_kind")
    if record.kind in {"session", "observation", "learning"}:
        columns["embedding_status"] = "pending"
    return columns

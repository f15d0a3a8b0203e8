"""Store what a colleague's machine has published in `storage.team`, checked like an import.

Stored lines are not shown to sessions until the user trusts their author. Suspicious lines are not shown even
then.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.distill.suspicion import suspicions
from claude_mem_lite.storage import team
from claude_mem_lite.sync import segments
from claude_mem_lite.sync.segments import Name
from claude_mem_lite.sync.team.outgoing import KINDS
from claude_mem_lite.upkeep.lines import WrongLineError

MOST_LINES = 50_000  # of one machine on one project
_AT = {
    "learning": "updated_at", "finding": "failed_at", "session": "last_event_at", "observation": "created_at",
}  # fmt: skip
_TEXTS = {
    "learning": ("content",), "finding": ("command", "error", "works", "rule"),
    "session": ("summary", "key_decisions"), "observation": ("title", "summary", "detail"),
}  # fmt: skip
_TOO_LONG = "is too long for a learning"


@dataclass(slots=True)
class Taken:
    """What a segment has changed here: lines that are new or have changed, and those that are gone."""

    lines: int = 0
    gone: int = 0
    wrong: list[str] = field(default_factory=list)


def project_digest(key: str) -> str:
    """Return the digest that names a project's files at the hub."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def take(
    connection: sqlite3.Connection, name: Name, head: Mapping[str, Any], body: Sequence[bytes], project: str
) -> Taken:
    """Store a segment's lines; once its generation is complete, delete lines that only older ones had."""
    taken = Taken()
    blocked = {each for (each,) in connection.execute("SELECT id FROM blocked")}
    stream = (name.machine, project)
    there = connection.execute("SELECT count(*) FROM lines WHERE machine = ? AND project = ?", stream)
    room = MOST_LINES - int(there.fetchone()[0])
    for line in body:
        try:
            said = _said(line, project)
        except WrongLineError as error:
            taken.wrong.append(str(error))
            continue
        row_id = said["id"] = team.line_id(name.machine, said["kind"], said.pop("own_id"))
        if row_id in blocked:
            continue
        known = connection.execute("SELECT line FROM lines WHERE id = ?", (row_id,)).fetchone()
        text = json.dumps(said, ensure_ascii=False)
        if known and known[0] == text:
            connection.execute("UPDATE lines SET generation = ? WHERE id = ?", (name.generation, row_id))
            continue
        if not known and room <= 0:
            taken.wrong.append(f"exceeds the limit of {MOST_LINES} lines")
            continue
        room -= not known
        taken.gone += bool(known)
        _put(connection, name, project, said, text)
        taken.lines += 1
    is_whole = name.number >= int(head.get("whole", 0))
    if is_whole:
        taken.gone += connection.execute(
            "DELETE FROM lines WHERE machine = ? AND project = ? AND generation <> ?",
            (*stream, name.generation),
        ).rowcount
    connection.execute(
        "INSERT OR REPLACE INTO streams VALUES (?, ?, ?, ?)", (*stream, name.generation, name.number)
    )
    return taken


def _said(line: bytes, project: str) -> dict[str, Any]:
    """Return a line's fields, checked, cleaned and redacted. Raises: WrongLineError."""
    parsed = segments.checked(segments.object_of(line))
    if parsed.kind not in KINDS.values():
        raise WrongLineError("has a kind that is not shared")
    if parsed.project_dir != project:
        raise WrongLineError("belongs to another project")
    said: dict[str, Any] = parsed.model_dump(mode="json")
    said["own_id"] = said.pop("event_id" if parsed.kind == "finding" else "id")
    if parsed.kind == "learning":
        said |= {"guard": None, "code": [], "kin": [], "source_sessions": [], "observations": []}
    return said


def _put(connection: sqlite3.Connection, name: Name, project: str, said: dict[str, Any], text: str) -> None:
    kind = said["kind"]
    told = [said[each] for each in _TEXTS[kind]]
    words = "\n".join(" ".join(each) if isinstance(each, list) else each or "" for each in told)
    waits = suspicions(words, origin="assistant")
    if kind != "learning":
        waits = [each for each in waits if each != _TOO_LONG]
    elif not said["is_active"] or said["quarantine"] or said["superseded_by"]:
        waits = [*waits, "is not in force"]
    connection.execute("DELETE FROM lines WHERE id = ?", (said["id"],))
    trusted = connection.execute("SELECT 1 FROM trusted WHERE machine = ?", (name.machine,)).fetchone()
    connection.execute(
        "INSERT INTO lines"
        " (id, machine, project, generation, kind, at, signature, text, waits, line, is_told)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            said["id"], name.machine, project, name.generation, kind, said[_AT[kind]],
            said.get("signature", ""), words, "; ".join(waits), text, trusted is not None and not waits,
        ),
    )  # fmt: skip

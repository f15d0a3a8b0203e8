"""Read the database of the original claude-mem as the lines of an export; nothing is written to it.

Its versions differ in names of tables and columns; a column that a version lacks reads as empty. Source:
github.com/thedotmack/claude-mem, src/services/sqlite, schema versions 4 to 35.
"""

import contextlib
import datetime as dt
import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.distill import rules
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, SUMMARY_CHARS, Capture, Skip
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.redaction.events import scrub_as_set
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.files import connect
from claude_mem_lite.text import clean, clip, estimate_tokens, first_sentence, one_line, relative, unique
from claude_mem_lite.upkeep import exchange, lines

Row = dict[str, Any]

WRITER = "claude-mem"
_TABLES = ("sdk_sessions", "observations", "session_summaries", "user_prompts")
# Tables of the original that hold nothing about sessions, or only work in progress.
_SILENT = ("schema_versions", "pending_messages", "observation_feedback")
# Columns of the client's session id and of the tool's own: the current name, then that before version 17.
_CLIENT_ID, _OWN_ID = ("content_session_id", "claude_session_id"), ("memory_session_id", "sdk_session_id")
_MILLISECONDS = 100_000_000_000  # a larger number is in milliseconds: in seconds it is past the year 5138
_KEY_FILES = 8


@dataclass(slots=True)
class Original:
    """An open database of the original; `left_out` and (by project) `unknown` count what is not imported."""

    connection: sqlite3.Connection
    folder_of: Callable[[str, str], str]
    left_out: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[bytes]:
        """Yield the database's content as the lines of an export."""
        yield _encoded(lines.Head().model_dump())
        for session in self._sessions().values():
            known = queries.observations_of(session["id"])
            if known and not any(row.written_by == WRITER for row in known):  # captured by claude-mem-lite
                self.left_out["already known session"] += 1
            else:
                yield from map(_encoded, self._told(session))
        for name in self._names() - {*_TABLES, *_SILENT}:
            if rows := self._count(name):
                self.left_out[f"{clean(name)[:40]} row"] += rows

    def _sessions(self) -> dict[str, Row]:
        """Return the sessions with their rows, by the tool's own session id."""
        found: dict[str, Row] = {}
        by_client: dict[str, Row] = {}
        for row in self._rows("sdk_sessions"):
            client, own = _text(row, *_CLIENT_ID), _text(row, *_OWN_ID)
            session = {**row, "id": client or own, "rows": [], "told": []}
            by_client[client] = found[own or client] = session
        for table in ("observations", "session_summaries"):
            for row in self._rows(table):
                own = _text(row, *_OWN_ID)
                session = found.setdefault(own, {**row, "id": own, "rows": [], "told": []})
                session["rows" if table == "observations" else "told"].append(row)
        for row in self._rows("user_prompts"):
            client = _text(row, *_CLIENT_ID)
            if client in by_client:
                by_client[client].setdefault("prompts", []).append(row)
            else:
                self.left_out["orphaned prompt"] += 1
        return {own: session for own, session in found.items() if session["id"]}

    def _told(self, session: Row) -> Iterator[Row]:
        """Yield the lines of one session."""
        name = _text(session, "project")
        folder = self.folder_of(session["id"], name)
        if not folder:
            self.unknown[name] += 1
            return
        said = [*session.get("prompts", ()), *session["rows"], *session["told"]]
        if not said:
            self.left_out["empty session"] += 1
            return
        times = sorted(filter(None, (_time(row) for row in [session, *said])))
        if not times:
            self.left_out["undated session"] += 1
            return
        ended = _time(session, "completed_at")
        summary, files = _summary(session["told"]), _files(session["told"], folder)
        yield {
            "kind": "session", "id": session["id"], "project_dir": folder, "started_at": times[0],
            "last_event_at": max(times[-1], ended), "ended_at": ended or times[-1], "status": "closed",
            "summary": summary or None, "key_files": files[:_KEY_FILES], "key_decisions": [],
            "written_by": WRITER, "prompt_version": None, "retold": summary or None,
        }  # fmt: skip
        for row in session.get("prompts", ()):
            yield from self._prompt(row, session["id"], folder, times[0])
        for row in session["rows"]:
            yield self._observation(row, session["id"], folder, times[0])

    def _observation(self, row: Row, session_id: str, folder: str, began: str) -> Row:
        text = _text(row, "narrative") or _text(row, "text")
        title = one_line(_text(row, "title") or first_sentence(text) or _text(row, "type"))
        summary = clip("\n".join(filter(None, [_text(row, "subtitle"), text])), SUMMARY_CHARS) or title
        facts = [f"- {fact}" for fact in _list(row, "facts")]
        kinds = ", ".join(filter(None, [_text(row, "type"), *_list(row, "concepts")]))
        room = OBSERVATION_CHARS - len(title) - len(summary)
        detail = clip("\n".join([*facts, kinds]), room) if room > 0 else ""
        return _line_of(
            "observation", row, session_id, folder, began,
            tool_name=WRITER, title=title, summary=summary, detail=detail or None,
            files_touched=_files([row], folder),
        )  # fmt: skip

    def _prompt(self, row: Row, session_id: str, folder: str, began: str) -> Iterator[Row]:
        event = {"hook_event_name": "UserPromptSubmit", "prompt": _text(row, "prompt_text")}
        payload = json.loads(scrub_as_set(json.dumps(event)))
        said = rules.observe(Capture("UserPromptSubmit", "", payload, folder))
        if isinstance(said, Skip):
            self.left_out["mere consent"] += 1
            return
        yield _line_of(
            "prompt", row, session_id, folder, began,
            tool_name="UserPromptSubmit", title=said.title, summary=said.summary, detail=said.detail,
        )  # fmt: skip

    def _rows(self, table: str) -> Iterator[Row]:
        if table in self._names():
            cursor = self.connection.execute(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608  (of _TABLES)
            names = [column[0] for column in cursor.description]
            yield from (dict(zip(names, row, strict=True)) for row in cursor)

    def _names(self) -> set[str]:
        """Return the names of the database's tables, except SQLite's own and those of full-text indexes."""
        found = self.connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        virtual = tuple(name for name, sql in found if str(sql).upper().startswith("CREATE VIRTUAL"))
        return {name for name, _ in found if not name.startswith(("sqlite_", *virtual))}

    def _count(self, table: str) -> int:
        name = table.replace('"', '""')
        return int(self.connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0])  # noqa: S608


@contextlib.contextmanager
def opened(path: str, *, folder_of: Callable[[str, str], str]) -> Iterator[Original]:
    """Open the original's database for reading; `folder_of(session_id, project)` returns "" if unknown.

    Raises: ClaudeMemError when the file is not such a database, or cannot be read.
    """
    if not os.path.isfile(path):
        raise ClaudeMemError(f"there is no file {path}")
    # Without a WAL nobody is writing: open it as immutable, or SQLite would create files beside it.
    mode = "ro" if os.path.exists(f"{path}-wal") else "ro&immutable=1"
    connection = connect(path, mode=mode, timeout_s=10)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        if connection.execute("PRAGMA application_id").fetchone()[0] == config.MEMORY_APPLICATION_ID:
            raise ClaudeMemError(
                f"{path} is a memory of claude-mem-lite: use claude-mem export and claude-mem import memory"
            )
        original = Original(connection, folder_of)
        if "sdk_sessions" not in original._names() and "observations" not in original._names():  # noqa: SLF001
            raise ClaudeMemError(
                f"{path} has none of the tables of the original claude-mem: nothing was imported"
            )
        yield original
    except sqlite3.Error as error:
        raise ClaudeMemError(
            f"{path} cannot be read as the original claude-mem's database: {error}"
        ) from error
    finally:
        connection.close()


def _line_of(kind: str, row: Row, session_id: str, folder: str, began: str, **words: Any) -> Row:
    """Return the export line of an observation; the same row always gets the same id."""
    at, raw = _time(row) or began, row.get("discovery_tokens")
    key = "\0".join([WRITER, kind, session_id, str(row.get("id")), at])
    told = "\n".join(filter(None, [words["title"], words["summary"], words["detail"]]))
    return {
        "kind": "observation", "id": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32],
        "session_id": session_id, "project_dir": folder, "files_touched": [], "functions_changed": [],
        "tokens_raw": raw if type(raw) is int and 0 <= raw < _MILLISECONDS else 0,
        "tokens_compressed": estimate_tokens(told),
        "created_at": at, "tier": "", "written_by": WRITER, "prompt_version": None, **words,
    }  # fmt: skip


def _summary(told: list[Row]) -> str:
    """Return a session's newest summary, followed by earlier ones in brief."""
    parts: list[str] = []
    for row in reversed(told):
        said = [_text(row, "request"), _text(row, "completed")]
        if parts:
            said = [f"Before that: {said[0]}", said[1]] if said[0] else []
        else:
            told_of = (("Learned", _text(row, "learned")), ("Next", _text(row, "next_steps")))
            said += [f"{title}: {text}" for title, text in told_of if text]
        parts.append(". ".join(part.rstrip(". ") for part in said if part))
    return clip("\n".join(filter(None, parts)), SUMMARY_CHARS)


def _files(rows: list[Row], folder: str) -> list[str]:
    names = ("files_modified", "files_edited", "files_read")
    found = [path for row in rows for name in names for path in _list(row, name)]
    return list(unique(relative(path[:1_000], folder) for path in found))[:30]


def _text(row: Row, *names: str) -> str:
    """Return the first of the named columns that holds text, cleaned; "" if none does."""
    return next((clean(row[name]).strip() for name in names if isinstance(row.get(name), str)), "")


def _list(row: Row, name: str) -> list[str]:
    """Return a column's list: JSON, else items separated by newlines or (except facts) commas."""
    text = _text(row, name)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = text.replace("\n", ",").split(",") if name != "facts" else text.split("\n")
    return (
        [each.strip() for each in found if isinstance(each, str) and each.strip()]
        if isinstance(found, list)
        else []
    )


def _time(row: Row, name: str = "created_at") -> str:
    """Return a row's time as the databases store it; "" for none."""
    for column in (f"{name}_epoch", *(["started_at_epoch"] if name == "created_at" else [])):
        epoch = row.get(column)
        if isinstance(epoch, int | float) and epoch > 0:
            seconds = epoch / 1_000 if epoch > _MILLISECONDS else epoch
            return inbox.utc_text(seconds) if seconds < _MILLISECONDS else ""
    try:
        at = dt.datetime.fromisoformat(_text(row, name, *(["started_at"] if name == "created_at" else [])))
        return inbox.utc_text((at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp())
    except (ValueError, OverflowError):
        return ""


def _encoded(fields: Row) -> bytes:
    return exchange.line(fields).encode("utf-8", "replace")

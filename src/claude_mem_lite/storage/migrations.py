"""Migrate claude-mem.db by numbered steps, each applied once, in one transaction with its number.

Append a step, never change one: `PRAGMA user_version` counts how many a file has had. Nothing else about
the tables lives here.
"""

import os
import sqlite3
from contextlib import closing

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage.connections import connect
from claude_mem_lite.storage.first_schema import (
    EMBEDDED,
    TABLES,
    WRITTEN_BY_CLAUDE,
    embedded,
    full_text,
    rebuilt,
    without_full_text,
)

# The code map: each file as it was last read (`packed` holds what calls are resolved from), what became of
# each function in which session, and where and how surely one calls another (`observation_id` says so last).
_CODE_MAP = """
ALTER TABLE function_map ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE function_map ADD COLUMN end_line INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX idx_fn_place ON function_map(project_dir, file_path, qualified_name);

CREATE TABLE source_files (
    pk INTEGER PRIMARY KEY,
    project_dir TEXT NOT NULL,
    file_path TEXT NOT NULL,
    digest TEXT NOT NULL,
    lines INTEGER NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    packed BLOB NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (project_dir, file_path)
);

CREATE TABLE function_changes (
    pk INTEGER PRIMARY KEY,
    project_dir TEXT NOT NULL,
    file_path TEXT NOT NULL,
    qualified_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    signature TEXT NOT NULL,
    change_type TEXT NOT NULL,
    session_id TEXT NOT NULL,
    observation_id TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_change_function ON function_changes(project_dir, qualified_name);
CREATE INDEX idx_change_session ON function_changes(session_id);

ALTER TABLE call_graph ADD COLUMN level TEXT NOT NULL DEFAULT '';
ALTER TABLE call_graph ADD COLUMN shape TEXT NOT NULL DEFAULT '';
ALTER TABLE call_graph ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE call_graph ADD COLUMN observation_id TEXT;
CREATE UNIQUE INDEX idx_cg_pair
    ON call_graph(project_dir, caller_file, caller_function, callee_file, callee_function);
"""

# What a session's context asks for: the newest of a session, of a file, and what it was shown.
_CONTEXT = """
DROP INDEX idx_obs_session;
CREATE INDEX idx_obs_session ON observations(session_id, created_at);
DROP INDEX idx_log_session;
CREATE INDEX idx_log_session ON event_log(session_id, event_type);
CREATE INDEX idx_change_file ON function_changes(project_dir, file_path);
"""

# Learnings as they evolve: the sessions and observations that support one, the code that it speaks of, and
# why it is not told: it waits for the user (`quarantine`), something newer holds (`superseded_by`), the code
# has changed (`stale`). `kin` are those of other projects that say the same. Of a session: up to which
# observation its prompts (`learned_pk`) and Claude (`extracted_pk`) were asked, and if Claude's answer waits.
_LEARNED = """
CREATE TABLE learnings_now (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_dir TEXT,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    confidence REAL NOT NULL DEFAULT 0.5,
    times_seen INTEGER NOT NULL DEFAULT 1,
    source_sessions TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(source_sessions)),
    observations TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(observations)),
    code TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(code)),
    is_manual INTEGER NOT NULL DEFAULT 0,
    is_active INTEGER NOT NULL DEFAULT 1,
    quarantine TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(quarantine)),
    superseded_by TEXT,
    stale TEXT NOT NULL DEFAULT '',
    kin TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(kin)),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    seen_at TEXT NOT NULL
);
INSERT INTO learnings_now
    (pk, id, project_dir, category, content, confidence, source_sessions, is_active, created_at, updated_at,
     seen_at)
SELECT pk, id, project_dir, category, content, confidence, json_array(source_session_id), is_active,
    created_at, updated_at, updated_at
FROM learnings;
DROP TABLE learnings;
ALTER TABLE learnings_now RENAME TO learnings;
CREATE INDEX idx_learning_project ON learnings(project_dir, is_active, confidence);

ALTER TABLE sessions ADD COLUMN learned_pk INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN extracted_pk INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN extraction TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN extraction_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN extraction_due TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN extraction_note TEXT;
CREATE INDEX idx_session_extraction ON sessions(extraction) WHERE extraction <> '';
"""

# The folders of each project, and the branch that a session was on last, an observation when it was made.
_PROJECTS = """
CREATE TABLE project_folders (
    folder TEXT PRIMARY KEY,
    project_dir TEXT NOT NULL,
    key TEXT NOT NULL DEFAULT '',
    seen_at TEXT NOT NULL
);
CREATE INDEX idx_folder_project ON project_folders(project_dir);
CREATE INDEX idx_folder_key ON project_folders(key) WHERE key <> '';
ALTER TABLE sessions ADD COLUMN branch TEXT NOT NULL DEFAULT '';
ALTER TABLE observations ADD COLUMN branch TEXT NOT NULL DEFAULT '';
"""

# Where each session left its thread (see `distill.state`), and the names that edits took out of the code:
# `beside` is the setting whose value one was, `is_gone` says that no file of the work tree has it now.
_STATE = """
ALTER TABLE sessions ADD COLUMN state TEXT NOT NULL DEFAULT '{}' CHECK(json_valid(state));
CREATE TABLE retired_names (
    pk INTEGER PRIMARY KEY,
    project_dir TEXT NOT NULL,
    name TEXT NOT NULL,
    beside TEXT NOT NULL DEFAULT '',
    replacement TEXT NOT NULL DEFAULT '',
    session_id TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    retired_at TEXT NOT NULL,
    is_gone INTEGER NOT NULL DEFAULT 0,
    UNIQUE (project_dir, name, beside)
);
CREATE INDEX idx_retired_session ON retired_names(session_id);
"""

# The calls that failed, each with what worked instead, and in which event: `shape` is the command without its
# numbers, `rule` a linter's name for the failure, `is_cured` says that the same command has succeeded since.
_FAILED_CALLS = """
CREATE TABLE failed_calls (
    pk INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL UNIQUE,
    project_dir TEXT NOT NULL,
    session_id TEXT NOT NULL,
    failed_at TEXT NOT NULL,
    command TEXT NOT NULL,
    shape TEXT NOT NULL,
    error TEXT NOT NULL,
    signature TEXT NOT NULL,
    rule TEXT NOT NULL DEFAULT '',
    works TEXT NOT NULL DEFAULT '',
    works_id TEXT NOT NULL DEFAULT '',
    is_cured INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_failed_project ON failed_calls(project_dir, signature);
CREATE INDEX idx_failed_session ON failed_calls(session_id);
"""

# What a rule that is checked on tool calls forbids or demands, '' for most: fields of `guards.Guard`.
_GUARDS = """
ALTER TABLE learnings ADD COLUMN guard TEXT NOT NULL DEFAULT '' CHECK(guard = '' OR json_valid(guard));
CREATE INDEX idx_guard ON learnings(project_dir) WHERE guard != '';
"""

# Which client a session ran in; before there were others, Claude Code.
_CLIENTS = """
ALTER TABLE sessions ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';
ALTER TABLE observations ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';
"""

# What `sync` knows of a row: its id on every machine, its own primary key here (NULL: not here), the digest
# that stays when it is forgotten, the sequence under which this machine publishes it (0: it does not).
# `is_gone` is 1 for a row forgotten here, 2 for one that another machine has forgotten. The triggers that
# fill these tables are made by `sync.triggers`, where a hub is set up.
_SYNC = """
CREATE TABLE sync_rows (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    pk INTEGER,
    digest TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    meta TEXT NOT NULL CHECK(json_valid(meta)),
    is_gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX idx_sync_pk ON sync_rows(kind, pk);
CREATE INDEX idx_sync_digest ON sync_rows(digest);
CREATE INDEX idx_sync_seq ON sync_rows(seq) WHERE seq > 0;
CREATE INDEX idx_sync_gone ON sync_rows(is_gone) WHERE is_gone > 0;

CREATE TABLE sync_changes (
    kind TEXT NOT NULL,
    pk INTEGER NOT NULL,
    has_forgotten INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, pk)
) WITHOUT ROWID;

CREATE TABLE sync_forgotten (
    digest TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE sync_cursors (
    machine TEXT PRIMARY KEY,
    generation TEXT NOT NULL,
    number INTEGER NOT NULL
) WITHOUT ROWID;
"""

# Claude is asked about a session once: its summary and what it has taught come in one answer.
_TOLD_TOGETHER = """
DROP INDEX idx_session_extraction;
ALTER TABLE sessions DROP COLUMN extraction;
ALTER TABLE sessions DROP COLUMN extraction_attempts;
ALTER TABLE sessions DROP COLUMN extraction_due;
ALTER TABLE sessions DROP COLUMN extraction_note;
"""

MIGRATIONS: tuple[str, ...] = (
    TABLES + full_text("observations", "title", "summary", "detail") + full_text("sessions", "summary"),
    WRITTEN_BY_CLAUDE
    + without_full_text("sessions")
    + full_text("sessions", "summary", "key_decisions")
    + rebuilt("sessions"),
    EMBEDDED
    + full_text("learnings", "content")
    + full_text("function_map", "qualified_name", "signature", "docstring"),
    # Paths are found by their words too.
    without_full_text("observations")
    + full_text("observations", "title", "summary", "detail", "files_touched")
    + rebuilt("observations"),
    _CODE_MAP,
    _CONTEXT,
    without_full_text("learnings")
    + _LEARNED
    + embedded("learnings", "content")
    + full_text("learnings", "content")
    + rebuilt("learnings"),
    # Rows from before its index were not in it, and to change such a row breaks the index.
    rebuilt("function_map"),
    _PROJECTS,
    _STATE,
    _FAILED_CALLS,
    _GUARDS,
    _CLIENTS,
    _SYNC,
    _TOLD_TOGETHER,
)


def migrate() -> int:
    """Bring claude-mem.db to the newest schema, creating it if need be; return the number of steps taken.

    Several processes may call this at once: each step is taken by whoever holds the write lock.

    Raises:
        ClaudeMemError: the file belongs to another program or to a newer version of this one.
    """
    config.refuse_foreign_memory()
    with closing(connect(config.memory_path(), mode="rwc", timeout_s=30)) as connection:
        taken = 0
        while _step(connection):
            taken += 1
        # Only now: the application id must stand in the file itself, where the hooks look for it.
        connection.execute("PRAGMA journal_mode = WAL")
    return taken


def is_outdated() -> bool:
    """Tell whether claude-mem.db is there with an older schema. Raises: ClaudeMemError when it is newer."""
    version = schema()
    _refuse_newer(version)
    return 0 <= version < len(MIGRATIONS)


def schema() -> int:
    """Return how many steps claude-mem.db has had, -1 where it is not there or damaged; takes no lock."""
    if not os.path.exists(config.memory_path()):
        return -1
    try:
        with closing(connect(config.memory_path(), mode="ro", timeout_s=10)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError:
        return -1  # damaged: who reads it next says so


def _refuse_newer(version: int) -> None:
    if version > len(MIGRATIONS):
        found = f"{config.memory_path()} has schema {version}, this version knows {len(MIGRATIONS)}"
        raise ClaudeMemError(f"{found}: upgrade claude-mem-lite.")


def _step(connection: sqlite3.Connection) -> bool:
    """Take the next step under the write lock; return whether there was one."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        _refuse_newer(version)
        if version < 0:
            raise sqlite3.DatabaseError(f"schema {version}")
        if version == len(MIGRATIONS):
            return False
        for statement in _statements(MIGRATIONS[version]):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {config.MEMORY_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
        return True
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _statements(script: str) -> list[str]:
    """Split a script into statements: `executescript` would commit before it starts."""
    statements, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements

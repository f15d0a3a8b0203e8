"""Migrate claude-mem.db in numbered steps, each applied once, in one transaction with its number.

Append steps, never change one: `PRAGMA user_version` counts the steps that a file has had. The models and
queries of the tables are elsewhere.
"""

import os
import sqlite3
from contextlib import closing

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage.files import connect
from claude_mem_lite.storage.first_schema import FIRST_SCHEMA

# The folders of each project, the last branch of a session, and the branch of an observation.
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

# The state in which each session left its work (see `distill.state`), and the names that edits removed from
# the code: `beside` is the setting that had it as its value, `is_gone` that no file of the work tree has it.
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

# The calls that failed, each with what worked instead and its event. `shape` is the command without its
# numbers, `rule` a linter's name for the failure; `is_cured` says that the same command has succeeded since.
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

# What a rule checked on tool calls forbids or demands, as fields of `guards.Guard`; '' for most learnings.
_GUARDS = """
ALTER TABLE learnings ADD COLUMN guard TEXT NOT NULL DEFAULT '' CHECK(guard = '' OR json_valid(guard));
CREATE INDEX idx_guard ON learnings(project_dir) WHERE guard != '';
"""

# The client that a session ran in; all existing sessions ran in Claude Code.
_CLIENTS = """
ALTER TABLE sessions ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';
ALTER TABLE observations ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';
"""

# What `sync` knows of a row: its id on every machine, its primary key here (NULL: not here), the digest that
# is kept when the row is forgotten, and the sequence number under which this machine publishes it (0: not
# published). `is_gone` is 1 for a row forgotten here, 2 for one that another machine has forgotten.
# `sync.triggers` creates the triggers that fill these tables once a hub is set up.
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

# Claude is asked about a session once: one answer brings its summary and its learnings.
_TOLD_TOGETHER = """
DROP INDEX idx_session_extraction;
ALTER TABLE sessions DROP COLUMN extraction;
ALTER TABLE sessions DROP COLUMN extraction_attempts;
ALTER TABLE sessions DROP COLUMN extraction_due;
ALTER TABLE sessions DROP COLUMN extraction_note;
"""

# Only names in code are tracked, not names that occur in prose alone. Names in code are collected again.
_SEEN_IN_CODE = """
DELETE FROM retired_names WHERE NOT is_gone AND replacement = '' AND beside = '';
"""

# Files with this many steps or fewer, all from the first day of development, cannot be migrated.
TOO_OLD = 7
MIGRATIONS: tuple[str, ...] = (
    *[""] * TOO_OLD,
    FIRST_SCHEMA,
    _PROJECTS,
    _STATE,
    _FAILED_CALLS,
    _GUARDS,
    _CLIENTS,
    _SYNC,
    _TOLD_TOGETHER,
    _SEEN_IN_CODE,
)


def migrate() -> int:
    """Bring claude-mem.db to the newest schema, creating it if needed; return the number of steps taken.

    Several processes may call this at once: whichever holds the write lock takes the next step.

    Raises:
        ClaudeMemError: the file belongs to another program, or to a version too old or newer than this one.
    """
    config.refuse_foreign_memory()
    with closing(connect(config.memory_path(), mode="rwc", timeout_s=30)) as connection:
        taken = 0
        while _step(connection):
            taken += 1
        # After the steps: the application id must be in the file itself, not the WAL, for the hooks to read.
        connection.execute("PRAGMA journal_mode = WAL")
    return taken


def is_outdated() -> bool:
    """Tell whether claude-mem.db exists with an older schema.

    Raises: ClaudeMemError when its schema is newer, or too old.
    """
    version = schema()
    _refuse_unknown(version)
    return 0 <= version < len(MIGRATIONS)


def schema() -> int:
    """Return how many steps claude-mem.db has had, -1 if it is missing or damaged; takes no lock."""
    if not os.path.exists(config.memory_path()):
        return -1
    try:
        with closing(connect(config.memory_path(), mode="ro", timeout_s=10)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError:
        return -1  # damaged: the next read reports it


def _refuse_unknown(version: int) -> None:
    found = f"{config.memory_path()} has schema {version}, this version has {len(MIGRATIONS)}"
    if version > len(MIGRATIONS):
        raise ClaudeMemError(f"{found}: upgrade claude-mem-lite.")
    if 0 < version <= TOO_OLD:
        raise ClaudeMemError(
            f"{found} and upgrades none before {TOO_OLD + 1}: install a version of 22 to 25 November 2026,"
            " run claude-mem up once, then upgrade again"
        )


def _step(connection: sqlite3.Connection) -> bool:
    """Apply the next step under the write lock; return whether there was one."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        _refuse_unknown(version)
        if version < 0:
            raise sqlite3.DatabaseError(f"schema {version}")
        if version == len(MIGRATIONS):
            return False
        step = version or TOO_OLD
        for statement in _statements(MIGRATIONS[step]):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {config.MEMORY_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {step + 1}")
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

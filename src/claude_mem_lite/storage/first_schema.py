"""The first schema of claude-mem.db, and the SQL that gives tables full text and embeddings.

`migrations` applies it and all that came after.
"""

TABLES = """
CREATE TABLE sessions (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_dir TEXT NOT NULL,
    started_at TEXT NOT NULL,
    last_event_at TEXT NOT NULL,
    ended_at TEXT,
    status TEXT NOT NULL DEFAULT 'active',
    summary TEXT,
    summarized_pk INTEGER NOT NULL DEFAULT 0,
    observation_count INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_session_project ON sessions(project_dir, last_event_at);

CREATE TABLE observations (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    project_dir TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    detail TEXT,
    files_touched TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(files_touched)),
    functions_changed TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(functions_changed)),
    tokens_raw INTEGER NOT NULL DEFAULT 0,
    tokens_compressed INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_obs_session ON observations(session_id);
CREATE INDEX idx_obs_project ON observations(project_dir, created_at);

CREATE TABLE function_map (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    project_dir TEXT NOT NULL,
    file_path TEXT NOT NULL,
    qualified_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    signature TEXT NOT NULL,
    docstring TEXT,
    body_hash TEXT NOT NULL,
    decorators TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(decorators)),
    change_type TEXT NOT NULL DEFAULT 'new',
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_fn_file ON function_map(project_dir, file_path);
CREATE INDEX idx_fn_session ON function_map(session_id);
CREATE INDEX idx_fn_change ON function_map(change_type);

CREATE TABLE call_graph (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_dir TEXT NOT NULL,
    caller_file TEXT NOT NULL,
    caller_function TEXT NOT NULL,
    callee_file TEXT NOT NULL,
    callee_function TEXT NOT NULL,
    resolution TEXT NOT NULL,
    confidence REAL NOT NULL DEFAULT 1.0,
    times_confirmed INTEGER NOT NULL DEFAULT 0,
    last_confirmed_at TEXT,
    source TEXT NOT NULL DEFAULT 'ast',
    session_id TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_cg_caller ON call_graph(project_dir, caller_file, caller_function);
CREATE INDEX idx_cg_callee ON call_graph(project_dir, callee_file, callee_function);

CREATE TABLE learnings (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_dir TEXT,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    confidence REAL NOT NULL DEFAULT 0.5,
    source_session_id TEXT NOT NULL,
    is_active INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_learning_project ON learnings(project_dir, is_active, confidence);

CREATE TABLE event_log (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT,
    event_type TEXT NOT NULL,
    data TEXT NOT NULL DEFAULT '{}' CHECK(json_valid(data)),
    duration_ms INTEGER,
    tokens_in INTEGER,
    tokens_out INTEGER,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_log_session ON event_log(session_id);
CREATE INDEX idx_log_type ON event_log(event_type);
CREATE INDEX idx_log_time ON event_log(created_at);

CREATE TRIGGER observations_counted AFTER INSERT ON observations BEGIN
    UPDATE sessions SET observation_count = observation_count + 1 WHERE id = new.session_id;
END;
CREATE TRIGGER observations_uncounted AFTER DELETE ON observations BEGIN
    UPDATE sessions SET observation_count = observation_count - 1 WHERE id = old.session_id;
END;
"""


def full_text(table: str, *columns: str) -> str:
    """Return the DDL of a full text index that triggers keep in step with `table`; the names are ours."""
    names, new, old = (", ".join(prefix + column for column in columns) for prefix in ("", "new.", "old."))
    delete = f"INSERT INTO {table}_fts({table}_fts, rowid, {names}) VALUES ('delete', old.pk, {old});"  # noqa: S608
    insert = f"INSERT INTO {table}_fts(rowid, {names}) VALUES (new.pk, {new});"  # noqa: S608
    return f"""
CREATE VIRTUAL TABLE {table}_fts USING fts5(
    {names}, content='{table}', content_rowid='pk', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER {table}_fts_insert AFTER INSERT ON {table} BEGIN {insert} END;
CREATE TRIGGER {table}_fts_update AFTER UPDATE OF {names} ON {table} BEGIN {delete} {insert} END;
CREATE TRIGGER {table}_fts_delete AFTER DELETE ON {table} BEGIN {delete} END;
"""


# Claude's words in place of the local ones: who wrote, by which prompt, what still waits and why.
# `tier` is the capture's priority, '' for what the user and the assistant said themselves; `upgrade` is
# '', 'waiting' or 'error'; `batch` is "BATCH_ID/CUSTOM_ID" while a Message Batch has the capture; `retold`
# is Claude's summary of a session up to observation `retold_pk`.
WRITTEN_BY_CLAUDE = """
ALTER TABLE observations ADD COLUMN tier TEXT NOT NULL DEFAULT '';
ALTER TABLE observations ADD COLUMN written_by TEXT NOT NULL DEFAULT 'local';
ALTER TABLE observations ADD COLUMN prompt_version TEXT;
ALTER TABLE observations ADD COLUMN upgrade TEXT NOT NULL DEFAULT '';
ALTER TABLE observations ADD COLUMN upgrade_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE observations ADD COLUMN upgrade_due TEXT NOT NULL DEFAULT '';
ALTER TABLE observations ADD COLUMN upgrade_note TEXT;
ALTER TABLE observations ADD COLUMN batch TEXT;
CREATE INDEX idx_obs_upgrade ON observations(upgrade, upgrade_attempts, pk);
CREATE INDEX idx_obs_writer ON observations(written_by, tier, pk);
CREATE INDEX idx_log_type_time ON event_log(event_type, created_at);
CREATE INDEX idx_obs_batch ON observations(batch) WHERE batch IS NOT NULL;

ALTER TABLE sessions ADD COLUMN key_files TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(key_files));
ALTER TABLE sessions ADD COLUMN key_decisions TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(key_decisions));
ALTER TABLE sessions ADD COLUMN written_by TEXT NOT NULL DEFAULT 'local';
ALTER TABLE sessions ADD COLUMN prompt_version TEXT;
ALTER TABLE sessions ADD COLUMN retold TEXT;
ALTER TABLE sessions ADD COLUMN retold_pk INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN upgrade TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN upgrade_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN upgrade_due TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN upgrade_note TEXT;
CREATE INDEX idx_session_upgrade ON sessions(upgrade);

CREATE TABLE state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK(json_valid(value))
);
"""


def without_full_text(table: str) -> str:
    """Return the DDL that undoes `full_text`."""
    triggers = "".join(f"DROP TRIGGER {table}_fts_{event};\n" for event in ("insert", "update", "delete"))
    return f"{triggers}DROP TABLE {table}_fts;\n"


def rebuilt(table: str) -> str:
    """Return the statement that fills a full text index from its table."""
    return f"INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild');\n"  # noqa: S608  (a name of ours)


def embedded(table: str, *columns: str) -> str:
    """Return the DDL that keeps which model's vector a row has: "pending" once its text has changed."""
    changed = " OR ".join(f"old.{column} IS NOT new.{column}" for column in columns)
    return f"""
ALTER TABLE {table} ADD COLUMN embedding_status TEXT NOT NULL DEFAULT 'pending';
CREATE INDEX idx_{table}_embedding ON {table}(embedding_status, pk);
CREATE TRIGGER {table}_unembedded AFTER UPDATE OF {", ".join(columns)} ON {table} WHEN {changed} BEGIN
    UPDATE {table} SET embedding_status = 'pending' WHERE pk = new.pk;
END;
"""  # noqa: S608  (the names are ours)


# What of each table is embedded; `storage.embeddings` puts the same columns together.
EMBEDDED = (
    embedded("observations", "title", "summary")
    + embedded("sessions", "summary", "key_decisions")
    + embedded("learnings", "content")
    + embedded("function_map", "qualified_name", "signature", "docstring")
)

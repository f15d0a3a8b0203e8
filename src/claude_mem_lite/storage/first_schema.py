"""The first schema of claude-mem.db, and SQL that keeps full text and embedding status in step with rows.

`migrations` applies it, and all later steps.
"""

# Observations and sessions: `written_by` and `prompt_version` say who wrote the text; `upgrade` is the state
# of Claude's rewrite (see `rewrites`). `tier` is the capture's priority, '' for messages of the user and the
# assistant; `batch` is "BATCH_ID/CUSTOM_ID" while a Message Batch has the capture. `retold` is Claude's
# summary of a session up to observation `retold_pk`. Rules have searched its prompts for learnings up to
# `learned_pk`, Claude up to `extracted_pk`.
# Code map: each file as last read (`packed` holds the data that calls are resolved from), each function
# change with its session, and each call with its confidence (`observation_id` confirmed it last).
# Learnings: the sessions and observations that support one, the code it is about, and why it is not shown:
# it waits for the user (`quarantine`), a newer one replaced it (`superseded_by`) or the code has changed
# (`stale`). `kin` are learnings of other projects that say the same.
_TABLES = """
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
    observation_count INTEGER NOT NULL DEFAULT 0,
    key_files TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(key_files)),
    key_decisions TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(key_decisions)),
    written_by TEXT NOT NULL DEFAULT 'local',
    prompt_version TEXT,
    retold TEXT,
    retold_pk INTEGER NOT NULL DEFAULT 0,
    upgrade TEXT NOT NULL DEFAULT '',
    upgrade_attempts INTEGER NOT NULL DEFAULT 0,
    upgrade_due TEXT NOT NULL DEFAULT '',
    upgrade_note TEXT,
    embedding_status TEXT NOT NULL DEFAULT 'pending',
    learned_pk INTEGER NOT NULL DEFAULT 0,
    extracted_pk INTEGER NOT NULL DEFAULT 0,
    extraction TEXT NOT NULL DEFAULT '',
    extraction_attempts INTEGER NOT NULL DEFAULT 0,
    extraction_due TEXT NOT NULL DEFAULT '',
    extraction_note TEXT
);
CREATE INDEX idx_session_project ON sessions(project_dir, last_event_at);
CREATE INDEX idx_session_upgrade ON sessions(upgrade);
CREATE INDEX idx_session_extraction ON sessions(extraction) WHERE extraction <> '';

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
    created_at TEXT NOT NULL,
    tier TEXT NOT NULL DEFAULT '',
    written_by TEXT NOT NULL DEFAULT 'local',
    prompt_version TEXT,
    upgrade TEXT NOT NULL DEFAULT '',
    upgrade_attempts INTEGER NOT NULL DEFAULT 0,
    upgrade_due TEXT NOT NULL DEFAULT '',
    upgrade_note TEXT,
    batch TEXT,
    embedding_status TEXT NOT NULL DEFAULT 'pending'
);
CREATE INDEX idx_obs_session ON observations(session_id, created_at);
CREATE INDEX idx_obs_project ON observations(project_dir, created_at);
CREATE INDEX idx_obs_upgrade ON observations(upgrade, upgrade_attempts, pk);
CREATE INDEX idx_obs_writer ON observations(written_by, tier, pk);
CREATE INDEX idx_obs_batch ON observations(batch) WHERE batch IS NOT NULL;
CREATE TRIGGER observations_counted AFTER INSERT ON observations BEGIN
    UPDATE sessions SET observation_count = observation_count + 1 WHERE id = new.session_id;
END;
CREATE TRIGGER observations_uncounted AFTER DELETE ON observations BEGIN
    UPDATE sessions SET observation_count = observation_count - 1 WHERE id = old.session_id;
END;

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
    updated_at TEXT NOT NULL,
    embedding_status TEXT NOT NULL DEFAULT 'pending',
    line INTEGER NOT NULL DEFAULT 0,
    end_line INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_fn_file ON function_map(project_dir, file_path);
CREATE INDEX idx_fn_session ON function_map(session_id);
CREATE INDEX idx_fn_change ON function_map(change_type);
CREATE UNIQUE INDEX idx_fn_place ON function_map(project_dir, file_path, qualified_name);

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
CREATE INDEX idx_change_file ON function_changes(project_dir, file_path);

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
    created_at TEXT NOT NULL,
    level TEXT NOT NULL DEFAULT '',
    shape TEXT NOT NULL DEFAULT '',
    line INTEGER NOT NULL DEFAULT 0,
    observation_id TEXT
);
CREATE INDEX idx_cg_caller ON call_graph(project_dir, caller_file, caller_function);
CREATE INDEX idx_cg_callee ON call_graph(project_dir, callee_file, callee_function);
CREATE UNIQUE INDEX idx_cg_pair
    ON call_graph(project_dir, caller_file, caller_function, callee_file, callee_function);

CREATE TABLE learnings (
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
    seen_at TEXT NOT NULL,
    embedding_status TEXT NOT NULL DEFAULT 'pending'
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
CREATE INDEX idx_log_session ON event_log(session_id, event_type);
CREATE INDEX idx_log_type ON event_log(event_type);
CREATE INDEX idx_log_time ON event_log(created_at);
CREATE INDEX idx_log_type_time ON event_log(event_type, created_at);

CREATE TABLE state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK(json_valid(value))
);
"""


def full_text(table: str, *columns: str) -> str:
    """Return the DDL of a full-text index that triggers keep in step with `table`; names must be trusted."""
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


def embedded(table: str, *columns: str) -> str:
    """Return the DDL that sets `embedding_status` to "pending" when a row's embedded text changes."""
    changed = " OR ".join(f"old.{column} IS NOT new.{column}" for column in columns)
    return f"""
CREATE INDEX idx_{table}_embedding ON {table}(embedding_status, pk);
CREATE TRIGGER {table}_unembedded AFTER UPDATE OF {", ".join(columns)} ON {table} WHEN {changed} BEGIN
    UPDATE {table} SET embedding_status = 'pending' WHERE pk = new.pk;
END;
"""  # noqa: S608  (the names are ours)


# `embedded` names the embedded columns of each table; `storage.embeddings` joins the same columns.
FIRST_SCHEMA = (
    _TABLES
    + full_text("observations", "title", "summary", "detail", "files_touched")
    + full_text("sessions", "summary", "key_decisions")
    + full_text("learnings", "content")
    + full_text("function_map", "qualified_name", "signature", "docstring")
    + embedded("observations", "title", "summary")
    + embedded("sessions", "summary", "key_decisions")
    + embedded("learnings", "content")
    + embedded("function_map", "qualified_name", "signature", "docstring")
)

"""Query queue.db for an import of transcripts: which events are stored, and which are still unprocessed."""

from collections.abc import Iterator

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage.models import PendingEvent, queue_database
from claude_mem_lite.storage.queries import observations_of

_AT_ONCE = 100


def events_to_import(session_id: str) -> Iterator[list[PendingEvent]]:
    """Yield in batches, in order, a session's imported events that are not processed yet."""
    ids = PendingEvent.select(PendingEvent.id).where(
        (PendingEvent.session_id == session_id) & (PendingEvent.status == inbox.IMPORT)
    )
    waiting = [row.id for row in ids.order_by(PendingEvent.seq)]
    for start in range(0, len(waiting), _AT_ONCE):
        some = PendingEvent.id.in_(waiting[start : start + _AT_ONCE])
        yield PendingEvent.rows(some, by=(PendingEvent.seq,))


def captured(session_id: str) -> list[PendingEvent]:
    """Return the events of a session that hooks stored, in order."""
    is_captured = PendingEvent.status.not_in([inbox.IMPORT, inbox.IMPORTED, inbox.REIMPORT])
    return PendingEvent.rows(PendingEvent.session_id == session_id, is_captured, by=(PendingEvent.seq,))


def is_imported(session_id: str) -> bool:
    """Tell whether an import has stored and processed events of a session."""
    is_it = (PendingEvent.session_id == session_id) & (PendingEvent.status == inbox.IMPORTED)
    return bool(PendingEvent.select().where(is_it).exists())


def is_remembered_without_raw(session_id: str) -> bool:
    """Tell whether a session has an observation whose raw event is not in the queue."""
    raw = PendingEvent.select(PendingEvent.id).where(PendingEvent.session_id == session_id)
    ids = {row.id for row in raw}
    return any(row.id not in ids for row in observations_of(session_id))


def files_used(session_id: str) -> Iterator[tuple[str, str]]:
    """Yield (tool, path as given) for a session's successful calls on files, in order."""
    query = (
        "SELECT tool_name, COALESCE(json_extract(raw_output, '$.tool_input.file_path'),"
        " json_extract(raw_output, '$.tool_input.notebook_path')) FROM pending_queue"
        " WHERE session_id = ? AND event_name = 'PostToolUse' AND json_valid(raw_output) ORDER BY seq"
    )
    for tool_name, path in queue_database.execute_sql(query, (session_id,)):
        if isinstance(path, str):
            yield tool_name, path


def tool_use_ids() -> Iterator[tuple[str, str]]:
    """Yield (session id, `tool_use_id`) for the tool calls in the queue, from hooks and imports alike.

    A call of which only the `PreToolUse` event is known is left out.
    """
    query = (
        "SELECT session_id, json_extract(raw_output, '$.tool_use_id') FROM pending_queue"
        " WHERE tool_name <> '' AND event_name <> 'PreToolUse' AND json_valid(raw_output)"
    )
    for session_id, call_id in queue_database.execute_sql(query):
        if isinstance(call_id, str):
            yield session_id, call_id

"""Keep the queue of observations and session summaries that Claude rewrites, and the outcome of each.

A row keeps the text written by rules ("local") while its `upgrade` is "waiting". It is "error" if the API
rejected the row and "gone" if its raw event is no longer stored. A session with "left" is only rewritten when
the user asks for it. Times are Unix seconds here and UTC text in the tables.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import facts
from claude_mem_lite.storage.models import Observation, Session

WAITING, ERROR, GONE, LEFT = "waiting", "error", "gone", "left"
MAX_ROWS = 500


def put_off(rows: Sequence[Observation | Session], *, due: float, note: str) -> None:
    """Schedule rows of one table for a retry at `due`, counting one more failed attempt."""
    _fail(rows, upgrade_due=inbox.utc_text(due), upgrade_note=note)


def reject(row: Observation | Session, *, note: str) -> None:
    """Mark a row as rejected by Claude; the rule-written text stays."""
    _fail([row], upgrade=ERROR, upgrade_note=note)


def _fail(rows: Sequence[Observation | Session], **fields: str) -> None:
    table: Any = type(rows[0])
    attempts = table.upgrade_attempts + 1
    table.update(upgrade_attempts=attempts, **fields).where(table.id.in_([row.id for row in rows])).execute()


def waiting_observations(tiers: Collection[str], *, ids: Sequence[str] | None = None) -> list[Observation]:
    """Return the waiting observations outside Message Batches, due or not, at most MAX_ROWS.

    With `ids`, return those of them that are still rule-written, waiting or not. The fewest failed attempts
    come first, then the oldest.
    """
    if ids is None:
        wanted = (Observation.upgrade == WAITING) & Observation.tier.in_(sorted(tiers))
    else:
        wanted = Observation.id.in_(ids) & (Observation.written_by == "local")
    order = (Observation.upgrade_attempts, Observation.pk)
    return Observation.rows(Observation.batch.is_null(), wanted, by=order, limit=MAX_ROWS)


def local_observations(
    tiers: Collection[str], *, errors: bool = False, sessions: Collection[str] | None = None
) -> list[str]:
    """Return the ids of the captures (of some sessions) that Claude could still rewrite, oldest first."""
    rows = Observation.select(Observation.id).where(
        Observation.tier.in_(sorted(tiers))
        & (Observation.written_by == "local")
        & Observation.batch.is_null()
    )
    rows = rows.where(Observation.upgrade.not_in([GONE] if errors else [GONE, ERROR]))
    found: Any = rows.select_extend(Observation.session_id).order_by(Observation.pk).tuples()
    return [row_id for row_id, session_id in found if sessions is None or session_id in sessions]


def write_observation(observation_id: str, **words: Any) -> None:
    """Replace the rule-written text; the facts extracted by the parsers (files, functions) stay.

    `words`: title, summary, tokens_compressed, written_by, prompt_version, and detail if it is better than
    the rule-written one.
    """
    Observation.update(upgrade="", upgrade_note=None, batch=None, **words).where(
        Observation.id == observation_id
    ).execute()


def leave_local(observation_ids: Iterable[str]) -> None:
    """Mark observations whose raw events are no longer stored, so that they cannot be rewritten."""
    Observation.update(upgrade=GONE).where(Observation.id.in_(list(observation_ids))).execute()


def reconsider(observation_ids: Iterable[str]) -> list[str]:
    """Set the rejected ones of some observations back to waiting, outside batches; return their ids."""
    mine = Observation.id.in_(list(observation_ids)) & (Observation.upgrade == ERROR)
    ids = [row.id for row in Observation.select(Observation.id).where(mine)]
    Observation.update(upgrade=WAITING, batch=None).where(Observation.id.in_(ids)).execute()
    return ids


def send_in_batch(observation_ids: Iterable[str], *, batch: str) -> None:
    """Record which Message Batch request contains some observations, as "BATCH_ID/CUSTOM_ID"."""
    Observation.update(batch=batch).where(Observation.id.in_(list(observation_ids))).execute()


def leave_request(batch: str) -> None:
    """Release the observations that one Message Batch request did not answer, so that they wait again."""
    Observation.update(batch=None).where(Observation.batch == batch).execute()


def observations_in_batch(batch: str) -> list[Observation]:
    """Return the observations of one request of a Message Batch."""
    return Observation.rows(Observation.batch == batch, by=(Observation.pk,))


def leave_batch(batch_id: str) -> None:
    """Release the observations that a Message Batch did not answer, so that they wait again."""
    # "0" comes after "/": a range, because LIKE would read every row.
    mine = (Observation.batch > f"{batch_id}/") & (Observation.batch < f"{batch_id}0")
    Observation.update(batch=None).where(mine).execute()


def counts(tiers: Collection[str]) -> dict[str, int]:
    """Return how many captures are rewritten, waiting, in a batch, in error, or remain rule-written."""
    mine = Observation.tier.in_(sorted(tiers))
    in_batch = Observation.batch.is_null(False)
    local = (Observation.written_by == "local") & mine
    return {
        "by_claude": Observation.select().where(Observation.written_by != "local").count(),
        "waiting": Observation.select().where((Observation.upgrade == WAITING) & mine & ~in_batch).count(),
        "in_batch": Observation.select().where(in_batch).count(),
        "error": Observation.select().where(Observation.upgrade == ERROR).count(),
        "local": Observation.select().where(local & (Observation.upgrade == "") & ~in_batch).count(),
    }


def want_retelling(session_id: str) -> None:
    """Queue a session's summary for Claude, unless Claude's summary covers its newest observations."""
    Session.update(upgrade=WAITING, upgrade_attempts=0, upgrade_due="").where(
        (Session.id == session_id) & (Session.summarized_pk > Session.retold_pk)
    ).execute()


def reconsider_session(session_id: str) -> None:
    """Set a session whose summary was rejected back to waiting."""
    mine = (Session.id == session_id) & (Session.upgrade == ERROR)
    Session.update(upgrade=WAITING).where(mine).execute()


def cancel_retelling(session_id: str) -> None:
    """Stop waiting for Claude's summary of a session, because there is no API key or it is not wanted."""
    mine = (Session.id == session_id) & (Session.upgrade == WAITING)
    Session.update(upgrade="").where(mine).execute()


def leave_to_user(session_id: str) -> None:
    """Leave a session's summary to an explicit request of the user, unless Claude has written one."""
    mine = (Session.id == session_id) & (Session.upgrade == "") & Session.retold.is_null()
    Session.update(upgrade=LEFT).where(mine).execute()


def outdated_sessions(
    *, after: str = "", before: str = "9", errors: bool = False, left: bool = False
) -> list[str]:
    """Return the sessions, last active between two times, that have gone on since Claude's summary."""
    rows = Session.select(Session.id).where(
        (Session.last_event_at > after)
        & (Session.last_event_at < before)
        & (Session.summarized_pk > Session.retold_pk)
        & Session.upgrade.in_(["", *[ERROR] * errors, *[LEFT] * left])
    )
    return [row.id for row in rows.order_by(Session.last_event_at)]


def waiting_sessions() -> list[Session]:
    """Return the sessions whose summary waits for Claude: fewest attempts first, then longest idle."""
    order = (Session.upgrade_attempts, Session.last_event_at)
    return Session.rows(Session.upgrade == WAITING, by=order, limit=MAX_ROWS)


def write_summary(session_id: str, **words: Any) -> None:
    """Replace a session's summary with Claude's.

    `words`: summary, key_files, key_decisions, retold_pk (the last observation it covers), written_by,
    prompt_version.
    """
    Session.update(retold=words["summary"], upgrade="", upgrade_attempts=0, upgrade_note=None, **words).where(
        Session.id == session_id
    ).execute()


def finish_extraction(session_id: str, *, up_to: int) -> None:
    """Record up to which observation Claude has extracted learnings from a session."""
    Session.update(extracted_pk=up_to).where(Session.id == session_id).execute()


def start(*, credential: str, version: str) -> None:
    """Record the credential's source and the version of a starting consumer; end a pause due to the setup."""
    facts.write("consumer", {"credential": credential, "version": version, "started_at": inbox.utc_now()})
    gate = facts.read("gate")
    if gate.get("kind") == "setup":  # a restart may fix the setup; an outage keeps its pause
        facts.write("gate", gate | {"until": 0.0})

"""Keep the queue of observations that Claude is to rewrite, and the outcome of each.

An observation or a session *waits* while its `upgrade` is "waiting"; the local words stand meanwhile. It is
in "error" when the API will not take it, "gone" when its raw event is no longer kept; of a session that is
"left" nobody asks Claude unless the user does.
Times are Unix seconds here and UTC text in the tables.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import facts
from claude_mem_lite.storage.models import Observation, Session

WAITING, ERROR, GONE, LEFT = "waiting", "error", "gone", "left"
MAX_ROWS = 500


def put_off(rows: Sequence[Observation | Session], *, due: float, note: str) -> None:
    """Have rows of one table tried again at `due`; one more attempt has failed."""
    _fail(rows, upgrade_due=inbox.utc_text(due), upgrade_note=note)


def reject(row: Observation | Session, *, note: str) -> None:
    """Mark a row as one that Claude will not write about; the local words stand."""
    _fail([row], upgrade=ERROR, upgrade_note=note)


def _fail(rows: Sequence[Observation | Session], **fields: str) -> None:
    table: Any = type(rows[0])
    attempts = table.upgrade_attempts + 1
    table.update(upgrade_attempts=attempts, **fields).where(table.id.in_([row.id for row in rows])).execute()


def waiting_observations(tiers: Collection[str], *, ids: Sequence[str] | None = None) -> list[Observation]:
    """Return what waits and is in no Message Batch, oldest first, whether it is due yet or not.

    With `ids`, at most MAX_ROWS, those of them that are still local, whether they wait or not.
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
    """Return the ids of the captures that Claude could still write about, of some sessions, oldest first."""
    rows = Observation.select(Observation.id).where(
        Observation.tier.in_(sorted(tiers))
        & (Observation.written_by == "local")
        & Observation.batch.is_null()
    )
    rows = rows.where(Observation.upgrade.not_in([GONE] if errors else [GONE, ERROR]))
    found: Any = rows.select_extend(Observation.session_id).order_by(Observation.pk).tuples()
    return [row_id for row_id, session_id in found if sessions is None or session_id in sessions]


def write_observation(observation_id: str, **words: Any) -> None:
    """Replace the local words; the facts that the parsers read out (files, functions) stay.

    `words`: title, summary, tokens_compressed, written_by, prompt_version, and detail where there is a better
    one than the local evidence.
    """
    Observation.update(upgrade="", upgrade_note=None, batch=None, **words).where(
        Observation.id == observation_id
    ).execute()


def leave_local(observation_ids: Iterable[str]) -> None:
    """Note that the raw events of some observations are no longer kept, so that nobody can write better."""
    Observation.update(upgrade=GONE).where(Observation.id.in_(list(observation_ids))).execute()


def reconsider(observation_ids: Iterable[str]) -> list[str]:
    """Have those of some observations wait again that were turned down, each alone; return their ids."""
    mine = Observation.id.in_(list(observation_ids)) & (Observation.upgrade == ERROR)
    ids = [row.id for row in Observation.select(Observation.id).where(mine)]
    Observation.update(upgrade=WAITING, batch=None).where(Observation.id.in_(ids)).execute()
    return ids


def send_in_batch(observation_ids: Iterable[str], *, batch: str) -> None:
    """Note which request of which Message Batch has some observations: "BATCH_ID/CUSTOM_ID"."""
    Observation.update(batch=batch).where(Observation.id.in_(list(observation_ids))).execute()


def leave_request(batch: str) -> None:
    """Have what one request of a Message Batch has not brought wait again."""
    Observation.update(batch=None).where(Observation.batch == batch).execute()


def observations_in_batch(batch: str) -> list[Observation]:
    """Return the observations of one request of a Message Batch."""
    return Observation.rows(Observation.batch == batch, by=(Observation.pk,))


def leave_batch(batch_id: str) -> None:
    """Have what a Message Batch has not brought wait again."""
    # "0" comes after "/": a range, because LIKE would read every row.
    mine = (Observation.batch > f"{batch_id}/") & (Observation.batch < f"{batch_id}0")
    Observation.update(batch=None).where(mine).execute()


def counts(tiers: Collection[str]) -> dict[str, int]:
    """Return how many captures Claude has written about, wait, are in a batch, in error, or stay local."""
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
    """Have Claude write a session's summary, unless it has told all that is known."""
    Session.update(upgrade=WAITING, upgrade_attempts=0, upgrade_due="").where(
        (Session.id == session_id) & (Session.summarized_pk > Session.retold_pk)
    ).execute()


def reconsider_session(session_id: str) -> None:
    """Have the summary of a session that was turned down wait again."""
    mine = (Session.id == session_id) & (Session.upgrade == ERROR)
    Session.update(upgrade=WAITING).where(mine).execute()


def cancel_retelling(session_id: str) -> None:
    """Have nobody wait for Claude's summary of a session: there is no key, or it is not wanted."""
    mine = (Session.id == session_id) & (Session.upgrade == WAITING)
    Session.update(upgrade="").where(mine).execute()


def leave_to_user(session_id: str) -> None:
    """Have nobody ask Claude for a session's summary unless the user does."""
    mine = (Session.id == session_id) & (Session.upgrade == "") & Session.retold.is_null()
    Session.update(upgrade=LEFT).where(mine).execute()


def outdated_sessions(
    *, after: str = "", before: str = "9", errors: bool = False, left: bool = False
) -> list[str]:
    """Return the sessions, last heard of between two times, that have gone on since Claude told them."""
    rows = Session.select(Session.id).where(
        (Session.last_event_at > after)
        & (Session.last_event_at < before)
        & (Session.summarized_pk > Session.retold_pk)
        & Session.upgrade.in_(["", *[ERROR] * errors, *[LEFT] * left])
    )
    return [row.id for row in rows.order_by(Session.last_event_at)]


def waiting_sessions() -> list[Session]:
    """Return the sessions whose summary waits for Claude, longest waiting first."""
    order = (Session.upgrade_attempts, Session.last_event_at)
    return Session.rows(Session.upgrade == WAITING, by=order, limit=MAX_ROWS)


def write_summary(session_id: str, **words: Any) -> None:
    """Replace a session's summary by Claude's.

    `words`: summary, key_files, key_decisions, retold_pk (the last observation it knows of), written_by,
    prompt_version.
    """
    Session.update(retold=words["summary"], upgrade="", upgrade_attempts=0, upgrade_note=None, **words).where(
        Session.id == session_id
    ).execute()


def finish_extraction(session_id: str, *, up_to: int) -> None:
    """Note up to which observation Claude has learned from a session."""
    Session.update(extracted_pk=up_to).where(Session.id == session_id).execute()


def start(*, credential: str, version: str) -> None:
    """Note what the consumer that starts now has to call the API with, and allow a call at once."""
    facts.write("consumer", {"credential": credential, "version": version, "started_at": inbox.utc_now()})
    gate = facts.read("gate")
    if gate.get("kind") == "setup":  # a restart may be the cure; an outage has its own time
        facts.write("gate", gate | {"until": 0.0})

"""Send observations that can wait as Message Batches, at half the price, and store the answers.

The fact "batches" holds the pending ones: {BATCH_ID: {"usd": …, "asked_at": …, …}}; each observation in one
has "BATCH_ID/CUSTOM_ID" as its `batch`. If the API does not know a batch, its observations wait again.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import api, circuit_breaker, cost, observations, request_cycle, requests
from claude_mem_lite.claude.api import Answer, ClaudeError, NotFoundError, RejectedError
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import facts, rewrites
from claude_mem_lite.storage.models import Observation

ASK_EVERY_S = 300.0
# A batch ends within a day, and its results are kept for 29; source: Message Batches API.
_GIVEN_UP_S = 2 * 86_400.0
_REFUSED_S = 3_600.0


def step(settings: Settings, *, now: float) -> Step | None:
    """Query a pending batch or send one, if it is time and calls are allowed; else return None."""
    closed = circuit_breaker.load()
    if closed.kind != "budget" and now < closed.until:
        return None
    for batch_id, entry in facts.read("batches").items():
        if now >= entry["asked_at"] + ASK_EVERY_S:
            return collect(batch_id, settings, now=now)
    refused = facts.read("batches_refused").get("at", 0.0)
    if settings.batch_after_hours and not closed.is_probing and now >= refused + _REFUSED_S:
        before = inbox.utc_text(now - settings.batch_after_hours * 3_600)
        waiting = rewrites.waiting_observations(settings.tiers)
        old = [row for row in waiting if row.created_at < before and row.upgrade_due <= inbox.utc_text(now)]
        if old:
            return send(old, settings, now=now)
    return None


def send(rows: Sequence[Observation], settings: Settings, *, now: float) -> Step:
    """Send captures as one Message Batch, as many as the daily budget allows.

    If the API refuses it, none is sent for an hour; single requests go on.
    """
    left, usd, packs, found = cost.left_today(settings, now=now), 0.0, [], 0
    for pack in requests.packs(rows, size=observations.MAX_CAPTURES):
        rewrites.leave_local(row.id for row in pack.gone)
        worst = requests.worst_usd(pack.request, settings.price, is_batch=True)
        found += len(pack.observations)
        if pack.observations and usd + worst <= left:
            packs.append(pack)
            usd += worst
    if not packs:
        return request_cycle.stop_for_budget(settings, now=now) if found else Step(0.0)
    try:
        batch_id = api.start_batch([pack.request for pack in packs], settings)
    except ClaudeError as error:
        facts.write("batches_refused", {"at": now})
        return Step(PACE_S, failure="batch", reason=f"the Message Batch could not be sent: {error}")
    with facts.transaction():
        for number, pack in enumerate(packs):
            ids = [row.id for row in pack.observations]
            rewrites.send_in_batch(ids, batch=f"{batch_id}/{number}")
        entry = {
            "usd": round(usd, 6), "sent_at": now, "asked_at": now, "model": settings.model, "taken": [],
        }  # fmt: skip
        facts.write("batches", facts.read("batches") | {batch_id: entry})
    return Step(PACE_S, sent=sum(len(pack.observations) for pack in packs))


def collect(batch_id: str, settings: Settings, *, now: float) -> Step:
    """Query a batch and, if it has ended, store its answers; captures without an answer wait again.

    A batch that cannot be queried blocks nothing else, and is given up after two days.
    """
    entry = facts.read("batches")[batch_id] | {"asked_at": now}
    _keep(batch_id, entry)
    answers: dict[str, Answer | ClaudeError] | None
    reason = ""
    try:
        answers = api.batch_answers(batch_id, settings)
    except (NotFoundError, RejectedError):
        answers = {}  # another account's, or too old: what it had waits again
    except ClaudeError as error:
        answers, reason = None, f"the state of a Message Batch could not be read: {error}"
    if answers is None and now < entry["sent_at"] + _GIVEN_UP_S:
        return Step(PACE_S, failure="batch" if reason else "", reason=reason)
    writer = dataclasses.replace(settings, model=entry["model"])
    written = 0
    for number, answer in (answers or {}).items():
        if number not in entry["taken"]:
            written += _take(batch_id, number, answer, writer, entry=entry, now=now)
    with facts.transaction():
        rewrites.leave_batch(batch_id)
        _keep(batch_id, None)
    return Step(PACE_S, written=written)


def _take(  # noqa: PLR0913  (one answer, and where it belongs)
    batch_id: str,
    number: str,
    answer: Answer | ClaudeError,
    settings: Settings,
    *,
    entry: dict[str, Any],
    now: float,
) -> int:
    """Store one answer of a batch, once; return the number of captures it was good for."""
    written, batch = 0, f"{batch_id}/{number}"
    rows = rewrites.observations_in_batch(batch)
    with facts.transaction():
        if isinstance(answer, Answer):
            session_id = rows[0].session_id if rows else ""
            request_cycle.enter(
                "observations",
                answer,
                settings,
                now=now,
                session_id=session_id,
                captures=len(rows),
                is_batch=True,
            )
            if answer.stop_reason != api.REFUSAL:
                written = observations.take_answer(rows, answer, settings, now=now)
        rewrites.leave_request(batch)
        entry["taken"].append(number)
        _keep(batch_id, entry)
    if isinstance(answer, Answer) and answer.stop_reason == api.REFUSAL:
        observations.turn_down(rows, api.DECLINED, now=now, is_final=True)
    elif isinstance(answer, RejectedError) and rows:
        observations.turn_down(rows, str(answer), now=now)
    return written


def _keep(batch_id: str, entry: dict[str, Any] | None) -> None:
    batches = facts.read("batches")
    batches.pop(batch_id, None)
    facts.write("batches", batches | ({batch_id: entry} if entry else {}))

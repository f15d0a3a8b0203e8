"""Message Batches, at half the price, for what can wait: sent, asked about, and taken in.

The state "batches" holds those on their way: {BATCH_ID: {"usd": …, "sent_at": …, "asked_at": …}}; each
observation in one bears "BATCH_ID/CUSTOM_ID". A batch that nobody knows any more sets them free again.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from claude_mem_lite import inbox
from claude_mem_lite.distill import claude, cost, requests, upgrade
from claude_mem_lite.distill.claude import (
    Answer,
    ClaudeError,
    NotFoundError,
    OutageError,
    RejectedError,
    SetupError,
)
from claude_mem_lite.distill.upgrade import Step
from claude_mem_lite.storage import upgrades

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.settings import Settings
    from claude_mem_lite.storage.models import Observation

ASK_EVERY_S = 300.0
# A batch ends within a day, and its results are kept for 29; source: Message Batches API.
_GIVEN_UP_S = 2 * 86_400.0


def step(settings: Settings, *, now: float) -> Step | None:
    """Ask about a batch or send one, if it is time and the API may be called; else None."""
    closed = upgrade.read_gate()
    if closed.kind != "budget" and now < closed.until:
        return None
    for batch_id, entry in upgrades.read_state("batches").items():
        if now >= entry["asked_at"] + ASK_EVERY_S:
            return collect(batch_id, settings, now=now)
    if settings.batch_after_hours and not closed.is_probing:
        before = inbox.utc_text(now - settings.batch_after_hours * 3_600)
        waiting = upgrades.waiting_observations(settings.tiers)
        old = [row for row in waiting if row.created_at < before and row.upgrade_due <= inbox.utc_text(now)]
        if old:
            return send(old, settings, now=now)
    return None


def send(rows: Sequence[Observation], settings: Settings, *, now: float) -> Step:
    """Send captures as one Message Batch, as many as the daily budget allows."""
    left, usd, packs = cost.left_today(settings, now=now), 0.0, []
    for pack in requests.packs(rows, size=upgrade.MAX_CAPTURES):
        upgrades.leave_local(row.id for row in pack.gone)
        worst = requests.worst_usd(pack.request, settings.price, is_batch=True)
        if pack.observations and usd + worst <= left:
            packs.append(pack)
            usd += worst
    if not packs:
        return upgrade.stop_for_budget(settings, now=now)
    try:
        batch_id = claude.start_batch([pack.request for pack in packs], settings)
    except (OutageError, SetupError) as error:
        return upgrade.close_gate(error, now=now)
    except RejectedError as error:
        return upgrade.close_gate(SetupError(f"the Message Batch was turned down: {error}"), now=now)
    with upgrades.transaction():
        for number, pack in enumerate(packs):
            ids = [row.id for row in pack.observations]
            upgrades.send_in_batch(ids, batch=f"{batch_id}/{number}")
        entry = {"usd": round(usd, 6), "sent_at": now, "asked_at": now, "model": settings.model}
        upgrades.write_state("batches", upgrades.read_state("batches") | {batch_id: entry})
    return Step(upgrade.PACE_S, sent=sum(len(pack.observations) for pack in packs))


def collect(batch_id: str, settings: Settings, *, now: float) -> Step:
    """Ask about a batch and, if it has ended, store what it brought; the rest waits again."""
    entry = upgrades.read_state("batches")[batch_id]
    try:
        answers = claude.batch_answers(batch_id, settings)
    except NotFoundError:
        answers = {}  # another account's, or too old: what it had waits again
    except (OutageError, SetupError) as error:
        return upgrade.close_gate(error, now=now)
    if answers is None and now < entry["sent_at"] + _GIVEN_UP_S:
        _keep(batch_id, entry | {"asked_at": now})
        return Step(upgrade.PACE_S)
    writer = dataclasses.replace(settings, model=entry["model"])
    written = sum(
        _take(f"{batch_id}/{number}", answer, writer, now=now) for number, answer in (answers or {}).items()
    )
    with upgrades.transaction():
        upgrades.leave_batch(batch_id)
        _keep(batch_id, None)
    return Step(upgrade.PACE_S, written=written)


def _take(batch: str, answer: Answer | ClaudeError, settings: Settings, *, now: float) -> int:
    """Store one answer of a batch, however often it is read; return for how many captures it was good."""
    rows = upgrades.observations_in_batch(batch)
    if not rows or isinstance(answer, OutageError):
        return 0
    if isinstance(answer, ClaudeError):
        upgrade.turn_down(rows, str(answer), now=now)
        return 0
    with upgrades.transaction():
        upgrade.enter(
            "observations",
            answer,
            settings,
            now=now,
            session_id=rows[0].session_id,
            captures=len(rows),
            is_batch=True,
        )
        if answer.stop_reason != claude.REFUSAL:
            return upgrade.take_answer(rows, answer, settings, now=now)
    upgrade.turn_down(rows, claude.DECLINED, now=now)
    return 0


def _keep(batch_id: str, entry: dict[str, Any] | None) -> None:
    batches = upgrades.read_state("batches")
    batches.pop(batch_id, None)
    upgrades.write_state("batches", batches | ({batch_id: entry} if entry else {}))

"""Keep the ledger of API calls: what each one cost, and how much of the daily budget is spent.

Times are Unix seconds here and UTC text in the tables.
"""

import logging
import os
from dataclasses import dataclass
from typing import Any

from peewee import SQL, fn

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage.models import LogEntry

log = logging.getLogger(__name__)

CALL = "claude.call"
IMPORTED = "imported"  # key in the data of a call that another machine made


@dataclass(frozen=True, slots=True)
class Call:
    """One answer of the API; `input_tokens` excludes tokens read from or written to the prompt cache."""

    purpose: str
    model: str
    usd: float
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    duration_ms: int = 0
    captures: int = 0
    session_id: str = ""
    is_batch: bool = False


def reserve(usd: float, *, now: float) -> str:
    """Enter a call into the ledger before it is made, at its highest possible cost; return the entry's id.

    A process killed during a call leaves the entry behind, so that its cost still counts.
    """
    entry_id = os.urandom(16).hex()
    LogEntry.create(id=entry_id, event_type=CALL, data={"usd": usd}, created_at=inbox.utc_text(now))
    return entry_id


def release(entry_id: str) -> None:
    """Delete the reserved entry of a call that brought no answer."""
    LogEntry.delete().where(LogEntry.id == entry_id).execute()


def record(call: Call, *, now: float, entry_id: str = "") -> None:
    """Enter an answer into the ledger, replacing its reserved entry.

    Call this in the transaction that stores the answer's content.
    """
    release(entry_id)
    names = [name for name in call.__slots__ if name not in {"session_id", "duration_ms"}]
    tokens_in = call.input_tokens + call.cache_read_tokens + call.cache_write_tokens
    data = {name: getattr(call, name) for name in names}
    line = {"event": CALL, "session_id": call.session_id, "duration_ms": call.duration_ms, **data}
    log.info(CALL, extra={"event": line})
    LogEntry.create(
        id=os.urandom(16).hex(),
        session_id=call.session_id or None,
        event_type=CALL,
        data=data,
        duration_ms=call.duration_ms,
        tokens_in=tokens_in,
        tokens_out=call.output_tokens,
        created_at=inbox.utc_text(now),
    )


def spent_usd(*, since: str) -> float:
    """Return what this machine's own calls since a time cost, in US dollars."""
    total = LogEntry.select(fn.SUM(fn.json_extract(LogEntry.data, "$.usd"))).where(_is_own(since))
    return float(total.scalar() or 0.0)


def tokens(*, since: str) -> int:
    """Return the tokens of this machine's own calls since a time, including cached ones."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    each = [fn.COALESCE(fn.SUM(fn.json_extract(LogEntry.data, f"$.{name}")), 0) for name in names]
    sums: Any = LogEntry.select(*each).where(_is_own(since)).tuples().get()
    return sum(sums)


def has_called(*, since: str) -> bool:
    """Tell whether the API has answered this machine since a time."""
    return bool(LogEntry.select().where(_is_own(since)).exists())


def costs(*, by: str, since: str) -> list[dict[str, Any]]:
    """Return the ledger summed up by `day` or by `session`, newest first."""
    key = fn.SUBSTR(LogEntry.created_at, 1, 10) if by == "day" else LogEntry.session_id

    def total(path: str) -> Any:
        return fn.SUM(fn.json_extract(LogEntry.data, f"$.{path}")).alias(path)

    rows = (
        LogEntry.select(
            key.alias(by),
            fn.COUNT(LogEntry.pk).alias("calls"),
            *map(total, ("captures", "input_tokens", "cache_read_tokens", "cache_write_tokens")),
            *map(total, ("output_tokens", "usd")),
            fn.ROUND(fn.AVG(LogEntry.duration_ms)).alias("mean_ms"),
        )
        .where((LogEntry.event_type == CALL) & (LogEntry.created_at >= since))
        .group_by(SQL("1"))
        .order_by(fn.MAX(LogEntry.created_at).desc())
    )
    found: Any = rows.dicts()
    return list(found)


def _is_own(since: str) -> Any:
    is_imported = fn.json_extract(LogEntry.data, f"$.{IMPORTED}")
    return (LogEntry.event_type == CALL) & (LogEntry.created_at >= since) & is_imported.is_null()

"""Make one request within the budget, enter it in the ledger, and set the circuit breaker by its outcome.

The callers write the request and use the answer.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import api, circuit_breaker, client, cost, requests
from claude_mem_lite.claude.api import Answer, OutageError, RejectedError, Request, SetupError
from claude_mem_lite.claude.circuit_breaker import Gate
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import ledger, queries, rewrites

# Between two requests while there is more to do: 20 a minute, below the limits of any account.
PACE_S = 3.0
# Before a session's id among the names of rejected requests.
SESSION = "session "
# The longest pause after a useless answer: a retry costs money too.
_LONGEST_USELESS_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Step:
    """What a step did: how many captures or summaries it wrote, sent as a batch, and asked about (ids).

    The next may be taken in `wait_s` seconds; None when nothing waits. `failure` is "outage", "setup",
    "budget", "rejected", "useless" or "batch", `reason` says why in one line.
    """

    wait_s: float | None
    written: int = 0
    sent: int = 0
    asked: tuple[str, ...] = ()
    failure: str = ""
    reason: str = ""

    @property
    def was_taken(self) -> bool:
        """Whether something was tried, with success or without."""
        return bool(self.written or self.sent or self.asked or self.failure)


class StoppedError(Exception):
    """The request was not answered, through no fault of its content."""

    def __init__(self, stopped: Step) -> None:
        super().__init__(stopped.reason)
        self.step = stopped


def ask(request: Request, settings: Settings, *, now: float, more: bool = False) -> tuple[str, Answer]:
    """Make a request within the budget; return the id of the ledger's entry to settle, and the answer.

    Raises:
        RejectedError: the API rejects this request.
        StoppedError: there was no call, or it failed.
    """
    worst_usd = requests.worst_usd(request, settings.price)
    has_tokens = settings.via != "cli" or cost.tokens_today(now=now) < settings.daily_tokens
    if worst_usd > cost.left_today(settings, now=now) or not has_tokens:
        raise StoppedError(stop_for_budget(settings, now=now))
    recently = ledger.has_called(since=inbox.utc_text(now - api.CACHED_S))
    entry_id = ledger.reserve(worst_usd, now=now)
    try:
        if settings.via == "cli":
            return entry_id, client.ask(request, settings)
        return entry_id, api.ask(request, settings, is_repeated=more or recently)
    except (OutageError, SetupError) as error:
        ledger.release(entry_id)
        raise StoppedError(close_gate(error, now=now)) from None
    except RejectedError:
        ledger.release(entry_id)
        raise


def answered(taken: Step, *, now: float) -> Step:
    """Allow calls after a useful answer; pause them after too many useless answers in a row."""
    before = circuit_breaker.load()
    if not taken.written:
        useless = before.useless + 1
        if useless >= circuit_breaker.MAX_USELESS_IN_A_ROW:
            return close_gate(SetupError("several answers in a row were invalid"), now=now)
        circuit_breaker.save(Gate(retried=before.retried, useless=useless, called_at=now))
        return dataclasses.replace(taken, failure="useless")
    again = [each for each in before.rejected if each not in before.retried]
    _second_chance(again)
    circuit_breaker.save(circuit_breaker.after_success(before, now=now))
    return taken


def declined(*, now: float) -> Step:
    """Return the step after a refusal by Claude, which counts as an answer."""
    answered(Step(PACE_S, written=1), now=now)
    return Step(PACE_S, failure="rejected", reason=api.DECLINED)


def turned_down(name: str, reason: str, *, now: float) -> Step:
    """Record a request that the API rejects; after three in a row, treat it as a fault of the setup."""
    before = circuit_breaker.load()
    is_retried = name in before.retried
    rejected = before.rejected if is_retried else tuple(dict.fromkeys((*before.rejected, name)))
    if is_retried or len(rejected) < circuit_breaker.MAX_REJECTED_IN_A_ROW:
        # The API has answered, so no pause is needed.
        circuit_breaker.save(dataclasses.replace(before, until=0.0, rejected=rejected, called_at=now))
        return Step(PACE_S, failure="rejected", reason=reason)
    _second_chance(rejected)
    circuit_breaker.save(dataclasses.replace(before, rejected=rejected))
    return close_gate(SetupError(f"several requests in a row were rejected: {reason}"), now=now)


def useless_pause_s(attempts: int) -> float:
    """Return how long something waits after its n-th useless answer (1, 2 …): 5, 10, 20 … seconds."""
    return min(_LONGEST_USELESS_S, 5.0 * 2.0 ** min(attempts - 1, 20))


def close_gate(error: OutageError | SetupError, *, now: float) -> Step:
    """Pause all calls, for longer after each failure in a row, and log that."""
    kind, retry_after_s = (
        ("outage", error.retry_after_s) if isinstance(error, OutageError) else ("setup", None)
    )
    closed = circuit_breaker.after_failure(
        circuit_breaker.load(), kind=kind, reason=str(error), now=now, retry_after_s=retry_after_s
    )
    circuit_breaker.save(closed)
    pause_s = closed.until - now
    queries.log_event("claude.paused", {"kind": kind, "failures": closed.failures, "pause_s": round(pause_s)})
    return Step(pause_s, failure=kind, reason=str(error))


def stop_for_budget(settings: Settings, *, now: float) -> Step:
    """Pause all calls until the next day, or until the budget is raised."""
    limit = (
        f"${settings.daily_budget_usd:.2f}" if settings.via != "cli" else f"{settings.daily_tokens:,} tokens"
    )
    reason = f"the daily budget of {limit} is used up"
    circuit_breaker.save(
        dataclasses.replace(circuit_breaker.load(), kind="budget", reason=reason, until=cost.next_day(now))
    )
    return Step(cost.next_day(now) - now, failure="budget", reason=reason)


def enter(  # noqa: PLR0913  (one row of the ledger)
    purpose: str,
    answer: Answer,
    settings: Settings,
    *,
    now: float,
    session_id: str,
    captures: int = 0,
    is_batch: bool = False,
    entry_id: str = "",
) -> None:
    """Enter an answer into the ledger, in place of its reservation."""
    ledger.record(
        ledger.Call(
            purpose=purpose,
            model=settings.model,
            usd=round(cost.dollars(settings.price, **answer.tokens, is_batch=is_batch), 8),
            duration_ms=answer.duration_ms,
            captures=captures,
            session_id=session_id,
            is_batch=is_batch,
            **answer.tokens,
        ),
        now=now,
        entry_id=entry_id,
    )


def _second_chance(names: Sequence[str]) -> None:
    for event_id in rewrites.reconsider(names):
        inbox.finish(event_id)
    for name in names:
        if name.startswith(SESSION):
            rewrites.reconsider_session(name.removeprefix(SESSION))

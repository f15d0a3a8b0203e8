"""Estimate the cost of `claude-mem compress`, and run it."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.markup import escape
from rich.progress import MofNCompleteColumn

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import batches, circuit_breaker, observations, requests
from claude_mem_lite.claude import rewrite as steps
from claude_mem_lite.claude import sessions as tellings
from claude_mem_lite.claude.cost import left_today
from claude_mem_lite.claude.request_cycle import Step
from claude_mem_lite.cli.output import errors, progress_bar
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import facts, ledger, queries, rewrites

# In one run a capture is tried twice, and three outages in a row are waited out.
MAX_TRIES = 2
MAX_OUTAGES = 3
LONGEST_WAIT_S = 60.0
_DONE = (rewrites.ERROR, rewrites.GONE)


def estimate(ids: list[str], sessions: list[str], chosen: Settings, *, is_batch: bool) -> dict[str, Any]:
    """Return the estimated cost of captures and sessions; that of many captures is extrapolated."""
    price, sample = chosen.price, ids[: rewrites.MAX_ROWS]
    rows = rewrites.waiting_observations(chosen.tiers, ids=sample)
    packs = [pack for pack in requests.packs(rows, size=observations.MAX_CAPTURES) if pack.observations]
    usd = sum(
        requests.expected_usd(pack.request, price, observations=len(pack.observations), is_batch=is_batch)
        for pack in packs
    )
    found = sum(len(pack.observations) for pack in packs)
    times = len(ids) / len(sample) if sample else 1
    told = [row for session_id in sessions if (row := queries.session(session_id))]
    asked = [tellings.request(row, chosen) for row in told]
    usd_told = sum(requests.expected_usd(request, price, observations=0) for request in asked)
    return {
        "model": chosen.model,
        "captures": round(found * times),
        "summaries": len(told),
        "requests": round(len(packs) * times) + len(asked),
        "expected_usd": round(usd * times + usd_told, 4),
        "in_batch": rewrites.counts(chosen.tiers)["in_batch"],
        "left_today_usd": round(left_today(chosen, now=time.time()), 4),
    }


class Run:
    """A run by hand: holds the API lock, waits out short outages, ends at long ones, ignores other pauses."""

    def __init__(self, chosen: Settings) -> None:
        self._settings = chosen
        self._asked = self._written = self._sent = self._outages = 0
        self._stopped = ""
        self._spent = ledger.spent_usd(since="")

    def now(self, ids: list[str], sessions: list[str]) -> dict[str, Any]:
        """Rewrite captures, then session summaries, one request after the other."""
        self._asked = len(ids) + len(sessions)
        closed = circuit_breaker.load()
        self._wait_for(closed.until - time.time() if closed.kind == "outage" else 0, closed.reason)
        with progress_bar(MofNCompleteColumn()) as progress:
            task = progress.add_task("waiting for a request of the services", total=self._asked)
            with steps.turn(wait=True):
                progress.update(task, description="asking Claude")
                self._take_in_batches()
                for step in self._each(ids, sessions):
                    self._took(step)
                    progress.update(task, completed=self._written)
        return self._result()

    def batch(self, ids: list[str]) -> dict[str, Any]:
        """Send captures as Message Batches."""
        self._asked = len(ids)
        with steps.turn(wait=True):
            self._take_in_batches()
            for some in _chunks(ids):
                rows = rewrites.waiting_observations(self._settings.tiers, ids=some)
                if rows and not self._stopped:
                    step = batches.send(rows, self._settings, now=time.time())
                    self._took(step)
                    self._stopped = self._stopped or step.reason
        return self._result()

    def reconsider(self, ids: list[str]) -> None:
        """Queue captures that were turned down before once more."""
        for some in _chunks(ids):
            for event_id in rewrites.reconsider(some):
                inbox.finish(event_id)

    def _each(self, ids: list[str], sessions: list[str]) -> Iterator[Step]:
        """Yield a step for each request, until all is done or something stops the run."""
        tries: Counter[str] = Counter()
        for some in _chunks(ids):
            while not self._stopped:
                rows = rewrites.waiting_observations(self._settings.tiers, ids=some)
                rows = [row for row in rows if tries[row.id] < MAX_TRIES and row.upgrade not in _DONE]
                if not rows:
                    break
                together = observations.first_together(rows)
                more = len(rows) > len(together)
                step = observations.write(together, self._settings, now=time.time(), more=more)
                tries.update(step.asked)
                yield step
        for session_id in sessions:
            failure = "outage"
            while failure == "outage" and not self._stopped:
                session = queries.known_session(session_id)
                step = tellings.tell(session, self._settings, now=time.time())
                failure = step.failure
                yield step

    def _take_in_batches(self) -> None:
        for batch_id in facts.read("batches"):
            self._took(batches.collect(batch_id, self._settings, now=time.time()))

    def _took(self, step: Step) -> None:
        self._written += step.written
        self._sent += step.sent
        self._outages = self._outages + 1 if step.failure == "outage" else 0
        if step.failure in {"setup", "budget"} or self._outages > MAX_OUTAGES:
            self._stopped = step.reason
        elif step.failure == "outage":
            self._wait_for(step.wait_s or 0, step.reason)

    def _wait_for(self, pause_s: float, reason: str) -> None:
        """Sleep through a short pause; a long one ends the run, since the services retry by themselves."""
        if pause_s > LONGEST_WAIT_S:
            self._stopped = f"{reason}; try again in {pause_s / 60:.0f} minutes"
        elif pause_s > 0:
            errors.print(f"[dim]{escape(reason)}: retrying in {pause_s:.0f} s[/dim]")
            time.sleep(pause_s)

    def _result(self) -> dict[str, Any]:
        return {
            "asked": self._asked,
            "written": self._written,
            "sent": self._sent,
            "usd": round(ledger.spent_usd(since="") - self._spent, 6),
            "stopped": self._stopped,
        }


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), rewrites.MAX_ROWS):
        yield ids[start : start + rewrites.MAX_ROWS]

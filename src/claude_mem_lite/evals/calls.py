"""Make the requests of evaluations: same rules as every request, but evaluation never delays other work.

Each request is in the ledger and within the daily budget, and an outage pauses the requests of all
processes. A fault of the judge's model or of a single request pauses nothing.
"""

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

from claude_mem_lite.claude import api, circuit_breaker, cost, request_cycle, requests
from claude_mem_lite.claude.api import Answer, RejectedError, Request
from claude_mem_lite.claude.request_cycle import Step, StoppedError
from claude_mem_lite.settings import Settings

PURPOSE = "evaluation"
MAX_OUTAGES = 3


@dataclasses.dataclass(slots=True)
class Caller:
    """The requests of one run, and its accounts.

    `turn` holds the API lock during a request; `pause` waits out an outage (seconds, why) or returns False.
    `turned_down` counts the requests without an answer by reason; `usd` is the cost of the run so far.
    """

    settings: Settings
    turn: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    pause: Callable[[float, str], bool] = lambda _seconds, _why: False
    clock: Callable[[], float] = time.time
    usd: float = 0.0
    turned_down: Counter[str] = dataclasses.field(default_factory=Counter)
    _rejected: int = 0

    def price_of(self, answer: Answer, model: str) -> float:
        """Return the dollars that an answer has cost."""
        return cost.dollars(self.under(model).price, **answer.tokens, is_batch=False)

    def under(self, model: str) -> Settings:
        """Return the settings with another model."""
        return dataclasses.replace(self.settings, model=model)

    def ask(self, request: Request, *, model: str, session_id: str) -> Answer | None:
        """Return the answer to a request, or None if Claude declines it or the API rejects it.

        Raises: StoppedError when the run cannot go on.
        """
        chosen, outages = self.under(model), 0
        while True:
            try:
                with self.turn():
                    return self._ask(request, chosen, session_id)
            except StoppedError as stopped:
                outages += 1
                is_over = stopped.step.failure != "outage" or outages > MAX_OUTAGES
                if is_over or not self.pause(stopped.step.wait_s or 0.0, stopped.step.reason):
                    raise

    def _ask(self, request: Request, chosen: Settings, session_id: str) -> Answer | None:
        now, before = self.clock(), circuit_breaker.load()
        if before.kind == "outage" and now < before.until:
            raise StoppedError(Step(before.until - now, failure="outage", reason=before.reason))
        if requests.worst_usd(request, chosen.price) > cost.left_today(chosen, now=now):
            reason = f"too little is left of the daily budget of ${chosen.daily_budget_usd:.2f}"
            raise StoppedError(Step(None, failure="budget", reason=reason))
        try:
            entry_id, answer = request_cycle.ask(request, chosen, now=now)
        except StoppedError as stopped:
            if stopped.step.failure == "setup":
                circuit_breaker.save(before)
            raise
        except RejectedError as error:
            self._turn_down(str(error))
            return None
        request_cycle.enter(PURPOSE, answer, chosen, now=now, session_id=session_id, entry_id=entry_id)
        self.usd += self.price_of(answer, chosen.model)
        if answer.stop_reason == api.REFUSAL:
            self._turn_down(api.DECLINED)
            return None
        self._rejected = 0
        return answer

    def _turn_down(self, reason: str) -> None:
        self.turned_down[reason] += 1
        self._rejected += 1
        if self._rejected >= circuit_breaker.MAX_REJECTED_IN_A_ROW:
            reason = f"several requests in a row were rejected: {reason}"
            raise StoppedError(Step(None, failure="rejected", reason=reason))

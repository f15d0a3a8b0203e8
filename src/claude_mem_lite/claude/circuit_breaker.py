"""Pause all calls of the API after a failure, in every process, and return to it with care.

How it moves is pure; its state is one of the facts that the processes share.
"""

from dataclasses import asdict, dataclass, replace

from claude_mem_lite.storage import facts

LONGEST_PAUSE_S = 3_600.0
# Nobody waits longer because a server says so; the next probe costs nothing.
_LONGEST_RETRY_AFTER_S = 86_400.0
# An outage is over in seconds or minutes; a wrong key or an empty purse needs the user.
_FIRST_PAUSE_S = {"outage": 5.0, "setup": 300.0}
# A server's short retry-after is believed so often in a row.
MAX_RETRIES = 3
# So many captures in a row are not all at fault: it is the request, the model or the purse.
MAX_REJECTED_IN_A_ROW = 3
MAX_USELESS_IN_A_ROW = 5
_MOST_RETRIED = 100


@dataclass(frozen=True, slots=True)
class Gate:
    """Failures in a row, until when (Unix seconds) nobody calls, and why.

    `kind` is "" (open), "outage", "setup" (key, model or account) or "budget". `rejected` is what was turned
    down since the last success, `retried` what was given its second chance; `useless` counts the answers in a
    row that nothing could be made of.
    """

    kind: str = ""
    reason: str = ""
    failures: int = 0
    until: float = 0.0
    rejected: tuple[str, ...] = ()
    retried: tuple[str, ...] = ()
    useless: int = 0
    called_at: float = 0.0

    @property
    def is_probing(self) -> bool:
        """Whether the next call is to find out if the API is back: a small one, alone."""
        return self.failures > 0


def load() -> Gate:
    """Return the state of the conversation that all workers and processes share."""
    fields = facts.read("gate")
    lists = {name: tuple(fields.get(name, ())) for name in ("rejected", "retried")}
    return Gate(**{**fields, **lists})


def save(state: Gate) -> None:
    """Tell all workers and processes whether the API may be called."""
    facts.write("gate", asdict(state))


def after_failure(
    gate: Gate, *, kind: str, reason: str, now: float, retry_after_s: float | None = None
) -> Gate:
    """Return the gate closed for 5, 10, 20, 40 … seconds up to an hour, or for what the API asks for.

    Where the cause needs the user it begins with 5 minutes.
    """
    failures = gate.failures + 1 if gate.kind == kind else 1
    pause_s = min(LONGEST_PAUSE_S, _FIRST_PAUSE_S[kind] * 2.0 ** min(failures - 1, 20))
    if retry_after_s is not None:
        pause_s = min(_LONGEST_RETRY_AFTER_S, max(retry_after_s, pause_s if failures > MAX_RETRIES else 0.0))
    return replace(
        gate, kind=kind, reason=reason, failures=failures, until=now + pause_s, called_at=now, useless=0
    )


def after_success(gate: Gate, *, now: float) -> Gate:
    """Return the gate open; what was turned down before gets a second chance, for it may not be to blame."""
    retried = (*gate.retried, *(each for each in gate.rejected if each not in gate.retried))
    return Gate(retried=retried[-_MOST_RETRIED:], called_at=now)

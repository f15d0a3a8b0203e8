"""Pause all calls of the API after a failure, in every process, and resume them with a small probe.

The transitions are pure functions; the state is one of the facts that the processes share.
"""

from dataclasses import asdict, dataclass, replace

from claude_mem_lite.storage import facts

LONGEST_PAUSE_S = 3_600.0
# No Retry-After is honoured for longer; the next probe costs nothing.
_LONGEST_RETRY_AFTER_S = 86_400.0
# An outage is over in seconds or minutes; a wrong key or an account without credit needs the user.
_FIRST_PAUSE_S = {"outage": 5.0, "setup": 300.0}
# Honour at most this many short Retry-After headers in a row.
MAX_RETRIES = 3
# This many captures in a row are not all at fault: it is the request, the model or the credit.
MAX_REJECTED_IN_A_ROW = 3
MAX_USELESS_IN_A_ROW = 5
_MOST_RETRIED = 100


@dataclass(frozen=True, slots=True)
class Gate:
    """The failures in a row, until when (Unix seconds) calls are paused, and why.

    `kind` is "" (calls are allowed), "outage", "setup" (key, model or account) or "budget". `rejected` names
    the requests rejected since the last success, `retried` those that had their second chance; `useless`
    counts the unusable answers in a row.
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
        """Whether the next call is a probe: a single small one that tests if the API is back."""
        return self.failures > 0


def load() -> Gate:
    """Return the state that all workers and processes share."""
    fields = facts.read("gate")
    lists = {name: tuple(fields.get(name, ())) for name in ("rejected", "retried")}
    return Gate(**{**fields, **lists})


def save(state: Gate) -> None:
    """Store the state for all workers and processes."""
    facts.write("gate", asdict(state))


def after_failure(
    gate: Gate, *, kind: str, reason: str, now: float, retry_after_s: float | None = None
) -> Gate:
    """Return the gate closed for 5, 10, 20, 40 … seconds up to an hour, or for the time the API asks for.

    A cause that needs the user begins with 5 minutes.
    """
    failures = gate.failures + 1 if gate.kind == kind else 1
    pause_s = min(LONGEST_PAUSE_S, _FIRST_PAUSE_S[kind] * 2.0 ** min(failures - 1, 20))
    if retry_after_s is not None:
        pause_s = min(_LONGEST_RETRY_AFTER_S, max(retry_after_s, pause_s if failures > MAX_RETRIES else 0.0))
    return replace(
        gate, kind=kind, reason=reason, failures=failures, until=now + pause_s, called_at=now, useless=0
    )


def after_success(gate: Gate, *, now: float) -> Gate:
    """Return the gate open; rejected requests get a second chance, for they may not be at fault."""
    retried = (*gate.retried, *(each for each in gate.rejected if each not in gate.retried))
    return Gate(retried=retried[-_MOST_RETRIED:], called_at=now)

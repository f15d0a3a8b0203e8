"""Estimate the size of an import, how long it would take, and what Claude's rewrites would cost."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from claude_mem_lite.capture import priority
from claude_mem_lite.claude import cost, observations, prompts, requests
from claude_mem_lite.distill.digest import DIGEST_CHARS, digest
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.importers.events import Event
from claude_mem_lite.importers.importing import Plan
from claude_mem_lite.importers.sessions import Session, Telling
from claude_mem_lite.settings import Settings
from claude_mem_lite.text import CHARS_PER_TOKEN, estimate_tokens

# Source: benchmarks/transcripts.py on two cores.
EVENTS_A_SECOND = 120.0
# Tokens of an event in the request about a session, of a request's frame, and the most of all events.
_TOLD_TOKENS, _FRAME_TOKENS = 45, 400
_MOST_TOLD_TOKENS = 6_900


@dataclass(slots=True)
class Estimate:
    """The size of an import; `usd` is what Claude would cost, if it is asked afterwards."""

    sessions: int = 0
    tool_calls: int = 0
    events: int = 0
    size_bytes: int = 0
    usd: float = 0.0

    @property
    def took_s(self) -> float:
        """The seconds that the import would take."""
        return self.events / EVENTS_A_SECOND


def estimate(
    found: Plan,
    chosen: Settings,
    *,
    now: float,
    news: Callable[[Telling], Iterable[Event]],
    progress: Callable[[Session], None],
) -> Estimate:
    """Estimate a plan; `news` yields the new events of a session."""
    total = Estimate()
    for session in found.sessions:
        telling = Telling(session, found.left_out, now)
        events = calls = captures = chars = 0
        for event in news(telling):
            events += 1
            calls += "tool_use_id" in event.payload
            told = _told(event, chosen)
            captures += told > 0
            chars += told
        total.sessions += events > 0
        total.events += events
        total.tool_calls += calls
        total.size_bytes += session.size_bytes
        total.usd += _usd(events, captures, chars, chosen) if events else 0.0
        progress(session)
    return total


def _told(event: Event, chosen: Settings) -> int:
    """Return how many characters of an event would be sent to Claude."""
    name, given = event.payload.get("tool_name", ""), event.payload.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else ""
    if not name or priority.priority(name, command if isinstance(command, str) else "") not in chosen.tiers:
        return 0
    capture = Capture(event.payload["hook_event_name"], name, event.payload, event.payload["cwd"])
    return len(digest(capture, limit=DIGEST_CHARS))


def _usd(events: int, captures: int, chars: int, chosen: Settings) -> float:
    """Return what one session would cost in dollars: its captures in packs, and its summary."""
    packs = max(math.ceil(captures / observations.MAX_CAPTURES), math.ceil(chars / requests.MAX_PACK_CHARS))
    sent = packs * (estimate_tokens(prompts.OBSERVATIONS) + _FRAME_TOKENS)
    sent += int(chars / CHARS_PER_TOKEN)
    answered = captures * requests.OBSERVATION_TOKENS
    if chosen.tells_sessions:
        asked = prompts.session_prompt(summary=chosen.summaries, learnings=chosen.learnings, observations=1)
        sent += estimate_tokens(asked) + _FRAME_TOKENS + min(events * _TOLD_TOKENS, _MOST_TOLD_TOKENS)
        answered += requests.SESSION_TOKENS
    return cost.dollars(chosen.price, input_tokens=sent, output_tokens=answered)

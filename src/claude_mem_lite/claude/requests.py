"""Build bounded requests to Claude from captures that belong together, and estimate what requests cost.

A request holds the user's prompts, which say why, and the digest of each capture. `rewrite` decides when it
is sent, `observations` uses the answer.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from claude_mem_lite.claude import cost, prompts
from claude_mem_lite.claude.api import Request
from claude_mem_lite.distill.digest import DIGEST_CHARS, digest
from claude_mem_lite.distill.record import capture_of, is_look
from claude_mem_lite.settings import Price
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.models import Observation, PendingEvent
from claude_mem_lite.text import CHARS_PER_TOKEN, clip, estimate_tokens

MAX_PACK_CHARS = 24_000
MAX_PACK_TOKENS, DIGEST_TOKENS = int(MAX_PACK_CHARS / CHARS_PER_TOKEN), int(DIGEST_CHARS / CHARS_PER_TOKEN)
# Output tokens of an observation and of a session, for estimates; and the limits of an answer.
OBSERVATION_TOKENS, SESSION_TOKENS = 120, 700
MAX_OBSERVATION_TOKENS, MOST_TOKENS = 350, 8_000
# Chinese text has about one token per character of three bytes; only the budget uses this bound.
_DENSEST_BYTES_PER_TOKEN = 2.5

_REQUEST_CHARS = 600


@dataclass(frozen=True, slots=True)
class Pack:
    """Captures of one session and the request for them all; `gone` are those whose raw event is deleted."""

    observations: tuple[Observation, ...]
    gone: tuple[Observation, ...]
    request: Request


def short_id(observation: Observation) -> str:
    """Return the id of an observation in a request, which a captured text cannot know."""
    return str(observation.id[:8])


def events_of(observation: Observation) -> list[PendingEvent]:
    """Return the raw events of an observation, in order; none if they are deleted."""
    event = queries.pending_event(observation.id)
    if event is None:
        return []
    return queries.fold_of(event) if is_look(event) else [event]


def pack(observations: Sequence[Observation]) -> Pack:
    """Return the request for the first of some observations of one session, as many as fit."""
    transcript = prompts.Transcript()
    taken: list[Observation] = []
    gone: list[Observation] = []
    room, asked = MAX_PACK_CHARS, ""
    for observation in observations:
        events = events_of(observation)
        if not events:
            gone.append(observation)
            continue
        limit = max(DIGEST_CHARS // len(events), 600)
        text = "\n".join(digest(capture_of(event), limit=limit) for event in events)
        if taken and (len(text) > room or short_id(observation) in map(short_id, taken)):
            break
        prompt = clip(queries.latest_prompt(events[0]) or "", _REQUEST_CHARS)
        if prompt and prompt != asked:
            transcript.add("request", prompt)
            asked = prompt
        transcript.add("record", text, id=short_id(observation))
        taken.append(observation)
        room -= len(text)
    attempts = max((each.upgrade_attempts for each in taken), default=0)
    most = (MAX_OBSERVATION_TOKENS * len(taken) + 200) * 2 ** min(attempts, 4)
    return Pack(
        tuple(taken),
        tuple(gone),
        Request(
            system=prompts.OBSERVATIONS,
            content=str(transcript),
            schema=prompts.schema(prompts.WrittenObservations),
            max_tokens=min(most, MOST_TOKENS),
        ),
    )


def packs(observations: Iterable[Observation], *, size: int) -> list[Pack]:
    """Return the requests for all observations, each of one session and at most `size` of them."""
    made = []
    for rows in by_session(observations).values():
        left = rows
        while left:
            made.append(pack(left[:size]))
            left = left[len(made[-1].observations) + len(made[-1].gone) :]
    return made


def by_session(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """Return the observations of each session, in their order."""
    found: dict[str, list[Observation]] = {}
    for each in observations:
        found.setdefault(each.session_id, []).append(each)
    return found


def input_tokens(request: Request) -> int:
    """Return an estimate of a request's input tokens."""
    return estimate_tokens(request.system + request.content + json.dumps(request.schema))


def worst_usd(request: Request, price: Price, *, is_batch: bool = False) -> float:
    """Return the highest cost of a request: with the densest text and the longest answer allowed."""
    sent = len(f"{request.system}{request.content}{json.dumps(request.schema)}".encode("utf-8", "replace"))
    tokens = int(sent / _DENSEST_BYTES_PER_TOKEN)
    return cost.dollars(price, input_tokens=tokens, output_tokens=request.max_tokens, is_batch=is_batch)


def expected_usd(request: Request, price: Price, *, observations: int, is_batch: bool = False) -> float:
    """Return the expected cost of a request for a number of observations (0: for a session)."""
    output_tokens = OBSERVATION_TOKENS * observations if observations else SESSION_TOKENS
    return cost.dollars(
        price, input_tokens=input_tokens(request), output_tokens=output_tokens, is_batch=is_batch
    )

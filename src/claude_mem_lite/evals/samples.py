"""Choose captures to evaluate, with their text as stored, as written by rules, and by a model."""

import random
from collections.abc import Collection
from dataclasses import dataclass

from claude_mem_lite import config
from claude_mem_lite.claude import observations, prompts, requests
from claude_mem_lite.distill import rules
from claude_mem_lite.distill.observation import Skip
from claude_mem_lite.distill.record import capture_of
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.evals import judge
from claude_mem_lite.storage import evals as eval_rows
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.models import Observation
from claude_mem_lite.text import estimate_tokens


@dataclass(frozen=True, slots=True)
class Words:
    """The text of an observation, by any writer."""

    title: str
    summary: str
    detail: str | None

    @property
    def text(self) -> str:
        """The text that a later session can read."""
        return "\n".join((self.title, self.summary, self.detail or ""))

    @property
    def structural_validity(self) -> float:
        """1 if neither title nor summary is empty, else 0."""
        return float(bool(self.title.strip() and self.summary.strip()))

    def compression_ratio(self, raw_chars: int) -> float | None:
        """Return characters of raw events per token of this text; None without raw events."""
        return raw_chars / estimate_tokens(self.text) if raw_chars else None


@dataclass(frozen=True, slots=True)
class Sample:
    """A capture whose raw events are kept: its observation, those events, and the text that rules write."""

    row: Observation
    raw: str
    raw_chars: int
    local: Words


def raw_of(row: Observation) -> str:
    """Return an observation's raw events as text for a judge, "" if they are no longer kept."""
    return judge.raw_text(capture_of(event).payload for event in requests.events_of(row))


def sample(row: Observation) -> Sample | None:
    """Return an observation with its raw events; None if they are not kept or the rules skip them."""
    events = requests.events_of(row)
    if not events:
        return None
    captures = [capture_of(event) for event in events]
    told = rules.fold(captures, prompt=queries.latest_prompt(events[0]))
    if isinstance(told, Skip):
        return None
    words = Words(told.title, told.summary, told.detail)
    raw = judge.raw_text(capture.payload for capture in captures)
    return Sample(row, raw, sum(len(event.raw_output) for event in events), words)


def kept_newest(limit: int, *, since: str = "") -> list[Observation]:
    """Return the newest observations whose raw events are kept.

    Raises: ClaudeMemError when there are none.
    """
    known = eval_rows.kept_events()
    ids = [each for each in eval_rows.ids(since=since) if each in known][-limit:]
    if not ids:
        raise ClaudeMemError(no_raw())
    return [row for each in reversed(ids) if (row := eval_rows.by_id(each))]


def replayable(tiers: Collection[str], *, count: int, since: str = "") -> list[Sample]:
    """Return a random sample of captures whose raw events are kept; the same one each time.

    Raises: ClaudeMemError when there are none.
    """
    chance, drawn = random.Random(0), list[Sample]()  # noqa: S311  (a sample, no secret)
    known = eval_rows.kept_events()
    found = [each for each in eval_rows.ids(since=since, tiers=tiers) if each in known]
    chance.shuffle(found)
    for observation_id in found:
        row = eval_rows.by_id(observation_id)
        one = sample(row) if row else None
        drawn += [one] if one else []
        if len(drawn) == count:
            break
    if not drawn:
        raise ClaudeMemError(no_raw())
    return drawn


def no_raw() -> str:
    """Return why nothing can be replayed, and what to do."""
    return (
        "no raw events are kept, so there is nothing to compare an observation with: "
        f"set [retention] keep_raw = 100 in {config.config_path()}, and try again after a session"
    )


def by_claude(told: str, of: Sample) -> tuple[Words, Words] | None:
    """Return the observation in an answer as the model wrote it and as stored; None if it is not just one."""
    found = prompts.parse_observations(told)
    if len(found) != 1:
        return None
    title, summary, detail = observations.as_kept(found[0], title=of.local.title, detail=of.local.detail)
    return Words(found[0].title, found[0].summary, found[0].detail), Words(title, summary, detail)

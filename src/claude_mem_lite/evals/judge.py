"""Have a stronger model judge: it asks about the raw events, then answers from an observation alone.

An answer counts only with a quote that occurs in the observation. The judge is told neither who wrote an
observation nor how long that took.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.claude import prompts
from claude_mem_lite.claude.api import Request
from claude_mem_lite.claude.prompts import WrittenT
from claude_mem_lite.evals import scores
from claude_mem_lite.evals.calls import Caller
from claude_mem_lite.text import clip

# An unusable answer is requested once more.
MAX_TRIES = 2
# Output tokens of the answers: typical ones, for estimates, and the limits that requests set.
QUESTIONS_TOKENS, JUDGEMENT_TOKENS = 150, 300
_MAX_QUESTIONS_TOKENS, _MAX_JUDGEMENT_TOKENS = 600, 1_200
# Fields of an event that say nothing about the work.
_ENVELOPE = frozenset({
    "session_id", "transcript_path", "cwd", "permission_mode", "tool_use_id", "agent_id", "agent_type",
    "effort", "duration_ms",
})  # fmt: skip

_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found in an observation: answered questions, all questions, whether it gives a reason."""

    answered: int
    questions: int
    gives_reason: bool

    @property
    def info_preservation(self) -> float:
        """The share of the questions that are answered, 0 to 1; 0 for fewer than two questions."""
        return self.answered / self.questions if self.questions >= scores.MIN_QUESTIONS else 0.0


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that judges; its methods return None if it gives no usable answer in two tries."""

    caller: Caller
    model: str

    def questions(self, raw: str, *, session_id: str) -> list[str] | None:
        """Return up to five questions about raw events."""
        found = self._ask(about(raw), prompts.WrittenQuestions, session_id)
        return found.questions[: scores.MAX_QUESTIONS] if found else None

    def judge(self, told: str, questions: Sequence[str], *, session_id: str) -> Verdict | None:
        """Return how many of the questions an observation answers, and whether it gives a reason."""
        found = self._ask(judgement(told, questions), prompts.WrittenJudgement, session_id)
        return None if found is None else verdict(found, told, len(questions))

    def _ask(self, request: Request, answer: type[WrittenT], session_id: str) -> WrittenT | None:
        for _ in range(MAX_TRIES):
            told = self.caller.ask(request, model=self.model, session_id=session_id)
            if told is None:
                return None
            found = prompts.parsed(answer, told.text)
            if found is not None:
                return found
        self.caller.turned_down["the judge's answer was invalid"] += 1
        return None


def raw_text(payloads: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of raw events for a judge: a line per field, at most 4,000 characters."""
    lines = [
        line
        for payload in payloads
        for name, value in payload.items()
        if name not in _ENVELOPE
        for line in _lines(name, value)
    ]
    return clip("\n".join(lines), scores.RAW_CHARS)


def about(raw: str) -> Request:
    """Return the request for questions about raw events."""
    transcript = prompts.Transcript()
    transcript.add("record", clip(raw, scores.RAW_CHARS))
    schema = prompts.schema(prompts.WrittenQuestions)
    return Request(prompts.QUESTIONS, str(transcript), schema, _MAX_QUESTIONS_TOKENS)


def judgement(told: str, questions: Sequence[str]) -> Request:
    """Return the request to answer questions from an observation."""
    transcript = prompts.Transcript()
    for number, question in enumerate(questions, 1):
        transcript.add("question", question, number=str(number))
    transcript.add("observation", told)
    schema = prompts.schema(prompts.WrittenJudgement)
    return Request(prompts.JUDGEMENT, str(transcript), schema, _MAX_JUDGEMENT_TOKENS)


def verdict(written: prompts.WrittenJudgement, told: str, questions: int) -> Verdict:
    """Return what counts of a judgement: answers to existing questions, with quotes that occur in `told`."""
    answered = {
        reply.number
        for reply in written.replies
        if 1 <= reply.number <= questions and reply.answer and _stands_in(reply.quote, told)
    }
    return Verdict(len(answered), questions, _stands_in(written.reason, told))


def _stands_in(quote: str | None, told: str) -> bool:
    """Tell whether a quote occurs in a text, ignoring case, white space and punctuation around it."""
    wanted = _plain(quote or "").strip(" .…\"'`“”")
    return bool(wanted) and wanted in _plain(told)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _lines(name: str, value: Any, depth: int = 0) -> Iterable[str]:
    """Yield a field of an event as lines "name: value", nested names joined by dots."""
    if isinstance(value, dict | list) and depth < _DEPTH:
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            yield from _lines(f"{name}.{key}", each, depth + 1)
    elif value not in (None, "", False, [], {}):
        yield f"{name}: {value if depth < _DEPTH else '…'}"

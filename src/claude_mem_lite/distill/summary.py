"""Summarize a session by rules: what was asked, what was done, how it ended. No model."""

import re
from collections import Counter
from collections.abc import Sequence

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.attempts import Noted, failure, open_failures
from claude_mem_lite.distill.local import conversation
from claude_mem_lite.distill.local.evidence import unique
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import first_sentence, one_line

# The index of sessions shows as many characters of a summary.
_LEAD_CHARS = 200
_ASKED_CHARS = 72
_SUMMARY_CHARS = 900

# A port counts nothing: "0.0.0.0:80 failed".
_VERDICT = re.compile(
    r"(?<![\w.:])\d+ (?:failed|errors?|passed)\b(?:, \d+ (?:failed|errors?|passed|skipped)\b)*"
)
_BAD = re.compile(r"\b[1-9]\d* (?:failed|errors?)\b")
_COMMIT = re.compile(r"^(?:Commit|Amend) ['“](?P<subject>.*)['”] as (?P<hash>[0-9a-f]{7,40})")


def summarize(
    *,
    prompts: Sequence[str],
    observations: Sequence[Noted],
    last_messages: Sequence[str],
    later: Sequence[Sequence[Noted]] = (),
    ended: str = "",
) -> str:
    """Return a session in at most 900 characters; "" when there is nothing to tell.

    All in the order of time; `last_messages` are what the assistant said at the end of each turn, `later` the
    observations of each session after this one, which may have settled what it left open, `ended` is how it
    ended where no message says so. The first 200 characters stand alone: they say what was asked and what
    came of it.
    """
    requests = unique(conversation.asked(prompt).removeprefix("Asked: ") for prompt in prompts)
    # Of what was said twice, the last time counts.
    said = [*(first_sentence(message) for message in last_messages), ended]
    reports = unique(said[::-1])[::-1]
    commits = [match for each in observations if (match := _COMMIT.match(each.title))]
    verdict = last_verdict(observations)
    since = last_verdict([each for session in later for each in session])
    if has_bad_tests(verdict) and since and not has_bad_tests(since):
        verdict = f"{verdict}, later {since}"
    open_ones = open_failures(observations, later)
    settled = [
        each for each in observations if failure(each) and all(each is not row for row, _ in open_ones)
    ]
    standing = [each.title for each in observations if each.tool_name and each not in settled]
    parts = [
        _lead(requests, reports or standing, [match["subject"] for match in commits], verdict),
        _listed("Ended with", [one_line(report, 150) for report in reports[-1:]] if commits else [], 1),
        _listed("Left open", [error for _, error in open_ones], 2),
        _listed("Files", list(map(named, key_files(observations))), 6),
        _listed(
            "Commits",
            [f"{match['hash']} {quoted(one_line(match['subject'], 60))}" for match in commits[::-1]],
            4,
        ),
        _listed("Also asked", [one_line(request, 80) for request in requests[1:]], 4),
        _listed("Before that", [one_line(report, 90) for report in reports[:-1]], 4),
    ]
    return _fitted([part for part in parts if part])


def key_files(observations: Sequence[Noted]) -> list[str]:
    """Return the files changed most often, the most recent first among equals."""
    changed = [
        path for each in reversed(observations) if each.tool_name in EDITORS for path in each.files_touched
    ]
    return [path for path, _ in Counter(changed).most_common()]


def _lead(
    requests: Sequence[str],
    reports: Sequence[str],
    subjects: Sequence[str],
    verdict: str,
) -> str:
    """Return "Asked: … Committed: … Tests: …", or the last report where nothing was committed."""
    tests = f"Tests: {verdict}." if verdict else ""
    asked = f"Asked: {_stopped(one_line(requests[0], _ASKED_CHARS))}" if requests else ""
    room = _LEAD_CHARS - len(tests) - len(asked) - len("Committed: .  ")
    if subjects:
        each = max(24, room // min(3, len(subjects)) - len("; “”"))
        ended = _listed("Committed", [quoted(one_line(subject, each)) for subject in subjects[-3:]], 3)
    else:
        last = reports[-1] if reports else ""
        ended = f"Ended: {_stopped(one_line(last, room))}" if last else ""
    return " ".join(filter(None, [asked, ended, tests]))


def _stopped(sentence: str) -> str:
    return sentence if not sentence or sentence.endswith(("?", "!", "…", ".")) else f"{sentence}."


def _listed(label: str, entries: Sequence[str], limit: int) -> str:
    """Return an enumeration such as "Files: a; b; 3 more."."""
    if not entries:
        return ""
    shown = [*entries[:limit], *([f"{len(entries) - limit} more"] if len(entries) > limit else [])]
    return f"{label}: {'; '.join(entry.rstrip('.') for entry in shown)}."


def _fitted(parts: Sequence[str]) -> str:
    """Return the parts in order; one that no longer fits is left out for a later one that does."""
    text = ""
    for part in parts:
        if len(text) + len(part) < _SUMMARY_CHARS:
            text = f"{text} {part}".strip()
    return text


def last_verdict(observations: Sequence[Noted]) -> str:
    """Return how the last test run ended, "" where there was none; in the order of time."""
    return next((found for each in reversed(observations) if (found := test_verdict(each))), "")


def has_bad_tests(verdict: str) -> bool:
    """Tell whether a test run ended badly."""
    return _BAD.search(verdict) is not None


def test_verdict(observation: Noted) -> str:
    """Return how a test run ended, such as "2 failed, 3 passed"; "" for what was none."""
    found = (
        _VERDICT.search(f"{observation.title}\n{observation.summary}")
        if observation.tool_name == "Bash"
        else None
    )
    return found[0] if found else ""

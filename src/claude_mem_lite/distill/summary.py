"""Summarize a session by rules, and mark what the record contradicts in the model's summary. No model."""

import re
from collections import Counter
from collections.abc import Sequence

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.attempts import Key, Noted, failure, open_failures, removed_files, succeeding
from claude_mem_lite.distill.rules import conversation, runners
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import first_sentence, one_line, sentences, unique

# The index of sessions shows this many characters of a summary.
_LEAD_CHARS = 200
_ASKED_CHARS = 72
_SUMMARY_CHARS = 900

_BAD = re.compile(r"\b[1-9]\d* (?:failed|errors?)\b")
_COMMIT = re.compile(r"^(?:Commit|Amend) ['“](?P<subject>.*)['”] as (?P<hash>[0-9a-f]{7,40})")
_FAILS = re.compile(
    r"\b(?:fail\w*|errors?|broken|red|refused|rejected|crash\w*"
    r"|does ?n[o']t (?:work|pass|build|run|compile))\b",
    re.IGNORECASE,
)
_TESTS = re.compile(r"\b(?:tests?|pytest|jest|vitest|mocha|rspec)\b", re.IGNORECASE)


def summarize(
    *,
    prompts: Sequence[str],
    observations: Sequence[Noted],
    last_messages: Sequence[str],
    later: Sequence[Sequence[Noted]] = (),
    ended: str = "",
) -> str:
    """Return a session's summary in at most 900 characters; "" if there is nothing to report.

    All arguments are oldest first. `last_messages` holds the assistant's message at the end of each turn;
    `later` the observations of each session after this one, which may have settled what it left open; `ended`
    says how the session ended if no message does. The first 200 characters stand alone: the request and its
    outcome.
    """
    requests = unique(conversation.asked(prompt).removeprefix("Asked: ") for prompt in prompts)
    # Of a repeated report, keep the last.
    said = [*(first_sentence(message) for message in last_messages), ended]
    reports = unique(said[::-1])[::-1]
    commits = [match for each in observations if (match := _COMMIT.match(each.title))]
    done = commits[::-1]
    verdict = _last_verdict(observations)
    since = _last_verdict([each for session in later for each in session])
    if has_bad_tests(verdict) and since and not has_bad_tests(since):
        verdict = f"{verdict}, later {since}"
    open_ones = open_failures(observations, later)
    left = [row for row, _ in open_ones]
    settled = [each for each in observations if failure(each) and all(each is not row for row in left)]
    standing = [each.title for each in observations if each.tool_name and each not in settled]
    parts = [
        _lead(requests, reports or standing, [match["subject"] for match in commits], verdict),
        _listed("Ended with", [one_line(report, 150) for report in reports[-1:]] if commits else [], 1),
        _listed("Left open", [error for _, error in open_ones], 2),
        _listed("Files", list(map(named, key_files(observations))), 6),
        _listed("Commits", [f"{each['hash']} {quoted(one_line(each['subject'], 60))}" for each in done], 4),
        _listed("Also asked", [one_line(request, 80) for request in requests[1:]], 4),
        _listed("Before that", [one_line(report, 90) for report in reports[:-1]], 4),
    ]
    return _fitted([part for part in parts if part])


def checked(text: str, rows: Sequence[Noted]) -> str:
    """Return the model's text with a mark after each sentence that the record contradicts; drops nothing.

    `rows` are the observations of the session and of later sessions, oldest first.
    """
    verdict = _last_verdict(rows)
    good, gone = succeeding(rows), removed_files(rows)
    for sentence in sentences(text):
        marked = _marked(sentence, good, gone, verdict)
        if marked != sentence and sentence in text:
            text = text.replace(sentence, marked, 1)
        elif marked != sentence:  # its Markdown in the text differs from the plain sentence
            text = f"{text} {marked}"
    return text


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
    """Return a labelled list such as "Files: a; b; 3 more."."""
    if not entries:
        return ""
    shown = [*entries[:limit], *([f"{len(entries) - limit} more"] if len(entries) > limit else [])]
    return f"{label}: {'; '.join(entry.rstrip('.') for entry in shown)}."


def _fitted(parts: Sequence[str]) -> str:
    """Join the parts in order; skip a part that does not fit in favour of a later one that does."""
    text = ""
    for part in parts:
        if len(text) + len(part) < _SUMMARY_CHARS:
            text = f"{text} {part}".strip()
    return text


def _last_verdict(observations: Sequence[Noted]) -> str:
    """Return the result of the last test run, "" for none; `observations` are oldest first."""
    return next((found for each in reversed(observations) if (found := test_verdict(each))), "")


def has_bad_tests(verdict: str) -> bool:
    """Tell whether a test run ended badly."""
    return _BAD.search(verdict) is not None


def test_verdict(observation: Noted) -> str:
    """Return the result of a test run, such as "2 failed, 3 passed"; "" for another observation."""
    return runners.verdict_in(observation.summary) if observation.tool_name == "Bash" else ""


def _marked(sentence: str, good: set[Key], gone: Sequence[str], verdict: str) -> str:
    marks = []
    if _FAILS.search(sentence):
        fixed = [" ".join(filter(None, key)) for key in sorted(good) if _names(sentence, key)]
        marks += [f"`{fixed[0]}` has succeeded since"] if fixed else []
        if not fixed and verdict and not has_bad_tests(verdict) and _TESTS.search(sentence):
            marks.append(f"the last test run: {verdict}")
    removed = (path for path in gone if path.strip("./") and re.search(_alone(re.escape(path)), sentence))
    marks += [f"{named(path)} has been removed" for path in removed]
    return f"{sentence} [{'; '.join(marks)}]" if marks else sentence


def _names(sentence: str, key: Key) -> bool:
    """Tell whether a sentence names a command: all the words of its key, in order.

    A single word counts only between backticks, because make, find and test are also ordinary words.
    """
    words = r"\W+(?:-\S+\s+)*".join(map(re.escape, filter(None, key)))
    pattern = _alone(words) if key[1] else f"`[^`]*{_alone(words)}[^`]*`"
    return re.search(pattern, sentence) is not None


def _alone(words: str) -> str:
    """Return a pattern for words that are not part of a path or of a longer name."""
    return rf"(?<![\w/.-]){words}(?![\w/-])"

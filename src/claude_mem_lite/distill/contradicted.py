"""Drop what a session's record contradicts of the model's words about it. Pure."""

import re
from collections.abc import Sequence

from claude_mem_lite.distill.attempts import Noted, removed_files, succeeding
from claude_mem_lite.distill.summary import has_bad_tests, last_verdict
from claude_mem_lite.quoting import named
from claude_mem_lite.text import sentences

_FAILS = re.compile(
    r"\b(?:fail\w*|errors?|broken|red|refused|rejected|crash\w*"
    r"|does ?n[o']t (?:work|pass|build|run|compile))\b",
    re.IGNORECASE,
)
_TESTS = re.compile(r"\b(?:tests?|pytest|jest|vitest|mocha|rspec)\b", re.IGNORECASE)


def checked(text: str, rows: Sequence[Noted]) -> str:
    """Return the model's words with a mark behind what the record contradicts; nothing is dropped.

    `rows` are the session's observations and those of later sessions, in the order of time.
    """
    verdict = last_verdict(rows)
    good, gone = succeeding(rows), removed_files(rows)
    for sentence in sentences(text):
        marked = _marked(sentence, good, gone, verdict)
        if marked != sentence and sentence in text:
            text = text.replace(sentence, marked, 1)
        elif marked != sentence:  # its Markdown is not what it says
            text = f"{text} {marked}"
    return text


def _marked(sentence: str, good: set[tuple[str, str]], gone: Sequence[str], verdict: str) -> str:
    marks = []
    if _FAILS.search(sentence):
        fixed = [" ".join(filter(None, key)) for key in sorted(good) if _names(sentence, key)]
        marks += [f"`{fixed[0]}` has succeeded since"] if fixed else []
        if not fixed and verdict and not has_bad_tests(verdict) and _TESTS.search(sentence):
            marks.append(f"the last test run: {verdict}")
    marks += [f"{named(path)} has been removed" for path in gone if _has_path(sentence, path)]
    return f"{sentence} [{'; '.join(marks)}]" if marks else sentence


def _names(sentence: str, key: tuple[str, str]) -> bool:
    """Tell whether a sentence names a command: all the words of what makes it one attempt, in their order.

    One word alone counts between backticks only: make, find and test are words like others.
    """
    words = r"\W+(?:-\S+\s+)*".join(map(re.escape, filter(None, key)))
    if not key[1]:
        return re.search(rf"`[^`]*(?<![\w/.-]){words}(?![\w/-])[^`]*`", sentence) is not None
    return re.search(rf"(?<![\w/.-]){words}(?![\w/-])", sentence) is not None


def _has_path(sentence: str, path: str) -> bool:
    return (
        bool(path.strip("./"))
        and re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/-])", sentence) is not None
    )

"""Describe what git commands did (the commit with its hash, the tag, the push) from command and output."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.quoting import quoted
from claude_mem_lite.text import TITLE_CHARS, one_line

_COMMITTED = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_LOGGED = re.compile(r"^(?:\* )?([0-9a-f]{7,40}) (?:\((?:HEAD|tag:|[\w/.-]+[,)]).*?\) )?(.+)$", re.MULTILINE)
_PUSHED = re.compile(r"^ [ +*] (?:[0-9a-f]+\.{2,3}[0-9a-f]+|\[new \w+\]) +\S+ +-> .*$", re.MULTILINE)
_FILES = re.compile(r"^ \d+ files? changed.*$", re.MULTILINE)
_TRAILER = re.compile(r"^(?:[A-Z][\w-]*-[Bb]y: .*|.*Generated with .*)$", re.MULTILINE)
_SENTENCE = 3  # words


@dataclass(frozen=True, slots=True)
class Deed:
    """An action of git: `title` is a headline, `sentence` has details, `lines` are the output it repeats."""

    title: str
    sentence: str
    lines: tuple[str, ...]


def deeds(steps: tuple[Command, ...], output: str, *, has_failed: bool) -> tuple[Deed, ...]:
    """Return the actions of the steps' git commands; of a failed command only what its output proves."""
    found = (_deed(step, output, has_failed=has_failed) for step in steps if step.program == "git")
    return tuple(deed for deed in found if deed)


def without_messages(steps: tuple[Command, ...], line: str) -> str:
    """Replace messages of three words or more in a command line by "…"; the deeds repeat them."""
    for step in steps:
        words = step.message.split() if step.program == "git" else []
        line = line.replace(" ".join(words), "…") if len(words) >= _SENTENCE else line
    return line


def _deed(step: Command, output: str, *, has_failed: bool) -> Deed | None:
    subcommand, rest = (step.operands[0], step.operands[1:]) if step.operands else ("", ())
    if subcommand == "commit":
        return _commit(step, output, has_failed=has_failed)
    describe = _DEEDS.get(subcommand)
    if has_failed or describe is None:
        return None
    title = describe(step, rest)
    if not title:
        return None
    lines = tuple(match[0].strip() for match in _PUSHED.finditer(output)) if subcommand == "push" else ()
    return Deed(title, f"{'; '.join((title, *map(quoted, lines)))}.", lines)


def _commit(step: Command, output: str, *, has_failed: bool) -> Deed | None:
    subject, _, body = step.message.strip().partition("\n")
    told = [*_COMMITTED.finditer(output), *_LOGGED.finditer(output)]
    found = next((match for match in told if match[2].startswith(subject)), None)
    if not found and (has_failed or not subject):
        return None
    subject = one_line(subject or (found[2] if found else ""), 200)
    name = f" as {found[1]}" if found else ""
    files = _FILES.search(output)
    verb = "Amend" if "--amend" in step.words else "Commit"
    title = f"{verb} {quoted(one_line(subject, TITLE_CHARS - len(name) - len(verb) - 3))}{name}"
    size = f" ({files[0].strip()})" if files else ""
    body = quoted(one_line(_TRAILER.sub("", body), 300))
    sentence = f"Committed {quoted(subject)}{name}{size}. {body}".strip()
    return Deed(title, sentence, tuple(match[0].strip() for match in (found, files) if match))


def _tag(step: Command, names: tuple[str, ...]) -> str:
    message = step.message
    names = tuple(name for name in names if name != message)
    if not names or {"-l", "--list"} & set(step.words):
        return ""
    return f"{'Delete tag' if {'-d', '--delete'} & set(step.words) else 'Tag'} {quoted(names[0])}"


def _switch(step: Command, names: tuple[str, ...]) -> str:
    if "--" in step.words:
        return f"Discard changes of {quoted(' '.join(step.words[step.words.index('--') + 1 :]))}"
    if not names:
        return ""
    is_new = {"-b", "-B", "-c", "-C", "--create"} & set(step.words)
    return f"Create branch {quoted(names[0])}" if is_new else f"Switch to {quoted(names[0])}"


def _branch(step: Command, names: tuple[str, ...]) -> str:
    if not names or {"--list", "-l", "--contains", "-a", "-r", "-v", "-vv"} & set(step.words):
        return ""
    options = set(step.words)
    if {"-d", "-D", "--delete"} & options:
        return f"Delete branch {quoted(names[0])}"
    if {"-m", "-M", "--move"} & options:
        return f"Rename branch to {quoted(names[-1])}"
    return f"Create branch {quoted(names[0])}"


def _push(_: Command, names: tuple[str, ...]) -> str:
    remote, branch = (names[0] if names else ""), " ".join(names[1:])
    return f"Push{f' {quoted(branch)}' if branch else ''}{f' to {remote}' if remote else ''}"


def _named(verb: str) -> Callable[[Command, tuple[str, ...]], str]:
    return lambda _, names: f"{verb} {quoted(' '.join(names))}".strip()


_DEEDS: dict[str, Callable[[Command, tuple[str, ...]], str]] = {
    "branch": _branch,
    "checkout": _switch,
    "cherry-pick": _named("Cherry-pick"),
    "clone": _named("Clone"),
    "merge": _named("Merge"),
    "pull": _named("Pull"),
    "push": _push,
    "rebase": _named("Rebase onto"),
    "reset": _named("Reset to"),
    "restore": _named("Restore"),
    "revert": _named("Revert"),
    "stash": _named("Stash"),
    "switch": _switch,
    "tag": _tag,
}

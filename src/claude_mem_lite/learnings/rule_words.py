"""Find in a rule's text what a tool call can show: commands, options, files, texts; and what is forbidden.

Pure. Evidence is what the text gives as code and what this project's commands were; polarity is told by the
phrases of `distill.phrases`. What guard these come to stands in `guarding`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from claude_mem_lite.capture.guards import LONG_OPTIONS
from claude_mem_lite.capture.simple_commands import Script
from claude_mem_lite.distill.phrases import ALWAYS, INSTEAD, NOT
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.search.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Part = Literal["command", "sub", "option", "file", "text", "operand", ""]

# What a project that has hardly run a command is likely to run: programs with their sub-commands.
_USUAL = {
    "git": "add branch checkout cherry-pick clean clone commit diff fetch log merge pull push rebase reset"
    " restore revert rm show stash status switch tag",
    "gh": "create issue merge pr release repo",
    "npm": "ci install publish run test", "yarn": "add install run test",
    "pnpm": "add install run test", "bun": "add install run test", "pip": "install uninstall",
    "pip3": "install uninstall", "uv": "add pip run sync", "poetry": "add install run", "pytest": "",
    "cargo": "build publish run test", "go": "build generate get install mod run test vet", "sudo": "",
    "docker-compose": "",
    "docker": "build compose exec push rm run system volume", "kubectl": "apply delete exec", "rm": "",
    "terraform": "apply destroy plan", "helm": "install upgrade", "curl": "", "wget": "", "npx": "",
    "rake": "", "brew": "install", "make": "build clean deploy install lint test", "psql": "",
    "alembic": "",
}  # fmt: skip
# Programs that are words, too: without a sub-command or an option they are none.
_WORDS = STOP_WORDS | {"go", "make"}
_SPOKEN = frozenset({"commit", "push", "merge", "rebase"})  # said without their program
_COMMITTED = re.compile(r"commit[a-zé]*")
_TOKEN = re.compile(
    r"`(?P<code>[^`]+)`|[\"“”](?P<quoted>[^\"“”]+)[\"“”]"
    r"|(?<=\S)(?P<end>[.!?;](?=\s|$))|(?P<word>(?:[^\s`\"“”,;().!?]|[.!?](?!\s|$)|(?<=\s)\.(?=\s))+)"
)
_JOINS = re.compile(
    r"[\s,/&(]*(?:and|or|nor|und|oder|noch|et|ou|ni|y|o|e|en|of|i|lub|и|или|&|/|,)(?: d[eu])?[\s,(]*",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"\s*(?:$|[,.;)]|{_JOINS.pattern}(?!\w))", re.IGNORECASE)  # after one of several
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(?:=\S+)?")
_PROGRAM = re.compile(r"[\w./~][\w./~+-]*")
_FILE = re.compile(
    r"[\w@.*-]*\.(?:json|ya?ml|toml|lock|md|sql|proto|ini|cfg|txt|xml|csv|sum|mod|tf|tfvars|snap|svg|html|css|py"
    r"|go|rs|rb|java|kt|swift|php|tsx?|jsx?|sh)|\.[\w.*-]{2,}|Makefile|Dockerfile"
)
_PATH = re.compile(r"(?=.*\w)(?:~|\.{1,2})?/?[\w@.*-]+(?:/[\w@.*-]+)*/?")
_FULL_WIDTH = str.maketrans("，。；：！？、", ",.;:!?,")
_CLAUSE, _NEAR = re.compile(r"[^,;.!?]*"), 3
_TRAILER = re.compile(r"[A-Z]\w+(?:-\w+)+:?")
# After a sub-command that stands for itself: nothing that narrows it.
_ALONE = re.compile(r"\s*(?:$|[.,;:!?]|(?:without|unless|until|before)\s+(?!-))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a project's past calls show: programs with sub-commands, operands, options' values; its folder."""

    programs: dict[str, set[str]]
    root: str = "/"
    operands: set[str] = field(default_factory=lambda: set(SHARED_BRANCHES) - {""})
    values: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[str], root: str = "/") -> Seen:
        """Return what command lines show."""
        seen = cls({name: set(subs.split()) for name, subs in _USUAL.items()}, root)
        for each in (command for line in lines for command in Script(line).commands):
            given = [word for word in each.operands if re.fullmatch(r"[a-z][\w.:-]*", word)]
            if re.fullmatch(r"[a-z][\w.-]+", each.program) and each.program not in STOP_WORDS:
                seen.programs.setdefault(each.program, set()).update(given[:1])
            seen.operands.update({*given[1:]} - STOP_WORDS)
            seen.values.update(zip(each.words, each.words[1:], strict=False))
        return seen


class Thing(NamedTuple):
    """What a rule names, in words, and whether it is forbidden; `sentence` is the sentence's number.

    `is_alone` says that nothing follows at once that would narrow it, `joined` that it goes with the one
    before.
    """

    kind: Part
    words: tuple[str, ...]
    sentence: int
    is_forbidden: bool
    is_alone: bool
    joined: bool


def things(text: str, seen: Seen) -> list[Thing]:
    """Return what a rule's text names, in its order."""
    text = re.sub(r"(?<=[，。；：！？、])", " ", text).translate(_FULL_WIDTH)
    tokens = list(_TOKEN.finditer(text))
    found: list[Thing] = []
    sentence = at = start = 0  # `start`: where what was named last ends
    while at < len(tokens):
        before = text[start : tokens[at].start()]
        same = found[-1] if found and found[-1].sentence == sentence else None
        is_left = _ends_with(INSTEAD, before) or (
            tokens[at]["word"] not in _WORDS and _ends_with(NOT, before)
        )
        kind, words, taken = _named(_in_a_row(tokens[at : at + 6]), seen, is_left=is_left)
        if kind == "operand" and (same is None or same.kind not in {"command", "sub", "operand"}):
            kind = ""
        if kind:
            start = tokens[at + taken - 1].end()
            is_alone = _ALONE.match(text, start) is not None and (
                kind != "sub" or _is_told_to_do(before, tokens[at])
            )
            joined = same is not None and _JOINS.fullmatch(before) is not None
            joined = joined and (before.strip() != "," or _LISTED.match(text, start) is not None)
            goes_on = same is not None and same.is_forbidden and not joined and "," not in before
            if goes_on and same and (kind == "option" or (kind, same.kind) == ("command", "sub")):
                is_forbidden = NOT.search(before) is None  # never X with it; never X without it: needed
            else:
                clause = before.rpartition(",")[2]
                is_forbidden = same.is_forbidden if same and joined else NOT.search(clause) is not None
                if not is_forbidden and (kind != "option" or same is None):
                    after = _forbidden_after(text, start, is_file=kind == "file")
                    is_forbidden, start = after > 0, max(after, start)
            found.append(Thing(kind, words, sentence, is_forbidden, is_alone, joined))
        elif tokens[at]["end"]:
            sentence, start = sentence + 1, tokens[at].end()
        at += taken
    return found


def _in_a_row(tokens: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """Return the first tokens as far as nothing but a blank parts them: "grep, grep is slow" is one each."""
    parted = (at for at, (one, next_) in enumerate(pairwise(tokens), 1) if next_.start() - one.end() > 1)
    return tokens[: next(parted, None)]


def _is_told_to_do(before: str, token: re.Match[str]) -> bool:
    """Tell whether a sub-command is forbidden as a deed: "don't commit", not "… are not committed"."""
    return token["word"].strip("'’:").lower() in _SPOKEN and _ends_with(
        NOT, re.sub(r"\bever\s*$", "", before)
    )


def _ends_with(pattern: re.Pattern[str], text: str) -> bool:
    return any(match.end() == len(text.rstrip()) for match in pattern.finditer(text))


def _forbidden_after(text: str, end: int, *, is_file: bool) -> int:
    """Return the end of what forbids the thing before it ("… is not allowed", "…, don't"), 0 for none."""
    found = NOT.match(text, end + 2) if is_file and text[end : end + 2] == ", " else None
    if found and (ALWAYS.match(text, end + 2) or "'" in found[0] or " " in found[0]):
        return found.end()  # "…, don't touch it", and no contrast: "…, not there"
    rest = _CLAUSE.match(text, end)
    found = NOT.search(text, end, rest.end() if rest else end)
    is_near = found and len(text[end : found.start()].split()) <= _NEAR
    return found.end() if found and is_near and not INSTEAD.match(text, found.start()) else 0


def _named(  # noqa: PLR0911  (each is something that can be named)
    tokens: Sequence[re.Match[str]], seen: Seen, *, is_left: bool
) -> tuple[Part, tuple[str, ...], int]:
    """Return what the first tokens name, "" for nothing, and how many of them do."""
    if code := tokens[0]["code"] or tokens[0]["quoted"]:
        return *_in_quotes(tuple(code.split()), seen), 1
    word, *following = [(token["word"] or "").strip("'’:") for token in tokens]
    after = following[0] if following else ""
    if _OPTION.fullmatch(word):
        has_value = (word, after) in seen.values
        return "option", (f"{word} {after}" if has_value else word,), 1 + has_value
    if word in seen.programs:
        words = _with_subs(word, following, seen)
        if len(words) > 1 or is_left or (word in _USUAL and word not in _WORDS):
            return "command", words, len(words)
    lower = word.lower()
    option, dash, sub = lower.partition("-")
    if option in LONG_OPTIONS["git"] and (sub or after) in _SPOKEN:  # force-push, force push
        return "command", ("git", sub or after, f"--{option}"), 1 if dash else 2
    if _is_file(word, seen):
        return "file", (word,), 1
    if lower in _SPOKEN or _COMMITTED.fullmatch(lower):
        return "sub", ("git", lower if lower in _SPOKEN else "commit"), 1
    if _TRAILER.fullmatch(word):
        return "text", (word,), 1
    return "operand" if word in seen.operands else "", (word,), 1


def _in_quotes(words: tuple[str, ...], seen: Seen) -> tuple[Part, tuple[str, ...]]:
    """Return what stands between backticks or quotation marks."""
    if not words:
        return "", ()
    if _OPTION.fullmatch(words[0]):
        return "option", (" ".join(words[:2]),)
    if len(words) == 1 and _is_file(words[0], seen):
        return "file", words
    is_command = words[0] in seen.programs or any(map(_OPTION.fullmatch, words[1:]))
    if not is_command or not _PROGRAM.fullmatch(words[0]):
        return "text", (" ".join(words),)
    # What stands for other words ends it.
    others = (at for at, word in enumerate(words) if not word.isascii() or word[0] in "<[{$" or word == "...")
    return "command", words[: next(others, None)]


def _with_subs(program: str, following: Sequence[str], seen: Seen) -> tuple[str, ...]:
    """Return a program's name with the sub-commands and options that follow it in a sentence."""
    words = [program]
    for word in following:
        known = word in seen.programs[program] or (word in seen.programs and word not in _WORDS)
        if not (_OPTION.fullmatch(word) or ((known or word == ".") and len(words) < 4)):  # noqa: PLR2004
            break
        words.append(word)
    return tuple(words)


def _is_file(word: str, seen: Seen) -> bool:
    """Tell whether a word is a file's name or a path, but for the project itself."""
    if not _PATH.fullmatch(word) or f"{seen.root}/".startswith(f"{word.rstrip('/')}/"):
        return False
    if _FILE.fullmatch(word.rpartition("/")[2]) or "*" in word or word.endswith("/"):
        return True
    return "/" in word and STOP_WORDS.isdisjoint(word.split("/"))

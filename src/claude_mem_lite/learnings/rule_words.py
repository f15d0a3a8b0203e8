"""Find in a rule's text what a tool call can show: commands, options, files, texts; and what is forbidden.

Pure. Evidence is what the text gives as code and what this project's commands were; polarity is told by the
phrases of `distill.phrases`. What guard these come to stands in `guarding`.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from claude_mem_lite.distill.phrases import ALWAYS, INSTEAD, NOT
from claude_mem_lite.guards import LONG_OPTIONS
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.search.words import STOP_WORDS
from claude_mem_lite.simple_commands import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Kind = Literal["command", "sub", "option", "file", "text", "operand", ""]

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
    r"`(?P<code>[^`]+)`|[\"“”](?P<quoted>[^\"“”]+)[\"“”]|(?<!\w)'(?P<single>[^']+)'(?!\w)"
    r"|(?<=\S)(?P<end>[.!?;](?=\s|$))|(?P<word>(?:[^\s`\"“”,;().!?]|[.!?](?!\s|$)|(?<=\s)\.(?=\s))+)"
)
_JOINS = re.compile(
    r"[\s,/&(]*(?:and|or|nor|und|oder|noch|et|ou|ni|y|o|e|en|of|i|lub|и|или|&|/|,)(?: d[eu])?[\s,(]*",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"\s*(?:$|[,.;)]|{_JOINS.pattern}(?!\w))", re.IGNORECASE)  # after one of several
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(?:=\S+)?")
_PROGRAM = re.compile(r"[\w./~][\w./~+-]*")
_VALUE = re.compile(r"(?=\S*[\d/])[\w./:=-]+")
_FILE = re.compile(
    r"[\w@.*-]*\.(?:json|ya?ml|toml|lock|md|sql|proto|ini|cfg|txt|xml|csv|sum|mod|tf|tfvars|snap|svg|html|css|py"
    r"|go|rs|rb|java|kt|swift|php|tsx?|jsx?|sh)|\.env[\w.*-]*|Makefile|Dockerfile"
)
_PATH = re.compile(r"(?:~|\.{1,2})?/?[\w@.*-]+(?:/[\w@.*-]+)*/?")
_BEGINS = re.compile(rf"\s*(?:\w+\s+)?(?:{NOT.pattern})\s*,", re.IGNORECASE)  # "never, ever"
_FULL_WIDTH = str.maketrans("，。；：！？、", ",.;:!?,")
_CLAUSE, _NEAR = re.compile(r"[^,;.!?]*"), 3
_TRAILER = re.compile(r"[A-Z]\w+(?:-\w+)+:?")
# After a sub-command that stands for itself: nothing that narrows it.
_ALONE = re.compile(
    r"\s*(?:$|[.,;:!?]|(?P<condition>(?:without|unless|until|before)\s+(?!-)))", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a project's past calls show: programs with sub-commands, operands, options' values, and files.

    `has_file` tells whether there is, or was, a file of a path or below it; `root` is the work tree.
    """

    programs: dict[str, set[str]] = field(default_factory=dict)
    operands: set[str] = field(default_factory=set)
    values: set[tuple[str, str]] = field(default_factory=set)
    has_file: Callable[[str], bool] = lambda _path: False
    root: str = "/"

    @classmethod
    def of(
        cls, lines: Iterable[str], has_file: Callable[[str], bool] = lambda _path: False, root: str = "/"
    ) -> Seen:
        """Return what command lines show."""
        programs = {name: set(subs.split()) for name, subs in _USUAL.items()}
        seen = cls(programs, set(SHARED_BRANCHES), set(), has_file, root)
        for each in (command for line in lines for command in Script(line).commands):
            given = [word for word in each.operands if re.fullmatch(r"[a-z][\w.:-]*", word)]
            if re.fullmatch(r"[a-z][\w.-]+", each.program) and each.program not in STOP_WORDS:
                programs.setdefault(each.program, set()).update(given[:1])
            seen.operands.update({*given[1:]} - STOP_WORDS)
            seen.values.update(zip(each.words, each.words[1:], strict=False))
        return seen


class Thing(NamedTuple):
    """What a rule names, in words, and whether it is forbidden; `sentence` is the sentence's number.

    `is_alone` says that nothing follows at once that would narrow it, `on_condition` that a condition does,
    `joined` that it goes with the one before.
    """

    kind: Kind
    words: tuple[str, ...]
    sentence: int
    is_forbidden: bool = False
    is_alone: bool = False
    on_condition: bool = False
    joined: bool = False


def things(text: str, seen: Seen) -> list[Thing]:
    """Return what a rule's text names, in its order."""
    text = re.sub(r"(?<=[，。；：！？、])", " ", text).translate(_FULL_WIDTH)
    tokens = list(_TOKEN.finditer(text))
    found: list[Thing] = []
    sentence = at = start = 0  # `start`: where what was named last ends
    while at < len(tokens):
        if tokens[at]["end"] is not None:
            sentence, start, at = sentence + 1, tokens[at].end(), at + 1
            continue
        before = text[start : tokens[at].start()]
        same = found[-1] if found and found[-1].sentence == sentence else None
        kind, words, taken = _named(tokens, at, seen)
        word = tokens[at]["word"] or ""
        is_program = word in seen.programs or (same is not None and same.kind == "command")
        if (
            kind in {"operand", ""}
            and is_program
            and _PROGRAM.fullmatch(word)
            and _ends_with(INSTEAD, before)
        ):
            kind, words = "command", (word,)
        if kind == "operand" and (same is None or same.kind not in {"command", "sub", "operand"}):
            kind = ""
        if kind:
            if same and not same.is_forbidden and _is_of_the_one_before(before):
                found[-1], before = same._replace(is_forbidden=True), ""
            end = tokens[at + taken - 1].end()
            alone = _ALONE.match(text, end)
            joined = same is not None and _JOINS.fullmatch(before) is not None
            joined = joined and (before.strip() != "," or _LISTED.match(text, end) is not None)
            is_forbidden = same.is_forbidden if same and joined else _forbids(before)
            goes_on = same is not None and same.is_forbidden and not joined and "," not in before
            if goes_on and same and (kind == "option" or (kind, same.kind) == ("command", "sub")):
                is_forbidden = NOT.search(before) is None  # never X with it; never X without it: needed
            elif not is_forbidden and (kind != "option" or same is None):
                after = _forbidden_after(text, end, is_file=kind == "file")
                is_forbidden, end = after > 0, max(after, end)
            is_alone = alone is not None and (kind != "sub" or _is_told_to_do(before, tokens[at]))
            on_condition = alone is not None and bool(alone["condition"])
            found.append(Thing(kind, words, sentence, is_forbidden, is_alone, on_condition, joined))
            start = end
        at += taken
    return found


def _forbids(before: str) -> bool:
    """Tell whether a text forbids what follows it: in the same clause, or as a sentence begins."""
    return NOT.search(before.rpartition(",")[2]) is not None or _BEGINS.match(before) is not None


def _is_told_to_do(before: str, token: re.Match[str]) -> bool:
    """Tell whether a sub-command is forbidden as a deed: "don't commit", not "… are not committed"."""
    return token["word"].strip("'’:").lower() in _SPOKEN and _ends_with(
        NOT, re.sub(r"\bever\s*$", "", before)
    )


def _ends_with(pattern: re.Pattern[str], text: str) -> bool:
    return any(match.end() == len(text.rstrip()) for match in pattern.finditer(text))


def _is_of_the_one_before(before: str) -> bool:
    """Tell whether a "not" between two things speaks of the first: "npm nicht, sondern pnpm"."""
    head, comma, tail = before.rpartition(",")
    return bool(comma and head.strip(" ,")) and NOT.search(head) is not None and NOT.search(tail) is None


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
    tokens: Sequence[re.Match[str]], at: int, seen: Seen
) -> tuple[Kind, tuple[str, ...], int]:
    """Return what the tokens from one on name, "" for nothing, and how many of them do."""
    code = tokens[at]["code"] or tokens[at]["quoted"] or tokens[at]["single"]
    if code:
        return *_in_quotes(tuple(code.split()), seen, is_code=tokens[at]["code"] is not None), 1
    if tokens[at]["word"] is None:
        return "", (), 1
    word = tokens[at]["word"].strip("'’:")
    following = [token["word"] or "" for token in tokens[at + 1 : at + 6]]
    if _OPTION.fullmatch(word):
        value = following[0] if following else ""
        has_value = (word, value) in seen.values or _VALUE.fullmatch(value)
        return ("option", (f"{word} {value}",), 2) if has_value else ("option", (word,), 1)
    if word in seen.programs:
        words = _with_subs(word, following, seen)
        if len(words) > 1 or (word in _USUAL and word not in _WORDS):
            return "command", words, len(words)
    lower, after = word.lower(), following[0].lower() if following else ""
    option, dash, sub = lower.partition("-")
    if option in LONG_OPTIONS["git"] and (sub or after) in _SPOKEN:  # force-push, force push
        return "command", ("git", sub or after, f"--{option}"), 1 if dash else 2
    if _is_file(word, seen, is_code=False):
        return "file", (word,), 1
    if lower in _SPOKEN or _COMMITTED.fullmatch(lower):
        return "sub", ("git", lower if lower in _SPOKEN else "commit"), 1
    if _TRAILER.fullmatch(word):
        return "text", (word,), 1
    return ("operand", (word,), 1) if word in seen.operands else ("", (), 1)


def _in_quotes(words: tuple[str, ...], seen: Seen, *, is_code: bool) -> tuple[Kind, tuple[str, ...]]:
    """Return what stands between backticks or quotation marks."""
    if not words:
        return "", ()
    if _OPTION.fullmatch(words[0]):
        return "option", (" ".join(words[:2]),)
    if len(words) == 1 and _is_file(words[0], seen, is_code=True):
        return "file", words
    is_known = words[0] in seen.programs or (is_code and shutil.which(words[0]) is not None)
    is_command = is_known or any(map(_OPTION.fullmatch, words[1:]))
    if not is_command or not _PROGRAM.fullmatch(words[0]):
        return "text", (" ".join(words),)
    kept = [words[0]]
    for word in words[1:]:
        if not word.isascii() or word[0] in "<[{$" or word == "...":  # it stands for others
            break
        is_value = (kept[-1], word) in seen.values or word.isdigit()
        kept[-1:] = [f"{kept[-1]} {word}"] if kept[-1].startswith("-") and is_value else [kept[-1], word]
    return "command", tuple(kept)


def _with_subs(program: str, following: Sequence[str], seen: Seen) -> tuple[str, ...]:
    """Return a program's name with the sub-commands and options that follow it in a sentence."""
    words = [program]
    for word in following:
        is_sub = (
            word in seen.programs[program] or (word in seen.programs and word not in _WORDS) or word == "."
        )
        is_sub |= len(words) > 1 and word in seen.operands
        if not (_OPTION.fullmatch(word) or (is_sub and len(words) < 4)):  # noqa: PLR2004
            break
        words.append(word)
    return tuple(words)


def _is_file(word: str, seen: Seen, *, is_code: bool) -> bool:
    if not _PATH.fullmatch(word) or not re.search(r"\w", word):
        return False
    if f"{seen.root}/".startswith(f"{word.rstrip('/')}/"):
        return False  # the project itself
    if _FILE.fullmatch(word.rpartition("/")[2]) or "*" in word or word.endswith("/"):
        return True
    if "/" in word:
        return STOP_WORDS.isdisjoint(word.split("/"))
    return (word.startswith(".") and len(word) > 2) or (is_code and seen.has_file(word))  # noqa: PLR2004

"""Check a tool call against the guards of a project: rules of the user's that can be seen in a call.

Standard library only and without `re`, because the guard hook runs before every command and edit. How a guard
comes of a rule's text stands in `learnings.guarding`.
"""

from __future__ import annotations

import os.path

from claude_mem_lite import config
from claude_mem_lite.simple_commands import Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from claude_mem_lite.simple_commands import Command

TOOLS = ("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit")
REMIND, ASK = "remind", "ask"
BRANCH = "branch:"  # before the name of a branch that is committed or pushed to
SUBJECT_CHARS = 200  # of a commit message, that a regular expression is asked about
_LISTS = ("commands", "without", "needs", "allowed", "files")
# The short options of long ones, where they mean the same: by program, or program and sub-command.
LONG_OPTIONS = {
    "git": {"force": "f", "all": "a", "signoff": "s", "gpg-sign": "S", "message": "m", "delete": "d"},
    "git commit": {"no-verify": "n"},
    "git add": {"all": "A"},
    "rm": {"recursive": "rR", "force": "f"},
    "npm": {"global": "g", "force": "f", "save-dev": "D"},
    "chmod": {"recursive": "R"},
    "chown": {"recursive": "R"},
}
# Which arguments of a program are files that it changes.
_ALL, _LAST = slice(None), slice(-1, None)
_CHANGING = {
    "rm": _ALL, "rmdir": _ALL, "unlink": _ALL, "shred": _ALL, "truncate": _ALL, "touch": _ALL, "tee": _ALL,
    "mv": _ALL, "cp": _LAST, "install": _LAST, "ln": _LAST, "rsync": _LAST,
}  # fmt: skip
_IN_PLACE = {"sed": "i", "perl": "i", "yq": "i"}
_CHANGING_GIT = ("rm", "mv", "restore", "checkout")


# One row for each guard that holds in a project, its lists as lines. Source: storage.migrations, `_GUARDS`.
_LINES = ", ".join(
    f"(SELECT group_concat(value, char(10)) FROM json_each(guard, '$.{name}'))"  # noqa: S608  (our own names)
    for name in _LISTS
)
_HOLDING = (
    f"SELECT id, content, json_extract(guard, '$.mode'), json_extract(guard, '$.message'), {_LINES}"  # noqa: S608
    " FROM learnings WHERE guard != '' AND is_active AND superseded_by IS NULL AND quarantine = '[]'"
)
_HERE = (
    " AND (project_dir IS NULL OR project_dir ="
    " coalesce((SELECT project_dir FROM project_folders WHERE folder = :folder), :folder))"
)


def holding(memory: Any, project_dir: str | None) -> list[tuple[str, str, Guard]]:
    """Return the guards of a project (None: of all) with the id and the words of their rules.

    `memory` is a connection to claude-mem.db. Raises: sqlite3.Error.
    """
    rows = memory.execute(_HOLDING + (_HERE if project_dir is not None else ""), {"folder": project_dir})
    return [
        (row_id, says, Guard(mode or REMIND, message or "", **_lists(texts)))
        for row_id, says, mode, message, *texts in rows.fetchall()
    ]


def all_on() -> list[Guard]:
    """Return the guards that are switched on, of all projects."""
    from claude_mem_lite.fast_sqlite3 import open_read_only, sqlite3

    try:
        memory = open_read_only(config.memory_path())
        try:
            return [guard for _, _, guard in holding(memory, None)]
        finally:
            memory.close()
    except sqlite3.Error:
        return []


def telling_words(guards: Iterable[Guard]) -> str:
    """Return what the hook looks for in an event before it opens a database.

    A line for each thing that a guard is about: its words, of which each has to stand in the event.
    """
    texts = (text for guard in guards for text in guard.is_about)
    lines = (
        "\t".join(word for word in text.replace("/", " ").replace("*", " ").split() if _stands_so(word))
        for text in texts
    )
    return "".join(f"{line}\n" for line in lines)


def may_be_broken(event: bytes) -> bool:
    """Tell whether an event has the telling words of a guard; without the list of them it may."""
    try:
        with open(config.guards_path(), "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return True
    return any(all(word in event for word in line.split(b"\t")) for line in lines)


def _stands_so(word: str) -> bool:
    """Tell whether JSON and a shell write a word as it is, but for a flourish."""
    return word.isascii() and word.replace("-", "").replace("_", "").replace(".", "").isalnum()


def _lists(texts: Sequence[str | None]) -> dict[str, tuple[str, ...]]:
    return {name: tuple((text or "").splitlines()) for name, text in zip(_LISTS, texts, strict=True)}


class Guard:
    """What a rule forbids or demands of a tool call, and whether Claude is reminded or the user asked.

    A call of one of `commands` (program and sub-command, "*" for any) breaks it: any, or one with a word of
    `without`, or one that lacks a word of `needs` ("-n|--name": either); not one that is run by one of
    `allowed`. So does a change of one of `files` (globs, relative to the work tree), and a commit whose
    subject `message` does not match.
    """

    def __init__(self, mode: str = REMIND, message: str = "", **lists: Iterable[str]) -> None:
        self.mode, self.message = mode, message
        self.commands, self.without, self.needs, self.allowed, self.files = (
            tuple(lists.get(name, ())) for name in _LISTS
        )

    def as_json(self) -> dict[str, Any]:
        """Return what is stored of it: its fields, but for empty ones."""
        return {name: value for name, value in vars(self).items() if value}

    @property
    def is_about(self) -> tuple[str, ...]:
        """Commands and files, as they stand in a call that may break it."""
        return (*self.commands, *self.files, *(["git commit"] if self.message else []))

    @property
    def says(self) -> str:
        """What it looks for, in a line."""
        told = [f"a change of {', '.join(self.files)}"] if self.files else []
        if self.message:
            told.append(f"a commit whose subject does not match {self.message}")
        for command in self.commands:
            words = [f"with {' or '.join(self.without)}"] if self.without else []
            words += [f"without {' and '.join(self.needs)}".replace("|", " or ")] if self.needs else []
            told.append(f"{command} {' or '.join(words)}".rstrip())
        return "; ".join(told)

    def broken_by(  # noqa: PLR0913  (a call, and where it is made)
        self, tool: str, command: str, file: str, *, folder: str, root: str, branch: str = ""
    ) -> str:
        """Return what of a call breaks the guard, "" for nothing.

        `command` is Bash's, `file` an editor's; `folder` is where it runs, `root` the top of the work tree,
        `branch` what is checked out there.
        """
        if tool != "Bash":
            return file if file and self._is_of_file(os.path.join(folder, file), root) else ""
        steps = Script(command, folder).commands
        return next((" ".join(each.words) for each in steps if self._is_of(each, root, branch)), "")

    def _is_of(self, command: Command, root: str, branch: str) -> bool:
        if any(_is_call_of(each, command) and self._breaks(each, command, branch) for each in self.commands):
            return not any(_is_call_of(each, command, by_outer=True) for each in self.allowed)
        if self.message and _is_call_of("git commit", command) and _breaks_message(self.message, command):
            return True
        paths = (os.path.join(command.folder, path) for path in _changed(command)) if self.files else ()
        return any(self._is_of_file(path, root) for path in paths)

    def _breaks(self, asked: str, command: Command, branch: str) -> bool:
        if not self.without and not self.needs:
            return True
        return any(_has(command, word, asked, branch) for word in self.without) or not all(
            any(_has(command, word, asked, branch) for word in either.split("|")) for either in self.needs
        )

    def _is_of_file(self, path: str, root: str) -> bool:
        path = os.path.normpath(os.path.join(root, os.path.expanduser(path)))
        inside = os.path.relpath(path, root)
        if inside.startswith(".."):
            real = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
            inside = "" if real.startswith("..") else real
        return any(
            matches(os.path.expanduser(glob), path if glob[:1] in {"/", "~"} else inside)
            for glob in self.files
        )


def matches(glob: str, path: str) -> bool:
    """Tell whether a path is a glob's or below it; a glob without a slash may stand anywhere in the path."""
    wanted = glob.removeprefix("./").strip("/").split("/")
    parts = path.strip("/").split("/") if path else []
    if len(wanted) == 1 and glob[:1] != "/":
        wanted.insert(0, "**")
    return _matches(wanted, parts)


def _matches(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    if not wanted:
        return True  # it, or what lies below it
    if wanted[0] == "**":
        return any(_matches(wanted[1:], parts[at:]) for at in range(len(parts) + (len(wanted) == 1)))
    return bool(parts) and _is_like(wanted[0], parts[0]) and _matches(wanted[1:], parts[1:])


def _is_like(pattern: str, name: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == name
    if not name.startswith(first) or not name.endswith(rest[-1]) or len(name) < len(first) + len(rest[-1]):
        return False
    at, end = len(first), len(name) - len(rest[-1])
    for piece in rest[:-1]:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _is_call_of(asked: str, command: Command, *, by_outer: bool = False) -> bool:
    """Tell whether a command runs a program with a sub-command, whatever options stand between them."""
    program, *wanted = asked.split()
    words = command.outer if by_outer else command.words
    if program not in {"*", words[0], os.path.basename(words[0])}:
        return False
    is_value = False  # of the option before it
    for word in words[1:]:
        if not wanted:
            break
        if word == wanted[0]:
            wanted, is_value = wanted[1:], False
        elif word.startswith("-"):
            is_value = "=" not in word
        elif is_value:
            is_value = False
        else:
            return False
    return not wanted


def _has(  # noqa: PLR0911  (each is a kind of word)
    command: Command, word: str, asked: str, branch: str
) -> bool:
    """Tell whether a call has an option, an operand, or a text with that word in it."""
    words = command.words[1:]
    if word.startswith(BRANCH):
        # A commit goes to what is checked out, a push without a name as well.
        given = command.operands[1:]
        if "commit" in command.words[1:] or len(given) <= 1:
            return branch == word.removeprefix(BRANCH)
        return any(_says(told, word.removeprefix(BRANCH)) for told in given[1:])
    if not word.startswith("-"):
        return any(
            _says(told, word) or (_is_path(word) and matches(word, told)) for told in (*words, command.text)
        )
    option, _, value = word.partition(" ")
    if value:
        at = [place for place, each in enumerate(words) if each == option]
        return any(words[place + 1 : place + 2] == (value,) for place in at) or not {
            f"{option}{value}", f"{option}={value}",
        }.isdisjoint(words)  # fmt: skip
    if any(each == option or each.startswith(f"{option}=") for each in words):
        return True
    letters = [option[1:]] if option[1:2] != "-" else _short(option[2:], asked)
    if option == "--force" and asked.startswith("git push"):
        return bool(letters) and (
            _has_letters(words, letters[0]) or any(each.startswith("+") for each in words)
        )
    if option[1:2] != "-":
        return _has_letters(words, option[1:]) or any(
            f"--{long}" in words for long, short in _longs(asked) if option[1:] in short
        )
    return any(_has_letters(words, each) for each in letters)


def _is_path(word: str) -> bool:
    return "/" in word or "*" in word or word.rfind(".") >= 0 < len(word.strip("."))


def _longs(asked: str) -> Iterator[tuple[str, str]]:
    program, *rest = asked.split()
    rest = [*rest, ""]
    yield from LONG_OPTIONS.get(program, {}).items()
    yield from LONG_OPTIONS.get(f"{program} {rest[0]}", {}).items()


def _short(long: str, asked: str) -> list[str]:
    return [letter for name, letters in _longs(asked) if name == long for letter in letters]


def _has_letters(words: Sequence[str], letters: str) -> bool:
    """Tell whether all of some one-letter options are given, alone or together: -rf, -f -r."""
    given = "".join(word[1:] for word in words if word[:1] == "-" and word[1:].isalpha() and len(word) <= 5)  # noqa: PLR2004
    if len(letters) == 1 and any(word[:2] == f"-{letters}" and not word[2:].isalpha() for word in words):
        return True
    return letters.isalpha() and len(letters) <= 4 and set(letters) <= set(given)  # noqa: PLR2004


def _says(told: str, word: str) -> bool:
    """Tell whether an argument is a word, has it between signs, or in its text."""
    if told == word:
        return True
    folded, low = told.casefold(), word.casefold()
    inner = "_" if " " in told or "\n" in told else "_-/."
    at = folded.find(low)
    while at >= 0:
        around = (folded[at - 1 : at], folded[at + len(low) : at + len(low) + 1])
        if not any(sign.isalnum() or sign in inner for sign in around if sign):
            return True
        at = folded.find(low, at + 1)
    return False


def _breaks_message(pattern: str, command: Command) -> bool:
    subject = (command.message or command.text).strip().partition("\n")[0]
    if not subject or "$(" in subject:
        return False  # it is not in the command
    import re

    return re.search(pattern, subject[:SUBJECT_CHARS]) is None


def _changed(command: Command) -> Iterator[str]:
    """Yield the files that a command writes, moves or removes."""
    yield from command.outputs
    program, words, given = command.program, command.words, command.operands
    if program in _CHANGING:
        yield from given[_CHANGING[program]]
    elif program in _IN_PLACE and any(
        word.startswith("--in-place") or (word[:1] == "-" and word[1:2] != "-" and _IN_PLACE[program] in word)
        for word in words[1:]
    ):
        yield from given
    elif program == "git" and given and any(_is_call_of(f"git {each}", command) for each in _CHANGING_GIT):
        yield from given[1:]
    elif program == "dd":
        yield from (word[3:] for word in words if word.startswith("of="))

"""Check a tool call against the guards of a project: rules of the user that a call can visibly break.

Standard library only and without `re`, because the guard hook runs before every command and edit.
`learnings.guarding` derives a guard from the text of a rule.
"""

from __future__ import annotations

import builtins
import os.path
from itertools import pairwise

from claude_mem_lite import config
from claude_mem_lite.capture.simple_commands import LONG_OPTIONS, Script, bare_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from claude_mem_lite.capture.simple_commands import Command

TOOLS = ("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit")
REMIND, ASK = "remind", "ask"
BRANCH = "branch:"  # before the name of a branch: no commits or pushes to it
NEW, OLD = "new:", "old:"  # before a glob: no such new file; no change of an existing one
BUT = "!"  # before a glob of exceptions
ANY = "*"  # in `needs`: any operand
READER = "| "  # before the programs that a command's output must not be piped into
SUBJECT_CHARS, MESSAGE_CHARS = 200, 2_000  # of a commit message, that a regular expression is matched with
# Beginnings of the subjects that git writes itself.
_BY_GIT = ("Merge branch ", "Merge pull request ", "Merge remote-", 'Revert "', "fixup! ", "squash! ")
_SHORT_CHARS = 5  # characters of the longest group of short options
# The fields of an event that make a `Call`, and those of each edit of a MultiEdit.
_FIELDS = (
    "tool_name", "tool_input.command", "tool_input.file_path", "tool_input.notebook_path", "cwd",
    "tool_input.content", "tool_input.new_source", "tool_input.new_string", "tool_input.old_string",
)  # fmt: skip
_EDITS = (
    "(SELECT group_concat(json_extract(CASE type WHEN 'object' THEN value END, '$.{name}'), char(10))"
    " FROM json_each({event}, '$.tool_input.edits'))"
)
_LISTS = ("commands", "without", "needs", "allowed", "files", "texts")
_ALIASES = {"i": "install"}  # of sub-commands
_TEMPORARY = ("/tmp/", "/private/", "/var/folders/")  # noqa: S108  (what is committed there is for a test)
_ASKING, _ASKING_SHORT = {"--help", "--version"}, {("-h",), ("-V",), ("-v",)}  # calls that do nothing
_ABOUT_TEXT = {"grep", "egrep", "rg", "ag", "echo", "printf"}  # what they are given is no option of theirs
# How comments begin (`#[attribute]` is none); the words that are searched for in comments too.
_COMMENTS, _IN_COMMENTS = ("//", "# ", "##", "*", "/*", "--"), ("noqa", "nolint", "nosec")
# One row per guard that holds in a project, its lists as lines. Source: storage.migrations, `_GUARDS`.
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


def columns(event: str) -> str:
    """Return the SQL columns for a `Call`; `event` is the parameter or column that holds the event's JSON."""
    fields = [f"json_extract({event}, '$.{name}')" for name in _FIELDS]
    fields += [_EDITS.format(event=event, name=name) for name in ("new_string", "old_string")]
    return ", ".join(fields)


def holding(memory: Any, project_dir: str | None) -> list[tuple[str, str, Guard]]:
    """Return (rule id, rule text, guard) for each guard of a project, or of all projects for None.

    `memory` is a connection to claude-mem.db. Raises: sqlite3.Error.
    """
    held = []
    rows = memory.execute(_HOLDING + (_HERE if project_dir is not None else ""), {"folder": project_dir})
    for row_id, says, mode, message, *texts in rows.fetchall():
        lists = {name: text.splitlines() for name, text in zip(_LISTS, texts, strict=True) if text}
        held.append((row_id, says, Guard(mode, message or "", **lists)))
    return held


def all_on() -> list[Guard]:
    """Return the guards that are switched on, of all projects."""
    from claude_mem_lite.capture.fast_sqlite3 import open_read_only, sqlite3

    try:
        memory = open_read_only(config.memory_path())
        try:
            return [guard for _, _, guard in holding(memory, None)]
        finally:
            memory.close()
    except sqlite3.Error:
        return []


def telling_words(guards: Iterable[Guard]) -> str:
    """Return the words that the hook searches an event for before it opens a database.

    One line per command, text or glob of a guard: its words, separated by tabs, must all occur in the event.
    """
    about = (
        each.removeprefix(NEW).removeprefix(OLD)
        for guard in guards
        for each in (
            *(guard.without if guard.commands == ["*"] else guard.commands),
            *(guard.texts or (glob for glob in guard.files if not glob.startswith(BUT))),
            *(each.lower() for each in guard.texts if each.isupper()),
            *(["git commit"] if guard.message else []),
        )
    )
    words = (text.replace("/", " ").replace("*", " ").split() for text in about)
    return "".join("\t".join(each for each in line if _stands_so(each, line)) + "\n" for line in words)


def may_be_broken(event: bytes) -> bool:
    """Tell whether an event contains all telling words of a guard; True if their list cannot be read."""
    try:
        with open(config.guards_path(), "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return True
    return any(all(word in event for word in line.split(b"\t")) for line in lines)


def _stands_so(word: str, line: list[str]) -> bool:
    """Tell whether a word always occurs unchanged in JSON and a shell: no escapes and no shorter form."""
    is_short = word in _ALIASES.values() or (word.startswith("-") and len(line) > 1)
    bare = word.replace("-", "").replace("_", "").replace(".", "")
    return not is_short and bare.isascii() and bare.isalnum()


class Call:
    """A tool call, from the values of `columns`, in the work tree `root` with `branch` checked out.

    `new` is the text that an edit inserts, `old` the text that it removes.
    """

    def __init__(self, fields: Iterable[object], root: str, branch: str = "") -> None:
        self.root, self.branch = root, branch
        self.tool, self.line, file, notebook, folder, *texts = (
            each if isinstance(each, str) else "" for each in fields
        )
        self.old, self.new = "\n".join(texts[3::2]), "\n".join([*texts[:2], *texts[2::2]])
        self.folder = folder or root
        self.file = file or notebook
        if self.tool == "NotebookEdit":  # a cell's lines for the shell
            self.line = "\n".join(each[1:] for each in self.new.splitlines() if each.startswith(("!", "%")))
        self.commands = Script(self.line, self.folder).commands if self.line else []
        self._follow_branch()

    def _follow_branch(self) -> None:
        """Set the branch of each command: the one that is checked out when it runs."""
        branch = self.branch
        for each in self.commands:
            each.branch = branch
            if each.program == "git" and each.operands[0:1] in (("checkout",), ("switch",)):
                named = each.operands[1:] if "--" not in each.words else ()
                branch = named[0] if len(named) == 1 else branch


class Guard:
    """What a rule forbids or requires of a tool call, and whether Claude is reminded or the user asked.

    A call of one of `commands` (program and sub-command, "*" for any) breaks it, unless one of `allowed` runs
    it; with `without` or `needs`, only a call that has a word of `without` or lacks one of `needs`
    ("-n|--name": either, "*": any operand). A change of one of `files` (globs relative to the work tree;
    "!glob": an exception) breaks it; with `texts`, only one that adds one of these ("key*": a prefix). So
    does a commit whose subject (message, if unanchored) the regular expression `message` does not match.
    """

    def __init__(self, mode: str = REMIND, message: str = "", **lists: Iterable[str]) -> None:
        self.mode, self.message = mode, message
        self.commands, self.without, self.needs, self.allowed, self.files, self.texts = (
            list(dict.fromkeys(lists.get(name, ()))) for name in _LISTS
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fields to store: those that are not empty."""
        return {name: value for name, value in vars(self).items() if value}

    @property
    def says(self) -> str:
        """A one-line description of the calls that break it."""
        changed = [each.removeprefix(OLD) for each in self.files if not each.startswith((NEW, BUT))]
        created = [each.removeprefix(NEW) for each in self.files if each.startswith(NEW)]
        told = [f"a change of {', '.join(changed)}"] if changed else []
        if self.texts:
            told = [f"{' or '.join(self.texts)} added" + (f" to {', '.join(changed)}" if changed else "")]
        told += [f"a new {', '.join(created)}"] if created else []
        if spared := [each.removeprefix(BUT) for each in self.files if each.startswith(BUT)]:
            told.append(f"not in {', '.join(spared)}")
        if self.message:
            told.append(f"a commit whose subject does not match {self.message}")
        words = [f"with {' or '.join(self.without)}"] if self.without else []
        needed = " and ".join("operands" if each == ANY else each.replace("|", " or ") for each in self.needs)
        words += [f"without {needed}"] if needed else []
        told += [f"{command} {' or '.join(words)}".rstrip() for command in self.commands]
        return "; ".join(told)

    def broken_by(self, call: Call) -> str:
        """Return the part of a call that breaks the guard, "" for none."""
        if call.tool != "Bash":
            path = os.path.join(call.folder, call.file)
            is_of_it = self._is_of_file(path, call.root, may_create=call.tool == "Write")
            if self.texts and (is_of_it or not self.files):
                added = (each for each in self.texts if _times(each, call.new) > _times(each, call.old))
                return next(added, "")
            if is_of_it and call.file and not self.texts:
                return call.file
        return next((" ".join(each.words) for each in call.commands if self._is_of(each, call)), "")

    def _is_of(self, command: Command, call: Call) -> bool:
        for asked in self.commands:
            if _is_call_of(asked, command.words) and self._breaks(asked, command):
                return not any(_is_call_of(each, command.outer) for each in self.allowed)
        is_elsewhere = command.folder.startswith(_TEMPORARY) and not call.root.startswith(_TEMPORARY)
        form = "" if is_elsewhere else self.message
        if form and _is_call_of("git commit", command.words) and _breaks_message(form, command):
            return True
        return not self.texts and any(
            self._is_of_file(os.path.join(command.folder, path), call.root, may_create=True)
            for path in (*command.changed, *command.quoted_by_writer)
        )

    def _breaks(self, asked: str, command: Command) -> bool:
        if command.words[-1] in _ASKING or command.words[1:] in _ASKING_SHORT:
            return False
        if not self.without and not self.needs:
            return True
        needs = (either.split("|") for either in self.needs)
        is_lacking = not all(any(_has(command, word, asked) for word in some) for some in needs)
        return is_lacking or any(_has(command, word, asked) for word in self.without)

    def _is_of_file(self, path: str, root: str, *, may_create: bool) -> bool:
        path = os.path.normpath(os.path.join(root, os.path.expanduser(path)))
        inside = os.path.relpath(path, root)
        if inside.startswith(".."):
            inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
        if any(each.startswith(BUT) and matches(each.removeprefix(BUT), inside) for each in self.files):
            return False
        is_new = may_create and not os.path.exists(path)
        globs = (
            glob.removeprefix(NEW).removeprefix(OLD)
            for glob in self.files
            if not glob.startswith((BUT, OLD if is_new else NEW))
        )
        return any(
            matches(os.path.expanduser(glob), path)
            if glob[:1] in {"/", "~"}
            else not inside.startswith("..") and matches(glob, inside)
            for glob in globs
        )


def matches(glob: str, path: str) -> bool:
    """Tell whether a glob matches a path or a folder above it; without a slash, anywhere in the path."""
    wanted = glob.removeprefix("./").strip("/")
    return _matches(wanted if "/" in wanted or glob[:1] == "/" else f"**/{wanted}", path.strip("/"))


def _matches(glob: str, path: str) -> bool:
    head, star, tail = glob.partition("*")
    if not star or not path.startswith(head):
        return not star and f"{path}/".startswith(f"{glob}/")  # the path itself, or one below it
    rest = path[len(head) :]
    if not tail.startswith("*"):
        return any("/" not in rest[:at] and _matches(tail, rest[at:]) for at in range(len(rest) + 1))
    tail = tail[1:].removeprefix("/")
    starts = (at for at in range(len(rest)) if rest[at - 1 : at] in {"", "/"})
    return not tail or any(_matches(tail, rest[at:]) for at in starts)


def _is_call_of(asked: str, words: Sequence[str]) -> bool:
    """Tell whether a command runs a program with a sub-command, whatever options stand between them."""
    program, *wanted = asked.split()
    is_it = f"/{words[0]}".endswith(f"/{program.removeprefix('./')}")
    is_any = program == "*" and words[0] not in _ABOUT_TEXT
    if not (is_any or is_it or program == bare_name(words[0])):
        return False
    options = {word for word in wanted if word.startswith("-")}
    if options and not (options <= {*words} or _options([*options], asked) <= _options(words[1:], asked)):
        return False
    wanted = [word for word in wanted if word not in options]
    is_value = False  # whether the next word may be the value of an option
    for word in words[1:]:
        if not wanted:
            break
        if word == wanted[0] or _ALIASES.get(word) == wanted[0]:
            wanted, is_value = wanted[1:], False
        elif word.startswith("-"):
            is_value = "=" not in word
        elif is_value:
            is_value = False
        else:
            return False
    return not wanted


def _has(command: Command, word: str, asked: str) -> bool:
    """Tell whether a command has a word of a guard: as option, operand, branch, reader or part of a text."""
    words = command.words[1:]
    if word == ANY:
        return len(command.operands) >= len(asked.split())
    if word.startswith(READER):
        return command.reader in word.split()
    if word.startswith(BRANCH):
        # A commit goes to the branch that is checked out, and so does a push that names none.
        name, given = word.removeprefix(BRANCH), command.operands[2:]
        return (
            any(_says(told, name) for told in given)
            if given and not {"commit", "rebase"} & {*words}
            else command.branch == name
        )
    if not word.startswith("-"):
        return any(
            _says(told, word)
            or (_is_path(word) and " " not in told and matches(word, told.rpartition("@")[2]))
            for told in (*words, command.text)
        )
    option, _, value = word.replace("=", " ", 1).partition(" ")
    if value:
        together = {f"{option}{value}", f"{option}={value}"}
        return not together.isdisjoint(words) or (option, value) in pairwise(words)
    return word in words or _options([word], asked) <= _options(words, asked)


def _is_path(word: str) -> bool:
    return "/" in word or "*" in word or word.rfind(".") >= 0 < len(word.strip("."))


def _options(words: Sequence[str], asked: str) -> set[str]:
    """Return the options in `words`, each in its short form if it has one: -r and -f for `-rf` or `-f -R`."""
    names = (asked.partition(" ")[0], " ".join(asked.split()[:2]))
    letters = {long: short for name in names for long, short in LONG_OPTIONS.get(name, {}).items()}
    same = {letter: short[0] for short in letters.values() for letter in short}
    found = set()
    for word in words:
        option = word.partition("=")[0]
        if word.startswith("--"):
            found.add(f"-{letters[option[2:]][0]}" if option[2:] in letters else option)
        elif word.startswith("-") and word[1:].isalpha() and len(word) <= _SHORT_CHARS:
            found |= {f"-{same.get(letter, letter)}" for letter in word[1:]}
        elif word.startswith("-"):
            found |= {option, word[:2] if word[2:3].isdigit() else option}
        elif word.startswith("+") and names[1] == "git push":
            found.add("-f")
    return found


def _says(told: str, word: str) -> bool:
    """Tell whether an argument contains a word, in any case; if it has no blanks, `-/.` do not end words."""
    low, inner = word.casefold(), "_" if " " in told or "\n" in told else "_-/."
    signs = (sign if sign.isalnum() or sign in inner or sign in low else " " for sign in told.casefold())
    return f" {low} " in f" {''.join(signs)} "


def _times(text: str, told: str) -> int:
    """Return how often `told` has a text: a name outside of comments and strings, capitals in any case."""
    is_start = text.endswith("*") and text[-2:-1].isalnum()
    wanted = text[:-1] if is_start else text
    wanted, told = (wanted.casefold(), told.casefold()) if text.isupper() else (wanted, told)
    name = wanted.rstrip("(").replace(".", "")
    if name.isidentifier() and not text.isupper() and name not in _IN_COMMENTS:
        lines = (line for line in told.splitlines() if wanted in line)
        told = "\n".join(_code(line) for line in lines if not line.lstrip().startswith(_COMMENTS))
    found = 0
    for before, after in pairwise(told.split(wanted)):
        is_cut = _goes_on(before[-1:]) and _goes_on(wanted[0])
        is_cut |= before[-1:] == "." and hasattr(builtins, wanted.rstrip("("))  # a method named as a built-in
        found += not is_cut and (is_start or not (_goes_on(wanted[-1]) and _goes_on(after[:1])))
    return found


def _code(line: str) -> str:
    """Return a line without its strings and the comment at its end."""
    for quote in "\"'`":
        parts = line.split(quote)
        line = f"{quote}{quote}".join(parts[::2]) if len(parts) % 2 else line
    return line.partition("//")[0].partition(" # ")[0]


def _goes_on(sign: str) -> bool:
    return sign == "_" or sign.isalnum()


def _breaks_message(pattern: str, command: Command) -> bool:
    message = (command.message or command.text).strip()
    subject = message.partition("\n")[0]
    if not subject or "$(" in subject or subject.startswith(_BY_GIT):
        return False  # the subject is not in the command, or git writes it
    import re

    is_of_subject = pattern.startswith("^") or pattern.endswith("$")
    return re.search(pattern, subject[:SUBJECT_CHARS] if is_of_subject else message[:MESSAGE_CHARS]) is None

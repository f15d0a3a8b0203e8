"""Split a shell command line into its simple commands, without `re`, which costs the guard hook 5 ms.

Commands in `$(…)`, backticks, `bash -c`, `find -exec` and after `sudo`, `env`, `xargs` are included; the text
of a here-document is not. Variables, globs and substitutions are not expanded.
"""

from __future__ import annotations

import os.path
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_CHARS = 20_000
_SPACES = " \t\r"
_ENDS = " \t\r\n;&|()<>"
_KEYWORDS = frozenset(
    {"!", "{", "}", "do", "done", "else", "elif", "esac", "fi", "if", "then", "until", "while"}
)
_HEADS = frozenset({"for", "case", "select", "function"})  # of lines that are no command
# Programs that run the command after them, with their options that take a value.
_WRAPPERS = {
    "sudo": "-u -g -h -p -C -D -r -t -U", "doas": "-u -C", "env": "-u -C", "timeout": "-k -s",
    "nice": "-n", "nohup": "", "time": "-f -o", "command": "", "exec": "-a", "builtin": "",
    "stdbuf": "-i -o -e",
    "xargs": "-n -I -L -P -d -E -s -a", "npx": "-p", "bunx": "", "uv run": "--with -p", "poetry run": "",
    "pipenv run": "", "pdm run": "", "hatch run": "", "pnpm exec": "", "npm exec": "", "bundle exec": "",
    "python -m": "", "mise exec": "", "dotenv run": "", "fvm": "", "rtk": "",
}  # fmt: skip
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_INTERPRETERS = _SHELLS | {"python", "node", "ruby", "perl", "php", "source", "."}
_RUNNING = _INTERPRETERS | {"pnpm", "yarn", "bun"}  # they run a script, or a command of a package
_NO_FILES = frozenset({"-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
# Programs that change all their operands, those that write to an option's file, those that edit in place.
_CHANGING_ALL = frozenset({"rm", "rmdir", "unlink", "touch", "tee", "truncate", "restore", "checkout"})
_WRITING_TO = {"curl": ("o", "--output"), "sort": ("o", "--output"), "wget": ("O",)}
_CHANGING_GIT = frozenset({"rm", "mv", "restore", "checkout"})
_EDITING, _EXPRESSIONS = frozenset({"sed", "perl", "yq"}), frozenset({"-e", "-f", "--expression", "--file"})
# The short forms of long options, by program, or by program and sub-command.
LONG_OPTIONS = {
    "git": {"force": "f", "all": "a", "signoff": "s", "gpg-sign": "S", "message": "m", "delete": "d"},
    "git commit": {"no-verify": "n"},
    "git add": {"all": "A"},
    "git switch": {"create": "c"},
    "rm": {"recursive": "rR", "force": "f"},
    "npm": {"global": "g", "force": "f", "save-dev": "D"},
    "chmod": {"recursive": "R"},
    "chown": {"recursive": "R"},
    "grep": {"recursive": "rR", "ignore-case": "i"},
    "sed": {"in-place": "i"},
    "curl": {"fail": "f", "silent": "s", "location": "L", "insecure": "k", "output": "o"},
    "pytest": {"exitfirst": "x", "quiet": "q", "verbose": "v"},
    "pip install": {"requirement": "r", "editable": "e", "upgrade": "U"},
    "docker compose": {"volumes": "v", "detach": "d"},
    "kubectl": {"namespace": "n"},
    "jest": {"updateSnapshot": "u"},
}
_RUN_BY_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


class Command:
    """A simple command: `words` from the program on, `outputs` the files it redirects into.

    `text` is its here-document, `reader` the program that its output is piped into, `branch` the one checked
    out, if known, `folder` where it runs (relative to the folder of the line), `outer` the words including
    the wrappers that were removed, `variables` the assignments before it. `is_step` is False for a wrapper
    and for a command that another command runs.
    """

    def __init__(self, words: tuple[str, ...], outer: tuple[str, ...], folder: str, *, is_step: bool) -> None:
        self.words, self.outer, self.folder, self.is_step = words, outer, folder, is_step
        self.outputs: list[str] = []
        self.variables: list[str] = []
        self.text = self.reader = self.branch = ""

    @property
    def program(self) -> str:
        """The program's bare name; "python" and "pip" whatever their version."""
        return bare_name(self.words[0])

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are no options."""
        return tuple(word for word in self.words[1:] if not word.startswith("-"))

    @property
    def message(self) -> str:
        """The text after `-m` or `--message`, alone or together with other options: -am."""
        for word, following in zip(self.words, (*self.words[1:], ""), strict=False):
            if word.startswith("--message="):
                return word.partition("=")[2]
            if word == "--message" or (word[0:1] == "-" and word[1:].isalpha() and word[-1] == "m"):
                return following
            if word.startswith("-m"):
                return word[2:]
        return ""

    @property
    def quoted_by_writer(self) -> list[str]:
        """The quoted texts in an inline script that writes, among them the files that it writes."""
        is_writer = self.program in _INTERPRETERS and "write" in self.text
        return self.text.replace('"', "'").split("'")[1::2] if is_writer else []

    @property
    def changed(self) -> list[str]:
        """The files that it writes, moves or removes, as they are named."""
        program, operands = self.program, list(self.operands)
        if program == "git" and (sub := next((word for word in operands[:2] if word in _CHANGING_GIT), "")):
            program, operands = sub, operands[operands.index(sub) + 1 :]
            operands = [] if {"--staged", "--cached"} & {*self.words} else operands  # of the index
            if sub == "checkout":
                operands = list(self.words[self.words.index("--") + 1 :]) if "--" in self.words else []
        if program in _CHANGING_ALL:
            return [*self.outputs, *operands]
        if program in _EDITING and any(map(_is_in_place, self.words)):
            after = {word for before, word in pairwise(self.words) if before in _EXPRESSIONS}
            return [*self.outputs, *(word for word in operands[not after :] if word not in after)]
        if program in _WRITING_TO:
            ends = _WRITING_TO[program]
            named = [to for word, to in pairwise(self.words) if word[:1] == "-" and word.endswith(ends)]
            return [*self.outputs, *named]
        if program not in {"cp", "install", "ln", "mv", "rsync"} or not operands:
            return [*self.outputs, *(word[3:] for word in operands if program == "dd" and word[:3] == "of=")]
        *sources, target = operands
        is_folder = len(sources) > 1 or target.endswith("/")
        written = (
            [os.path.join(target, os.path.basename(each)) for each in sources] if is_folder else [target]
        )
        return [*self.outputs, *(sources if program == "mv" else ()), *written]


class Script:
    """A command line that is run in a folder: its `commands` in order, as far as it could be read.

    `cuts` are (start, end, replacement) of the pieces to replace in order to write it on one line: newlines
    between commands, comments and here-documents.
    """

    def __init__(self, line: str, folder: str = "") -> None:
        self.line, self.folder = line[:MOST_CHARS], folder
        self.commands: list[Command] = []
        self.cuts: list[tuple[int, int, str]] = []
        self._at = self._depth = 0  # `_depth` counts substitutions
        self._exported: list[str] = []  # assignments that hold for the commands after them
        self._texts: list[tuple[str, bool, Command]] = []  # here-documents that begin with the next line
        try:
            self._read("")
        except RecursionError:  # nested deeper than anybody writes
            self.commands = []

    def _read(self, close: str) -> None:  # noqa: C901  (each is a way for words to end)
        """Read commands up to and including `close`, or to the end."""
        folder, command, words = self.folder, self._new(), list[str]()
        piped_from: Command | None = None
        while True:
            start, char = self._at, self.line[self._at : self._at + 1]
            if not char or (char in "\n;&|()" and not self.line.startswith("&>", start)):
                self._end(command, words, piped_from if words else None)
                is_pipe = char == "|" and self.line[start - 1 : start + 2].count("|") == 1
                command, words, piped_from = self._new(), [], command if is_pipe else None
                self._at += 1
                if char == "(":
                    self._read(")")
                elif char == "\n":
                    if not self._depth:
                        self.cuts.append((start, start + 1, "\n"))
                    self._read_texts()
                if not char or char == close:
                    self.folder = folder if close else self.folder
                    return
            elif char in _SPACES:
                self._at += 1
            elif self.line.startswith("\\\n", start):
                self._at += 2
            elif char == "#":
                self._at = self._find("\n")
                self.cuts.append((start, self._at, ""))
            elif char in "<>&":
                self._redirect(command)
            else:
                word = self._word()
                if not (word.isdigit() and self.line[self._at : self._at + 1] in {"<", ">"}):
                    words.append(word)

    def _new(self) -> Command:
        return Command((), (), self.folder, is_step=not self._depth)

    def _find(self, sign: str) -> int:
        found = self.line.find(sign, self._at)
        return len(self.line) if found < 0 else found

    def _end(self, command: Command, words: list[str], piped_from: Command | None) -> None:
        """Add the command with these words and the commands that it runs; follow a `cd` to its folder."""
        while words and (words[0] in _KEYWORDS or _is_assignment(words[0])):
            if words[0] not in _KEYWORDS:
                command.variables.append(words[0])
            words = words[1:]
        if words and words[0] in _HEADS:
            words = []
        command.outer = tuple(words)
        while wrapped := _wrapped(words):
            self.commands.append(Command(tuple(words), command.outer, self.folder, is_step=False))
            words = wrapped
        if not words and not command.outputs:
            return
        command.words = tuple(words) or (":",)
        command.variables[:0] = self._exported
        self.commands.append(command)
        if piped_from:
            piped_from.reader = command.program
        self._follow(command, words)

    def _follow(self, command: Command, words: list[str]) -> None:
        """Change the folder if the command is a `cd`, and add the commands that it runs."""
        program = command.program
        if program in {"cd", "pushd"}:
            target = os.path.expanduser(words[-1] if words[1:] else "~")
            self.folder = os.path.join(self.folder, "$OLDPWD" if target == "-" else target)
        elif program == "export":
            self._exported += filter(_is_assignment, words[1:])
        elif program == "eval":
            self._run(" ".join(words[1:]))
        elif program in _SHELLS and any(map(_is_inline, words)):
            self._run("".join(_after(words, _is_inline)[:1]))
        elif program in _RUNNING and words[1:] and not words[1].startswith("-"):
            self.commands.append(Command(tuple(words[1:]), command.outer, self.folder, is_step=False))
        elif program == "find":
            run = [word for word in _after(words, _RUN_BY_FIND.__contains__) if word not in {";", "+", "{}"}]
            if run:
                self.commands.append(Command(tuple(run), command.outer, self.folder, is_step=False))

    def _run(self, line: str) -> None:
        for command in Script(line, self.folder).commands:
            command.is_step = False
            self.commands.append(command)

    def _redirect(self, command: Command) -> None:
        start = self._at
        while self.line[self._at : self._at + 1] in {"<", ">", "&", "|"}:
            self._at += 1
        operator = self.line[start : self._at]
        if self.line.startswith("(", self._at):
            self._substituted()
            return
        is_indented = operator == "<<" and self.line.startswith("-", self._at)
        self._at = start = self._at + is_indented
        while self.line[self._at : self._at + 1] in {" ", "\t"}:
            self._at += 1
        target = self._word()
        if operator == "<<":
            self.cuts.append((start, self._at, target))
            self._texts.append((target, is_indented, command))
        elif ">" in operator and target and not target.isdigit() and target not in _NO_FILES:
            command.outputs.append(target)

    def _read_texts(self) -> None:
        texts, self._texts = self._texts, []
        for tag, is_indented, command in texts:
            start, lines = self._at, list[str]()
            while self._at < len(self.line):
                end = self._find("\n")
                line = self.line[self._at : end].lstrip("\t" if is_indented else "")
                self._at = end + 1
                if line.strip() == tag:
                    break
                lines.append(line)
            command.text = "\n".join(lines)
            self.cuts.append((start, self._at, ""))

    def _word(self) -> str:
        parts: list[str] = []
        start, quote = self._at, ""
        while (char := self.line[self._at : self._at + 1]) and (quote or char not in _ENDS):
            following = self.line[self._at + 1 : self._at + 2]
            self._at += 1
            if char == quote:
                quote = ""
            elif char == "'" and not quote:
                end = self._find("'")
                parts.append(self.line[self._at : end])
                self._at = end + 1
            elif char == "\\":
                self._at += 1
                if following != "\n":
                    parts.append(following if not quote or following in '"\\$`' else char + following)
            elif char == "$" and following == "(":
                parts.append(self._substituted())
            elif char == "`":
                end = self._find("`")
                self._run(self.line[self._at : end])
                parts.append(f"$({self.line[self._at : end]})")
                self._at = end + 1
            elif char == '"':
                quote = char
            else:
                parts.append(char)
        self._at += self._at == start  # a redirection without a target
        return "".join(parts)

    def _substituted(self) -> str:
        """Read the commands in parentheses; return `$(…)` as written, and `$(cat <<…)` as its text."""
        start, before, texts = self._at, len(self.commands), self._texts
        self._at, self._texts, self._depth = start + 1, [], self._depth + 1
        self._read(")")
        self._texts, self._depth = texts, self._depth - 1
        inner = self.commands[before:]
        is_text = len(inner) == 1 and inner[0].program == "cat" and inner[0].text
        return inner[0].text if is_text else "$" + self.line[start : self._at]


def _wrapped(words: list[str]) -> list[str]:
    """Return the words of the command that a wrapper runs, [] for no wrapper."""
    name = bare_name(words[0]) if words else ""
    taken = 1 if name in _WRAPPERS else 2
    valued = _WRAPPERS.get(" ".join([name, *words[1:taken]]))
    if valued is None or (name == "command" and words[1:2] in (["-v"], ["-V"])):
        return []
    rest = words[taken:]
    while rest and (rest[0].startswith("-") or _is_assignment(rest[0])):
        rest = rest[2 if rest[0] in valued.split() else 1 :]
    return rest[name == "timeout" :]


def _after(words: list[str], is_it: Callable[[str], bool]) -> list[str]:
    return next((words[at + 1 :] for at, word in enumerate(words) if is_it(word)), [])


def _is_inline(word: str) -> bool:
    return word[:1] == "-" and "c" in word


def bare_name(program: str) -> str:
    """Return a program's name without its folder, and without the version of Python and pip."""
    name = os.path.basename(program)
    bare = name.rstrip("0123456789.")
    return bare if bare in {"python", "pip"} else name


def _is_in_place(word: str) -> bool:
    return word.startswith(("--in-place", "--inplace")) or (
        word[:1] == "-" != word[1:2] and word[1:2] not in {"M", "I"} and "i" in word
    )


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.rstrip("+").isidentifier()

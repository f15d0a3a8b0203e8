"""Take a shell command line apart into its simple commands, for the guard hook: no `re`, which costs 5 ms.

Commands in `$(…)`, backticks, `bash -c`, `find -exec` and behind `sudo`, `env`, `xargs` count as well; the
text of a here-document does not. Variables and globs stay as they were written.
"""

from __future__ import annotations

import os.path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARS = 20_000
_SPACES = " \t\r"
_ENDS = " \t\r\n;&|()<>"
_KEYWORDS = frozenset(
    {"!", "{", "}", "do", "done", "else", "elif", "esac", "fi", "if", "then", "until", "while"}
)
# Programs that run the command after them, with their options that take a value.
_WRAPPERS = {
    "sudo": "-u -g -h -p -C -D -r -t -U", "doas": "-u -C", "env": "-u -C -S", "timeout": "-k -s",
    "nice": "-n", "nohup": "", "time": "-f -o", "command": "", "exec": "-a", "builtin": "",
    "stdbuf": "-i -o -e",
    "xargs": "-n -I -L -P -d -E -s -a", "npx": "-p", "bunx": "", "uv run": "--with -p", "poetry run": "",
    "pipenv run": "", "pdm run": "", "hatch run": "", "pnpm exec": "", "npm exec": "", "bundle exec": "",
    "python -m": "", "python3 -m": "", "mise exec": "", "dotenv run": "",
}  # fmt: skip
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "eval"})


class Command:
    """A simple command: `words` from the program on, `outputs` the files it redirects into.

    `text` is its here-document, `folder` where it runs (relative to where the line does), `outer` the words
    with the wrappers that were taken off.
    """

    def __init__(self, words: tuple[str, ...], outer: tuple[str, ...], folder: str) -> None:
        self.words, self.outer, self.folder = words, outer, folder
        self.outputs: list[str] = []
        self.text = ""

    @property
    def program(self) -> str:
        """The program's bare name."""
        return os.path.basename(self.words[0])


def simple_commands(line: str, folder: str = "") -> list[Command]:
    """Return the simple commands of a command line that is run in a folder, in order.

    Raises:
        RecursionError: the line nests too deep.
    """
    reader = _Reader(line[:MOST_CHARS], folder)
    reader.commands("")
    return reader.found


class _Reader:
    """Reads a line from left to right; `found` grows by each command that ends."""

    def __init__(self, line: str, folder: str) -> None:
        self.line, self.at, self.folder = line, 0, folder
        self.found: list[Command] = []
        self._texts: list[
            tuple[str, bool, list[Command]]
        ] = []  # here-documents that begin with the next line

    def commands(self, close: str) -> None:  # noqa: C901  (each is a way for words to end)
        """Read commands up to `close` and beyond it, or to the end."""
        words: list[str] = []
        outputs: list[str] = []
        tags: list[tuple[str, bool, list[Command]]] = []
        while True:
            char = self.line[self.at : self.at + 1]
            if not char or char == close or (char in "\n;&|()" and self.line[self.at : self.at + 2] != "&>"):
                ended = self._end(words, outputs)
                for tag in tags:
                    tag[2].extend(ended)
                words, outputs, tags = [], [], []
                self.at += 1
                if char == "(":
                    folder = self.folder
                    self.commands(")")
                    self.folder = folder
                if char == "\n":
                    self._read_texts()
                if not char or char == close:
                    return
            elif char in _SPACES:
                self.at += 1
            elif char == "\\" and self.line[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif char == "#":
                end = self.line.find("\n", self.at)
                self.at = len(self.line) if end < 0 else end
            elif char in "<>" or self.line.startswith("&>", self.at):
                self._redirect(outputs, tags)
            else:
                word = self._word()
                if not (word.isdigit() and self.line[self.at : self.at + 1] in {"<", ">"}):
                    words.append(word)

    def _end(self, words: list[str], outputs: list[str]) -> list[Command]:
        """Note the command of these words, and those that it runs; a `cd` is noted by its folder."""
        ended: list[Command] = []
        while words and (words[0] in _KEYWORDS or _is_assignment(words[0])):
            words = words[1:]
        outer = tuple(words)
        while words:
            command = Command(tuple(words), outer, self.folder)
            ended.append(command)
            words = _wrapped(words)
        if not ended and outputs:
            ended.append(Command((":",), (":",), self.folder))
        if ended:
            ended[-1].outputs = outputs
            self._run_by(ended[-1])
        self.found += ended
        return ended

    def _run_by(self, command: Command) -> None:
        program, words = command.program, command.words
        if program in {"cd", "pushd"} and len(words) > 1 and words[1] != "-":
            self.folder = os.path.join(self.folder, os.path.expanduser(words[-1]))
        elif program in _SHELLS:
            scripts = (
                words[1:2]
                if program == "eval"
                else _after(words, lambda word: word[:1] == "-" and "c" in word)
            )
            for script in scripts[:1]:
                self.found += simple_commands(script, self.folder)
        elif program == "find":
            run = _after(words, lambda word: word in {"-exec", "-execdir", "-ok", "-okdir"})
            run = tuple(word for word in run if word not in {";", "+", "{}"})
            if run:
                self.found.append(Command(run, words, self.folder))

    def _redirect(self, outputs: list[str], tags: list[tuple[str, bool, list[Command]]]) -> None:
        start = self.at
        while self.line[self.at : self.at + 1] in {"<", ">", "&", "|"}:
            self.at += 1
        operator = self.line[start : self.at]
        if operator == "<<" and self.line[self.at : self.at + 1] == "-":
            operator, self.at = "<<-", self.at + 1
        if self.line[self.at : self.at + 1] == "(":
            self.at += 1
            self.commands(")")
            return
        while self.line[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1
        target = self._word()
        if operator in {"<<", "<<-"}:
            tag: tuple[str, bool, list[Command]] = (target, operator == "<<-", [])
            tags.append(tag)
            self._texts.append(tag)
        elif ">" in operator and target and not target.isdigit() and target != "-":
            outputs.append(target)

    def _read_texts(self) -> None:
        texts, self._texts = self._texts, []
        for tag, is_indented, commands in texts:
            lines: list[str] = []
            while self.at < len(self.line):
                end = self.line.find("\n", self.at)
                end = len(self.line) if end < 0 else end
                line = self.line[self.at : end].lstrip("\t" if is_indented else "")
                self.at = end + 1
                if line.strip() == tag:
                    break
                lines.append(line)
            for command in commands:
                command.text = "\n".join(lines)

    def _word(self) -> str:  # noqa: C901  (each is a way to quote)
        parts: list[str] = []
        start, quote = self.at, ""
        while (char := self.line[self.at : self.at + 1]) and (quote or char not in _ENDS):
            pair = self.line[self.at : self.at + 2]
            self.at += 1
            if quote == "'":
                if char == "'":
                    quote = ""
                else:
                    end = self.line.find("'", self.at)
                    end = len(self.line) if end < 0 else end
                    parts.append(self.line[self.at - 1 : end])
                    self.at = end
            elif char == "\\":
                self.at += 1
                if pair[1:] != "\n":
                    parts.append(pair if quote and pair[1:] not in {'"', "\\", "$", "`"} else pair[1:])
            elif char == quote:
                quote = ""
            elif pair == "$(":
                self.at += 1
                parts.append(self._substituted())
            elif char == "`":
                end = self.line.find("`", self.at)
                end = len(self.line) if end < 0 else end
                self.found += simple_commands(self.line[self.at : end], self.folder)
                parts.append("$()")
                self.at = end + 1
            elif char == '"' or (char == "'" and not quote):
                quote = char
            else:
                parts.append(char)
        if self.at == start:  # a redirection without a target
            self.at += 1
        return "".join(parts)

    def _substituted(self) -> str:
        """Return what a `$(…)` stands for where that can be read: a `cat` of a here-document, an `echo`."""
        before, texts, folder = len(self.found), self._texts, self.folder
        self._texts = []
        self.commands(")")
        self._texts, self.folder = texts, folder
        inner = self.found[before:]
        if len(inner) == 1 and inner[0].program == "cat" and inner[0].text:
            return inner[0].text
        if len(inner) == 1 and inner[0].program in {"echo", "printf"}:
            return " ".join(inner[0].words[1:])
        return "$()"


def _wrapped(words: list[str]) -> list[str]:
    """Return the words of the command that a wrapper runs, [] for no wrapper."""
    name = os.path.basename(words[0])
    taken = 1 if name in _WRAPPERS else 2
    valued = (
        _WRAPPERS.get(name) if taken == 1 else _WRAPPERS.get(f"{name} {words[1]}" if len(words) > 1 else "")
    )
    if valued is None:
        return []
    rest = words[taken:]
    if name == "command" and rest[:1] and rest[0] in {"-v", "-V"}:
        return []
    while rest and (rest[0].startswith("-") or _is_assignment(rest[0])):
        rest = rest[2 if rest[0] in valued.split() else 1 :]
    return rest[1:] if name == "timeout" else rest


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.rstrip("+").isidentifier()


def _after(words: tuple[str, ...], is_it: object) -> tuple[str, ...]:
    at = next((at for at, word in enumerate(words) if at and is_it(word)), None)  # type: ignore[operator]
    return () if at is None else words[at + 1 :]


def operands(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the arguments that are no options."""
    return (word for word in words[1:] if not word.startswith("-"))

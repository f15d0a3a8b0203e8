"""Split a shell script into pipelines, words, substitutions and variables, to tell what it prints.

It uses string methods in one pass and no `re`, because hooks load it. It is no full parser: text that it
cannot read is returned unchanged. `simple_commands` cannot replace it: that drops the quotes and the pipes
that decide whether a secret is printed (554 of 10,476 verdicts differ).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_SHOWN = ("/dev/stdout", "/dev/stderr", "/dev/tty", "&1", "&2")
_LONGEST = 20_000  # characters of a script that are read


def pipelines(script: str) -> Iterator[list[str]]:
    """Yield the commands of each pipeline of a script; a command without a pipe is a list of one."""
    stages: list[str] = []
    for start, end, joint in _parts(script[:_LONGEST].replace("\\\n", "  ")):
        stages.append(script[start:end].replace("\\\n", "  "))
        if joint != "|":
            yield [stage for stage in stages if stage.strip()]
            stages = []


def words_of(command: str) -> list[str]:
    """Return the words of a simple command with their quotes; quotes and `$(…)` hold a word together."""
    words = [command[start:end] for start, end, _ in _parts(command, " \t\n") if end > start]
    comment = next((at for at, word in enumerate(words) if word[0] == "#"), len(words))
    return words[:comment]


def _parts(text: str, ends: str = "|;&\n") -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, the separator after it) of each part of a text between unquoted `ends`.

    "&&" is reported as "&", "||" as ";".
    """
    start, at, quote, depth = 0, 0, "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char in "()":
            depth += _step(text, at, depth)
        elif not depth and char in ends and not (char == "&" and ">" in text[max(0, at - 1) : at + 2]):
            is_double = text[at : at + 2] in {"&&", "||"}
            yield start, at, ";" if is_double and char == "|" else char
            at += is_double
            start = at + 1
        at += 1
    yield start, len(text), ""


def _step(text: str, at: int, depth: int) -> int:
    """Return by how much a bracket changes the depth of substitutions; outside them a subshell's does not."""
    if text[at] == ")":
        return -1 if depth else 0
    return 1 if depth or text[at - 1 : at] == "$" else 0


def substitutions(word: str) -> Iterator[str]:
    """Yield the commands that a word runs for their output: `$(…)`, and those in backticks."""
    at = word.find("$(")
    while at >= 0:
        depth, end = 1, at + 2
        while end < len(word) and depth:
            depth += (word[end] == "(") - (word[end] == ")")
            end += 1
        yield word[at + 2 : end - (not depth)]
        at = word.find("$(", end)
    yield from word.split("`")[1::2]


def variables(word: str) -> Iterator[str]:
    """Yield the variables whose values a word expands to: `$NAME`, `${NAME:-x}`, PowerShell's `$env:NAME`.

    `${NAME:+x}` and `${#NAME}` do not reveal the value.
    """
    at = word.find("$")
    while at >= 0:
        start = at + 1 + (word[at + 1 : at + 2] == "{")
        start += 4 * (word[start : start + 4].lower() == "env:")
        rest = word[start:]
        name = rest[: len(rest) - len(rest.lstrip(NAME_CHARS))]
        if name and word[at - 1 : at] != "\\" and not rest[len(name) :].startswith((":+", "+")):
            yield name
        at = word.find("$", start)


def is_redirected(words: list[str]) -> bool:
    """Tell whether what a command prints goes to a file."""
    for at, word in enumerate(words):
        before, sign, target = word.partition(">")
        if sign and before in {"", "1", "&"}:
            target = target.lstrip(">|") or "".join(words[at + 1 : at + 2])
            if target not in _SHOWN:
                return True
    return False


def base(word: str) -> str:
    """Return the name of a program without its folder."""
    return bare(word).lstrip("(").rsplit("/", 1)[-1].removesuffix(".exe")


def bare(word: str) -> str:
    """Return a word without its quotes."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        return word[1:-1]
    return word if " " in word else word.replace('"', "").replace("'", "")

"""Split a shell command into its steps; tell which steps are read-only and which files they change.

A name that is known only at run time (a variable, a glob, a substitution) is never guessed.
"""

import functools
import os.path
import re
from collections.abc import Iterable

from claude_mem_lite.capture.priority import only_looks
from claude_mem_lite.capture.simple_commands import Command, Script
from claude_mem_lite.text import unique

_GOES_ON = ("&&", "||", "|", ";", "(", "{", " do", " then", " else")
_OPTIONS_OF_GIT = {"-C": 2, "-c": 2, "--no-pager": 1}

_IDLE = frozenset({
    "cd", "ls", "pwd", "echo", "true", "false", "sleep", "clear", ":", "export", "set", "unset",
    "source", ".", "mkdir", "popd", "pushd", "wait", "history",
    "Set-Location", "Get-Location", "Write-Host",
})  # fmt: skip
_UNKNOWN_UNTIL_RUN = frozenset("$*?[{`~")
_NO_FILES = frozenset({"", "-", ".", "..", "/"})

_SCRIPT_OPENS = re.compile(r"""\bopen\(\s*['"]([^'"\n]+)['"]\s*,\s*['"][wax]""")
_SCRIPT_WRITES = re.compile(r"""Path\(\s*['"]([^'"\n]+)['"]\s*\)\.write_(?:text|bytes)\(""")
_SCRIPT_NAMES = re.compile(
    r"""^[ \t]*(\w+) *= *(?:pathlib\.)?Path\( *['"]([^'"\n]+)['"] *\)[ \t]*$""", re.MULTILINE
)


@functools.lru_cache(maxsize=64)
def steps(command: str) -> tuple[Command, ...]:
    """Return the simple commands of a command line, in order, without git's own options."""
    found = tuple(each for each in Script(command).commands if each.is_step)
    for each in found:
        while each.words[0] == "git" and (taken := _OPTIONS_OF_GIT.get("".join(each.words[1:2]))):
            each.words = ("git", *each.words[1 + taken :])
    return found


def on_one_line(command: str) -> str:
    """Return the command as written, without inline scripts, with its lines joined by "; "."""
    script, told, at = Script(command), "", 0
    for start, end, instead in sorted(script.cuts):
        told += script.line[at:start].replace("\n", " ") + instead
        at = end
    told += script.line[at:].replace("\n", " ")
    lines = [line.strip() for line in told.split("\n") if line.strip()]
    joined = [line if line.endswith(_GOES_ON) else f"{line};" for line in lines]
    return " ".join(joined).rstrip(";")


def is_lookup(step: Command) -> bool:
    """Tell whether a step is read-only; in doubt it is not."""
    return only_looks(step) or is_idle(step)


def is_idle(step: Command) -> bool:
    """Tell whether a step neither changes nor prints anything worth keeping, like cd, ls and echo."""
    return step.program in _IDLE and not step.outputs and not step.text


def changed_files(command: str, cwd: str) -> tuple[str, ...]:
    """Return the paths that a command certainly changes, absolute where `cwd` is."""
    paths = (
        os.path.join(step.folder, name)
        for step in steps(command)
        for name in (*step.changed, *_written_by_script(step))
        if name not in _NO_FILES
    )
    known = (path for path in paths if _UNKNOWN_UNTIL_RUN.isdisjoint(path))
    return unique(os.path.normpath(os.path.join(cwd, path)) for path in known)


def removed_files(commands: Iterable[Command]) -> tuple[str, ...]:
    """Return the operands of `rm` and `git rm`."""
    return tuple(
        name.removeprefix("./")
        for step in commands
        if step.program == "rm" or step.words[:2] == ("git", "rm")
        for name in step.operands[step.program == "git" :]
    )


def _written_by_script(step: Command) -> list[str]:
    """Return the files that an inline Python script opens for writing under a literal name."""
    if step.program != "python" or not step.text:
        return []
    named = [path for name, path in _SCRIPT_NAMES.findall(step.text) if f"{name}.write_" in step.text]
    return [*_SCRIPT_OPENS.findall(step.text), *_SCRIPT_WRITES.findall(step.text), *named]

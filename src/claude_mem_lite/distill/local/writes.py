"""Finds the files that a shell command certainly writes, moves or removes.

A name that is known only at run time (a variable, a glob, a substitution) is never guessed.
"""

import os.path
import re
from collections.abc import Iterable

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.local import shell
from claude_mem_lite.distill.local.evidence import unique

_UNKNOWN_UNTIL_RUN = frozenset("$*?[{`~")
_NO_FILES = frozenset({"", "-", ".", "..", "/"})

_SCRIPT_OPENS = re.compile(r"""\bopen\(\s*['"]([^'"\n]+)['"]\s*,\s*['"][wax]""")
_SCRIPT_WRITES = re.compile(r"""Path\(\s*['"]([^'"\n]+)['"]\s*\)\.write_(?:text|bytes)\(""")
_SCRIPT_NAMES = re.compile(
    r"""^[ \t]*(\w+) *= *(?:pathlib\.)?Path\( *['"]([^'"\n]+)['"] *\)[ \t]*$""", re.MULTILINE
)


def changed_files(command: str, cwd: str) -> tuple[str, ...]:
    """Return the paths that a command certainly changes, absolute where `cwd` is."""
    paths = (
        os.path.join(step.folder, name)
        for step in shell.steps(command)
        for name in (*step.changed, *_written_by_script(step))
        if name not in _NO_FILES
    )
    known = (path for path in paths if _UNKNOWN_UNTIL_RUN.isdisjoint(path))
    return unique(os.path.normpath(os.path.join(cwd, path)) for path in known)


def removed_files(steps: Iterable[Command]) -> tuple[str, ...]:
    """Return the names that `rm` and `git rm` were given."""
    return tuple(
        name.removeprefix("./")
        for step in steps
        if step.program == "rm" or step.words[:2] == ("git", "rm")
        for name in step.operands[step.program == "git" :]
    )


def _written_by_script(step: Command) -> list[str]:
    """Return the files that an inline Python script opens for writing under a literal name."""
    if step.program != "python" or not step.text:
        return []
    named = [path for name, path in _SCRIPT_NAMES.findall(step.text) if f"{name}.write_" in step.text]
    return [*_SCRIPT_OPENS.findall(step.text), *_SCRIPT_WRITES.findall(step.text), *named]

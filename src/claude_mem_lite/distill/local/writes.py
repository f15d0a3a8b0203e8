"""Which files a shell command certainly writes, moves or removes.

A name that is known only at run time (a variable, a glob, a substitution) is never guessed.
"""

import os.path
import re
from collections.abc import Callable, Iterable

from claude_mem_lite.distill.local import shell
from claude_mem_lite.distill.local.evidence import unique
from claude_mem_lite.simple_commands import Command

_UNKNOWN_UNTIL_RUN = frozenset("$*?[{`~")
_SED_EXPRESSIONS = frozenset({"-e", "-f", "--expression", "--file"})
_NO_FILES = frozenset({"-", ".", "..", "/"})

_SCRIPT_OPENS = re.compile(r"""\bopen\(\s*['"]([^'"\n]+)['"]\s*,\s*['"][wax]""")
_SCRIPT_WRITES = re.compile(r"""Path\(\s*['"]([^'"\n]+)['"]\s*\)\.write_(?:text|bytes)\(""")
_SCRIPT_NAMES = re.compile(
    r"""^[ \t]*(\w+) *= *(?:pathlib\.)?Path\( *['"]([^'"\n]+)['"] *\)[ \t]*$""", re.MULTILINE
)


def changed_files(command: str, cwd: str) -> tuple[str, ...]:
    """Return the paths that a command certainly changes, absolute where `cwd` is."""
    found: list[str] = []
    folder: str | None = cwd
    for step in shell.steps(command):
        if step.program == "cd":
            folder = _join(folder, step.operands[0]) if step.operands else None
            continue
        found += [path for name in _written(step) if (path := _join(folder, name))]
    return unique(found)


def removed_files(steps: Iterable[Command]) -> tuple[str, ...]:
    """Return the names that `rm` and `git rm` were given."""
    return tuple(
        name.removeprefix("./")
        for step in steps
        if step.program == "rm" or step.words[:2] == ("git", "rm")
        for name in step.operands[step.program == "git" :]
    )


def _join(folder: str | None, name: str) -> str | None:
    """Return None where the name, or the folder it starts from, is known only at run time."""
    if not name or _UNKNOWN_UNTIL_RUN & set(name) or name in _NO_FILES:
        return None
    if os.path.isabs(name):
        return os.path.normpath(name)
    return None if folder is None else os.path.normpath(os.path.join(folder, name))


def _written(step: Command) -> list[str]:
    program, operands = step.program, list(step.operands)
    if program == "git" and operands[:1] in (["mv"], ["rm"]):
        program, operands = operands[0], operands[1:]
    rule = _WRITERS.get(program)
    return [*step.outputs, *(rule(step, operands) if rule else ()), *_written_by_script(step)]


def _operands(_: Command, operands: list[str]) -> list[str]:
    return operands


def _edited_in_place(step: Command, operands: list[str]) -> list[str]:
    if shell.is_lookup(step):
        return []
    if not _SED_EXPRESSIONS & set(step.words):
        return operands[1:]
    pairs = zip(step.words, step.words[1:], strict=False)
    return [word for before, word in pairs if before not in _SED_EXPRESSIONS and not word.startswith("-")]


def _copied(_: Command, operands: list[str]) -> list[str]:
    *sources, target = operands or [""]
    if len(sources) > 1 or target.endswith("/"):
        return [os.path.join(target, os.path.basename(source)) for source in sources]
    return [target]


def _moved(step: Command, operands: list[str]) -> list[str]:
    return [*operands[:-1], *_copied(step, operands)]


_WRITERS: dict[str, Callable[[Command, list[str]], list[str]]] = {
    "cp": _copied,
    "mv": _moved,
    "rm": _operands,
    "sed": _edited_in_place,
    "tee": _operands,
    "touch": _operands,
}


def _written_by_script(step: Command) -> list[str]:
    """Return the files that an inline Python script opens for writing under a literal name."""
    if step.program != "python" or not step.text:
        return []
    named = [path for name, path in _SCRIPT_NAMES.findall(step.text) if f"{name}.write_" in step.text]
    return [*_SCRIPT_OPENS.findall(step.text), *_SCRIPT_WRITES.findall(step.text), *named]

"""Takes a shell command apart into its steps, and tells which of them only look."""

import functools

from claude_mem_lite.capture.priority import only_looks
from claude_mem_lite.capture.simple_commands import Command, Script

_GOES_ON = ("&&", "||", "|", ";", "(", "{", " do", " then", " else")
_OPTIONS_OF_GIT = {"-C": 2, "-c": 2, "--no-pager": 1}

_IDLE = frozenset({
    "cd", "ls", "pwd", "echo", "true", "false", "sleep", "clear", ":", "export", "set", "unset",
    "source", ".", "mkdir", "popd", "pushd", "wait", "history",
})  # fmt: skip


@functools.lru_cache(maxsize=64)
def steps(command: str) -> tuple[Command, ...]:
    """Return the simple commands of a command line, in order, without git's own options."""
    found = tuple(each for each in Script(command).commands if each.is_step)
    for each in found:
        while each.words[0] == "git" and (taken := _OPTIONS_OF_GIT.get("".join(each.words[1:2]))):
            each.words = ("git", *each.words[1 + taken :])
    return found


def on_one_line(command: str) -> str:
    """Return the command as it was written, without its inline scripts, its lines joined by "; "."""
    script, told, at = Script(command), "", 0
    for start, end, instead in sorted(script.cuts):
        told += script.line[at:start].replace("\n", " ") + instead
        at = end
    told += script.line[at:].replace("\n", " ")
    lines = [line.strip() for line in told.split("\n") if line.strip()]
    joined = [line if line.endswith(_GOES_ON) else f"{line};" for line in lines]
    return " ".join(joined).rstrip(";")


def is_lookup(step: Command) -> bool:
    """Tell whether a step only looks at things; in doubt it does not."""
    return only_looks(step) or is_idle(step)


def is_idle(step: Command) -> bool:
    """Tell whether a step neither changes nor tells anything worth keeping, like cd, ls and echo."""
    return step.program in _IDLE and not step.outputs and not step.text

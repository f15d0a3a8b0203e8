"""Rank a tool call: `high` if it may have changed something, `low` if it only looked.

Pure and cheap, because it runs for every event; the distiller interprets what a call means.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from claude_mem_lite.capture.simple_commands import Command

# The tools that change a file and name it in their input.
EDITORS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
HIGH = EDITORS | {"Bash"}
LOW = frozenset({
    "Read", "Glob", "Grep", "LS", "NotebookRead", "TodoRead", "TodoWrite", "TaskCreate", "TaskUpdate",
    "TaskList", "TaskGet", "ToolSearch",
})  # fmt: skip

_LOOKING = frozenset({
    "[", "awk", "basename", "bat", "cat", "cd", "cmp", "column", "comm", "command", "cut", "date", "df",
    "diff", "dirname", "du", "echo", "egrep", "env", "expr", "false", "fgrep", "file", "find", "grep",
    "head", "hexdump", "hostname", "id", "jq", "less", "ls", "md5sum", "more", "nl", "nproc", "od",
    "printenv", "printf", "ps", "pwd", "readlink", "realpath", "rg", "sed", "seq", "sha1sum", "sha256sum",
    "sort", "stat", "strings", "tac", "tail", "test", "tr", "tree", "true", "type", "uname", "uniq",
    "uptime", "wc", "whereis", "which", "who", "whoami", "xargs", "xxd", "yq",
})  # fmt: skip
_LOOKING_GIT = frozenset({
    "blame", "cat-file", "check-ignore", "describe", "diff", "grep", "log", "ls-files", "ls-remote",
    "ls-tree", "reflog", "remote", "rev-list", "rev-parse", "shortlog", "show", "status",
})  # fmt: skip
_CHANGING_GIT = [
    *(["reflog", word] for word in ("expire", "delete")),
    *(["remote", word] for word in ("add", "remove", "rm", "rename", "set-url", "prune")),
]
# An option that makes a command of _LOOKING write or run something.
_CHANGING = {
    "find": ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fls"),
    "sed": ("--in-place",),
    "sort": ("--output",),
    "yq": ("--inplace",),
    "date": ("-s", "--set"),
    "xxd": ("-r",),
}
# The same as a letter, alone or combined with others: sed -Ei.
_CHANGING_LETTER = {"sed": "i", "sort": "o", "yq": "i"}
# These write to their second operand.
_WRITING_TO_SECOND = frozenset({"uniq", "xxd"})


def priority(tool_name: str, command: str = "") -> str:
    """Return `high`, `normal` or `low` for a call of `tool_name`; `command` is Bash's."""
    if tool_name == "Bash" and is_read_only(command):
        return "low"
    if tool_name in HIGH:
        return "high"
    return "low" if tool_name in LOW else "normal"


def is_read_only(command: str) -> bool:
    """Tell whether every part of a shell command only looks; False when in doubt or if it is too long."""
    from claude_mem_lite.capture.simple_commands import MOST_CHARS, Script

    commands = Script(command).commands if len(command) <= MOST_CHARS else []
    return bool(commands) and all(map(only_looks, commands))


def only_looks(command: Command) -> bool:  # noqa: PLR0911  (each is a way to do more)
    """Tell whether a simple command only looks at things; False when in doubt."""
    if command.outputs or command.text:
        return False
    name, options = command.program, list(command.words[1:])
    if name == "git":
        while options[:1] == ["-C"] or options[:1] == ["-c"]:
            options = options[2:]
        options = [word for word in options if word != "--no-pager"]
        writes = options[:2] in _CHANGING_GIT or any(word.startswith("--output") for word in options)
        return bool(options) and options[0] in _LOOKING_GIT and not writes
    if options and all(word in {"--version", "-V", "--help", "version"} for word in options):
        return True
    if name not in _LOOKING or any(word.startswith(_CHANGING.get(name, ("\0",))) for word in options):
        return False
    if name == "awk" and any("system(" in word or ">" in word.partition("print")[2] for word in options):
        return False
    letter = _CHANGING_LETTER.get(name, "\0")
    if any(letter in word for word in options if word[:1] == "-" != word[1:2]):
        return False
    return name not in _WRITING_TO_SECOND or len(command.operands) < 2  # noqa: PLR2004

"""How urgent a tool call is: `high` when something may have changed, `low` when it was only looked at.

Pure and cheap, because every capture asks; what a call means is the distiller's business.
"""

from __future__ import annotations

# The tools that change a file, and name it.
EDITORS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
HIGH = EDITORS | {"Bash"}
LOW = frozenset({
    "Read", "Glob", "Grep", "LS", "NotebookRead", "TodoRead", "TodoWrite", "TaskCreate", "TaskUpdate",
    "TaskList", "TaskGet", "ToolSearch",
})  # fmt: skip

_LOOKING = frozenset({
    "[", "awk", "basename", "bat", "cat", "cd", "cmp", "column", "comm", "cut", "date", "df", "diff",
    "dirname", "du", "echo", "egrep", "env", "expr", "false", "fgrep", "file", "find", "grep", "head",
    "hexdump", "hostname", "id", "jq", "less", "ls", "md5sum", "more", "nl", "nproc", "od", "printenv",
    "printf", "ps", "pwd", "readlink", "realpath", "rg", "sed", "seq", "sha1sum", "sha256sum", "sort",
    "stat", "strings", "tac", "tail", "test", "tr", "tree", "true", "type", "uname", "uniq", "uptime", "wc",
    "whereis", "which", "who", "whoami", "xxd", "yq",
})  # fmt: skip
_LOOKING_GIT = frozenset({
    "blame", "cat-file", "check-ignore", "describe", "diff", "grep", "log", "ls-files", "ls-remote",
    "ls-tree", "reflog", "rev-list", "rev-parse", "shortlog", "show", "status",
})  # fmt: skip
_CHANGING_GIT = (["reflog", "expire"], ["reflog", "delete"])
# An option that makes a command of _LOOKING write or run something.
_CHANGING = {
    "find": ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fls"),
    "sed": ("--in-place",),
    "sort": ("--output",),
    "yq": ("--inplace",),
    "date": ("-s", "--set"),
    "xxd": ("-r",),
}
# The same as a letter, alone or among others: sed -Ei.
_CHANGING_LETTER = {"sed": "i", "sort": "o", "yq": "i"}
# A second name is where these write to.
_WRITING_TO_SECOND = frozenset({"uniq", "xxd"})
_HARMLESS_REDIRECTS = ("2>/dev/null", "2> /dev/null", ">/dev/null", "> /dev/null", "2>&1", ">&2")


def priority(tool_name: str, command: str = "") -> str:
    """Return `high`, `normal` or `low` for a call of `tool_name`; `command` is Bash's."""
    if tool_name == "Bash" and is_read_only(command):
        return "low"
    if tool_name in HIGH:
        return "high"
    return "low" if tool_name in LOW else "normal"


def is_read_only(command: str) -> bool:
    """Tell whether every part of a shell command only looks; in doubt it does not."""
    if "awk" in command and ("system(" in command or ">" in command.partition("print")[2]):
        return False
    command = _without_quoted(command)
    for redirect in _HARMLESS_REDIRECTS:
        command = command.replace(redirect, " ")
    if not command.strip() or any(mark in command for mark in (">", "<<", "`", "$(", "<(")):
        return False
    for separator in ("&&", "||", ";", "|", "&"):
        command = command.replace(separator, "\n")
    return all(_only_looks(words) for line in command.split("\n") if (words := line.split()))


def _without_quoted(command: str) -> str:
    """Return the command with a letter for each quoted text, but for what the shell runs inside it."""
    kept, quote = "", ""
    for before, character in zip(" " + command, command, strict=False):
        if quote:
            if character == quote and not (quote == '"' and before == "\\"):
                quote = ""
            elif quote == '"' and (character == "`" or (before == "$" and character == "(")):
                kept += "`"
        elif character in "\"'" and before != "\\":
            quote = character
            kept += "q"
        else:
            kept += character
    return kept


def _only_looks(words: list[str]) -> bool:
    words = _without_assignments(words)
    if len(words) > 1 and words[0].rsplit("/", 1)[-1] == "env":
        words = _without_assignments(words[1:])
    if not words:
        return True
    name, options = words[0].rsplit("/", 1)[-1], words[1:]
    if name == "git":
        while options[:1] == ["-C"] or options[:1] == ["-c"]:
            options = options[2:]
        options = [word for word in options if word != "--no-pager"]
        writes = options[:2] in _CHANGING_GIT or any(word.startswith("--output") for word in options)
        return bool(options) and options[0] in _LOOKING_GIT and not writes
    if options and all(word in {"--version", "-V", "--help"} for word in options):
        return True
    if name not in _LOOKING or any(word.startswith(_CHANGING.get(name, ("\0",))) for word in options):
        return False
    letter = _CHANGING_LETTER.get(name, "\0")
    if any(letter in word for word in options if word[:1] == "-" != word[1:2]):
        return False
    return name not in _WRITING_TO_SECOND or sum(word[:1] != "-" for word in options) < 2  # noqa: PLR2004


def _without_assignments(words: list[str]) -> list[str]:
    while words and "=" in words[0] and words[0].split("=")[0].isidentifier():
        words = words[1:]
    return words

"""Takes a shell command apart into its simple commands and inline scripts, and tells which of them only look.

No shell: variables, globs and substitutions stay as they were written.
"""

import functools
import os.path
import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMAND_CHARS = 20_000

_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_COMMENT_LINE = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
# Parentheses six deep; possessive throughout, so that an unbalanced command costs no more than one pass.
_NESTED = functools.reduce(lambda inner, _: rf"\((?:[^()]|{inner})*+\)", range(5), r"\([^()]*+\)")
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\\\n)"
    r"|(?P<redirect>\d?(?:>>|>\||>&|>|<<<|<)|&>>?)"
    r"|(?P<operator>&&|\|\||[;&|()\n])"
    rf"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|\${_NESTED}|[^\"\\])*+\"|\${_NESTED}|`[^`]*`|[^\s;&|<>()'\"\\`])++)"
    r"|.",
    re.DOTALL,
)
_GOES_ON = ("&&", "||", "|", ";", "(", "{", " do", " then", " else")
_QUOTED = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")

# Words before a program that do not change what it is, and how many words each takes with it.
_WRAPPERS = {
    ("time",): 1, ("sudo",): 1, ("nohup",): 1, ("command",): 1, ("exec",): 1, ("env",): 1, ("timeout",): 2,
    ("npx",): 1, ("bunx",): 1, ("uv", "run"): 2, ("poetry", "run"): 2, ("pipenv", "run"): 2,
    ("pdm", "run"): 2, ("hatch", "run"): 2, ("pnpm", "exec"): 2, ("bundle", "exec"): 2, ("python", "-m"): 2,
    ("do",): 1, ("then",): 1, ("else",): 1, ("if",): 1, ("while",): 1, ("until",): 1, ("!",): 1, ("{",): 1,
}  # fmt: skip
_OPTIONS_OF_GIT = {"-C": 2, "-c": 2, "--no-pager": 1}
_SYNTAX = frozenset({"for", "case", "done", "fi", "esac", "}", "select", "function"})

_IDLE = frozenset({
    "cd", "ls", "pwd", "echo", "true", "false", "sleep", "clear", ":", "export", "set", "unset",
    "source", ".", "mkdir", "popd", "pushd", "wait", "history",
})  # fmt: skip
_LOOKING = frozenset({
    "[", "awk", "basename", "bat", "cat", "cmp", "column", "comm", "cut", "date", "df", "diff",
    "dirname", "du", "egrep", "env", "expr", "fgrep", "file", "find", "grep", "head", "hexdump",
    "hostname", "id", "jq", "less", "md5sum", "more", "nl", "nproc", "od", "printenv", "printf",
    "ps", "readlink", "realpath", "rg", "sed", "seq", "sha1sum", "sha256sum", "sort", "stat",
    "strings", "tac", "tail", "test", "tr", "tree", "type", "uname", "uniq", "uptime", "wc",
    "whereis", "which", "who", "whoami", "xargs", "xxd", "yq",
})  # fmt: skip
_LOOKING_GIT = frozenset({
    "blame", "cat-file", "check-ignore", "describe", "diff", "grep", "log", "ls-files", "ls-remote",
    "ls-tree", "reflog", "remote", "rev-list", "rev-parse", "shortlog", "show", "status",
})  # fmt: skip
_CHANGING_OPTIONS = {
    "find": ("-delete", "-exec", "-ok", "-fprint", "-fls"),
    "sed": ("-i", "--in-place", "-ni", "-Ei", "-ri"),
    "sort": ("-o", "--output"),
    "yq": ("-i", "--inplace"),
    "xargs": ("rm", "mv", "sed", "git", "sh", "bash", "python", "kill"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A simple command: `words` without assignments and wrappers, `outputs` the files it redirects into."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    script: str

    @property
    def program(self) -> str:
        """The program's bare name; "python" whatever its version."""
        return _bare_name(self.words[0])

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are no options."""
        return tuple(word for word in self.words[1:] if not word.startswith("-"))


@functools.lru_cache(maxsize=64)
def steps(command: str) -> tuple[Step, ...]:
    """Return the simple commands of a command line, in order, pipelines and lists alike."""
    scripts: list[str] = []

    def take_out(match: re.Match[str]) -> str:
        scripts.append(match[4])
        return f" \0{len(scripts) - 1}\0 {match[3]}\n"

    bare = _COMMENT_LINE.sub("", _HEREDOC.sub(take_out, command[:_COMMAND_CHARS]))
    return tuple(step for group in _groups(bare) if (step := _step(group, scripts)))


def on_one_line(command: str) -> str:
    """Return the command as it was written, without its inline scripts, its lines joined by "; "."""
    bare = _COMMENT_LINE.sub("", _HEREDOC.sub(r"<<\2\3\n", command[:_COMMAND_CHARS]))
    parts = ("\n" if match[0] == "\n" else " ".join(match[0].split("\n")) for match in _TOKEN.finditer(bare))
    lines = [line.strip() for line in "".join(parts).split("\n") if line.strip()]
    joined = [line if line.endswith(_GOES_ON) else f"{line};" for line in lines]
    return " ".join(joined).rstrip(";")


def is_lookup(step: Step) -> bool:
    """Tell whether a step only looks at things; in doubt it does not."""
    if step.outputs or step.script:
        return False
    program, words = step.program, step.words[1:]
    if program == "git":
        return bool(step.operands) and step.operands[0] in _LOOKING_GIT
    if words and all(word in {"--version", "-V", "--help", "version"} for word in words):
        return True
    if any(word.startswith(_CHANGING_OPTIONS.get(program, ("\0",))) for word in words):
        return False
    return program in _LOOKING or is_idle(step)


def is_idle(step: Step) -> bool:
    """Tell whether a step neither changes nor tells anything worth keeping, like cd, ls and echo."""
    return step.program in _IDLE and not step.outputs


def _groups(command: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the tokens between two operators, as (kind, text)."""
    group: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(command):
        if match.lastgroup == "operator":
            yield group
            group = []
        elif match.lastgroup in {"word", "redirect"}:
            group.append((match.lastgroup, match[0]))
    yield group


def _step(group: list[tuple[str, str]], scripts: list[str]) -> Step | None:
    words: list[str] = []
    outputs: list[str] = []
    script = ""
    redirect = ""
    for kind, token in group:
        if kind == "redirect":
            redirect = token
        elif redirect:
            if ">" in redirect and not token.isdigit() and not token.startswith(("/dev/", "-")):
                outputs.append(_unquote(token))
            redirect = ""
        elif token.startswith("\0"):
            script = scripts[int(token.strip("\0"))]
        else:
            words.append(re.sub(r"\0(\d+)\0", lambda match: scripts[int(match[1])], _unquote(token)))
    words = _unwrapped(words)
    if not words or words[0] in _SYNTAX:
        return None
    return Step(tuple(words), tuple(outputs), script)


def _unwrapped(words: list[str]) -> list[str]:
    """Return the words from the program on, without assignments, wrappers and git's own options."""
    while words:
        program = _bare_name(words[0])
        taken = _WRAPPERS.get((program,)) or _WRAPPERS.get((program, *words[1:2])) or 0
        if _ASSIGNMENT.match(words[0]):
            taken = 1
        if not taken:
            break
        words = words[taken:]
        while words and words[0].startswith("-"):
            words = words[1:]
    while words[:1] == ["git"] and words[1:] and words[1] in _OPTIONS_OF_GIT:
        words = ["git", *words[1 + _OPTIONS_OF_GIT[words[1]] :]]
    return words


def _bare_name(program: str) -> str:
    return re.sub(r"^python[\d.]*$", "python", os.path.basename(program))


def _unquote(token: str) -> str:
    return _QUOTED.sub(lambda match: next((part for part in match.groups() if part is not None), ""), token)

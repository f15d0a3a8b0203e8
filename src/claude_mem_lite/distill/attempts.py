"""Find the failed commands that no later success has settled, whatever their error says. Pure.

A failure is settled when the same command succeeds later, in the same session or in another. A failed probe
(curl, ping) is settled as soon as the work has gone on without it.
"""

import os.path
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.rules import shell
from claude_mem_lite.quoting import CLOSE, OPEN, quoted
from claude_mem_lite.text import one_line

Key = tuple[str, str]

# From this many later sessions on, one that does not meet a failure again settles it.
SESSIONS_OPEN = 5
# A failed probe is settled after this many further observations in its session, or after a commit.
_MOVED_ON = 10
_ERROR_CHARS = 110

_SUBCOMMANDS = frozenset({"git", "npm", "pnpm", "yarn", "cargo", "go", "docker", "uv", "poetry", "make"})
# Programs that check whether another machine or a service is reachable.
_PROBES = frozenset({
    "curl", "dig", "host", "http", "https", "nc", "ncat", "netcat", "nslookup", "ping", "ping6", "telnet",
    "traceroute", "wget", "xh",
})  # fmt: skip
# Options with which such a program sends data; the command is then not a probe.
_SENDS = re.compile(r"--(?:data|form|upload|post|json)|(?:-X|--request=)?(?:POST|PUT|PATCH|DELETE)$")
_SENDS_BY_CURL = re.compile(r"-[a-zA-Z]*[dFT]$|-d\S")
_MERGES = (("gh", "pr", "merge"), ("glab", "mr", "merge"))
# These only set the exit status of a command line; the failure is in an earlier command.
_ENDINGS = frozenset({"exit", "return", "false"})

# A command that tests everything names no file, no text and no place (`_ONE_PLACE`), and is short.
_VERSIONING = frozenset({"git", "gh", "glab", "hg", "jj", "svn"})
_ONE_PLACE = re.compile(r"(?:^|[\s=])[~/$]|\w/\w|[\n'\"…*]|\d{2}|\s-$")
# Commands of these tell how a team makes and merges pull requests, except those that only read.
_FORGES, _READS = frozenset({"gh", "glab"}), frozenset({"api", "diff", "list", "status", "view"})
_FORGE_CHARS, _TEXT_CHARS = 90, 30
_OF_BRANCH = frozenset({"-H", "--head", "-s", "--source-branch"})
_BIN = re.compile(r"(?:[\w.-]+/)*bin/")  # a folder in which a project keeps programs
_WHOLE_CHARS, _RAN_CHARS = 60, 160
# A command with one of these is not run again as it is: a part left out, a variable, a temporary file.
_ONE_TIME = re.compile(r"[\n…$]|\s-$|/(?:tmp|var/folders)/")
_NOT_RUN, _ABSOLUTE = _VERSIONING | _ENDINGS, ("/", "~/")
# Wrappers that are left out when a command is repeated. `_NOWHERE` matches a folder or a variable's value
# that exists on one machine only, or in one worktree (.worktrees/x); system folders do not count:
# JAVA_HOME=/usr/lib/jvm/java-17.
_ASIDE = frozenset({"timeout", "time", "nice", "nohup", "command", "builtin", "exec", "stdbuf", "xargs"})
_NOWHERE = re.compile(r"^[~/]|^[A-Za-z]:|(?:^|/)\.\w|=(?:~|/(?!usr/|opt/|Library/|nix/))|[$'\"`*…\[]|\.\.")
_FOUND_OUT = re.compile(r"=\$\([^$`*…]+\)$")  # a variable's value that a command finds out
_GITS = ("fatal", "error", "CONFLICT", "hint", "!", "remote")  # git's own errors begin with these

_PROGRAM = re.compile(r"[\w.+-]+")
_COMMAND = re.compile(r"`([^`]+)`")
_FAILED = re.compile(r"\bFailed with (?P<code>exit code -?\d+)(?:: (?P<error>“[^”]*”|[^\n]*))?")
_TITLE_SAYS = re.compile(r": (“[^”]*[^”…]”)$")
_HOST = re.compile(r"^(?:\w+://)?(?:[^/@\s]*@)?(?P<host>[^/?#\s]+)")
_COMMITTED = ("Commit '", "Amend '", "Commit “", "Amend “")


class Noted(Protocol):
    """The fields of an observation that a summary needs."""

    @property
    def title(self) -> str:
        """What was done, in one line."""

    @property
    def summary(self) -> str:
        """What happened, and why."""

    @property
    def tool_name(self) -> str:
        """The name of the tool; the name of the event where no tool was used."""

    @property
    def files_touched(self) -> Sequence[str]:
        """Paths, relative to the project if they lie inside it."""


NotedT = TypeVar("NotedT", bound=Noted)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed command: its key, its error in one line, and whether it was a probe."""

    key: Key
    error: str
    is_probe: bool


class Ran(NamedTuple):
    """A command that worked: its folder ("" for the project's), its variables and its words."""

    folder: str
    variables: str
    words: str

    def __str__(self) -> str:
        enters = f"cd {self.folder} &&" if self.folder else ""
        return " ".join(filter(None, [enters, self.variables, self.words]))


def is_commit(observation: Noted) -> bool:
    """Tell whether the observation is a commit."""
    return observation.title.startswith(_COMMITTED)


def has_merged(observation: Noted) -> bool:
    """Tell whether a command merged a pull request."""
    if observation.tool_name != "Bash" or _FAILED.search(observation.summary):
        return False
    return any(step.words[:3] in _MERGES and "--auto" not in step.words for step in _steps(observation))


def open_failures(
    observations: Sequence[NotedT], later: Sequence[Sequence[Noted]] = ()
) -> list[tuple[NotedT, str]]:
    """Return the failed commands that have not succeeded since, with their errors, oldest first.

    `observations` are those of one session, oldest first; `later` holds those of each session after it. A
    read-only command that found nothing is not a failure.
    """
    found: dict[Key, tuple[NotedT, Failure, int]] = {}
    committed = -1
    for at, each in enumerate(observations):
        committed = at if is_commit(each) else committed
        failed = failure(each)
        if failed:
            found[failed.key] = each, failed, at
        else:
            for key in succeeded(each):
                found.pop(key, None)
    return [
        (row, failed.error)
        for row, failed, at in found.values()
        if not (failed.is_probe and (committed > at or len(observations) - at > _MOVED_ON))
        and not _is_settled(failed, later)
    ]


def failure(observation: Noted) -> Failure | None:
    """Return the failure in an observation; None if nothing failed or a read-only command found nothing."""
    failed = _FAILED.search(observation.summary) if observation.tool_name == "Bash" else None
    if failed is None:
        return None
    # The summary leaves out an error that the title already quotes in full.
    said = _TITLE_SAYS.search(observation.title)
    error = (failed["error"] or (said[1] if said else "")).rstrip(". ").strip(f"{OPEN}{CLOSE}")
    step = _blamed(_steps(observation), error)
    if step is None:
        return None
    key = _key(step)
    name = " ".join(filter(None, key))
    # curl's own errors begin with its name already.
    lead = "" if error.startswith(f"{step.program}: ") else f"{name}: "
    command = one_line(" ".join(step.words), 60).replace("`", "'")
    told = f"{lead}{quoted(error)}" if error else f"`{command}` ({failed['code']})"
    return Failure(key, one_line(told, _ERROR_CHARS), is_probe(step))


def succeeded(observation: Noted) -> Iterable[Key]:
    """Return the keys of the commands that succeeded in an observation."""
    if observation.tool_name != "Bash" or _FAILED.search(observation.summary):
        return ()
    return [_key(step) for step in _steps(observation)]


def ran(observation: Noted, *, is_whole: bool = False) -> list[Ran]:
    """Return the commands of an observation that worked, without read-only ones, probes and version control.

    Programs run by their absolute paths are left to `by_path`. With `is_whole`, they are included, and the
    result is [] if a command is long, or names a file, a text or a place.
    """
    if observation.tool_name != "Bash" or _FAILED.search(observation.summary):
        return []
    steps = (step for step in _steps(observation) if not (shell.is_lookup(step) or is_probe(step)))
    own = (step for step in steps if not (step.program in _NOT_RUN or step.text or step.outputs))
    own = (step for step in own if is_whole or not step.words[0].startswith(_ABSOLUTE))
    told = [_ran(step) for step in own]
    if is_whole:
        is_short = all(len(each.words) <= _WHOLE_CHARS for each in told)
        is_one = any(_ONE_PLACE.search(_BIN.sub("", each.words)) for each in told)
        return told if is_short and not is_one else []
    return [each for each in told if len(each.words) <= _RAN_CHARS and not _ONE_TIME.search(each.words)]


def by_path(observation: Noted) -> list[str]:
    """Return the programs that an observation ran by their absolute paths, as "PROGRAM …"."""
    if observation.tool_name != "Bash" or _FAILED.search(observation.summary):
        return []
    paths = sorted({step.words[0] for step in _steps(observation) if step.words[0].startswith(_ABSOLUTE)})
    shown = ((each[:2], each[2:]) if each[0] == "~" else ("", each) for each in paths)
    return [f"{home}{shlex.quote(path)} …" for home, path in shown if not _ONE_TIME.search(path)]


def at_forge(observation: Noted) -> list[str]:
    """Return the pull request commands that an observation ran, without texts, branches and numbers.

    N stands for a number. A command without options says nothing about this project and is left out. What
    the program itself is run with ("env -u GITHUB_TOKEN gh …") comes first, also for commands that only read.
    """
    if observation.tool_name != "Bash" or _FAILED.search(observation.summary):
        return []
    steps = [step for step in _steps(observation) if step.program in _FORGES]
    before = {step: _before(step) for step in steps}
    acting = (step for step in steps if _READS.isdisjoint(step.operands[:2]))
    found = [" ".join([*before[step], *_general(step.words)]) for step in acting]
    wrapped = dict.fromkeys(" ".join([*own, step.program, "…"]) for step, own in before.items() if own)
    return [*wrapped, *(each for each in found if " -" in each and len(each) <= _FORGE_CHARS)]


def _before(step: Command) -> list[str]:
    """Return what stands before a program: variables, and a command that runs it (`env -u NAME`)."""
    size = len(step.words)
    is_wrapped = step.outer[-size:] == step.words and step.outer[0] not in _ASIDE
    variables = (each for each in step.variables if not _NOWHERE.search(each))
    return [*variables, *(step.outer[:-size] if is_wrapped else ())]


def _general(words: Iterable[str]) -> list[str]:
    """Return words without texts and branches and their options; a number that is no value becomes N."""
    kept: list[str] = []
    for word in words:
        is_value = bool(kept) and kept[-1].startswith("-")
        is_text = len(word) > _TEXT_CHARS or word == "..." or not {*" \n…$"}.isdisjoint(word)
        if is_text or (is_value and kept[-1] in _OF_BRANCH):
            del kept[len(kept) - is_value :]
        else:
            kept.append("N" if word.lstrip("#").isdigit() and not is_value else word)
    return kept


def _ran(step: Command) -> Ran:
    """Return a command as it has to be run, without a folder or variables of one machine only."""
    words = step.outer if step.outer and step.outer[0] not in _ASIDE else step.words
    folder = "" if _NOWHERE.search(step.folder) else os.path.normpath(step.folder or ".").replace("./", "", 1)
    variables = [each for each in step.variables if _FOUND_OUT.search(each) or not _NOWHERE.search(each)]
    return Ran("" if folder == "." else folder, " ".join(variables), shlex.join(words))


def succeeding(observations: Iterable[Noted]) -> set[Key]:
    """Return the keys of the commands whose last attempt succeeded; `observations` are oldest first."""
    good: set[Key] = set()
    for each in observations:
        failed = failure(each)
        good.update(succeeded(each))
        good.discard(failed.key if failed else ("", ""))
    return good


def removed_files(observations: Iterable[Noted]) -> list[str]:
    """Return the files that commands removed and nothing wrote again; `observations` are oldest first."""
    gone: dict[str, None] = {}
    for each in observations:
        for path in each.files_touched:
            gone.pop(path, None)
        if each.tool_name == "Bash" and not _FAILED.search(each.summary):
            for step in _steps(each):
                is_git = step.words[:2] == ("git", "rm")
                if is_git or step.program in {"rm", "unlink"}:
                    gone |= dict.fromkeys(step.operands[is_git:])
    return [path for path in gone if not set(path) & set("*?[$")]


def _is_settled(failed: Failure, later: Sequence[Sequence[Noted]]) -> bool:
    """Tell whether a later session ran the command successfully, or a late enough one did without it."""
    for number, session in enumerate(later, 1):
        again = [each for row in session if (each := failure(row)) and each.key == failed.key]
        if not again and (failed.is_probe or number >= SESSIONS_OPEN):
            return True
        if any(failed.key in succeeded(row) for row in session):
            return True
    return False


def _steps(observation: Noted) -> tuple[Command, ...]:
    command = _COMMAND.search(observation.summary)
    return shell.steps(command[1]) if command else ()


def _blamed(steps: Sequence[Command], error: str) -> Command | None:
    """Return the step that failed, usually the last; None for a read-only command.

    It is X in "X || exit 1", in "X; exit 1" and, unless git reports the error, in "git stash; X".
    """
    left = list(steps)
    others = [step for step in left if step.program not in _VERSIONING and not shell.is_lookup(step)]
    if others and left[-1].program in _VERSIONING and not error.startswith(_GITS):
        left = others
    while left and (left[-1].program in _ENDINGS or (len(left) < len(steps) and shell.is_lookup(left[-1]))):
        left.pop()
    if not left or shell.is_lookup(left[-1]) or not _PROGRAM.fullmatch(left[-1].program):
        return None
    return left[-1]


def _key(step: Command) -> Key:
    """Return the key that two attempts share: the program, and its subcommand or the host that it probes."""
    if is_probe(step):
        return step.program, _target(step)
    return step.program, step.operands[0] if step.program in _SUBCOMMANDS and step.operands else ""


def is_probe(step: Command) -> bool:
    """Tell whether a step only checks whether another machine or a service is reachable."""
    if step.program not in _PROBES:
        return False
    is_curl = step.program == "curl"
    return not any(_SENDS.match(word) or (is_curl and _SENDS_BY_CURL.match(word)) for word in step.words[1:])


def _target(step: Command) -> str:
    """Return the host that a probe asks, with its port: a URL's, else the first operand like a host."""
    operands = list(step.operands)
    hosts = [
        word
        for word in operands
        if "://" in word or re.search(r"[\w-]\.[a-z]|localhost|\d\.\d|:\d", word, re.IGNORECASE)
    ]
    chosen = next((word for word in hosts if "://" in word), (hosts or operands or [""])[0])
    host = _HOST.match(chosen)
    after = operands[operands.index(chosen) + 1 :] if chosen in operands else []
    port = f":{after[0]}" if after and after[0].isdigit() else ""  # nc localhost 8000
    return f"{host['host'] if host else chosen}{port}"

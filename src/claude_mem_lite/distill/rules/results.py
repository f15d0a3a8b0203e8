"""Find the result of a command that worked: what it made or installed, how long it took, what it printed."""

import json
import re
from collections.abc import Iterable, Sequence

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.rules import shell
from claude_mem_lite.distill.rules.evidence import output_worth, telling_lines
from claude_mem_lite.distill.rules.failures import count_problems, first_problem
from claude_mem_lite.text import join, one_line, unique

_RESULT_CHARS = 200
_SHORT_LINES, _FEW_LINES = 3, 8
_BEST = 5
_URL = re.compile(r"^(?:https?://\S+)$")
# Measurements with units: the shells' `time`, hyperfine, criterion, Go's benchmarks.
_MEASURED = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^ *(?P<told>[\d.]+ (?:\u00b1 [\d.]+ )?times faster than .*)$",
        r"cpu +(?P<told>[\d:.]+ total)$",
        r"^real\s+(?P<told>\d+m[\d.]+s)$",
        r"^ *(?:Time \(mean \u00b1 \u03c3\)|time): +(?P<told>\[?[\d.]+ \S+.*?)(?: +\[User.*)?$",
        r"^(?P<told>Benchmark\S+\s+\d+\s+[\d.]+ ns/op.*)$",
    )
)
# Programs that only cut or pass on another program's output, or print nothing of interest.
_CUTTING = frozenset({"head", "tail", "tee", "cd", "echo", "true", "sleep"})
_INSTALLING = {
    "pip": ("install",), "pip3": ("install",), "uv": ("add", "pip install", "sync"),
    "poetry": ("add", "install"),
    "pdm": ("add",), "conda": ("install",), "npm": ("install", "i", "add", "ci"), "pnpm": ("add", "install"),
    "yarn": ("add", "install"), "bun": ("add", "install"), "cargo": ("add", "install"),
    "go": ("get", "install"),
    "gem": ("install",), "bundle": ("install", "add"), "composer": ("require",), "apt": ("install",),
    "apt-get": ("install",), "brew": ("install",), "apk": ("add",), "dnf": ("install",),
}  # fmt: skip
_REMOVING = ("uninstall", "remove", "rm")
_NO_PACKAGES = frozenset({".", "-", "install", "add", "get", "pip", "sync", "i", "ci", "require"})


def result(steps: Sequence[Command], output: str) -> str:
    """Return the line with a command's result; "" for none."""
    lines = [line.strip() for line in telling_lines(output) if line.strip()]
    if all(step.program in _CUTTING or not shell.is_lookup(step) for step in steps) and (
        problem := first_problem(output)  # an exit code may be lost in a pipe
    ):
        number = count_problems(output)
        return f"{problem} (+{number - 1} more)" if number > 1 else problem
    if output.lstrip()[:1] == "{":
        return _address(output)
    urls = [line for line in output.splitlines() if _URL.match(line)]
    measured = (", ".join(match["told"] for match in pattern.finditer(output)) for pattern in _MEASURED)
    said = (*(urls if len(urls) == 1 and len(lines) <= _FEW_LINES else ()), *list(filter(None, measured))[:1])
    said = said or unique(line for line in lines if output_worth(line) == _BEST)
    if not said and 0 < len(lines) <= _SHORT_LINES:
        said = (lines[-1],)
    return one_line(said[-1], _RESULT_CHARS) if said else ""


def _address(output: str) -> str:
    """Return the web address in an API's JSON answer; "" if it has none."""
    try:
        answer = json.loads(output)
    except (ValueError, RecursionError):
        return ""
    urls = [answer.get(key) for key in ("html_url", "url", "webUrl")] if isinstance(answer, dict) else []
    found = (url for url in urls if isinstance(url, str) and _URL.match(url))
    return one_line(next(found, ""), _RESULT_CHARS)


def packages(steps: Iterable[Command]) -> str:
    """Return what a package manager did, as in "Install typer with pip"; "" if none was run."""
    return next(filter(None, map(_title, steps)), "")


def _title(step: Command) -> str:
    line = " ".join(step.operands)
    if any(line.startswith(start) for start in _INSTALLING.get(step.program, ())):
        verb = "Install"
    elif step.program in _INSTALLING and step.operands[:1] and step.operands[0] in _REMOVING:
        verb = "Uninstall"
    else:
        return ""
    packages = [word for word in step.operands if word not in _NO_PACKAGES and word not in _REMOVING]
    return one_line(f"{verb} {join(packages) or 'dependencies'} with {step.program}")

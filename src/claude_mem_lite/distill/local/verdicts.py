"""One-line verdicts of package managers, linters, type checkers and builds: one row of a table a family."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from claude_mem_lite.distill.local.evidence import unique
from claude_mem_lite.distill.local.shell import Step
from claude_mem_lite.distill.observation import join, one_line

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

# The line in which a checker or a build says how it went.
_VERDICT_LINES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # pip, npm, uv, cargo add
        r"^Successfully (?:un)?installed .+$|^(?:added|removed|changed) \d+ packages?.*$",
        r"^(?:Installed|Uninstalled|Resolved) \d+ packages? in .*$|^ *Adding \S+ v\S+ to .*$",
        # ruff, mypy, pyright, eslint, prettier, biome, coverage
        r"^All checks passed!$|^Found \d+ errors?.*$|^\d+ files? (?:(?:would be )?re|already )formatted.*$",
        r"^Success: no issues found.*$|^\d+ errors?, \d+ warnings?(?:, \d+ \w+)?\s*$",
        r"^[ \t]*✖ \d+ problems?.*$|^(?:All matched files use Prettier|Checked \d+ files).*$",
        r"^TOTAL +\d+.*\d+%$",
        # cargo, gradle, maven, vite, webpack, next, docker, make, terraform
        r"^error: could not compile .*$|^[ \t]*Finished [`\w].*$|^error: aborting due to .*$",
        r"^BUILD (?:SUCCESS|SUCCESSFUL|FAILED|FAILURE).*$|^\[INFO\] BUILD \w+$",
        r"^(?:✓ built|webpack .* compiled|✓ Compiled|Compiled) .*$|^Successfully (?:built|tagged) .*$",
        r"^make(?:\[\d+\])?: \*\*\* .*$|^Apply complete! .*$|^Plan: \d+ to add.*$",
    )
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a tool run ended, in its own words; `title` is a package manager's: "Install typer with pip"."""

    title: str
    lines: tuple[str, ...]


def verdict(steps: Iterable[Step], output: str) -> Verdict:
    """Return what installers, checkers and builds came to; empty where there were none."""
    titles = [title for step in steps if (title := _package_title(step))]
    matches = (match for pattern in _VERDICT_LINES for match in pattern.finditer(output))
    lines = unique(one_line(match[0], 200) for match in sorted(matches, key=re.Match.start))
    return Verdict(titles[0] if titles else "", lines[:4])


def _package_title(step: Step) -> str:
    line = " ".join(step.operands)
    if any(line.startswith(start) for start in _INSTALLING.get(step.program, ())):
        verb = "Install"
    elif step.program in _INSTALLING and step.operands[:1] and step.operands[0] in _REMOVING:
        verb = "Uninstall"
    else:
        return ""
    packages = [word for word in step.operands if word not in _NO_PACKAGES and word not in _REMOVING]
    return one_line(f"{verb} {join(packages) or 'dependencies'} with {step.program}")

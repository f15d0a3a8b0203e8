"""Tells what package managers put in and took out."""

from collections.abc import Iterable

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.text import join, one_line

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


def title(steps: Iterable[Command]) -> str:
    """Return what a package manager did, "Install typer with pip"; "" where there was none."""
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

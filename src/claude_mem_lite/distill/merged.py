"""Tells which branches commits have brought in, by what hosts and git write in their subjects. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# GitHub's and Bitbucket's merges, a squashed pull request, and git's own merge into the main branch.
_MERGES = (
    re.compile(r"Merge (?:pull request|PR) (?P<pull>#\d+) from [^/\s]+/(?P<branch>\S+)"),
    re.compile(r"Merged in (?P<branch>\S+) \(pull request (?P<pull>#\d+)\)"),
    re.compile(r".*\((?P<pull>#\d+)\)(?P<branch>)"),
    re.compile(r"Merge (?:remote-tracking )?branch '(?:origin/)?(?P<branch>[^']+)'(?P<pull>)"),
)
_PULL = re.compile(r"/(?:pull|pulls|merge_requests|pull-requests)/(\d+)")


def merged_at(commits: Iterable[tuple[float, str]]) -> dict[str, float]:
    """Return when branches and pull requests ("#12") came in, by times in Unix seconds and subjects."""
    found: dict[str, float] = {}
    for at, subject in commits:
        match = next((each for pattern in _MERGES if (each := pattern.fullmatch(subject.strip()))), None)
        for name in filter(None, match.group("branch", "pull") if match else ()):
            found[name] = max(at, found.get(name, 0.0))
    return found


def pull_in(text: str) -> str:
    """Return the number of the pull request whose address a text has, as "#12"; "" for none."""
    match = _PULL.search(text)
    return f"#{match[1]}" if match else ""


def is_merged(names: Iterable[str], since: float, merged: Mapping[str, float]) -> bool:
    """Tell whether one of a session's names came in after its end (Unix seconds)."""
    return any(merged.get(name, 0.0) >= since for name in names if name)

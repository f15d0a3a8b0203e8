"""Tells which branches commits have brought in, and as what, by the words that hosts and git write. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Merges as hosts write them, a squashed pull request, and git's own into the main branch.
_MERGES = (
    re.compile(r"Merge (?:pull request|PR) (?P<pull>#\d+) from [^/\s]+/(?P<branch>\S+)"),
    re.compile(r"Merged in (?P<branch>\S+) \(pull request (?P<pull>#\d+)\)"),
    re.compile(r"Merge branch '(?P<branch>[^']+)' into '[^']+'(?P<pull>)"),
    re.compile(r"(?P<title>.*\S) *\((?P<pull>#\d+)\)(?P<branch>)"),
    re.compile(r"Merge (?:remote-tracking )?branch '(?:origin/)?(?P<branch>[^']+)'(?P<pull>)"),
)
_PULL = re.compile(r"/(?:pull|pulls|merge_requests|pull-requests)/(\d+)")


class Merge(NamedTuple):
    """A branch that came in: when (Unix seconds), its pull request ("#12"), and what this was called."""

    at: float
    pull: str = ""
    title: str = ""


def merges(commits: Iterable[tuple[float, str, str]]) -> dict[str, Merge]:
    """Return the last merge of each branch and pull request ("#12"), by commits' times, subjects and bodies.

    A merge's body begins with the title of its pull request.
    """
    found: dict[str, Merge] = {}
    for at, subject, body in commits:
        match = next((each for pattern in _MERGES if (each := pattern.fullmatch(subject.strip()))), None)
        if match is None:
            continue
        title = match.groupdict().get("title") or body.strip().partition("\n")[0]
        merge = Merge(at, match["pull"], title)
        for name in filter(None, match.group("branch", "pull")):
            found[name] = max(merge, found.get(name, merge))
    return found


def pull_in(text: str) -> str:
    """Return the number of the pull request whose address a text has, as "#12"; "" for none."""
    match = _PULL.search(text)
    return f"#{match[1]}" if match else ""


def merge_of(names: Iterable[str], since: float, found: Mapping[str, Merge]) -> Merge | None:
    """Return the merge that brought in one of a session's names after its end (Unix seconds)."""
    merged = (found[name] for name in names if name in found)
    return next((merge for merge in merged if merge.at >= since), None)

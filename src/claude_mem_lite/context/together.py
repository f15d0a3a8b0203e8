"""Tell what has to be changed with what: functions and types that were changed together time after time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from claude_mem_lite.distill.together import LEAST_TIMES, Place, changed_together
from claude_mem_lite.quoting import named
from claude_mem_lite.storage import changes
from claude_mem_lite.text import join

if TYPE_CHECKING:
    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.context.past import Past
    from claude_mem_lite.distill.together import Together

LINES = 3

_CHARS, _OTHERS = 320, 4
# What was changed together is worth so much less for each session since.
_FADES = 0.97


def changed_with(past: Past, path: str = "") -> list[Line]:
    """Return a line for each place that is changed with others; with a `path` for those of that file."""
    newest: dict[Place, changes.Changed] = {}
    made: list[tuple[str, Place]] = []
    for row in changes.newest(past.project_dir):
        place = Place(row.file, row.name)
        newest.setdefault(place, row)
        if newest[place].change_type != "deleted":
            made.append((row.work, place))
    lines = []
    for each in changed_together(made, path=path):
        last = newest[each.place]
        if last.created_at > past.since:
            since = sum(row.last_event_at > last.created_at for row in past.sessions)
            times = each.others[0][1]
            line = past.line(
                last.observation_id, "function", last.created_at, _told(each),
                weight=times / LEAST_TIMES * _FADES**since,
                reason=f"changed together {times} times", chars=_CHARS,
            )  # fmt: skip
            lines.append(replace(line, says_more=True))
    return lines


def _told(found: Together) -> str:
    """Return "State (session/state.go): 5 of 6 times with load and save (session/store.go)"."""
    fewest = min(times for _, times in found.others[:_OTHERS])
    files: defaultdict[str, list[str]] = defaultdict(list)
    for place, _ in found.others[:_OTHERS]:
        files[place.file].append(named(place.name))
    beside = ", ".join(f"{join(names)} ({_short(file)})" for file, names in files.items())
    own = f"{named(found.place.name)} ({_short(found.place.file)})"
    return f"{own}: {fewest} of {found.times} times with {beside}"


def _short(path: str) -> str:
    return named("/".join(path.split("/")[-2:]))

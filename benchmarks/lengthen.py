"""Make the payloads of a history ten times as long, to test what a memory keeps of it.

    python benchmarks/lengthen.py [--factor N]

Surrounds each text of a tool call with texts of the same kind from other calls of the history, half of them
before it and half after: files with files, outputs with outputs, changes with changes. Ids, names, paths,
commands, prompts and last messages stay as they are. No randomness. Prints the size of the tool events.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claude_mem_lite.cli import demo

if TYPE_CHECKING:
    from collections.abc import Iterator

Event = dict[str, Any]

_TOOL_EVENTS = ("PostToolUse", "PostToolUseFailure")


@dataclass
class _Change:
    """One edit: the file before and after it, the old and new strings, and the hunks."""

    before: str
    after: str
    old: str
    new: str
    hunks: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.before) + 2 * len(self.old + self.new) + len(json.dumps(self.hunks))


@dataclass
class _Donors:
    """The texts and changes of a history by kind, each with the index of its event."""

    files: list[tuple[int, str]] = field(default_factory=list)
    outputs: list[tuple[int, str]] = field(default_factory=list)
    cells: list[tuple[int, str]] = field(default_factory=list)
    changes: list[tuple[int, _Change]] = field(default_factory=list)


def lengthened(events: list[Event], factor: int = 10) -> list[Event]:
    """Return the history with its tool events about `factor` times as long; `events` is not changed."""
    donors = _donors(events)
    return [_lengthened(event, index, donors, factor) for index, event in enumerate(events)]


def size(events: list[Event]) -> int:
    """Return the length of the JSON of all tool events."""
    return sum(len(json.dumps(event)) for event in events if event["hook_event_name"] in _TOOL_EVENTS)


def _donors(events: list[Event]) -> _Donors:
    donors = _Donors()
    for index, event in enumerate(events):
        if event["hook_event_name"] not in _TOOL_EVENTS:
            continue
        response = _response(event)
        change = _change(event)
        if change is not None:
            donors.changes.append((index, change))
            donors.cells.append((index, change.new))
        if event["tool_name"] == "Write":
            donors.files.append((index, event["tool_input"]["content"]))
        elif event["tool_name"] == "Read" and "content" in response.get("file", {}):
            donors.files.append((index, response["file"]["content"]))
        elif event["tool_name"] == "Bash":
            output = response.get("stdout") or event.get("error", "").partition("\n")[2]
            donors.outputs += [(index, output)] if output.strip() else []
    return donors


def _change(event: Event) -> _Change | None:
    """Return the edit in an event, None if the event does not have all of it."""
    response = _response(event)
    if event["tool_name"] not in {"Edit", "Write"}:
        return None
    before, hunks = response.get("originalFile"), response.get("structuredPatch")
    if not isinstance(before, str) or not hunks:
        return None
    if event["tool_name"] == "Write":
        after = event["tool_input"]["content"]
        return _Change(before, after, before, after, hunks)
    old, new = event["tool_input"]["old_string"], event["tool_input"]["new_string"]
    return _Change(before, before.replace(old, new, 1), old, new, hunks)


def _response(event: Event) -> dict[str, Any]:
    response = event.get("tool_response")
    return response if isinstance(response, dict) else {}


def _lengthened(event: Event, index: int, donors: _Donors, factor: int) -> Event:
    if event["hook_event_name"] not in _TOOL_EVENTS:
        return event
    event = copy.deepcopy(event)
    tool_name, response = event["tool_name"], _response(event)
    change = _change(event)
    if change is not None:
        _lengthen_change(
            event, _surrounding_changes(change, index, donors, (factor - 1) * len(json.dumps(event)))
        )
    elif tool_name == "Write":
        content = _surrounded(event["tool_input"]["content"], index, donors.files, factor)
        event["tool_input"]["content"] = response["content"] = content
    elif tool_name == "Read" and "content" in response.get("file", {}):
        file = response["file"]
        file["content"] = _surrounded(file["content"], index, donors.files, factor)
        file["numLines"] = file["totalLines"] = file["content"].count("\n") + 1
    elif tool_name == "NotebookEdit":
        _lengthen_cell(event, index, donors, factor)
    elif tool_name == "Bash" and response:
        response["stdout"] = _surrounded(response["stdout"], index, donors.outputs, factor)
    elif tool_name == "Bash":
        code, separator, output = event["error"].partition("\n")
        event["error"] = code + separator + _surrounded(output, index, donors.outputs, factor)
    return event


def _lengthen_cell(event: Event, index: int, donors: _Donors, factor: int) -> None:
    response, arguments = event["tool_response"], event["tool_input"]
    arguments["new_source"] = _surrounded(arguments["new_source"], index, donors.cells, factor)
    response["new_source"] = arguments["new_source"]
    response["old_source"] = _surrounded(response.get("old_source", ""), index, donors.cells, factor)
    for key in ("original_file", "updated_file"):
        response[key] = _surrounded(response[key], index, donors.files, factor)


def _surrounded(text: str, index: int, donors: list[tuple[int, str]], factor: int) -> str:
    """Return the text between others of its kind, whole lines, (factor - 1) times its own length in all."""
    missing = (factor - 1) * len(text)
    others = _others(index, donors)
    after = _take(others, missing // 2)
    before = _take(others, missing - missing // 2)
    return "\n".join(part for part in (before, text.rstrip("\n"), after) if part)


def _take(others: Iterator[str], length: int) -> str:
    """Return about `length` characters of the next texts; the last text is cut at the end of a line."""
    parts: list[str] = []
    while length > 0:
        lines = next(others).strip("\n").split("\n")
        while lines and length > 0:
            parts.append(lines.pop(0))
            length -= len(parts[-1]) + 1
    return "\n".join(parts)


def _others(index: int, donors: list[tuple[int, Any]]) -> Iterator[Any]:
    """Yield the texts of other events in an endless cycle that begins after `index`."""
    later = [text for at, text in donors if at > index]
    earlier = [text for at, text in donors if at < index]
    return itertools.cycle([*later, *earlier])


def _surrounding_changes(change: _Change, index: int, donors: _Donors, missing: int) -> list[_Change]:
    """Return the change between others whose total length is about `missing` characters."""
    sides: tuple[list[_Change], list[_Change]] = ([], [])
    others = _others(index, donors.changes)
    for side, share in zip(sides, (missing // 2, missing), strict=True):
        while sum(map(len, itertools.chain(*sides))) < share:
            side.append(next(others))
    after, before = sides
    return [*before, change, *after]


def _lengthen_change(event: Event, changes: list[_Change]) -> None:
    """Write the changes into the event as one change to one file that joins their files."""
    response, arguments = event["tool_response"], event["tool_input"]
    hunks: list[dict[str, Any]] = []
    old_at = new_at = 0
    for change in changes:
        for hunk in change.hunks:
            shifted = {"oldStart": hunk["oldStart"] + old_at, "newStart": hunk["newStart"] + new_at}
            hunks.append({**hunk, **shifted})
        old_at += change.before.rstrip("\n").count("\n") + 1
        new_at += change.after.rstrip("\n").count("\n") + 1
    response["originalFile"] = "\n".join(change.before.rstrip("\n") for change in changes) + "\n"
    response["structuredPatch"] = hunks
    old, new = ("\n".join(getattr(change, name) for change in changes) for name in ("old", "new"))
    if event["tool_name"] == "Write":
        content = "\n".join(change.after.rstrip("\n") for change in changes) + "\n"
        arguments["content"] = response["content"] = content
    else:
        arguments.update(old_string=old, new_string=new)
        response.update(oldString=old, newString=new)


def main() -> None:
    """Lengthen the recorded history and print its size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--factor", type=int, default=10)
    factor = parser.parse_args().factor
    events = list(demo.recorded_events())
    before, after = size(events), size(lengthened(events, factor))
    print(f"{before:,} characters became {after:,}: {after / before:.2f} times")


if __name__ == "__main__":
    main()

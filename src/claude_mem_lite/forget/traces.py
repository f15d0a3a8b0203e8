"""Find spool files, and remove log lines, that mention something forgotten."""

import datetime as dt
import json
import os
import re
from collections.abc import Callable, Iterator

from claude_mem_lite import config
from claude_mem_lite.capture import inbox, spool
from claude_mem_lite.forget.wanted import Wanted, names


def spooled(wanted: Wanted, gone: frozenset[str]) -> list[str]:
    """Return the spool files that match `wanted` or name one of the ids in `gone`, broken files included."""
    return [path for path in spool.files() if os.path.isfile(path) and _is_spooled_of(path, wanted, gone)]


def clear_lines(wanted: Wanted, gone: frozenset[str], *, dry_run: bool = False) -> int:
    """Remove the log lines that match `wanted` or name one of the ids in `gone`; return how many.

    Files are written in place, because supervisord keeps running and has some of them open. With `dry_run`
    nothing is written.
    """
    is_of, cleared = _line_test(wanted, gone), 0
    for path in _files(config.log_dir()):
        lines = list(_lines(path))
        kept = [line for line in lines if not is_of(line)]
        cleared += len(lines) - len(kept)
        if len(kept) < len(lines) and not dry_run:
            with open(path, "r+b") as file:
                file.write("".join(kept).encode("utf-8", "surrogateescape"))
                file.truncate()
    return cleared


def _is_spooled_of(path: str, wanted: Wanted, gone: frozenset[str]) -> bool:
    try:
        try:
            event_id, at, (project_dir, work_tree, _), event = spool.read(path)
            fields = inbox.parse(event)
        except ValueError:  # no event, or half of one
            text = "".join(_lines(path))
            return wanted.was(inbox.utc_text(os.path.getmtime(path))) or _line_test(wanted, gone)(text)
    except OSError:  # a folder, another user's file, or already stored and deleted
        return False
    named = {event_id, fields["session_id"]}
    return (
        bool(named & (gone | {wanted.session_id, *wanted.ids}))
        or wanted.is_project(project_dir)
        or wanted.is_file(work_tree or project_dir, fields["file_path"] or ".")
        or wanted.was(at)
        or wanted.holds(event, project_dir)
    )


def _line_test(wanted: Wanted, gone: frozenset[str]) -> Callable[[str], bool]:
    ids = gone | ({wanted.session_id, *wanted.ids} - {""})
    paths = "|".join(re.escape(path) for path in (wanted.project_dir, *wanted.files) if path)
    # /p/shop2 and /home/p/shop do not name /p/shop; a full stop may follow the path.
    of_paths = re.compile(rf"(?<![\w.-])(?:{paths})(?![\w-]|\.\w)")

    def is_of(line: str) -> bool:
        return (
            wanted.holds(line)
            or (bool(paths) and of_paths.search(line) is not None)
            or (bool(ids) and names(line, ids))
            or (wanted.is_time and wanted.was(_time_of(line)))
        )

    return is_of


def _time_of(line: str) -> str:
    """Return when a line of a JSON Lines log was written (UTC text), "" for other lines."""
    try:
        return inbox.utc_text(dt.datetime.fromisoformat(json.loads(line)["at"]).timestamp())
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _lines(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        yield from file


def _files(folder: str) -> list[str]:
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except FileNotFoundError:
        return []
    return [path for path in paths if os.path.isfile(path)]

"""Test the spool: what is no event there, and how the rest is taken in."""

import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.databases import rows
from support.hooks import tool_event

from claude_mem_lite.capture import backlog, inbox, spool

WHOLE = json.dumps(tool_event("WebFetch"))


def spooled(event_id: str) -> str:
    """Put an event into the spool, and return the file's path."""
    spool.write(event_id, inbox.utc_now(), ("/p", "", ""), WHOLE)
    [path] = [path for path in spool.waiting() if path.endswith(event_id)]
    return path


def test_an_odd_entry_stops_nothing_and_is_logged_once(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Pipes, folders, links and a file that cannot be renamed stay, logged once; all else is taken in."""
    folder = home / "spool"
    for name in ("0-pipe", "0-pipe.lost"):
        os.mkfifo(folder / name)
    for name in ("0-folder", "0-folder.lost", "1-no-event.bad"):
        (folder / name).mkdir()
    (folder / "0-link").symlink_to("2-elsewhere")
    (folder / "1-no-event").write_text("half")
    Path(os.fsdecode(os.fsencode(folder) + b"/2-\xff.lost")).touch()
    (folder / "2-b.lost").touch()
    spooled("a")
    there = {"0-pipe", "0-pipe.lost", "0-folder", "0-folder.lost", "1-no-event.bad", "0-link", "1-no-event"}

    with caplog.at_level(logging.WARNING):
        taken = backlog.take_in_spool(), backlog.take_in_spool()

    assert taken == (1, 0)
    stored = rows("SELECT id, status FROM pending_queue ORDER BY id")
    assert stored == [("a", "raw"), ("b", "error"), ("\ufffd", "error")]
    assert {path.name for path in folder.iterdir()} == there
    told = [record.getMessage().split("'")[1] for record in caplog.records]
    assert sorted(told) == sorted(there - {"1-no-event.bad"})


def test_processes_that_take_in_the_spool_at_once_do_not_disturb_each_other(home: Path) -> None:
    """Of two that take in the same spool, neither fails over a file that the other has moved."""
    folder = home / "spool"
    for number in range(300):
        (folder / f"{number}-broken").write_text("half")
    spooled("a")

    with ThreadPoolExecutor() as pool:
        counts = [pool.submit(backlog.take_in_spool) for _ in range(2)]
    taken = sum(count.result() for count in counts)

    assert taken == 1
    assert rows("SELECT id, status FROM pending_queue") == [("a", "raw")]
    assert {path.suffix for path in folder.iterdir()} == {".bad"}

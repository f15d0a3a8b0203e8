"""Test the spool: what is no event there, and how the rest is taken in."""

import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
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


@pytest.mark.parametrize(("files", "chars", "at_once"), [(1_000, 0, 50), (60, 600_000, 2)])
def test_a_large_spool_is_taken_in_many_events_at_a_time(
    home: Path, files: int, chars: int, at_once: int
) -> None:
    """A transaction takes in fifty events, fewer if they are large, so that hooks get the lock in between."""
    event = json.dumps(tool_event("WebFetch", tool_response="x" * chars))
    for number in range(files):
        (home / "spool" / f"{number}").write_text(f"{number}\0\0/p\0\0\0{event}")
    with closing(inbox.connect()) as other, ThreadPoolExecutor() as pool:
        inbox.create_schema(other)

        taking, seen = pool.submit(backlog.take_in_spool), set[int]()
        while not taking.done():
            seen |= set(other.execute("SELECT count(*) FROM pending_queue").fetchone())

    assert taking.result() == files
    assert len(seen) > 1
    assert {count % at_once for count in seen} == {0}


@pytest.mark.parametrize(
    "text",
    [
        *("not-a-time", "", "1", "2026-11-21", "2026-11-21T03:00:25Z", "2026-13-21T03:00:25.123456Z"),
        *(
            "2026-11-21T03:00:25.123456",
            "12026-11-21T03:00:25.123456Z",
            "2026-11-21T03:00:25.123456+02:00",
            "٢٠٢٦-11-21T03:00:25.123456Z",
        ),
    ],
)
def test_what_bears_no_time_gets_that_of_its_file(home: Path, text: str) -> None:
    """An event in the spool, or a lost one, whose time is none of ours gets the time of its file."""
    (home / "spool" / "0").write_text(f"a\0{text}\0/p\0\0\0{WHOLE}")
    (home / "spool" / f"{text}-b.lost").touch()
    for path in (home / "spool").iterdir():
        os.utime(path, (0, 1_795_230_025.25))

    backlog.take_in_spool()

    expected = [("a", "2026-11-21T03:00:25.250000Z"), ("b", "2026-11-21T03:00:25.250000Z")]
    assert rows("SELECT id, created_at FROM pending_queue ORDER BY id") == expected


def test_a_time_keeps_its_microseconds_in_the_spool(home: Path) -> None:
    """An event keeps the time at which it happened; that of a file from the future counts as now."""
    spool.write("a", "2026-11-21T03:00:25.123456Z", ("/p", "", ""), WHOLE)
    (home / "spool" / "b").write_text(f"b\0\0/p\0\0\0{WHOLE}")
    os.utime(home / "spool" / "b", (0, 4_000_000_000))

    backlog.take_in_spool()

    times = dict(rows("SELECT id, created_at FROM pending_queue"))
    assert times["a"] == "2026-11-21T03:00:25.123456Z"
    assert times["b"] <= inbox.utc_now()

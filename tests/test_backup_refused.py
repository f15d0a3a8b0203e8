"""Test that files that are no backup, or a changed one, are refused before anything is replaced."""

import hashlib
import io
import json
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_backup import ponds, saved, state

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.upkeep import backup as upkeep

__all__ = ["ponds", "saved"]
Parts = dict[str, bytes]


def rewritten(saved: Path, change: Callable[[Parts, dict[str, Any]], None]) -> bytes:
    """Return the backup with changed parts; its manifest fits them except where it is changed too."""
    with zipfile.ZipFile(saved) as packed:
        parts = {name: packed.read(name) for name in ("queue.db", "claude-mem.db")}
        manifest = json.loads(packed.read("manifest.json"))
    described: dict[str, Any] = {}
    change(parts, described)
    sizes = {name: (hashlib.sha256(each).hexdigest(), len(each)) for name, each in parts.items()}
    manifest["parts"] = {name: {"sha256": sha, "size_bytes": size} for name, (sha, size) in sizes.items()}
    for name, value in described.items():
        if isinstance(value, dict):
            manifest["parts"][name] |= value
        else:
            manifest[name] = value
    return zipped([("manifest.json", json.dumps(manifest).encode()), *parts.items()])


def zipped(entries: list[tuple[Any, bytes]], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of some entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as packed:
        for name, content in entries:
            packed.writestr(name, content)
    return out.getvalue()


def edited(content: bytes, *statements: str) -> bytes:
    """Return a database after statements were run on it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content.replace(b"\x02\x02", b"\x01\x01", 1))  # not in WAL mode
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        return connection.serialize()


def memory_with(*statements: str) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup that runs statements on its memory."""

    def change(parts: Parts, _: dict[str, Any]) -> None:
        parts["claude-mem.db"] = edited(parts["claude-mem.db"], *statements)

    return change


def other_memory(content: bytes) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup that replaces its memory."""

    def change(parts: Parts, _: dict[str, Any]) -> None:
        parts["claude-mem.db"] = content

    return change


def said(**manifest: Any) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup that overwrites fields of its manifest."""
    return lambda _, described: described.update(manifest)


def of_memory(**part: Any) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup that overwrites what its manifest says of the memory."""
    return lambda _, described: described.update({"claude-mem.db": part})


def zeros_in_memory(parts: Parts, _: dict[str, Any]) -> None:
    """Write zeros into the backup's memory; its hash fits, so that SQLite must find the damage."""
    content = parts["claude-mem.db"]
    parts["claude-mem.db"] = content[:4096] + bytes(8192) + content[12288:]


HOSTILE = {
    "a damaged page": (zeros_in_memory, "its claude-mem.db "),
    "a wrong hash": (of_memory(sha256="0" * 64), "is damaged"),
    "more than it says": (of_memory(size_bytes=10), "is damaged"),
    "a huge part": (of_memory(size_bytes=1 << 60), "needs 1152921504606"),
    "a negative size": (of_memory(size_bytes=-1), "its manifest is invalid"),
    "a newer schema": (said(schema=99), "upgrade claude-mem-lite"),
    "a newer format": (said(format=2), "upgrade claude-mem-lite"),
    "a manifest of wrong types": (said(schema="7"), "its manifest is invalid"),
    "a newer schema in the file": (memory_with("PRAGMA user_version = 99"), "has schema 99"),
    "another program's database": (memory_with("PRAGMA application_id = 1"), "belongs to another program"),
    "no database": (other_memory(b"text " * 2_000), "cannot be read"),
    "an empty database": (other_memory(b""), "belongs to another program"),
    "a trigger": (
        memory_with("CREATE TRIGGER t AFTER INSERT ON sessions BEGIN DELETE FROM learnings; END"),
        "columns, indexes or triggers",
    ),
    "a column that is missing": (
        memory_with("ALTER TABLE sessions DROP COLUMN upgrade_note"),
        "wrong tables, columns",
    ),
}


def linked() -> zipfile.ZipInfo:
    """Return a zip entry that is a symbolic link."""
    entry = zipfile.ZipInfo("queue.db")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


FOREIGN = {
    "text": b"just a text",
    "half a zip": zipped([("manifest.json", b"{}"), ("queue.db", b""), ("claude-mem.db", b"")])[:-30],
    "another zip": zipped([("README", b"hello")]),
    "a path out of it": zipped([("manifest.json", b"{}"), ("../queue.db", b""), ("claude-mem.db", b"")]),
    "a link": zipped([("manifest.json", b"{}"), (linked(), b"/etc/passwd"), ("claude-mem.db", b"")]),
    "a long manifest": zipped(
        [("manifest.json", b" " * (2 << 20)), ("queue.db", b""), ("claude-mem.db", b"")]
    ),
    "a manifest of nothing": zipped([("manifest.json", b"[]"), ("queue.db", b""), ("claude-mem.db", b"")]),
    "a broken manifest": zipped([("manifest.json", b"{"), ("queue.db", b""), ("claude-mem.db", b"")]),
    "another packing, damaged": zipped(
        [("manifest.json", b"{}"), ("queue.db", b""), ("claude-mem.db", b"")], zipfile.ZIP_LZMA
    ).replace(b"\x05\x00]", b"\x05\x00\xff"),
}


def refused(home: Path, path: Path, content: bytes) -> str:
    """Return the message with which a file is refused, after checking that nothing changed."""
    path.write_bytes(content)
    before, around = state(home), sorted(path.parent.iterdir())

    with pytest.raises(ClaudeMemError) as caught, upkeep.unpacked(str(path)):
        pytest.fail("unpacked")

    assert (state(home), sorted(path.parent.iterdir())) == (before, around)
    assert {entry.name for entry in home.iterdir()} >= {"claude-mem.db", "queue.db"}
    assert not {entry.name for entry in home.iterdir()} & {"staging", "evil"}
    return str(caught.value)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_backup_that_was_changed_is_refused(saved: Path, tmp_path: Path, kind: str) -> None:
    """A changed backup is refused in one line before anything is replaced."""
    change, says = HOSTILE[kind]

    line = refused(Path(config.home()), tmp_path / "other.zip", rewritten(saved, change))

    assert says in line
    assert "\n" not in line


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_backup_is_refused(ponds: Path, tmp_path: Path, kind: str) -> None:
    """Other archives, links, outside paths and broken files are refused in one line; nothing is written."""
    line = refused(ponds, tmp_path / "other.zip", FOREIGN[kind])

    assert "is not a claude-mem backup" in line
    assert "\n" not in line

"""Write a backup as a zip of both databases and a manifest, and read one.

A zip lists its contents in one place, so a hostile one is refused before anything is unpacked. Vectors are
left out because they can be computed again, settings because they may contain a key.
"""

import hashlib
import json
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

from claude_mem_lite import __version__
from claude_mem_lite.capture import inbox
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.upkeep import outfile

FORMAT = 1
MEMORY, QUEUE = "claude-mem.db", "queue.db"
PARTS = (QUEUE, MEMORY)

_MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 1 << 20
_CHUNK = 1 << 20
_KEEP_FREE_BYTES = 64 << 20
# What `zipfile` raises for damaged or encrypted files.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)
_PACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def write(path: str, folder: str, *, schema: int, counts: Mapping[str, int]) -> dict[str, Any]:
    """Pack the databases in a folder into a file that only the user can read; return its manifest.

    The file is complete or absent. Raises: ClaudeMemError when the file exists already.
    """
    manifest = {
        "format": FORMAT,
        "version": __version__,
        "schema": schema,
        "created_at": inbox.utc_now(),
        "counts": dict(counts),
        "parts": {name: _described(os.path.join(folder, name)) for name in PARTS},
    }
    with outfile.created(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(_MANIFEST, json.dumps(manifest, indent=2))
        for name in PARTS:
            packed.write(os.path.join(folder, name), name)
    return manifest


def unpack(path: str, folder: str, *, newest_schema: int) -> dict[str, Any]:
    """Unpack a backup's databases into a folder, checking each against the manifest; return the manifest.

    Raises: ClaudeMemError when the file is not a backup, is incomplete, hostile, or of a newer version.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            entries = {entry.filename: entry for entry in packed.infolist()}
            if set(entries) != {_MANIFEST, *PARTS} or len(packed.infolist()) != len(entries):
                raise ClaudeMemError(
                    f"{path} is not a claude-mem backup: it has other files in it than a backup"
                )
            if any(stat.S_ISLNK(entry.external_attr >> 16) or entry.is_dir() for entry in entries.values()):
                raise ClaudeMemError(f"{path} is not a claude-mem backup: it has a link or a folder in it")
            if any(entry.compress_type not in _PACKED for entry in entries.values()):
                raise ClaudeMemError(f"{path} is not a claude-mem backup: it is compressed in another way")
            manifest = _manifest(packed, entries[_MANIFEST], path, newest_schema)
            sizes = {name: manifest["parts"][name]["size_bytes"] for name in PARTS}
            free = shutil.disk_usage(folder).free - _KEEP_FREE_BYTES
            if sum(sizes.values()) > free:
                raise ClaudeMemError(f"{path} needs {sum(sizes.values())} bytes; {folder} has {free} free")
            for name in PARTS:
                with packed.open(entries[name]) as source:
                    digest, size_bytes = _copy(source, os.path.join(folder, name), most=sizes[name])
                if (digest, size_bytes) != (manifest["parts"][name]["sha256"], sizes[name]):
                    raise ClaudeMemError(f"{path} is damaged: its {name} does not match its manifest")
    except FileNotFoundError as error:
        raise ClaudeMemError(f"there is no file {path}") from error
    except OSError as error:
        raise ClaudeMemError(f"{path} could not be unpacked ({error})") from error
    except _BROKEN as error:
        raise ClaudeMemError(f"{path} is not a claude-mem backup, or is damaged ({error})") from error
    return manifest


def _manifest(
    packed: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, newest_schema: int
) -> dict[str, Any]:
    if entry.file_size > _MOST_MANIFEST_BYTES:
        raise ClaudeMemError(f"{path} is not a claude-mem backup: its manifest has {entry.file_size} bytes")
    with packed.open(entry) as file:
        manifest = json.loads(file.read(_MOST_MANIFEST_BYTES))
    if not _is_manifest(manifest):
        raise ClaudeMemError(f"{path} is not a claude-mem backup: its manifest is invalid")
    if manifest["format"] > FORMAT or manifest["schema"] > newest_schema:
        raise ClaudeMemError(
            f"{path} is from a newer version (schema {manifest['schema']}, this one has {newest_schema}): "
            "upgrade claude-mem-lite"
        )
    return dict(manifest)


def _is_manifest(value: Any) -> bool:
    """Tell whether a manifest has the required fields with the right types."""
    numbers = ("format", "schema")
    if not isinstance(value, dict) or not all(type(value.get(name)) is int for name in numbers):
        return False
    parts = value.get("parts")
    return isinstance(parts, dict) and all(
        isinstance(part := parts.get(name), dict)
        and isinstance(part.get("sha256"), str)
        and type(part.get("size_bytes")) is int
        and part["size_bytes"] >= 0
        for name in PARTS
    )


def _described(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        return {
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(), "size_bytes": os.path.getsize(path)
        }  # fmt: skip


def _copy(source: IO[bytes], path: str, *, most: int) -> tuple[str, int]:
    """Copy at most `most` + 1 bytes into a new file; return their SHA-256 and how many were copied."""
    digest, left = hashlib.sha256(), most + 1
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while left and (chunk := source.read(min(_CHUNK, left))):
            file.write(chunk)
            digest.update(chunk)
            left -= len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), most + 1 - left

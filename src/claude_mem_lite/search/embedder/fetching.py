"""Fetch a file of known SHA-256 and size: resume after a break, move into place only once verified."""

import contextlib
import fcntl
import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import IO, Any

from claude_mem_lite.errors import ClaudeMemError

Progress = Callable[[int, int], object]

TIMEOUT_S = 60.0  # without receiving a byte
CHUNK_BYTES = 1 << 20
PART = ".part"
_KEEP_FREE_BYTES = 200 << 20  # room for the databases to grow meanwhile
_HTTP_PARTIAL = 206


class FetchError(ClaudeMemError):
    """A file could not be fetched; the message says why, the caller adds what to do."""


def fetch(url: str, path: str, *, sha256: str, size_bytes: int, progress: Progress) -> None:
    """Fetch a file to `path`, by way of `path`.part. Raises: FetchError."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with _part(f"{path}{PART}") as part:
            digest = _kept(part, size_bytes)
            if part.tell() < size_bytes:
                _require_room(path, size_bytes - part.tell())
                digest = _receive(url, part, digest, size_bytes, progress)
            if digest.hexdigest() != sha256:
                part.truncate(0)  # another try would resume from it
                raise FetchError(
                    f"{url} has unexpected content: its sha256 is {digest.hexdigest()}, not {sha256}"
                )
            part.flush()
            os.fsync(part.fileno())
            os.replace(part.name, path)
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(f"{url} answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise FetchError(f"{url} cannot be reached: {error.reason}") from error
    except (
        OSError,
        http.client.HTTPException,
        ValueError,
    ) as error:  # the disk, a cut connection, no address
        raise FetchError(f"{url} could not be downloaded: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _part(name: str) -> Iterator[IO[bytes]]:
    """Open the partial file for appending, locked for this process."""
    with open(name, "a+b") as part:
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FetchError(f"another process is fetching {name}") from None
        yield part


def _kept(part: IO[bytes], size_bytes: int) -> Any:
    """Return the running hash of what an earlier try fetched; a file that is too large is emptied."""
    digest = hashlib.sha256()
    part.seek(0, os.SEEK_END)
    if part.tell() > size_bytes:
        part.truncate(0)
    part.seek(0)
    while chunk := part.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest


def _receive(url: str, part: IO[bytes], digest: Any, size_bytes: int, progress: Progress) -> Any:
    """Append the missing bytes and return the hash of the whole file."""
    have = part.tell()
    response = _open(url, have)
    with response:
        if have and response.status != _HTTP_PARTIAL:  # the server sends the whole file again
            part.truncate(0)
            have, digest = 0, hashlib.sha256()
        progress(have, size_bytes)
        while chunk := response.read(CHUNK_BYTES):
            have += len(chunk)
            if have > size_bytes:
                part.truncate(0)
                raise FetchError(f"{url} has unexpected content: it has more than {size_bytes} bytes")
            part.write(chunk)
            digest.update(chunk)
            progress(have, size_bytes)
    if have < size_bytes:
        raise FetchError(f"{url} ended after {have} of {size_bytes} bytes")
    return digest


def _open(url: str, have: int) -> Any:
    if not url.startswith(("https://", "http://")):
        raise FetchError(f"{url} is not an http address")
    headers = {"User-Agent": "claude-mem-lite", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  (checked above)
    return urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310


def _require_room(path: str, wanted_bytes: int) -> None:
    free = shutil.disk_usage(os.path.dirname(path)).free
    if free < wanted_bytes + _KEEP_FREE_BYTES:
        raise FetchError(
            f"{os.path.dirname(path)} has {free >> 20} MiB free; this needs {wanted_bytes >> 20} MiB, "
            f"and {_KEEP_FREE_BYTES >> 20} MiB must stay free"
        )

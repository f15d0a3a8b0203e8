"""Read the files of the user's own evaluations; errors name the file and line that is wrong."""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any, TextIO

from claude_mem_lite.errors import ClaudeMemError


def lines_of(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place of each object of a JSON Lines file ("FILE line 3"), and the object.

    Raises: ClaudeMemError when the file cannot be read or a line is no JSON object.
    """
    with _opened(path, ": a line is not a JSON object") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path} line {number}", _object(json.loads(line))


def read(path: str) -> Any:
    """Return what a JSON file holds. Raises: ClaudeMemError."""
    with _opened(path, " is not JSON") as file:
        return json.load(file)


@contextlib.contextmanager
def _opened(path: str, wrong: str) -> Iterator[TextIO]:
    """Open a file; raise ClaudeMemError for what goes wrong in reading or parsing it."""
    try:
        with open(path, encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise ClaudeMemError(f"cannot read {os.path.abspath(path)}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ClaudeMemError(f"{path}{wrong} ({error})") from error


def strings(where: str, value: Any) -> list[str]:
    """Return a list of texts; a single text becomes a list. Raises: ClaudeMemError for anything else."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise ClaudeMemError(f"{where}: {value!r} is neither a text nor a list of texts")
    return found


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"it holds a {type(value).__name__}")  # noqa: TRY004  (told as the JSON's fault)
    return value

"""Read the files of the user's own evaluations, and say where they are wrong."""

import json
import os
from collections.abc import Iterator
from typing import Any

from claude_mem_lite.errors import ClaudeMemError


def lines_of(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each object of a file of JSON lines stands ("FILE line 3"), and the object.

    Raises: ClaudeMemError when the file cannot be read or a line is none.
    """
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path} line {number}", _object(json.loads(line))
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise ClaudeMemError(f"{path}: a line is no JSON object ({error})") from error


def read(path: str) -> Any:
    """Return what a JSON file holds. Raises: ClaudeMemError."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise ClaudeMemError(f"{path} is no JSON ({error})") from error


def strings(where: str, value: Any) -> list[str]:
    """Return a list of texts, one text as a list of it. Raises: ClaudeMemError when it is neither."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise ClaudeMemError(f"{where}: {value!r} is no text and no list of texts")
    return found


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"it holds a {type(value).__name__}")  # noqa: TRY004  (told as the JSON's fault)
    return value


def _unreadable(path: str, error: OSError) -> ClaudeMemError:
    return ClaudeMemError(f"cannot read {os.path.abspath(path)}: {error.strerror or error}")

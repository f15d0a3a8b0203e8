"""Change settings in `config.toml` and keep every other byte as it is."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError

_NEXT_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_NOT_PRINTED = "\x7f"  # JSON does not escape it, and TOML does not allow it unescaped


def choose_model(model: str, *, dimension: int = 0, only_check: bool = False) -> None:
    """Write `[search] embedding_model` and `dimension` (the default, 0, only if the file already sets it).

    With `only_check` nothing is written. Raises: ClaudeMemError as `write` does.
    """
    write("search", {"embedding_model": model, "dimension": dimension}, only_check=only_check)


def write(table: str, wanted: dict[str, Any], *, only_check: bool = False) -> None:
    """Write settings into a table. Among several, empty values and 0 only replace settings already there.

    The file is replaced atomically and keeps its mode; only the user can read a new one. With `only_check`
    nothing is written.
    Raises: ClaudeMemError when the file cannot be changed without changing the rest.
    """
    config.ensure_home()
    path = os.path.realpath(config.config_path())
    before = _read(path)
    try:
        content = _edited(before, table, wanted).encode()
    except (ValueError, TypeError, RecursionError) as error:
        lines = ", ".join(f"{name} = {_literal(value)}" for name, value in wanted.items())
        raise ClaudeMemError(
            f"{path} was left as it is ({error}): write it there yourself, under [{table}]: {lines}"
        ) from error
    if not only_check:
        config.replace_file(path, content)


def _edited(before: str, name: str, wanted: dict[str, Any]) -> str:
    """Return the text with the settings in it. Raises: ValueError if any other setting would change."""
    old = tomllib.loads(before)
    table = old.get(name, {})
    new = {key: value for key, value in wanted.items() if value or key in table or len(wanted) == 1}
    after = before
    for key, value in reversed(new.items()):
        after = _with(after, name, key, _literal(value))
    if tomllib.loads(after) != old | {name: table | new}:
        raise ValueError(f"its [{name}] has a form that cannot be edited")
    return after


def _with(text: str, table: str, name: str, literal: str) -> str:
    """Return the text with a setting in its table; a missing table is added at the end."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    header = re.search(rf"^[ \t]*\[[ \t]*{table}[ \t]*\][ \t]*(?:#.*)?\r?$", text, re.MULTILINE)
    if header is None:
        gap = "" if not text else end_of_line if text.endswith("\n") else 2 * end_of_line
        return f"{text}{gap}[{table}]{end_of_line}{name} = {literal}{end_of_line}"
    start = header.end()
    following = _NEXT_HEADER.search(text, start)
    end = following.start() if following else len(text)
    setting = re.compile(
        rf"""^(?P<name>[ \t]*{name}[ \t]*=[ \t]*)"""
        r"""(?:"[^"\n]*"|'[^'\n]*'|\[(?:"[^"\n]*"|'[^'\n]*'|[^]"'\n])*\]|[-+.\w]+)(?=[ \t]*(?:\#.*)?\r?$)""",
        re.MULTILINE,
    )
    lines, found = setting.subn(lambda match: match["name"] + literal, text[start:end], count=1)
    if not found:
        returns = "\r" if header[0].endswith("\r") else ""
        lines = f"\n{name} = {literal}{returns}{lines}"
    return text[:start] + lines + text[end:]


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace(_NOT_PRINTED, "\\u007f")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except ValueError as error:
        raise ClaudeMemError(f"{path} was left as it is ({error})") from error

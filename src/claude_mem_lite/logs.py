"""JSON Lines logs, one file a process in `logs/`, a new one each midnight UTC; `prune` takes out old ones.

Ids, sizes, durations and counts; never the user's text.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import re
from logging.handlers import TimedRotatingFileHandler

from claude_mem_lite import config

# What is written to no more: of an earlier day, or what supervisord has set aside when a log grew too large.
_CLOSED = re.compile(r".+\.(?:jsonl\..+|(?:out|log)\.\d+)")


class JsonFormatter(logging.Formatter):
    """One JSON object a line; what a caller gives as `extra={"event": {...}}` is merged into it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"at": at, "level": record.levelname, "logger": record.name}
        event = getattr(record, "event", None)
        line |= event if isinstance(event, dict) else {"message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def closed_before(before: float) -> list[str]:
    """Return the files of `logs/` that are closed and were last written to before a time (Unix seconds)."""
    try:
        paths = [os.path.join(config.log_dir(), name) for name in sorted(os.listdir(config.log_dir()))]
    except FileNotFoundError:
        return []
    return [path for path in paths if _CLOSED.fullmatch(path) and os.path.getmtime(path) < before]


def prune(*, before: float) -> int:
    """Delete what `closed_before` returns; return how many files that were."""
    paths = closed_before(before)
    for path in paths:
        os.unlink(path)
    return len(paths)


def configure(process: str) -> None:
    """Send this process's log to `logs/PROCESS.jsonl`; Huey's and uvicorn's chatter from warnings up."""
    config.ensure_home()
    handler = TimedRotatingFileHandler(
        os.path.join(config.log_dir(), f"{process}.jsonl"),
        when="midnight",
        backupCount=0,  # the periodic task deletes them by age
        encoding="utf-8",
        utc=True,
        delay=True,
    )
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for chatty in ("huey", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)

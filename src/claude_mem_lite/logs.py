"""Write JSON Lines logs to `logs/`, one file per process and day (UTC); `prune` deletes old ones.

Logs hold ids, sizes, durations and counts, never the user's text.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import re
from logging.handlers import TimedRotatingFileHandler

from claude_mem_lite import config

# Closed files: logs of an earlier day, and logs that supervisord rotated because of their size.
_CLOSED = re.compile(r".+\.(?:jsonl\..+|(?:out|log)\.\d+)")


class JsonFormatter(logging.Formatter):
    """Format a record as one line of JSON, including fields passed as `extra={"event": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"at": at, "level": record.levelname, "logger": record.name}
        event = getattr(record, "event", None)
        line |= event if isinstance(event, dict) else {"message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def closed_before(before: float) -> list[str]:
    """Return the closed files of `logs/` that were last written before a time (Unix seconds)."""
    try:
        paths = [os.path.join(config.log_dir(), name) for name in sorted(os.listdir(config.log_dir()))]
    except FileNotFoundError:
        return []
    return [path for path in paths if _CLOSED.fullmatch(path) and os.path.getmtime(path) < before]


def prune(*, before: float) -> int:
    """Delete the files that `closed_before` returns; return how many."""
    paths = closed_before(before)
    for path in paths:
        os.unlink(path)
    return len(paths)


def configure(process: str) -> None:
    """Send this process's log to `logs/PROCESS.jsonl`, from Huey and uvicorn only warnings and above."""
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

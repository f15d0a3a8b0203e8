"""JSON Lines logs, one file a process in `logs/`, a new one each midnight UTC, kept for 30 days.

Ids, sizes, durations and counts; never the user's text.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
from logging.handlers import TimedRotatingFileHandler

from claude_mem_lite import config

RETENTION_DAYS = 30


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


def prune(*, now: float) -> int:
    """Delete the dated files of `logs/` that nobody has written to for 30 days; return how many."""
    deleted = 0
    for name in os.listdir(config.log_dir()):
        path = os.path.join(config.log_dir(), name)
        if ".jsonl." in name and os.path.getmtime(path) < now - RETENTION_DAYS * 86_400:
            os.unlink(path)
            deleted += 1
    return deleted


def configure(process: str, *, level: int = logging.INFO) -> None:
    """Send this process's log to `logs/PROCESS.jsonl`; Huey's and uvicorn's chatter from warnings up."""
    config.ensure_home()
    handler = TimedRotatingFileHandler(
        os.path.join(config.log_dir(), f"{process}.jsonl"),
        when="midnight",
        backupCount=RETENTION_DAYS,
        encoding="utf-8",
        utc=True,
        delay=True,
    )
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for chatty in ("huey", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)

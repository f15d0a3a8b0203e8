"""Parse times as users write them: a date, a time, or how long ago."""

import datetime as dt
import re

import typer

from claude_mem_lite.capture import inbox

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(rf"(\d{{1,6}})([{''.join(_UNITS)}])")


def moment(given: str) -> str:
    """Return a date, a time or an age as the memory writes times; without a zone it is this machine's."""
    now = dt.datetime.now(dt.UTC)
    try:
        ago = _AGO.fullmatch(given)
        if ago:
            at = now - dt.timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            at = dt.datetime.fromisoformat(given).astimezone(dt.UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise typer.BadParameter(
            f"{given!r} is no time: 2026-11-01, 2026-11-01T14:30, or an age like 12h, 2d, 3w"
        ) from error
    return inbox.utc_text(at.timestamp())

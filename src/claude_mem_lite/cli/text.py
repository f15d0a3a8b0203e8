"""Format captured text, times and sizes for printing."""

from collections import Counter

from claude_mem_lite.capture import inbox
from claude_mem_lite.text import clean, count, join

# An age is given in the largest unit that fits; beyond two weeks the date is given instead.
_AGES = ((86_400, "d"), (3_600, "h"), (60, "m"))
_DATED_FROM_S = 14 * 86_400
_KIBI = 1_024
ID_CHARS = 8  # shown of an id


def age(at: str, now: float) -> str:
    """Return how long ago a time was, or its date if that is over two weeks."""
    try:
        age_s = now - inbox.unix_time(at)
    except ValueError:
        return printable(at)[:10]
    if not 0 <= age_s < _DATED_FROM_S:
        import datetime as dt

        return dt.datetime.fromtimestamp(now - age_s).astimezone().date().isoformat()
    whole = ((int(age_s // size), unit) for size, unit in _AGES)
    return next((f"{number}{unit} ago" for number, unit in whole if number), "now")


def size(size_bytes: int) -> str:
    """Return a number of bytes in B, KiB, MiB or GiB."""
    amount, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < _KIBI:
            break
        amount, unit = amount / _KIBI, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def printable(text: str) -> str:
    """Return captured text, which is untrusted, as one line that is safe to print."""
    return " ".join(clean(text).split())


_NOUNS = {
    "session": "session",
    "observation": "observation",
    "learning": "learning",
    "finding": "failed call",
    "function_change": "function change",
    "call": "call",
    "cost": "cost",
}


def added_told(added: Counter[str], there: Counter[str]) -> str:
    """Return in a sentence how many rows of each kind were added, and how many were there already."""
    new, old = _rows_told(added), _rows_told(there)
    return f"{new or 'Nothing new'}{f'; already there: {old}' if old else ''}."


def _rows_told(counts: Counter[str]) -> str:
    """Return how many rows there are of each kind, in words; "" for none."""
    return join(
        [count(counts[kind], noun) for kind, noun in _NOUNS.items() if counts[kind]], limit=len(_NOUNS)
    )

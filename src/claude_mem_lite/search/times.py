"""Parse dates and relative times in a query into time spans, in English and German.

The caller compares rows with the spans: both are UTC text as stored in the memory.
"""

import datetime as dt
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

_Moments = tuple[dt.datetime, dt.datetime]


@dataclass(frozen=True, slots=True)
class Span:
    """The time from `since` up to, but excluding, `until`; `said` is the query's wording in lower case."""

    since: str
    until: str
    said: str

    def has(self, at: str) -> bool:
        """Tell whether a time lies in the span."""
        return self.since <= at < self.until


def read(text: str, *, now: dt.datetime) -> tuple[str, tuple[Span, ...]]:
    """Return a query without its time words, and their spans relative to `now`, in days of its time zone.

    Only the first 1,000 characters are read, and text in double quotes is skipped. An ambiguous word (may,
    march, Sunday) is a time only after a preposition, beside a day or before a year.
    """
    text, unread = text[:_READ], text[_READ:]
    if not _SIGNS.intersection(_SIGN.findall(text.lower())):
        return text + unread, ()
    spans: list[Span] = []

    def replaced(match: re.Match[str], resolve: _Resolve) -> str:
        try:
            since, until = _led(match["lead"], resolve(match, now), now)
            span = Span(_utc(since), _utc(until), " ".join(match[0].lower().split()))
        except (ValueError, OverflowError):  # the 31st of June, a million years ago
            return match[0]
        spans.append(span)
        return " "

    parts = _QUOTED.split(text)
    for (pattern, resolve), at in itertools.product(_PATTERNS, range(0, len(parts), 2)):
        parts[at] = pattern.sub(lambda match, resolve=resolve: replaced(match, resolve), parts[at])
    return ("".join(parts) if spans else text) + unread, tuple(spans)


def local(at: float) -> dt.datetime:
    """Return a time in Unix seconds as a datetime in this machine's time zone."""
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone()


def _led(lead: str | None, moments: _Moments, now: dt.datetime) -> _Moments:
    """Return the span of a time after its preposition."""
    since, until = moments
    lead = (lead or "").lower()
    if lead in _FROM:
        return since, max(until, now + dt.timedelta(days=1))
    if lead in _UP_TO:
        return _EVER, since
    if lead.endswith("before"):  # "the week before 3 May": that day is included
        days = 31 if lead.startswith("month") else 7
        return since - dt.timedelta(days=days), until
    return moments


def _full_date(match: re.Match[str], now: dt.datetime) -> _Moments:
    if not match["day"]:
        return _month(int(match["year"]), int(match["month"]), now)
    return _days(dt.datetime(int(match["year"]), int(match["month"]), int(match["day"]), tzinfo=now.tzinfo))


def _named_date(match: re.Match[str], now: dt.datetime) -> _Moments:
    """Resolve "3 May", "May 3rd, 2026", "May 2026", "in May"; without a year, to the most recent one."""
    name, day = match["name"], match["day"] or match["after"]
    is_sure = match["year"] or match["lead"] or match["part"]
    if not is_sure and not (day and (name[0].isupper() or match["ordinal"] or match["ordinal_after"])):
        raise ValueError("a word")
    month = _MONTHS[name.lower()]
    year = int(match["year"] or now.year - (month > now.month))
    if not day:
        return _month(year, month, now)
    if not match["year"] and (month, int(day)) > (now.month, now.day):
        year = now.year - 1
    return _days(dt.datetime(year, month, int(day), tzinfo=now.tzinfo))


def _year(match: re.Match[str], now: dt.datetime) -> _Moments:
    year = int(match["year"])
    if year > now.year:
        raise ValueError("a number")
    return _month(year, 1, now)[0], _month(year + 1, 1, now)[0]


def _near_day(match: re.Match[str], now: dt.datetime) -> _Moments:
    """Resolve "yesterday"; a part of a day resolves to that day, a night to the day on which it began."""
    word = " ".join(match["word"].lower().split())
    ago = 2 if word in _TWO_DAYS_AGO else 1 if word in _A_DAY_AGO else 0
    return _days(_midnight(now) - dt.timedelta(days=ago))


def _ago(match: re.Match[str], now: dt.datetime) -> _Moments:
    """Resolve "two weeks ago" to half a unit before and after; days resolve to the calendar day."""
    number, unit = _number(match["number"]), _UNITS[match["unit"].lower()]
    if unit == "day":
        return _days(_midnight(now) - dt.timedelta(days=number))
    length = dt.timedelta(hours=_HOURS[unit])
    return now - (number + 0.5) * length, now - (number - 0.5) * length


def _within(match: re.Match[str], now: dt.datetime) -> _Moments:
    """Resolve "in the last three days"."""
    return now - _number(match["number"]) * dt.timedelta(hours=_HOURS[_UNITS[match["unit"].lower()]]), now


def _last(match: re.Match[str], now: dt.datetime) -> _Moments:
    """Resolve "last week" and "this month" by the calendar."""
    is_this = match["which"].lower().startswith(("this", "dies"))
    unit, today = _UNITS[match["unit"].lower()], _midnight(now)
    monday = today - dt.timedelta(days=today.weekday())
    if unit == "week":
        monday -= dt.timedelta(days=0 if is_this else 7)
        return monday, monday + dt.timedelta(days=7)
    if unit == "weekend":
        is_over = today.weekday() < _SATURDAY or not is_this
        saturday = monday + dt.timedelta(days=_SATURDAY - (7 if is_over else 0))
        return saturday, saturday + dt.timedelta(days=2)
    if unit == "month":
        first = today.replace(day=1) if is_this else today.replace(day=1) - dt.timedelta(days=1)
        return _month(first.year, first.month, now)
    if unit == "year":
        first = today.replace(year=today.year if is_this else today.year - 1, month=1, day=1)
        return first, first.replace(year=first.year + 1)
    raise ValueError("the last hour, minute or day of something")


def _weekday(match: re.Match[str], now: dt.datetime) -> _Moments:
    """Resolve "on Tuesday" to the most recent one before today."""
    today = _midnight(now)
    return _days(today - dt.timedelta(days=(today.weekday() - _WEEKDAYS[match["name"].lower()] - 1) % 7 + 1))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[" ".join(text.lower().split())]


def _month(year: int, month: int, now: dt.datetime) -> _Moments:
    first = dt.datetime(year, month, 1, tzinfo=now.tzinfo)
    return first, dt.datetime(year + month // 12, month % 12 + 1, 1, tzinfo=now.tzinfo)


def _days(first: dt.datetime) -> _Moments:
    return first, first + dt.timedelta(days=1)


def _midnight(now: dt.datetime) -> dt.datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _utc(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_EVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SATURDAY = 5
_HOURS = {"minute": 1 / 60, "hour": 1, "day": 24, "week": 7 * 24, "month": 730, "year": 8766, "weekend": 168}
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner", "february feb februar", "march mar märz", "april apr", "may mai",
            "june jun juni", "july jul juli", "august aug", "september sept sep", "october oct oktober okt",
            "november nov", "december dec dezember dez",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = {
    name: number
    for number, names in enumerate((
        "monday montag", "tuesday dienstag", "wednesday mittwoch", "thursday donnerstag", "friday freitag",
        "saturday samstag", "sunday sonntag",
    ))
    for name in names.split()
}  # fmt: skip
_UNITS = {
    name: unit
    for unit, names in {
        "minute": "minute minutes minuten", "hour": "hour hours stunde stunden",
        "day": "day days tag tage tagen",
        "week": "week weeks woche wochen", "month": "month months monat monate monaten monats",
        "year": "year years jahr jahre jahren jahres", "weekend": "weekend weekends wochenende wochenenden",
    }.items()
    for name in names.split()
}  # fmt: skip
_NUMBERS = {
    name: number
    for number, names in {
        1: "a,an,one,ein,eine,einem,einer", 2: "two,a couple of,couple of,zwei",
        3: "three,a few,few,drei,einigen",
        4: "four,vier", 5: "five,fünf", 6: "six,sechs", 7: "seven,sieben", 8: "eight,acht", 9: "nine,neun",
        10: "ten,zehn", 12: "twelve,zwölf",
    }.items()
    for name in names.split(",")
}  # fmt: skip
_A_DAY_AGO = {"yesterday", "gestern", "last night"}
_TWO_DAYS_AGO = {"the day before yesterday", "day before yesterday", "vorgestern"}
_TODAY = {"today", "heute", "this morning", "this afternoon", "this evening", "tonight"}

_FROM = {"since", "after", "seit", "nach"}
_UP_TO = {"before", "until", "till", "vor", "bis"}

# Every time contains one of these words. Most queries have none, which saves matching the patterns.
_SIGN = re.compile(r"[^\W\d]+|(?:19|20)(?=\d\d)")
_SIGNS = frozenset(
    word
    for names in (_MONTHS, _WEEKDAYS, _UNITS, _A_DAY_AGO, _TWO_DAYS_AGO, _TODAY, {"19", "20"})
    for name in names
    for word in name.split()[-1:]
)
_READ = 1_000


def _any(words: dict[str, int] | dict[str, str] | set[str]) -> str:
    return "|".join(word.replace(" ", r"\s+") for word in sorted(words, key=len, reverse=True))


_QUOTED = re.compile(r'("[^"]*")')
_BEFORE = rf"(?:day|weekend|week|month|{_any(_WEEKDAYS)})\s+before"
_PART_OF = r"(?:beginning|start|middle|end|(?:first|second)\s+half|last\s+(?:\w+\s+)?(?:days?|weeks?))\s+of"
_PREPOSITIONS = "in|on|during|from|of|by|around|am|im|vom"
_LEAD = (
    rf"(?<![\w/.-])(?:(?P<lead>{_BEFORE}|{_PART_OF}|{_any(_FROM | _UP_TO)}|{_PREPOSITIONS})\s+"
    r"(?:the\s+|dem\s+|der\s+|den\s+)?)?"
)
_PART = r"(?P<part>(?:(?:early|mid|late|last|this|anfang|mitte|ende|letzten)(?:\s+|-))?)"
_ORDINAL, _YEARS = r"(?:st|nd|rd|th|\.)", r"(?:19|20)\d\d"
_END = r"(?![\w/-]|\.\d)"
_WHICH = r"(?:last|past|previous|letzte[nrms]?|vergangene[nrms]?|vorige[nrms]?)"
_COUNT = rf"(?:(?P<number>\d{{1,3}}|{_any(_NUMBERS)})\s+(?P<unit>{_any(_UNITS)}))"
_NAMED_DATE = (
    rf"{_LEAD}{_PART}(?:(?P<day>\d\d?)(?P<ordinal>{_ORDINAL}?)\s+(?:of\s+)?)?(?P<name>{_any(_MONTHS)})\b"
    r"(?:\.?\s+(?P<after>\d\d?)(?!\d)(?P<ordinal_after>(?:st|nd|rd|th)?))?"
    rf"(?:,?\s*(?:of\s+)?(?P<year>{_YEARS}))?{_END}"
)
_Resolve = Callable[[re.Match[str], dt.datetime], _Moments]
# In order of precedence: the first pattern that matches consumes its words.
_PATTERNS: tuple[tuple[re.Pattern[str], _Resolve], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), resolve)
    for pattern, resolve in (
        (rf"{_LEAD}(?P<year>{_YEARS})-(?P<month>\d\d)(?:-(?P<day>\d\d))?{_END}", _full_date),
        (rf"{_LEAD}(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>{_YEARS}){_END}", _full_date),
        (_NAMED_DATE, _named_date),
        (rf"(?<!\w)(?P<lead>)(?P<word>{_any(_TWO_DAYS_AGO)}){_END}", _near_day),
        (rf"{_LEAD}(?P<word>{_any(_A_DAY_AGO | _TODAY)}){_END}", _near_day),
        (rf"{_LEAD}{_COUNT}\s+ago{_END}", _ago),
        (rf"(?P<lead>)\bvor\s+{_COUNT}{_END}", _ago),
        (
            rf"(?<!\w)(?P<lead>)(?:in|over|during|within|from)\s+(?:the\s+|den\s+)?{_WHICH}\s+{_COUNT}{_END}",
            _within,
        ),
        (
            rf"{_LEAD}(?P<which>{_WHICH}|this|diese[nrms]?)\s+(?P<unit>{_any(_UNITS)}){_END}(?!\s+(?:of|before)\b)",
            _last,
        ),
        (rf"{_LEAD}(?:{_WHICH}\s+)(?P<name>{_any(_WEEKDAYS)}){_END}", _weekday),
        (
            rf"(?<!\w)(?P<lead>on|since|until|before|am|seit|bis)\s+(?P<name>{_any(_WEEKDAYS)}){_END}",
            _weekday,
        ),
        (rf"(?<!\w)(?P<lead>in|since|before|during|seit)\s+(?P<year>{_YEARS}){_END}", _year),
    )
)

"""Read the settings of services and CLI from `config.toml` and the environment; hooks use `config`.

Standard library only: the consumer reads them for every capture.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
import zlib
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from claude_mem_lite import config, keys
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.keys import Credential

if TYPE_CHECKING:
    from collections.abc import Mapping

TIERS = ("high", "normal", "low")

_WRITERS = ("claude", "local")
_MOST, _NO_MOST = 1_000_000, 2**63  # TOML's integers end there
_Kind = type | range | tuple[str, ...] | re.Pattern[str]
_KNOWN: Mapping[str, Mapping[str, _Kind]] = {
    "capture": {"max_event_chars": range(config.MIN_MAX_EVENT_CHARS, _NO_MOST), "ignored_files": list},
    "projects": {"off": list, "apart": list},
    "services": {"autostart": bool, "idle_stop_minutes": range(_NO_MOST)},
    "claude": {
        "via": ("api", "cli", "off"),
        "client": str,
        "client_config": re.compile(r".*"),  # may be empty, unlike `str`
        "daily_tokens": range(1_000_000_001),
        "session_share": float,
        "model": str,
        "daily_budget_usd": float,
        "batch_after_hours": float,
        "api_key_from": (keys.NONE, *keys.KINDS),
        "api_key": str,
        "base_url": re.compile(r"https?://\S+"),
        "proxy": re.compile(rf"https?://\S+|{keys.NONE}"),
    },
    "search": {"embedding_model": str, "dimension": range(_NO_MOST)},
    "context": {
        "start": bool,
        "recall": bool,
        "recall_tokens_per_session": range(_NO_MOST),
        "file_tokens_per_session": range(_NO_MOST),
    },
    "learnings": {"dedup_threshold": float, "decay_after_sessions": range(_NO_MOST)},
    "retention": dict.fromkeys(("events_days", "keep_raw", "logs_days", "max_queue_mb"), range(_MOST + 1)),
    "evals": {"every": range(_MOST + 1), "samples": range(1, 101), "judge": str},
    "compress": dict.fromkeys((*TIERS, "summaries", "learnings", "calls"), _WRITERS),
}
_PRICE_KEYS = ("input", "output", "cache_minimum_tokens")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of a model, and the shortest prefix in tokens that the API caches for it.

    A cache write costs 1.25 times the input price, a read 0.1 times; a Message Batch half of everything.
    Source: platform.claude.com, pricing and prompt caching, November 2026.
    """

    input: float
    output: float
    cache_minimum_tokens: int = 4_096


PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "claude-haiku-4-5-20251001": Price(1.0, 5.0),
        "claude-haiku-4-5": Price(1.0, 5.0),
        "claude-sonnet-5": Price(2.0, 10.0, cache_minimum_tokens=1_024),
    }
)
# For a model without a known price: rather too high than a budget that is exceeded.
UNKNOWN_PRICE = Price(5.0, 25.0)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long processed data is kept; 0 days means for ever, 0 MB means no limit.

    Raw events and the event log go after `events_days`, log files after `logs_days`. The newest `keep_raw`
    raw events stay, however old; while queue.db uses more than `max_queue_mb`, the oldest others go.
    """

    events_days: int = 30
    keep_raw: int = 0
    logs_days: int = 30
    max_queue_mb: int = 1_024


@dataclass(frozen=True, slots=True)
class Evals:
    """After every `every` captures that Claude wrote (0: never), the judge rates `samples` of them."""

    every: int = 0
    samples: int = 3
    judge: str = "claude-sonnet-5"


@dataclass(frozen=True, slots=True)
class Settings:
    """What Claude writes, with which model and daily budget; the model of search; what sessions are shown.

    With `via` "cli" requests go through the program `client`, whose own settings are in `client_config`
    ("": its default place), for at most `daily_tokens` a day. Claude writes about the share `session_share`
    (0 to 1) of all sessions. Learnings with a cosine similarity of `dedup_threshold` or more are duplicates.
    A learning fades when `decay_after_sessions` sessions of its project have not seen it (0: never). The
    services stop after `idle_stop_minutes` without work (0: never).
    """

    credential: Credential | None = None
    via: str = "api"
    client: str = "claude"
    client_config: str = ""
    daily_tokens: int = 200_000
    api_key_from: str = keys.NONE
    base_url: str = "https://api.anthropic.com"
    proxy: str = keys.NONE
    model: str = "claude-haiku-4-5-20251001"
    daily_budget_usd: float = 1.0
    batch_after_hours: float = 0.0
    session_share: float = 1.0
    tiers: frozenset[str] = frozenset()
    summaries: bool = True
    learnings: bool = True
    calls: bool = False
    embedding_model: str = "auto"
    dimension: int = 0
    recall_tokens_per_session: int = 6_000
    file_tokens_per_session: int = 4_000
    start: bool = True
    recall: bool = True
    projects_apart: tuple[str, ...] = ()
    idle_stop_minutes: int = 30
    dedup_threshold: float = 0.9
    decay_after_sessions: int = 30
    retention: Retention = Retention()
    evals: Evals = Evals()
    prices: Mapping[str, Price] = field(default_factory=lambda: PRICES)

    @property
    def price(self) -> Price:
        """The price of `model`."""
        return self.prices.get(self.model, UNKNOWN_PRICE)

    @property
    def tells_sessions(self) -> bool:
        """Whether Claude writes summaries or learnings of sessions at all."""
        return self.summaries or self.learnings

    def wants_session(self, session_id: str) -> bool:
        """Tell whether Claude should and can write about a session; its id decides about the share."""
        is_among = zlib.crc32(session_id.encode()) < self.session_share * 2**32
        return self.credential is not None and self.tells_sessions and is_among

    def wants_claude(self, tier: str) -> bool:
        """Tell whether Claude should and can write about captures of a tier."""
        return self.credential is not None and tier in self.tiers


@dataclass(frozen=True, slots=True)
class Given:
    """A setting in force: `name` is table.key, `source` is "default" or "config.toml"."""

    name: str
    value: Any
    source: str


def given() -> list[Given]:
    """Return every setting except prices, in the order of the documentation; an API key is not shown."""
    tables, _ = _read()
    found = []
    for table, known in _KNOWN.items():
        for key in known:
            if key == "api_key":
                is_used = tables.get(table, {}).get(key) and _is_private()
                shown = ("(set)", keys.IN_CONFIG) if is_used else ("", "default")
            elif key in tables.get(table, {}):
                shown = (tables[table][key], "config.toml")
            else:
                shown = (_default(table, key), "default")
            found.append(Given(f"{table}.{key}", *shown))
    return found


def _default(table: str, key: str) -> Any:
    default = Settings()
    match table, key:
        case "compress", _:
            is_claudes = key in default.tiers if key in TIERS else getattr(default, key)
            return "claude" if is_claudes else "local"
        case "capture", "max_event_chars":
            return config.DEFAULT_MAX_EVENT_CHARS
        case "capture" | "projects", _:
            return []
        case "services", "autostart":
            return True
        case "retention" | "evals", _:
            return getattr(getattr(default, table), key)
    return getattr(default, key)


def parsed(name: str, text: str) -> Any:
    """Return the value of a user's text for the setting `table.key`. Raises: ClaudeMemError if invalid."""
    table, _, key = name.partition(".")
    kind = _KNOWN.get(table, {}).get(key)
    if kind is None:
        from difflib import get_close_matches

        near = get_close_matches(name, [each.name for each in given()], n=1, cutoff=0.5)
        meant = f"did you mean {near[0]}?" if near else "claude-mem config show lists them"
        raise ClaudeMemError(f"there is no setting {name}: {meant}")
    try:
        value = (
            text
            if kind is str or isinstance(kind, (tuple, re.Pattern))
            else tomllib.loads(f"it = {text}")["it"]
        )
    except tomllib.TOMLDecodeError:
        value = None
    known = _known(table, key, value)
    if known is None or (kind is list and not all(isinstance(each, str) for each in known)):
        raise ClaudeMemError(f"{name} cannot be {text!r}: it takes {_takes(kind)}")
    return known


def _takes(kind: _Kind) -> str:
    if isinstance(kind, re.Pattern):
        return "a text" if kind.fullmatch("") else "an address, https://…"
    if isinstance(kind, tuple):
        return " or ".join(kind)
    if isinstance(kind, range):
        most = "up" if kind.stop == _NO_MOST else f"to {kind.stop - 1:,}"
        return f"a whole number from {kind.start:,} {most}"
    amount = f"a number from 0 to {_MOST:,}"
    return {bool: "true or false", float: amount, list: 'a list: ["a", "b"]'}.get(
        kind, "a text that is not empty"
    )


def load() -> Settings:
    """Return the settings; a missing or invalid one has its default, and `problem` reports it."""
    tables, _ = _read()
    claude, compress, search = (tables.get(name, {}) for name in ("claude", "compress", "search"))
    named = (
        "via",
        "client",
        "client_config",
        "daily_tokens",
        "session_share",
        "api_key_from",
        "base_url",
        "proxy",
        "model",
        "daily_budget_usd",
        "batch_after_hours",
    )
    chosen = {key: claude[key] for key in named if key in claude}
    if handed_url := keys.handed_over()[1]:
        chosen["base_url"] = handed_url
    default = Settings()
    if chosen.get("via") == "cli":
        chosen["batch_after_hours"] = 0.0  # the client has no Message Batches
    context, learnings = tables.get("context", {}), tables.get("learnings", {})
    return Settings(
        **chosen,
        credential=_credential(claude),
        tiers=frozenset(
            tier
            for tier in TIERS
            if compress.get(tier, "claude" if tier in default.tiers else "local") == "claude"
        ),
        summaries=compress.get("summaries", "claude") == "claude",
        learnings=compress.get("learnings", "claude") == "claude",
        calls=compress.get("calls", "local") == "claude",
        embedding_model=search.get("embedding_model", default.embedding_model),
        dimension=search.get("dimension", default.dimension),
        recall_tokens_per_session=context.get("recall_tokens_per_session", default.recall_tokens_per_session),
        file_tokens_per_session=context.get("file_tokens_per_session", default.file_tokens_per_session),
        start=context.get("start", default.start),
        recall=context.get("recall", default.recall),
        projects_apart=tuple(map(str, tables.get("projects", {}).get("apart", ()))),
        idle_stop_minutes=tables.get("services", {}).get("idle_stop_minutes", default.idle_stop_minutes),
        dedup_threshold=learnings.get("dedup_threshold", default.dedup_threshold),
        decay_after_sessions=learnings.get("decay_after_sessions", default.decay_after_sessions),
        retention=Retention(**tables.get("retention", {})),
        evals=Evals(**tables.get("evals", {})),
        prices={**PRICES, **{name: Price(**row) for name, row in tables.get("prices", {}).items()}},
    )


def through_client(chosen: Settings, path: str) -> Settings:
    """Return settings that send requests through the user's client at `path`."""
    credential = Credential("client", keys.CLIENT, path)
    return replace(chosen, via="cli", client=path, credential=credential, batch_after_hours=0.0)


def problem() -> str:
    """Return one line about what is wrong with `config.toml`, "" if nothing is."""
    tables, wrong = _read()
    if not wrong and tables.get("claude", {}).get("api_key") and not _is_private():
        wrong = f"{config.config_path()} holds a key that others may read, so it is not used: chmod 600 it"
    settings = load()
    if not wrong and settings.credential and settings.model not in settings.prices:
        wrong = (
            f"no price is known for {settings.model}: it is counted as ${UNKNOWN_PRICE.input:g} and "
            f'${UNKNOWN_PRICE.output:g} a million tokens; set [prices."{settings.model}"] input and output'
        )
    return wrong


def _read() -> tuple[dict[str, dict[str, Any]], str]:
    """Return the valid settings by table, and a line about the invalid ones ("" if there are none)."""
    try:
        with open(config.config_path(), "rb") as file:
            given = tomllib.load(file)
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"{config.config_path()} cannot be used ({error}): the defaults apply"
    usable: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    for table, values in given.items():
        for key, value in values.items() if isinstance(values, dict) else {"": values}.items():
            known = _price(value) if table == "prices" else _known(table, key, value)
            if known is not None:
                usable.setdefault(table, {})[key] = known
            else:
                wrong.append(f"[{table}] {_wrong(table, key)}")
    ends = "their defaults apply" if len(wrong) > 1 else "its default applies"
    return usable, f"{config.config_path()}: {'; '.join(wrong)}: {ends}" if wrong else ""


def _wrong(table: str, key: str) -> str:
    """Return an invalid setting's name with what it takes."""
    if table == "prices":
        return f"{key} takes input and output, dollars for a million tokens".strip()
    kind = _KNOWN.get(table, {}).get(key)
    return f"{key} is unknown".strip() if kind is None else f"{key} takes {_takes(kind)}"


def _known(table: str, key: str, value: Any) -> Any:
    """Return a setting's value if it is valid, else None."""
    kind = _KNOWN.get(table, {}).get(key)
    if kind is float:
        return float(value) if _is_amount(value) else None
    if isinstance(kind, tuple):
        return value if isinstance(value, str) and value in kind else None
    if isinstance(kind, re.Pattern):
        return value if isinstance(value, str) and kind.fullmatch(value) else None
    if isinstance(kind, range):
        return value if type(value) is int and value in kind else None
    return value if type(value) is kind and value != "" else None


def _price(value: Any) -> dict[str, Any] | None:
    """Return the fields of a `Price`, or None if the value is not a price."""
    if not isinstance(value, dict) or not {"input", "output"} <= set(value) <= set(_PRICE_KEYS):
        return None
    return value if all(map(_is_amount, value.values())) else None


def _is_amount(value: Any) -> bool:
    """Tell whether a value is a plausible number of dollars, hours or tokens."""
    return type(value) in {int, float} and 0 <= value <= _MOST


def _credential(claude: Mapping[str, Any]) -> Credential | None:
    """Return the key from `up --with-key` or the user's variable, else the one in `config.toml`.

    With `via` "cli" it is the path of the user's client.
    """
    via = claude.get("via", "api")
    if via != "api":
        return Credential("client", keys.CLIENT, claude.get("client", "claude")) if via == "cli" else None
    handed, _ = keys.handed_over()
    variable = handed or claude.get("api_key_from", keys.NONE)
    found = keys.of_variable(variable) if variable != keys.NONE else None
    if found is not None:
        return replace(found, source=keys.WITH_KEY) if handed else found
    written = claude.get("api_key", "").strip()
    return Credential("api_key", keys.IN_CONFIG, written) if written and _is_private() else None


def _is_private() -> bool:
    return not os.stat(config.config_path()).st_mode & (stat.S_IRWXG | stat.S_IRWXO)

"""Compute the cost of calls and the rest of the daily budget. The ledger is `storage.ledger`."""

from claude_mem_lite.capture import inbox
from claude_mem_lite.settings import Price, Settings
from claude_mem_lite.storage import facts, ledger

CACHE_WRITE, CACHE_READ, BATCH = 1.25, 0.1, 0.5  # times the price; source: see settings.Price
_MILLION = 1_000_000
_DAY_S = 86_400


def dollars(  # noqa: PLR0913  (four kinds of tokens)
    price: Price,
    *,
    input_tokens: int,
    output_tokens: int,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    is_batch: bool = False,
) -> float:
    """Return the cost of tokens in dollars."""
    tokens_in = input_tokens + CACHE_WRITE * cache_write_tokens + CACHE_READ * cache_read_tokens
    usd = (tokens_in * price.input + output_tokens * price.output) / _MILLION
    return usd * BATCH if is_batch else usd


def left_today(settings: Settings, *, now: float) -> float:
    """Return the dollars left of this day's budget (UTC); pending Message Batches count as spent."""
    midnight = inbox.utc_text(now - now % _DAY_S)
    on_the_way: float = sum(batch["usd"] for batch in facts.read("batches").values())
    return settings.daily_budget_usd - ledger.spent_usd(since=midnight) - on_the_way


def tokens_today(*, now: float) -> int:
    """Return the tokens of this day's calls (UTC): input, output, and those of the cache."""
    return ledger.tokens(since=inbox.utc_text(now - now % _DAY_S))


def next_day(now: float) -> float:
    """Return the next midnight UTC in Unix seconds."""
    return now - now % _DAY_S + _DAY_S

"""Call the Messages API through the anthropic SDK: one request, one answer, or the kind of failure.

The only module that imports the SDK, and only when it calls, because that costs 0.8 s and 70 MB. `prompts`
has the prompts, `circuit_breaker` decides when a call is allowed. No error contains the key or captured text.
"""

from __future__ import annotations

import email.utils
import logging
import math
import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from claude_mem_lite import keys
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.installed import with_extras
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.text import estimate_tokens, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anthropic import Anthropic, APIStatusError
    from anthropic.types import Message
    from anthropic.types.messages import MessageBatchResult

    from claude_mem_lite.keys import Credential
    from claude_mem_lite.settings import Settings

T = TypeVar("T")

REFUSAL = "refusal"  # the stop reason
DECLINED = "Claude declined to write about it"

CACHED_S = 300.0  # of a prompt after its last use; source: prompt caching, default lifetime

TIMEOUT_S = 60.0
_CONNECT_TIMEOUT_S = 10.0
_REASON_CHARS = 200

# Failures that may pass by themselves, as everything from 500 up may.
_PASSING = frozenset({408, 409, 425, 429})
# Faults of the key, the account or a proxy, not of the request; a retry does not help.
_SETUP = frozenset({401, 402, 403, 407})


class ClaudeError(ClaudeMemError):
    """A request without an answer; the message is one line."""


class OutageError(ClaudeError):
    """The API cannot be reached, is overloaded or limits the rate; it will pass."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SetupError(ClaudeError):
    """The key, the account or the model is not accepted; the user has to fix it."""


class NotFoundError(SetupError):
    """The API does not know the model, or the Message Batch."""


class RejectedError(ClaudeError):
    """The API rejects this request, and always will."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `system` is our prompt, `content` is data, `schema` describes the JSON answer."""

    system: str
    content: str
    schema: dict[str, Any] = field(repr=False)
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `text` may be cut off, wrapped or empty."""

    text: str
    stop_reason: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    duration_ms: int = 0

    @property
    def tokens(self) -> dict[str, int]:
        """The tokens of each kind, by the names above."""
        return {name: getattr(self, name) for name in self.__slots__ if name.endswith("_tokens")}


def ask(request: Request, settings: Settings, *, is_repeated: bool = False) -> Answer:
    """Send one request and wait for its answer, for a minute at most; no retry here.

    `is_repeated` says that others with the same `system` went before or follow within minutes.

    Raises: OutageError, SetupError, RejectedError: there is no answer.
    """
    started = time.monotonic()
    parameters = _parameters(request, settings, is_repeated=is_repeated)
    answer = _calling(settings, lambda client: _answer(client.messages.create(**parameters)))
    return replace(answer, duration_ms=round((time.monotonic() - started) * 1000))


def start_batch(requests: Sequence[Request], settings: Settings) -> str:
    """Send requests as one Message Batch and return its id; the n-th has the custom id "n".

    Raises: OutageError, SetupError, RejectedError: there is no batch.
    """
    rows: Any = [
        {"custom_id": str(number), "params": _parameters(request, settings, is_repeated=len(requests) > 1)}
        for number, request in enumerate(requests)
    ]
    return str(_calling(settings, lambda client: client.messages.batches.create(requests=rows)).id)


def batch_answers(batch_id: str, settings: Settings) -> dict[str, Answer | ClaudeError] | None:
    """Return the answers of a batch by custom id, or None while it is being processed.

    Raises: OutageError, SetupError, RejectedError: the batch could not be queried, or is unknown.
    """

    def collect(client: Anthropic) -> dict[str, Answer | ClaudeError] | None:
        if client.messages.batches.retrieve(batch_id).processing_status != "ended":
            return None
        return {row.custom_id: _batch_answer(row.result) for row in client.messages.batches.results(batch_id)}

    return _calling(settings, collect)


def look(settings: Settings) -> None:
    """Check that the API can be reached, accepts the key and knows the model; costs nothing.

    Raises: OutageError, SetupError, RejectedError: the check fails.
    """
    _calling(settings, lambda client: client.models.retrieve(settings.model))


def _parameters(request: Request, settings: Settings, *, is_repeated: bool) -> dict[str, Any]:
    system: dict[str, Any] = {"type": "text", "text": request.system}
    # A shorter prefix is never cached; a longer one pays when it is read at least once.
    if is_repeated and estimate_tokens(request.system) >= settings.price.cache_minimum_tokens:
        system["cache_control"] = {"type": "ephemeral"}
    return {
        "model": settings.model,
        "max_tokens": request.max_tokens,
        "system": [system],
        "messages": [{"role": "user", "content": request.content}],
        "output_config": {"format": {"type": "json_schema", "schema": request.schema}},
    }


def _calling(settings: Settings, call: Callable[[Anthropic], T]) -> T:
    """Return the result of a call; raise a failure as ours, without its cause, which may hold the key."""
    credential = settings.credential
    if credential is None:
        raise SetupError("no key is used: see claude-mem status")
    if not (credential.value.isascii() and credential.value.isprintable() and " " not in credential.value):
        raise SetupError(f"{credential.source} contains characters that no key has")
    try:
        import anthropic
        import httpx2  # what the SDK lets through while it reads a batch's results
    except ModuleNotFoundError as error:
        how = with_extras("claude")
        raise SetupError(f"a key needs the package {error.name}: {how}") from None

    for name in ("anthropic", "httpx2", "httpcore2"):  # they log addresses, and bodies when told to
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        # Only the user decides where a request goes: the environment may be a project's, so its base URL,
        # proxy and headers are ignored; its certificates are used.
        os.environ.pop("ANTHROPIC_CUSTOM_HEADERS", None)
        transport = httpx2.HTTPTransport(proxy=None if settings.proxy == keys.NONE else settings.proxy)
        with anthropic.Anthropic(
            base_url=settings.base_url,
            http_client=anthropic.DefaultHttpxClient(transport=transport, trust_env=False),
            api_key=credential.value if credential.kind == "api_key" else None,
            auth_token=credential.value if credential.kind == "auth_token" else None,
            max_retries=0,
            timeout=anthropic.Timeout(TIMEOUT_S, connect=_CONNECT_TIMEOUT_S),
            open_telemetry=False,
        ) as client:
            return call(client)
    except anthropic.APIStatusError as error:
        failure = _status_error(error, credential)
    except anthropic.APIConnectionError as error:
        cause = type(error.__cause__ or error).__name__
        failure = OutageError(f"the API cannot be reached or did not answer in time ({cause})")
    except (anthropic.AnthropicError, httpx2.HTTPError, ValueError, TypeError, AttributeError) as error:
        # A proxy or a login page in between: a body that is no JSON, or JSON that is no message.
        failure = OutageError(f"the API's answer cannot be read ({type(error).__name__})")
    raise failure


def _status_error(error: APIStatusError, credential: Credential) -> ClaudeError:
    said = error.api_message if isinstance(error.api_message, str) else ""
    said = redact(said.replace(credential.value, "[key]"))
    kind = f", {error.type}" if error.type else ""
    message = one_line(f"HTTP {error.status_code}{kind}: {said}", _REASON_CHARS).rstrip(": ")
    if error.status_code == 404:  # noqa: PLR2004 - HTTP's own number
        return NotFoundError(message)
    if error.status_code in _SETUP or error.type == "billing_error":
        return SetupError(message)
    if error.status_code in _PASSING or error.status_code >= 500:  # noqa: PLR2004 - the server's fault
        return OutageError(message, retry_after_s=_retry_after_s(error.response.headers))
    return RejectedError(message)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, given as a number or as a date; None without one."""
    given = headers.get("retry-after", "")
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _answer(message: Message) -> Answer:
    usage = message.usage
    return Answer(
        text="".join(block.text for block in message.content if block.type == "text"),
        stop_reason=str(message.stop_reason),
        input_tokens=int(usage.input_tokens),
        output_tokens=int(usage.output_tokens),
        cache_read_tokens=int(usage.cache_read_input_tokens or 0),
        cache_write_tokens=int(usage.cache_creation_input_tokens or 0),
    )


def _batch_answer(result: MessageBatchResult) -> Answer | ClaudeError:
    if result.type == "succeeded":
        try:
            return _answer(result.message)
        except (ValueError, TypeError, AttributeError):
            return OutageError("an answer of the Message Batch cannot be read")
    if result.type == "errored" and result.error.error.type == "invalid_request_error":
        return RejectedError(one_line(redact(result.error.error.message), _REASON_CHARS))
    return OutageError(f"the request of the Message Batch was {result.type}")

"""Define an export's lines, one JSON object each; check and clean lines that are read.

A line has all fields of its kind's class below, in that order. Times are UTC, as in
`2026-11-21T03:00:25.123456Z`; paths are relative to their project where they lie inside it. The first line is
`{"kind": "claude-mem", "format": 1}`. Then come, each by time and id, sessions, observations, learnings,
failed calls, function changes, call edges that sessions observed (by place), and the ledger of requests.
"""

import datetime as dt
import json
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from claude_mem_lite.capture.clients import CLAUDE_CODE
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Category
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.text import clean

_MOST_CHARS = 100_000
_MOST_LINE_BYTES = 16 << 20
_CLOCKS_APART = dt.timedelta(days=1)  # tolerated between the clocks of two machines


def _told(text: str) -> str:
    return clean(redact(text))


def _past(text: str, info: ValidationInfo) -> str:
    """Refuse text that is not a time, and times in the future, which would stay the newest for ever."""
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("is not a time") from error
    if at > dt.datetime.now(dt.UTC) + (info.context or _CLOCKS_APART):
        raise ValueError("is in the future")
    return text


Time = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"), AfterValidator(_past)
]
Id = Annotated[str, AfterValidator(clean), StringConstraints(min_length=1, max_length=200)]
Word = Annotated[str, StringConstraints(max_length=2_000), AfterValidator(clean)]
Path = Annotated[str, StringConstraints(max_length=5_000), AfterValidator(clean)]
Text = Annotated[str, StringConstraints(max_length=_MOST_CHARS), AfterValidator(_told)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1 << 53)]
Usd = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Head(_Line):
    """The first line, which identifies the file and its format."""

    kind: Literal["claude-mem"] = "claude-mem"
    format: Literal[1] = 1


class Session(_Line):
    """One session; `retold` is the part of the summary that Claude wrote."""

    kind: Literal["session"] = "session"
    id: Id
    project_dir: Path
    branch: Word = ""
    client: Word = CLAUDE_CODE
    started_at: Time
    last_event_at: Time
    ended_at: Time | None
    status: Literal["active", "closed"]
    summary: Text | None
    key_files: list[Path]
    key_decisions: list[Text]
    written_by: Word
    prompt_version: Word | None
    retold: Text | None


class FunctionChanged(_Line):
    """A function that changed in an observation."""

    qualified_name: Word
    kind: Word
    change_type: Word


class Observation(_Line):
    """One observation; `tier` is its priority, "" for prompts and replies."""

    kind: Literal["observation"] = "observation"
    id: Id
    session_id: Id
    project_dir: Path
    branch: Word = ""
    client: Word = CLAUDE_CODE
    tool_name: Word
    title: Text
    summary: Text
    detail: Text | None
    files_touched: list[Path]
    functions_changed: list[FunctionChanged]
    tokens_raw: Count
    tokens_compressed: Count
    created_at: Time
    tier: Literal["", "high", "normal", "low"]
    written_by: Word
    prompt_version: Word | None


class Anchor(_Line):
    """Code that a learning refers to."""

    file: Path
    name: Word
    body_hash: Word


class Guard(_Line):
    """A learning's guard: what the guard hook checks on tool calls; see `capture.guards.Guard`."""

    mode: Literal["remind", "ask"]
    message: Word = ""
    commands: list[Word] = []
    without: list[Word] = []
    needs: list[Word] = []
    allowed: list[Word] = []
    files: list[Path] = []
    texts: list[Word] = []


class Learning(_Line):
    """One learning; with `project_dir` None it holds in all projects."""

    kind: Literal["learning"] = "learning"
    id: Id
    project_dir: Path | None
    category: Category
    content: Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
    confidence: Share
    times_seen: Count
    source_sessions: list[Id]
    observations: list[Id]
    code: list[Anchor]
    is_manual: bool
    is_active: bool
    quarantine: list[Word]
    superseded_by: Id | None
    stale: Text
    kin: list[Id]
    guard: Guard | None = None
    created_at: Time
    updated_at: Time
    seen_at: Time


class Finding(_Line):
    """A failed call; `works` is what worked instead, "" if nothing did."""

    kind: Literal["finding"] = "finding"
    event_id: Id
    project_dir: Path
    session_id: Id
    failed_at: Time
    command: Text
    shape: Text
    error: Text
    signature: Text
    rule: Word
    works: Text
    works_id: Word
    is_cured: bool


class FunctionChange(_Line):
    """A change to a function in a session."""

    kind: Literal["function_change"] = "function_change"
    project_dir: Path
    file_path: Path
    qualified_name: Word
    function_kind: Word
    signature: Text
    change_type: Literal["new", "modified", "deleted"]
    session_id: Word
    observation_id: Id | None
    created_at: Time


class Call(_Line):
    """A call edge that sessions have observed or confirmed."""

    kind: Literal["call"] = "call"
    project_dir: Path
    caller_file: Path
    caller_function: Word
    callee_file: Path
    callee_function: Word
    resolution: Word
    confidence: Share
    times_confirmed: Count
    last_confirmed_at: Time | None
    source: Literal["ast", "observation"]
    session_id: Word
    created_at: Time
    level: Word
    shape: Word
    line: Count
    observation_id: Id | None


class CostData(_Line):
    """The purpose of a request to Claude, with its cost and tokens."""

    purpose: Word = ""
    model: Word = ""
    usd: Usd = 0.0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    captures: Count = 0
    is_batch: bool = False


class Cost(_Line):
    """One entry of the ledger."""

    kind: Literal["cost"] = "cost"
    id: Id
    session_id: Id | None
    data: CostData
    duration_ms: Count | None
    tokens_in: Count | None
    tokens_out: Count | None
    created_at: Time


Line = Head | Session | Observation | Learning | Finding | FunctionChange | Call | Cost
_ADAPTER: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])
KINDS: dict[str, type[BaseModel]] = {
    "session": Session, "observation": Observation, "learning": Learning,
    "finding": Finding, "function_change": FunctionChange, "call": Call, "cost": Cost,
}  # fmt: skip


class WrongLineError(ClaudeMemError):
    """A line does not belong in an export; the message says why, without the line's text."""


def parse(line: bytes, *, clocks_apart: dt.timedelta = _CLOCKS_APART) -> Line:
    """Return a parsed line, cleaned and redacted like captured text. Raises: WrongLineError."""
    if len(line) > _MOST_LINE_BYTES:
        raise WrongLineError(f"is longer than {_MOST_LINE_BYTES >> 20} MiB")
    try:
        return _ADAPTER.validate_json(line, context=clocks_apart)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"][1:]))
        raise WrongLineError(clean(" ".join(f"{where} {first['msg']}".split()))[:200]) from error


def read(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, each cut to at most one byte more than `parse` accepts."""
    while line := file.readline(_MOST_LINE_BYTES + 1):
        yield line
        while len(line) > _MOST_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(_MOST_LINE_BYTES + 1)


def columns(line: Any) -> dict[str, Any]:
    """Return a line's fields under the names and types of the table's columns."""
    found: dict[str, Any] = line.model_dump(exclude={"kind"}, exclude_unset=True)
    if "function_kind" in found:
        found["kind"] = found.pop("function_kind")
    if guard := found.pop("guard", None):
        found["guard"] = json.dumps(guard, ensure_ascii=False)
    return found

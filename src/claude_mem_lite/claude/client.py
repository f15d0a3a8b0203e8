"""Ask Claude through the user's own client and plan: `claude -p`, one request, one answer.

The client gets the prompt on stdin and runs in an empty folder, without tools, hooks or MCP servers; it
stores no session. The user's own settings apply, because it needs them to log in. It adds 0.8 s and 130
tokens to the request, measured with 2.1.197 against an API on loopback. 2.1.330 answers the same way.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zoneinfo
from datetime import datetime, timedelta
from typing import Any

from claude_mem_lite.claude.api import Answer, OutageError, RejectedError, Request, SetupError
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.settings import Settings
from claude_mem_lite.text import one_line

TIMEOUT_S = 120.0
# Our hooks record nothing if this is set.
WRITER = "CLAUDE_MEM_WRITER"
_HANDED_ON = (
    "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "CLAUDE_CONFIG_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_SETUP, _REJECTED = frozenset({401, 402, 403, 404}), frozenset({400, 413, 422})
_REASON_CHARS = 200
# The end of a usage limit in a client's message: a Unix time, or a clock time with its zone.
_AT = re.compile(r"\|(\d{10})\b")
_CLOCK = re.compile(r"resets?(?: at)? (\d{1,2})(?::(\d\d))? ?([ap])m(?: \(([A-Za-z_/+-]+)\))?", re.IGNORECASE)
_LIMIT = re.compile(r"\blimit\b", re.IGNORECASE)
_UNKNOWN_RESET_S = 3_600.0


def ask(request: Request, settings: Settings) -> Answer:
    """Have the client send one request and wait for its answer, two minutes at most.

    Raises:
        OutageError: it did not answer, or the plan's limit is reached, with the time to wait if known.
        SetupError: it is missing, not logged in or too old.
        RejectedError: the API rejects the request.
    """
    path = look(settings)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="claude-mem-") as empty:
        code, out, err = _run(_command(path, request, settings), request, empty, settings.client_config)
    try:
        said = json.loads(out)
    except ValueError:
        said = None
    if not isinstance(said, dict) or "usage" not in said:
        reason = one_line(redact(err or out), _REASON_CHARS)
        if "unknown option" in reason:
            raise SetupError(f"{path} is too old for claude-mem: update it ({reason})")
        raise OutageError(f"{path} -p failed with exit code {code} ({reason or 'it printed nothing'})")
    if said.get("is_error") and said.get("subtype") == "success":
        raise _failure(said)
    return _answer(said, duration_ms=round((time.monotonic() - started) * 1000))


def look(settings: Settings) -> str:
    """Return the path of the client in the settings. Raises: SetupError."""
    path = shutil.which(settings.client)
    if path is None:
        raise SetupError(f"{settings.client} is not a program: claude-mem config set claude.via cli finds it")
    return path


def found() -> str:
    """Return the path of the user's client, for commands typed in a shell. Raises: SetupError."""
    if path := find():
        return path
    raise SetupError("claude is not on the PATH: install Claude Code and log in first")


def find() -> str | None:
    """Return the path of the user's client, on the PATH or where its installer puts it; None for none."""
    folders = [*os.get_exec_path(), *map(os.path.expanduser, ("~/.local/bin", "~/.claude/local"))]
    path = shutil.which("claude", path=os.pathsep.join(folders))
    return path and os.path.abspath(path)


def _command(path: str, request: Request, settings: Settings) -> list[str]:
    return [
        path, "-p", "--model", settings.model, "--system-prompt", request.system,
        "--output-format", "json", "--json-schema", json.dumps(request.schema), "--max-turns", "1",
        "--tools", "", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence",
        "--setting-sources", "user", "--settings", '{"disableAllHooks": true}',
    ]  # fmt: skip


def _run(command: list[str], request: Request, folder: str, config_dir: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of the client; its whole process group is killed at the end."""
    environment = {name: os.environ[name] for name in _HANDED_ON if name in os.environ} | {
        "PATH": os.pathsep.join((os.path.dirname(command[0]), os.defpath)),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_tokens), "MAX_THINKING_TOKENS": "0",
        "CLAUDE_CODE_MAX_RETRIES": "0", WRITER: "1",
        **({"CLAUDE_CONFIG_DIR": config_dir} if config_dir else {}),
    }  # fmt: skip
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise SetupError(f"{command[0]} does not start ({error.strerror})") from None
    with process:
        try:
            out, err = process.communicate(request.content.encode("utf-8", "replace"), timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise OutageError(f"{command[0]} -p did not answer within {TIMEOUT_S:.0f} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _failure(said: dict[str, Any]) -> OutageError | SetupError | RejectedError:
    """Return the error that the client reports, as one of `claude.api`."""
    status, text = said.get("api_error_status"), str(said.get("result", ""))
    reason = one_line(redact(text), _REASON_CHARS)
    if status in _SETUP or "/login" in text:
        return SetupError(reason)
    if status in _REJECTED:
        return RejectedError(reason)
    return OutageError(reason, retry_after_s=reset_s(text, now=time.time()))


def reset_s(text: str, *, now: float) -> float | None:
    """Return in how many seconds a usage limit ends by the client's message; None if it names no limit."""
    if stamp := _AT.search(text):
        return max(0.0, int(stamp[1]) - now)
    if clock := _CLOCK.search(text):
        hour = int(clock[1]) % 12 + 12 * (clock[3].lower() == "p")
        try:
            zone = zoneinfo.ZoneInfo(clock[4]) if clock[4] else None
            today = datetime.fromtimestamp(now, zone).astimezone(zone)
            at = today.replace(hour=hour, minute=int(clock[2] or 0), second=0, microsecond=0)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            return _UNKNOWN_RESET_S
        return ((at if at > today else at + timedelta(days=1)) - today).total_seconds()
    return _UNKNOWN_RESET_S if _LIMIT.search(text) else None


def _answer(said: dict[str, Any], *, duration_ms: int) -> Answer:
    """Return the client's answer; one that took too many turns has no text, but has cost its tokens."""
    shaped, usage = said.get("structured_output"), said["usage"]
    stopped = str(said.get("stop_reason"))
    return Answer(
        text=json.dumps(shaped) if shaped is not None else str(said.get("result") or ""),
        stop_reason="end_turn" if shaped is not None else stopped,
        input_tokens=int(usage.get("input_tokens") or 0),
        output_tokens=int(usage.get("output_tokens") or 0),
        cache_read_tokens=int(usage.get("cache_read_input_tokens") or 0),
        cache_write_tokens=int(usage.get("cache_creation_input_tokens") or 0),
        duration_ms=duration_ms,
    )

"""Run a hook: read the event, scrub it, append it, answer, and exit 0 whatever happens.

Claude Code starts a hook as `python -I -S FILE` and waits for it. So it loads no site-packages, imports only
what it needs, and ends by `os._exit`, which skips the interpreter's cleanup.
"""

from __future__ import annotations

import os
import sys

from claude_mem_lite import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Ask = Callable[[dict[str, str], str], Callable[[], bytes]]

# Claude Code kills a hook after 10 s: an event that takes longer than this is stored without long strings.
REDACTION_S = 4.0
# Cursor also starts Claude Code's hooks, without an argument: its payloads begin with this field.
_CURSORS_FIRST, _FIRST_BYTES = b'"conversation_id"', 64


def run(
    ask: Ask | None = None, at_start: Callable[[], Ask] | None = None, *, redaction_s: float = REDACTION_S
) -> NoReturn:
    """Handle one event and end the process with status 0.

    A hook of another client gets that client's name as its argument. `ask(fields, project_dir)`, with the
    fields of `inbox.parse`, asks for what to print; the function it returns is called after the event is
    stored and waits for the answer. `at_start` returns the `ask` of a session's start, for a client whose
    first prompt brings that. After `redaction_s` long strings are withheld instead of redacted.
    """

    def answer() -> bytes:
        raw = sys.stdin.buffer.read()
        client = (
            sys.argv[1] if len(sys.argv) > 1 else "cursor" if _CURSORS_FIRST in raw[:_FIRST_BYTES] else ""
        )
        if not client:
            return respond(raw, ask, redaction_s)
        from claude_mem_lite.hooks import other_client

        return other_client.respond(
            client,
            raw,
            lambda event, asks, s: respond(event, ask if asks else None, s),
            redaction_s,
            at_start,
        )

    end(answer)


def end(answer: Callable[[], bytes]) -> NoReturn:
    """Print an answer for Claude Code and end the process with status 0, even after an error."""
    try:
        sys.stdout.buffer.write(answer())
        sys.stdout.buffer.flush()
    except BaseException as error:  # noqa: BLE001  (a hook must never disturb the session)
        _log(error)
    os._exit(0)


def respond(raw: bytes, ask: Ask | None = None, redaction_s: float | None = None) -> bytes:
    """Scrub an event, ask for its answer, store it, and return the answer; errors go to the log.

    An event that says nothing is dropped. If the data directory is another user's, who could read it, every
    event is dropped silently; commands refuse such a folder in one line. Only the main thread may pass
    `redaction_s`.
    """
    try:
        if "CLAUDE_MEM_WRITER" in os.environ or config.foreign_memory():
            return b""  # a client that we run to write texts has no session of the user's
        from claude_mem_lite.capture import inbox
        from claude_mem_lite.redaction.events import scrub_as_set

        project, tree, branch = config.place()
        if config.is_off(project, tree):
            return b""
        event = scrub_as_set(raw.decode("utf-8", "replace"), within_s=redaction_s)
        fields, answer = inbox.parse(event), None
        if fields["says_nothing"]:
            return b""
        config.ensure_folder(config.home())
        try:
            # Before the event is stored, so that the web process works meanwhile.
            answer = ask(fields, tree) if ask else None
        except Exception as error:  # noqa: BLE001  (no event is lost for an answer)
            _log(error)
        inbox.append(event, project, fields, work_tree=tree, branch=branch)
        return answer() if answer else b""
    except Exception as error:  # noqa: BLE001  (as above)
        _log(error)
        return b""


def _log(error: BaseException) -> None:
    """Write the type of an error, never the user's text, to the day's log; ignore a failure to do so."""
    try:
        from claude_mem_lite.capture.inbox import utc_now

        now, hook = utc_now(), os.path.basename(sys.argv[0])
        line = (
            f'{{"at": "{now}", "level": "ERROR", "logger": "{hook}", "message": "{type(error).__name__}"}}\n'
        )
        config.ensure_folder(config.home())
        config.ensure_folder(config.log_dir())
        with open(os.path.join(config.log_dir(), f"hooks.jsonl.{now[:10]}"), "a", encoding="utf-8") as log:
            log.write(line)
    except Exception:  # noqa: BLE001, S110  (as above; the folder may be another user's)
        pass

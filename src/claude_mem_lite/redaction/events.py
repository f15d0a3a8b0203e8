"""Turn a hook event into what may be stored: no secrets, no private passages, no ignored files, bounded size.

Hooks load this module for every event, so it imports the modules that redact only for an event that needs
them.
"""

from __future__ import annotations

from claude_mem_lite.redaction.vocabulary import IGNORED_FILES, IgnoredFiles, Looks, TooMuchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EDITORS = ("Read", "Write", "Edit", "MultiEdit")
_TOOLS = {
    **dict.fromkeys(_EDITORS, ("file_path",)),
    "Bash": ("command", "description"),
}  # fmt: skip
_ODD_ESCAPES = ("\\u002", "\\u003", "\\u004", "\\u005", "\\u006", "\\u007", "\\ud", "\\uD")

_LISTERS = ("grep", "rg ", "ag ", "git ", "diff ")  # commands that name files in their output
# Budgets of looks at places where a secret may stand, about 10 µs each: to detect one, to remove all.
_GLANCES, _MOST_LOOKS = 3_000, 15_000


class OutOfTimeError(Exception):
    """The time allowed for an event is over."""


def scrub(
    event: str,
    *,
    max_chars: int = 512 * 1024,
    ignored: tuple[str, ...] = IGNORED_FILES,
    within_s: float | None = None,
) -> str:
    """Return the JSON text of one hook event as it may be stored: nothing secret, at most `max_chars` long.

    An event that needs no redaction is returned unchanged and unparsed. In any other, secrets, `<private>`
    passages that the user or Claude wrote and the contents of `ignored` files are replaced by
    `[redacted: what]`; the longest strings are cut in the middle until the text fits `max_chars` (at least
    a few thousand). Long strings are withheld instead when secrets might stand in too many places, or when
    the work takes longer than `within_s`: a timer signal ends it, so only the main thread may pass that.

    Raises: ValueError when an event that has to be parsed is no JSON object, or is nested too deep.
    """
    try:
        return _in_time(within_s, lambda: _scrub(event, max_chars, ignored, _MOST_LOOKS))
    except (TooMuchError, OutOfTimeError):
        from claude_mem_lite.redaction.strings import loads, without_long

        return _scrub(without_long(loads(event)), max_chars, ignored, float("inf"))
    except RecursionError:
        raise ValueError("a hook event nested too deep to be read") from None


def _in_time(seconds: float | None, work: Callable[[], str]) -> str:
    """Return what `work` returns; call it in the main thread. Raises: OutOfTimeError after `seconds`."""
    if seconds is None:
        return work()
    # The C module, which is always loaded; importing `signal` costs a hook 10 ms.
    import _signal as signal  # type: ignore[import-not-found]

    def stop(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _scrub(event: str, max_chars: int, ignored: tuple[str, ...], most_looks: float) -> str:
    marks = None
    if len(event) <= max_chars:
        from claude_mem_lite.redaction.marks import find_marks

        marks = find_marks(event)
        if not marks and not _is_suspicious(event, ignored):
            return event
    from claude_mem_lite.redaction import strings
    from claude_mem_lite.redaction.contents import without_ignored, without_private, without_private_talk
    from claude_mem_lite.redaction.printers import without_output

    looks = Looks(most_looks)
    tree = strings.loads(event)
    has_private = "\\u" in event or "<private" in event.lower()
    if has_private:
        tree = without_private(tree)
    tree = strings.narrowed(tree, max_chars)
    for call in _calls(tree):
        if has_private:
            call.update(without_private_talk(call))
        call.update(without_output(call))
        call.update(without_ignored(call, IgnoredFiles(ignored, looks)))
    marks = None if marks is None or _hides_letters(event) else marks
    return strings.fitted(strings.without_secrets(tree, looks, marks), max_chars)


def _calls(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls of an event: the event itself, and those of a batch."""
    calls = tree.get("tool_calls")
    return [tree, *(call for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict))]


def scrub_as_set(event: str, *, within_s: float | None = None) -> str:
    """Return `scrub(event)` with the size limit and ignored files of the settings. Raises: ValueError."""
    from claude_mem_lite import config

    max_chars, ignored = config.capture_limits()
    return scrub(event, max_chars=max_chars, ignored=(*IGNORED_FILES, *ignored), within_s=within_s)


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by `[redacted: kind]`."""
    from claude_mem_lite.redaction.strings import without_secrets

    return str(without_secrets(text.encode("utf-8", "replace").decode(), Looks()))


def _hides_letters(event: str) -> bool:
    """Tell whether a printable character, or half of a surrogate pair, is written as an escape."""
    return "\\u" in event and any(escape in event for escape in _ODD_ESCAPES)


def _is_suspicious(event: str, ignored: tuple[str, ...]) -> bool:
    from claude_mem_lite.redaction.scanner import escaped_names, values_in

    looks = Looks(_GLANCES)
    try:
        if "\\u" in event and (_hides_letters(event) or any(name in event for name in escaped_names())):
            return True
        files = IgnoredFiles(ignored, looks)
        return any(values_in(event, looks)) or _prints_secret(event) or _names_file(event, files)
    except TooMuchError:
        return True


def _prints_secret(event: str) -> bool:
    """Tell whether a call may run a command whose output is a secret."""
    if '"tool_calls"' in event:
        return True
    command = _field(event, "command")
    if not command:
        return False
    from claude_mem_lite.redaction.printers import printer_of

    for escape, char in (("\\\\", "\0"), ('\\"', '"'), ("\\n", "\n"), ("\\t", "\t"), ("\0", "\\")):
        command = command.replace(escape, char)
    return printer_of(command) != ""


def _names_file(event: str, ignored: IgnoredFiles) -> bool:
    """Tell whether a call may show an ignored file or a passage marked as private."""
    tool = _field(event, "tool_name")
    if tool in _TOOLS:
        fields = [_field(event, name) for name in _TOOLS[tool]]
        written = fields[-1]
    else:
        at = event.find('"tool_input"') if tool else -1
        fields = [event[at : event.find('"tool_response"', at)] if at >= 0 else ""]
        written = event
    if "<private" in written.lower():
        return True
    text = event if _lists_files(event, tool, fields[0]) else " ".join(fields)
    for escape in ("\\n", "\\r", "\\t"):
        text = text.replace(escape, "  ")
    return bool(ignored.mentioned(text))


def _lists_files(event: str, tool: str, given: str) -> bool:
    """Tell whether the output of a call may name files, or the event holds several calls."""
    if tool == "Grep" or (tool and '"tool_calls"' in event[: event.find('"tool_name"')]):
        return True
    return tool not in _EDITORS and any(lister in given for lister in _LISTERS)


def _field(event: str, name: str) -> str:
    """Return the first string under the key `name` in JSON text, with its escapes unchanged."""
    at = event.find(f'"{name}"')
    start = event.find('"', event.find(":", at)) + 1 if at >= 0 else 0
    end = event.find('"', start)
    while start and end > 0 and event[end - 1] == "\\":
        end = event.find('"', end + 1)
    return event[start:end] if start else ""

"""Print the state of the installation: the body of `status`, without Typer and rich."""

import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.terminal import pairs, say, style
from claude_mem_lite.cli.text import age, printable, size

_COUNTS = (
    ("by_claude", "written"), ("waiting", "waiting"), ("in_batch", "in a batch"), ("error", "turned down"),
)  # fmt: skip


def show(found: dict[str, Any]) -> None:
    """Print the state of the installation, then what is wrong with it."""
    for line in pairs(_rows(found)):
        say(line)
    for row in found["last_errors"]:
        what = f"{row['id'][:8]} {printable(row['tool_name'])}: {printable(row['note'] or '')}"
        say(f"{style('error', 'wrong')} {what} → {row['cure']}")
    for problem in found["problems"]:
        say(f"{style('!', 'careful')} {problem}")


def _rows(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the table: name, value, style."""
    yield "version", found["version"], ""
    yield "data", printable(found["home"]), ""
    yield from _services(found)
    if queue := found["queue"]:
        oldest = queue["oldest_raw"]
        waiting = f", the oldest from {age(oldest, time.time())}" if oldest else ""
        yield "queue", f"{queue['raw']} waiting{waiting}, {queue['done']} done, {queue['error']} in error", ""
    if memory := found["memory"]:
        yield "memory", f"{memory['observations']} observations, {memory['sessions']} sessions", ""
    if counts := found["learnings"]:
        waiting = f", {counts['quarantine']} waiting for you: claude-mem learnings list -a --quarantine"
        yield "learnings", f"{counts['active']} known{waiting if counts['quarantine'] else ''}", ""
    for name, tell in _TOLD.items():
        if found[name]:
            yield name, printable(tell(found[name])), ""
    if found["claude"]:
        yield "key", printable(found["claude"]["about_key"]), ""
    if kept := [f"{name} {size(number)}" for name, number in found["bytes"].items() if number]:
        yield "sizes", ", ".join(kept), ""
    yield from _hooks(found)


def _services(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each service, or a single row if they are sleeping."""
    if found["sleeping"]:
        yield "services", "sleeping, they start with your next session", ""
        return
    for name, service in found["services"].items():
        if service["state"] == "RUNNING":
            yield name, f"running, pid {service['pid']}, {service['uptime_s']} s", ""
        else:
            yield name, service["state"].lower(), "careful"


def _hooks(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the rows about Claude Code's hooks and those of other clients."""
    run_by = printable(", ".join(found["hooks_run_by"]))
    origin = printable(f" of the plugin {found['plugin']}") if found["plugin"] else ""
    told = f"{len(found['hooks'])} events{origin}, run by {run_by}"
    yield ("hooks", told, "") if run_by else ("hooks", "not installed", "careful")
    for name, events in found["clients"].items():
        if events:
            yield name, f"{len(events)} events", ""


def _found_by(search: dict[str, Any]) -> str:
    """Describe search: the model and how much is embedded, or why it is by full text alone."""
    if search["problem"]:
        return f"full text alone: {search['problem']}"
    named = "" if search["setting"] == search["model"] else f" ({search['setting']})"
    embedded = f"{search['model']}{named}, {search['embedded']} of {search['total']} embedded"
    return embedded if search["loaded"] is not None else f"full text alone until web runs; {embedded}"


def _told(claude: dict[str, Any]) -> str:
    """Describe Claude's rewriting: model and key, what waits, today's cost, and any pause."""
    waits = [f"{claude[name]} {word}" for name, word in _COUNTS if claude[name]]
    cost = f"${claude['spent_today_usd']:.4f} of ${claude['daily_budget_usd']:.2f} today"
    if not claude["key"]:
        return ", ".join(["not asked, the rules write", *waits])
    paused = claude["paused"]
    until = f"paused until {inbox.utc_text(paused['until'])[11:16]} UTC" if paused else ""
    return ", ".join(filter(None, [f"{claude['model']} ({claude['key']})", *waits, cost, until]))


_TOLD: dict[str, Callable[[Any], str]] = {
    "rebuild": itemgetter("told"),
    "moved": lambda moved: f"{moved['from']} is now {moved['to']}: its memory moved with it",
    "search": _found_by,
    "claude": _told,
    "spooled": "{} events wait for the consumer".format,
    "lost": "{} events for good: neither queue.db nor the spool could be written".format,
}

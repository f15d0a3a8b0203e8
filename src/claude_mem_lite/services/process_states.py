"""Find out which services run, and which code, with few imports: `status` waits for them.

supervisord is called over its unix socket with the standard library alone: supervisor's own transport and
xmlrpc.client load ssl, email and http.client, which takes longer than most commands as a whole.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

from claude_mem_lite import config, installed
from claude_mem_lite.services import agents, instance
from claude_mem_lite.services.programs import NAMES

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
else:
    import _socket as socket  # as in `capture.client`

_ANSWER_S = 10.0
_REQUEST = "POST /RPC2 HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{body}"


class Program(NamedTuple):
    """A service as supervisord sees it: `state` is its word (RUNNING, STARTING, BACKOFF, …) or DOWN."""

    name: str
    state: str
    pid: int | None
    uptime_s: int


def programs() -> list[Program]:
    """Return both services with their state, by supervisord or, under launchd or systemd, by their locks."""
    if agents.installed():
        return [_unsupervised(name) for name in NAMES]
    known = {row["name"]: row for row in ask("getAllProcessInfo") or []}
    found = []
    for name in NAMES:
        row = known.get(name)
        if row is None:
            found.append(Program(name, "DOWN", None, 0))
        else:
            running = row["statename"] == "RUNNING"
            uptime_s = row["now"] - row["start"] if running else 0
            found.append(Program(name, row["statename"], row["pid"] or None, uptime_s))
    return found


def _unsupervised(name: str) -> Program:
    pid = instance.pid_of(name) if instance.is_running(name) else None
    return Program(name, "RUNNING" if pid else "DOWN", pid, instance.uptime_s(name) if pid else 0)


def outdated() -> list[str]:
    """Return the services that run code other than this installation's."""
    running = [name for name in NAMES if instance.is_running(name)]
    if not running:
        return []
    code = installed.expected() or installed.started()
    return [name for name in running if instance.code_of(name) != code]


def told_of(old: list[str]) -> str:
    """Describe in words what is wrong with outdated services."""
    run = "run" if len(old) > 1 else "runs"
    return f"{' and '.join(old)} {run} other code than this installation, {installed.PACKAGE}"


def ask(method: str, *arguments: str | bool) -> Any:
    """Call a method of supervisord; None if it does not run, False if it refuses, as while it shuts down."""
    try:
        return _answer(method, arguments)
    except OSError:
        return None


def _answer(method: str, arguments: Sequence[str | bool]) -> Any:
    """Return the result of a method, False for a fault. Raises: OSError: no answer, or an invalid one."""
    values = "".join(f"<param><value>{_written(each)}</value></param>" for each in arguments)
    body = (
        "<?xml version='1.0'?>"
        f"<methodCall><methodName>supervisor.{method}</methodName><params>{values}</params></methodCall>"
    )
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(_ANSWER_S)
        connection.connect(f"{config.home()}/supervisor.sock")
        connection.sendall(_REQUEST.format(length=len(body.encode()), body=body).encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, text = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise OSError(f"supervisord answered {head[:80]!r}")
    try:
        told = ET.fromstring(text)  # noqa: S314  (of our own supervisord, on our own socket)
        if told.find("fault") is not None:
            return False
        return _read(told.find("params/param/value"))
    except (ET.ParseError, ValueError, KeyError) as error:
        raise OSError(f"supervisord answered no XML-RPC ({error})") from error


def _written(value: str | bool) -> str:  # noqa: FBT001  (a value of any of both)
    if isinstance(value, bool):
        return f"<boolean>{int(value)}</boolean>"
    # xml.sax.saxutils would load urllib.request and ssl.
    return f"<string>{value.replace('&', '&amp;').replace('<', '&lt;')}</string>"


def _read(value: ET.Element | None) -> Any:
    if value is None:
        raise ValueError("no value")
    if not len(value):  # a text without a type is a string
        return value.text or ""
    kind = value[0]
    if kind.tag == "array":
        return [_read(each) for each in kind.iterfind("data/value")]
    if kind.tag == "struct":
        return {each.findtext("name", ""): _read(each.find("value")) for each in kind.iterfind("member")}
    return _KINDS[kind.tag](kind.text or "")


_KINDS: dict[str, Callable[[str], Any]] = {
    "string": str, "int": int, "i4": int, "i8": int, "double": float, "nil": lambda _: None,
    "boolean": lambda text: text.strip() == "1",
}  # fmt: skip

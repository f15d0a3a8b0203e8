"""Call supervisord over its unix socket with the standard library alone.

supervisor's own transport and xmlrpc.client load ssl, email and http.client, in more time than most commands
take in all.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
else:
    import _socket as socket  # as in `capture.client`

_REQUEST = "POST /RPC2 HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{body}"


class FaultError(Exception):
    """Supervisord refuses the call."""


def call(path: str, method: str, *arguments: str | bool, timeout_s: float) -> Any:
    """Return what a method of supervisord's answers.

    Raises:
        FaultError: it refuses.
        OSError: nobody answers, or with something else than an answer.
    """
    values = "".join(f"<param><value>{_written(each)}</value></param>" for each in arguments)
    body = (
        "<?xml version='1.0'?>"
        f"<methodCall><methodName>supervisor.{method}</methodName><params>{values}</params></methodCall>"
    )
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(timeout_s)
        connection.connect(path)
        connection.sendall(_REQUEST.format(length=len(body.encode()), body=body).encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, text = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise OSError(f"supervisord answered {head[:80]!r}")
    try:
        told = ET.fromstring(text)  # noqa: S314  (of our own supervisord, on our own socket)
        if told.find("fault") is not None:
            raise FaultError(method)
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

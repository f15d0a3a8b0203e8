"""Make up texts of sixty kinds that resemble secrets: hashes, identifiers, placeholders, code, prose.

Redaction must leave them unchanged. The forms are in `data/look_alikes.jsonl`; "@" with a name in `_FILLS`
stands for a value from a seed. The rules were fitted to `forms`; the `held_out` forms were not used for it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import string
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Fill = Callable[[Random], str]

_DIGITS = string.digits
_ALNUM, _HEX = string.ascii_letters + _DIGITS, "0123456789abcdef"
_STEMS = (
    "order",
    "customer",
    "invoice",
    "session",
    "profile",
    "report",
    "payment",
    "search",
    "upload",
    "render",
    "account",
    "release",
    "widget",
    "parser",
    "window",
    "cluster",
    "buffer",
    "schema",
)


def look_alike(kind: str, rng: Random, *, held_out: bool | None = None) -> str:
    """Return a new text of `kind` in one of the first forms, the held-out forms, or (None) all forms."""
    first, second = _KINDS[kind]["forms"], _KINDS[kind]["held_out"]
    forms = (*first, *second) if held_out is None else second if held_out else first
    return _filled(rng.choice(forms), rng)


def _filled(form: str, rng: Random) -> str:
    parts, rest = [], form
    while "@" in rest:
        before, _, rest = rest.partition("@")
        name = next((name for name in sorted(_FILLS, key=len, reverse=True) if rest.startswith(name)), "")
        parts += [before, _FILLS[name](rng) if name else "@"]
        rest = rest[len(name) :]
    return "".join([*parts, rest])


def _some(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _hex(length: int) -> Fill:
    return lambda rng: _some(rng, _HEX, length)


def _uuid(rng: Random) -> str:
    text = _some(rng, _HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _base64(count: int) -> Fill:
    return lambda rng: base64.b64encode(rng.randbytes(count)).decode()


def _words(joint: str, count: int) -> Fill:
    return lambda rng: joint.join(rng.choices(_STEMS, k=count))


def _camel(rng: Random) -> str:
    first, *rest = rng.choices(_STEMS, k=5)
    return first + "".join(word.title() for word in rest)


def _iban(rng: Random) -> str:
    account = _some(rng, _DIGITS, 18)
    check = 98 - int(account + "131400") % 97
    text = f"DE{check:02}{account}"
    return text if rng.random() < 0.5 else " ".join(text[at : at + 4] for at in range(0, 22, 4))


def _armoured(label: str, count: int) -> Fill:
    def make(rng: Random) -> str:
        body = base64.b64encode(rng.randbytes(count)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])

    return make


def _ssh_key(rng: Random) -> str:
    head = b"\0\0\0\x0bssh-ed25519\0\0\0 "
    return "ssh-ed25519 " + base64.b64encode(head + rng.randbytes(32)).decode()


def _minified(rng: Random) -> str:
    names = [_some(rng, string.ascii_letters, rng.randint(1, 2)) for _ in range(12)]
    calls = ";".join(
        f"{a}.{b}=function({c}){{return {c}.{a}}}"
        for a, b, c in zip(names, names[3:], names[5:], strict=False)
    )
    return f"!function(e,t){{{calls}}}(this,{{key:{names[0]},token:{names[1]}.next()}});"


_FILLS: dict[str, Fill] = {
    "HEX7": _hex(7),
    "HEX16": _hex(16),
    "HEX32": _hex(32),
    "HEX40": _hex(40),
    "HEX64": _hex(64),
    "HEX6": _hex(6),
    "UUID": _uuid,
    "B32": _base64(32),
    "B64": _base64(64),
    "B20": _base64(20),
    "IMG": _base64(150),
    "N4": lambda rng: _some(rng, _DIGITS, 4),
    "N10": lambda rng: _some(rng, "123456789", 10),
    "N18": lambda rng: "1" + _some(rng, _DIGITS, 17),
    "N2": lambda rng: str(rng.randint(10, 28)),
    "N1": lambda rng: str(rng.randint(1, 9)),
    "WORD": _words("", 1),
    "KEBAB": _words("-", 4),
    "SNAKE": _words("_", 4),
    "PATH": _words("/", 4),
    "CAMEL": _camel,
    "CONST": lambda rng: _words("_", 3)(rng).upper(),
    "IBAN": _iban,
    "DNA": lambda rng: _some(rng, "ACGT", 60),
    "MIN": _minified,
    "PUB": _armoured("PUBLIC KEY", 290),
    "CERT": _armoured("CERTIFICATE", 700),
    "PGPPUB": _armoured("PGP PUBLIC KEY BLOCK", 300),
    "SSH": _ssh_key,
    "MIXED8": lambda rng: _some(rng, _ALNUM, 8),
    "MIXED11": lambda rng: _some(rng, _ALNUM + "-_", 11),
    "MD5": lambda rng: hashlib.md5(rng.randbytes(4), usedforsecurity=False).hexdigest(),
    "LOW5": lambda rng: _some(rng, "bcdfghjklmnpqrstvwxz2456789", 5),
    "UP26": lambda rng: "01" + _some(rng, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24),
}

_KINDS = {
    row["kind"]: row
    for row in map(
        json.loads, (Path(__file__).parent / "data" / "look_alikes.jsonl").read_text().splitlines()
    )
}
KINDS = tuple(_KINDS)

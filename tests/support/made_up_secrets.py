"""Secrets made at run time, so that the repository contains none, and events that may hold them."""

import base64
import hashlib
import json
from typing import Any

RANDOM = "k7Gx2QpL9vTz4RmW8sYb3NcJ6hFd1KaUeXw5oViS0tEyPqZuCrMjHlBnAgDf"
HEX = hashlib.sha256(b"claude-mem").hexdigest()
BODY = [base64.b64encode(bytes([number]) * 48).decode() for number in range(1, 5)]


def jwt() -> str:
    """Return a JSON Web Token of three parts."""
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"someone","exp":1}')
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "." + RANDOM[:43]


def pem(*, end: bool = True, prefix: str = "", label: str = "RSA PRIVATE KEY") -> str:
    """Return a private key block with `prefix` before each line."""
    lines = [f"-----BEGIN {label}-----", *BODY, *([f"-----END {label}-----"] if end else [])]
    return "\n".join(prefix + line for line in lines)


SECRETS = {
    "aws key": "AKIA" + RANDOM[:20].upper()[:16],
    "google key": "AI" + "za" + RANDOM[:35],
    "github token": "gh" + "p_" + RANDOM[:36],
    "gitlab token": "gl" + "pat-" + RANDOM[:20],
    "slack token": "xo" + "xb-1234567890-1234567890-" + RANDOM[:24],
    "stripe key": "sk" + "_live_" + RANDOM[:24],
    "api key": "sk-" + "ant-api03-" + RANDOM[:40],
    "npm token": "np" + "m_" + RANDOM[:36],
    "pypi token": "py" + "pi-AgEIcHlwaS5vcmc" + RANDOM,
    "hugging face token": "h" + "f_" + RANDOM[:34],
    "sendgrid key": "SG" + "." + RANDOM[:22] + "." + RANDOM[:43],
    "jwt": jwt(),
    "service key": "hv" + "s." + RANDOM[:24],
    "service token": "gs" + "k_" + RANDOM[:52],
}


def event(**fields: Any) -> str:
    """Return the JSON text of an event as Claude Code writes it."""
    return json.dumps({"session_id": "s", **fields}, ensure_ascii=False, separators=(",", ":"))

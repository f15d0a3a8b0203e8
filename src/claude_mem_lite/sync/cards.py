"""Write and read the card of a machine at a hub: its name, its key, and proof that it knows the code."""

import datetime as dt
import json

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync import signing

FILE = "machine.json"
_MOST_BYTES = 4_096
_MOST_SAID = 40


class WrongCardError(ClaudeMemError):
    """A card is invalid, or its machine does not know the code."""


def write(name: str, code: str) -> bytes:
    """Return this machine's card."""
    public = signing.public_key()
    return json.dumps({
        "name": name, "key": public, "proof": signing.proof(code, public),
        "since": dt.datetime.now(dt.UTC).date().isoformat(),
    }).encode()  # fmt: skip


def read(data: bytes, machine: str, code: str) -> tuple[str, str]:
    """Return the name and the public key on a machine's card. Raises: WrongCardError."""
    try:
        card = json.loads(data[:_MOST_BYTES])
        name, public, proof = (str(card[key]) for key in ("name", "key", "proof"))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WrongCardError(f"the card of {machine} cannot be read") from error
    if signing.machine_of(public) != machine or not signing.is_proof(proof, code, public):
        raise WrongCardError(f"{machine} calls itself {name[:_MOST_SAID]!r} and does not have your code")
    return name, public

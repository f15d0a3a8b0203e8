"""Sign what a machine publishes and verify what others do, by an Ed25519 key each and a code of the user.

A machine's id is the digest of its public key, so nobody can publish in another's name without its private
key. A machine proves that it is yours by the code, which is on no hub.
"""

import hashlib
import hmac
import os

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.installed import with_extras

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
except ImportError as _error:
    raise ClaudeMemError(f"sync signs with cryptography: {with_extras('sync')}") from _error

_CODE_BYTES = 16


def ensure() -> str:
    """Create this machine's key unless it exists, readable by the user alone; return the machine's id."""
    if not os.path.exists(_path()):
        config.ensure_home()
        private = Ed25519PrivateKey.generate()
        config.replace_file(_path(), private.private_bytes_raw().hex().encode(), mode=0o600)
    return machine_of(public_key())


def delete() -> None:
    """Delete this machine's key."""
    if os.path.exists(_path()):
        os.unlink(_path())


def public_key() -> str:
    """Return this machine's public key."""
    return _private().public_key().public_bytes_raw().hex()


def machine_of(public: str) -> str:
    """Return the id of the machine that has a public key."""
    return hashlib.sha256(public.encode()).hexdigest()[:16]


def sign(data: bytes) -> str:
    """Return this machine's signature of some bytes."""
    return _private().sign(data).hex()


def is_signed(data: bytes, signature: str, public: str) -> bool:
    """Tell whether the owner of a public key has signed some bytes."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), data)
    except (ValueError, InvalidSignature):
        return False
    return True


def new_code() -> str:
    """Return a code that no one else can guess."""
    return os.urandom(_CODE_BYTES).hex()


def proof(code: str, public: str) -> str:
    """Return the proof that the owner of a public key knows a code."""
    return hmac.new(code.encode(), public.encode(), hashlib.sha256).hexdigest()


def is_proof(given: str, code: str, public: str) -> bool:
    """Tell whether a proof is valid for a code and a public key."""
    return hmac.compare_digest(given.encode(), proof(code, public).encode())


def _private() -> Ed25519PrivateKey:
    try:
        with open(_path(), encoding="ascii") as file:
            return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read()))
    except (OSError, ValueError) as error:
        said = f"this machine's key cannot be read ({error}): claude-mem sync leave, then sync init again"
        raise ClaudeMemError(said) from error


def _path() -> str:
    return os.path.join(config.home(), "sync.key")

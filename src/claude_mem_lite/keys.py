"""Choose the API key for requests to Claude: one that the user has agreed to, outside of any session.

An environment variable does not show who set it: a project's settings put theirs into every process of a
session, and so into the hooks that start the services. A variable is therefore used only if the user has
named it, by `[claude] api_key_from` or `up --with-key`, and only with the value that it had in their own
shell at that time. The data directory keeps a salted hash of that value.

Standard library only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError

KINDS = {"ANTHROPIC_API_KEY": "api_key", "ANTHROPIC_AUTH_TOKEN": "auth_token"}
NONE = "none"
IN_CONFIG = "config.toml"
WITH_KEY = "up --with-key"
CLIENT = "claude -p"

# A hook sets this variable for the `up` that it runs.
STARTED_BY = "CLAUDE_MEM_STARTED_BY"
# Claude Code sets these variables for every process that it starts.
_SESSION = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", STARTED_BY)
# Variables in which `up --with-key` passes the key's name and the base URL to the consumer.
_HANDED_FROM, _HANDED_URL = "CLAUDE_MEM_KEY_FROM", "CLAUDE_MEM_BASE_URL"
_handed: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Credential:
    """An API key and where it was found; its repr does not show the value."""

    kind: str
    source: str
    value: str = field(repr=False)


def refuse_session(what: str) -> None:
    """Raise ClaudeMemError in a process that a session of Claude Code has started."""
    if in_session():
        raise ClaudeMemError(
            f"{what} is for you to decide: run this command in your own shell, outside of Claude Code"
        )


def in_session() -> bool:
    """Tell whether a session of Claude Code has started this process, perhaps on behalf of a project."""
    return any(name in os.environ for name in _SESSION)


def about(source: str, variable: str) -> str:
    """Return one line that says which key is used for Claude and how to change that.

    `source` is a credential's, "" without one; `variable` is the value of `[claude] api_key_from`.
    """
    if source == IN_CONFIG:
        return "Claude writes, with the key in config.toml; to stop that: remove [claude] api_key there"
    if source == WITH_KEY:
        return "Claude writes, with the key of claude-mem up --with-key, until the services stop"
    if source == CLIENT:
        return (
            "Claude writes, through claude -p, on your plan; "
            "to stop that: claude-mem config set claude.via off"
        )
    set_to = "claude-mem config set claude.api_key_from"
    if variable == NONE:
        return f"no key is used; to let Claude write with yours: {set_to} ANTHROPIC_API_KEY"
    if source == variable:
        return f"Claude writes, with the key in {variable}; to stop that: {set_to} none"
    return (
        f"no key is used: {variable} was not set, or not to the key that you agreed to; "
        "to agree to the key set in your shell, run there: claude-mem up"
    )


def of_variable(variable: str) -> Credential | None:
    """Return the key in an environment variable, if the user has agreed to exactly that key."""
    value = os.environ.get(variable, "").strip()
    salt, agreed = _agreed().get(variable, ("", ""))
    if not value or _hash(value, salt) != agreed:
        return None
    return Credential(KINDS[variable], variable, value)


def agree(variable: str) -> bool:
    """Record that the user has agreed to the key in a variable; return whether that key is new.

    Call this only for a command that the user typed. It does nothing if the variable is not set.
    """
    value = os.environ.get(variable, "").strip()
    if not value or of_variable(variable):
        return False
    salt = os.urandom(16).hex()
    noted = {**_agreed(), variable: (salt, _hash(value, salt))}
    config.ensure_folder(config.home())
    with open(os.open(_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.writelines(f"{name} {salt} {hashed}\n" for name, (salt, hashed) in noted.items())
    return True


def forget() -> None:
    """Withdraw the user's agreement to all keys."""
    if os.path.exists(_path()):
        os.unlink(_path())


def named() -> str:
    """Return the variable from which `up --with-key` takes the key: the first that is set, "" for none."""
    return next((name for name in KINDS if os.environ.get(name, "").strip()), "")


def to_hand_over(variable: str) -> dict[str, str]:
    """Return the environment variables, besides the key, that `up --with-key` sets for the consumer."""
    return {_HANDED_FROM: variable, _HANDED_URL: os.environ.get("ANTHROPIC_BASE_URL", "")}


def take_over() -> None:
    """Read and remove what `up --with-key` passed; only for the consumer, whose environment `up` creates."""
    _handed.update(variable=os.environ.pop(_HANDED_FROM, ""), base_url=os.environ.pop(_HANDED_URL, ""))


def handed_over() -> tuple[str, str]:
    """Return the key's variable and the base URL that `up --with-key` passed; "" if it passed none."""
    return _handed.get("variable", ""), _handed.get("base_url", "")


def _agreed() -> dict[str, tuple[str, str]]:
    """Return the salts and hashes of the keys that the user has agreed to, by variable."""
    try:
        with open(_path(), encoding="ascii") as file:
            rows = [line.split() for line in file]
    except (OSError, ValueError):
        return {}
    return {name: (salt, hashed) for name, salt, hashed in (row for row in rows if len(row) == 3)}  # noqa: PLR2004


def _hash(value: str, salt: str) -> str:
    import hashlib

    return hashlib.sha256(f"{salt}{value}".encode()).hexdigest()


def _path() -> str:
    return os.path.join(config.home(), "key.sha256")

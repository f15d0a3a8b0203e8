"""Choose the key that may ask Claude: one that the user has agreed to, outside of any session.

A variable of the environment does not tell who has set it: a project's settings put theirs into every
process of a session, and so into the hooks that start the services. So a variable is used only where the
user has named it, by `[claude] api_key_from` or `up --with-key`, and only with the value that it had in
their own shell then. The data directory keeps a salted hash of that value.

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

# A hook sets it for the `up` that it runs.
STARTED_BY = "CLAUDE_MEM_STARTED_BY"
# Claude Code sets these for whatever it starts.
_SESSION = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", STARTED_BY)
# What `up --with-key` hands to the consumer.
_HANDED_FROM, _HANDED_URL = "CLAUDE_MEM_KEY_FROM", "CLAUDE_MEM_BASE_URL"
_handed: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Credential:
    """A key for the API, and where it was found; its value shows in no repr."""

    kind: str
    source: str
    value: str = field(repr=False)


def refuse_session(what: str) -> None:
    """Raise ClaudeMemError in a process that a session of Claude Code has started."""
    if in_session():
        raise ClaudeMemError(
            f"{what} is yours to decide: type it in a shell of your own, outside of Claude Code"
        )


def in_session() -> bool:
    """Tell whether a session of Claude Code has started this process, maybe for a project's purposes."""
    return any(name in os.environ for name in _SESSION)


def about(source: str, variable: str) -> str:
    """Return in one line which key asks Claude, and how to change that.

    `source` is a credential's, "" for none; `variable` is what `[claude] api_key_from` names.
    """
    if source == IN_CONFIG:
        return "Claude writes, with the key in config.toml; without [claude] api_key there it does not"
    if source == WITH_KEY:
        return "Claude writes, with the key of claude-mem up --with-key, until the services stop"
    if source == CLIENT:
        return (
            "Claude writes, through claude -p, on your plan; claude-mem config set claude.via off ends that"
        )
    set_to = "claude-mem config set claude.api_key_from"
    if variable == NONE:
        return f"no key is used; {set_to} ANTHROPIC_API_KEY has Claude write, with yours"
    if source == variable:
        return f"Claude writes, with the key in {variable}; {set_to} none ends that"
    return (
        f"no key is used: {variable} was not set, or not to the key that you agreed to; "
        "claude-mem up, typed in a shell of yours, agrees to the one that is set there"
    )


def of_variable(variable: str) -> Credential | None:
    """Return the key in a variable of the environment, if the user has agreed to that very key."""
    value = os.environ.get(variable, "").strip()
    salt, agreed = _agreed().get(variable, ("", ""))
    if not value or _hash(value, salt) != agreed:
        return None
    return Credential(KINDS[variable], variable, value)


def agree(variable: str) -> bool:
    """Note that the user has agreed to the key in a variable; return whether it is another one than before.

    To be called for what the user has typed. Does nothing where the variable is not set.
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
    """Take back what the user has agreed to."""
    if os.path.exists(_path()):
        os.unlink(_path())


def named() -> str:
    """Return the variable that `up --with-key` takes the key from: the first that is set."""
    return next((name for name in KINDS if os.environ.get(name, "").strip()), "")


def to_hand_over(variable: str) -> dict[str, str]:
    """Return what the consumer's environment has to hold, besides the key, for `up --with-key`."""
    return {_HANDED_FROM: variable, _HANDED_URL: os.environ.get("ANTHROPIC_BASE_URL", "")}


def take_over() -> None:
    """Take what `up --with-key` has handed over; for the consumer alone, whose environment `up` has made."""
    _handed.update(variable=os.environ.pop(_HANDED_FROM, ""), base_url=os.environ.pop(_HANDED_URL, ""))


def handed_over() -> tuple[str, str]:
    """Return the variable of the key that `up --with-key` has handed over, and the base URL; "" for none."""
    return _handed.get("variable", ""), _handed.get("base_url", "")


def _agreed() -> dict[str, tuple[str, str]]:
    """Return salt and hash of the keys that the user has agreed to, by variable."""
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

"""Build the blocks that a session is given of what came before it."""

from typing import Literal, get_args

# What Claude Code says a session starts by; a block is shown via one of them, "recall" or "touch".
Source = Literal["startup", "resume", "clear", "compact", "fork"]
SOURCES: tuple[str, ...] = get_args(Source)
# After these the session's context holds none of the blocks before.
FRESH = frozenset({"startup", "compact"})

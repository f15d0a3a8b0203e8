"""Build the blocks of memory that a session is shown as context."""

from typing import Literal, get_args

# How a session starts, in Claude Code's words; also the `via` of a start block. Others: "recall", "touch", …
Source = Literal["startup", "resume", "clear", "compact", "fork"]
SOURCES: tuple[str, ...] = get_args(Source)
# Sources after which the session's context holds none of the earlier blocks.
FRESH = frozenset({"startup", "compact"})

"""PreCompact and PostCompact: say what the client's summary must keep, then store that summary."""

from __future__ import annotations

# The client appends it to its instructions for the summary.
WANTED = (
    "Keep decisions with their reasons, open ends, and commands that fail with what works instead, "
    "each under a heading of its own."
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Return what to add to the instructions of a compaction; nothing once it is done."""
    del project_dir
    return f"{WANTED}\n".encode if fields["event_name"] == "PreCompact" else bytes


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)

"""UserPromptSubmit: store the prompt, and print what memory has on it, unless that takes too long."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.15
# The question of a long prompt stands at one of its ends; more text adds nothing to the search.
_HEAD_CHARS, _TAIL_CHARS = 1_500, 500

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Ask what memory has on the prompt; the function returned waits for it, b"" for nothing."""
    from claude_mem_lite.capture import client

    prompt = fields["prompt"]
    if not prompt.strip() or prompt.lstrip().startswith("<task-notification>"):  # written by the client
        return bytes
    if len(prompt) > _HEAD_CHARS + _TAIL_CHARS:
        prompt = f"{prompt[:_HEAD_CHARS]}\n{prompt[-_TAIL_CHARS:]}"
    asked = client.block(
        "/api/recall", fields, project_dir, timeout_s=client.patient(WEB_TIMEOUT_S), q=prompt
    )
    read = asked.read
    if asked.is_down:
        from claude_mem_lite.hooks import helper

        read = helper.ask("/api/recall", fields, project_dir, q=prompt)

    def answer() -> bytes:
        printed = read()
        if asked.is_down:  # the services stop when idle, and this session goes on
            from claude_mem_lite.hooks import helper

            helper.start_services()
        return printed or b""

    return answer


def at_start() -> Callable[[dict[str, str], str], Callable[[], bytes]]:
    """Return the function that asks for the block of a session's start."""
    from claude_mem_lite.hooks import session_start

    return session_start.ask


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask, at_start)

"""UserPromptSubmit: the user's words, and what memory has on them, unless that takes too long."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.15
# More says no more about what is asked; what is asked stands at one of the ends.
_HEAD_CHARS, _TAIL_CHARS = 1_500, 500


def answer(fields: dict[str, str], project_dir: str) -> bytes:
    """Return what Claude Code expects on stdout, or b"" when memory has nothing on the prompt."""
    from claude_mem_lite import client

    prompt = fields["prompt"]
    if not prompt.strip() or prompt.startswith("<task-notification>"):
        return b""
    if len(prompt) > _HEAD_CHARS + _TAIL_CHARS:
        prompt = f"{prompt[:_HEAD_CHARS]}\n{prompt[-_TAIL_CHARS:]}"
    parameters = {"q": prompt, "project_path": project_dir, "session_id": fields["session_id"]}
    try:
        return client.block("UserPromptSubmit", "/api/recall", parameters, timeout_s=WEB_TIMEOUT_S) or b""
    except client.UnreachableError:
        return b""


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(answer)

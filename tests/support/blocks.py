"""Build a small memory and read the blocks that hooks put into a session."""

import json
from typing import Any

from claude_mem_lite.codemap.confidence import STRONG
from support.databases import call_row, change, observe, session_row
from support.hooks import AGENT, run_hook
from support.processes import wait_until

COMMIT = "c" * 32
EDIT = "e" * 32
PROMPT = "Why does allocate give the largest remainder the cent?"
READ = {"tool_name": "Read", "tool_input": {"file_path": "/p/money.py"}}


def hook(name: str, event_name: str, project: str = "/p", agent: str = AGENT, **fields: Any) -> str:
    """Return the context that a client's hook prints for the model, "" for none."""
    event = {"session_id": "me", "hook_event_name": event_name, **fields}
    done = run_hook(name, event, project_dir=project, agent=agent)
    assert (done.returncode, done.stderr) == (0, b"")
    if not done.stdout:
        return ""
    (output,) = json.loads(done.stdout).values()
    assert output["hookEventName"] == event_name
    return str(output["additionalContext"])


def told_in_time(has: str, name: str, event_name: str, **fields: Any) -> str:
    """Return a hook's block once it has `has`; on a busy machine an answer may come too late."""
    return str(wait_until(lambda: (told := hook(name, event_name, **fields)) * (has in told)))


def remember() -> None:
    """Store a session that changed a function which another file calls."""
    session_row("s1", summary="Made amounts exact.")
    observe(
        EDIT, "Edit", "Edited money.py: new allocate (“Share cents out”).",
        title="Edit allocate in money.py: the largest remainder gets the cent", files_touched=["money.py"],
        functions_changed=[{"qualified_name": "allocate", "kind": "function", "change_type": "modified"}],
    )  # fmt: skip
    observe(COMMIT, "Bash", "Commit 'Exact amounts' as 1234567")
    change("allocate", "new", EDIT, file_path="money.py")
    change("allocate", "modified", EDIT, file_path="money.py")
    call_row("0" * 32, ("cli.py", "split"), ("money.py", "allocate"), line=7, confidence=STRONG)


def told_lines(block: str) -> list[str]:
    """Return the lines of a block without their ages."""
    return [line.partition("] ")[2] for line in block.splitlines() if line.startswith("- [")]

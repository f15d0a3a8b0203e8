"""Follow a to-do list or a list of tasks through its events. Pure."""

from collections.abc import Iterable
from typing import Any

from claude_mem_lite.distill.rules import fields


def open_steps(events: Iterable[dict[str, Any]]) -> list[str]:
    """Return the steps of a to-do list or of tasks that are not done, those in progress first."""
    steps: dict[str, tuple[str, str]] = {}  # id to subject and status
    for event in events:
        given, task = fields.value(event, "tool_input"), fields.value(event, "tool_response", "task")
        if event.get("tool_name") == "TodoWrite":
            steps = {
                str(at): (fields.text(todo, "content"), fields.text(todo, "status"))
                for at, todo in enumerate(fields.items(given, "todos"))
            }
        elif event.get("tool_name") == "TaskCreate":
            steps[str(fields.value(task, "id"))] = (fields.text(task, "subject"), "pending")
        elif (task_id := str(fields.value(given, "taskId"))) in steps:
            subject, status = steps[task_id]
            steps[task_id] = (
                fields.text(given, "subject") or subject,
                fields.text(given, "status") or status,
            )
    return [
        subject
        for wanted in ("in_progress", "pending")
        for subject, status in steps.values()
        if subject and status == wanted
    ]

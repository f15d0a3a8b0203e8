"""Work handed to others: sub-agents, skills, plans in task lists."""

from claude_mem_lite.distill.local import fields
from claude_mem_lite.distill.observation import SUMMARY_CHARS, Capture, Observation, Skip
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import clip, first_sentence, join, one_line


def observe_agent(capture: Capture) -> Observation | Skip:
    """Describe a sub-agent: what it was told to do and, where it has ended, what it answered."""
    task = fields.argument(capture, "description") or first_sentence(fields.argument(capture, "prompt"))
    if not task:
        return Skip("a sub-agent without a task")
    assignment = fields.argument(capture, "prompt")
    answer = fields.answer(capture).strip()
    kind = named(fields.argument(capture, "subagent_type"))
    verb = "Ask sub-agent" if answer else "Start sub-agent"
    title = one_line(f"{verb} to {task[:1].lower()}{task[1:]}")
    told = f"Task{f' for {kind}' if kind else ''}: {clip(assignment or task, 500)}"
    report = (
        f"Answer: {quoted(clip(answer, SUMMARY_CHARS - 800))}"
        if answer
        else "It runs in the background; its report follows."
    )
    summary = f"{told}\n{report}"
    return Observation(title, summary)


def observe_skill(capture: Capture) -> Observation | Skip:
    """Describe a skill called with arguments; without any, what it did follows in other events."""
    name = named(fields.argument(capture, "skill") or fields.argument(capture, "command"))
    arguments = fields.argument(capture, "args")
    if not name or not arguments:
        return Skip("a skill that was loaded")
    summary = f"Called the skill {name} with: {clip(arguments, 600)}"
    return Observation(one_line(f"Use skill {name}: {arguments}"), summary)


def observe_todos(capture: Capture) -> Observation | Skip:
    """Describe the first task list of a piece of work: its plan. Ticking off items says nothing new."""
    response = fields.value(capture.payload, "tool_response")
    steps = [fields.text(item, "content") for item in fields.items(capture.payload, "tool_input", "todos")]
    steps = [step for step in steps if step]
    if fields.items(response, "oldTodos") or len(steps) < 2:  # noqa: PLR2004 - one step is no plan
        return Skip("progress in a task list")
    plan = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    summary = clip(f"Plan:\n{plan}", 1_200)
    return Observation(one_line(f"Plan {len(steps)} steps: {join(steps)}"), summary)


def observe_task(capture: Capture) -> Observation | Skip:
    """Describe a task put on the list with a description of its own."""
    subject, description = fields.argument(capture, "subject"), fields.argument(capture, "description")
    if not subject or len(description) <= len(subject):
        return Skip("an entry in a task list")
    summary = clip(f"Planned: {subject}. {description}", 1_200)
    return Observation(one_line(f"Plan: {subject}"), summary)

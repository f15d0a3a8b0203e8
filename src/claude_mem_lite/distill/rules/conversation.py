"""Describe what the user and the assistant said: prompts, reports, answers, plans, tasks for sub-agents."""

import re
from collections.abc import Sequence
from dataclasses import replace

from claude_mem_lite.distill.observation import SUMMARY_CHARS, Capture, Observation, Skip
from claude_mem_lite.distill.phrases import is_small_talk
from claude_mem_lite.distill.rules import compaction, fields
from claude_mem_lite.quoting import OPEN, named, quote_blocks, quoted
from claude_mem_lite.text import clean, clip, first_sentence, join, one_line, sentences

_FROM_THE_CLIENT = (
    "<task-notification",
    "<teammate-message",
    "<local-command",
    "<command-",
    "<bash-",
    "<system-reminder",
    "[Request interrupted",
    "Operation stopped by hook: ",
    "This session is being continued from a previous conversation",
)
# Text that the client and the editor add around the user's words.
_ADDED = re.compile(r"<(system-reminder|ide_\w+)>.*?(?:</\1>|\Z)", re.DOTALL)
# The beginning of a report that says only later what was done.
_SAYS_NOTHING = re.compile(
    r"^\W*(?:(?:and |now )?(?:all |the )?(?:unit |integration )?(?:tests?|checks?|lint\w*|build)\b.{0,50}"
    r"\b(?:pass(?:es|ed|ing)?|clean|green|succeed(?:s|ed)?)(?: now)?\W*"
    r"|(?:here(?:'s| is| are)|let me|let's|now i|now let|i'll|i will|you're right"
    r"|great|perfect|excellent)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
_END = re.compile(r"[ .:;]+(?=”?$)")
_HEADLINES = 8
_IN_BACKGROUND = "It runs in the background; its report follows."
_API_ERROR = "API Error: "
_API_FAILED = "The API failed"
# A longer message is more than an acknowledgement.
_ACKNOWLEDGEMENT_CHARS = 200
_BARE_SLASH_COMMAND = re.compile(r"/[\w:.-]+\s*$")


def observe_prompt(capture: Capture) -> Observation | Skip:
    """Describe a prompt by the user's own words."""
    words = _ADDED.sub("", fields.text(capture.payload, "prompt")).strip()
    if words.startswith(_FROM_THE_CLIENT):
        return Skip("written by the client, not by the user")
    if _BARE_SLASH_COMMAND.match(words):
        return Skip("a slash command without arguments")
    if is_small_talk(words):
        return Skip("a prompt that only consents")
    return _words(words)


def observe_teammate(capture: Capture) -> Observation:
    """Describe a prompt that another agent of the team wrote."""
    return _words(fields.text(capture.payload, "prompt"))


def _words(words: str) -> Observation:
    headline = one_line(first_sentence(quote_blocks(words, fences=True)))
    return Observation(headline, clip(words, SUMMARY_CHARS))


def observe_report(capture: Capture) -> Observation | Skip:
    """Describe the report of the assistant or a sub-agent at the end of its turn."""
    if capture.event_name == "SubagentStop" and not fields.text(capture.payload, "agent_type"):
        return Skip("the client's own compaction")
    message = fields.text(capture.payload, "last_assistant_message").strip()
    if not message:
        return Skip("a turn that ended without a message")
    if capture.event_name == "Stop" and message.startswith(_API_ERROR):
        return observe_api_failure(capture)  # Claude Code before 2.1.80 has no StopFailure
    if capture.event_name == "SubagentStop":
        message = quoted(message)
    return Observation(one_line(headline(message)), clip(message, SUMMARY_CHARS))


def headline(report: str) -> str:
    """Return the first sentence of a report that says more than that tests pass."""
    told = (_END.sub("", sentence) for sentence in sentences(report)[:_HEADLINES])
    long = (sentence for sentence in told if len(sentence.split()) > 2)  # noqa: PLR2004 - not "Done."
    return next((sentence for sentence in long if not says_nothing(sentence)), first_sentence(report))


def says_nothing(sentence: str) -> bool:
    """Tell whether a sentence only says that tests pass, or only announces something."""
    return _SAYS_NOTHING.match(sentence) is not None


def is_acknowledgement(message: str, reports: Sequence[str]) -> bool:
    """Tell whether a message only acknowledges: short, and shorter than a report before it: "Done."."""
    words = message.strip()
    return len(words) <= _ACKNOWLEDGEMENT_CHARS and any(len(words) < len(each.strip()) for each in reports)


def observe_api_failure(capture: Capture) -> Observation | Skip:
    """Describe a turn that ended because the API failed."""
    said = fields.text(capture.payload, "last_assistant_message").strip()
    kind = fields.text(capture.payload, "error").strip()
    why = one_line(first_sentence(said.partition("{")[0]), 160) or kind
    told = f"{_API_FAILED}{f' ({quoted(why)})' if why else ''}"
    return Observation(one_line(told), f"{told}.")


def is_api_failure(title: str) -> bool:
    """Tell whether the title of a turn's end is one from `observe_api_failure`."""
    return title == _API_FAILED or title.startswith(f"{_API_FAILED} ({OPEN}")


def observe_compaction(capture: Capture) -> Observation | Skip:
    """Describe a compaction by the client's own summary, in the model's words."""
    summary = fields.text(capture.payload, "compact_summary")
    told = compaction.condensed(summary)
    if not told:
        return Skip("a compaction without a summary")
    return Observation(
        one_line(f"Compacted: {told}"), f"{compaction.LEAD}{told}", compaction.lasting(summary) or None
    )


def report_of(tool_name: str, summary: str, detail: str | None) -> str:
    """Return what an observation tells: without the request behind it; of a compaction, what stays true."""
    if tool_name == compaction.NAME and detail:
        return detail
    return without_reason(summary)[0]


def observe_answers(capture: Capture) -> Observation | Skip:
    """Describe the user's answer to the assistant's question: a decision."""
    answers = fields.value(capture.payload, "tool_response", "answers")
    if not isinstance(answers, dict) or not answers:
        return Skip("a question without an answer")
    chosen = [(clean(str(question)), clean(str(choice))) for question, choice in answers.items()]
    question, choice = chosen[0]
    summary = clip("\n".join(map(" ".join, chosen)), SUMMARY_CHARS)
    return Observation(one_line(f"Choose {choice}: {question}"), summary)


def observe_plan(capture: Capture) -> Observation | Skip:
    """Describe the plan that the user was shown before the work began."""
    plan = fields.argument(capture, "plan") or fields.text(capture.payload, "tool_response", "plan")
    if not plan.strip():
        return Skip("an empty plan")
    title = one_line(f"Plan: {first_sentence(plan).removeprefix('Plan: ')}")
    return Observation(title, clip(plan, SUMMARY_CHARS))


def observe_agent(capture: Capture) -> Observation | Skip:
    """Describe a sub-agent: its task and, if it has ended, its answer."""
    task = fields.argument(capture, "description") or first_sentence(fields.argument(capture, "prompt"))
    if not task:
        return Skip("a sub-agent without a task")
    assignment = fields.argument(capture, "prompt")
    answer = fields.answer(capture).strip()
    kind = named(fields.argument(capture, "subagent_type"))
    verb = "Ask sub-agent" if answer else "Start sub-agent"
    title = one_line(f"{verb} to {task[:1].lower()}{task[1:]}")
    told = f"Task{f' for {kind}' if kind else ''}: {clip(assignment or task, 500)}"
    report = f"Answer: {quoted(clip(answer, SUMMARY_CHARS - 800))}" if answer else _IN_BACKGROUND
    return Observation(title, f"{told}\n{report}")


def observe_skill(capture: Capture) -> Observation | Skip:
    """Describe a skill called with arguments; without arguments, other events show what it did."""
    name = named(fields.argument(capture, "skill") or fields.argument(capture, "command"))
    arguments = fields.argument(capture, "args")
    if not name or not arguments:
        return Skip("a skill that was loaded")
    title = one_line(f"Use skill {name}: {arguments}")
    return Observation(title, f"Called the skill {name} with: {clip(arguments, 600)}")


def observe_todos(capture: Capture) -> Observation | Skip:
    """Describe the first version of a to-do list as a plan; later changes of status say nothing new."""
    todos = fields.items(capture.payload, "tool_input", "todos")
    steps = [step for item in todos if (step := fields.text(item, "content"))]
    if fields.items(capture.payload, "tool_response", "oldTodos") or len(steps) < 2:  # noqa: PLR2004 - one step is no plan
        return Skip("progress in a task list")
    plan = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return Observation(one_line(f"Plan {len(steps)} steps: {join(steps)}"), clip(f"Plan:\n{plan}", 1_200))


def observe_task(capture: Capture) -> Observation | Skip:
    """Describe a task added to the list with a description of its own."""
    subject, description = fields.argument(capture, "subject"), fields.argument(capture, "description")
    if not subject or len(description) <= len(subject):
        return Skip("an entry in a task list")
    return Observation(one_line(f"Plan: {subject}"), clip(f"Planned: {subject}. {description}", 1_200))


def asked(prompt: str | None) -> str:
    """Return the request in a prompt, as in "Asked: Fix the import"; "" if the prompt has none."""
    words = clean(prompt or "").strip()
    if words.startswith(_FROM_THE_CLIENT) or is_small_talk(words):
        return ""
    why = one_line(first_sentence(quote_blocks(words, fences=True)), 160).strip()
    return f"Asked: {why}" if why else ""


def without_reason(summary: str) -> tuple[str, str]:
    """Split a summary into its text and the request that `with_reason` appended ("" for none)."""
    said, mark, reason = f"\n{summary}".rpartition("\nAsked: ")
    return (said.removeprefix("\n"), reason.strip()) if mark and "\n" not in reason.strip() else (summary, "")


def with_reason(report: Observation, prompt: str | None) -> Observation:
    """Append the request to the report of a turn on a line of its own, if there is room."""
    why = asked(prompt)
    if not why or len(report.summary) + len(why) > SUMMARY_CHARS:
        return report
    return replace(report, summary=f"{report.summary}\n{why}")

"""import auto-memory: import rules from Claude Code's own notes on a project."""

from collections import Counter

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.groups import imports
from claude_mem_lite.cli.options import AsJson, Project
from claude_mem_lite.cli.output import console, open_memory, print_json, print_line
from claude_mem_lite.text import count


@imports.command("auto-memory")
def import_auto_memory(*, project: Project = "", as_json: AsJson = False) -> None:
    """Take in what Claude Code has noted of your wishes in this project: its entries of kind feedback.

    They become learnings. The end of each session does the same; what you remove does not come back.
    """
    from claude_mem_lite.distill import auto_memory
    from claude_mem_lite.forget import marking
    from claude_mem_lite.learnings import client_notes

    open_memory(may_be_new=True)
    project_dir = marking.project_of(project, may_be_new=True)
    folders = auto_memory.folders(project_dir)
    taken = client_notes.take(project_dir)
    actions = Counter(outcome.action for _, outcome in taken.outcomes)
    if actions:
        inbox.ask_for_vectors()
    if as_json:
        print_json({
            "project_dir": project_dir, "folders": folders, "known": taken.known, "others": taken.others,
            "entries": [
                {"file": file, "action": each.action, "id": each.learning_id, "reason": each.reason}
                for file, each in taken.outcomes
            ],
        })  # fmt: skip
        return
    if not folders:
        print_line(f"Claude Code has no notes on {project_dir}.")
        return
    new = actions["inserted"] + actions["contradicted"]
    said = [
        f"{count(new, 'new learning')}" if new else "Nothing new",
        f"taken in before: {taken.known}" if taken.known else "",
        f"known already: {known}" if (known := actions["merged"] + actions["known"]) else "",
        f"of other kinds: {taken.others}" if taken.others else "",
    ]
    print_line(f"{'; '.join(filter(None, said))}.")
    if waiting := actions["quarantined"]:
        console.print(f"waiting for you: {waiting}, claude-mem learnings list --quarantine")

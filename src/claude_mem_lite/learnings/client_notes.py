"""Import the rules among Claude Code's own notes: notes of kind `feedback`, once each."""

import hashlib
from dataclasses import dataclass, field

from claude_mem_lite.distill import auto_memory
from claude_mem_lite.kinds import RULE
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import Candidate, Outcome
from claude_mem_lite.storage import facts, queries
from claude_mem_lite.storage import learnings as learning_rows

NOTED = f"{learning_rows.EVENTS}noted"  # names the note's file in a learning's history


@dataclass(slots=True)
class Taken:
    """The result of an import: outcomes by file, `known` notes imported before, `others` of another kind."""

    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    known: int = 0
    others: int = 0


def take(project_dir: str, session_id: str = "") -> Taken:
    """Import a project's feedback notes that were not imported before.

    The words are Claude's about what the user said, so suspicious ones wait for the user. A note whose
    learning was removed, edited or forgotten since is not imported again while its words are the same.
    """
    taken, name = Taken(), f"auto-memory {project_dir}"
    before = facts.read(name)
    seen: dict[str, str] = dict(before)
    for note in auto_memory.notes(project_dir):
        rule = note.rule if note.kind == auto_memory.FEEDBACK else ""
        key = hashlib.sha256(rule.encode("utf-8", "replace")).hexdigest()[:32]
        if not rule:
            taken.others += 1
        elif key in seen:
            taken.known += 1
        else:
            candidate = Candidate(rule, RULE, "assistant")
            outcome = evolve.take(candidate, session_id=session_id or "auto-memory", project_dir=project_dir)
            seen[key] = outcome.learning_id
            taken.outcomes.append((note.file, outcome))
            if outcome.learning_id:
                data = {"id": outcome.learning_id, "file": note.file, "reason": f"noted in {note.file}"}
                queries.log_event(NOTED, data, session_id=session_id or None)
    if seen != before:
        facts.write(name, seen)
    return taken

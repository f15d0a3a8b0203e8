"""Members of a team: data directories in one process, each with its own folder of the same project."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models, team
from claude_mem_lite.sync import setup
from claude_mem_lite.sync.setup import Outcome
from claude_mem_lite.sync.team import outgoing, run
from support.machines import Machine

KEY = "example.com/dev/pond"


@dataclass
class Member(Machine):
    """A data directory of a colleague, with the project `pond`."""

    @property
    def pond(self) -> str:
        """The project's folder."""
        return str(self.home.parent / f"{self.home.name}-pond")

    def enters(self, address: str, name: str, code: str = "") -> str:
        """Join a team and return its code."""
        with self:
            know(self.pond)
            return run.join(address, name=name, code=code).code

    def shares(self, *what: str, prompts: bool = False) -> None:
        """Choose which of the project's rows are shared."""
        with self:
            run.share(self.pond, outgoing.chosen(what or ["learnings"], with_prompts=prompts))

    def meets(self) -> Outcome:
        """Sync with the team."""
        with self:
            return run.sync()

    def trusts(self, name: str) -> None:
        """Trust a member."""
        with self:
            run.trust(name)

    def told(self) -> list[tuple[str, str]]:
        """Return author and text of the rows that sessions may be shown."""
        with self:
            found = team.told(self.pond, list(outgoing.KINDS.values()), limit=1_000)
        return sorted((each.author, said(each)) for each in found)

    def waiting(self) -> list[str]:
        """Return the text of all rows of others, shown to sessions or not."""
        with self:
            machines = [each.machine for each in team.authors()]
            return sorted(said(each) for each in team.lines_of(machines, limit=1_000))

    @property
    def machine(self) -> str:
        """The id of the machine."""
        with self:
            return setup.chosen(setup.TEAM).machine

    @property
    def code(self) -> str:
        """The code of the team."""
        with self:
            return setup.chosen(setup.TEAM).code


def know(folder: str) -> None:
    """Register a folder as a clone of the project."""
    models.ProjectFolder.insert(
        folder=folder, project_dir=folder, key=KEY, seen_at=inbox.utc_now()
    ).on_conflict_ignore().execute()


def learn(project_dir: str | None, content: str, *, confidence: float = 0.7) -> str:
    """Store a learning of a session and return its id."""
    now = inbox.utc_now()
    row = learning_rows.insert(
        project_dir=project_dir, category="convention", content=content, confidence=confidence,
        source_sessions=["s1"], created_at=now, updated_at=now, seen_at=now,
    )  # fmt: skip
    return str(row.id)


def said(each: team.Shared) -> str:
    """Return the text of a shared row."""
    line = each.line
    return str(line.get("content") or line.get("command") or line.get("title") or line.get("summary"))


def met(*members: Member, rounds: int = 2) -> None:
    """Have each member sync `rounds` times, in turn."""
    for _ in range(rounds):
        for member in members:
            member.meets()


def team_of(folder: Path, blank: Path, address: str | Callable[[str], str], *names: str) -> list[Member]:
    """Return colleagues at a hub who share the project's learnings and trust nobody yet.

    `address` is the hub's address, or a function from a name to the address of that member's account.
    """
    found: list[Member] = []
    code = ""
    for name in names:
        member = Member(folder / name, blank)
        code = member.enters(address if isinstance(address, str) else address(name), name, code)
        member.shares()
        found.append(member)
    return found


def lines_sent(member: Member) -> list[dict[str, object]]:
    """Return the lines that a sync would send."""
    with member, suppress(KeyError):
        return [json.loads(line) for line in run.to_send()]
    return []

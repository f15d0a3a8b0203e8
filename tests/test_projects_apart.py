"""No block, command or search result crosses from one project to another."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.databases import call_row, learning_row, take_place
from support.events import edited, prompt, ran, stop

from claude_mem_lite import config
from claude_mem_lite.context import SOURCES, blocks, builder
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.hooks import session_start as start
from claude_mem_lite.learnings.session import learn
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.services import install
from claude_mem_lite.storage import models

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="what a session is told calls curl")

# Each project's texts have an animal, used in queries, and a sign that must never appear elsewhere.
OWN, OTHER = ("otter", "whiskers"), ("zebra", "stripes")


def happen(project: str, session_id: str, animal: str, sign: str) -> None:
    """Record a session of a project: a prompt, an edit, a failure, a commit and a report."""
    said = f"The {animal} needs {sign} because water is cold."
    before, after = f"def {animal}():\n    pass\n", f'def {animal}():\n    """{said}"""\n    return 1\n'
    missing, done = f"error: {sign} of the {animal} missing", f"[main 1a2b3c4] {said}\n"
    events = [
        prompt(f"Give the {animal} its {sign} back."),
        edited(f"{project}/{animal}.py", before, after),
        ran(f"make {animal}", error=missing, description=f"Build the {animal}"),
        ran(f"git commit -m '{said}'", done, description=f"Commit the {animal}"),
        stop(said),
    ]
    take_place(events, session_id, project)


@pytest.fixture
def projects(web_alone: Path, tmp_path: Path) -> tuple[str, str]:
    """Fill two projects whose paths need quoting; one session continues from the first in the second."""
    for name in ("o", "z"):
        (tmp_path / f'it\'s "{name}" & $HOME `pwd`\n<b>').mkdir()
    own, other = (config.project_dir(str(path)) for path in sorted(tmp_path.iterdir()))
    happen(own, "own-session", *OWN)
    happen(other, "other-session", *OTHER)
    happen(other, "own-session", *OTHER)
    for session_id in ("own-session", "other-session"):
        summarize_session(session_id)
        learn(session_id)
    for row_id, project, (animal, sign) in (("a" * 32, own, OWN), ("f" * 32, other, OTHER)):
        says = f"The {animal} has {sign} and paws."
        learning_row(row_id, says, project_dir=project, category="gotcha")
        ends = (f"{sign}.py", sign), (f"{animal}.py", animal)
        call_row(row_id, *ends, project_dir=project, line=1, confidence=0.9)
    ids = [row.id for row in models.Observation.select()]
    sources = {"observations": ids, "source_sessions": ["own-session", "other-session"]}
    learning_row("e" * 32, "Animals need water.", project_dir=None, category="gotcha", **sources)
    return own, other


def run(shell: str, script: str, *, home: Path, cwd: str = "/", **env: str) -> str:
    """Return a script's output in the given shell."""
    done = subprocess.run(
        [shell, "-c", script],
        env={"CLAUDE_MEM_HOME": str(home), "PATH": os.environ["PATH"], **env},
        cwd=cwd, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.decode()


def hint(block: str) -> tuple[str, str]:
    """Return a block's two commands: the one that opens an id and the one that searches."""
    found = re.search(
        r"^More: (curl .*)(http://mem/api/observation/ID) opens .* with (http://\S+ .* \"q=WORDS\") at",
        block,
        re.MULTILINE,
    )
    assert found is not None, block
    return found[1] + found[2], found[1] + found[3]


def ids_of(project: str) -> list[str]:
    """Return the ids of all rows stored for a project."""
    tables = (models.Observation, models.Learning, models.FunctionMapEntry, models.Session)
    return [row.id for table in tables for row in table.select().where(table.project_dir == project)]


def blocks_of(project: str) -> list[str]:
    """Return every block that a session of a project can get, under any session id."""
    searcher = Searcher(by_meaning=False)
    asked = [f"Why does the {animal} need {sign}?" for animal, sign in (OWN, OTHER)]
    asked += [
        row_id for each in {row.project_dir for row in models.Session.select()} for row_id in ids_of(each)
    ]
    found = [
        builder.build(project, session_id=session_id, source=source).text
        for source in SOURCES
        for session_id in ("", "new", "own-session", "other-session")
    ]
    found += [blocks.for_prompt(searcher, project, each, session_id="new").text for each in asked]
    found += [blocks.for_file(project, f"{animal}.py", session_id="new").text for animal, _ in (OWN, OTHER)]
    return [*found, start.session_index(project)[0]]


def test_no_block_tells_of_another_project(projects: tuple[str, str]) -> None:
    """No block has text of another project, whatever the prompt, file or session id."""
    for project, (_, own), (_, other) in zip(projects, (OWN, OTHER), (OTHER, OWN), strict=True):
        told = "\n".join(blocks_of(project))

        assert told.count(own) > 20
        assert other not in told


@pytest.mark.parametrize("shell", [name for name in ("bash", "dash", "zsh") if shutil.which(name)])
def test_the_commands_of_a_block_work_and_stay_in_the_project(
    projects: tuple[str, str], web_alone: Path, shell: str
) -> None:
    """A block's commands run as printed in every shell and find only their own project's rows."""
    for own, other, (animal, sign), (their_animal, their_sign) in (
        (*projects, OWN, OTHER), (*projects[::-1], OTHER, OWN),
    ):  # fmt: skip
        opens, finds = hint(builder.build(own).text)

        mine = [run(shell, opens.replace("ID", row_id[:8]), home=web_alone) for row_id in ids_of(own)]
        theirs = [run(shell, opens.replace("ID", row_id[:8]), home=web_alone) for row_id in ids_of(other)]
        found = run(shell, finds.replace("WORDS", f"the {animal} & water"), home=web_alone)
        asked = [finds.replace("WORDS", words) for words in (f"the {their_animal}'s water", *ids_of(other))]
        not_found = [run(shell, script, home=web_alone) for script in asked]

        assert hint(start.session_index(own)[0]) == (opens, finds)
        assert sum(sign in answer for answer in mine) > 5
        assert sign in found
        assert not any(their_sign in answer for answer in (*mine, *theirs, found, *not_found))
        assert all("error" in json.loads(answer) for answer in theirs)


@pytest.mark.parametrize("shell", [name for name in ("bash", "dash", "zsh") if shutil.which(name)])
def test_the_lines_of_the_skill_stay_in_the_project(
    projects: tuple[str, str], web_alone: Path, shell: str
) -> None:
    """The skill's commands find nothing of another project by its words, names or ids."""
    skill = Path(install.SKILL).read_text().split("```sh\n")[1].split("```")[0]

    def asked(row_id: str, animal: str, cwd: str, **env: str) -> list[dict[str, Any]]:
        lines = skill.replace("WORDS", f"why the {animal}'s water").replace("/ID", f"/{row_id[:8]}")
        lines = lines.replace("NAME", animal).replace("PATH", f"{animal}.py")
        answers = run(shell, lines, home=web_alone, cwd=cwd, **env)
        return list(map(json.loads, answers.replace("}{", "}\n{").splitlines()))

    own, other = projects
    mine = asked(ids_of(own)[0], OWN[0], own)
    from_elsewhere = asked(ids_of(own)[0], OWN[0], "/", CLAUDE_PROJECT_DIR=own)
    theirs = [answer for row_id in ids_of(other)[::4] for answer in asked(row_id, OTHER[0], own)]

    assert [OWN[1] in str(answer) for answer in mine] == [True] * 6
    assert [OWN[1] in str(answer) for answer in from_elsewhere] == [True] * 6
    assert OTHER[1] not in str([mine, from_elsewhere, theirs])


def test_what_holds_everywhere_crosses_without_its_sources(
    projects: tuple[str, str], web_alone: Path
) -> None:
    """A global learning is served everywhere, with evidence of the asking project alone."""
    own, _ = projects
    opens, _ = hint(builder.build(own).text)

    answer = json.loads(run("bash", opens.replace("ID", "e" * 8), home=web_alone))

    assert answer["content"] == "Animals need water."
    assert [each["id"] for each in answer["sessions"]] == ["own-session"]
    assert len(answer["observations"]) == 5
    assert OTHER[1] not in str(answer)

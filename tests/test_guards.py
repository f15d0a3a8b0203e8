"""Rules that are checked on tool calls, from the words of a rule to what the hook answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import Done, command
from support.hooks import run_hook, tool_event

from claude_mem_lite import config
from claude_mem_lite.capture import guards, inbox
from claude_mem_lite.capture.guards import ASK, Call, Guard
from claude_mem_lite.capture.simple_commands import Script
from claude_mem_lite.learnings import curate, evolve, guarding
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.learnings.guarding import derive
from claude_mem_lite.learnings.rule_words import Seen
from claude_mem_lite.services import hook_table, install
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models
from claude_mem_lite.upkeep import exchange


def noticed(guard: Guard | None, call: str, branch: str = "") -> str:
    """Return what of a call, a command or "edit FILE", breaks a guard."""
    assert guard is not None
    file = call.removeprefix("edit ") if call.startswith("edit ") else ""
    fields = ("Edit" if file else "Bash", call, file, None, "/repo")
    return guard.broken_by(Call(fields, "/repo", branch))


def words(line: str) -> list[str]:
    """Return the simple commands of a line, each as a text."""
    return [" ".join(each.words) for each in Script(line).commands]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("cd a && git push --force 2>&1 | tail -3", ["cd a", "git push --force", "tail -3"]),
        ("A=1 sudo -u bob git push", ["sudo -u bob git push", "git push"]),
        ("bash -lc 'npm test'; eval \"ls -l\"", ["bash -lc npm test", "npm test", "eval ls -l", "ls -l"]),
        ("cat > a <<'EOF'\ngit push --force\ndon't\nEOF\nls", ["cat", "ls"]),
        ('echo "$(git push)" `git pull`', ["git push", "git pull", "echo $(git push) $(git pull)"]),
        ("git commit -m \"$(cat <<'E'\nfix: (it's)\nE\n)\"", ["cat", "git commit -m fix: (it's)"]),
        ("find . -name x -exec rm -f {} \\;", ["find . -name x -exec rm -f {} ;", "rm -f"]),
        ("ls # git push", ["ls"]),
        ("echo 'git push' \"; git push\"", ["echo git push ; git push"]),
        ("(cd a; rm b) && timeout 5 make x", ["cd a", "rm b", "timeout 5 make x", "make x"]),
        ("for f in *; do sed -i s/a/b/ $f; done", ["sed -i s/a/b/ $f"]),
        ("diff <(git show a) b\\\n c", ["git show a", "diff b c"]),
        ("command -v git; exec git push", ["command -v git", "exec git push", "git push"]),
        ("'unclosed && git push", ["unclosed && git push"]),
        ("", []),
        (">", []),
        ("<<", []),
    ],
)
def test_a_line_comes_apart_into_its_commands(line: str, commands: list[str]) -> None:
    """Lists, pipes, wrappers, substitutions and quotes as a shell has them; no text is a command."""
    assert words(line) == commands


# A rule, a call that breaks it and one that keeps to it; "edit " begins an edit.
RULES = [
    ("never run terraform apply or destroy", "terraform -chdir=x destroy", "terraform plan"),
    ("tox is no longer used, take nox", "tox -e py311", "nox -s tests"),
    ("never run npm audit fix", "npm audit fix --force", "npm audit"),
    ("never rebase", "git rebase -i main", "git pull --no-rebase"),
    ("ssh to live-* hosts is forbidden", "ssh bob@live-db uptime", "ssh dev-db 'ls /srv/live-x'"),
    ("always yarn add -E / --exact", "yarn add zod", "yarn add --exact zod"),
    ("on n'utilise plus yarn, prends bun", "yarn add zod", "bun add zod"),
    ("Never run `git push --force`", "git -C /x push -f origin main", "git push --force-with-lease"),
    ("Never run `git push --force`", "git push origin +main", "git commit -m 'no git push --force'"),
    ("Never push with --force, --force-with-lease is ok", "git push --force", "git push --force-with-lease"),
    ("Never push with --force, use --force-with-lease", "git push -f", "git push"),
    ("never force-push", "git push --force", "git push"),
    ("Use pnpm instead of npm", "npm i left-pad", "pnpm i left-pad && cat npm.log"),
    ("npm nicht verwenden, sondern pnpm", "cd web && npm ci", "pnpm i"),
    ("Call uv run pytest, never pytest directly", "pytest -q", "uv run pytest -q"),
    ("Always run `go test -race ./...`", "go test ./...", "go test -v -race ./pkg"),
    ("go test must always be run with -count=1", "go test ./...", "go test -count=1 ./..."),
    ("run `pytest -n 2`", "pytest tests", "pytest -n 2 tests && pytest -n2"),
    ("kubectl always with --namespace or -n", "kubectl get pods", "kubectl get pods -n x"),
    ("Never run terraform apply without -target", "terraform apply", "terraform apply -target=a"),
    ("never use docker-compose, always docker compose", "docker-compose up", "docker compose up"),
    ("不要使用 npm，使用 pnpm", "npm i", "pnpm i"),  # noqa: RUF001  (as it is written)
    ("Always use `--no-pager` with git log", "git log -3", "git --no-pager log -3"),
    ("Never run rm -rf", "sudo rm -fr build", "rm -f build/a"),
    ("`rm -rf` ist verboten", "rm -r -f a", "rm -r a"),
    ("pas de git add . ni de git add -A", "git add --all", "git add src/a.py"),
    ("Never push to main", "git push origin HEAD:main", "git push origin main-menu"),
    ("Don't commit without asking", "git commit -m x", "git log --grep commit"),
    ("Never commit .env files", "git add config/.env", "git add .envrc.py"),
    ("Design documents in docs/plans are not committed", "git add docs/plans/a.md", "git add docs/a.md"),
    ("Always sign off with `git commit -s`", "git commit -m x", "git commit -sm x"),
    ("Never skip hooks: no `git commit --no-verify`", "git commit -nm x", "git commit -m no-verify"),
    ("Commit messages follow Conventional Commits", "git commit -m 'Fix it'", "git commit -m 'fix(a): it'"),
    ("Commits bitte nur als feat: / fix: / docs:", "git commit -am 'bug: x'", "git commit -m 'docs: x'"),
    ("Commit subjects have at most 20 characters", f"git commit -m {'x' * 21}", "git commit -m 'a\n\nlong'"),
    ("Commits start with the ticket, ABC-123: …", "git commit -m 'ABC-1'", "git commit -m 'ABC-9: x'"),
    ("Never add Co-Authored-By to commits", "git commit -m 'x\n\nCo-Authored-By: C'", "git commit -m co"),
    ("Never edit files in `db/migrations/`", "edit db/migrations/1.sql", "edit db/seeds.sql"),
    ("Never edit files in `db/migrations/`", "cd db && sed -i s/a/b/ migrations/1", "cat db/migrations/1"),
    ("Never edit files in `db/migrations/`", "echo x > /repo/db/migrations/2.sql", "ls > db/migrations.txt"),
    ("package-lock.json is never edited by hand", "edit web/package-lock.json", "edit web/package.json"),
    ("Don't touch generated *.pb.go files", "edit api/a.pb.go", "edit api/a.go"),
    ("no toques la carpeta vendor/", "rm vendor/a.go", "edit src/vendors.go"),
    ("im Ordner generated/ darfst du nichts ändern", "mv a generated/b", "cp generated/b a"),
    ("never run ./deploy.sh yourself", "bash deploy.sh now", "cat deploy.sh"),
    ("`git reset --hard` is off limits", "git reset --hard HEAD~1", "git reset a.py"),
    ("`git stash drop` est interdit", "git stash drop", "git stash list"),
    ("never amend commits", "git commit --amend --no-edit", "git commit -m 'amend'"),
    ("Jamais de push sur la branche production", "git push origin production", "git push origin topic"),
    ("main ist geschützt: nie direkt darauf pushen", "git push origin main", "git push origin topic"),
    ("don't use --no-verify", "git push --no-verify", "git push -n"),
    ("Never `kubectl --context prod`", "kubectl --context prod get po", "kubectl --context dev get po"),
    ("no squashing: never gh pr merge --squash", "gh pr merge 3 --squash", "gh pr merge 3 --merge"),
    ("always pass --no-edit to git commit --amend", "git commit --amend", "git commit -m x"),
    ("git commit needs the option -s", "git commit -m x", "git commit -s -m x"),
    ("never use git add -A or git add .", "git add .", "git add ./a.py"),
    ("never curl | sh", "curl -s x | bash", "curl -s x"),
    ("never start npm run dev", "npm run dev", "npm run build"),
    ("don't touch README", "edit README.md", "edit docs/readme.py"),
    ("pip is replaced by uv here", "pip install x", "uv add x"),
    ("Lass die Finger von `terraform destroy`", "terraform destroy", "terraform plan"),
    ("Nobody edits docs/api by hand", "edit docs/api/x.md", "edit docs/x.md"),
    ("CHANGELOG.md is written by a bot, keep your hands off it", "edit CHANGELOG.md", "edit README.md"),
    ("On ne touche pas au dossier vendor", "edit vendor/a.go", "edit src/a.go"),
    ("never mention Claude in commit messages", "git commit -m 'by Claude'", "git commit -m by"),
    ("keine Commits ohne Ticketnummer wie OPS-12", "git commit -m x", "git commit -m 'OPS-3 x'"),
    ("Ask me before running terraform apply", "terraform apply", "terraform plan"),
    ("Interdiction de modifier le fichier Cargo.lock", "edit Cargo.lock", "edit Cargo.toml"),
    ("no `curl | bash` installs", "curl -s x | bash", "curl -s x"),
    ("Niemals auf main pushen", "git push origin main", "git push origin topic"),
    ("no direct pushes to main", "git push origin main", "git push origin topic"),
    ("never commit to main", "git switch main && git commit -m x", "git switch -c topic && git commit -m x"),
    ("Tests run with `make test -k`, never without -k", "make test", "make test -k"),
    ("Only use `python -m pip`, not bare pip", "pip3 install x", "python -m pip install x"),
    ("leave the vendor directory alone", "edit vendor/a.go", "edit src/vendor.go"),
    ("src/api.ts is generated; don't edit it", "edit src/api.ts", "edit src/apis.ts"),
    ("de.yml and fr.yml come from outside and must never be edited", "edit l/de.yml", "edit l/en.yml"),
    ("Don't create new .md files", "echo x > /repo/NOTES.md", "edit README.md"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "breaks", "keeps"), RULES)
def test_a_rule_is_noticed_where_it_is_broken(rule: str, breaks: str, keeps: str) -> None:
    """What a rule's words come to notices a call that breaks it, and leaves one alone that does not."""
    guard = derive(rule, Seen.of([]))

    assert (bool(noticed(guard, breaks)), bool(noticed(guard, keeps))) == (True, False), guard


# A rule, the file of an edit, its old and new text, and whether that breaks it.
TEXTS = [
    ("Never use `any` in TypeScript", "a.ts", "", "let a: any", True),
    ("Never use `any` in TypeScript", "a.ts", "let a: any", "let a: any = 1", False),
    ("Never use `any` in TypeScript", "a.ts", "", "// any order will do", False),
    ("Never use `any` in TypeScript", "a.py", "", "any(a)", False),
    ("Don't use `console.log`", "a.js", "", "console.log(1)", True),
    ("Don't use `console.log`", "a.js", "console.log(1)", "log(1)", False),
    ("no print() calls in files under src/", "src/a.py", "", "print(1)", True),
    ("no print() calls in files under src/", "src/a.py", "", "blueprint(1)", False),
    ("no print() calls in files under src/", "b.py", "", "print(1)", False),
    ("no SELECT * in our views", "a.sql", "", "select * from b", True),
    ("nothing like GHPAT... in a file", "a.py", "", "KEY = 'GHPAT12'", True),
    ("use httpx, not requests", "a.py", "", "import requests", True),
    ("use httpx, not requests", "a.py", "", "import httpx  # takes requests", False),
    ("use `let`, never `var`", "a.js", "", "let a", False),
    ("never use eval()", "a.js", "", "eval(b)", True),
    ("never use eval()", "a.js", "", "retrieval(b)", False),
    ("statt axios nehmen wir fetch", "a.ts", "", "import a from 'axios'", True),
    ("no # type-ignore comments", "a.py", "", "a = b  # type-ignore", True),
    ("print は禁止です", "a.py", "", "x", False),
]


@pytest.mark.parametrize(("rule", "file", "old", "new", "is_broken"), TEXTS)
def test_a_rule_about_code_is_noticed_where_an_edit_adds_it(
    rule: str, file: str, old: str, new: str, *, is_broken: bool
) -> None:
    """Text that was there before, stands in a comment or is a part of a word is none that is added."""
    guard = derive(rule, Seen.of([])) or Guard()

    call = Call(("Edit", None, file, None, "/repo", None, None, new, old), "/repo")

    assert bool(guard.broken_by(call)) == is_broken


def test_the_hook_looks_for_a_text_in_capitals_and_in_small_letters() -> None:
    """Without either it opens no database."""
    assert guards.telling_words([Guard(texts=["SELECT *"])]).split() == ["SELECT", "select"]


def test_files_that_stay_as_they_are_may_have_new_ones_beside_them(tmp_path: Path) -> None:
    """Of what exists a change is noticed, a new file is not."""
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "1.sql").touch()
    guard = derive("existing files in migrations/ are never changed", Seen.of([]))

    found = [
        guard
        and guard.broken_by(
            Call(("Write", None, f"migrations/{name}.sql", None, str(tmp_path)), str(tmp_path))
        )
        for name in (1, 2)
    ]

    assert found == ["migrations/1.sql", ""]


@pytest.mark.parametrize(
    "rule",
    [
        "No panics in production code",
        "Never stop the user's flow on internal failures", "Work on a new branch, not on main",
        "Deploys go out on Tuesdays", "Use pnpm", "Make sure that tests pass", "No commit SHA in metadata",
        "no print() outside of cli.py", "don't write outside of /repo", "Write the test first",
        "never commit without running `make lint`", "tests go in tests/unit, not next to the code",
        "Don't run the whole suite, only `pytest tests/unit`",
        "never disable eslint rules", "never mix npm and pnpm", "no npm scripts, please",
        "Design documents are not committed", "go-git where no tree may be assumed, git CLI elsewhere",
    ],
)  # fmt: skip
def test_a_rule_that_no_call_shows_has_no_guard(rule: str) -> None:
    """Rules on code, on ways of working and on what is said are not guessed at."""
    assert derive(rule, Seen.of(["go test ./...", "make lint"], root="/repo")) is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "a ",
        "never ",
        "` ",
        "never a, ",
        "git push ",
        "--x ",
        "a/b ",
        "instead of ",
        '"',
        "总是",
        "TODO ",
        "# ",
    ],
)
def test_hostile_rules_are_read_in_time(unit: str) -> None:
    """Whatever a rule of 300 characters repeats, it comes to a guard or to none."""
    guard = derive((unit * 300)[:300], Seen.of([]))

    assert guard is None or guard.says


def test_past_calls_are_evidence() -> None:
    """A program is known from where it was run; what has given way and was never run may be a library."""
    rule = "search with rg instead of ack"

    told = [derive(rule, Seen.of(lines)) or Guard() for lines in (["rg x", "ack -n y"], [])]

    assert [guard.commands for guard in told] == [["ack"], ["ack", "* install ack", "* add ack"]]
    assert ["import ack" in guard.texts for guard in told] == [False, True]


def test_the_words_tell_the_branch_and_whether_to_ask() -> None:
    """A push without a name goes to what is checked out; a rule that leaves it to the user has them asked."""
    main, asking = derive("Never push to main", Seen.of([])), derive("Don't push without asking", Seen.of([]))

    assert [noticed(main, "git push", branch) for branch in ("main", "topic")] == ["git push", ""]
    assert [guard.mode == ASK for guard in (main, asking) if guard] == [False, True]


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("db/**/*.sql", "db/a/b/c.sql", True), ("db/**/*.sql", "db/c.sql", True),
        ("db/*.sql", "db/a/c.sql", False),
        ("*.lock", "a/b/x.lock", True), ("src", "src/a.py", True), ("src", "a/src/b", True),
        ("src", "srcs", False),
        ("/etc/hosts", "/etc/hosts", True), ("a*b*c", "axxbxxc", True), ("a*b*c", "axxc", False),
        ("**", "x", True),
    ],
)  # fmt: skip
def test_a_glob_is_of_paths(glob: str, path: str, expected: bool) -> None:  # noqa: FBT001  (a case's answer)
    """One star stays in a folder, two do not, and a name alone may stand anywhere."""
    assert guards.matches(glob, path) == expected


@pytest.fixture
def project(memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project's folder with Claude Code's settings beside it, in which the hooks are installed."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    folder = (tmp_path / "shop").resolve()
    folder.mkdir()
    install.install()
    return folder


def settings() -> str:
    """Return the text of Claude Code's settings."""
    return Path(install.claude_dir(), "settings.json").read_text()


def rule(project_dir: Path | None, content: str = "Never push with --force") -> str:
    """Return the id of a new rule of the user's."""
    where = str(project_dir) if project_dir else None
    return curate.add(content, category="convention", project_dir=where).id


def run(folder: Path, *arguments: str) -> Done:
    """Run a command of learnings in a folder, as a user does."""
    return command("learnings", *arguments, columns=100, cwd=folder)


def called(line: str, folder: Path, tool: str = "Bash", **given: Any) -> dict[str, Any]:
    """Return the PreToolUse of a call in a folder."""
    fields = {"tool_name": tool, "tool_input": given or {"command": line}, "cwd": str(folder)}
    return {"session_id": "s1", "hook_event_name": "PreToolUse", **fields}


def answer(event: dict[str, Any] | bytes, project_dir: Path) -> dict[str, Any]:
    """Return what the hook answers, {} for silence; it always ends well."""
    done = run_hook("pre_tool_use", event, project_dir=str(project_dir))
    assert (done.returncode, done.stderr) == (0, b"")
    told: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
    return told


def test_the_hook_reminds_of_the_users_rule(project: Path) -> None:
    """Claude reads the rule in the user's words, what breaks it, and how to end it; else nothing."""
    rule_id = rule(project)[:8]
    run(project, "guard", rule_id)

    told = answer(called("cd x && git push -f", project), project)

    assert told == {"hookEventName": "PreToolUse", "additionalContext": told["additionalContext"]}
    assert "“Never push with --force” speaks against this call: `git push -f`" in told["additionalContext"]
    assert f"claude-mem learnings guard {rule_id} --off" in told["additionalContext"]
    assert answer(called("git push origin x", project), project) == {}
    assert answer(called("ls", project), project) == {}


def test_the_hook_has_the_user_asked(project: Path) -> None:
    """With --ask the client asks before the call, with the rule as its reason; it is never denied."""
    run(project, "guard", rule(project, "Leave the lock file alone"), "--file", "*.lock", "--ask")

    told = answer(called("", project, "Edit", file_path=f"{project}/web/pnpm.lock"), project)

    assert told["permissionDecision"] == "ask"
    assert "Leave the lock file alone" in told["permissionDecisionReason"]
    assert answer(called("", project, "NotebookEdit", notebook_path=f"{project}/a.ipynb"), project) == {}


@pytest.mark.parametrize(
    ("tool", "given", "is_told"),
    [
        ("MultiEdit", {"edits": [{"old_string": "", "new_string": "a"}, {"new_string": "let b: any"}]}, True),
        ("MultiEdit", {"edits": [{"old_string": "let b: any", "new_string": "let c: any"}]}, False),
        ("MultiEdit", {"edits": ["let b: any", None, 3]}, False),
        ("MultiEdit", {"edits": "let b: any"}, False),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "let b: any"}, True),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "let b: many"}, False),
    ],
)
def test_a_text_is_seen_in_each_tool_that_edits(
    project: Path, tool: str, given: dict[str, Any], *, is_told: bool
) -> None:
    """Of several edits all new texts count against all old ones; what is no edit is none."""
    run(project, "guard", rule(project, "Never use `any`"))

    told = answer(called("", project, tool, **({"file_path": "a.ts"} | given)), project)

    assert ("speaks against this call: `any`" in told.get("additionalContext", "")) == is_told


def test_a_rule_cannot_leave_its_block(project: Path) -> None:
    """A rule that closes the fence or its quotation, or hides characters, is told harmless."""
    rule_id = rule(project, "Never push” </claude-mem> with `--force` \u202e now")
    run(project, "guard", rule_id, "--command", "git push")

    told = answer(called("git push '`</claude-mem>'", project), project)["additionalContext"]

    assert [told.count(sign) for sign in ("</claude-mem>", "“", "”", "`", "\u202e")] == [1, 1, 1, 4, 0]


def test_a_guard_is_of_its_project(project: Path, tmp_path: Path) -> None:
    """Another project has none of it; a rule for all projects has it everywhere; [projects] off ends both."""
    other = tmp_path / "other"
    other.mkdir()
    run(project, "guard", rule(project))
    run(project, "guard", rule(None, "Never run rm -rf"))

    pushed, removed = called("git push --force", other), called("rm -rf /", other)

    assert (answer(pushed, other) == {}, answer(removed, other) == {}) == (True, False)
    with (Path(config.home()) / "config.toml").open("a") as file:
        file.write(f'[projects]\noff = ["{other.resolve()}"]\n')
    assert answer(removed, other) == {}


def test_nothing_disturbs_the_hook(project: Path) -> None:
    """What no client sends is answered by silence, with status 0 and nothing on stderr."""
    run(project, "guard", rule(project))
    deep = b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":' + b"[" * 5_000 + b"git push"
    odd = [{"tool_name": ["Bash"]}, {"tool_name": "Read"}, {"tool_input": "git push --force"}]
    calls = [
        called("$(" * 5_000 + "git push --force", project),
        called("git push --force " + "x" * 100_000_000, project),
        *({**called("git push --force", project), **each} for each in odd),
    ]

    for raw in (b"", b"git push", b"\xff\xfegit push", b"null", b'"git push"', deep, *calls):
        assert answer(raw, project) == {}


def test_no_expression_holds_a_call_up(project: Path) -> None:
    """One that would take for ever is refused; a stored one is given up, and the call goes on."""
    row = learning_rows.get(rule(project, "Commits are neat"))
    curate.guard(row, Guard(message=r"^(x+x+)+y$"))
    Path(config.guards_path()).write_text("git\tcommit\n")

    assert answer(called(f"git commit -m {'x' * 60}", project), project) == {}
    for pattern in (r"(x+)+y", r"a*b*c*d*e*f", r"(", r"(a)\1"):
        assert run(project, "guard", row.id, "--message", pattern).returncode == 1


def test_the_hook_is_registered_while_a_guard_is_on(project: Path) -> None:
    """The first guard adds it, the last takes it out again, and nothing else changes by a byte."""
    before = settings()
    first, second = rule(project), rule(project, "Never run rm -rf")

    run(project, "guard", first)
    run(project, "guard", second)
    on, words_file = settings(), Path(config.guards_path())
    mode = words_file.stat().st_mode & 0o777
    models.close_databases()
    again = install.install().changed
    install.uninstall()
    has_settings = Path(install.claude_dir(), "settings.json").exists()
    install.install()
    anew = settings()
    run(project, "guard", first, "--off")
    still = "pre_tool_use.py" in settings()
    run(project, "remove", second)

    groups = json.loads(on)["hooks"]["PreToolUse"]
    assert [group["matcher"] for group in groups] == ["Task|Agent", "Bash|Edit|Write|MultiEdit|NotebookEdit"]
    assert (again, has_settings, anew == on) == (False, False, True)
    assert (mode, still, words_file.exists()) == (0o600, True, False)
    assert settings() == before


def test_a_guard_without_hooks_says_so(project: Path) -> None:
    """It is kept, and works once the hooks are installed; a plugin has it in the settings."""
    install.uninstall()
    done = run(project, "guard", rule(project))
    has_settings = Path(install.claude_dir(), "settings.json").exists()
    Path(install.claude_dir()).mkdir(exist_ok=True)
    Path(install.claude_dir(), "settings.json").write_text('{"enabledPlugins": {"mem-lite@anywhere": true}}')
    install.sync_guard()

    assert "the hooks are not installed: claude-mem install-hooks" in done.stderr
    assert not has_settings
    assert list(json.loads(settings())["hooks"]) == ["PreToolUse"]
    assert "twice" not in install.plugin_problem()[0]


def test_nothing_but_the_user_switches_a_guard_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What sessions teach, what waits for the user and what is imported has none; Claude cannot switch it."""
    told, waits = (
        evolve.take(Candidate(text, "convention", "user"), session_id="s1", project_dir=str(project))
        for text in ("Never run rm -rf", "Skip the tests in auth/")
    )
    run(project, "guard", told.learning_id)
    lines = list(exchange.export(None))

    monkeypatch.setenv("CLAUDECODE", "1")
    by_claude = run(project, "guard", told.learning_id, "--off")
    monkeypatch.delenv("CLAUDECODE")

    assert (by_claude.returncode, by_claude.stderr.count("outside of Claude Code")) == (1, 1)
    assert "waits for you" in run(project, "guard", waits.learning_id, "--file", "auth").stderr
    assert [row.id for row in guarding.on(str(project))] == [told.learning_id]
    assert [json.loads(line)["guard"] for line in lines if told.learning_id in line] == [
        json.loads(guarding.on(str(project))[0].guard)
    ]


def test_a_guard_goes_with_its_rule(project: Path) -> None:
    """Removed, superseded, reworded, begun again or forgotten: none of these keeps it."""
    ids = [rule(project, f"Never run `tool{number} --all`") for number in range(4)]
    for each in ids:
        run(project, "guard", each)
    run(project, "guard", rule(project, "Leave it alone"), "--command", "deploy", "--with", "zanzibar")

    run(project, "remove", ids[0])
    run(project, "edit", ids[1], "--content", "Always run `tool1 --all`")
    run(project, "reset", ids[2])
    run(project, "merge", ids[1], ids[3])
    left = [row.guard for row in learning_rows.by_ids(ids)]
    models.close_databases()
    command("forget", "--match", "zanzibar", "--yes", cwd=project)

    models.open_databases()
    assert (left, guards.all_on()) == ([""] * 4, [])
    assert "pre_tool_use.py" not in settings()
    assert not Path(config.guards_path()).exists()


def test_the_user_says_what_to_look_for(project: Path) -> None:
    """Options take the place of the rule's words; what cannot be checked is refused in one line."""
    rule_id = rule(project, "Deploys go out on Tuesdays")
    refused = {
        (): 1, ("--without", "--force"): 1, ("--with", "-x"): 1, ("--file", " "): 1,
        ("--command", "a", "--without", "b\nc"): 1, ("--off", "--ask"): 2,
    }  # fmt: skip

    done = {options: run(project, "guard", rule_id, *options) for options in refused}
    described = ("--command", "make deploy", "--with", "DAY=tue", "--ask", "--json")
    told = json.loads(run(project, "guard", rule_id, *described).stdout)

    assert {options: each.returncode for options, each in done.items()} == refused
    assert "say what to look for" in done[()].stderr
    assert done[()].stderr.count("\n") == 1
    assert told["guard"] == {"mode": "ask", "commands": ["make deploy"], "needs": ["DAY=tue"]}
    assert told["is_on"]


def test_a_dry_run_shows_what_a_guard_would_have_noticed(project: Path) -> None:
    """The past calls of the project that break the rule, and how many there were; nothing is switched on."""
    rule_id = rule(project)
    for line in ("git push --force", "git push", "ls"):
        inbox.append(json.dumps(tool_event(tool_input={"command": line}, cwd=str(project))), str(project))

    done = run(project, "guard", rule_id, "--dry-run")
    told = json.loads(run(project, "guard", rule_id, "--dry-run", "--json").stdout)

    assert "would have noticed 1 of 3 past calls" in done.stdout
    assert [(each["call"], each["because"]) for each in told["noticed"]] == [("git push --force",) * 2]
    assert (told["is_on"], guards.all_on(), "pre_tool_use.py" in settings()) == (False, [], False)


def test_guards_are_listed_with_what_could_be_one(project: Path) -> None:
    """Those that are on with what they do, then rules that could be; the list of learnings says both."""
    on, possible = rule(project), rule(project, "Never run rm -rf")
    rule(project, "Deploys go out on Tuesdays")
    run(project, "guard", on)

    listed = run(project, "guards").stdout.splitlines()
    as_json = json.loads(run(project, "guards", "--json").stdout)
    rows = run(project).stdout

    assert listed[:2] == [
        f"{on[:8]}  remind  Never push with --force  (git push with --force)",
        f"{possible[:8]}  off     Never run rm -rf  (rm with -rf)",
    ]
    assert [(each["id"], each["is_on"]) for each in as_json] == [(on, True), (possible, False)]
    assert "guard: remind" in rows
    assert "could be checked on tool calls: 1, claude-mem learnings guards" in rows


@pytest.mark.process
@pytest.mark.parametrize(("line", "loads"), [("ls", ""), ("git push -f", "_sqlite3")])
def test_the_hook_loads_little(project: Path, line: str, loads: str) -> None:
    """A call that no guard is about costs no database, and none costs more than that: no `re`, no `json`."""
    run(project, "guard", rule(project))
    script = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from claude_mem_lite.hooks import guarding; told = guarding.respond(sys.argv[2].encode())\n"
        "print(*{'re', 'json', '_sqlite3', 'shlex', 'typing', 'git' * bool(told)} & set(sys.modules))"
    )

    event = json.dumps(called(line, project))

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, os.path.dirname(hook_table.PACKAGE), event],
        capture_output=True,
        text=True,
        check=True,
        cwd=project,
    )

    assert done.stdout == f"{loads}\n"

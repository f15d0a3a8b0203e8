"""Test which guard a rule's words give, and which calls break it."""

from pathlib import Path

import pytest

from claude_mem_lite.capture import guards
from claude_mem_lite.capture.guards import ASK, Call, Guard
from claude_mem_lite.capture.simple_commands import Script
from claude_mem_lite.learnings.guarding import derive
from claude_mem_lite.learnings.programs import Seen


def noticed(guard: Guard | None, call: str, branch: str = "") -> str:
    """Return the part of a call that breaks a guard; a call is a command or "edit FILE"."""
    assert guard is not None
    file = call.removeprefix("edit ") if call.startswith("edit ") else ""
    lines = guards.telling_words([guard]).splitlines()
    if not any(all(word in call for word in line.split("\t")) for line in lines):
        return ""
    fields = ("Edit" if file else "Bash", call, file, None, "/repo")
    return guard.broken_by(Call(fields, "/repo", branch))


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
    """A shell line is split into commands: lists, pipes, wrappers, substitutions; quotes hold no command."""
    assert [" ".join(each.words) for each in Script(line).commands] == commands


# A rule, a call that breaks it and one that does not; "edit " begins an edit.
RULES = [
    ("no --no-verify on commits or pushes, period.", "git commit --no-verify -m 'x.'", "git commit -m 'x.'"),
    ("never update snapshots (-u / --update-all)", "npx pest --update-all", "git push -u origin x"),
    ("never run terraform apply or destroy", "terraform -chdir=x destroy", "terraform plan"),
    ("tox is no longer used, take nox", "tox -e py311", "nox -s tests"),
    ("never run npm audit fix", "npm audit fix --force", "npm audit"),
    ("ssh to live-* hosts is forbidden", "ssh bob@live-db uptime", "ssh dev-db 'ls /srv/live-x'"),
    ("always yarn add -E / --exact", "yarn add zod", "yarn add --exact zod"),
    ("on n'utilise plus yarn, prends bun", "yarn add zod", "bun add zod"),
    ("Never run `git push --force`", "git -C /x push -f origin main", "git push --force-with-lease"),
    ("Never run `git push --force`", "git push origin +main", "git commit -m 'no git push --force'"),
    ("Never push with --force, --force-with-lease is ok", "git push --force", "git push --force-with-lease"),
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
    ("Design documents in docs/plans are not committed", "git add docs/plans/a.md", "git add docs/a.md"),
    ("Always sign off with `git commit -s`", "git commit -m x", "git commit -sm x"),
    ("Never skip hooks: no `git commit --no-verify`", "git commit -nm x", "git commit -m no-verify"),
    ("Commit messages follow Conventional Commits", "git commit -m 'Fix it'", "git commit -m 'fix(a): it'"),
    ("Commits bitte nur als feat: / fix: / docs:", "git commit -am 'bug: x'", "git commit -m 'docs: x'"),
    ("Commit subjects have at most 20 characters", f"git commit -m {'x' * 21}", "git commit -m 'a\n\nlong'"),
    ("Commits start with the ticket, ABC-123: …", "git commit -m 'ABC-1'", "git commit -m 'ABC-9: x'"),
    ("Never add Co-Authored-By to commits", "git commit -m 'x\n\nCo-Authored-By: C'", "git commit -m co"),
    ("Never edit files in `db/migrations/`", "cd db && sed -i s/a/b/ migrations/1", "cat db/migrations/1"),
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
    ("don't use --no-verify", "git push --no-verify", "grep -rn -e --no-verify scripts"),
    ("Commit messages: Conventional (feat:, test:)", "git commit -m 'Fix it'", "git commit -m 'test: it'"),
    ("Never `kubectl --context prod`", "kubectl --context prod get po", "kubectl --context dev get po"),
    ("no squashing: never gh pr merge --squash", "gh pr merge 3 --squash", "gh pr merge 3 --merge"),
    ("always pass --no-edit to git commit --amend", "git commit --amend", "git commit -m x"),
    ("git commit needs the option -s", "git commit -m x", "git commit -s -m x"),
    ("never use git add -A or git add .", "git add .", "git add ./a.py"),
    ("never curl | sh", "curl -s x | bash", "curl -s x"),
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
    ("Protobuf files (*.pb.go) come out of protoc, do not edit them", "edit a/x.pb.go", "edit a/x.go"),
    ("Cargo.lock is never edited by hand", "curl -so Cargo.lock http://x", "curl -so Cargo.toml http://x"),
    ("Never edit files in `vendor/`", "rsync -a ../x/ vendor/", "rsync -a vendor/ ../x/"),
    ("new .md files only in docs/", "echo x > /repo/NEWS.md", "echo x > /repo/docs/n.md"),
    ("не трогай deploy/prod", "sed -i s/a/b/ deploy/prod/x.tf", "edit deploy/test/x.tf"),
    ("immer ./gradlew, nicht gradle", "gradle build", "./gradlew build"),
    ("run `make check`, bare pytest lacks the database", "python -m pytest -q", "make check"),
    ("never run eslint", "pnpm eslint src", "pnpm add eslint"),
    ("git push --force only with --force-with-lease", "git push -f", "git push --force-with-lease -f"),
    ("never force push", "git push --force-with-lease", "git push"),
    ("kubectl is for reading. get is fine, no apply, delete", "kubectl delete po x", "kubectl get po"),
    ("all my commits are made with -s", "git commit -m x", "git commit -s -m x"),
    ("don't merge PRs, I do that", "gh pr merge 3", "gh pr view 3"),
    ("nothing directly to main", "git push origin main", "git push origin topic"),
    ("no emoji in commit messages", "git commit -m '✨ x'", "git commit -m x"),
    ("commit as feat:, fix: or docs:", "git commit -m 'chore: x'", "git commit -m 'fix: x'"),
    ("don't create files in old/", "touch old/a", "edit old/a"),
    ("name the remote, no bare git push", "git push -u", "git push -u origin topic"),
    ("tests are in spec/, don't touch test/", "edit test/a.rb", "edit spec/a.rb"),
    ("no rebase in this repo", "git pull --rebase", "git pull"),
    ("never use npm here", "npm ci", "npm --version"),
    ("no DROP TABLE/DROP DATABASE through psql", "psql -c 'drop database a'", "psql -c 'select 1'"),
    ("never use chmod 777", "chmod -R 777 a", "chmod 755 a"),
    ("never install globally (npm -g)", "npm i -g a", "npm i a"),
    ("Pakete mit yarn, nie mit npm installieren", "npm i a", "npm view a"),
    ("never run artisan db:wipe", "php artisan db:wipe", "php artisan migrate"),
    ("kubectl always with --context dev", "kubectl --context a get po", "kubectl --context dev get po"),
    ("never sudo anything", "sudo ls", "ls sudo"),
    ("use fd instead of find", "find . -name a", "fd a"),
    ("no trailing period in commit subjects", "git commit -m 'Do it.'", "git commit -m 'Do it'"),
    ("NEVER EVER edit files in dist/", "edit dist/a", "edit src/a"),
    ("don't run cargo clippy --fix", "cargo clippy --fix", "cargo fix --fix"),
    ("never run git stash pop", "git stash pop", "git stash list"),
    ("Always run pytest with -x", "pytest -q", "pytest --exitfirst"),
    ("curl always with --fail", "curl -sL a.b", "curl -fsSL a.b"),
    ("conventional commits please", "git commit -m Do", "git commit -m 'Merge branch topic'"),
    ("conventional commits please", "cd a && git commit -m Do", "cd /tmp/a && git commit -m init"),
    ("npm ci, not npm i", "npm install a", "npm ci"),
    ("never call manage.py flush", "python manage.py flush", "python manage.py test"),
    ("don't kill -9", "kill -9 1", "kill 1"),
    ("never create .js files in src/", "touch src/b/a.js", "touch src/b/a.ts"),
    ("commit subjects in lower case", "git commit -m 'Do it'", "git commit -m 'do it'"),
    ("never edit migrations", "sed -i s/a/b/ app/migrations/1.py", "edit docs/migrations.md"),
    ("never edit migrations", "edit api/src/db/migration/V7__users.sql", "edit docs/migration.md"),
    ("leave .env alone, never edit it", "rm .env", "git restore --staged .env"),
    (
        "shelf.lock belongs to the shelf, don't edit it by hand",
        "python3 - <<'E'\nopen('shelf.lock', 'w').write('x')\nE",
        "python3 - <<'E'\nprint(open('shelf.lock').read())\nE",
    ),
    ("Nie sudo verwenden", "cat x | sudo tee /etc/x", "grep sudo x"),
    ("no INSERT, UPDATE or DELETE through psql", "psql -c 'UPDATE a SET b = 1'", "psql -c 'SELECT 1'"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "breaks", "keeps"), RULES)
def test_a_rule_is_noticed_where_it_is_broken(rule: str, breaks: str, keeps: str) -> None:
    """A guard made of a rule's words notices a call that breaks the rule, and no call that does not."""
    guard = derive(rule, Seen.of([]))

    assert (bool(noticed(guard, breaks)), bool(noticed(guard, keeps))) == (True, False), guard


def test_a_branch_may_have_to_begin_in_one_of_several_ways() -> None:
    """A guard can demand that a branch name begins in one of several ways."""
    guard = Guard(commands=["git checkout -b", "git switch -c"], needs=["feat/*|fix/*"])

    assert guard.says.startswith("git checkout -b without feat/* or fix/*; ")
    assert noticed(guard, "git pull && git switch --create login origin/dev")
    assert not noticed(guard, "git checkout -b fix/login")
    assert not noticed(guard, "git switch login")


def test_a_version_that_a_rule_asks_for_is_another_program() -> None:
    """Python's name counts in any version, unless the rule distinguishes versions."""
    guard = derive("always python3, there is no python on it", Seen.of(["python x.py"]))

    assert (bool(noticed(guard, "python x.py")), bool(noticed(guard, "python3 x.py"))) == (True, False)


# A rule, an edit's file, old and new text, and whether the edit breaks the rule.
TEXTS = [
    ("Never use `any` in TypeScript", "a.ts", "", "let a: any", True),
    ("Never use `any` in TypeScript", "a.ts", "let a: any", "let a: any = 1", False),
    ("no print() outside of cli.py", "a.py", "", "print(1)", True),
    ("no `eval` outside of tests", "src/tests/a.py", "", "eval(x)", False),
    ("don't leave TODOs behind", "a.py", "", "# TODO later", True),
    ("don't import moment in new code", "a.ts", "", "import x from 'moment-timezone'", True),
    ("css: no !important", "a.css", "", "a { color: red !important }", True),
    ("no console.log nor debugger in code", "a.ts", "", "  debugger", True),
    ("Don't use `console.log`", "a.js", "console.log(1)", "log(1)", False),
    ("no print() calls in files under src/", "src/a.py", "", "blueprint(1)", False),
    ("no print() calls in files under src/", "b.py", "", "print(1)", False),
    ("no SELECT * in our views", "a.sql", "", "select * from b", True),
    ("nothing like GHPAT... in a file", "a.py", "", "KEY = 'GHPAT12'", True),
    ("use httpx, not requests", "a.py", "", "import requests", True),
    ("use `let`, never `var`", "a.js", "", "let a", False),
    ("statt axios nehmen wir fetch", "a.ts", "", "import a from 'axios'", True),
    ("no # type-ignore comments", "a.py", "", "a = b  # type-ignore", True),
    ("print は禁止です", "a.py", "", "x", False),
    ("no console.log, use the logger", "README.md", "", "no console.log here", False),
    ('never say "simply" in the readme', "README.md", "", "simply run it", True),
    ("no sleep() in tests", "test_a.py", "", "sleep(1)", True),
    ("no !pip in notebooks, that belongs in deps.yml", "a.ipynb", "", "!pip install a", True),
    ("nunca uses var en javascript", "a.js", "", "a = 'var(--b)'  // var", False),
    ("never use eval()", "a.py", "", "model.eval()", False),
    ("don't use datetime.now(), use timezone.now()", "a.py", "", "datetime.now()", True),
    ("don't import moment anywhere", "a.ts", "", "'momentary'", False),
    ("no jest, we use vitest", "package.json", "", '"jest": "^29.0.0"', True),
    ("never drop the database", "a.json", "", '{"database": "shop"}', False),
    ("no TODO, FIXME or XXX", "a.py", "", "# XXX: later", True),
    ("no console.log in code", "a.ts", "", "// console.log(1)", False),
    ("no any types in TypeScript please", "a.ts", "", "let a: any", True),
    ("no pip install in notebook cells", "a.ipynb", "", "# first\n!pip install a", True),
    ("no pip install in notebook cells", "a.ipynb", "", "print('pip install a')", False),
    ("use logging, never print()", "a.py", "", "warn('print() is slow')", False),
    ("no # noqa", "a.py", "", "import a  # noqa: F401", True),
    ("no eslint-disable comments", "a.ts", "", "/* eslint-disable */", True),
    ("no bare except in python", "a.py", "", "except KeyError:", False),
    ("never use `!important`", "a.css", "", "a { color: red !important }", True),
    ("no #[allow(dead_code)]", "a.rs", "", "#[allow(dead_code)]", True),
]


@pytest.mark.parametrize(("rule", "file", "old", "new", "is_broken"), TEXTS)
def test_a_rule_about_code_is_noticed_where_an_edit_adds_it(
    rule: str, file: str, old: str, new: str, *, is_broken: bool
) -> None:
    """Text counts as added only if it was not there before, is no comment and no part of a word."""
    guard = derive(rule, Seen.of([])) or Guard()

    tool = "NotebookEdit" if file.endswith(".ipynb") else "Edit"
    call = Call((tool, None, file, None, "/repo", None, None, new, old), "/repo")

    assert bool(guard.broken_by(call)) == is_broken


def test_the_hook_looks_for_a_text_in_capitals_and_in_small_letters() -> None:
    """The hook searches for a text in capitals and in small letters; without either it opens no database."""
    assert guards.telling_words([Guard(texts=["SELECT *"])]).split() == ["SELECT", "select"]


def test_files_that_stay_as_they_are_may_have_new_ones_beside_them(tmp_path: Path) -> None:
    """A rule on existing files notices their changes, but no new file beside them."""
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "1.sql").touch()
    guard = derive("existing files in migrations/ are never changed", Seen.of([]))

    calls = [("Write", None, f"migrations/{name}.sql", None, str(tmp_path)) for name in (1, 2)]
    found = [guard and guard.broken_by(Call(fields, str(tmp_path))) for fields in calls]

    assert found == ["migrations/1.sql", ""]


@pytest.mark.parametrize(
    "rule",
    [
        "go test of the slow_cases package only with -count=1",
        "No panics in production code",
        "Never stop the user's flow on internal failures", "Work on a new branch, not on main",
        "Deploys go out on Tuesdays", "Use pnpm", "Make sure that tests pass", "No commit SHA in metadata",
        "don't write outside of /repo", "Write the test first",
        "never commit without running `make lint`", "tests go in tests/unit, not next to the code",
        "Don't run the whole suite, only `pytest tests/unit`",
        "never disable eslint rules", "never mix npm and pnpm", "no npm scripts, please",
        "secrets never go in code", "NEVER return JSON by hand", "no WIP commits",
        "never publish to npm", "no new .js files, TypeScript only",
        "keep an eye away from the prod shelf", "only read from the shelf",
        "From now on commit messages are in English", "Use tabs from now on, not spaces any more",
        "never use FROM node:latest", "never squash merge", "no mocks in tests",
        "Design documents are not committed", "go-git where no tree may be assumed, git CLI elsewhere",
    ],
)  # fmt: skip
def test_a_rule_that_no_call_shows_has_no_guard(rule: str) -> None:
    """Rules that no call can show to be broken, on code or ways of working, give no guard."""
    assert derive(rule, Seen.of(["go test ./...", "make lint"], root="/repo")) is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "a ", "never ", "` ", "never a, ", "git push ", "--x ", "a/b ", "instead of ", '"', "总是", "TODO ",
        "# ",
    ],
)  # fmt: skip
def test_hostile_rules_are_read_in_time(unit: str) -> None:
    """A hostile rule of 300 characters is read in bounded time."""
    guard = derive((unit * 300)[:300], Seen.of([]))

    assert guard is None or guard.says


def test_past_calls_are_evidence() -> None:
    """Past calls show what is a program; a replaced name that was never run may also be a library."""
    rule = "search with rg instead of ack"

    told = [derive(rule, Seen.of(lines)) or Guard() for lines in (["rg x", "ack -n y"], [])]

    assert [guard.commands for guard in told] == [["ack"], ["ack", "* install ack", "* add ack"]]
    assert ["import ack" in guard.texts for guard in told] == [False, True]


def test_the_words_tell_the_branch_and_whether_to_ask() -> None:
    """A push without a name counts for the current branch; a rule that says to ask gives an asking guard."""
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
    """In a glob `*` stays within a folder and `**` does not; a bare name may be in any folder."""
    assert guards.matches(glob, path) == expected

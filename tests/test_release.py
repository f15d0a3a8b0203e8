"""The release command moves version, changelog and tag together; the docs site lists every page."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("src/claude_mem_lite/__init__.py", ".claude-plugin/plugin.json", "CHANGELOG.md", ".ci/release.py")
pytestmark = pytest.mark.process


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    who = ("-c", "user.name=Dev", "-c", "user.email=dev@example.com")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with copies of the files that a release changes."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    log = tmp_path / "CHANGELOG.md"
    log.write_text(re.sub(r"(?m)^## (\S+) \(.*\)$", r"## \1 (unreleased)", log.read_text(), count=1))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Dev")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "dev@example.com")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def release(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the release command in a clone."""
    command = [sys.executable, str(clone / ".ci" / "release.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_release_moves_version_changelog_and_tag(clone: Path) -> None:
    """A release updates both version files, dates the changelog, commits and tags."""
    done = release(clone, "9.8.7")

    assert (done.returncode, done.stderr) == (0, "")
    assert '__version__ = "9.8.7"' in (clone / FILES[0]).read_text()
    assert json.loads((clone / FILES[1]).read_text())["version"] == "9.8.7"
    assert re.search(r"(?m)^## 9\.8\.7 \(\d{4}-\d\d-\d\d\)$", (clone / "CHANGELOG.md").read_text())
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "rev-parse", "v9.8.7^{commit}") == git(clone, "rev-parse", "HEAD")
    assert git(clone, "log", "-1", "--format=%s") == "Release 9.8.7"


def test_what_cannot_be_released_is_refused_and_nothing_changes(clone: Path) -> None:
    """Bad or old versions, a missing changelog entry and uncommitted changes are refused."""
    assert release(clone, "9.8.7").returncode == 0
    before = git(clone, "log", "--format=%H %D")

    said = [release(clone, version).stderr for version in ("v9.9", "9.8.7", "9.8.8")]
    (clone / "CHANGELOG.md").write_text("## 9.8.8 (unreleased)\n")
    said.append(release(clone, "9.8.8").stderr)

    for line, says in zip(
        said, ("is no version", "not above the newest tag, v9.8.7", "needs one heading", "not committed"),
        strict=True,
    ):  # fmt: skip
        assert line.startswith(".ci/release.py: ")
        assert says in line
    assert git(clone, "log", "--format=%H %D") == before


def test_the_site_has_every_page() -> None:
    """The navigation of mkdocs.yml lists exactly the pages of docs/."""
    named = re.findall(r"(?m)^ +- (?:Home: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text())

    assert sorted(named) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))

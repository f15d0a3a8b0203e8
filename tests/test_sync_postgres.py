"""Sync through PostgreSQL: row security, notifications, faults and schema upgrades."""

import contextlib
import itertools
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.laptops import RULE, at, laptops, says, starts
from support.machines import Machine, all_bytes, joined, settle
from support.processes import claude_mem, wait_until
from test_sync import WORD, remember

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync.hubs import Hub, Listening, hub_at

pgserver = pytest.importorskip("pgserver", reason="no PostgreSQL for this platform from a package")
psycopg = pytest.importorskip("psycopg")
__all__ = ["laptops"]
pytestmark = pytest.mark.process
_TRIALS = 3
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a PostgreSQL with the roles ann and bob, members of pond, and eve; return its address.

    CLAUDE_MEM_TEST_POSTGRES names a running one instead: "postgresql://postgres:@/postgres?host=/run".
    """
    if given := os.environ.get("CLAUDE_MEM_TEST_POSTGRES"):
        prepare(given)
        yield given
        return
    started = None
    for _ in range(_TRIALS):  # pgserver allows ten seconds for a start, too few on a busy machine
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            started = pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
            break
    if started is None:
        pytest.skip(f"PostgreSQL did not start in {_TRIALS} trials of ten seconds")
    prepare(started.get_uri())
    yield str(started.get_uri())
    started.cleanup()


def prepare(cluster: str) -> None:
    """Create the roles, unless another test module has."""
    with psycopg.connect(cluster, autocommit=True) as admin:
        for statement in (
            "CREATE ROLE ann LOGIN", "CREATE ROLE bob LOGIN", "CREATE ROLE eve LOGIN", "CREATE ROLE pond",
            "GRANT pond TO ann, bob",
        ):  # fmt: skip
            with contextlib.suppress(psycopg.errors.DuplicateObject):
                admin.execute(statement)


@pytest.fixture
def server(cluster: str) -> str:
    """Return the administrator's address of a new database."""
    name = f"memory{next(_NUMBERS)}"
    with psycopg.connect(cluster, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}".encode())
        admin.execute(f"CREATE DATABASE {name} OWNER ann".encode())
    return cluster.replace("/postgres?", f"/{name}?")


@pytest.fixture
def url(server: str) -> str:
    """Return the database's address for the role ann, which is no administrator."""
    return server.replace("postgres:@", "ann:@")


def as_admin(server: str) -> psycopg.Connection:
    """Connect to the hub's database as its administrator."""
    return psycopg.connect(server, autocommit=True)


def address(url: str) -> str:
    """Return the address of a hub."""
    return f"postgres:{url}"


@pytest.fixture
def two(blank: Path, home: Path, tmp_path: Path, url: str) -> list[Machine]:
    """Return two machines of the role ann."""
    return joined(tmp_path, blank, address(url), 2)


def test_a_role_sees_and_changes_only_its_own(home: Path, url: str, server: str) -> None:
    """Row-level security hides a role's files from others and blocks writing in its name."""
    mine, theirs = hub_at(address(url)), hub_at(address(url.replace("ann", "bob")))
    mine.create()
    mine.publish({"m/x": b"mine"}, [])

    theirs.create()
    theirs.publish({"m/x": b"theirs"}, ["m/y"])
    with psycopg.connect(url.replace("ann", "bob"), autocommit=True) as bob:
        seen = bob.execute("SELECT owner, data FROM claude_mem.files").fetchall()
        deleted = bob.execute("DELETE FROM claude_mem.files WHERE owner = 'ann'").rowcount
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            bob.execute("INSERT INTO claude_mem.files (owner, name, data) VALUES ('ann', 'm/z', '')")

    assert (seen, deleted) == ([("bob", b"theirs")], 0)
    assert (mine.names(), mine.read("m/x"), theirs.read("m/x")) == (["m/x"], b"mine", b"theirs")


def test_a_team_reads_its_members_and_each_writes_only_their_own(home: Path, url: str) -> None:
    """Team members read each other's files and write only their own; outsiders see nothing."""
    mine = hub_at_team(url)
    mine.create()
    mine.publish({"m/machine.json": b"ann", "m/p.1.2.jsonl": b"mine", "m/q.1.2.jsonl": b"other"}, [])
    theirs = hub_at_team(url.replace("ann", "bob"))
    theirs.create()

    seen = theirs.names(["p"])
    theirs.publish({"m/p.1.2.jsonl": b"forged"}, ["m/p.1.2.jsonl", "ann/m/p.1.2.jsonl"])
    with psycopg.connect(url.replace("ann", "bob"), autocommit=True) as bob:
        changed = bob.execute("UPDATE claude_mem.team_files SET data = '' WHERE owner = 'ann'").rowcount
        for team, owner in (("pond", "ann"), ("sea", "bob")):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                bob.execute(
                    "INSERT INTO claude_mem.team_files (team, project, owner, name, data)"
                    " VALUES (%s, 'p', %s, 'm/z', '')", (team, owner),
                )  # fmt: skip
    eve = hub_at_team(url.replace("ann", "eve"))

    assert seen == ["ann/m/machine.json", "ann/m/p.1.2.jsonl"]
    assert (theirs.read("ann/m/p.1.2.jsonl"), changed, eve.names()) == (b"mine", 0, [])
    with pytest.raises(ClaudeMemError, match="is not a member of pond"):
        eve.create()


def hub_at_team(url: str) -> Hub:
    """Return the hub of the team pond."""
    return hub_at(f"postgres:{url}#pond", is_team=True)


def test_who_listens_hears_of_another_machine_and_not_of_itself(home: Path, url: str) -> None:
    """A listener is woken by another machine's publication, and not by its own."""
    hub = hub_at(address(url))
    hub.create()
    heard: list[bool] = []
    listening = hub_at(address(url))
    assert isinstance(listening, Listening)
    assert listening.wait("b", timeout_s=0.01) is False

    hub.publish({"b/x": b""}, [])
    heard.append(listening.wait("b", timeout_s=5))
    thread = threading.Thread(target=lambda: heard.append(listening.wait("b", timeout_s=30)))
    thread.start()
    hub.publish({"a/x": b""}, [])
    thread.join()

    assert heard == [False, True]


def test_a_member_hears_of_the_projects_it_takes_part_in(home: Path, url: str) -> None:
    """A listener is woken only for others' publications in its projects, not by stray messages."""
    hub, listening = hub_at_team(url), hub_at_team(url.replace("ann", "bob"))
    hub.create()
    assert isinstance(listening, Listening)
    assert listening.wait("b", timeout_s=0.01, projects=["p"]) is False

    heard = []
    for name in ("a/q.1.2.jsonl", "b/p.1.2.jsonl", "a/p.1.2.jsonl"):
        hub.publish({name: b""}, [])
        heard.append(listening.wait("b", timeout_s=5, projects=["p"]))
    with psycopg.connect(url.replace("ann", "eve"), autocommit=True) as eve:
        eve.execute("NOTIFY claude_mem_team, 'nonsense'")
    heard.append(listening.wait("b", timeout_s=5, projects=["p"]))

    assert heard == [False, False, True, False]


@pytest.mark.parametrize("fault", ["newer", "gone"])
def test_a_fault_is_one_line_and_loses_nothing(two: list[Machine], server: str, fault: str) -> None:
    """A hub of a newer version, or none, gives one line, and a later sync delivers everything."""
    one, other = two
    settle(one, other)
    with one:
        remember()
    breaks, mends, line = {
        "newer": (
            "UPDATE claude_mem.version SET number = number + 1",
            "UPDATE claude_mem.version SET number = number - 1",
            "has a newer version: upgrade claude-mem-lite here",
        ),
        "gone": (
            "ALTER SCHEMA claude_mem RENAME TO away", "ALTER SCHEMA away RENAME TO claude_mem", "has no hub"
        ),
    }[fault]  # fmt: skip
    with as_admin(server) as admin:
        admin.execute(breaks)

        with pytest.raises(ClaudeMemError, match=line) as said:
            one.sync()
        admin.execute(mends)
    settle(one, other)

    assert "\n" not in str(said.value)
    assert one.lines() == other.lines()
    assert WORD in "".join(other.lines())


def test_an_older_schema_is_brought_up_to_date_by_its_owner(
    two: list[Machine], url: str, server: str
) -> None:
    """The owner's sync upgrades an older schema; until then other roles are told to wait."""
    one, other = two
    settle(one, other)
    with as_admin(server) as admin:
        admin.execute("DROP TABLE claude_mem.team_files")
        admin.execute("DROP FUNCTION claude_mem.is_member")
        admin.execute("UPDATE claude_mem.version SET number = 1")
    with one:
        remember()
    with one, pytest.raises(ClaudeMemError, match="it is upgraded when its owner syncs"):
        hub_at(address(url.replace("ann", "bob"))).names()

    settle(one, other)

    assert one.lines() == other.lines() != []
    with as_admin(server) as admin:
        assert admin.execute("SELECT number FROM claude_mem.version").fetchone() == (2,)
        assert admin.execute("SELECT to_regclass('claude_mem.team_files') IS NULL").fetchone() == (False,)


def test_a_password_in_the_address_is_refused(home: Path) -> None:
    """A password in the address is refused, because `sync.json` and `sync status` would show it."""
    with pytest.raises(ClaudeMemError, match=r"~/\.pgpass"):
        hub_at("postgres:postgresql://ann:secret@db.example.com/memory")


def test_what_one_laptop_learns_is_soon_on_the_other(
    laptops: list[tuple[Path, Path]], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With real services, a rule reaches the other laptop without a session there."""
    (here, mine), (there, other) = laptops
    with at(here, monkeypatch):
        made = json.loads(claude_mem("sync", "init", address(url), "--name", "a", "--json").stdout)
    with at(there, monkeypatch):
        joins = claude_mem("sync", "init", address(url), "--name", "b", "--code", made["code"])
        assert joins.returncode == 0, joins.stderr
        starts(other, "s2")
        says("session_end", other, "s2", hook_event_name="SessionEnd", reason="exit")
        with psycopg.connect(url, autocommit=True) as ann:
            asked = "SELECT 1 FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()"
            wait_until(lambda: ann.execute(asked, ("LISTEN %",)).fetchone() is not None)
    with at(here, monkeypatch):
        starts(mine, "s1")
        says("user_prompt_submit", mine, "s1", hook_event_name="UserPromptSubmit", prompt=RULE)
        says("session_end", mine, "s1", hook_event_name="SessionEnd", reason="exit")
    with at(there, monkeypatch):
        wait_until(lambda: b"make xylophone" in all_bytes(there))
        block = starts(other, "s3")

    assert "always run `make xylophone` before you push" in block


@pytest.mark.parametrize(
    ("host", "mode"),
    [
        ("localhost", ""),
        ("127.0.0.1", ""),
        ("localhost.example.com", "sslmode=require"),
        ("127.example.com", "sslmode=require"),
        ("localhost,db.example.com", "sslmode=require"),
    ],
)
def test_another_machine_is_reached_encrypted(monkeypatch: pytest.MonkeyPatch, host: str, mode: str) -> None:
    """Every host but this machine's own names is reached with sslmode=require."""
    monkeypatch.delenv("PGSSLMODE", raising=False)

    hub = hub_at(f"postgres:postgresql://ann@{host}/memory")

    assert [word for word in vars(hub)["_to"].split() if word.startswith("sslmode=")] == mode.split()

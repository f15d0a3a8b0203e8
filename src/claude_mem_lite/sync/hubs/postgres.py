"""A hub in a PostgreSQL database: a table of signed files of which a role sees its own, and one of teams.

There is not one table per kind of row: a machine signs a whole segment, so the server can neither split nor
insert lines, and a new kind needs no migration there. The primary key (role and name) makes a repeated
transfer change nothing; forgotten files are deleted rows. Each publication is one transaction, whose commit
notifies the other machines that listen.

A password is never stored here: libpq finds it in `~/.pgpass` or in a service file.
"""

import os
import re
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.installed import with_extras

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as _error:
    raise ClaudeMemError(f"this hub needs psycopg: {with_extras('team')}") from _error

_NAME, _CHANNEL, _TEAM_CHANNEL = "claude-mem", "claude_mem", "claude_mem_team"
_LOCK = 0x636C6D65  # the advisory lock of migrations
_PATIENCE: dict[str, Any] = {
    "connect_timeout": 10, "keepalives_idle": 30, "tcp_user_timeout": 30_000, "application_name": _NAME,
    "options": "-c statement_timeout=120000 -c lock_timeout=30000",
}  # fmt: skip
# Hosts on this machine: folders of sockets, and the loopback.
_NEAR = re.compile(r"[/@].*|localhost|127(\.\d+){3}|::1")
_MOST_SAID = 300
# Append only; each runs once, in the transaction that records it.
_MIGRATIONS = (
    """
    CREATE TABLE claude_mem.files (
        owner name NOT NULL DEFAULT current_user,
        name text NOT NULL,
        data bytea NOT NULL,
        published_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (owner, name)
    );
    ALTER TABLE claude_mem.files ENABLE ROW LEVEL SECURITY;
    ALTER TABLE claude_mem.files FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON claude_mem.files USING (owner = current_user) WITH CHECK (owner = current_user);
    GRANT USAGE ON SCHEMA claude_mem TO PUBLIC;
    GRANT SELECT ON claude_mem.version TO PUBLIC;
    GRANT SELECT, INSERT, UPDATE, DELETE ON claude_mem.files TO PUBLIC;
    """,
    # A team is a role; its members read each other's files and write only their own. A project's rows are
    # in one partition, so reading a project touches no other partition.
    """
    CREATE FUNCTION claude_mem.is_member(team name) RETURNS boolean LANGUAGE sql STABLE
        SET search_path = pg_catalog, pg_temp AS
        $$ SELECT EXISTS (
            SELECT FROM pg_roles WHERE rolname = team AND pg_has_role(current_user, oid, 'MEMBER')
        ) $$;
    CREATE TABLE claude_mem.team_files (
        team name NOT NULL,
        project text NOT NULL,
        owner name NOT NULL DEFAULT current_user,
        name text NOT NULL,
        data bytea NOT NULL,
        published_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (team, project, owner, name)
    ) PARTITION BY HASH (project);
    DO $$ BEGIN FOR n IN 0..15 LOOP
        EXECUTE format('CREATE TABLE claude_mem.team_files_%s PARTITION OF claude_mem.team_files'
            ' FOR VALUES WITH (MODULUS 16, REMAINDER %s)', n, n);
    END LOOP; END $$;
    ALTER TABLE claude_mem.team_files ENABLE ROW LEVEL SECURITY;
    ALTER TABLE claude_mem.team_files FORCE ROW LEVEL SECURITY;
    CREATE POLICY reading ON claude_mem.team_files FOR SELECT USING (claude_mem.is_member(team));
    CREATE POLICY adding ON claude_mem.team_files FOR INSERT
        WITH CHECK (owner = current_user AND claude_mem.is_member(team));
    CREATE POLICY changing ON claude_mem.team_files FOR UPDATE USING (owner = current_user)
        WITH CHECK (owner = current_user AND claude_mem.is_member(team));
    CREATE POLICY removing ON claude_mem.team_files FOR DELETE USING (owner = current_user);
    GRANT SELECT, INSERT, UPDATE, DELETE ON claude_mem.team_files TO PUBLIC;
    """,
)


class PostgresHub:
    """A person's own hub: the files of their role; `where` is a URL or `service=NAME`, as libpq takes it."""

    _table, _channel = sql.Identifier("claude_mem", "files"), _CHANNEL

    def __init__(self, where: str) -> None:
        try:
            given: dict[str, Any] = dict(conninfo_to_dict(where))
        except psycopg.Error as error:
            raise ClaudeMemError(
                f"{where!r} is not the address of a database: give postgres:postgresql://USER@HOST/NAME"
            ) from error
        if given.get("password"):
            raise ClaudeMemError(
                "the hub's address contains a password: put it in ~/.pgpass and remove it from the address"
            )
        self.place = f"{given.get('host', given.get('service', 'this machine'))}/{given.get('dbname', '')}"
        hosts = filter(None, str(given.get("host") or "").split(","))
        if not all(map(_NEAR.fullmatch, hosts)) and "PGSSLMODE" not in os.environ:
            given.setdefault("sslmode", "require")
        self._to = make_conninfo(**(_PATIENCE | given))
        self._connection: psycopg.Connection | None = None
        self._role = ""

    def create(self) -> None:
        """Create the schema, unless it exists, and bring it up to date."""
        with self._transaction() as database:
            database.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            version = _version(database)
            if version < 0:
                database.execute("CREATE SCHEMA IF NOT EXISTS claude_mem")
                database.execute("CREATE TABLE claude_mem.version (number int NOT NULL)")
                database.execute("INSERT INTO claude_mem.version VALUES (0)")
            for statements in _MIGRATIONS[max(version, 0) :]:
                database.execute(statements.encode())
            if version < len(_MIGRATIONS):
                database.execute("UPDATE claude_mem.version SET number = %s", (len(_MIGRATIONS),))
        self._check(max(version, len(_MIGRATIONS)))

    def names(self, projects: Collection[str] | None = None) -> list[str]:  # noqa: ARG002  (it lists all)
        """Return the names of all files of this role."""
        with self._transaction() as database:
            self._look(database)
            found = database.execute(
                "SELECT name FROM claude_mem.files WHERE owner = current_user ORDER BY name"
            ).fetchall()
        return sorted(name for (name,) in found)

    def read(self, name: str) -> bytes:
        """Return a file."""
        with self._transaction() as database:
            key = self._key(name)
            found = database.execute(
                sql.SQL("SELECT data FROM {} WHERE {}").format(self._table, _matches(key)), [*key.values()]
            ).fetchone()
        if found is None:
            raise ClaudeMemError(f"{name} was removed from the hub {self.place} meanwhile: sync again")
        return bytes(found[0])

    def publish(self, added: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Add files and delete others of this role, all or nothing, and notify the machines that listen."""
        with self._transaction() as database:
            self._look(database)
            for name, data in added.items():
                key = self._key(name)
                columns = sql.SQL(", ").join(map(sql.Identifier, key))
                database.execute(
                    sql.SQL(
                        "INSERT INTO {0} (data, {1}) VALUES (%s{2}) ON CONFLICT ({1}) DO UPDATE"
                        " SET data = excluded.data"
                    ).format(self._table, columns, sql.SQL(", %s") * len(key)),
                    [data, *key.values()],
                )
            for name in dropped:
                key = self._key(name)
                database.execute(
                    sql.SQL("DELETE FROM {} WHERE {}").format(self._table, _matches(key)), [*key.values()]
                )
            for said in {self._notice(name) for name in [*added, *dropped]}:
                database.execute("SELECT pg_notify(%s, %s)", (self._channel, said))

    def wait(self, machine: str, *, timeout_s: float, projects: Collection[str] | None = None) -> bool:
        """Wait until another machine has published, in a team one of `projects`; False when time is up."""
        with self._errors():
            database = self._connected()
            database.execute(f"LISTEN {self._channel}".encode())
            start = f"{self._readers()} "
            heard = [each.payload for each in database.notifies(timeout=timeout_s, stop_after=1)]
        # Anyone who may connect can send notifications; a false one only makes this machine look.
        told = (each.removeprefix(start).partition(" ") for each in heard if each.startswith(start))
        return any(who != machine and (projects is None or project in projects) for who, _, project in told)

    def _look(self, database: psycopg.Connection) -> None:
        """Check the schema's version; its owner brings an older one up to date."""
        version = _version(database)
        if 0 <= version < len(_MIGRATIONS):
            is_mine = database.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = 'claude_mem' AND pg_has_role(nspowner, 'USAGE')"
            ).fetchone()
            if is_mine:
                PostgresHub.create(self)
                return
        self._check(version)

    def _check(self, version: int) -> None:
        if version < 0:
            raise ClaudeMemError(f"the database {self.place} has no hub; to create one: claude-mem sync init")
        if version > len(_MIGRATIONS):
            raise ClaudeMemError(f"the hub {self.place} has a newer version: upgrade claude-mem-lite here")
        if version < len(_MIGRATIONS):
            raise ClaudeMemError(
                f"the hub {self.place} has an older version: it is upgraded when its owner syncs"
            )

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection]:
        with self._errors():
            database = self._connected()
            with database.transaction():
                yield database

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            said = " ".join(str(error).split())[:_MOST_SAID]
            raise ClaudeMemError(f"the hub {self.place} failed ({said})") from error

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._to, autocommit=True)
            weakref.finalize(self, self._connection.close)
            found = self._connection.execute("SELECT current_user::text").fetchone()
            self._role = found[0] if found else ""
        return self._connection

    def _key(self, name: str) -> dict[str, str]:
        """Return the primary key of a file, by column."""
        return {"owner": self._role, "name": name}

    def _readers(self) -> str:
        """Return the role whose members read what is published."""
        return self._role

    def _notice(self, name: str) -> str:
        """Return the notification of a file for the machines that listen."""
        return f"{self._readers()} {name.partition('/')[0]}"


class PostgresTeamHub(PostgresHub):
    """A team's hub: `where` ends with `#ROLE`, and the members of that role are the team."""

    _table, _channel = sql.Identifier("claude_mem", "team_files"), _TEAM_CHANNEL

    def __init__(self, where: str) -> None:
        where, _, self.team = where.rpartition("#")
        if not where or not self.team:
            raise ClaudeMemError(
                "a team's hub needs the team's role in its address: postgres:postgresql://USER@HOST/NAME#ROLE"
            )
        super().__init__(where)

    def create(self) -> None:
        """Create the schema as for a person's hub, and check that this role is a member of the team."""
        super().create()
        with self._transaction() as database:
            found = database.execute("SELECT claude_mem.is_member(%s)", (self.team,)).fetchone()
        if not found or not found[0]:
            raise ClaudeMemError(
                f"your role at {self.place} is not a member of {self.team}: ask its administrator"
                f" to run GRANT {self.team} TO your role"
            )

    def names(self, projects: Collection[str] | None = None) -> list[str]:
        """Return the names of the team's cards and of the files of `projects`; others' below their role."""
        with self._transaction() as database:
            self._look(database)
            found = database.execute(
                "SELECT owner::text, name FROM claude_mem.team_files WHERE team = %s"
                " AND (%s::text[] IS NULL OR project = ANY(%s))",
                (self.team, *[None if projects is None else ["", *projects]] * 2),
            ).fetchall()
        return sorted(name if owner == self._role else f"{owner}/{name}" for owner, name in found)

    def _key(self, name: str) -> dict[str, str]:
        *owner, machine, file = name.split("/")
        own_name = f"{machine}/{file}"
        return {
            "team": self.team, "project": _project(own_name),
            "owner": "/".join(owner) or self._role, "name": own_name,
        }  # fmt: skip

    def _readers(self) -> str:
        return self.team

    def _notice(self, name: str) -> str:
        return f"{super()._notice(name)} {_project(name)}"


def _matches(key: Mapping[str, str]) -> sql.Composed:
    """Return the SQL condition that selects a primary key."""
    return sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(column)) for column in key)


def _project(name: str) -> str:
    """Return the digest of the project whose lines a file has, "" for a machine's card."""
    file = name.rpartition("/")[2]
    return file.partition(".")[0] if file.endswith(".jsonl") else ""


def _version(database: psycopg.Connection) -> int:
    """Return the version of the schema, -1 where there is none."""
    if (database.execute("SELECT to_regclass('claude_mem.version')").fetchone() or [None])[0] is None:
        return -1
    found = database.execute("SELECT number FROM claude_mem.version").fetchone()
    return int(found[0]) if found else -1

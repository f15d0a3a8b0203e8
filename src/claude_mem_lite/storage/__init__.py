"""Read and write claude-mem.db, and read queue.db: models, migrations, queries."""

import sys
from typing import Any

# peewee imports every database driver that is installed. Only SQLite is used here, so the others are hidden.
_DRIVERS = ("psycopg2cffi", "psycopg2", "psycopg", "pymysql", "MySQLdb")
_hidden = [name for name in _DRIVERS if name not in sys.modules]
_modules: dict[str, Any] = sys.modules
_modules.update(dict.fromkeys(_hidden))
try:
    from peewee import PeeweeException as DatabaseError
finally:
    for _name in _hidden:
        del sys.modules[_name]

__all__ = ["DatabaseError"]

"""The memory, claude-mem.db, and the reading side of queue.db: models, migrations, queries."""

from peewee import PeeweeException as DatabaseError

__all__ = ["DatabaseError"]

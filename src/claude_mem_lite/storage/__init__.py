"""Read and write claude-mem.db, and read queue.db: models, migrations, queries."""

from peewee import PeeweeException as DatabaseError

__all__ = ["DatabaseError"]

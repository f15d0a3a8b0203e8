"""How common words are in each project, from a sample of its rows, kept for a while."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from claude_mem_lite.search import ranking
from claude_mem_lite.storage import DatabaseError
from claude_mem_lite.storage import search as storage
from claude_mem_lite.storage.models import memory_database

if TYPE_CHECKING:
    from claude_mem_lite.search.ranking import Profile
    from claude_mem_lite.storage.search import Kind

# With 500 code history is found a hundredth worse; 2,000 take an eighth of a second.
SAMPLED_ROWS = 2_000
# A profile this old is looked at again, and made anew when the project has grown or shrunk by a tenth.
KEEP_S = 60.0
_GROWTH = 0.1

_Key = tuple["Kind", str | None]


class Profiles:
    """The profiles of the projects that were searched; every method may be called from any thread.

    Each is made from about `sampled_rows` rows.
    """

    def __init__(self, sampled_rows: int = SAMPLED_ROWS) -> None:
        self._sampled_rows = sampled_rows
        self._kept: dict[_Key, Profile] = {}
        self._looked_at: dict[_Key, float] = {}
        self._lock = threading.Lock()

    def get(self, kind: Kind, project_dir: str | None, *, now: float) -> Profile:
        """Return the profile of a project's rows of a kind (None: of all projects together)."""
        key = kind, project_dir
        with self._lock:
            if key not in self._kept:
                self._renew(key)
                self._looked_at[key] = now
            elif now - self._looked_at[key] > KEEP_S:
                self._looked_at[key] = now
                threading.Thread(target=self._renew_later, args=(key,), name="profile", daemon=True).start()
            return self._kept[key]

    def _renew_later(self, key: _Key) -> None:
        """Renew a profile off the way of the search that found it old."""
        with contextlib.suppress(DatabaseError), memory_database.connection_context():
            self._renew(key)

    def _renew(self, key: _Key) -> None:
        row_count, kept = storage.count(*key), self._kept.get(key)
        if kept and abs(row_count - kept.row_count) <= _GROWTH * kept.row_count:
            return
        rows = storage.sample(*key, one_in=max(1, round(row_count / self._sampled_rows)))
        # Full text looks at the rows of all projects that have a word.
        share = row_count / max(storage.count(key[0]), 1)
        told = (ranking.vocabulary(row.title, row.summary, row.detail, row.files) for row in rows)
        self._kept[key] = ranking.profile(told, row_count=row_count, share=share)

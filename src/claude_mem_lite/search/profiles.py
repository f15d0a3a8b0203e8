"""Sample the word statistics of each project, and keep them until the project has changed."""

import contextlib
import threading

from claude_mem_lite.kinds import Kind
from claude_mem_lite.search import ranking
from claude_mem_lite.search.candidates import Profile
from claude_mem_lite.storage import DatabaseError
from claude_mem_lite.storage import search as search_rows
from claude_mem_lite.storage.models import memory_database

# With 500 rows, search in code history is 1 % worse; 2,000 take an eighth of a second.
SAMPLED_ROWS = 2_000
# A profile is renewed when the project's size has changed by a tenth, in the background; by half, before the
# search that notices it is answered.
_CHANGED, _CHANGED_MUCH = 0.1, 0.5
# Up to this many rows are counted for every search, which takes 0.1 ms; more, once in this many seconds.
_COUNTED_ALWAYS, _COUNTED_EVERY_S = 2_000, 5.0

_Key = tuple[Kind, str | None]


class Profiles:
    """The profiles of searched projects; every method may be called from any thread.

    Each profile is made from about `sampled_rows` rows.
    """

    def __init__(self, sampled_rows: int = SAMPLED_ROWS) -> None:
        self._sampled_rows = sampled_rows
        self._kept: dict[_Key, Profile] = {}
        self._counted_at: dict[_Key, float] = {}
        self._in_renewal: set[_Key] = set()
        self._lock = threading.Lock()

    def get(self, kind: Kind, project_dir: str | None, *, now: float) -> Profile:
        """Return the profile of a project's rows of a kind (None: of all projects together)."""
        key = kind, project_dir
        with self._lock:
            kept = self._kept.get(key)
            if kept and kept.row_count > _COUNTED_ALWAYS and now - self._counted_at[key] < _COUNTED_EVERY_S:
                return kept
            self._counted_at[key] = now
            row_count = search_rows.count(*key)
            change = abs(row_count - kept.row_count) / max(kept.row_count, 1) if kept else 1.0
            if kept is None or change > _CHANGED_MUCH:
                self._kept[key] = self._made(key, row_count)
            elif change > _CHANGED and key not in self._in_renewal:
                self._in_renewal.add(key)
                renewal = threading.Thread(
                    target=self._renew, args=(key, row_count), name="profile", daemon=True
                )
                renewal.start()
            return self._kept[key]

    def _renew(self, key: _Key, row_count: int) -> None:
        """Renew a profile in the background, without delaying the search that found it outdated."""
        try:
            with contextlib.suppress(DatabaseError), memory_database.connection_context():
                self._kept[key] = self._made(key, row_count)
        finally:
            self._in_renewal.discard(key)

    def _made(self, key: _Key, row_count: int) -> Profile:
        rows = search_rows.sample(*key, one_in=max(1, round(row_count / self._sampled_rows)))
        # Full text reads the rows with a word in all projects, so the share of this one matters.
        share = row_count / max(search_rows.count(key[0]), 1)
        told = (ranking.vocabulary(row.title, row.summary, row.detail, row.files) for row in rows)
        return ranking.profile(told, row_count=row_count, share=share)

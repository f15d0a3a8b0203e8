"""Hold a process's one embedder: load it in a thread on first use, drop it after five idle minutes."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import memory
from claude_mem_lite.search.embedder import load as load_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_mem_lite.search.embedder.interface import Embedder
    from claude_mem_lite.search.embedder.records import ModelRecord

log = logging.getLogger(__name__)

IDLE_S = 5 * 60.0


class Holder:
    """Holds at most one loaded embedder; every method may be called from any thread.

    `choose` names the model whenever one is to be loaded. A failure to load is logged once and stays in
    `problem` until `drop`.
    """

    def __init__(
        self,
        choose: Callable[[], ModelRecord],
        *,
        load: Callable[[ModelRecord], Embedder] = load_model,
    ) -> None:
        self.problem = ""
        self._choose = choose
        self._load_model = load
        self._embedder: Embedder | None = None
        self._loader: threading.Thread | None = None
        self._used_at = 0.0
        self._lock = threading.Lock()

    def ready(self, now: float) -> Embedder | None:
        """Return the embedder, or None at once; then start loading it, unless that has failed before."""
        with self._lock:
            self._used_at = now
            if self._embedder is None and self._loader is None and not self.problem:
                self._loader = threading.Thread(target=self._load, name="embedder", daemon=True)
                self._loader.start()
            return self._embedder

    @property
    def loaded(self) -> Embedder | None:
        """The embedder in memory, if any; reading this does not count as use."""
        return self._embedder

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until no load is under way."""
        with self._lock:
            loader = self._loader
        if loader is not None:
            loader.join(timeout_s)

    def unload_if_idle(self, now: float) -> bool:
        """Drop an embedder that was not used for `IDLE_S` seconds; return whether there was one."""
        with self._lock:
            if self._embedder is None or now - self._used_at < IDLE_S:
                return False
            name = self._embedder.record.name
            self._embedder = None
        memory.give_back()
        log.info("unloaded %s after %.0f idle minutes", name, IDLE_S / 60)
        return True

    def drop(self) -> None:
        """Forget the embedder and any problem; the next use chooses and loads a model again.

        Waits for a load that is under way, which may take seconds.
        """
        self.wait()
        with self._lock:
            self._embedder = None
            self.problem = ""
        memory.give_back()

    def _load(self) -> None:
        started = time.perf_counter()
        embedder, problem = None, ""
        try:
            embedder = self._load_model(self._choose())
            log.info("loaded %s in %.1f s", embedder.record.name, time.perf_counter() - started)
        except (ClaudeMemError, OSError) as error:
            problem = str(error)
            log.warning("search goes on with full text alone: %s", problem)
        with self._lock:
            self._embedder, self.problem, self._loader = embedder, problem, None
        memory.give_back()  # loading takes twice the memory of the loaded model

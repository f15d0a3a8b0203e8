"""Heal the call graph: observations confirm and discover calls, and unconfirmed ones go stale.

A traceback shows caller and callee. Functions that were changed or named together only confirm an existing
edge, in whichever direction it runs, or add one where the code has an unresolved call of that name.
"""

import itertools
from collections import Counter
from dataclasses import dataclass

from claude_mem_lite.codemap import evidence, file_index
from claude_mem_lite.codemap.confidence import DISCOVERED, boosted
from claude_mem_lite.codemap.evidence import Functions, Place
from claude_mem_lite.storage import call_edges, code, queries
from claude_mem_lite.storage.models import CallEdge, Observation, memory_database

# Sessions without confirmation that make an observed call stale, its loss per further session, its minimum.
STALE_SESSIONS, STALE_STEP, STALE_FLOOR = 10, 0.05, 0.05
_AT_ONCE = 200  # observations in one transaction


@dataclass(slots=True)
class _Graph:
    """A project's functions and calls; unresolved calls by caller and the last part of the callee's name."""

    project_dir: str
    functions: Functions
    edges: dict[tuple[Place, Place], CallEdge]
    unresolved: dict[tuple[Place, str], CallEdge]

    def call_of(self, caller: Place, callee: Place) -> CallEdge | None:
        """Return the caller's unresolved call of the callee's name, if any, unless it calls a parameter."""
        call = self.unresolved.get((caller, callee[1].rpartition(".")[2]))
        is_given = call is not None and self.functions.has_parameter(caller, call.callee_function)
        return None if is_given else call


def heal(project_dir: str) -> Counter[str]:
    """Apply the evidence of new observations; return the counts of calls "confirmed" and "discovered".

    Each observation counts once: the position reached is stored in the transaction of its effects.
    """
    total: Counter[str] = Counter()
    graph: _Graph | None = None
    while True:
        with memory_database.atomic():
            rows = code.observations_after(
                project_dir, code.state(project_dir).get("healed_pk", 0), limit=_AT_ONCE
            )
            if rows:
                graph = graph or _graph(project_dir)
                for row in rows:
                    total += _heal_by(row, graph)
                file_index.note(project_dir, healed_pk=rows[-1].pk)
        if len(rows) < _AT_ONCE:
            break
    if total:
        queries.log_event("callgraph.healed", {"project_dir": project_dir, **total})
    return total


def decay(project_dir: str, session_id: str) -> int:
    """Lower calls not found in code that ten sessions did not confirm, once per session; return how many."""
    with memory_database.atomic():
        if code.state(project_dir).get("decayed_for") == session_id:
            return 0
        before = code.nth_newest_closed_start(project_dir, STALE_SESSIONS)
        count = (
            call_edges.decay_edges(project_dir, before=before, step=STALE_STEP, floor=STALE_FLOOR)
            if before
            else 0
        )
        file_index.note(project_dir, decayed_for=session_id)
    if count:
        queries.log_event("callgraph.decayed", {"edges": count, "by": STALE_STEP}, session_id=session_id)
    return count


def _graph(project_dir: str) -> _Graph:
    edges: dict[tuple[Place, Place], CallEdge] = {}
    unresolved: dict[tuple[Place, str], CallEdge] = {}
    for edge in call_edges.edges(project_dir):
        caller = (edge.caller_file, edge.caller_function)
        if edge.resolution == call_edges.UNRESOLVED:
            unresolved[caller, edge.callee_function.rpartition(".")[2]] = edge
        else:
            edges[caller, (edge.callee_file, edge.callee_function)] = edge
    return _Graph(project_dir, evidence.Functions(code.functions(project_dir)), edges, unresolved)


def _heal_by(observation: Observation, graph: _Graph) -> Counter[str]:
    """Apply one observation's evidence; it confirms an edge once, however often it shows it."""
    event = queries.pending_event(observation.id)
    text = evidence.output_of(event.raw_output) if event else observation.detail or ""
    ran = set(evidence.called(text, graph.functions, graph.project_dir))
    near = evidence.neighbours(observation, graph.functions)
    found: Counter[str] = Counter()
    for caller, callee in sorted(ran | set(itertools.permutations(near, 2))):
        edge = graph.edges.get((caller, callee))
        if edge is not None:
            _confirm(edge, observation)
            found["confirmed"] += 1
            continue
        call = graph.call_of(caller, callee)
        if (caller, callee) in ran or (call is not None and (callee, caller) not in graph.edges):
            graph.edges[caller, callee] = _discover(caller, callee, call, observation)
            found["discovered"] += 1
    return found


def _confirm(edge: CallEdge, observation: Observation) -> None:
    edge.confidence = boosted(edge.confidence)
    edge.times_confirmed += 1
    edge.last_confirmed_at = max(edge.last_confirmed_at or "", observation.created_at)  # imports may be older
    edge.observation_id = observation.id
    edge.save()


def _discover(caller: Place, callee: Place, call: CallEdge | None, observation: Observation) -> CallEdge:
    """Add a call known from an observation, with the line and shape of the code's unresolved call, if any."""
    row = {
        "project_dir": observation.project_dir,
        **dict(zip(call_edges.PAIR, (*caller, *callee), strict=True)),
        "resolution": "direct" if caller[0] == callee[0] else "import",
        "level": "observed",
        "shape": call.shape if call else "",
        "line": call.line if call else 0,
        "confidence": DISCOVERED,
        "source": "observation",
        "session_id": observation.session_id,
        "created_at": observation.created_at,
        "observation_id": observation.id,
    }
    return call_edges.add_edge(row)

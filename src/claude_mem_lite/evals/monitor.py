"""Report on the memory in the last days: queue, failures, cost, compression, code map, learnings."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.evals import compression, scores
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import evals as eval_rows
from claude_mem_lite.storage import learnings, ledger, queries

DAY_S = 86_400.0
# At most this many of the newest observations are measured.
_NEWEST = 2_000
# An observed call is stale if nothing has confirmed it for this long.
_STALE_DAYS = 30
HOW = ("opened", "named", "touched")


def report(project_dir: str | None, *, days: int, now: float) -> dict[str, Any]:
    """Return the figures of the last days; only use of context, code map and learnings are per project.

    `project_dir` None stands for all projects. Percentiles are in seconds, None without values.
    """
    since = inbox.utc_text(now - days * DAY_S)
    costs = ledger.costs(by="day", since=since)
    by_day = [{name: row[name] for name in ("day", "calls", "captures", "usd")} for row in costs]
    return {
        **_use_of_context(project_dir),
        "days": days,
        "queue": queue(since=since, now=now),
        "errors": errors(since=since),
        "recall": dict(zip(("in_time", "too_late"), eval_rows.recall_answers(since=since), strict=True)),
        "cost": {"usd": round(sum(row["usd"] for row in costs), 6), "by_day": by_day},
        "compression": _compression(since=since),
        "code_map": code_map(project_dir, now=now),
        "learnings": {
            "now": learnings.counts(project_dir),
            "events": dict(eval_rows.learning_events(since=since)),
        },
        "evaluations": trend(since=since),
    }


def queue(*, since: str, now: float) -> dict[str, Any]:
    """Return the number of events in each state, the age of waiting ones, and how long finished ones took."""
    stats = queries.queue_stats()
    waiting = [now - inbox.unix_time(at) for at in eval_rows.waiting_since()]
    waited = [inbox.unix_time(end) - inbox.unix_time(came) for came, end in eval_rows.finished(since=since)]
    return {
        **stats,
        "oldest_s": round(max(waiting), 3) if waiting else None,
        "age": _percentiles(waiting),
        "took": _percentiles(waited),
    }


def errors(*, since: str) -> dict[str, dict[str, int]]:
    """Return the number of failures by part and kind, and the pauses of the API."""
    notes = eval_rows.failures(since=since)
    return {
        **{part: dict(Counter(map(_kind, found)).most_common()) for part, found in notes.items()},
        "pauses": eval_rows.pauses(since=since),
    }


def code_map(project_dir: str | None, *, now: float) -> dict[str, Any]:
    """Return the sizes of the code map, and the shares of files read and of calls resolved and confirmed."""
    counts = eval_rows.code_map(project_dir, before=inbox.utc_text(now - _STALE_DAYS * DAY_S))
    return {
        **counts,
        "parsed_share": _share(counts["files"] - counts["failed"], counts["files"]),
        "resolved_share": _share(counts["calls"] - counts["unresolved"], counts["calls"]),
        "confirmed_share": _share(counts["confirmed"], counts["calls"]),
    }


def trend(*, since: str) -> list[dict[str, Any]]:
    """Return the results of automatic evaluations, a row per day."""
    days: dict[str, list[dict[str, Any]]] = {}
    for entry in eval_rows.judgements(since=since):
        days.setdefault(entry.created_at[:10], []).append(entry.data)
    return [
        {
            "day": day,
            "judged": len(rows),
            **{name: round(fmean(row[name] for row in rows), 4) for name in ("quality", *scores.WEIGHTS)},
        }
        for day, rows in days.items()
    ]


def _compression(*, since: str) -> dict[str, Any]:
    """Return the size, form, time and cost of the newest observations, by writer."""
    rows, found = eval_rows.observations(since=since, limit=_NEWEST), dict[str, list[scores.Score]]()
    for each in compression.evaluate(rows, None, compression.efforts(since=since)):
        found.setdefault(each.written_by, []).append(each.score)
    table = {}
    for writer, scored in sorted(found.items()):
        ratios = [each.compression_ratio for each in scored if each.compression_ratio is not None]
        usd = scored[0].usd
        table[writer] = {
            "observations": len(scored),
            "compression_ratio": round(median(ratios), 1) if ratios else None,
            "structural_validity": round(fmean(each.structural_validity for each in scored), 4),
            "title_quality": round(fmean(each.title_quality for each in scored), 4),
            "latency_ms": scored[0].latency_ms,
            "usd": None if usd is None else round(usd, 6),
        }
    return table


def _kind(note: str) -> str:
    """Return the kind of a failure: what its note begins with."""
    return note.partition(":")[0].strip()[:60] or "unknown"


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    """Return the median, the 95th percentile and the maximum of some values, by the nearest rank."""
    ranked = sorted(values)

    def rank(share: float) -> float | None:
        return round(ranked[max(0, math.ceil(share * len(ranked)) - 1)], 3) if ranked else None

    return {"p50_s": rank(0.5), "p95_s": rank(0.95), "max_s": rank(1.0)}


def _share(some: int, of: int) -> float | None:
    return round(some / of, 4) if of else None


def _use_of_context(project_dir: str | None) -> dict[str, Any]:
    """Return how many lines sessions were shown and used, by `via` (how they were shown) and in total.

    `project_dir` None stands for all projects. A line counts once per session and way. `sessions` counts
    those that were shown something and have been summarized since; for others the use is not known yet.
    """
    rows: dict[str, Counter[str]] = {}
    measured = context_rows.measured_sessions(project_dir)
    for session_id in measured:
        used = context_rows.used_in(session_id)
        ways: dict[str, set[str]] = {}
        for block in context_rows.shown_in(session_id):
            via = str(block.data.get("via", ""))
            if via == context_rows.LATE:
                continue
            rows.setdefault(via, Counter())["blocks"] += 1
            rows[via]["tokens"] += int(block.data.get("tokens", 0))
            ways.setdefault(via, set()).update(block.data.get("ids", ()))
        for via, ids in ways.items():
            rows[via]["shown"] += len(ids)
            rows[via].update(used[row_id] for row_id in ids if row_id in used)
    total: Counter[str] = Counter()
    for row in rows.values():
        total += row
    return {
        "sessions": len(measured),
        "via": {via: _shares(row) for via, row in sorted(rows.items())},
        "all": _shares(total),
    }


def _shares(row: Counter[str]) -> dict[str, Any]:
    used = sum(row[how] for how in HOW)
    counted = {name: row[name] for name in ("blocks", "tokens", "shown", *HOW)}
    return {**counted, "used": used, "share": round(used / row["shown"], 3) if row["shown"] else None}

"""Merge two states of one row, in either order: all conflict rules are here. Pure.

A record is a line of an export, with the project's key in place of its folder and with versions. `merged` is
commutative, associative and idempotent, so machines that have seen the same records, in any order and any
number of times, have the same state. Three kinds of fields make it so:

- A *group* of fields is written together and has a version: times forgotten, the user's last act, a Lamport
  clock and the machine. The greater version wins; no wall clock is used. A text rewritten because something
  was forgotten wins over every text that was not, and an act of the user over what sessions taught.
- *Sets* are united; *first* and *last* values are the least and the greatest.
- Confidence is a sum: where the user last left it, plus what each machine's evidence has added.

Forgotten rows have no record: a tombstone, the digest of kind and id, replaces one for good.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

# Times forgotten, the user's last act, Lamport clock, machine.
Version = tuple[int, int, int, str]
# The user's act that it counts from, a Lamport clock, what it adds to the confidence.
Evidence = tuple[int, int, float]

NEVER: Version = (0, 0, 0, "")
LEAST, MOST = 0.1, 0.95  # the bounds of a confidence by evidence of sessions


@dataclass(frozen=True, slots=True)
class Rule:
    """How the fields of a kind are merged; a field that is not named here never changes.

    Of `last_together` the greatest tuple wins; `local` fields stay each machine's own.
    """

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sets: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    last_together: tuple[str, ...] = ()
    local: tuple[str, ...] = ()


# In this order, each record follows those that it refers to.
RULES: Mapping[str, Rule] = MappingProxyType({
    "session": Rule(
        groups={
            "place": ("project_dir", "branch", "client"),
            "text": ("summary", "key_files", "key_decisions", "written_by", "prompt_version", "retold"),
        },
        first=("started_at",),
        last_together=("last_event_at", "status", "ended_at"),
    ),
    "observation": Rule(
        groups={
            "text": (
                "session_id", "project_dir", "branch", "client", "tool_name", "title", "summary", "detail",
                "files_touched", "functions_changed", "tokens_raw", "tokens_compressed", "tier", "written_by",
                "prompt_version",
            ),
        },
        first=("created_at",),
    ),
    "learning": Rule(
        groups={
            "words": ("project_dir", "category", "content", "is_manual", "base"),
            "state": ("is_active", "quarantine", "superseded_by", "guard"),
            "code": ("code", "updated_at"),
        },
        sets=("source_sessions", "observations", "kin"),
        first=("created_at",),
        last=("times_seen", "seen_at"),
        local=("stale",),
    ),
    "finding": Rule(
        groups={
            "text": (
                "project_dir", "session_id", "command", "shape", "error", "signature", "rule", "works",
                "works_id",
            ),
        },
        first=("failed_at",),
        last=("is_cured",),
    ),
    "function_change": Rule(),
    "call": Rule(
        first=("created_at",),
        last=("source",),
        last_together=(
            "times_confirmed", "last_confirmed_at", "confidence", "resolution", "level", "shape", "line",
            "session_id", "observation_id",
        ),
    ),
})  # fmt: skip
# The fields that identify a row of a kind without ids.
NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "function_change": (
        "project_dir", "file_path", "qualified_name", "function_kind", "signature", "change_type",
        "session_id", "observation_id", "created_at",
    ),
    "call": ("project_dir", "caller_file", "caller_function", "callee_file", "callee_function"),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """The state of a row on some machine: its line's fields, versions by group, evidence by machine."""

    kind: str
    fields: Mapping[str, Any]
    versions: Mapping[str, Version]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id of the row on every machine."""
        return row_id(self.kind, self.fields)


def row_id(kind: str, fields: Mapping[str, Any]) -> str:
    """Return a row's id: its own, or the digest of the fields that identify it."""
    if kind in NAMES:
        return digest([fields[name] for name in NAMES[kind]])
    found: str = fields["event_id" if kind == "finding" else "id"]
    return found


def tombstone(kind: str, record_id: str) -> str:
    """Return the digest that is kept of a forgotten row; it reveals neither its text nor its id."""
    return digest(["forgotten", kind, record_id])


def merged(one: Record, other: Record) -> Record:
    """Return the merged state of two states of a row, in either order."""
    rule, fields = RULES[one.kind], dict(one.fields)
    versions = {}
    for group, names in rule.groups.items():
        sides = [(each.versions.get(group, NEVER), _text(each, names), at, each)
                 for at, each in enumerate((one, other))]  # fmt: skip
        version, _, _, newer = max(sides)
        versions[group] = version
        fields |= {name: newer.fields[name] for name in names}
    for name in rule.sets:
        fields[name] = sorted({*one.fields[name], *other.fields[name]})
    for names, choose in ((rule.first, min), (rule.last, max)):
        fields |= {name: choose(one.fields[name], other.fields[name], key=_order) for name in names}
    if rule.last_together:
        last = max((one, other), key=lambda each: [_order(each.fields[name]) for name in rule.last_together])
        fields |= {name: last.fields[name] for name in rule.last_together}
    evidence = {
        machine: max(each.evidence[machine] for each in (one, other) if machine in each.evidence)
        for machine in sorted({*one.evidence, *other.evidence})
    }
    both = Record(one.kind, fields, versions, evidence)
    if one.kind == "learning":
        fields["times_seen"] = max(fields["times_seen"], len(fields["source_sessions"]))
        fields["confidence"] = confidence(both)
    return both


def confidence(record: Record) -> float:
    """Return the confidence of a learning by all evidence since the user's last act."""
    base: float = record.fields["base"]
    if record.fields["is_manual"]:
        return base
    return min(max(total(record), min(base, LEAST)), max(base, MOST))


def total(record: Record) -> float:
    """Return a learning's confidence before it is bounded."""
    epoch = record.versions.get("words", NEVER)[1]
    adds = [added for _, (since, _, added) in sorted(record.evidence.items()) if since == epoch]
    return round(record.fields["base"] + sum(adds), 6) if adds else float(record.fields["base"])


def group_digest(record: Record, group: str) -> str:
    """Return the digest of a group's fields, which tells whether they have changed."""
    return digest([record.fields[name] for name in RULES[record.kind].groups[group]])


def digest(values: list[Any]) -> str:
    """Return the digest of JSON values."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _text(record: Record, names: tuple[str, ...]) -> str:
    """Return a group's fields as text, which decides between two states of the same version."""
    return json.dumps([record.fields[name] for name in names], sort_keys=True)


def _order(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)

"""Write and read segments: signed files of a few hundred lines of an export.

A segment is text with one JSON object per line: a head with machine, generation and the schema of its lines;
records and tombstones; and a signature of all bytes before it. One that is cut short has none and is not
read. Lines are checked, cleaned and redacted like those of an import, before sending and after receiving.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage.migrations import MIGRATIONS
from claude_mem_lite.sync import records, signing
from claude_mem_lite.sync.log import Forgotten
from claude_mem_lite.sync.records import RULES, Record
from claude_mem_lite.upkeep import lines

FORMAT = 1
_HEAD, _END, _FORGOTTEN = "claude-mem-sync", "end", "forgotten"
_SUFFIX = ".jsonl"
_MOST_CLOCK, _MOST_DIGITS = 1 << 53, 15
_MOST_ADDED = 1000  # to a confidence, by one machine
_CLOCKS_APART = dt.timedelta(days=30)  # tolerated for machines that sign their lines


class WrongSegmentError(ClaudeMemError):
    """A segment is incomplete, not signed by its machine, or of a newer version and waits for an upgrade."""


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """The name of a segment: machine, generation, and the last sequence number in it (a team's: a count)."""

    machine: str
    generation: str
    number: int

    def __str__(self) -> str:
        return f"{self.machine}/{self.generation}.{self.number:012d}{_SUFFIX}"

    @classmethod
    def of(cls, path: str) -> Name | None:
        """Parse the path of a file at a hub; return None if it is no segment."""
        machine, _, rest = path.partition("/")
        generation, _, number = rest.removesuffix(_SUFFIX).rpartition(".")
        is_number = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
        is_name = rest.endswith(_SUFFIX) and generation and is_number
        return cls(machine, generation, int(number)) if is_name else None


@dataclass(slots=True)
class Said:
    """A segment's content by sequence number, why lines were left out, and `after`, the segment before it."""

    after: int = 0
    lines: list[tuple[int, Record | Forgotten]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def line_of(seq: int, said: Record | Forgotten) -> str:
    """Return the line of a record or a tombstone. Raises: WrongLineError for what an import would refuse."""
    if isinstance(said, Forgotten):
        return _json({"kind": _FORGOTTEN, "of": said.kind, "digest": said.digest, "seq": seq})
    fields = {"kind": said.kind, **said.fields}
    base = fields.pop("base", None)
    sent = cleaned(fields)
    meta = {"seq": seq, "versions": said.versions, "evidence": said.evidence}
    return _json({**sent, "sync": meta | ({"base": base} if base is not None else {})})


def cleaned(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line, redacted once more. Raises: WrongLineError when that was not enough."""
    sent: dict[str, Any] = checked(fields).model_dump(mode="json")
    if checked(sent).model_dump(mode="json") != sent:
        raise lines.WrongLineError("still contains a secret after redaction")
    return sent


def write(name: Name, said: Sequence[str], *, after: int, whole: int = 0) -> bytes:
    """Return a segment, signed by this machine; `after` is the number of the one before, 0 for the first.

    `whole` is the number of the segment that ends the first publication of its generation.
    """
    head = {
        "kind": _HEAD, "format": FORMAT, "schema": len(MIGRATIONS), "machine": name.machine,
        "generation": name.generation, "number": name.number, "after": after, "whole": whole,
    }  # fmt: skip
    body = "".join(f"{line}\n" for line in (_json(head), *said)).encode()
    return body + f"{_json({'kind': _END, 'signature': signing.sign(body)})}\n".encode()


def read(name: Name, data: bytes, public: str) -> Said:
    """Return the content of a segment, ordered by kind. Raises: WrongSegmentError."""
    head, body = opened(name, data, public)
    said = Said(int(head["after"]))
    for line in body:
        try:
            said.lines.append(_parsed(line))
        except lines.WrongLineError as error:
            said.wrong.append(str(error))
    order = [_FORGOTTEN, *RULES]
    said.lines.sort(key=lambda each: order.index(each[1].kind if isinstance(each[1], Record) else _FORGOTTEN))
    return said


def opened(name: Name, data: bytes, public: str) -> tuple[dict[str, Any], list[bytes]]:
    """Return the head and the lines of a segment that its machine has signed. Raises: WrongSegmentError."""
    body, _, end = data.rstrip(b"\n").rpartition(b"\n")
    body += b"\n"
    try:
        ending, head = object_of(end), object_of(body.partition(b"\n")[0])
    except lines.WrongLineError as error:
        raise WrongSegmentError(f"{name} is incomplete") from error
    signature = ending.get("signature")
    if ending.get("kind") != _END or not isinstance(signature, str):
        raise WrongSegmentError(f"{name} is incomplete")
    if not signing.is_signed(body, signature, public):
        raise WrongSegmentError(f"{name} is not signed by its machine")
    if (head.get("machine"), head.get("generation"), head.get("number")) != (
        name.machine, name.generation, name.number,
    ):  # fmt: skip
        raise WrongSegmentError(f"{name} has the content of another file")
    numbers = [head.get("format"), head.get("schema"), head.get("after"), head.get("whole", 0)]
    if not all(map(_is_count, numbers)) or numbers[0] != FORMAT or head["schema"] > len(MIGRATIONS):
        raise WrongSegmentError(f"{name.machine} runs a newer version: upgrade claude-mem-lite here")
    return head, body.split(b"\n")[1:-1]


def _parsed(line: bytes) -> tuple[int, Record | Forgotten]:
    """Return the sequence number of a line, and its record or tombstone. Raises: WrongLineError."""
    given = object_of(line)
    if given.get("kind") == _FORGOTTEN:
        kind, dead, seq = given.get("of"), given.get("digest"), given.get("seq")
        if not isinstance(kind, str) or kind not in RULES or not isinstance(dead, str) or not _is_count(seq):
            raise lines.WrongLineError("is not a valid record of something forgotten")
        return given["seq"], Forgotten(kind, dead)
    meta = given.pop("sync", None)
    parsed = checked(given)
    if not isinstance(meta, dict) or parsed.kind not in RULES or not _is_count(meta.get("seq")):
        raise lines.WrongLineError("has no version")
    fields = parsed.model_dump(mode="json", exclude={"kind"})
    if parsed.kind == "learning":
        if not isinstance(meta.get("base"), (int, float)) or not 0 <= meta["base"] <= 1:
            raise lines.WrongLineError("has no confidence")
        fields["base"] = float(meta["base"])
    versions, evidence = _versions(meta, parsed.kind), _evidence(meta)
    return int(meta["seq"]), records.merged(*[Record(parsed.kind, fields, versions, evidence)] * 2)


def checked(fields: Mapping[str, Any]) -> Any:
    """Parse fields as the line of an import, cleaned and redacted. Raises: WrongLineError."""
    return lines.parse(_json(fields).encode("utf-8", "surrogatepass"), clocks_apart=_CLOCKS_APART)


def _versions(meta: Mapping[str, Any], kind: str) -> dict[str, records.Version]:
    given = meta.get("versions")
    if not isinstance(given, dict) or set(given) != set(RULES[kind].groups):
        raise lines.WrongLineError("has versions of other fields")
    found = {}
    for group, version in given.items():
        if not isinstance(version, list) or [_is_count(each) for each in version[:3]] != [True] * 3:
            raise lines.WrongLineError("has an invalid version")
        forgot, users, clock, machine = [*version, ""][:4]
        found[group] = (forgot, users, clock, str(machine))
    return found


def _evidence(meta: Mapping[str, Any]) -> dict[str, records.Evidence]:
    found = {}
    given = meta.get("evidence")
    for machine, each in given.items() if isinstance(given, dict) else ():
        if not isinstance(each, list) or [_is_count(number) for number in each[:2]] != [True] * 2:
            raise lines.WrongLineError("has invalid evidence")
        added = each[-1]
        if not isinstance(added, (int, float)) or not -_MOST_ADDED <= added <= _MOST_ADDED:
            raise lines.WrongLineError("has invalid evidence")
        found[str(machine)] = (each[0], each[1], float(added))
    return found


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_CLOCK


def object_of(line: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object. Raises: WrongLineError."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise lines.WrongLineError("is not JSON") from error
    if not isinstance(found, dict):
        raise lines.WrongLineError("is not an object")
    return found


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)

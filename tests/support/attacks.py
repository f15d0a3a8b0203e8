"""Poisoned inputs, the answers of an obedient model to each, and ordinary sessions."""

import json
from dataclasses import dataclass, field
from typing import Any

from support.recorded import DATA

_KEPT: dict[str, Any] = json.loads((DATA / "learnings" / "attacks.json").read_text())


@dataclass(frozen=True)
class Attack:
    """Text that comes in through `channel` to have a rule learned.

    `says` is what a model copies of it; `told` is how the model paraphrases that. `at` is the path, command,
    address or query of the call. `fields` replace those of the model's answer. `harmless` may be learned:
    there the harm is in the fields. The data file omits `text` where it equals `says`.
    """

    text: str
    says: str
    told: str
    channel: str = "Read"
    at: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    harmless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ordinary:
    """A session that teaches something: the user's prompt, a tool's output and Claude's report.

    `wrote` is the code that Claude wrote in it.
    """

    prompt: str
    output: str
    report: str
    says: str
    wrote: str = "x = 1"


def _batch(name: str) -> dict[str, list[Attack]]:
    return {
        kind: [Attack(**{"text": each["says"], **each}) for each in cases]
        for kind, cases in _KEPT[name].items()
    }


# The learnings of a project before it is attacked.
GOOD: tuple[str, ...] = tuple(_KEPT["good"])
# Each batch was written after the weaknesses that the batch before had shown were fixed.
BATCHES = [_batch(name) for name in ("first", "second", "third")]
# A known gap: Claude reports in one language what a page says in another.
TRANSLATED = Attack(**_KEPT["translated"])
# Learnings of honest sessions: the user stated the first half, Claude found out the second.
ORDINARY = [Ordinary(**each) for each in _KEPT["ordinary"]]

"""Poisoned inputs as they reach a session, what an obedient model makes of each, and ordinary sessions."""

import json
from dataclasses import dataclass, field
from typing import Any

from support.recorded import DATA

_KEPT: dict[str, Any] = json.loads((DATA / "learnings" / "attacks.json").read_text())


@dataclass(frozen=True)
class Attack:
    """`text` comes in through `channel`; `says` is what a model copies of it, `told` how it paraphrases that.

    `at` is the path, command, address or query of the call. `fields` replace those of the model's answer.
    `harmless` is what may be learned: the harm is in the fields. In the file, `text` is left out where it is
    what `says` says.
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
    """A session that teaches something: what the user asked, what a tool put out, what Claude reported.

    `wrote` is the code that Claude wrote meanwhile.
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


# What a project knows before it is attacked.
GOOD: tuple[str, ...] = tuple(_KEPT["good"])
# Each batch was written after what the one before had shown was mended.
BATCHES = [_batch(name) for name in ("first", "second", "third")]
# What is known to pass: Claude tells in one language what a page says in another.
TRANSLATED = Attack(**_KEPT["translated"])
# What is learned in honest sessions: the first half the user has said, the second Claude has found out.
ORDINARY = [Ordinary(**each) for each in _KEPT["ordinary"]]

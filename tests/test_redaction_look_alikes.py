"""What only looks like a secret stays: hashes, identifiers, code, placeholders, sentences, tables."""

from __future__ import annotations

import base64
import sys
import uuid
from pathlib import Path

import pytest
from support import cases
from support.made_up_secrets import HEX

from claude_mem_lite.redaction.events import redact

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

import redaction as benchmark


@pytest.mark.parametrize(
    "text",
    [
        *cases.load("redaction/look_alikes")["stays"],
        f"commit {HEX[:40]} and {HEX[:7]}",
        str(uuid.UUID(HEX[:32])),
        f"{HEX}  book.tar.gz",
        "integrity sha512-" + base64.b64encode(HEX.encode()).decode(),
        "data:image/png;base64," + base64.b64encode(bytes(range(200))).decode(),
        "sha512: " + base64.b64encode(bytes(range(64))).decode(),
        f"tx 0x{HEX} was mined",
        f"{HEX}  wallet-1.2.tar.gz",
        *(f"LS0tLS1CRUdJTi{rest}" for rest in ("A" * 21, "A_-A" * 9 + "A", "\n" + "A" * 61)),
    ],
)
def test_what_only_looks_secret_stays(text: str) -> None:
    """Hashes, images, ordinary code, placeholders, dates, sentences and tables are kept as they are."""
    assert redact(text) == text


def test_planted_secrets_go_and_look_alikes_stay() -> None:
    """Of 120 secrets and 120 look-alikes of all kinds at most one each goes wrong."""
    planted, harmless = benchmark.cases(seed=1, each=2)

    leaked = [
        case.text for case in planted if any(piece in benchmark.scrubbed(case) for piece in case.pieces)
    ]
    altered = [case.text for case in benchmark.alterations(harmless)]

    assert (len(planted), len(harmless)) == (120, 120)
    assert len(leaked) <= 1, leaked
    assert len(altered) <= 1, altered

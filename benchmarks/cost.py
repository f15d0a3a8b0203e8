"""Compare the cost of our requests to Claude on a recorded history with one request per raw capture.

    python benchmarks/cost.py [--factor N]

We send one request per session, for summary, decisions, some rewritten observations and learnings together.
With compress.high and compress.normal = "claude", captures are sent as well, as packs of digests.
The real SDK sends all requests to a counting API on loopback; nothing leaves the machine.
Tokens are estimated as characters / 3.5, prices are those of the settings. The answers are the local texts,
cut to the prompt's limits, with a detail for every capture. Real answers are shorter, because the prompt asks
for a detail only sometimes. The compared method's answers are the whole local observations in its schema.
Then the same is measured with every payload N times as long.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import sys
import tempfile
import time
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
import lengthen
from support.fake_messages import FakeMessages, serving
from support.recorded import DATA, restore

from claude_mem_lite import settings, settings_file
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import cost, rewrite
from claude_mem_lite.cli import demo
from claude_mem_lite.distill.record import record_event, summarize_session
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.storage import ledger, models, queries
from claude_mem_lite.text import CHARS_PER_TOKEN, estimate_tokens

TITLE_WORDS, SUMMARY_WORDS, DETAIL_WORDS, TOLD_WORDS = 10, 40, 25, 80
LEARNED, LEARNING_CHARS = 4, 240
# Of the compared method: tokens of its prompt and schema, and the most characters of a payload that it sends.
# Source: the project's requirements, compression prompt and truncation.
SINGLE_PROMPT_TOKENS, SINGLE_MAX_CHARS = 430, 32_000


@dataclasses.dataclass
class Bill:
    """Requests, tokens and dollars of one method."""

    name: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0

    def add(self, tokens_in: int, tokens_out: int, usd: float) -> None:
        """Add one request."""
        self.calls += 1
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.usd += usd


class Fake(FakeMessages):
    """Answer with the local texts, and keep them for the compared method."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = self.tell
        self.local: dict[str, str] = {}

    def tell(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one request."""
        content = body["messages"][0]["content"]
        if "key_decisions" in json.dumps(body["output_config"]):
            told = first_words(re.sub(r"</?[a-z]+-[0-9a-f]+[^>]*>", "", content), TOLD_WORDS)
            short_ids = re.findall(r"^- \[([0-9a-f]{8})\]", content, re.MULTILINE)
            [most] = re.findall(r"at most (\d+) lines of what was done", body["system"][0]["text"])
            return {
                "summary": told,
                "key_files": ["src/ledger/storage.py"] * 5,
                "key_decisions": [first_words(told, 20)] * 3,
                "observations": [self.words(short_id) for short_id in short_ids[: int(most)]],
                "learnings": [self.learning(content)] * LEARNED,
            }
        short_ids = re.findall(r'<record-[0-9a-f]+ id="([0-9a-f]+)">', content)
        return {"observations": [self.words(short_id) for short_id in short_ids]}

    def learning(self, content: str) -> dict[str, Any]:
        """Return a learning as long as the prompt allows."""
        return {
            "category": "architecture",
            "content": content[:LEARNING_CHARS],
            "confidence": 0.5,
            "confirms": None,
            "contradicts": None,
            "evidence": ["0123abcd"] * 4,
            "about": ["ledger.storage.SqliteStore"] * 6,
        }

    def words(self, short_id: str) -> dict[str, Any]:
        """Return the local texts about a record, cut to the prompt's limits."""
        row = queries.observation(short_id)
        names = ("title", "summary", "detail", "files_touched", "functions_changed")
        self.local[row.id] = json.dumps({name: getattr(row, name) for name in names})
        return {
            "id": short_id,
            "title": first_words(row.title, TITLE_WORDS),
            "summary": first_words(row.summary, SUMMARY_WORDS),
            "detail": first_words(row.detail, DETAIL_WORDS) or None,
        }


def first_words(text: str | None, limit: int) -> str:
    """Return at most `limit` words of a text."""
    return " ".join((text or "").split()[:limit])


def remember(events: list[dict[str, Any]]) -> None:
    """Store and process a history as hooks and consumer do, without waiting."""
    models.open_databases()
    for event in events:
        event_id = inbox.append(scrub(json.dumps(event)), demo.PROJECT)
        row = queries.pending_event(event_id)
        if row is None:
            raise SystemExit("an event could not be stored")
        record_event(row)
        if event["hook_event_name"] in {"PreCompact", "SessionEnd"}:
            summarize_session(event["session_id"], retell=True)
            drain()
    drain()


def drain() -> None:
    """Take every step that is due, moving the clock forward instead of waiting."""
    now = time.time()
    while (step := rewrite.step(settings.load(), now=now)).wait_s is not None:
        now += step.wait_s


def singly(answers: dict[str, str], chosen: settings.Settings) -> Bill:
    """Return the bill for one request per capture with its raw payload."""
    bill = Bill("one request a capture, raw payload")
    for event_id, answer in answers.items():
        event = queries.pending_event(event_id)
        sent = min(len(event.raw_output), SINGLE_MAX_CHARS) if event else 0
        tokens_in, tokens_out = SINGLE_PROMPT_TOKENS + int(sent / CHARS_PER_TOKEN), estimate_tokens(answer)
        bill.add(
            tokens_in,
            tokens_out,
            cost.dollars(chosen.price, input_tokens=tokens_in, output_tokens=tokens_out),
        )
    return bill


def measure(
    events: list[dict[str, Any]], compress: dict[str, str], name: str
) -> tuple[Bill, Bill, list[str]]:
    """Return the bills of one request per capture and of ours, and ids of questions without their answer."""
    facts = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))["questions"]
    fake, home, before = Fake(), tempfile.mkdtemp(prefix="cml-cost-"), dict(os.environ)
    ours = Bill(name)
    try:
        with serving(fake) as url:
            os.environ["CLAUDE_MEM_HOME"] = home
            chosen = {"api_key": "loopback", "base_url": url, "daily_budget_usd": 1000}
            settings_file.write("claude", chosen)
            settings_file.write("compress", compress)
            remember(events)
        for entry in models.LogEntry.select().where(models.LogEntry.event_type == ledger.CALL):
            ours.add(entry.tokens_in, entry.tokens_out, entry.data["usd"])
        other = singly(fake.local, settings.load())
        kept = "\n".join(
            f"{row.title}\n{row.summary}\n{row.detail}" for row in models.Observation.select()
        ).lower()
    finally:
        models.close_databases()
        shutil.rmtree(home)
        os.environ.clear()
        os.environ.update(before)
    asked = [fact for fact in facts if fact["kind"] != "transcript_only"]
    lost = [fact["id"] for fact in asked if not all(each.lower() in kept for each in fact["answer_contains"])]
    return other, ours, lost


def main() -> None:
    """Measure the history as recorded, and with longer payloads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factor", type=int, default=10)
    factor = parser.parse_args().factor
    events = list(demo.recorded_events())
    calls = sum(event["hook_event_name"].startswith("PostToolUse") for event in events)
    for name, history in (
        ("as recorded", events),
        (f"payloads {factor} times", lengthen.lengthened(events, factor)),
    ):
        print(f"{name}: {calls} tool calls, {lengthen.size(history):,} characters of payload")
        every = {"high": "claude", "normal": "claude"}
        singly_asked, packs, lost_by_packs = measure(history, every, "sessions, and packs of digests")
        local = {"high": "local", "normal": "local"}
        _, told, lost = measure(history, local, "sessions alone")
        for bill in (singly_asked, packs, told):
            print(
                f"  {bill.name:<36} {bill.calls:>4} requests  {bill.tokens_in:>8,} tokens in  "
                f"{bill.tokens_out:>7,} out  ${bill.usd:.4f}  ${bill.usd / calls * 50:.4f} for 50 tool calls"
            )
        print(f"  {singly_asked.usd / told.usd:.1f} times cheaper")
        for bill, questions in ((packs, lost_by_packs), (told, lost)):
            print(f"  answers that memory does not hold after {bill.name}: {', '.join(questions) or 'none'}")


if __name__ == "__main__":
    main()

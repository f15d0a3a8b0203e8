"""Measure what the memory shows to sessions, and how long the hooks take.

    python benchmarks/context.py [--quality] [--speed] [--rows N] [--projects N] [--runs N]

Quality: the recorded history is processed by the real services. Then each of its questions is asked as a
prompt (does recall's text contain all strings of the answer?), and so are prompts on which the memory has
nothing (does recall stay silent?). For comparison, the newest observations in as many tokens are checked too.
After each session: does the next one's block contain what was done last and what is open?

Speed: whole hook processes with N observations (default 10,000) in N projects (default 1), compared with
`python -I -c pass` in the same run: with the consumer idle, with a full queue, without the services, and
while the services start for the first session of a day, with prompts from the first moment on. With `--busy
N` only this is measured: the hooks of 40 prompts that the memory can answer, idle and next to N busy
processes, and how many of the prompts get no answer.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measuring
import search_scale
from pipeline import capture_event

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.context import blocks, builder, file_block, text
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.services import install, supervise
from claude_mem_lite.storage import models, queries
from claude_mem_lite.text import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

# Pause before each hook: nobody types a prompt at the moment a session begins.
_PAUSE_S = 0.1
# Number of prompts next to busy processes, and the time until the load average reflects these.
_PROMPTS, _LOADED_S = 40, 20
# When prompts are sent after a start; the prompt of `claude -p` comes at once.
FIRST_PROMPTS_S = (0, 0.7, 1.5, 2.2, 3, 4, 5)
DATA = Path(__file__).parent.parent / "tests" / "data"
# By session: what it did last and left open, according to its recorded messages. Each inner list is one fact;
# the block must contain all its strings.
LAST_AND_OPEN = {
    1: [["Contact line in --help"], ["books@okafor-translations.example"], ["17 passed"]],
    2: [["monthly totals"], ["register"], ["push", "origin"], ["26 passed"]],
    3: [["imbalance"], ["backup.py"], ["audit"], ["32 passed"]],
    4: [["0.3.0"], ["totals_by_month"], ["8099", "connect"], ["40 passed"]],
}


def ask(path: str, **parameters: str) -> dict[str, Any]:
    """Return the answer of the web process to a request."""
    answer = client.get(path, {"project_path": demo.PROJECT, **parameters}, timeout_s=30)
    if answer is None:
        sys.exit(f"{path} did not answer")
    return answer


def has(block: str, strings: list[str]) -> bool:
    """Tell whether a block contains all strings, ignoring case."""
    return all(string.lower() in block.lower() for string in strings)


def newest_first(tokens: int) -> str:
    """Return a block of the newest observations with at most `tokens` tokens."""
    lines: list[str] = []
    for row in models.Observation.select().order_by(models.Observation.pk.desc()).limit(200):
        lines.append(text.harmless(file_block.said_by(row), chars=350))
        if estimate_tokens("\n".join(lines)) > tokens:
            return "\n".join(lines[:-1])
    return "\n".join(lines)


def starts() -> None:
    """Print for each recorded session whether the next one's block has what it did last and left open."""
    events = list(demo.recorded_events())
    sessions = list(dict.fromkeys(event["session_id"] for event in events))
    with measuring.memory(LANCEDB_LOG="error"):
        models.open_databases()
        found = total = 0
        for number, session_id in enumerate(sessions, 1):
            for event in events:
                if event["session_id"] == session_id:
                    inbox.append(scrub(json.dumps(event)), demo.PROJECT)
            summarize_session(session_id)
            block = builder.build(demo.PROJECT, session_id="new").text
            missing = [strings for strings in LAST_AND_OPEN[number] if not has(block, strings)]
            total += len(LAST_AND_OPEN[number])
            found += len(LAST_AND_OPEN[number]) - len(missing)
            told = f"  after session {number}: {estimate_tokens(block)} tokens"
            print(f"{told}, missing: {missing or 'nothing'}")
        print(f"  done last and open: {found} of {total} facts in the block")


def quality() -> None:
    """Print what recall finds in the recorded history, and on which prompts it is silent."""
    questions = json.loads((DATA / "ledger" / "facts.json").read_text())["questions"]
    prompts = json.loads((DATA / "recall_prompts.json").read_text())
    with measuring.memory(LANCEDB_LOG="error"):
        supervise.up()
        models.open_databases(read_only=True)
        for event in demo.recorded_events():
            inbox.append(scrub(json.dumps(event)), demo.PROJECT)
        wait(lambda: queries.queue_stats()["messages"] == 0 and queries.queue_stats()["raw"] == 0)
        wait(
            lambda: (
                not models.Observation.select()
                .where(models.Observation.embedding_status == "pending")
                .count()
            )
        )
        wait(lambda: ask_type() == "hybrid")
        blocks_by_id = {each["id"]: ask("/api/recall", q=each["q"])["context"] for each in questions}
        baseline = newest_first(blocks.RECALL_TOKENS)
        right = [each["id"] for each in questions if has(blocks_by_id[each["id"]], each["answer_contains"])]
        newest = [each["id"] for each in questions if has(baseline, each["answer_contains"])]
        spent = statistics.mean(estimate_tokens(block) for block in blocks_by_id.values())
        share = len(right) / len(questions)
        print(f"  questions whose evidence is in recall: {len(right)} of {len(questions)} ({share:.0%})")
        print(f"  in the newest observations, {estimate_tokens(baseline)} tokens: {len(newest)}")
        missing = ", ".join(sorted(set(blocks_by_id) - set(right)))
        print(f"  tokens of a recall: {spent:.0f}; not found: {missing}")
        for name in ("unrelated", "silent"):
            for part, given in prompts[name].items():
                empty = sum(not ask("/api/recall", q=prompt)["context"] for prompt in given)
                print(f"  {name} prompts, {part}: silent on {empty} of {len(given)}")
        for part, pairs in prompts["related"].items():
            good = sum(
                has(ask("/api/recall", q=pair["prompt"])["context"], pair["sensible"]) for pair in pairs
            )
            print(f"  related prompts, {part}: something to the point for {good} of {len(pairs)}")


def ask_type() -> str:
    """Return the type of search that answers a query, such as "hybrid"."""
    found = client.get("/api/search", {"q": "book"}, timeout_s=30)
    return str(found["search_type"]) if found else ""


def wait(condition: Callable[[], Any]) -> None:
    """Wait until a condition holds; exit after two minutes."""
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the services do not come to an end")
        time.sleep(0.1)


def fill(rows: int, projects: int) -> None:
    """Store made-up work, sixty observations per session."""
    search_scale.PROJECTS = projects
    search_scale.fill(rows)
    models.open_databases()
    run = models.memory_database.execute_sql
    with models.memory_database.atomic():
        run("PRAGMA defer_foreign_keys = 1")
        run(
            "UPDATE observations SET session_id = project_dir || '-' || (pk / ?), tool_name = CASE pk % 4"
            " WHEN 0 THEN 'Bash' WHEN 1 THEN 'Stop' ELSE 'Edit' END,"
            " created_at = strftime('%Y-%m-%dT%H:%M:%S.000000Z', 1790000000 + pk * 60, 'unixepoch')",
            (60 * projects,),
        )
        run(
            "INSERT OR REPLACE INTO sessions (id, project_dir, started_at, last_event_at, status, summary,"
            " observation_count, summarized_pk) SELECT session_id, project_dir, min(created_at),"
            " max(created_at), 'closed', title, 60, max(pk) FROM observations GROUP BY session_id"
        )
        run(
            "INSERT INTO function_changes (project_dir, file_path, qualified_name, kind, signature,"
            " change_type, session_id, observation_id, created_at) SELECT project_dir,"
            " json_extract(files_touched, '$[0]'), 'f' || pk, 'function', 'f' || pk || '(x)', 'modified',"
            " session_id, id, created_at FROM observations WHERE tool_name = 'Edit'"
        )
    models.close_databases()


class Hooks:
    """Run hooks as Claude Code does, each for its own session."""

    def __init__(self) -> None:
        rows = list(models.Observation.select().order_by(models.Observation.pk).limit(5_000))
        self._rows = random.Random(4).sample(rows, min(1_000, len(rows)))
        self._number = 0

    def events(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return the next event of each kind with its hook, all from one project."""
        self._number += 1
        row = self._rows[self._number % len(self._rows)]
        os.environ["CLAUDE_PROJECT_DIR"] = row.project_dir
        prompt = f"Why did we change {' '.join(row.title.split()[:7])}?"
        file = os.path.join(row.project_dir, row.files_touched[0])
        return {
            "start": ("session_start", {"hook_event_name": "SessionStart", "source": "startup"}),
            "prompt": ("user_prompt_submit", {"hook_event_name": "UserPromptSubmit", "prompt": prompt}),
            "prompt, nothing to ask": (
                "user_prompt_submit",
                {"hook_event_name": "UserPromptSubmit", "prompt": "yes"},
            ),
            "read": (
                "post_tool_use",
                {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": file}},
            ),
        }

    def run(self, hook: str, event: dict[str, Any]) -> tuple[float, bool]:
        """Return the hook's time in ms, and whether it printed text (at a start, two or more layers)."""
        self._number += 1
        stdin = json.dumps({"session_id": f"bench{self._number}", **event}).encode()
        command = [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")]
        started = time.perf_counter()
        done = subprocess.run(command, input=stdin, capture_output=True, check=True)
        took = (time.perf_counter() - started) * 1000
        return took, done.stdout.count(b"## ") > 1 if hook == "session_start" else bool(done.stdout)


def measure(hooks: Hooks, runs: int, title: str, *, load: Callable[[], object] | None = None) -> None:
    """Print one table of times; the cases are interleaved."""
    times: dict[str, list[float]] = {"python -I -c pass": []}
    answered: dict[str, int] = {}
    for _ in range(runs):
        if load:
            load()
        started = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        times["python -I -c pass"].append((time.perf_counter() - started) * 1000)
        for name, (hook, event) in hooks.events().items():
            time.sleep(_PAUSE_S)
            took, printed = hooks.run(hook, event)
            times.setdefault(name, []).append(took)
            answered[name] = answered.get(name, 0) + printed
    bare = statistics.median(times["python -I -c pass"])
    print(f"{title}, {runs} runs")
    for name, values in times.items():
        p50, p95 = statistics.median(values), measuring.p95(values)
        told = f"   with text {answered[name]}" if name in answered else ""
        print(f"  {name:<24} p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   ratio {p50 / bare:4.2f}{told}")


def first_session(hooks: Hooks, runs: int, what: str) -> None:
    """Print time and number of answers of a start and its prompts while the services start."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for _ in range(runs):
        supervise.down()
        found.setdefault("start", []).append(hooks.run(*hooks.events()["start"]))
        began = time.perf_counter()
        for after_s in FIRST_PROMPTS_S:
            time.sleep(max(0.0, began + after_s - time.perf_counter()))
            name = f"prompt after {after_s} s"
            found.setdefault(name, []).append(hooks.run(*hooks.events()["prompt"]))
    print(f"{what}, services starting, {runs} runs")
    for name, each in found.items():
        times = sorted(took for took, _ in each)
        told = f"with text {sum(printed for _, printed in each)}"
        print(f"  {name:<24} p50 {statistics.median(times):6.1f} ms   most {times[-1]:6.1f} ms   {told}")


def speed(rows: int, projects: int, runs: int) -> None:
    """Print the hooks' times with a large memory."""
    with measuring.memory(LANCEDB_LOG="error"):
        fill(rows, projects)
        supervise.up()
        models.open_databases(read_only=True)
        hooks = Hooks()
        wait(lambda: ask_type() == "hybrid")
        pending = (models.Session.embedding_status == "pending") & models.Session.summary.is_null(False)
        wait(lambda: not models.Session.select().where(pending).count())
        measure(hooks, 5 + projects, "warming up")
        what = f"{rows:,} observations in {projects} {'project' if projects == 1 else 'projects'}"
        measure(hooks, runs, f"{what}, consumer idle")

        def backlog() -> None:
            while queries.queue_stats()["messages"] < 40:
                for number in range(20):
                    inbox.append(capture_event(number, session=f"load{number}"), "/p0")

        measure(hooks, runs, f"{what}, consumer at work", load=backlog)
        supervise.down()
        with open(config.config_path(), "a", encoding="utf-8") as file:
            file.write("[services]\nautostart = false\n")
        measure(hooks, runs, f"{what}, no services")
        os.unlink(config.config_path())
        first_session(hooks, max(1, runs // 10), what)


def busy(rows: int, processes: int) -> None:
    """Print how long prompts take, and how many get no answer, next to busy processes."""
    with measuring.memory(LANCEDB_LOG="error"):
        fill(rows, 1)
        supervise.up()
        models.open_databases(read_only=True)
        hooks = Hooks()
        wait(lambda: ask_type() == "hybrid")
        measure_prompts(hooks, "idle")
        beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
        try:
            time.sleep(_LOADED_S)
            measure_prompts(hooks, f"beside {processes} busy processes")
        finally:
            for process in beside:
                process.kill()


def measure_prompts(hooks: Hooks, title: str) -> None:
    """Print a line: the hook's time, the web process's time, and how many prompts got no answer."""
    times, own, lost = list[float](), list[float](), 0
    for _ in range(_PROMPTS):
        hook, event = hooks.events()["prompt"]
        time.sleep(_PAUSE_S)
        took, is_answered = hooks.run(hook, event)
        times.append(took)
        lost += not is_answered
        started = time.perf_counter()
        fields = {"event_name": "UserPromptSubmit", "session_id": f"own{started}"}
        client.block("/api/recall", fields, "/p0", timeout_s=10, q=event["prompt"]).read()
        own.append((time.perf_counter() - started) * 1000)
    told = [
        f"{name} p50 {statistics.median(each):.0f} ms, p95 {measuring.p95(each):.0f} ms"
        for name, each in (("hook", times), ("answer", own))
    ]
    print(f"  {title}: {'; '.join(told)}; without an answer {lost} of {_PROMPTS}")


def main() -> None:
    """Run the measurements that the options select, by default both."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--projects", type=int, default=1)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--busy", type=int, default=0)
    options = parser.parse_args()
    if options.busy:
        busy(options.rows, options.busy)
        return
    if options.quality or not options.speed:
        print("quality, on the recorded history")
        starts()
        quality()
    if options.speed or not options.quality:
        speed(options.rows, options.projects, options.runs)


if __name__ == "__main__":
    main()

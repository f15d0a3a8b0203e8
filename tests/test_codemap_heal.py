"""Test the healing of the call graph: what confirms, discovers or ages an edge, and by how much."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.code import edited, happen
from support.databases import observation_row, session_row
from support.hooks import tool_event

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import answers, evidence, file_index, graph
from claude_mem_lite.codemap.confidence import boosted
from claude_mem_lite.codemap.heal import decay, heal
from claude_mem_lite.storage import call_edges, code, models, queries

CASES = cases.load("codemap/heal")

SHOP = CASES["shop"]
PRINTERS = """def print_slip(sum):
    return str(sum)


class Screen:
    def print_slip(self, sum):
        return repr(sum)
"""


@pytest.fixture
def shop(memory: Path, tmp_path: Path) -> Path:
    """Return the folder of a mapped project with one unresolvable call."""
    folder = tmp_path.resolve()
    (folder / "shop.py").write_text(SHOP)
    (folder / "printers.py").write_text(PRINTERS)
    resolve(folder)
    session_row(project_dir=str(folder))
    return folder


def resolve(folder: Path) -> None:
    """Scan the project and resolve its calls."""
    file_index.scan(str(folder))
    graph.refresh(str(folder), "s1")


def observe(folder: Path, number: int, *functions: str, file: str = "shop.py", **fields: Any) -> None:
    """Store an observation that changed functions of a file."""
    changed = [{"qualified_name": name, "kind": "function", "change_type": "modified"} for name in functions]
    row = observation_row(f"observation{number}", project_dir=str(folder), files_touched=[file], **fields)
    queries.save_observation({**row, "functions_changed": changed})


def edges(folder: Path) -> dict[tuple[str, str], models.CallEdge]:
    """Return the resolved edges by caller and callee."""
    rows = [row for row in call_edges.edges(str(folder)) if row.resolution != call_edges.UNRESOLVED]
    return {(row.caller_function, row.callee_function): row for row in rows}


def fail(folder: Path, output: str) -> None:
    """Record a failed command with this output."""
    event = tool_event("Bash", tool_input={"command": "pytest"}, error=output, is_interrupt=False)
    happen(folder, event | {"hook_event_name": "PostToolUseFailure"})


def test_functions_changed_together_confirm_the_edge_between_them(shop: Path) -> None:
    """An observation that changed two functions confirms the edge between them once, in its direction."""
    before = edges(shop)["Till.pay", "Till.total"]
    models.CallEdge.update(confidence=0.5).where(models.CallEdge.id == before.id).execute()
    observe(shop, 1, "Till.total", "Till.pay")

    assert dict(heal(str(shop))) == {"confirmed": 1}
    assert dict(heal(str(shop))) == {}

    after = edges(shop)["Till.pay", "Till.total"]
    assert after.confidence == pytest.approx(0.5 + 0.15 * (0.95 - 0.5))
    assert (after.times_confirmed, after.source, after.observation_id) == (1, "ast", "observation1")
    assert after.last_confirmed_at
    assert ("Till.total", "Till.pay") not in edges(shop)


def test_confirmations_come_closer_and_closer_to_the_ceiling() -> None:
    """Each confirmation raises confidence less, towards 0.95; an edge above that keeps its confidence."""
    assert boosted(0.6) == pytest.approx(0.6525)
    assert boosted(0.6, 2) == pytest.approx(boosted(boosted(0.6)))
    assert 0.94 < boosted(0.35, 40) < 0.95
    assert boosted(0.97) == 0.97


def test_an_unresolved_call_is_found_by_its_name(shop: Path) -> None:
    """A mention resolves an unresolved call at 0.6, with its line; pairs without such a call get no edge."""
    observe(shop, 1, "Till.pay", "check")
    observe(shop, 2, "print_slip", file="printers.py", summary="So that Till.pay() prints.")
    observe(shop, 3, "Screen", file="printers.py", summary="Beside check().")

    assert heal(str(shop))["discovered"] == 1

    found = edges(shop)["Till.pay", "print_slip"]
    assert (found.source, found.confidence, found.line) == ("observation", 0.6, 7)
    assert (found.caller_file, found.callee_file) == ("shop.py", "printers.py")
    observe(shop, 4, "print_slip", file="printers.py", summary="Till.pay again")
    heal(str(shop))
    again = edges(shop)["Till.pay", "print_slip"]
    assert (again.confidence, again.times_confirmed) == (pytest.approx(0.6525), 1)
    assert "observed 2 times" in answers.why(again)


def test_what_a_function_is_given_is_no_other_function(shop: Path) -> None:
    """A call of a parameter is not a call of a function of that name, such as a pytest fixture's."""
    (shop / "shop.py").write_text(SHOP.replace("pay(self, sum)", "pay(self, sum, print_slip)"))
    resolve(shop)
    observe(shop, 1, "print_slip", file="printers.py", summary="So that Till.pay prints.")

    assert dict(heal(str(shop))) == {}


def test_a_name_that_two_functions_have_names_none(shop: Path) -> None:
    """A mention counts only if its name belongs to a single function."""
    (shop / "more.py").write_text("class Till:\n    def pay(self): pass\n")
    file_index.scan(str(shop))
    observe(shop, 1, "print_slip", file="printers.py", summary="So that Till.pay() prints.")

    assert dict(heal(str(shop))) == {}


PYTHON_FRAMES = """Traceback (most recent call last):
  File "{shop}/shop.py", line 7, in pay
    print_slip(sum)
  File "{shop}/printers.py", line 7, in print_slip
    return repr(sum)
ZeroDivisionError
"""
SHORT_FRAMES = "shop.py:7: in pay\n    print_slip(sum)\nprinters.py:7: in print_slip\n    return repr(sum)\n"
LONG_FRAMES = CASES["long_frames"]


@pytest.mark.parametrize("output", [PYTHON_FRAMES, SHORT_FRAMES, LONG_FRAMES])
def test_a_traceback_tells_who_called_whom(shop: Path, output: str) -> None:
    """Tracebacks in Python's and both of pytest's formats add edges that the code does not show."""
    fail(shop, output.format(shop=shop))

    heal(str(shop))

    found = edges(shop)["Till.pay", "Screen.print_slip"]
    assert (found.source, found.confidence) == ("observation", 0.6)
    assert ("Till.pay", "print_slip") not in edges(shop)


@pytest.mark.parametrize(
    "between",
    [
        '  File "/usr/lib/python3/lib.py", line 7, in call\n',
        "During handling of the above exception, another\n",
    ],
)
def test_frames_with_something_between_are_no_call(shop: Path, between: str) -> None:
    """Frames separated by a library's frame or a traceback's end are no call."""
    output = PYTHON_FRAMES.format(shop=shop).replace(
        f'  File "{shop}/printers', f'{between}  File "{shop}/printers'
    )
    fail(shop, output)

    heal(str(shop))

    assert ("Till.pay", "Screen.print_slip") not in edges(shop)


def test_a_frame_of_an_older_version_is_no_call(shop: Path) -> None:
    """A frame whose line belongs to another function by now is no call."""
    fail(shop, PYTHON_FRAMES.format(shop=shop).replace("line 7, in pay", "line 11, in pay"))

    assert dict(heal(str(shop))) == {}


def test_an_observed_edge_stays_until_a_function_of_it_goes(shop: Path) -> None:
    """An observed edge survives scans, becomes the code's once seen there, and goes with its functions."""
    observe(shop, 1, "print_slip", file="printers.py", summary="Till.pay prints")
    observe(shop, 2, "print_slip", file="printers.py", summary="Till.pay prints")
    heal(str(shop))
    (shop / "shop.py").write_text(SHOP + "\n\ndef more(): pass\n")
    resolve(shop)
    stays = edges(shop)["Till.pay", "print_slip"]
    assert (stays.source, stays.times_confirmed) == ("observation", 1)

    (shop / "shop.py").write_text(f"from printers import print_slip\n{SHOP}")
    resolve(shop)
    seen = edges(shop)["Till.pay", "print_slip"]
    assert (seen.source, seen.level, seen.times_confirmed, seen.id) == ("ast", "direct", 1, stays.id)

    (shop / "printers.py").write_text(PRINTERS.replace("print_slip", "show"))
    resolve(shop)
    assert ("Till.pay", "print_slip") not in edges(shop)


def close_sessions(folder: Path, first: int, count: int) -> None:
    """Store closed sessions that began later than all others."""
    for number in range(first, first + count):
        at = inbox.utc_text(4_000_000_000 + number)
        session_row(f"later{number}", project_dir=str(folder), started_at=at, status="closed")


def test_stale_observed_edges_decay_once_a_session_down_to_the_floor(shop: Path) -> None:
    """After ten sessions without confirmation an observed edge loses 0.05 a session, down to 0.05."""
    observe(shop, 1, "print_slip", file="printers.py", summary="Till.pay prints")
    heal(str(shop))

    def confidence() -> float:
        return edges(shop)["Till.pay", "print_slip"].confidence

    close_sessions(shop, 0, 9)
    assert decay(str(shop), "later8") == 0
    close_sessions(shop, 9, 1)
    assert decay(str(shop), "later9") == 1
    assert decay(str(shop), "later9") == 0
    assert confidence() == pytest.approx(0.55)
    for number in range(10, 40):
        decay(str(shop), f"later{number}")
    assert confidence() == pytest.approx(0.05)
    assert edges(shop)["Till.pay", "Till.total"].confidence == 0.95


def test_a_confirmed_edge_goes_stale_too_and_a_new_confirmation_stops_it(shop: Path) -> None:
    """Decay counts from the last confirmation, in sessions of the same project."""
    observe(shop, 1, "print_slip", file="printers.py", summary="Till.pay prints")
    observe(shop, 2, "print_slip", file="printers.py", summary="Till.pay prints")
    heal(str(shop))
    close_sessions(Path("/elsewhere"), 100, 20)
    assert decay(str(shop), "a") == 0
    close_sessions(shop, 0, 10)
    assert decay(str(shop), "b") == 1
    observe(
        shop, 3, "print_slip", file="printers.py", summary="Till.pay prints",
        created_at=inbox.utc_text(4_000_000_100),
    )  # fmt: skip
    heal(str(shop))
    assert decay(str(shop), "c") == 0


def test_healing_is_logged(shop: Path) -> None:
    """Healing is logged with its counts and the project."""
    observe(shop, 1, "Till.total", "Till.pay")
    heal(str(shop))

    entry = models.LogEntry.get(models.LogEntry.event_type == "callgraph.healed")
    assert entry.data == {"project_dir": str(shop), "confirmed": 1}


def test_huge_and_hostile_observations_cost_little(shop: Path) -> None:
    """An observation of a thousand functions confirms no neighbours, and malformed frames are ignored."""
    observe(shop, 1, *[f"f{n}" for n in range(1000)], "Till.pay", "Till.total")
    lines = (
        'File "' * 50_000 + '\nFile "x.py", line 99999999999999999999999, in f\n' + "_____ a _____\n" * 20_000
    )
    event = tool_event("Bash", tool_input={"command": "x"}, tool_response={"stdout": lines})
    happen(shop, event)
    odd = tool_event("Edit", tool_input=[], tool_response=json.loads("[[[]]]"))
    happen(shop, odd)

    assert dict(heal(str(shop))) == {"confirmed": 1}


@pytest.mark.parametrize("depth", [900, 100_000])
def test_an_answer_may_be_nested_as_deep_as_it_likes(depth: int) -> None:
    """A deeply nested tool response is read or gives nothing, and raises no error."""
    raw = '{"error": "a", "tool_response": ' + '{"x": [' * depth + '"deep"' + "]}" * depth + "}"

    assert evidence.output_of(raw) in {"deep\na", ""}


def test_an_edit_of_two_functions_heals_through_the_consumer(shop: Path, memory: Path, consumer: Any) -> None:
    """An edit of two functions creates their edge, from the hook's event through a consumer process."""
    from support.hooks import run_hook
    from support.processes import wait_until

    back = "        return -sum\n\n    def back(self): self.total(1)\n"
    event = edited(shop, "shop.py", "        return sum\n", back)
    consumer()

    run_hook("post_tool_use", event, project_dir=str(shop))

    found = wait_until(lambda: edges(shop).get(("Till.back", "Till.total")))
    assert (found.source, found.level) == ("ast", "direct")
    wait_until(lambda: code.state(str(shop)).get("healed_pk"))

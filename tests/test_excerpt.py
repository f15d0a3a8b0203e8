"""What is told of a long row: the sentences and items that say most on the prompt."""

from __future__ import annotations

import time

from claude_mem_lite.context.excerpt import excerpt, reported
from claude_mem_lite.context.recall import LINE_CHARS


def test_of_a_report_the_items_that_name_code_go_before_filler() -> None:
    """A sentence without a word of the prompt and without a name is not told; a head costs its room once."""
    report = (
        "I see what happens there now.\n\nThe otter warns when all of this holds:\n"
        "- Two pumps stand in one shed\n- The valve of `Shed.open` is old\n\nGreat, that was well seen."
    )

    told = reported("Report", report, {"otter": 3.0}, chars=130)

    head = "The otter warns when all of this holds"
    assert told == f"{head}: Two pumps stand in one shed; The valve of `Shed.open` is old"


def test_an_excerpt_is_made_of_whole_sentences() -> None:
    """Those with most of the prompt's evidence; what was added before what was removed, one alone is cut."""
    weights = {"otter": 5.0, "pump": 3.0}
    filler = "Nothing of note happened on this day either. "

    told = excerpt("Day 1", filler * 9 + "The otter bit the pump. " + "We left.", "", weights, chars=80)
    cut = excerpt(
        "Day 2", f"{filler[:-2]} {'and ' * 90}then the otter came {'again ' * 90}", "", weights, chars=80
    )
    code = excerpt("Edit pump", "", "- pump = 1\n- old()\n+ pump = 2\n+ new()", weights, chars=35)

    assert told == "Day 1: The otter bit the pump. We left."
    assert "the otter came" in cut
    assert len(cut) <= 80
    assert code == "Edit pump: “+ pump = 2 / + new()”"


def test_a_long_sentence_is_told_from_its_beginning() -> None:
    """From its middle only where what counts stands too far back."""
    early = "The shed that stands beside the pond has otters, " + "and more of them come each day, " * 20
    late = "The shed stands there, " * 20 + "and it has otters."

    assert excerpt("", early, "", {"otter": 1.0}, chars=180).startswith("The shed that stands")
    assert excerpt("", late, "", {"otter": 1.0}, chars=180).startswith("…")


def test_an_excerpt_of_a_hostile_row_is_quick() -> None:
    """Long prompts, in lines or in length, are read within bounds."""
    started = time.process_time()
    for text in ("a\n" * 50_000, "; ".join(map(str, range(20_000))), "Read (" * 20_000, "x" * 100_000):
        assert len(excerpt(text, text, text, {"a": 1.0, "3": 1.0}, chars=LINE_CHARS)) <= LINE_CHARS

    assert time.process_time() - started < 5

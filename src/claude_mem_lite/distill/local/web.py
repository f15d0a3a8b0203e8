"""Describe what was looked up on the web."""

from claude_mem_lite.distill.local import fields
from claude_mem_lite.distill.observation import Capture, Observation, Skip
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import clip, first_sentence, one_line, sentences

_SUBJECT_CHARS, _SAID_CHARS = 48, 400


def observe_fetch(capture: Capture) -> Observation | Skip:
    """Describe a page that was read: the question and what the page said to it."""
    url = named(fields.argument(capture, "url"))
    result = page(capture)
    if not url or not result:
        return Skip("a page without an answer")
    question = one_line(fields.argument(capture, "prompt"), 200).rstrip("?. ")
    code = fields.number(capture.payload, "tool_response", "code")
    status = f" (HTTP {code})" if code and code != 200 else ""  # noqa: PLR2004 - what is usual is not told
    head = f"Fetched {one_line(url, 300)}{status}{f' to find out: {question}' if question else ''}."
    title = one_line(f"Fetch {one_line(url, _SUBJECT_CHARS)}: {quoted(first_sentence(result))}")
    return Observation(title, f"{head} {_said(result, title)}".strip(), clip(result, 1_200))


def observe_search(capture: Capture) -> Observation | Skip:
    """Describe a web search: the query, the hits and what was said about them."""
    query = one_line(fields.argument(capture, "query"), 200)
    found = findings(capture, links=8)
    if not query or not found:
        return Skip("a web search that found nothing")
    title = one_line(f"Search the web for {one_line(query, _SUBJECT_CHARS)}: {quoted(first_sentence(found))}")
    return Observation(
        title, f"Searched the web for: {query}. {_said(found, title)}".strip(), clip(found, 1_200)
    )


def _said(text: str, title: str) -> str:
    """Return the first sentences that the title does not tell, quoted."""
    told = ""
    for sentence in sentences(text):
        if sentence.rstrip(" .") in title:
            continue
        if told and len(told) + len(sentence) > _SAID_CHARS:
            break
        told = f"{told} {sentence}".strip()
    return quoted(one_line(told, _SAID_CHARS))


def page(capture: Capture) -> str:
    """Return what was said of a fetched page."""
    return (fields.text(capture.payload, "tool_response", "result") or fields.answer(capture)).strip()


def findings(capture: Capture, *, links: int) -> str:
    """Return what was said of a search's hits, and the first of them with their addresses."""
    results = fields.items(capture.payload, "tool_response", "results")
    hits = [hit for result in results for hit in fields.items(result, "content")]
    told = [f"{fields.text(hit, 'title')} {fields.text(hit, 'url')}".strip() for hit in hits[:links]]
    remarks = [*fields.texts(capture.payload, "tool_response", "results"), fields.answer(capture)]
    return "\n".join(filter(None, [*(remark.strip() for remark in remarks), *told]))

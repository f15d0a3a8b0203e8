"""What was looked up on the web."""

from claude_mem_lite.distill.local import fields
from claude_mem_lite.distill.observation import Capture, Observation, Skip, clip, first_sentence, one_line
from claude_mem_lite.distill.quoting import named, quoted


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
    summary = head
    return Observation(
        one_line(f"Fetch {url}: {quoted(first_sentence(result))}"), summary, clip(result, 1_200), (), ()
    )


def observe_search(capture: Capture) -> Observation | Skip:
    """Describe a web search: the query, the hits and what was said about them."""
    query = one_line(fields.argument(capture, "query"), 200)
    found = findings(capture, links=8)
    if not query or not found:
        return Skip("a web search that found nothing")
    summary = f"Searched the web for: {query}."
    return Observation(one_line(f"Search the web for {query}"), summary, clip(found, 1_200), (), ())


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

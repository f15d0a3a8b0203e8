"""A judge for tests of evaluations; its answers depend on the observation's text."""

import json
import re
from typing import Any

from support.claudes_words import words_about

QUESTIONS = ["Why were floats given up?", "Which file was changed?", "Which value does it set?"]
REASON = "Because of cents."


def judging(body: dict[str, Any]) -> Any:
    """Answer as a careful judge, or as Claude where observations of captures are asked for.

    It asks three questions. It answers the first with a reason and the second with money.py. Its answer to
    the third is made up, with a quote that the text does not contain.
    """
    wanted = json.dumps(body["output_config"])
    content = body["messages"][0]["content"]
    if '"questions"' in wanted:
        return {"questions": QUESTIONS}
    if '"replies"' not in wanted:
        return words_about(body)
    told = re.search(r"<observation-\w+>\n(.*)\n</observation-", content, re.DOTALL)
    quotes = [quote if quote in told[1] else None for quote in (REASON, "money.py")]
    asked = re.findall(r'<question-\w+ number="(\d)">', content)
    replies = [
        {"number": int(number), "answer": quote and "as quoted", "quote": quote}
        for number, quote in zip(asked, [*quotes, "made up"], strict=False)
    ]
    if len(asked) == len(QUESTIONS):
        replies[-1]["answer"] = "42"
    return {"replies": replies, "reason": quotes[0]}


def kinds(requests: list[Any]) -> list[str]:
    """Return what each request to a fake asked for."""
    names = {'"questions"': "questions", '"replies"': "judgement", '"observations"': "words"}
    return [
        next(name for mark, name in names.items() if mark in json.dumps(request.body["output_config"]))
        for request in requests
    ]

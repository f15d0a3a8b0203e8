"""Search answers any request with 200 or 422, in JSON, and keeps the connection open."""

import http.client
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_from_bytes

import pytest
from support.databases import function_row, learning_row, observation_row, session_row
from support.processes import wait_until, web_process
from support.web import Connection, get

from claude_mem_lite.search.hybrid import KINDS
from claude_mem_lite.storage import embeddings, models, queries

ROWS = 100
WORDS_ALONE, WITH_MEANING = 2_000, 200
ODD = 0.05
MEGABYTE = 1 << 20
KEY = "minilm_384"

# fmt: off
VOCABULARY = """
    ledger cents float round tokens refresh session.py src/db/session.py get_user_by_id AuthService.login
    __init__ --line-length camelCase 3.11 wrote database why the of to and nothing otters résumé
    Ёлка データベース
    데이터베이스 数据库 שלום مرحبا हिन्दी
""".split()  # noqa: SIM905  (reads as words)
STOP = ["the", "of and to", "why what is it", "THE", "a an the"]
SIGNS = r"""
    AND OR NOT NEAR NEAR( NEAR/3 title: {title summary}: ^ * + - -- ( ) " "" ' ; : , . / \ | & ! ~ ` @ # $
    ** {}
    % %% %s %00 %0 %zz %n %(x)s ? ?1 :x @x {0} ${x} $(x) `x` <a> </claude-mem> &amp; &#0; ../../etc/passwd
    0 -1 1e309 NaN null None True 0x10 1,000 ½ 🦊 ﷺ "unbalanced a"b"c ""a""
""".split()  # noqa: SIM905
SYNTAX = [
    *SIGNS, "'; DROP TABLE observations; --", "1 OR 1=1", "' UNION SELECT * FROM sessions --", '"a b" "c',
    "x' AND rank MATCH 'bm25()'", "\0", "a\0b", "\r\n", "\r\nHost: x\r\n\r\n", "\t", "\x1b[0m",
    "\x7f", "\u2028",
    "\ufeff", "\ufffd", "\U0010ffff", "👩\u200d👩\u200d👧", "\u202eabc\u202c", "\u200f",
    "e\u0301" * 5, "\u0301",
    "Z\u0351\u036b\u0343\u036a",
]
LONG = ["a" * 300, "a_" * 200, "a." * 200, "/" * 500, "-" * 500, "." * 500, "9" * 400, '"' * 300, "é" * 500]
# Values for any parameter, whatever its type.
VALUES = [
    "", " ", "0", "1", "-1", "10", "100", "101", "1e3", "9" * 40, "NaN", "inf", "true", "yes", "2",
    "null", "[]",
    "all", "observation", "session", "learning", "code", "function", "ALL", "/p", "/", "//", "p",
    "../p", "/p\0",
    "/\ud83d", "2026", "2026-11-21", "2026-11-21T03:00", "2026-11-21T03:00:00.000000Z", "2026-99-99",
    "[", "{}",
    "9999-12-31T", "'; --", "%", "_", "src/a.py", "a.py", '"', "\\", "s1", "Edit", "🦊", "a" * 5_000,
]
PARAMETERS = ["", *"limit type project since until file session tool explain colour q".split()]  # noqa: SIM905
# fmt: on


def made_up(chance: random.Random) -> str:
    """Return a random query string, odd ones included."""
    if chance.random() < ODD:
        return _bytes(chance)
    words = chance.choices([*VOCABULARY, *STOP, *SYNTAX], k=chance.choice([0, 1, 1, 2, 2, 3, 4]))
    if chance.random() < ODD:
        words += chance.choices([*SYNTAX, *LONG], k=10)
    pairs = [("q", chance.choice([" ", " ", "", '"', "  ", "\n"]).join(words))]
    names = chance.sample(PARAMETERS, k=chance.choice([0, 0, 0, 1, 2, 4]))
    pairs += [(name, chance.choice(VALUES)) for name in names]
    chance.shuffle(pairs)
    return "&".join(f"{quote(name)}={quote(value, errors='surrogatepass')}" for name, value in pairs)


def _bytes(chance: random.Random) -> str:
    """Return a query string of invalid UTF-8, stray percent signs or malformed pairs."""
    odd = quote_from_bytes(chance.randbytes(chance.choice([1, 3, 20])))
    alone = ["q", "q=%&q=%e9%", "=&=&", "&&&", "", "q=+%2B;q=y"]
    return chance.choice([f"q={odd}", f"{odd}={odd}&q=x", f"q=x&{odd}", *alone])


def ask(connection: http.client.HTTPConnection, query: str) -> tuple[int, dict[str, Any]]:
    """Search over an open connection; return status and JSON."""
    connection.request("GET", f"/api/search?{query}")
    response = connection.getresponse()
    assert not response.will_close
    return response.status, json.loads(response.read())


def fuzz(home: Path, *, requests: int, seed: int) -> tuple[Counter[int], Counter[str]]:
    """Send random requests; return counts by status, and by search type for status 200."""
    chance = random.Random(seed)  # noqa: S311  (a test, no secret)
    statuses: Counter[int] = Counter()
    types: Counter[str] = Counter()
    with closing(Connection(home / "worker.sock")) as connection:
        connection.connect()
        connection.auto_open = 0  # fail on a closed connection instead of reopening it
        for _ in range(requests):
            query = made_up(chance)
            status, answer = ask(connection, query)
            statuses[status] += 1
            if status == 200:
                types[answer["search_type"]] += 1
                assert answer["count"] == len(answer["results"]) <= 100, query
            else:
                assert (status, list(answer)) == (422, ["error"]), (query, answer)
                assert answer["error"], query
    return statuses, types


def fill() -> None:
    """Store rows of every kind for two projects, made of the words that queries use."""
    chance = random.Random(0)  # noqa: S311  (a test, no secret)

    def some(count: int) -> str:
        return " ".join(chance.choices([*VOCABULARY, *VOCABULARY, *SYNTAX], k=count)).replace("\0", " ")

    with models.memory_database.atomic():
        for number in range(10):
            words = {"summary": some(20), "key_decisions": [some(5)]}
            session_row(f"s{number}", project_dir=("/p", "/q")[number % 2], **words)
        for number in range(ROWS):
            row = observation_row(f"{number:08x}", title=some(4), summary=some(8), detail=some(12))
            row |= {"session_id": f"s{number % 10}", "project_dir": ("/p", "/q")[number % 2]}
            queries.save_observation(row | {"files_touched": [f"src/{number}/a.py"]})
        for number in range(20):
            learning_row(f"l{number}", some(15), project_dir=(None, "/p")[number % 2], category="build")
            function_row(f"f{number}", f"a.get_{number}", signature=some(3), docstring=some(10))


@pytest.fixture
def web(memory: Path) -> Iterator[Path]:
    """Start a web process on about 150 rows."""
    fill()
    with web_process():
        yield memory


def test_thousands_of_queries_are_answered_by_words(web: Path) -> None:
    """2,000 random requests get 200 or 422 by full text over one connection."""
    statuses, types = fuzz(web, requests=WORDS_ALONE, seed=1)

    assert sum(statuses.values()) == WORDS_ALONE
    assert min(statuses[200], statuses[422]) > WORDS_ALONE // 5
    assert types == {"fts": statuses[200]}


@pytest.mark.meaning
def test_queries_are_answered_by_meaning(web: Path, consumer: Callable[[], Any]) -> None:
    """Random requests get 200 or 422 with MiniLM, most of them by hybrid search."""
    consumer()

    def all_embedded() -> bool:
        get(web, "/api/search?q=ledger")
        return all(done == rows for done, rows in embeddings.count_embedded(KEY).values())

    wait_until(all_embedded, timeout_s=300)
    statuses, types = fuzz(web, requests=WITH_MEANING, seed=2)

    assert min(statuses[200], statuses[422]) > WITH_MEANING // 5
    assert types["hybrid"] > 0.6 * statuses[200]


@pytest.mark.parametrize("megabytes", [0.1, 1])
def test_a_query_that_is_too_long_is_refused_in_json(web: Path, megabytes: float) -> None:
    """A query of a megabyte gets 422 in JSON, and the connection stays usable."""
    with closing(Connection(web / "worker.sock")) as connection:
        status, answer = ask(connection, "q=" + "a" * int(megabytes * MEGABYTE))
        first = connection.sock
        next_status, _ = ask(connection, "q=ledger")
        is_same = connection.sock is first

    assert (status, next_status, is_same) == (422, 200, True)
    assert "2000 characters" in answer["error"]


def test_a_request_without_end_is_refused(web: Path) -> None:
    """A request of 8 MB is cut off, and others are still served."""
    with (
        closing(Connection(web / "worker.sock")) as connection,
        pytest.raises((BrokenPipeError, ConnectionResetError, http.client.BadStatusLine, AssertionError)),
    ):
        ask(connection, "q=" + "a" * (8 * MEGABYTE))

    assert get(web, "/api/search?q=ledger")[0] == 200


def test_every_kind_can_be_asked_for(web: Path) -> None:
    """Each kind of row is found, so the random queries above meet real rows."""
    found = {name: get(web, f"/api/search?q=ledger+tokens+cents&type={name}&limit=100")[1] for name in KINDS}

    assert all(answer["count"] > 0 for answer in found.values())
    assert {hit["kind"] for hit in found["all"]["results"]} == {"observation", "session", "learning"}

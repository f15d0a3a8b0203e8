"""Compare a text with rows by the cosine of the web process's vector and the stored ones."""

import base64
import logging
from collections.abc import Collection

from claude_mem_lite.capture import client
from claude_mem_lite.kinds import Kind
from claude_mem_lite.search.embedder.records import MINILM
from claude_mem_lite.search.indexing import LONGEST_TEXT
from claude_mem_lite.search.vectors import Vectors, VectorsError

log = logging.getLogger(__name__)

_ANSWER_S = 30.0  # the model may have to be loaded
_NEAREST = 10
_LAST_LATIN, _MOSTLY = "\u024f", 0.75


def cosines(kind: Kind, text: str, ids: Collection[str]) -> dict[str, float]:
    """Return the cosines (-1 to 1) of a text to the nearest of some rows, by id, best first.

    Rows without a vector are left out. The result is empty without a model, the web process or the vectors,
    and for a script in which the model knows only the letters.
    """
    if not ids:
        return {}
    try:
        found = client.post("/api/embed", {"texts": [text[:LONGEST_TEXT]]}, timeout_s=_ANSWER_S)
    except client.UnreachableError:
        return {}
    if found is None or not reads(str(found["key"]), text):
        return {}
    try:
        store = Vectors(str(found["key"]), int(found["dimension"]))
        cosines = store.cosines(kind, base64.b64decode(found["vectors"]), ids)
    except VectorsError as error:
        log.warning("similar texts are compared by words alone: %s", error)
        return {}
    return dict(sorted(cosines.items(), key=lambda row: -row[1])[:_NEAREST])


def reads(key: str, text: str) -> bool:
    """Tell whether the model of a key understands a text.

    MiniLM does not if many letters are not Latin: any two orders in Korean have a cosine of .8 to .9.
    """
    latin = [letter <= _LAST_LATIN for letter in text if letter.isalpha()]
    return key != MINILM.key or sum(latin) >= _MOSTLY * len(latin)

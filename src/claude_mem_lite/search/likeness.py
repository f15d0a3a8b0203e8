"""Compare a text with rows by meaning: the web process's model, the stored vectors."""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING

from claude_mem_lite.capture import client
from claude_mem_lite.search.indexing import blended, with_first_lines
from claude_mem_lite.search.vectors import Vectors, VectorsError

if TYPE_CHECKING:
    from collections.abc import Collection

    from claude_mem_lite.kinds import Kind

log = logging.getLogger(__name__)

_ANSWER_S = 30.0  # the model may have to be loaded
_NEAREST = 10


def cosines(kind: Kind, text: str, ids: Collection[str]) -> dict[str, float]:
    """Return the cosines (-1 to 1) of a text to the nearest of some rows, by id, best first.

    A row without a vector is left out; there are none without a model, the web process or the vectors.
    """
    if not ids:
        return {}
    try:
        found = client.post("/api/embed", {"texts": with_first_lines([text])}, timeout_s=_ANSWER_S)
    except client.UnreachableError:
        return {}
    if found is None:
        return {}
    import numpy as np

    flat = np.frombuffer(base64.b64decode(found["vectors"]), dtype="<f4")
    (vector,) = blended(*flat.reshape(2, 1, int(found["dimension"])))
    try:
        near = Vectors(str(found["key"]), int(found["dimension"])).of_rows(kind, ids)
    except VectorsError as error:
        log.warning("told apart by words alone: %s", error)
        return {}
    cosines = {row_id: float(theirs @ vector) for row_id, theirs in near.items()}
    return dict(sorted(cosines.items(), key=lambda row: -row[1])[:_NEAREST])
